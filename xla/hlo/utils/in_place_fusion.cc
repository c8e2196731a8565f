#include "xla/hlo/utils/in_place_fusion.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/fusion_decision.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// What `value`, in `owner` (a fusion, or the instruction itself), is outside.
const HloInstruction* OutsideValue(const HloInstruction* owner,
                                   const HloInstruction* value) {
  if (owner->opcode() == HloOpcode::kFusion &&
      value->opcode() == HloOpcode::kParameter &&
      value->parent() == owner->fused_instructions_computation()) {
    return owner->operand(value->parameter_number());
  }
  return value;
}

// Follows bitcasts up.
const HloInstruction* SkipBitcasts(const HloInstruction* value) {
  while (value->opcode() == HloOpcode::kBitcast) value = value->operand(0);
  return value;
}

bool IsScalarConstant(const HloInstruction* value, int64_t* result) {
  if (value->opcode() != HloOpcode::kConstant ||
      !ShapeUtil::IsScalar(value->shape())) {
    return false;
  }
  std::optional<int64_t> number =
      value->literal().GetIntegralAsS64(absl::Span<const int64_t>());
  if (!number.has_value()) return false;
  *result = *number;
  return true;
}

bool SameIndex(const HloInstruction* a, const HloInstruction* b) {
  if (a == b) return true;
  int64_t index_a, index_b;
  return IsScalarConstant(a, &index_a) && IsScalarConstant(b, &index_b) &&
         index_a == index_b;
}

// The slice `read` of the producer takes just the elements that `update` in the
// consumer writes.
bool SameElements(const HloInstruction* producer, const HloInstruction* read,
                  const HloInstruction* consumer,
                  const HloInstruction* update) {
  if (!ShapeUtil::SameDimensions(read->shape(), update->operand(1)->shape())) {
    return false;
  }
  const int64_t rank = read->shape().dimensions().size();
  for (int64_t i = 0; i < rank; ++i) {
    const HloInstruction* start =
        OutsideValue(consumer, update->operand(i + 2));
    if (read->opcode() == HloOpcode::kDynamicSlice) {
      if (!SameIndex(OutsideValue(producer, read->operand(i + 1)), start)) {
        return false;
      }
      continue;
    }
    int64_t index;
    if (!IsScalarConstant(start, &index) || read->slice_strides(i) != 1 ||
        read->slice_starts(i) != index) {
      return false;
    }
  }
  return true;
}

bool MovesElements(const HloInstruction* hlo) {
  return HloPredicateIsNotOp<HloOpcode::kParameter, HloOpcode::kConstant,
                             HloOpcode::kBitcast, HloOpcode::kTuple,
                             HloOpcode::kGetTupleElement>(hlo) &&
         !hlo->IsElementwise();
}

// What moves elements in the producer; with `only_of_buffer`, only what the
// buffer's elements come through.
std::vector<const HloInstruction*> MovingInstructions(
    const HloInstruction* producer, const HloInstruction* buffer,
    bool only_of_buffer) {
  std::vector<const HloInstruction*> result;
  if (producer->opcode() != HloOpcode::kFusion) {
    if (MovesElements(producer)) result.push_back(producer);
    return result;
  }
  const HloComputation* body = producer->fused_instructions_computation();
  if (!only_of_buffer) {
    for (const HloInstruction* hlo : body->instructions()) {
      if (MovesElements(hlo)) result.push_back(hlo);
    }
    return result;
  }
  std::vector<const HloInstruction*> worklist;
  for (int64_t i : producer->OperandIndices(buffer)) {
    worklist.push_back(producer->fused_parameter(i));
  }
  absl::flat_hash_set<const HloInstruction*> seen(worklist.begin(),
                                                  worklist.end());
  while (!worklist.empty()) {
    const HloInstruction* value = worklist.back();
    worklist.pop_back();
    if (MovesElements(value)) result.push_back(value);
    for (const HloInstruction* user : value->users()) {
      if (seen.insert(user).second) worklist.push_back(user);
    }
  }
  return result;
}

// The only dynamic-update-slice of the consumer into its operand `number`; null
// if there is none or more than one.
const HloInstruction* OnlyUpdate(const HloInstruction* consumer,
                                 int64_t number) {
  if (consumer->opcode() == HloOpcode::kDynamicUpdateSlice) return consumer;
  if (consumer->opcode() != HloOpcode::kFusion) return nullptr;
  const HloInstruction* parameter = consumer->fused_parameter(number);
  const HloInstruction* found = nullptr;
  for (const HloInstruction* hlo : consumer->fused_instructions()) {
    if (hlo->opcode() != HloOpcode::kDynamicUpdateSlice ||
        SkipBitcasts(hlo->operand(0)) != parameter) {
      continue;
    }
    if (found != nullptr) return nullptr;
    found = hlo;
  }
  return found;
}

// The dynamic-update-slice that gives the result of the producer; null if none
// does.
const HloInstruction* LastUpdate(const HloInstruction* producer) {
  const HloInstruction* last = producer->opcode() == HloOpcode::kFusion
                                   ? producer->fused_expression_root()
                                   : producer;
  last = SkipBitcasts(last);
  return last->opcode() == HloOpcode::kDynamicUpdateSlice ? last : nullptr;
}

// `producer` gives the buffer that the consumer updates, its operand `number`.
// Two updates in place of different slices are not one update in place: a
// kernel of both would write the whole buffer.
FusionDecision MayGiveBuffer(const HloInstruction* producer,
                             const HloInstruction* consumer, int64_t number) {
  const HloInstruction* first = LastUpdate(producer);
  const HloInstruction* second = OnlyUpdate(consumer, number);
  if (first == nullptr || second == nullptr) return FusionDecision::Allow();
  bool same = ShapeUtil::SameDimensions(first->operand(1)->shape(),
                                        second->operand(1)->shape()) &&
              first->operand_count() == second->operand_count();
  for (int64_t i = 2; same && i < first->operand_count(); ++i) {
    same = SameIndex(OutsideValue(producer, first->operand(i)),
                     OutsideValue(consumer, second->operand(i)));
  }
  if (same) return FusionDecision::Allow();
  return FusionDecision::Forbid(
      absl::StrCat(producer->name(), " updates other elements in place than ",
                   consumer->name()));
}

// In the consumer, elements of `producer` go to what `update` writes without
// moving.
bool ReachesUpdateInPlace(const HloInstruction* producer,
                          const HloInstruction* consumer,
                          const HloInstruction* update) {
  if (consumer == update) {
    for (int64_t i : consumer->OperandIndices(producer)) {
      if (i != 1) return false;
    }
    return true;
  }
  std::vector<const HloInstruction*> worklist;
  for (int64_t i : consumer->OperandIndices(producer)) {
    worklist.push_back(consumer->fused_parameter(i));
  }
  absl::flat_hash_set<const HloInstruction*> seen(worklist.begin(),
                                                  worklist.end());
  while (!worklist.empty()) {
    const HloInstruction* value = worklist.back();
    worklist.pop_back();
    for (const HloInstruction* user : value->users()) {
      if (user == update) {
        for (int64_t i : user->OperandIndices(value)) {
          if (i != 1) return false;
        }
        continue;
      }
      if (!user->IsElementwise()) return false;
      if (seen.insert(user).second) worklist.push_back(user);
    }
  }
  return true;
}

// `producer` reads `buffer`, which is operand `number` of the consumer.
//
// After fusion, reads of the buffer by the producer and writes by the update
// happen in one loop, in no particular order between elements. This is correct
// only if each output element is computed from the buffer's element at the same
// place: either nothing in between moves elements, or the producer reads
// exactly the slice that the update writes.
FusionDecision MayReadBuffer(const HloInstruction* producer,
                             const HloInstruction* consumer, int64_t number,
                             const InPlaceFusionOptions& options) {
  const HloInstruction* buffer = consumer->operand(number);
  const HloInstruction* update = OnlyUpdate(consumer, number);
  if (update == nullptr) {
    return FusionDecision::Forbid(absl::StrCat(
        producer->name(), " reads ", buffer->name(), ", which ",
        consumer->name(), " updates in place, and not by one update"));
  }
  if (!ReachesUpdateInPlace(producer, consumer, update)) {
    return FusionDecision::Forbid(absl::StrCat(
        consumer->name(), " moves elements of ", producer->name(),
        ", which reads what is updated in place, ", buffer->name()));
  }
  const std::vector<const HloInstruction*> moving = MovingInstructions(
      producer, buffer, options.relax_multiple_non_elementwise_ops);
  if (moving.empty()) return FusionDecision::Allow();
  if (moving.size() > 1) {
    return FusionDecision::Forbid(
        absl::StrCat(producer->name(), " reads ", buffer->name(), ", which ",
                     consumer->name(), " updates in place, and has ",
                     moving.size(), " instructions that move elements"));
  }
  const HloInstruction* read = moving[0];
  const bool is_slice = read->opcode() == HloOpcode::kSlice ||
                        read->opcode() == HloOpcode::kDynamicSlice;
  if (!is_slice || OutsideValue(producer, read->operand(0)) != buffer ||
      !SameElements(producer, read, consumer, update)) {
    return FusionDecision::Forbid(
        absl::StrCat(read->name(), " reads other elements of ", buffer->name(),
                     " than ", update->name(), " updates in place"));
  }
  return FusionDecision::Allow();
}

}  // namespace

FusionDecision ShouldFuseInPlaceOp(
    const HloInstruction* producer, const HloInstruction* consumer,
    const AliasInfo* alias_info,
    std::optional<const InPlaceFusionOptions> in_place_fusion_options) {
  const InPlaceFusionOptions options =
      in_place_fusion_options.value_or(InPlaceFusionOptions());
  for (const auto& [operand, output] :
       alias_info->GetInPlaceInputOutputPairs(consumer)) {
    const int64_t number = operand.operand_number;
    // Bound later, in an asynchronous chain.
    if (number >= consumer->operand_count()) continue;
    const HloInstruction* buffer = consumer->operand(number);
    for (int64_t i = 0; i < consumer->operand_count(); ++i) {
      if (i != number && consumer->operand(i) == buffer) {
        return FusionDecision::Forbid(
            absl::StrCat(consumer->name(), " updates ", buffer->name(),
                         " in place and reads it as operand ", i, " too"));
      }
    }
    if (buffer == producer || !producer->IsUserOf(buffer)) continue;
    RETURN_IF_NOT_FUSIBLE(MayReadBuffer(producer, consumer, number, options));
  }
  return FusionDecision::Allow();
}

FusionDecision MayFuseUpdates(const HloInstruction* producer,
                              const HloInstruction* consumer,
                              const AliasInfo* alias_info) {
  for (const auto& [operand, output] :
       alias_info->GetInPlaceInputOutputPairs(consumer)) {
    const int64_t number = operand.operand_number;
    if (number >= consumer->operand_count() ||
        consumer->operand(number) != producer) {
      continue;
    }
    RETURN_IF_NOT_FUSIBLE(MayGiveBuffer(producer, consumer, number));
  }
  return FusionDecision::Allow();
}

}  // namespace xla
