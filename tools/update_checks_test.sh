#!/usr/bin/env bash
# What update_checks.py writes into a file that opts in is what FileCheck then
# finds, and a second run changes nothing.
# Usage: update_checks_test.sh UPDATE_CHECKS HLO_OPT FILECHECK
set -euo pipefail
update=$1
tools=$(dirname "$(realpath "$2")")
filecheck=$3
file=${TEST_TMPDIR}/case.hlo
cat > "${file}" <<'HLO'
// UPDATE-CHECKS
// RUN: hlo-opt %s --passes=hlo-dce --split-input --emit=short | FileCheck %s

// A value nobody reads goes away.
// CHECK: something that was printed once
HloModule first

ENTRY main {
  x = f32[2,2] parameter(0)
  unused = f32[2,2] negate(x)
  ROOT y = f32[2,2] add(x, x)
}
// -----

// Double braces do not become a regular expression.
HloModule second

ENTRY main {
  x = f32[4] parameter(0)
  ROOT y = f32[4] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply={
    a = f32[] parameter(0)
    b = f32[] parameter(1)
    ROOT sum = f32[] add(a, b)
  }
}
HLO

[[ $(python3 "${update}" --tools="${tools}" "${file}") == *": updated" ]]
"${tools}/hlo-opt" "${file}" --passes=hlo-dce --split-input --emit=short |
  "${filecheck}" "${file}"
grep -q '^// CHECK: ROOT y' "${file}"
grep -q '^// CHECK{LITERAL}: .*{{0,1},{2,3}}' "${file}"
if grep -q 'unused = .*CHECK\|printed once' "${file}"; then exit 1; fi
[[ $(python3 "${update}" --tools="${tools}" "${file}") == *": unchanged" ]]

# Without the line that opts in, the file stays as it is.
sed -i '/UPDATE-CHECKS/d' "${file}"
if python3 "${update}" --tools="${tools}" "${file}"; then exit 1; fi
