#!/bin/bash
# usage: tools/dist.sh [FOLDER]
# Builds the tools, optimized, static and stripped, and packs them with README,
# license, man pages, completions for bash, zsh and fish, and a file to make a
# container of: FOLDER/hlo-VERSION-linux-ARCH.tar.gz (FOLDER: dist).
# WHEEL=1: the Python package too, FOLDER/hlo-VERSION-py3-none-PLATFORM.whl.
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
mkdir -p "$staging/$name"/{bin,completions,share/man/man1} "$folder"
for tool in "${tools[@]}"; do
  strip -o "$staging/$name/bin/$tool" "$bin/tools/$tool"
  chmod 755 "$staging/$name/bin/$tool"
  if ldd "$staging/$name/bin/$tool" > /dev/null 2>&1; then
    echo "dist.sh: $tool is not static" >&2
    exit 1
  fi
  "$staging/$name/bin/$tool" --version
  tools/man_page.sh "$staging/$name/bin/$tool" > "$staging/$name/share/man/man1/$tool.1"
done
cp README.md LICENSE CHANGELOG.md "$staging/$name"
cp tools/Containerfile "$staging/$name"
cp tools/completions/* "$staging/$name/completions"
# One order, owner and time: the same sources give the same archive.
tar -C "$staging" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - "$name" | gzip -n > "$folder/$name.tar.gz"
(cd "$staging/$name/bin" && du -h -- *)
du -h "$folder/$name.tar.gz"

if [[ -n ${WHEEL:-} ]]; then
  ./bazelw build "${flags[@]}" //tools/python:libhlo_c.so
  bin=$(./bazelw info "${flags[@]}" bazel-bin 2> /dev/null)
  strip -o "$staging/libhlo_c.so" "$bin/tools/python/libhlo_c.so"
  wheel=$(python3 tools/python/wheel.py --version="$version" --output="$folder" "$staging/libhlo_c.so" tools/python/hlo/{__init__.py,__init__.pyi,_native.py,py.typed} LICENSE)
  du -h "$wheel"
fi
