#!/usr/bin/env python3
"""A table of limits by what XLA allocates: which ones plans meet there.

usage: remat_xla.py HLO_EXPLAIN MODULE.hlo... --target-config=FILE [flags]
       remat_xla.py HLO_EXPLAIN MODULE.hlo... --for=xla-cpu [flags]

HLO_EXPLAIN is the binary of //tools:hlo-explain, built with -c opt. Limits are
shares of what XLA allocates for each module as it is: temporaries, arguments
and outputs, what these two share once (tools/interop/xla_memory.py).

  --limits=90,80,70,60,50   percent
  --rounds=5                plans at most for a limit (hlo_fit_xla.py)
  --timeout=SECONDS         of one plan and of one compilation (600)

Per limit: bytes that XLA allocates for the module as it is and with the plan,
in MB, met or not, added seconds in percent by our model, plans made. Plans for
other limits of the same module serve, too. Exit status 1: an error.
"""

import argparse
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "interop"))
import hlo_fit_xla  # pylint: disable=wrong-import-position


def main():
  parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
  parser.add_argument("hlo_explain")
  parser.add_argument("modules", nargs="+")
  parser.add_argument("--for", dest="reader", default="xla-gpu",
                      choices=("xla-gpu", "xla-cpu"))
  parser.add_argument("--target-config")
  parser.add_argument("--limits", default="90,80,70,60,50")
  parser.add_argument("--rounds", type=int, default=5)
  parser.add_argument("--timeout", type=int, default=600)
  options = parser.parse_args()
  if options.reader == "xla-gpu" and not options.target_config:
    parser.error("--for=xla-gpu needs --target-config")
  limits = [float(one) for one in options.limits.split(",")]
  print("module                    limit  as it is MB      plan MB  of it  "
        "met  added seconds  plans")
  met = rows = errors = 0
  for path in options.modules:
    name = os.path.splitext(os.path.basename(path))[0]
    try:
      fitter = hlo_fit_xla.Fitter(options.hlo_explain, path, options.reader,
                                  options.target_config, options.timeout)
      whole = fitter.measured["total"]
      known, plans = [], {}
      for share in limits:
        with tempfile.TemporaryDirectory() as folder:
          found = fitter.fit(int(whole * share / 100), options.rounds, folder)
        known += found
        plans[share] = len(found) - 1
      for share in limits:
        limit = int(whole * share / 100)
        best = hlo_fit_xla.best_of(known, limit)
        fits = best["total"] <= limit
        rows += 1
        met += fits
        print(f"{name:25} {share:3g} % {whole / 1e6:12.3f} "
              f"{best['total'] / 1e6:12.3f} {100 * best['total'] / whole:4.0f} %"
              f"  {'yes' if fits else 'no ':3} "
              f"{100 * best.get('added_fraction', 0):12.2f} % "
              f"{plans[share]:6}", flush=True)
    except RuntimeError as error:
      errors += 1
      print(f"{name:25} {error}", flush=True)
  print(f"{met} of {rows} limits met, {errors} modules in error")
  return 1 if errors else 0


if __name__ == "__main__":
  sys.exit(main())
