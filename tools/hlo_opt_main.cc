// hlo-opt: runs passes on HLO modules.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "tools/tool_main.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/backends/gpu/transforms/layouts/transpose_layouts.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/pipeline/commands/xla_flags.h"
#include "xla/hlo/pipeline/hlo_opt.h"
#include "xla/hlo/pipeline/pipelines.h"

using xla::HloOptOptions;

ABSL_FLAG(std::string, passes, "",
          "Passes to run, e.g. 'hlo-dce,fix{limit=3}(canonicalizer,hlo-cse)'; "
          "with --pipeline, after its steps.");
ABSL_FLAG(std::string, pipeline, "",
          "Named pipeline to run; --list-pipeline=all lists them.");
ABSL_FLAG(bool, list_passes, false, "List the passes with their options.");
ABSL_FLAG(std::string, list_pipeline, "",
          "Print the steps of a pipeline and the reasons for their order; "
          "'all' lists the pipelines.");
ABSL_FLAG(std::optional<xla::ModuleFormat>, format, std::nullopt,
          "Format of the input: hlo, pb or pbtxt. Default: detected from its "
          "contents.");
ABSL_FLAG(bool, split_input, false,
          "The input holds several modules, separated by lines '// -----'.");
ABSL_FLAG(bool, lenient, false,
          "Keep unknown attributes and warn about them instead of failing.");
ABSL_FLAG(bool, fill_elided_constants, false,
          "Fill constants that the text elides ('{...}') with made-up values.");
ABSL_FLAG(std::optional<HloOptOptions::Emit>, emit, std::nullopt,
          "What to write: hlo, short, proto, pbtxt, dot, kir (the kernels of a "
          "module, after --pipeline=gpu), cuda (a program, into the folder -o) "
          "or none.");
ABSL_FLAG(std::string, around, "",
          "For --emit=dot: draw only the neighborhood of the instruction with "
          "this name.");
ABSL_FLAG(int64_t, radius, 2,
          "For --around: maximum distance from the instruction, in edges.");
ABSL_FLAG(
    std::optional<bool>, print_large_constants, std::nullopt,
    "Write constants of more than ten elements in full instead of as '{...}'. "
    "Default: in full in files (-o), elided on standard output.");
ABSL_FLAG(bool, emit_proto, false, "The same as --emit=pbtxt.");
ABSL_FLAG(std::string, platform, "transforms",
          "Only 'transforms', the passes that need no hardware, is available.");
ABSL_FLAG(std::string, stage, "hlo", "Stage of the output; see --list-stages.");
ABSL_FLAG(bool, list_stages, false, "List the values of --stage.");
ABSL_FLAG(std::string, o, "-", "Output file.");
ABSL_FLAG(HloOptOptions::Report, report, HloOptOptions::Report::kNone,
          "Write what each pass did instead of the module: text or json.");
ABSL_FLAG(std::string, explain, "",
          "Print the decisions of these passes and the reasons instead of the "
          "module: PASS,...; 'lowering' explains the kernels.");
ABSL_FLAG(HloOptOptions::Report, explain_format, HloOptOptions::Report::kText,
          "For --explain: text or json.");
ABSL_FLAG(std::string, explain_dot, "",
          "For --explain: write the graphs before and after to this folder, as "
          "DOT and as one SVG.");
ABSL_FLAG(std::string, device, "",
          "Target GPU of all passes that model one: a name (h100) or the path "
          "of a device description.");
ABSL_FLAG(std::string, memory_limit, "",
          "Limit of all passes that take one: bytes (16GiB), a share of the "
          "current peak (80%) or a device (h100); exit status 3 if "
          "rematerialization cannot meet it.");
ABSL_FLAG(std::string, limit, "", "The same as --memory-limit.");
ABSL_FLAG(int64_t, num_partitions, 0,
          "Number of devices that pipelines spmd and gpu partition for, "
          "overriding the module's header; 0: as in the header.");
ABSL_FLAG(std::string, mesh, "",
          "Device mesh and its links, for the partitioner's report: 2x4, "
          "2x4:h100-multihost.");
ABSL_FLAG(std::optional<xla::gpu::KernelTarget>, for, std::nullopt,
          "Whose code generators compile the kernels, for all passes that fuse: "
          "xla (their default) or own.");
ABSL_FLAG(std::optional<xla::gpu::EntryLayouts>, layouts, std::nullopt,
          "Layouts of the entry's parameters and results in pipeline gpu: kept "
          "(the default) or auto, which chooses those that move the least.");
ABSL_FLAG(bool, verify_each, false,
          "Verify the module after each pass that changes it.");
ABSL_FLAG(bool, layout_sensitive, false, "Verify layouts, too.");
ABSL_FLAG(bool, check_changed, true,
          "Fail if a pass changes the module but reports that it did not.");
ABSL_FLAG(
    int64_t, check_equivalent, 0,
    "Evaluate the module before and after each pass, on inputs from this many "
    "seeds (1 if no number is given), and fail if the results differ.");
ABSL_FLAG(int64_t, max_equivalence_work,
          xla::HloOptOptions().max_equivalence_work,
          "For --check-equivalent: skip modules that take more operations than "
          "this; -1: no limit.");
ABSL_FLAG(std::string, equivalence_notes, "",
          "For --check-equivalent: append notes on what was skipped to this "
          "file instead of standard error.");
ABSL_FLAG(bool, time, false,
          "Print the wall and the processor time each pass takes.");
ABSL_FLAG(bool, stats, false, "Print what each pass did.");
ABSL_FLAG(bool, print_after_change, false,
          "Print the module after each pass that changes it.");
ABSL_FLAG(std::string, print_before, "",
          "Print the module before passes whose name matches this expression.");
ABSL_FLAG(std::string, print_after, "",
          "Print the module after passes whose name matches this expression.");
ABSL_FLAG(std::string, fuel, "",
          "For bisection: run a pass at most this many times (PASS=RUNS,...), "
          "or let it make at most this many rewrites "
          "(hlo-rematerialization.rewrite=COUNT).");
ABSL_FLAG(std::string, reproducer, "",
          "Where to write a text test if a pass fails.");

namespace {

constexpr char kUsage[] =
    "runs passes on HLO modules\n\n"
    "Reads, converts and verifies modules, cleans them up, partitions, fuses "
    "and\n"
    "schedules them, or runs a single pass and reports what it did and why.\n\n"
    "  hlo-opt model.hlo --pipeline=cleanup --report=text\n"
    "  hlo-opt model.hlo --passes='hlo-cse,hlo-dce' -o out.hlo\n"
    "  hlo-opt model.pb --emit=hlo              (from proto to text)\n"
    "  hlo-opt model.hlo --emit=dot --around=dot.7 --radius=3 | dot -Tsvg\n"
    "  hlo-opt model.hlo --pipeline=spmd --num-partitions=8\n"
    "  hlo-opt model.hlo --pipeline=gpu --device=h200 "
    "--explain=priority-fusion\n"
    "  hlo-opt --list-passes\n\n"
    "OpenXLA flags, here and in XLA_FLAGS: "
    "--xla_disable_hlo_passes=PASS,...,\n"
    "--xla_enable_hlo_passes_only=PASS,..., --xla_disable_all_hlo_passes,\n"
    "--xla_dump_to=FOLDER, --xla_dump_hlo_pass_re=EXPRESSION, "
    "--xla_dump_hlo_as_proto.\n";

const std::vector<xla::FlagGroup>& Groups() {
  static const auto* const groups = new std::vector<xla::FlagGroup>{
      {"Passes",
       {"passes", "pipeline", "device", "memory-limit", "limit",
        "num-partitions", "mesh", "for", "layouts", "fuel"}},
      {"Lists", {"list-passes", "list-pipeline", "list-stages"}},
      {"Input", {"format", "split-input", "lenient", "fill-elided-constants"}},
      {"Output",
       {"emit", "around", "radius", "o", "print-large-constants", "emit-proto",
        "report", "explain", "explain-format", "explain-dot", "stats", "time",
        "print-before", "print-after", "print-after-change", "reproducer"}},
      {"Checks",
       {"verify-each", "layout-sensitive", "check-changed", "check-equivalent",
        "max-equivalence-work", "equivalence-notes"}},
      {"Compatibility with OpenXLA's hlo-opt", {"platform", "stage"}},
  };
  return *groups;
}

HloOptOptions OptionsFromFlags() {
  HloOptOptions options;
  options.passes = absl::GetFlag(FLAGS_passes);
  options.pipeline = absl::GetFlag(FLAGS_pipeline);
  options.format = absl::GetFlag(FLAGS_format);
  options.split_input = absl::GetFlag(FLAGS_split_input);
  options.lenient = absl::GetFlag(FLAGS_lenient);
  options.fill_elided_constants = absl::GetFlag(FLAGS_fill_elided_constants);
  options.emit = absl::GetFlag(FLAGS_emit);
  options.print_large_constants = absl::GetFlag(FLAGS_print_large_constants);
  options.around = absl::GetFlag(FLAGS_around);
  options.radius = absl::GetFlag(FLAGS_radius);
  if (absl::GetFlag(FLAGS_emit_proto)) {
    options.emit = HloOptOptions::Emit::kTextProto;
  }
  options.platform = absl::GetFlag(FLAGS_platform);
  options.stage = absl::GetFlag(FLAGS_stage);
  options.output = absl::GetFlag(FLAGS_o);
  options.report = absl::GetFlag(FLAGS_report);
  options.explain = absl::GetFlag(FLAGS_explain);
  options.explain_format = absl::GetFlag(FLAGS_explain_format);
  options.explain_dot = absl::GetFlag(FLAGS_explain_dot);
  options.device = absl::GetFlag(FLAGS_device);
  options.memory_limit = absl::GetFlag(FLAGS_memory_limit);
  if (options.memory_limit.empty()) {
    options.memory_limit = absl::GetFlag(FLAGS_limit);
  }
  options.mesh = absl::GetFlag(FLAGS_mesh);
  options.kernels_for = absl::GetFlag(FLAGS_for);
  options.layouts = absl::GetFlag(FLAGS_layouts);
  options.num_partitions = absl::GetFlag(FLAGS_num_partitions);
  options.verify_each = absl::GetFlag(FLAGS_verify_each);
  options.layout_sensitive = absl::GetFlag(FLAGS_layout_sensitive);
  options.check_changed = absl::GetFlag(FLAGS_check_changed);
  options.check_equivalent = absl::GetFlag(FLAGS_check_equivalent);
  options.max_equivalence_work = absl::GetFlag(FLAGS_max_equivalence_work);
  options.equivalence_notes = absl::GetFlag(FLAGS_equivalence_notes);
  options.time = absl::GetFlag(FLAGS_time);
  options.stats = absl::GetFlag(FLAGS_stats);
  options.print_after_change = absl::GetFlag(FLAGS_print_after_change);
  options.print_before = absl::GetFlag(FLAGS_print_before);
  options.print_after = absl::GetFlag(FLAGS_print_after);
  options.fuel = absl::GetFlag(FLAGS_fuel);
  options.reproducer = absl::GetFlag(FLAGS_reproducer);
  options.progress = isatty(STDERR_FILENO) != 0;
  return options;
}

absl::Status ListPipeline(const std::string& name) {
  if (name == "all") {
    for (const xla::NamedPipeline& pipeline : xla::NamedPipelines()) {
      std::cout << pipeline.name << ": " << pipeline.help << "\n";
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> text = xla::PipelineToText(name);
  if (text.ok()) std::cout << *text;
  return text.status();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> xla_flags = xla::TakeXlaFlags(&argc, argv);
  std::vector<std::string> inputs =
      xla::InitTool(argc, argv, kUsage,
                    {{"split-input-file", "split-input"},
                     {"split_input_file", "split-input"},
                     {"check-equivalent", "check-equivalent=1"},
                     {"print-large-constants", "print-large-constants=true"}},
                    Groups());
  xla::PassRegistry registry = xla::AllPasses();
  absl::Status status = xla::CheckPipelines(registry);
  if (!status.ok()) return xla::ExitStatus(status);
  if (absl::GetFlag(FLAGS_list_passes)) {
    std::cout << xla::PassListToText(registry);
    return xla::ExitStatus(absl::OkStatus());
  }
  if (!absl::GetFlag(FLAGS_list_pipeline).empty()) {
    return xla::ExitStatus(ListPipeline(absl::GetFlag(FLAGS_list_pipeline)));
  }
  if (absl::GetFlag(FLAGS_list_stages)) {
    std::cout << xla::kHloOptStages << "\n";
    return xla::ExitStatus(absl::OkStatus());
  }
  if (inputs.empty()) {
    std::cerr << "usage: hlo-opt INPUT... [flags]; see hlo-opt --help\n";
    return xla::kFailed;
  }
  HloOptOptions options = OptionsFromFlags();
  auto debug_options = xla::ReadXlaFlags(std::getenv("XLA_FLAGS"), xla_flags,
                                         registry, std::cerr);
  if (!debug_options.ok()) {
    std::cerr << debug_options.status().message() << "\n";
    return xla::kFailed;
  }
  options.debug_options = *std::move(debug_options);
  return xla::ExitStatus(xla::RunHloOpt(options, registry, inputs, std::cerr));
}
