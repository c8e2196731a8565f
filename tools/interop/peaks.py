#!/usr/bin/env python3
"""Compares hlo-explain's peaks with what XLA:CPU allocates for JAX programs.

usage: peaks.py --hlo-explain=BIN [--aim=PERCENT] [--aim-before=PERCENT]

Compiles five programs with XLA:CPU, which dumps each optimized, scheduled module
with its buffer assignment. hlo-explain reads the folder and reports what is
allocated for that module; XLA's figure is the sum of its allocations, without
constants and thread-local buffers. With --as=cpu, hlo-explain does the same for
the module before XLA's passes. Prints a table; the exit status is 1 if the two
differ by more than --aim (0.5 %), or with --as=cpu by more than --aim-before
(10 %). Without JAX, the script says so and exits with status 0.
"""

import argparse
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

try:
  import jax
  import jaxlib
except ImportError as error:
  print(f"SKIPPED: jax is not installed ({error}); pip install jax")
  sys.exit(0)


def programs():
  """Names, functions and shapes of arguments."""
  import jax.numpy as jnp
  from jax import lax

  def shape(*dims, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(dims, dtype)

  def train(loss):
    """A step of SGD; parameters are the first argument."""
    def step(params, *batch):
      value, gradients = jax.value_and_grad(loss)(params, *batch)
      return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value
    return step

  def mlp(params, x):
    for w in params:
      x = jnp.tanh(x @ w)
    return jnp.mean(x * x)

  def conv(params, x):
    for w in params:
      x = jax.nn.relu(lax.conv_general_dilated(
          x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    return jnp.mean(x)

  def block(x, w):
    heads = [(x @ w[i]).reshape(8, 64, 4, 16) for i in range(3)]
    scores = jnp.einsum("bqhd,bkhd->bhqk", heads[0], heads[1]) / 4
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), heads[2])
    x = x + mixed.reshape(x.shape) @ w[3]
    return x + jax.nn.gelu(x @ w[4]) @ w[5], None

  def transformer(params, x):
    return jnp.mean(lax.scan(block, x, params)[0] ** 2)

  def unrolled(params, x):
    for i in range(4):
      x, _ = block(x, params[i])
    return jnp.mean(x ** 2)

  def lstm(params, xs):
    wx, wh = params
    def cell(carry, x):
      h, c = carry
      i, f, g, o = jnp.split(x @ wx + h @ wh, 4, axis=-1)
      c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
      h = jax.nn.sigmoid(o) * jnp.tanh(c)
      return (h, c), h
    zero = jnp.zeros((32, 128))
    return jnp.mean(lax.scan(cell, (zero, zero), xs)[1])

  layers = shape(4, 6, 64, 64)
  tokens = shape(8, 64, 64)
  return [
      ("mlp", train(mlp), [shape(256, 256)] * 6, shape(64, 256)),
      ("conv", train(conv), [shape(3, 3, 16, 16)] * 4, shape(8, 32, 32, 16)),
      ("transformer", train(unrolled), layers, tokens),
      ("transformer_scan", train(transformer), layers, tokens),
      ("lstm", train(lstm), [shape(64, 512), shape(128, 512)],
       shape(20, 32, 64)),
  ]


def compile_here(name, folder):
  """Compiles one program; XLA's flags are read once in a process."""
  for program, step, *arguments in programs():
    if program == name:
      step.__name__ = name
      jax.jit(step, donate_argnums=0).lower(*arguments).compile(
          compiler_options={"xla_dump_to": folder})


def allocations(folder, name):
  """Bytes that XLA allocates, from its buffer assignment."""
  for file in sorted(os.listdir(folder)):
    if f"jit_{name}." in file and file.endswith("buffer-assignment.txt"):
      with open(os.path.join(folder, file)) as text:
        return sum(
            int(size) for size, kind in re.findall(
                r"^allocation \d+: size (\d+)(.*)$", text.read(), re.M)
            if "constant" not in kind and "thread-local" not in kind)
  raise RuntimeError(f"XLA wrote no buffer assignment of {name}")


def explain_before(folder, name, hlo_explain):
  """What the module from before XLA's passes is said to need on a CPU."""
  for file in sorted(os.listdir(folder)):
    if f"jit_{name}." in file and file.endswith("before_optimizations.txt"):
      command = [hlo_explain, os.path.join(folder, file), "--as=cpu", "--json"]
      return json.loads(subprocess.run(
          command, check=True, capture_output=True).stdout)["heap_bytes"]
  raise RuntimeError(f"XLA wrote no module of {name} from before its passes")


def measure(name, hlo_explain):
  """XLA's bytes, our report, and our bytes with --as=cpu."""
  with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, os.path.abspath(__file__),
                    "--compile=" + name, "--folder=" + folder],
                   check=True, env=dict(os.environ, JAX_PLATFORMS="cpu"))
    report = json.loads(subprocess.run(
        [hlo_explain, folder, "--json"], check=True, capture_output=True).stdout)
    if not report["input"]["scheduled"]:
      raise RuntimeError(f"{name}: the module has no order")
    return (allocations(folder, name), report,
            explain_before(folder, name, hlo_explain))


def main():
  parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--hlo-explain")
  parser.add_argument("--aim", type=float, default=0.5)
  parser.add_argument("--aim-before", type=float, default=10)
  parser.add_argument("--compile", help=argparse.SUPPRESS)
  parser.add_argument("--folder", help=argparse.SUPPRESS)
  options = parser.parse_args()
  if options.compile:
    compile_here(options.compile, options.folder)
    return 0
  print(f"XLA:CPU of jaxlib {jaxlib.__version__}")
  print(f"{'program':20} {'XLA':>12} {'hlo-explain':>12} {'off by':>8}  "
        f"{'--as=cpu':>12} {'off by':>8}")
  failed = False
  for name, *_ in programs():
    theirs, report, before = measure(name, options.hlo_explain)
    ours = report["allocated_bytes"]
    off = 100 * (ours / theirs - 1)
    off_before = 100 * (before / theirs - 1)
    missed = (abs(off) > options.aim, abs(off_before) > options.aim_before)
    failed |= any(missed)
    print(f"{name:20} {theirs:12} {ours:12.0f} {off:+7.2f}%  "
          f"{before:12.0f} {off_before:+7.2f}%"
          f"{'  more than the aim' if any(missed) else ''}", flush=True)
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
