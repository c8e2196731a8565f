#ifndef XLA_HLO_TRANSFORMS_SPMD_SORT_ORDER_H_
#define XLA_HLO_TRANSFORMS_SPMD_SORT_ORDER_H_

#include <cstdint>
#include <optional>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"

// What comparators of sorts are known to do. Parameters 2 i and 2 i + 1 are
// element a and b of operand i.

namespace xla::spmd {

// Whether `less` is known to be a strict weak order for all elements, NaNs too,
// so that any way of sorting by it and then by position gives the same result.
//
//   a0 < b0, total order               → yes
//   a0 < b0, floats, where NaN may be  → no
//   f(a0) > f(b0) or (f(a0) = f(b0) and a1 < b1), integers → yes
bool IsStrictWeakOrder(const HloComputation& less);

// Whether `less` compares a single operand by itself, integers or floats in
// total order, so that elements of which none is before the other are the same
// bit by bit. Says which come first.
enum class OrderOfValues { kSmallestFirst, kLargestFirst };
std::optional<OrderOfValues> AsOrderOfValues(const HloComputation& less);

// `less`, a strict weak order, in `module`, but elements of which none is
// before the other come in the order of the operand `numbers`, integers of the
// type `number_type`. That is one of the operands, or one more after the last.
// Elements whose number is `no_element` come after all others.
//
//   a0 < b0, numbers = 1
//     → a0 < b0 or (not b0 < a0 and a1 < b1)
HloComputation* OrderTiesByNumber(const HloComputation& less, int64_t numbers,
                                  PrimitiveType number_type,
                                  std::optional<int64_t> no_element,
                                  HloModule* module);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SORT_ORDER_H_
