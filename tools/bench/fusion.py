#!/usr/bin/env python3
"""Prints the effect of GPU fusion on modules: kernels, bytes, times, peaks.

usage: tools/bench/fusion.py [--device=NAME] [--mof=PASS] FILE…
       tools/bench/fusion.py [--device=NAME] --scaling [--count]
       tools/bench/fusion.py --kernels=N FILE…
       FUSION_BINARY=…: use this binary instead of building one

Builds //tools/bench:fusion with -c opt and runs it once per file. There are
figures before fusion, after priority fusion and after multi-output fusion.
Before fusion, batch normalizations are not expanded yet: each counts as a kernel
that reads its operands and writes its results once; the floor is that of the
expanded module. Bytes are those that kernels read and write by the cost model,
with each computation counted once. The lower bound reads each parameter and
writes each result once. The floor is the least that fusion can reach around
library kernels (dots, …): their bytes, and one write and read of their operands
and results. (Dots and convolutions that become loops, and masks written for
later kernels, can go below it.)
--kernels: prints the N kernels with the most bytes after fusion instead, with
what they read and write.
--scaling: instead of files, synthetic modules of 1,000 to 100,000 instructions
(training steps, random graphs, many users of one value, loops as results), and
the exponent that fits their times. Times grow faster than the work as modules
outgrow one cache after the other, and vary between runs. --count: counts machine
instructions with valgrind instead, for up to 30,000 instructions; they are the
same on every machine (takes about 15 minutes).
"""

import csv
import io
import math
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIZES = [1000, 3000, 10000, 30000, 100000]
PASSES = ["PriorityFusion", "MultiOutputFusion"]


def human(number):
  for unit in ["", "K", "M", "G", "T"]:
    if abs(number) < 1000 or unit == "T":
      return "%.3g%s" % (number, unit)
    number /= 1000.0


def run(binary, arguments):
  result = subprocess.run([binary] + arguments, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
  rows = list(csv.DictReader(io.StringIO(result.stdout)))
  if result.returncode != 0 or not rows:
    return None, result.stderr.strip().split("\n")[0]
  return rows[0], ""


def exponent(sizes, seconds):
  """Slope of the line of least squares through the logarithms."""
  xs = [math.log(s) for s in sizes]
  ys = [math.log(max(t, 1e-6)) for t in seconds]
  mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
  return (sum((x - mx) * (y - my) for x, y in zip(xs, ys)) /
          sum((x - mx) ** 2 for x in xs))


def count_instructions(binary, arguments, name):
  """Machine instructions in Run of a pass; None where valgrind is not there."""
  try:
    result = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
         "--toggle-collect=xla::gpu::%s::RunImpl*" % name, binary] + arguments,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
  except FileNotFoundError:
    return None, "no valgrind"
  found = re.search(r"Collected : (\d+)", result.stderr)
  if result.returncode != 0 or not found:
    return None, result.stderr.strip().split("\n")[-1]
  return int(found.group(1)), ""


def count_scaling(binary, flags):
  for graph in ["training", "random", "wide", "results"]:
    print("%-10s %12s %16s %16s %12s" % (graph, "instructions", "priority", "mof",
                                        "per instr"))
    sizes, counts = [], []
    for size in SIZES[:-1]:
      arguments = flags + ["--synthetic=%d" % size, "--graph=" + graph,
                           "--noschedule"]
      row, error = run(binary, arguments)
      executed = []
      for name in PASSES:
        if row is None:
          break
        number, error = count_instructions(binary, arguments, name)
        if number is None:
          break
        executed.append(number)
      if len(executed) < len(PASSES):
        print("%-10s %12d %s" % ("", size, error))
        return 1
      sizes.append(int(row["instructions"]))
      counts.append(executed)
      print("%-10s %12d %16d %16d %12d" % ("", sizes[-1], executed[0], executed[1],
                                          sum(executed) // sizes[-1]), flush=True)
    for i, name in enumerate(PASSES):
      print("exponent of %s: %.3f" % (name, exponent(sizes, [c[i] for c in counts])))
  return 0


def scaling(binary, flags):
  for graph in ["training", "random", "wide", "results"]:
    rows = []
    print("%-10s %12s %12s %12s %12s" % (graph, "instructions", "priority s", "mof s",
                                        "us/instr"))
    for size in SIZES:
      row, error = run(binary, flags + ["--synthetic=%d" % size, "--graph=" + graph,
                                        "--noschedule"])
      if row is None:
        print("%-10s %12d %s" % ("", size, error))
        continue
      rows.append(row)
      both = float(row["priority_s"]) + float(row["mof_s"])
      print("%-10s %12s %12s %12s %12.2f" % ("", row["instructions"], row["priority_s"],
                                            row["mof_s"],
                                            1e6 * both / int(row["instructions"])),
            flush=True)
    sizes = [int(row["instructions"]) for row in rows]
    for name in ["priority_s", "mof_s"]:
      seconds = [float(r[name]) for r in rows]
      print("exponent of %s: %.2f, from 10,000 on %.2f" % (
          name, exponent(sizes, seconds), exponent(sizes[2:], seconds[2:])))


def main():
  flags = []
  files = []
  scale = False
  count = False
  for argument in sys.argv[1:]:
    if argument == "--scaling":
      scale = True
    elif argument == "--count":
      count = True
    elif argument.startswith("--"):
      flags.append(argument)
    else:
      files.append(os.path.abspath(argument))
  if not files and not scale:
    print(__doc__, file=sys.stderr)
    return 2
  binary = os.environ.get("FUSION_BINARY")
  if not binary:
    subprocess.run([os.path.join(ROOT, "bazelw"), "build", "-c", "opt",
                    "//tools/bench:fusion"], check=True, cwd=ROOT,
                   stderr=subprocess.DEVNULL)
    binary = os.path.join(ROOT, "bazel-bin", "tools", "bench", "fusion")
  if scale:
    if count:
      return count_scaling(binary, flags)
    scaling(binary, flags)
    return 0
  if any(flag.startswith("--kernels") for flag in flags):
    return subprocess.run([binary] + flags + files).returncode
  print("%-36s %7s  %-19s  %-22s %5s %5s %6s %6s %6s  %-20s  %-22s  %s" % (
      "model", "instr", "kernels", "bytes", "/0", "/1", "/bound", "floor", "/0", "model us",
      "peak bytes", "seconds"))
  ratios = []
  savings = []
  for path in files:
    row, error = run(binary, flags + [path])
    name = os.path.basename(path)[:36]
    if row is None:
      print("%-36s %s" % (name, error))
      continue
    b = [float(row["bytes%d" % i]) for i in range(3)]
    ratio = b[2] / b[0] if b[0] else 1
    saving = b[2] / b[1] if b[1] else 1
    ratios.append(ratio)
    savings.append(saving)
    print("%-36s %7s  %-19s  %-22s %5.3f %5.3f %6.1f %6s %6.3f  %-20s  %-22s  %.2f + %.2f" % (
        name, row["instructions"],
        " > ".join(row["kernels%d" % i] for i in range(3)),
        " > ".join(human(x) for x in b), ratio, saving,
        b[2] / max(1, float(row["lower_bound"])),
        human(float(row["floor"])), float(row["floor"]) / max(1, b[0]),
        " > ".join(human(float(row["us%d" % i])) for i in range(3)),
        " > ".join(human(float(row["peak%d" % i])) for i in range(3)),
        float(row["priority_s"]), float(row["mof_s"])))
  if ratios:
    mean = lambda v: math.exp(sum(math.log(max(x, 1e-9)) for x in v) / len(v))
    print("mean of bytes: %.3f of the unfused, %.3f of those after priority fusion" %
          (mean(ratios), mean(savings)))
  return 0


if __name__ == "__main__":
  sys.exit(main())
