#ifndef XLA_HLO_IR_HLO_INSTRUCTIONS_ALIASIBLE_H_
#define XLA_HLO_IR_HLO_INSTRUCTIONS_ALIASIBLE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "xla/shape_util.h"

namespace xla {

// Mixin for instructions whose outputs may share buffers with their operands.
class HloAliasible {
 public:
  // Pairs of an output index and (operand number, index in the operand).
  const std::vector<std::pair<ShapeIndex, std::pair<int64_t, ShapeIndex>>>&
  output_to_operand_aliasing() const {
    return output_to_operand_aliasing_;
  }
  void set_output_to_operand_aliasing(
      std::vector<std::pair<ShapeIndex, std::pair<int64_t, ShapeIndex>>>
          aliasing);

 private:
  std::vector<std::pair<ShapeIndex, std::pair<int64_t, ShapeIndex>>>
      output_to_operand_aliasing_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_INSTRUCTIONS_ALIASIBLE_H_
