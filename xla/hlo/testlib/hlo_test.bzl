"""hlo_tests: one Bazel test per text file, driven by its `// RUN:` lines."""

_DEFAULT_TOOLS = ["//tools:hlo-opt"]

def hlo_tests(name, srcs, tools = _DEFAULT_TOOLS, data = [], size = "small", check_equivalent = True):
    """Declares one test per file and a suite over them.

    A test runs every `// RUN:` line of its file: `%s` is the file, `%t` a
    scratch path, and each tool, FileCheck and `not` are on the PATH.

    Args:
      name: of the suite.
      srcs: text files (.hlo, .kir, …), each with at least one RUN line.
      tools: binaries that RUN lines may call by their target name.
      data: further files that RUN lines may read, as paths from the workspace.
      size: of each test.
      check_equivalent: whether hlo-opt evaluates small modules before and after
        each pass and fails where a pass changes what they compute. For passes
        that do so on purpose (a partitioner: each device gets its part) turn it
        off; a single RUN line can say --check-equivalent=0.
    """
    programs = tools + ["@filecheck//:FileCheck", "@filecheck//:not"]
    tests = []
    for src in srcs:
        test = src + ".test"
        native.sh_test(
            name = test,
            size = size,
            # RUN lines bound themselves (ulimit); a busy machine is no failure.
            timeout = "moderate" if size == "small" else None,
            srcs = ["//xla/hlo/testlib:run_hlo_test.sh"],
            args = (["--check-equivalent"] if check_equivalent else []) +
                   ["$(location %s)" % t for t in [src] + programs],
            data = [src] + programs + data,
        )
        tests.append(test)
    native.test_suite(name = name, tests = tests)
