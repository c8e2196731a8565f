#!/usr/bin/env python3
"""Mutation testing: puts small faults into sources, one at a time.

usage: tools/mutate.py --tests='TARGET…' [flags] SOURCE.cc…
       tools/mutate.py --target=NAME,… [flags]   those of tools/mutation/targets.txt

A mutant is one operator, constant or condition changed in one place, say
  if (bytes <= limit)   →   if (bytes < limit)
or one statement removed. --seed draws a sample of all mutants, spread evenly over
the lines of the sources; runs with the same seed are comparable. --list prints
the sample without running it.

All mutants are compiled into one build, each enabled by its number
(tools/mutation/), in a copy of the checkout (--workspace, kept between runs).
Mutants that do not compile are dropped. The tests (Bazel targets, separated by
blanks; -TARGET is excluded) run once without a mutant, which records the mutants
that each test reaches, and then once for each of these, quick tests first. A
mutant is caught if a test fails, or takes five times the processor time and five
seconds more.

Survivors are printed as file:line with the line before and after. Equivalent
mutants, and those that only cost time, are listed in tools/mutate_known.txt with
the reason, and counted separately. The exit status is 1 if fewer than --aim
percent are caught.
"""

import argparse
import bisect
import collections
import hashlib
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "mutation"))
import instrument  # noqa: E402
import mutants  # noqa: E402
import runner  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KNOWN = os.path.join(ROOT, "tools", "mutate_known.txt")
TARGETS = os.path.join(ROOT, "tools", "mutation", "targets.txt")
# A compiler's words on a place in a source, the use of a template included.
COMPLAINT = re.compile(r"^([\w./-]+\.cc):(\d+):(?:\d+:)?\s+"
                       r"(?:(?:fatal )?error:|required from|note: in expansion of|"
                       r"note: .* was not initialized)", re.M)


class Target:
  """Sources, their tests, and the numbered mutants of the sample."""

  def __init__(self, name, paths, tests):
    self.name, self.tests, self.sources, found = name, tests.split(), {}, []
    for path in paths:
      with open(path) as f:
        source = mutants.Source(os.path.relpath(path, ROOT), f.read())
      self.sources[source.path] = source
      found += mutants.mutants_of(source)
    self.found, self.drawn, self.built_tests = found, [], []

  def draw(self, seed, most, first):
    """Numbers as many as `most` mutants, from `first` on; returns the number after them."""
    self.drawn = list(enumerate(mutants.sample(self.found, seed)[:most], first))
    return first + len(self.drawn)


def rows(path):
  if os.path.exists(path):
    with open(path) as f:
      for row in f:
        if row.strip() and not row.startswith("#"):
          yield [column.strip() for column in row.split("\t")]


def named_targets(names):
  table = {name: (sources, tests) for name, sources, tests in rows(TARGETS)}
  for name in names:
    paths = []
    for top in table[name][0].split():
      if top.endswith(".cc"):
        paths.append(os.path.join(ROOT, top))
      paths += [os.path.join(folder, file) for folder, _, files in os.walk(os.path.join(ROOT, top))
                for file in files if file.endswith(".cc")]
    yield Target(name, sorted(p for p in paths if not mutants.NOT_A_SOURCE.search(p)),
                 table[name][1])


def key(mutant):
  return mutant.path, mutant.before.strip(), mutant.after.strip()


def title(mutant):
  return "%s:%d\n  - %s\n  + %s" % (mutant.path, mutant.line, mutant.before.strip(),
                                    mutant.after.strip())


def blamed(sources, numbered, complaints):
  """The mutants with an edit that begins or ends on a line that does not compile."""
  found = set()
  for number, m in numbered:
    lines = {bisect.bisect_right(sources[m.path].starts, p)
             for e in m.edits for p in (e.begin, e.end - 1)}
    if any((m.path, line) in complaints for line in lines):
      found.add(number)
  return found


def build(workspace, sources, numbered, arguments):
  """Builds all mutants that compile; returns those of `numbered`."""
  while True:
    for path, source in sources.items():
      mine = [n for n in numbered if n[1].path == path]
      text = instrument.instrumented(path, source.text, mine) if mine else source.text
      workspace.write(path, text.encode())
    status, _, errors = workspace.run_bazel("build", "-k", *arguments)
    if status == 0:
      return numbered
    complaints = {(path, int(line)) for path, line in COMPLAINT.findall(errors)}
    bad = blamed(sources, numbered, complaints)
    if not bad:
      sys.exit("mutate.py: the build fails, and not by a mutant:\n" + errors[-4000:])
    print("%d mutants do not compile" % len(bad), flush=True)
    numbered = [n for n in numbered if n[0] not in bad]


def prepare_tests(target, options):
  """The target's tests, the quick ones first, each with what it reaches."""
  tests = [t for t in target.built_tests
           if not (options.without and re.search(options.without, t.label))]
  for test in tests:
    if not test.measure():
      sys.exit("mutate.py: %s fails without a mutant" % test.label)
  print("%d tests take %.0f s without a mutant" % (len(tests), sum(t.seconds for t in tests)),
        flush=True)
  return sorted(tests, key=lambda t: t.cpu)


def judge(number, tests):
  reaching = [t for t in tests if number in t.reaches]
  for test in reaching:
    how = test.catches(number)
    if how:
      return "caught", "%s of %s" % (how, test.label)
  return "survived", "none of %d tests" % len(reaching) if reaching else "no test comes by"


def measure(target, known, compiling, options):
  """Runs a target's mutants; returns the percentage caught."""
  tests = prepare_tests(target, options)
  started, results = time.time(), []
  for number, m in target.drawn:
    if len(results) == options.count or time.time() - started > 60 * options.minutes:
      break
    if key(m) in known:
      results.append(("known", ""))
    elif number in compiling:
      result, how = judge(number, tests)
      results.append((result, how))
      if result == "survived" or options.verbose:
        print("%s\n  %s (%s)" % (title(m), result, how), flush=True)
  counts = collections.Counter(r for r, _ in results)
  judged = counts["caught"] + counts["survived"]
  share = 100.0 * counts["caught"] / judged if judged else 100.0
  print("%s: %d mutants: %d caught (%d by time), %d survived, %d known; %.1f %% caught; "
        "%.0f minutes" %
        (target.name, len(results), counts["caught"], sum("timeout" in how for _, how in results),
         counts["survived"], counts["known"], share, (time.time() - started) / 60), flush=True)
  return share


def fingerprint(target):
  return hashlib.sha256(repr(target.drawn).encode()).hexdigest()


def state_file(workspace):
  return os.path.join(workspace, ".cache", "mutants.json")


def save_build(targets, compiling, workspace):
  with open(state_file(workspace), "w") as f:
    json.dump({t.name: {
        "first": t.drawn[0][0] if t.drawn else 1, "drawn": fingerprint(t),
        "compiling": [number for number, _ in t.drawn if number in compiling],
        "tests": [[test.label, test.folder, test.command] for test in t.built_tests],
    } for t in targets}, f)


def load_build(targets, most, options):
  """As build_targets(), of what is built."""
  with open(state_file(options.workspace)) as f:
    state = json.load(f)
  compiling = set()
  for target in targets:
    built = state[target.name]
    target.draw(options.seed, most, built["first"])
    if fingerprint(target) != built["drawn"]:
      sys.exit("mutate.py: the last build has other mutants of " + target.name)
    target.built_tests = [runner.Test(*test) for test in built["tests"]]
    compiling.update(built["compiling"])
  return compiling


def build_targets(targets, known, options):
  """Builds all targets; returns the numbers of the mutants that compile."""
  sources = {path: source for t in targets for path, source in t.sources.items()}
  workspace = runner.Workspace(ROOT, options.workspace, options.bazel)
  workspace.copy_checkout(sources)
  fresh = [n for t in targets for n in t.drawn if key(n[1]) not in known]
  compiling = {number for number, _ in build(
      workspace, sources, fresh, [t for target in targets for t in target.tests if t[0] != "-"])}
  print("%d mutants in one build, %d did not compile" %
        (len(compiling), len(fresh) - len(compiling)), flush=True)
  for target in targets:
    target.built_tests = runner.find_tests(workspace, target.tests)
  save_build(targets, compiling, options.workspace)
  return compiling


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
  parser.add_argument("sources", nargs="*")
  parser.add_argument("--tests", default="", help="of the sources")
  parser.add_argument("--target", help="names of targets, instead of sources and tests")
  parser.add_argument("--count", type=int, default=200, help="mutants of each target")
  parser.add_argument("--seed", type=int, default=1)
  parser.add_argument("--aim", type=float, default=85)
  parser.add_argument("--minutes", type=float, default=1e9, help="for a target's mutants")
  parser.add_argument("--list", action="store_true")
  parser.add_argument("--instrument", action="store_true",
                      help="print the one source with all its mutants, and stop")
  parser.add_argument("--verbose", action="store_true", help="print what catches each mutant")
  parser.add_argument("--without", default="", help="tests not to run, a regular expression")
  parser.add_argument("--phase", choices=["all", "build", "run"], default="all",
                      help="build and stop; or run what the last build of these targets made")
  parser.add_argument("--bazel", default="./bazelw", help="the command that starts Bazel")
  parser.add_argument("--workspace", default=os.path.expanduser("~/.cache/hlo-mutants"))
  options = parser.parse_args()

  if options.target:
    targets = list(named_targets(options.target.split(",")))
  else:
    paths = [s for s in options.sources if not mutants.NOT_A_SOURCE.search(s)]
    targets = [Target("sources", sorted(paths), options.tests)]
  # Some do not compile; others stand in for them.
  most = options.count if options.list else options.count + options.count // 4 + 5
  first = 1
  for target in targets:
    first = target.draw(options.seed, most, first)
  if options.instrument:
    source, = targets[0].sources.values()
    numbered = list(enumerate(mutants.sample(targets[0].found, options.seed), 1))
    print(instrument.instrumented(source.path, source.text, numbered), end="")
    return 0
  if options.list:
    for target in targets:
      for _, m in target.drawn:
        print(title(m))
      print("%d of %d mutants" % (len(target.drawn), len(target.found)))
    return 0

  known = {(path, before, after) for path, before, after, _ in rows(KNOWN)}
  if options.phase == "run":
    compiling = load_build(targets, most, options)
  else:
    compiling = build_targets(targets, known, options)
  if options.phase == "build":
    return 0
  shares = [measure(t, known, compiling, options) for t in targets]
  return int(min(shares) < options.aim)


if __name__ == "__main__":
  sys.exit(main())
