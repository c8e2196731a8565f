#!/usr/bin/env python3
"""Compares HloCostAnalysis with that of XLA.

usage: costs.py --hlo-costs=BIN [--random-hlo=BIN] [--hlo-opt=BIN] [--seed=N]
                [--count=N] [--singles=N] [--show=N] [--only=REGEX]
                [--pipelines=NAME,...] [FILE...]

Modules: --singles random instructions on parameters, --count random modules of
random-hlo, FILEs, and of those two also what hlo-opt makes of them with each of
--pipelines. For each, operations, transcendentals and bytes read and written,
and of each operand and output, its bytes and how often it is read. Prints the
first --show modules of each difference that KNOWN does not list, and a table.
The exit status is 1 if there is one, or if nothing was compared. XLA answers
each module in a process of its own. If jaxlib is not installed, the script says
so and exits with status 0.
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
}


def answer_of_xla(client, text):
  """Properties by name; None if XLA has none for the module."""
  reader, writer = os.pipe()
  child = os.fork()
  if child == 0:
    os.close(reader)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # Whatever it logs.
    try:
      module = _hlo.hlo_module_from_text(text)
      answer = dict(_jax.hlo_module_cost_analysis(client, module))
    except Exception:  # Whatever XLA raises is no answer.
      answer = None
    with os.fdopen(writer, "wb") as pipe:
      pipe.write(json.dumps(answer).encode())
    os._exit(0)
  os.close(writer)
  with os.fdopen(reader, "rb") as pipe:
    data = pipe.read()
  os.waitpid(child, 0)
  return json.loads(data) if data else None


def answers_of_ours(hlo_costs, modules):
  with tempfile.TemporaryDirectory() as folder:
    paths = []
    for number, (_, text) in enumerate(modules):
      paths.append(os.path.join(folder, f"{number}.hlo"))
      with open(paths[-1], "w") as file:
        file.write(text)
    lines = []
    for start in range(0, len(paths), 200):
      lines += subprocess.run([hlo_costs, *paths[start:start + 200]], check=True,
                              capture_output=True, text=True).stdout.splitlines()
  return [json.loads(line) for line in lines]


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
  client = jax.devices("cpu")[0].client
  counts, shown, failed = collections.Counter(), collections.Counter(), 0
  for (name, text), ours in zip(
      modules, answers_of_ours(options.hlo_costs, modules)):
    theirs = answer_of_xla(client, text)
    if ours is None or theirs is None:
      counts["no answer"] += 1
      continue
    found = differences(ours, theirs)
    kind = name.split()[0] if name.startswith("random") else "file"
    opcode = opcode_of(text) if name == "single" else kind
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
  for kind in ("same", "known", "other", "no answer"):
    print(f"{kind:10}{counts[kind]:6}")
  for key, count in sorted(shown.items()):
    print(f"{count:6} {key}")
  if sum(counts.values()) == counts["no answer"]:
    print("nothing compared")
    failed += 1
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
