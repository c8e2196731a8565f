#!/usr/bin/env python3
"""Compares pipeline gpu with XLA:GPU, module by module.

usage: xla_gpu.py HLO_OPT KERNEL_COUNT [MODULE...]

HLO_OPT and KERNEL_COUNT are the binaries of //tools:hlo-opt and
//tools/bench:kernel_count, built with -c opt. HLO_CORPUS is a folder of
modules: NAME.hlo, and in its folder upstream/gpu, for some of them, XLA:GPU's
modules right before fusion, NAME.before_fusion.hlo, and after it,
NAME.after_fusion.hlo. Without MODULE, all modules that have all three;
examples/NAME.hlo is used if the folder has no such module.

Two comparisons, both after fusion and before scheduling:

  alike   our fusion passes on XLA's own module before fusion
  whole   pipeline gpu, up to fusion, on the module as a framework wrote it

Per module: kernels and bytes of XLA, counted by KERNEL_COUNT on both sides
(with trip counts; copies separately), the ratio of ours to XLA's, and
milliseconds of processor time of our priority and multi-output fusion; with
--figures, XLA's of multi-output fusion. Last, the geometric means of the
ratios, without modules that have loops of unknown trip count.

  --figures=FILE.csv  XLA's figures for modules without these texts: lines
                      `module,xla_kernels_after_fusion,xla_bytes_after_fusion`
                      and perhaps `xla_multi_output_fusion_ms`
  --keep=FOLDER       keep our modules in this folder
  --timeout=SECONDS   limit per module (300)
"""

import csv
import json
import math
import os
import subprocess
import sys
import tempfile

FUSION = ("priority-fusion,hlo-cse,hlo-dce,"
          "multi-output-fusion{order=best},hlo-cse,hlo-dce")
FUSION_PASSES = ("priority-fusion", "multi-output-fusion")
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "..", "..", "examples")


def run(command, timeout):
  try:
    result = subprocess.run(command, capture_output=True, text=True,
                            timeout=timeout)
  except subprocess.TimeoutExpired:
    raise RuntimeError(f"takes more than {timeout} s")
  if result.returncode != 0:
    lines = result.stderr.strip().splitlines() or ["no message"]
    raise RuntimeError(lines[0][:160])
  return result.stdout


def steps_up_to_fusion(hlo_opt):
  """The steps of pipeline gpu that end with fusion, as text."""
  steps = []
  for line in run([hlo_opt, "--list-pipeline=gpu"], 60).splitlines():
    words = line.split(None, 1)
    if len(words) == 2 and words[0].isdigit():
      steps.append(words[1].strip())
    elif line.startswith("order:"):
      break
  last = max(i for i, step in enumerate(steps)
             if step.startswith("multi-output-fusion"))
  return ",".join(steps[:last + 1] + ["hlo-cse", "hlo-dce"])


def count(kernel_count, path, timeout):
  """(kernels, bytes, loops of unknown length) of a module as it is."""
  rows = list(csv.DictReader(run([kernel_count, path],
                                 timeout).splitlines()))
  return (float(rows[0]["kernels"]), float(rows[0]["bytes"]),
          int(rows[0]["unknown_loops"]))


def ours(hlo_opt, kernel_count, path, passes, out, timeout):
  """(kernels, bytes, unknown loops, ms by fusion pass) after passes."""
  report = json.loads(run([hlo_opt, path, "--num-partitions=1",
                           f"--passes={passes}", "--report=json", "--time",
                           "-o", out], timeout))
  times = [1000 * sum(entry["cpu_seconds"] for entry in report["passes"]
                      if entry["name"] == name) for name in FUSION_PASSES]
  return (*count(kernel_count, out, timeout), times)


def find(corpus, name):
  for folder in (corpus, EXAMPLES):
    path = os.path.join(folder, name + ".hlo")
    if os.path.exists(path):
      return path
  return None


def geometric_mean(ratios):
  if not ratios:
    return float("nan")
  return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))


def row(name, kind, xla, own, xla_ms, means):
  kernels, size = own[0] / xla[0], own[1] / xla[1]
  priority, outputs = own[3]
  if own[2] == 0:
    means.setdefault(kind, []).append((kernels, size))
  print(f"{name:38} {kind:6} {xla[0]:9.0f} {own[0]:9.0f} {kernels:6.2f}"
        f" {xla[1]:12.4g} {own[1]:12.4g} {size:6.3f} {priority:8.1f}"
        f" {outputs:8.1f}"
        f" {xla_ms:>8}"
        f"{' loops of unknown length' if own[2] else ''}", flush=True)


def main():
  arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
  options = dict(a[2:].split("=", 1) for a in sys.argv[1:]
                 if a.startswith("--") and "=" in a)
  corpus = os.environ.get("HLO_CORPUS")
  if len(arguments) < 2 or not corpus:
    print(__doc__)
    return 1
  hlo_opt, kernel_count = arguments[:2]
  timeout = float(options.get("timeout", 300))
  upstream = os.path.join(corpus, "upstream", "gpu")
  figures = {}
  xla_ms = {}
  if "figures" in options:
    with open(options["figures"]) as file:
      for line in csv.DictReader(file):
        figures[line["module"]] = (float(line["xla_kernels_after_fusion"]),
                                   float(line["xla_bytes_after_fusion"]))
        xla_ms[line["module"]] = line.get("xla_multi_output_fusion_ms") or ""
  names = arguments[2:] or sorted(
      {f[:-len(".after_fusion.hlo")] for f in os.listdir(upstream)
       if f.endswith(".after_fusion.hlo")} | set(figures))
  folder = options.get("keep") or tempfile.mkdtemp()
  os.makedirs(folder, exist_ok=True)
  whole = steps_up_to_fusion(hlo_opt)
  print(f"{'module':38} {'what':6} {'kernels':>9} {'ours':>9} {'ratio':>6}"
        f" {'bytes':>12} {'ours':>12} {'ratio':>6} {'priority':>8}"
        f" {'outputs':>8} {'XLA':>8} ms")
  means = {}
  for name in names:
    before = os.path.join(upstream, name + ".before_fusion.hlo")
    after = os.path.join(upstream, name + ".after_fusion.hlo")
    raw = find(corpus, name)
    for kind, path, passes in (("alike", before, FUSION),
                               ("whole", raw, whole)):
      if path is None or not os.path.exists(path):
        continue
      try:
        if os.path.exists(after):
          xla = count(kernel_count, after, timeout)
        elif name in figures:
          xla = figures[name]
        else:
          continue
        out = os.path.join(folder, f"{name}.{kind}.hlo")
        row(name, kind, xla,
            ours(hlo_opt, kernel_count, path, passes, out, timeout),
            xla_ms.get(name, ""), means)
      except RuntimeError as error:
        print(f"{name:38} {kind:6} {error}", flush=True)
  for kind, ratios in means.items():
    print(f"{'geometric mean':38} {kind:6} {'':19}"
          f" {geometric_mean([r[0] for r in ratios]):6.2f} {'':25}"
          f" {geometric_mean([r[1] for r in ratios]):6.3f}")
  return 0


if __name__ == "__main__":
  sys.exit(main())
