#!/bin/bash
# The body of hlo_test (defs.bzl): KEY=VALUE… as that macro gives them.
set -u
module= golden= limit= reference= diff= explain= run=
explain_args=() run_args=()
for argument; do
  key=${argument%%=*} value=${argument#*=}
  case $key in
    explain_arg) explain_args+=("$value") ;;
    run_arg) run_args+=("$value") ;;
    module|golden|limit|reference|diff|explain|run) printf -v "$key" %s "$value" ;;
    *) echo "hlo_test.sh: unknown argument $argument" >&2; exit 2 ;;
  esac
done
failed=0
if [[ -n "$golden" ]]; then
  "$diff" "$golden" "$module" > diff.txt || {
    cat diff.txt
    echo "hlo_test: $module is not $golden; if it should be: cp -L bazel-bin/${module#../} $golden" >&2
    failed=1
  }
fi
if [[ -n "$limit" ]]; then
  "$explain" "$module" --limit="$limit" "${explain_args[@]+"${explain_args[@]}"}" || {
    echo "hlo_test: $module does not fit in $limit" >&2
    failed=1
  }
fi
if [[ -n "$reference" ]]; then
  "$run" "$reference" --compare="$module" --fill-elided-constants "${run_args[@]+"${run_args[@]}"}" || {
    echo "hlo_test: $module does not compute what $reference does" >&2
    failed=1
  }
fi
exit $failed
