#!/bin/bash
# usage: failures_test.sh HLO_TEST MODULE OTHER HLO_DIFF HLO_EXPLAIN HLO_RUN
# A test of the rule hlo_test fails, and says why, where modules differ, do not
# fit or compute something else; and passes where not.
set -u
body=$1 module=$2 other=$3 diff=$4 explain=$5 run=$6
failed=0
expect() {  # STATUS WORDS ARGUMENT…
  local status=$1 words=$2
  shift 2
  output=$("$body" module="$module" "$@" 2>&1)
  if [[ $? -ne $status || "$output" != *"$words"* ]]; then
    echo "$* should end with $status and say '$words', but:"
    echo "$output"
    failed=1
  fi
}
expect 0 "" golden="$module" diff="$diff"
expect 1 "is not $other" golden="$other" diff="$diff"
expect 0 "fits in" limit=1MiB explain="$explain" explain_arg=--schedule=default
expect 1 "does not fit in 1KiB" limit=1KiB explain="$explain" explain_arg=--schedule=default
expect 0 "" reference="$module" run="$run"
expect 1 "does not compute" reference="$other" run="$run"
expect 2 "unknown argument" nonsense=1
exit $failed
