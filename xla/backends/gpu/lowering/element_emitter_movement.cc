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
#include "xla/status_macros.h"

namespace xla::gpu {

using kir::ElementType;
using kir::Operand;

//
// If the condition is an expression of loop indices, it becomes a branch, which
// computes only the side that is needed. If it depends on registers, both sides
// are computed, the one on the left at clamped indices so that it stays in
// bounds, and a select picks one.
absl::StatusOr<Operand> ElementEmitter::Choose(
    const ConditionalIndices& where, const HloInstruction& hlo,
    absl::FunctionRef<absl::StatusOr<Operand>()> otherwise) {
  if (where.condition.IsConstant()) {
    return where.condition.IsConstant(0) ? otherwise()
                                         : Element(hlo, where.indices);
  }
  ASSIGN_OR_RETURN(const ElementType type,
                   KernelType(hlo.shape().element_type()));
  if (builder_.ReadsRegister(where.condition)) {
    // Both are computed, the element at the nearest place there is.
    Indices inside;
    for (size_t d = 0; d < where.indices.size(); ++d) {
      inside.push_back(Clamp(where.indices[d], hlo.shape().dimensions(d),
                             builder_.ranges()));
    }
    ASSIGN_OR_RETURN(Operand a, Element(hlo, inside));
    ASSIGN_OR_RETURN(Operand b, otherwise());
    ASSIGN_OR_RETURN(kir::Argument condition, builder_.Number(where.condition));
    return builder_.Emit("select", type, {condition, a, b});
  }
  const Operand result = builder_.AddRegister(type);
  const auto assign = [&](const absl::StatusOr<Operand>& value) {
    if (value.ok()) builder_.EmitTo(result, "copy", {*value});
    return value.status();
  };
  RETURN_IF_ERROR(builder_.If(
      kir::Uniformity::kDivergent, where.condition,
      [&] {
        return InScope([&] { return assign(Element(hlo, where.indices)); });
      },
      [&] { return InScope([&] { return assign(otherwise()); }); }));
  return result;
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
  ASSIGN_OR_RETURN(
      Operand value,
      Choose(PadIndices(hlo, indices, builder_.ranges()), *hlo.operand(0),
             [&] { return Element(*hlo.operand(1), {}); }));
  return std::vector<Operand>{value};
}

absl::StatusOr<Operand> ElementEmitter::Concatenate(const HloInstruction& hlo,
                                                    const Indices& indices,
                                                    int64_t first) {
  ConditionalIndices where =
      ConcatenateIndices(hlo, first, indices, builder_.ranges());
  if (first + 1 == hlo.operand_count()) where.condition = 1;
  // Each operand is tried inside of the branch of the one before.
  constexpr int64_t kMaxOperands = 64;
  if (first == kMaxOperands) {
    return NotLowered(hlo, "more than 64 operands");
  }
  if (hlo.operand(first)->shape().dimensions(hlo.concatenate_dimension()) ==
          0 &&
      first + 1 < hlo.operand_count()) {
    return Concatenate(hlo, indices, first + 1);
  }
  return Choose(where, *hlo.operand(first),
                [&] { return Concatenate(hlo, indices, first + 1); });
}

// The number in [0, limit] nearest to an element of an array of indices.
absl::StatusOr<AffineExpr> ElementEmitter::Start(const HloInstruction& start,
                                                 const Indices& indices,
                                                 int64_t limit) {
  if (limit == 0) return AffineExpr(0);
  if (start.opcode() == HloOpcode::kConstant && indices.empty() &&
      !start.literal().is_elided()) {
    return AffineExpr(std::clamp<int64_t>(
        start.literal().GetIntegralAsS64({}).value_or(0), 0, limit));
  }
  ASSIGN_OR_RETURN(Operand value, Element(start, indices));
  const Operand low =
      builder_.Emit("max", ElementType::kS64, {value, AffineExpr(0)});
  const Operand high =
      builder_.Emit("min", ElementType::kS64, {low, AffineExpr(limit)});
  return builder_.NameRegister(high, 0, limit);
}

ElementEmitter::Values ElementEmitter::DynamicSlice(const HloInstruction& hlo,
                                                    const Indices& indices) {
  const HloInstruction& array = *hlo.operand(0);
  Indices places = indices;
  for (size_t d = 0; d < indices.size(); ++d) {
    ASSIGN_OR_RETURN(AffineExpr start, Start(*hlo.operand(1 + d), {},
                                             array.shape().dimensions(d) -
                                                 hlo.shape().dimensions(d)));
    places[d] = places[d] + start;
  }
  ASSIGN_OR_RETURN(Operand value, Element(array, places));
  return std::vector<Operand>{value};
}

// An element of the result comes from the update if its index is inside of it,
// and from the operand otherwise.
ElementEmitter::Values ElementEmitter::DynamicUpdateSlice(
    const HloInstruction& hlo, const Indices& indices) {
  const HloInstruction& update = *hlo.operand(1);
  ConditionalIndices where;
  for (size_t d = 0; d < indices.size(); ++d) {
    const int64_t size = update.shape().dimensions(d);
    ASSIGN_OR_RETURN(AffineExpr start, Start(*hlo.operand(2 + d), {},
                                             hlo.shape().dimensions(d) - size));
    const AffineExpr place = indices[d] - start;
    where.condition = AffineExpr::Min(where.condition,
                                      Inside(place, size, builder_.ranges()));
    where.indices.push_back(place);
  }
  ASSIGN_OR_RETURN(Operand value, Choose(where, update, [&] {
                     return Element(*hlo.operand(0), indices);
                   }));
  return std::vector<Operand>{value};
}

ElementEmitter::Values ElementEmitter::Gather(const HloInstruction& hlo,
                                              const Indices& indices) {
  const GatherDimensionNumbers& numbers = hlo.gather_dimension_numbers();
  const HloInstruction& array = *hlo.operand(0);
  const HloInstruction& starts = *hlo.operand(1);
  if (absl::c_linear_search(hlo.gather_slice_sizes(), 0)) {
    return absl::UnimplementedError("slices without elements");
  }
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
    ASSIGN_OR_RETURN(AffineExpr start, Start(starts, at,
                                             array.shape().dimensions(d) -
                                                 hlo.gather_slice_sizes()[d]));
    places[d] = places[d] + start;
  }
  ASSIGN_OR_RETURN(Operand value, Element(array, places));
  return std::vector<Operand>{value};
}

}  // namespace xla::gpu
