"""The steps on the machine that has the GPU, each with its own limit."""

import concurrent.futures
import json
import os
import re
import threading
import time

from gpu_bench import arrays
from gpu_bench import machine
from gpu_bench.common import TORCH_EXAMPLES, programs, run


class Measuring:
  """The results so far, the time that is left, and how a step is taken."""

  def __init__(self, flags):
    self.flags = flags
    self.end = time.time() + flags.budget
    self.lock = threading.Lock()
    self.out = {"repeat": flags.repeat, "facts": {}, "modules": {}, "steps": []}

  def step(self, name, limit, action, least=2):
    """action(seconds it may take); its answer, or None if it failed."""
    left = self.end - time.time()
    begin, answer, error = time.time(), None, None
    if left < least:
      error = "no time left"
    else:
      try:
        answer = action(min(limit, left))
      except Exception as e:  # One failure must not stop the others.
        error = f"{type(e).__name__}: {e}" if not isinstance(
            e, RuntimeError) else str(e)
    with self.lock:
      self.out["steps"].append({"name": name, "seconds": time.time() - begin,
                                **({"error": error} if error else {})})
      print(f"{time.time() - begin:7.1f} s  {name}"
            f"{': FAILED: ' + error[:600] if error else ''}", flush=True)
      self.flush()
    return answer

  def flush(self):
    with open(self.flags.o + ".new", "w") as file:
      json.dump(self.out, file, indent=1)
    os.replace(self.flags.o + ".new", self.flags.o)

  def module(self, name):
    return self.out["modules"].setdefault(name, {"variants": {}})

  def variant(self, name, variant):
    return self.module(name)["variants"].setdefault(variant, {})


def measure(flags):
  # Where CUDA's tools are, if not on the path.
  os.environ["PATH"] += os.pathsep + "/usr/local/cuda/bin"
  m = Measuring(flags)
  with open(os.path.join(flags.folder, "manifest.json")) as file:
    modules = [module for module in json.load(file)["modules"]
               if (not flags.only or module["name"] in flags.only.split(","))
               and module["name"] not in flags.skip.split(",")]
  m.out["modules"] = {
      module["name"]: {"judge": module["judge"], "variants": {
          v: {k: f[k] for k in f if k not in ("inputs", "results")}
          for v, f in module["variants"].items()}}
      for module in modules}
  m.out["facts"] = m.step("facts", 20, machine.facts) or {}
  with concurrent.futures.ThreadPoolExecutor(flags.worker_jobs) as pool:
    list(pool.map(lambda module: draw_inputs(m, module), modules))
    begun = [pool.submit(begin_workers, m, module) for module in modules]
    paths = build_all(m, modules)
    check_all(m, modules, paths)
    workers = {key: worker for future in begun
               for key, worker in future.result().items()}
  if not flags.host:
    m.out["floor"] = m.step("copy bandwidth", 60,
                            lambda limit: machine.run_floor(
                                os.path.join(flags.folder, "gpu_bench",
                                             "floor.cu"), flags.nvcc, limit))
  for module, variant, f in programs(modules):
    if (module["name"], variant) in paths:
      run_program(m, module, variant, f, paths[module["name"], variant])
  for (kind, name), worker in workers.items():
    found = m.step(f"{kind} {name}", 90, worker.time)
    if found:
      m.module(name)[kind] = found
    worker.close()
  judge_all(m, modules)
  count_all(m, modules, paths)
  m.flush()
  print("done; what failed: " +
        ("; ".join(s["name"] for s in m.out["steps"] if "error" in s) or
         "nothing"))
  return 0


def folder_of(m, module, *rest):
  return os.path.join(m.flags.folder, module["name"], *rest)


def build_all(m, modules):
  """Programs by (module, variant)."""
  flags, paths = m.flags, {}
  with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
    begun = {(module["name"], variant): pool.submit(
        machine.build_host if flags.host else machine.build,
        folder_of(m, module, variant, "program.cu"), flags.nvcc,
        flags.build_limit)
             for module, variant, _ in programs(modules)}
    for key, future in begun.items():
      path = m.step(f"build {' '.join(key)}", flags.build_limit, future.result)
      if path:
        paths[key] = path
  return paths


def draw_inputs(m, module):
  """Those that were not brought along."""
  inputs = folder_of(m, module, "inputs.npz")
  default = module["variants"].get("default", {})
  if not os.path.exists(inputs) and "inputs" in default:
    m.step(f"draw inputs of {module['name']}", 60,
           lambda limit: arrays.draw_inputs(default["inputs"], inputs))


def begin_workers(m, module):
  """What compiles the module elsewhere, while other steps run."""
  name, workers = module["name"], {}
  if not re.search(m.flags.others_for, name):
    return workers
  inputs = folder_of(m, module, "inputs.npz")
  kinds = [("xla", folder_of(m, module, "module.hlo"))]
  if name in TORCH_EXAMPLES:
    kinds.append(("torch", name))
  for kind, what in kinds:
    if kind in m.flags.without.split(","):
      continue
    worker = m.step(f"compile {name} with {kind}", m.flags.compile_limit,
                    lambda limit, kind=kind, what=what: machine.Worker(
                        kind, what, inputs,
                        folder_of(m, module, kind + ".npz"), limit))
    if worker:
      workers[kind, name] = worker
  return workers


def repeats(flags, facts):
  """Steps that are timed: fewer of what takes long to write inputs of."""
  if facts["memory_bytes"] > 2e8:
    return min(flags.repeat, 5)
  return min(flags.repeat, 10) if facts["memory_bytes"] > 2e7 else flags.repeat


def run_program(m, module, variant, facts, program):
  """Steps; kernel by kernel under the tracer; results beside the judge's."""
  name = module["name"]
  inputs = folder_of(m, module, "inputs.npz")
  results = folder_of(m, module, variant, "results.npz")
  timings = folder_of(m, module, variant, "timings.json")
  repeat = repeats(m.flags, facts)

  def action(key, *options):
    def timed(limit):
      run([program, inputs, results, f"--timings={timings}",
           f"--repeat={repeat}", *options], limit)
      with open(timings) as file:
        m.variant(name, variant)[key] = {**json.load(file), "repeat": repeat}
    return timed

  tracer = None if m.flags.host else machine.tracer(m.flags.folder)
  if facts["kernels"] > m.flags.graphs_from:
    m.step(f"run {name} {variant} without graphs", 60,
           action("no_graphs", "--graphs=0"))
  if not tracer or facts["kernels"] > m.flags.graphs_from or \
      facts["memory_bytes"] < m.flags.traced_only:
    m.step(f"run {name} {variant}", 60, action("timings"))
  if tracer:
    trace = folder_of(m, module, variant, "trace.txt")

    def traced(limit):
      kernels = machine.traced(tracer, trace, limit, [
          program, inputs, results, f"--timings={timings}",
          f"--repeat={min(repeat, 7)}"])
      m.variant(name, variant)["trace"] = kernels
      if "timings" not in m.variant(name, variant):
        with open(timings) as file:
          m.variant(name, variant)["timings"] = {
              **json.load(file), "repeat": min(repeat, 7), "traced": True}

    m.step(f"trace {name} {variant}", 60, traced)
    if m.flags.tf32 and multiplies_f32(program + ".cu"):

      def traced_tf32(limit):
        m.variant(name, variant)["tf32"] = machine.traced(
            tracer, trace + ".tf32", limit, [
                program, inputs, results + ".tf32", f"--timings={timings}",
                f"--repeat={min(repeat, 7)}", "--tf32"])

      m.step(f"trace {name} {variant} with --tf32", 60, traced_tf32)
  expected = folder_of(m, module, "expected.npz")
  if os.path.exists(expected) and os.path.exists(results):
    errors = m.step(f"compare {name} {variant}", 60,
                    lambda limit: arrays.compare(expected, results, arrays.TOLERANCE))
    m.variant(name, variant)["errors"] = errors
  if module["judge"] == "xla" and os.path.exists(results) and \
      ("xla" in m.flags.without.split(",") or
       not re.search(m.flags.others_for, name)):
    os.remove(results)  # Nobody will look at it.


def multiplies_f32(source):
  """Whether a program asks the library for products of f32."""
  with open(source) as file:
    return re.search(r"kProducts\[\] = \{[^;]*\{'f'", file.read()) is not None


def judge_all(m, modules):
  """XLA's and torch's results, and ours where only XLA can say."""
  for module in modules:
    expected = folder_of(m, module, "expected.npz")
    theirs = folder_of(m, module, "xla.npz")
    if module["judge"] == "xla":
      for variant in module["variants"]:
        results = folder_of(m, module, variant, "results.npz")
        if os.path.exists(theirs) and os.path.exists(results):
          m.variant(module["name"], variant)["errors"] = m.step(
              f"compare {module['name']} {variant} with XLA", 60,
              lambda limit: arrays.compare(theirs, results, arrays.LOOSE))
      continue
    for kind in ("xla", "torch"):
      theirs = folder_of(m, module, kind + ".npz")
      if os.path.exists(theirs) and os.path.exists(expected):
        m.module(module["name"]).setdefault(kind, {})["errors"] = m.step(
            f"compare {kind} {module['name']}", 60,
            lambda limit: arrays.compare(theirs, expected, arrays.LOOSE))


def check_all(m, modules, paths):
  """Sanitizers, several at once: what takes long first."""
  flags = m.flags
  if flags.host or not flags.sanitize_bytes:
    return
  todo = [(kind, module, variant) for module, variant, f in sorted(
      programs(modules), key=lambda item: -item[2]["kernels"])
          for kind in ("racecheck", "memcheck")
          if (module["name"], variant) in paths and
          f["memory_bytes"] <= flags.sanitize_bytes]

  def check(item):
    kind, module, variant = item
    results = folder_of(m, module, variant, kind + ".npz")
    answer = m.step(
        f"{kind} {module['name']} {variant}", flags.check_limit,
        lambda limit: machine.sanitize(
            kind, paths[module["name"], variant],
            folder_of(m, module, "inputs.npz"), results, limit))
    with m.lock:
      m.variant(module["name"], variant)[kind] = answer

  with concurrent.futures.ThreadPoolExecutor(flags.check_jobs) as pool:
    list(pool.map(check, todo))


def count_all(m, modules, paths):
  """Counters, which take long: small programs first."""
  if m.flags.host or m.flags.no_counters:
    return
  todo = [(module, variant, f) for module, variant, f in programs(modules)
          if (module["name"], variant) in paths and variant == "default"]
  todo.sort(key=lambda item: (item[2]["kernels"] < m.flags.graphs_from,
                              item[2]["kernels"], item[2]["memory_bytes"]))
  for module, variant, _ in todo:
    results = folder_of(m, module, variant, "checked.npz")
    m.variant(module["name"], variant)["counters"] = m.step(
        f"counters {module['name']} {variant}", m.flags.count_limit,
        lambda limit: machine.kernel_counters(
            paths[module["name"], variant],
            folder_of(m, module, "inputs.npz"), results, limit))
