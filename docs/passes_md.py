#!/usr/bin/env python3
"""Writes docs/passes.md from what hlo-opt says of its passes and pipelines.

usage: passes_md.py HLO_OPT > docs/passes.md
"""

import re
import subprocess
import sys

HEAD = """# Passes and pipelines

Written by `docs/passes_md.py`; `//docs:passes_test` fails where it is out of
date. A pass runs by its name, with options in braces:

```sh
hlo-opt model.hlo --passes='call-inliner,fix(hlo-cse{layout-sensitive=false},hlo-dce)'
hlo-opt model.hlo --pipeline=cleanup
```

What each pass does to a module, before and after, is in its header:
`grep -rl '"hlo-cse"' xla --include=*.h`.
"""


def ask(tool, *flags):
  done = subprocess.run([tool, *flags], stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, check=False)
  return done.stdout


def cell(text):
  return text.replace("|", "\\|").replace("<", "&lt;")


def passes(tool):
  lines = ["| pass | what it does | options |", "|---|---|---|"]
  rows = []
  for line in ask(tool, "--list-passes").splitlines():
    if not line.startswith(" "):
      name, what = line.split(None, 1)
      rows.append((name, what, []))
    else:
      option, _, what = line.strip().partition("  ")
      rows[-1][2].append("`%s` %s" % (option, cell(what.strip())))
  for name, what, options in rows:
    lines.append("| `%s` | %s | %s |" % (name, cell(what), "<br>".join(options)))
  return len(rows), "\n".join(lines)


def pipelines(tool):
  known = re.search(r"known: (.*)", ask(tool, "--list-pipeline=?")).group(1)
  parts = []
  for name in known.strip().split(", "):
    text = ask(tool, "--list-pipeline=" + name).strip()
    title, _, steps = text.partition("\n")
    parts.append("### %s\n\n%s.\n\n```\n%s\n```\n" %
                 (name, title.partition(": ")[2], steps.strip("\n")))
  return "\n".join(parts)


def main():
  tool = sys.argv[1]
  count, table = passes(tool)
  print(HEAD)
  print("## %d passes\n\n%s\n" % (count, table))
  print("## Pipelines\n\nSteps in their order, and why in this order.\n")
  print(pipelines(tool), end="")


if __name__ == "__main__":
  main()
