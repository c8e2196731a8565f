#!/usr/bin/env python3
"""Prints metrics of the sources: their layout, sizes, comments and tests.

usage: tools/style/house.py [ROOT] [--json] [--list=FIGURE]

One line per figure. --list=FIGURE lists what it counts: edges, cycles, files,
functions, constants or switches, the largest first. Compare two checkouts to see
the effect of a change. For the share of mutants that tests catch, which takes
minutes for each package, see tools/mutate.py.

  edges that climb     dependencies that violate xla/layers.bzl (layer_check.py)
  cycles of packages   groups of packages whose files include each other
  opcode switches      `switch` statements over opcodes, and those with a
                       `default`, which hide a new opcode from the compiler; a
                       comment says how it is handled (opcode_check.py)
  names without a user declared in headers, and used only by tests or outside code
                       (header_names.py)
  tuning constants     constexpr numbers in the .cc files of solvers
"""

import argparse
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import header_names  # noqa: E402
import layer_check  # noqa: E402
import opcode_check  # noqa: E402
import style_check  # noqa: E402

# Folders whose choices rest on tuned numbers.
SOLVERS = {
    "rematerialization": "xla/hlo/transforms/memory/remat",
    "schedulers": "xla/hlo/memory/schedulers",
    "heap": "xla/hlo/analysis/heap",
    "gpu model": "xla/backends/gpu/model",
    "shared memory": "xla/backends/gpu/smem",
    "spmd": "xla/hlo/transforms/spmd",
}
CONSTANT = re.compile(r"^\s*(?:inline )?constexpr (?:int|int64_t|double|float|size_t) (k\w+) =")


def share(part, whole):
  return round(part / whole, 3) if whole else 0


def percentile(values, q):
  values = sorted(values)
  return values[min(len(values) - 1, int(q * len(values)))] if values else 0


class File:

  def __init__(self, root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
      self.text = f.read()
    self.path = path
    self.folder = os.path.dirname(path)
    self.lines = self.text.split("\n")[:-1]
    stem = os.path.splitext(os.path.basename(path))[0]
    self.is_test = stem.endswith("_test") or "/testlib" in path
    self.comments = sum(line.lstrip().startswith("//") for line in self.lines)

  def includes(self):
    return [os.path.dirname(i) for i in re.findall(r'^#include "(xla/[^"]+)"', self.text, re.M)]


def package_of(root, folder):
  """The nearest folder above with a BUILD file: what Bazel takes for one."""
  while folder and not os.path.exists(os.path.join(root, folder, "BUILD")):
    folder = os.path.dirname(folder)
  return folder


def cycles(edges):
  """The strongly connected components of more than one node (Tarjan, without recursion)."""
  index, low, on_stack, stack, found = {}, {}, set(), [], []
  for start in sorted(edges):
    if start in index:
      continue
    work = [(start, iter(sorted(edges[start])))]
    index[start] = low[start] = len(index)
    stack.append(start)
    on_stack.add(start)
    while work:
      node, targets = work[-1]
      for target in targets:
        if target not in edges:
          continue
        if target not in index:
          index[target] = low[target] = len(index)
          stack.append(target)
          on_stack.add(target)
          work.append((target, iter(sorted(edges[target]))))
          break
        if target in on_stack:
          low[node] = min(low[node], index[target])
      else:
        work.pop()
        if work:
          low[work[-1][0]] = min(low[work[-1][0]], low[node])
        if low[node] == index[node]:
          part = []
          while not part or part[-1] != node:
            part.append(stack.pop())
            on_stack.remove(part[-1])
          if len(part) > 1:
            found.append(sorted(part))
  return found


def text_tests(root):
  lines = 0
  for folder, _, files in os.walk(os.path.join(root, "xla")):
    if os.path.basename(folder) == "testdata" or "/testdata/" in folder:
      for name in files:
        if name.endswith((".hlo", ".kir")):
          with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
            lines += sum(1 for _ in f)
  return lines


def measure(root):
  """Returns ({figure: value}, {figure: lines that explain it})."""
  figures, behind = collections.OrderedDict(), {}
  files = [File(root, p) for p in style_check.sources(root)
           if p.endswith((".cc", ".h")) and p.startswith(("xla/", "tools/")) and
           "/compat/include/" not in p]
  own = [f for f in files if not f.is_test]
  implementation = [f for f in own if f.path.endswith(".cc")]
  headers = [f for f in own if f.path.endswith(".h")]

  rooms = collections.Counter(f.folder for f in own)
  figures["rooms"] = len(rooms)
  behind["rooms"] = ["%4d files  %s" % (n, room) for room, n in rooms.most_common()]
  figures["files"] = len(own)
  figures["lines"] = sum(len(f.lines) for f in own)

  climbing = [line for line in layer_check.check(root) if line.endswith("[layer]")]
  figures["edges that climb"] = len(climbing)
  behind["edges that climb"] = climbing
  edges = collections.defaultdict(set)
  for f in own:
    package = package_of(root, f.folder)
    edges[package] |= {package_of(root, i) for i in f.includes()} - {package}
  loops = cycles(edges)
  figures["cycles of packages"] = len(loops)
  behind["cycles of packages"] = [" <-> ".join(loop) for loop in loops]
  libraries = [t for p in layer_check.packages(root) for t in layer_check.targets(root, p)
               if not t.is_test]
  figures["libraries"] = len(libraries)
  figures["public libraries"] = sum(t.is_public for t in libraries)
  behind["public libraries"] = sorted(t.label for t in libraries if t.is_public)

  for name, group in (("source file", implementation), ("header", headers)):
    sizes = [len(f.lines) for f in group]
    figures["lines of a %s, median" % name] = percentile(sizes, 0.5)
    figures["lines of a %s, p99" % name] = percentile(sizes, 0.99)
    figures["lines of a %s, largest" % name] = max(sizes)
    behind["lines of a %s, largest" % name] = [
        "%5d  %s" % (len(f.lines), f.path)
        for f in sorted(group, key=lambda f: -len(f.lines))[:40]]
  functions = [(length, "%s:%d" % (f.path, line)) for f in own
               for line, length in style_check.functions(
                   style_check.without_raw_strings(f.text).split("\n"))]
  lengths = [length for length, _ in functions]
  figures["functions"] = len(functions)
  figures["lines of a function, median"] = percentile(lengths, 0.5)
  figures["lines of a function, p99"] = percentile(lengths, 0.99)
  figures["lines of a function, largest"] = max(lengths)
  behind["lines of a function, largest"] = [
      "%5d  %s" % item for item in sorted(functions, reverse=True)[:40]]

  figures["comment share of source files"] = share(
      sum(f.comments for f in implementation), sum(len(f.lines) for f in implementation))
  behind["comment share of source files"] = [
      "%.3f  %5d lines  %s" % (share(f.comments, len(f.lines)), len(f.lines), f.path)
      for f in sorted(implementation, key=lambda f: share(f.comments, len(f.lines)))
      if len(f.lines) > 150][:40]
  figures["comment share of headers"] = share(
      sum(f.comments for f in headers), sum(len(f.lines) for f in headers))
  figures["comments that open with 'Of'"] = sum(
      bool(re.match(r"\s*// Of ", line)) and (
          i == 0 or not f.lines[i - 1].lstrip().startswith("//"))
      for f in own for i, line in enumerate(f.lines))
  test_lines = sum(len(f.lines) for f in files if f.is_test)
  figures["test lines, C++"] = test_lines
  figures["test lines, text"] = text_tests(root)
  figures["test lines per source line"] = share(
      test_lines + figures["test lines, text"], figures["lines"])

  switches = [(f.path, line, default) for f in own
              for line, default in opcode_check.switches(f.lines)]
  figures["opcode switches"] = len(switches)
  figures["opcode switches with a default"] = sum(d is not None for _, _, d in switches)
  behind["opcode switches with a default"] = [
      "%s:%d:%s" % (path, line, default.split("default:")[1])
      for path, line, default in switches if default is not None]
  unused, names = header_names.without_a_user(
      root, [f for f in own if "/compat/" not in f.path])
  figures["names in headers"] = names
  figures["names in headers without a user"] = sum(map(len, unused.values()))
  behind["names in headers without a user"] = [
      "%4d  %s: %s" % (len(unused[path]), path, " ".join(unused[path]))
      for path in sorted(unused, key=lambda path: (-len(unused[path]), path))]
  for name, folder in SOLVERS.items():
    inside = [f for f in implementation if f.folder.startswith(folder)]
    constants = ["%s:%d: %s" % (f.path, number, match.group(1)) for f in inside
                 for number, line in enumerate(f.lines, 1)
                 for match in [CONSTANT.match(line)] if match]
    figures["lines of %s" % name] = sum(len(f.lines) for f in inside)
    figures["tuning constants of %s" % name] = len(constants)
    behind["tuning constants of %s" % name] = constants
  return figures, behind


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
  parser.add_argument("root", nargs="?", default=os.path.dirname(os.path.dirname(
      os.path.dirname(os.path.realpath(__file__)))))
  parser.add_argument("--json", action="store_true", help="one object of all figures")
  parser.add_argument("--list", metavar="FIGURE", help="what stands behind one figure")
  options = parser.parse_args()
  figures, behind = measure(os.path.realpath(options.root))
  if options.list is not None:
    if options.list not in behind:
      parser.error("no list for '%s'; there are: %s" % (options.list, ", ".join(behind)))
    print("\n".join(behind[options.list]))
  elif options.json:
    print(json.dumps(figures, indent=2))
  else:
    for name, value in figures.items():
      print("%-40s %s" % (name, value))


if __name__ == "__main__":
  main()
