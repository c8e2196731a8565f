"""cc_library, cc_test and cc_binary that read headers precompiled.

BUILD files load these over Bazel's own. A target that depends on //xla/hlo/ir:hlo
itself gets the headers of instructions, any other those of the standard library,
of absl and of xla_data.proto; a test with GoogleTest gets GoogleTest's, too. A
target with flags of its own gets none: GCC takes precompiled headers only if they
were compiled with the same flags. All else is Bazel's: see precompiled_header.bzl.
"""

_HLO = "//xla/hlo/ir:hlo"
_GTEST = "@com_google_googletest//:gtest_main"

# By default GCC collects garbage as soon as its memory exceeds 128 MiB. The headers
# take up to 330 MiB and all of them are looked through each time: an eighth of the
# seconds.
_GARBAGE = "--param=ggc-min-heapsize=1000000"

def _headers(deps):
    hlo = _HLO in deps or (native.package_name() == "xla/hlo/ir" and ":hlo" in deps)
    test = _GTEST in deps
    if hlo:
        return ("xla/hlo/ir", "hlo_test_pch" if test else "hlo_pch")
    return ("xla", "base_test_pch" if test else "base_pch")

def _with_headers(rule, name, deps, copts, kwargs):
    if copts:
        rule(name = name, deps = deps, copts = copts, **kwargs)
        return
    package, pch = _headers(deps)
    rule(
        name = name,
        deps = deps + select({
            "//xla:pch_on": ["//%s:%s" % (package, pch)],
            "//conditions:default": [],
        }),
        copts = select({
            "//xla:pch_on": ["-include", "%s/%s.h" % (package, pch), _GARBAGE],
            "//conditions:default": [],
        }),
        **kwargs
    )

def cc_library(name, deps = [], copts = [], **kwargs):
    _with_headers(native.cc_library, name, deps, copts, kwargs)

def cc_test(name, deps = [], copts = [], **kwargs):
    _with_headers(native.cc_test, name, deps, copts, kwargs)

def cc_binary(name, deps = [], copts = [], **kwargs):
    _with_headers(native.cc_binary, name, deps, copts, kwargs)
