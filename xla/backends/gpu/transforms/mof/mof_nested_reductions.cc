#include "xla/backends/gpu/transforms/mof/mof_nested_reductions.h"

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

// Fewer elements cost a thread little.
constexpr int64_t kLongReduction = 16;

int64_t ElementsOf(const Shape& shape) {
  const bool is_tuple = shape.IsTuple() && !shape.tuple_shapes().empty();
  const Shape& array = is_tuple ? shape.tuple_shapes(0) : shape;
  return array.IsArray() ? ShapeUtil::ElementsIn(array) : 0;
}

bool IsBehindLongReduction(const HloInstruction& output) {
  std::vector<const HloInstruction*> queue = {&output};
  absl::flat_hash_set<const HloInstruction*> seen;
  while (!queue.empty()) {
    const HloInstruction* hlo = queue.back();
    queue.pop_back();
    if (!seen.insert(hlo).second) continue;
    if (hlo->opcode() == HloOpcode::kReduce &&
        ElementsOf(hlo->operand(0)->shape()) >=
            kLongReduction * ElementsOf(hlo->shape())) {
      return true;
    }
    if (output.parent()->IsFusionComputation()) {
      queue.insert(queue.end(), hlo->operands().begin(), hlo->operands().end());
    }
  }
  return false;
}

bool IsReducedFurther(const HloInstruction& value, int64_t elements) {
  std::vector<const HloInstruction*> queue = {&value};
  absl::flat_hash_set<const HloInstruction*> seen;
  while (!queue.empty()) {
    const HloInstruction* hlo = queue.back();
    queue.pop_back();
    if (!seen.insert(hlo).second) continue;
    for (const HloInstruction* user : hlo->users()) {
      if (user->opcode() == HloOpcode::kReduce &&
          ElementsOf(user->operand(0)->shape()) <= elements) {
        return true;
      }
      queue.push_back(user);
    }
  }
  return false;
}

bool ReducesReduced(const HloInstruction& producer,
                    const HloInstruction& consumer) {
  const bool is_fusion = consumer.opcode() == HloOpcode::kFusion;
  if (!is_fusion && consumer.opcode() != HloOpcode::kReduce) return false;
  for (int64_t i = 0; i < consumer.operand_count(); ++i) {
    const HloInstruction* read = consumer.operand(i);
    const HloInstruction* output = producer.opcode() == HloOpcode::kFusion
                                       ? producer.fused_expression_root()
                                       : &producer;
    if (read->opcode() == HloOpcode::kGetTupleElement &&
        read->operand(0) == &producer) {
      if (output->opcode() == HloOpcode::kTuple) {
        output = output->operand(read->tuple_index());
      }
    } else if (read != &producer) {
      continue;
    }
    if (!IsBehindLongReduction(*output)) continue;
    const int64_t elements = ElementsOf(read->shape());
    if (!is_fusion ||
        IsReducedFurther(*consumer.fused_parameter(i), elements)) {
      return true;
    }
  }
  return false;
}

}  // namespace

FusionDecision CheckNestedReductions(const HloInstruction& producer,
                                     const HloInstruction& consumer) {
  return ReducesReduced(producer, consumer)
             ? FusionDecision::Forbid("what is reduced is reduced again")
             : FusionDecision::Allow();
}

}  // namespace xla::gpu
