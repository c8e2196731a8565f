#!/usr/bin/env bash
# Shows that a corpus of modules is a build like any other: starts a remote cache
# (bazel-remote), explains COUNT modules through hlo_corpus, forgets the results
# and asks again. The second time nothing runs; exit status 1 where something did.
# usage: tools/remote_cache.sh [COUNT]     (200)
# BAZEL_REMOTE: the server's binary, else one from PATH, else it is built by Go.
# BAZEL_FLAGS: instead of `-c opt`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
count=${1:-200}
read -r -a flags <<< "${BAZEL_FLAGS:--c opt}"
work=$(mktemp -d)
package=remote_cache_modules
server=
cleanup() {
  if [[ -n $server ]]; then kill "$server" 2> /dev/null || true; fi
  chmod -R u+w "$work"
  rm -rf "$work" "$package"
}
trap cleanup EXIT

remote=${BAZEL_REMOTE:-$(command -v bazel-remote || true)}
if [[ -z $remote ]]; then
  echo "building bazel-remote"
  export GOMODCACHE=$work/modules
  folder=$(go mod download -json github.com/buchgr/bazel-remote/v2@v2.6.1 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  (cd "$folder" && go build -o "$work/bazel-remote" .)
  remote=$work/bazel-remote
fi
port=$((20000 + RANDOM % 20000))
"$remote" --dir="$work/cache" --max_size=1 --http_address="127.0.0.1:$port" \
  --grpc_address="127.0.0.1:$((port + 1))" > "$work/log" 2>&1 &
server=$!
for _ in {1..50}; do
  if (exec 3<> "/dev/tcp/127.0.0.1/$((port + 1))") 2> /dev/null; then break; fi
  sleep 0.2
done

# Modules of different names, as a folder of dumps has them.
mkdir "$package"
for ((i = 0; i < count; ++i)); do
  sed "1s/^HloModule [^, ]*/HloModule step_$i/" examples/mlp_train.hlo > "$package/step_$i.hlo"
done
cat > "$package/BUILD" <<'EOF'
load("//bazel:defs.bzl", "hlo_corpus")

hlo_corpus(
    name = "dumps",
    srcs = glob(["*.hlo"]),
    explain_args = ["--effort=0"],
)
EOF

# The tools come from wherever builds have them; the modules' results from the
# remote cache alone.
./bazelw build "${flags[@]}" //tools:hlo-explain //tools:corpus-table 2> /dev/null
run() {
  rm -rf "bazel-bin/$package"
  local start=$SECONDS
  ./bazelw build "${flags[@]}" --disk_cache= --remote_cache="grpc://127.0.0.1:$((port + 1))" \
    --remote_upload_local_results "//$package:dumps" > "$work/build" 2>&1 || { cat "$work/build"; exit 1; }
  echo "$1: $(grep -o '[0-9]* processes.*' "$work/build"), $((SECONDS - start)) s"
}
run "first run"
run "second run"
hits=$(sed -n 's/.* \([0-9]*\) remote cache hit.*/\1/p' "$work/build")
if ((${hits:-0} < count)); then
  echo "only ${hits:-0} of $count modules came from the cache"
  exit 1
fi
head -4 "bazel-bin/$package/dumps.txt"
