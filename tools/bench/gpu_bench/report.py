"""Tables of what was measured."""

import json
import math
import statistics


def ranks(values):
  order = sorted(range(len(values)), key=values.__getitem__)
  result, begin = [0.0] * len(values), 0
  while begin < len(order):
    end = begin
    while end < len(order) and values[order[end]] == values[order[begin]]:
      end += 1
    for k in range(begin, end):
      result[order[k]] = (begin + end - 1) / 2
    begin = end
  return result


def spearman(a, b):
  a, b = ranks(a), ranks(b)
  mean = (len(a) - 1) / 2
  ab = sum((x - mean) * (y - mean) for x, y in zip(a, b))
  aa = sum((x - mean) ** 2 for x in a)
  bb = sum((y - mean) ** 2 for y in b)
  return ab / math.sqrt(aa * bb) if aa > 0 and bb > 0 else float("nan")


def table(header, rows):
  print("| " + " | ".join(header) + " |")
  print("|" + " --- |" * len(header))
  for row in rows:
    print("| " + " | ".join(row) + " |")
  print()


def number(value, digits=3):
  if value is None or value != value:
    return "-"
  return f"{value:.{digits}g}" if abs(value) < 1000 else f"{value:,.0f}"


def ours(variant, key="timings"):
  """Microseconds of a step."""
  return variant.get(key, {}).get("step_microseconds")


def kernel_times(variant):
  """{name: us}: as traced, by counters, or else as the program says."""
  traced = variant.get("trace")
  if traced:
    times = {name: k["us"] for name, k in traced["kernels"].items()}
    # A product is its library's kernels.
    own = {k["name"] for k in variant.get("timings", {}).get("kernels", [])}
    products, others = own - times.keys(), times.keys() - own
    if len(products) == 1 and others:
      times[products.pop()] = sum(times[name] for name in others)
    return times
  counted = variant.get("counters")
  if counted:
    return {name: k["us"] for name, k in counted.items()}
  return {k["name"]: k["microseconds"]
          for k in variant.get("timings", {}).get("kernels", [])
          if k["microseconds"] > 0}


def ratio(a, b):
  return number(a / b, 2) if a and b else "-"


def report_steps(modules, usual):
  rows = []
  for name, module in modules.items():
    default = module["variants"].get("default", {})
    xla, torch = module.get("xla", {}), module.get("torch", {})
    us, timings = ours(default), default.get("timings", {})
    repeat = timings.get("repeat", usual)
    launches = [k["launches"] / repeat for k in timings.get("kernels", [])]
    times = kernel_times(default)
    in_kernels = sum(times.get(k["name"], 0) * k["launches"] / repeat
                     for k in timings.get("kernels", []))
    memory = xla.get("memory", {})
    total = sum(memory.get(p, 0) for p in ("argument", "output", "temp")) - \
        memory.get("alias", 0)
    rows.append([
        name, number(us), number(ours(default, "no_graphs")),
        number(in_kernels or None),
        number(xla.get("step_microseconds")),
        number(xla.get("device_microseconds")),
        number(torch.get("step_microseconds")),
        ratio(us, xla.get("step_microseconds")),
        number(sum(launches) or None),
        number(xla.get("kernels") or xla.get("launched")), number(torch.get("kernels")),
        number(default.get("memory_bytes", 0) / 2**20, 4),
        number(default.get("peak_bytes", 0) / 2**20, 4),
        number(total / 2**20 if total else None)])
  table(["module", "ours, us", "without graphs", "in kernels", "XLA, us",
         "in kernels", "torch, us", "ours / XLA", "our kernels",
         "XLA's", "torch's", "our MiB", "hlo-explain's", "XLA's"], rows)


def report_equal(modules):
  rows = []
  for name, module in modules.items():
    for variant, f in module["variants"].items():
      errors = f.get("errors") or {}
      if not f.get("timings") and not errors:
        continue
      rows.append([name, variant, module["judge"],
                   {True: "yes", False: "NO"}.get(errors.get("equal"), "-"),
                   number(errors.get("norm"), 2), number(errors.get("max"), 2),
                   *((f.get(tool) or {}).get("summary", "-")
                     for tool in ("memcheck", "racecheck"))])
  table(["module", "variant", "judge", "equal", "error (norm)",
         "error (largest)", "memcheck", "racecheck"], rows)


# Kernels end no sooner, whatever they do: what the model says of shorter ones
# is not about memory or arithmetic.
LONG = 5.0  # us
# Others wait for memory, or should.
ARITHMETIC = ("dot", "convolution", "sort", "custom-call")
# What is smaller stays in L2 from one step to the next.
L2_BYTES = 60 * 2**20


def report_kernels(modules, device, bandwidth):
  rows, everything, all_bound, slow = [], [], [], []
  cached, calibrated = [], []
  for name, module in modules.items():
    default = module["variants"].get("default", {})
    predicted = default.get("predicted", {}).get(device, {})
    measured = default.get("predicted", {}).get(device + "_measured", {})
    both, bound = [], []
    for kernel, us in kernel_times(default).items():
      p = predicted.get(kernel)
      if p is None:
        continue
      both.append((p["us"], us))
      if kernel in measured:
        calibrated.append((measured[kernel]["us"], us))
      least = p["bytes"] / bandwidth * 1e6 if bandwidth else 0
      if least > LONG and p["opcode"] not in ARITHMETIC:
        (bound if p["bytes"] > L2_BYTES else cached).append(least / us)
        slow.append((least / us, us, f"{name} {kernel}", p["bytes"]))
    everything += both
    all_bound += bound
    rows.append(row_of(name, both, bound))
  rows.append(row_of("all", everything, all_bound))
  long = [(p, m) for p, m in everything if m > LONG]
  rows.append(row_of(f"all above {LONG:.0f} us", long, []))
  if calibrated:
    rows.append(row_of(f"all, by {device}_measured", calibrated, []))
  if cached:
    rows.append(row_of("what fits into L2", [], cached))
  table(["module", "kernels", "predicted / measured (median)",
         "median error", "rank correlation", "bound by memory",
         "share of copy bandwidth (median)", "(least)"], rows)
  table(["bound by memory", "us", "MiB", "share of copy bandwidth"],
        [[kernel, number(us), number(size / 2**20), number(share, 2)]
         for share, us, kernel, size in sorted(slow)[:20]])


def row_of(name, both, bound):
  if not both and not bound:
    return [name] + ["-"] * 7
  errors = [abs(p / m - 1) for p, m in both]
  return [name, str(len(both)) if both else "-",
          number(statistics.median(p / m for p, m in both) if both else None, 2),
          number(statistics.median(errors) if both else None, 2),
          number(spearman([p for p, _ in both], [m for _, m in both])
                 if both else None, 3),
          str(len(bound)),
          number(statistics.median(bound), 2) if bound else "-",
          number(min(bound), 2) if bound else "-"]


def report_tf32(modules):
  """Products of f32, as such and by 19 of its bits."""
  rows = []
  for name, module in modules.items():
    default = module["variants"].get("default", {})
    if not all(default.get(t, {}).get("kernels") for t in ("trace", "tf32")):
      continue
    plain, rounded = (sum(k["us"] * k["times"] for k in t["kernels"].values()) /
                      max(k["times"] for k in t["kernels"].values())
                      for t in (default["trace"], default["tf32"]))
    rows.append([name, number(plain), number(rounded), ratio(rounded, plain)])
  table(["module", "kernels, us", "with --tf32", "ratio"], rows)


def report_variants(modules):
  rows = []
  for name, module in modules.items():
    base = ours(module["variants"].get("default", {}))
    for variant, f in module["variants"].items():
      if variant == "default":
        continue
      us = ours(f) if "same_as" not in f else None
      rows.append([name, variant,
                   "the same program" if "same_as" in f else
                   f.get("error", "").splitlines()[0][:60] if "error" in f
                   else number(us),
                   ratio(us, base), str(f.get("kernels", "-")),
                   number(f.get("memory_bytes", 0) / 2**20)])
  table(["module", "variant", "us", "/ default", "kernels", "MiB"], rows)


def report(flags):
  with open(flags.file) as file:
    out = json.load(file)
  floor = out.get("floor") or {}
  name = floor.get("name", out["facts"].get("gpu", ""))
  device = "h200" if "H200" in name else "h100"
  modules = out["modules"]
  xla = next((m["xla"].get("version") for m in modules.values()
              if m.get("xla", {}).get("version")), "-")
  torch = next((m["torch"].get("version") for m in modules.values()
                if m.get("torch", {}).get("version")), "-")
  bandwidth = max(floor.get("memcpy_bandwidth", 0),
                  floor.get("kernel_bandwidth", 0))
  print(f"{out['facts'].get('gpu', '-')}, {out['facts'].get('date')}; "
        f"{out['facts'].get('nvcc', '-')}; jax {xla}; torch {torch}.\n")
  print(f"Copies: {number(floor.get('memcpy_bandwidth', 0) / 1e9)} GB/s by "
        f"memcpy, {number(floor.get('kernel_bandwidth', 0) / 1e9)} by a kernel "
        "(bytes read and written). An empty kernel takes "
        f"{number(floor.get('launch_between_events_us'))} us between events, "
        f"{number(floor.get('launch_in_row_us'))} us in a row of a thousand.\n")
  print("### Steps\n")
  report_steps(modules, out["repeat"])
  print("### Results\n")
  report_equal(modules)
  print("### Kernels\n")
  report_kernels(modules, device, bandwidth)
  if any(m["variants"].get("default", {}).get("tf32") for m in modules.values()):
    print("### Products by tf32\n")
    report_tf32(modules)
  print("### What each variant buys\n")
  report_variants(modules)
  failed = [s for s in out["steps"] if "error" in s]
  late = [s for s in failed if s["error"] == "no time left"]
  if failed:
    print("### What failed\n")
    for step in failed:
      if step not in late:
        print(f"- {step['name']}: {step['error'].splitlines()[-1][:200]}")
    if late:
      print(f"- {len(late)} steps for which no time was left, the first one: "
            f"{late[0]['name']}")
  return 0
