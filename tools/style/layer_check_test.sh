#!/usr/bin/env bash
# What layer_check.py says of the source tree that WORKSPACE ($1) lies in, and of
# copies of its BUILD files with an edge that should not be.
set -euo pipefail
root=$(dirname "$(realpath "$1")")
check="${root}/tools/style/layer_check.py"
python3 "${check}" "${root}"

copy=${TEST_TMPDIR}/copy
(cd "${root}" && find xla tools/style \( -name BUILD -o -name '*.bzl' -o -name '*.txt' \) \
  -not -path '*/bazel-*') | while read -r file; do
  mkdir -p "${copy}/$(dirname "${file}")"
  cp "${root}/${file}" "${copy}/${file}"
done

# expect_finding PACKAGE 'TEXT OF A RULE' 'WHAT IS SAID OF IT'
expect_finding() {
  cp "${root}/$1/BUILD" "${copy}/$1/BUILD"
  echo "$2" >> "${copy}/$1/BUILD"
  if python3 "${check}" "${copy}" > "${TEST_TMPDIR}/out"; then
    echo "no finding for: $2" >&2
    exit 1
  fi
  if ! grep -qF "$3" "${TEST_TMPDIR}/out"; then
    echo "expected: $3" >&2
    cat "${TEST_TMPDIR}/out" >&2
    exit 1
  fi
  cp "${root}/$1/BUILD" "${copy}/$1/BUILD"
}

expect_finding xla/hlo/ir \
  'cc_library(name = "up", deps = ["//xla/hlo/transforms/simplifiers:hlo_dce"])' \
  "layer transforms comes after ir"
expect_finding xla/hlo/ir \
  'cc_test(name = "up_test", deps = ["//xla/hlo/pass:pass_registry"])' \
  "layer pass comes after ir"
expect_finding xla/backends/gpu/transforms/priority_fusion \
  'cc_library(name = "sibling", deps = ["//xla/backends/gpu/transforms/mof:multi_output_fusion"])' \
  "comes no earlier than xla/backends/gpu/transforms/priority_fusion in SIBLINGS"
expect_finding xla/hlo/transforms/simplifiers \
  'unity_library(name = "back", deps = ["//xla/hlo/transforms/memory:assign_offsets"])' \
  "of layer transforms, xla/hlo/transforms/memory comes no earlier"
expect_finding xla/hlo/ir \
  'cc_library(name = "named", deps = LATE)
LATE = ["//xla/hlo/pipeline:pipelines"]' \
  "layer pipeline comes after ir"
expect_finding xla/hlo/pass \
  'cc_library(name = "observer", deps = ["//xla/hlo/testlib:hlo_hardware_independent_test_base"])' \
  "a library that is for tests and tools"
expect_finding xla/hlo/pass \
  'cc_library(name = "open", visibility = PUBLIC)' \
  "//xla/hlo/pass:open is public but not in tools/style/public.txt"

expect_finding xla/hlo/transforms/memory/remat/solver \
  'cc_binary(name = "slow", deps = ["@com_google_absl//absl/strings"])' \
  "slow: load cc_binary from //xla:cc.bzl"

mkdir -p "${copy}/xla/hlo/transforms/new"
touch "${copy}/xla/hlo/transforms/new/BUILD"
echo 'cc_library(name = "new", deps = ["//xla/hlo/transforms/loops:x"])' \
  > "${copy}/xla/hlo/transforms/new/BUILD"
python3 "${check}" "${copy}" > "${TEST_TMPDIR}/out" && exit 1
grep -q "xla/hlo/transforms/new stands in no line of SIBLINGS" "${TEST_TMPDIR}/out"

rm -r "${copy}/xla/hlo/transforms/new"
echo "//xla/hlo/pass:gone" >> "${copy}/tools/style/public.txt"
python3 "${check}" "${copy}" > "${TEST_TMPDIR}/out" && exit 1
grep -q "//xla/hlo/pass:gone is not public" "${TEST_TMPDIR}/out"
