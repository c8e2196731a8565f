#!/usr/bin/env python3
"""Tests of the Python package, on the modules of examples/.

usage: python_test.py MLP TRANSFORMER MOE

Tests with JAX run where it is installed.
"""

import ast
import os
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import hlo

try:
  import jax
  jax.config.update("jax_platforms", "cpu")
  jax.config.update("jax_num_cpu_devices", 8)
  import jax.numpy as jnp
except ImportError:
  jax = None

MLP, TRANSFORMER, MOE = sys.argv[1:4]
del sys.argv[1:4]

STEP = """HloModule step
ENTRY main {
  p = f32[2,3]{1,0} parameter(0)
  q = bf16[3]{0} parameter(1)
  c = f32[3]{0} convert(q)
  b = f32[2,3]{1,0} broadcast(c), dimensions={1}
  s = f32[2,3]{1,0} add(p, b)
  ROOT r = (f32[2,3]{1,0}, bf16[3]{0}) tuple(s, q)
}
"""


class ModuleTest(unittest.TestCase):

  def test_modules_go_in_and_out(self):
    module = hlo.load(MLP)
    self.assertEqual(module.name, "jit_mlp_train")
    self.assertGreater(module.instruction_count, 50)
    again = hlo.parse(module.proto())
    self.assertTrue(hlo.diff(module, again).equal)
    self.assertEqual(hlo.parse(str(module)).text(), module.text())
    self.assertIn("jit_mlp_train", repr(module))

  def test_errors_say_where(self):
    with self.assertRaises(hlo.HloError) as caught:
      hlo.parse("HloModule m\nENTRY e {\n  ROOT p = f32[2] ad(p)\n}\n", "m.hlo")
    self.assertEqual((caught.exception.file, caught.exception.line,
                      caught.exception.column), ("m.hlo", 3, 19))
    self.assertIn("unknown opcode", str(caught.exception))
    with self.assertRaisesRegex(hlo.HloError, "nowhere"):
      hlo.load("/nowhere/m.hlo")
    with self.assertRaisesRegex(hlo.HloError, "did you mean cleanup"):
      hlo.load(MLP).run_pipeline("cleanpu")
    with self.assertRaisesRegex(hlo.HloError, "unknown option 'limt'"):
      hlo.load(MLP).explain(limt="1GiB")

  def test_explain(self):
    report = hlo.load(MLP).explain(limit="h100", max_buffers=3)
    self.assertTrue(report.fits)
    self.assertEqual(report.peak_bytes, report["peak_bytes"])
    self.assertIn("at the peak", repr(report))
    self.assertTrue(report.module.is_scheduled)
    self.assertIn("<!doctype html>", report.html())
    self.assertIn("<iframe srcdoc=", report._repr_html_())
    self.assertIsNone(hlo.load(MLP).explain().fits)
    self.assertFalse(hlo.load(MLP).explain(limit="1KiB").fits)

  def test_kernels(self):
    kernels = hlo.load(TRANSFORMER).kernels(as_="gpu", device="h200")
    self.assertEqual(kernels["device"], "h200")
    self.assertEqual(sum(row["count"] for row in kernels["rows"]),
                     kernels["count"])

  def test_collectives(self):
    sent = hlo.load(MOE).collectives(mesh="8:h100-multihost")
    self.assertGreater(sent["bytes_per_device"], 0)
    self.assertEqual(hlo.load(MOE).collectives(as_="prepare")["bytes_per_device"],
                     0)

  def test_budget_curve(self):
    curve = hlo.load(MOE).budget_curve(2, as_="gpu")
    points = curve["points"]
    self.assertEqual(len(points), 2)
    self.assertEqual(points[0]["limit_bytes"], curve["peak_before_bytes"])

  def test_notebooks_show_pages(self):
    module = hlo.load(MLP)
    self.assertIn("<iframe srcdoc=", module._repr_html_())
    other = module.run_pipeline("cleanup")
    difference = module.diff(other)
    self.assertIn("<!doctype html>", difference.html())
    self.assertIn("<iframe srcdoc=", difference._repr_html_())

  def test_stubs_name_what_there_is(self):
    path = os.path.join(os.path.dirname(hlo.__file__), "__init__.pyi")
    with open(path, encoding="utf-8") as file:
      stubs = ast.parse(file.read())
    stated = {}
    for node in stubs.body:
      if isinstance(node, ast.ClassDef):
        stated[node.name] = {part.name for part in node.body
                             if isinstance(part, ast.FunctionDef)}
      elif isinstance(node, ast.FunctionDef):
        stated[node.name] = set()
    self.assertEqual(set(stated), set(hlo.__all__))
    for name, methods in stated.items():
      thing = getattr(hlo, name)
      if not isinstance(thing, type) or issubclass(thing, Exception):
        continue
      own = {key for key in vars(thing)
             if not key.startswith("_") or key in ("_repr_html_", "__bool__")}
      self.assertEqual(methods, own, name)

  def test_fit(self):
    module = hlo.load(TRANSFORMER)
    fit = module.fit("85%")
    self.assertTrue(fit.met)
    self.assertEqual(fit.module.explain().peak_bytes, fit.peak_bytes)
    self.assertLess(fit.peak_bytes, module.explain().peak_bytes)
    self.assertFalse(module.fit("1KiB", strategy="peak-priority").met)
    # What is made up for the rewritten module may be something else.
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, "in.npz")
      ours = module.evaluate(seed=3, save_inputs=path)
      with np.load(path) as file:
        arguments = [file[f"arg{i}"] for i in range(len(file.files))]
    for a, b in zip(ours, fit.module.evaluate(*arguments)):
      np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)

  def test_passes(self):
    module = hlo.load(MLP)
    clean = module.run_pipeline("cleanup")
    self.assertLess(clean.instruction_count, module.instruction_count)
    self.assertTrue(hlo.diff(module, clean))
    self.assertEqual(clean.instruction_count,
                     clean.run_passes("hlo-dce").instruction_count)

  def test_partition(self):
    whole = hlo.load(MOE)
    one = whole.partition()
    self.assertEqual(whole.num_partitions, 8)
    self.assertIn("all-", one.text())
    # Of all devices together, where a report alone would show one of them.
    together = whole.explain(as_="prepare")
    self.assertLess(one.explain().peak_bytes, together.peak_bytes)

  def test_evaluate(self):
    module = hlo.parse(STEP)
    p = np.arange(6, dtype=np.float32).reshape(2, 3)
    try:
      import ml_dtypes
    except ImportError:
      self.skipTest("no ml_dtypes")
    q = np.array([1, 2, 3], dtype=ml_dtypes.bfloat16)
    total, same = module.evaluate(p, q)
    np.testing.assert_array_equal(total, p + q.astype(np.float32))
    np.testing.assert_array_equal(same, q)
    with self.assertRaisesRegex(hlo.HloError, "arg0|%p|parameter"):
      module.evaluate(p.T, q)

  def test_diff(self):
    before, after = hlo.parse(STEP), hlo.parse(STEP.replace("add(", "multiply("))
    difference = hlo.diff(before, after)
    self.assertTrue(difference)
    self.assertFalse(difference.equal)
    self.assertIn("multiply", repr(difference))
    self.assertFalse(hlo.diff(before, before))

  def test_threads_run_side_by_side(self):
    module = hlo.load(TRANSFORMER)
    reports = []
    threads = [threading.Thread(target=lambda: reports.append(
        module.explain(effort=0)["peak_bytes"])) for _ in range(4)]
    for thread in threads:
      thread.start()
    # This one runs meanwhile, which takes that the others let go of the lock.
    started = time.monotonic()
    beats = 0
    while any(thread.is_alive() for thread in threads):
      beats += 1
      time.sleep(0.001)
    self.assertGreater(beats, 10 * (time.monotonic() - started))
    self.assertEqual(len(set(reports)), 1)
    self.assertEqual(len(reports), 4)


@unittest.skipIf(jax is None, "no jax")
class JaxTest(unittest.TestCase):

  def test_functions(self):
    def step(w, x):
      return jnp.sum(jnp.tanh(x @ w))
    w, x = np.ones((4, 8), np.float32), np.full((2, 4), 0.5, np.float32)
    expected = np.asarray(jax.value_and_grad(step)(w, x)[1])
    for fn in (jax.value_and_grad(step), jax.jit(jax.value_and_grad(step))):
      value, gradient = hlo.from_jax(fn, w, x).evaluate(w, x)
      self.assertAlmostEqual(float(value), float(step(w, x)), places=4)
      np.testing.assert_allclose(gradient, expected, rtol=1e-5)
    lowered = jax.jit(step).lower(w, x)
    self.assertFalse(hlo.from_jax(lowered).is_scheduled)
    self.assertTrue(hlo.from_jax(lowered.compile()).is_scheduled)
    self.assertTrue(hlo.from_jax(step, w, x, compiled=True).is_scheduled)

  def test_sharded_functions(self):
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(8), ("d",))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
    x = jax.ShapeDtypeStruct((64, 32), jnp.float32, sharding=rows)
    module = hlo.from_jax(lambda x: jnp.sum(x * x), x)
    self.assertEqual(module.num_partitions, 8)
    self.assertIn("f32[8,32]", module.partition().text())


if __name__ == "__main__":
  unittest.main()
