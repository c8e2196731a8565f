"""The steps on the machine that has the GPU, each with its own limit."""

import concurrent.futures
import json
import os
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
  paths, workers = build_all(m, modules)
  if not flags.host:
    m.out["floor"] = m.step("copy bandwidth", 60,
                            lambda limit: machine.run_floor(
                                os.path.join(flags.folder, "gpu_bench",
                                             "floor.cu"), flags.nvcc, limit))
  for module, variant, facts_ in programs(modules):
    if (module["name"], variant) in paths:
      run_program(m, module, variant, paths[module["name"], variant])
  for (kind, name), worker in workers.items():
    found = m.step(f"{kind} {name}", 90, worker.time)
    if found:
      m.module(name)[kind] = found
    worker.close()
  judge_all(m, modules)
  check_all(m, modules, paths)
  m.flush()
  print("done; what failed: " +
        ("; ".join(s["name"] for s in m.out["steps"] if "error" in s) or
         "nothing"))
  return 0


def folder_of(m, module, *rest):
  return os.path.join(m.flags.folder, module["name"], *rest)


def build_all(m, modules):
  """Programs by (module, variant), workers by (kind, module)."""
  flags, paths, workers = m.flags, {}, {}
  with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool, \
      concurrent.futures.ThreadPoolExecutor(flags.worker_jobs) as worker_pool:
    begun = {(module["name"], variant): pool.submit(
        machine.build_host if flags.host else machine.build,
        folder_of(m, module, variant, "program.cu"), flags.nvcc,
        flags.build_limit)
             for module, variant, _ in programs(modules)}
    for found in worker_pool.map(lambda module: begin_workers(m, module),
                                 modules):
      workers.update(found)
    for key, future in begun.items():
      path = m.step(f"build {' '.join(key)}", flags.build_limit, future.result)
      if path:
        paths[key] = path
  return paths, workers


def begin_workers(m, module):
  """The inputs, if there are none, and what compiles the module elsewhere."""
  name, workers = module["name"], {}
  inputs = folder_of(m, module, "inputs.npz")
  default = module["variants"].get("default", {})
  if not os.path.exists(inputs) and "inputs" in default:
    m.step(f"draw inputs of {name}", 60,
           lambda limit: arrays.draw_inputs(default["inputs"], inputs))
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


def run_program(m, module, variant, program):
  name = module["name"]
  inputs = folder_of(m, module, "inputs.npz")
  results = folder_of(m, module, variant, "results.npz")
  timings = folder_of(m, module, variant, "timings.json")

  def action(key, *options):
    def timed(limit):
      run([program, inputs, results, f"--timings={timings}",
           f"--repeat={m.flags.repeat}", *options], limit)
      with open(timings) as file:
        m.variant(name, variant)[key] = json.load(file)
    return timed

  m.step(f"run {name} {variant} without graphs", 60,
         action("no_graphs", "--graphs=0"))
  m.step(f"run {name} {variant}", 60, action("timings"))
  expected = folder_of(m, module, "expected.npz")
  if os.path.exists(expected) and os.path.exists(results):
    errors = m.step(f"compare {name} {variant}", 60,
                    lambda limit: arrays.compare(expected, results, arrays.TOLERANCE))
    m.variant(name, variant)["errors"] = errors


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
  """Sanitizers and counters, which take long: small programs first."""
  if m.flags.host:
    return
  todo = [(module, variant, f) for module, variant, f in programs(modules)
          if (module["name"], variant) in paths]
  todo.sort(key=lambda item: (item[1] != "default", item[2]["kernels"],
                              item[2]["memory_bytes"]))
  for kind, action in (
      ("memcheck", lambda *a: machine.sanitize("memcheck", *a)),
      ("racecheck", lambda *a: machine.sanitize("racecheck", *a)),
      ("counters", machine.kernel_counters)):
    for module, variant, f in todo:
      if kind == "counters" and variant != "default":
        continue
      if f["memory_bytes"] > m.flags.sanitize_bytes and kind != "counters":
        continue
      results = folder_of(m, module, variant, "checked.npz")
      answer = m.step(
          f"{kind} {module['name']} {variant}", 60, lambda limit: action(
              paths[module["name"], variant],
              folder_of(m, module, "inputs.npz"), results, limit))
      m.variant(module["name"], variant)[kind] = answer
