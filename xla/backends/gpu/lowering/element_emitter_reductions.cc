#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/lowering/element_emitter.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/status_macros.h"

// Reductions, windows and dots of one thread: loops around one statement each.

namespace xla::gpu {

using kir::ElementType;
using kir::Operand;

absl::Status ElementEmitter::Loops(absl::Span<const int64_t> extents,
                                   Indices* places,
                                   absl::FunctionRef<absl::Status()> body) {
  if (places->size() == extents.size()) return InScope(body);
  const int64_t extent = extents[places->size()];
  if (extent == 1) {
    places->push_back(0);
    const absl::Status status = Loops(extents, places, body);
    places->pop_back();
    return status;
  }
  return builder_.Loop(
      "r", kir::LoopKind::kSerial, 0, extent, [&](const AffineExpr& index) {
        places->push_back(index);
        const absl::Status status = Loops(extents, places, body);
        places->pop_back();
        return status;
      });
}

absl::StatusOr<std::vector<Operand>> ElementEmitter::BeginReduction(
    const HloInstruction& hlo) {
  std::vector<Operand> accumulators;
  const int64_t inputs = hlo.operand_count() / 2;
  for (int64_t k = 0; k < inputs; ++k) {
    const HloInstruction& init = *hlo.operand(inputs + k);
    ASSIGN_OR_RETURN(const ElementType type,
                     KernelType(init.shape().element_type()));
    ASSIGN_OR_RETURN(const Operand value, Element(init, {}));
    accumulators.push_back(builder_.Emit("copy", type, {value}));
  }
  return accumulators;
}

absl::Status ElementEmitter::Accumulate(const HloInstruction& hlo,
                                        absl::Span<const Operand> accumulators,
                                        absl::Span<const Operand> values) {
  std::vector<Operand> arguments(accumulators.begin(), accumulators.end());
  absl::c_copy(values, std::back_inserter(arguments));
  ASSIGN_OR_RETURN(std::vector<Operand> results,
                   Apply(*hlo.to_apply(), arguments));
  // All results must be known before the first accumulator is written: of (a,
  // b) -> (b, a) the results are the accumulators themselves, and the first
  // copy would overwrite what the second one reads.
  for (Operand& result : results) {
    if (absl::c_linear_search(accumulators, result)) {
      result = builder_.Emit("copy", builder_.TypeOf(result), {result});
    }
  }
  for (size_t k = 0; k < accumulators.size(); ++k) {
    builder_.EmitTo(accumulators[k], "copy", {results[k]});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Operand>> ElementEmitter::EndReduction(
    const HloInstruction& hlo, absl::Span<const Operand> accumulators) {
  return std::vector<Operand>(accumulators.begin(), accumulators.end());
}

ElementEmitter::Values ElementEmitter::Reduce(const HloInstruction& hlo,
                                              const Indices& indices) {
  const Shape& input = hlo.operand(0)->shape();
  const absl::Span<const int64_t> dims = hlo.dimensions();
  std::vector<int64_t> extents;
  for (int64_t d : dims) extents.push_back(input.dimensions(d));
  ASSIGN_OR_RETURN(const std::vector<Operand> accumulators,
                   BeginReduction(hlo));
  Indices places;
  RETURN_IF_ERROR(Loops(extents, &places, [&]() -> absl::Status {
    Indices at(input.dimensions().size());
    size_t next = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      const auto reduced = absl::c_find(dims, static_cast<int64_t>(d));
      at[d] = reduced == dims.end() ? indices[next++]
                                    : places[reduced - dims.begin()];
    }
    std::vector<Operand> values;
    for (size_t k = 0; k < accumulators.size(); ++k) {
      ASSIGN_OR_RETURN(Operand value, Element(*hlo.operand(k), at));
      values.push_back(value);
    }
    return Accumulate(hlo, accumulators, values);
  }));
  return EndReduction(hlo, accumulators);
}

// Padding is skipped rather than combined, which is the same where the init
// value is the identity of the reduction.
ElementEmitter::Values ElementEmitter::ReduceWindow(const HloInstruction& hlo,
                                                    const Indices& indices) {
  std::vector<int64_t> extents;
  for (const WindowDimension& dim : hlo.window().dimensions()) {
    extents.push_back(dim.size());
  }
  ASSIGN_OR_RETURN(const std::vector<Operand> accumulators,
                   BeginReduction(hlo));
  Indices offsets;
  RETURN_IF_ERROR(Loops(extents, &offsets, [&]() -> absl::Status {
    const ConditionalIndices where =
        WindowIndices(hlo, indices, offsets, builder_.ranges());
    const auto accumulate = [&]() -> absl::Status {
      std::vector<Operand> values;
      for (size_t k = 0; k < accumulators.size(); ++k) {
        ASSIGN_OR_RETURN(Operand value,
                         Element(*hlo.operand(k), where.indices));
        values.push_back(value);
      }
      return Accumulate(hlo, accumulators, values);
    };
    if (where.condition.IsConstant(0)) return absl::OkStatus();
    if (where.condition.IsConstant()) return accumulate();
    if (builder_.ReadsRegister(where.condition)) {
      return NotLowered(hlo, "a window at an index known only at run time");
    }
    return builder_.If(
        kir::Uniformity::kDivergent, where.condition,
        [&] { return InScope(accumulate); }, [] { return absl::OkStatus(); });
  }));
  return EndReduction(hlo, accumulators);
}

ElementEmitter::Values ElementEmitter::Dot(const HloInstruction& hlo,
                                           const Indices& indices) {
  if (hlo.operand_count() != 2) return NotLowered(hlo, "of sparse operands");
  const DotDimensionNumbers& dot = hlo.dot_dimension_numbers();
  const PrimitiveType result = hlo.shape().element_type();
  ASSIGN_OR_RETURN(const ElementType type, KernelType(result));
  const bool narrow = primitive_util::IsFloatingPointType(result) &&
                      primitive_util::BitWidth(result) < 32;
  const ElementType sum_type = narrow ? ElementType::kF32 : type;
  std::vector<int64_t> extents;
  for (int64_t d : dot.lhs_contracting_dimensions()) {
    extents.push_back(hlo.operand(0)->shape().dimensions(d));
  }
  const Operand sum = builder_.Emit("full", sum_type, {0.0});
  Indices places;
  RETURN_IF_ERROR(Loops(extents, &places, [&]() -> absl::Status {
    size_t next = dot.lhs_batch_dimensions_size();
    std::vector<Operand> factors;
    for (int64_t side : {0, 1}) {
      const auto& batch =
          side == 0 ? dot.lhs_batch_dimensions() : dot.rhs_batch_dimensions();
      const auto& contracting = side == 0 ? dot.lhs_contracting_dimensions()
                                          : dot.rhs_contracting_dimensions();
      const HloInstruction& operand = *hlo.operand(side);
      Indices at(operand.shape().dimensions().size());
      for (int64_t d = 0; d < at.size(); ++d) {
        const auto b = absl::c_find(batch, d);
        const auto c = absl::c_find(contracting, d);
        at[d] = b != batch.end()         ? indices[b - batch.begin()]
                : c != contracting.end() ? places[c - contracting.begin()]
                                         : indices[next++];
      }
      ASSIGN_OR_RETURN(Operand factor, Element(operand, at));
      if (builder_.TypeOf(factor) != sum_type) {
        factor = builder_.Emit("cast", sum_type, {factor});
      }
      factors.push_back(factor);
    }
    const Operand product =
        builder_.Emit("mul", sum_type, {factors[0], factors[1]});
    builder_.EmitTo(sum, result == PRED ? "or" : "add", {sum, product});
    return absl::OkStatus();
  }));
  if (sum_type == type) return std::vector<Operand>{sum};
  return std::vector<Operand>{builder_.Emit("cast", type, {sum})};
}

}  // namespace xla::gpu
