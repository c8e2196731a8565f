#!/usr/bin/env python3
"""Compares pipelines with JAX, program by program.

usage: programs.py --hlo-opt=BIN --hlo-run=BIN [--only=WORD,...]
                   [--pipelines=raw,cleanup,gpu,xla-gpu,cpu,spmd]

Some 330 small programs, as people write them: jax.numpy, lax, neural network
functions, random numbers, gathers and scatters, loops, gradients. JAX lowers and
runs each; hlo-run evaluates the same module (`raw`), and the results of hlo-opt.

Prints a line per difference, and how many results are equal. The exit status is
1 if there are differences that KNOWN does not list.
"""

import argparse
import functools
import os
import subprocess
import sys
import tempfile

os.environ["JAX_PLATFORMS"] = "cpu"

import interop  # noqa: F401  Says so, and ends, where jaxlib is not installed.
import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax
import ml_dtypes
import numpy as np

# Names of programs -> why there is nothing to compare.
KNOWN = {
    "bf16 dot": "XLA keeps f32 between a bf16 result and a conversion of it",
}

# As most people have it; interop sets it.
jax.config.update("jax_enable_x64", False)

random = np.random.RandomState(0)
programs = {}


def floats(*shape):
  return random.randn(*shape).astype(np.float32)


def positive(*shape):
  return np.abs(floats(*shape)) + np.float32(0.1)


def integers(low, high, *shape):
  return random.randint(low, high, shape).astype(np.int32)


def add(name, function, *arguments):
  programs[name] = (function, arguments)


MATRIX, OTHER, VECTOR = floats(7, 5), floats(7, 5), floats(11)
SQUARE = floats(6, 6)


def add_functions_of_numpy():
  inside = np.clip(MATRIX, -.9, .9)
  for name in ("sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arctanh exp exp2 expm1 "
               "log1p sqrt cbrt abs sign floor ceil rint trunc square reciprocal isnan isfinite "
               "signbit deg2rad sinc i0 nan_to_num positive").split():
    add(name, getattr(jnp, name), inside)
  for name in ("add subtract multiply divide power arctan2 hypot maximum minimum fmod mod "
               "remainder floor_divide logaddexp logaddexp2 copysign nextafter heaviside "
               "float_power greater less_equal equal fmax fmin").split():
    add(name, getattr(jnp, name), positive(7, 5), positive(7, 5))
  add("ldexp", jnp.ldexp, positive(7, 5), integers(1, 4, 7, 5))
  for name in ("sum prod mean std var max min argmax argmin any all cumsum cumprod ptp median "
               "nanmean nanstd nansum count_nonzero average").split():
    add(name, getattr(jnp, name), MATRIX)
    add(name + " rows", functools.partial(getattr(jnp, name), axis=1), MATRIX)
  for name in "gcd lcm".split():
    add(name, getattr(jnp, name), integers(1, 50, 9), integers(1, 50, 9))
  add("divmod", jnp.divmod, integers(-20, 20, 9), integers(1, 9, 9))
  add("percentile", lambda x: jnp.percentile(x, jnp.array([10., 50., 90.])), MATRIX)
  add("histogram", lambda x: jnp.histogram(x, bins=5)[0], VECTOR)
  add("bincount", lambda x: jnp.bincount(x, length=6), integers(0, 6, 20))
  add("interp", lambda x: jnp.interp(x, jnp.arange(5.), jnp.arange(5.)**2), VECTOR)
  add("cov", jnp.cov, MATRIX)
  add("unwrap", jnp.unwrap, 5 * VECTOR)
  add("clip", lambda x: jnp.clip(x, -.5, .5), MATRIX)
  add("round", lambda x: jnp.round(x, 2), MATRIX)
  add("complex", lambda x, y: [f(x + 1j * y) for f in (
      jnp.exp, jnp.abs, jnp.angle, jnp.sqrt, jnp.log, jnp.tan, jnp.tanh)], MATRIX, OTHER)


def add_types():
  bits = integers(-100, 100, 9)
  add("bits", lambda x: ((x & 12) | (x ^ 5) | (~x) << 2, x >> 1, lax.shift_right_logical(x, 2),
                         lax.population_count(x), lax.clz(x)), bits)
  add("bitcast", lambda x: lax.bitcast_convert_type(x, jnp.int32), MATRIX)
  add("bitcast to bytes", lambda x: lax.bitcast_convert_type(x, jnp.int8), MATRIX)
  add("u8 arithmetic", lambda x: x * x + x // 3, integers(0, 255, 9).astype(np.uint8))
  add("s8 division", lambda x: (x // 3, x % 3), integers(-128, 128, 30).astype(np.int8))
  add("packbits", lambda x: jnp.packbits(x > 0), floats(20))
  add("unpackbits", jnp.unpackbits, integers(0, 255, 5).astype(np.uint8))
  add("bf16 dot", lambda x: (x @ x.T).astype(jnp.float32), MATRIX.astype(ml_dtypes.bfloat16))
  add("f16 sum", lambda x: jnp.sum(jnp.exp(x)), MATRIX.astype(np.float16))
  for name in "float8_e4m3fn float8_e5m2".split():
    add(name, lambda x, t=name: x.astype(t).astype(jnp.float32), 100 * MATRIX)
  add("int4", lambda x: x.astype(jnp.int4).astype(jnp.int32), integers(-8, 8, 9))
  add("casts", lambda x: [x.astype(t) for t in ("int32", "uint8", "bool", "complex64")],
      50 * positive(9))
  add("reduce_precision", lambda x: lax.reduce_precision(x, 5, 7), MATRIX)


def add_order():
  for axis in range(2):
    add("sort %d" % axis, functools.partial(jnp.sort, axis=axis), MATRIX)
    add("argsort %d" % axis, functools.partial(jnp.argsort, axis=axis), MATRIX)
  add("lexsort", lambda x, y: jnp.lexsort((x, y)), integers(0, 3, 9), integers(0, 3, 9))
  add("top_k", lambda x: lax.top_k(x, 3), MATRIX)
  add("approx_max_k", lambda x: lax.approx_max_k(x, 3), floats(8, 64))
  add("searchsorted", lambda x, y: jnp.searchsorted(jnp.sort(x), y), VECTOR, floats(4))
  add("digitize", lambda x: jnp.digitize(x, jnp.array([-1., 0, 1.])), VECTOR)
  add("unique", lambda x: jnp.unique(x, size=6), integers(0, 5, 12))
  add("partition", lambda x: jnp.partition(x, 4), VECTOR)
  add("isin", lambda x: jnp.isin(x, jnp.array([1, 3])), integers(0, 5, 9))
  add("nonzero", lambda x: jnp.nonzero(x > 0, size=10, fill_value=0), MATRIX)


def add_products():
  for spec, shapes in (("ij,jk->ki", ((7, 5), (5, 3))), ("bij,bkj->bik", ((2, 3, 4), (2, 5, 4))),
                       ("ii->i", ((6, 6),)), ("abc,cd,b->ad", ((2, 3, 4), (4, 5), (3,)))):
    add("einsum " + spec, functools.partial(jnp.einsum, spec), *[floats(*s) for s in shapes])
  add("tensordot", lambda x, y: jnp.tensordot(x, y, 2), floats(2, 3, 4), floats(3, 4, 5))
  add("kron", jnp.kron, floats(2, 3), floats(3, 2))
  add("cross", jnp.cross, floats(4, 3), floats(4, 3))
  add("matrix_power", lambda x: jnp.linalg.matrix_power(x, 5), .3 * SQUARE)
  add("norm", jnp.linalg.norm, MATRIX)
  add("ragged_dot", lax.ragged_dot, floats(8, 4), floats(3, 4, 5), np.array([3, 1, 4], np.int32))
  add("convolve", jnp.convolve, VECTOR, floats(4))
  for name in "fft ifft rfft".split():
    add(name, getattr(jnp.fft, name), floats(3, 8))
  add("fft odd", jnp.fft.fft, floats(3, 7))
  add("fft2", jnp.fft.fft2, floats(4, 6))
  add("irfft", lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), floats(3, 8))
  add("fftconvolve", jsp.signal.fftconvolve, VECTOR, floats(4))


def add_windows():
  nhwc = ("NHWC", "HWIO", "NHWC")

  def convolution(name, image, kernel, **options):
    options = {"window_strides": (1, 1), "padding": "SAME", "dimension_numbers": nhwc, **options}
    function = functools.partial(lax.conv_general_dilated, **options)
    add("conv " + name, function, floats(*image), floats(*kernel))
    add("grad conv " + name, jax.grad(lambda x, k: (function(x, k)**2).sum(), (0, 1)),
        floats(*image), floats(*kernel))

  convolution("same", (2, 7, 6, 3), (3, 3, 3, 4))
  convolution("strides", (2, 9, 8, 3), (3, 2, 3, 4), window_strides=(2, 3), padding="VALID")
  convolution("dilated", (2, 5, 6, 3), (3, 2, 3, 4), padding=[(2, 1), (0, 3)],
              lhs_dilation=(2, 1), rhs_dilation=(1, 2))
  convolution("groups", (2, 5, 6, 6), (3, 3, 2, 9), feature_group_count=3)
  convolution("batch groups", (4, 5, 6, 3), (3, 3, 3, 4), batch_group_count=2)
  convolution("1d", (2, 3, 9), (4, 3, 3), window_strides=(1,),
              dimension_numbers=("NCH", "OIH", "NCH"))
  convolution("3d", (1, 2, 4, 5, 3), (3, 2, 2, 2, 2), window_strides=(1, 1, 1),
              dimension_numbers=("NCDHW", "OIDHW", "NCDHW"))
  add("conv_transpose", lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME",
                                                        dimension_numbers=nhwc),
      floats(2, 4, 5, 3), floats(3, 3, 3, 4))
  pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
  add("max pool", pool, floats(2, 7, 7, 3))
  add("grad max pool", jax.grad(lambda x: (pool(x)**2).sum()), floats(2, 7, 7, 3))
  add("mean pool", lambda x: lax.reduce_window(x, 0., lax.add, (1, 2, 2, 1), (1, 2, 2, 1),
                                               "VALID"), floats(2, 7, 7, 3))
  for name in "cummax cumlogsumexp cumsum".split():
    add("lax." + name, lambda x, f=name: getattr(lax, f)(x, axis=0, reverse=True), MATRIX)
  add("associative_scan", lambda x, y: lax.associative_scan(
      lambda l, r: (l[0] * r[0], l[1] * r[0] + r[1]), (x, y)), VECTOR, floats(11))
  for how, size in (("bilinear", (9, 11)), ("cubic", (4, 3)), ("nearest", (9, 11))):
    add("resize " + how, lambda x, s=size, h=how: jax.image.resize(x, s, h), MATRIX)
  add("map_coordinates", lambda x, c: jsp.ndimage.map_coordinates(x, [c, c], order=1), MATRIX,
      positive(5))


def add_movement():
  for name in "segment_sum segment_max segment_prod".split():
    add(name, lambda x, i, f=name: getattr(jax.ops, f)(x, i, 5), MATRIX, integers(0, 5, 7))
  for mode in "fill clip wrap".split():
    add("take " + mode, lambda x, i, m=mode: jnp.take(x, i, axis=1, mode=m), MATRIX,
        integers(-9, 9, 4))
  add("take_along_axis", lambda x, i: jnp.take_along_axis(x, i, axis=1), MATRIX,
      integers(0, 5, 7, 2))
  add("at set", lambda x, i: x.at[i].set(3.), MATRIX, integers(0, 7, 3))
  add("at add", lambda x, i, j: x.at[i, j].add(1.), MATRIX, integers(0, 7, 9), integers(0, 5, 9))
  add("at multiply", lambda x, i: x.at[i, 1:3].multiply(2.), MATRIX, integers(0, 7, 3))
  add("at max", lambda x, i: x.at[:, i].max(.5), MATRIX, integers(0, 5, 3))
  add("at drop", lambda x, i: x.at[i].add(1., mode="drop"), MATRIX, integers(-12, 12, 6))
  add("at slice", lambda x: x.at[1:5:2, ::-1].set(jnp.arange(10.).reshape(2, 5)), MATRIX)
  add("grad gather", jax.grad(lambda x, i: (x[i]**2).sum()), MATRIX, integers(0, 7, 9))
  add("select", lambda x: jnp.select([x < 0, x > 1], [x, 2 * x], 0), MATRIX)
  for mode in "edge reflect wrap mean".split():
    add("pad " + mode, lambda x, m=mode: jnp.pad(x, 2, mode=m), MATRIX)
  add("pad interior", lambda x: lax.pad(x, .5, [(-1, 2, 1), (1, -2, 2)]), MATRIX)
  for name, function in {
      "roll": lambda x: jnp.roll(x, (2, 1), (0, 1)), "tile": lambda x: jnp.tile(x, (2, 3)),
      "repeat": lambda x: jnp.repeat(x, 3, axis=1), "rot90": jnp.rot90, "flip": jnp.flip,
      "diff": lambda x: jnp.diff(x, axis=0), "gradient": jnp.gradient,
      "block": lambda x: jnp.block([[x, x], [x, x]]), "split": lambda x: jnp.split(x, [2, 5]),
      "empty": lambda x: x[:0].sum(), "nothing more": lambda x: jnp.concatenate([x, x[:0]]),
  }.items():
    add(name, function, MATRIX)
  add("triu", lambda x: jnp.triu(x, 1), SQUARE)
  add("diag", jnp.diag, VECTOR)
  add("dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i, i), (3, 2)), MATRIX, np.int32(6))
  add("dynamic_update_slice", lambda x, y, i: lax.dynamic_update_slice(x, y, (i, 0)), MATRIX,
      floats(3, 2), np.int32(6))


def add_networks():
  for name in ("relu gelu silu softplus elu selu celu glu log_sigmoid soft_sign hard_tanh "
               "hard_swish leaky_relu mish squareplus relu6").split():
    add("nn." + name, getattr(jax.nn, name), floats(4, 6))
    add("grad nn." + name, jax.grad(lambda x, f=name: getattr(jax.nn, f)(x).sum()), floats(4, 6))
  add("softmax", jax.nn.softmax, MATRIX)
  add("grad log_softmax", jax.grad(lambda x: jax.nn.log_softmax(x)[:, 2].sum()), MATRIX)
  add("logsumexp", lambda x: jsp.special.logsumexp(x, axis=0), MATRIX)
  add("one_hot", lambda i: jax.nn.one_hot(i, 6), integers(0, 6, 9))
  qkv = [floats(2, 6, 2, 4) for _ in range(3)]
  attention = functools.partial(jax.nn.dot_product_attention, is_causal=True)
  add("attention", attention, *qkv)
  add("grad attention", jax.grad(lambda *x: (attention(*x)**2).sum(), (0, 1, 2)), *qkv)
  add("grad layer norm", jax.grad(lambda x: (
      (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5))**3 @
      jnp.ones(5) @ jnp.ones(7)), MATRIX)
  for name in ("erf erfc erfinv gammaln digamma ndtr ndtri log_ndtr i0e i1 i1e entr logit expit "
               "spence expi exp1").split():
    add("special." + name, getattr(jsp.special, name), np.linspace(.1, .9, 9, dtype=np.float32))
  for name in "xlogy xlog1py betaln gammainc gammaincc kl_div rel_entr".split():
    add("special." + name, getattr(jsp.special, name), positive(9), positive(9))
  add("special.betainc", jsp.special.betainc, positive(9), positive(9),
      np.linspace(.1, .9, 9, dtype=np.float32))


def add_random_numbers():
  r = jax.random
  for name, function in {
      "normal": lambda k: r.normal(k, (3, 5)), "uniform": lambda k: r.uniform(k, (7,)),
      "randint": lambda k: r.randint(k, (7,), 0, 100),
      "permutation": lambda k: r.permutation(k, 10), "choice": lambda k: r.choice(k, 10, (4,)),
      "categorical": lambda k: r.categorical(k, jnp.ones((3, 5))),
      "gamma": lambda k: r.gamma(k, 2., (4,)), "poisson": lambda k: r.poisson(k, 3., (4,)),
      "beta": lambda k: r.beta(k, 2., 3., (4,)), "bernoulli": lambda k: r.bernoulli(k, .3, (9,)),
      "truncated_normal": lambda k: r.truncated_normal(k, -1., 1., (5,)),
      "t": lambda k: r.t(k, 3., (4,)), "split": lambda k: r.split(k, 3),
      "bits": lambda k: r.bits(k, (5,)), "fold_in": lambda k: r.fold_in(k, 7),
      "dirichlet": lambda k: r.dirichlet(k, jnp.ones(4), (2,)),
      "shuffled rows": lambda k: r.permutation(k, MATRIX),
      "binomial": lambda k: r.binomial(k, 10, .3, (4,)),
  }.items():
    add("random." + name, function, np.array([1, 2], np.uint32))
  for name in "RNG_PHILOX RNG_THREE_FRY".split():
    add(name, lambda k, a=name: lax.rng_bit_generator(
        k, (5, 3), dtype=jnp.uint32, algorithm=lax.RandomAlgorithm[a]),
        np.array([1, 2, 3, 4], np.uint32))


def add_control_flow():
  step = lambda c, x: (c * 0.9 + x, jnp.sin(c))
  for name, options in {"": {}, " reverse": {"reverse": True}, " unroll": {"unroll": 3}}.items():
    add("scan" + name, lambda x, c, o=options: lax.scan(step, c, x, **o), floats(7, 4), floats(4))
  layer = lambda c, x: (jnp.tanh(c @ x), c.sum())
  for name, body in {"grad scan": layer, "grad scan checkpoint": jax.checkpoint(layer)}.items():
    add(name, jax.grad(lambda x, c, b=body: lax.scan(b, c, x)[1].sum(), (0, 1)),
        .5 * floats(5, 4, 4), floats(4))
  add("nested scan", lambda x: lax.scan(
      lambda c, row: lax.scan(lambda d, e: (d + e, d * e), c, row), 0., x), MATRIX)
  add("while", lambda x: lax.while_loop(lambda s: (s[0] < 20) & (s[1].sum() < 50),
                                        lambda s: (s[0] + 1, s[1] * 1.3), (0, x)), positive(4))
  add("fori", lambda x, n: lax.fori_loop(0, n, lambda i, x: x.at[i].add(i * 1.), x), VECTOR,
      np.int32(7))
  add("cond", lambda x, p: lax.cond(p, lambda x: x * 2, lambda x: -x, x), VECTOR, np.bool_(True))
  add("switch", lambda x, i: lax.switch(i, [lambda x: x, jnp.sin, jnp.cos], x), VECTOR,
      np.int32(7))
  add("grad cond", jax.grad(lambda x: lax.cond(
      x.sum() > 0, lambda x: (x**2).sum(), lambda x: jnp.sin(x).sum(), x)), VECTOR)
  add("map", lambda x: lax.map(lambda row: row.sum() * row, x), MATRIX)
  add("vmap while", jax.vmap(lambda n: lax.while_loop(
      lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (0, 1))), integers(0, 9, 5))
  add("vmap switch", jax.vmap(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x], x)),
      integers(0, 3, 7), floats(7))
  add("vmap dynamic_slice", jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))), MATRIX,
      integers(0, 9, 7))
  add("vmap sort", jax.vmap(jnp.sort), floats(3, 4, 5))
  add("cg", lambda a, y: jsp.sparse.linalg.cg(lambda x: a @ x, y, maxiter=5)[0],
      SQUARE @ SQUARE.T + 6 * np.eye(6, dtype=np.float32), floats(6))
  add("hessian", jax.hessian(lambda x: (jnp.sin(x)**2).sum() * x[0]), floats(4))
  add("jacfwd", jax.jacfwd(lambda x: jnp.cumsum(x**2)), floats(4))
  add("jvp sort", lambda x, t: jax.jvp(jnp.sort, (x,), (t,)), VECTOR, floats(11))
  for name, function in {
      "max": jnp.max, "prod": lambda x: jnp.prod(x), "cumprod": lambda x: jnp.cumprod(x).sum(),
      "norm": jnp.linalg.norm, "top_k": lambda x: lax.top_k(x, 3)[0].sum(),
  }.items():
    add("grad " + name, jax.grad(function), VECTOR)
  add("no results", lambda: ())
  add("trees", lambda d: {"b": d["a"] * 2, "a": d["b"]}, {"a": VECTOR, "b": MATRIX})


def run(*command):
  """Of a tool: None, or what it says is wrong."""
  try:
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
  except subprocess.TimeoutExpired:
    return "takes more than 120 s"
  return None if result.returncode == 0 else result.stderr.strip()[:300] or "no message"


def difference(want, got):
  """None, or how the two lists of arrays differ."""
  if len(want) != len(got):
    return "%d results instead of %d" % (len(got), len(want))
  for i, (a, b) in enumerate(zip(want, got)):
    if a.shape != b.shape:
      return "result %d is of shape %s, not %s" % (i, b.shape, a.shape)
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    a, b = a.astype(wide), b.astype(wide)
    equal = np.isclose(b, a, rtol=2e-3, atol=1e-4, equal_nan=True)
    if not equal.all():
      place = tuple(map(int, np.argwhere(~equal)[0]))
      return "result %d at %s is %s, not %s" % (i, place, b[place], a[place])
  return None


def check(name, options, folder):
  """Yields (pipeline, None or what is wrong)."""
  function, arguments = programs[name]
  source, inputs, made, results = (
      os.path.join(folder, f) for f in ("m.hlo", "in.npz", "made.hlo", "out.npz"))
  jitted = jax.jit(function, keep_unused=True)
  with open(source, "w", encoding="utf-8") as f:
    f.write(jitted.lower(*arguments).compiler_ir("hlo").as_hlo_text(print_large_constants=True))
  np.savez(inputs, **{"arg%d" % i: np.asarray(x)
                      for i, x in enumerate(jax.tree_util.tree_leaves(arguments))})
  want = [np.asarray(x) for x in jax.tree_util.tree_leaves(jitted(*arguments))]
  for pipeline in options.pipelines.split(","):
    module, wrong = source, None
    if pipeline != "raw":
      module = made
      wrong = run(options.hlo_opt, source, "--pipeline=" + pipeline, "--verify-each", "-o", made)
    wrong = wrong or run(options.hlo_run, module, "--inputs=" + inputs, "-o", results)
    if wrong is None:
      with np.load(results) as got:
        names = sorted(got.files, key=lambda n: (len(n), n))
        wrong = difference(want, [got[n] for n in names])
    yield pipeline, wrong


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
  parser.add_argument("--hlo-opt", required=True)
  parser.add_argument("--hlo-run", required=True)
  parser.add_argument("--only", default="", help="programs with one of these words")
  parser.add_argument("--pipelines", default="raw,cleanup,gpu,xla-gpu,cpu,spmd")
  options = parser.parse_args()
  for section in (add_functions_of_numpy, add_types, add_order, add_products, add_windows,
                  add_movement, add_networks, add_random_numbers, add_control_flow):
    section()
  equal = known = different = 0
  with tempfile.TemporaryDirectory() as folder:
    for name in programs:
      if options.only and not any(word in name for word in options.only.split(",")):
        continue
      for pipeline, wrong in check(name, options, folder):
        if wrong is None:
          equal += 1
        elif name in KNOWN:
          known += 1
        else:
          different += 1
          print("%s, %s: %s" % (name, pipeline, wrong), flush=True)
  print("%d results equal, %d known, %d different" % (equal, known, different))
  return 1 if different else 0


if __name__ == "__main__":
  sys.exit(main())
