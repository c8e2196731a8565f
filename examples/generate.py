#!/usr/bin/env python3
"""Regenerates the example modules of this folder from JAX.

usage: examples/generate.py [NAME…]    (default: all)

Needs jax (`pip install jax` in a virtual environment). Each example is a whole
training step or model as XLA first sees it, before any optimization, at a size
that evaluates in seconds: `jax.jit(step).lower(…)`, translated to HLO text.
"""

import os
import sys

# Sharded examples are for eight devices, which the host pretends to have.
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from jaxlib import _hlo

# Source files are named from the repository's root, not from this machine's.
jax.config.update("jax_hlo_source_file_canonicalization_regex",
                  ".*/(site-packages/|(?=examples/))")


def mlp_train():
  """Three dense layers, tanh, mean squared error, one SGD step."""
  sizes = [32, 64, 64, 8]

  def loss(params, x, y):
    for w, b in params[:-1]:
      x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return jnp.mean((x @ w + b - y) ** 2)

  def step(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

  params = [(jnp.zeros((m, n)), jnp.zeros((n,)))
            for m, n in zip(sizes, sizes[1:])]
  return step, (params, jnp.zeros((16, 32)), jnp.zeros((16, 8)))


def conv_train():
  """Two convolutions with pooling, a dense head, softmax cross entropy, SGD."""

  def loss(params, x, labels):
    for w in params["conv"]:
      x = lax.conv_general_dilated(
          x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
      x = jax.nn.relu(x)
      x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1),
                            "VALID")
    logits = x.reshape((x.shape[0], -1)) @ params["head"]
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
    return -jnp.mean(picked)

  def step(params, x, labels):
    value, grads = jax.value_and_grad(loss)(params, x, labels)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

  params = {
      "conv": [jnp.zeros((3, 3, 3, 8)), jnp.zeros((3, 3, 8, 16))],
      "head": jnp.zeros((4 * 4 * 16, 10)),
  }
  return step, (params, jnp.zeros((4, 16, 16, 3)),
                jnp.zeros((4,), dtype=jnp.int32))


def transformer(scan, batch=2):
  """A decoder of two layers (d=64, 4 heads), cross entropy, one Adam step."""
  vocabulary, length, width, heads, layers = 128, 16, 64, 4, 2

  def norm(x, scale):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale

  def block(x, p):
    h = norm(x, p["norm1"])
    q, k, v = (jnp.reshape(h @ p[n], h.shape[:2] + (heads, width // heads))
               for n in ("q", "k", "v"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (width // heads) ** 0.5
    mask = jnp.tril(jnp.ones((length, length), dtype=bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
    attended = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
    x = x + attended.reshape(x.shape) @ p["o"]
    h = norm(x, p["norm2"])
    return x + jax.nn.silu(h @ p["gate"]) * (h @ p["up"]) @ p["down"]

  def loss(params, tokens):
    x = params["embedding"][tokens[:, :-1]]
    if scan:
      x, _ = lax.scan(lambda x, p: (block(x, p), None), x, params["layers"])
    else:
      for i in range(layers):
        x = block(x, jax.tree.map(lambda p: p[i], params["layers"]))
    logits = norm(x, params["norm"]) @ params["embedding"].T
    picked = jnp.take_along_axis(
        jax.nn.log_softmax(logits), tokens[:, 1:, None], -1)
    return -jnp.mean(picked)

  def step(params, mean, square, count, tokens):
    value, grads = jax.value_and_grad(loss)(params, tokens)
    count = count + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, grads)
    scale = 1e-3 * jnp.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count)
    params = jax.tree.map(lambda p, m, s: p - scale * m / (jnp.sqrt(s) + 1e-8),
                          params, mean, square)
    return params, mean, square, count, value

  def zeros(*shape):
    return jnp.zeros(shape)

  params = {
      "embedding": zeros(vocabulary, width),
      "norm": zeros(width),
      "layers": {
          **{n: zeros(layers, width, width) for n in ("q", "k", "v", "o")},
          "gate": zeros(layers, width, 2 * width),
          "up": zeros(layers, width, 2 * width),
          "down": zeros(layers, 2 * width, width),
          "norm1": zeros(layers, width),
          "norm2": zeros(layers, width),
      },
  }
  tokens = jnp.zeros((batch, length + 1), dtype=jnp.int32)
  return step, (params, params, params, jnp.zeros(()), tokens)


def mesh():
  """Two groups of four devices; XLA chooses what is not said."""
  return jax.make_mesh((2, 4), ("data", "model"), (AxisType.Auto,) * 2)


def sharded(argument, *spec):
  return jax.ShapeDtypeStruct(argument.shape, argument.dtype,
                              sharding=NamedSharding(mesh(), P(*spec)))


def transformer_sharded():
  """The scanned transformer: batches cut in two, layers in four."""
  step, (params, mean, square, count, tokens) = transformer(scan=True, batch=4)
  columns, rows = (None, None, "model"), (None, "model", None)
  specs = {
      "embedding": ("model", None),
      "norm": (),
      "layers": {
          **{n: columns for n in ("q", "k", "v", "gate", "up")},
          **{n: rows for n in ("o", "down")},
          "norm1": (),
          "norm2": (),
      },
  }

  def cut(tree):
    return jax.tree.map(lambda leaf, spec: sharded(leaf, *spec), tree, specs,
                        is_leaf=lambda leaf: hasattr(leaf, "shape"))

  return step, (cut(params), cut(mean), cut(square), sharded(count),
                sharded(tokens, "data"))


def moe_sharded():
  """Two of eight experts for each token, one expert a device and one SGD step."""
  tokens, width, hidden, experts = 32, 16, 32, 8

  def loss(params, x, y):
    gates = jax.nn.softmax(x @ params["gate"])
    best = lax.top_k(gates, 2)[1]
    chosen = jnp.sum(jax.nn.one_hot(best, experts), 1) * gates
    h = jax.nn.silu(jnp.einsum("td,edh->teh", x, params["up"]))
    out = jnp.einsum("teh,ehd,te->td", h, params["down"], chosen)
    return jnp.mean((out - y) ** 2)

  def step(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

  def zeros(*shape):
    return jnp.zeros(shape)

  both = ("data", "model")
  params = {
      "gate": sharded(zeros(width, experts)),
      "up": sharded(zeros(experts, width, hidden), both),
      "down": sharded(zeros(experts, hidden, width), both),
  }
  x = sharded(zeros(tokens, width), "data")
  return step, (params, x, x)


def shard_map_train():
  """Two dense layers by hand over "model", by XLA over "data"."""

  def forward(x, up, down):
    return lax.psum(jnp.tanh(x @ up) @ down, "model")

  def loss(params, x, y):
    out = jax.shard_map(
        forward, mesh=mesh(), axis_names={"model"}, out_specs=P(),
        in_specs=(P(), P(None, "model"), P("model", None)))(x, *params)
    return jnp.mean((out - y) ** 2)

  def step(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

  params = (sharded(jnp.zeros((16, 32)), None, "model"),
            sharded(jnp.zeros((32, 16)), "model", None))
  x = sharded(jnp.zeros((8, 16)), "data")
  return step, (params, x, x)


# As XLA dumps modules: with metadata and its stack frames.
PRINT_OPTIONS = _hlo.HloPrintOptions()
PRINT_OPTIONS.print_metadata = True
PRINT_OPTIONS.print_large_constants = True

EXAMPLES = {
    "mlp_train": mlp_train,
    "conv_train": conv_train,
    "transformer_train": lambda: transformer(scan=False),
    "transformer_scan_train": lambda: transformer(scan=True),
    "transformer_sharded_train": transformer_sharded,
    "moe_sharded_train": moe_sharded,
    "shard_map_train": shard_map_train,
}


def main():
  folder = os.path.dirname(os.path.abspath(__file__))
  for name in sys.argv[1:] or EXAMPLES:
    step, arguments = EXAMPLES[name]()
    step.__name__ = name
    donated = (0, 1, 2) if name.startswith("transformer") else (0,)
    lowered = jax.jit(step, donate_argnums=donated).lower(*arguments)
    module = lowered.compiler_ir("hlo").as_hlo_module()
    text = module.to_string(PRINT_OPTIONS)
    # The compiler is told the number of devices beside the module; its dumps
    # have it in the header.
    text = text.replace(", frontend_attributes={xla.sdy.meshes=",
                        ", num_partitions=8, frontend_attributes={xla.sdy.meshes=",
                        1)
    path = os.path.join(folder, name + ".hlo")
    with open(path, "w") as out:
      out.write(text.rstrip() + "\n")
    print(path, text.count(" = "), "instructions", file=sys.stderr)


if __name__ == "__main__":
  main()
