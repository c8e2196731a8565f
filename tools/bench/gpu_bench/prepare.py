"""Programs, inputs, results and predictions of modules, in one folder."""

import json
import os
import re
import shutil
import sys
import time

from gpu_bench import machine
from gpu_bench.common import programs, run, stem

HERE = os.path.dirname(os.path.abspath(__file__))
DEVICES = ("h100", "h200", "h200_measured")
REUSE_OFF = "--passes=shared-memory-planning{reuse-syncs=false}"
STACK = "--passes=shared-memory-planning{stack=true}"
VARIANTS = {
    "default": [],
    "no-mof": ["--xla_disable_hlo_passes=multi-output-fusion"],
    "no-reuse": [REUSE_OFF],
    "stack": [STACK],
}


def program_facts(folder):
  """What the source of a program says of itself."""
  with open(os.path.join(folder, "program.cu")) as file:
    text = file.read()

  def arrays(table):
    body = re.search(r"kArrays\{\n(.*?)\};".replace("kArrays", table + " = "),
                     text, re.S).group(1)
    return [{"name": re.search(r'"([^"]*)"', line).group(1),
             "type": re.search(r'\}, "([^"]*)"', line).group(1),
             "extents": [int(n) for n in re.search(
                 r"(?:true|false), \{([\d, ]*)\}", line).group(1).split(",")
                         if n.strip()]}
            for line in body.splitlines()]

  kernel = r"__global__ void (?:__launch_bounds__\([^)]*\) )?\w+_kernel\("
  return {"kernels": len(re.findall(kernel, text)),
          "memory_bytes": int(re.search(r"kMemoryBytes = (\d+)", text).group(1)),
          "inputs": arrays("kInputs"), "results": arrays("kResults")}


def predict(flags, optimized, device, folder):
  """Kernels of the trace of a model: {program's name: {us, runs, bytes}}."""
  trace = os.path.join(folder, "trace.json")
  run([flags.hlo_explain, optimized, f"--device={device}",
       f"--perfetto={trace}", "--report-file=/dev/null"], flags.limit)
  with open(trace) as file:
    events = json.load(file)["traceEvents"]
  os.remove(trace)
  return {re.sub(r"[^A-Za-z0-9]", "_", e["name"]):
          {"us": e["dur"], "runs": e["args"]["runs"],
           "bytes": e["args"]["bytes"], "opcode": e["cat"]}
          for e in events if e.get("ph") == "X" and e.get("tid") == 1}


def prepare_variant(flags, path, folder, options):
  os.makedirs(folder, exist_ok=True)
  optimized = os.path.join(folder, "optimized.hlo")
  begin = time.time()
  run([flags.hlo_opt, path, "--pipeline=gpu", "--for=own", "--device=h100",
       "--num-partitions=1", *options, "-o", optimized], flags.limit)
  run([flags.hlo_opt, optimized, "--passes=", "--device=h100", "--emit=cuda",
       "-o", folder], flags.limit)
  variant = program_facts(folder)
  variant["pipeline_seconds"] = time.time() - begin
  variant["predicted"] = {device: predict(flags, optimized, device, folder)
                          for device in DEVICES}
  explained = json.loads(run([flags.hlo_explain, optimized, "--json"],
                             flags.limit))
  variant["peak_bytes"] = int(explained["peak_bytes"])
  return variant


def prepare_module(flags, path):
  name = stem(path)
  folder = os.path.join(flags.o, name)
  os.makedirs(folder, exist_ok=True)
  shutil.copy(path, os.path.join(folder, "module.hlo"))
  module = {"name": name, "variants": {}, "judge": "hlo-run"}
  for variant in flags.variants.split(","):
    try:
      module["variants"][variant] = prepare_variant(
          flags, path, os.path.join(folder, variant), VARIANTS[variant])
      same = [other for other in module["variants"] if other != variant and
              same_program(os.path.join(folder, other),
                           os.path.join(folder, variant))]
      if same:  # Nothing to measure twice.
        module["variants"][variant]["same_as"] = same[0]
        shutil.rmtree(os.path.join(folder, variant))
    except RuntimeError as error:
      module["variants"][variant] = {"error": str(error)}
      if variant == "default":
        break
  files = ("inputs.npz", "expected.npz")
  try:
    if module["variants"]["default"].get("memory_bytes", 0) > \
        flags.evaluate_bytes:
      raise RuntimeError("too large to be evaluated")
    run([flags.hlo_run, path, "--inputs=random:0", "--partitions=1",
         f"--save-inputs={folder}/inputs.npz", "-o", f"{folder}/expected.npz"],
        flags.evaluate)
    if sum(os.path.getsize(os.path.join(folder, file)) for file in files) > \
        flags.carry:
      raise RuntimeError("inputs and results are too large to carry")
  except RuntimeError as error:
    module["judge"], module["not_evaluated"] = "xla", str(error)[:300]
    for file in os.listdir(folder):
      if file.startswith(files):  # Parts of them, too.
        os.remove(os.path.join(folder, file))
  return module


def same_program(a, b):
  paths = [os.path.join(folder, "program.cu") for folder in (a, b)]
  if not all(os.path.exists(path) for path in paths):
    return False
  texts = [open(path).read() for path in paths]
  return texts[0] == texts[1]


def prepare(flags):
  os.makedirs(flags.o, exist_ok=True)
  manifest = os.path.join(flags.o, "manifest.json")
  modules, before = [], []
  if os.path.exists(manifest):
    with open(manifest) as file:
      before = json.load(file)["modules"]
  names = {stem(path) for path in flags.modules}
  before = [module for module in before if module["name"] not in names]
  for path in flags.modules:
    modules.append(prepare_module(flags, path))
    with open(manifest, "w") as file:
      json.dump({"modules": before + modules}, file, indent=1)
    line = [f"{modules[-1]['name']}: judge {modules[-1]['judge']}"]
    for variant, facts in modules[-1]["variants"].items():
      line.append(f"{variant} " + (
          facts["error"].splitlines()[0][:100] if "error" in facts else
          f"= {facts['same_as']}" if "same_as" in facts else
          f"{facts['kernels']} kernels, {facts['memory_bytes']} bytes"))
    print("; ".join(line), flush=True)
  shutil.copy(os.path.join(os.path.dirname(HERE), "gpu.py"), flags.o)
  shutil.copytree(HERE, os.path.join(flags.o, "gpu_bench"), dirs_exist_ok=True,
                  ignore=shutil.ignore_patterns("__pycache__"))
  sources = [os.path.join(flags.o, module["name"], variant, "program.cu")
             for module, variant, _ in programs(modules)]
  sources.append(os.path.join(flags.o, "gpu_bench", "floor.cu"))
  if flags.cupti:
    machine.build_tracer(flags.o, flags.cupti, flags.limit)
  for source in sources if flags.nvcc else []:
    try:
      machine.build(source, flags.nvcc, flags.limit)
    except RuntimeError as error:
      print(f"{source}: {error}", file=sys.stderr)
  if flags.dry_run:
    return dry_run(flags, modules)
  return 0


def dry_run(flags, modules):
  """Compiles with what is here, and prints what measure would do."""
  script = os.path.join(HERE, "../../../xla/backends/gpu/codegen/compile_cuda.py")
  failures = 0
  for module, variant, facts in programs(modules):
    folder = os.path.join(flags.o, module["name"], variant)
    words = []
    for what, command in (
        ("device code", [sys.executable, script, folder + "/program.cu"]),
        ("host shim", ["make", "-s", "-C", folder, "host"])):
      try:
        out = run(command, flags.limit).strip().splitlines()
        skipped = out and "skipped" in out[0]
        words.append(f"{what} {out[0] if skipped else 'ok'}")
      except RuntimeError as error:
        failures += 1
        words.append(f"{what} FAILED: {error}")
    predicted = facts["predicted"]["h100"].values()
    print(f"{module['name']} {variant}: {', '.join(words)}; to run: "
          f"{facts['kernels']} kernels, predicted "
          f"{sum(k['us'] * k['runs'] for k in predicted):.0f} us a step; "
          f"compare with {module['judge']}; memcheck, racecheck"
          + (", XLA, torch, kernel by kernel" if variant == "default" else ""))
  return 1 if failures else 0
