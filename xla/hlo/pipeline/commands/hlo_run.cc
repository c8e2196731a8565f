#include "xla/hlo/pipeline/commands/hlo_run.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/evaluator/devices/lockstep_evaluator.h"
#include "xla/hlo/evaluator/run/literal_difference.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/limit/memory_limit.h"
#include "xla/hlo/pipeline/commands/run_forecast.h"
#include "xla/hlo/pipeline/commands/run_inputs.h"
#include "xla/hlo/pipeline/commands/run_program.h"
#include "xla/hlo/pipeline/commands/run_sharded.h"
#include "xla/hlo/transforms/sharding_propagation/shardy_constants.h"
#include "xla/hlo/transforms/sharding_propagation/shardy_import.h"
#include "xla/hlo/utils/flag_check.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/hlo/verifier/verify_input.h"
#include "xla/literal.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Runs of this many operations take seconds: worth a progress report.
constexpr double kLongRun = 1e9;

using Arguments = std::vector<std::vector<const Literal*>>;

absl::Status InFile(const std::string& path, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(path, ": ", status.message()));
}

// Manual computations of Shardy, whose axes have names.
bool HasManualComputations(const HloModule& module) {
  return absl::c_any_of(
      module.computations(), [](const HloComputation* computation) {
        return absl::c_any_of(computation->instructions(),
                              [](const HloInstruction* hlo) {
                                return hlo->IsCustomCall(
                                    {sdy::kGlobalToLocalShapeCallTargetName,
                                     sdy::kLocalToGlobalShapeCallTargetName});
                              });
      });
}

// As it is evaluated: manual regions instead of manual computations.
absl::StatusOr<std::unique_ptr<HloModule>> ReadAndVerify(
    const HloRunOptions& options, const std::string& path) {
  HloParserOptions parser_options;
  parser_options.set_fill_shortform_constants_with_random_values(
      options.fill_elided_constants);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module,
                      ReadModuleFromFile(path, parser_options));
  TF_RETURN_IF_ERROR(VerifyInput(*module, path));
  if (HasManualComputations(*module)) {
    TF_RETURN_IF_ERROR(InFile(path, ShardyImport().Run(module.get()).status()));
  }
  return module;
}

// Bound on the memory of the values of all devices.
absl::StatusOr<int64_t> MemoryBytes(const HloRunOptions& options) {
  if (options.memory_limit.empty()) return options.max_memory_mib << 20;
  TF_ASSIGN_OR_RETURN(const MemoryLimit limit,
                      MemoryLimit::Parse(options.memory_limit));
  if (limit.is_share()) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory limit '", options.memory_limit,
                     "': a run has no peak of which this could be a share"));
  }
  return limit.BytesOf(0);
}

// Replicas and partitions to run on.
absl::StatusOr<LockstepOptions> MakeLockstepOptions(
    const HloRunOptions& options, const HloModule& module) {
  LockstepOptions lockstep;
  lockstep.max_steps = options.max_steps;
  TF_ASSIGN_OR_RETURN(lockstep.memory_limit_bytes, MemoryBytes(options));
  lockstep.seed = options.seed;
  lockstep.num_replicas = options.replicas;
  lockstep.num_partitions = options.partitions;
  if (options.devices == 0) return lockstep;
  const int64_t replicas =
      options.replicas > 0
          ? options.replicas
          : std::max<int64_t>(module.config().replica_count(), 1);
  const int64_t partitions =
      options.partitions > 0
          ? options.partitions
          : std::max<int64_t>(module.config().num_partitions(), 1);
  if (replicas * partitions == options.devices) return lockstep;
  if (options.partitions > 0 || partitions > 1 ||
      options.devices % replicas != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the module is for ", replicas, " replicas x ", partitions,
                     " partitions, not for ", options.devices, " devices"));
  }
  lockstep.num_replicas = replicas;
  lockstep.num_partitions = options.devices / replicas;
  return lockstep;
}

void PrintResults(const std::vector<Literal>& results, std::ostream& out) {
  for (size_t d = 0; d < results.size(); ++d) {
    if (results.size() > 1) out << "device " << d << ":\n";
    for (const ShapeUtil::IndexedShape& leaf :
         ShapeUtil::GetLeafShapes(results[d].shape())) {
      if (!leaf.index.empty()) out << leaf.index.ToString() << ": ";
      out << LiteralSlice(results[d], leaf.index).ToString() << "\n";
    }
  }
}

absl::Status CheckNumbers(const HloRunOptions& options) {
  constexpr int64_t kMostMib = std::numeric_limits<int64_t>::max() >> 20;
  TF_RETURN_IF_ERROR(CheckFlag("devices", options.devices, 0));
  TF_RETURN_IF_ERROR(CheckFlag("replicas", options.replicas, 0));
  TF_RETURN_IF_ERROR(CheckFlag("partitions", options.partitions, 0));
  TF_RETURN_IF_ERROR(CheckFlag("max-steps", options.max_steps, -1));
  TF_RETURN_IF_ERROR(CheckLimitFlag("max-flops", options.max_flops));
  TF_RETURN_IF_ERROR(
      CheckFlag("max-memory-mib", options.max_memory_mib, 0, kMostMib));
  return MemoryBytes(options).status();
}

// Whether a run stays within the limits, by forecast; and that it will.
absl::Status CheckAndWatch(const HloRunOptions& options,
                           const std::string& path, const RunForecast& forecast,
                           LockstepOptions& lockstep) {
  TF_RETURN_IF_ERROR(InFile(
      path, forecast.Check(options.max_flops, lockstep.memory_limit_bytes)));
  std::ostream* progress =
      forecast.operations() > kLongRun ? options.progress : nullptr;
  if (progress != nullptr) {
    *progress << path << ": " << forecast.ToString() << "\n";
  }
  lockstep.progress = forecast.Watch(options.max_flops, path, progress);
  return absl::OkStatus();
}

// "f32[8,16]", or of a tuple "(f32[], f32[64,128], and 30 more)".
std::string ShortShape(const Shape& shape) {
  constexpr int kShown = 3;
  if (!shape.IsTuple() || shape.tuple_shapes_size() <= kShown + 1) {
    return ShapeUtil::HumanString(shape);
  }
  std::string text = "(";
  for (int i = 0; i < kShown; ++i) {
    absl::StrAppend(&text, ShortShape(shape.tuple_shapes(i)), ", ");
  }
  return absl::StrCat(text, "and ", shape.tuple_shapes_size() - kShown,
                      " more)");
}

// The evaluation of one module, with a line about it.
absl::StatusOr<std::vector<Literal>> Evaluate(const std::string& path,
                                              const HloModule& module,
                                              const LockstepOptions& options,
                                              const Arguments& arguments,
                                              std::ostream& out) {
  LockstepEvaluator evaluator(module, options);
  absl::StatusOr<std::vector<Literal>> results = evaluator.Run(arguments);
  if (!results.ok()) return InFile(path, results.status());
  out << path << ": " << ShortShape(module.result_shape());
  if (arguments.size() > 1) {
    out << " on " << arguments.size() << " devices ("
        << evaluator.grid().replicas << " replicas x "
        << evaluator.grid().partitions << " partitions)";
  }
  out << ", " << evaluator.steps() << " steps, at most "
      << HumanBytes(static_cast<double>(evaluator.peak_bytes()))
      << " of values at a time\n";
  return results;
}

// InvalidArgument where no arguments suit both modules.
absl::Status CheckSignature(const std::string& path, const HloModule& a,
                            const std::string& other_path, const HloModule& b) {
  const HloComputation* x = a.entry_computation();
  const HloComputation* y = b.entry_computation();
  if (x->num_parameters() != y->num_parameters()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " and ", other_path, " cannot be compared: they take ",
        x->num_parameters(), " and ", y->num_parameters(), " parameters"));
  }
  for (int64_t i = 0; i < x->num_parameters(); ++i) {
    const Shape& p = x->parameter_instruction(i)->shape();
    const Shape& q = y->parameter_instruction(i)->shape();
    if (!ShapeUtil::Compatible(p, q)) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, " and ", other_path, " cannot be compared: parameter ", i,
          " is ", ShortShape(p), " and ", ShortShape(q)));
    }
  }
  return absl::OkStatus();
}

// If options.compare is the program of one device made from the module:
// compares them, and returns true. InvalidArgument if it is neither that nor
// takes the same arguments.
absl::StatusOr<bool> CompareIfSharded(const HloRunOptions& options,
                                      const HloModule& module,
                                      const std::string& path,
                                      std::ostream& out) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> other,
                      ReadAndVerify(options, options.compare));
  const int64_t replicas =
      std::max<int64_t>(module.config().replica_count(), 1);
  ShardedRun run;
  run.partitions = options.partitions;
  if (run.partitions == 0 && options.devices > 0) {
    if (options.devices % replicas != 0) return false;
    run.partitions = options.devices / replicas;
  }
  if (!IsProgramOfOneDevice(module, *other, run.partitions)) {
    // Before anything is run, or written.
    TF_RETURN_IF_ERROR(CheckSignature(path, module, options.compare, *other));
    return false;
  }
  run.inputs = options.inputs;
  run.path = path;
  run.other_path = options.compare;
  run.max_flops = options.max_flops;
  run.meaning.max_steps = options.max_steps;
  TF_ASSIGN_OR_RETURN(run.meaning.memory_limit_bytes, MemoryBytes(options));
  if (!options.tolerance.empty()) {
    TF_ASSIGN_OR_RETURN(run.meaning.tolerance,
                        Tolerance::Parse(options.tolerance));
  }
  TF_RETURN_IF_ERROR(CompareSharded(run, module, *other, out));
  return true;
}

absl::Status Compare(const HloRunOptions& options, const HloModule& module,
                     const std::string& path,
                     const std::optional<Tolerance>& tolerance,
                     const std::vector<Literal>& expected,
                     LockstepOptions lockstep, const Arguments& arguments,
                     std::ostream& out) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> other,
                      ReadAndVerify(options, options.compare));
  TF_RETURN_IF_ERROR(CheckSignature(path, module, options.compare, *other));
  const RunForecast forecast(*other, static_cast<int64_t>(expected.size()));
  TF_RETURN_IF_ERROR(
      CheckAndWatch(options, options.compare, forecast, lockstep));
  MeaningOptions meaning;
  meaning.max_steps = options.max_steps;
  TF_ASSIGN_OR_RETURN(meaning.memory_limit_bytes, MemoryBytes(options));
  if (!options.tolerance.empty()) {
    TF_ASSIGN_OR_RETURN(meaning.tolerance, Tolerance::Parse(options.tolerance));
  }
  TF_ASSIGN_OR_RETURN(
      const std::vector<Literal> actual,
      Evaluate(options.compare, *other, lockstep, arguments, out));
  LiteralErrors errors;
  for (size_t d = 0; d < expected.size(); ++d) {
    TF_ASSIGN_OR_RETURN(
        const std::optional<LiteralDifference> difference,
        meaning.tolerance.has_value()
            ? FindDifference(expected[d], actual[d], *meaning.tolerance,
                             &errors)
            : FindDifferenceByType(expected[d], actual[d], 1, &errors));
    if (!difference.has_value()) continue;
    std::string text = absl::StrCat(path, " and ", options.compare,
                                    " differ: ", difference->ToString());
    if (expected.size() > 1) absl::StrAppend(&text, " on device ", d);
    absl::StrAppend(&text, "\n  ", errors.ToString());
    const std::string first =
        FirstDivergence(module, *other, arguments, meaning);
    if (!first.empty()) absl::StrAppend(&text, "\n  first differs: ", first);
    return absl::AbortedError(text);
  }
  out << "equal; " << errors.ToString() << "\n";
  return absl::OkStatus();
}

absl::Status CompareProgram(const HloRunOptions& options,
                            const std::string& path,
                            const std::optional<Tolerance>& tolerance,
                            const std::vector<Literal>& expected,
                            const Arguments& arguments, std::ostream& out) {
  if (arguments.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--cuda: a program is for one device, not ", arguments.size()));
  }
  TF_ASSIGN_OR_RETURN(
      const ProgramRun run,
      RunProgram(options.cuda, arguments[0], expected[0].shape()));
  LiteralErrors errors;
  TF_ASSIGN_OR_RETURN(
      const std::optional<LiteralDifference> difference,
      tolerance.has_value()
          ? FindDifference(expected[0], run.result, *tolerance, &errors)
          : FindDifferenceByType(expected[0], run.result, 1, &errors));
  if (difference.has_value()) {
    return absl::AbortedError(absl::StrCat(
        path, " and ", options.cuda, ", run ", run.where,
        ", differ: ", difference->ToString(), "\n  ", errors.ToString()));
  }
  out << options.cuda << ": equal, run " << run.where << "; "
      << errors.ToString() << "\n";
  return absl::OkStatus();
}

}  // namespace

absl::Status RunHloRun(const HloRunOptions& options, const std::string& path,
                       std::ostream& out) {
  TF_RETURN_IF_ERROR(CheckNumbers(options));
  std::optional<Tolerance> tolerance;
  if (!options.tolerance.empty()) {
    TF_ASSIGN_OR_RETURN(tolerance, Tolerance::Parse(options.tolerance));
  }
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> module,
                      ReadAndVerify(options, path));
  if (!options.compare.empty()) {
    TF_ASSIGN_OR_RETURN(const bool done,
                        CompareIfSharded(options, *module, path, out));
    if (done) return absl::OkStatus();
  }
  TF_ASSIGN_OR_RETURN(LockstepOptions lockstep,
                      MakeLockstepOptions(options, *module));
  constexpr int64_t kMostDevices = int64_t{1} << 40;
  const int64_t replicas = lockstep.num_replicas > 0
                               ? lockstep.num_replicas
                               : module->config().replica_count();
  const int64_t partitions = lockstep.num_partitions > 0
                                 ? lockstep.num_partitions
                                 : module->config().num_partitions();
  const double product = static_cast<double>(std::max<int64_t>(replicas, 1)) *
                         static_cast<double>(std::max<int64_t>(partitions, 1));
  const int64_t devices = static_cast<int64_t>(
      std::min(product, static_cast<double>(kMostDevices)));
  const RunForecast forecast(*module, devices);
  TF_RETURN_IF_ERROR(CheckAndWatch(options, path, forecast, lockstep));
  TF_ASSIGN_OR_RETURN(const std::vector<std::vector<Literal>> inputs,
                      ReadRunInputs(*module, devices, options.inputs));
  Arguments arguments(inputs.size());
  for (size_t d = 0; d < inputs.size(); ++d) {
    for (const Literal& input : inputs[d]) arguments[d].push_back(&input);
  }
  if (!options.save_inputs.empty()) {
    TF_RETURN_IF_ERROR(WriteRunValues(arguments, "arg", /*numbered=*/true,
                                      options.save_inputs));
  }
  TF_ASSIGN_OR_RETURN(const std::vector<Literal> results,
                      Evaluate(path, *module, lockstep, arguments, out));
  if (options.print) PrintResults(results, out);
  if (!options.output.empty()) {
    Arguments outputs;
    for (const Literal& result : results) outputs.push_back({&result});
    TF_RETURN_IF_ERROR(
        WriteRunValues(outputs, "out", /*numbered=*/false, options.output));
  }
  if (!options.cuda.empty()) {
    TF_RETURN_IF_ERROR(
        CompareProgram(options, path, tolerance, results, arguments, out));
  }
  if (options.compare.empty()) return absl::OkStatus();
  return Compare(options, *module, path, tolerance, results, lockstep,
                 arguments, out);
}

}  // namespace xla
