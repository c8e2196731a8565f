#!/usr/bin/env python3
"""Compares the shardings that sharding-propagation finds with those of XLA's own.

usage: propagation.py --hlo-opt=BIN [--random-hlo=BIN --count=N --first-seed=N]
                      [--devices=4] [--keep=0.2] [--flags=LIST] [--limit=LIST]
                      [--folder=DIR] MODULE.hlo...

A file may hold several modules, with lines `// -----` between them. Random ones
have one of five of their shardings left (--keep). XLA:CPU compiles each module;
the dump before its sharding-propagation is what ours runs on, and the dump after
it is what ours is compared with, instruction by instruction, by name. This is
done for each of the --flags: `none`, `output`, `parameters`, `both`, what the
shardings may be propagated to.

Prints the differences, and a table:

  same     equal texts, or none in both
  whole    {replicated} in one and nothing in the other: partitioned alike
  differ   everything else

Exit status 1 if more than --limit differ (one number, or one for each of the
flags), if ours fails on a module that XLA took, or if XLA took fewer than half of
them or none. --folder keeps NAME.before, NAME.xla and NAME.ours. XLA runs in a
process for many modules; those that crash it, or that it refuses, are named and
not compared. If jaxlib is not installed, the script says so and exits with
status 0.
"""

import argparse
import collections
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

# Says so, and ends, where jaxlib is not installed.
from interop import (
    compile_partitioned, devices_of, partitioned_options, xla_client)

PASS = "sharding-propagation"
SHARDING = re.compile(r", sharding=(\{(?:[^{}]|\{[^{}]*\})*\})")
INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = ")
FLAGS = {"none": (False, False), "output": (True, False),
         "parameters": (False, True), "both": (True, True)}
# Opcodes that do not survive the way through StableHLO, or that XLA's pass
# aborts at.
WITHOUT = (
    "fusion,async-start,bitcast,copy-start,add-dependency,after-all,mulhi,"
    "stochastic-convert,topk,scan,ragged-dot,acos,acosh,asin,asinh,atanh,cosh,"
    "sinh,map,erf,rng-bit-generator,partition-id,replica-id")


def leaves(shape):
  """How many arrays; nested tuples do not survive the way through StableHLO."""
  return sum(map(leaves, shape.tuple_shapes())) if shape.is_tuple() else 1


def compile_in_this_process(to_output, to_parameters, paths):
  """XLA dumps each module around its propagation; a line for each begun."""
  for path in paths:
    print(f"BEGIN {path}", flush=True)
    try:
      with open(path) as file:
        text = file.read()
      computation = xla_client.hlo.XlaComputation(
          xla_client.hlo.hlo_module_from_text(
              text).as_serialized_hlo_module_proto())
      shape = computation.program_shape()
      options = partitioned_options(devices_of(text))
      build = options.executable_build_options
      if to_output:
        # As JAX does; after fewer flags than elements, XLA leaves some of them
        # uneven.
        build.allow_spmd_sharding_propagation_to_output = (
            [True] * max(leaves(shape.result_shape()), 1))
      if to_parameters:
        build.allow_spmd_sharding_propagation_to_parameters = (
            [True] * max(sum(map(leaves, shape.parameter_shapes())), 1))
      compile_partitioned(computation, options)
    except Exception as error:  # Whatever XLA raises is the answer.
      print("ERROR", str(error).splitlines()[0][:200], flush=True)
  print("END", flush=True)


def dump(folder, name, when):
  found = glob.glob(f"{folder}/module_*.{name}.*{when}_{PASS}*txt")
  return found[0] if found else None


def propagate(paths, flags, folder, devices):
  """What XLA said of the modules that it did not propagate in, by path."""
  environment = dict(
      os.environ,
      XLA_FLAGS=f"--xla_force_host_platform_device_count={devices} "
                f"--xla_dump_to={folder} --xla_dump_hlo_as_text "
                f"--xla_dump_hlo_pass_re={PASS} --xla_dump_disable_metadata "
                "--xla_backend_optimization_level=0")
  refused = {}
  while paths:
    result = subprocess.run(
        [sys.executable, os.path.abspath(__file__), f"--compile={flags}",
         *paths], env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True)
    begun = None
    number = 0
    for line in result.stdout.splitlines():
      if line.startswith("BEGIN "):
        begun, number = line[6:], number + 1
      elif line.startswith("ERROR "):
        refused[begun] = line[6:]
      elif line == "END":
        return refused
    if begun is None:
      raise RuntimeError("XLA did not start")
    refused[begun] = "XLA died"
    paths = paths[number:]
  return refused


def split(options, folder):
  """Paths of files of one module each, named as their modules are."""
  paths = []

  def add(stem, text):
    name = re.sub(r"\W", "_", stem)
    number = 1
    while f"{folder}/{name}.hlo" in paths:
      number += 1
      name = re.sub(r"\W", "_", f"{stem}_{number}")
    text = re.sub(r"^HloModule [\w.\-]+", f"HloModule {name}", text, count=1,
                  flags=re.MULTILINE)
    paths.append(f"{folder}/{name}.hlo")
    with open(paths[-1], "w") as file:
      file.write(text[text.index("HloModule"):])

  for path in options.modules:
    stem = os.path.splitext(os.path.basename(path))[0]
    with open(path) as file:
      texts = file.read().split("// -----\n")
    for number, text in enumerate(texts):
      own = re.search(r"^HloModule ([\w.\-]+)", text, re.MULTILINE)
      if own:
        add(stem if len(texts) == 1 else f"{stem}_{own.group(1)}", text)
  if options.random_hlo:
    with tempfile.TemporaryDirectory() as made:
      subprocess.run(
          [options.random_hlo, f"--first-seed={options.first_seed}",
           f"--count={options.count}", f"--folder={made}", "--exact",
           f"--sharded={options.devices}", f"--without={options.without}",
           f"--steps={options.steps}"], check=True)
      for seed in range(options.first_seed, options.first_seed + options.count):
        with open(f"{made}/random_{seed}.hlo") as file:
          add(f"random_{seed}", thinned(file.read(), seed, options.keep))
  return paths


def thinned(text, seed, keep):
  """Without most of the shardings: something is left to be found."""
  chance = random.Random(seed)
  lines = []
  for line in text.split("\n"):
    found = SHARDING.search(line)
    if found and (chance.random() > keep or found.group(1).startswith("{{")):
      line = SHARDING.sub("", line, 1)
    lines.append(line)
  return "\n".join(lines)


def shardings(text):
  """The sharding (or None) and the line of each instruction, by name."""
  result = {}
  for line in text.split("\n"):
    found = INSTRUCTION.match(line)
    if found:
      sharding = SHARDING.search(line)
      result[found.group(1)] = (sharding.group(1) if sharding else None,
                                line.strip())
  return result


def compare(name, theirs, ours, counts):
  theirs, ours = shardings(theirs), shardings(ours)
  for inst, (expected, line) in theirs.items():
    if inst not in ours:
      kind, found = "differ", "no such instruction"
    else:
      found = ours[inst][0]
      kind = ("same" if expected == found else
              "whole" if {expected, found} == {None, "{replicated}"} else
              "differ")
    counts[kind] += 1
    if kind == "differ":
      print(f"{name}: {line[:300]}\n  ours: {found}", flush=True)


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--hlo-opt")
  parser.add_argument("--random-hlo")
  parser.add_argument("--count", type=int, default=60)
  parser.add_argument("--first-seed", type=int, default=0)
  parser.add_argument("--devices", type=int, default=4)
  parser.add_argument("--steps", type=int, default=14)
  parser.add_argument("--keep", type=float, default=0.2)
  parser.add_argument("--without", default=WITHOUT)
  parser.add_argument("--flags", default="none")
  parser.add_argument("--limit", default="0")
  parser.add_argument("--folder")
  parser.add_argument("--compile")
  parser.add_argument("modules", nargs="*")
  options = parser.parse_args()
  if options.compile:
    compile_in_this_process(*FLAGS[options.compile], options.modules)
    return 0
  all_flags = options.flags.split(",")
  limits = [int(limit) for limit in options.limit.split(",")]
  if len(limits) == 1:
    limits *= len(all_flags)
  if len(limits) != len(all_flags):
    parser.error("--limit needs one number, or one for each of --flags")
  failed = 0
  table = []
  with tempfile.TemporaryDirectory() as temporary:
    paths = split(options, temporary)
    devices = 1
    for path in paths:
      with open(path) as file:
        devices = max(devices, devices_of(file.readline()))
    for flags, limit in zip(all_flags, limits):
      folder = os.path.join(options.folder or temporary, flags)
      os.makedirs(folder, exist_ok=True)
      counts = collections.Counter()
      with tempfile.TemporaryDirectory() as dumps:
        refused = propagate(paths, flags, dumps, devices)
        for path in paths:
          name = os.path.splitext(os.path.basename(path))[0]
          before, after = (dump(dumps, name, w) for w in ("before", "after"))
          if not before or not after:
            counts["refused"] += 1
            print(f"{name}: {refused.get(path, 'not partitioned by XLA')}")
            continue
          shutil.move(before, f"{folder}/{name}.before")
          shutil.move(after, f"{folder}/{name}.xla")
          counts["modules"] += 1
          text = [str(flag).lower() for flag in FLAGS[flags]]
          result = subprocess.run(
              [options.hlo_opt, f"{folder}/{name}.before",
               f"--passes={PASS}{{to-output={text[0]},to-parameters={text[1]}}}",
               "-o", f"{folder}/{name}.ours"], capture_output=True, text=True)
          if result.returncode != 0:
            counts["failed"] += 1
            print(f"{name}: ours: {result.stderr.strip()[:300]}")
            continue
          with open(f"{folder}/{name}.xla") as theirs, open(
              f"{folder}/{name}.ours") as ours:
            compare(f"{name} ({flags})", theirs.read(), ours.read(), counts)
      failed += counts["failed"] + max(counts["differ"] - limit, 0)
      if not counts["modules"] or counts["refused"] > counts["modules"]:
        print(f"{flags}: XLA propagated in {counts['modules']} of {len(paths)}")
        failed += 1
      table.append((flags, counts))
  columns = ("modules", "refused", "failed", "same", "whole", "differ")
  print("\n" + f"{'':12}" + "".join(f"{c:>9}" for c in columns))
  for flags, counts in table:
    print(f"{flags:12}" + "".join(f"{counts[c]:9}" for c in columns))
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
