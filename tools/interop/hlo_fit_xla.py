#!/usr/bin/env python3
"""Makes a module fit in a limit, measured by what XLA allocates for it.

usage: hlo_fit_xla.py HLO_EXPLAIN MODULE.hlo --limit=BYTES|SHARE% [flags]

HLO_EXPLAIN is the binary of //tools:hlo-explain, built with -c opt. Plans with
`hlo-explain --fit --for=…`, measures what XLA allocates for the result, corrects
the limit by the difference and plans again. A share refers to what XLA allocates
for the unchanged module: temporaries, arguments and outputs, shared bytes
counted once.

  --for=xla-gpu            or xla-cpu; or backend: the module is scheduled, its
                           order and instructions stay as they are
  --target-config=FILE     for xla-gpu: description of the GPU (xla_memory.py)
  --judge=COMMAND          command that measures the allocation (xla_memory.py);
                           required for backend
  --partitions=1           devices to plan and compile for, whatever number the
                           module names; a --judge has to compile for as many
  --rounds=5               maximum number of plans
  -o FILE                  output file: the cheapest module that meets the limit,
                           else the one with the fewest bytes; unchanged if no
                           plan needs fewer
  --timeout=SECONDS        limit per plan and per compilation (600)
  --json                   report as JSON, with all rounds

Exit status 3 if no plan meets the limit, as for hlo-explain.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import xla_memory  # pylint: disable=wrong-import-position

UNMET = 3
# Ways to plan. What loops carry is laid out anew by XLA, so that rewriting them
# may be of no use.
WAYS = (("--across_loops=true",), ("--across_loops=false",),
        ("--across_loops=false", "--reschedule=false"))
# How many bytes of XLA's a byte of the plan's is worth, at least and at most.
LEAST_SLOPE, MOST_SLOPE = 0.25, 2.0


class Fitter:
  """Plans and measures one module; `measured` is that of the module as it is."""

  def __init__(self, hlo_explain, path, reader, target_config, timeout=600,
               judge=None, partitions=1):
    self.hlo_explain, self.path, self.reader = hlo_explain, path, reader
    self.partitions = partitions
    self.target_config, self.timeout = target_config, timeout
    self.judge = judge
    self.answers = {}
    self.ways = self.ways_to_plan()
    self.measured = self.measure(path)
    if "error" in self.measured:
      raise RuntimeError(f"XLA does not take {path}: {self.measured['error']}")
    # Of plans so far: bytes that the plan needs, and that XLA allocates.
    self.points = []

  def ways_to_plan(self):
    """Those of WAYS that make a difference."""
    with open(self.path) as file:
      loops = " while(" in file.read()
    ways = WAYS if loops else (WAYS[0], WAYS[2])
    # The order of plans for XLA:GPU is that which it is expected to choose.
    return ways[:-1] if self.reader == "xla-gpu" else ways

  def measure(self, path):
    """XLA's answer; limits that nothing meets often end in the same module."""
    with open(path, "rb") as file:
      key = hashlib.sha256(file.read()).digest()
    if key not in self.answers:
      self.answers[key] = xla_memory.measure(
          path, self.reader, self.target_config, self.timeout, self.judge,
          self.partitions)
    return self.answers[key]

  def plan(self, limit, way, output):
    """The report of one plan, whose module goes to `output`."""
    command = [self.hlo_explain, self.path, "--fit", "--json",
               f"--limit={max(0, int(limit))}", f"--for={self.reader}",
               f"-o={output}", *way]
    if self.reader != "backend":  # elsewhere the module is one device's
      command.append(f"--num-partitions={self.partitions}")
    try:
      result = subprocess.run(command, capture_output=True, text=True,
                              timeout=self.timeout)
    except subprocess.TimeoutExpired:
      raise RuntimeError(f"a plan takes more than {self.timeout} s")
    if result.returncode not in (0, UNMET):
      raise RuntimeError(result.stderr.strip().splitlines()[0])
    return json.loads(result.stdout)

  def first_aim(self, limit):
    """What a plan may need for XLA to allocate `limit` bytes, by what is known.

    Between two plans on a line; below all of them in proportion to the last.
    """
    above = min(p for p in self.points if p[1] > limit)
    below = [p for p in self.points if p[1] <= limit]
    if not below:
      return above[0] * limit / above[1]
    low = max(below)
    share = (limit - low[1]) / (above[1] - low[1])
    return low[0] + max(0.0, share) * max(0, above[0] - low[0])

  def fit(self, limit, rounds, folder):
    """Rounds of plans for a limit in bytes of XLA's: a list of dicts."""
    as_is = {"total": self.measured["total"], "added_seconds": 0.0,
             "method": "none", "module": self.path}
    found = [as_is]
    if as_is["total"] <= limit:
      return found
    report = self.plan(1 << 62, self.ways[0], os.path.join(folder, "as_is.hlo"))
    before, least = report["peak_before_bytes"], report["lower_bound_bytes"]
    self.points.append((before, as_is["total"]))
    aim = self.first_aim(limit)
    # What comes where one does not get further: the limit as it is, since its
    # plan may be quite another one, and other ways.
    others = [(self.ways[0], limit)]
    for way in self.ways[1:]:
      others += [(way, aim), (way, limit)]
    way = self.ways[0]
    for number in range(rounds):
      output = os.path.join(folder, f"round{number}.hlo")
      report = self.plan(aim, way, output)
      answer = self.measure(output)
      total = answer.get("total")
      found.append({
          "total": total, "error": answer.get("error"),
          "aim": int(aim), "planned": report["peak_after_bytes"],
          "least": report["lower_bound_bytes"],
          "added_seconds": report["added_seconds"],
          "added_fraction": report["added_seconds_fraction"],
          "method": report["method"], "way": " ".join(way), "module": output})
      if total is not None:
        self.points.append((report["peak_after_bytes"], total))
        if total <= limit:
          break
      further = report["met"] and aim > least
      if total is None or total >= as_is["total"] or not further:
        if not others:
          break
        way, aim = others.pop(0)
        continue
      saved = before - report["peak_after_bytes"]
      slope = (as_is["total"] - total) / max(saved, 1)
      slope = min(max(slope, LEAST_SLOPE), MOST_SLOPE)
      aim = max(least, report["peak_after_bytes"] - (total - limit) / slope)
    return found


def best_of(found, limit):
  """The cheapest that fits, or the one of fewest bytes."""
  usable = [one for one in found if one["total"] is not None]
  fits = [one for one in usable if one["total"] <= limit]
  if fits:
    return min(fits, key=lambda one: (one["added_seconds"], one["total"]))
  return min(usable, key=lambda one: one["total"])


def bytes_of(text, whole):
  """A limit: bytes, with a unit or without, or a share of `whole`."""
  units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 10**3,
           "MB": 10**6, "GB": 10**9}
  try:
    if text.endswith("%"):
      return int(whole * float(text[:-1]) / 100)
    for unit, factor in units.items():
      if text.endswith(unit):
        return int(float(text[:-len(unit)]) * factor)
    return int(text)
  except ValueError:
    raise SystemExit(f"--limit={text} is neither bytes nor a share")


def add_reader_flags(parser):
  parser.add_argument("--for", dest="reader", default="xla-gpu",
                      choices=("xla-gpu", "xla-cpu", "backend"))
  parser.add_argument("--target-config")
  parser.add_argument("--judge")
  parser.add_argument("--partitions", type=int, default=1)


def check_reader_flags(parser, options):
  if options.partitions < 1:
    parser.error("--partitions is at least 1")
  if options.partitions > 1 and options.reader != "xla-gpu":
    parser.error("--partitions is for xla-gpu")
  if options.judge:
    return
  if options.reader == "xla-gpu" and not options.target_config:
    parser.error("--for=xla-gpu needs --target-config")
  if options.reader == "backend":
    parser.error("--for=backend needs --judge")


def main():
  parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("hlo_explain")
  parser.add_argument("module")
  parser.add_argument("--limit", required=True)
  add_reader_flags(parser)
  parser.add_argument("--rounds", type=int, default=5)
  parser.add_argument("--timeout", type=int, default=600)
  parser.add_argument("-o", dest="output")
  parser.add_argument("--json", action="store_true")
  options = parser.parse_args()
  check_reader_flags(parser, options)
  try:
    fitter = Fitter(options.hlo_explain, options.module, options.reader,
                    options.target_config, options.timeout,
                    options.judge, options.partitions)
    limit = bytes_of(options.limit, fitter.measured["total"])
    with tempfile.TemporaryDirectory() as folder:
      found = fitter.fit(limit, options.rounds, folder)
      best = best_of(found, limit)
      if options.output:
        shutil.copyfile(best["module"], options.output)
  except RuntimeError as error:
    print(f"hlo_fit_xla: {error}", file=sys.stderr)
    return 1
  met = best["total"] <= limit
  if options.json:
    for one in found:
      one["module"] = os.path.basename(one["module"])
    print(json.dumps({"limit": limit, "met": met, "best": found.index(best),
                      "rounds": found}, indent=1))
  else:
    print(f"{os.path.basename(options.module)}: {options.reader} allocates "
          f"{best['total']} bytes, {found[0]['total']} for the module as it "
          f"is; {'fits' if met else 'does not fit'} in {limit} "
          f"({best['method']}, {best['added_seconds']:.3g} s more by our "
          f"model, {len(found) - 1} plans)")
  return 0 if met else UNMET


if __name__ == "__main__":
  sys.exit(main())
