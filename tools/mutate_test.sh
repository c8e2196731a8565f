#!/usr/bin/env bash
# Which mutants mutate.py makes of a file: operators in code change one at a
# time; strings, comments, includes, checks and template brackets do not. Then
# what a program with all its mutants does in each of them.
# Usage: mutate_test.sh MUTATE SOURCE EXPECTED PROGRAM
# PROGRAM is SOURCE with its mutants, EXPECTED has a line for each mutant: what
# the program prints, and the changed line.
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

# Each mutant of the program does what its changed line says.
number=0
python3 "$1" --tests=none --list "$2" | sed -n 's/^  + //p' | while read -r line; do
  number=$((number + 1))
  printed=$(HLO_MUTANT=${number} "$4" || echo "exit $?")
  echo "${printed//$'\n'/, } | ${line}"
done > "${TEST_TMPDIR}/outputs"
diff "$3" "${TEST_TMPDIR}/outputs"
# Without a mutant it does what its source says, which no mutant does but the
# one that leaves out what has no effect here; and it comes by all of them.
original=$(HLO_MUTANTS_REACHED=${TEST_TMPDIR}/reached "$4")
[[ ${original} == "01 5 6,4,4,5,5,6, 9 100" ]]
[[ $(grep -cF "${original} |" "$3") == 1 ]]
[[ $(sort -nu "${TEST_TMPDIR}"/reached.*) == "$(seq "$(wc -l < "$3")")" ]]
