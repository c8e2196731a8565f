#ifndef XLA_BACKENDS_GPU_LOWERING_SORT_ORDER_H_
#define XLA_BACKENDS_GPU_LOWERING_SORT_ORDER_H_

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"

namespace xla::gpu {

// OK where a sort's comparator is known to be an order: of two elements at most
// one is less, and what is less than the less, or equal to it, stays so. Then
// there is one stable result, whatever network or merge computes it.
//
//   lt = compare(p0, p1), direction=LT                           an order
//   or(lt(p0, p1), and(eq(p0, p1), lt(p2, p3)))                  an order
//   compare(p0, p1), direction=LE        both ways of equals: none
//
// Comparisons of one expression of both elements are taken for numbers that are
// greater, less or equal, and what is asked of one element alone for a truth;
// all cases of those are tried. NaNs are none of that where the comparison is
// no total order: where a sort puts them is left to it, here and wherever else
// one is run.
//
// Unimplemented says what is wrong, or that the comparator has other
// instructions than comparisons, and, or, xor, not and select of them, or
// compares more than 10 things (of truths, 8). Linear in the cases, 3 for each
// comparison and 4 for each truth, times the instructions.
absl::Status CheckOrder(const HloComputation& comparator);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_SORT_ORDER_H_
