#!/usr/bin/env python3
"""Runs partitioned modules in XLA itself, on as many host devices.

usage: spmd.py --hlo-opt=BIN --hlo-run=BIN [--random-hlo=BIN --count=N]
               [--devices=8] [--jobs=N] [--seconds=120] MODULE...

For each module, with its own shardings (--pipeline=spmd), and for N random ones
with random shardings (--passes=spmd-partitioning):

  whole   on all devices hlo-run computes the shards of the whole module's
          results (--check-equivalent)
  value   XLA (on CPU) computes on each device what hlo-run computes there

XLA would partition a module with several partitions again, so it is given one
with replicas instead, and `replica-id` for `partition-id`. Each module runs in
its own process, for at most --seconds; what XLA:CPU does not implement is not
counted. Prints a line per failure as it occurs, progress after every ten modules
(on standard error), and a table; the exit status is 1 if anything failed.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

# Before interop imports jax.
DEVICES = next((a.split("=")[1] for a in sys.argv if a.startswith("--devices=")),
               "8")
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"

import interop  # pylint: disable=wrong-import-position
from interop import jax, np, run, xla_client

# Instructions of XLA:CPU that differ from run to run, or that it does not have.
WITHOUT = interop.WITHOUT + ",rng,rng-bit-generator,rng-get-and-update-state"

def braced(text, at):
  """The end of the braces that open at `at`."""
  depth = 0
  while True:
    depth += {"{": 1, "}": -1}.get(text[at], 0)
    at += 1
    if depth == 0:
      return at


def parameter_shardings(header):
  """As texts, one per parameter."""
  at = header.index("spmd_parameters_shardings={") + len(
      "spmd_parameters_shardings={")
  shardings = []
  while header[at] != "}":
    end = braced(header, at)
    shardings.append(header[at:end])
    at = end + 2 if header[end] == "," else end
  return shardings


def as_replicas(text, devices):
  """The module of one partition as that of one replica."""
  header, rest = text.split("\n", 1)
  header = re.sub(r", num_partitions=\d+", "", header)
  for name in ("spmd_output_sharding", "spmd_parameters_shardings"):
    at = header.find(f", {name}=")
    if at >= 0:
      header = header[:at] + header[braced(header, header.index("{", at)):]
  header += f", replica_count={devices}"
  rest = rest.replace(" partition-id(", " replica-id(")
  rest = re.sub(r", channel_id=\d+", "", rest)
  rest = rest.replace(", use_global_device_ids=true", "")
  # Annotations would be read as those of a module of one device.
  rest = re.sub(r"(parameter\(\d+\)), sharding=\{[^\n]*?\}(?=, \w+=|\n)", r"\1",
                rest)
  return header + "\n" + rest


def tile_of(sharding, shape, device):
  """Where the device's shard lies in the whole, as slices; all if replicated."""
  if sharding.is_replicated() or sharding.is_maximal():
    return tuple(slice(0, size) for size in shape)
  dims = sharding.tile_assignment_dimensions()
  order = np.array(sharding.tile_assignment_devices()).reshape(dims)
  place = np.argwhere(order == device)[0]
  slices = []
  for size, tiles, index in zip(shape, dims, place):
    step = -(-size // tiles)
    slices.append(slice(min(index * step, size), min((index + 1) * step, size)))
  return tuple(slices)


def make_consistent(inputs, header, program_shape, devices):
  """Devices that have the same part of an argument get the same elements."""
  for number, (text, shape) in enumerate(
      zip(parameter_shardings(header), program_shape.parameter_shapes())):
    sharding = xla_client.HloSharding.from_string(text)
    leaves = interop.leaves(f"arg{number}", shape)
    each = (sharding.tuple_elements() if shape.is_tuple() else [sharding])
    for (name, leaf), cut in zip(leaves, each):
      first = inputs[f"{name}@0"]
      whole = np.zeros(leaf.dimensions(), first.dtype)
      tiles = [tile_of(cut, leaf.dimensions(), d) for d in range(devices)]
      for d, tile in enumerate(tiles):
        sizes = tuple(slice(0, s.stop - s.start) for s in tile)
        whole[tile] = inputs[f"{name}@{d}"][sizes]
      for d, tile in enumerate(tiles):
        sizes = tuple(slice(0, s.stop - s.start) for s in tile)
        inputs[f"{name}@{d}"][sizes] = whole[tile]


def execute(text, inputs, devices):
  """Outputs by device, each flattened."""
  device_list = jax.devices("cpu")[:devices]
  module = xla_client.hlo.hlo_module_from_text(text)
  computation = xla_client.hlo.XlaComputation(
      module.as_serialized_hlo_module_proto())
  mlir = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
  options = xla_client.CompileOptions()
  options.num_replicas = devices
  options.num_partitions = 1
  options.device_assignment = xla_client.DeviceAssignment.create(
      np.arange(devices).reshape(devices, 1))
  executable = device_list[0].client.compile_and_load(
      mlir, xla_client.DeviceList(tuple(device_list)), options)
  mesh = jax.sharding.Mesh(np.array(device_list), ("d",))
  arguments = []
  for number, shape in enumerate(computation.program_shape().parameter_shapes()):
    for name, leaf in interop.leaves(f"arg{number}", shape):
      shards = [jax.device_put(interop.typed(inputs[f"{name}@{d}"], leaf), device)
                for d, device in enumerate(device_list)]
      rank = shards[0].ndim
      spec = jax.sharding.PartitionSpec(*(["d"] if rank else []))
      whole = tuple(shards[0].shape)
      if rank:
        whole = (whole[0] * devices,) + whole[1:]
      arguments.append(jax.make_array_from_single_device_arrays(
          whole, jax.sharding.NamedSharding(mesh, spec), shards))
  outputs = executable.execute_sharded(arguments)
  columns = outputs.disassemble_into_single_device_arrays()
  return [[np.asarray(column[d]) for column in columns] for d in range(devices)]


def judge(options, path):
  """What is wrong with one module, by check; for a process of its own."""
  results = {}
  how = "--passes=spmd-partitioning" if "random_" in path else "--pipeline=spmd"
  with tempfile.TemporaryDirectory() as folder:
    partitioned = os.path.join(folder, "partitioned.pb")
    try:
      run(options.hlo_opt, path, how, "--verify-each", "--check-equivalent=2",
          "--emit=proto", "-o", partitioned)
      results["whole"] = None
    except RuntimeError as error:
      return {"whole": str(error)[:500]}
    header = run(options.hlo_opt, partitioned).decode().split("\n", 1)[0]
    # Arguments that do not fit each other may let it wait for ever: they are
    # all that is wanted of this run.
    subprocess.run([options.hlo_run, partitioned, "--inputs=small:0",
                    f"--save-inputs={folder}/in.npz"], capture_output=True)
    with np.load(f"{folder}/in.npz") as file:
      inputs = dict(file)
    whole = interop.module_bytes(run(options.hlo_opt, path, "--emit=proto"))
    make_consistent(
        inputs, header,
        xla_client.hlo.XlaComputation(whole).program_shape(), options.devices)
    np.savez(f"{folder}/in.npz", **inputs)
    run(options.hlo_run, partitioned, f"--inputs={folder}/in.npz",
        "-o", f"{folder}/out.npz")
    with np.load(f"{folder}/out.npz") as file:
      ours = dict(file)
    try:
      with open(partitioned, "rb") as file:
        module = xla_client.hlo.HloModule.from_serialized_hlo_module_proto(
            interop.module_bytes(file.read()))
      # The proto has the elements of large constants, the header what the text
      # of XLA leaves out.
      printing = xla_client.hlo.HloPrintOptions()
      printing.print_large_constants = True
      printing.print_metadata = False
      rest = module.to_string(printing).split("\n", 1)[1]
      text = as_replicas(header + "\n" + rest, options.devices)
      theirs = execute(text, inputs, options.devices)
      results["value"] = compare(theirs, ours, text)
    except Exception as error:  # Whatever XLA raises is the answer.
      if "UNIMPLEMENTED" not in str(error):
        results["value"] = f"{type(error).__name__}: {str(error)[:400]}"
  return results


def compare(theirs, ours, text):
  scale = interop.TOLERANCE["bfloat16" if "bf16" in text else
                            "float16" if "f16" in text else "float32"]
  for d, outputs in enumerate(theirs):
    names = [name for name in ours if name.endswith(f"@{d}")]
    if len(names) != len(outputs):
      return f"XLA has {len(outputs)} outputs, hlo-run {len(names)}"
    for name, expected in zip(names, outputs):
      actual = ours[name]
      if actual.dtype.kind == "V":
        actual = actual.view(expected.dtype)
      wrong = interop.difference(expected, actual, scale)
      if wrong:
        return f"{name} {wrong}"
  return None


def check(options, path):
  """The results of a process of its own; a word for what became of it instead."""
  command = [sys.executable, os.path.abspath(__file__),
             f"--hlo-opt={options.hlo_opt}", f"--hlo-run={options.hlo_run}",
             f"--devices={options.devices}", "--judge", path]
  # A session of its own, so that what it started ends with it.
  with subprocess.Popen(command, stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL,
                        start_new_session=True) as process:
    try:
      output, _ = process.communicate(timeout=options.seconds)
      return json.loads(output.decode().splitlines()[-1])
    except subprocess.TimeoutExpired:
      os.killpg(process.pid, signal.SIGKILL)
      return "slow"
    except (IndexError, ValueError):
      return "died"


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--hlo-opt", required=True)
  parser.add_argument("--hlo-run", required=True)
  parser.add_argument("--random-hlo")
  parser.add_argument("--count", type=int, default=100)
  parser.add_argument("--first-seed", type=int, default=0)
  parser.add_argument("--devices", type=int, default=8)
  parser.add_argument("--jobs", type=int, default=os.cpu_count())
  parser.add_argument("--seconds", type=float, default=120,
                      help="limit for each module")
  parser.add_argument("--judge", action="store_true")
  parser.add_argument("modules", nargs="*")
  options = parser.parse_args()
  if options.judge:
    print(json.dumps(judge(options, options.modules[0])))
    return 0
  counts, lost = collections.Counter(), {"slow": [], "died": []}
  with tempfile.TemporaryDirectory() as folder:
    modules = list(options.modules)
    if options.random_hlo:
      run(options.random_hlo, f"--count={options.count}",
          f"--first-seed={options.first_seed}", f"--folder={folder}", "--exact",
          f"--sharded={options.devices}", f"--without={WITHOUT}")
      modules += [os.path.join(folder, f"random_{options.first_seed + i}.hlo")
                  for i in range(options.count)]
    with concurrent.futures.ThreadPoolExecutor(max(options.jobs, 1)) as pool:
      futures = {pool.submit(check, options, path): os.path.basename(path)
                 for path in modules}
      for done, future in enumerate(
          concurrent.futures.as_completed(futures), 1):
        if done % 10 == 0:
          print(f"{done} of {len(modules)}", file=sys.stderr, flush=True)
        name, result = futures[future], future.result()
        if isinstance(result, str):
          lost[result].append(name)
          continue
        for kind, wrong in result.items():
          counts[kind, "failed" if wrong else "passed"] += 1
          if wrong:
            print(f"{name}: {kind}: {wrong}", flush=True)
  print(f"\n{'check':8}{'passed':>8}{'failed':>8}   jaxlib {jax.__version__}, "
        f"{len(modules)} modules on {options.devices} devices")
  for name in ("whole", "value"):
    print(f"{name:8}{counts[name, 'passed']:8}{counts[name, 'failed']:8}")
  for word, names in lost.items():
    if names:
      print(f"{word}: {len(names)}: {' '.join(sorted(names))}")
  failed = counts["whole", "failed"] + counts["value", "failed"]
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
