#!/usr/bin/env python3
"""A table of rematerializations: what it takes to make modules fit.

usage: remat.py HLO_EXPLAIN MODULE.hlo|FOLDER... [flags]
       remat.py HLO_EXPLAIN --scaling=1000,10000,100000 [flags]

HLO_EXPLAIN is the binary of //tools:hlo-explain, built with -c opt. Of a
folder, all modules in it.

  --limits=90,80,70,60,50,40   percent of the scheduled peak
  --strategies=plan,always-remat,peak-priority
  --accounting=upstream        or ours
  --schedule=NAME              of hlo-explain; else its default
  --fuse=false                 of hlo-explain: only recomputation is compared
  --timeout=SECONDS            of processor time per run (600)
  --without=NAME,...           of a folder's modules, these not
  --summary=true               one line per module: limits met, and of the plan
                               the seconds added at the lowest limit it meets,
                               the most processor seconds and memory of a run
  --upstream=FILE.csv          lines `model,algorithm,block_size_limit,...,
                               limit_pct,peak_after,after_over_before,limit_met`
                               of another implementation, to stand beside
  --scaling=N,...              instead of modules: synthetic training chains of
                               about N instructions at 60 %, and the exponent of
                               the time

Per line: met or not, peak / peak before, added FLOPs and seconds in percent,
instructions added, seconds of the planner or pass (elapsed), processor seconds
and peak memory in MiB of the whole process.
Exit status 1: the plan misses a limit that another strategy meets, or costs
more there; needs more, or costs less, than the one for the limit before it.
"""

import csv
import json
import math
import os
import resource
import subprocess
import sys
import tempfile

import schedules


def fit(binary, path, limit, strategy, options):
  command = [binary, path, "--json", "--fit", "--limit=%s%%" % limit,
             "--strategy=" + strategy,
             "--accounting=" + options.get("accounting", "upstream")]
  seconds = int(options.get("timeout", "600"))
  for flag in ("schedule", "fuse"):
    if flag in options:
      command.append("--%s=%s" % (flag, options[flag]))
  with tempfile.TemporaryFile() as out:
    process = subprocess.Popen(
        command, stdout=out, stderr=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU,
                                              (seconds, seconds)))
    _, status, usage = os.wait4(process.pid, 0)
    out.seek(0)
    text = out.read()
  if os.WIFSIGNALED(status):
    raise RuntimeError("signal %d, after %.0f s" % (
        os.WTERMSIG(status), usage.ru_utime + usage.ru_stime))
  if os.WEXITSTATUS(status) not in (0, 3) or not text:
    raise RuntimeError("exit status %d" % os.WEXITSTATUS(status))
  report = json.loads(text)
  report["rss_mib"] = usage.ru_maxrss / 1024
  report["cpu_seconds"] = usage.ru_utime + usage.ru_stime
  return report


def read_upstream(path):
  found = {}
  with open(path) as lines:
    for row in csv.DictReader(lines):
      if row["algorithm"] == "always" and row["block_size_limit"] == "1":
        try:
          key = row["model"], int(float(row["limit_pct"]))
          found[key] = row["limit_met"] == "1", float(row["after_over_before"])
        except ValueError:
          continue
  return found


ROW = "%-30s %4s %-14s %-3s %8s %9s %9s %7s %8s %8s %7s  %s"


def print_report(name, limit, strategy, report, note):
  print(ROW % (name, limit, strategy, "yes" if report["met"] else "no",
               "%.4f" % (report["peak_after_bytes"] /
                         max(report["peak_before_bytes"], 1)),
               "%+.2f" % (100 * report["added_flops_fraction"]),
               "%+.2f" % (100 * report["added_seconds_fraction"]),
               "%d" % report["instructions_added"],
               "%.2f" % report["seconds"], "%.2f" % report["cpu_seconds"],
               "%.0f" % report["rss_mib"], note),
        flush=True)


class Summary:
  """What the strategies do for one module, in one line."""

  LINE = "%-32s %s  %9s %8s %7s  %s"

  def __init__(self, name, strategies):
    self.name = name
    self.met = dict((strategy, 0) for strategy in strategies)
    self.limits = 0
    self.cost = ""
    self.cpu_seconds = self.rss_mib = 0
    self.floor = 0

  def add(self, limit, reports):
    self.limits += 1
    for strategy, report in reports.items():
      self.met[strategy] += 1 if report["met"] else 0
    plan = reports.get("plan")
    if plan is None:
      return
    if plan["met"]:
      self.cost = "%+.2f@%s" % (100 * plan["added_seconds_fraction"], limit)
    self.cpu_seconds = max(self.cpu_seconds, plan["cpu_seconds"])
    self.rss_mib = max(self.rss_mib, plan["rss_mib"])
    self.floor = plan["lower_bound_bytes"] / max(plan["peak_before_bytes"], 1)

  @classmethod
  def print_head(cls, strategies):
    print(cls.LINE % ("module", " ".join("%13s" % s for s in strategies),
                      "secs %", "cpu s", "MiB", "bound"))

  def print(self):
    met = " ".join("%9d/%-3d" % (count, self.limits)
                   for count in self.met.values())
    print(self.LINE % (self.name, met, self.cost, "%.2f" % self.cpu_seconds,
                       "%.0f" % self.rss_mib, "%.3f" % self.floor), flush=True)


class Costs:
  """Seconds of the plan by those of another algorithm."""

  def __init__(self):
    self.ratios, self.large = [], []

  def add(self, plan, other):
    theirs = other["added_seconds"]
    if theirs <= 0:
      return
    self.ratios.append(max(plan["added_seconds"], 1e-9) / theirs)
    if other["instructions_added"] > 10:
      self.large.append(self.ratios[-1])

  def print(self):
    for what, ratios in (("added seconds, plan / always-remat", self.ratios),
                         ("... where always-remat adds more than 10",
                          self.large)):
      if ratios:
        print("%s: mean %.2f, worst %.2f on %d" % (
            what, math.exp(sum(map(math.log, ratios)) / len(ratios)),
            max(ratios), len(ratios)))


def complaints(limit, reports, before, costs):
  """What is wrong with the plan for one limit; fills in costs."""
  plan = reports.get("plan")
  if plan is None:
    return
  for strategy, other in reports.items():
    if strategy == "plan" or not other["met"]:
      continue
    if (not plan["met"] or plan["added_seconds"] >
        1.001 * max(other["added_seconds"], 1e-12)):
      yield "%s %%: plan is worse than %s" % (limit, strategy)
    elif strategy == "always-remat":
      costs.add(plan, other)
  if before is None:
    return
  if plan["peak_after_bytes"] > before["peak_after_bytes"]:
    yield "%s %%: plan needs more than for the limit before" % limit
  if plan["met"] and plan["added_seconds"] < (
      before["added_seconds"] - 1e-9 * abs(before["added_seconds"])):
    yield "%s %%: plan costs less than for the limit before" % limit


def table(binary, paths, options):
  upstream = read_upstream(options["upstream"]) if "upstream" in options else {}
  limits = options.get("limits", "90,80,70,60,50,40").split(",")
  strategies = options.get("strategies",
                           "plan,always-remat,peak-priority").split(",")
  summarized = options.get("summary") == "true"
  if summarized:
    Summary.print_head(strategies)
  else:
    print(ROW % ("module", "%", "strategy", "met", "peak", "flops %", "secs %",
                 "instr", "s", "cpu s", "MiB", "upstream"))
  good = True
  costs = Costs()
  counts = dict((strategy, 0) for strategy in strategies)
  for path in paths:
    name = os.path.basename(path).rsplit(".", 1)[0]
    before = None
    summary = Summary(name, strategies)
    wrong = []
    for limit in limits:
      reports = {}
      for strategy in strategies:
        note = ""
        if strategy == "always-remat" and (name, int(limit)) in upstream:
          met, ratio = upstream[name, int(limit)]
          note = "%s %.4f" % ("yes" if met else "no", ratio)
        try:
          report = fit(binary, path, limit, strategy, options)
        except (RuntimeError, ValueError) as error:
          wrong.append("%s %%, %s: %s" % (limit, strategy, error))
          continue
        reports[strategy] = report
        counts[strategy] += 1 if report["met"] else 0
        if not summarized:
          print_report(name, limit, strategy, report, note)
      summary.add(limit, reports)
      wrong += complaints(limit, reports, before, costs)
      before = reports.get("plan") or before
      if not summarized:
        for complaint in wrong:
          print("  " + complaint)
        good = good and not wrong
        wrong = []
    if summarized:
      summary.print()
      for complaint in wrong:
        print("  " + complaint)
    good = good and not wrong
  print("limits met:", ", ".join("%s %d" % c for c in counts.items()))
  costs.print()
  return good


def modules(names, options):
  """Paths of modules; of folders, all in them."""
  without = options.get("without", "").split(",")
  paths = []
  for name in names:
    if not os.path.isdir(name):
      paths.append(name)
      continue
    for entry in sorted(os.listdir(name)):
      if entry.endswith(".hlo") and entry[:-len(".hlo")] not in without:
        paths.append(os.path.join(name, entry))
  return paths


def scaling(binary, sizes, options):
  print("%9s %10s %10s %10s %8s" % ("instr", "s", "cpu s", "peak", "secs %"))
  points = []
  with tempfile.TemporaryDirectory() as folder:
    for size in sizes:
      path = os.path.join(folder, "synthetic_%d.hlo" % size)
      with open(path, "w") as out:
        out.write(schedules.synthetic_step(size))
      report = fit(binary, path, "60", "plan",
                   dict(options, schedule=options.get("schedule", "default")))
      points.append((math.log(size),
                     math.log(max(report["cpu_seconds"], 1e-3))))
      print("%9d %10.2f %10.2f %10.4f %+8.2f" % (
          size, report["seconds"], report["cpu_seconds"],
          report["peak_after_bytes"] / report["peak_before_bytes"],
          100 * report["added_seconds_fraction"]), flush=True)
  if len(points) > 1:
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    slope = (sum((x - mean_x) * (y - mean_y) for x, y in points) /
             sum((x - mean_x) ** 2 for x, _ in points))
    print("processor seconds grow with instructions to the power of %.2f" % slope)
  return True


def main(arguments):
  options = dict(a[2:].split("=", 1) for a in arguments
                 if a.startswith("--") and "=" in a)
  names = [a for a in arguments if not a.startswith("--")]
  if len(names) == 1 and "scaling" in options:
    sizes = [int(size) for size in options["scaling"].split(",")]
    sys.exit(0 if scaling(names[0], sizes, options) else 1)
  if len(names) < 2:
    sys.exit(__doc__)
  sys.exit(0 if table(names[0], modules(names[1:], options), options) else 1)


if __name__ == "__main__":
  main(sys.argv[1:])
