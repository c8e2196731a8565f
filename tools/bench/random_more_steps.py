"""More instructions of random fusions, for random_kernels.py.

Functions of floats, bits, windows at places along two dimensions, pairs of
results, convolutions, and what makes kernels of columns and of transposes.
"""

import math

from random_values import (COMPLEX, FLOATS, INTEGERS, NARROW, Values, braces,
                           by, gather_text, is_exact, scatter_text)

# Types whose bits are as many.
SAME_BITS = [["f32", "s32", "u32"], ["f64", "s64", "u64"],
             ["bf16", "f16", "s16", "u16"], ["s8", "u8", "f8e5m2", "f8e4m3fn"],
             ["s4", "u4"], ["s2", "u2"]]
FLOAT_UNARY = ["log", "log-plus-one", "exponential-minus-one", "rsqrt", "cbrt",
               "sine", "tan", "erf", "round-nearest-afz", "asinh", "acosh",
               "atanh", "asin", "acos"]


class MoreSteps(Values):
  """As in random_steps.py."""

  def float_unary(self, name, kind, dims):
    if kind in FLOATS[:4]:
      self.add(kind, dims, f"{self.random.choice(FLOAT_UNARY)}({name})")

  def float_binary(self, name, kind, dims):
    if kind in FLOATS[:4]:
      other = self.peer((name, kind, dims))
      opcode = self.random.choice(["atan2", "power"])
      self.add(kind, dims, f"{opcode}({name}, {other[0]})")

  def mulhi(self, name, kind, dims):
    if kind in ("s32", "u32", "s16", "u16", "s8", "u8"):
      self.add(kind, dims, f"mulhi({name}, {self.peer((name, kind, dims))[0]})")

  def is_finite(self, name, kind, dims):
    if kind in FLOATS:
      self.add("pred", dims, f"is-finite({name})")

  def reduce_precision(self, name, kind, dims):
    if kind in FLOATS[:5]:
      self.add(kind, dims, f"reduce-precision({name}), "
               f"exponent_bits={self.random.choice([2, 4, 5, 5, 8, 11])}, "
               f"mantissa_bits={self.random.choice([0, 2, 7, 10, 19, 22, 51])}")

  def bits(self, name, kind, dims):
    for kinds in SAME_BITS:
      if kind in kinds:
        to = self.random.choice(kinds)
        # Bits of narrow floats that are no numbers have many forms.
        if to not in FLOATS[4:]:
          self.add(to, dims, f"bitcast-convert({name})")

  def parts_of_bits(self, name, kind, dims):
    """Elements cut into a last dimension of narrower ones, or that joined."""
    if kind in NARROW + COMPLEX + FLOATS[4:] + ["pred"]:
      return
    width = 16 if kind == "bf16" else int(kind[1:])
    if self.random.random() < 0.5 and width > 8:
      to = self.random.choice([w for w in (8, 16, 32) if w < width])
      self.add(f"u{to}", list(dims) + [width // to], f"bitcast-convert({name})")
      return
    for to, kinds in ((64, ["s64", "u64"]), (32, ["s32", "u32"]),
                      (16, ["s16", "u16"])):
      if to > width and dims and dims[-1] * width == to:
        self.add(self.random.choice(kinds), dims[:-1],
                 f"bitcast-convert({name})")
        return

  def bitcast(self, name, kind, dims):
    """The same memory as one row."""
    if kind not in NARROW:
      row = self.add(kind, dims, f"copy({name})", self.plain(dims) if dims
                     else "")
      if row is not None:
        self.add(kind, (math.prod(dims),), f"bitcast({row[0]})", "{0}")

  def compare_total(self, name, kind, dims):
    if kind in FLOATS:
      other = self.peer((name, kind, dims))
      direction = self.random.choice(["EQ", "NE", "LT", "GE", "GT", "LE"])
      self.add("pred", dims, f"compare({name}, {other[0]}), "
               f"direction={direction}, type=TOTALORDER")

  def dot_of_batches(self, name, kind, dims):
    """Of each value along a dimension with the same of another, or itself."""
    if (len(dims) < 2 or kind in ["pred"] + NARROW + FLOATS[4:] or
        math.prod(dims) == 0):
      return
    batch, along = self.random.sample(range(len(dims)), 2)
    other = self.random.choice([v for v in self.pool if v[1:] == (kind, dims)])
    rest = [d for k, d in enumerate(dims) if k not in (batch, along)]
    sizes = [dims[batch]] + rest + rest
    if math.prod(sizes) * dims[along] <= 100000:
      self.add(kind, sizes, f"dot({name}, {other[0]}), "
               f"lhs_batch_dims={{{batch}}}, rhs_batch_dims={{{batch}}}, "
               f"lhs_contracting_dims={{{along}}}, "
               f"rhs_contracting_dims={{{along}}}")

  def complex(self, name, kind, dims):
    if kind in ("f32", "f64"):
      other = self.peer((name, kind, dims))
      self.add("c64" if kind == "f32" else "c128", dims,
               f"complex({name}, {other[0]})")

  def map(self, name, kind, dims):
    if kind in ("f32", "f64", "s32", "u8", "s16"):
      every = braces(range(len(dims)))
      other = self.peer((name, kind, dims))
      self.add(kind, dims, f"map({name}, {other[0]}), dimensions={every}, "
               f"to_apply={self.reducer('subtract', kind)}")

  def concatenate_many(self, name, kind, dims):
    if not dims or math.prod(dims) > 300:
      return
    along = self.random.randrange(len(dims))
    count = self.random.randint(11, 14)
    sizes = list(dims)
    sizes[along] *= count
    self.add(kind, sizes, f"concatenate({', '.join([name] * count)}), "
             f"dimensions={{{along}}}")

  def gather_two(self, name, kind, dims):
    """Windows that begin at places along two dimensions, of all forms."""
    if len(dims) < 2 or math.prod(dims) == 0:
      return
    index = self.random.choice(["s32", "u8", "s64", "s16"])
    count = self.random.choice([1, 4, 9])
    along = self.random.sample(range(len(dims)), 2)
    first = self.random.random() < 0.5
    indices = self.add(index, (2, count) if first else (count, 2),
                       f"iota(), iota_dimension={self.random.randrange(2)}")
    sizes = [max(1, d - self.random.choice([0, 0, 1, 2])) for d in dims]
    gone = [d for d in along if self.random.random() < 0.5]
    for d in gone:
      sizes[d] = 1
    kept = [s for d, s in enumerate(sizes) if d not in gone]
    at = self.random.randint(0, len(kept))
    result = kept[:at] + [count] + kept[at:]
    offsets = [d for d in range(len(result)) if d != at]
    if indices is not None:
      self.add(kind, result,
               gather_text(name, indices[0], offsets, sorted(gone), along,
                           0 if first else 1, sizes))

  def scatter_windows(self, name, kind, dims):
    """Windows of which several elements lie along the scattered dimension."""
    if not dims or not is_exact(kind) or not 0 < math.prod(dims) <= 400:
      return
    along = self.random.randrange(len(dims))
    count = self.random.choice([1, 3, 6])
    sizes = list(dims)
    sizes[along] = max(1, dims[along] // 2)
    indices = self.add("s32", (count,), "iota(), iota_dimension=0")
    update = self.filled(kind, [count] + sizes, self.scalar(kind))
    opcode = "or" if kind == "pred" else self.random.choice(
        ["add", "minimum", "subtract"])
    if update is not None:
      self.add(kind, dims, scatter_text(
          name, indices[0], update[0], range(1, len(dims) + 1), [], along,
          f"to_apply={self.reducer(opcode, kind)}"))

  def reduce_pair(self, name, kind, dims):
    """The most of a row and its first place."""
    if not dims or kind not in ("f32", "s32", "f64", "u8"):
      return
    along = self.random.randrange(len(dims))
    places = self.add("s32", dims, f"iota(), iota_dimension={along}",
                      read=False)
    start = self.start_value("maximum", kind)
    first = self.constant("s32", 0)
    sizes = [d for k, d in enumerate(dims) if k != along]
    if places is not None:
      self.pair("reduce", (kind, "s32"), sizes,
                f"reduce({name}, {places[0]}, {start}, {first[0]}), "
                f"dimensions={{{along}}}, "
                f"to_apply={self.reducer('largest', kind)}")

  def sort_pair(self, name, kind, dims):
    if not dims or kind in FLOATS[4:] + COMPLEX or math.prod(dims) == 0:
      return
    along = self.random.randrange(len(dims))
    other = self.random.choice([v for v in self.pool if v[2] == dims])
    if other[1] in COMPLEX:
      return
    self.pair("sort", (kind, other[1]), dims,
              f"sort({name}, {other[0]}), dimensions={{{along}}}, "
              f"is_stable=true, "
              f"to_apply={self.reducer('compare_first', kind, other[1])}",
              self.plain(dims))

  def pair(self, opcode, kinds, dims, text, layout=None):
    """A value of two arrays, and its elements."""
    layout = layout or self.plain(dims) if dims else ""
    name = f"{opcode}{self.names}"
    both = ", ".join(self.shape(kind, dims, layout) for kind in kinds)
    self.lines.append(f"  {name} = ({both}) {text}")
    for number, kind in enumerate(kinds):
      self.add(kind, dims, f"get-tuple-element({name}), index={number}", layout)

  def reduce_columns(self, name, kind, dims):
    if len(dims) > 1 and kind in ("f32", "f64", "s32", "u8", "s64", "u16"):
      opcode = self.random.choice(["add", "maximum"])
      self.add(kind, dims[1:], f"reduce({name}, "
               f"{self.start_value(opcode, kind)}), dimensions={{0}}, "
               f"to_apply={self.reducer(opcode, kind)}")

  def turn(self, name, kind, dims):
    """The first dimension becomes the last, or the last the first."""
    order = list(range(len(dims)))
    order = self.random.choice([order[1:] + order[:1], order[-1:] + order[:-1],
                                order[::-1]])
    self.add(kind, [dims[d] for d in order],
             f"transpose({name}), dimensions={braces(order)}",
             self.plain(dims))

  def convolution(self, name, kind, dims):
    """Of each row of two dimensions as one image of one feature."""
    if (len(dims) != 2 or kind not in ("f32", "f64", "s32", "bf16") or
        not 0 < math.prod(dims) <= 1500 or dims[1] < 4):
      return
    image = self.add(kind, (dims[0], dims[1], 1), f"reshape({name})")
    size, features = self.random.randint(1, 3), self.random.choice([1, 3])
    # Infinite weights tell whether padding is multiplied, too.
    weight = self.constant(kind, self.random.choice([0, 1, 2, 3]))
    weights = self.filled(kind, (size, 1, features), weight)
    if image is None or weights is None:
      return
    stride, low, high = (self.random.randint(1, 2), self.random.randint(0, 1),
                         self.random.randint(-1, 1))
    out = (dims[1] + low + high - size) // stride + 1
    self.add(kind, (dims[0], out, features),
             f"convolution({image[0]}, {weights[0]}), window={{size={size} "
             f"stride={stride} pad={low}_{high}}}, dim_labels=b0f_0io->b0f")

  def select_and_scatter(self, name, kind, dims):
    if (len(dims) != 2 or kind not in ("f32", "s32") or
        not 0 < math.prod(dims) <= 400):
      return
    sizes = [min(self.random.choice([1, 2, 3]), d) for d in dims]
    out = [(d - s) // s + 1 for d, s in zip(dims, sizes)]
    source = self.filled(kind, out, self.scalar(kind))
    self.add(kind, dims, f"select-and-scatter({name}, {source[0]}, "
             f"{self.constant(kind, 0)[0]}), "
             f"window={{size={by(sizes)} stride={by(sizes)}}}, "
             f"select={self.reducer('compare_ge', kind)}, "
             f"scatter={self.reducer('add', kind)}")

  def reduce_window_more(self, name, kind, dims):
    """With dilated windows, and of short types."""
    if not dims or not 0 < math.prod(dims) <= 500 or kind in COMPLEX + NARROW:
      return
    opcode = "or" if kind == "pred" else self.random.choice(
        ["minimum", "maximum"])
    if kind == "f8e4m3fn" or (opcode == "minimum" and kind in INTEGERS[1:]):
      return
    sizes = [min(self.random.choice([1, 2]), d) for d in dims]
    spread = [self.random.choice([1, 2, 3]) for _ in dims]
    pads = [self.random.choice([0, 1, 2]) for _ in dims]
    out = [d + 2 * p - (w - 1) * s for d, p, w, s in zip(
        dims, pads, sizes, spread)]
    if min(out) < 1:
      return
    start = self.start_value(opcode, kind)
    self.add(kind, out, f"reduce-window({name}, {start}), "
             f"window={{size={by(sizes)} pad={by(f'{p}_{p}' for p in pads)} "
             f"rhs_dilate={by(spread)}}}, "
             f"to_apply={self.reducer(opcode, kind)}")

  MORE = [float_unary, float_binary, is_finite, reduce_precision, bits, complex,
          map, concatenate_many, gather_two, scatter_windows, reduce_pair,
          convolution, select_and_scatter, reduce_window_more, parts_of_bits,
          bitcast, compare_total, dot_of_batches, mulhi]
