#!/usr/bin/env python3
"""Checks the BUILD files against the layers; every finding is one line.

usage: layer_check.py ROOT

xla/layers.bzl holds the order. A library under xla/ may depend on its own layer
and on earlier ones; within a layer, on folders of an earlier line of SIBLINGS (a
folder that is in no line is a finding). Tests may depend on siblings, but not on
later layers. The packages of OBSERVERS may depend on everything, and only tests
may depend on them.

The public libraries must be those in public.txt beside this file, which README
promises to other projects.

cc_library, cc_test and cc_binary are those of //xla:cc.bzl, which have the compiler
read headers precompiled.
"""

import ast
import os
import sys


def strings(node, constants):
  """The string literals in an expression; names stand for module constants."""
  found = []
  for part in ast.walk(node):
    if isinstance(part, ast.Constant) and isinstance(part.value, str):
      found.append(part.value)
    elif isinstance(part, ast.Name) and part.id in constants:
      found += strings(constants[part.id], {})
  return found


def load_layers(root):
  """Returns the names that xla/layers.bzl defines at its top, as values."""
  with open(os.path.join(root, "xla", "layers.bzl"), encoding="utf-8") as f:
    tree = ast.parse(f.read())
  return {statement.targets[0].id: ast.literal_eval(statement.value)
          for statement in tree.body if isinstance(statement, ast.Assign)}


def packages(root):
  for folder, subfolders, files in os.walk(os.path.join(root, "xla")):
    subfolders.sort()
    if "BUILD" in files:
      yield os.path.relpath(folder, root)


class Target:
  """What one rule of a BUILD file says of itself."""

  def __init__(self, package, call, constants):
    arguments = {k.arg: k.value for k in call.keywords}
    name = strings(arguments["name"], {}) if "name" in arguments else []
    self.label = "//%s:%s" % (package, name[0] if name else "?")
    self.line = call.lineno
    self.rule = rule = getattr(call.func, "id", "")
    self.is_test = (rule.endswith("_test") or rule in ("cc_binary", "hlo_tests") or
                    "testonly" in arguments)
    self.deps = []
    for key in ("deps", "implementation_deps"):
      if key in arguments:
        self.deps += strings(arguments[key], constants)
    visibility = arguments.get("visibility")
    self.is_public = visibility is not None and (
        "PUBLIC" in ast.dump(visibility) or
        "//visibility:public" in strings(visibility, {}))


def targets(root, package):
  with open(os.path.join(root, package, "BUILD"), encoding="utf-8") as f:
    tree = ast.parse(f.read())
  loaded = [part.value for call in ast.walk(tree)
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "load"
            and call.args[0].value == "//xla:cc.bzl" for part in call.args[1:]]
  constants = {s.targets[0].id: s.value for s in tree.body
               if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)}
  for call in ast.walk(tree):
    if isinstance(call, ast.Call) and any(
        k.arg in ("deps", "visibility") for k in call.keywords):
      target = Target(package, call, constants)
      target.is_native = (target.rule in ("cc_library", "cc_test", "cc_binary") and
                          target.rule not in loaded)
      yield target


class Layers:

  def __init__(self, values):
    self.names = [name for name, _ in values["LAYERS"]]
    self.folders = [(folder, index) for index, (_, folders) in enumerate(values["LAYERS"])
                    for folder in folders]
    self.lines = {folder: index for index, line in enumerate(values["SIBLINGS"])
                  for folder in line}
    self.observers = [label[2:] for label in values["OBSERVERS"]]

  def is_observer(self, package):
    return any(package == o or package.startswith(o + "/") for o in self.observers)

  def layer(self, package):
    inside = package[len("xla/"):]
    best = max(((len(folder), index) for folder, index in self.folders
                if folder == "" or inside == folder or inside.startswith(folder + "/")))
    return best[1]

  def complaint(self, package, target, other):
    """Why `target` of `package` may not look at package `other`, or None."""
    if self.is_observer(package):
      return None
    if self.is_observer(other):
      return None if target.is_test else "a library that is for tests and tools"
    own, its = self.layer(package), self.layer(other)
    if its > own:
      return "layer %s comes after %s" % (self.names[its], self.names[own])
    if its < own or target.is_test:
      return None
    for folder in (package, other):
      if folder[len("xla/"):] not in self.lines and folder != "xla":
        return "%s stands in no line of SIBLINGS (xla/layers.bzl)" % folder
    if "xla" in (package, other):
      return None
    if self.lines[other[len("xla/"):]] >= self.lines[package[len("xla/"):]]:
      return "of layer %s, %s comes no earlier than %s in SIBLINGS" % (
          self.names[own], other, package)
    return None


def check(root):
  layers = Layers(load_layers(root))
  found = []
  public = set()
  for package in packages(root):
    for target in targets(root, package):
      if target.is_public:
        public.add(target.label)
      if target.is_native:
        found.append("%s/BUILD:%d: %s: load %s from //xla:cc.bzl, so that headers are read "
                     "precompiled [pch]" % (package, target.line, target.label, target.rule))
      for dep in target.deps:
        other = dep[2:].split(":")[0]
        if not dep.startswith("//xla") or other == package:
          continue
        why = layers.complaint(package, target, other)
        if why:
          found.append("%s/BUILD:%d: %s may not depend on %s: %s [layer]" %
                       (package, target.line, target.label, dep, why))
  with open(os.path.join(root, "tools", "style", "public.txt"), encoding="utf-8") as f:
    promised = {line.split("#")[0].strip() for line in f} - {""}
  for label in sorted(public - promised):
    found.append("%s is public but not in tools/style/public.txt [public]" % label)
  for label in sorted(promised - public):
    found.append("tools/style/public.txt: %s is not public [public]" % label)
  return found


def main():
  if len(sys.argv) != 2:
    sys.exit(__doc__)
  found = check(sys.argv[1])
  for line in found:
    print(line)
  print("layer_check: %d findings" % len(found))
  sys.exit(1 if found else 0)


if __name__ == "__main__":
  main()
