#!/usr/bin/env python3
"""Times passes on one asynchronous chain of N updates, for growing N.

  ./bazelw build -c opt //tools:hlo-opt
  tools/bench/async_chains.py [--tool=bazel-bin/tools/hlo-opt] [SIZES...]

The first update binds the operand, the others add nothing. Code that follows
the chain for each of its links is quadratic here. Prints user seconds and the
exponent between neighboring sizes, which should be close to 1.
"""

import wide_tuples


def module(n):
    """A chain whose operand is bound late."""
    updates = "\n".join(
        f"  v{i} = ((f32[4]), f32[4], s32[]) async-update(v{i - 1})"
        for i in range(1, n))
    return f"""HloModule chain
f {{
  p = f32[4] parameter(0)
  ROOT n = f32[4] negate(p)
}}
ENTRY e {{
  x = f32[4] parameter(0)
  s = ((), (), s32[]) async-start(), calls=f
  v0 = ((f32[4]), f32[4], s32[]) async-update(s, x)
{updates}
  ROOT d = f32[4] async-done(v{n - 1})
}}
"""


if __name__ == "__main__":
    wide_tuples.print_series(
        __doc__, module,
        ["--passes=hlo-dce", "--passes=call-inliner,flatten-call-graph",
         "--passes=copy-insertion,hlo-memory-scheduler,assign-offsets",
         "--pipeline=cleanup", "--pipeline=gpu"],
        [1000, 4000, 16000])
