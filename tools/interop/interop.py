#!/usr/bin/env python3
"""Compares this project with XLA itself, from JAX's package jaxlib.

usage: interop.py --hlo-opt=BIN --hlo-run=BIN [--random-hlo=BIN --count=N]
                  [--pipelines=NAME,...] [--jobs=N] MODULE...

For each module, and for N random ones:

  text    XLA parses what hlo-opt (or random-hlo) prints
  proto   XLA reads what hlo-opt --emit=proto writes
  value   XLA (on CPU) computes what hlo-run computes, on the same inputs
  NAME    and computes the same after hlo-opt --pipeline=NAME

Prints a line per failure and a table; exit status 1 if anything failed. XLA runs
in separate processes; modules that crash it (for example, it divides -2^31 by -1
when folding constants) are counted separately, not as failures. If jaxlib is not
installed, the script says so and exits with status 0.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import threading

try:
  import jax
  jax.config.update("jax_platforms", "cpu")
  jax.config.update("jax_enable_x64", True)
  from jax._src.lib import xla_client
  import ml_dtypes
  import numpy as np
except ImportError as error:
  print(f"SKIPPED: jaxlib is not installed ({error}); pip install jax")
  sys.exit(0)

# Opcodes that XLA's way from HLO to an executable on CPU does not take.
WITHOUT = (
    "fusion,async-start,bitcast,copy-start,add-dependency,after-all,mulhi,"
    "stochastic-convert,topk,scan,ragged-dot,acos,acosh,asin,asinh,atanh,cosh,"
    "sinh,map,erf")

# Relative tolerances by name of the type; whole arrays are compared, absolute
# errors relative to the largest element.
TOLERANCE = {
    "float64": 1e-9, "complex128": 1e-9, "float32": 2e-4, "complex64": 2e-4,
    "bfloat16": 6e-2, "float16": 1e-2,
}


def module_bytes(hlo_proto):
  """The HloModuleProto (field 1) inside a serialized HloProto."""
  def varint(at):
    value = shift = 0
    while True:
      byte = hlo_proto[at]
      value |= (byte & 0x7F) << shift
      at, shift = at + 1, shift + 7
      if byte < 0x80:
        return value, at
  at = 0
  while at < len(hlo_proto):
    tag, at = varint(at)
    length, at = varint(at)
    if tag == (1 << 3 | 2):
      return hlo_proto[at:at + length]
    at += length
  raise ValueError("no module in the HloProto")


def run(*command):
  result = subprocess.run(command, capture_output=True)
  if result.returncode != 0:
    raise RuntimeError(result.stderr.decode().strip() or f"{command} failed")
  return result.stdout


class Judge:
  """XLA on one CPU device."""

  def __init__(self):
    self.device = jax.devices("cpu")[0]
    self.client = self.device.client

  def parse(self, text):
    return xla_client.hlo.hlo_module_from_text(text)

  def read(self, serialized):
    return xla_client.hlo.HloModule.from_serialized_hlo_module_proto(serialized)

  def execute(self, module, arrays):
    """Outputs (flattened) of a parsed module on arrays by leaf name."""
    computation = xla_client.hlo.XlaComputation(
        module.as_serialized_hlo_module_proto())
    mlir = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
    executable = self.client.compile_and_load(
        mlir, xla_client.DeviceList((self.device,)))
    arguments = []
    for number, shape in enumerate(computation.program_shape().parameter_shapes()):
      for name, leaf in leaves(f"arg{number}", shape):
        arguments.append(
            jax.device_put(typed(arrays[name], leaf), self.device))
    outputs = executable.execute_sharded(arguments)
    return [np.asarray(array[0])
            for array in outputs.disassemble_into_single_device_arrays()]


def devices_of(text):
  """The partitions that the header of a module names."""
  found = re.search(r"num_partitions=(\d+)", text.split("\n", 1)[0])
  return int(found.group(1)) if found else 1


def partitioned_options(devices):
  """For one replica of so many partitions, which GSPMD makes."""
  options = xla_client.CompileOptions()
  build = options.executable_build_options
  options.num_replicas = build.num_replicas = 1
  options.num_partitions = build.num_partitions = devices
  build.use_spmd_partitioning = True
  build.use_shardy_partitioner = False
  options.device_assignment = build.device_assignment = (
      xla_client.DeviceAssignment.create(np.arange(devices).reshape(1, devices)))
  return options


def compile_partitioned(computation, options):
  """XLA compiles an XlaComputation for the first devices of this process."""
  devices = jax.devices("cpu")[:options.num_partitions]
  return devices[0].client.compile_and_load(
      xla_client._xla.mlir.xla_computation_to_mlir_module(computation),
      xla_client.DeviceList(tuple(devices)), options)


def leaves(name, shape):
  if not shape.is_tuple():
    return [(name, shape)]
  result = []
  for i, element in enumerate(shape.tuple_shapes()):
    result += leaves(f"{name}.{i}", element)
  return result


def typed(array, shape):
  """An array of a .npz file as the element type that its shape names."""
  wanted = shape.numpy_dtype()
  return array if array.dtype == wanted else array.view(wanted)


def difference(expected, actual, scale):
  """What is wrong with `actual`; None if nothing is."""
  if expected.dtype != actual.dtype or expected.shape != actual.shape:
    return f"expected {expected.dtype}{expected.shape}, " \
           f"found {actual.dtype}{actual.shape}"
  name = expected.dtype.name
  if name not in TOLERANCE:
    same = expected == actual
  else:
    wide = np.complex128 if "complex" in name else np.float64
    e, a = expected.astype(wide), actual.astype(wide)
    finite = np.abs(e[np.isfinite(e)])
    largest = max(1.0, finite.max() if finite.size else 0.0)
    bound = scale * largest
    with np.errstate(invalid="ignore"):
      same = (np.isnan(e) & np.isnan(a)) | (e == a) | (np.abs(e - a) <= bound)
  if np.all(same):
    return None
  index = tuple(int(i[0]) for i in np.nonzero(~np.atleast_1d(same)))
  e, a = np.atleast_1d(expected)[index], np.atleast_1d(actual)[index]
  return f"at {list(index)}: XLA {e}, hlo-run {a}; " \
         f"{np.count_nonzero(~same)} of {same.size} elements differ"


class Check:
  """All checks of one module."""

  def __init__(self, options, judge, path):
    self.options, self.judge, self.path = options, judge, path
    self.counts = collections.Counter()
    self.failures = []

  def step(self, name, action):
    try:
      wrong = action()
    except Exception as error:  # Whatever XLA raises is the answer.
      wrong = f"{type(error).__name__}: {str(error).splitlines()[0][:300]}"
    self.counts[name, "failed" if wrong else "passed"] += 1
    if wrong:
      self.failures.append(f"{self.path}: {name}: {wrong}")
    return not wrong

  def run(self, folder):
    options = self.options
    stem = os.path.join(folder, os.path.basename(self.path))
    state = {}

    def text():
      with open(self.path) as file:
        source = file.read()
      # Random modules are as our printer left them; hlo-opt elides large
      # constants, as XLA does, which XLA does not read.
      printed = source if "random_" in self.path else run(
          options.hlo_opt, self.path).decode()
      self.judge.parse(source if "{...}" in printed else printed)

    def proto():
      data = run(options.hlo_opt, self.path, "--emit=proto")
      state["proto"] = self.judge.read(module_bytes(data))

    def value():
      run(options.hlo_run, self.path, f"--inputs=random:{options.seed}",
          f"--save-inputs={stem}.in.npz", "-o", f"{stem}.out.npz")
      with np.load(f"{stem}.in.npz") as file:
        state["inputs"] = dict(file)
      with np.load(f"{stem}.out.npz") as file:
        ours = [file[name] for name in file.files]
      state["ours"] = ours
      return self.compare(state["proto"], state["inputs"], ours)

    def after(pipeline):
      data = run(options.hlo_opt, self.path, f"--pipeline={pipeline}",
                 "--emit=proto")
      return self.compare(self.judge.read(module_bytes(data)), state["inputs"],
                          state["ours"])

    self.step("text", text)
    if self.step("proto", proto) and self.step("value", value):
      for pipeline in options.pipelines.split(","):
        self.step(pipeline, lambda: after(pipeline))
    return self

  def compare(self, module, inputs, ours):
    theirs = self.judge.execute(module, inputs)
    if len(theirs) != len(ours):
      return f"XLA has {len(theirs)} outputs, hlo-run {len(ours)}"
    # Each type's error shows in the others that it is converted to.
    scale = max([TOLERANCE[a.dtype.name] for a in
                 list(inputs.values()) + theirs
                 if a.dtype.name in TOLERANCE] + [1e-9])
    if "bf16" in module.to_string():
      scale = max(scale, TOLERANCE["bfloat16"])
    elif "f16" in module.to_string():
      scale = max(scale, TOLERANCE["float16"])
    for i, (e, a) in enumerate(zip(theirs, ours)):
      a = a if a.dtype == e.dtype or a.dtype.kind != "V" else a.view(e.dtype)
      wrong = difference(e, a, scale)
      if wrong:
        return f"output {i} {wrong}"
    return None


class Worker:
  """A process with XLA in it, that takes one module after the other."""

  def __init__(self):
    self.process = None

  def check(self, path):
    """[counts, failures]; None if the process died."""
    if self.process is None:
      self.process = subprocess.Popen(
          [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--worker"],
          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
          stderr=subprocess.DEVNULL, text=True)
    try:
      self.process.stdin.write(path + "\n")
      self.process.stdin.flush()
      line = self.process.stdout.readline()
    except BrokenPipeError:
      line = ""
    if line:
      return json.loads(line)
    self.close()
    return None

  def close(self):
    if self.process is not None:
      self.process.stdin.close()
      self.process.wait()
      self.process = None


def work(options):
  """The loop of a worker: a path per line in, a result per line out."""
  judge = Judge()
  out = os.fdopen(os.dup(1), "w")
  os.dup2(2, 1)  # Whatever XLA prints is no result.
  with tempfile.TemporaryDirectory() as folder:
    for line in sys.stdin:
      check = Check(options, judge, line.strip()).run(folder)
      counts = [[*key, n] for key, n in check.counts.items()]
      print(json.dumps([counts, check.failures]), file=out, flush=True)
  return 0


def check_all(modules, jobs):
  """The results of all modules, in their order; `jobs` workers at a time."""
  own = threading.local()
  workers = []

  def check(path):
    if not hasattr(own, "worker"):
      own.worker = Worker()
      workers.append(own.worker)
    return own.worker.check(path)

  with concurrent.futures.ThreadPoolExecutor(max(jobs, 1)) as pool:
    results = list(pool.map(check, modules))
  for worker in workers:
    worker.close()
  return results


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--hlo-opt", required=True)
  parser.add_argument("--hlo-run", required=True)
  parser.add_argument("--random-hlo")
  parser.add_argument("--count", type=int, default=200)
  parser.add_argument("--first-seed", type=int, default=0)
  parser.add_argument("--without", default=WITHOUT)
  parser.add_argument("--pipelines", default="cleanup,prepare")
  parser.add_argument("--jobs", type=int, default=os.cpu_count())
  parser.add_argument("--seed", type=int, default=0)
  parser.add_argument("--worker", action="store_true")
  parser.add_argument("modules", nargs="*")
  options = parser.parse_args()
  if options.worker:
    return work(options)
  counts, failures, died = collections.Counter(), [], []
  with tempfile.TemporaryDirectory() as folder:
    modules = list(options.modules)
    if options.random_hlo:
      run(options.random_hlo, f"--count={options.count}",
          f"--first-seed={options.first_seed}", f"--folder={folder}",
          f"--without={options.without}")
      modules += [os.path.join(folder, f"random_{options.first_seed + i}.hlo")
                  for i in range(options.count)]
    for path, result in zip(modules, check_all(modules, options.jobs)):
      if result is None:
        died.append(os.path.basename(path))
        continue
      for check, verdict, n in result[0]:
        counts[check, verdict] += n
      failures += result[1]
  for failure in failures:
    print(failure)
  print(f"\n{'check':8}{'passed':>8}{'failed':>8}   jaxlib {jax.__version__}, "
        f"{len(modules)} modules")
  for name in ("text", "proto", "value", *options.pipelines.split(",")):
    print(f"{name:8}{counts[name, 'passed']:8}{counts[name, 'failed']:8}")
  if died:
    print(f"XLA itself died on {len(died)}: {' '.join(died)}")
  return 1 if failures else 0


if __name__ == "__main__":
  sys.exit(main())
