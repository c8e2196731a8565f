#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::verifier {
namespace {

// Shapes of the start indices of dynamic-slice and dynamic-update-slice.
std::vector<Shape> IndexShapes(const HloInstruction& inst, int64_t first) {
  std::vector<Shape> shapes;
  for (int64_t i = first; i < inst.operand_count(); ++i) {
    shapes.push_back(inst.operand(i)->shape());
  }
  return shapes;
}

// One integral scalar per dimension, and all of one type.
bool HasScalarIndices(const HloInstruction& inst, int64_t first, int64_t rank) {
  if (inst.operand_count() != first + rank) return false;
  for (int64_t i = first; i < inst.operand_count(); ++i) {
    const Shape& index = inst.operand(i)->shape();
    if (!IsIntegralScalar(index) ||
        index.element_type() != inst.operand(first)->shape().element_type()) {
      return false;
    }
  }
  return true;
}

// The same in one vector: inference tells the two forms apart.
bool ScalarIndicesAllowed(const HloInstruction& inst, int64_t first) {
  return inst.operand_count() != first + 1 ||
         !inst.operand(first)->shape().IsArray() ||
         RankOf(inst.operand(first)->shape()) == 0;
}

// Sizes of `part` are not greater than those of `whole`.
bool FitsInto(absl::Span<const int64_t> part, absl::Span<const int64_t> whole) {
  if (part.size() != whole.size()) return false;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] < 0 || part[i] > whole[i]) return false;
  }
  return true;
}

bool IsPlainBroadcast(const Shape& operand, const Shape& result,
                      absl::Span<const int64_t> dims) {
  if (!IsPlainArray(operand) || !IsPlainArray(result) ||
      operand.element_type() != result.element_type() ||
      static_cast<int64_t>(dims.size()) != RankOf(operand)) {
    return false;
  }
  int64_t previous = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] <= previous || dims[i] >= RankOf(result) ||
        operand.dimensions(i) != result.dimensions(dims[i])) {
      return false;
    }
    previous = dims[i];
  }
  return true;
}

}  // namespace

absl::Status CheckBroadcast(const Context& context,
                            const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  const absl::Span<const int64_t> dims = inst.dimensions();
  if (IsPlainBroadcast(operand, inst.shape(), dims)) return absl::OkStatus();
  if (context.opts().verify_broadcast_dimensions_order &&
      !std::is_sorted(dims.begin(), dims.end())) {
    return Broken(
        Invariant::V71, inst,
        absl::StrCat("found dimensions={", absl::StrJoin(dims, ","), "}"));
  }
  DimSet set;
  for (int64_t dim : dims) {
    if (!inst.shape().IsArray() || !set.Add(dim, RankOf(inst.shape()))) {
      return Broken(
          Invariant::V70, inst,
          absl::StrCat("dimension ", dim, " is named twice, or is not one of ",
                       context.Str(inst.shape())));
    }
  }
  TF_RETURN_IF_ERROR(context.Expect(
      Invariant::V70, inst,
      ShapeInference::InferBroadcastShape(operand, inst.shape(), dims)));
  Shape expected = inst.shape();
  expected.set_element_type(operand.element_type());
  TF_RETURN_IF_ERROR(
      context.Expect(Invariant::V70, inst, expected, Match::kLoose));
  // Shape inference also stretches sizes of 1, as builders do.
  for (size_t i = 0; i < dims.size(); ++i) {
    if (operand.dimensions(i) != inst.shape().dimensions(dims[i])) {
      return Broken(Invariant::V70, inst,
                    absl::StrCat("dimension ", i, " of ", context.Str(operand),
                                 " is not as large as dimension ", dims[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReshape(const Context& context, const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  const Shape& result = inst.shape();
  const HloVerifierOpts& opts = context.opts();
  const bool is_plain = IsPlainArray(operand) && IsPlainArray(result) &&
                        operand.element_type() == result.element_type();
  auto elements = [](const Shape& shape) {
    uint64_t product = 1;
    for (int64_t size : shape.dimensions()) {
      product *= static_cast<uint64_t>(size);
    }
    return product;
  };
  // Sizes that are unbounded make the products 0 or odd, and rarely equal; V40
  // sees to it that others do not overflow.
  if (!is_plain || elements(operand) != elements(result) ||
      operand.is_unbounded_dynamic() || result.is_unbounded_dynamic()) {
    if (!result.IsArray()) {
      return Broken(Invariant::V72, inst, "the result is not an array");
    }
    absl::Status status = context.Expect(
        Invariant::V72, inst,
        ShapeInference::InferReshapeShape(operand, result.dimensions(),
                                          inst.inferred_dimension()));
    if (!status.ok()) return status;
  }
  if (opts.layout_sensitive && opts.verify_reshape_is_bitcast &&
      LayoutUtil::HasLayout(operand) && LayoutUtil::HasLayout(result) &&
      !ShapeUtil::ReshapeIsBitcast(operand, result)) {
    return Broken(Invariant::V73, inst,
                  absl::StrCat("found ", context.Str(operand), " as operand"));
  }
  return absl::OkStatus();
}

absl::Status CheckDynamicReshape(const Context& context,
                                 const HloInstruction& inst) {
  const Shape& result = inst.shape();
  if (!result.IsArray()) {
    return Broken(Invariant::V74, inst, "the result is not an array");
  }
  if (inst.operand_count() != RankOf(result) + 1) {
    return Broken(Invariant::V74, inst,
                  absl::StrCat("expected ", RankOf(result), " sizes, found ",
                               inst.operand_count() - 1));
  }
  const absl::Span<const bool> dynamic = result.dynamic_dimensions();
  return context.Expect(
      Invariant::V74, inst,
      ShapeInference::InferDynamicReshapeShape(
          inst.operand(0)->shape(), OperandShapes(inst, 1), result.dimensions(),
          std::vector<bool>(dynamic.begin(), dynamic.end())));
}

absl::Status CheckTranspose(const Context& context,
                            const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  const Shape& result = inst.shape();
  const absl::Span<const int64_t> dims = inst.dimensions();
  if (IsPlainArray(operand) && IsPlainArray(result) &&
      operand.element_type() == result.element_type() &&
      RankOf(operand) == RankOf(result) &&
      static_cast<int64_t>(dims.size()) == RankOf(result)) {
    DimSet set;
    bool good = true;
    for (size_t i = 0; good && i < dims.size(); ++i) {
      good = set.Add(dims[i], RankOf(operand)) &&
             operand.dimensions(dims[i]) == result.dimensions(i);
    }
    if (good) return absl::OkStatus();
  }
  return context.Expect(Invariant::V75, inst,
                        ShapeInference::InferTransposeShape(operand, dims));
}

absl::Status CheckBitcast(const Context& context, const HloInstruction& inst) {
  const HloVerifierOpts& opts = context.opts();
  const Shape& operand = inst.operand(0)->shape();
  if (operand.IsArray() != inst.shape().IsArray()) {
    return Broken(
        Invariant::V76, inst,
        absl::StrCat("expected a value of the kind of ", context.Str(operand)));
  }
  // Padding is known once there are layouts.
  if (!opts.layout_sensitive || opts.allow_bitcast_to_have_different_size ||
      operand.is_unbounded_dynamic() || inst.shape().is_unbounded_dynamic()) {
    return absl::OkStatus();
  }
  const int64_t from = opts.ShapeSize(operand);
  const int64_t to = opts.ShapeSize(inst.shape());
  if (from == to) return absl::OkStatus();
  return Broken(Invariant::V76, inst,
                absl::StrCat("expected ", from, " bytes, found ", to));
}

absl::Status CheckConcatenate(const Context& context,
                              const HloInstruction& inst) {
  const Shape& result = inst.shape();
  const absl::Span<const int64_t> dims = inst.dimensions();
  if (dims.size() != 1) {
    return Broken(Invariant::V77, inst,
                  absl::StrCat("expected one dimension, found ", dims.size()));
  }
  const int64_t joined = dims[0];
  bool good = IsPlainArray(result) && joined >= 0 && joined < RankOf(result);
  uint64_t total = 0;
  for (int64_t i = 0; good && i < inst.operand_count(); ++i) {
    const Shape& operand = inst.operand(i)->shape();
    good = IsPlainArray(operand) &&
           operand.element_type() == result.element_type() &&
           RankOf(operand) == RankOf(result);
    for (int64_t d = 0; good && d < RankOf(result); ++d) {
      good = d == joined || operand.dimensions(d) == result.dimensions(d);
    }
    if (!good || operand.dimensions(joined) < 0) {
      good = false;
      break;
    }
    total += static_cast<uint64_t>(operand.dimensions(joined));
  }
  if (good && total == static_cast<uint64_t>(result.dimensions(joined))) {
    return absl::OkStatus();
  }
  return context.Expect(
      Invariant::V77, inst,
      ShapeInference::InferConcatOpShape(OperandShapes(inst), joined));
}

absl::Status CheckSlice(const Context& context, const HloInstruction& inst) {
  const auto* slice = Cast<HloSliceInstruction>(&inst);
  const Shape& operand = inst.operand(0)->shape();
  const Shape& result = inst.shape();
  const std::vector<int64_t>& starts = slice->slice_starts();
  const std::vector<int64_t>& limits = slice->slice_limits();
  const std::vector<int64_t>& strides = slice->slice_strides();
  const int64_t rank = RankOf(operand);
  bool good = IsPlainArray(operand) && IsPlainArray(result) &&
              operand.element_type() == result.element_type() &&
              RankOf(result) == rank &&
              static_cast<int64_t>(starts.size()) == rank &&
              static_cast<int64_t>(limits.size()) == rank &&
              static_cast<int64_t>(strides.size()) == rank;
  for (int64_t i = 0; good && i < rank; ++i) {
    good =
        starts[i] >= 0 && starts[i] <= limits[i] &&
        limits[i] <= operand.dimensions(i) && strides[i] > 0 &&
        (strides[i] == 1 ? limits[i] - starts[i]
                         : (limits[i] - starts[i]) / strides[i] +
                               ((limits[i] - starts[i]) % strides[i] != 0)) ==
            result.dimensions(i);
  }
  if (good) return absl::OkStatus();
  return context.Expect(
      Invariant::V78, inst,
      ShapeInference::InferSliceShape(operand, starts, limits, strides));
}

absl::Status CheckDynamicSlice(const Context& context,
                               const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  const Shape& result = inst.shape();
  const std::vector<int64_t>& sizes = inst.dynamic_slice_sizes();
  if (IsPlainArray(operand) && IsPlainArray(result) &&
      operand.element_type() == result.element_type() &&
      result.dimensions() == absl::MakeConstSpan(sizes) &&
      FitsInto(sizes, operand.dimensions()) &&
      HasScalarIndices(inst, 1, RankOf(operand))) {
    return absl::OkStatus();
  }
  return context.Expect(
      Invariant::V79, inst,
      ShapeInference::InferDynamicSliceShape(
          operand, IndexShapes(inst, 1), sizes, ScalarIndicesAllowed(inst, 1)));
}

absl::Status CheckDynamicUpdateSlice(const Context& context,
                                     const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  const Shape& update = inst.operand(1)->shape();
  if (SameArrays(operand, inst.shape()) && IsPlainArray(update) &&
      update.element_type() == operand.element_type() &&
      FitsInto(update.dimensions(), operand.dimensions()) &&
      HasScalarIndices(inst, 2, RankOf(operand)) &&
      !context.opts().layout_sensitive) {
    return absl::OkStatus();
  }
  // The update happens in place, so that the order of dimensions stays.
  absl::StatusOr<Shape> inferred = ShapeInference::InferDynamicUpdateSliceShape(
      operand, update, IndexShapes(inst, 2), ScalarIndicesAllowed(inst, 2));
  absl::Status status = context.Expect(Invariant::V80, inst, inferred);
  if (!status.ok()) return status;
  // Arrays updated in place keep their type, even if precision may change.
  if (inst.shape().element_type() != operand.element_type()) {
    return Broken(Invariant::V80, inst,
                  absl::StrCat("expected ", context.Str(operand), ", found ",
                               context.Str(inst.shape())));
  }
  if (!context.opts().layout_sensitive) return status;
  return context.Expect(Invariant::V80, inst, operand, Match::kSameOrder);
}

absl::Status CheckPad(const Context& context, const HloInstruction& inst) {
  return context.Expect(Invariant::V81, inst,
                        ShapeInference::InferPadShape(inst.operand(0)->shape(),
                                                      inst.operand(1)->shape(),
                                                      inst.padding_config()));
}

absl::Status CheckReverse(const Context& context, const HloInstruction& inst) {
  return context.Expect(Invariant::V82, inst,
                        ShapeInference::InferReverseShape(
                            inst.operand(0)->shape(), inst.dimensions()));
}

absl::Status CheckDimensionSize(const Context& context,
                                const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  if (inst.opcode() == HloOpcode::kGetDimensionSize) {
    return context.Expect(
        Invariant::V85, inst,
        ShapeInference::InferGetDimensionSizeShape(
            operand, Cast<HloGetDimensionSizeInstruction>(&inst)->dimension()));
  }
  return context.Expect(
      Invariant::V85, inst,
      ShapeInference::InferSetDimensionSizeShape(
          operand, inst.operand(1)->shape(),
          Cast<HloSetDimensionSizeInstruction>(&inst)->dimension()));
}

}  // namespace xla::verifier
