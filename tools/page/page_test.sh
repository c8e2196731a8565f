#!/bin/bash
# usage: page_test.sh HLO_EXPLAIN HLO_DIFF DRIVER MODULE…
# Opens the page of each module, and that of the first two side by side, in a
# headless Chromium, does what a reader would
# (hover, click, search, filter, zoom, keys) and fails where the page does not
# answer or the console shows an error; likewise that of a module of 32,000
# instructions and that of a limit far above the peak. No page may have more than
# 5 MB. Needs `chromium` on the PATH.
set -u
explain=$1 diff=$2 driver=$3
shift 3
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [[ -z "$browser" ]]; then
  echo "no chromium here; install it (apt-get install chromium)" >&2
  exit 1
fi
folder=$(mktemp -d "${TEST_TMPDIR:-/tmp}/page.XXXXXX")
trap 'rm -rf "$folder"' EXIT
failed=0
awk 'BEGIN {
  print "HloModule large, is_scheduled=true\nENTRY main {"
  print "  p = f32[64,256]{1,0} parameter(0)"
  last = "p"
  for (i = 0; i < 8000; ++i) {
    at = ", metadata={op_name=\"jit(step)/layers_" int(i / 100) "/mlp/block_" i % 100 "\""
    at = at " source_file=\"model/layers.py\" source_line=" i % 400 + 1 "}"
    print "  exp" i " = f32[64,256]{1,0} exponential(" last ")" at
    print "  mul" i " = f32[64,256]{1,0} multiply(exp" i ", " last ")" at
    print "  add" i " = f32[64,256]{1,0} add(mul" i ", p)" at
    print "  neg" i " = f32[64,256]{1,0} negate(add" i ")" at
    last = "neg" i
  }
  print "  ROOT r = f32[64,256]{1,0} negate(" last ")\n}"
}' > "$folder/large.hlo"
pair=("$1" "$2")
for module in "$@" "$folder/large.hlo" both roomy; do
  page=$folder/$(basename "$module").html
  budget=()
  case "$module" in
    both)
      "$diff" "${pair[@]}" --html="$page" > /dev/null
      (($? == 4)) || exit 1
      ;;
    roomy)  # A limit far above all buffers.
      "$explain" "$1" --noseconds --html="$page" --limit=100GiB > /dev/null || exit 1
      ;;
    */large.hlo)  # For its size; planning it four times would take minutes.
      "$explain" "$module" --noseconds --html="$page" > /dev/null || exit 1
      ;;
    *)
      budget=(--budget-curve=4 --limit=80%)
      "$explain" "$module" --noseconds --html="$page" "${budget[@]}" > /dev/null || exit 1
      ;;
  esac
  if ((${#budget[@]})) && ! grep -q '"budget":{' "$page"; then
    echo "$(basename "$module"): the page has no budget curve" >&2
    failed=1
  fi
  if (($(stat -c %s "$page") > 5000000)); then
    echo "$(basename "$module"): the page has $(stat -c %s "$page") bytes" >&2
    failed=1
  fi
  # Errors have to be caught before the page's own script runs.
  python3 - "$page" "$driver" <<'PY'
import sys
page, driver = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
early = ("<script>addEventListener('error', (e) => {"
         " document.documentElement.dataset.error = e.message; });</script>")
page = page.replace("<noscript>", early + "<noscript>", 1)
end = page.rindex("</body>")
with open(sys.argv[1], "w", encoding="utf-8") as f:
  f.write(page[:end] + "<script>" + driver + "</script>" + page[end:])
PY
  HOME=$folder timeout 60 "$browser" --headless --no-sandbox --disable-gpu \
    --user-data-dir="$folder/profile" --window-size=1300,1800 --virtual-time-budget=8000 --dump-dom \
    "file://$page" > "$folder/dom" 2> "$folder/log"
  result=$(grep -o '<html[^>]*>' "$folder/dom" | head -1)
  if [[ "$result" == *'data-passed="yes"'* && "$result" != *data-error=* ]]; then
    echo "$(basename "$module"): opens, hovers, searches, filters, zooms"
  else
    echo "$(basename "$module"): $result" >&2
    tail -3 "$folder/log" >&2
    failed=1
  fi
done
exit $failed
