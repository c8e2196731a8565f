#ifndef XLA_HLO_UTILS_COMPARATOR_ORDER_H_
#define XLA_HLO_UTILS_COMPARATOR_ORDER_H_

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"

namespace xla {

// Which orders of floats count as orders.
enum class FloatOrders {
  kAll,        // NaNs are left out of account
  kTotalOnly,  // also NaNs have one place
};

// OK if a sort's comparator is known to be a strict weak order: at most one of
// two elements is less than the other, and what is less than, or equivalent to,
// the lesser is less, too. Then there is one stable result, whatever network or
// merge computes it.
//
//   lt = compare(p0, p1), direction=LT                           an order
//   or(lt(p0, p1), and(eq(p0, p1), lt(p2, p3)))                  an order
//   compare(p0, p1), direction=LE        both ways of equals: none
//
// Parameters 2 i and 2 i + 1 are the two elements of operand i. A comparison of
// one elementwise expression of both elements is modeled by numbers that are
// greater, less or equal, and a condition on one element alone by a truth
// value; all cases are tried. NaNs are outside of this model unless the
// comparison is a total order: with kAll, where they end up is left to the
// sort, as it is wherever else one runs; kTotalOnly refuses such comparisons.
//
// Unimplemented says what is wrong: the comparator is not an order, has
// instructions other than comparisons, and, or, xor, not and select of them,
// compares more than 10 things (8 of truth values), or has more than 256
// instructions, each counted as often as it is read. Linear in the number of
// cases, a factor of 3 for each comparison and of 4 for each truth value, times
// the instructions.
absl::Status CheckComparatorOrder(const HloComputation& comparator,
                                  FloatOrders floats);

}  // namespace xla

#endif  // XLA_HLO_UTILS_COMPARATOR_ORDER_H_
