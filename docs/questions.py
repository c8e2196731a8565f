#!/usr/bin/env python3
"""Runs the commands of docs/questions.md and compares what they print.

usage: questions.py QUESTIONS.md TOOLS EXAMPLES [--update]

TOOLS is the folder of hlo-opt and the others. In a `console` block of the page,
lines that begin with "$ " are commands, and the lines after a command are some
of what it prints: in this order, with "..." at the end of what is cut off. A
command exits with status 0, or with the one that `# exit status N` behind it
names. Figures may differ, as models of kernels and plans get better: words are
compared, numbers are not. --update writes the figures of today to the page.
Exit status: 1 if a command fails, or if a line of the page is not printed.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

CUT = " ..."


def words(line):
  """The line without what may differ from day to day."""
  line = re.sub(r"[-+]?\d+(\.\d+)?", "#", line)
  line = re.sub(r"# ([KMG]i)?B\b", "# B", line)
  line = re.sub(r"# (us|ms|s)\b", "# s", line)
  return " ".join(line.split())


def matches(shown, printed):
  if shown.endswith(CUT):
    return words(printed).startswith(words(shown[:-len(CUT)]))
  return words(printed) == words(shown)


def cut(printed, shown):
  """What is printed, cut off where the page's line is."""
  if not shown.endswith(CUT):
    return printed
  return printed[:len(shown) - len(CUT)].rstrip() + CUT


def run(command, folder, environment):
  """The lines that the command prints, and what is wrong with its status."""
  command, _, comment = command.partition("  # ")
  named = re.search(r"exit status (\d)", comment)
  expected = int(named.group(1)) if named else 0
  result = subprocess.run(["bash", "-c", command], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=600, check=False)
  text = result.stdout.decode("utf-8", "replace")
  if result.returncode == expected:
    return text.splitlines(), ""
  return text.splitlines(), f"exit status {result.returncode}: {text[-500:]}"


def check(page, folder, environment):
  """The page with figures of today, the number of commands, and failures."""
  lines, failures, commands = [], [], 0
  printed, inside = [], False
  for number, line in enumerate(page.splitlines(), 1):
    if line.startswith("```"):
      inside = line == "```console"
      printed = []
    elif inside and line.startswith("$ "):
      commands += 1
      printed, wrong = run(line[2:], folder, environment)
      if wrong:
        failures.append(f"{number}: {line}\n  {wrong}")
    elif inside:
      found = [i for i, p in enumerate(printed) if matches(line, p)]
      if found:
        line = cut(printed[found[0]], line)
        printed = printed[found[0] + 1:]
      else:
        failures.append(f"{number}: not printed: {line}")
    lines.append(line)
  return "\n".join(lines) + "\n", commands, failures


def main():
  parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("page")
  parser.add_argument("tools")
  parser.add_argument("examples")
  parser.add_argument("--update", action="store_true")
  options = parser.parse_args()
  with open(options.page, encoding="utf-8") as file:
    page = file.read()
  path = os.path.realpath(options.tools) + ":" + os.environ["PATH"]
  with tempfile.TemporaryDirectory() as folder:
    os.symlink(os.path.realpath(options.examples),
               os.path.join(folder, "examples"))
    updated, commands, failures = check(page, folder,
                                        dict(os.environ, PATH=path))
  for failure in failures:
    print(f"{options.page}:{failure}", file=sys.stderr)
  print(f"{commands} commands, {len(failures)} failures")
  if options.update and not failures:
    with open(options.page, "w", encoding="utf-8") as file:
      file.write(updated)
  return 1 if failures or not commands else 0


if __name__ == "__main__":
  sys.exit(main())
