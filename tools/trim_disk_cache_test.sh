#!/bin/bash
# The files read last stay, as many as fit; no folder, no error.
set -euo pipefail

trim="$1"
cache="${TEST_TMPDIR}/cache"
mkdir -p "${cache}/cas" "${cache}/ac"
for day in 1 2 3 4 5; do
  head -c 1000000 /dev/zero > "${cache}/cas/${day}"
  touch -d "2026-01-0${day}" "${cache}/cas/${day}"
done
echo result > "${cache}/ac/old"
touch -d 2025-12-31 "${cache}/ac/old"

bash "${trim}" 1 "${cache}"
[[ "$(find "${cache}" -type f | wc -l)" == 6 ]]
if bash "${trim}" some "${cache}" 2> /dev/null; then exit 1; fi
[[ "$(find "${cache}" -type f | wc -l)" == 6 ]]

# Written first, read last.
touch -a -d 2026-01-06 "${cache}/cas/1"

bash "${trim}" 0.0025 "${cache}"
[[ "$(cd "${cache}" && echo cas/* && ls ac)" == "cas/1 cas/5" ]]

bash "${trim}" 1 "${TEST_TMPDIR}/missing"
! bash "${trim}" 2> /dev/null
