#!/usr/bin/env bash
# What opcode_check.py says of the source tree that WORKSPACE ($1) lies in, and of
# a copy with an opcode that nobody knows, and with other mistakes.
set -euo pipefail
root=$(dirname "$(realpath "$1")")
check="${root}/tools/style/opcode_check.py"
python3 "${check}" "${root}"

copy=${TEST_TMPDIR}/copy
mkdir -p "${copy}"
cp -r "${root}/xla" "${copy}/xla"
guide=${copy}/xla/hlo/ir/README.md
table=${copy}/xla/hlo/ir/hlo_opcode.def
groups=${copy}/xla/hlo/ir/hlo_opcode_groups.h

# expect_finding 'WHAT IS SAID'...; then the changed files are as they were.
expect_finding() {
  if python3 "${check}" "${copy}" > "${TEST_TMPDIR}/out"; then
    echo "no finding; expected: $1" >&2
    exit 1
  fi
  for text in "$@"; do
    if ! grep -qF "${text}" "${TEST_TMPDIR}/out"; then
      echo "expected: ${text}" >&2
      cat "${TEST_TMPDIR}/out" >&2
      exit 1
    fi
  done
  cp "${root}/xla/hlo/ir/README.md" "${guide}"
  cp "${root}/xla/hlo/ir/hlo_opcode.def" "${table}"
  cp "${root}/xla/hlo/ir/hlo_opcode_groups.h" "${groups}"
}

# Every place is named.
sed -i '/V(kAbs,/i \  V(kAbacus, "abacus", 2, HandleAbacus, kNone) \\' "${table}"
mapfile -t places < <(sed -n 's/^### //p' "${guide}")
(( ${#places[@]} > 10 ))
expect_finding "${places[@]/%/: kAbacus is in none of}"

# An elementwise one only has to be where traits do not say all.
sed -i '/V(kAbs,/i \  V(kAbacus, "abacus", 1, HandleAbacus, kUnary) \\' "${table}"
expect_finding "Evaluator: kAbacus is in none of" "Parser's cases: kAbacus"
if grep -q "Verifier: kAbacus" "${TEST_TMPDIR}/out"; then exit 1; fi

sed -i 's/^Not named.*`kBitcast`/& and `kAbacus`/' "${guide}"
expect_finding "there is no opcode kAbacus"

sed -i 's/^Not named.*`kBitcast`/& and `kWhile`/' "${guide}"
expect_finding "Parser: kWhile is there, and needs no excuse"

# A file that names a group names its opcodes, those of groups in groups too.
sed -i 's/case HloOpcode::kCholesky: //; s/HloOpcode::kCholesky: case //' "${groups}"
expect_finding "Fusion: kCholesky is in none of"

# A default says in its line what becomes of the others; no default needs nothing.
cat > "${copy}/xla/hlo/utils/switches.cc" <<'EOF'
int Explained(HloOpcode opcode) {
  switch (opcode) {
    case XLA_ANY_COLLECTIVE:
      return 1;
    default:  // Why.
      return 0;
  }
}
int Exhaustive(HloOpcode op) {
  switch (op) {
    case HloOpcode::kAdd:
      return 1;
  }
}
int OverOtherThings(int n) {
  switch (n) {
    default:
      return 1;
  }
}
int Silent(HloOpcode op) {
  switch (op) {
    case HloOpcode::kAdd:
      return 1;
    default: {
      // Too late.
      return 0;
    }
  }
}
EOF
expect_finding "xla/hlo/utils/switches.cc:22: the default of this switch" "opcode_check: 1 findings"
rm "${copy}/xla/hlo/utils/switches.cc"

sed -i '/hlo_cse.cc/d' "${guide}"
expect_finding "opcodes apart: xla/hlo/ir/README.md must list it"

echo '| `xla/hlo/ir/no_such.cc` | what | nothing |' >> "${guide}"
expect_finding "lists xla/hlo/ir/no_such.cc, which is not a file"

[[ $(python3 "${check}" "${root}" kSort) == *"Evaluator: xla/hlo/evaluator/kernel_table.cc"* ]]
