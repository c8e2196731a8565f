#!/usr/bin/env python3
"""Compares shape inference with that of XLA's own parser.

usage: shapes.py --hlo-opt=BIN [--seed=N] [--count=N] [--jobs=N] [--show=N]
                 [--only=WORD,...]

Both read modules whose one instruction has no shape, so that it is inferred:
every element type in every element-wise opcode, pairs of sizes (fixed, bounded,
unbounded, 1), and --count random instructions with operands that fit, or nearly
fit. A module is

  same      of one shape for both
  refused   by both
  verifier  inferred by both, then refused by our verifier; the parser has none
  shape     of two shapes
  ours      inferred by hlo-opt alone
  theirs    inferred by XLA alone
  crashed   ended XLA's process
  failed    ended hlo-opt by a signal, or had no answer from it in time

Prints the first --show differences of each kind and opcode, and a table. The
exit status is 1 if a module that KNOWN does not list is of kind shape, ours,
theirs or failed. If jaxlib is not installed, the script says so and exits with
status 0.
"""

import argparse
import collections
import concurrent.futures
import itertools
import os
import random
import re
import sys

import texts  # Says so, and ends, where jaxlib is not installed.

WRONG = ("shape", "ours", "theirs")
KINDS = ("same", "refused", "verifier", *WRONG, "crashed", "failed")

# Regular expression on `kind opcode` -> why the two differ.
KNOWN = {
    "theirs clamp": "complex numbers have no order",
    "theirs topk": "a scalar has no last dimension",
    "theirs batch-norm-inference": "a variance of two dimensions",
}

TYPES = ("pred s4 u4 s8 u8 s16 u16 s32 u32 s64 u64 f8e5m2 f8e4m3fn bf16 f16 f32"
         " f64 c64 c128").split()
UNARY = ("abs acos acosh asin asinh atanh cbrt ceil copy cosh cosine "
         "count-leading-zeros erf exponential exponential-minus-one floor imag "
         "is-finite log log-plus-one logistic negate not popcnt real "
         "round-nearest-afz round-nearest-even rsqrt sign sine sinh sqrt tan "
         "tanh").split()
BINARY = ("add and atan2 complex divide maximum minimum multiply or power "
          "remainder shift-left shift-right-arithmetic shift-right-logical "
          "subtract xor").split()
REDUCER = ("add {{ a = {0}[] parameter(0)\n b = {0}[] parameter(1)\n"
           " ROOT c = {0}[] add(a, b) }}\n")


class Array:
  """A shape: `f32[2,<=3,?]`."""

  def __init__(self, element_type, sizes):
    self.type = element_type
    self.sizes = [str(size) for size in sizes]

  def __str__(self):
    return f"{self.type}[{','.join(self.sizes)}]"


def module(operands, instruction, others="", header=""):
  """The text of one instruction on parameters p0, p1, …"""
  lines = [f"  p{i} = {shape} parameter({i})"
           for i, shape in enumerate(operands)]
  return "\n".join([f"HloModule m{header}", others + "ENTRY e {", *lines,
                    f"  ROOT r = {instruction}", "}"])


def every_type():
  for t in TYPES:
    for opcode in UNARY:
      yield module([Array(t, [2])], f"{opcode}(p0)")
    for opcode in BINARY:
      yield module([Array(t, [2])] * 2, f"{opcode}(p0, p1)")
    yield module([Array(t, [2])] * 2, "compare(p0, p1), direction=EQ")
  for a, b in itertools.product(TYPES, repeat=2):
    yield module([Array(a, [2, 3]), Array(b, [3, 4])],
                 "dot(p0, p1), lhs_contracting_dims={1}, "
                 "rhs_contracting_dims={0}")
    yield module([Array(a, [1, 4, 2]), Array(b, [2, 2, 3])],
                 "convolution(p0, p1), window={size=2}, "
                 "dim_labels=b0f_0io->b0f")
    yield module([Array(a, [2]), Array(b, [2])], "add(p0, p1)")


def every_size():
  sizes = ["1", "2", "3", "<=1", "<=2", "<=3", "?"]
  for a, b in itertools.product(sizes, repeat=2):
    pair = [Array("f32", [a]), Array("f32", [b])]
    for opcode in ("add", "atan2", "complex"):
      yield module(pair, f"{opcode}(p0, p1)")
    yield module(pair, "compare(p0, p1), direction=EQ")
    yield module(pair, "concatenate(p0, p1), dimensions={0}")
  for a, b, c in itertools.product(["1", "2", "<=2", "<=3", "?"], repeat=3):
    yield module([Array("pred", [a]), Array("f32", [b]), Array("f32", [c])],
                 "select(p0, p1, p2)")
    yield module([Array("f32", [a]), Array("f32", [b]), Array("f32", [c])],
                 "clamp(p0, p1, p2)")


class Generator:
  """Random instructions."""

  def __init__(self, seed):
    self.random = random.Random(seed)
    self.dynamic = False
    self.kinds = [getattr(self, name) for name in sorted(dir(Generator))
                  if name.startswith("make_")]

  def module(self):
    self.dynamic = self.chance(0.4)
    return self.random.choice(self.kinds)()

  # --- Parts.

  def chance(self, probability):
    return self.random.random() < probability

  def pick(self, *choices):
    return self.random.choice(choices)

  def size(self, *sizes):
    if self.dynamic and self.chance(0.25):
      return "?"
    bound = "<=" if self.dynamic and self.chance(0.25) else ""
    return bound + str(self.pick(*(sizes or (1, 2, 3, 4, 6))))

  def array(self, element_type=None, rank=None, sizes=()):
    rank = self.pick(0, 1, 1, 2, 2, 3) if rank is None else rank
    return Array(element_type or self.random.choice(TYPES),
                 [self.size(*sizes) for _ in range(rank)])

  def similar(self, array):
    """The same, or with another type, size or rank."""
    result = Array(array.type, array.sizes)
    change = self.random.random()
    if 0.5 < change < 0.65:
      result.type = self.random.choice(TYPES)
    elif change < 0.85 and change > 0.5 and result.sizes:
      place = self.random.randrange(len(result.sizes))
      result.sizes[place] = self.pick("1", "2", "3", "?", "<=3", "<=4")
    elif change > 0.92:
      result.sizes.append("2")
    elif change > 0.85:
      result.sizes = result.sizes[:-1]
    return result

  def dimension(self, array):
    """Mostly one that there is."""
    return self.random.randrange(len(array.sizes) + self.chance(0.1) or 1)

  def operands(self, count):
    return ", ".join(f"p{i}" for i in range(count))

  def numbers(self, numbers):
    return "{" + ",".join(str(number) for number in numbers) + "}"

  # --- Instructions.

  def make_binary(self):
    a = self.array()
    return module([a, self.similar(a)], f"{self.pick(*BINARY)}(p0, p1)")

  def make_clamp(self):
    a = self.array()
    ends = [Array(a.type, []) if self.chance(0.5) else self.similar(a)
            for _ in range(2)]
    return module([ends[0], a, ends[1]], "clamp(p0, p1, p2)")

  def make_select(self):
    a = self.array()
    which = Array("pred", self.pick(a.sizes, a.sizes, []))
    return module([self.similar(which) if self.chance(0.2) else which, a,
                   self.similar(a)], "select(p0, p1, p2)")

  def make_concatenate(self):
    first = self.array(rank=self.pick(1, 2, 3))
    dim = self.dimension(first)
    arrays = [first]
    for _ in range(self.pick(0, 1, 2)):
      other = Array(first.type, first.sizes)
      if dim < len(other.sizes):
        other.sizes[dim] = self.size(1, 2, 3)
      arrays.append(other if self.chance(0.8) else self.similar(other))
    return module(arrays, f"concatenate({self.operands(len(arrays))}), "
                  f"dimensions={self.numbers([dim])}")

  def make_transpose(self):
    a = self.array()
    order = list(range(len(a.sizes)))
    self.random.shuffle(order)
    if self.chance(0.1):
      order[:1] = order[-1:]
    return module([a], f"transpose(p0), dimensions={self.numbers(order)}")

  def make_reverse(self):
    dims = self.random.sample(range(4), self.pick(0, 1, 2))
    return module([self.array()],
                  f"reverse(p0), dimensions={self.numbers(dims)}")

  def make_slice(self):
    a = self.array(rank=self.pick(1, 2), sizes=(4, 6, 8))
    parts = [f"[{self.pick(0, 0, 1, 2)}:{self.pick(2, 3, 4, 5)}"
             f"{self.pick('', '', ':1', ':2', ':3')}]" for _ in a.sizes]
    return module([a], f"slice(p0), slice={self.numbers(parts)}")

  def make_pad(self):
    a = self.array(rank=self.pick(1, 2), sizes=(2, 3, 4))
    parts = [self.pick("0_0", "1_2", "1_0_1", "0_-1", "-1_-1_2", "-3_0")
             for _ in a.sizes]
    value = Array(a.type if self.chance(0.9) else self.pick(*TYPES), [])
    return module([a, value], f"pad(p0, p1), padding={'x'.join(parts)}")

  def make_dot(self):
    batch, sums = self.pick(0, 0, 1), self.pick(0, 1, 1, 2)
    shared = [self.size(2, 3) for _ in range(batch + sums)]
    a = Array(self.pick(*TYPES), shared + [self.size(5)] * self.pick(0, 1))
    b = Array(a.type if self.chance(0.8) else self.pick(*TYPES),
              shared + [self.size(6)] * self.pick(0, 1))
    if self.chance(0.3):
      b = self.similar(b)
    text = "dot(p0, p1)"
    if batch:
      text += ", lhs_batch_dims={0}, rhs_batch_dims={0}"
    dims = self.numbers(range(batch, batch + sums))
    return module([a, b], f"{text}, lhs_contracting_dims={dims}, "
                  f"rhs_contracting_dims={dims}")

  def make_convolution(self):
    groups, features = self.pick(1, 1, 1, 2), self.pick(2, 4)
    a = Array("f32", [self.size(2, 4), self.size(5, 6, 8), self.size(5, 6, 8),
                      features])
    b = Array(self.pick("f32", "f32", "bf16", "s8"),
              [self.pick(1, 2, 3), self.pick(1, 2, 3),
               features // groups if self.chance(0.85) else 3,
               self.pick(3, 4, 6)])
    window = f"size={b.sizes[0]}x{b.sizes[1]}"
    for attribute in ("stride=2x1", "pad=1_1x0_1", "lhs_dilate=2x1",
                      "rhs_dilate=2x1"):
      if self.chance(0.3):
        window += " " + attribute
    text = (f"convolution(p0, p1), window={{{window}}}, "
            "dim_labels=b01f_01io->b01f")
    if groups > 1:
      text += f", feature_group_count={groups}"
    if self.chance(0.1):
      text += ", batch_group_count=2"
    return module([a, b], text)

  def make_reduce(self):
    a = self.array(self.pick("f32", "s32", "bf16"), self.pick(1, 2, 3))
    dims = sorted(self.random.sample(range(len(a.sizes)),
                                     self.random.randint(0, len(a.sizes))))
    t = a.type if self.chance(0.85) else self.pick("f32", "s32")
    start = Array(a.type if self.chance(0.9) else "f32", [])
    return module([a, start], f"reduce(p0, p1), "
                  f"dimensions={self.numbers(dims)}, to_apply=add",
                  REDUCER.format(t))

  def make_reduce_window(self):
    a = self.array("f32", 2, (4, 5, 6, 8))
    window = "size=" + self.pick("1x2", "2x2", "3x3", "1x7")
    for attribute in ("stride=2x2", "pad=1_0x0_2", "pad=-1_0x0_0",
                      "lhs_dilate=1x2", "rhs_dilate=2x2"):
      if self.chance(0.25) and attribute[:3] not in window:
        window += " " + attribute
    return module([a, "f32[]"], f"reduce-window(p0, p1), window={{{window}}}, "
                  "to_apply=add", REDUCER.format("f32"))

  def make_select_and_scatter(self):
    a = self.array("f32", 2, (4, 6))
    b = self.array("f32", 2, (2, 3))
    ge = ("ge { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
          " ROOT c = pred[] compare(a, b), direction=GE }\n")
    return module([a, b, "f32[]"], "select-and-scatter(p0, p1, p2), "
                  "window={size=2x2 stride=2x2}, select=ge, scatter=add",
                  ge + REDUCER.format("f32"))

  def make_map(self):
    a = self.array("f32")
    dims = self.numbers(range(len(a.sizes)))
    return module([a, self.similar(a)],
                  f"map(p0, p1), dimensions={dims}, to_apply=add",
                  REDUCER.format("f32"))

  def make_sizes(self):
    a = self.array()
    dim = self.numbers([self.dimension(a)])
    if self.chance(0.5):
      return module([a], f"get-dimension-size(p0), dimensions={dim}")
    size = self.pick("s32[]", "s32[]", "s64[]", "s32[1]")
    return module([a, size], f"set-dimension-size(p0, p1), dimensions={dim}")

  def make_dynamic_slice(self):
    a = self.array(rank=self.pick(1, 2), sizes=(3, 4))
    rank = len(a.sizes)
    index = self.pick("s32", "s32", "u8", "f32") + "[]"
    sizes = self.numbers(self.pick(1, 2, 3, 5) for _ in range(rank))
    return module([a] + [index] * rank,
                  f"dynamic-slice({self.operands(rank + 1)}), "
                  f"dynamic_slice_sizes={sizes}")

  def make_dynamic_update_slice(self):
    a = self.array(rank=self.pick(1, 2), sizes=(3, 4))
    rank = len(a.sizes)
    update = Array(a.type, [self.size(1, 2, 3) for _ in a.sizes])
    return module([a, self.similar(update)] + ["s32[]"] * rank,
                  f"dynamic-update-slice({self.operands(rank + 2)})")

  def make_gather(self):
    a = self.array("f32", 2, (3, 4, 5))
    indices = Array("s32", [self.size(2, 3), self.pick(1, 2)])
    return module(
        [a, indices],
        f"gather(p0, p1), offset_dims={self.pick('{0}', '{1}', '{1,2}')}, "
        f"collapsed_slice_dims={self.pick('{0}', '{}', '{1}')}, "
        f"start_index_map={self.pick('{0}', '{0,1}', '{1}')}, "
        f"index_vector_dim={self.pick(1, 1, 2)}, "
        f"slice_sizes={self.numbers([self.pick(1, 1, 2), self.pick(3, 1, 2)])}")

  def make_scatter(self):
    a = self.array("f32", 2, (3, 4, 5))
    indices = Array("s32", [self.size(2, 3), self.pick(1, 2)])
    updates = Array("f32", [indices.sizes[0], self.size(3, 2)])
    return module(
        [a, indices, updates],
        f"scatter(p0, p1, p2), update_window_dims={self.pick('{1}', '{0}')}, "
        f"inserted_window_dims={self.pick('{0}', '{}', '{1}')}, "
        f"scatter_dims_to_operand_dims={self.pick('{0}', '{0,1}', '{1}')}, "
        "index_vector_dim=1, to_apply=add", REDUCER.format("f32"))

  def make_sort(self):
    a = self.array("f32", self.pick(1, 2))
    arrays = [a, self.similar(a)][:self.pick(1, 2)]
    parameters = [f"{array.type}[] parameter({2 * i + side})"
                  for i, array in enumerate(arrays) for side in range(2)]
    less = "less {\n" + "".join(f" x{i} = {parameter}\n" for i, parameter in
                                enumerate(parameters))
    return module(arrays, f"sort({self.operands(len(arrays))}), "
                  f"dimensions={self.numbers([self.dimension(a)])}, "
                  "to_apply=less",
                  less + " ROOT l = pred[] compare(x0, x1), direction=LT }\n")

  def make_topk(self):
    return module([self.array()],
                  f"topk(p0), k={self.pick(0, 1, 2, 3)}, largest=true")

  def make_fft(self):
    a = self.array(self.pick("c64", "f32", "c128"), self.pick(1, 2), (4, 5, 8))
    return module([a], f"fft(p0), fft_type="
                  f"{self.pick('FFT', 'IFFT', 'RFFT', 'IRFFT')}, "
                  f"fft_length={self.pick('{4}', '{8}', '{5}', '{4,4}')}")

  def make_factorization(self):
    n = self.size(3, 4)
    a = Array(self.pick("f32", "c64", "s32"),
              [n, n if self.chance(0.8) else 3])
    if self.chance(0.5):
      return module([a], "cholesky(p0), lower=true")
    b = self.similar(Array(a.type, [n, self.size(2, 5)]))
    return module([a, b], "triangular-solve(p0, p1), lower=true, "
                  f"left_side={self.pick('true', 'false')}, "
                  "transpose_a=NO_TRANSPOSE")

  def make_batch_norm(self):
    a = Array("f32", [self.size(2, 3), self.size(4)])
    scale = Array("f32", [a.sizes[1]])
    dim = self.pick(0, 1, 1, 2)
    rest = f"epsilon=0.1, feature_index={dim}"
    if self.chance(0.5):
      return module([a, scale, self.similar(scale)],
                    f"batch-norm-training(p0, p1, p2), {rest}")
    return module([a, scale, scale, scale, self.similar(scale)],
                  f"batch-norm-inference(p0, p1, p2, p3, p4), {rest}")

  def make_collective(self):
    a = self.array("f32", 2)
    dims = self.numbers([self.pick(0, 1, 1, 2)])
    text = self.pick(f"all-gather(p0), dimensions={dims}",
                     f"reduce-scatter(p0), to_apply=add, dimensions={dims}",
                     f"all-to-all(p0), dimensions={dims}",
                     "all-reduce(p0), to_apply=add")
    others = REDUCER.format("f32") if "to_apply" in text else ""
    return module([a], text + ", replica_groups={{0,1}}", others,
                  ", replica_count=2")

  def make_call(self):
    a = self.array("s32")
    b = self.similar(a)
    copies = [f"{name} {{ q = {shape} parameter(0)\n"
              f" ROOT s{name} = {shape} copy(q) }}\n"
              for name, shape in (("f", a), ("g", b))]
    if self.chance(0.4):
      return module([a], "call(p0), to_apply=g", copies[1])
    if self.chance(0.5):
      return module(["pred[]", a], "conditional(p0, p1, p1), "
                    "true_computation=f, false_computation=g", "".join(copies))
    return module([a], "while(p0), condition=c, body=g",
                  f"c {{ q = {b} parameter(0)\n"
                  " ROOT k = pred[] constant(true) }\n" + copies[1])

  def make_other(self):
    return module([self.array(), self.array()], self.pick(
        "tuple(p0, p1)", "add-dependency(p0, p1)", "after-all()",
        "partition-id()", "reduce-precision(p0), exponent_bits=5, "
        "mantissa_bits=3"))


def opcode_of(text):
  return re.search(r"ROOT r = ([a-z0-9-]+)", text)[1]


def shape_of_root(text):
  found = re.search(r"^ENTRY.*?^  ROOT %r = (.*?) [a-z0-9-]+\(", text,
                    re.M | re.S)
  return found[1] if found else "no root"


def judge(ours, theirs):
  """(kind, both answers)."""
  both = [shape_of_root(text) if kind == "read" else texts.first_line(
      text.partition("\n")[2] if whose == "theirs" else text)
          for whose, (kind, text) in (("ours", ours), ("theirs", theirs))]
  what = f"\n  ours   {both[0]}\n  theirs {both[1]}"
  if ours[0] == "failed":
    return "failed", what
  if theirs[0] == "crashed":
    return "crashed", theirs[1]
  if ours[0] == "verifier":
    return ("verifier" if theirs[0] == "read" else "refused"), what
  if ours[0] == "read" and theirs[0] == "read":
    return ("same" if both[0] == both[1] else "shape"), what
  if ours[0] == "read":
    return "ours", what
  return ("theirs" if theirs[0] == "read" else "refused"), what


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--hlo-opt", required=True)
  parser.add_argument("--seed", type=int, default=0)
  parser.add_argument("--count", type=int, default=1000)
  parser.add_argument("--jobs", type=int, default=os.cpu_count())
  parser.add_argument("--show", type=int, default=2)
  parser.add_argument("--only", default="")
  options = parser.parse_args()
  generator = Generator(options.seed)
  modules = [*every_type(), *every_size(),
             *(generator.module() for _ in range(options.count))]
  if options.only:
    wanted = options.only.split(",")
    modules = [text for text in modules if opcode_of(text) in wanted]
  # Before there are threads, as each answer is that of a fork.
  theirs = [texts.answer_of_xla(text) for text in modules]
  counts, shown, failed = (collections.Counter(), collections.Counter(), 0)
  with concurrent.futures.ThreadPoolExecutor(max(options.jobs, 1)) as pool:
    ours = pool.map(lambda text: texts.answer_of_ours(options.hlo_opt, text),
                    modules)
    for text, our_answer, their_answer in zip(modules, ours, theirs):
      kind, what = judge(our_answer, their_answer)
      counts[kind] += 1
      if kind not in (*WRONG, "failed"):
        continue
      name = f"{kind} {opcode_of(text)}"
      reasons = [why for known, why in KNOWN.items()
                 if re.fullmatch(known, name)]
      failed += not reasons
      shown[name] += 1
      if shown[name] <= options.show:
        print(f"{name}{f' (known: {reasons[0]})' if reasons else ''}: "
              f"{what}\n{text}\n", flush=True)
  print(f"jaxlib {texts.jaxlib.__version__}, {len(modules)} modules")
  for kind in KINDS:
    print(f"{kind:10}{counts[kind]:6}")
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
