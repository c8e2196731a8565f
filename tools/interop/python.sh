#!/usr/bin/env bash
# Prints the path of a Python that has jaxlib; where there is none yet, makes a
# virtual environment with it below ~/.cache. Exit status 1, and a line on
# standard error, where that cannot be: no PyPI, no wheel for this Python.
# Usage: tools/interop/python.sh
set -euo pipefail
requirements="$(dirname "${BASH_SOURCE[0]}")/requirements.txt"
# From another folder: a file in this one may be named like a module.
has_jaxlib() {
  local python
  python=$(command -v "$1") && python=$(realpath --no-symlinks "$python") &&
    (cd / && "$python" -c 'import jaxlib, numpy, ml_dtypes' 2> /dev/null)
}

for python in "${INTEROP_PYTHON:-}" python3; do
  if [[ -n $python ]] && has_jaxlib "$python"; then
    command -v "$python"
    exit 0
  fi
done
# Another pin, another folder.
pin=$(cksum < "$requirements" | cut -d ' ' -f 1)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/hlo-interop-$pin
mkdir -p "$(dirname "$folder")"
# One installs, the others wait.
exec 9> "$folder.lock"
flock 9
if ! has_jaxlib "$folder/bin/python"; then
  # Others may be using it: what was complete once stays.
  if [[ -e $folder/complete ]]; then
    echo "no jaxlib: $folder/bin/python does not import it any more" >&2
    exit 1
  fi
  rm -rf "$folder"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if ! { python3 -m venv "$folder" &&
    timeout 600 "$folder/bin/python" -m pip install --disable-pip-version-check \
      --quiet --requirement "$requirements"; } > "$log" 2>&1; then
    rm -rf "$folder"
    echo "no jaxlib: $(tail -n 1 "$log")" >&2
    exit 1
  fi
fi
touch "$folder/complete"
echo "$folder/bin/python"
