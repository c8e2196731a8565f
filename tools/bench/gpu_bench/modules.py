"""Modules of one kernel or two, of most kinds."""

import os

ADD = ("add { x = KIND[] parameter(0) y = KIND[] parameter(1) "
       "ROOT r = KIND[] add(x, y) }")
MAX = ("max { x = KIND[] parameter(0) y = KIND[] parameter(1) "
       "ROOT r = KIND[] maximum(x, y) }")
LESS = ("less { x = KIND[] parameter(0) y = KIND[] parameter(1) "
        "ROOT r = pred[] compare(x, y), direction=LT }")


def entry(shapes, lines):
  """A computation of parameters a, b, ... and lines that end with a root."""
  parameters = [f"{chr(ord('a') + n)} = {shape} parameter({n})"
                for n, shape in enumerate(shapes)]
  return "ENTRY e {\n  " + "\n  ".join(parameters + lines) + "\n}\n"


def reduction(kind, dims, over):
  left = ",".join(str(d) for n, d in enumerate(dims) if n not in over)
  shape = f"{kind}[{','.join(map(str, dims))}]"
  return ADD.replace("KIND", kind) + "\n" + entry([shape], [
      f"zero = {kind}[] constant(0)",
      f"ROOT r = {kind}[{left}] reduce(a, zero), "
      f"dimensions={{{','.join(map(str, over))}}}, to_apply=add"])


def dot(a, b, out, contracting, batch=""):
  return entry([a, b], [
      f"ROOT r = {out} dot(a, b), lhs_contracting_dims={{{contracting[0]}}}, "
      f"rhs_contracting_dims={{{contracting[1]}}}" + batch])


def convolution(kind, images, size, features, window, stride=1):
  taps = f"{kind}[{window},{window},{features},{features}]"
  pad = window // 2
  out = (size + 2 * pad - window) // stride + 1
  return entry([f"{kind}[{images},{size},{size},{features}]", taps], [
      f"ROOT r = {kind}[{images},{out},{out},{features}] convolution(a, b), "
      f"window={{size={window}x{window} stride={stride}x{stride} "
      f"pad={pad}_{pad}x{pad}_{pad}}}, dim_labels=b01f_01io->b01f"])


def softmax(kind, rows, row):
  t, r = f"{kind}[{rows},{row}]", f"{kind}[{rows}]"
  return (ADD + "\n" + MAX).replace("KIND", kind) + "\n" + entry([t], [
      f"zero = {kind}[] constant(0)", f"least = {kind}[] constant(-inf)",
      f"m = {r} reduce(a, least), dimensions={{1}}, to_apply=max",
      f"ms = {t} broadcast(m), dimensions={{0}}",
      f"d = {t} subtract(a, ms)", f"p = {t} exponential(d)",
      f"s = {r} reduce(p, zero), dimensions={{1}}, to_apply=add",
      f"ss = {t} broadcast(s), dimensions={{0}}", f"ROOT r = {t} divide(p, ss)"])


def layer_norm(rows, row):
  t, r = f"f32[{rows},{row}]", f"f32[{rows}]"
  return ADD.replace("KIND", "f32") + "\n" + entry([t, f"f32[{row}]"], [
      "zero = f32[] constant(0)", f"n = f32[] constant({row})",
      "eps = f32[] constant(1e-5)", f"ns = {r} broadcast(n), dimensions={{}}",
      f"s = {r} reduce(a, zero), dimensions={{1}}, to_apply=add",
      f"mean = {r} divide(s, ns)", f"m = {t} broadcast(mean), dimensions={{0}}",
      f"d = {t} subtract(a, m)", f"q = {t} multiply(d, d)",
      f"v = {r} reduce(q, zero), dimensions={{1}}, to_apply=add",
      f"var = {r} divide(v, ns)", f"e = {r} broadcast(eps), dimensions={{}}",
      f"ve = {r} add(var, e)", f"i = {r} rsqrt(ve)",
      f"is = {t} broadcast(i), dimensions={{0}}", f"y = {t} multiply(d, is)",
      f"w = {t} broadcast(b), dimensions={{1}}", f"ROOT r = {t} multiply(y, w)"])


def group_norm(images, size, features, groups):
  """As in resnets and diffusion: sums over pixels and features of a group."""
  t = f"f32[{images},{size},{size},{groups},{features // groups}]"
  r, count = f"f32[{images},{groups}]", size * size * features // groups
  return ADD.replace("KIND", "f32") + "\n" + entry([t], [
      "zero = f32[] constant(0)", f"n = f32[] constant({count})",
      "eps = f32[] constant(1e-5)", f"ns = {r} broadcast(n), dimensions={{}}",
      f"s = {r} reduce(a, zero), dimensions={{1,2,4}}, to_apply=add",
      f"mean = {r} divide(s, ns)", f"q = {t} multiply(a, a)",
      f"u = {r} reduce(q, zero), dimensions={{1,2,4}}, to_apply=add",
      f"square = {r} divide(u, ns)", f"mm = {r} multiply(mean, mean)",
      f"var = {r} subtract(square, mm)",
      f"e = {r} broadcast(eps), dimensions={{}}", f"ve = {r} add(var, e)",
      f"i = {r} rsqrt(ve)", f"is = {t} broadcast(i), dimensions={{0,3}}",
      f"m = {t} broadcast(mean), dimensions={{0,3}}",
      f"d = {t} subtract(a, m)", f"ROOT r = {t} multiply(d, is)"])


def adam(elements):
  t = f"f32[{elements}]"
  lines = []
  for name, value in (("b1", 0.9), ("c1", 0.1), ("b2", 0.999), ("c2", 0.001),
                      ("eps", 1e-8), ("rate", 0.001)):
    lines += [f"{name}s = f32[] constant({value})",
              f"{name} = {t} broadcast({name}s), dimensions={{}}"]
  lines += [f"m0 = {t} multiply(b, b1)", f"m1 = {t} multiply(d, c1)",
            f"m = {t} add(m0, m1)", f"g2 = {t} multiply(d, d)",
            f"v0 = {t} multiply(c, b2)", f"v1 = {t} multiply(g2, c2)",
            f"v = {t} add(v0, v1)", f"root = {t} sqrt(v)",
            f"below = {t} add(root, eps)", f"step = {t} divide(m, below)",
            f"scaled = {t} multiply(step, rate)",
            f"p = {t} subtract(a, scaled)",
            f"ROOT r = ({t}, {t}, {t}) tuple(p, m, v)"]
  return entry([t] * 4, lines)


def gelu(kind, elements):
  t = f"{kind}[{elements}]"
  lines = []
  for name, value in (("half", 0.5), ("one", 1), ("root", 0.70710678)):
    lines += [f"{name}s = {kind}[] constant({value})",
              f"{name} = {t} broadcast({name}s), dimensions={{}}"]
  return entry([t], lines + [
      f"x = {t} multiply(a, root)", f"e = {t} erf(x)", f"y = {t} add(e, one)",
      f"h = {t} multiply(a, half)", f"ROOT r = {t} multiply(h, y)"])


def transpose(kind, dims, order):
  shape = ",".join(map(str, dims))
  turned = ",".join(str(dims[n]) for n in order)
  return entry([f"{kind}[{shape}]"], [
      f"ROOT r = {kind}[{turned}] transpose(a), "
      f"dimensions={{{','.join(map(str, order))}}}"])


def sorted_rows(rows, row):
  t = f"f32[{rows},{row}]"
  return LESS.replace("KIND", "f32") + "\n" + entry(
      [t], [f"ROOT r = {t} sort(a), dimensions={{1}}, to_apply=less"])


GATHER = entry(["f32[65536,512]", "s32[65536,1]"], [
    "ROOT r = f32[65536,512] gather(a, b), offset_dims={1}, "
    "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
    "slice_sizes={1,512}"])
SCATTER = ADD.replace("KIND", "f32") + "\n" + entry(
    ["f32[65536,512]", "s32[4096,1]", "f32[4096,512]"], [
        "ROOT r = f32[65536,512] scatter(a, b, c), update_window_dims={1}, "
        "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
        "index_vector_dim=1, to_apply=add"])
CONCAT = entry(["f32[4096,4096]"] * 2, [
    "ROOT r = f32[4096,8192] concatenate(a, b), dimensions={1}"])
SLICE_PAD = entry(["f32[8192,8192]"], [
    "s = f32[8000,8000] slice(a), slice={[100:8100],[100:8100]}",
    "zero = f32[] constant(0)",
    "ROOT r = f32[8003,8005] pad(s, zero), padding=1_2x2_3"])
BATCH = ", lhs_batch_dims={0}, rhs_batch_dims={0}"

MODULES = {
    "adam": adam(1 << 24),
    "add_f32": entry(["f32[8192,8192]"] * 2,
                     ["ROOT r = f32[8192,8192] add(a, b)"]),
    "odd_f32": entry(["f32[8191,8001]"],
                     ["ROOT r = f32[8191,8001] tanh(a)"]),
    "all_f32": reduction("f32", [8192, 8192], [0, 1]),
    "row_f32": reduction("f32", [8192, 8192], [1]),
    "row_bf16": reduction("bf16", [8192, 8192], [1]),
    "shortrow_f32": reduction("f32", [1 << 20, 64], [1]),
    "col_f32": reduction("f32", [8192, 8192], [0]),
    "mid_f32": reduction("f32", [64, 1024, 1024], [1]),
    "concat": CONCAT,
    "slice_pad": SLICE_PAD,
    "gather_rows": GATHER,
    "scatter_add": SCATTER,
    "gelu_bf16": gelu("bf16", 1 << 26),
    "gelu_f32": gelu("f32", 1 << 25),
    "layernorm_f32": layer_norm(32768, 1024),
    "groupnorm_f32": group_norm(32, 56, 256, 32),
    "softmax_bf16": softmax("bf16", 32768, 1024),
    "softmax_f32": softmax("f32", 8192, 4096),
    "softmax_wide_f32": softmax("f32", 256, 131072),
    "sort_rows": sorted_rows(16384, 1024),
    "transpose_f32": transpose("f32", [8192, 8192], [1, 0]),
    "transpose_bf16": transpose("bf16", [8192, 8192], [1, 0]),
    "transpose_021": transpose("f32", [32, 1024, 1024], [0, 2, 1]),
    "transpose_102": transpose("f32", [1024, 1024, 32], [1, 0, 2]),
    "dot_bf16_4096": dot("bf16[4096,4096]", "bf16[4096,4096]",
                         "bf16[4096,4096]", (1, 0)),
    "dot_f32_1024": dot("f32[1024,1024]", "f32[1024,1024]", "f32[1024,1024]",
                        (1, 0)),
    "dot_f32_4096": dot("f32[4096,4096]", "f32[4096,4096]", "f32[4096,4096]",
                        (1, 0)),
    "dot_tn_odd": dot("f32[1001,777]", "f32[1001,555]", "f32[777,555]", (0, 0)),
    "dot_gemv": dot("f32[8192,8192]", "f32[8192]", "f32[8192]", (1, 0)),
    "dot_batch_bf16": dot("bf16[256,512,128]", "bf16[256,128,512]",
                          "bf16[256,512,512]", (2, 1), BATCH),
    "conv_f32": convolution("f32", 32, 56, 64, 3),
    "conv_f32_512": convolution("f32", 32, 14, 512, 3),
    "conv_f32_stride": convolution("f32", 32, 56, 128, 3, 2),
    "conv_bf16": convolution("bf16", 32, 56, 128, 3),
    "conv_1x1": convolution("f32", 32, 28, 512, 1),
}


def modules(flags):
  """One file each."""
  os.makedirs(flags.folder, exist_ok=True)
  for name, text in MODULES.items():
    with open(os.path.join(flags.folder, name + ".hlo"), "w") as file:
      file.write(f"HloModule {name}\n\n{text}")
  return 0
