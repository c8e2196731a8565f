#include "xla/hlo/memory/schedulers/remat_checker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/tuple_points_to_analysis.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/schedulers/schedule_checker.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using Peaks = absl::flat_hash_map<const HloComputation*, int64_t>;
constexpr HloOpcode kCallers[] = {HloOpcode::kWhile, HloOpcode::kCall,
                                  HloOpcode::kConditional,
                                  HloOpcode::kAsyncStart};
int64_t BytesOf(const Shape& shape) {
  const bool host = shape.IsArray() && shape.has_layout() &&
                    shape.layout().memory_space() == Layout::kHostMemorySpace;
  return host ? 0 : ShapeUtil::ByteSizeOf(shape, 8);
}

// Written to disagree with the accounting if that is wrong: instead of a
// running sum with deaths, each buffer has an interval, the ends of which are
// differences that are summed up over time.
int64_t PeakOf(const TuplePointsToAnalysis& points_to, const Peaks& peaks,
               const std::vector<HloInstruction*>& order) {
  // First and last times; a loop's result lies in the memory of its operand.
  absl::flat_hash_map<const LogicalBuffer*, std::pair<size_t, size_t>> lives;
  absl::flat_hash_map<const LogicalBuffer*, const LogicalBuffer*> owner;
  std::vector<int64_t> callees(order.size(), 0), change(order.size() + 1, 0);
  for (size_t time = 0; time < order.size(); ++time) {
    const HloInstruction* inst = order[time];
    for (auto* made : points_to.GetBuffersDefinedByInstruction(inst)) {
      owner[made] = made;
      if (inst->opcode() == HloOpcode::kWhile) {
        const PointsToSet& set = points_to.GetPointsToSet(inst->operand(0));
        owner[made] = owner.at(set.element(made->index())[0]);
      } else {
        lives[made] = {time, time};
      }
    }
    for (const HloInstruction* operand : inst->operands()) {
      const PointsToSet& set = points_to.GetPointsToSet(operand);
      set.ForEachElement([&](const ShapeIndex& index, const auto& buffers) {
        if (!index.empty() && inst->opcode() == HloOpcode::kGetTupleElement)
          return;
        for (auto* read : buffers) lives[owner.at(read)].second = time;
      });
    }
    if (!absl::c_linear_search(kCallers, inst->opcode())) continue;
    for (const HloComputation* callee : inst->called_computations())
      if (peaks.contains(callee)) callees[time] += peaks.at(callee);
  }
  const HloInstruction* root = order.back()->parent()->root_instruction();
  for (auto* buffer : points_to.GetPointsToSet(root).CreateFlattenedSet())
    lives.erase(owner.at(buffer));  // the caller's
  for (const auto& [buffer, life] : lives) {
    if (buffer->instruction()->opcode() == HloOpcode::kParameter) continue;
    change[life.first] += BytesOf(buffer->shape());
    change[life.second + 1] -= BytesOf(buffer->shape());
  }
  int64_t live = 0, peak = 0;
  for (size_t time = 0; time < order.size(); ++time)
    peak = std::max(peak, (live += change[time]) + callees[time]);
  return peak;
}

}  // namespace

absl::StatusOr<int64_t> ReplayRematPeak(const HloModule& module) {
  if (!module.has_schedule())
    return absl::FailedPreconditionError("the module has no schedule");
  TF_RETURN_IF_ERROR(CheckSchedule(module, module.schedule()));
  TF_ASSIGN_OR_RETURN(auto points_to, TuplePointsToAnalysis::Run(&module));
  Peaks peaks;
  const HloSchedule& schedule = module.schedule();
  for (const HloComputation* of : module.MakeComputationPostOrder()) {
    if (!schedule.is_computation_scheduled(of)) continue;
    peaks[of] = PeakOf(*points_to, peaks, schedule.sequence(of).instructions());
  }
  int64_t bytes = peaks[module.entry_computation()];
  const auto add = [&](const Shape& shape, const ShapeIndex&) {
    bytes += ShapeUtil::ByteSizeOf(shape, 8);
  };
  ShapeUtil::ForEachSubshape(module.result_shape(), add);
  return bytes;
}

absl::Status CheckRematPeak(const HloModule& module, int64_t claimed_bytes) {
  TF_ASSIGN_OR_RETURN(const int64_t bytes, ReplayRematPeak(module));
  if (bytes == claimed_bytes) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the schedule needs ", bytes, ", not ", claimed_bytes));
}

}  // namespace xla
