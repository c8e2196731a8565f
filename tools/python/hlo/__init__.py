"""HLO modules from Python: where their memory goes, and what to do about it.

  import hlo
  module = hlo.from_jax(step, params, batch)     # or hlo.load("dump/")
  module.explain(limit="h100")                   # in a notebook: as a web page

Modules are immutable: rewriting one returns another. The work is done by the
library of the command-line tools, without holding Python's lock and without a
device. Errors are HloError, with file, line and column if they are known.
"""

import html as _html
import importlib.metadata as _metadata
import json as _json
import os as _os
import tempfile as _tempfile

from hlo import _native
from hlo._native import HloError

__all__ = ["Diff", "Fit", "HloError", "Module", "Report", "diff", "from_jax",
           "load", "parse"]
__version__ = _metadata.version("hlo")


def _frame(page):
  """An inline frame that shows the page in a notebook."""
  return (f'<iframe srcdoc="{_html.escape(page)}" width="100%" height="720" '
          'style="border:0"></iframe>')


def _page(module, options):
  with _tempfile.TemporaryDirectory() as folder:
    path = _os.path.join(folder, "page.html")
    _native.explain(module._handle, {**options, "html": path})
    with open(path, encoding="utf-8") as file:
      return file.read()


class Report(dict):
  """The JSON report of hlo-explain as a dict, such as report["peak_bytes"].

  `text` is the report as text, `fits` says whether the limit is met (None: there
  is none), and `module` is the explained module: scheduled, after `as_`. The
  page for notebooks is made on demand.
  """

  def __init__(self, figures, text, module, met, options):
    super().__init__(figures)
    self.text, self.module = text, module
    self.fits = met if options.get("limit") is not None else None
    self._options = options
    self._page = None

  @property
  def peak_bytes(self):
    return int(self["peak_bytes"])

  def html(self):
    """The report as an HTML page."""
    if self._page is None:
      # The module as it was explained: it keeps its schedule, no pass runs.
      options = {name: value for name, value in self._options.items()
                 if name in ("limit", "device", "mesh")}
      self._page = _page(self.module, options)
    return self._page

  def save(self, path):
    """Writes the page to a file."""
    with open(path, "w", encoding="utf-8") as file:
      file.write(self.html())

  def __repr__(self):
    return self.text

  def _repr_html_(self):
    return _frame(self.html())


class Fit(dict):
  """A plan to fit in a limit: the JSON report of hlo-explain --fit.

  `module` is the rewritten module, `met` whether it fits.
  """

  def __init__(self, figures, text, module, met):
    super().__init__(figures)
    self.text, self.module, self.met = text, module, met

  @property
  def peak_bytes(self):
    return int(self["peak_after_bytes"])

  def html(self):
    """The memory of the rewritten module as an HTML page."""
    return _page(self.module, {"limit": int(self["limit_bytes"])})

  def __repr__(self):
    return self.text

  def _repr_html_(self):
    return _frame(self.html())


class Diff(dict):
  """What differs between two modules: the JSON report of hlo-diff."""

  def __init__(self, figures, text, equal, page):
    super().__init__(figures)
    self.text, self.equal = text, equal
    self._page = page

  def __bool__(self):
    """True if there are differences, as for a list of them."""
    return not self.equal

  def html(self):
    """The memory of both modules, and what differs, as an HTML page."""
    return self._page()

  def __repr__(self):
    return self.text

  def _repr_html_(self):
    return _frame(self.html())


class Module:
  """A verified HLO module."""

  def __init__(self, handle):
    self._handle = handle
    self._facts = None

  def _fact(self, name):
    if self._facts is None:
      self._facts = _json.loads(_native.describe(self._handle))
    return self._facts[name]

  @property
  def name(self):
    return self._fact("name")

  @property
  def instruction_count(self):
    return self._fact("instructions")

  @property
  def num_partitions(self):
    return self._fact("partitions")

  @property
  def num_replicas(self):
    return self._fact("replicas")

  @property
  def is_scheduled(self):
    return self._fact("scheduled")

  def text(self, form="hlo"):
    """HLO text: "hlo", "short", or "pbtxt"."""
    return _native.print_(self._handle, form).decode("utf-8", "replace")

  def proto(self):
    """The bytes of a serialized HloProto."""
    return _native.print_(self._handle, "proto")

  def save(self, path):
    """Writes HLO text, or a proto if the path ends with .pb."""
    data = _native.print_(self._handle,
                          "proto" if _os.fspath(path).endswith(".pb") else "hlo")
    with open(path, "wb") as file:
      file.write(data)

  def explain(self, limit=None, as_=None, schedule=None, device=None, **options):
    """Reports where the memory goes; options are flags of hlo-explain."""
    options.update(limit=limit, as_=as_, schedule=schedule, device=device)
    text, figures, module, met = _native.explain(self._handle, options)
    return Report(_json.loads(figures), text, Module(module), met, options)

  def kernels(self, as_=None, device=None, **options):
    """The kernels as a dict: rows with time, bytes, roofline."""
    options.update(as_=as_, device=device, kernels=True)
    return _json.loads(_native.explain(self._handle, options)[1])

  def collectives(self, as_=None, mesh=None, **options):
    """What devices send each other as a dict; partitions the module first."""
    options.update(as_=as_, mesh=mesh, collectives=True)
    return _json.loads(_native.explain(self._handle, options)[1])

  def budget_curve(self, points=5, limit=None, **options):
    """What limits cost, from the peak down, as a dict with points."""
    options.update(budget_curve=points, limit=limit)
    return _json.loads(_native.explain(self._handle, options)[1])

  def fit(self, limit, **options):
    """Rewrites so that the module fits; options are flags of hlo-explain."""
    options.update(limit=limit, fit=True)
    text, figures, module, met = _native.explain(self._handle, options)
    return Fit(_json.loads(figures), text, Module(module), met)

  def run_pipeline(self, name, passes=None, **options):
    """The module after a pipeline of hlo-opt, such as "cleanup" or "gpu"."""
    return Module(_native.opt(
        self._handle, {**options, "pipeline": name, "passes": passes})[0])

  def run_passes(self, passes, **options):
    """The module after passes, as in "hlo-cse,fix(hlo-dce)"."""
    return Module(_native.opt(self._handle, {**options, "passes": passes})[0])

  def partition(self, num_partitions=None, mesh=None):
    """The module that each device runs, by the shardings of this one."""
    return self.run_pipeline("spmd", num_partitions=num_partitions, mesh=mesh)

  def evaluate(self, *arguments, seed=0, devices=None, **options):
    """Evaluates the module on numpy arrays; without arguments, on generated ones.

    Pass an array for each parameter, and a (nested) tuple or list for a tuple
    parameter. If the module runs on several devices, all of them get the same
    arguments, and the result is a list with one entry per device. A tuple result
    is returned as a flat list of its arrays.
    """
    import numpy as np
    with _tempfile.TemporaryDirectory() as folder:
      path = _os.path.join(folder, f"{self.name}.pb")
      inputs, output = f"random:{seed}", _os.path.join(folder, "out.npz")
      self.save(path)
      if arguments:
        arrays = {}
        for number, argument in enumerate(arguments):
          _flatten(np, f"arg{number}", argument, arrays)
        inputs = _os.path.join(folder, "in.npz")
        np.savez(inputs, **arrays)
      _native.run(path, {**options, "inputs": inputs, "o": output,
                         "devices": devices})
      with np.load(output) as file:
        results = {name: _typed(np, file[name]) for name in file.files}
    return _gather(results)

  def diff(self, other, **options):
    return diff(self, other, **options)

  def __repr__(self):
    return (f"<hlo.Module {self.name}: {self.instruction_count} instructions"
            + (f", {self.num_partitions} partitions"
               if self.num_partitions > 1 else "") + ">")

  def _repr_html_(self):
    return self.explain()._repr_html_()

  def __str__(self):
    return self.text()


def _flatten(np, name, argument, arrays):
  if isinstance(argument, (tuple, list)):
    for number, part in enumerate(argument):
      _flatten(np, f"{name}.{number}", part, arrays)
    return
  arrays[name] = np.asarray(argument)


def _typed(np, array):
  """Restores bfloat16, which numpy files store as two untyped bytes."""
  if array.dtype != np.dtype("V2"):
    return array
  try:
    import ml_dtypes
  except ImportError:
    return array
  return array.view(ml_dtypes.bfloat16)


def _gather(results):
  """Arranges arrays named out, out.0 or out.0@1 by device and element."""
  devices = {}
  for name, array in results.items():
    leaf, _, device = name.partition("@")
    devices.setdefault(int(device or 0), []).append((leaf, array))
  gathered = []
  for _, leaves in sorted(devices.items()):
    values = [array for _, array in leaves]
    gathered.append(values[0] if leaves[0][0] == "out" else values)
  if not gathered:
    return []
  return gathered if len(gathered) > 1 else gathered[0]


def load(path, num_partitions=0):
  """Loads a module from a file, which may be compressed, or a --xla_dump_to folder.

  HLO text, protos and snapshots are recognized by their contents.
  num_partitions overrides the number of partitions in the header.
  """
  return Module(_native.read(path, num_partitions))


def parse(data, name="<string>", num_partitions=0):
  """Parses HLO text or the bytes of a proto."""
  if isinstance(data, str):
    data = data.encode()
  return Module(_native.parse(data, name, num_partitions))


def from_jax(fn, *args, compiled=False, **kwargs):
  """The module of a JAX function, before or after XLA optimizes it.

  `fn` is a function, or the result of jax.jit, lower() or compile(). Arguments
  may be shapes (jax.ShapeDtypeStruct), also with shardings.
  """
  if hasattr(fn, "runtime_executable"):  # compile()
    return _from_executable(fn)
  lowered = fn
  if not hasattr(fn, "compiler_ir"):  # lower()
    if not hasattr(fn, "lower"):
      import jax
      fn = jax.jit(fn)
    lowered = fn.lower(*args, **kwargs)
  if compiled:
    return _from_executable(lowered.compile())
  # Only StableHLO has the number of devices.
  attributes = lowered.compiler_ir("stablehlo").operation.attributes
  partitions = (attributes["mhlo.num_partitions"].value
                if "mhlo.num_partitions" in attributes else 0)
  module = lowered.compiler_ir("hlo")
  return parse(module.as_serialized_hlo_module_proto(), "from_jax",
               partitions if partitions > 1 else 0)


def _from_executable(compiled):
  module = compiled.runtime_executable().hlo_modules()[0]
  return parse(module.as_serialized_hlo_module_proto(), "from_jax")


def diff(before, after, as_=None, device=None, **options):
  """What differs between two modules, and why the peak changed.

  Equal (but for names) modules make a false Diff.
  """
  options.update(as_=as_, device=device)
  figures, equal = _native.diff(before._handle, after._handle,
                                {**options, "json": True})
  text, _ = _native.diff(before._handle, after._handle, options)
  return Diff(_json.loads(figures), text, equal, lambda: _native.diff(
      before._handle, after._handle, {**options, "html": "-"})[0])
