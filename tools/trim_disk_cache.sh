#!/bin/bash
# Deletes what was read longest ago from Bazel's disk cache, so that at most
# GIGABYTES of it stay: Bazel itself lets it grow without end, 35 GB in a day of
# many branches. A build that misses a file makes it again.
#
#   tools/trim_disk_cache.sh GIGABYTES [FOLDER]
set -euo pipefail

limit="${1:?how many gigabytes may stay}"
# As in .bazelrc.
folder="${2:-${HOME:-}/.cache/hlo-bazel-disk}"
if [[ ! "${limit}" =~ ^[0-9]+([.][0-9]+)?$ ]]; then
  echo "${0##*/}: not a number of gigabytes: ${limit}" >&2
  exit 1
fi
[[ -d "${folder}" ]] || exit 0

# Last read first: seconds, bytes, path. Files that go while this runs are no
# error.
{ find "${folder}" -type f -printf '%A@\t%s\t%p\n' 2> /dev/null || true; } |
  sort -rn |
  awk -F '\t' -v limit="${limit}" \
    '{ sum += $2 } sum > limit * 1e9 { print $3 }' |
  xargs -r -d '\n' rm -f
