#ifndef XLA_HLO_EVALUATOR_DOT_H_
#define XLA_HLO_EVALUATOR_DOT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace evaluator {

// The product of two arrays in the result's type. Sums are made in float for
// all floats up to 32 bits and rounded once; `algorithm` says how operands are
// rounded before. Result dimensions: batch, free of lhs, free of rhs.
absl::StatusOr<Value> DotValues(const Value& lhs, const Value& rhs,
                                const DotDimensionNumbers& dimension_numbers,
                                PrecisionConfig::Algorithm algorithm,
                                PrimitiveType result_type,
                                MemoryBudget* budget);

// The same of operands whose blocks have scales, as microscaling formats do:
// element i of a dimension belongs to scale i / (size / scales).
// InvalidArgument for scales of another rank, or that do not divide.
absl::StatusOr<Value> ScaledDotValues(
    Value lhs, Value rhs, const Value& lhs_scale, const Value& rhs_scale,
    const DotDimensionNumbers& dimension_numbers, PrimitiveType result_type,
    MemoryBudget* budget);

// The type that products of these types are summed in: F32, F64, S64, U64, C64
// or C128.
PrimitiveType SumType(PrimitiveType lhs, PrimitiveType rhs,
                      PrimitiveType result);

// An operand as the algorithm sees it, in the sum type.
absl::StatusOr<Value> PrepareFactor(const Value& operand,
                                    PrecisionConfig::Algorithm algorithm,
                                    PrimitiveType sum_type,
                                    MemoryBudget* budget);

// The array with dimension `order[i]` as dimension i.
absl::StatusOr<Value> PermutedDimensions(const Value& value,
                                         absl::Span<const int64_t> order,
                                         MemoryBudget* budget);

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_DOT_H_
