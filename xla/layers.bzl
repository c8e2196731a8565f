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
    ("utils", ["hlo/utils"]),
    ("memory", ["hlo/memory"]),
    ("pass", ["hlo/pass"]),
    ("transforms", ["hlo/transforms", "backends/gpu"]),
    ("pipeline", ["hlo/pipeline"]),
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
