#!/usr/bin/env python3
"""Compares HloCostAnalysis with that of XLA.

usage: costs.py --hlo-costs=BIN [--random-hlo=BIN] [--hlo-opt=BIN] [--seed=N]
                [--count=N] [--singles=N] [--show=N] [--only=REGEX]
                [--pipelines=NAME,...] [FILE...]

Modules: --singles random instructions on parameters, --count random modules of
random-hlo, FILEs, and of those two also what hlo-opt makes of them with each of
--pipelines. For each, operations, transcendentals and bytes read and written,
and of each operand and output, its bytes and how often it is read. A module is

  same          of equal costs
  known         of costs that differ as KNOWN says, or refused by hlo-costs alone
  other         of costs that differ otherwise
  ours alone    refused by XLA, or ended its process
  theirs alone  refused by hlo-costs, and KNOWN has no `answer opcode`
  verifier      refused by our verifier; XLA's analysis has none before it
  no answer     refused by both

Prints the first --show modules of each difference that KNOWN does not list, and
a table. The exit status is 1 if any is of kind other or theirs alone, or if
nothing was compared. XLA answers each module in a process of its own. If jaxlib
is not installed, the script says so and exits with status 0.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

os.environ["JAX_PLATFORMS"] = "cpu"

import shapes
import texts  # Says so, and ends, where jaxlib is not installed.
import jax
from jaxlib import _hlo
from jaxlib import _jax

KINDS = ("same", "known", "other", "ours alone", "theirs alone", "verifier",
         "no answer")

# Regular expression on `property opcode`, opcode of the root -> why they differ.
KNOWN = {
    "(flops|transcendentals) (batch-norm-.*|topk)": "XLA counts none",
    "flops reduce-scatter": "XLA counts none; it does for all-reduce",
    "bytes.* (get-dimension-size|opt-barrier)": "XLA reads the whole operand",
    "bytes.* set-dimension-size":
        "XLA:CPU stores the sizes of the result, too",
    "bytes.* copy-start": "XLA counts the source in the result as written",
    ".* custom-call": "XLA says -1: unknown",
    r"bytes accessed0\{\} triangular-solve": "XLA has the right side's bytes here",
    "(bytes accessed.+|utilization.*) (call|conditional|while)":
        "XLA has the sums of all instructions in the callee",
    "answer (batch-norm-.*|clamp|map|topk)":
        "XLA infers shapes also of some operands that do not fit",
}


def answer_of_xla(text):
  """Properties by name; None if XLA has none for the module."""
  def compute():
    try:
      # Made here, as it has threads.
      client = jax.devices("cpu")[0].client
      module = _hlo.hlo_module_from_text(text)
      return dict(_jax.hlo_module_cost_analysis(client, module))
    except Exception:  # Whatever XLA raises is no answer.
      return None
  return texts.in_a_process(compute)[0]


def answers_of_ours(hlo_costs, modules):
  """Properties by name; None, or "verifier", where that refused the module."""
  with tempfile.TemporaryDirectory() as folder:
    paths = []
    for number, (_, text) in enumerate(modules):
      paths.append(os.path.join(folder, f"{number}.hlo"))
      with open(paths[-1], "w") as file:
        file.write(text)
    answers, refused = [], set()
    for start in range(0, len(paths), 200):
      result = subprocess.run([hlo_costs, *paths[start:start + 200]], check=True,
                              capture_output=True, text=True)
      answers += map(json.loads, result.stdout.splitlines())
      refused |= {int(number) for number in re.findall(
          r"/(\d+)\.hlo: .*\[V\d+\]", result.stderr)}
  return ["verifier" if number in refused else answer
          for number, answer in enumerate(answers)]


def random_modules(options):
  if not options.random_hlo:
    return []
  with tempfile.TemporaryDirectory() as folder:
    subprocess.run([options.random_hlo, f"--count={options.count}",
                    f"--first-seed={options.seed}", f"--folder={folder}"],
                   check=True)
    result = []
    for number in range(options.seed, options.seed + options.count):
      with open(os.path.join(folder, f"random_{number}.hlo")) as file:
        result.append((f"random {number}", file.read()))
  return result


def optimized(options, modules):
  """What pipelines make of modules; nothing where they refuse."""
  for pipeline in options.pipelines.split(",") if options.hlo_opt else []:
    for name, text in modules:
      result = subprocess.run(
          [options.hlo_opt, "-", f"--pipeline={pipeline}"], input=text,
          capture_output=True, text=True)
      if result.returncode == 0 and "{...}" not in result.stdout:
        yield f"{name} {pipeline}", result.stdout


def differences(ours, theirs):
  """{property: (ours, theirs)} of those that are not equal."""
  result = {}
  for name in sorted({*ours, *theirs} - {"optimal_seconds", "utilization"}):
    both = ours.get(name, 0), theirs.get(name, 0)
    if abs(both[0] - both[1]) > 1e-5 * max(abs(both[0]), abs(both[1])):
      result[name] = both
  return result


def opcode_of(text):
  entry = text[re.search(r"^ENTRY", text, re.M).start():]
  root = re.search(r"ROOT [^\s]+ = (.*)", entry)[1]
  return re.search(r"(?:^|[\s}\])])([a-z][a-z0-9-]+)\(", root)[1]


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--hlo-costs", required=True)
  parser.add_argument("--random-hlo")
  parser.add_argument("--hlo-opt")
  parser.add_argument("--pipelines", default="gpu")
  parser.add_argument("--seed", type=int, default=0)
  parser.add_argument("--count", type=int, default=200)
  parser.add_argument("--singles", type=int, default=1000)
  parser.add_argument("--show", type=int, default=1)
  parser.add_argument("--only", default="")
  parser.add_argument("modules", nargs="*")
  options = parser.parse_args()
  generator = shapes.Generator(options.seed)
  # XLA:CPU stores the sizes of dynamic shapes, which are no part of HLO.
  modules = [("single", text)
             for text in (generator.module() for _ in range(options.singles))
             if not re.search(r"<=|\?", text)]
  whole = random_modules(options)
  for path in options.modules:
    whole += texts.modules_of(path)
  modules += whole + list(optimized(options, whole))
  counts, shown, failed = collections.Counter(), collections.Counter(), 0
  for (name, text), ours in zip(
      modules, answers_of_ours(options.hlo_costs, modules)):
    theirs = answer_of_xla(text)
    kind = name.split()[0] if name.startswith("random") else "file"
    opcode = opcode_of(text) if name == "single" else kind
    if theirs is None:
      counts["ours alone" if isinstance(ours, dict) else "no answer"] += 1
      continue
    if ours == "verifier":
      counts["verifier"] += 1
      continue
    if ours is None:
      key = f"answer {opcode}"
      if any(re.fullmatch(known, key) for known in KNOWN):
        counts["known"] += 1
        continue
      counts["theirs alone"] += 1
      failed += 1
      shown[key] += 1
      if shown[key] <= options.show and re.search(options.only, key):
        print(f"{key} ({name}): XLA alone has one\n{text}\n", flush=True)
      continue
    found = differences(ours, theirs)
    unknown = {prop: both for prop, both in found.items()
               if not any(re.fullmatch(known, f"{prop} {opcode}")
                          for known in KNOWN)}
    counts["same" if not found else "known" if not unknown else "other"] += 1
    failed += bool(unknown)
    for prop, (our, their) in unknown.items():
      key = f"{prop} {opcode}"
      shown[key] += 1
      if shown[key] <= options.show and re.search(options.only, key):
        print(f"{key} ({name}): ours {our:.10g}, XLA {their:.10g}\n{text}\n",
              flush=True)
  print(f"jaxlib {texts.jaxlib.__version__}, {len(modules)} modules")
  for kind in KINDS:
    print(f"{kind:12}{counts[kind]:6}")
  for key, count in sorted(shown.items()):
    print(f"{count:6} {key}")
  if not any(counts[kind] for kind in ("same", "known", "other")):
    print("nothing compared")
    failed += 1
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
