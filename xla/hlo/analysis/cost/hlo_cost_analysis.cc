#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {

int64_t HloCostAnalysis::DefaultShapeSize(const Shape& shape) {
  return ShapeUtil::ByteSizeOf(shape, kDefaultPointerSize);
}

std::string HloCostAnalysis::Options::ToString() const {
  return absl::StrCat(
      "rates per second: {", per_second_rates.ToString(),
      "}, minimal seconds: {", min_latencies_seconds.ToString(),
      "}, multiple input accesses: ", count_multiple_input_accesses,
      ", equal windows: ", count_equal_windows,
      ", trip counts: ", multiply_by_trip_count,
      ", if unknown: ", unknown_trip_count);
}

HloCostAnalysis::HloCostAnalysis(ShapeSizeFunction shape_size,
                                 const Properties& per_second_rates,
                                 const Properties& min_latency_seconds)
    : options_([&] {
        Options options;
        options.shape_size = std::move(shape_size);
        options.per_second_rates = per_second_rates;
        options.min_latencies_seconds = min_latency_seconds;
        return options;
      }()) {}

// --- Walk
// ----------------------------------------------------------------------

int64_t HloCostAnalysis::GetShapeSize(const Shape& shape) const {
  if (!shape.IsArray() && !shape.IsTuple()) return 0;
  return options_.shape_size(shape);
}

int64_t HloCostAnalysis::TotalBytes(const Shape& shape) const {
  if (!shape.IsTuple()) return GetShapeSize(shape);
  int64_t bytes = 0;
  ShapeUtil::ForEachSubshape(shape,
                             [&](const Shape& subshape, const ShapeIndex&) {
                               if (!subshape.IsTuple()) {
                                 bytes += GetShapeSize(subshape);
                               }
                             });
  return bytes;
}

absl::Status HloCostAnalysis::Preprocess(const HloInstruction* hlo) {
  current_properties_ = Properties();
  current_should_compute_bottleneck_time_ = true;
  double bytes = 0;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    const double operand_bytes = TotalBytes(hlo->operand(i)->shape());
    current_properties_.set_operand_bytes_accessed(i, operand_bytes);
    current_properties_.set_operand_utilization(i, 1);
    bytes += operand_bytes;
  }
  const double output_bytes = TotalBytes(hlo->shape());
  current_properties_.set_output_bytes_accessed(output_bytes);
  current_properties_.bytes_accessed = bytes + output_bytes;
  return absl::OkStatus();
}

// The roofline model (Williams, Waterman and Patterson, 2009): an instruction
// overlaps the use of all its resources perfectly and takes as long as the
// slowest of them, and no less than the latency of any that it uses.
absl::Status HloCostAnalysis::Postprocess(const HloInstruction* hlo) {
  if (current_should_compute_bottleneck_time_) {
    double seconds = 0;
    options_.per_second_rates.ForEach([&](absl::string_view key, double rate) {
      const double amount = std::as_const(current_properties_)[key];
      if (amount == 0) return;
      seconds = std::max(
          {seconds, amount / rate, options_.min_latencies_seconds[key]});
    });
    current_properties_.optimal_seconds = seconds;
  }
  properties_sum_.AddTotals(current_properties_);
  hlo_properties_[hlo] = std::move(current_properties_);
  return absl::OkStatus();
}

absl::StatusOr<HloCostAnalysis::Properties>
HloCostAnalysis::ProcessSubcomputation(HloComputation* computation) {
  auto known = computation_properties_.find(computation);
  if (known != computation_properties_.end()) return known->second;
  // The walk of the caller goes on afterwards.
  Properties outer_current = std::move(current_properties_);
  Properties outer_sum = std::move(properties_sum_);
  const bool outer_bottleneck = current_should_compute_bottleneck_time_;
  // Callees first, so that this does not nest with the calls.
  std::vector<HloComputation*> order =
      computation->MakeEmbeddedComputationsList();
  order.push_back(computation);
  absl::Status status;
  for (HloComputation* callee : order) {
    if (computation_properties_.contains(callee)) continue;
    properties_sum_ = Properties();
    status = callee->Accept(this);
    if (!status.ok()) break;
    computation_properties_[callee] = std::move(properties_sum_);
  }
  current_properties_ = std::move(outer_current);
  properties_sum_ = std::move(outer_sum);
  current_should_compute_bottleneck_time_ = outer_bottleneck;
  TF_RETURN_IF_ERROR(status);
  return computation_properties_.at(computation);
}

absl::Status HloCostAnalysis::RemoveInstruction(
    const HloInstruction* instruction) {
  auto it = hlo_properties_.find(instruction);
  if (it == hlo_properties_.end()) return absl::OkStatus();
  properties_sum_.AddTotals(it->second, -1);
  hlo_properties_.erase(it);
  return absl::OkStatus();
}

absl::Status HloCostAnalysis::RevisitInstruction(
    const HloInstruction* instruction) {
  TF_RETURN_IF_ERROR(RemoveInstruction(instruction));
  for (HloComputation* callee : instruction->called_computations()) {
    computation_properties_.erase(callee);
    for (HloComputation* deeper : callee->MakeEmbeddedComputationsList()) {
      computation_properties_.erase(deeper);
    }
  }
  ResetVisitStates();
  TF_RETURN_IF_ERROR(Preprocess(instruction));
  TF_RETURN_IF_ERROR(instruction->Visit(this));
  return Postprocess(instruction);
}

// --- Results
// -------------------------------------------------------------------

const HloCostAnalysis::Properties& HloCostAnalysis::Find(
    const HloInstruction& hlo) const {
  static const Properties& none = *new Properties();
  auto it = hlo_properties_.find(&hlo);
  return it == hlo_properties_.end() ? none : it->second;
}

HloCostAnalysis::Properties HloCostAnalysis::properties(
    const HloInstruction& hlo) const {
  return Find(hlo);
}

int64_t HloCostAnalysis::flop_count(const HloInstruction& hlo) const {
  return static_cast<int64_t>(Find(hlo).flops);
}

int64_t HloCostAnalysis::transcendental_count(const HloInstruction& hlo) const {
  return static_cast<int64_t>(Find(hlo).transcendentals);
}

int64_t HloCostAnalysis::bytes_accessed(const HloInstruction& hlo) const {
  return static_cast<int64_t>(Find(hlo).bytes_accessed);
}

int64_t HloCostAnalysis::operand_bytes_accessed(const HloInstruction& hlo,
                                                int64_t operand_num,
                                                const ShapeIndex& index) const {
  return static_cast<int64_t>(
      Find(hlo).operand_bytes_accessed(operand_num, index));
}

double HloCostAnalysis::operand_utilization(const HloInstruction& hlo,
                                            int64_t operand_num,
                                            ShapeIndex index) const {
  return Find(hlo).operand_utilization(operand_num, index);
}

int64_t HloCostAnalysis::output_bytes_accessed(const HloInstruction& hlo,
                                               ShapeIndex index) const {
  return static_cast<int64_t>(Find(hlo).output_bytes_accessed(index));
}

double HloCostAnalysis::optimal_seconds(const HloInstruction& hlo) const {
  return Find(hlo).optimal_seconds;
}

namespace {

// The share of the shape's arrays that is in the memory space, by count of
// bytes as `size` gives them; 1 if any space will do.
double ShareInSpace(const Shape& shape, std::optional<int64_t> memory_space,
                    absl::FunctionRef<int64_t(const Shape&)> size) {
  if (!memory_space.has_value()) return 1;
  double all = 0;
  double inside = 0;
  ShapeUtil::ForEachSubshape(
      shape, [&](const Shape& subshape, const ShapeIndex&) {
        if (!subshape.IsArray()) return;
        const double bytes = size(subshape);
        all += bytes;
        const int64_t space =
            subshape.has_layout() ? subshape.layout().memory_space() : 0;
        if (space == *memory_space) inside += bytes;
      });
  return all == 0 ? 0 : inside / all;
}

}  // namespace

int64_t HloCostAnalysis::GetBytesRead(
    const HloInstruction& hlo, std::optional<int64_t> memory_space) const {
  double bytes = 0;
  for (int64_t i = 0; i < hlo.operand_count(); ++i) {
    bytes += Find(hlo).operand_bytes_accessed(i) *
             ShareInSpace(hlo.operand(i)->shape(), memory_space,
                          [this](const Shape& s) { return GetShapeSize(s); });
  }
  return static_cast<int64_t>(bytes);
}

int64_t HloCostAnalysis::GetBytesWritten(
    const HloInstruction& hlo, std::optional<int64_t> memory_space) const {
  return static_cast<int64_t>(
      Find(hlo).output_bytes_accessed() *
      ShareInSpace(hlo.shape(), memory_space,
                   [this](const Shape& s) { return GetShapeSize(s); }));
}

std::string HloCostAnalysis::GetOperandBytesAccessedKey(
    int64_t operand_num, const ShapeIndex& index) {
  return Properties::OperandBytesAccessedKey(operand_num, index);
}

std::string HloCostAnalysis::GetOperandUtilizationKey(int64_t operand_num,
                                                      const ShapeIndex& index) {
  return Properties::OperandUtilizationKey(operand_num, index);
}

std::string HloCostAnalysis::GetOutputBytesAccessedKey(
    const ShapeIndex& index) {
  return Properties::OutputBytesAccessedKey(index);
}

}  // namespace xla
