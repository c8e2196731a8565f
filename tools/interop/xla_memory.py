#!/usr/bin/env python3
"""Prints what XLA allocates for modules, without running them.

usage: xla_memory.py MODULE.hlo... --for=xla-gpu --target-config=FILE
       xla_memory.py MODULE.hlo... --for=xla-cpu
       xla_memory.py MODULE.hlo... --judge=COMMAND

Compiles each module with all of XLA's passes, in a separate process, since XLA
aborts on some errors. For GPUs this needs the CUDA plugin of JAX (pip install
'jax[cuda12]') and a description of the GPU, a GpuTargetConfigProto as text, but
neither a GPU nor a driver.

  --timeout=SECONDS   limit per module (600)
  --partitions=1      for xla-gpu: number of devices that XLA partitions the
                      module for; the answer is about one of them
  --judge=COMMAND     command to run instead: given the module's path as last
                      argument, it prints a line of JSON with temp_size,
                      argument_size, output_size and alias_size in bytes, or
                      error. For scheduled modules that only XLA's backend
                      should compile, which JAX does not offer

Prints a line of JSON per module: bytes of arguments, outputs, what these two
share (alias), temporaries (temp), and all together (total); or `error`.
"""

import argparse
import glob
import json
import os
import shlex
import subprocess
import sys
import sysconfig

PARTS = ("argument", "output", "alias", "temp")


def compile_for_gpu(module, target_config, partitions):
  """An executable for GPUs of the kind that the text describes."""
  from jax.experimental import topologies
  topology = topologies.get_topology_desc(
      platform="cuda", topology_name="one", target_config=target_config,
      topology=f"1x1x{partitions}")
  return compile_for(topology.devices[:partitions], module,
                     {"xla_gpu_autotune_level": 0})


def compile_for_cpu(module):
  import jax
  return compile_for(jax.devices("cpu")[:1], module, {})


def compile_for(devices, module, overrides):
  import numpy
  from jax._src.interpreters import mlir
  from jaxlib import _jax
  from jaxlib.mlir import ir
  options = _jax.CompileOptions()
  build = options.executable_build_options
  options.num_replicas = build.num_replicas = 1
  options.num_partitions = build.num_partitions = len(devices)
  if len(devices) > 1:
    build.use_spmd_partitioning = True
    options.device_assignment = build.device_assignment = (
        _jax.DeviceAssignment.create(
            numpy.arange(len(devices)).reshape(1, -1)))
  options.env_option_overrides = list(overrides.items())
  stablehlo = _jax.mlir.hlo_to_stablehlo(
      module.as_serialized_hlo_module_proto())
  with mlir.make_ir_context():
    program = ir.Module.parse(stablehlo)
    client = devices[0].client
    make = getattr(client, "compile_and_load", None)
    if make is None or devices[0].platform != "cpu":
      make = client.compile
    return make(program, _jax.DeviceList(tuple(devices)), options)


def measure_here(path, reader, target_config, partitions):
  """The answer for one module, from this process."""
  from jaxlib import _hlo
  with open(path) as file:
    module = _hlo.hlo_module_from_text(file.read())
  if reader == "xla-gpu":
    with open(target_config) as file:
      executable = compile_for_gpu(module, file.read(), partitions)
  else:
    executable = compile_for_cpu(module)
  stats = executable.get_compiled_memory_stats()
  return with_total({part: getattr(stats, part + "_size_in_bytes")
                     for part in PARTS})


def environment():
  """Where the CUDA plugin finds its libraries and its assembler."""
  result = dict(os.environ, JAX_PLATFORMS="cpu",
                JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1", TF_CPP_MIN_LOG_LEVEL="3")
  nvidia = os.path.join(sysconfig.get_paths()["purelib"], "nvidia")
  libraries = sorted(glob.glob(os.path.join(nvidia, "*", "lib")))
  old = result.get("LD_LIBRARY_PATH")
  result["LD_LIBRARY_PATH"] = ":".join(libraries + ([old] if old else []))
  nvcc = os.path.join(nvidia, "cuda_nvcc")
  if os.path.isdir(nvcc):
    result["PATH"] = os.path.join(nvcc, "bin") + ":" + result["PATH"]
    result["XLA_FLAGS"] = " ".join(
        filter(None, [result.get("XLA_FLAGS"),
                      "--xla_gpu_cuda_data_dir=" + nvcc]))
  return result


def with_total(answer):
  answer["total"] = (answer["argument"] + answer["output"] + answer["temp"] -
                     answer["alias"])
  return answer


def answer_of_judge(line):
  """The answer in a line of JSON that another command printed."""
  said = json.loads(line)
  if "error" in said:
    return {"error": said["error"]}
  try:
    return with_total({part: int(said[part + "_size"]) for part in PARTS})
  except KeyError as missing:
    return {"error": f"the judge does not say {missing.args[0]}"}


def measure(path, reader, target_config=None, timeout=600, judge=None,
            partitions=1):
  """The answer for one module, from a process of its own."""
  if judge:
    command = shlex.split(judge) + [path]
  else:
    command = [sys.executable, os.path.abspath(__file__), path, "--child",
               "--for=" + reader, f"--partitions={partitions}"]
  if target_config and not judge:
    command.append("--target-config=" + target_config)
  try:
    # A process that aborts prints bytes of any kind.
    result = subprocess.run(command, capture_output=True, text=True,
                            errors="replace",
                            env=None if judge else environment(),
                            timeout=timeout)
  except subprocess.TimeoutExpired:
    return {"error": f"takes more than {timeout} s"}
  for line in reversed(result.stdout.splitlines()):
    if line.startswith("{"):
      return answer_of_judge(line) if judge else json.loads(line)
  last = result.stderr.strip()[-300:] or "no message"
  return {"error": f"exit status {result.returncode}: {last}"}


def main():
  parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("modules", nargs="+")
  parser.add_argument("--for", dest="reader", choices=("xla-gpu", "xla-cpu"))
  parser.add_argument("--judge")
  parser.add_argument("--target-config")
  parser.add_argument("--timeout", type=int, default=600)
  parser.add_argument("--partitions", type=int, default=1)
  parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
  options = parser.parse_args()
  if not options.reader and not options.judge:
    parser.error("--for or --judge says whom to ask")
  if options.reader == "xla-gpu" and not options.judge and not options.target_config:
    parser.error("--for=xla-gpu needs --target-config")
  if options.partitions < 1:
    parser.error("--partitions is at least 1")
  if options.partitions > 1 and options.reader != "xla-gpu":
    parser.error("--partitions is for xla-gpu")
  if options.child:
    print(json.dumps(measure_here(options.modules[0], options.reader,
                                  options.target_config,
                                  options.partitions)))
    return 0
  failed = False
  for path in options.modules:
    answer = measure(path, options.reader, options.target_config,
                     options.timeout, options.judge, options.partitions)
    failed |= "error" in answer
    print(json.dumps({"module": os.path.basename(path), **answer}), flush=True)
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
