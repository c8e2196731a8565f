#!/bin/bash
# usage: passes_test.sh PASSES_MD_PY PASSES_MD HLO_OPT
# passes.md is what the tool says today.
set -euo pipefail
if ! diff "$2" <(python3 "$1" "$3"); then
  echo "out of date: python3 docs/passes_md.py bazel-bin/tools/hlo-opt > docs/passes.md" >&2
  exit 1
fi
