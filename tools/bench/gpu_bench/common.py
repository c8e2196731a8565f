"""What preparing, measuring and reporting share."""

import os
import subprocess

TORCH_EXAMPLES = ("mlp_train", "conv_train", "transformer_train",
                  "transformer_scan_train")


def run(command, limit, **options):
  """Standard output; RuntimeError with the end of what it said if it fails."""
  try:
    result = subprocess.run(command, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, timeout=limit,
                            **options)
  except subprocess.TimeoutExpired:
    raise RuntimeError(f"takes more than {limit:.0f} s")
  except FileNotFoundError as error:
    raise RuntimeError(str(error))
  if result.returncode != 0:
    raise RuntimeError(f"exit status {result.returncode}: " +
                       (result.stderr + result.stdout).strip()[-1500:])
  return result.stdout


def stem(path):
  return os.path.basename(path).rsplit(".", 1)[0]


def programs(modules):
  """(module, variant, facts) of all that are to be built and run."""
  for module in modules:
    for variant, facts in module["variants"].items():
      if "error" not in facts and "same_as" not in facts:
        yield module, variant, facts
