#!/usr/bin/env python3
"""Runs the commands of README's `sh` blocks as a reader would, one by one.

usage: readme_commands.py README.md TOOLS EXAMPLES [--list]

TOOLS is the folder of hlo-opt and the others, EXAMPLES that of this repository.
Commands run in one folder, in README's order, so that later ones can read what
earlier ones write. Files that README only names (model.hlo, dump/) are made as
STANDS_FOR says. A command fails if it takes more than two minutes of processor
time (or half an hour on a busy machine) or exits with a status other than 0 or
the one that its comment names ("exit status 3", "4 where not"). Commands of NOT_HERE need something that is not available, and
are only listed. The exit status is 1 if a command fails.
"""

import argparse
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOOLS = ("hlo-opt", "hlo-explain", "hlo-diff", "hlo-run", "hlo-reduce",
         "hlo-pack", "kir-opt")

# What a reader has, by the name that README gives it: an example, and passes
# that make it.
STANDS_FOR = {
    "model.hlo": ("conv_train.hlo", ""),
    "before.hlo": ("mlp_train.hlo", ""),
    "after.hlo": ("mlp_train.hlo", "canonicalizer,hlo-cse,hlo-dce"),
    "big.hlo": ("mlp_train.hlo", ""),
    "partitioned.hlo": ("shard_map_train.hlo", "--pipeline=spmd"),
    "dump/module_0001.jit_step.before_optimizations.txt": ("mlp_train.hlo", ""),
}

# Words of commands that are for what is the reader's own.
INSTEAD = {
    "--passes=my-pass": "--passes=hlo-dce",
    "--inputs=real.npz": "--inputs=random:1",
    "| dot -Tsvg > model.svg": "> model.dot",
    "| dot -Tsvg > near.svg": "> near.dot",
    "--around=fusion.7": "--around=conv_general_dilated.5",
}

# Commands that start so, and what they need.
NOT_HERE = {
    "./bazelw": "a build",
    "tools/interop": "JAX",
    "tools/bench": "a corpus or minutes",
    "HLO_CORPUS=": "a corpus",
    "python3": "nvcc or NVRTC",
    "dir/program": "nvcc",
    "pip": "PyPI",
}

# Commands that compile what they made, and ones of which the example shows the
# opposite of what README's reader has.
NOT_THESE = {
    "--cuda=": "a compiler that runs for minutes",
    "--property=differs": "a pass that is wrong",
    "--timings=": "times that a GPU measured",
}


def commands(readme):
  """(command, comment) of each line of the blocks."""
  with open(readme) as file:
    blocks = re.findall(r"^```sh\n(.*?)^```", file.read(), re.M | re.S)
  for block in blocks:
    for line in block.splitlines():
      command, _, comment = line.partition(" # ")
      command = command.strip()
      if command and not command.startswith("#"):
        yield command, comment.strip()


def why_not(command):
  """What the command needs that is not here; empty: nothing."""
  for start, reason in NOT_HERE.items():
    if command.startswith(start):
      return reason
  for part, reason in NOT_THESE.items():
    if part in command:
      return reason
  return ""


def allowed(command, comment):
  """The statuses that a command may end with."""
  different = {4} if command.startswith("hlo-diff") else set()
  return {0} | different | {int(status) for status in
                re.findall(r"exit status (\d)|\b(\d) where not", comment)
                for status in status if status}


def prepare(folder, examples, environment):
  os.symlink(os.path.realpath(examples), os.path.join(folder, "examples"))
  for name, (example, how) in STANDS_FOR.items():
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    source = os.path.join(folder, "examples", example)
    if not how:
      shutil.copy(source, path)
      continue
    flag = how if how.startswith("--") else "--passes=" + how
    subprocess.run(["hlo-opt", source, flag, "-o", path], check=True,
                   env=environment)


def limit_processor_time():
  resource.setrlimit(resource.RLIMIT_CPU, (120, 125))


def run(command, comment, folder, environment):
  """A line on the command, and whether it did what README says."""
  for word, instead in INSTEAD.items():
    command = command.replace(word, instead)
  start = time.time()
  try:
    result = subprocess.run(["bash", "-c", command], cwd=folder,
                            env=environment, stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, timeout=1800,
                            preexec_fn=limit_processor_time)
    status, said = result.returncode, result.stderr.strip()
    if -status == signal.SIGXCPU or status == 128 + signal.SIGXCPU:
      said = "two minutes of processor time are over"
  except subprocess.TimeoutExpired:
    status, said = "no", "half an hour is over"
  good = status in allowed(command, comment)
  line = f"{'ok' if good else 'FAILED':6} {time.time() - start:5.1f} s  {command}"
  if not good:
    line += f"\n       exit status {status}: {said[-500:]}"
  return good, line


def main():
  parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("readme")
  parser.add_argument("tools")
  parser.add_argument("examples")
  parser.add_argument("--list", action="store_true",
                      help="only say which commands there are")
  options = parser.parse_args()
  path = os.path.realpath(options.tools) + ":" + os.environ["PATH"]
  environment = dict(os.environ, PATH=path)
  environment.pop("BUILD_WORKING_DIRECTORY", None)
  ran = failed = 0
  with tempfile.TemporaryDirectory() as folder:
    if not options.list:
      prepare(folder, options.examples, environment)
    for command, comment in commands(options.readme):
      reason = why_not(command)
      if reason or not command.split()[0] in TOOLS:
        print(f"not here ({reason or 'not a tool'}): {command}")
        continue
      ran += 1
      if options.list:
        print(command)
        continue
      good, line = run(command, comment, folder, environment)
      failed += not good
      print(line, flush=True)
  print(f"{ran} commands, {failed} failed")
  return 1 if failed or not ran else 0


if __name__ == "__main__":
  sys.exit(main())
