#!/usr/bin/env bash
# Runs every "// RUN:" line of one text test. Usage:
# run_hlo_test.sh [--check-equivalent] FILE TOOL...
# In a RUN line %s is the test file and %t a scratch path of this test; each
# TOOL is on the PATH under its base name. A line that ends in \ goes on.
# With --check-equivalent, hlo-opt also evaluates small modules before and after
# each pass (see hlo-opt --help); a RUN line can set the flags otherwise. At the
# end the log says which modules were passed over, and why.
set -euo pipefail
check=
if [[ $1 == --check-equivalent ]]; then
  check=--check-equivalent
  shift
fi
test_file=$1
shift
scratch=$(mktemp -d "${TEST_TMPDIR:-/tmp}/hlo_test.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
for tool in "$@"; do
  name=$scratch/bin/$(basename "$tool")
  if [[ $check && $(basename "$tool") == hlo-opt ]]; then
    printf '#!/usr/bin/env bash\nexec %q %s %s "$@"\n' \
      "$(realpath "$tool")" "$check --max-equivalence-work=200000" \
      "--equivalence-notes=$scratch/notes" > "$name"
    chmod +x "$name"
  else
    ln -s "$(realpath "$tool")" "$name"
  fi
done
export PATH="$scratch/bin:$PATH"
mapfile -t runs < <(sed -n 's|^// RUN: *||p' "$test_file" |
  sed -e ':a' -e '/\\$/N; s/ *\\\n */ /; ta')
if (( ${#runs[@]} == 0 )); then
  echo "$test_file: no '// RUN:' line" >&2
  exit 1
fi
for run in "${runs[@]}"; do
  command=${run//%s/$test_file}
  command=${command//%t/$scratch/out}
  if ! bash -o pipefail -c "$command"; then
    {
      echo "FAILED  $test_file"
      echo "  RUN: $command"
    } >&2
    exit 1
  fi
done
if [[ -s $scratch/notes ]]; then sort -u "$scratch/notes"; fi
