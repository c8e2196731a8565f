#!/usr/bin/env python3
"""Packs the public benchmark instances and prints a table.

  ./bazelw build -c opt //tools:hlo-pack
  tools/bench/packing.py FOLDER [--tool=bazel-bin/tools/hlo-pack]

FOLDER holds minimalloc/*.csv (NAME.CAPACITY.csv) and idealloc/*.csv. Each
instance is one process; heights are recomputed here and offsets checked, by a
sweep over time, independently of the tool.
"""

import argparse
import bisect
import csv
import pathlib
import subprocess
import tempfile
import time


def read(path):
    with open(path, newline="") as file:
        return [{k: v if k == "id" else int(v) for k, v in row.items()}
                for row in csv.DictReader(file)]


def max_load(buffers):
    events = sorted([(b["lower"], b["size"]) for b in buffers] +
                    [(b["upper"], -b["size"]) for b in buffers])
    load = most = 0
    for _, size in events:
        load += size
        most = max(most, load)
    return most


def is_valid(buffers):
    events = sorted([(b["lower"], 1, b["offset"], b["size"]) for b in buffers] +
                    [(b["upper"], 0, b["offset"], b["size"]) for b in buffers])
    live = []  # (offset, end), sorted
    for _, starts, offset, size in events:
        if size == 0:
            continue
        at = bisect.bisect_left(live, (offset, offset + size))
        if not starts:
            del live[at]
            continue
        if offset < 0 or (at < len(live) and live[at][0] < offset + size):
            return False
        if at > 0 and live[at - 1][1] > offset:
            return False
        live.insert(at, (offset, offset + size))
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tool", default="bazel-bin/tools/hlo-pack")
    args = parser.parse_args()
    print(f"{'instance':16} {'buffers':>8} {'bound':>13} {'height':>13} "
          f"{'ratio':>7} {'seconds':>8}  valid")
    for path in sorted(args.folder.glob("*/*.csv")):
        parts = path.name.split(".")
        capacity = parts[1] if parts[1].isdigit() and len(parts) == 3 else None
        with tempfile.NamedTemporaryFile(suffix=".csv") as out:
            command = [args.tool, str(path), "-o", out.name]
            if capacity and len(parts[0]) == 1:
                command.append(f"--capacity={capacity}")
            start = time.monotonic()
            subprocess.run(command, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)
            seconds = time.monotonic() - start
            packed = read(out.name)
        buffers = read(path)
        same = ([(b["id"], b["lower"], b["upper"], b["size"]) for b in packed]
                == [(b["id"], b["lower"], b["upper"], b["size"])
                    for b in buffers])
        height = max((b["offset"] + b["size"] for b in packed), default=0)
        bound = max_load(buffers)
        print(f"{path.stem[:16]:16} {len(buffers):8} {bound:13} {height:13} "
              f"{height / bound if bound else 1:7.4f} {seconds:8.3f}  "
              f"{'yes' if same and is_valid(packed) else 'NO'}")


if __name__ == "__main__":
    main()
