#!/usr/bin/env python3
"""Out of memory, explained, made to fit, and trained on: a JAX user's loop.

usage: examples/fit_loop.py [HLO_EXPLAIN]    (default: hlo-explain on the PATH)

Needs jax (`pip install jax`), and no accelerator: XLA for the CPU is the backend.

  1. a training step of JAX becomes HLO, before any optimization
  2. hlo-explain says that it does not fit in 70 % of its peak (exit status 3)
  3. hlo-explain --fit writes a module that computes values again and fits
  4. XLA compiles both; each trains for 20 steps from the same start, and the
     losses have to agree

The last table also has what XLA allocates. For the CPU that stays the same: it
keeps the values that are computed again, but orders them anew, by its own
measure. tools/interop/hlo_fit_xla.py plans for XLA on a GPU until its own
allocation fits.

Exit status 1 where a step answers otherwise than that.
"""

import os
import re
import subprocess
import sys
import tempfile

import jax
import jax.numpy as jnp
from jax._src.lib import xla_client
import numpy as np

jax.config.update("jax_platforms", "cpu")
LIMIT, STEPS, LAYERS, WIDTH, BATCH = "70%", 20, 12, 128, 2048


def train_step(params, x, y):
  """One step of gradient descent on a deep network with a gate per layer."""

  def loss(params):
    h = x
    for w, gate in params:
      h = h + jnp.tanh(h @ w) * jax.nn.sigmoid(gate * h)
    return jnp.mean((h - y) ** 2)

  value, grads = jax.value_and_grad(loss)(params)
  return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def start():
  keys = jax.random.split(jax.random.key(0), LAYERS + 2)
  params = [(0.1 * jax.random.normal(key, (WIDTH, WIDTH)), jnp.ones(WIDTH))
            for key in keys[:LAYERS]]
  x, y = (jax.random.normal(key, (BATCH, WIDTH)) for key in keys[LAYERS:])
  return params, x, y


def explain(tool, module, *flags):
  command = [tool, module, "--noseconds", *flags]
  print("\n$ hlo-explain", os.path.basename(module), *map(os.path.basename, flags))
  result = subprocess.run(command, capture_output=True, text=True)
  print("\n".join(result.stdout.splitlines()[:6]), result.stderr, sep="\n", end="")
  return result


def compile_hlo(path):
  """A module of HLO text as an executable of XLA for the CPU."""
  with open(path, encoding="utf-8") as file:
    module = xla_client.hlo.hlo_module_from_text(file.read())
  computation = xla_client.hlo.XlaComputation(
      module.as_serialized_hlo_module_proto())
  mlir = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
  device = jax.devices("cpu")[0]
  return device.client.compile_and_load(mlir, xla_client.DeviceList((device,)))


def losses(executable, args):
  """Those of 20 steps: each begins with the parameters of the one before."""
  params, x, y = args
  leaves, tree = jax.tree.flatten(params)
  found = []
  for _ in range(STEPS):
    results = executable.execute_sharded([*leaves, x, y])
    arrays = [a[0] for a in results.disassemble_into_single_device_arrays()]
    leaves, value = arrays[:-1], arrays[-1]
    found.append(float(value))
  return np.array(found)


def main():
  tool = sys.argv[1] if len(sys.argv) > 1 else "hlo-explain"
  with tempfile.TemporaryDirectory() as folder:
    step, smaller = (os.path.join(folder, n) for n in ("step.hlo", "smaller.hlo"))
    args = start()
    with open(step, "w", encoding="utf-8") as file:
      file.write(jax.jit(train_step).lower(*args).as_text(dialect="hlo"))
    if explain(tool, step, f"--limit={LIMIT}").returncode != 3:
      sys.exit("the step should not have fitted")
    # XLA runs all of its passes on what it reads; the plan is to survive that.
    fit = explain(tool, step, f"--limit={LIMIT}", "--fit", "--for=xla-cpu",
                  "-o", smaller)
    if fit.returncode != 0:
      sys.exit("no plan fits")
    executables = {name: compile_hlo(path)
                   for name, path in (("as it was", step), ("made to fit", smaller))}
    found = {name: losses(e, args) for name, e in executables.items()}
    print(f"\n{'':12}  XLA's temporaries  loss of step 1   loss of step {STEPS}")
    for name, executable in executables.items():
      temp = executable.get_compiled_memory_stats().temp_size_in_bytes
      print(f"{name:12}  {temp / 2**20:13.1f} MiB  {found[name][0]:.8f}       "
            f"{found[name][-1]:.8f}")
    before, after = found.values()
    apart = float(np.max(np.abs(after - before) / np.abs(before)))
    print(f"losses of {STEPS} steps are at most {apart:.1e} apart, relatively")
    if not before[-1] < before[0] or not apart < 1e-5:
      sys.exit("the losses do not agree, or do not fall")


if __name__ == "__main__":
  main()
