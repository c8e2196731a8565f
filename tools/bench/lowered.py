#!/usr/bin/env python3
"""Prints which kernels of modules are lowered, and why others are not.

usage: lowered.py HLO_OPT MODULE.hlo... [--device=NAME]

HLO_OPT is the binary of //tools:hlo-opt, built with -c opt. For
modules after pipeline `gpu`, the table has the share of kernels that have .kir
text, of all kernels that no library computes, by number and by bytes read and
written, and their parts by kind. Below it are, over all modules, the reasons why
kernels are not lowered, and why parts are loops instead of tiled.
The exit status is 1 if less than 95 % of the bytes of a module are lowered.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile

KINDS = ["dot", "transpose", "row-reduction", "column-reduction", "sort",
         "loop"]
LEAST = 95.0


def lower(binary, path, device):
  with tempfile.TemporaryDirectory() as folder:
    out = os.path.join(folder, "out.kir")
    run = subprocess.run([
        binary, path, "--pipeline=gpu", "--device=" + device, "--emit=kir",
        "-o", out
    ], capture_output=True, text=True)
    if run.returncode != 0:
      raise RuntimeError(run.stderr.strip()[:200])
    with open(out) as text:
      return [line[3:].rstrip() for line in text if line.startswith("// ")]


def reason(text):
  """Without the instruction that it is of."""
  return re.sub(r", in [^,]*$", "", text)


def main():
  device = "h100"
  paths = []
  for arg in sys.argv[2:]:
    if arg.startswith("--device="):
      device = arg.split("=", 1)[1]
    else:
      paths.append(arg)
  if len(sys.argv) < 2 or not paths:
    sys.exit(__doc__)
  refused = collections.Counter()
  looped = collections.Counter()
  failed = False
  print("%-40s %8s %8s %8s %8s " % ("module", "kernels", "lowered", "% bytes",
                                    "calls") + " ".join("%6s" % kind[:6]
                                                        for kind in KINDS))
  for path in paths:
    name = os.path.basename(path)[:40]
    try:
      lines = lower(sys.argv[1], path, device)
    except RuntimeError as error:
      print("%-40s %s" % (name, error))
      failed = True
      continue
    kinds = collections.Counter()
    count, of, share, calls = 0, 0, 0.0, 0
    for line in lines:
      total = re.match(r"(\d+) of (\d+) kernels lowered, ([\d.]+) %"
                       r"(?:.*beside (\d+) calls)?", line)
      if total:
        count, of = int(total[1]), int(total[2])
        share, calls = float(total[3]), int(total[4] or 0)
      elif ": not lowered: " in line:
        refused[reason(line.split(": not lowered: ", 1)[1])] += 1
      elif line.startswith("loop: ") and "; " in line:
        looped[reason(line.split("; ", 1)[1])] += 1
      elif line.startswith("parts of kernels: "):
        for part in line.split(": ", 1)[1].split(", "):
          number, kind = part.split()
          kinds[kind] = int(number)
    failed = failed or share < LEAST
    print("%-40s %8d %8d %8.1f %8d " % (name, of, count, share, calls) +
          " ".join("%6d" % kinds[kind] for kind in KINDS))
  for title, reasons in (("not lowered", refused), ("loops because", looped)):
    print("\n%s:" % title + ("" if reasons else " none"))
    for text, times in reasons.most_common():
      print("%6d  %s" % (times, text))
  sys.exit(1 if failed else 0)


if __name__ == "__main__":
  main()
