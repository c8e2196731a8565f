#include "xla/hlo/pipeline/hlo_opt.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pipeline/hlo_opt_output.h"
#include "xla/hlo/pipeline/hlo_opt_runner.h"
#include "xla/hlo/pipeline/pipelines.h"
#include "xla/hlo/pipeline/target_flags.h"
#include "xla/hlo/utils/check_writable.h"
#include "xla/hlo/utils/flag_check.h"
#include "xla/hlo/utils/module_file.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using Emit = HloOptOptions::Emit;
using Report = HloOptOptions::Report;

absl::StatusOr<std::vector<HloOptInput>> ReadInputs(
    const HloOptOptions& options, const std::vector<std::string>& paths) {
  std::vector<HloOptInput> inputs;
  for (const std::string& path : paths) {
    TF_ASSIGN_OR_RETURN(ModuleFile file, ReadModuleFile(path));
    HloParserOptions parser_options;
    parser_options.set_allow_unknown_attributes(options.lenient)
        .set_fill_shortform_constants_with_random_values(
            options.fill_elided_constants)
        .set_file_name(file.name);
    if (!options.split_input) {
      inputs.push_back({std::move(file.contents), parser_options});
      continue;
    }
    for (const HloTextPiece& piece : SplitInput(file.contents)) {
      HloParserOptions piece_options = parser_options;
      piece_options.set_first_line(piece.first_line);
      inputs.push_back({std::string(piece.text), piece_options});
    }
  }
  return inputs;
}

absl::Status CheckPlatformAndStage(const HloOptOptions& options) {
  if (options.platform != "transforms") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--platform=", options.platform,
        ": expected 'transforms'; this tool has no compilers for hardware, and "
        "runs its GPU passes with --passes and --pipeline"));
  }
  if (options.stage != kHloOptStages) {
    return absl::InvalidArgumentError(
        absl::StrCat("--stage=", options.stage, ": expected '", kHloOptStages,
                     "'; --emit selects other output formats"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<HloPassPipeline>> MakePipeline(
    const HloOptOptions& options, const PassRegistry& all_passes) {
  PassRegistry registry = all_passes;
  if (!options.device.empty()) {
    registry.OverrideOption("device", options.device);
  }
  if (!options.memory_limit.empty()) {
    registry.OverrideOption("memory-limit", options.memory_limit);
  }
  if (!options.mesh.empty()) registry.OverrideOption("mesh", options.mesh);
  if (options.kernels_for.has_value()) {
    registry.OverrideOption("kernels-for",
                            AbslUnparseFlag(*options.kernels_for));
  }
  if (options.layouts.has_value()) {
    registry.OverrideOption("layouts", AbslUnparseFlag(*options.layouts));
  }
  if (options.pipeline.empty()) {
    return registry.ParsePipeline("passes", options.passes);
  }
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloPassPipeline> pipeline,
                      MakeNamedPipeline(registry, options.pipeline));
  if (!options.passes.empty()) {
    TF_ASSIGN_OR_RETURN(std::unique_ptr<HloPassPipeline> passes,
                        registry.ParsePipeline("passes", options.passes));
    pipeline->AddPass(std::move(passes));
  }
  return pipeline;
}

// OK where there are none.
absl::Status JoinErrors(const std::vector<absl::Status>& errors) {
  if (errors.empty()) return absl::OkStatus();
  if (errors.size() == 1) return errors.front();
  return absl::Status(
      errors.front().code(),
      absl::StrJoin(errors, "\n", [](std::string* out, const absl::Status& s) {
        out->append(s.message().data(), s.message().size());
      }));
}

}  // namespace

bool AbslParseFlag(absl::string_view text, HloOptOptions::Emit* emit,
                   std::string* error) {
  for (Emit e : {Emit::kHlo, Emit::kShort, Emit::kProto, Emit::kTextProto,
                 Emit::kDot, Emit::kKir, Emit::kCuda, Emit::kNone}) {
    if (text == AbslUnparseFlag(e)) {
      *emit = e;
      return true;
    }
  }
  *error = "expected hlo, short, proto, pbtxt, dot, kir, cuda or none";
  return false;
}

std::string AbslUnparseFlag(HloOptOptions::Emit emit) {
  switch (emit) {
    case Emit::kHlo:
      return "hlo";
    case Emit::kShort:
      return "short";
    case Emit::kProto:
      return "proto";
    case Emit::kTextProto:
      return "pbtxt";
    case Emit::kDot:
      return "dot";
    case Emit::kKir:
      return "kir";
    case Emit::kCuda:
      return "cuda";
    case Emit::kNone:
      return "none";
  }
  return "";
}

bool AbslParseFlag(absl::string_view text, HloOptOptions::Report* report,
                   std::string* error) {
  for (Report r : {Report::kNone, Report::kText, Report::kJson}) {
    if (text == AbslUnparseFlag(r)) {
      *report = r;
      return true;
    }
  }
  *error = "expected none, text or json";
  return false;
}

std::string AbslUnparseFlag(HloOptOptions::Report report) {
  switch (report) {
    case Report::kNone:
      return "none";
    case Report::kText:
      return "text";
    case Report::kJson:
      return "json";
  }
  return "";
}

absl::Status RunHloOpt(const HloOptOptions& options,
                       const PassRegistry& registry,
                       const std::vector<std::string>& paths,
                       std::ostream& err) {
  TF_RETURN_IF_ERROR(CheckPlatformAndStage(options));
  TF_RETURN_IF_ERROR(CheckDeviceFlag(options.device));
  TF_RETURN_IF_ERROR(CheckMeshFlag(options.mesh));
  TF_RETURN_IF_ERROR(CheckMemoryLimitFlag(options.memory_limit));
  if (options.num_partitions < 0 || options.num_partitions > INT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("--num-partitions=", options.num_partitions,
                     ": expected a number of devices, or 0"));
  }
  TF_RETURN_IF_ERROR(
      CheckFlag("check-equivalent", options.check_equivalent, 0));
  TF_RETURN_IF_ERROR(
      CheckFlag("max-equivalence-work", options.max_equivalence_work, -1));
  TF_RETURN_IF_ERROR(CheckFlag("radius", options.radius, 0));
  // Programs, dumps and graphs make folders, where the output may go as well.
  if (options.emit != Emit::kNone && options.emit != Emit::kCuda &&
      options.explain_dot.empty() &&
      (!options.debug_options.has_value() ||
       options.debug_options->xla_dump_to().empty())) {
    TF_RETURN_IF_ERROR(CheckWritable(options.output));
  }
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloPassPipeline> pipeline,
                      MakePipeline(options, registry));
  HloOptRunner runner(options, *pipeline, err);
  TF_RETURN_IF_ERROR(runner.AddInstrumentations());
  TF_ASSIGN_OR_RETURN(std::vector<HloOptInput> inputs,
                      ReadInputs(options, paths));

  TF_ASSIGN_OR_RETURN(
      HloOptOutput output,
      HloOptOutput::Create(options, static_cast<int64_t>(inputs.size())));
  std::vector<absl::Status> errors;
  for (HloOptInput& input : inputs) {
    absl::StatusOr<std::unique_ptr<HloModule>> module =
        runner.Run(std::move(input));
    if (!module.ok()) {
      errors.push_back(module.status());
      continue;
    }
    TF_RETURN_IF_ERROR(output.AddModule(**module));
    TF_RETURN_IF_ERROR(
        output.AddReports(runner.report(), runner.explainer(), err));
  }
  if (!errors.empty()) return JoinErrors(errors);
  TF_RETURN_IF_ERROR(output.Write(err));
  return JoinErrors(runner.unmet_limits());
}

}  // namespace xla
