"""Instructions of random fusions, for random_kernels.py.

Elementwise instructions, movements, slices and updates at computed places,
gathers, scatters, windows, reductions of several kinds, softmaxes, sorts and
dots.
"""

import math

from random_more_steps import MoreSteps
from random_values import (COMPLEX, FLOATS, INTEGERS, NARROW, braces, by,
                           gather_text, is_exact, scatter_text)

WIDE = ["f32", "f64", "s32", "u8", "s8", "s16", "u32", "s64", "u64", "u16"]
UNARY = {
    "float": ["negate", "abs", "sign", "floor", "ceil", "exponential", "tanh",
              "logistic", "sqrt", "round-nearest-even", "cosine"],
    "integer": ["negate", "not", "popcnt", "count-leading-zeros"],
    "narrow": ["negate", "not", "popcnt", "count-leading-zeros"],
    # What is finite: infinite parts are another matter.
    "complex": ["negate", "sign"],
    "pred": ["not"],
}
BINARY = {
    "float": ["add", "subtract", "multiply", "maximum", "minimum", "divide",
              "remainder"],
    "integer": ["add", "subtract", "multiply", "maximum", "minimum", "and",
                "or", "xor", "divide", "remainder", "shift-left",
                "shift-right-logical", "shift-right-arithmetic"],
    "narrow": ["add", "subtract", "multiply", "maximum", "minimum", "and",
               "or", "xor", "divide", "remainder", "shift-left",
               "shift-right-logical", "shift-right-arithmetic"],
    "complex": ["add", "subtract", "multiply"],
    "pred": ["and", "or", "xor"],
}


def family(kind):
  return ("float" if kind in FLOATS else "pred" if kind == "pred" else
          "narrow" if kind in NARROW else "complex" if kind in COMPLEX else
          "integer")


class Steps(MoreSteps):
  """Each step takes a value and adds what is made of it, where it can be."""

  def unary(self, name, kind, dims):
    if kind in COMPLEX and self.random.random() < 0.4:
      part = "f32" if kind == "c64" else "f64"
      opcode = self.random.choice(["abs", "real", "imag"])
      self.add(part, dims, f"{opcode}({name})")
      return
    choice = UNARY[family(kind)]
    choice = choice + (["abs", "sign"] if kind[0] == "s" else [])
    self.add(kind, dims, f"{self.random.choice(choice)}({name})")

  def binary(self, name, kind, dims):
    other = self.peer((name, kind, dims))
    opcode = self.random.choice(BINARY[family(kind)])
    self.add(kind, dims, f"{opcode}({name}, {other[0]})")

  def select(self, name, kind, dims):
    other = self.peer((name, kind, dims))
    direction = self.random.choice(["EQ", "NE"] if kind in COMPLEX else
                                   ["EQ", "NE", "LT", "GE", "GT", "LE"])
    less = self.add("pred", dims,
                    f"compare({name}, {other[0]}), direction={direction}")
    if less is not None:
      self.add(kind, dims, f"select({less[0]}, {name}, {other[0]})")

  def convert(self, name, kind, dims):
    to = self.random.choice(COMPLEX if kind in COMPLEX else
                            FLOATS[:4] + INTEGERS + NARROW + COMPLEX +
                            ["pred"])
    self.add(to, dims, f"convert({name})")

  def clamp(self, name, kind, dims):
    if kind != "pred" and kind not in COMPLEX:
      low, high = self.scalar(kind), self.scalar(kind)
      self.add(kind, dims, f"clamp({low[0]}, {name}, {high[0]})")

  def iota(self, name, kind, dims):
    if dims:
      self.add(self.random.choice(INTEGERS + FLOATS[:4]), dims,
               f"iota(), iota_dimension={self.random.randrange(len(dims))}")

  def broadcast(self, name, kind, dims):
    at = self.random.randint(0, len(dims))
    wide = list(dims)
    wide.insert(at, self.random.choice([1, 2, 3, 5, 17, 32, 33]))
    kept = [d if d < at else d + 1 for d in range(len(dims))]
    self.add(kind, wide, f"broadcast({name}), dimensions={braces(kept)}")

  def reshape(self, name, kind, dims):
    rest, parts = math.prod(dims), []
    for factor in [2, 3, 5, 7, 11, 13, 4, 6]:
      if rest and rest % factor == 0 and self.random.random() < 0.4:
        parts.append(factor)
        rest //= factor
    parts = parts[:3] + [rest * math.prod(parts[3:])]
    self.random.shuffle(parts)
    self.add(kind, parts, f"reshape({name})")

  def transpose(self, name, kind, dims):
    order = list(range(len(dims)))
    self.random.shuffle(order)
    self.add(kind, [dims[d] for d in order],
             f"transpose({name}), dimensions={braces(order)}")

  def copy(self, name, kind, dims):
    self.add(kind, dims, f"copy({name})", self.layout(len(dims), 0.9))

  def slice(self, name, kind, dims):
    ranges, sizes = [], []
    for size in dims:
      start = self.random.randint(0, size)
      end = self.random.randint(start, size)
      if start == end and self.random.random() < 0.85:
        start, end = 0, size
      step = self.random.choice([1, 1, 2, 3])
      sizes.append(-(-(end - start) // step))
      ranges.append(f"[{start}:{end}:{step}]")
    if dims:
      self.add(kind, sizes, f"slice({name}), slice={{{', '.join(ranges)}}}")

  def reverse(self, name, kind, dims):
    if dims:
      along = self.random.randrange(len(dims))
      self.add(kind, dims, f"reverse({name}), dimensions={{{along}}}")

  def pad(self, name, kind, dims):
    if not dims or math.prod(dims) == 0:
      return
    padding, sizes = [], []
    for size in dims:
      low = self.random.choice([0, 0, 1, 2, -1])
      high = self.random.choice([0, 0, 1, 3, -1])
      inner = self.random.choice([0, 0, 0, 1, 2])
      if size + (size - 1) * inner + low + high < 0:
        low, high = 0, 0
      padding.append(f"{low}_{high}_{inner}")
      sizes.append(size + (size - 1) * inner + low + high)
    value = self.scalar(kind)
    self.add(kind, sizes,
             f"pad({name}, {value[0]}), padding={'x'.join(padding)}")

  def concatenate(self, name, kind, dims):
    if not dims:
      return
    along = self.random.randrange(len(dims))
    others = [v for v in self.pool if v[1] == kind and len(v[2]) == len(dims)
              and all(a == b or d == along
                      for d, (a, b) in enumerate(zip(v[2], dims)))]
    parts = [(name, kind, dims)]
    parts += [self.random.choice(others)
              for _ in range(self.random.randint(1, 3))]
    sizes = list(dims)
    sizes[along] = sum(part[2][along] for part in parts)
    self.add(kind, sizes, f"concatenate({', '.join(p[0] for p in parts)}), "
             f"dimensions={{{along}}}")

  def places(self, rank):
    kind = self.random.choice(["s32", "u32", "s64", "u8", "u64", "s8"])
    names = []
    for _ in range(rank):
      scalar = self.pick(lambda v: v[1:] == (kind, ()))
      if scalar is None or self.random.random() < 0.4:
        scalar = self.constant(kind, self.random.choice(
            [0, 1, 2, 100] + ([-3, -128] if kind[0] == "s" else [255])))
      names.append(scalar[0])
    return ", ".join(names)

  def dynamic_slice(self, name, kind, dims):
    sizes = [self.random.randint(min(1, d), d) for d in dims]
    if dims:
      self.add(kind, sizes, f"dynamic-slice({name}, {self.places(len(dims))}),"
               f" dynamic_slice_sizes={braces(sizes)}")

  def dynamic_update_slice(self, name, kind, dims):
    update = self.pick(lambda v: v[1] == kind and len(v[2]) == len(dims) and
                       all(a <= b for a, b in zip(v[2], dims)))
    if dims:
      self.add(kind, dims, f"dynamic-update-slice({name}, {update[0]}, "
               f"{self.places(len(dims))})")

  def gather(self, name, kind, dims):
    if not dims or math.prod(dims) == 0:
      return
    indices = self.pick(lambda v: v[1] in ("s32", "u32", "u8", "s64") and
                        len(v[2]) == 1 and v[2][0] < 60)
    if indices is None:
      indices = self.add("s32", (self.random.choice([3, 5, 7]),),
                         "iota(), iota_dimension=0")
    along = self.random.randrange(len(dims))
    sizes = [self.random.choice([d, d, max(1, d - 1)]) for d in dims]
    sizes[along] = 1
    kept = [size for d, size in enumerate(sizes) if d != along]
    self.add(kind, list(indices[2]) + kept,
             gather_text(name, indices[0], range(1, len(dims)), [along],
                         [along], 1, sizes))

  def scatter(self, name, kind, dims):
    if not dims or not is_exact(kind) or not 0 < math.prod(dims) <= 600:
      return
    indices = self.pick(lambda v: v[1] in ("s32", "u32", "u8", "s64") and
                        len(v[2]) == 1 and 0 < v[2][0] < 9)
    unique = ""
    if indices is None:
      indices = self.add("s32", (3,), "iota(), iota_dimension=0")
      unique = "unique_indices=true, "
    along = self.random.randrange(len(dims))
    sizes = [indices[2][0]] + [d for k, d in enumerate(dims) if k != along]
    update = self.filled(kind, sizes, self.scalar(kind))
    opcode = "or" if kind == "pred" else self.random.choice(
        ["add", "maximum", "multiply"])
    if update is not None:
      self.add(kind, dims, scatter_text(
          name, indices[0], update[0], range(1, len(dims)), [along], along,
          f"{unique}to_apply={self.reducer(opcode, kind)}"))

  def reduce(self, name, kind, dims):
    if not dims or kind not in WIDE + COMPLEX + ["pred"]:
      return
    along = sorted(self.random.sample(range(len(dims)),
                                      self.random.randint(1, len(dims))))
    opcode = self.random.choice(
        ["and", "or"] if kind == "pred" else
        ["add", "multiply"] if kind in COMPLEX else
        ["add", "maximum", "minimum", "multiply"])
    self.add(kind, [d for k, d in enumerate(dims) if k not in along],
             f"reduce({name}, {self.start_value(opcode, kind)}), "
             f"dimensions={braces(along)}, "
             f"to_apply={self.reducer(opcode, kind)}")

  def reduce_window(self, name, kind, dims):
    if not dims or kind not in WIDE or not 0 < math.prod(dims) <= 800:
      return
    opcode = self.random.choice(["add", "maximum"])
    sizes = [min(self.random.choice([1, 1, 2, 3]), d) for d in dims]
    strides = [self.random.choice([1, 1, 2]) for _ in dims]
    spread = [self.random.choice([1, 1, 2]) for _ in dims]
    pads = [self.random.choice([0, 0, 1]) for _ in dims]
    out = [((d - 1) * s + 1 + 2 * p - w) // t + 1 for d, s, p, w, t in zip(
        dims, spread, pads, sizes, strides)]
    self.add(kind, out, f"reduce-window({name}, "
             f"{self.start_value(opcode, kind)}), window={{size={by(sizes)} "
             f"stride={by(strides)} pad={by(f'{p}_{p}' for p in pads)} "
             f"lhs_dilate={by(spread)}}}, "
             f"to_apply={self.reducer(opcode, kind)}")

  def softmax(self, name, kind, dims):
    if not dims or kind not in ("f32", "f64") or math.prod(dims) == 0:
      return
    along = self.random.randrange(len(dims))
    kept = [d for d in range(len(dims)) if d != along]
    sizes = [dims[d] for d in kept]
    def reduced(of, opcode, start):
      result = self.add(kind, sizes, f"reduce({of}, "
                        f"{self.constant(kind, start)[0]}), "
                        f"dimensions={{{along}}}, "
                        f"to_apply={self.reducer(opcode, kind)}")
      return self.add(kind, dims, f"broadcast({result[0]}), "
                      f"dimensions={braces(kept)}", read=False)[0]
    most = reduced(name, "maximum", "-inf")
    less = self.add(kind, dims, f"subtract({name}, {most})", read=False)
    power = self.add(kind, dims, f"exponential({less[0]})")
    total = reduced(power[0], "add", "0")
    self.add(kind, dims, f"divide({power[0]}, {total})")

  def sort(self, name, kind, dims):
    if not dims or kind in COMPLEX or math.prod(dims) == 0:
      return
    self.add(kind, dims, f"sort({name}), "
             f"dimensions={{{self.random.randrange(len(dims))}}}, "
             f"to_apply={self.reducer('compare', kind)}", self.plain(dims))

  def topk(self, name, kind, dims):
    if not dims or kind in ["pred"] + COMPLEX or math.prod(dims) == 0:
      return
    most = self.random.randint(1, dims[-1])
    sizes = list(dims[:-1]) + [most]
    both = [self.shape(t, sizes, self.plain(sizes)) for t in (kind, "s32")]
    pair = f"t{self.names}"
    largest = self.random.choice(["true", "false"])
    self.lines.append(f"  {pair} = ({', '.join(both)}) topk({name}), "
                      f"k={most}, largest={largest}")
    for number, part in enumerate((kind, "s32")):
      self.add(part, sizes, f"get-tuple-element({pair}), index={number}",
               self.plain(sizes))

  def dot(self, name, kind, dims):
    if not dims or kind == "pred" or math.prod(dims) == 0:
      return
    along = self.random.randrange(len(dims))
    other = self.random.choice([v for v in self.pool if v[1] == kind and
                                dims[along] in v[2] and math.prod(v[2]) > 0])
    with_along = other[2].index(dims[along])
    sizes = [d for k, d in enumerate(dims) if k != along]
    sizes += [d for k, d in enumerate(other[2]) if k != with_along]
    if math.prod(sizes) * dims[along] > 200000:
      return
    to = self.random.choice([kind, "f32"]) if kind in FLOATS[1:3] else kind
    to = f"{kind[0]}32" if kind in NARROW else to
    self.add(to, sizes, f"dot({name}, {other[0]}), "
             f"lhs_contracting_dims={{{along}}}, "
             f"rhs_contracting_dims={{{with_along}}}")

  ALL = [unary, binary, select, convert, clamp, iota, broadcast, reshape,
           transpose, copy, slice, reverse, pad, concatenate, dynamic_slice,
           dynamic_update_slice, gather, scatter, reduce, reduce_window,
           softmax, dot]
  SORTS = [sort, topk, MoreSteps.sort_pair]
