"""Steps of examples/generate.py in torch.compile: see worker.py."""

import time

import numpy as np

from worker import best_of, reply, wait


def mlp(torch):
  def loss(params, x, y):
    for i in (0, 2):
      x = torch.tanh(x @ params[i] + params[i + 1])
    return torch.mean((x @ params[4] + params[5] - y) ** 2)

  def step(arguments):
    params = arguments[:6]
    value, grads = grad(torch, loss, params, *arguments[6:])
    return [p - 0.1 * g for p, g in zip(params, grads)] + [value]

  return step


def conv(torch):
  functional = torch.nn.functional

  def loss(params, x, labels):
    x = x.permute(0, 3, 1, 2)
    for w in params[:2]:
      x = functional.relu(functional.conv2d(x, w.permute(3, 2, 0, 1),
                                            padding=1))
      x = functional.max_pool2d(x, 2)
    x = x.permute(0, 2, 3, 1)
    logits = x.reshape(x.shape[0], -1) @ params[2]
    return functional.cross_entropy(logits, labels.long())

  def step(arguments):
    params = arguments[:3]
    value, grads = grad(torch, loss, params, *arguments[3:])
    return [p - 0.1 * g for p, g in zip(params, grads)] + [value]

  return step


# The leaves of its parameters, in JAX's order.
TRANSFORMER = ("embedding", "down", "gate", "k", "norm1", "norm2", "o", "q",
               "up", "v", "norm")


def transformer(torch):
  functional = torch.nn.functional
  heads = 4

  def norm(x, scale):
    return x * torch.rsqrt(torch.mean(x * x, -1, keepdim=True) + 1e-6) * scale

  def block(x, p):
    batch, length, width = x.shape
    h = norm(x, p["norm1"])
    q, k, v = ((h @ p[n]).reshape(batch, length, heads, -1)
               for n in ("q", "k", "v"))
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / (width // heads) ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
    weights = torch.softmax(torch.where(mask, scores, -1e9), -1)
    attended = torch.einsum("bhqk,bkhd->bqhd", weights, v)
    x = x + attended.reshape(x.shape) @ p["o"]
    h = norm(x, p["norm2"])
    return x + (functional.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]

  def loss(params, tokens):
    named = dict(zip(TRANSFORMER, params))
    tokens = tokens.long()
    x = named["embedding"][tokens[:, :-1]]
    for i in range(named["q"].shape[0]):
      x = block(x, {n: named[n][i] for n in TRANSFORMER[1:-1]})
    logits = norm(x, named["norm"]) @ named["embedding"].T
    return functional.cross_entropy(logits.flatten(0, 1),
                                    tokens[:, 1:].flatten())

  def step(arguments):
    n = len(TRANSFORMER)
    params, means, squares = (arguments[i * n:(i + 1) * n] for i in range(3))
    value, grads = grad(torch, loss, params, arguments[-1])
    count = arguments[-2] + 1
    means = [0.9 * m + 0.1 * g for m, g in zip(means, grads)]
    squares = [0.999 * s + 0.001 * g * g for s, g in zip(squares, grads)]
    scale = 1e-3 * torch.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count)
    params = [p - scale * m / (torch.sqrt(s) + 1e-8)
              for p, m, s in zip(params, means, squares)]
    return [*params, *means, *squares, count, value]

  return step


def grad(torch, loss, params, *rest):
  grads, value = torch.func.grad_and_value(loss)(list(params), *rest)
  return value, grads


EXAMPLES = {"mlp_train": mlp, "conv_train": conv,
            "transformer_train": transformer,
            "transformer_scan_train": transformer}


def work(name, inputs, results, repeat):
  import torch
  cuda = torch.cuda.is_available()
  device = "cuda" if cuda else "cpu"
  with np.load(inputs) as file:
    count = len(file.files)
    arguments = [torch.from_numpy(np.array(file[f"arg{i}"])).to(device)
                 for i in range(count)]
  # As graphs, where there is a GPU: of the modes the one for small kernels.
  step = torch.compile(EXAMPLES[name](torch),
                       mode="reduce-overhead" if cuda else None)
  begin = time.perf_counter()
  if cuda:
    torch.cuda.reset_peak_memory_stats()
  outputs = [o.detach().cpu().numpy() for o in step(arguments)]
  reply(compile_seconds=time.perf_counter() - begin, version=torch.__version__)
  wait()
  np.savez(results, **{f"out{i}": o for i, o in enumerate(outputs)})

  def finish():
    if cuda:
      torch.cuda.synchronize()

  for _ in range(5):
    step(arguments)
  finish()
  answer = dict(step_microseconds=best_of(repeat, lambda: step(arguments),
                                          finish))
  if cuda:
    answer["memory"] = {"peak": torch.cuda.max_memory_allocated()}
    reply(**answer)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
      step(arguments)
      finish()
    events = [e for e in profiler.events()
              if e.device_type == torch.autograd.DeviceType.CUDA]
    answer.update(kernels=len(events), device_microseconds=sum(
        e.device_time for e in events))
  reply(**answer)
