#!/usr/bin/env python3
"""Prints a table of parse, print, verify, DCE, call graph and alias times.

usage: tools/bench/phases.py [--against=CSV] FILE…

Builds //tools/bench:phases with -c opt and runs it once per file, so that peak
memory is that of the file. --against: a CSV with columns model, parse_ms,
print_ms, …; its times divided by ours are printed beside them.
"""

import csv
import io
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PHASES = ["parse_ms", "print_ms", "verify_ms", "dce_ms", "callgraph_ms",
          "prepare_ms", "alias_ms"]


def main():
  against = {}
  files = []
  for argument in sys.argv[1:]:
    if argument.startswith("--against="):
      with open(argument.split("=", 1)[1]) as f:
        # A column name may say more in brackets: prep_ms(inline+…).
        against = {row["model"]: {k.split("(")[0].replace("prep_", "prepare_"): v
                                  for k, v in row.items()}
                   for row in csv.DictReader(f)}
    else:
      files.append(os.path.abspath(argument))
  if not files:
    print(__doc__, file=sys.stderr)
    return 2
  subprocess.run([os.path.join(ROOT, "bazelw"), "build", "-c", "opt",
                  "//tools/bench:phases"], check=True, cwd=ROOT,
                 stderr=subprocess.DEVNULL)
  binary = os.path.join(ROOT, "bazel-bin", "tools", "bench", "phases")
  head = "%-28s %7s %6s" % ("model", "instr", "comps")
  for phase in PHASES:
    head += " %16s" % phase
  print(head + " %8s %8s %8s %8s" % ("parse", "print", "wc -l", "B/instr"))
  for path in files:
    out = subprocess.run([binary, path], check=True, stdout=subprocess.PIPE,
                         universal_newlines=True).stdout
    for row in csv.DictReader(io.StringIO(out)):
      line = "%-28s %7s %6s" % (row["model"][:28], row["instr"],
                                row["computations"])
      for phase in PHASES:
        theirs = against.get(row["model"], {}).get(phase)
        ratio = " (%4.1fx)" % (float(theirs) / max(float(row[phase]), 1e-6)) if theirs else ""
        line += " %16s" % (row[phase] + ratio)
      print(line + " %8s %8s %8s %8s" % (row["parse_MBps"], row["print_MBps"],
                                         row["count_lines_MBps"],
                                         row["bytes_per_instr"]))
  print("processor times in ms, best of 5; parse, print, wc -l in MB/s; (N x): times "
        "faster than the figures given with --against")
  return 0


if __name__ == "__main__":
  sys.exit(main())
