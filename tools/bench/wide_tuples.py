#!/usr/bin/env python3
"""Times passes on one loop over a state of N arrays, for growing N.

  ./bazelw build -c opt //tools:hlo-opt
  tools/bench/wide_tuples.py [--tool=bazel-bin/tools/hlo-opt] [SIZES...]

Code that visits all elements of a tuple for each of its users is quadratic
here. Prints user seconds and the exponent between neighboring sizes, which
should be close to 1.
"""

import argparse
import math
import pathlib
import resource
import subprocess
import tempfile

PASSES = ["copy-insertion", "hlo-memory-scheduler",
          "copy-insertion,hlo-memory-scheduler,assign-offsets"]


def module(n):
    """A loop whose step negates each of its n arrays."""
    state = "(s32[], %s)" % ", ".join(["f32[4]"] * n)
    elements = "\n".join(
        f"  x{i} = f32[4] get-tuple-element(s), index={i + 1}\n"
        f"  y{i} = f32[4] negate(x{i})" for i in range(n))
    parameters = "\n".join(f"  p{i} = f32[4] parameter({i})" for i in range(n))
    return f"""HloModule wide
body {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
{elements}
  ROOT r = {state} tuple(next, {", ".join(f"y{i}" for i in range(n))})
}}
cond {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  trips = s32[] constant(5)
  ROOT c = pred[] compare(i, trips), direction=LT
}}
ENTRY e {{
{parameters}
  zero = s32[] constant(0)
  t = {state} tuple(zero, {", ".join(f"p{i}" for i in range(n))})
  ROOT w = {state} while(t), condition=cond, body=body
}}
"""


def user_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def print_series(description, module_of, passes, sizes):
    """Times each of `passes` on module_of(n) for each of the sizes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("sizes", nargs="*", type=int, default=sizes)
    parser.add_argument("--tool", default="bazel-bin/tools/hlo-opt")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for n in args.sizes:
            paths.append(pathlib.Path(folder) / f"n{n}.hlo")
            paths[-1].write_text(module_of(n))
        for flag in passes:
            cells, last = [], None
            for n, path in zip(args.sizes, paths):
                now = n, user_seconds([args.tool, path, flag])
                cells.append(f"{now[1]:8.2f} s")
                if last is not None and min(now[1], last[1]) > 0:
                    exponent = (math.log(now[1] / last[1]) /
                                math.log(now[0] / last[0]))
                    cells[-1] += f" ({exponent:4.2f})"
                last = now
            print(f"{flag:64}", *cells, flush=True)


def main():
    print_series(__doc__, module,
                 [f"--passes={p}" for p in ["hlo-trivial-scheduler"] + PASSES],
                 [1000, 10000, 100000])


if __name__ == "__main__":
    main()
