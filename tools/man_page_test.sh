#!/usr/bin/env bash
# Every section and flag of a tool's --help is in its man page, and troff takes
# no line of it for a request.
# Usage: man_page_test.sh MAN_PAGE_SH TOOL...
set -euo pipefail
man_page=$1
shift
for tool in "$@"; do
  page=$("$man_page" "$tool")
  [[ $page == .TH* ]]
  grep -q '^\.SH NAME$' <<< "$page"
  grep -q "^$(basename "$tool" | sed 's/-/\\\\-/') " <<< "$page"
  grep -q '^\.SH EXIT STATUS$' <<< "$page"
  while read -r flag; do
    grep -qF -- "$(sed 's/-/\\-/g' <<< "$flag")" <<< "$page" ||
      { echo "$tool: no $flag"; exit 1; }
  done < <("$tool" --help | grep -oE '^  --?[a-z][a-z0-9-]*')
  if grep -E '^[.]' <<< "$page" | grep -vE '^\.(TH|SH|TP|PP|B|nf|fi)( |$)'; then
    echo "$tool: these are not requests of ours"
    exit 1
  fi
done
