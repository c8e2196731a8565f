#!/usr/bin/env bash
# Prints the man page of a tool, made of its --help.
# Usage: tools/man_page.sh bazel-bin/tools/hlo-opt > hlo-opt.1
set -euo pipefail
tool=$1
version=$("$tool" --version | cut -d' ' -f2)
"$tool" --help | awk -v version="$version" '
  # Text as troff takes it: no line begins with a control character.
  function plain(text) {
    gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text)
    return text ~ /^[.\x27]/ ? "\\&" text : text
  }
  function section(title) { print ".SH " toupper(title); }
  function leave() { if (verbatim) { print ".fi"; verbatim = 0 } }
  NR == 1 {
    name = substr($0, 1, index($0, ":") - 1)
    print ".TH " toupper(name) " 1 \"\" \"hlo " version "\" \"HLO tools\""
    section("name")
    print plain(name) " \\- " plain(substr($0, index($0, ":") + 2))
    section("description")
    next
  }
  /^Exit status: / { leave(); section("exit status"); sub(/^Exit status: /, ""); print plain($0); tail = 1; next }
  /^[A-Z].*:$/ && !tail { leave(); section(substr($0, 1, length($0) - 1)); options = 1; next }
  options && /^  --?[a-z]/ { leave(); print ".TP"; sub(/^ +/, ""); print ".B " plain($0); next }
  /^$/ { leave(); if (!options) print ".PP"; next }
  !options && /^  / { if (!verbatim) { print ".nf"; verbatim = 1 } print plain($0); next }
  { leave(); sub(/^ +/, ""); print plain($0) }
  END { leave() }'
