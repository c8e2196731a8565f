"""Inputs by chance, and results beside those of a judge."""

import numpy as np

TOLERANCE = {"f8": 1e-10, "f4": 1e-4, "f2": 1e-2, "V2": 3e-2, "V1": 2e-1,
             "c8": 1e-4, "c16": 1e-10}
LOOSE = dict(TOLERANCE, f4=1e-2, c8=1e-2)


def draw_inputs(arrays, path):
  """Small positive numbers: what is a variance must be, and sums stay finite."""
  generator = np.random.default_rng(0)
  values = {}
  for array in arrays:
    kind, extents = array["type"][1:], array["extents"]
    if kind == "b1":
      value = generator.integers(0, 2, extents).astype(bool)
    elif kind[0] in "iu":
      value = generator.integers(0, 10, extents).astype(kind)
    elif kind == "V1":
      value = generator.integers(0x20, 0x38, extents).astype("u1").view("V1")
    else:
      value = generator.random(extents, dtype=np.float32)
      value = np.asarray(value) * np.float32(0.05) + np.float32(0.01)
      if kind == "V2":
        value = (np.ascontiguousarray(value).view(np.uint32) >> 16).astype(
            np.uint16).view("V2")
      else:
        value = value.astype(kind)
    values[array["name"]] = value.reshape(extents)
  np.savez(path, **values)


def widened(array):
  """Elements as float64; bf16 are the upper halves of floats."""
  if array.dtype.kind == "V" and array.dtype.itemsize == 2:
    bits = np.ascontiguousarray(array).view(np.uint16).astype(np.uint32) << 16
    return bits.view(np.float32).astype(np.float64)
  if array.dtype.kind == "V":
    return np.ascontiguousarray(array).view(np.uint8).astype(np.float64)
  return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def compare(judge_path, path, tolerance):
  """Errors of the worst array, and whether each is within its tolerance."""
  worst, wrong = {"norm": 0.0, "max": 0.0}, []
  with np.load(judge_path) as judge, np.load(path) as ours:
    if len(judge.files) != len(ours.files):
      raise RuntimeError(f"{len(judge.files)} results, not {len(ours.files)}")
    for a, b in zip(judge.files, ours.files):
      kind = ours[b].dtype.str[1:]
      want, have = widened(judge[a]), widened(ours[b])
      if want.shape != have.shape:
        wrong.append(f"{b}: {have.shape}, not {want.shape}")
        continue
      finite = np.isfinite(want)
      with np.errstate(invalid="ignore"):
        alike = (want == have) | (np.isnan(want) & np.isnan(have))
      bad = int(np.count_nonzero(~alike & ~(finite & np.isfinite(have))))
      both = finite & np.isfinite(have)
      gap = np.abs(np.where(both, have - want, 0))
      size = np.abs(np.where(both, want, 0))
      norm = float(np.linalg.norm(gap.ravel()) /
                   max(np.linalg.norm(size.ravel()), 1e-30))
      most = float(gap.max(initial=0) / max(size.max(initial=0), 1e-30))
      if norm > worst["norm"]:
        worst.update(norm=norm, max=most, array=b)
      if bad or norm > tolerance.get(kind, 0):
        wrong.append(f"{b} ({kind}): norm {norm:.2g}, largest {most:.2g}, "
                     f"{bad} not finite alike")
  return {**worst, "equal": not wrong, "wrong": wrong[:10]}
