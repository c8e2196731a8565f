#!/usr/bin/env bash
# Runs interop.py with the Python that has jaxlib: $INTEROP_PYTHON, or python3.
# Usage: interop_test.sh interop.py HLO_OPT HLO_RUN RANDOM_HLO MODULE...
# Without jaxlib it is an error where INTEROP_PYTHON is set, and else skipped.
set -euo pipefail
python=${INTEROP_PYTHON:-python3}
if ! "$python" -c 'import jaxlib, numpy, ml_dtypes' 2>/dev/null; then
  echo "SKIPPED: jaxlib is not installed for $python; pip install jax"
  if [[ -n ${INTEROP_PYTHON:-} ]]; then exit 1; fi
  exit 0
fi
script=$1
hlo_opt=$2
hlo_run=$3
random_hlo=$4
shift 4
"$python" "$script" --hlo-opt="$hlo_opt" --hlo-run="$hlo_run" \
  --random-hlo="$random_hlo" --count="${INTEROP_COUNT:-200}" "$@"
