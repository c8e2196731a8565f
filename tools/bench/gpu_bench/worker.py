#!/usr/bin/env python3
"""Times a module in XLA, through JAX, or an example in torch.compile.

usage: worker.py xla MODULE.hlo INPUTS.npz RESULTS.npz [REPEAT]
       worker.py torch EXAMPLE INPUTS.npz RESULTS.npz [REPEAT]

A worker of gpu.py measure. It prints a line of JSON when the computation is
compiled, waits for a line on its input, so that compilation may go on beside
other work and timing goes on alone, and prints another line of JSON:

  step_microseconds    one step of REPEAT (50), issued one behind the other
  device_microseconds  of its kernels, added up
  kernels              how many of them, copies counted separately

Needs jax, or torch; inputs are arg0, arg1.2, … and results out, out.0, …
"""

import importlib
import json
import sys
import time


def reply(**values):
  print(json.dumps(values), flush=True)


def wait():
  sys.stdin.readline()


def best_of(repeat, step, finish, rounds=3):
  """Microseconds of a step in the best round."""
  best = float("inf")
  for _ in range(rounds):
    begin = time.perf_counter()
    for _ in range(repeat):
      step()
    finish()
    best = min(best, (time.perf_counter() - begin) / repeat)
  return 1e6 * best


def main():
  if len(sys.argv) < 5 or sys.argv[1] not in ("xla", "torch"):
    print(__doc__)
    return 1
  repeat = int(sys.argv[5]) if len(sys.argv) > 5 else 50
  importlib.import_module("in_" + sys.argv[1]).work(*sys.argv[2:5], repeat)
  return 0


if __name__ == "__main__":
  sys.exit(main())
