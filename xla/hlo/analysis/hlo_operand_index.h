#ifndef XLA_HLO_ANALYSIS_HLO_OPERAND_INDEX_H_
#define XLA_HLO_ANALYSIS_HLO_OPERAND_INDEX_H_

#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>

#include "xla/shape_util.h"

namespace xla {

// An operand of an instruction, and an index into the operand's shape.
struct HloOperandIndex {
  using MyTuple = std::tuple<int64_t, const ShapeIndex&>;

  template <typename H>
  friend H AbslHashValue(H h, const HloOperandIndex& hlo_operand_index) {
    return H::combine(std::move(h), hlo_operand_index.ToTuple());
  }
  friend bool operator==(const HloOperandIndex& lhs,
                         const HloOperandIndex& rhs) {
    return lhs.ToTuple() == rhs.ToTuple();
  }
  bool operator!=(const HloOperandIndex& other) const {
    return !(*this == other);
  }
  MyTuple ToTuple() const {
    return std::make_tuple(operand_number, std::cref(operand_index));
  }

  int64_t operand_number;
  ShapeIndex operand_index;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HLO_OPERAND_INDEX_H_
