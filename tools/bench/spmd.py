#!/usr/bin/env python3
"""Prints a table of partitioned modules and their communication.

usage: spmd.py HLO_OPT MODULE.hlo|FOLDER... [flags]
       spmd.py HLO_OPT --scaling=8,64,1024,8192
       spmd.py HLO_OPT --shardings=1,2,4,8,16

HLO_OPT is the binary of //tools:hlo-opt, built with -c opt. For a
folder, all modules in it with several partitions that are not partitioned yet.

  --partitions=N     overrides the headers
  --mesh=2x4         device mesh, for times (hlo-opt --mesh)
  --against=FILE.csv lines `module,partitions,kind,count_with_trips,
                     bytes_per_device,...` of another partitioner to
                     compare with, or `model,partitions,..,all_reduce,
                     all_gather,..` with counts only; modules are named as their
                     files
  --xla=PYTHON       compare with XLA's own partitioner, by this Python, which
                     has jaxlib (tools/interop/python.sh prints one); hlo-explain
                     must be beside HLO_OPT
  --same-shardings   with --xla: partition what XLA has propagated shardings in,
                     which may be other ones than the module's
  --scaling=N,...    instead of modules: a training step of two layers,
                     partitioned over these numbers of devices
  --shardings=K,...  instead of modules: one array that K readers want in
                     other shardings, of 64 devices in permuted order each

Per module: bytes per device, those of the other partitioner, their ratio, the
lower bound, values that are replicated (because shardings require it, because
it is cheapest, or because no rule partitions their users), peak per device,
milliseconds of propagation and partitioning (also as microseconds per
instruction), with the other partitioner's if FILE.csv has them. By kind:
number of collectives, runs (in loops once per trip), bytes per device, and the
other partitioner's. Last, the geometric mean of the ratios (of modules for which
both send something), and the sums over the modules that both partition.
"""

import atexit
import csv
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

KINDS = ("all-gather", "reduce-scatter", "all-reduce", "all-to-all",
         "collective-permute", "collective-broadcast")

NOTHING = {"collectives": {}, "replications": {}, "bytes_per_device": 0,
           "lower_bound_bytes_per_device": 0, "full_replications": 0,
           "peak_bytes_per_device": 0, "seconds": 0}


def run(command):
  result = subprocess.run(command, capture_output=True, text=True)
  if result.returncode != 0:
    raise RuntimeError(result.stderr.strip().splitlines()[0][:200])
  return result.stdout


def milliseconds(binary, path, flags):
  """Of propagation, and of partitioning."""
  report = json.loads(run([binary, path, "--report=json", "--time", *flags]))
  return [1000 * sum(entry["seconds"] for entry in report["passes"]
                     if entry["name"] == name)
          for name in ("factor-propagation", "spmd-partitioning")]


def instructions_in(binary, path):
  return run([binary, path, "-o", "-"]).count(" = ")


def partitioned(binary, path, flags):
  report = json.loads(run([binary, path, "--explain=spmd-partitioning",
                           "--explain-format=json", *flags]))
  reports = report.get("reports", [])
  # What is 0 or empty is left out.
  return {**NOTHING, **reports[0]} if reports else None


def human(size):
  for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
    if size < 1024 or unit == "TiB":
      return f"{size:.1f} {unit}" if unit != "B" else f"{size:.0f} B"
    size /= 1024
  return ""


def modules_of(paths):
  for path in paths:
    if not os.path.isdir(path):
      yield path
      continue
    for name in sorted(os.listdir(path)):
      if not name.endswith(".hlo"):
        continue
      with open(os.path.join(path, name)) as file:
        if "num_partitions=" in file.readline():
          yield os.path.join(path, name)


def theirs_of(path):
  """{module: {kind: bytes}}, {module: {kind: count}} and {module: [us per
  instruction of propagation, of partitioning]} of another one."""
  theirs, counts, times = {}, {}, {}
  if path:
    with open(path) as file:
      for row in csv.DictReader(file):
        if "model" in row:
          counts[row["model"]] = {
              kind: int(row[kind.replace("-", "_")]) for kind in KINDS
              if kind.replace("-", "_") in row}
          times[row["model"]] = [
              1000 * float(row[phase]) / float(row["instr_prepped"])
              for phase in ("sharding_propagation_ms", "spmd_partition_ms")]
          continue
        kinds = theirs.setdefault(row["module"], {})
        kinds[row["kind"]] = kinds.get(row["kind"], 0) + float(
            row["bytes_per_device"])
  return theirs, counts, times


def theirs_of_xla(python, binary, paths, before):
  """The same, of XLA itself, which leaves what it partitions in `before`."""
  tools = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
  with tempfile.NamedTemporaryFile("r", suffix=".csv") as file:
    explain = os.path.join(os.path.dirname(os.path.abspath(binary)),
                           "hlo-explain")
    subprocess.run([python, os.path.join(tools, "interop", "xla_spmd.py"),
                    f"--hlo-explain={explain}", "-o", file.name,
                    f"--before={before}", *paths],
                   check=True)
    return theirs_of(file.name)


def sums(rows):
  """A table by kind of [(our collectives, bytes of theirs)]."""
  print(f"{len(rows)} modules{'count':>10}{'runs':>10}{'bytes':>14}"
        f"{'other':>14}")
  all_ours = all_theirs = 0
  for kind in KINDS:
    entries = [ours.get(kind, {}) for ours, _ in rows]
    ours = sum(e.get("bytes_per_device", 0) for e in entries)
    theirs = sum(other.get(kind, 0) for _, other in rows)
    all_ours += ours
    all_theirs += theirs
    print(f"  {kind:20}{sum(e.get('count', 0) for e in entries):6.0f}"
          f"{sum(e.get('runs', 0) for e in entries):10.0f}"
          f"{human(ours):>14}{human(theirs):>14}")
  print(f"  {'all':36}{human(all_ours):>14}{human(all_theirs):>14}")


def two_layers(devices):
  """The text of a step that is cut over batches and columns."""
  rows = 2 if devices < 64 else 8
  columns = devices // rows
  batch = f"sharding={{devices=[{rows},1,{columns}]<=[{devices}] " \
          "last_tile_dim_replicate}"
  column = f"sharding={{devices=[1,{columns},{rows}]<=[{rows},{columns}]T(1,0) " \
           "last_tile_dim_replicate}"
  return f"""HloModule two_layers, num_partitions={devices}
ENTRY e {{
  x = f32[{64 * rows},1024] parameter(0), {batch}
  v = f32[1024,{16 * columns}] parameter(1), {column}
  w = f32[{16 * columns},1024] parameter(2)
  d = f32[{64 * rows},{16 * columns}] dot(x, v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  h = f32[{64 * rows},{16 * columns}] tanh(d)
  y = f32[{64 * rows},1024] dot(h, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT g = f32[{16 * columns},1024] dot(h, y), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
}}
"""


def many_shardings(count):
  """The text of one array with `count` other shardings on 64 devices."""
  generator = random.Random(5)
  axes = 6
  shardings = []
  while len(shardings) < count:
    tiles = [1, 1, 1, 1]
    for _ in range(axes):
      tiles[generator.randrange(4)] *= 2
    order = list(range(axes))
    generator.shuffle(order)
    copies = " last_tile_dim_replicate" if tiles[3] > 1 else ""
    dims = tiles if copies else tiles[:3]
    sharding = (f"{{devices=[{','.join(map(str, dims))}]"
                f"<=[{','.join(['2'] * axes)}]T({','.join(map(str, order))})"
                f"{copies}}}")
    if sharding not in shardings:
      shardings.append(sharding)
  array = "f32[4096,4096,4096]"
  readers = "".join(f"  r{i} = {array} negate(p), sharding={sharding}\n"
                    for i, sharding in enumerate(shardings))
  return f"""HloModule many_shardings, num_partitions=64
ENTRY e {{
  p = {array} parameter(0), sharding={{devices=[64,1,1]<=[64]}}
{readers}  ROOT t = ({', '.join([array] * count)}) tuple({', '.join(
    f'r{i}' for i in range(count))}), sharding={{{', '.join(shardings)}}}
}}
"""


def scaling(binary, name, sizes, text_of):
  print(f"{name:>9}{'instructions':>14}{'propagation':>13}"
        f"{'partitioning':>14}{'bytes/device':>16}")
  for size in sizes:
    with tempfile.NamedTemporaryFile("w", suffix=".hlo") as file:
      file.write(text_of(size))
      file.flush()
      flags = ["--pipeline=spmd"]
      report = partitioned(binary, file.name, flags)
      spread, cut = milliseconds(binary, file.name, flags)
      after = run([binary, file.name, *flags, "-o", "-"])
    print(f"{size:9}{after.count(' = '):14}{spread:10.2f} ms{cut:11.2f} ms"
          f"{human(report['bytes_per_device']):>16}")


def main():
  arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
  options = dict(a[2:].split("=", 1) for a in sys.argv[1:]
                 if a.startswith("--") and "=" in a)
  if not arguments:
    print(__doc__)
    return 1
  binary, paths = arguments[0], arguments[1:]
  for option, name, text_of in (
      ("scaling", "devices", two_layers),
      ("shardings", "shardings", many_shardings)):
    if option in options:
      scaling(binary, name, map(int, options[option].split(",")), text_of)
      return 0
  same = "--same-shardings" in sys.argv
  flags = ["--passes=spmd-partitioning" if same else "--pipeline=spmd"]
  if "partitions" in options:
    flags.append(f"--num-partitions={options['partitions']}")
  if "mesh" in options:
    flags.append(f"--mesh={options['mesh']}")
  paths = list(modules_of(paths))
  theirs, counts, times = theirs_of(options.get("against"))
  if "xla" in options:
    before = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, before)
    theirs.update(theirs_of_xla(options["xla"], binary, paths, before)[0])
    if same:
      paths = list(modules_of([before]))
  ratios, rows = [], []
  for path in paths:
    name = os.path.splitext(os.path.basename(path))[0]
    try:
      report = partitioned(binary, path, flags)
      if report is None:
        continue
      phases = milliseconds(binary, path, flags)
    except RuntimeError as error:
      print(f"{name}: {error}")
      continue
    ours = report["bytes_per_device"]
    line = f"{name}: {human(ours)} per device"
    other = theirs.get(name)
    if other:
      total = sum(other.values())
      rows.append((report["collectives"], other))
      line += f", other {human(total)}"
      if total > 0 and ours > 0:
        ratios.append(ours / total)
        line += f", ratio {ours / total:.3f}"
    whys = ", ".join(f"{count} {why}"
                     for why, count in report["replications"].items())
    print(f"{line}, at least {human(report['lower_bound_bytes_per_device'])}, "
          f"{report['full_replications']} made whole ({whys}), peak "
          f"{human(report['peak_bytes_per_device'])}, "
          f"{1000 * report['seconds']:.3g} ms on {report['mesh']}, "
          f"{sum(phases):.0f} ms to make")
    each = [1000 * phase / instructions_in(binary, path) for phase in phases]
    line = (f"  us per instruction     {each[0]:.1f} propagation, {each[1]:.1f} "
            "partitioning")
    if name in times:
      line += f"   other {times[name][0]:.1f}, {times[name][1]:.1f}"
    print(line)
    their_counts = counts.get(name)
    for kind in KINDS:
      entry = report["collectives"].get(kind, {})
      beside = (other or {}).get(kind, 0)
      count = (their_counts or {}).get(kind, 0)
      if not entry.get("count") and not beside and not count:
        continue
      print(f"  {kind:22}{entry.get('count', 0):6.0f}"
            f"{entry.get('runs', 0):10.0f}"
            f"{human(entry.get('bytes_per_device', 0)):>14}"
            + (f"{human(beside):>14}" if other else "")
            + (f"   other {count}" if their_counts else ""))
  if ratios:
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean of {len(ratios)} ratios: {mean:.3f}")
  if len(rows) > 1:
    sums(rows)
  return 0


if __name__ == "__main__":
  sys.exit(main())
