#include "xla/hlo/evaluator/run/module_meaning.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/evaluator/devices/lockstep_evaluator.h"
#include "xla/hlo/evaluator/run/input_generator.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_partitions.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Two modules are compared by running both on the same generated inputs and
// comparing outputs within a tolerance. A difference proves that a pass changed
// the meaning of the module; agreement on all seeds is only evidence that it
// did not. Even seeds give general values, odd ones small integers, for which
// sums and products are exact in any order, so that rounding cannot hide a
// difference.
//
// Runs are bounded twice: EstimateWork refuses expensive modules before they
// start, and a limit on executed instructions stops loops that a faulty pass
// made endless.

// Trips that EstimateWork assumes for every loop.
constexpr int64_t kLoopTrips = 16;
// How many times the instructions of the first module a later one may take, and
// how many it may take in any case.
constexpr int64_t kMoreSteps = 100;
constexpr int64_t kStepsForAll = 10'000;
// Work that one step counts towards the cap, so that loops over scalars end
// soon.
constexpr int64_t kWorkPerStep = 20;
constexpr int64_t kLeastSteps = 1000;
// Devices of one run get seeds this far apart.
constexpr uint64_t kDeviceStride = 1'000'003;
// More devices than these get no inputs.
constexpr int64_t kMostDevices = int64_t{1} << 20;

using Arguments = std::vector<std::vector<const Literal*>>;

double Elements(const Shape& shape) {
  double elements = 0;
  ShapeUtil::ForEachSubshape(
      shape, [&](const Shape& subshape, const ShapeIndex&) {
        if (!subshape.IsArray()) return;
        double product = 1;
        for (int64_t size : subshape.dimensions()) {
          product *= static_cast<double>(std::max<int64_t>(size, 0));
        }
        elements += product;
      });
  return elements;
}

// Multiplications for each element of the result.
double ProductsPerElement(const HloInstruction* instruction) {
  double products = 1;
  if (instruction->opcode() == HloOpcode::kDot) {
    const DotDimensionNumbers& numbers = instruction->dot_dimension_numbers();
    for (int64_t d : numbers.lhs_contracting_dimensions()) {
      products *= instruction->operand(0)->shape().dimensions(d);
    }
  } else if (instruction->opcode() == HloOpcode::kConvolution) {
    const Shape& kernel = instruction->operand(1)->shape();
    const int64_t out = instruction->convolution_dimension_numbers()
                            .kernel_output_feature_dimension();
    products = Elements(kernel) / static_cast<double>(std::max<int64_t>(
                                      kernel.dimensions(out), 1));
  } else if (instruction->opcode() == HloOpcode::kReduceWindow ||
             instruction->opcode() == HloOpcode::kSelectAndScatter) {
    for (const WindowDimension& d : instruction->window().dimensions()) {
      products *= static_cast<double>(d.size());
    }
  }
  return products;
}

bool IsPure(const HloInstruction* instruction) {
  switch (instruction->opcode()) {
    case HloOpcode::kInfeed:
    case HloOpcode::kOutfeed:
    case HloOpcode::kRng:
    case HloOpcode::kRngGetAndUpdateState:
      return false;
    case HloOpcode::kSend:
    case HloOpcode::kRecv:
      return !Cast<HloSendRecvInstruction>(instruction)->is_host_transfer();
    default:  // Two runs agree.
      return true;
  }
}

}  // namespace

absl::Status CheckMeaningIsAFunction(const HloModule& module) {
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      if (!IsPure(instruction)) {
        return absl::UnimplementedError(absl::StrCat(
            "%", instruction->name(), ": ",
            HloOpcodeString(instruction->opcode()),
            " makes the result more than a function of the inputs"));
      }
      if (instruction->opcode() == HloOpcode::kConstant &&
          !instruction->literal().IsKnown()) {
        return absl::UnimplementedError(
            absl::StrCat("%", instruction->name(),
                         ": the constant is elided; --fill-elided-constants "
                         "makes up elements"));
      }
    }
  }
  return absl::OkStatus();
}

namespace {

Arguments PointersTo(const DeviceLiterals& literals) {
  Arguments pointers;
  for (const std::vector<Literal>& device : literals) {
    std::vector<const Literal*>& row = pointers.emplace_back();
    for (const Literal& literal : device) row.push_back(&literal);
  }
  return pointers;
}

LockstepOptions LimitsOf(const MeaningOptions& options) {
  LockstepOptions limits;
  limits.max_steps = options.max_steps;
  limits.memory_limit_bytes = options.memory_limit_bytes;
  return limits;
}

absl::StatusOr<std::optional<LiteralDifference>> Compare(
    const LiteralSlice& expected, const LiteralSlice& actual,
    const MeaningOptions& options) {
  return options.tolerance.has_value()
             ? FindDifference(expected, actual, *options.tolerance)
             : FindDifferenceByType(expected, actual, options.tolerance_scale);
}

// The steps that the first module may take.
int64_t StepsWithin(const MeaningOptions& options) {
  if (options.max_work < 0) return options.max_steps;
  const int64_t cap = std::max(options.max_work / kWorkPerStep, kLeastSteps);
  return options.max_steps < 0 ? cap : std::min(cap, options.max_steps);
}

// Saturates.
int64_t DeviceCount(const HloModule& module) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const int64_t replicas =
      std::max<int64_t>(module.config().replica_count(), 1);
  const int64_t partitions =
      std::max<int64_t>(module.config().num_partitions(), 1);
  return replicas > kMost / partitions ? kMost : replicas * partitions;
}

bool SameSignature(const HloModule& a, const HloModule& b) {
  const HloComputation* x = a.entry_computation();
  const HloComputation* y = b.entry_computation();
  if (x->num_parameters() != y->num_parameters() ||
      !ShapeUtil::Compatible(x->root_instruction()->shape(),
                             y->root_instruction()->shape()) ||
      DeviceCount(a) != DeviceCount(b)) {
    return false;
  }
  for (int64_t i = 0; i < x->num_parameters(); ++i) {
    if (!ShapeUtil::Compatible(x->parameter_instruction(i)->shape(),
                               y->parameter_instruction(i)->shape())) {
      return false;
    }
  }
  return true;
}

}  // namespace

int64_t EstimateWork(const HloModule& module) {
  absl::flat_hash_map<const HloComputation*, double> work;
  for (const HloComputation* computation : module.MakeComputationPostOrder()) {
    double total = 0;
    for (const HloInstruction* instruction : computation->instructions()) {
      const double own =
          Elements(instruction->shape()) * ProductsPerElement(instruction);
      double elements = own;
      for (const HloInstruction* operand : instruction->operands()) {
        elements = std::max(elements, Elements(operand->shape()));
      }
      total += elements + 1;
      for (const HloComputation* callee : instruction->called_computations()) {
        switch (instruction->opcode()) {
          case HloOpcode::kCall:
          case HloOpcode::kFusion:
          case HloOpcode::kConditional:
          case HloOpcode::kAsyncStart:
          case HloOpcode::kCustomCall:
            total += work[callee];
            break;
          case HloOpcode::kAsyncUpdate:
          case HloOpcode::kAsyncDone:
            break;
          case HloOpcode::kWhile:
            total += kLoopTrips * work[callee];
            break;
          default:  // Applied to each element; compiled unless it is large.
            total += elements * work[callee] / 4;
        }
      }
    }
    work[computation] = total;
  }
  const double result = work[module.entry_computation()] *
                        static_cast<double>(DeviceCount(module));
  return result < 1e18 ? static_cast<int64_t>(result)
                       : std::numeric_limits<int64_t>::max();
}

absl::Status CheckWork(const HloModule& module, const MeaningOptions& options) {
  if (options.max_work < 0) return absl::OkStatus();
  const int64_t work = EstimateWork(module);
  if (work <= options.max_work) return absl::OkStatus();
  std::string text = absl::StrCat("a run takes about ", work,
                                  " operations; the cap is ", options.max_work);
  if (!options.max_work_flag.empty()) {
    absl::StrAppend(&text, " (", options.max_work_flag, ")");
  }
  return absl::UnimplementedError(text);
}

namespace {

// Gives the partitions of a replica the arguments of the first of them.
void ShareWithinReplicas(const HloModule& module, DeviceLiterals& inputs) {
  const size_t partitions = module.config().num_partitions();
  for (size_t d = 0; d < inputs.size(); ++d) {
    if (d % partitions == 0) continue;
    const std::vector<Literal>& first = inputs[d - d % partitions];
    for (size_t i = 0; i < first.size(); ++i) inputs[d][i] = first[i].Clone();
  }
}

}  // namespace

absl::StatusOr<DeviceLiterals> GenerateDeviceInputs(const HloModule& module,
                                                    int64_t devices,
                                                    uint64_t seed,
                                                    bool small_integers) {
  if (devices > kMostDevices) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "inputs for ", devices, " devices; at most ", kMostDevices));
  }
  DeviceLiterals inputs;
  for (int64_t d = 0; d < devices; ++d) {
    InputOptions options;
    options.seed = seed + kDeviceStride * static_cast<uint64_t>(d);
    options.small_integers = small_integers;
    TF_ASSIGN_OR_RETURN(std::vector<Literal> literals,
                        GenerateInputs(module, options));
    inputs.push_back(std::move(literals));
  }
  if (devices == DeviceCount(module) && IsToBePartitioned(module)) {
    ShareWithinReplicas(module, inputs);
  }
  return inputs;
}

std::string FirstDivergence(
    const HloModule& before, const HloModule& after,
    const std::vector<std::vector<const Literal*>>& inputs,
    const MeaningOptions& options) {
  absl::flat_hash_map<std::string, const HloInstruction*> names;
  for (const HloComputation* computation : after.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      names[instruction->name()] = instruction;
    }
  }
  absl::flat_hash_map<std::string, Literal> values;
  LockstepOptions limits = LimitsOf(options);
  limits.observer = [&](int64_t device, const HloInstruction* instruction,
                        const evaluator::Value& value) {
    if (device != 0 || instruction->opcode() == HloOpcode::kParameter) return;
    auto it = names.find(instruction->name());
    if (it == names.end() || it->second->opcode() != instruction->opcode() ||
        !ShapeUtil::Compatible(it->second->shape(), instruction->shape()) ||
        values.contains(instruction->name())) {
      return;
    }
    absl::StatusOr<Literal> literal = value.ToLiteral(instruction->shape());
    if (literal.ok()) values.emplace(instruction->name(), *std::move(literal));
  };
  if (!LockstepEvaluator(before, limits).Run(inputs).ok()) return "";
  std::string found;
  limits.observer = [&](int64_t device, const HloInstruction* instruction,
                        const evaluator::Value& value) {
    if (device != 0 || !found.empty()) return;
    auto it = values.find(instruction->name());
    if (it == values.end()) return;
    absl::StatusOr<Literal> literal = value.ToLiteral(instruction->shape());
    if (!literal.ok()) return;
    auto difference = Compare(it->second, *literal, options);
    // Later values of the same instruction are of later trips.
    values.erase(it);
    if (!difference.ok() || !difference->has_value()) return;
    found = absl::StrCat("%", instruction->name(), " (",
                         HloOpcodeString(instruction->opcode()), ") in %",
                         instruction->parent()->name(), ": ",
                         (*difference)->ToString());
  };
  LockstepEvaluator(after, limits).Run(inputs).status().IgnoreError();
  return found;
}

absl::StatusOr<std::unique_ptr<ModuleMeaning>> ModuleMeaning::Make(
    const HloModule& module, const MeaningOptions& options) {
  TF_RETURN_IF_ERROR(CheckMeaningIsAFunction(module));
  TF_RETURN_IF_ERROR(CheckWork(module, options));
  std::unique_ptr<ModuleMeaning> meaning(new ModuleMeaning());
  meaning->options_ = options;
  meaning->module_ = module.Clone("");
  meaning->devices_ = DeviceCount(module);
  for (int64_t seed = 0; seed < options.seeds; ++seed) {
    TF_ASSIGN_OR_RETURN(
        DeviceLiterals inputs,
        GenerateDeviceInputs(module, meaning->devices_, seed, seed % 2 == 1));
    LockstepOptions limits = LimitsOf(options);
    limits.max_steps = StepsWithin(options);
    LockstepEvaluator evaluator(module, std::move(limits));
    TF_ASSIGN_OR_RETURN(std::vector<Literal> outputs,
                        evaluator.Run(PointersTo(inputs)));
    meaning->steps_ = std::max(meaning->steps_, evaluator.steps());
    meaning->inputs_.push_back(std::move(inputs));
    meaning->outputs_.push_back(std::move(outputs));
  }
  return meaning;
}

absl::StatusOr<std::optional<std::string>> ModuleMeaning::DifferenceFrom(
    const HloModule& other) const {
  return const_cast<ModuleMeaning*>(this)->Check(other, /*advance=*/false);
}

absl::StatusOr<std::optional<std::string>> ModuleMeaning::Advance(
    const HloModule& other) {
  return Check(other, /*advance=*/true);
}

absl::StatusOr<std::optional<std::string>> ModuleMeaning::Check(
    const HloModule& other, bool advance) {
  TF_RETURN_IF_ERROR(CheckMeaningIsAFunction(other));
  if (!SameSignature(*module_, other)) {
    return absl::UnimplementedError(
        "it takes or gives other shapes, or runs on other devices");
  }
  std::vector<std::vector<Literal>> all_outputs;
  LockstepOptions limits = LimitsOf(options_);
  const int64_t most = kMoreSteps * steps_ + kStepsForAll;
  if (limits.max_steps < 0 || limits.max_steps > most) limits.max_steps = most;
  for (size_t seed = 0; seed < inputs_.size(); ++seed) {
    LockstepEvaluator evaluator(other, limits);
    const Arguments arguments = PointersTo(inputs_[seed]);
    absl::StatusOr<std::vector<Literal>> run = evaluator.Run(arguments);
    if (absl::IsResourceExhausted(run.status()) && evaluator.steps() >= most) {
      return absl::FailedPreconditionError(absl::StrCat(
          "it exceeds ", most, " instructions; the original module ran ",
          steps_, ": ", run.status().message()));
    }
    TF_ASSIGN_OR_RETURN(std::vector<Literal> outputs, std::move(run));
    for (int64_t d = 0; d < devices_; ++d) {
      TF_ASSIGN_OR_RETURN(const std::optional<LiteralDifference> difference,
                          Compare(outputs_[seed][d], outputs[d], options_));
      if (!difference.has_value()) continue;
      std::string text = difference->ToString();
      if (devices_ > 1) absl::StrAppend(&text, " on device ", d);
      absl::StrAppend(&text, " (inputs of seed ", seed, ")");
      const std::string first =
          FirstDivergence(*module_, other, arguments, options_);
      if (!first.empty()) {
        absl::StrAppend(&text, "\n  first differs: ", first);
      }
      return std::optional<std::string>(std::move(text));
    }
    all_outputs.push_back(std::move(outputs));
  }
  if (advance) {
    outputs_ = std::move(all_outputs);
    module_ = other.Clone("");
  }
  return std::optional<std::string>();
}

}  // namespace xla
