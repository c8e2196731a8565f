#!/usr/bin/env bash
# Runs peaks.py with the Python that has JAX: $INTEROP_PYTHON, or python3.
# Usage: peaks_test.sh peaks.py HLO_EXPLAIN
# Without JAX it is an error where INTEROP_PYTHON is set, and else skipped.
set -euo pipefail
python=${INTEROP_PYTHON:-python3}
if ! "$python" -c 'import jax' 2>/dev/null; then
  echo "SKIPPED: jax is not installed for $python; pip install jax"
  if [[ -n ${INTEROP_PYTHON:-} ]]; then exit 1; fi
  exit 0
fi
"$python" "$1" --hlo-explain="$2"
