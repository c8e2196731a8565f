#!/usr/bin/env bash
# Which mutants mutate.py makes of a file: operators in code change one at a
# time; strings, comments, includes, checks and template brackets do not.
# Usage: mutate_test.sh MUTATE
set -euo pipefail
source=${TEST_TMPDIR}/source.cc
cat > "${source}" <<'CC'
#include <vector>
// a < b in a comment
bool Fits(std::vector<int64_t> sizes, int64_t limit) {
  CHECK(limit >= 0);
  const char* text = "a < b && c";
  Push(sizes);
  if (sizes.empty()) return true;
  return sizes[0] + 1 <= limit;
}
const char* raw = R"(
  a < b
)";
CC
expected=${TEST_TMPDIR}/expected
sort > "${expected}" <<'LIST'
  +   
  + if (!(sizes.empty())) return true;
  + if (sizes.empty()) return false;
  + return sizes[0] + 1 < limit;
  + return sizes[0] + 1 > limit;
  + return sizes[0] - 1 <= limit;
LIST
sed -i 's/^  +   $/  + /' "${expected}"
python3 "$1" --tests=none --list "${source}" > "${TEST_TMPDIR}/listed"
grep '^  + ' "${TEST_TMPDIR}/listed" | sort | diff "${expected}" -
grep -q '^6 of 6 mutants$' "${TEST_TMPDIR}/listed"
# Test files are not mutated.
cp "${source}" "${TEST_TMPDIR}/source_test.cc"
[[ $(python3 "$1" --tests=none --list "${TEST_TMPDIR}/source_test.cc") == "0 of 0 mutants" ]]
