"""External dependencies of @hlo, as one macro that consumers can call too.

Every archive is the canonical GitHub one, pinned by sha256. Each is declared
only if the calling WORKSPACE has not declared it before, so a consumer can
bring its own versions by declaring them first.
"""

load("@bazel_tools//tools/build_defs/repo:http.bzl", "http_archive")
load("@bazel_tools//tools/build_defs/repo:utils.bzl", "maybe")
load("//third_party:coverage_tools.bzl", "coverage_tools")
load("//third_party:filecheck.bzl", "filecheck")

def _bazel_4_builtin_dependencies():
    """Pins what Bazel 4 itself loads for its C++ and Java toolchains.

    Later versions of Bazel bring matching versions of these on their own. The
    Debian package of Bazel 4.2.3 reports no version (an empty string).
    """
    maybe(
        http_archive,
        name = "rules_cc",
        # 0.0.4 was written for Bazel 5; two lines keep it from loading on 4.
        patch_args = ["-p1"],
        patches = [Label("//third_party:rules_cc_bazel4.patch")],
        sha256 = "af6cc82d87db94585bceeda2561cb8a9d55ad435318ccb4ddfee18a43580fb5d",
        strip_prefix = "rules_cc-0.0.4",
        urls = ["https://github.com/bazelbuild/rules_cc/releases/download/0.0.4/rules_cc-0.0.4.tar.gz"],
    )

    maybe(
        http_archive,
        name = "rules_java",
        sha256 = "34b41ec683e67253043ab1a3d1e8b7c61e4e8edefbcad485381328c934d072fe",
        urls = ["https://github.com/bazelbuild/rules_java/releases/download/4.0.0/rules_java-4.0.0.tar.gz"],
    )

    maybe(coverage_tools, name = "remote_coverage_tools")

def hlo_repositories(declare):
    """Calls declare(rule, name = …, …) for each repository of sources and tools.

    Args:
      declare: `maybe` in a WORKSPACE; the module extension, which has no names
        that others may have taken, calls the rule.
    """
    declare(
        http_archive,
        name = "com_google_absl",
        # Bazel 4's @platforms has no wasm constraint values.
        patch_args = ["-p1"],
        patches = [Label("//third_party:absl_no_wasm.patch")],
        sha256 = "f50e5ac311a81382da7fa75b97310e4b9006474f9560ac46f54a9967f07d4ae3",
        strip_prefix = "abseil-cpp-20240722.0",
        urls = ["https://github.com/abseil/abseil-cpp/releases/download/20240722.0/abseil-cpp-20240722.0.tar.gz"],
    )

    declare(
        http_archive,
        name = "com_googlesource_code_re2",
        build_file = Label("//third_party:re2.BUILD"),
        sha256 = "eb2df807c781601c14a260a507a5bb4509be1ee626024cb45acbd57cb9d4032b",
        strip_prefix = "re2-2024-07-02",
        urls = ["https://github.com/google/re2/releases/download/2024-07-02/re2-2024-07-02.tar.gz"],
    )

    declare(
        http_archive,
        name = "com_google_googletest",
        build_file = Label("//third_party:googletest.BUILD"),
        sha256 = "78c676fc63881529bf97bf9d45948d905a66833fbfa5318ea2cd7478cb98f399",
        strip_prefix = "googletest-1.16.0",
        urls = ["https://github.com/google/googletest/releases/download/v1.16.0/googletest-1.16.0.tar.gz"],
    )

    declare(
        http_archive,
        name = "com_google_benchmark",
        build_file = Label("//third_party:benchmark.BUILD"),
        sha256 = "32131c08ee31eeff2c8968d7e874f3cb648034377dfc32a4c377fa8796d84981",
        strip_prefix = "benchmark-1.9.1",
        urls = ["https://github.com/google/benchmark/archive/v1.9.1.tar.gz"],
    )

    declare(
        http_archive,
        name = "com_google_protobuf",
        build_file = Label("//third_party:protobuf.BUILD"),
        sha256 = "930c2c3b5ecc6c9c12615cf5ad93f1cd6e12d0aba862b572e076259970ac3a53",
        strip_prefix = "protobuf-3.21.12",
        urls = ["https://github.com/protocolbuffers/protobuf/archive/v3.21.12.tar.gz"],
    )

    # LLVM's FileCheck, the matcher of the text tests: found on the machine.
    declare(filecheck, name = "filecheck")

def hlo_dependencies():
    """Declares the repositories that @hlo's targets depend on."""
    if not native.bazel_version or native.bazel_version == "no_version" or native.bazel_version.startswith("4."):
        _bazel_4_builtin_dependencies()

    maybe(
        http_archive,
        name = "bazel_skylib",
        sha256 = "7ac0fa88c0c4ad6f5b9ffb5e09ef81e235492c873659e6bb99efb89d11246bcb",
        strip_prefix = "bazel-skylib-1.0.3",
        urls = ["https://github.com/bazelbuild/bazel-skylib/archive/1.0.3.tar.gz"],
    )

    hlo_repositories(maybe)
