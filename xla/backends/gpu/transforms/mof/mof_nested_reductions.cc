#include "xla/backends/gpu/transforms/mof/mof_nested_reductions.h"

#include <algorithm>
#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
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

// For what is read, the most results of a long reduction behind it; 0: none is.
using Reduced = absl::flat_hash_map<const HloInstruction*, int64_t>;

int64_t MostOfOperands(const HloInstruction& hlo, const Reduced& reduced) {
  int64_t most = 0;
  for (const HloInstruction* operand : hlo.operands()) {
    const auto it = reduced.find(operand);
    if (it != reduced.end()) most = std::max(most, it->second);
  }
  return most;
}

int64_t ResultsIfLong(const HloInstruction& hlo) {
  if (hlo.opcode() != HloOpcode::kReduce) return 0;
  const int64_t results = ElementsOf(hlo.shape());
  return ElementsOf(hlo.operand(0)->shape()) / kLongReduction >= results
             ? results
             : 0;
}

// The producer's reduced results as the consumer reads them. Empty for most
// pairs.
Reduced FindReduced(const HloInstruction& producer,
                    const HloInstruction& consumer) {
  Reduced inside;
  const HloInstruction* root = &producer;
  if (producer.opcode() == HloOpcode::kFusion) {
    root = producer.fused_expression_root();
    const HloComputation* computation =
        producer.fused_instructions_computation();
    if (!absl::c_any_of(computation->instructions(),
                        [](const HloInstruction* hlo) {
                          return ResultsIfLong(*hlo) > 0;
                        })) {
      return {};
    }
    for (const HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
      const int64_t most =
          std::max(ResultsIfLong(*hlo), MostOfOperands(*hlo, inside));
      if (most > 0) inside[hlo] = most;
    }
  } else if (const int64_t results = ResultsIfLong(producer); results > 0) {
    inside[root] = results;
  }
  Reduced read;
  for (const HloInstruction* operand : consumer.operands()) {
    const HloInstruction* output = root;
    if (operand->opcode() == HloOpcode::kGetTupleElement &&
        operand->operand(0) == &producer) {
      if (root->opcode() == HloOpcode::kTuple) {
        output = root->operand(operand->tuple_index());
      }
    } else if (operand != &producer) {
      continue;
    }
    const auto it = inside.find(output);
    if (it != inside.end()) read[operand] = it->second;
  }
  return read;
}

bool IsReducedFurther(const HloInstruction& hlo, const Reduced& reduced) {
  return hlo.opcode() == HloOpcode::kReduce &&
         ElementsOf(hlo.operand(0)->shape()) <= MostOfOperands(hlo, reduced);
}

// A forward pass over both bodies carries along, from value to value, the
// number of results of the largest long reduction behind it. A reduction that
// reads no more elements than that reduces what is reduced already; one that
// reads more has been broadcast to in between.
bool ReducesReduced(const HloInstruction& producer,
                    const HloInstruction& consumer) {
  const bool is_fusion = consumer.opcode() == HloOpcode::kFusion;
  if (!is_fusion && consumer.opcode() != HloOpcode::kReduce) return false;
  const Reduced read = FindReduced(producer, consumer);
  if (read.empty()) return false;
  if (!is_fusion) return IsReducedFurther(consumer, read);
  Reduced inside;
  for (const HloInstruction* hlo :
       consumer.fused_instructions_computation()->MakeInstructionPostOrder()) {
    if (IsReducedFurther(*hlo, inside)) return true;
    int64_t most = MostOfOperands(*hlo, inside);
    if (hlo->opcode() == HloOpcode::kParameter) {
      const auto it = read.find(consumer.operand(hlo->parameter_number()));
      if (it != read.end()) most = it->second;
    }
    if (most > 0) inside[hlo] = most;
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
