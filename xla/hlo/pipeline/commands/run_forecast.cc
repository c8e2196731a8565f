#include "xla/hlo/pipeline/commands/run_forecast.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// Bytes whose transfer takes about as long as one operation.
constexpr double kBytesPerOperation = 8;
// Additional memory of a device.
constexpr double kDeviceBytes = 4096;

HloCostAnalysis::Options CostOptions() {
  HloCostAnalysis::Options options;
  options.multiply_by_trip_count = true;
  options.count_equal_windows = true;
  return options;
}

double ArrayBytes(const Shape& shape) {
  double bytes = 0;
  for (const ShapeUtil::IndexedShape& leaf : ShapeUtil::GetLeafShapes(shape)) {
    if (!leaf.shape.IsArray()) continue;
    double product = static_cast<double>(
        ShapeUtil::ByteSizeOfPrimitiveType(leaf.shape.element_type()));
    for (int64_t size : leaf.shape.dimensions()) {
      product *= static_cast<double>(std::max<int64_t>(size, 0));
    }
    bytes += product;
  }
  return bytes;
}

// Whether the instructions that an instruction calls are executed one by one;
// the work is theirs.
bool RunsCallees(HloOpcode opcode) {
  return opcode == HloOpcode::kWhile || opcode == HloOpcode::kConditional ||
         opcode == HloOpcode::kCall || opcode == HloOpcode::kAsyncStart;
}

// The computations that do work of their own. Work of others, such as bodies of
// fusions, is that of what calls them.
absl::flat_hash_set<const HloComputation*> FindWorking(
    const HloModule& module) {
  std::vector<const HloComputation*> found = {module.entry_computation()};
  absl::flat_hash_set<const HloComputation*> working(found.begin(),
                                                     found.end());
  while (!found.empty()) {
    const HloComputation* computation = found.back();
    found.pop_back();
    for (const HloInstruction* instruction : computation->instructions()) {
      if (!RunsCallees(instruction->opcode())) continue;
      for (const HloComputation* callee : instruction->called_computations()) {
        if (working.insert(callee).second) found.push_back(callee);
      }
    }
  }
  return working;
}

}  // namespace

RunForecast::RunForecast(const HloModule& module, int64_t devices)
    : module_(module), devices_(devices), costs_(CostOptions()) {
  const HloComputation* entry = module.entry_computation();
  if (entry->Accept(&costs_).ok()) {
    operations_ = std::max(0.0, costs_.flop_count()) +
                  std::max(0.0, costs_.transcendental_count()) +
                  std::max(0.0, costs_.bytes_accessed()) / kBytesPerOperation;
  }
  for (const HloInstruction* parameter : entry->parameter_instructions()) {
    argument_bytes_ += ArrayBytes(parameter->shape());
  }
  result_bytes_ = ArrayBytes(entry->root_instruction()->shape());
  const double count = static_cast<double>(devices);
  operations_ *= count;
  argument_bytes_ = count * (argument_bytes_ + kDeviceBytes);
  result_bytes_ *= count;
}

double RunForecast::OperationsOf(const HloInstruction& instruction) const {
  const HloCostProperties costs = costs_.properties(instruction);
  return std::max<double>(0, costs.flops) +
         std::max<double>(0, costs.transcendentals) +
         std::max<double>(0, costs.bytes_accessed) / kBytesPerOperation;
}

absl::Status RunForecast::CheckBytes(int64_t max_bytes) const {
  const double total = argument_bytes_ + result_bytes_;
  if (total <= static_cast<double>(max_bytes)) return absl::OkStatus();
  double largest = 0;
  const HloInstruction* culprit = nullptr;
  auto look = [&](const HloInstruction* instruction) {
    const double bytes = ArrayBytes(instruction->shape());
    if (bytes > largest) culprit = instruction;
    largest = std::max(largest, bytes);
  };
  const HloComputation* entry = module_.entry_computation();
  for (const HloInstruction* parameter : entry->parameter_instructions()) {
    look(parameter);
  }
  look(entry->root_instruction());
  std::string text = absl::StrCat(
      "the arguments of ", devices_, devices_ == 1 ? " device" : " devices",
      " take about ", HumanBytes(argument_bytes_), ", the results ",
      HumanBytes(result_bytes_), "; the limit is ",
      HumanBytes(static_cast<double>(max_bytes)),
      " (--memory-limit or --max-memory-mib)");
  if (culprit != nullptr) {
    absl::StrAppend(&text, "; the largest is %", culprit->name(), " with ",
                    HumanBytes(largest));
  }
  return absl::ResourceExhaustedError(text);
}

absl::Status RunForecast::Check(double max_operations,
                                int64_t max_bytes) const {
  absl::Status bytes = CheckBytes(max_bytes);
  if (!bytes.ok()) return bytes;
  if (max_operations < 0 || operations_ <= max_operations) {
    return absl::OkStatus();
  }
  double most = 0;
  const HloInstruction* culprit = nullptr;
  for (const HloInstruction* instruction :
       module_.entry_computation()->instructions()) {
    const double operations = OperationsOf(*instruction);
    if (operations > most) culprit = instruction;
    most = std::max(most, operations);
  }
  std::string text = absl::StrFormat(
      "a run takes about %.3g operations; the limit is %.3g (--max-flops)",
      operations_, max_operations);
  if (culprit != nullptr) {
    absl::StrAppend(&text, "; most are in %", culprit->name(), " (",
                    HloOpcodeString(culprit->opcode()), ")");
  }
  return absl::ResourceExhaustedError(text);
}

std::string RunForecast::ToString() const {
  return absl::StrFormat("%.3g operations, %s of arguments, %s of results",
                         operations_, HumanBytes(argument_bytes_),
                         HumanBytes(result_bytes_));
}

std::function<absl::Status(int64_t, const HloInstruction*)> RunForecast::Watch(
    double max_operations, absl::string_view name, std::ostream* err) const {
  absl::flat_hash_map<const HloInstruction*, double> known;
  return [this, max_operations, name = std::string(name), err, known,
          working = FindWorking(module_), total = 0.0,
          next = absl::Now() + absl::Seconds(1)](
             int64_t, const HloInstruction* instruction) mutable {
    auto [it, is_new] = known.try_emplace(instruction, 1.0);
    if (is_new && !RunsCallees(instruction->opcode()) &&
        working.contains(instruction->parent())) {
      it->second = std::max(1.0, OperationsOf(*instruction));
    }
    total += it->second;
    if (max_operations >= 0 && total > max_operations) {
      return absl::ResourceExhaustedError(absl::StrFormat(
          "the run has taken the limit of %.3g operations (--max-flops)",
          max_operations));
    }
    if (err == nullptr) return absl::OkStatus();
    const absl::Time now = absl::Now();
    if (now < next) return absl::OkStatus();
    next = now + absl::Seconds(1);
    const double share =
        operations_ > 0 ? std::min(100.0, 100 * total / operations_) : 100;
    *err << name << ": " << absl::StrFormat("%.0f%%", share) << ", at %"
         << instruction->name() << "\n";
    return absl::OkStatus();
  };
}

}  // namespace xla
