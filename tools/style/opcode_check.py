#!/usr/bin/env python3
"""Whether every opcode is in every place that must know it.

Usage: opcode_check.py ROOT [OPCODE]

The places are the sections of xla/hlo/ir/README.md below "Places that know every
opcode". A section names the files (lines that begin with "Files:"), and opcodes
that need not be there (lines that begin with "Not named"), each with a reason. An
opcode is in a place if one of the files has `HloOpcode::kName`, `MACRO(kName`, a
method `HandleName` or, in tests, its text in quotes or before a parenthesis. Where the
section says "Elementwise opcodes: by trait", the opcodes of those traits may be
absent; where it says "Groups count", a group of hlo_opcode_groups.h (XLA_ANY_…)
stands for its opcodes.

A finding is: an opcode that a place neither has nor excuses; an excuse for what
is no opcode, or is there; a file outside of these places that tells at
least MANY opcodes apart and that the last section does not list, and an entry of
that list which is stale; a switch over opcodes whose `default:` has no comment in
its line that says what the switch does with all other opcodes. Switches without a
default are the compiler's to check. With OPCODE (kAbs) prints where that one is,
instead.
"""

import glob
import os
import re
import sys

MANY = 15
ELEMENTWISE = {"kUnary", "kBinary", "kOtherElementwise"}


class Opcode:
  def __init__(self, name, text, handler, traits):
    self.name, self.text, self.handler = name, text, handler
    self.elementwise = bool(ELEMENTWISE & set(re.findall(r"\w+", traits)))


def read(root, path):
  with open(os.path.join(root, path), encoding="utf-8") as f:
    return f.read()


def load_opcodes(root):
  rows = re.findall(r'V\((k\w+), "([^"]+)", [^,]+, (\w+), ([^)]*)\)',
                    read(root, "xla/hlo/ir/hlo_opcode.def"))
  return [Opcode(*row) for row in rows]


def load_groups(root):
  """{XLA_ANY_NAME: names of opcodes} of hlo_opcode_groups.h."""
  path = "xla/hlo/ir/hlo_opcode_groups.h"
  if not os.path.exists(os.path.join(root, path)):
    return {}
  groups = {}
  # Groups of groups come after their parts.
  for name, body in re.findall(r"^#define (XLA_ANY_\w+)((?:.*\\\n)*.*)", read(root, path), re.M):
    groups[name] = set(re.findall(r"HloOpcode::(k\w+)", body)).union(
        *[groups[part] for part in re.findall(r"XLA_ANY_\w+", body)])
  return groups


def switches(lines):
  """Yields (number of the line, its default's line or None) of switches over opcodes."""
  for begin, line in enumerate(lines):
    match = re.match(r"^(\s*)switch \(.*\) \{$", line)
    if not match:
      continue
    indent, default, over_opcodes = match.group(1), None, False
    for later in lines[begin + 1:]:
      if later == indent + "}":
        break
      if later.startswith(indent + "  default:"):
        default = later
      over_opcodes |= bool(re.match(
          re.escape(indent) + r"  case (?:(?:xla::)?HloOpcode::|XLA_ANY_)|#define .*opcode", later))
    if over_opcodes:
      yield begin + 1, default


def words(root, path, macros=False, groups=None):
  """What a file may call opcodes by; with `macros` also RULE(kName)."""
  text = read(root, path)
  found = set(re.findall(r"HloOpcode::(k\w+)", text))
  for group in set(re.findall(r"XLA_ANY_\w+", text)) & set(groups or {}):
    found |= groups[group]
  if macros:
    found |= set(re.findall(r"\b[A-Z_]+\((k\w+)", text))
  found |= set(re.findall(r"\bHandle\w+", text))
  if "_test." in path:
    found |= {"text " + t for t in re.findall(r'([a-z][a-z0-9-]*)["(]', text)}
  return found


def is_in(opcode, found):
  return bool({opcode.name, opcode.handler, "text " + opcode.text} & found)


class Place:
  def __init__(self, root, groups, title, body):
    self.title = title
    patterns = re.findall(r"`([^`]+)`", " ".join(re.findall(r"^Files: (.*)$", body, re.M)))
    self.files = sorted(
        os.path.relpath(path, root) for pattern in patterns
        for path in glob.glob(os.path.join(root, pattern))
        if "_test." not in path or "_test." in pattern)
    self.by_trait = "Elementwise opcodes: by trait" in body
    # A paragraph goes on to the next empty line.
    excuses = re.findall(r"^Not named.*?(?=\n\n|\Z)", body, re.M | re.S)
    self.excused = set(re.findall(r"`(k\w+)`", " ".join(excuses)))
    self.groups = groups if "Groups count" in body else {}
    self.words = set().union(*[self.words_of(root, path) for path in self.files])

  def words_of(self, root, path):
    return words(root, path, macros=True, groups=self.groups)

  def may_lack(self, opcode):
    return opcode.name in self.excused or (self.by_trait and opcode.elementwise)


class Guide:
  """What README.md says."""

  def __init__(self, root):
    text = read(root, "xla/hlo/ir/README.md")
    head, _, rest = text.partition("\n## Places that know every opcode\n")
    known, _, others = rest.partition("\n## Places that ask about some opcodes\n")
    groups = load_groups(root)
    self.places = [Place(root, groups, part.split("\n", 1)[0].strip(), part)
                   for part in known.split("\n### ")[1:]]
    self.others = re.findall(r"^\| `([^`]+)`", others, re.M)


def sources(root):
  for folder, subfolders, files in os.walk(os.path.join(root, "xla")):
    subfolders.sort()
    for name in sorted(files):
      if name.endswith((".cc", ".h")) and "_test." not in name and name != "hlo_opcode_groups.h":
        yield os.path.relpath(os.path.join(folder, name), root)


def check(root):
  opcodes = load_opcodes(root)
  guide = Guide(root)
  found = []
  for place in guide.places:
    where = "xla/hlo/ir/README.md: " + place.title
    if not place.files:
      found.append("%s names no file [opcode]" % where)
    for opcode in opcodes:
      if not is_in(opcode, place.words) and not place.may_lack(opcode):
        found.append("%s: %s is in none of %s; add it there, or say under 'Not named' why not [opcode]" %
                     (where, opcode.name, ", ".join(place.files)))
    for name in sorted(place.excused - {opcode.name for opcode in opcodes}):
      found.append("%s: there is no opcode %s [opcode]" % (where, name))
    for opcode in opcodes:
      if opcode.name in place.excused and is_in(opcode, place.words):
        found.append("%s: %s is there, and needs no excuse [opcode]" % (where, opcode.name))
  for path in sources(root):
    for line, default in switches(read(root, path).split("\n")):
      if default is not None and not re.search(r":( \{)?  // \S", default):
        found.append("%s:%d: the default of this switch over opcodes needs a comment in its line: what the "
                     "others have in common [opcode]" % (path, line))
  in_places = {path for place in guide.places for path in place.files}
  for path in sources(root):
    if path in in_places:
      continue
    there = words(root, path)
    count = sum(is_in(opcode, there) for opcode in opcodes)
    if (count >= MANY) != (path in guide.others):
      found.append("%s tells %d opcodes apart: xla/hlo/ir/README.md must %slist it [opcode]" %
                   (path, count, "" if count >= MANY else "not "))
  for path in guide.others:
    if path in in_places or not os.path.exists(os.path.join(root, path)):
      found.append("xla/hlo/ir/README.md lists %s, which %s [opcode]" %
                   (path, "a place above has" if path in in_places else "is not a file"))
  return found


def show(root, name):
  for opcode in load_opcodes(root):
    if opcode.name != name:
      continue
    for place in Guide(root).places:
      files = [path for path in place.files
               if is_in(opcode, place.words_of(root, path))]
      why = "by trait" if place.by_trait and opcode.elementwise else "not named"
      print("%s: %s" % (place.title, ", ".join(files) or why))
    return
  sys.exit("no opcode %s" % name)


def main():
  if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
  if len(sys.argv) == 3:
    return show(sys.argv[1], sys.argv[2])
  found = check(sys.argv[1])
  for line in found:
    print(line)
  print("opcode_check: %d findings" % len(found))
  sys.exit(1 if found else 0)


if __name__ == "__main__":
  main()
