#!/usr/bin/env python3
"""Packs the Python package `hlo` as a wheel.

usage: wheel.py --version=V [--platform=TAG] --output=FILE|FOLDER FILE...

FILEs are the shared library, the package's sources and the license. A wheel is
a zip with a list of what is in it (PEP 427); the library is called by ctypes, so
one wheel is for every Python 3.9 and later. Without --platform the tag is that
of the C library that the shared library asks for (PEP 600), and the name of the
wheel goes to standard output. The same files give the same bytes.
"""

import argparse
import base64
import hashlib
import os
import platform
import re
import zipfile

METADATA = """Metadata-Version: 2.1
Name: hlo
Version: {version}
Summary: HLO modules read, explained, made to fit, partitioned and evaluated; without a compiler
License: Apache-2.0
Requires-Python: >=3.9
Provides-Extra: evaluate
Requires-Dist: numpy ; extra == 'evaluate'
Provides-Extra: jax
Requires-Dist: jax ; extra == 'jax'
"""

WHEEL = """Wheel-Version: 1.0
Generator: hlo
Root-Is-Purelib: false
Tag: py3-none-{platform}
"""


def glibc_platform(library):
  """manylinux_2_34_x86_64, of the newest symbol versions that it needs."""
  versions = [(int(major), int(minor))
              for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", library)]
  major, minor = max(versions, default=(2, 17))
  return f"manylinux_{major}_{minor}_{platform.machine()}"


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--version", required=True)
  parser.add_argument("--platform")
  parser.add_argument("--output", required=True)
  parser.add_argument("files", nargs="+")
  options = parser.parse_args()

  info = f"hlo-{options.version}.dist-info"
  contents = {}
  for path in options.files:
    name = os.path.basename(path)
    with open(path, "rb") as file:
      contents[f"{info}/LICENSE" if name == "LICENSE" else f"hlo/{name}"] = (
          file.read())
  tag = options.platform or glibc_platform(contents["hlo/libhlo_c.so"])
  contents[f"{info}/METADATA"] = METADATA.format(
      version=options.version).encode()
  contents[f"{info}/WHEEL"] = WHEEL.format(platform=tag).encode()
  record = ""
  for name, data in sorted(contents.items()):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    record += f"{name},sha256={digest.decode().rstrip('=')},{len(data)}\n"
  contents[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()

  output = options.output
  if os.path.isdir(output):
    output = os.path.join(output, f"hlo-{options.version}-py3-none-{tag}.whl")
    print(output)
  with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as wheel:
    for name, data in sorted(contents.items()):
      entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
      entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
      entry.compress_type = zipfile.ZIP_DEFLATED
      wheel.writestr(entry, data)


if __name__ == "__main__":
  main()
