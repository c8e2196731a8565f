"""Rules for HLO modules: rewrite them, hold them to golden files and limits.

    load("@hlo//bazel:defs.bzl", "hlo_corpus", "hlo_module", "hlo_pipeline", "hlo_test")

    hlo_module(name = "step", src = "step.hlo")                     # step.memory.json, .txt, .html
    hlo_pipeline(name = "small", src = ":step", pipeline = "cleanup")  # small.hlo, small.report.json
    hlo_test(name = "fits_test", module = ":small", memory_limit = "16GiB")
    hlo_test(name = "same_test", module = ":small", equivalent_to = ":step")
    hlo_test(name = "golden_test", module = ":small", golden = "small.golden.hlo")
    hlo_corpus(name = "dumps", srcs = glob(["dumps/*.hlo"]))        # dumps.txt, dumps.csv

Every action is a function of its inputs, so that caches and remote executors
serve it. Tools are built in the configuration of the build: say `-c opt`.
"""

HloInfo = provider(
    doc = "A module that others can build on.",
    fields = {"module": "the file"},
)

# Whose tools these are, wherever this file is loaded from.
_EXPLAIN = Label("//tools:hlo-explain")
_OPT_TOOL = Label("//tools:hlo-opt")
_TABLE = Label("//tools:corpus-table")

# As macros name them.
_DIFF = str(Label("//tools:hlo-diff"))
_EXPLAIN_TOOL = str(_EXPLAIN)
_RUN = str(Label("//tools:hlo-run"))

def _tool(label):
    return attr.label(default = label, executable = True, cfg = "target")

_SRC = attr.label(
    allow_single_file = True,
    mandatory = True,
    doc = "A file of HLO in any form that hlo-opt reads, or another target.",
)

_EXPLAIN_ARGS = attr.string_list(doc = "More flags of hlo-explain, such as --as=gpu.")

def _explain(ctx, module, output, flags, mnemonic):
    args = ctx.actions.args()
    args.add(module)
    args.add("--noseconds")
    args.add_all(flags)
    args.add_all(ctx.attr.explain_args)
    ctx.actions.run(
        executable = ctx.executable._explain,
        arguments = [args],
        inputs = [module],
        outputs = [output],
        mnemonic = mnemonic,
        progress_message = "Explaining %s" % module.short_path,
    )

def _reports(ctx, module):
    """Declares the memory reports of a module; each is made when it is asked for."""
    text = ctx.actions.declare_file(ctx.label.name + ".memory.txt")
    json = ctx.actions.declare_file(ctx.label.name + ".memory.json")
    html = ctx.actions.declare_file(ctx.label.name + ".memory.html")
    _explain(ctx, module, text, ["--report-file=" + text.path], "HloExplain")
    _explain(ctx, module, json, ["--json", "--report-file=" + json.path], "HloExplain")
    _explain(ctx, module, html, ["--html=" + html.path], "HloExplain")
    return struct(text = text, json = json, html = html)

def _groups(reports, **others):
    return OutputGroupInfo(
        memory = depset([reports.text, reports.json]),
        html = depset([reports.html]),
        **others
    )

def _hlo_module_impl(ctx):
    # Verified once, and text from here on, whatever form it had.
    module = ctx.actions.declare_file(ctx.label.name + ".hlo")
    _opt(ctx, module, [], "HloRead")
    reports = _reports(ctx, module)
    return [
        DefaultInfo(files = depset([module]), runfiles = ctx.runfiles([module])),
        HloInfo(module = module),
        _groups(reports),
    ]

hlo_module = rule(
    implementation = _hlo_module_impl,
    doc = """Reads and verifies a module: NAME.hlo.

Where its memory goes is in the output groups `memory` (NAME.memory.txt, .json)
and `html`: bazel build :NAME --output_groups=+html.""",
    attrs = {
        "src": _SRC,
        "explain_args": _EXPLAIN_ARGS,
        "_explain": _tool(_EXPLAIN),
        "_opt": _tool(_OPT_TOOL),
    },
)

def _opt(ctx, output, flags, mnemonic):
    args = ctx.actions.args()
    args.add(ctx.file.src)
    args.add_all(flags)
    args.add("-o", output)
    ctx.actions.run(
        executable = ctx.executable._opt,
        arguments = [args],
        inputs = [ctx.file.src],
        outputs = [output],
        mnemonic = mnemonic,
        progress_message = "Rewriting %s" % ctx.file.src.short_path,
    )

# What hlo-opt prints.
def _opt_report(ctx, output, flags):
    args = ctx.actions.args()
    args.add(output)
    args.add(ctx.executable._opt)
    args.add(ctx.file.src)
    args.add_all(flags)
    ctx.actions.run_shell(
        command = "out=$1; shift; exec \"$@\" > \"$out\"",
        arguments = [args],
        inputs = [ctx.file.src],
        tools = [ctx.executable._opt],
        outputs = [output],
        mnemonic = "HloOptReport",
    )

def _hlo_pipeline_impl(ctx):
    if bool(ctx.attr.pipeline) == bool(ctx.attr.passes):
        fail("%s: give either pipeline or passes" % ctx.label)
    flags = ["--pipeline=" + ctx.attr.pipeline] if ctx.attr.pipeline else ["--passes=" + ctx.attr.passes]
    if ctx.attr.device:
        flags.append("--device=" + ctx.attr.device)
    if ctx.attr.memory_limit:
        flags.append("--memory-limit=" + ctx.attr.memory_limit)
    if ctx.attr.num_partitions:
        flags.append("--num-partitions=%d" % ctx.attr.num_partitions)
    flags += ctx.attr.opt_args

    module = ctx.actions.declare_file(ctx.label.name + ".hlo")
    report = ctx.actions.declare_file(ctx.label.name + ".report.json")
    checked = ctx.actions.declare_file(ctx.label.name + ".checked.hlo")
    _opt(ctx, module, flags, "HloOpt")
    _opt_report(ctx, report, flags + ["--report=json"])
    _opt(ctx, checked, flags + ["--verify-each", "--check-equivalent=2"], "HloOptCheck")
    return [
        DefaultInfo(files = depset([module]), runfiles = ctx.runfiles([module])),
        HloInfo(module = module),
        _groups(
            _reports(ctx, module),
            report = depset([report]),
            checks = depset([checked]),
        ),
    ]

hlo_pipeline = rule(
    implementation = _hlo_pipeline_impl,
    doc = """Runs passes over a module: NAME.hlo.

Output groups: `report`, what each pass did (NAME.report.json); `checks`, the
same with the module verified and evaluated around each pass, which fails where
a pass changes what it computes; `memory` and `html` as for hlo_module.""",
    attrs = {
        "src": _SRC,
        "pipeline": attr.string(doc = "A named pipeline, such as cleanup or gpu."),
        "passes": attr.string(doc = "Passes, such as 'fix(hlo-cse,hlo-dce)'."),
        "device": attr.string(doc = "Target GPU of all passes that model one, such as h100."),
        "memory_limit": attr.string(doc = "Memory limit of all passes that take one, such as 16GiB."),
        "num_partitions": attr.int(doc = "Number of devices, overriding the header; 0: as in the header."),
        "opt_args": attr.string_list(doc = "More flags of hlo-opt."),
        "explain_args": _EXPLAIN_ARGS,
        "_explain": _tool(_EXPLAIN),
        "_opt": _tool(_OPT_TOOL),
    },
)

def hlo_test(
        name,
        module,
        golden = None,
        memory_limit = None,
        equivalent_to = None,
        tolerance = None,
        explain_args = [],
        run_args = [],
        size = "small",
        **kwargs):
    """A test that holds a module to what it is compared with; at least one.

    Args:
      name: of the test.
      module: the file, or an hlo_module or hlo_pipeline.
      golden: a module that it has to be equal to, but for names and metadata;
        where it is not, the test prints what differs and what that costs.
      memory_limit: what it has to fit in, as 16GiB: a build that fails where
        the peak grows.
      equivalent_to: a module that has to compute the same on made-up inputs.
      tolerance: of equivalent_to, see hlo-run --help.
      explain_args: of memory_limit, further flags of hlo-explain.
      run_args: of equivalent_to, further flags of hlo-run.
      size: of the test.
      **kwargs: tags, visibility and the like.
    """
    if not golden and not memory_limit and not equivalent_to:
        fail("%s: compare with golden, memory_limit or equivalent_to" % name)
    args = []
    data = [module]

    if golden:
        args.append("diff=$(rootpath %s)" % _DIFF)
        data.append(_DIFF)
        args.append("golden=$(rootpath %s)" % golden)
        data.append(golden)
    if memory_limit:
        args.append("explain=$(rootpath %s)" % _EXPLAIN_TOOL)
        data.append(_EXPLAIN_TOOL)
        args.append("limit=" + memory_limit)
        args.extend(["explain_arg=" + a for a in explain_args])
    if equivalent_to:
        args.append("run=$(rootpath %s)" % _RUN)
        data.append(_RUN)
        args.append("reference=$(rootpath %s)" % equivalent_to)
        args.extend(["run_arg=" + a for a in run_args])
        if tolerance:
            args.append("run_arg=--tolerance=" + tolerance)
        data.append(equivalent_to)
    unique = []
    for d in data:
        if d not in unique:
            unique.append(d)
    native.sh_test(
        name = name,
        size = size,
        srcs = [str(Label("//bazel:hlo_test.sh"))],
        args = ["module=$(rootpath %s)" % module] + args,
        data = unique,
        **kwargs
    )

def _hlo_corpus_impl(ctx):
    reports = []
    for src in ctx.files.srcs:
        stem = src.short_path.replace("../", "")
        report = ctx.actions.declare_file("%s.reports/%s.json" % (ctx.label.name, stem))
        flags = ["--json", "--report-file=" + report.path]
        if ctx.attr.memory_limit:
            flags.append("--limit=" + ctx.attr.memory_limit)
        if not ctx.attr.strict:
            flags.append("--keep-going")
        _explain(ctx, src, report, flags, "HloExplain")
        reports.append(report)
    text = ctx.actions.declare_file(ctx.label.name + ".txt")
    csv = ctx.actions.declare_file(ctx.label.name + ".csv")
    flags = ctx.actions.args()
    flags.add(text, format = "--text=%s")
    flags.add(csv, format = "--csv=%s")
    flags.add("--root=%s.reports/" % ctx.label.name)
    names = ctx.actions.args()
    names.add_all(reports)
    names.use_param_file("--reports-from=%s", use_always = True)
    names.set_param_file_format("multiline")
    ctx.actions.run(
        executable = ctx.executable._table,
        arguments = [flags, names],
        inputs = reports,
        outputs = [text, csv],
        mnemonic = "HloTable",
        progress_message = "Tabulating %d modules" % len(reports),
    )
    return [
        DefaultInfo(files = depset([text, csv]), runfiles = ctx.runfiles([text, csv])),
        OutputGroupInfo(reports = depset(reports)),
    ]

hlo_corpus = rule(
    implementation = _hlo_corpus_impl,
    doc = """Explains many modules, one action each, and makes one table: NAME.txt, .csv.

A module that cannot be read is a row that says why; `strict` makes it an error.
The output group `reports` holds the reports of single modules as JSON.""",
    attrs = {
        "srcs": attr.label_list(allow_files = True, mandatory = True),
        "memory_limit": attr.string(doc = "Report which modules fit in this limit."),
        "strict": attr.bool(doc = "Fail if a module cannot be read or does not fit."),
        "explain_args": _EXPLAIN_ARGS,
        "_explain": _tool(_EXPLAIN),
        "_table": _tool(_TABLE),
    },
)
