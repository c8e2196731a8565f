// Equality of instructions.

#include "absl/functional/function_ref.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {

bool HloInstruction::IdenticalSlowPath(
    const HloInstruction& other,
    absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
        eq_computations) const {
  if (!has_rare() && !other.has_rare()) return true;
  const auto& mine = called_computations();
  const auto& theirs = other.called_computations();
  if (mine.size() != theirs.size()) return false;
  for (size_t i = 0; i < mine.size(); ++i) {
    if (!eq_computations(mine[i], theirs[i])) return false;
  }
  return equal_result_accuracy(&other);
}

bool HloInstruction::IdenticalInternal(
    const HloInstruction& other,
    absl::FunctionRef<bool(const HloInstruction*, const HloInstruction*)>
        eq_operands,
    absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
        eq_computations,
    bool layout_sensitive, bool sharding_sensitive,
    bool ignore_channel_id_values,
    bool ignore_commutative_operand_order) const {
  if (this == &other) return true;
  if (opcode_ != other.opcode_ || operands_.size() != other.operands_.size()) {
    return false;
  }
  if (layout_sensitive ? !ShapeUtil::Equal(shape_, other.shape_)
                       : !ShapeUtil::Compatible(shape_, other.shape_)) {
    return false;
  }
  if (sharding_sensitive && !has_compatible_sharding(&other)) return false;
  if ((has_rare() || other.has_rare()) &&
      (raw_backend_config_string() != other.raw_backend_config_string() ||
       unknown_attributes() != other.unknown_attributes())) {
    return false;
  }

  if (ignore_commutative_operand_order &&
      HloOpcodeIsBinaryCommutative(opcode_)) {
    const bool same = (eq_operands(operand(0), other.operand(0)) &&
                       eq_operands(operand(1), other.operand(1))) ||
                      (eq_operands(operand(0), other.operand(1)) &&
                       eq_operands(operand(1), other.operand(0)));
    if (!same) return false;
  } else {
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!eq_operands(operand(i), other.operand(i))) return false;
    }
  }

  if (ignore_channel_id_values) {
    const auto* channel = DynCast<HloChannelInstruction>(this);
    if (channel != nullptr) {
      return channel->channel_id().has_value() ==
                 other.channel_id().has_value() &&
             channel->IdenticalSlowPathIgnoringChannelIdValues(other,
                                                               eq_computations);
    }
  }
  return IdenticalSlowPath(other, eq_computations);
}

bool HloInstruction::SameOp(const HloInstruction& other) const {
  return opcode_ == other.opcode_ &&
         IdenticalSlowPath(other, [](const HloComputation*,
                                     const HloComputation*) { return true; });
}

}  // namespace xla
