#!/usr/bin/env python3
"""Processor instructions and cache misses of every analysis, as two tables.

usage: analysis_counts.py BENCHMARK [--sizes=1000,10000,100000] [--only=...]

BENCHMARK is the binary of //xla/hlo/analysis/tests:analysis_benchmark, built
with -c opt. It runs under Valgrind's callgrind, which counts every instruction
and simulates caches (here 32 KiB and 32 MiB), so that figures are the same on
every run and on a busy machine. A column per size, per HLO instruction; then
the exponent e of count = c * size^e, fitted to all sizes (1.00: linear work).
Misses are those of the larger cache: what waits for memory.
"""

import glob
import math
import os
import re
import subprocess
import sys
import tempfile


def exponent(points):
  xs = [math.log(size) for size, _ in points]
  ys = [math.log(max(count, 1)) for _, count in points]
  x_mean = sum(xs) / len(xs)
  y_mean = sum(ys) / len(ys)
  xx = sum((x - x_mean)**2 for x in xs)
  xy = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys))
  return xy / xx if xx else 0


def read(path):
  """Name, size, {event: count} of one dump; None for those without a name."""
  name = events = None
  counts = []
  with open(path) as lines:
    for line in lines:
      if line.startswith("desc: Trigger:"):
        found = re.search(r"Client Request: (.*)@(\d+)", line)
        name = (found.group(1), int(found.group(2))) if found else None
      elif line.startswith("events:"):
        events = line.split()[1:]
      elif line.startswith(("summary:", "totals:")) and not counts:
        counts = [int(count) for count in line.split()[1:]]
  if name is None or not counts:
    return None
  counts += [0] * (len(events) - len(counts))
  return name[0], name[1], dict(zip(events, counts))


def table(title, rows, sizes, value):
  print("%-28s" % title + "".join("%12d" % size for size in sizes) +
        "%8s" % "e")
  for name, counts in rows.items():
    points = [(size, value(counts[size])) for size in sizes if size in counts]
    cells = "".join(
        "%12.2f" % (value(counts[size]) / size) if size in counts else "%12s" %
        "-" for size in sizes)
    print("%-28s" % name + cells + "%8.2f" % exponent(points))


def main(arguments):
  binaries = [a for a in arguments if not a.startswith("--")]
  if len(binaries) != 1:
    sys.exit(__doc__)
  with tempfile.TemporaryDirectory() as folder:
    subprocess.run([
        "valgrind", "--tool=callgrind", "--instr-atstart=no", "--cache-sim=yes",
        "--I1=32768,8,64", "--D1=32768,8,64", "--LL=33554432,16,64",
        "--callgrind-out-file=" + os.path.join(folder, "dump"), binaries[0],
        "--count"
    ] + [a for a in arguments if a.startswith("--")],
                   check=True,
                   stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    dumps = sorted(glob.glob(os.path.join(folder, "dump.*")),
                   key=lambda path: int(path.rsplit(".", 1)[1]))
    rows = {}
    for name, size, counts in filter(None, map(read, dumps)):
      rows.setdefault(name, {})[size] = counts
  sizes = sorted({size for counts in rows.values() for size in counts})
  table("instructions", rows, sizes, lambda c: c["Ir"])
  print()
  table("misses", rows, sizes, lambda c: c.get("DLmr", 0) + c.get("DLmw", 0))


if __name__ == "__main__":
  main(sys.argv[1:])
