"""unity_library: a cc_library that compiles its files a few at a time.

Most of the time that a small file takes to compile goes into the headers that
it shares with its neighbors. One translation unit for ten of them pays for
those once: a cold build of xla/hlo/ir takes a fifth of the time.

The files of a group share their anonymous namespaces, so their helpers need
different names. `--define=unity=off` compiles each file on its own, for
quicker rebuilds after a change of one file and for editors.
"""

load("//xla:cc.bzl", "cc_library")

def unity_library(name, srcs, group_size = 10, **kwargs):
    """Declares a cc_library whose .cc files are compiled in groups.

    Args:
      name: of the library.
      srcs: .cc files, grouped in this order, and private headers.
      group_size: files in a group.
      **kwargs: other attributes of cc_library.
    """
    sources = [src for src in srcs if src.endswith(".cc")]
    headers = [src for src in srcs if not src.endswith(".cc")]
    groups = []
    for begin in range(0, len(sources), group_size):
        group = "%s_unity_%d" % (name, begin // group_size)
        native.genrule(
            name = group,
            srcs = sources[begin:begin + group_size],
            outs = [group + ".cc"],
            # Their contents rather than includes of them: then users of the
            # library do not depend on its .cc files, and stay in the disk cache.
            cmd = "for f in $(SRCS); do echo \"#line 1 \\\"$${f#external/*/}\\\"\"; cat $$f; done > $@",
            visibility = ["//visibility:private"],
        )
        groups.append(group + ".cc")
    cc_library(
        name = name,
        srcs = headers + select({
            "//xla:unity_off": sources,
            "//conditions:default": groups,
        }),
        **kwargs
    )
