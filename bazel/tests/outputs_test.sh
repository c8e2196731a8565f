#!/bin/bash
# usage: outputs_test.sh FILE…
# Everything that the rules write is there and holds what its name says.
set -u
failed=0
holds() {  # SUFFIX WORDS
  for file in "${files[@]}"; do
    if [[ $file == *"$1" ]] && grep -q -- "$2" "$file"; then return; fi
  done
  echo "no ${1} holds '$2'"
  failed=1
}
files=("$@")
holds mlp.memory.txt 'at the peak'
holds mlp.memory.json '"peak_bytes"'
holds mlp.memory.html '<!doctype html>'
holds passes_mlp.hlo '^HloModule'
holds small_mlp.report.json 'hlo-dce'
holds small_mlp.checked.hlo '^HloModule'
holds corpus.txt '3 modules, 1 without a report'
holds corpus.txt "bad.hlo:2.*unknown opcode 'ad'"
holds corpus.txt ' no  examples/conv_train.hlo'
holds corpus.txt ' yes  examples/mlp_train.hlo'
holds corpus.csv '^examples/mlp_train.hlo,jit_mlp_train,'
exit $failed
