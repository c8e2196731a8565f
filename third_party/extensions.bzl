"""The repositories of //:workspace.bzl for MODULE.bazel (Bazel 7 and later)."""

load("//:workspace.bzl", "hlo_repositories")

def _call(rule, **kwargs):
    rule(**kwargs)

hlo_extension = module_extension(implementation = lambda _: hlo_repositories(_call))
