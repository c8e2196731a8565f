"""A module in XLA, through JAX: see worker.py."""

import glob
import os
import re
import tempfile
import time

import numpy as np

from worker import best_of, reply, wait


def aliases(text):
  """{parameter: result} of the module's header; None if any is nested."""
  header = text.split("\n", 1)[0]
  found = re.search(r"input_output_alias=\{(.*?)\}, [a-z_]+=", header)
  result = {}
  for out, number, index in re.findall(
      r"\{([\d, ]*)\}: \((\d+), \{([\d, ]*)\}", found.group(1) if found else ""):
    if index or "," in out:
      return None
    result[int(number)] = int(out or 0)
  return result


def leaves(name, shape):
  if not shape.is_tuple():
    return [(name, shape)]
  return [leaf for i, element in enumerate(shape.tuple_shapes())
          for leaf in leaves(f"{name}.{i}", element)]


FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast",
        "after-all", "partition-id", "replica-id", "opt-barrier"}


def count_kernels(text):
  """What an optimized module launches; loops count as often as they run."""
  computations, entry, current = {}, None, None
  for line in text.splitlines():
    begin = re.match(r"(ENTRY )?%?([\w.\-]+) .*\{$", line)
    if begin and not line.startswith(" "):
      current = computations.setdefault(begin.group(2), [])
      entry = begin.group(2) if begin.group(1) else entry
    elif current is not None and " = " in line:
      current.append(line)

  def count(name):
    total = 0
    for line in computations.get(name, []):
      found = re.search(r" = .*? ([a-z][a-z\-]*)\(", line)
      opcode = found.group(1) if found else ""
      if opcode in ("while", "call", "conditional"):
        trips = re.search(r'known_trip_count":\{"n":"(\d+)"', line)
        total += (int(trips.group(1)) if trips else 1) * sum(
            count(called) for called in re.findall(
                r"(?:body|to_apply|branch_computations=\{)=?%?([\w.\-]+)", line))
      elif opcode not in FREE:
        total += 1
    return total

  return count(entry)


def profile(jax, run):
  """Kernels and copies of the GPU while `run` runs, with microseconds."""
  with tempfile.TemporaryDirectory() as folder:
    with jax.profiler.trace(folder):
      run()
    path = glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
    data = jax.profiler.ProfileData.from_file(path[0])
    kernels, copies = [], []
    for plane in data.planes:
      if not plane.name.startswith("/device:GPU"):
        continue
      for line in plane.lines:
        if not line.name.startswith("Stream"):
          continue
        for event in line.events:
          is_copy = re.match(r"(?i)mem(cpy|set)", event.name)
          (copies if is_copy else kernels).append(
              (event.name, event.duration_ns / 1e3))
  return kernels, copies


def work(path, inputs, results, repeat):
  import jax
  jax.config.update("jax_enable_x64", True)
  from jax._src.lib import xla_client
  import ml_dtypes  # Registers bf16 and the like with NumPy.
  del ml_dtypes
  device = jax.devices()[0]
  with open(path) as file:
    text = file.read()
  alias = aliases(text)
  if alias is None:
    text = re.sub(r"input_output_alias=\{.*?\}, (?=[a-z_]+=)", "", text, 1)
    alias = {}
  module = xla_client.hlo.hlo_module_from_text(text)
  computation = xla_client.hlo.XlaComputation(
      module.as_serialized_hlo_module_proto())
  begin = time.perf_counter()
  executable = device.client.compile_and_load(
      xla_client._xla.mlir.xla_computation_to_mlir_module(computation),
      xla_client.DeviceList((device,)))
  seconds = time.perf_counter() - begin
  memory = executable.get_compiled_memory_stats()
  parts = {name: getattr(memory, name + "_size_in_bytes", 0)
           for name in ("argument", "output", "alias", "temp",
                        "generated_code")}
  parts["peak"] = getattr(memory, "peak_memory_in_bytes", 0)
  optimized = executable.hlo_modules()[0].to_string()
  with open(results + ".hlo", "w") as file:
    file.write(optimized)
  reply(compile_seconds=seconds, memory=parts,
        launched=count_kernels(optimized), version=jax.__version__,
        device=device.device_kind)
  wait()

  arguments = []
  with np.load(inputs) as file:
    for number, shape in enumerate(
        computation.program_shape().parameter_shapes()):
      for name, leaf in leaves(f"arg{number}", shape):
        array, wanted = file[name], leaf.numpy_dtype()
        arguments.append(jax.device_put(
            array if array.dtype == wanted else array.view(wanted), device))
  flat = all(not shape.is_tuple()
             for shape in computation.program_shape().parameter_shapes())
  if not flat:
    alias = {}

  def step():
    outputs = executable.execute_sharded(
        arguments).disassemble_into_single_device_arrays()
    outputs = [array[0] for array in outputs]
    for number, out in alias.items():  # Donated: what it became is next.
      arguments[number] = outputs[out]
    return outputs

  first = step()
  arrays = [np.asarray(array) for array in first]
  np.savez(results, **{f"out{i}": a if a.dtype.kind in "fiubc" else
                       a.view(f"V{a.dtype.itemsize}")
                       for i, a in enumerate(arrays)})
  del arrays
  last = [first]

  def again():
    last[0] = step()

  def finish():
    jax.block_until_ready(last[0])

  for _ in range(3):
    again()
  finish()
  answer = dict(step_microseconds=best_of(repeat, again, finish))
  reply(**answer)
  turns = 5
  try:
    kernels, copies = profile(
        jax, lambda: ([again() for _ in range(turns)], finish()))
    by_name = {}
    for name, microseconds in kernels:
      by_name[name] = by_name.get(name, 0) + microseconds / turns
    answer.update(
        kernels=len(kernels) / turns, copies=len(copies) / turns,
        device_microseconds=sum(t for _, t in kernels + copies) / turns,
        longest=sorted(by_name.items(), key=lambda item: -item[1])[:20])
  except Exception as error:  # The times above are worth having without it.
    answer["profile_error"] = f"{type(error).__name__}: {error}"[:300]
  reply(**answer)
