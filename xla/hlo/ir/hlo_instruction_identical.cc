// Equality of instructions.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/collective_op_group_mode.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

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

namespace {

// Attributes that are kept for printing; without the mode of collectives where
// it is the one that follows from the others.
std::vector<std::pair<std::string, std::string>> UnknownAttributes(
    const HloInstruction& inst) {
  std::vector<std::pair<std::string, std::string>> result =
      inst.unknown_attributes();
  if (result.empty() || DynCast<HloChannelInstruction>(&inst) == nullptr) {
    return result;
  }
  std::optional<bool> global;
  if (const auto* all_gather = DynCast<HloAllGatherInstruction>(&inst)) {
    global = all_gather->use_global_device_ids();
  } else if (const auto* reduce = DynCast<HloAllReduceInstructionBase>(&inst)) {
    global = reduce->use_global_device_ids();
  }
  absl::StatusOr<CollectiveOpGroupMode> mode =
      GetCollectiveOpGroupMode(inst.channel_id().has_value(), global);
  if (!mode.ok()) return result;
  const std::pair<std::string, std::string> deduced(
      "mode", CollectiveOpGroupModeToString(*mode));
  result.erase(std::remove(result.begin(), result.end(), deduced),
               result.end());
  return result;
}

}  // namespace

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
       UnknownAttributes(*this) != UnknownAttributes(other))) {
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
