#ifndef XLA_HLO_EVALUATOR_SORTING_H_
#define XLA_HLO_EVALUATOR_SORTING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace evaluator {

// The k largest (smallest) elements of each row of the last dimension, in
// order, and their positions: a tuple of two arrays. The order of floats is the
// total order; equal elements keep their order. InvalidArgument if rows have
// fewer than k elements.
absl::StatusOr<Value> TopKOfRows(const Value& operand, int64_t k, bool largest,
                                 PrimitiveType index_type,
                                 MemoryBudget* budget);

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_SORTING_H_
