#!/usr/bin/env python3
"""Measures tests by mutants: small faults put into sources, one at a time.

usage: tools/mutate.py --tests='TARGET…' [--count=N] [--seed=N] [--list] SOURCE.cc…

A mutant is one operator, constant or condition changed in one place, say
  if (bytes <= limit)   →   if (bytes < limit)
or one statement left out. The tests (Bazel targets, separated by blanks) run on
each: they catch it when one of them fails or exceeds --timeout seconds; a mutant
that does not compile is replaced by another. The sample is drawn by --seed from
all mutants of the sources, spread evenly over their lines, so that two runs
measure the same. --list prints the sample and runs nothing.

Works in a copy of the checkout (--workspace, kept between runs, so that Bazel
builds only what a mutant touches); the checkout itself is not changed.

Survivors are printed as file:line with the line before and after. Those known to
mean the same program, or to cost only time, stand in tools/mutate_known.txt with
the reason, and are counted apart. Exit status 1 where the share caught is below
--aim percent.
"""

import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KNOWN = os.path.join(ROOT, "tools", "mutate_known.txt")

Mutant = collections.namedtuple("Mutant", "path line before after")

# (pattern, replacements). Templates (`<` without blanks) and arrows do not match.
OPERATORS = [
    (r" <= ", [" < ", " > "]),
    (r" >= ", [" > ", " < "]),
    (r" < ", [" <= ", " >= "]),
    (r" > ", [" >= ", " <= "]),
    (r" == ", [" != "]),
    (r" != ", [" == "]),
    (r" && ", [" || "]),
    (r" \|\| ", [" && "]),
    (r" \+ ", [" - "]),
    (r" - ", [" + "]),
    (r" \* ", [" / "]),
    (r" / ", [" * "]),
    (r" % ", [" / "]),
    (r" \+= ", [" -= "]),
    (r" -= ", [" += "]),
    (r"\btrue\b", ["false"]),
    (r"\bfalse\b", ["true"]),
    (r"\bstd::min\b", ["std::max"]),
    (r"\bstd::max\b", ["std::min"]),
    (r"\bany_of\b", ["all_of"]),
    (r"\ball_of\b", ["any_of"]),
    (r"\bif \(!", ["if ("]),
    (r"\bif \((?!!|auto |const |int|std::|absl::)", ["if (!"]),
    (r"\bcontinue;", [";"]),
    (r"\bbreak;", [";"]),
    (r"(?<=[\s(,])0(?=[;,)])", ["1"]),
    (r"(?<=[\s(,])1(?=[;,)])", ["0", "2"]),
]
# A call for its effect, alone on its line.
STATEMENT = re.compile(r"^\s+[A-Za-z_][\w.>()\[\]-]*\([^;{}]*\);$")
# Lines whose change shows nothing: messages, checks of our own invariants.
NOT_CODE = re.compile(
    r"^\s*(//|#|using |template|static_assert|namespace |CHECK|DCHECK|VLOG|LOG|XLA_VLOG|case |default:)")

NOT_A_SOURCE = re.compile(r"(_test|_main|_fuzzer|_fuzz_target|benchmark)\.cc$")


def without_texts(line):
  """The line with its strings, characters and comments blanked, of equal length."""
  line = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'',
                lambda m: "~" * len(m.group()), line)
  return re.sub(r"//.*$", lambda m: "~" * len(m.group()), line)


def raw_string_lines(lines):
  """Numbers of the lines that a raw string covers."""
  inside, found = False, set()
  for number, line in enumerate(lines):
    if inside or 'R"' in line:
      found.add(number)
    if not inside and 'R"' in line:
      inside = ')"' not in line.split('R"', 1)[1]
    elif inside and ')"' in line:
      inside = False
  return found


def mutants_of_line(path, number, line):
  if NOT_CODE.match(line):
    return
  code = without_texts(line)
  for pattern, replacements in OPERATORS:
    for match in re.finditer(pattern, code):
      for replacement in replacements:
        # `if (x)` negated needs the closing parenthesis, so the condition ends here.
        if replacement == "if (!":
          condition = re.match(r"(\s*(?:\} else )?if )\((.*)\)( \{| return.*;| continue;| break;)$", line)
          if not condition or condition.group(2).startswith("!"):
            continue
          after = "%s(!(%s))%s" % condition.groups()
        else:
          after = line[:match.start()] + replacement + line[match.end():]
        yield Mutant(path, number, line, after)
  if STATEMENT.match(line) and "return" not in line:
    yield Mutant(path, number, line, "")


def mutants_of(path, text):
  lines = text.split("\n")
  raw = raw_string_lines(lines)
  return [m for number, line in enumerate(lines) if number not in raw
          for m in mutants_of_line(path, number + 1, line)]


def sample(mutants, seed):
  """All mutants in random order, at first one of each line, then the second ones …"""
  generator = random.Random(seed)
  by_line = collections.defaultdict(list)
  for mutant in mutants:
    by_line[mutant.path, mutant.line].append(mutant)
  ranked = []
  for key in sorted(by_line):
    generator.shuffle(by_line[key])
    ranked += [(rank, generator.random(), m) for rank, m in enumerate(by_line[key])]
  return [m for _, _, m in sorted(ranked, key=lambda r: r[:2])]


def known_survivors():
  """{(path, line before, line after): reason}, blanks at the ends left out."""
  known = {}
  if os.path.exists(KNOWN):
    with open(KNOWN) as f:
      for row in f:
        if row.strip() and not row.startswith("#"):
          path, before, after, reason = [c.strip() for c in row.split("\t")]
          known[path, before, after] = reason
  return known


def copy_checkout(workspace):
  """Brings the tracked files of the checkout, as they are now, into workspace."""
  tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True,
                           stdout=subprocess.PIPE).stdout.split(b"\0")
  wanted = {os.fsdecode(name) for name in tracked if name}
  for name in sorted(wanted):
    source, target = os.path.join(ROOT, name), os.path.join(workspace, name)
    if not os.path.isfile(source):
      continue
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not os.path.exists(target) or open(source, "rb").read() != open(target, "rb").read():
      shutil.copy2(source, target)
      os.utime(target)
  for folder, subfolders, files in os.walk(workspace):
    subfolders[:] = [d for d in subfolders if d != ".cache" and not d.startswith("bazel-")]
    for name in files:
      path = os.path.relpath(os.path.join(folder, name), workspace)
      if path not in wanted and path != "user.bazelrc":
        os.remove(os.path.join(workspace, path))


def bazel(workspace, arguments, timeout):
  """Returns the exit status, or None after `timeout` seconds."""
  process = subprocess.Popen(
      [os.path.join(workspace, "bazelw")] + arguments, cwd=workspace,
      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
  try:
    return process.wait(timeout=timeout)
  except subprocess.TimeoutExpired:
    os.killpg(process.pid, 15)
    process.wait()
    return None


def run_mutant(mutant, options):
  """Returns "caught", "survived" or "does not compile"."""
  path = os.path.join(options.workspace, mutant.path)
  with open(path) as f:
    text = f.read()
  lines = text.split("\n")
  lines[mutant.line - 1] = mutant.after
  try:
    with open(path, "w") as f:
      f.write("\n".join(lines))
    tests = options.tests.split()
    if bazel(options.workspace, ["build"] + tests, None) != 0:
      return "does not compile"
    seconds = "--test_timeout=%d" % options.timeout
    status = bazel(options.workspace, ["test", "--cache_test_results=no", "--test_output=summary",
                                       seconds] + tests, 3 * options.timeout)
    return "survived" if status == 0 else "caught"
  finally:
    with open(path, "w") as f:
      f.write(text)


def report(results, started):
  counts = collections.Counter(results.values())
  judged = counts["caught"] + counts["survived"]
  share = 100.0 * counts["caught"] / judged if judged else 100.0
  print("%d mutants: %d caught, %d survived, %d known; %d did not compile; "
        "%.1f %% caught; %.0f minutes" %
        (judged + counts["known"], counts["caught"], counts["survived"], counts["known"],
         counts["does not compile"], share, (time.time() - started) / 60))
  return share


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
  parser.add_argument("sources", nargs="+")
  parser.add_argument("--tests", required=True)
  parser.add_argument("--count", type=int, default=200)
  parser.add_argument("--seed", type=int, default=1)
  parser.add_argument("--timeout", type=int, default=120, help="seconds of one test")
  parser.add_argument("--aim", type=float, default=85)
  parser.add_argument("--list", action="store_true")
  parser.add_argument("--workspace",
                      default=os.path.expanduser("~/.cache/hlo-mutants"))
  options = parser.parse_args()

  mutants = []
  for source in sorted(options.sources):
    if NOT_A_SOURCE.search(source):
      continue
    with open(source) as f:
      mutants += mutants_of(os.path.relpath(source, ROOT), f.read())
  order = sample(mutants, options.seed)
  if options.list:
    for m in order[:options.count]:
      print("%s:%d\n  - %s\n  + %s" % (m.path, m.line, m.before.strip(), m.after.strip()))
    print("%d of %d mutants" % (min(options.count, len(order)), len(order)))
    return 0

  copy_checkout(options.workspace)
  if bazel(options.workspace, ["test"] + options.tests.split(), None) != 0:
    sys.exit("mutate.py: the tests fail without a mutant")
  known = known_survivors()
  started, results = time.time(), {}
  for m in order:
    done = sum(r != "does not compile" for r in results.values())
    if done == options.count:
      break
    reason = known.get((m.path, m.before.strip(), m.after.strip()))
    results[m] = "known" if reason else run_mutant(m, options)
    if results[m] == "survived":
      print("%s:%d survived\n  - %s\n  + %s" %
            (m.path, m.line, m.before.strip(), m.after.strip()), flush=True)
  return int(report(results, started) < options.aim)


if __name__ == "__main__":
  sys.exit(main())
