#!/usr/bin/env bash
# Runs a script with the Python that has XLA: $INTEROP_PYTHON, or python3.
# Usage: judge_test.sh SCRIPT ARGUMENT...
# Without jaxlib it is an error where INTEROP_PYTHON is set, and else skipped.
set -euo pipefail
python=${INTEROP_PYTHON:-python3}
if ! "$python" -c 'import jax, jaxlib, numpy, ml_dtypes' 2>/dev/null; then
  echo "SKIPPED: jax is not installed for $python; pip install jax"
  if [[ -n ${INTEROP_PYTHON:-} ]]; then exit 1; fi
  exit 0
fi
"$python" "$@"
