#!/usr/bin/env python3
"""Trains with XLA:CPU as planned and as written, and compares every bit.

usage: losses.py --hlo-explain=BIN [--limit=75%] [--steps=20] [--layers=4]
                 [--tolerance=1e-6]

One decoder, one Adam step, two ways to plan:

  module    hlo-explain rewrites the step's module (--fit --for=xla-cpu); XLA
            compiles both with all of its passes
  policies  hlo-explain --jax says what the program should name with
            checkpoint_name and how to wrap its layers with jax.checkpoint; the
            program is traced again with both

Each trains from the same start. Prints what the plan recomputes (instructions,
layers), XLA's temporaries, the losses, and whether each loss and all parameters
after the last step equal, bit by bit, those of the program as it was. For the
module they have to. jax.checkpoint, whatever it saves, adds up gradients in
another order: `all saved` is the program with the same layers wrapped and
nothing recomputed, and the losses of policies have to agree within --tolerance.
The exit status is 1 if one of that is not so, or if a plan recomputes nothing.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

try:
  import jax
  import jax.numpy as jnp
  import numpy as np
  from jax._src.lib import xla_client
  from jax.ad_checkpoint import checkpoint_name
except ImportError as error:
  print(f"SKIPPED: jax is not installed ({error}); pip install jax")
  sys.exit(0)

jax.config.update("jax_platforms", "cpu")
VOCABULARY, LENGTH, WIDTH, HEADS, BATCH = 256, 64, 64, 4, 8


class Program:
  """The training step; `names`: source line → name, `wrap`: as of a plan."""

  def __init__(self, layers, names=None, wrap=None):
    self.layers = layers
    self.names = names or {}
    self.wrap = wrap or (lambda function, layer: function)
    self.named = set()

  def at(self, x):
    """Names a value as the plan says for the line of the caller."""
    name = self.names.get(sys._getframe(1).f_lineno)
    if name is None:
      return x
    self.named.add(name)
    return checkpoint_name(x, name)

  def norm(self, x, scale):
    square = self.at(jnp.mean(x * x, -1, keepdims=True))
    root = self.at(jax.lax.rsqrt(square + 1e-6))
    return self.at(x * root * scale)

  def block(self, x, p):
    at = self.at
    h = self.norm(x, p["norm1"])
    split = x.shape[:2] + (HEADS, WIDTH // HEADS)
    q = at(h @ p["q"])
    k = at(h @ p["k"])
    v = at(h @ p["v"])
    q, k, v = (jnp.reshape(a, split) for a in (q, k, v))
    scores = at(jnp.einsum("bqhd,bkhd->bhqk", q, k))
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH), dtype=bool))
    scores = at(jnp.where(mask, scores / (WIDTH // HEADS) ** 0.5, -1e9))
    weights = at(jax.nn.softmax(scores))
    attended = at(jnp.einsum("bhqk,bkhd->bqhd", weights, v))
    projected = at(attended.reshape(x.shape) @ p["o"])
    x = at(x + projected)
    h = self.norm(x, p["norm2"])
    gate = at(h @ p["gate"])
    up = at(h @ p["up"])
    active = at(jax.nn.silu(gate))
    both = at(active * up)
    down = at(both @ p["down"])
    return at(x + down)

  def loss(self, params, tokens):
    x = params["embedding"][tokens[:, :-1]]
    for i, p in enumerate(params["layers"]):
      def layer(x, p, i=i):
        with jax.named_scope(f"layer_{i}"):
          return self.block(x, p)
      x = self.wrap(layer, f"layer_{i}")(x, p)
    logits = self.norm(x, params["norm"]) @ params["embedding"].T
    picked = jnp.take_along_axis(
        jax.nn.log_softmax(logits), tokens[:, 1:, None], -1)
    return -jnp.mean(picked)

  def step(self, params, mean, square, count, tokens):
    value, grads = jax.value_and_grad(self.loss)(params, tokens)
    count = count + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, grads)
    rate = 1e-3 * jnp.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count)
    params = jax.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-8),
                          params, mean, square)
    return params, mean, square, count, value

  def start(self):
    random = np.random.default_rng(0)
    def weights(*shape):
      return (0.1 * random.standard_normal(shape)).astype(np.float32)
    params = {
        "embedding": weights(VOCABULARY, WIDTH),
        "norm": np.ones(WIDTH, np.float32),
        "layers": [
            {**{n: weights(WIDTH, WIDTH) for n in ("q", "k", "v", "o")},
             "gate": weights(WIDTH, 4 * WIDTH),
             "up": weights(WIDTH, 4 * WIDTH),
             "down": weights(4 * WIDTH, WIDTH),
             "norm1": np.ones(WIDTH, np.float32),
             "norm2": np.ones(WIDTH, np.float32)}
            for _ in range(self.layers)],
    }
    zeros = jax.tree.map(np.zeros_like, params)
    tokens = random.integers(0, VOCABULARY, (BATCH, LENGTH + 1), np.int32)
    return params, zeros, zeros, np.zeros((), np.float32), tokens

  def text(self):
    lowered = jax.jit(self.step, keep_unused=True).lower(*self.start())
    return lowered.as_text(dialect="hlo", debug_info=True)


def compile_text(text):
  """HLO text as an executable of XLA:CPU."""
  module = xla_client.hlo.hlo_module_from_text(text)
  computation = xla_client.hlo.XlaComputation(
      module.as_serialized_hlo_module_proto())
  mlir = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
  device = jax.devices("cpu")[0]
  return device.client.compile_and_load(mlir, xla_client.DeviceList((device,)))


def train(executable, start, steps):
  """Losses of each step, and all bits that the last one leaves."""
  *state, tokens = jax.tree.leaves(start)
  state = [jnp.asarray(leaf) for leaf in state]
  tokens = jnp.asarray(tokens)
  found = []
  for _ in range(steps):
    results = executable.execute_sharded([*state, tokens])
    arrays = [a[0] for a in results.disassemble_into_single_device_arrays()]
    state, value = arrays[:-1], arrays[-1]
    found.append(np.asarray(value).tobytes())
  return found, [np.asarray(leaf).tobytes() for leaf in state]


def explain(options, module, *flags):
  result = subprocess.run(
      [options.hlo_explain, module, f"--limit={options.limit}", "--fit",
       "--noseconds", *flags], capture_output=True, text=True)
  if result.returncode not in (0, 3):
    raise RuntimeError(result.stderr.strip())
  return result.stdout


def rewritten(options, folder, path):
  """The module that a plan makes of the program's."""
  output = os.path.join(folder, "module.hlo")
  explain(options, path, "--for=xla-cpu", "-o", output)
  with open(output, encoding="utf-8") as file:
    text = file.read()
  return text, text.count('rematerialized="true"')


def with_policies(options, folder, path):
  """The program with the names and layers of a plan."""
  output = os.path.join(folder, "plan.py")
  explain(options, path, "--fuse=false", f"--jax={output}", "-o",
          os.path.join(folder, "unused.hlo"))
  with open(output, encoding="utf-8") as file:
    text = file.read()
  plan = {"checkpointed": lambda function, layer: function, "LAYERS": {}}
  exec(text, plan)  # pylint: disable=exec-used
  here = os.path.basename(__file__)
  names = {int(line): name for name, line in re.findall(
      r'checkpoint_name\(x, "([^"]*)"\).*' + re.escape(here) + r":(\d+)", text)}

  # Layers that keep the same are one, without the number.
  wrapped = set()
  def wrap(function, layer):
    for known in (layer, re.sub(r"\d+", "", layer)):
      if known in plan["LAYERS"]:
        wrapped.add(layer)
        return plan["checkpointed"](function, known)
    return function

  program = Program(options.layers, names, wrap)
  return program.text(), len(wrapped)


def all_saved(options, folder, path):
  """The program with all layers wrapped, and nothing to recompute."""
  def wrap(function, layer):
    return jax.checkpoint(
        function, policy=jax.checkpoint_policies.everything_saveable)
  return Program(options.layers, wrap=wrap).text(), 0


def main():
  parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--hlo-explain", required=True)
  parser.add_argument("--limit", default="75%")
  parser.add_argument("--steps", type=int, default=20)
  parser.add_argument("--layers", type=int, default=4)
  parser.add_argument("--tolerance", type=float, default=1e-6)
  options = parser.parse_args()
  program = Program(options.layers)
  start = program.start()
  print(f"{'':12} recomputed  XLA's temporaries  loss of step 1  "
        f"of step {options.steps}   bits")
  failed = False
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "step.hlo")
    with open(path, "w", encoding="utf-8") as file:
      file.write(program.text())
    before = None
    for name, make in (("as written", lambda *_: (program.text(), 0)),
                       ("module", rewritten), ("all saved", all_saved),
                       ("policies", with_policies)):
      text, recomputed = make(options, folder, path)
      executable = compile_text(text)
      found = train(executable, start, options.steps)
      before = before or found
      losses, expected = (
          np.frombuffer(b"".join(one[0]), np.float32) for one in (found, before))
      apart = np.max(np.abs(losses - expected) / np.abs(expected))
      failed |= name == "module" and found != before
      failed |= name in ("module", "policies") and recomputed == 0
      failed |= not apart <= options.tolerance or not losses[-1] < losses[0]
      temp = executable.get_compiled_memory_stats().temp_size_in_bytes
      print(f"{name:12} {recomputed:10}  {temp / 2**20:13.2f} MiB  "
            f"{losses[0]:14.8f}  {losses[-1]:.8f}   "
            f"{'equal' if found == before else f'{apart:.1e} apart'}",
            flush=True)
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
