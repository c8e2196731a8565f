#!/bin/bash
# usage: questions_test.sh QUESTIONS_PY QUESTIONS_MD EXAMPLE TOOL...
# The commands of questions.md do what the page says. EXAMPLE and the first
# TOOL are files of the folders of all of them.
set -euo pipefail
exec python3 "$1" "$2" "$(dirname "$4")" "$(dirname "$3")"
