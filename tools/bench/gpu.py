#!/usr/bin/env python3
"""Runs modules as CUDA programs on a GPU, beside XLA:GPU and torch.compile.

usage: gpu.py modules DIR
       gpu.py prepare --hlo-opt=BIN --hlo-run=BIN --hlo-explain=BIN -o DIR
                      [--dry-run] MODULE.hlo...
       gpu.py measure DIR -o OUT.json [--budget=SECONDS] [--host]
       gpu.py report OUT.json

modules  writes modules of one kernel or two, of most kinds, to be prepared.
prepare  on any machine: the program of each module in each variant (default,
         multi-output fusion off, no barriers for reuse, stack mode), inputs and
         the evaluator's results (if that takes less than --evaluate=60 seconds
         and --carry=8e6 bytes; else inputs are drawn later and XLA is the
         judge), predicted times of kernels, predicted peak. Copies itself into
         DIR, beside what is there already. --nvcc=COMMAND: builds the programs
         here, for that machine to run.
         --evaluate-bytes: no evaluation of programs with more memory.
         --cupti=DIR (with include/ and lib/): brings a tracer along, so that
         kernels' own begins and ends are measured.
         --dry-run: compiles them with what is there (nvcc or NVRTC, and the
         host's compiler) and prints the plan of what would be measured.
measure  on a machine with a GPU, nvcc and Python with NumPy; jax and torch are
         used if they are there. Needs nothing but DIR. Each step has a limit and
         fails alone; OUT.json is rewritten after each. --budget: seconds of all
         together. --tf32: products of f32 with the programs' --tf32, too.
         --others-for=REGEX: only these modules by XLA and torch. --check-jobs,
         --check-limit: of compute-sanitizer, on programs of at most
         --sanitize-bytes. --no-counters: without ncu; --count-limit: seconds of
         it. --graphs-from: programs of more kernels run launch by launch, too;
         --traced-only: programs of more bytes run only while they are traced.
         --host: without a GPU, programs are the host's (their times mean
         nothing).
report   tables for docs/gpu.md.

Results are compared array by array: |ours - judge| / |judge| (Euclidean norms),
and the largest difference over the largest element. The evaluator and our
programs compute in the module's types without reduced products, so what differs
is the order of sums: TOLERANCE holds some sqrt(1000) roundings. XLA multiplies
f32 in tf32 by default (10 bits), so where XLA is the judge LOOSE applies.
"""

import argparse
import importlib
import sys


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  commands = parser.add_subparsers(dest="command", required=True)
  p = commands.add_parser("modules")
  p.add_argument("folder")
  p = commands.add_parser("prepare")
  for tool in ("hlo-opt", "hlo-run", "hlo-explain"):
    p.add_argument("--" + tool, required=True)
  p.add_argument("-o", required=True)
  p.add_argument("--variants", default="default,no-mof,no-reuse,stack")
  p.add_argument("--dry-run", action="store_true")
  p.add_argument("--limit", type=float, default=300)
  p.add_argument("--evaluate", type=float, default=60)
  p.add_argument("--carry", type=float, default=8e6)
  p.add_argument("--evaluate-bytes", type=float, default=1e10)
  p.add_argument("--nvcc", default="")
  p.add_argument("--cupti", default="")
  p.add_argument("modules", nargs="+")
  p = commands.add_parser("measure")
  p.add_argument("folder")
  p.add_argument("-o", required=True)
  p.add_argument("--budget", type=float, default=500)
  p.add_argument("--build-limit", type=float, default=240)
  p.add_argument("--compile-limit", type=float, default=90)
  p.add_argument("--jobs", type=int, default=8)
  p.add_argument("--worker-jobs", type=int, default=4)
  p.add_argument("--repeat", type=int, default=20)
  p.add_argument("--only", default="")
  p.add_argument("--skip", default="")
  p.add_argument("--without", default="")
  p.add_argument("--others-for", default="")
  p.add_argument("--tf32", action="store_true")
  p.add_argument("--sanitize-bytes", type=float, default=1e8)
  p.add_argument("--check-jobs", type=int, default=8)
  p.add_argument("--check-limit", type=float, default=60)
  p.add_argument("--count-limit", type=float, default=60)
  p.add_argument("--no-counters", action="store_true")
  p.add_argument("--graphs-from", type=int, default=1)
  p.add_argument("--traced-only", type=float, default=1e10)
  p.add_argument("--nvcc", default="nvcc")
  p.add_argument("--host", action="store_true")
  p = commands.add_parser("report")
  p.add_argument("file")
  flags = parser.parse_args()
  module = importlib.import_module("gpu_bench." + flags.command)
  return getattr(module, flags.command)(flags)


if __name__ == "__main__":
  sys.exit(main())
