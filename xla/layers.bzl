"""The layer order, held once: a package sees its own layer and those before it.

Every package says `default_visibility = layer("analysis")`; a target that looks
at a later layer does not build.
"""

# (layer, folders that belong to it). Folders are relative to //xla.
LAYERS = [
    ("values", [""]),
    ("ir", ["hlo/ir"]),
    ("parser", ["hlo/parser"]),
    ("verifier", ["hlo/verifier"]),
    ("evaluator", ["hlo/evaluator"]),
    ("analysis", ["hlo/analysis"]),
    ("utils", ["hlo/utils", "hlo/builder"]),
    ("memory", ["hlo/memory"]),
    ("pass", ["hlo/pass"]),
    ("transforms", ["hlo/transforms", "backends/gpu"]),
    ("pipeline", ["hlo/pipeline"]),
]

# Within a layer a folder sees those of earlier lines, none of its own line.
# layer_check.py holds every edge of the BUILD files against this.
SIBLINGS = [
    # values: protos and what has their names use each other.
    ["service", "tsl"],
    ["hlo/ir"],
    ["hlo/parser"],
    ["hlo/verifier"],
    ["hlo/verifier/visitors"],
    ["hlo/evaluator"],
    ["hlo/evaluator/io"],
    ["hlo/evaluator/devices"],
    ["hlo/evaluator/run"],
    ["hlo/analysis"],
    ["hlo/analysis/packing", "hlo/analysis/cost", "hlo/analysis/report"],
    ["hlo/analysis/heap"],
    ["hlo/analysis/buffers"],
    ["hlo/utils", "hlo/builder"],
    ["hlo/utils/collectives"],
    ["hlo/memory/graph"],
    ["hlo/memory/accounting"],
    ["hlo/memory/limit"],
    ["hlo/memory/schedulers", "hlo/memory/timeline"],
    ["hlo/memory/report"],
    ["hlo/pass"],
    ["hlo/pass/instrumentation"],
    [
        "hlo/transforms/simplifiers",
        "hlo/transforms/fusion",
        "hlo/transforms/collectives",
        "hlo/transforms/copies",
        "hlo/transforms/indexing",
        "hlo/transforms/operations",
    ],
    ["hlo/transforms/loops"],
    ["hlo/transforms/control_flow"],
    ["hlo/transforms/memory/remat/solver"],
    ["hlo/transforms/memory/remat/planner", "hlo/transforms/memory/remat/greedy"],
    ["hlo/transforms/memory"],
    ["hlo/transforms/memory/remat"],
    ["hlo/transforms/sharding_propagation"],
    ["hlo/transforms/spmd"],
    ["backends/gpu/kernel_ir", "backends/gpu/model"],
    ["backends/gpu/model/cost"],
    ["backends/gpu/model/tiling"],
    ["backends/gpu/smem"],
    ["backends/gpu/smem/baseline", "backends/gpu/smem/check"],
    ["backends/gpu/smem/plan"],
    ["backends/gpu/smem/report"],
    ["backends/gpu/codegen", "backends/gpu/lowering"],
    ["backends/gpu/program"],
    ["backends/gpu/fusion/explain"],
    ["backends/gpu/fusion"],
    [
        "backends/gpu/transforms/gemm",
        "backends/gpu/transforms/horizontal",
        "backends/gpu/transforms/layouts",
        "backends/gpu/transforms/mof",
        "backends/gpu/transforms/priority_fusion",
        "backends/gpu/transforms/reductions",
        "backends/gpu/transforms/smem",
        "backends/gpu/transforms/softmax",
        "backends/gpu/transforms/sorts",
    ],
    ["hlo/pipeline/page"],
    ["hlo/pipeline"],
    ["hlo/pipeline/diff"],
    ["hlo/pipeline/commands"],
    ["hlo/pipeline/c_api"],
]

# Packages that may see every layer.
OBSERVERS = ["//xla/hlo/testlib", "//xla/compat", "//tools", "//docs"]

# Libraries that outside projects may use are public one by one.
PUBLIC = ["//visibility:public"]

def layer(name):
    """Returns the default_visibility of a package in layer `name`.

    Args:
      name: one of LAYERS.
    """
    users = list(OBSERVERS)
    found = False
    for layer_name, folders in LAYERS:
        found = found or layer_name == name
        if found:
            users += ["//xla/" + f if f else "//xla" for f in folders]
    if not found:
        fail("unknown layer " + name)
    return [u + (":__pkg__" if u == "//xla" else ":__subpackages__") for u in users]
