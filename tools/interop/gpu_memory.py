#!/usr/bin/env python3
"""Compares `hlo-explain --as=xla-gpu` with what XLA:GPU allocates.

usage: gpu_memory.py HLO_EXPLAIN (--judge=COMMAND | --figures=FILE) MODULE...

Per module: bytes that XLA allocates and bytes that hlo-explain reports, for
arguments, results and temporaries together (shared bytes counted once) and for
temporaries alone, with the differences in percent.

  --judge=COMMAND   with the module's path as last argument it prints a line of
                    JSON that holds temp, argument, output and alias in bytes
                    (or temp_size, ...), as does 'xla_memory.py --for=xla-gpu
                    --target-config=FILE'
  --figures=FILE    such lines from an earlier run instead, with `module`, the
                    name of the file
  --as=PIPELINE     xla-gpu
  --partitions=N    number of devices of the module (1)
  --aim=PERCENT     exit status 1 if a module differs by more

If the command reports an error, or nothing, the module fails.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys

PARTS = ("temp", "argument", "output", "alias")


def sizes(line):
  """(all, temporaries) of a judge's answer."""
  part = {}
  for name in PARTS:
    key = name + "_size" if name + "_size" in line else name
    part[name] = int(line[key])
  return (part["temp"] + part["argument"] + part["output"] - part["alias"],
          part["temp"])


def ask(command, module):
  answer = subprocess.run(shlex.split(command) + [module], capture_output=True,
                          text=True)
  lines = [line for line in answer.stdout.splitlines() if line.startswith("{")]
  if not lines:
    raise RuntimeError("no answer: " + answer.stderr.strip()[-160:])
  line = json.loads(lines[-1])
  if "error" in line:
    raise RuntimeError(line["error"][:160])
  return sizes(line)


def explain(hlo_explain, module, pipeline, partitions):
  """Bytes that hlo-explain says are allocated."""
  answer = subprocess.run(
      [hlo_explain, module, f"--as={pipeline}", "--json",
       f"--num-partitions={partitions}"], capture_output=True, text=True)
  if answer.returncode != 0:
    raise RuntimeError(answer.stderr.strip().splitlines()[0][:160])
  report = json.loads(answer.stdout)
  return int(report.get("allocated_bytes", report["peak_bytes"]))


def percent(ours, theirs):
  return 100 * (ours / theirs - 1) if theirs else float(ours > 0) * 100


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("hlo_explain")
  parser.add_argument("modules", nargs="+")
  parser.add_argument("--judge")
  parser.add_argument("--figures")
  parser.add_argument("--as", dest="pipeline", default="xla-gpu")
  parser.add_argument("--partitions", type=int, default=1)
  parser.add_argument("--aim", type=float)
  flags = parser.parse_args()
  if bool(flags.judge) == bool(flags.figures):
    parser.error("one of --judge and --figures")
  known = {}
  if flags.figures:
    with open(flags.figures) as file:
      for line in file:
        if line.startswith("{"):
          known[json.loads(line)["module"]] = json.loads(line)
  print(f"{'module':34} {'XLA':>14} {'ours':>14} {'%':>7}"
        f" {'temp of XLA':>14} {'ours':>14} {'%':>7}")
  failed = False
  for module in flags.modules:
    name = os.path.basename(module)
    try:
      if flags.judge:
        theirs, temp = ask(flags.judge, module)
      elif name in known:
        theirs, temp = sizes(known[name])
      else:
        raise RuntimeError("not in " + flags.figures)
      ours = explain(flags.hlo_explain, module, flags.pipeline,
                     flags.partitions)
    except (RuntimeError, KeyError) as error:
      print(f"{name:34} {error}")
      failed = True
      continue
    our_temp = ours - (theirs - temp)
    print(f"{name:34} {theirs:14} {ours:14} {percent(ours, theirs):+7.1f}"
          f" {temp:14} {our_temp:14} {percent(our_temp, temp):+7.1f}",
          flush=True)
    if flags.aim is not None and abs(percent(ours, theirs)) > flags.aim:
      failed = True
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
