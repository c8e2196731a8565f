#!/usr/bin/env python3
"""Checks the house style of the sources; every finding is one line.

usage: style_check.py ROOT

Sizes (.cc < 1,000 lines, .h <= 600, BUILD <= 300, a function <= 120), header
guards, stems (a .cc belongs to a header of its name, of a prefix of it, or to
one of its folder that it includes; a folder without a BUILD file is part of
the one above it),
header contracts (a pass header shows before and after), no path of a machine,
and clang-format 14 in Google style. Exceptions stand in allow.txt beside this
file, each with its reason.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

# The downstream project has its own root.
CONSUMER = os.path.join("examples", "consumer")
LIMITS = {".cc": 999, ".h": 600, "BUILD": 300}
FUNCTION_LIMIT = 120
FOLDERS = ("xla", "tools", "examples")
MAINS = re.compile(r"(_main|_test|_fuzz|benchmark|_bench)$")
NOT_A_FUNCTION = re.compile(
    r"^\s*(namespace|class|struct|enum|union|extern|using|typedef|#|//|\})")
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|root|home)/\w")


def read_allow_list(folder):
  """Returns {(rule, path): (limit or None)}."""
  allowed = {}
  with open(os.path.join(folder, "allow.txt")) as f:
    for line in f:
      line = line.split("#")[0].strip()
      if line:
        rule, path, *limit = line.split()
        allowed[rule, path] = int(limit[0]) if limit else None
  return allowed


def sources(root):
  for top in FOLDERS:
    for folder, subfolders, files in os.walk(os.path.join(root, top)):
      subfolders[:] = sorted(d for d in subfolders if not d.startswith("bazel-"))
      for name in sorted(files):
        if name == "BUILD" or name.endswith((".cc", ".h", ".py", ".bzl", ".proto")):
          yield os.path.relpath(os.path.join(folder, name), root)


def without_raw_strings(text):
  """Returns text with what stands in raw strings blanked, line for line."""
  return re.sub(r'R"(\w*)\(.*?\)\1"',
                lambda m: 'R"()"' + "\n" * m.group().count("\n"), text, flags=re.S)


def functions(lines):
  """Yields (first line, length) of functions, by the shape that clang-format gives them."""
  start, indent, head = None, None, None
  for number, line in enumerate(lines, 1):
    if start is None:
      stripped = line.rstrip()
      if head is None and re.match(r"^(  )?[A-Za-z_~]", stripped) and not NOT_A_FUNCTION.match(stripped):
        head = number
      if head is not None and stripped.endswith((";", "}")):
        head = None
      if head is not None and stripped.endswith("{"):
        opening = "".join(lines[head - 1:number])
        if "(" in opening and " = {" not in stripped and not re.search(
            r"\b(class|struct|union|enum) \w+[^(]*\{$", opening):
          start, indent = head, re.match(r"^\s*", lines[head - 1]).group()
        head = None
    elif line.startswith(indent + "}"):
      yield start, number - start + 1
      start = None


def check_file(root, path, headers, allowed):
  if path.startswith(CONSUMER):
    return []
  found = []

  def complain(rule, line, message, value=None):
    limit = allowed.get((rule, path), -1)
    if limit is None or (value is not None and limit >= value):
      return
    found.append("%s:%d: %s [%s]" % (path, line, message, rule))

  with open(os.path.join(root, path), encoding="utf-8") as f:
    text = f.read()
  lines = text.split("\n")
  name = os.path.basename(path)
  stem, extension = os.path.splitext(name)
  kind = name if name == "BUILD" else extension
  count = text.count("\n")
  if count > LIMITS.get(kind, count):
    complain("size", count, "%d lines; at most %d" % (count, LIMITS[kind]), count)
  for number, line in enumerate(lines, 1):
    if MACHINE_PATH.search(line):
      complain("path", number, "a path of one machine")
  if extension in (".cc", ".h"):
    for number, length in functions(without_raw_strings(text).split("\n")):
      if length > FUNCTION_LIMIT:
        complain("function", number, "a function of %d lines; at most %d" %
                 (length, FUNCTION_LIMIT), length)
  if extension == ".h":
    guard = re.sub(r"\W", "_", path).upper() + "_"
    if "#ifndef " + guard not in text:
      complain("guard", 1, "the header guard should be " + guard)
    if "//" not in text:
      complain("contract", 1, "the header says nothing about what it offers")
    if "/transforms/" in path and re.search(r"class \w+ : public HloModulePass", text):
      lower = text.lower()
      if "before" not in lower or "after" not in lower:
        complain("contract", 1, "a pass shows the module before and after it")
  if extension == ".cc" and not MAINS.search(stem):
    parts = stem.split("_")
    folders = [os.path.dirname(path)]
    if not os.path.exists(os.path.join(root, folders[0], "BUILD")):
      folders.append(os.path.dirname(folders[0]))
    includes = re.findall(r'^#include "(.*)\.h"', text, re.M)
    if not any(os.path.join(folder, "_".join(parts[:n])) in headers
               for folder in folders
               for n in range(1, len(parts) + 1)) and not any(
                   os.path.dirname(i) in folders for i in includes):
      complain("stem", 1, "belongs to no header of this folder")
  return found


def check_format(root, paths):
  tool = next((t for t in ("clang-format-14", "clang-format") if shutil.which(t)), None)
  version = tool and subprocess.run([tool, "--version"], stdout=subprocess.PIPE,
                                    universal_newlines=True).stdout
  if not version or "version 14." not in version:
    print("style_check: no clang-format 14 here; formatting is not checked")
    return []

  def dry_run(batch):
    result = subprocess.run(
        [tool, "--dry-run", "--style=Google"] + [os.path.join(root, p) for p in batch],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
    bad = re.findall(r"^(\S+?):(\d+):\d+: (?:warning|error): code should be clang-formatted",
                     result.stderr, re.M)
    first = {}
    for path, line in bad:
      first.setdefault(os.path.relpath(path, root), int(line))
    return ["%s:%d: run clang-format -i --style=Google [format]" % item
            for item in sorted(first.items())]

  batches = [paths[i:i + 16] for i in range(0, len(paths), 16)]
  with concurrent.futures.ThreadPoolExecutor(2) as pool:
    return [line for lines in pool.map(dry_run, batches) for line in lines]


def main():
  root = os.path.realpath(sys.argv[1])
  allowed = read_allow_list(os.path.dirname(os.path.realpath(__file__)))
  paths = list(sources(root))
  headers = {os.path.splitext(p)[0] for p in paths if p.endswith(".h")}
  found = []
  for path in paths:
    found += check_file(root, path, headers, allowed)
  found += check_format(root, [p for p in paths if p.endswith((".cc", ".h"))])
  for line in found:
    print(line)
  print("style_check: %d files, %d findings" % (len(paths), len(found)))
  return 1 if found else 0


if __name__ == "__main__":
  sys.exit(main())
