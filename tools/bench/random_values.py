"""Values of random fusions as text, for random_kernels.py."""

import math

FLOATS = ["f32", "bf16", "f16", "f64", "f8e5m2", "f8e4m3fn"]
INTEGERS = ["s32", "u8", "s8", "s16", "u32", "s64", "u64", "u16"]
NARROW = ["s4", "u4", "s2", "u2"]
COMPLEX = ["c64", "c128"]


def braces(numbers):
  return "{" + ",".join(str(n) for n in numbers) + "}"


def by(numbers):
  return "x".join(str(n) for n in numbers)


def is_exact(kind):
  """Whether scatters of that type have one result to compare with."""
  return kind == "f32" or kind not in FLOATS + COMPLEX


def gather_text(array, indices, offsets, collapsed, starts, along, sizes):
  return (f"gather({array}, {indices}), offset_dims={braces(offsets)}, "
          f"collapsed_slice_dims={braces(collapsed)}, "
          f"start_index_map={braces(starts)}, index_vector_dim={along}, "
          f"slice_sizes={braces(sizes)}")


def scatter_text(array, indices, updates, window, inserted, along, more):
  return (f"scatter({array}, {indices}, {updates}), "
          f"update_window_dims={braces(window)}, "
          f"inserted_window_dims={braces(inserted)}, "
          f"scatter_dims_to_operand_dims={{{along}}}, index_vector_dim=1, "
          f"{more}")


class Values:
  """A fused computation, instruction by instruction."""

  def __init__(self, random):
    self.random = random
    self.lines = []
    self.pool = []  # (name, type, dims) of what may be read
    self.reducers = set()  # (opcode, type, other type or None)
    self.names = 0
    self.most = 6000  # elements of a value
    self.parameters = []  # shapes as text

  def layout(self, rank, odd):
    order = list(range(rank))[::-1]
    if rank > 1 and self.random.random() < odd:
      self.random.shuffle(order)
    return braces(order) if rank else ""

  @staticmethod
  def plain(dims):
    return braces(range(len(dims) - 1, -1, -1))

  def shape(self, kind, dims, layout=None):
    if layout is None:
      layout = self.layout(len(dims), 0.3)
      # Elements share bytes.
      if kind in NARROW and dims and self.random.random() < 0.5:
        layout = layout[:-1] + f":E({kind[1:]})}}"
    return f"{kind}[{','.join(str(d) for d in dims)}]{layout}"

  def add(self, kind, dims, text, layout=None, read=True):
    """The new value, unless it would have too many elements."""
    if math.prod(dims) > self.most or len(dims) > 5:
      return None
    name = f"v{self.names}"
    self.names += 1
    self.lines.append(f"  {name} = {self.shape(kind, dims, layout)} {text}")
    if read:
      self.pool.append((name, kind, tuple(dims)))
    return (name, kind, tuple(dims))

  def constant(self, kind, value):
    return self.add(kind, (), f"constant({value})", read=False)

  def scalar(self, kind):
    if kind == "pred":
      values = ["true", "false"]
    elif kind in COMPLEX:
      values = ["(0, 0)", "(1, -2)", "(0.5, 1)", "(-1, 0)"]
    elif kind in NARROW:
      values = [0, 1] + ([-1, -2] if kind[0] == "s" else [2, 3])
    elif kind in FLOATS:
      values = ["0", "-0", "1", "-1", "2", "0.5"]
      values += [] if kind == "f8e4m3fn" else ["inf", "-inf"]
    else:
      values = [0, 1, 2, 3] + ([-1, -2] if kind[0] == "s" else [])
    return self.constant(kind, self.random.choice(values))

  def filled(self, kind, dims, scalar):
    return self.add(kind, dims, f"broadcast({scalar[0]}), dimensions={{}}",
                    read=False)

  def pick(self, fits=lambda value: True):
    found = [value for value in self.pool if fits(value)]
    if not found:
      return None
    recent = self.random.random() < 0.7
    return self.random.choice(found[-8:] if recent else found)

  def peer(self, value):
    """A value of the same type and dims."""
    found = [other for other in self.pool if other[1:] == value[1:]]
    if self.random.random() < 0.8:
      return self.random.choice(found)
    return self.filled(value[1], value[2], self.scalar(value[1]))

  def reducer(self, opcode, kind, other=None):
    self.reducers.add((opcode, kind, other))
    return f"{opcode}_{kind}_of" + (f"_{other}" if other else "")

  def start_value(self, opcode, kind):
    lowest = "-inf" if kind in FLOATS else "0"
    highest = "inf" if kind in FLOATS else "7"
    if kind in COMPLEX:
      return self.constant(
          kind, "(0, 0)" if opcode == "add" else "(1, 0)")[0]
    values = {"add": ["0", "0", "0", "5"], "multiply": ["1", "1", "2"],
              "maximum": [lowest], "minimum": [highest],
              "and": ["true", "false"], "or": ["false", "true"]}
    return self.constant(kind, self.random.choice(values[opcode]))[0]
