#!/usr/bin/env python3
"""A table of schedules: peaks of XLA's algorithms and ours, bounds, seconds.

usage: schedules.py HLO_EXPLAIN MODULE.hlo... [flags]
       schedules.py HLO_EXPLAIN --scaling=1000,10000,100000 [flags]

HLO_EXPLAIN is the binary of //tools:hlo-explain, built with -c opt.

  --upstream=FILE.csv  lines `model,scheduler,instr_prepped,ms,
                       heapsim_peak_bytes`: peaks that another implementation
                       reports for the same modules; the last column says by how
                       much ours differ from them at most.
  --effort=N           of our scheduler, for all modules.
  --scaling=N,...      instead of modules: synthetic training steps of about N
                       instructions, and the processor seconds of the whole
                       process for each algorithm, reading and report included.

Figures are of modules after the pipeline `prepare`, which hlo-explain runs on
modules without a schedule. `ratio` is ours / default, `bound` the lower bound
for any order / default, `heap` what offsets need / most bytes live, the highest
of all orders and that of ours. Seconds are those of scheduling alone, by the
clock: ours, and ours with --effort=0.
Exit status 1: ours was above the default, or no order, on some module.
"""

import csv
import json
import math
import os
import subprocess
import sys
import tempfile

ALGORITHMS = ["list", "dfs", "postorder", "bfs", "default", "best"]


def explain(binary, path, algorithm, effort=None):
  command = [binary, path, "--json", "--schedule=" + algorithm]
  if effort is not None:
    command.append("--effort=%s" % effort)
  before = os.times()
  run = subprocess.run(command, capture_output=True, text=True)
  after = os.times()
  if run.returncode != 0:
    raise RuntimeError(run.stderr.strip()[:200])
  report = json.loads(run.stdout)
  report["processor_seconds"] = (
      after.children_user + after.children_system - before.children_user -
      before.children_system)
  return report


def number(report, key):
  return float(report.get(key, 0))


def heap(report):
  return number(report, "heap_bytes") / max(1, number(report,
                                                      "lower_bound_bytes"))


def read_upstream(path):
  peaks = {}
  with open(path) as lines:
    for row in csv.DictReader(lines):
      peaks[row["model"], row["scheduler"]] = int(row["heapsim_peak_bytes"])
  return peaks


def table(binary, paths, options):
  upstream = read_upstream(options["upstream"]) if "upstream" in options else {}
  row = "%-38s %7s" + " %9s" * 6 + " %7s %7s %8s %8s %7s %7s %-15s %s"
  print(row % ("module (GiB)", "instr", "list", "dfs", "postorder", "bfs",
               "default", "ours", "ratio", "bound", "heap", "of ours", "seconds",
               "quick", "by", "upstream"))
  ratios = []
  failed = []
  for path in paths:
    model = os.path.splitext(os.path.basename(path))[0]
    try:
      reports = {a: explain(binary, path, a) for a in ALGORITHMS[:-1]}
      best = explain(binary, path, "best", options.get("effort"))
      quick = explain(binary, path, "best", 0)
    except RuntimeError as error:
      failed.append(model)
      print("%-38s failed: %s" % (model, error))
      continue
    reports["best"] = best
    peaks = {a: number(reports[a], "peak_bytes") for a in ALGORITHMS}
    off = [abs(peaks[a] / upstream[model, a] - 1)
           for a in ALGORITHMS if upstream.get((model, a))]
    default = max(1, peaks["default"])
    ratios.append(peaks["best"] / default)
    print(row % (
        (model, "%d" % number(best, "instruction_count")) +
        tuple("%.4f" % (peaks[a] / 2**30) for a in ALGORITHMS) +
        ("%.4f" % ratios[-1],
         "%.4f" % (number(best, "any_order_lower_bound_bytes") / default),
         "%.5f" % max(heap(r) for r in reports.values()),
         "%.5f" % heap(best),
         "%.3f" % number(best, "schedule_seconds"),
         "%.3f" % number(quick, "schedule_seconds"),
         best.get("schedule_winner", ""),
         "%.3f %%" % (100 * max(off)) if off else "-")), flush=True)
  if ratios:
    mean = math.exp(sum(math.log(max(r, 1e-9)) for r in ratios) / len(ratios))
    print("geometric mean of ours / default: %.4f, highest %.4f, %d modules" %
          (mean, max(ratios), len(ratios)))
  return not failed and ratios and max(ratios) <= 1


def synthetic_step(instructions):
  """A residual network and its gradients, nine instructions a layer."""
  layers = max(1, instructions // 9)
  lines = ["HloModule synthetic", "sum {", "  x = f32[] parameter(0)",
           "  y = f32[] parameter(1)", "  ROOT s = f32[] add(x, y)", "}",
           "ENTRY main {", "  zero = f32[] constant(0)",
           "  h_0 = f32[64,64] parameter(0)", "  w = f32[64,64] parameter(1)"]
  def add(name, text, dims="64,64"):
    lines.append("  %s = f32[%s] %s" % (name, dims, text))
  for i in range(1, layers + 1):
    add("f_%d" % i, "multiply(h_%d, w)" % (i - 1))
    add("g_%d" % i, "tanh(f_%d)" % i)
    add("k_%d" % i, "exponential(f_%d)" % i)
    add("h_%d" % i, "add(g_%d, h_%d)" % (i, i - 1))
  add("b_%d" % (layers + 1), "negate(h_%d)" % layers)
  for i in range(layers, 0, -1):
    add("c_%d" % i, "multiply(b_%d, g_%d)" % (i + 1, i))
    add("e_%d" % i, "subtract(c_%d, k_%d)" % (i, i))
    add("b_%d" % i, "add(e_%d, b_%d)" % (i, i + 1))
    add("t_%d" % i, "multiply(e_%d, h_%d)" % (i, i - 1))
    add("r_%d" % i, "reduce(t_%d, zero), dimensions={0,1}, to_apply=sum" % i, "")
  names = ["r_%d" % i for i in range(1, layers + 1)]
  lines.append("  ROOT all = (%s) tuple(%s)" %
               (", ".join(["f32[]"] * layers), ", ".join(names)))
  lines.append("}")
  return "\n".join(lines) + "\n"


def scaling(binary, sizes, options):
  row = "%8s" + " %9s" * (len(ALGORITHMS) + 1) + " %9s"
  print(row % (("instr",) + tuple(ALGORITHMS) + ("quick", "us/instr")))
  with tempfile.TemporaryDirectory() as folder:
    for size in sizes:
      path = os.path.join(folder, "synthetic_%d.hlo" % size)
      with open(path, "w") as out:
        out.write(synthetic_step(size))
      reports = [explain(binary, path, a, options.get("effort"))
                 for a in ALGORITHMS]
      reports.append(explain(binary, path, "best", 0))
      count = number(reports[0], "instruction_count")
      seconds = [number(r, "processor_seconds") for r in reports]
      print(row % (("%d" % count,) + tuple("%.3f" % s for s in seconds) +
                   ("%.1f" % (1e6 * seconds[-2] / count),)), flush=True)
  return True


def main(arguments):
  options = dict(a[2:].split("=", 1) for a in arguments
                 if a.startswith("--") and "=" in a)
  names = [a for a in arguments if not a.startswith("--")]
  if len(names) == 1 and "scaling" in options:
    sizes = [int(size) for size in options["scaling"].split(",")]
    sys.exit(0 if scaling(names[0], sizes, options) else 1)
  if len(names) < 2:
    sys.exit(__doc__)
  sys.exit(0 if table(names[0], names[1:], options) else 1)


if __name__ == "__main__":
  main(sys.argv[1:])
