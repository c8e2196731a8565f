#!/usr/bin/env python3
"""A table of schedules: peaks of XLA's algorithms and ours, bounds, seconds.

usage: schedules.py HLO_EXPLAIN MODULE.hlo... [--upstream=FILE.csv] [--effort=N]

HLO_EXPLAIN is the binary of //tools:hlo-explain, built with -c opt. The csv has
lines `model,scheduler,instr_prepped,ms,heapsim_peak_bytes`, peaks that another
implementation reports for the same modules; the last column says by how much
ours differ from them at most. Figures are of modules after the pipeline
`prepare`, which hlo-explain runs on modules without a schedule.
Exit status 1: ours was above the default on some module.
"""

import csv
import json
import math
import os
import subprocess
import sys
import time

ALGORITHMS = ["list", "dfs", "postorder", "bfs", "default", "best"]


def explain(binary, path, algorithm, effort):
  command = [binary, path, "--json", "--schedule=" + algorithm]
  if effort is not None and algorithm == "best":
    command.append("--effort=%s" % effort)
  begin = time.time()
  run = subprocess.run(command, capture_output=True, text=True)
  if run.returncode != 0:
    raise RuntimeError("%s: %s" % (path, run.stderr.strip()[:200]))
  report = json.loads(run.stdout)
  report["wall_seconds"] = time.time() - begin
  return report


def number(report, key):
  # JSON of protos has 64-bit integers as strings.
  return int(report.get(key, 0))


def read_upstream(path):
  peaks = {}
  with open(path) as lines:
    for row in csv.DictReader(lines):
      peaks[row["model"], row["scheduler"]] = int(row["heapsim_peak_bytes"])
  return peaks


def main(arguments):
  options = dict(a[2:].split("=", 1) for a in arguments if a.startswith("--"))
  names = [a for a in arguments if not a.startswith("--")]
  if len(names) < 2:
    sys.exit(__doc__)
  upstream = read_upstream(options["upstream"]) if "upstream" in options else {}
  row = "%-34s %8s" + " %9s" * 5 + " %9s %7s %7s %8s %s"
  print(row % ("module (GiB)", "instr", "list", "dfs", "postorder", "bfs",
               "default", "ours", "ratio", "bound", "seconds", "upstream"))
  ratios = []
  for path in names[1:]:
    model = os.path.splitext(os.path.basename(path))[0]
    reports = {a: explain(names[0], path, a, options.get("effort"))
               for a in ALGORITHMS}
    peaks = {a: number(reports[a], "peak_bytes") for a in ALGORITHMS}
    off = [abs(peaks[a] / upstream[model, a] - 1)
           for a in ALGORITHMS if upstream.get((model, a))]
    default = max(1, peaks["default"])
    ratios.append(peaks["best"] / default)
    bound = number(reports["best"], "any_order_lower_bound_bytes") / default
    print(row % ((model, number(reports["best"], "instruction_count")) +
                 tuple("%.4f" % (peaks[a] / 2**30) for a in ALGORITHMS) +
                 ("%.4f" % ratios[-1], "%.4f" % bound,
                  "%.2f" % float(reports["best"].get("schedule_seconds", 0)),
                  "%.3f %%" % (100 * max(off)) if off else "-")))
  mean = math.exp(sum(math.log(max(r, 1e-9)) for r in ratios) / len(ratios))
  print("geometric mean of ours / default: %.4f, highest %.4f" %
        (mean, max(ratios)))
  sys.exit(0 if max(ratios) <= 1 else 1)


if __name__ == "__main__":
  main(sys.argv[1:])
