#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using Sparsity = SparsityConfig::TensorSparsityConfig;

absl::StatusOr<Shape> DenseShape(const Shape& stored, const Shape& indices,
                                 const Sparsity& config) {
  if (!stored.IsArray() || stored.is_dynamic() ||
      !ShapeUtil::ElementIsIntegral(indices) ||
      !ShapeUtil::SameDimensions(stored, indices)) {
    return InvalidArgument(
        "a sparse operand takes an array and as many indices, found %s and %s",
        ShapeUtil::HumanString(stored), ShapeUtil::HumanString(indices));
  }
  const int64_t dimension = config.dimension();
  const int64_t stored_per_block = config.num_non_zero();
  if (dimension < 0 ||
      dimension >= static_cast<int64_t>(stored.dimensions().size()) ||
      stored_per_block < 1 || config.block_size() < stored_per_block ||
      stored.dimensions(dimension) % stored_per_block != 0) {
    return InvalidArgument("sparsity %dx%d does not fit dimension %d of %s",
                           stored_per_block, config.block_size(), dimension,
                           ShapeUtil::HumanString(stored));
  }
  if (config.stride() > 1) {
    return Unimplemented("a sparse operand of stride %d", config.stride());
  }
  int64_t size;
  if (__builtin_mul_overflow(stored.dimensions(dimension) / stored_per_block,
                             config.block_size(), &size)) {
    return InvalidArgument("blocks of %d elements are too large",
                           config.block_size());
  }
  Shape dense = stored;
  dense.set_dimensions(dimension, size);
  TF_RETURN_IF_ERROR(ShapeUtil::ValidateShape(dense));
  return dense;
}

}  // namespace

// In each block of `block_size` elements along the dimension, at most
// `num_non_zero` are stored, each with its place in the block: with 2 of 4, the
// stored elements 2 and 3 belong to the dense ones from 4 to 7.
absl::StatusOr<Literal> MaterializeSparseOperand(const LiteralSlice& values,
                                                 const LiteralSlice& indices,
                                                 const Sparsity& config) {
  TF_ASSIGN_OR_RETURN(const Shape shape,
                      DenseShape(values.shape(), indices.shape(), config));
  TF_ASSIGN_OR_RETURN(Literal dense, Literal::Make(shape));
  const int64_t dimension = config.dimension();
  TF_RETURN_IF_ERROR(ShapeUtil::ForEachIndexWithStatus(
      values.shape(),
      [&](absl::Span<const int64_t> from) -> absl::StatusOr<bool> {
        if (values.IsZero(from)) return true;
        const std::optional<int64_t> index = indices.GetIntegralAsS64(from);
        if (!index.has_value() || *index < 0 || *index >= config.block_size()) {
          return InvalidArgument(
              "%s of a sparse operand is at %s of a block of %d",
              LiteralUtil::MultiIndexAsString(from), indices.GetAsString(from),
              config.block_size());
        }
        DimensionVector to(from.begin(), from.end());
        to[dimension] =
            from[dimension] / config.num_non_zero() * config.block_size() +
            *index;
        if (!dense.IsZero(to)) {
          return InvalidArgument("a sparse operand has two values for %s",
                                 LiteralUtil::MultiIndexAsString(to));
        }
        dense.CopyElementFrom(values, from, to);
        return true;
      }));
  return dense;
}

}  // namespace xla
