#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/backends/gpu/lowering/element_emitter.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {

using kir::ElementType;
using kir::Operand;

// If the condition is an expression of loop indices, it becomes a branch, which
// computes only the side that is needed. If it depends on registers, both sides
// are computed and a select picks one.
absl::StatusOr<Operand> ElementEmitter::Choose(const AffineExpr& condition,
                                               PrimitiveType element_type,
                                               MakeElement then,
                                               MakeElement otherwise) {
  if (condition.IsConstant()) {
    return condition.IsConstant(0) ? otherwise() : then();
  }
  ASSIGN_OR_RETURN(const ElementType type, KernelType(element_type));
  if (builder_.ReadsRegister(condition)) {
    ASSIGN_OR_RETURN(Operand a, then());
    ASSIGN_OR_RETURN(Operand b, otherwise());
    ASSIGN_OR_RETURN(kir::Argument number, builder_.Number(condition));
    return builder_.Emit("select", type, {number, a, b});
  }
  const Operand result = builder_.AddRegister(type);
  const auto assign = [&](MakeElement make) {
    return InScope([&]() -> absl::Status {
      ASSIGN_OR_RETURN(const Operand value, make());
      builder_.EmitTo(result, "copy", {value});
      return absl::OkStatus();
    });
  };
  RETURN_IF_ERROR(builder_.If(
      kir::Uniformity::kDivergent, condition, [&] { return assign(then); },
      [&] { return assign(otherwise); }));
  return result;
}

absl::StatusOr<Operand> ElementEmitter::ElementWhere(
    const AffineExpr& condition, const HloInstruction& hlo, Indices indices) {
  if (builder_.ReadsRegister(condition)) {
    for (size_t d = 0; d < indices.size(); ++d) {
      indices[d] =
          Clamp(indices[d], hlo.shape().dimensions(d), builder_.ranges());
    }
  }
  return Element(hlo, indices);
}

ElementEmitter::Values ElementEmitter::Iota(const HloInstruction& hlo,
                                            const Indices& indices) {
  ASSIGN_OR_RETURN(const ElementType type,
                   KernelType(hlo.shape().element_type()));
  const int64_t d = Cast<HloIotaInstruction>(&hlo)->iota_dimension();
  ASSIGN_OR_RETURN(kir::Argument place, builder_.Number(indices[d]));
  return std::vector<Operand>{builder_.Emit("iota", type, {place})};
}

ElementEmitter::Values ElementEmitter::Pad(const HloInstruction& hlo,
                                           const Indices& indices) {
  const ConditionalIndices where = PadIndices(hlo, indices, builder_.ranges());
  ASSIGN_OR_RETURN(Operand value,
                   Choose(
                       where.condition, hlo.shape().element_type(),
                       [&] {
                         return ElementWhere(where.condition, *hlo.operand(0),
                                             where.indices);
                       },
                       [&] { return Element(*hlo.operand(1), {}); }));
  return std::vector<Operand>{value};
}

// The element that one of the operands from `first` to before `end` holds, by
// halves.
//
// A binary search over the operands' ends: branches are nested as deep as the
// logarithm of the operands, where a chain of them would be as deep as their
// number.
absl::StatusOr<Operand> ElementEmitter::Concatenate(const HloInstruction& hlo,
                                                    const Indices& indices,
                                                    int64_t first,
                                                    int64_t end) {
  const int64_t along = hlo.concatenate_dimension();
  const auto begin = [&](int64_t operand) {
    int64_t place = 0;
    for (int64_t k = 0; k < operand; ++k) {
      place += hlo.operand(k)->shape().dimensions(along);
    }
    return place;
  };
  if (first + 1 == end) {
    Indices places = indices;
    places[along] = indices[along] - AffineExpr(begin(first));
    return ElementWhere(indices[along], *hlo.operand(first), places);
  }
  const int64_t middle = (first + end) / 2;
  const AffineExpr condition =
      AffineExpr::Max(
          0, AffineExpr::Min(1, AffineExpr(begin(middle)) - indices[along]))
          .SimplifyIn(builder_.ranges());
  return Choose(
      condition, hlo.shape().element_type(),
      [&] { return Concatenate(hlo, indices, first, middle); },
      [&] { return Concatenate(hlo, indices, middle, end); });
}

// The number in [least, limit] nearest to an element of an array of indices,
// which no unsigned one is less than.
absl::StatusOr<AffineExpr> ElementEmitter::Start(const HloInstruction& start,
                                                 const Indices& indices,
                                                 int64_t least, int64_t limit) {
  if (limit == least) return AffineExpr(limit);
  const bool is_signed =
      primitive_util::IsSignedIntegralType(start.shape().element_type());
  if (start.opcode() == HloOpcode::kConstant && indices.empty() &&
      !start.literal().is_elided()) {
    const int64_t value = start.literal().GetIntegralAsS64({}).value_or(0);
    if (!is_signed && value < 0) return AffineExpr(limit);
    return AffineExpr(std::clamp<int64_t>(value, least, limit));
  }
  ASSIGN_OR_RETURN(Operand value, Element(start, indices));
  if (is_signed) {
    value = builder_.Emit("max", ElementType::kS64, {value, AffineExpr(least)});
  }
  const Operand high =
      builder_.Emit("min", ElementType::kS64, {value, AffineExpr(limit)});
  return builder_.NameRegister(
      high, is_signed ? least : std::max<int64_t>(least, 0), limit);
}

ElementEmitter::Values ElementEmitter::DynamicSlice(const HloInstruction& hlo,
                                                    const Indices& indices) {
  const HloInstruction& array = *hlo.operand(0);
  Indices places = indices;
  for (size_t d = 0; d < indices.size(); ++d) {
    ASSIGN_OR_RETURN(AffineExpr start, Start(*hlo.operand(1 + d), {}, 0,
                                             array.shape().dimensions(d) -
                                                 hlo.shape().dimensions(d)));
    places[d] = places[d] + start;
  }
  ASSIGN_OR_RETURN(Operand value, Element(array, places));
  return std::vector<Operand>{value};
}

absl::StatusOr<Indices> ElementEmitter::UpdatedPlaces(const HloInstruction& hlo,
                                                      const Indices& indices) {
  Indices places = indices;
  for (size_t d = 0; d < indices.size(); ++d) {
    const int64_t last =
        hlo.shape().dimensions(d) - hlo.operand(1)->shape().dimensions(d);
    ASSIGN_OR_RETURN(AffineExpr start, Start(*hlo.operand(2 + d), {}, 0, last));
    places[d] = places[d] + start;
  }
  return places;
}

// An element of the result comes from the update if its index is inside of it,
// and from the operand otherwise.
ElementEmitter::Values ElementEmitter::DynamicUpdateSlice(
    const HloInstruction& hlo, const Indices& indices) {
  const HloInstruction& update = *hlo.operand(1);
  ConditionalIndices where;
  for (size_t d = 0; d < indices.size(); ++d) {
    const int64_t size = update.shape().dimensions(d);
    ASSIGN_OR_RETURN(AffineExpr start, Start(*hlo.operand(2 + d), {}, 0,
                                             hlo.shape().dimensions(d) - size));
    const AffineExpr place = indices[d] - start;
    where.condition = AffineExpr::Min(where.condition,
                                      Inside(place, size, builder_.ranges()));
    where.indices.push_back(place);
  }
  where.condition = where.condition.SimplifyIn(builder_.ranges());
  ASSIGN_OR_RETURN(
      Operand value,
      Choose(
          where.condition, hlo.shape().element_type(),
          [&] { return ElementWhere(where.condition, update, where.indices); },
          [&] { return Element(*hlo.operand(0), indices); }));
  return std::vector<Operand>{value};
}

ElementEmitter::Values ElementEmitter::Gather(const HloInstruction& hlo,
                                              const Indices& indices) {
  const GatherDimensionNumbers& numbers = hlo.gather_dimension_numbers();
  const HloInstruction& array = *hlo.operand(0);
  const HloInstruction& starts = *hlo.operand(1);
  // Places of the result along batch dimensions, and along those of slices.
  Indices batch, offsets;
  for (size_t d = 0; d < indices.size(); ++d) {
    const bool is_offset =
        absl::c_linear_search(numbers.offset_dims(), static_cast<int64_t>(d));
    (is_offset ? offsets : batch).push_back(indices[d]);
  }
  Indices places(array.shape().dimensions().size());
  size_t next_offset = 0;
  for (size_t d = 0; d < places.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    if (absl::c_linear_search(numbers.collapsed_slice_dims(), dim) ||
        absl::c_linear_search(numbers.operand_batching_dims(), dim)) {
      continue;
    }
    places[d] = offsets[next_offset++];
  }
  const int64_t vector_dim = numbers.index_vector_dim();
  for (int k = 0; k < numbers.operand_batching_dims().size(); ++k) {
    const int64_t d = numbers.start_indices_batching_dims(k);
    places[numbers.operand_batching_dims(k)] =
        batch[d < vector_dim ? d : d - 1];
  }
  for (int k = 0; k < numbers.start_index_map().size(); ++k) {
    const int64_t d = numbers.start_index_map(k);
    Indices at = batch;
    if (vector_dim < static_cast<int64_t>(starts.shape().dimensions().size())) {
      at.insert(at.begin() + vector_dim, AffineExpr(k));
    }
    ASSIGN_OR_RETURN(AffineExpr start, Start(starts, at, 0,
                                             array.shape().dimensions(d) -
                                                 hlo.gather_slice_sizes()[d]));
    places[d] = places[d] + start;
  }
  ASSIGN_OR_RETURN(Operand value, Element(array, places));
  return std::vector<Operand>{value};
}

}  // namespace xla::gpu
