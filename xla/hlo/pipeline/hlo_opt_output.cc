#include "xla/hlo/pipeline/hlo_opt_output.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "xla/backends/gpu/lowering/fusion_lowering.h"
#include "xla/backends/gpu/lowering/kernel_planner.h"
#include "xla/backends/gpu/lowering/module_lowering.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/pass/instrumentation/pass_recorder.h"
#include "xla/hlo/pass/nearest_name.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/hlo/utils/hlo_dot.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using Emit = HloOptOptions::Emit;
using Report = HloOptOptions::Report;

// Options for the device that --device names, if it is given.
absl::StatusOr<gpu::FusionLoweringOptions> LoweringOptions(
    const HloOptOptions& options) {
  if (options.device.empty()) return gpu::FusionLoweringOptions();
  TF_ASSIGN_OR_RETURN(const stream_executor::DeviceDescription device,
                      gpu::LoadGpuDevice(options.device));
  return gpu::LoweringOptionsFor(device);
}

absl::StatusOr<std::string> EmitModule(const HloOptOptions& options, Emit emit,
                                       const HloModule& module,
                                       bool print_large_constants) {
  switch (emit) {
    case Emit::kHlo:
      return module.ToString(
          HloPrintOptions().set_print_large_constants(print_large_constants));
    case Emit::kShort:
      return module.ToString(HloPrintOptions::ShortParsable());
    case Emit::kProto:
      return ModuleToProtoBytes(module);
    case Emit::kTextProto:
      return ModuleToTextProto(module);
    case Emit::kDot:
      return ModuleToDot(module);
    case Emit::kKir: {
      TF_ASSIGN_OR_RETURN(const gpu::FusionLoweringOptions lowering,
                          LoweringOptions(options));
      return gpu::LowerModule(module, lowering).ToString();
    }
    case Emit::kCuda:
    case Emit::kNone:
      return std::string();
  }
  return std::string();
}

// The number of constants that the module's text elides by default, other than
// those that are elided in the module itself.
int64_t CountConstantsToElide(const HloModule& module) {
  int64_t count = 0;
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      const auto* constant = DynCast<HloConstantInstruction>(inst);
      count += constant != nullptr && constant->HasLiteral() &&
               !constant->literal().is_elided() &&
               (!constant->shape().IsArray() ||
                ShapeUtil::ElementsIn(constant->shape()) > 10);
    }
  }
  return count;
}

// The neighborhood that --around asks for.
absl::StatusOr<std::string> DotAround(const HloOptOptions& options,
                                      const HloModule& module) {
  const absl::string_view name = absl::StripPrefix(options.around, "%");
  std::vector<std::string> names;
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      if (inst->name() == name) {
        return InstructionsToDot(module,
                                 InstructionsAround(*inst, options.radius));
      }
      names.emplace_back(inst->name());
    }
  }
  absl::c_sort(names);
  return absl::NotFoundError(absl::StrCat("--around: module ", module.name(),
                                          " has no instruction '", name, "'",
                                          DidYouMean(name, names)));
}

absl::StatusOr<gpu::CudaProgram> MakeProgram(const HloOptOptions& options,
                                             const HloModule& module) {
  gpu::CudaProgramOptions program_options;
  if (!options.device.empty()) {
    TF_ASSIGN_OR_RETURN(const stream_executor::DeviceDescription device,
                        gpu::LoadGpuDevice(options.device));
    const auto& capability = device.gpu_compute_capability();
    if (!capability.IsCuda()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "--emit=cuda: ", options.device, " does not run CUDA programs"));
    }
    program_options.described = gpu::GpuDeviceOf(device);
    program_options.lowering = gpu::LoweringOptionsFor(device);
  }
  return gpu::EmitCudaProgram(module, program_options);
}

bool HasReports(const HloOptOptions& options) {
  return options.report != Report::kNone || !options.explain.empty();
}

}  // namespace

HloOptOutput::HloOptOutput(const HloOptOptions& options, Emit emit)
    : options_(&options),
      emit_(emit),
      print_large_constants_(
          options.print_large_constants.value_or(options.output != "-")) {}

absl::StatusOr<HloOptOutput> HloOptOutput::Create(const HloOptOptions& options,
                                                  int64_t module_count) {
  const Emit emit = options.emit.value_or(
      HasReports(options) && options.output == "-" ? Emit::kNone : Emit::kHlo);
  if (emit == Emit::kProto && module_count > 1) {
    return absl::InvalidArgumentError(
        "--emit=proto writes a single module, but there are several inputs");
  }
  if (!options.around.empty() && emit != Emit::kDot) {
    return absl::InvalidArgumentError("--around needs --emit=dot");
  }
  if (emit == Emit::kCuda && (module_count > 1 || options.output == "-")) {
    return absl::InvalidArgumentError(
        "--emit=cuda writes the program of one module into the folder -o");
  }
  return HloOptOutput(options, emit);
}

absl::Status HloOptOutput::AddModule(const HloModule& module) {
  if (emit_ == Emit::kCuda) {
    TF_ASSIGN_OR_RETURN(program_, MakeProgram(*options_, module));
  }
  if (!options_->around.empty()) {
    TF_ASSIGN_OR_RETURN(modules_.emplace_back(), DotAround(*options_, module));
    return absl::OkStatus();
  }
  TF_ASSIGN_OR_RETURN(
      modules_.emplace_back(),
      EmitModule(*options_, emit_, module, print_large_constants_));
  if (emit_ == Emit::kHlo && !options_->print_large_constants.has_value() &&
      !print_large_constants_) {
    elided_constants_ += CountConstantsToElide(module);
  }
  return absl::OkStatus();
}

absl::Status HloOptOutput::AddReports(const PipelineReport& report,
                                      const PassExplainer* explainer,
                                      std::ostream& err) {
  if (options_->report == Report::kJson) {
    TF_ASSIGN_OR_RETURN(const std::string json, PipelineReportToJson(report));
    absl::StrAppend(&reports_, json);
  } else if (options_->report == Report::kText) {
    absl::StrAppend(&reports_, PipelineReportToText(report));
  }
  if (explainer != nullptr && options_->explain_format == Report::kJson) {
    TF_ASSIGN_OR_RETURN(const std::string json, explainer->ToJson());
    absl::StrAppend(&reports_, json);
  } else if (explainer != nullptr) {
    absl::StrAppend(&reports_, explainer->ToText());
  }
  if (options_->stats || options_->time) err << PipelineReportToText(report);
  return absl::OkStatus();
}

absl::Status HloOptOutput::Write(std::ostream& err) {
  if (elided_constants_ > 0) {
    err << "note: the elements of " << elided_constants_
        << (elided_constants_ == 1 ? " constant are" : " constants are")
        << " left out ('{...}'); -o FILE or --print-large-constants writes "
           "them\n";
  }
  if (emit_ != Emit::kNone && options_->output == "-") {
    err << reports_;
  } else if (HasReports(*options_)) {
    TF_RETURN_IF_ERROR(WriteFileOrStdout("-", reports_));
  }
  return WriteModules();
}

absl::Status HloOptOutput::WriteModules() {
  if (emit_ == Emit::kNone) return absl::OkStatus();
  if (emit_ == Emit::kCuda) {
    return gpu::WriteCudaProgram(program_, options_->output);
  }
  if (emit_ != Emit::kProto) {
    for (std::string& module : modules_) {
      if (!absl::EndsWith(module, "\n")) module.push_back('\n');
    }
  }
  return WriteFileOrStdout(options_->output,
                           absl::StrJoin(modules_, "\n// -----\n\n"));
}

}  // namespace xla
