#!/usr/bin/env bash
# Runs style_check.py on the source tree that WORKSPACE ($1) lies in.
set -euo pipefail
root=$(dirname "$(realpath "$1")")
exec python3 "$root/tools/style/style_check.py" "$root"
