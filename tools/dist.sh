#!/bin/bash
# usage: tools/dist.sh [FOLDER]
# Builds the tools, optimized, static and stripped, and packs them with README,
# licence and completions: FOLDER/hlo-VERSION-linux-ARCH.tar.gz (FOLDER: dist).
# The tools need nothing of the machine that they run on but its kernel.
# BAZEL_FLAGS: instead of `-c opt`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(realpath -m "${1:-dist}")
tools=(hlo-opt hlo-explain hlo-diff hlo-run hlo-reduce hlo-pack kir-opt)
read -r -a flags <<< "${BAZEL_FLAGS:--c opt}"

./bazelw build "${flags[@]}" --linkopt=-static "${tools[@]/#///tools:}"
bin=$(./bazelw info "${flags[@]}" --linkopt=-static bazel-bin 2> /dev/null)
version=$("$bin/tools/hlo-opt" --version | cut -d' ' -f2)
name=hlo-$version-linux-$(uname -m)
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
mkdir -p "$staging/$name"/{bin,completions} "$folder"
for tool in "${tools[@]}"; do
  strip -o "$staging/$name/bin/$tool" "$bin/tools/$tool"
  chmod 755 "$staging/$name/bin/$tool"
  if ldd "$staging/$name/bin/$tool" > /dev/null 2>&1; then
    echo "dist.sh: $tool is not static" >&2
    exit 1
  fi
  "$staging/$name/bin/$tool" --version
done
cp README.md LICENSE CHANGELOG.md "$staging/$name"
cp tools/completions/* "$staging/$name/completions"
# One order, owner and time: the same sources give the same archive.
tar -C "$staging" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - "$name" | gzip -n > "$folder/$name.tar.gz"
(cd "$staging/$name/bin" && du -h -- *)
du -h "$folder/$name.tar.gz"
