#!/usr/bin/env bash
# What house.py counts in a small tree made here, where every figure is known.
set -euo pipefail
root=$(dirname "$(realpath "$1")")
house="${root}/tools/style/house.py"

tree=${TEST_TMPDIR}/tree
mkdir -p "${tree}/xla/a/part" "${tree}/xla/b" "${tree}/tools/style"
cp "${root}/xla/layers.bzl" "${tree}/xla/layers.bzl"
touch "${tree}/tools/style/public.txt"
cat > "${tree}/xla/a/BUILD" <<'EOF'
cc_library(name = "a", visibility = PUBLIC, deps = [])
cc_library(name = "inner", deps = [])
EOF
echo 'cc_library(name = "b", deps = [])' > "${tree}/xla/b/BUILD"
cat > "${tree}/xla/a/a.h" <<'EOF'
// Of nothing.
#include "xla/b/b.h"
EOF
# A folder without a BUILD file is part of the package above: no cycle.
echo '#include "xla/a/a.h"' > "${tree}/xla/a/part/part.h"
echo '#include "xla/a/part/part.h"' > "${tree}/xla/a/use.h"
echo '#include "xla/a/a.h"' > "${tree}/xla/b/b.h"
cat > "${tree}/xla/a/a.cc" <<'EOF'
#include "xla/a/a.h"
// Why.
int F(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAdd:
      return 1;
    default:  // Why.
      return 2;
  }
}
int G(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAdd:
      return 1;
  }
}
EOF
echo 'int x;' > "${tree}/xla/a/a_test.cc"

python3 "${house}" "${tree}" > "${TEST_TMPDIR}/figures"
expect() {
  if ! grep -qE "^$1 +$2\$" "${TEST_TMPDIR}/figures"; then
    echo "expected '$1 $2' in:" >&2
    cat "${TEST_TMPDIR}/figures" >&2
    exit 1
  fi
}
expect 'rooms' 3
expect 'files' 5
expect 'lines' 21
expect 'cycles of packages' 1
expect 'libraries' 3
expect 'public libraries' 1
expect 'functions' 2
expect 'lines of a function, largest' 8
expect 'comment share of source files' 0.062
expect "comments that open with 'Of'" 1
expect 'test lines, C..' 1
expect 'opcode switches' 2
expect 'opcode switches with a default' 1
if ! python3 "${house}" "${tree}" --list='cycles of packages' | grep -qx 'xla/a <-> xla/b'; then
  echo "the cycle is not listed" >&2
  exit 1
fi

[[ $(python3 "${house}" "${tree}" --list='opcode switches with a default') == 'xla/a/a.cc:4:  // Why.' ]]

# What is private, or used in another file or twice in its own, is not listed.
cat > "${tree}/xla/a/names.h" <<'EOF'
namespace xla {
class Used {
 public:
  void UsedMethod();
  void Unused(int n);

 private:
  void Private();
};
constexpr int kUnused = 1;
inline int OfItsOwn() { return 1; }
inline int UsedInside() { return OfItsOwn(); }
using UnusedAlias = Used;
class InTable {};
}  // namespace xla
EOF
echo 'void F() { Used().UsedMethod(); UsedInside(); }' > "${tree}/xla/b/user.cc"
echo 'void Used::UsedMethod() {} void Used::Unused(int n) {}' > "${tree}/xla/a/names.cc"
echo 'PASS("in-table", InTable)' > "${tree}/xla/b/all.def"
python3 "${house}" "${tree}" > "${TEST_TMPDIR}/figures"
expect 'names in headers' 8
expect 'names in headers without a user' 3
[[ $(python3 "${house}" "${tree}" --list='names in headers without a user') == \
   '   3  xla/a/names.h: Unused UnusedAlias kUnused' ]]

# The tree itself: nothing climbs, no packages need each other.
python3 "${house}" "${root}" > "${TEST_TMPDIR}/figures"
expect 'edges that climb' 0
expect 'cycles of packages' 0
