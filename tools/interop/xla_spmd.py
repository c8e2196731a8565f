#!/usr/bin/env python3
"""Partitions modules with XLA itself, without devices, and prints what that sends.

usage: xla_spmd.py --hlo-explain=BIN [-o FILE.csv] [--before=FOLDER]
                   [--after=FOLDER] [--jobs=N] [--seconds=120] MODULE.hlo...

The lines of the table, for tools/bench/spmd.py --against:

  module,partitions,kind,count,count_with_trips,bytes_per_device

The number of devices is that of the module's header. XLA:CPU propagates and
partitions (with Shardy where the module has Shardy's annotations, else with
GSPMD); what hlo-explain says of that module's collectives is printed. Each
module has a process of its own, which ends as soon as it is partitioned, or after
--seconds. Modules that XLA does not partition are named on standard error.

--before, --after: where to leave the modules that XLA has propagated shardings
in, and partitioned, as NAME.hlo.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# Says so, and ends, where jaxlib is not installed.
from interop import (
    compile_partitioned, devices_of, partitioned_options, xla_client)

COLUMNS = "module,partitions,kind,count,count_with_trips,bytes_per_device"


def compile_in_this_process(path):
  """XLA writes the partitioned module to the folder that XLA_FLAGS names."""
  with open(path) as file:
    text = file.read()
  options = partitioned_options(devices_of(text))
  shardy = "xla.sdy." in text
  if shardy:
    # Not read then, but they would make XLA take the module for one of GSPMD.
    text = re.sub(r", sharding=\{(?:[^{}]|\{[^{}]*\})*\}", "", text)
  module = xla_client.hlo.hlo_module_from_text(text)
  options.executable_build_options.use_shardy_partitioner = shardy
  compile_partitioned(
      xla_client.hlo.XlaComputation(module.as_serialized_hlo_module_proto()),
      options)


def dumped(folder, when="after"):
  """The module before or after partitioning."""
  found = glob.glob(os.path.join(folder, f"*.{when}_spmd-partitioning.*txt"))
  return found[0] if found else None


def partition(path, folder, seconds):
  """The path of XLA's partitioned module; an error as a text instead."""
  with open(path) as file:
    devices = devices_of(file.readline())
  environment = dict(
      os.environ,
      XLA_FLAGS=f"--xla_force_host_platform_device_count={devices} "
                f"--xla_dump_to={folder} --xla_dump_hlo_as_text "
                "--xla_dump_hlo_pass_re=spmd-partitioning "
                "--xla_dump_disable_metadata")
  command = [sys.executable, os.path.abspath(__file__), "--compile", path]
  with open(os.path.join(folder, "log"), "w") as log, subprocess.Popen(
      command, env=environment, stdout=log, stderr=log,
      start_new_session=True) as process:
    size, until = -1, time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
      time.sleep(0.2)
      result = dumped(folder)
      if result and os.path.getsize(result) == size > 0:
        break  # Written; code for the devices is not needed.
      size = os.path.getsize(result) if result else -1
    if process.poll() is None:
      os.killpg(process.pid, signal.SIGKILL)
      if time.monotonic() >= until:
        return None, "nothing within the limit of time"
  result = dumped(folder)
  if result:
    return result, None
  with open(os.path.join(folder, "log")) as log:
    lines = [line.strip() for line in log if re.search("rror|Check failed", line)]
  return None, lines[-1][:300] if lines else "no module"


def judge(options, path):
  """Lines of the table; an error as a text."""
  name = os.path.splitext(os.path.basename(path))[0]
  with tempfile.TemporaryDirectory() as folder:
    result, error = partition(path, folder, options.seconds)
    if error:
      return [], f"{name}: {error}"
    for kept, when in ((options.before, "before"), (options.after, "after")):
      if kept:
        dump = dumped(folder, when)
        if dump is None:
          return [], f"{name}: XLA wrote nothing of {when} partitioning"
        shutil.copy(dump, os.path.join(kept, name + ".hlo"))
    explain = subprocess.run(
        [options.hlo_explain, result, "--collectives", "--json"],
        capture_output=True, text=True)
    if explain.returncode != 0:
      return [], f"{name}: {explain.stderr.strip()[:300]}"
    with open(path) as file:
      devices = devices_of(file.readline())
    return [f"{name},{devices},{line}"
            for line in lines_of(json.loads(explain.stdout))], None


def lines_of(report):
  """kind,count,count_with_trips,bytes_per_device of each kind; a line of zeros
  where nothing is sent."""
  lines = [f"{kind},{total['count']},{total['runs']:.0f},"
           f"{total['bytes_per_device']:.0f}"
           for kind, total in report["collectives"].items()]
  return lines or ["all-reduce,0,0,0"]


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--hlo-explain")
  parser.add_argument("-o", "--output")
  parser.add_argument("--before")
  parser.add_argument("--after")
  parser.add_argument("--jobs", type=int, default=os.cpu_count())
  parser.add_argument("--seconds", type=float, default=120)
  parser.add_argument("--compile", help=argparse.SUPPRESS)
  parser.add_argument("modules", nargs="*")
  options = parser.parse_args()
  if options.compile:
    compile_in_this_process(options.compile)
    return 0
  for folder in filter(None, (options.before, options.after)):
    os.makedirs(folder, exist_ok=True)
  output = open(options.output, "w") if options.output else sys.stdout
  print(COLUMNS, file=output)
  failed = 0
  with concurrent.futures.ThreadPoolExecutor(max(options.jobs, 1)) as pool:
    for lines, error in pool.map(lambda path: judge(options, path),
                                 options.modules):
      for line in lines:
        print(line, file=output, flush=True)
      if error:
        failed += 1
        print(error, file=sys.stderr, flush=True)
  if failed:
    print(f"XLA did not partition {failed} of {len(options.modules)} modules",
          file=sys.stderr)
  return 0


if __name__ == "__main__":
  sys.exit(main())
