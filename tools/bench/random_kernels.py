#!/usr/bin/env python3
"""Random fusions, compiled for the host, against the evaluator.

usage: random_kernels.py TOOLS [--first=SEED] [--modules=N] [--fusions=40]
                         [--small] [--coverage] [--cxx=COMMAND]
                         [--keep=FOLDER]

TOOLS is the folder with hlo-opt, hlo-run and kir-opt, built with -c opt. Each
module has many fusions of one kernel each, since most of a compiler's time goes
into headers: parameters of odd sizes, all element types and mixed layouts;
every value that nobody reads is a result, and so are some others, so that
kernels have heroes of several kinds. Kernels are planned, their plans checked,
run on the kernel machine (no race), and their CUDA, compiled by the host's
compiler, must compute what the evaluator does. Fusions that have no lowering
are left out, and counted by reason. --small leaves out arrays with an element
for each thread of a device, which the kernel machine takes minutes for;
--coverage says which opcodes were in kernels of which kind, and in how many
element types.

Exit status 1: something differs; FOLDER keeps the module.
"""

import argparse
import collections
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile

from random_coverage import Coverage
from random_steps import Steps
from random_values import COMPLEX, FLOATS, INTEGERS, NARROW

SIZES = [1, 2, 3, 5, 7, 13, 17, 32, 33, 40, 64]


class Fusion(Steps):

  def __init__(self, random, is_small):
    super().__init__(random)
    self.is_small = is_small

  def generate(self):
    """Parameters and 3 to 14 values; at most 60 tries."""
    dims, form = None, self.random.random()
    heroes = [None, None, Steps.dot, Steps.reduce, Steps.transpose]
    if form < 0.04 and not self.is_small:
      # As many elements as a device has threads.
      dims = [self.random.choice([512, 514]), 516]
      self.most = 1 << 19
    elif form < 0.16:  # Long rows.
      dims = [self.random.choice([1, 3, 5]),
              self.random.choice([1024, 1028, 1030])]
    elif form < 0.26:  # Long columns.
      dims = [self.random.choice([100, 700, 1030]),
              self.random.choice([3, 17, 20])]
      heroes = [Steps.reduce_columns]
      self.most = 1 << 15
    elif form < 0.4:  # Wide on both sides of a transpose.
      dims = [self.random.choice([17, 32, 33, 64]),
              self.random.choice([1, 2, 3]), self.random.choice([16, 33, 40])]
      heroes = [Steps.turn]
      self.most = 8000
    for number in range(self.random.randint(1, 3)):
      if dims is None or (number > 0 and self.random.random() < 0.6):
        dims = [self.random.choice(SIZES)
                for _ in range(self.random.choice([1, 2, 2, 3, 3, 4]))]
        while math.prod(dims) > 3000:
          dims[self.random.randrange(len(dims))] = self.random.choice([1, 2, 3])
      kind = self.random.choice(FLOATS[:2] * 3 + FLOATS + INTEGERS +
                                NARROW + COMPLEX * 2 +
                                ["pred", "f32", "f32", "s32"])
      shape = self.shape(kind, dims)
      self.parameters.append(shape)
      self.lines.append(f"  p{number} = {shape} parameter({number})")
      self.pool.append((f"p{number}", kind, tuple(dims)))
    hero = self.random.choice(heroes)
    wanted = self.random.randint(3, 14)
    for _ in range(60):
      if self.names >= wanted:
        break
      # What is behind a sort is often read at other places than it is written.
      sorts = Steps.SORTS if self.random.random() < 0.2 else []
      steps = Steps.ALL + Steps.MORE + sorts + ([hero] * 10 if hero else [])
      self.random.choice(steps)(self, *self.pick())

  def results(self):
    """Names and shapes of what nobody reads, and of some that are read."""
    text = "\n".join(self.lines)
    made = [value[0] for value in self.pool if value[0][0] == "v"]
    read = {name for name in made if f"{name}," in text or f"{name})" in text}
    extra = self.random.sample(sorted(read),
                               min(len(read), self.random.choice([0, 0, 1, 2])))
    names = [name for name in made if name not in read or name in extra]
    shapes = {line.split()[0]: line.split()[2] for line in self.lines}
    return [(name, shapes[name]) for name in names]


def called_text(opcode, kind, other):
  """What reductions and sorts apply to two values, or to two pairs."""
  name = f"{opcode}_{kind}_of" + (f"_{other}" if other else "")
  result, order = kind, ""
  if opcode == "largest":
    return (f"{name} {{ a = {kind}[] parameter(0) i = s32[] parameter(1) "
            f"b = {kind}[] parameter(2) j = s32[] parameter(3) "
            f"more = pred[] compare(a, b), direction=GT "
            f"same = pred[] compare(a, b), direction=EQ "
            f"less = pred[] compare(i, j), direction=LT "
            f"first = pred[] and(same, less) g = pred[] or(more, first) "
            f"x = {kind}[] select(g, a, b) k = s32[] select(g, i, j) "
            f"ROOT t = ({kind}[], s32[]) tuple(x, k) }}")
  rest = ""
  if opcode.startswith("compare"):
    direction = "GE" if opcode == "compare_ge" else "LT"
    result, order = "pred", f", direction={direction}"
    order += (", type=TOTALORDER"
              if kind in FLOATS and direction == "LT" else "")
    if other:
      rest = f"i = {other}[] parameter(2) j = {other}[] parameter(3) "
    opcode = "compare"
  return (f"{name} {{ a = {kind}[] parameter(0) b = {kind}[] parameter(1) "
          f"{rest}ROOT c = {result}[] {opcode}(a, b){order} }}")


def module_text(seed, fusions, without, is_small=False):
  """A module of that many fusions, side by side, but those numbers."""
  reducers, computations, parameters, entry, results = set(), [], [], [], []
  for number in range(fusions):
    fusion = Fusion(random.Random(f"{seed}.{number}"), is_small)
    fusion.generate()
    values = fusion.results()
    if not values or number in without:
      continue
    shape = "(" + ", ".join(s for _, s in values) + ")"
    root = ", ".join(n for n, _ in values)
    computations.append("\n".join(
        [f"body{number} {{"] + fusion.lines +
        [f"  ROOT r = {shape} tuple({root})", "}"]))
    reducers |= fusion.reducers
    first = len(parameters)
    parameters += fusion.parameters
    operands = ", ".join(f"a{k}" for k in range(first, len(parameters)))
    entry.append(f"  k{number} = {shape} fusion({operands}), kind=kLoop, "
                 f"calls=body{number}")
    for k, (_, part) in enumerate(values):
      entry.append(f"  o{number}_{k} = {part} get-tuple-element(k{number}), "
                   f"index={k}")
      results.append((f"o{number}_{k}", part))
  lines = [f"HloModule random_{seed}"]
  lines += [called_text(*called)
            for called in sorted(reducers, key=lambda c: tuple(map(str, c)))]
  lines += computations + ["ENTRY e {"]
  lines += [f"  a{k} = {shape} parameter({k})"
            for k, shape in enumerate(parameters)]
  lines += entry + [
      f"  ROOT t = ({', '.join(s for _, s in results)}) "
      f"tuple({', '.join(n for n, _ in results)})", "}"]
  return "\n".join(lines) + "\n"


def run(command):
  return subprocess.run(command, capture_output=True, text=True)


class Checker:
  """Modules by their seeds."""

  def __init__(self, args, folder):
    self.args = args
    self.folder = folder
    self.kernels = 0  # that are equal
    self.emitted = 0  # of the module at hand
    self.refused = collections.Counter()
    self.coverage = Coverage()

  def tool(self, name, *rest):
    return run([os.path.join(self.args.tools, name)] + list(rest))

  def emit(self, seed, path):
    """Writes module and program; what is wrong, or None."""
    without = set()
    while True:
      with open(path + ".hlo", "w") as file:
        file.write(module_text(seed, self.args.fusions, without,
                               self.args.small))
      emitted = self.tool("hlo-opt", path + ".hlo",
                          "--passes=hlo-memory-scheduler", "--emit=cuda", "-o",
                          path + ".d")
      if emitted.returncode == 0:
        self.emitted = self.args.fusions - len(without)
        return None
      reasons = re.findall(r"^  k(\d+): (.*)$", emitted.stderr, re.M)
      if not reasons or "cannot be lowered" not in emitted.stderr:
        return emitted.stderr
      for number, reason in reasons:
        without.add(int(number))
        self.refused[re.sub(r", in [^,]*$", "", reason)] += 1

  def check(self, seed, path):
    """What is wrong with the module, or None."""
    wrong = self.emit(seed, path)
    if wrong is not None:
      return wrong
    kir = path + ".kir"
    steps = [
        lambda: self.tool("hlo-opt", path + ".hlo",
                          "--passes=hlo-memory-scheduler", "--emit=kir", "-o",
                          kir),
        lambda: self.tool("kir-opt", kir, "--check-plan", "--check-races=2",
                          "--max-steps=-1", "-o", os.devnull),
        lambda: run(self.args.cxx.split() + [
            "-std=c++17", "-O0", "-w", "-fwrapv", "-fno-strict-aliasing",
            "-include", path + ".d/host_shim.h", "-x", "c++", "-o",
            path + ".d/host", path + ".d/program.cu"]),
        lambda: self.tool("hlo-run", path + ".hlo", "--cuda=" + path + ".d",
                          f"--inputs=random:{seed}"),
    ]
    for step in steps:
      done = step()
      if done.returncode != 0:
        return done.stderr + done.stdout
    self.kernels += self.emitted
    self.coverage.add(path)
    return None


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("tools")
  parser.add_argument("--first", type=int, default=0)
  parser.add_argument("--modules", type=int, default=50)
  parser.add_argument("--fusions", type=int, default=40)
  parser.add_argument("--small", action="store_true")
  parser.add_argument("--coverage", action="store_true")
  parser.add_argument("--cxx", default="c++")
  parser.add_argument("--keep")
  args = parser.parse_args()
  # Whoever stops a long run is told what it found.
  signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
  failed, done = 0, 0
  with tempfile.TemporaryDirectory() as temporary:
    folder = args.keep or temporary
    os.makedirs(folder, exist_ok=True)
    checker = Checker(args, folder)
    try:
      for seed in range(args.first, args.first + args.modules):
        wrong = checker.check(seed, os.path.join(folder, f"m{seed}"))
        failed += wrong is not None
        done += 1
        print(f"module {seed}: {'equal' if wrong is None else wrong[:2000]}",
              flush=True)
    finally:
      print(f"{done} of {args.modules} modules, {checker.kernels} kernels equal, "
            f"{failed} modules with something wrong")
      for reason, number in checker.refused.most_common():
        print(f"{number:5} not lowered: {reason}", flush=True)
      if args.coverage:
        print(checker.coverage.table(), flush=True)
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
