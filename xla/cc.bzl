"""cc_library, cc_test and cc_binary that read the headers of instructions precompiled.

BUILD files of packages that stand on //xla/hlo/ir:hlo load these over Bazel's own.
A target gets them if it depends on //xla/hlo/ir:hlo itself; a test with GoogleTest
gets GoogleTest's, too. All else is Bazel's: see precompiled_header.bzl.
"""

_HLO = "//xla/hlo/ir:hlo"
_GTEST = "@com_google_googletest//:gtest_main"

# By default GCC collects garbage as soon as its memory exceeds 128 MiB. The headers
# take 290 MiB and all of them are looked through each time: an eighth of the seconds.
_GARBAGE = "--param=ggc-min-heapsize=1000000"

def _with_headers(rule, name, deps, copts, kwargs):
    if _HLO in deps:
        pch = "hlo_test_pch" if _GTEST in deps else "hlo_pch"
        deps = deps + select({
            "//xla:pch_on": ["//xla/hlo/ir:" + pch],
            "//conditions:default": [],
        })
        copts = copts + select({
            "//xla:pch_on": ["-include", "xla/hlo/ir/%s.h" % pch, _GARBAGE],
            "//conditions:default": [],
        })
    rule(name = name, deps = deps, copts = copts, **kwargs)

def cc_library(name, deps = [], copts = [], **kwargs):
    _with_headers(native.cc_library, name, deps, copts, kwargs)

def cc_test(name, deps = [], copts = [], **kwargs):
    _with_headers(native.cc_test, name, deps, copts, kwargs)

def cc_binary(name, deps = [], copts = [], **kwargs):
    _with_headers(native.cc_binary, name, deps, copts, kwargs)
