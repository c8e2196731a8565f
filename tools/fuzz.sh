#!/usr/bin/env bash
# Fuzzes the readers of HLO text, protos, kernels and passes, the verifier, and
# pipelines on random modules, two at a time.
#
# usage: tools/fuzz.sh [SECONDS]   (of each, 1200 if not given)
#
# Needs clang's libFuzzer, which ./bazelw installs. Seeds are the modules of the
# text tests and the examples; what breaks one is kept in .cache/fuzz, and the
# status is then not 0. Prints how many inputs each has run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds="${1:-1200}"
work="${PWD}/.cache/fuzz"
mkdir -p "${work}"/{text,proto,kir,pipeline,passes}_seeds \
  "${work}"/{text,verifier,proto,kir,pipeline,passes}_found
ln -sfn text_seeds "${work}/verifier_seeds"
cp examples/kernels/*.kir "${work}/kir_seeds"

./bazelw build -c opt //tools:hlo-opt
hlo_opt="$(./bazelw info -c opt bazel-bin 2> /dev/null)/tools/hlo-opt"
while read -r file; do
  name="$(echo "${file%.hlo}" | tr / _)"
  # Most hold several modules.
  awk -v RS='\n// -----\n' -v out="${work}/text_seeds/${name}" \
    '{ file = out "-" NR ".hlo"; print > file; close(file) }' "${file}"
  # Tests of errors are no modules: they are seeds for the text reader alone.
  "${hlo_opt}" "${file}" --emit=proto -o "${work}/proto_seeds/${name}.pb" \
    > /dev/null 2>&1 || true
done < <(git ls-files 'xla/*.hlo' 'examples/*.hlo')
echo "seeds: $(ls "${work}/text_seeds" | wc -l) texts," \
  "$(ls "${work}/proto_seeds" | wc -l) protos"

tests=//xla/hlo/pipeline/tests
./bazelw build --config=fuzz //xla/hlo/parser:hlo_parser_fuzzer //xla/hlo/utils:proto_fuzzer \
  //xla/hlo/verifier:hlo_verifier_fuzzer \
  //xla/backends/gpu/kernel_ir:kir_fuzzer "${tests}:pipeline_fuzzer" "${tests}:passes_fuzzer"
bin="$(./bazelw info --config=fuzz bazel-bin 2> /dev/null)"

# fuzz NAME BINARY
fuzz() {
  "${bin}/xla/$2" "${work}/$1_found" "${work}/$1_seeds" -max_total_time="${seconds}" \
    -artifact_prefix="${work}/$1_" -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
    -print_final_stats=1 > "${work}/$1.log" 2>&1
}

status=0
# both NAME BINARY NAME BINARY
both() {
  fuzz "$1" "$2" &
  local one=$!
  fuzz "$3" "$4" || { status=1; echo "$3: broken, see ${work}/$3.log"; }
  wait "${one}" || { status=1; echo "$1: broken, see ${work}/$1.log"; }
}

both text hlo/parser/hlo_parser_fuzzer proto hlo/utils/proto_fuzzer
both kir backends/gpu/kernel_ir/kir_fuzzer pipeline hlo/pipeline/tests/pipeline_fuzzer
both verifier hlo/verifier/hlo_verifier_fuzzer passes hlo/pipeline/tests/passes_fuzzer
for name in text verifier proto kir pipeline passes; do
  echo "${name}: $(grep -a stat::number_of_executed_units "${work}/${name}.log" || true)"
done
exit "${status}"
