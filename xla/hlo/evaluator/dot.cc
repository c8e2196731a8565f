#include "xla/hlo/evaluator/dot.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/base/casts.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/gemm.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/odometer.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/strided_copy.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// A general dot is brought to batched matrix multiplication: both operands are
// permuted to [batch, free, contracting] and [batch, contracting, free], which
// is free if they are in that order already, converted to the type of the sum
// and multiplied by Gemm.

namespace xla {
namespace evaluator {
namespace {

// Drops the last 13 bits of the significand, to nearest even: TF32.
// Adding half a unit of the last place that is kept, less one, and the lowest
// bit kept carries into that place exactly where the nearest, or of two the
// even one, is above. Infinities and NaNs stay as they are: a carry would
// change their kind.
void RoundToTf32(float* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits = absl::bit_cast<uint32_t>(values[i]);
    if ((bits & 0x7f800000) == 0x7f800000) continue;
    bits += 0xfff + ((bits >> 13) & 1);
    values[i] = absl::bit_cast<float>(bits & ~uint32_t{0x1fff});
  }
}

// Groups of dimensions of one operand: which are batch, contracting, free.
struct Grouped {
  DimensionVector batch;
  DimensionVector contracting;
  DimensionVector free;
};

absl::StatusOr<Grouped> GroupDimensions(int64_t rank,
                                        absl::Span<const int64_t> batch,
                                        absl::Span<const int64_t> contracting) {
  Grouped grouped;
  std::vector<bool> seen(rank, false);
  for (const auto& [dims, to] :
       {std::make_pair(batch, &grouped.batch),
        std::make_pair(contracting, &grouped.contracting)}) {
    for (int64_t d : dims) {
      if (d < 0 || d >= rank || seen[d]) {
        return InvalidArgument("dimension %d is out of bounds or repeated", d);
      }
      seen[d] = true;
      to->push_back(d);
    }
  }
  for (int64_t d = 0; d < rank; ++d) {
    if (!seen[d]) grouped.free.push_back(d);
  }
  return grouped;
}

int64_t Size(const Value& value, absl::Span<const int64_t> dims) {
  int64_t size = 1;
  for (int64_t d : dims) size *= value.dim(d);
  return size;
}

DimensionVector Joined(absl::Span<const int64_t> a, absl::Span<const int64_t> b,
                       absl::Span<const int64_t> c) {
  DimensionVector all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

// value[i] *= scale[i / block] in each dimension: the blocks of microscaling
// formats.
absl::StatusOr<Value> Scaled(Value value, const Value& scale,
                             MemoryBudget* budget) {
  TF_ASSIGN_OR_RETURN(value, ConvertValue(std::move(value), F32, budget));
  TF_ASSIGN_OR_RETURN(Value factors, ConvertValue(scale, F32, budget));
  TF_ASSIGN_OR_RETURN(value, Value::MakeUnique(std::move(value), budget));
  DimensionVector blocks(value.rank(), 1);
  DimensionVector strides(value.rank(), 0);
  if (factors.rank() != 0) {
    if (factors.rank() != value.rank()) {
      return InvalidArgument("a scale of rank %d for an operand of rank %d",
                             factors.rank(), value.rank());
    }
    strides = RowMajorStrides(factors.dims());
    for (int64_t d = 0; d < value.rank(); ++d) {
      if (factors.dim(d) == 0 || value.dim(d) % factors.dim(d) != 0) {
        return InvalidArgument("dimension %d of a scale does not divide", d);
      }
      blocks[d] = value.dim(d) / factors.dim(d);
    }
  }
  float* element = value.mutable_data<float>();
  Odometer at(value.dims());
  if (at.empty()) return value;
  do {
    int64_t offset = 0;
    for (int64_t d = 0; d < value.rank(); ++d) {
      offset += at[d] / blocks[d] * strides[d];
    }
    *element++ *= factors.data<float>()[offset];
  } while (at.Next());
  return value;
}

}  // namespace

// Sums are at least as precise as the operands and the result; integers wrap
// modulo 2^64, which is exact after truncation to the result type.
PrimitiveType SumType(PrimitiveType lhs, PrimitiveType rhs,
                      PrimitiveType result) {
  bool is_complex = false;
  bool is_float = false;
  bool is_wide = false;
  for (PrimitiveType type : {lhs, rhs, result}) {
    is_complex |= primitive_util::IsComplexType(type);
    is_float |= primitive_util::IsFloatingPointType(type);
    is_wide |= type == F64 || type == C128;
  }
  if (is_complex) return is_wide ? C128 : C64;
  if (is_float) return is_wide ? F64 : F32;
  return primitive_util::IsSignedIntegralType(result) ? S64 : U64;
}

// Rounds an operand as the algorithm prescribes before it is multiplied.
absl::StatusOr<Value> PrepareFactor(const Value& operand,
                                    PrecisionConfig::Algorithm algorithm,
                                    PrimitiveType sum_type,
                                    MemoryBudget* budget) {
  Value value = operand;
  PrimitiveType rounded = PRIMITIVE_TYPE_INVALID;
  switch (algorithm) {
    case PrecisionConfig::ALG_DOT_BF16_BF16_BF16:
    case PrecisionConfig::ALG_DOT_BF16_BF16_F32:
      rounded = BF16;
      break;
    case PrecisionConfig::ALG_DOT_F16_F16_F16:
    case PrecisionConfig::ALG_DOT_F16_F16_F32:
      rounded = F16;
      break;
    case PrecisionConfig::ALG_DOT_TF32_TF32_F32:
      rounded = F32;
      break;
    default:
      // The other algorithms keep the operands (or split them into summands
      // that keep them, but for a few of the last bits).
      break;
  }
  const bool rounds = rounded != PRIMITIVE_TYPE_INVALID &&
                      primitive_util::IsFloatingPointType(value.type());
  if (rounds) {
    TF_ASSIGN_OR_RETURN(value, ConvertValue(std::move(value), rounded, budget));
  }
  if (rounds && rounded == F32) {
    TF_ASSIGN_OR_RETURN(value, Value::MakeUnique(std::move(value), budget));
    RoundToTf32(value.mutable_data<float>(), value.count());
  }
  return ConvertValue(std::move(value), sum_type, budget);
}

absl::StatusOr<Value> PermutedDimensions(const Value& value,
                                         absl::Span<const int64_t> order,
                                         MemoryBudget* budget) {
  const DimensionVector strides = RowMajorStrides(value.dims());
  DimensionVector dims;
  DimensionVector from;
  for (int64_t d : order) {
    dims.push_back(value.dim(d));
    from.push_back(strides[d]);
  }
  if (from == RowMajorStrides(dims)) return value.Reshaped(dims);
  TF_ASSIGN_OR_RETURN(Value result, Value::Make(value.type(), dims, budget));
  if (result.count() > 0) {
    CopyStridedBox(result.mutable_raw(), RowMajorStrides(dims), value.raw(),
                   from, dims, value.element_bytes());
  }
  return result;
}

absl::StatusOr<Value> DotValues(const Value& lhs, const Value& rhs,
                                const DotDimensionNumbers& dimension_numbers,
                                PrecisionConfig::Algorithm algorithm,
                                PrimitiveType result_type,
                                MemoryBudget* budget) {
  TF_ASSIGN_OR_RETURN(
      Grouped left,
      GroupDimensions(lhs.rank(), dimension_numbers.lhs_batch_dimensions(),
                      dimension_numbers.lhs_contracting_dimensions()));
  TF_ASSIGN_OR_RETURN(
      Grouped right,
      GroupDimensions(rhs.rank(), dimension_numbers.rhs_batch_dimensions(),
                      dimension_numbers.rhs_contracting_dimensions()));
  const int64_t batches = Size(lhs, left.batch);
  const int64_t m = Size(lhs, left.free);
  const int64_t k = Size(lhs, left.contracting);
  const int64_t n = Size(rhs, right.free);
  if (Size(rhs, right.batch) != batches || Size(rhs, right.contracting) != k) {
    return InvalidArgument(
        "batch or contracting dimensions of the operands differ");
  }
  const PrimitiveType type = SumType(lhs.type(), rhs.type(), result_type);
  TF_ASSIGN_OR_RETURN(Value a, PrepareFactor(lhs, algorithm, type, budget));
  TF_ASSIGN_OR_RETURN(
      a, PermutedDimensions(a, Joined(left.batch, left.free, left.contracting),
                            budget));
  TF_ASSIGN_OR_RETURN(Value b, PrepareFactor(rhs, algorithm, type, budget));
  TF_ASSIGN_OR_RETURN(
      b, PermutedDimensions(
             b, Joined(right.batch, right.contracting, right.free), budget));
  DimensionVector dims;
  for (int64_t d : left.batch) dims.push_back(lhs.dim(d));
  for (int64_t d : left.free) dims.push_back(lhs.dim(d));
  for (int64_t d : right.free) dims.push_back(rhs.dim(d));
  TF_ASSIGN_OR_RETURN(Value c, Value::Make(type, dims, budget));
  const int64_t bytes = c.element_bytes();
  for (int64_t batch = 0; batch < batches; ++batch) {
    Gemm(type, m, n, k, {a.raw() + batch * m * k * bytes, k},
         {b.raw() + batch * k * n * bytes, n},
         {c.mutable_raw() + batch * m * n * bytes, n});
  }
  return ConvertValue(std::move(c), result_type, budget);
}

absl::StatusOr<Value> EvaluateDot(const HloInstruction* instruction,
                                  absl::Span<Value> operands,
                                  KernelContext& context) {
  if (operands.size() != 2) {
    return Unimplemented("a sparse dot of %d operands", operands.size());
  }
  return DotValues(operands[0], operands[1],
                   instruction->dot_dimension_numbers(),
                   instruction->precision_config().algorithm(),
                   instruction->shape().element_type(), context.budget);
}

absl::StatusOr<Value> ScaledDotValues(
    Value lhs, Value rhs, const Value& lhs_scale, const Value& rhs_scale,
    const DotDimensionNumbers& dimension_numbers, PrimitiveType result_type,
    MemoryBudget* budget) {
  TF_ASSIGN_OR_RETURN(lhs, Scaled(std::move(lhs), lhs_scale, budget));
  TF_ASSIGN_OR_RETURN(rhs, Scaled(std::move(rhs), rhs_scale, budget));
  return DotValues(lhs, rhs, dimension_numbers, PrecisionConfig::ALG_UNSET,
                   result_type, budget);
}

absl::StatusOr<Value> EvaluateScaledDot(const HloInstruction* instruction,
                                        absl::Span<Value> operands,
                                        KernelContext& context) {
  return ScaledDotValues(std::move(operands[0]), std::move(operands[1]),
                         operands[2], operands[3],
                         instruction->dot_dimension_numbers(),
                         instruction->shape().element_type(), context.budget);
}

}  // namespace evaluator
}  // namespace xla
