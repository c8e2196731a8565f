#include "xla/hlo/transforms/memory/rematerialization/remat_checker.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/tuple_points_to_analysis.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/memory/schedule_checker.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

struct Life {
  size_t begin, end;
};
using Lives = absl::flat_hash_map<const LogicalBuffer*, Life>;
using Owners = absl::flat_hash_map<const LogicalBuffer*, const LogicalBuffer*>;
using Peaks = absl::flat_hash_map<const HloComputation*, int64_t>;

const LogicalBuffer* Owner(const Owners& owners, const LogicalBuffer* buffer) {
  auto it = owners.find(buffer);
  return it == owners.end() ? buffer : it->second;
}

int64_t Bytes(const LogicalBuffer& buffer) {
  const Shape& shape = buffer.shape();
  const bool host = shape.IsArray() && shape.has_layout() &&
                    shape.layout().memory_space() == Layout::kHostMemorySpace;
  const bool given = buffer.instruction()->opcode() == HloOpcode::kParameter;
  return host || given ? 0 : ShapeUtil::ByteSizeOf(shape, 8);
}

int64_t PeakOf(const TuplePointsToAnalysis& points_to, const Peaks& peaks,
               const std::vector<HloInstruction*>& order) {
  Lives lives;
  Owners owners;  // a loop's result lies in the memory of its operand
  std::vector<int64_t> callees(order.size(), 0), change(order.size() + 1, 0);
  for (size_t time = 0; time < order.size(); ++time) {
    const HloInstruction* inst = order[time];
    const HloOpcode opcode = inst->opcode();
    const bool loop = opcode == HloOpcode::kWhile;
    for (const LogicalBuffer* buffer :
         points_to.GetBuffersDefinedByInstruction(inst)) {
      if (loop) {
        owners[buffer] =
            Owner(owners, points_to.GetPointsToSet(inst->operand(0))
                              .element(buffer->index())[0]);
      } else {
        lives[buffer] = {time, time};
      }
    }
    for (const HloInstruction* operand : inst->operands()) {
      const PointsToSet& set = points_to.GetPointsToSet(operand);
      set.ForEachElement([&](const ShapeIndex& index, const auto& buffers) {
        if (opcode == HloOpcode::kGetTupleElement && !index.empty()) return;
        for (const auto* buffer : buffers)
          lives[Owner(owners, buffer)].end = time;
      });
    }
    if (!loop && opcode != HloOpcode::kCall &&
        opcode != HloOpcode::kConditional && opcode != HloOpcode::kAsyncStart) {
      continue;
    }
    for (const HloComputation* callee : inst->called_computations()) {
      auto it = peaks.find(callee);
      if (it != peaks.end()) callees[time] += it->second;
    }
  }
  const HloInstruction* root = order.back()->parent()->root_instruction();
  for (const LogicalBuffer* buffer :
       points_to.GetPointsToSet(root).CreateFlattenedSet()) {
    lives.erase(Owner(owners, buffer));  // the caller's
  }
  for (const auto& [buffer, life] : lives) {
    change[life.begin] += Bytes(*buffer);
    change[life.end + 1] -= Bytes(*buffer);
  }
  int64_t live = 0, peak = 0;
  for (size_t time = 0; time < order.size(); ++time) {
    live += change[time];
    peak = std::max(peak, live + callees[time]);
  }
  return peak;
}

}  // namespace

absl::StatusOr<int64_t> ReplayRematPeak(const HloModule& module) {
  if (!module.has_schedule()) {
    return absl::FailedPreconditionError("the module has no schedule");
  }
  TF_RETURN_IF_ERROR(CheckSchedule(module, module.schedule()));
  TF_ASSIGN_OR_RETURN(auto points_to, TuplePointsToAnalysis::Run(&module));
  Peaks peaks;
  for (const HloComputation* computation : module.MakeComputationPostOrder()) {
    if (!module.schedule().is_computation_scheduled(computation)) continue;
    peaks[computation] =
        PeakOf(*points_to, peaks,
               module.schedule().sequence(computation).instructions());
  }
  int64_t bytes = peaks[module.entry_computation()];
  ShapeUtil::ForEachSubshape(module.result_shape(),
                             [&](const Shape& shape, const ShapeIndex&) {
                               bytes += ShapeUtil::ByteSizeOf(shape, 8);
                             });
  return bytes;
}

absl::Status CheckRematPeak(const HloModule& module, int64_t claimed_bytes) {
  TF_ASSIGN_OR_RETURN(const int64_t bytes, ReplayRematPeak(module));
  if (bytes == claimed_bytes) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the schedule needs ", bytes, " bytes, not ", claimed_bytes));
}

}  // namespace xla
