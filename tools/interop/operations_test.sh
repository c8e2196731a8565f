#!/usr/bin/env bash
# Runs operations.py with the Python that has jaxlib: $INTEROP_PYTHON, or python3.
# Usage: operations_test.sh operations.py HLO_RUN
# Without jaxlib it is an error where INTEROP_PYTHON is set, and else skipped.
set -euo pipefail
python=${INTEROP_PYTHON:-python3}
if ! "$python" -c 'import jaxlib, numpy, ml_dtypes' 2>/dev/null; then
  echo "SKIPPED: jaxlib is not installed for $python; pip install jax"
  if [[ -n ${INTEROP_PYTHON:-} ]]; then exit 1; fi
  exit 0
fi
"$python" "$1" --hlo-run="$2"
