#!/usr/bin/env python3
"""Writes training steps of large language models as JAX lowers them.

usage: scanned_steps.py FOLDER [NAME...]

A NAME is MODEL-SAVED-OPTIMIZER, such as 70b-full-adam; without names, all of
NAMES. Decoders of published sizes, bf16 with weights in f32 that the step
donates; layers are scanned. Needs JAX, but neither devices nor memory: nothing
is run. Then, for a table:

  tools/bench/remat.py hlo-explain FOLDER --strategies=plan --accounting=auto
"""

import functools
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

# Layers, width, hidden width, heads, heads of keys and values, vocabulary,
# batch, sequence, experts (all of which see all tokens).
MODELS = {
    "8b": (32, 4096, 14336, 32, 8, 128256, 8, 4096, 0),
    "70b": (80, 8192, 28672, 64, 8, 128256, 8, 4096, 0),
    "405b": (126, 16384, 53248, 128, 8, 128256, 4, 8192, 0),
    "moe": (32, 4096, 14336, 32, 8, 32000, 8, 4096, 8),
}

# What the forward pass of a layer saves for the backward one.
SAVED = {
    "none": lambda f: f,  # All that is read.
    "full": jax.checkpoint,  # Its input.
    "dots": functools.partial(
        jax.checkpoint,
        policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable),
    "offload": functools.partial(
        jax.checkpoint,
        policy=jax.checkpoint_policies.save_and_offload_only_these_names(
            names_which_can_be_saved=[],
            names_which_can_be_offloaded=["attention"],
            offload_src="device", offload_dst="pinned_host")),
}

NAMES = ["8b-full-sgd", "8b-dots-clipped", "8b-full-adam", "70b-none-sgd",
         "70b-full-sgd", "70b-full-adam", "70b-full-clipped", "70b-dots-adam",
         "70b-offload-adam", "405b-full-adam", "405b-full-clipped",
         "moe-full-sgd", "moe-full-adam"]


def norm(x, scale):
  y = x.astype(jnp.float32)
  y *= jax.lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + 1e-5)
  return y.astype(x.dtype) * scale


def rotate(x):
  length, size = x.shape[1], x.shape[-1]
  angle = (jnp.arange(length)[:, None] *
           1e4 ** (-jnp.arange(0, size, 2) / size)[None])
  c, s = jnp.cos(angle)[None, :, None], jnp.sin(angle)[None, :, None]
  a, b = x[..., ::2], x[..., 1::2]
  return jnp.concatenate([a * c - b * s, a * s + b * c], -1).astype(x.dtype)


def attention(x, w, heads, groups):
  batch, length, width = x.shape
  size = width // heads
  q = rotate((x @ w["q"]).reshape(batch, length, heads, size))
  k = rotate((x @ w["k"]).reshape(batch, length, groups, size))
  v = (x @ w["v"]).reshape(batch, length, groups, size)
  q = q.reshape(batch, length, groups, heads // groups, size)
  scores = jnp.einsum("bqkrd,bskd->bkrqs", q, k).astype(jnp.float32)
  mask = jnp.tril(jnp.ones((length, length), bool))
  weights = jax.nn.softmax(jnp.where(mask, scores / size**0.5, -1e30), -1)
  out = jnp.einsum("bkrqs,bskd->bqkrd", weights.astype(x.dtype), v)
  return out.reshape(batch, length, width) @ w["o"]


def feed_forward(x, w, experts):
  if not experts:
    return (jax.nn.silu(x @ w["up"]) * (x @ w["gate"])) @ w["down"]
  share = jax.nn.softmax((x @ w["router"]).astype(jnp.float32), -1)
  up = jnp.einsum("bsd,edf->bsef", x, w["up"])
  gate = jnp.einsum("bsd,edf->bsef", x, w["gate"])
  down = jnp.einsum("bsef,efd->bsed", jax.nn.silu(up) * gate, w["down"])
  return jnp.einsum("bsed,bse->bsd", down, share.astype(x.dtype))


def update(optimizer, weights, momentum, variance, gradients):
  each = jax.tree.map
  if optimizer == "sgd":
    return (each(lambda p, g: p - 1e-3 * g, weights, gradients), momentum,
            variance)
  if optimizer == "clipped":
    total = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
    gradients = each(lambda g: g / jnp.maximum(1, total), gradients)
  momentum = each(lambda m, g: .9 * m + .1 * g, momentum, gradients)
  variance = each(lambda v, g: .99 * v + .01 * g * g, variance, gradients)
  return (each(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), weights,
               momentum, variance), momentum, variance)


def lower(name):
  model, saved, optimizer = name.split("-")
  (layers, width, hidden, heads, groups, vocabulary, batch, length,
   experts) = MODELS[model]
  size = width // heads

  def layer(x, w):
    w = jax.tree.map(lambda a: a.astype(jnp.bfloat16), w)
    out = attention(norm(x, w["norm1"]), w, heads, groups)
    x += checkpoint_name(out, "attention")
    return x + feed_forward(norm(x, w["norm2"]), w, experts), None

  def loss(weights, tokens, targets):
    x = weights["embedding"].astype(jnp.bfloat16)[tokens]
    x, _ = jax.lax.scan(SAVED[saved](layer), x, weights["layers"])
    x = norm(x, weights["norm"].astype(x.dtype))
    logits = (x @ weights["head"].astype(x.dtype)).astype(jnp.float32)
    right = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - right)

  def step(weights, momentum, variance, tokens, targets):
    value, gradients = jax.value_and_grad(loss)(weights, tokens, targets)
    return (*update(optimizer, weights, momentum, variance, gradients), value)

  def array(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)

  def stack(*shape):
    return array(layers, *shape)

  of_experts = (experts,) if experts else ()
  weights = {
      "embedding": array(vocabulary, width), "head": array(width, vocabulary),
      "norm": array(width),
      "layers": {
          "norm1": stack(width), "norm2": stack(width),
          "q": stack(width, width), "o": stack(width, width),
          "k": stack(width, groups * size), "v": stack(width, groups * size),
          "up": stack(*of_experts, width, hidden),
          "gate": stack(*of_experts, width, hidden),
          "down": stack(*of_experts, hidden, width),
      }}
  if experts:
    weights["layers"]["router"] = stack(width, experts)
  state = {} if optimizer == "sgd" else weights
  tokens = array(batch, length, dtype=jnp.int32)
  jitted = jax.jit(step, donate_argnums=(0, 1, 2))
  return jitted.lower(weights, state, state, tokens, tokens).as_text("hlo")


def main():
  if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
    sys.exit(__doc__)
  folder = sys.argv[1]
  os.makedirs(folder, exist_ok=True)
  for name in sys.argv[2:] or NAMES:
    text = lower(name)
    with open(os.path.join(folder, name + ".hlo"), "w") as file:
      file.write(text)


if __name__ == "__main__":
  main()
