#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::verifier {
namespace {

// Pairs of dimensions (a[i], b[i]) of equal size, none named before; in a
// batch, `result` has them from its first dimension on.
template <typename Dims>
bool PairsMatch(const Shape& lhs, const Dims& a, DimSet& lhs_seen,
                const Shape& rhs, const Dims& b, DimSet& rhs_seen,
                const Shape* result) {
  if (a.size() != b.size()) return false;
  for (int i = 0; i < a.size(); ++i) {
    if (!lhs_seen.Add(a[i], RankOf(lhs)) || !rhs_seen.Add(b[i], RankOf(rhs)) ||
        lhs.dimensions(a[i]) != rhs.dimensions(b[i]) ||
        (result != nullptr && result->dimensions(i) != lhs.dimensions(a[i]))) {
      return false;
    }
  }
  return true;
}

// The dimensions that are not in `seen` are those of `result` from `*next` on.
bool FreeMatch(const Shape& operand, const DimSet& seen, const Shape& result,
               int64_t* next) {
  for (int64_t d = 0; d < RankOf(operand); ++d) {
    if (seen.Has(d)) continue;
    if (result.dimensions((*next)++) != operand.dimensions(d)) return false;
  }
  return true;
}

bool IsPlainDot(const Shape& lhs, const Shape& rhs,
                const DotDimensionNumbers& dims, const Shape& result) {
  const int64_t batch = dims.lhs_batch_dimensions_size();
  if (!IsPlainArray(lhs) || !IsPlainArray(rhs) || !IsPlainArray(result) ||
      lhs.element_type() != rhs.element_type() ||
      lhs.element_type() != result.element_type() ||
      RankOf(lhs) > DimSet::kMaxRank || RankOf(rhs) > DimSet::kMaxRank ||
      RankOf(result) < batch ||
      RankOf(result) != RankOf(lhs) + RankOf(rhs) - batch -
                            dims.lhs_contracting_dimensions_size() -
                            dims.rhs_contracting_dimensions_size()) {
    return false;
  }
  DimSet lhs_seen, rhs_seen;
  int64_t next = batch;
  return PairsMatch(lhs, dims.lhs_batch_dimensions(), lhs_seen, rhs,
                    dims.rhs_batch_dimensions(), rhs_seen, &result) &&
         PairsMatch(lhs, dims.lhs_contracting_dimensions(), lhs_seen, rhs,
                    dims.rhs_contracting_dimensions(), rhs_seen, nullptr) &&
         FreeMatch(lhs, lhs_seen, result, &next) &&
         FreeMatch(rhs, rhs_seen, result, &next);
}

std::optional<PrimitiveType> ResultType(const HloInstruction& inst) {
  if (!inst.shape().IsArray()) return std::nullopt;
  return inst.shape().element_type();
}

}  // namespace

absl::Status CheckDot(const Context& context, const HloInstruction& inst) {
  const Shape& lhs = inst.operand(0)->shape();
  const Shape& rhs = inst.operand(1)->shape();
  const DotDimensionNumbers& dims = inst.dot_dimension_numbers();
  if (IsPlainDot(lhs, rhs, dims, inst.shape())) return absl::OkStatus();
  return context.Expect(
      Invariant::V90, inst,
      ShapeInference::InferDotOpShape(lhs, rhs, dims, ResultType(inst)));
}

absl::Status CheckRaggedDot(const Context& context,
                            const HloInstruction& inst) {
  return context.Expect(
      Invariant::V90, inst,
      ShapeInference::InferRaggedDotOpShape(
          inst.operand(0)->shape(), inst.operand(1)->shape(),
          inst.operand(2)->shape(), inst.ragged_dot_dimension_numbers(),
          ResultType(inst)));
}

// A scale has the dimensions of what it scales, each cut into equal blocks; a
// scalar scales everything.
absl::Status CheckScaledDot(const Context& context,
                            const HloInstruction& inst) {
  bool is_scaled = false;
  for (int side = 0; side < 2; ++side) {
    const Shape& value = inst.operand(side)->shape();
    const Shape& scale = inst.operand(side + 2)->shape();
    bool good = value.IsArray() && scale.IsArray();
    if (good && RankOf(scale) != 0) {
      good = RankOf(scale) == RankOf(value);
      for (int64_t d = 0; good && d < RankOf(value); ++d) {
        const int64_t blocks = scale.dimensions(d);
        const int64_t size = value.dimensions(d);
        good = IsUnbounded(blocks) || IsUnbounded(size) ||
               (blocks == 0 ? size == 0 : size % blocks == 0);
      }
    }
    if (!good) {
      return WithCode(absl::StatusCode::kFailedPrecondition,
                      Broken(Invariant::V90, inst,
                             absl::StrCat("expected a scale for blocks of ",
                                          context.Str(value), ", found ",
                                          context.Str(scale))));
    }
    is_scaled = is_scaled || RankOf(scale) != 0;
  }
  if (!is_scaled) {
    return WithCode(absl::StatusCode::kFailedPrecondition,
                    Broken(Invariant::V90, inst, "both scales are scalars"));
  }
  return context.Expect(
      Invariant::V90, inst,
      ShapeInference::InferDotOpShape(
          inst.operand(0)->shape(), inst.operand(1)->shape(),
          Cast<HloScaledDotInstruction>(&inst)->dot_dimension_numbers(),
          ResultType(inst)));
}

absl::Status CheckConvolution(const Context& context,
                              const HloInstruction& inst) {
  const auto* conv = Cast<HloConvolutionInstruction>(&inst);
  return context.Expect(
      Invariant::V91, inst,
      ShapeInference::InferConvolveShape(
          inst.operand(0)->shape(), inst.operand(1)->shape(),
          conv->feature_group_count(), conv->batch_group_count(),
          conv->window(), conv->convolution_dimension_numbers(),
          conv->sparsity_config(), ResultType(inst), conv->convolution_kind()));
}

absl::Status CheckFft(const Context& context, const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  const bool is_empty = absl::c_linear_search(inst.fft_length(), 0) ||
                        absl::c_linear_search(operand.dimensions(), 0);
  if (is_empty && SameSizes(operand, inst.shape())) {
    // An empty FFT, or empty operands: there is no length to match, but types
    // are as for any length.
    absl::StatusOr<Shape> expected = ShapeInference::InferFftShape(
        ShapeUtil::MakeShape(operand.element_type(), {1}), inst.fft_type(),
        {1});
    if (expected.ok()) {
      expected =
          ShapeUtil::ChangeElementType(operand, expected->element_type());
    }
    return context.Expect(Invariant::V92, inst, expected);
  }
  return context.Expect(
      Invariant::V92, inst,
      ShapeInference::InferFftShape(inst.operand(0)->shape(), inst.fft_type(),
                                    inst.fft_length()));
}

absl::Status CheckCholesky(const Context& context, const HloInstruction& inst) {
  return context.Expect(
      Invariant::V93, inst,
      ShapeInference::InferCholeskyShape(inst.operand(0)->shape()));
}

absl::Status CheckTriangularSolve(const Context& context,
                                  const HloInstruction& inst) {
  return context.Expect(Invariant::V93, inst,
                        ShapeInference::InferTriangularSolveShape(
                            inst.operand(0)->shape(), inst.operand(1)->shape(),
                            inst.triangular_solve_options()));
}

absl::Status CheckBatchNorm(const Context& context,
                            const HloInstruction& inst) {
  const int64_t feature = inst.feature_index();
  auto shape = [&](int64_t i) -> const Shape& {
    return inst.operand(i)->shape();
  };
  switch (inst.opcode()) {
    case HloOpcode::kBatchNormTraining:
      return context.Expect(Invariant::V94, inst,
                            ShapeInference::InferBatchNormTrainingShape(
                                shape(0), shape(1), shape(2), feature));
    case HloOpcode::kBatchNormInference:
      return context.Expect(
          Invariant::V94, inst,
          ShapeInference::InferBatchNormInferenceShape(
              shape(0), shape(1), shape(2), shape(3), shape(4), feature));
    case HloOpcode::kBatchNormGrad:
      return context.Expect(
          Invariant::V94, inst,
          ShapeInference::InferBatchNormGradShape(shape(0), shape(1), shape(2),
                                                  shape(3), shape(4), feature));
    default:  // An error of the caller.
      return absl::InternalError(
          absl::StrCat("no batch norm: ", inst.opcode()));
  }
}

}  // namespace xla::verifier
