#include "xla/backends/gpu/model/cost/fusion_uses.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "xla/backends/gpu/model/cost/instruction_flops.h"
#include "xla/backends/gpu/model/scatter_way.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

constexpr size_t kMaxPlaces = 64;
// Chains of broadcasts and of several readers multiply.
constexpr double kMost = 1e18;

double Elements(const Shape& shape) {
  const bool is_tuple = shape.IsTuple() && !shape.tuple_shapes().empty();
  const Shape& array = is_tuple ? shape.tuple_shapes(0) : shape;
  return array.IsArray() ? ShapeUtil::ElementsIn(array) : 0;
}

// Element i of the result is computed from element i of the operand.
bool KeepsPlace(const HloInstruction& hlo, int64_t i) {
  switch (hlo.opcode()) {
    case HloOpcode::kTuple:
    case HloOpcode::kGetTupleElement:
      return true;
    case HloOpcode::kBitcast:
    case HloOpcode::kReshape:
      return hlo.IsEffectiveBitcast();
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kFusion:
      return false;
    default:  // Only elementwise opcodes keep elements in place.
      return hlo.IsElementwiseOnOperand(i) && hlo.shape().IsArray() &&
             hlo.operand(i)->shape().IsArray() &&
             ShapeUtil::SameDimensions(hlo.shape(), hlo.operand(i)->shape());
  }
}

// An output that is written where operand 0 lies in memory.
bool IsUpdateInPlace(const HloInstruction& hlo) {
  if (IsWrittenWhole(hlo.shape())) return false;
  const HloInstruction* target = hlo.operand(0);
  while (target->opcode() == HloOpcode::kBitcast) target = target->operand(0);
  if (hlo.IsFused() && target->opcode() != HloOpcode::kParameter) return false;
  return !hlo.IsFused() || hlo.IsRoot() ||
         absl::c_all_of(hlo.users(), [](const HloInstruction* user) {
           return user->IsRoot() && (user->opcode() == HloOpcode::kTuple ||
                                     user->opcode() == HloOpcode::kBitcast);
         });
}

void Merge(const BodyUses::Place& place, BodyUses* uses) {
  auto same = absl::c_find_if(uses->places, [&](const BodyUses::Place& other) {
    return other.reader == place.reader;
  });
  if (same == uses->places.end()) {
    uses->places.push_back(place);
    return;
  }
  same->utilization = std::max(same->utilization, place.utilization);
  same->copies = std::max(same->copies, place.copies);
}

}  // namespace

double BodyUses::utilization() const {
  double sum = 0;
  for (const Place& place : places) sum += place.utilization;
  return std::min(sum, kMost);
}

double BodyUses::copies() const {
  double sum = 0;
  for (const Place& place : places) sum += place.copies;
  return std::min(sum, kMost);
}

double ReadsOfOperand(const HloInstruction& hlo, int64_t i) {
  const double operand = std::max(Elements(hlo.operand(i)->shape()), 1.0);
  const double result = Elements(hlo.shape());
  const int64_t half = hlo.operand_count() / 2;
  switch (hlo.opcode()) {
    case HloOpcode::kBroadcast:
    case HloOpcode::kSlice:
      return result / operand;
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kGather:
      return i == 0 ? result / operand : 1;
    case HloOpcode::kDynamicUpdateSlice:
      if (i != 0) return 1;
      if (IsUpdateInPlace(hlo)) return 0;
      return 1 - std::min(Elements(hlo.operand(1)->shape()) / operand, 1.0);
    case HloOpcode::kReduce:
      // Each sum starts with the initial value.
      return i < half ? 1 : result / operand;
    case HloOpcode::kReduceWindow:
      return i < half ? result * WindowElements(hlo.window()) / operand
                      : result / operand;
    case HloOpcode::kScatter:
      return ScatterReads(
          hlo, i,
          WayOfScatter(hlo) != ScatterWay::kSearch && IsUpdateInPlace(hlo));
    default:  // Reads each element once.
      return 1;
  }
}

// Backwards from the root: a value is computed as often as its readers are,
// times what one of them reads of it. Readers that keep elements in place are
// looked through to the reader behind them, the place. Two ways to one place
// ask for the same elements, which are computed once, so they count as the
// larger one; ways to different places add up. A diamond of elementwise
// instructions is therefore no duplication, and x read by a broadcast and by a
// transpose is.
absl::flat_hash_map<const HloInstruction*, BodyUses> FindBodyUses(
    const HloInstruction& fusion,
    absl::FunctionRef<BodyUses(const HloInstruction& fusion, int64_t operand)>
        of_inner) {
  absl::flat_hash_map<const HloInstruction*, BodyUses> uses;
  std::vector<HloInstruction*> order =
      fusion.fused_instructions_computation()->MakeInstructionPostOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const HloInstruction* inst = *it;
    BodyUses all;
    if (inst->IsRoot()) all.places.push_back({nullptr, 1, 1});
    for (const HloInstruction* user : inst->users()) {
      const BodyUses& of_user = uses.at(user);
      BodyUses::Place own = {user, 0, 0};
      for (int64_t i : user->OperandIndices(inst)) {
        if (KeepsPlace(*user, i)) {
          for (const BodyUses::Place& place : of_user.places) {
            Merge(place, &all);
          }
          continue;
        }
        double reads = ReadsOfOperand(*user, i);
        double copies = 1;
        if (user->opcode() == HloOpcode::kFusion) {
          const BodyUses inner = of_inner(*user, i);
          reads = inner.utilization();
          copies = inner.copies();
        }
        own.utilization += of_user.utilization() * reads;
        own.copies = std::max(own.copies, of_user.copies() * copies);
      }
      if (own.copies > 0) all.places.push_back(own);
    }
    if (all.places.size() > kMaxPlaces) {
      all.places = {{inst, all.utilization(), all.copies()}};
    }
    uses[inst] = std::move(all);
  }
  return uses;
}

}  // namespace xla::gpu
