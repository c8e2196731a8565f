#!/usr/bin/env python3
"""Compares hlo-run with XLA on CPU, operation by operation, on unusual values.

usage: operations.py --hlo-run=BIN [--only=WORD,...]

Some 2,500 operations: every element type, with zeros of both signs, infinities,
NaN, the ends of integers, shifts by more than the width; windows that are
padded, cut, dilated and reversed; indices out of bounds; orders of NaN;
random bits.

Prints a line per difference, and how many results are equal. The exit status is
1 if there are differences that KNOWN does not list (with the reason why XLA on
CPU is not a reference for them). XLA runs in a separate process, which continues
after a module that crashes it.
"""

import argparse
import collections
import json
import os
import re
import sys
import tempfile

# The faster minimum and maximum lose NaN.
os.environ["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "") +
                           " --xla_cpu_enable_fast_min_max=false")

import interop  # Says so, and ends, where jaxlib is not installed.
import ml_dtypes
import numpy as np

# Name of a case -> why XLA on CPU is no judge.
KNOWN = {
    r"(convert|add|multiply|maximum|clamp) .*f8e8m0fnu":
        "subnormal floats become zero, which that type has not",
    r"convert f8e8m0fnu pred": "the same",
    r"convert f4e2m1fn [su]\d+": "its largest number is taken for infinity",
    r"(minimum|maximum|clamp) f8e5m2": "NaN is lost on the way through f16",
    r"(atan2|logistic) f8": "rounded twice, through f16",
    r"popcnt s4": "the sign is counted as often as an s8 has it",
    r"power [su]\d+": "takes six bits of the exponent",
    r"(abs|sqrt|exponential|logistic|sine|cosine|multiply|divide|power) c":
        "infinities and signed zeros go by other formulas",
    r"reduce .*bf16": "rounds each partial sum",
}

FLOATS = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32,
    "f64": np.float64, "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e4m3": ml_dtypes.float8_e4m3,
    "f8e3m4": ml_dtypes.float8_e3m4,
    "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "f4e2m1fn": ml_dtypes.float4_e2m1fn,
}
SIGNED = {"s4": ml_dtypes.int4, "s8": np.int8, "s16": np.int16,
          "s32": np.int32, "s64": np.int64}
UNSIGNED = {"u4": ml_dtypes.uint4, "u8": np.uint8, "u16": np.uint16,
            "u32": np.uint32, "u64": np.uint64}
INTEGERS = {**SIGNED, **UNSIGNED}
COMPLEX = {"c64": np.complex64, "c128": np.complex128}
TYPES = {**FLOATS, **INTEGERS, **COMPLEX, "pred": np.bool_}
NARROW = ("f8e8m0fnu", "f4e2m1fn")  # No subtraction, no functions.

# Relative errors that functions may have; none for integers.
TOLERANCE = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 2e-5,
             "float64": 1e-12, "complex64": 2e-4, "complex128": 1e-10}

random = np.random.default_rng(0)
# (names of the results, of which the last one is that of all behind, too; text;
# inputs)
cases = []


def case(name, text, *inputs):
  cases.append(([name], "HloModule m\n" + text, inputs))


def together(operations, *inputs):
  """One module of several operations, (name, text), on parameters p0, p1, …"""
  dims = {name: text.split(" ")[0] for name, text in operations}
  roots = "".join(f" r{i} = {text}\n" for i, (_, text) in enumerate(operations))
  results = ", ".join(f"r{i}" for i in range(len(operations)))
  shapes = [shape(type_of(x), x.shape) for x in inputs]
  text = entry(f"({', '.join(dims.values())}) tuple({results})", *shapes)
  text = text.replace(" ROOT", roots + " ROOT")
  cases.append((list(dims), "HloModule m\n" + text, inputs))


def type_of(array):
  return next(name for name, of in TYPES.items() if array.dtype == of)


def shape(type_, dims):
  return f"{type_}[{','.join(map(str, dims))}]"


def braces(numbers):
  return "{" + ",".join(map(str, numbers)) + "}"


def drawn(type_, dims):
  if type_ == "pred":
    return random.integers(0, 2, dims).astype(bool)
  if type_ in COMPLEX:
    return (random.standard_normal(dims) +
            1j * random.standard_normal(dims)).astype(TYPES[type_])
  if type_ in FLOATS:
    return (random.standard_normal(dims) * 2).astype(TYPES[type_])
  bits = int(type_[1:])
  low, high = (0, 1 << bits) if type_ in UNSIGNED else (-(1 << bits - 1),
                                                       1 << bits - 1)
  return random.integers(max(low, -80), min(high, 80), dims).astype(
      TYPES[type_])


def odd_values(type_):
  if type_ == "pred":
    return np.array([False, True])
  if type_ in INTEGERS:
    bits = int(type_[1:])
    low, high = (0, (1 << bits) - 1) if type_ in UNSIGNED else (
        -(1 << bits - 1), (1 << bits - 1) - 1)
    values = {low, low + 1, high, high - 1, *range(4), 5, 7, -1, -2, -3, -7,
              bits - 1, bits, bits + 1, 31, 32, 33, 63, 64, 65, 100,
              (1 << 24) + 1, (1 << 53) + 1, (1 << 62) + 1}
    kept = sorted(v for v in values if low <= v <= high)
    return np.array(kept, dtype=object).astype(TYPES[type_])
  if type_ in COMPLEX:
    parts = [0, 1, -1, 0.5, -2.5, 1e-3, np.inf, -np.inf, np.nan, -0.0]
    return np.array([complex(x, y) for x in parts for y in parts],
                    TYPES[type_])
  if type_ not in ("f16", "bf16", "f32", "f64"):
    return np.arange(16 if type_ == "f4e2m1fn" else 256,
                     dtype=np.uint8).view(TYPES[type_])
  info = ml_dtypes.finfo(TYPES[type_])
  with np.errstate(over="ignore"):
    return np.array(
        [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.3, -0.7, 10, 88,
         -88, 200.25, -129, 127.5, 255.5, -40000, 65504, 3e9, -3e9, 1e19, -1e19,
         1e-3, 1e-5, 1e-8, -1e-8, 1e30, np.inf, -np.inf, np.nan, info.max,
         info.min, info.tiny, info.tiny * 3]).astype(TYPES[type_])


def pairs(type_):
  values = odd_values(type_)
  if len(values) > 60:
    values = values[np.linspace(0, len(values) - 1, 60).astype(int)]
  return np.repeat(values, len(values)), np.tile(values, len(values))


def entry(result, *inputs):
  """ENTRY with parameters p0, p1, … of these shapes, and a root."""
  lines = [f" p{i} = {s} parameter({i})" for i, s in enumerate(inputs)]
  return "ENTRY e {\n" + "\n".join(lines) + f"\n ROOT r = {result}\n}}\n"


def function(opcode, type_, name="f"):
  return (f"{name} {{\n a = {type_}[] parameter(0)\n b = {type_}[] "
          f"parameter(1)\n ROOT c = {type_}[] {opcode}(a, b)\n}}\n")


def elementwise():
  of_floats = ("abs negate sign sqrt rsqrt cbrt exponential "
               "exponential-minus-one log log-plus-one sine cosine tan tanh "
               "logistic ceil floor round-nearest-afz round-nearest-even")
  of_complex = ("negate sqrt rsqrt exponential exponential-minus-one log "
                "log-plus-one sine cosine tanh logistic sign")
  binary_floats = ("add subtract multiply divide remainder power minimum "
                   "maximum atan2")
  binary_integers = ("add subtract multiply divide remainder power minimum "
                     "maximum and or xor shift-left shift-right-logical "
                     "shift-right-arithmetic")
  for type_ in TYPES:
    x = odd_values(type_)
    a, b = pairs(type_)
    unary, binary = of_floats, binary_floats
    if type_ in NARROW:
      unary, binary = "abs negate sign", "add multiply maximum"
    elif type_ in COMPLEX:
      unary, binary = of_complex, "add subtract multiply divide power"
    elif type_ in INTEGERS:
      unary, binary = "negate not popcnt count-leading-zeros", binary_integers
      if type_ in SIGNED:
        unary += " abs sign"
    elif type_ == "pred":
      unary, binary = "not", "add multiply minimum maximum and or xor"
    one, two = shape(type_, x.shape), shape(type_, a.shape)
    of_one = [(f"{opcode} {type_}", f"{one} {opcode}(p0)")
              for opcode in unary.split()]
    if type_ in FLOATS:
      of_one.append((f"is-finite {type_}", f"pred[{len(x)}] is-finite(p0)"))
    together(of_one, x)
    of_two = [(f"{opcode} {type_}", f"{two} {opcode}(p0, p1)")
              for opcode in binary.split()]
    for order in ("", ", type=TOTALORDER") if type_ in FLOATS else ("",):
      directions = ("EQ", "NE") if type_ in COMPLEX else ("EQ", "NE", "LT",
                                                          "LE", "GT", "GE")
      of_two += [(f"compare {d} {type_} {order}",
                  f"pred[{len(a)}] compare(p0, p1), direction={d}{order}")
                 for d in directions]
    together(of_two, a, b)
    if type_ not in COMPLEX:
      case(f"clamp {type_}", entry(f"{two} clamp(p0, p1, p2)", two, two, two),
           a, b, np.roll(b, 3))


def conversions():
  for type_ in TYPES:
    x = odd_values(type_)
    to = TYPES if type_ not in COMPLEX else COMPLEX
    together([(f"convert {type_} {t}", f"{shape(t, x.shape)} convert(p0)")
              for t in to], x)
  for type_ in ("f16", "bf16", "f32", "f64"):
    x = odd_values(type_)
    together([(f"reduce-precision {type_} {e} {m}",
               f"{shape(type_, x.shape)} reduce-precision(p0), "
               f"exponent_bits={e}, mantissa_bits={m}")
              for e, m in ((5, 10), (8, 7), (4, 3), (5, 2), (8, 23), (11, 52),
                           (1, 0), (8, 0), (3, 5))], x)


def neutral(opcode, type_):
  if opcode in ("add", "or", "xor"):
    value = 0
  elif opcode == "multiply":
    value = 1
  elif type_ in FLOATS:
    value = -np.inf if opcode == "maximum" else np.inf
  else:
    bits = int(type_[1:])
    low, high = (0, (1 << bits) - 1) if type_ in UNSIGNED else (
        -(1 << bits - 1), (1 << bits - 1) - 1)
    value = low if opcode == "maximum" else high
  return np.array(value, dtype=object).astype(TYPES[type_])


def reductions():
  for type_ in ("f32", "bf16", "s8", "u8", "s32", "u64", "c64", "s4", "f64"):
    for opcode in ("add multiply" if type_ in COMPLEX else
                   "add multiply maximum minimum").split():
      for dims, summed in (((3, 4, 5), (1,)), ((3, 4, 5), (0, 2)), ((4, 5),
                           (0, 1)), ((0, 4), (0,)), ((3, 0), (0,)), ((1, 7),
                           (0,)), ((600,), (0,))):
        kept = [n for d, n in enumerate(dims) if d not in summed]
        case(f"reduce {opcode} {type_} {dims} {summed}",
             function(opcode, type_) +
             entry(f"{shape(type_, kept)} reduce(p0, p1), "
                   f"dimensions={braces(summed)}, to_apply=f",
                   shape(type_, dims), f"{type_}[]"), drawn(type_, dims),
             neutral(opcode, type_))
  for tuple_ in ("b0, a0", "a1, a0", "b1, b0", "a1, b0"):
    x, y = drawn("f32", (4, 3)), drawn("f32", (4, 3))
    parameters = "".join(f" {n} = f32[] parameter({i})\n"
                         for i, n in enumerate(("a0", "a1", "b0", "b1")))
    case(f"reduce to ({tuple_})",
         f"f {{\n{parameters} ROOT t = (f32[], f32[]) tuple({tuple_})\n}}\n" +
         entry("(f32[3], f32[3]) reduce(p0, p1, p2, p3), dimensions={0}, "
               "to_apply=f", "f32[4,3]", "f32[4,3]", "f32[]", "f32[]"), x, y,
         drawn("f32", ()), drawn("f32", ()))
  for k in range(100):
    type_ = ("f32", "s32", "f32", "u8")[k % 4]
    opcode = ("add", "maximum", "minimum", "multiply")[k // 4 % 4]
    dims = [int(n) for n in random.integers(1, 7, int(random.integers(1, 4)))]
    window, sizes = drawn_window(dims, dims_of_window=None)
    case(f"reduce-window {k} {opcode} {type_} {window} {dims}",
         function(opcode, type_) +
         entry(f"{shape(type_, sizes)} reduce-window(p0, p1), "
               f"window={{{window}}}, to_apply=f", shape(type_, dims),
               f"{type_}[]"), drawn(type_, dims), neutral(opcode, type_))


def drawn_window(dims, dims_of_window, reverse=False):
  """Text of a window over `dims`, and how many places it has."""
  texts, results = collections.defaultdict(list), []
  for d, n in enumerate(dims):
    size = dims_of_window[d] if dims_of_window else int(random.integers(1, 4))
    stride, base, window = (int(v) for v in random.integers(1, (4, 4, 3)))
    low, high = (int(v) for v in random.integers(-2, 4, 2))
    dilated = (n - 1) * base + 1
    if dilated + low + high < 0:
      low = high = 0
    width = (size - 1) * window + 1
    room = dilated + low + high - width
    results.append(0 if room < 0 else room // stride + 1)
    for key, value in (("size", size), ("stride", stride), ("pad",
                       f"{low}_{high}"), ("lhs_dilate", base), ("rhs_dilate",
                       window), ("rhs_reversal", int(random.integers(0, 2)))):
      if key != "rhs_reversal" or reverse:
        texts[key].append(str(value))
  return " ".join(f"{k}={'x'.join(v)}" for k, v in texts.items()), results


def products():
  for type_ in (*list(FLOATS)[:4], "s8", "u8", "s32", "u32", "s64", "c64",
                "pred", "s4"):
    x, y = drawn(type_, (2, 3, 4)), drawn(type_, (2, 4, 5))
    case(f"dot {type_}",
         entry(f"{type_}[2,3,5] dot(p0, p1), lhs_batch_dims={{0}}, "
               "rhs_batch_dims={0}, lhs_contracting_dims={2}, "
               "rhs_contracting_dims={1}", shape(type_, x.shape),
               shape(type_, y.shape)), x, y)
  for k in range(120):
    type_ = ("f32", "f64", "s32", "bf16", "c64")[k % 5]
    groups = int(random.integers(2, 4))
    of_features, of_batches = ((1, 1), (groups, 1), (1, groups))[k % 3]
    batch, features, outputs = (int(n) for n in random.integers(1, 3, 3))
    spatial = [int(n) for n in random.integers(1, 7, 1 + k % 3)]
    kernel = [int(n) for n in random.integers(1, 4, len(spatial))]
    window, results = drawn_window(spatial, kernel, reverse=k % 2 == 0)
    lhs = [batch * of_batches, *spatial, features * of_features]
    rhs = [*kernel, features, outputs * of_features * of_batches]
    digits = "".join(map(str, range(len(spatial))))
    result = shape(type_, [batch, *results, rhs[-1]])
    case(f"convolution {k} {type_} {window} {of_features} {of_batches}",
         entry(f"{result} convolution(p0, p1), window={{{window}}}, dim_labels="
               f"b{digits}f_{digits}io->b{digits}f, feature_group_count="
               f"{of_features}, batch_group_count={of_batches}",
               shape(type_, lhs), shape(type_, rhs)), drawn(type_, lhs),
         drawn(type_, rhs))


def indices():
  for type_ in ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"):
    for value in (v for v in odd_values(type_) if v not in (31, 32, 33)):
      x, update = drawn("f32", (6, 4)), drawn("f32", (3, 2, 4))
      start = np.array(value)
      starts = np.array([value, 0, 2], TYPES[type_]).reshape(3, 1)
      case(f"dynamic-slice {type_} {value}",
           entry("f32[2,3] dynamic-slice(p0, p1, p1), "
                 "dynamic_slice_sizes={2,3}", "f32[6,4]", f"{type_}[]"), x,
           start)
      case(f"gather {type_} {value}",
           entry("f32[3,2,4] gather(p0, p1), offset_dims={1,2}, "
                 "collapsed_slice_dims={}, start_index_map={0}, "
                 "index_vector_dim=1, slice_sizes={2,4}", "f32[6,4]",
                 f"{type_}[3,1]"), x, starts)
      case(f"scatter {type_} {value}",
           function("add", "f32") +
           entry("f32[6,4] scatter(p0, p1, p2), update_window_dims={1,2}, "
                 "inserted_window_dims={}, scatter_dims_to_operand_dims={0}, "
                 "index_vector_dim=1, to_apply=f", "f32[6,4]", f"{type_}[3,1]",
                 "f32[3,2,4]"), x, starts, update)
  for k in range(60):
    type_ = ("f32", "s8", "pred", "bf16", "c64", "s4")[k % 6]
    dims = [int(n) for n in random.integers(k % 7 == 0 and 0 or 1, 6, 1 + k % 3)]
    texts, sizes = [], []
    for n in dims:
      between = int(random.integers(0, 3))
      dilated = (n - 1) * (between + 1) + 1 if n else 0
      low, high = int(random.integers(-dilated - 1, 5)), int(
          random.integers(-2, 5))
      high = max(high, -dilated - low)
      texts.append(f"{low}_{high}_{between}")
      sizes.append(dilated + low + high)
    case(f"pad {k} {type_} {texts} {dims}",
         entry(f"{shape(type_, sizes)} pad(p0, p1), padding={'x'.join(texts)}",
               shape(type_, dims), f"{type_}[]"), drawn(type_, dims),
         drawn(type_, ()))


def orders():
  for type_ in ("f32", "f16", "bf16", "s32", "u8", "s64", "u64", "pred"):
    for direction in ("LT", "GT"):
      for order in (", type=TOTALORDER",) if type_ in FLOATS else ("",):
        x = random.permutation(odd_values(type_))
        dims = shape(type_, x.shape)
        case(f"sort {type_} {direction}{order}",
             f"c {{\n a = {type_}[] parameter(0)\n b = {type_}[] parameter(1)\n"
             " p = s32[] parameter(2)\n q = s32[] parameter(3)\n"
             f" ROOT c = pred[] compare(a, b), direction={direction}{order}\n"
             "}\n" + entry(f"({dims}, s32[{len(x)}]) sort(p0, p1), "
                           "dimensions={0}, is_stable=true, to_apply=c", dims,
                           f"s32[{len(x)}]"), x,
             np.arange(len(x), dtype=np.int32))
  case("sort by itself",
       "c {\n a = s32[] parameter(0)\n b = s32[] parameter(1)\n"
       " ROOT c = pred[] compare(a, a), direction=LT\n}\n" +
       entry("s32[9] sort(p0), dimensions={0}, is_stable=true, to_apply=c",
             "s32[9]"), drawn("s32", (9,)))
  for algorithm in ("rng_three_fry", "rng_philox"):
    for type_ in ("u8", "u16", "u32", "s32", "u64"):
      for dims in ((), (1,), (5,), (6,), (3, 5), (7, 9, 2)):
        state = np.array([0x123456789ABCDEF0, 0xFFFFFFFFFFFFFFFE], np.uint64)
        case(f"{algorithm} {type_} {dims}",
             entry(f"(u64[2], {shape(type_, dims)}) rng-bit-generator(p0), "
                   f"algorithm={algorithm}", "u64[2]"), state)


def wrong(expected, actual):
  """What is wrong with `actual`; None if nothing is."""
  if actual.dtype != expected.dtype:
    if actual.dtype.itemsize != expected.dtype.itemsize:
      return f"{actual.dtype}, expected {expected.dtype}"
    actual = actual.view(expected.dtype)
  if actual.shape != expected.shape:
    return f"{actual.shape}, expected {expected.shape}"
  name = expected.dtype.name
  e, a = np.atleast_1d(expected), np.atleast_1d(actual)
  if e.dtype.kind in "iub" or "int" in name:
    same = e == a
  else:
    wide = np.complex128 if "complex" in name else np.float64
    with np.errstate(all="ignore"):
      e, a = e.astype(wide), a.astype(wide)
      bound = TOLERANCE.get(name, 0.3) * np.abs(e) + 1e-37
      same = (np.isnan(e) & np.isnan(a)) | (e == a) | (np.abs(e - a) <= bound)
  if np.all(same):
    return None
  at = tuple(int(i[0]) for i in np.nonzero(~same))
  return f"at {list(at)}: XLA {e[at]}, hlo-run {a[at]}; " \
         f"{np.count_nonzero(~same)} of {same.size} elements differ"


def computed(hlo_run, folder, text, inputs):
  """What hlo-run gives: arrays."""
  def raw(x):
    if x.dtype.name in ("int4", "uint4"):
      return x.astype(np.int8).view("V1")
    return x
  stem = os.path.join(folder, "case")
  with open(stem + ".hlo", "w") as file:
    file.write(text)
  np.savez(stem + ".npz", **{f"arg{i}": raw(x) for i, x in enumerate(inputs)})
  interop.run(hlo_run, stem + ".hlo", f"--inputs={stem}.npz", "-o",
              stem + ".out.npz")
  with np.load(stem + ".out.npz") as file:
    return [file[name] for name in file.files]


def judge_from(first, todo, hlo_run, folder, write):
  """Cases from `first` on; a line of JSON before each, and for each result."""
  judge = interop.Judge()
  for i in range(first, len(todo)):
    names, text, inputs = todo[i]
    write([i, "started", names[0], ""])
    try:
      theirs = judge.execute(judge.parse(text),
                             {f"arg{k}": x for k, x in enumerate(inputs)})
    except Exception as error:  # Whatever XLA raises is the answer.
      write([i, "XLA cannot", names[0], str(error).splitlines()[0][:200]])
      continue
    try:
      ours = computed(hlo_run, folder, text, inputs)
      found = [wrong(t, o) for t, o in zip(theirs, ours)]
    except RuntimeError as error:
      found = [str(error)[:300]] * len(theirs)
    for k, difference in enumerate(found):
      name = names[min(k, len(names) - 1)]
      known = any(re.match(pattern, name) for pattern in KNOWN)
      write([i, ("known" if known else "differs") if difference else "equal",
             name, difference])


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--hlo-run", required=True)
  parser.add_argument("--only", default="")
  options = parser.parse_args()
  for make in (elementwise, conversions, reductions, products, indices, orders):
    make()
  words = [word for word in options.only.split(",") if word]
  todo = [c for c in cases
          if not words or any(w in name for w in words for name in c[0])]
  counts, first = collections.Counter(), 0
  with tempfile.TemporaryDirectory() as folder:
    while first < len(todo):
      read, write = os.pipe()
      child = os.fork()
      if child == 0:
        os.close(read)
        with os.fdopen(write, "w", buffering=1) as out:
          judge_from(first, todo, options.hlo_run, folder,
                     lambda line: out.write(json.dumps(line) + "\n"))
        os._exit(0)
      os.close(write)
      before = first
      with os.fdopen(read) as lines:
        for number, verdict, name, text in map(json.loads, lines):
          first = number + 1
          if verdict != "started":
            counts[verdict] += 1
          if verdict in ("differs", "XLA cannot"):
            print(f"{name}: {verdict}: {text}", flush=True)
      if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        counts["XLA died"] += 1
      if first == before:
        sys.exit("XLA does not start")
  print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
  return 1 if counts["differs"] else 0


if __name__ == "__main__":
  sys.exit(main())
