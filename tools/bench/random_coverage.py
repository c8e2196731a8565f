"""What random kernels were made of, for random_kernels.py."""

import collections
import re

KINDS = ["loop", "row-reduction", "column-reduction", "transpose", "sort",
         "dot"]


class Coverage:
  """Opcodes by the kinds of the kernels that have them, and by their types."""

  def __init__(self):
    self.types = collections.defaultdict(set)  # by (opcode, kind of kernel)
    self.kernels = collections.Counter()  # by their kinds
    self.outputs = collections.Counter()  # by kind, of more than one result

  def add(self, path):
    """The fusions of path.hlo and their kernels in path.kir."""
    with open(path + ".hlo") as file:
      bodies = dict(re.findall(r"^body(\d+) \{\n(.*?)^\}", file.read(),
                               re.M | re.S))
    kinds = []
    with open(path + ".kir") as file:
      for line in file:
        kinds += re.findall(r"^// ([a-z-]+): ", line)
        kernel = re.match(r"kernel @k(\d+) ", line)
        if kernel:
          self.add_kernel(bodies[kernel[1]], [k for k in kinds if k in KINDS])
          kinds = []

  def add_kernel(self, body, kinds):
    self.kernels["+".join(sorted(set(kinds)))] += 1
    results = re.search(r"ROOT r = \((.*?)\) tuple", body)[1].count("[")
    for kind in set(kinds):
      self.outputs[kind] += results > 1
      for shape, opcode in re.findall(r"^  (?:ROOT )?\S+ = (.*?) ([a-z-]+)\(",
                                      body, re.M):
        self.types[opcode, kind] |= set(re.findall(r"([a-z]\w*)\[", shape))

  def table(self):
    """A row for each opcode: element types in kernels of each kind."""
    opcodes = sorted({opcode for opcode, _ in self.types})
    lines = [f"{'opcode':24}" + "".join(f"{k:>18}" for k in KINDS)]
    for opcode in opcodes:
      lines.append(f"{opcode:24}" + "".join(
          f"{len(self.types[opcode, kind]) or '-':>18}" for kind in KINDS))
    lines.append(f"{'kernels':24}" + "".join(
        f"{sum(n for k, n in self.kernels.items() if kind in k.split('+')):>18}"
        for kind in KINDS))
    lines.append(f"{'with several results':24}" + "".join(
        f"{self.outputs[kind]:>18}" for kind in KINDS))
    several = [(k, n) for k, n in self.kernels.most_common() if "+" in k]
    lines += [f"{n:5} of {k}" for k, n in several]
    return "\n".join(lines)
