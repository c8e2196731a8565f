#!/bin/bash
# Deletes what was written longest ago from Bazel's disk cache, so that at most
# GIGABYTES of it stay: Bazel itself lets it grow without end, 35 GB in a day of
# many branches.
#
#   tools/trim_disk_cache.sh GIGABYTES [FOLDER]
set -euo pipefail

limit="${1:?how many gigabytes may stay}"
folder="${2:-${HOME}/.cache/hlo-bazel-disk}"
[[ -d "${folder}" ]] || exit 0

# Newest first: seconds, bytes, path. Files that go while this runs are no error.
{ find "${folder}" -type f -printf '%T@\t%s\t%p\n' 2> /dev/null || true; } |
  sort -rn |
  awk -F '\t' -v limit="${limit}" \
    '{ sum += $2 } sum > limit * 1e9 { print $3 }' |
  xargs -r -d '\n' rm -f
