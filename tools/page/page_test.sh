#!/bin/bash
# usage: page_test.sh HLO_EXPLAIN DRIVER MODULE…
# Opens the page of each module in a headless Chromium, does what a reader would
# (hover, click, search, filter, zoom, keys) and fails where the page does not
# answer or the console shows an error. Needs `chromium` on the PATH.
set -u
explain=$1 driver=$2
shift 2
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [[ -z "$browser" ]]; then
  echo "no chromium here; install it (apt-get install chromium)" >&2
  exit 1
fi
folder=$(mktemp -d "${TEST_TMPDIR:-/tmp}/page.XXXXXX")
trap 'rm -rf "$folder"' EXIT
failed=0
for module in "$@"; do
  page=$folder/$(basename "$module").html
  "$explain" "$module" --noseconds --html="$page" > /dev/null || exit 1
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
