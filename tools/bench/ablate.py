#!/usr/bin/env python3
"""Ablation: what each tuning constant and strategy of the solvers contributes.

usage: tools/bench/ablate.py [--solver=NAME] [--only=REGEX] [--random=N]
           [--minutes=N] [--bazel=COMMAND] [--workspace=FOLDER] MODULE.hlo…

Each constexpr number of the solver's .cc files (those that house.py counts) is
halved and doubled, each call of one of its strategies (Try…, Improve…) left
out, one at a time: all in one build of a copy of the checkout, chosen by an
environment variable (tools/mutation). Constants used in constant
expressions cannot be changed this way; they are listed and skipped.

  rematerialization  plans for 90 to 50 % of the modules' peaks and for N random
                     modules: limits met, seconds added, bytes of the peaks,
                     processor seconds of the planner
  gpu model          the modules through priority and multi-output fusion:
                     kernels, bytes, microseconds, peaks
  shared memory      the kernels of smem's testdata and N random ones: bytes and
                     barriers of plans, bytes of plans for the least bytes

Prints a table of constants and changes, with the difference of each figure from
that of the unchanged solver (empty if there is none).
"""

import argparse
import glob
import json
import os
import re
import resource
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
for folder in ("", "mutation", "style"):
  sys.path.insert(0, os.path.join(ROOT, "tools", folder))
import house  # noqa: E402
import mutants  # noqa: E402
import mutate  # noqa: E402
import runner  # noqa: E402

CONSTANT = re.compile(r"^ *((?:inline |static )*constexpr) (?:int|int64_t|double|float|size_t) "
                      r"(k\w+) =([^;,]*);", re.M)
STRATEGY = re.compile(r"^ +(?:TF_RETURN_IF_ERROR\()?((?:Try|Improve|Descend|Extend|PlanFor|Refine|"
                      r"Reorder|Split|TakeBack)\w*)\(.*;$", re.M)
RETURNED = re.compile(r"^ +return ((?:Try|Improve|Descend|Extend|PlanFor)\w*)\(.*;$", re.M)
LIMITS = (90, 80, 70, 60, 50)


def ablations(source):
  """Mutants: two of each constant, one of each strategy's call."""
  for match in CONSTANT.finditer(source.text):
    for change in ("/ 2", "* 2"):
      yield mutants.Mutant(source.path, source.line_of(match.start(1)) + 1, match.group(2), change, [
          mutants.Replace(match.start(1), match.end(1), "inline static const", 0),
          mutants.Wrap(match.start(3) + 1, match.end(3), "hlo_mutant::If({}, (%s) %s, " % (
              match.group(3).strip().replace("{", "{{").replace("}", "}}"), change), ")")])
  for pattern, prefix in ((STRATEGY, "{{}}"), (RETURNED, "return absl::OkStatus();")):
    for match in pattern.finditer(source.code):
      begin = match.start() + len(match.group()) - len(match.group().lstrip())
      yield mutants.Mutant(
          source.path, source.line_of(begin) + 1, match.group(1) + "()", "left out", [
              mutants.Wrap(begin, match.end(),
                           "if (hlo_mutant::On({})) " + prefix + " else ", "")])


class Probe:
  """Runs a tool; figures: {name: number}, of which the first decides."""

  def __init__(self, workspace, options):
    self.options = options
    self.binary = {t: os.path.join(workspace.folder, "bazel-bin", t[2:].replace(":", "/"))
                   for t in self.TARGETS}

  def run(self, target, arguments, number):
    used = runner.children_cpu()
    done = subprocess.run([self.binary[target]] + arguments, cwd=ROOT,
                          env=dict(os.environ, HLO_MUTANT=str(number)), errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (900, 900)))
    return done.stdout, runner.children_cpu() - used


class RematProbe(Probe):
  TARGETS = ["//tools:hlo-explain", "//tools/bench:remat_proof"]

  def figures(self, number):
    found = dict.fromkeys(("met", "added s %", "peak MiB", "met, random", "us, random",
                           "peak B, random", "cpu s"), 0)
    for module in self.options.modules:
      for limit in LIMITS:
        text, cpu = self.run(self.TARGETS[0], [module, "--json", "--fit", "--limit=%d%%" % limit],
                             number)
        found["cpu s"] += cpu
        if text:
          report = json.loads(text)
          found["met"] += report["met"]
          found["peak MiB"] += report["peak_after_bytes"] / 2**20
          found["added s %"] += 100 * report["added_seconds_fraction"] if report["met"] else 0
    text, cpu = self.run(self.TARGETS[1], ["--list", "--graphs=0", "--modules=%d" %
                                           self.options.random], number)
    found["cpu s"] += cpu
    for peak, met, us in re.findall(r": \d+ (\d+) ([01]) ([\d.]+) [\d.]+ ", text):
      found["met, random"] += int(met)
      found["us, random"] += float(us) if met == "1" else 0
      found["peak B, random"] += int(peak)
    return found


class ModelProbe(Probe):
  TARGETS = ["//tools/bench:fusion"]

  def figures(self, number):
    names = {"kernels": "kernels2", "bytes": "bytes2", "us": "us2", "peak": "peak2"}
    found, cpu_seconds = dict.fromkeys(names, 0), 0
    for module in self.options.modules:
      text, cpu = self.run(self.TARGETS[0], [module], number)
      cpu_seconds += cpu
      rows = [line.split(",") for line in text.split("\n") if line]
      for name, column in names.items():
        if len(rows) == 2:
          found[name] += float(rows[1][rows[0].index(column)])
    return dict(found, **{"cpu s": cpu_seconds})


class SmemProbe(Probe):
  TARGETS = ["//xla/backends/gpu/smem/figures:smem_figures"]

  def figures(self, number):
    kernels = sorted(glob.glob(os.path.join(ROOT, "xla/backends/gpu/smem/testdata/*.kir")))
    text, cpu = self.run(self.TARGETS[0], ["--random=%d" % self.options.random] + kernels, number)
    found = dict.fromkeys(("bytes", "barriers", "met by a block", "least bytes"), 0)
    for row in re.findall(r"^\S+ +\|.*\|(.*)\|.*\|(.*)$", text, re.M):
      plan, least = row[0].split(), row[1].split()
      if plan[0].isdigit():
        found["bytes"] += int(plan[0])
        found["barriers"] += int(plan[2])
        found["met by a block"] += int(plan[4])
        found["least bytes"] += int(least[0])
    for name, value in re.findall(r"(plan|min-bytes) ([\d.]+)", text):
      found[name + " / bound, random"] = float(value)
    return dict(found, **{"cpu s": cpu})


PROBES = {"rematerialization": RematProbe, "gpu model": ModelProbe, "shared memory": SmemProbe}


def differences(base, figures):
  """The figures that differ, as text; processor seconds by a tenth and more."""
  out = []
  for name, value in figures.items():
    change = value - base[name]
    if name == "cpu s":
      if abs(change) > 0.1 * base[name]:
        out.append("%s ×%.2f" % (name, value / max(base[name], 1e-9)))
    elif abs(change) > 1e-9 * abs(base[name]):
      whole = isinstance(value, int) or name.endswith("%")
      out.append("%s %+.4g%s" % (name, change if whole else 100 * change / max(base[name], 1e-9),
                                 "" if whole else " %"))
  return "; ".join(out)


def find_ablations(solver, only=""):
  """The solver's sources by path, and its ablations."""
  sources, found = {}, []
  for path in sorted(glob.glob(os.path.join(ROOT, house.SOLVERS[solver], "**/*.cc"),
                               recursive=True)):
    if not mutants.NOT_A_SOURCE.search(path):
      with open(path) as f:
        source = mutants.Source(os.path.relpath(path, ROOT), f.read())
      sources[source.path] = source
      found += [m for m in ablations(source) if re.search(only, m.before)]
  return sources, found


def state_file(workspace):
  return os.path.join(workspace, ".cache", "ablations.json")


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
  parser.add_argument("modules", nargs="*")
  parser.add_argument("--solver", choices=sorted(PROBES), default="rematerialization")
  parser.add_argument("--only", default="", help="constants and strategies that this matches")
  parser.add_argument("--random", type=int, default=100)
  parser.add_argument("--minutes", type=float, default=1e9)
  parser.add_argument("--bazel", default="./bazelw")
  parser.add_argument("--mode", default="opt", help="Bazel's compilation mode")
  parser.add_argument("--phase", choices=["all", "build", "run"], default="all",
                      help="build and stop; or run what the last build made")
  parser.add_argument("--list", action="store_true", help="what would be ablated; runs nothing")
  parser.add_argument("--workspace", default=os.path.expanduser("~/.cache/hlo-mutants"))
  options = parser.parse_args()
  options.modules = [os.path.abspath(m) for m in options.modules]

  sources, found = find_ablations(options.solver, options.only if options.phase != "run" else "")
  if options.list:
    for m in found:
      print("%s:%d %s %s" % (m.path, m.line, m.before, m.after))
    return
  workspace = runner.Workspace(ROOT, options.workspace, options.bazel)
  probe = PROBES[options.solver](workspace, options)
  first, compiling = 1, None
  if options.phase == "run":
    with open(state_file(options.workspace)) as f:
      first, compiling = json.load(f)[options.solver]
  numbered = list(enumerate(found, first))
  if compiling is None:
    workspace.copy_checkout(sources)
    compiling = sorted(number for number, _ in mutate.build(
        workspace, sources, numbered, ["-c", options.mode] + probe.TARGETS))
    with open(state_file(options.workspace), "w") as f:
      json.dump({options.solver: [first, compiling]}, f)
  if options.phase == "build":
    return
  started, base = time.time(), probe.figures(-1)
  print("as it is: " + ", ".join("%s %.10g" % item for item in base.items()), flush=True)
  for number, m in numbered:
    if not re.search(options.only, m.before):
      continue
    if time.time() - started > 60 * options.minutes:
      print("stopped after %.0f minutes" % options.minutes)
      break
    effect = "does not compile" if number not in compiling else (
        differences(base, probe.figures(number)) or "nothing")
    print("%s:%d %s %s → %s" % (m.path, m.line, m.before, m.after, effect), flush=True)


if __name__ == "__main__":
  main()
