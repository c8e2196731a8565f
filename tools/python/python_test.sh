#!/usr/bin/env bash
# Installs the wheel into a folder of its own and runs python_test.py with it, by
# the Python of $INTEROP_PYTHON (tools/interop/python.sh), or python3. Without
# numpy it is an error where INTEROP_PYTHON is set, and else skipped.
# Usage: python_test.sh python_test.py WHEEL MODULE...
set -euo pipefail
python=${INTEROP_PYTHON:-python3}
if ! "$python" -c 'import numpy, pip' 2>/dev/null; then
  echo "SKIPPED: $python has no numpy or pip"
  if [[ -n ${INTEROP_PYTHON:-} ]]; then exit 1; fi
  exit 0
fi
script=$1
wheel=$2
shift 2
installed=$(mktemp -d)
trap 'rm -rf "$installed"' EXIT
"$python" -m pip install --disable-pip-version-check --quiet --no-index \
  --no-deps --target "$installed" "$wheel"
# Beside the package as it was installed, not beside its sources.
cp "$script" "$installed/python_test.py"
"$python" "$installed/python_test.py" "$@"
