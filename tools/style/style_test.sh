#!/usr/bin/env bash
# Runs layer_check.py, opcode_check.py and style_check.py on the source tree that WORKSPACE ($1) lies in.
set -euo pipefail
root=$(dirname "$(realpath "$1")")
python3 "$root/tools/style/layer_check.py" "$root"
python3 "$root/tools/style/opcode_check.py" "$root"
exec python3 "$root/tools/style/style_check.py" "$root"
