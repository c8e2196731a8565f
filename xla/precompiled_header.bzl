"""precompiled_header: what GCC makes of headers, once, for all who include them.

Two thirds of the time that a small file takes to compile go into the headers of
instructions, of absl and of the standard library. `cc.bzl` has GCC read them precompiled:
`-include NAME.h`, with NAME.h.gch beside it, which is a file or a folder of some.
GCC takes one of the same flags. That is on by .bazelrc (`--define=pch=on`), here
and in examples/consumer; other projects may set it, too.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _compile(ctx, toolchain, features, context, header, name, use_pic):
    compiled = ctx.actions.declare_file(name)
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = compiled.path,
        use_pic = use_pic,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ["-w", "-x", "c++-header"],
        include_directories = context.includes,
        quote_include_directories = context.quote_includes,
        system_include_directories = context.system_includes,
        preprocessor_defines = context.defines,
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
        ),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        inputs = depset([header], transitive = [context.headers, toolchain.all_files]),
        outputs = [compiled],
        mnemonic = "PrecompiledHeader",
        progress_message = "Precompiling %s" % header.short_path,
    )
    return compiled

def _precompiled_header_impl(ctx):
    header = ctx.actions.declare_file(ctx.label.name + ".h")

    # Where GCC does not take the precompiled one, it reads this in a target that
    # may not see all of these; what the target needs, it includes itself.
    ctx.actions.write(header, "".join([
        "#if __has_include(\"%s\")\n#include \"%s\"\n#endif\n" % (h, h)
        for h in ctx.attr.headers
    ]))

    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    context = cc_common.merge_cc_infos(cc_infos = [d[CcInfo] for d in ctx.attr.deps]).compilation_context

    # -c opt makes code for binaries without PIC, and code for the shared
    # libraries of tests with it; the other modes all code with it.
    name = ctx.label.name + ".h.gch"
    kinds = {name: True}
    if ctx.var["COMPILATION_MODE"] == "opt":
        kinds = {name + "/pic.gch": True, name + "/nopic.gch": False}
    compiled = [
        _compile(ctx, toolchain, features, context, header, path, use_pic)
        for path, use_pic in kinds.items()
    ]
    here = cc_common.create_compilation_context(headers = depset([header] + compiled))
    return [
        DefaultInfo(files = depset([header] + compiled)),
        CcInfo(compilation_context = here),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "headers": attr.string_list(
            mandatory = True,
            doc = "what it includes, as paths in includes, in this order",
        ),
        "deps": attr.label_list(
            providers = [CcInfo],
            doc = "libraries that the headers belong to",
        ),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    incompatible_use_toolchain_transition = True,
)
