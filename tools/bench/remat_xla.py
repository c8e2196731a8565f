#!/usr/bin/env python3
"""Prints which limits plans meet by what XLA allocates.

usage: remat_xla.py HLO_EXPLAIN MODULE.hlo... --target-config=FILE [flags]
       remat_xla.py HLO_EXPLAIN MODULE.hlo... --for=xla-cpu [flags]
       remat_xla.py HLO_EXPLAIN MODULE.hlo... --for=backend --judge=COMMAND

HLO_EXPLAIN is the binary of //tools:hlo-explain, built with -c opt. Limits are
shares of what XLA allocates for the unchanged module: temporaries, arguments
and outputs, shared bytes counted once (tools/interop/xla_memory.py). The last
form is for optimized, scheduled modules.

  --limits=90,80,70,60,50   percent
  --rounds=5                maximum number of plans for a limit (hlo_fit_xla.py)
  --timeout=SECONDS         limit per plan and per compilation (600)
  --judge=COMMAND           command that measures the allocation (xla_memory.py)
  --partitions=1            devices to plan and compile for (hlo_fit_xla.py)

Per limit: bytes that XLA allocates for the unchanged module and with the plan,
in MB; whether the limit is met or ruled out, by arguments and results or (for
modules that the backend does not change) by the planner's lower bound; the
percentage by which XLA allocates more than the plan predicted (for modules that
the backend does not change); added time in percent by our model; plans made.
Plans for other limits of the same module count, too, so that a lower limit never
ends above a higher one. The exit status is 1 after an error, or if a plan needs
more than predicted.
"""

import argparse
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "interop"))
import hlo_fit_xla  # pylint: disable=wrong-import-position


# How much more than promised XLA may allocate for what it takes as it is.
PROMISE = 1.01
HEADER = ("module                    limit  as it is MB      plan MB  of it  "
          "met       promise  added seconds  plans")


class Row:
  """One limit of a module, and the best of the plans known for it."""

  def __init__(self, fitter, share, known):
    self.whole = fitter.measured["total"]
    self.limit = int(self.whole * share / 100)
    self.best = hlo_fit_xla.best_of(known, self.limit)
    self.met = self.best["total"] <= self.limit
    least = min((one["least"] for one in known if "least" in one), default=0)
    # Elsewhere the plan's bytes are not those of the fused module.
    as_it_is = fitter.reader == "backend"
    bound = max(always_there(fitter), least if as_it_is else 0)
    self.ruled_out = not self.met and self.limit < bound
    self.over_promise = None
    if as_it_is and "planned" in self.best:
      self.over_promise = self.best["total"] / max(1, self.best["planned"])

  def verdict(self):
    return "yes" if self.met else "ruled out" if self.ruled_out else "no"

  def promise(self):
    if self.over_promise is None:
      return "-"
    return f"{100 * (self.over_promise - 1):+.2f} %"


def always_there(fitter):
  """Bytes of arguments and results, which no plan changes."""
  measured = fitter.measured
  return measured["argument"] + measured["output"] - measured["alias"]


def table_of(path, options, limits):
  """Prints the rows of a module, and returns them."""
  name = os.path.basename(path).removesuffix(".hlo").removesuffix(".final")
  fitter = hlo_fit_xla.Fitter(options.hlo_explain, path, options.reader,
                              options.target_config, options.timeout,
                              options.judge, options.partitions)
  known, plans = [], {}
  for share in limits:
    limit = int(fitter.measured["total"] * share / 100)
    if known and limit < always_there(fitter):
      plans[share] = 0
      continue
    with tempfile.TemporaryDirectory() as folder:
      found = fitter.fit(limit, options.rounds, folder)
    known += found
    plans[share] = len(found) - 1
  rows = []
  for share in limits:
    row = Row(fitter, share, known)
    rows.append(row)
    total = row.best["total"]
    print(f"{name:25} {share:3g} % {row.whole / 1e6:12.3f} "
          f"{total / 1e6:12.3f} {100 * total / row.whole:4.0f} %  "
          f"{row.verdict():9} {row.promise():>7} "
          f"{100 * row.best.get('added_fraction', 0):12.2f} % "
          f"{plans[share]:6}", flush=True)
  return rows


def main():
  parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("hlo_explain")
  parser.add_argument("modules", nargs="+")
  hlo_fit_xla.add_reader_flags(parser)
  parser.add_argument("--limits", default="90,80,70,60,50")
  parser.add_argument("--rounds", type=int, default=5)
  parser.add_argument("--timeout", type=int, default=600)
  options = parser.parse_args()
  hlo_fit_xla.check_reader_flags(parser, options)
  limits = [float(one) for one in options.limits.split(",")]
  print(HEADER)
  rows, errors = [], 0
  for path in options.modules:
    try:
      rows += table_of(path, options, limits)
    except RuntimeError as error:
      errors += 1
      print(f"{os.path.basename(path):25} {error}", flush=True)
  broken = sum((row.over_promise or 0) > PROMISE for row in rows)
  print(f"{sum(row.met for row in rows)} of {len(rows)} limits met, "
        f"{sum(row.ruled_out for row in rows)} ruled out by the bound, "
        f"{broken} promises broken, {errors} modules in error")
  return 1 if errors or broken else 0


if __name__ == "__main__":
  sys.exit(main())
