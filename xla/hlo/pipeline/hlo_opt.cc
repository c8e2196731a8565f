#include "xla/hlo/pipeline/hlo_opt.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "re2/re2.h"
#include "xla/backends/gpu/lowering/module_lowering.h"
#include "xla/backends/gpu/program/cuda_program.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_partitions.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/pass/fueled_pass.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pass/instrumentation/changed_check.h"
#include "xla/hlo/pass/instrumentation/check_equivalent.h"
#include "xla/hlo/pass/instrumentation/dump_hlo.h"
#include "xla/hlo/pass/instrumentation/pass_fuel.h"
#include "xla/hlo/pass/instrumentation/pass_recorder.h"
#include "xla/hlo/pass/instrumentation/print_ir.h"
#include "xla/hlo/pass/instrumentation/progress.h"
#include "xla/hlo/pass/instrumentation/stop_before_pass.h"
#include "xla/hlo/pass/instrumentation/verify_each.h"
#include "xla/hlo/pass/nearest_name.h"
#include "xla/hlo/pass/pass_name.h"
#include "xla/hlo/pass/unmet_limits.h"
#include "xla/hlo/pipeline/explain_passes.h"
#include "xla/hlo/pipeline/pipelines.h"
#include "xla/hlo/pipeline/target_flags.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/hlo/utils/flag_check.h"
#include "xla/hlo/utils/hlo_dot.h"
#include "xla/hlo/utils/module_file.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/hlo/verifier/verify_input.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using Emit = HloOptOptions::Emit;
using Report = HloOptOptions::Report;

// One module to work on, with the text or bytes it came from.
struct Input {
  std::string contents;
  HloParserOptions parser_options;
};

absl::StatusOr<std::vector<Input>> ReadInputs(
    const HloOptOptions& options, const std::vector<std::string>& paths) {
  std::vector<Input> inputs;
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

absl::StatusOr<std::unique_ptr<HloModule>> ReadInput(
    const HloOptOptions& options, const Input& input) {
  ModuleFormat format = options.format.value_or(
      options.split_input ? ModuleFormat::kHlo
                          : DetectModuleFormat(input.contents));
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module,
                      ReadModule(input.contents, format, input.parser_options));
  if (options.debug_options.has_value()) {
    module->mutable_config().set_debug_options(*options.debug_options);
  }
  return module;
}

absl::Status CheckPlatformAndStage(const HloOptOptions& options) {
  if (options.platform != "transforms") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--platform=", options.platform,
        ": expected 'transforms'; compilers for hardware are not part of this "
        "tool, its GPU passes run by --passes and --pipeline"));
  }
  if (options.stage != kHloOptStages) {
    return absl::InvalidArgumentError(
        absl::StrCat("--stage=", options.stage, ": expected '", kHloOptStages,
                     "'; --emit chooses other forms of a module"));
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

// The names of all passes of a pipeline, nested ones included.
void AddPassNames(HloPassPipeline& pipeline, std::vector<std::string>& names) {
  for (int i = 0; i < pipeline.PassesSize(); ++i) {
    HloPassInterface& pass = pipeline.GetPass(i);
    names.push_back(std::string(pass.name()));
    if (pass.IsPassPipeline()) {
      AddPassNames(static_cast<HloPassPipeline&>(pass), names);
    }
  }
}

absl::Status NoSuchPass(absl::string_view flag, absl::string_view name,
                        std::vector<std::string> names) {
  absl::c_sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, ": no pass of the pipeline is called ", name,
                   DidYouMean(name, names)));
}

absl::Status CheckFuel(const PassFuel& fuel,
                       const std::vector<std::string>& names) {
  for (const std::string& name : fuel.Names()) {
    if (absl::c_none_of(names, [&name](const std::string& pass) {
          return IsSamePassName(pass, name);
        })) {
      return NoSuchPass("fuel", name, names);
    }
  }
  return absl::OkStatus();
}

// Hands the fuel for rewrites to the passes that it is for; returns whether
// there are any of that name that take it.
bool SetRewriteFuel(HloPassPipeline& pipeline, absl::string_view name,
                    const std::shared_ptr<int64_t>& fuel) {
  bool found = false;
  for (int i = 0; i < pipeline.PassesSize(); ++i) {
    HloPassInterface& pass = pipeline.GetPass(i);
    if (pass.IsPassPipeline()) {
      found |= SetRewriteFuel(static_cast<HloPassPipeline&>(pass), name, fuel);
    } else if (auto* fueled = dynamic_cast<FueledPass*>(&pass);
               fueled != nullptr && IsSamePassName(pass.name(), name)) {
      fueled->SetRewriteFuel(fuel);
      found = true;
    }
  }
  return found;
}

absl::Status SetRewriteFuel(const PassFuel& fuel, HloPassPipeline& pipeline) {
  for (const auto& [name, left] : fuel.rewrites()) {
    if (SetRewriteFuel(pipeline, name, left)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--fuel: no pass of the pipeline that is called ", name,
                     " counts its rewrites"));
  }
  return absl::OkStatus();
}

// Whether an expression is of any pass.
absl::Status CheckExpression(absl::string_view flag, const std::string& text,
                             const std::vector<std::string>& names) {
  const RE2 expression(text, RE2::Quiet);
  if (text.empty() || !expression.ok()) return absl::OkStatus();
  for (const std::string& name : names) {
    if (RE2::FullMatch(name, expression) ||
        RE2::FullMatch(absl::StrReplaceAll(name, {{"-", "_"}}), expression)) {
      return absl::OkStatus();
    }
  }
  return NoSuchPass(flag, text, names);
}

HloVerifierOpts VerifierOptions(const HloOptOptions& options) {
  HloVerifierOpts opts;
  opts.layout_sensitive = options.layout_sensitive;
  opts.allow_mixed_precision = true;
  return opts;
}

std::string EmitModule(Emit emit, const HloModule& module,
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
    case Emit::kKir:
      return gpu::LowerModule(module).ToString();
    case Emit::kCuda:
    case Emit::kNone:
      return "";
  }
  return "";
}

// How many constants of the module its text leaves out by default, other than
// those of which nothing is known.
int64_t CountLargeConstants(const HloModule& module) {
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
    const auto& cuda = *capability.cuda_compute_capability();
    program_options.device = absl::StrCat("sm_", cuda.major, cuda.minor);
  }
  return gpu::EmitCudaProgram(module, program_options);
}

// Runs one pipeline over modules, with everything that watches it.
class Runner {
 public:
  Runner(const HloOptOptions& options, HloPassPipeline& pipeline,
         std::ostream& err)
      : options_(options), pipeline_(pipeline), err_(err) {}

  absl::Status AddInstrumentations() {
    failure_ = std::make_shared<FailureRecorder>();
    pipeline_.AddInstrumentation(failure_);
    std::vector<std::string> names;
    AddPassNames(pipeline_, names);
    if (!options_.fuel.empty()) {
      TF_ASSIGN_OR_RETURN(std::unique_ptr<PassFuel> fuel,
                          PassFuel::Create(options_.fuel));
      TF_RETURN_IF_ERROR(CheckFuel(*fuel, names));
      TF_RETURN_IF_ERROR(SetRewriteFuel(*fuel, pipeline_));
      pipeline_.AddInstrumentation(std::move(fuel));
    }
    PassRecorder::Options recorder_options;
    recorder_options.seconds = options_.time;
    recorder_ = std::make_shared<PassRecorder>(recorder_options);
    pipeline_.AddInstrumentation(recorder_);
    if (!options_.explain.empty()) {
      TF_ASSIGN_OR_RETURN(explainer_,
                          PassExplainer::Create(
                              &pipeline_, absl::StrSplit(options_.explain, ','),
                              options_.explain_dot));
      pipeline_.AddInstrumentation(explainer_);
    } else if (!options_.explain_dot.empty()) {
      return absl::InvalidArgumentError(
          "--explain-dot needs --explain, which says of which passes");
    }
    TF_RETURN_IF_ERROR(
        CheckExpression("print-before", options_.print_before, names));
    TF_RETURN_IF_ERROR(
        CheckExpression("print-after", options_.print_after, names));
    PrintIr::Options print;
    print.before = options_.print_before;
    print.after = options_.print_after;
    if (options_.print_after_change && print.after.empty()) {
      print.after = ".*";
    }
    print.only_changed = options_.print_after_change;
    TF_ASSIGN_OR_RETURN(std::unique_ptr<PrintIr> print_ir,
                        PrintIr::Create(print, [this](absl::string_view text) {
                          err_ << text;
                        }));
    pipeline_.AddInstrumentation(std::move(print_ir));
    if (options_.debug_options.has_value()) {
      TF_ASSIGN_OR_RETURN(
          std::unique_ptr<DumpHlo> dump,
          DumpHlo::Create(*options_.debug_options,
                          [this](absl::string_view text) { err_ << text; }));
      dump_ = std::move(dump);
      if (dump_ != nullptr) pipeline_.AddInstrumentation(dump_);
    }
    if (options_.check_changed) {
      pipeline_.AddInstrumentation(
          std::make_shared<ChangedCheck>(ChangedCheck::Options{}));
    }
    if (options_.verify_each) {
      pipeline_.AddInstrumentation(
          std::make_shared<VerifyEach>(VerifierOptions(options_)));
    }
    if (options_.check_equivalent > 0) {
      MeaningOptions meaning;
      meaning.seeds = options_.check_equivalent;
      meaning.max_work = options_.max_equivalence_work;
      pipeline_.AddInstrumentation(std::make_shared<CheckEquivalent>(
          meaning, [this](absl::string_view text) {
            if (options_.equivalence_notes.empty()) {
              err_ << text;
            } else {
              std::ofstream(options_.equivalence_notes, std::ios::app) << text;
            }
          }));
    }
    if (options_.progress) {
      pipeline_.AddInstrumentation(std::make_shared<Progress>(err_));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<HloModule>> Run(Input input) {
    std::vector<std::string> warnings;
    input.parser_options.set_warnings(&warnings);
    TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module,
                        ReadInput(options_, input));
    input.parser_options.set_warnings(nullptr);
    for (const std::string& warning : warnings) err_ << warning << "\n";
    SetPartitions(input, *module);
    TF_RETURN_IF_ERROR(VerifyInput(*module, input.parser_options.file_name(),
                                   options_.layout_sensitive));
    recorder_->Start(*module, pipeline_.name());
    if (explainer_ != nullptr) explainer_->Start(*module);
    if (dump_ != nullptr) {
      TF_RETURN_IF_ERROR(dump_->Start(*module, pipeline_.name()));
    }
    absl::Status status = pipeline_.Run(module.get()).status();
    if (status.ok() && !options_.verify_each) {
      status = VerifyHloModule(module.get(), VerifierOptions(options_));
      if (!status.ok()) status = absl::InternalError(status.message());
    }
    for (absl::Status& unmet : TakeUnmetLimits(pipeline_)) {
      unmet_limits_.push_back(std::move(unmet));
    }
    if (!status.ok()) return WithReproducer(input, status);
    recorder_->Finish(*module);
    if (dump_ != nullptr) TF_RETURN_IF_ERROR(dump_->Finish(*module));
    return module;
  }

  // Limits that were not met, over all modules so far.
  const std::vector<absl::Status>& unmet_limits() const {
    return unmet_limits_;
  }

  const PipelineReport& report() const { return recorder_->report(); }
  // Null if nothing was asked for.
  const PassExplainer* explainer() const { return explainer_.get(); }

 private:
  // JAX counts devices beside the modules that it lowers, not in them.
  void NoteDevices(const Input& input, const HloModule& module) {
    if (module.config().num_partitions() > 1 || IsPartitioned(module) ||
        module.config().replica_count() > 1) {
      return;
    }
    std::vector<std::string> names;
    AddPassNames(pipeline_, names);
    const int64_t devices = DevicesOfShardings(module);
    if (devices == 1 || !absl::c_linear_search(names, "if-partitions")) return;
    err_ << input.parser_options.file_name() << ": note: shardings are over "
         << devices << " devices, and the header counts one partition; with "
         << "--num-partitions=" << devices
         << " the module becomes that of one of them\n";
  }

  void SetPartitions(const Input& input, HloModule& module) {
    const int64_t partitions = options_.num_partitions;
    if (partitions == 0) {
      NoteDevices(input, module);
      return;
    }
    module.mutable_config().set_num_partitions(partitions);
    module.mutable_config().set_use_spmd_partitioning(partitions > 1);
    if (partitions > 1 && !HasShardings(module)) {
      err_ << input.parser_options.file_name()
           << ": warning: nothing has a sharding, so that each of the "
           << partitions << " devices computes the whole module\n";
    }
  }

  // Repeats the run up to the failed pass and writes a reproducer there.
  absl::Status WithReproducer(const Input& input, const absl::Status& error) {
    if (options_.reproducer.empty() || failure_->index() < 0) return error;
    int index = failure_->index();
    std::string pass = failure_->text();
    if (dump_ != nullptr) dump_->Stop();
    auto stop = std::make_shared<StopBeforePass>(index);
    pipeline_.AddInstrumentation(stop);
    absl::StatusOr<std::unique_ptr<HloModule>> module =
        ReadInput(options_, input);
    if (!module.ok()) return error;
    SetPartitions(input, **module);
    pipeline_.Run(module->get()).status().IgnoreError();
    const std::string flags =
        options_.check_equivalent > 0
            ? absl::StrCat("--check-equivalent=", options_.check_equivalent)
            : "";
    absl::Status written = WriteFileOrStdout(
        options_.reproducer,
        MakeReproducer(pass, error, stop->module_text(), flags));
    return absl::Status(
        error.code(),
        written.ok() ? absl::StrCat(error.message(),
                                    "\n  reproducer: ", options_.reproducer)
                     : absl::StrCat(error.message(),
                                    "\n  no reproducer: ", written.message()));
  }

  const HloOptOptions& options_;
  HloPassPipeline& pipeline_;
  std::ostream& err_;
  std::vector<absl::Status> unmet_limits_;
  std::shared_ptr<FailureRecorder> failure_;
  std::shared_ptr<PassRecorder> recorder_;
  std::shared_ptr<PassExplainer> explainer_;
  // Null if nothing was asked for.
  std::shared_ptr<DumpHlo> dump_;
};

absl::Status WriteOutputs(const HloOptOptions& options, Emit emit,
                          std::vector<std::string> outputs) {
  if (emit == Emit::kNone) return absl::OkStatus();
  if (emit != Emit::kProto) {
    for (std::string& output : outputs) {
      if (!absl::EndsWith(output, "\n")) output.push_back('\n');
    }
  }
  return WriteFileOrStdout(options.output,
                           absl::StrJoin(outputs, "\n// -----\n\n"));
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
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloPassPipeline> pipeline,
                      MakePipeline(options, registry));
  Runner runner(options, *pipeline, err);
  TF_RETURN_IF_ERROR(runner.AddInstrumentations());
  TF_ASSIGN_OR_RETURN(std::vector<Input> inputs, ReadInputs(options, paths));

  const bool reports =
      options.report != Report::kNone || !options.explain.empty();
  const Emit emit = options.emit.value_or(
      reports && options.output == "-" ? Emit::kNone : Emit::kHlo);
  if (emit == Emit::kProto && inputs.size() > 1) {
    return absl::InvalidArgumentError(
        "--emit=proto writes one module; there are several inputs");
  }
  if (!options.around.empty() && emit != Emit::kDot) {
    return absl::InvalidArgumentError("--around is for --emit=dot");
  }
  if (emit == Emit::kCuda && (inputs.size() > 1 || options.output == "-")) {
    return absl::InvalidArgumentError(
        "--emit=cuda writes the program of one module into the folder -o");
  }
  const bool print_large_constants =
      options.print_large_constants.value_or(options.output != "-");
  int64_t left_out = 0;
  std::vector<std::string> outputs;
  gpu::CudaProgram program;
  std::string report_text;
  std::vector<absl::Status> errors;
  for (Input& input : inputs) {
    absl::StatusOr<std::unique_ptr<HloModule>> module =
        runner.Run(std::move(input));
    if (!module.ok()) {
      errors.push_back(module.status());
      continue;
    }
    if (emit == Emit::kCuda) {
      TF_ASSIGN_OR_RETURN(program, MakeProgram(options, **module));
    }
    if (options.around.empty()) {
      outputs.push_back(EmitModule(emit, **module, print_large_constants));
      if (emit == Emit::kHlo && !options.print_large_constants.has_value() &&
          !print_large_constants) {
        left_out += CountLargeConstants(**module);
      }
    } else {
      TF_ASSIGN_OR_RETURN(outputs.emplace_back(), DotAround(options, **module));
    }
    if (options.report == Report::kJson) {
      TF_ASSIGN_OR_RETURN(std::string json,
                          PipelineReportToJson(runner.report()));
      absl::StrAppend(&report_text, json);
    } else if (options.report == Report::kText) {
      absl::StrAppend(&report_text, PipelineReportToText(runner.report()));
    }
    if (const PassExplainer* explainer = runner.explainer()) {
      if (options.explain_format == Report::kJson) {
        TF_ASSIGN_OR_RETURN(std::string json, explainer->ToJson());
        absl::StrAppend(&report_text, json);
      } else {
        absl::StrAppend(&report_text, explainer->ToText());
      }
    }
    if (options.stats || options.time) {
      err << PipelineReportToText(runner.report());
    }
  }
  if (!errors.empty()) return JoinErrors(errors);
  if (left_out > 0) {
    err << "note: the elements of " << left_out
        << (left_out == 1 ? " constant are" : " constants are")
        << " left out ('{...}'); -o FILE or --print-large-constants writes "
           "them\n";
  }

  // Reports take standard output unless the module is there.
  if (reports) {
    if (emit != Emit::kNone && options.output == "-") {
      err << report_text;
    } else {
      TF_RETURN_IF_ERROR(WriteFileOrStdout("-", report_text));
    }
  }
  if (emit == Emit::kCuda) {
    TF_RETURN_IF_ERROR(gpu::WriteCudaProgram(program, options.output));
  } else {
    TF_RETURN_IF_ERROR(WriteOutputs(options, emit, std::move(outputs)));
  }
  return JoinErrors(runner.unmet_limits());
}

}  // namespace xla
