"""Builds and tools of the machine that has the GPU."""

import concurrent.futures
import csv
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time

from gpu_bench.common import run

HERE = os.path.dirname(os.path.abspath(__file__))
COUNTERS = {"gpu__time_duration.sum": "us", "dram__bytes.sum": "bytes",
            "launch__registers_per_thread": "registers",
            "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy"}


def facts(limit):
  answer = {"date": time.strftime("%Y-%m-%d"), "host": platform.machine()}
  for name, command in (
      ("gpu", ["nvidia-smi", "--query-gpu=name,driver_version,memory.total",
               "--format=csv,noheader"]),
      ("nvcc", ["nvcc", "--version"])):
    try:
      answer[name] = run(command, limit).strip().splitlines()[-1]
    except RuntimeError as error:
      answer[name] = str(error)[:200]
  return answer


def build(source, nvcc, limit):
  """The program of a file; one that was brought along, if it runs here."""
  path = source[:-len(".cu")]
  if os.path.exists(path):
    try:
      if subprocess.run([path, "--help"], stderr=subprocess.DEVNULL,
                        timeout=60).returncode in (0, 2):
        return path
    except (OSError, subprocess.TimeoutExpired):
      pass
  folder = os.path.dirname(source)
  if os.path.exists(os.path.join(folder, "Makefile")):
    run(["make", "-s", "-B", "-C", folder, "program",
         f"NVCC={nvcc} -split-compile=0"], limit)
  else:
    run([*nvcc.split(), "-std=c++17", "-O3", "-arch=sm_90", "-o", path, source],
        limit)
  return path


def build_host(source, nvcc, limit):
  del nvcc
  run(["make", "-s", "-C", os.path.dirname(source), "host"], limit)
  return os.path.join(os.path.dirname(source), "host")


def run_floor(source, nvcc, limit):
  """What floor.cu says of copies and launches."""
  return json.loads(run([build(source, nvcc, limit)], limit))


class Worker:
  """worker.py on one module: compiled, and waiting to be timed."""

  def __init__(self, kind, what, inputs, results, limit):
    env = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false",
               PYTHONUNBUFFERED="1")
    self.log = open(results + ".log", "w+")
    self.process = subprocess.Popen(
        [sys.executable, os.path.join(HERE, "worker.py"), kind, what, inputs,
         results], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=self.log, text=True, env=env)
    self.compiled = self.answer(limit)

  def answer(self, limit):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
      line = pool.submit(self.process.stdout.readline)
      try:
        text = line.result(limit)
      except concurrent.futures.TimeoutError:
        self.close()  # Which ends the line, too.
        raise RuntimeError(f"takes more than {limit:.0f} s")
    if not text and self.process.wait() == 0:
      return None
    if not text.startswith("{"):
      self.log.seek(0)
      raise RuntimeError("died: " + self.log.read().strip()[-800:])
    return json.loads(text)

  def time(self, limit):
    """All that it answers, as far as it comes."""
    end = time.time() + limit
    self.process.stdin.write("go\n")
    self.process.stdin.flush()
    found, answer = dict(self.compiled), {}
    try:
      while answer is not None:
        found.update(answer)
        answer = self.answer(max(1, end - time.time()))
    except RuntimeError as error:
      if "step_microseconds" not in found:
        raise
      found["cut_off"] = str(error)[-300:]
    finally:
      self.close()
    return found

  def close(self):
    self.process.kill()
    self.process.wait()


def sanitize(tool, program, inputs, results, limit):
  """Its summary; what it found, if anything, is in the file beside results."""
  result = subprocess.run(
      ["compute-sanitizer", "--tool", tool, "--print-limit", "20", program,
       inputs, results], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
      text=True, timeout=limit)
  summary = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (.*)", result.stdout)
  if not summary:
    raise RuntimeError(result.stdout.strip()[-800:])
  clean = summary[-1].startswith("0 ")
  return {"summary": summary[-1], "clean": clean,
          **({} if clean else {"found": result.stdout[:6000]})}


def build_tracer(folder, cupti, limit):
  """trace_main.cc with CUPTI out of a folder of include/ and lib/."""
  folder = os.path.join(folder, "gpu_bench")
  library = os.path.join(cupti, "lib", "libcupti.so.13")
  run(["g++", "-std=c++17", "-O1", "-fPIC", "-shared", "-I",
       os.path.join(cupti, "include"), "-o", os.path.join(folder, "libtrace.so"),
       os.path.join(folder, "trace_main.cc"), library], limit)
  shutil.copy(library, folder)


def tracer(folder):
  """The library that trace_main.cc becomes, if it was built; else None."""
  path = os.path.join(folder, "gpu_bench", "libtrace.so")
  return os.path.abspath(path) if os.path.exists(path) else None


def traced(library, path, limit, command):
  """What trace_main.cc says of a program's kernels, in the order in which they ran.

  {"kernels": {name: {us: median as played from graphs, us_alone: outside of
  them, launches: in a step, blocks, ...}}, "gap": median microseconds between
  two of a graph}. Names are those of programs; those of a library's kernels are
  its own, cut off.
  """
  folder = os.path.dirname(library)
  env = dict(os.environ, CUDA_INJECTION64_PATH=library, TRACE_FILE=path,
             LD_LIBRARY_PATH=folder + os.pathsep +
             os.environ.get("LD_LIBRARY_PATH", ""))
  if os.path.exists(path):
    os.remove(path)
  run(command, limit, env=env)
  with open(path) as file:
    records = [line.split() for line in file]
  records = sorted(([r[0], *map(int, r[-8:])] for r in records
                    if len(r) >= 9), key=lambda r: r[1])
  kernels, gaps = {}, []
  for before, record in zip([None] + records, records):
    name, begin, end, graph, *rest = record
    k = kernels.setdefault(demangled(name), {"graph": [], "alone": []})
    k["graph" if graph else "alone"].append((end - begin) / 1e3)
    k.update(zip(("blocks", "threads", "registers", "local_bytes",
                  "shared_bytes"), rest))
    if graph and before is not None and before[3] == graph:
      gaps.append((begin - before[2]) / 1e3)
  kernels.pop("kir_nothing", None)
  for k in kernels.values():
    graph, alone = k.pop("graph"), k.pop("alone")
    # The first one loads the code.
    k["alone_us"] = statistics.median(alone[1:] or alone) if alone else None
    k["us"] = statistics.median(graph) if graph else k["alone_us"]
    k["times"] = len(graph or alone)
    k["least_us"] = min(graph or alone)
  return {"kernels": kernels,
          "gap_us": statistics.median(gaps) if gaps else None}


def demangled(name):
  """`_Z8f_kernelPKf…` -> `f`."""
  found = re.match(r"_Z(\d+)", name)
  if found:
    name = name[found.end():found.end() + int(found.group(1))]
  return re.sub(r"_kernel$", "", name)


def kernel_counters(program, inputs, results, limit):
  """{kernel: {us, bytes, ...}}: its launches' medians."""
  out = run(["ncu", "--clock-control", "none", "--cache-control", "none",
             "--csv", "--metrics", ",".join(COUNTERS), "--print-units", "base",
             # Without --timings, which launches empty kernels, too.
             program, inputs, results, "--graphs=0"], limit)
  lines = out.splitlines()
  start = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
  found = {}
  for row in csv.DictReader(lines[start:]):
    name = re.sub(r"_kernel(\(.*)?$", "", row["Kernel Name"], flags=re.S)
    value = float(row["Metric Value"].replace(",", ""))
    key = COUNTERS[row["Metric Name"]]
    found.setdefault(name, {}).setdefault(key, []).append(
        value / 1e3 if key == "us" else value)
  return {name: {"launches": len(k["us"]),
                 **{key: statistics.median(values)
                    for key, values in k.items()}}
          for name, k in found.items()}
