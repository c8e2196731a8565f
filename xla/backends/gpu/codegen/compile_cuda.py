"""Compiles emitted CUDA for GPUs that need not be there.

  compile_cuda.py KERNEL.cu... [--arch=80,90] [--include=DIR] [--require]

With nvcc from the PATH (or $NVCC) whole files become cubins; else device code
goes through NVRTC: the library $NVRTC, or that of the Python package
nvidia-cuda-nvrtc with the headers of nvidia-cuda-runtime and
nvidia-cuda-cccl, of one version. Without either it says so and succeeds, unless
--require is given.
"""

import argparse
import ctypes
import glob
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile


def nvidia_paths(pattern):
  """Files and folders under nvidia/ of installed Python packages.

  A package has a folder of its own there, such as cuda_nvrtc, or shares cu13.
  """
  spec = importlib.util.find_spec("nvidia")
  return [path
          for root in ((spec.submodule_search_locations or []) if spec else [])
          for path in sorted(glob.glob(os.path.join(root, pattern)))]


def with_nvcc(nvcc, path, arch):
  with tempfile.TemporaryDirectory() as folder:
    command = [nvcc, "-std=c++17", f"-arch=sm_{arch}", "-cubin", "-o",
               os.path.join(folder, "out.cubin"), path]
    run = subprocess.run(command, stderr=subprocess.STDOUT,
                         stdout=subprocess.PIPE, text=True)
  return run.returncode == 0, run.stdout


class Nvrtc:
  """The library's C interface, as far as it takes to compile a file."""

  def __init__(self, library, includes):
    self.lib = ctypes.CDLL(library)
    self.includes = includes

  def compile(self, path, arch):
    with open(path, "rb") as file:
      source = file.read()
    program = ctypes.c_void_p()
    self.lib.nvrtcCreateProgram(ctypes.byref(program), source,
                                path.encode(), 0, None, None)
    options = ["--std=c++17", f"--gpu-architecture=sm_{arch}"]
    options += [f"--include-path={folder}" for folder in self.includes]
    array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    failed = self.lib.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    self.lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    self.lib.nvrtcGetProgramLog(program, log)
    self.lib.nvrtcDestroyProgram(ctypes.byref(program))
    return failed == 0, log.value.decode(errors="replace")


def find_nvrtc(extra_includes):
  """An Nvrtc, or None."""
  library = os.environ.get("NVRTC")
  includes = list(extra_includes)
  if library is None:
    found = (nvidia_paths("cuda_nvrtc/lib/libnvrtc.so*") +
             nvidia_paths("cu[0-9]*/lib/libnvrtc.so*"))
    library = found[0] if found else None
  for name in ("cuda_runtime", "cuda_cccl", "cu[0-9]*"):
    includes += nvidia_paths(name + "/include")
    includes += nvidia_paths(name + "/include/cccl")
  return Nvrtc(library, includes) if library else None


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("files", nargs="+")
  parser.add_argument("--arch", default="80,90")
  parser.add_argument("--include", action="append", default=[])
  parser.add_argument("--require", action="store_true")
  args = parser.parse_args()
  nvcc = os.environ.get("NVCC") or shutil.which("nvcc")
  nvrtc = None if nvcc else find_nvrtc(args.include)
  if not nvcc and nvrtc is None:
    print("skipped: neither nvcc nor NVRTC is here")
    return 1 if args.require else 0
  failures = 0
  for path in args.files:
    for arch in args.arch.split(","):
      ok, log = (with_nvcc(nvcc, path, arch) if nvcc else
                 nvrtc.compile(path, arch))
      print(f"{os.path.basename(path)}: sm_{arch}: {'ok' if ok else 'FAILED'}")
      if not ok:
        failures += 1
        print(log)
  print(f"{len(args.files)} files, {failures} failures")
  return 1 if failures else 0


if __name__ == "__main__":
  sys.exit(main())
