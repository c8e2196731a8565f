#!/usr/bin/env python3
"""Rewrites the CHECK lines of text tests from what their tool prints now.

usage: tools/update_checks.py [--tools=DIR] FILE…

The tools are built first, unless --tools says where they are.

Only files that opt in with a line `// UPDATE-CHECKS` are touched, and only
those with one RUN line without a prefix of its own. Each case between
`// -----` gets its module's text as CHECK lines before the module, the first
one as CHECK-LABEL. Read the difference before you keep it.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run_line(text):
  lines = re.findall(r"^// RUN: *(.*)$", text, re.M)
  if len(lines) != 1 or "--check-prefix" in lines[0]:
    raise ValueError("needs exactly one RUN line, without --check-prefix")
  return lines[0].split("|")[0]


def output_of(path, command, tools):
  environment = dict(os.environ, PATH=tools + os.pathsep + os.environ["PATH"])
  return subprocess.run(command.replace("%s", path), shell=True, check=True,
                        env=environment, stdout=subprocess.PIPE,
                        universal_newlines=True).stdout


def check_lines(module):
  lines = [l for l in module.strip().split("\n") if l.strip()]
  checks = []
  for number, line in enumerate(lines):
    # HLO's double braces would be a regular expression.
    kind = "LABEL" if number == 0 else None
    literal = "{LITERAL}" if "{{" in line or "[[" in line else ""
    name = "CHECK" + ("-LABEL" if kind else "") + literal
    text = line.split(",")[0] if kind else line.strip()
    checks.append("// %s: %s" % (name, text))
  return checks


def update(path, tools):
  with open(path) as f:
    text = f.read()
  if not re.search(r"^// UPDATE-CHECKS$", text, re.M):
    return "has no line // UPDATE-CHECKS"
  modules = re.split(r"^// -----$", output_of(path, run_line(text), tools), flags=re.M)
  cases = re.split(r"^// -----$", text, flags=re.M)
  if len(modules) != len(cases):
    return "%d cases, but %d modules came out" % (len(cases), len(modules))
  result = []
  for case, module in zip(cases, modules):
    kept = [l for l in case.split("\n") if not re.match(r"// CHECK", l)]
    at = next(i for i, l in enumerate(kept) if l and not l.startswith("//"))
    result.append("\n".join(kept[:at] + check_lines(module) + kept[at:]))
  new = "// -----".join(result)
  with open(path + ".tmp", "w") as f:
    f.write(new)
  os.replace(path + ".tmp", path)
  return "updated" if new != text else "unchanged"


def main():
  arguments = sys.argv[1:]
  tools = os.path.join(ROOT, "bazel-bin", "tools")
  if arguments and arguments[0].startswith("--tools="):
    tools = os.path.abspath(arguments.pop(0).split("=", 1)[1])
  elif arguments:
    subprocess.run([os.path.join(ROOT, "bazelw"), "build", "//tools:all"],
                   check=True, cwd=ROOT)
  if not arguments:
    print(__doc__, file=sys.stderr)
    return 2
  failed = False
  for path in arguments:
    outcome = update(os.path.abspath(path), tools)
    failed |= outcome not in ("updated", "unchanged")
    print("%s: %s" % (path, outcome))
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
