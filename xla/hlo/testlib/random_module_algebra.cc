// Recipes for products, factorizations and normalizations.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/testlib/random_computation.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace random_module_internal {
namespace {

using primitive_util::IsComplexType;
using primitive_util::IsFloatingPointType;

bool IsF32OrF64(PrimitiveType type) { return type == F32 || type == F64; }

// The range of a sum of `terms` products.
Range ProductSum(const Value& a, const Value& b, int64_t terms) {
  const double top = a.range.magnitude() * b.range.magnitude() *
                     static_cast<double>(std::max<int64_t>(terms, 1)) *
                     (IsComplexType(a.type()) ? 2 : 1);
  return {-top, top};
}

bool HasElements(const Value& value) {
  return ShapeUtil::ElementsIn(value.shape()) > 0;
}

}  // namespace

bool RandomComputation::Dot(HloOpcode opcode) {
  Value lhs =
      PickArray([](const Value& value) { return value.type() != PRED; });
  if (lhs.instruction == nullptr) return false;
  const absl::Span<const int64_t> lhs_dims = lhs.shape().dimensions();
  DotDimensionNumbers numbers;
  // rhs: batch, contracting and free dimensions in random places.
  struct Dimension {
    int64_t size;
    int64_t lhs;  // -1: free
    bool batch;
  };
  std::vector<Dimension> rhs_dims;
  int64_t terms = 1;
  for (size_t i = 0; i < lhs_dims.size(); ++i) {
    const int64_t draw = state_.Below(4);
    if (draw == 0) {
      rhs_dims.push_back({lhs_dims[i], static_cast<int64_t>(i), true});
    } else if (draw <= 2) {
      rhs_dims.push_back({lhs_dims[i], static_cast<int64_t>(i), false});
      terms *= lhs_dims[i];
    }
  }
  if (static_cast<int64_t>(rhs_dims.size()) < state_.options.max_rank &&
      !state_.OneIn(4)) {
    rhs_dims.push_back(
        {state_.Between(1, state_.options.max_dimension), -1, false});
  }
  for (size_t i = rhs_dims.size(); i > 1; --i) {
    std::swap(rhs_dims[i - 1], rhs_dims[state_.Below(i)]);
  }
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < rhs_dims.size(); ++i) {
    sizes.push_back(rhs_dims[i].size);
    if (rhs_dims[i].lhs < 0) continue;
    if (rhs_dims[i].batch) {
      numbers.add_lhs_batch_dimensions(rhs_dims[i].lhs);
      numbers.add_rhs_batch_dimensions(i);
    } else {
      numbers.add_lhs_contracting_dimensions(rhs_dims[i].lhs);
      numbers.add_rhs_contracting_dimensions(i);
    }
  }
  Value rhs =
      Make(ShapeUtil::MakeShape(lhs.type(), sizes), state_.Limit(lhs.type()));
  const Range range = ProductSum(lhs, rhs, terms);
  if (!Fits(lhs.type(), range)) return false;
  absl::StatusOr<Shape> shape = ShapeInference::InferDotOpShape(
      lhs.shape(), rhs.shape(), numbers, std::nullopt);
  if (!shape.ok() ||
      ShapeUtil::ElementsIn(*shape) > 4 * state_.options.max_elements) {
    return false;
  }
  PrecisionConfig precision;
  precision.mutable_operand_precision()->Resize(2, PrecisionConfig::DEFAULT);
  Publish(HloInstruction::CreateDot(*shape, lhs.instruction, rhs.instruction,
                                    numbers, precision),
          range, state_.options.exact && lhs.stable && rhs.stable);
  return true;
}

bool RandomComputation::RaggedDot(HloOpcode opcode) {
  const PrimitiveType type = state_.RandomType();
  if (!IsFloatingPointType(type)) return false;
  const int64_t m = state_.Between(1, state_.options.max_dimension);
  const int64_t k = state_.Between(1, state_.options.max_dimension);
  const int64_t n = state_.Between(1, state_.options.max_dimension);
  const int64_t groups = state_.Between(1, 3);
  Value lhs = Make(ShapeUtil::MakeShape(type, {m, k}), state_.Limit(type));
  Value rhs =
      Make(ShapeUtil::MakeShape(type, {groups, k, n}), state_.Limit(type));
  // Groups of whatever sizes that sum up to m.
  Literal sizes(ShapeUtil::MakeShape(S32, {groups}));
  int64_t left = m;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t size = g + 1 == groups ? left : state_.Between(0, left);
    sizes.Set<int32_t>({g}, static_cast<int32_t>(size));
    left -= size;
  }
  RaggedDotDimensionNumbers numbers;
  numbers.mutable_dot_dimension_numbers()->add_lhs_contracting_dimensions(1);
  numbers.mutable_dot_dimension_numbers()->add_rhs_contracting_dimensions(1);
  numbers.add_lhs_ragged_dimensions(0);
  numbers.add_rhs_group_dimensions(0);
  const Range range = ProductSum(lhs, rhs, k);
  if (!Fits(type, range)) return false;
  HloInstruction* group_sizes =
      Add(HloInstruction::CreateConstant(std::move(sizes)));
  absl::StatusOr<Shape> shape = ShapeInference::InferRaggedDotOpShape(
      lhs.shape(), rhs.shape(), group_sizes->shape(), numbers, std::nullopt);
  if (!shape.ok()) return false;
  PrecisionConfig precision;
  precision.mutable_operand_precision()->Resize(2, PrecisionConfig::DEFAULT);
  Publish(
      HloInstruction::CreateRaggedDot(*shape, lhs.instruction, rhs.instruction,
                                      group_sizes, numbers, precision),
      Union(range, {0, 0}), state_.options.exact && lhs.stable && rhs.stable);
  return true;
}

bool RandomComputation::Convolution(HloOpcode opcode) {
  const PrimitiveType type = state_.RandomType();
  if (type == PRED) return false;
  const int64_t spatial = state_.Between(1, 2);
  // Where batch, feature and spatial dimensions stand in each array.
  auto places = [&] {
    std::vector<int64_t> order(spatial + 2);
    for (int64_t i = 0; i < spatial + 2; ++i) order[i] = i;
    if (state_.OneIn(2)) {
      for (int64_t i = spatial + 1; i > 0; --i) {
        std::swap(order[i], order[state_.Below(i + 1)]);
      }
    }
    return order;
  };
  const std::vector<int64_t> in = places(), kernel = places(), out = places();
  ConvolutionDimensionNumbers numbers;
  numbers.set_input_batch_dimension(in[0]);
  numbers.set_input_feature_dimension(in[1]);
  numbers.set_kernel_output_feature_dimension(kernel[0]);
  numbers.set_kernel_input_feature_dimension(kernel[1]);
  numbers.set_output_batch_dimension(out[0]);
  numbers.set_output_feature_dimension(out[1]);
  int64_t feature_groups = state_.OneIn(3) ? 2 : 1;
  int64_t batch_groups = feature_groups == 1 && state_.OneIn(4) ? 2 : 1;
  const int64_t kernel_features = state_.Between(1, 2);
  std::vector<int64_t> lhs_dims(spatial + 2), rhs_dims(spatial + 2);
  lhs_dims[in[0]] = state_.Between(1, 2) * batch_groups;
  lhs_dims[in[1]] = kernel_features * feature_groups;
  rhs_dims[kernel[0]] = state_.Between(1, 2) * feature_groups * batch_groups;
  rhs_dims[kernel[1]] = kernel_features;
  Shape base = ShapeUtil::MakeShape(type, {});
  std::vector<int64_t> base_dims;
  for (int64_t i = 0; i < spatial; ++i)
    base_dims.push_back(state_.Between(2, 5));
  Window window = RandomWindow(ShapeUtil::MakeShape(type, base_dims),
                               /*dilate_base=*/true, /*pad=*/true);
  int64_t terms = kernel_features;
  for (int64_t i = 0; i < spatial; ++i) {
    numbers.add_input_spatial_dimensions(in[i + 2]);
    numbers.add_kernel_spatial_dimensions(kernel[i + 2]);
    numbers.add_output_spatial_dimensions(out[i + 2]);
    lhs_dims[in[i + 2]] = base_dims[i];
    rhs_dims[kernel[i + 2]] = window.dimensions(i).size();
    window.mutable_dimensions(i)->set_window_reversal(state_.OneIn(4));
    terms *= window.dimensions(i).size();
  }
  if (batch_groups > 1) terms *= lhs_dims[in[0]] / batch_groups;
  Value lhs = Make(ShapeUtil::MakeShape(type, lhs_dims), state_.Limit(type));
  Value rhs = Make(ShapeUtil::MakeShape(type, rhs_dims), state_.Limit(type));
  const Range range = ProductSum(lhs, rhs, terms);
  if (!Fits(type, range)) return false;
  absl::StatusOr<Shape> shape = ShapeInference::InferConvolveShape(
      lhs.shape(), rhs.shape(), feature_groups, batch_groups, window, numbers,
      std::nullopt);
  if (!shape.ok()) return false;
  PrecisionConfig precision;
  precision.mutable_operand_precision()->Resize(2, PrecisionConfig::DEFAULT);
  Publish(HloInstruction::CreateConvolve(
              *shape, lhs.instruction, rhs.instruction, feature_groups,
              batch_groups, window, numbers, precision),
          Union(range, {0, 0}),
          state_.options.exact && lhs.stable && rhs.stable);
  return true;
}

bool RandomComputation::Cholesky(HloOpcode opcode) {
  // a a^T + n 1 is symmetric and positive definite.
  const PrimitiveType type = state_.RandomType();
  if (!IsF32OrF64(type)) return false;
  const int64_t n = state_.Between(1, 4);
  const Shape shape = ShapeUtil::MakeShape(type, {n, n});
  Value a = Make(shape, {-2, 2});
  DotDimensionNumbers numbers;
  numbers.add_lhs_contracting_dimensions(1);
  numbers.add_rhs_contracting_dimensions(1);
  PrecisionConfig precision;
  precision.mutable_operand_precision()->Resize(2, PrecisionConfig::DEFAULT);
  HloInstruction* square = Add(HloInstruction::CreateDot(
      shape, a.instruction, a.instruction, numbers, precision));
  Literal diagonal(shape);
  for (int64_t i = 0; i < n; ++i) {
    if (!diagonal.SetFromDouble({i, i}, static_cast<double>(n)).ok()) {
      return false;
    }
  }
  HloInstruction* definite = Add(HloInstruction::CreateBinary(
      shape, HloOpcode::kAdd, square,
      Add(HloInstruction::CreateConstant(std::move(diagonal)))));
  CholeskyOptions options;
  options.set_lower(state_.OneIn(2));
  HloInstruction* factor =
      Add(HloInstruction::CreateCholesky(shape, definite, options));
  // Only one triangle of the result means anything.
  HloInstruction* rows =
      Add(HloInstruction::CreateIota(ShapeUtil::MakeShape(S32, {n, n}), 0));
  HloInstruction* columns =
      Add(HloInstruction::CreateIota(ShapeUtil::MakeShape(S32, {n, n}), 1));
  HloInstruction* inside = Add(HloInstruction::CreateCompare(
      ShapeUtil::MakeShape(PRED, {n, n}), rows, columns,
      options.lower() ? Comparison::Direction::kGe
                      : Comparison::Direction::kLe));
  Publish(HloInstruction::CreateTernary(shape, HloOpcode::kSelect, inside,
                                        factor, BroadcastScalar(shape, 0)),
          {-8, 8}, false);
  return true;
}

bool RandomComputation::TriangularSolve(HloOpcode opcode) {
  const PrimitiveType type = state_.RandomType();
  if (!IsF32OrF64(type)) return false;
  const int64_t n = state_.Between(1, 4);
  const int64_t m = state_.Between(1, 4);
  TriangularSolveOptions options;
  options.set_left_side(state_.OneIn(2));
  options.set_lower(state_.OneIn(2));
  options.set_unit_diagonal(true);
  options.set_transpose_a(state_.OneIn(2) ? TriangularSolveOptions::NO_TRANSPOSE
                                          : TriangularSolveOptions::TRANSPOSE);
  // |x_i| <= |b| + the sum of the |x| before: at most 2^(n-1) |b|.
  Value a = Make(ShapeUtil::MakeShape(type, {n, n}), {-1, 1});
  Value b = Make(options.left_side() ? ShapeUtil::MakeShape(type, {n, m})
                                     : ShapeUtil::MakeShape(type, {m, n}),
                 {-64, 64});
  const double top = b.range.magnitude() * std::ldexp(1.0, static_cast<int>(n));
  Publish(HloInstruction::CreateTriangularSolve(b.shape(), a.instruction,
                                                b.instruction, options),
          {-top, top}, false);
  return true;
}

bool RandomComputation::Fft(HloOpcode opcode) {
  const FftType fft_type = static_cast<FftType>(state_.Below(4));
  const bool real_input = fft_type == FftType::RFFT;
  Value x = PickArray([&](const Value& value) {
    return value.type() == (real_input ? F32 : C64) &&
           !value.shape().dimensions().empty() && HasElements(value);
  });
  if (x.instruction == nullptr) return false;
  const int64_t last = x.shape().dimensions().back();
  int64_t length = last;
  if (fft_type == FftType::IRFFT) {
    // last = length / 2 + 1.
    length = std::max<int64_t>(1, 2 * (last - 1) + state_.Below(2));
    if (length / 2 + 1 != last) return false;
  }
  absl::StatusOr<Shape> shape =
      ShapeInference::InferFftShape(x.shape(), fft_type, {length});
  if (!shape.ok()) return false;
  const double top = 2 * x.range.magnitude() * static_cast<double>(length);
  if (!Fits(shape->element_type(), {-top, top})) return false;
  Publish(HloInstruction::CreateFft(*shape, x.instruction, fft_type, {length}),
          {-top, top}, false);
  return true;
}

bool RandomComputation::BatchNorm(HloOpcode opcode) {
  Value x = PickArray([](const Value& value) {
    return IsF32OrF64(value.type()) && !value.shape().dimensions().empty() &&
           HasElements(value);
  });
  if (x.instruction == nullptr) return false;
  x = Bounded(x, {-64, 64});
  const PrimitiveType type = x.type();
  const int64_t feature = state_.Below(x.shape().dimensions().size());
  const Shape per_feature =
      ShapeUtil::MakeShape(type, {x.shape().dimensions(feature)});
  constexpr float kEpsilon = 0.125;
  const Range small = {-2, 2};
  Value scale = Make(per_feature, small);
  if (opcode == HloOpcode::kBatchNormTraining) {
    Value offset = Make(per_feature, small);
    absl::StatusOr<Shape> shape = ShapeInference::InferBatchNormTrainingShape(
        x.shape(), scale.shape(), offset.shape(), feature);
    if (!shape.ok()) return false;
    HloInstruction* norm = Add(HloInstruction::CreateBatchNormTraining(
        *shape, x.instruction, scale.instruction, offset.instruction, kEpsilon,
        feature));
    Publish(HloInstruction::CreateGetTupleElement(norm, 0), {-1024, 1024},
            false);
    Publish(HloInstruction::CreateGetTupleElement(norm, 1), {-64, 64}, false);
    Publish(HloInstruction::CreateGetTupleElement(norm, 2), {0, 4096}, false);
    return true;
  }
  Value mean = Make(per_feature, small);
  Value variance = Make(per_feature, {0.25, 4});
  if (opcode == HloOpcode::kBatchNormInference) {
    Value offset = Make(per_feature, small);
    Publish(HloInstruction::CreateBatchNormInference(
                x.shape(), x.instruction, scale.instruction, offset.instruction,
                mean.instruction, variance.instruction, kEpsilon, feature),
            {-1024, 1024}, false);
    return true;
  }
  Value grad = Make(x.shape(), small);
  absl::StatusOr<Shape> shape = ShapeInference::InferBatchNormGradShape(
      x.shape(), scale.shape(), mean.shape(), variance.shape(), grad.shape(),
      feature);
  if (!shape.ok()) return false;
  HloInstruction* norm = Add(HloInstruction::CreateBatchNormGrad(
      *shape, x.instruction, scale.instruction, mean.instruction,
      variance.instruction, grad.instruction, kEpsilon, feature));
  for (int64_t i = 0; i < 3; ++i) {
    Publish(HloInstruction::CreateGetTupleElement(norm, i), {-1e5, 1e5}, false);
  }
  return true;
}

bool RandomComputation::RngBitGenerator(HloOpcode opcode) {
  const bool philox = state_.OneIn(2);
  Value key =
      Make(ShapeUtil::MakeShape(U64, {philox ? 3 : 2}), state_.Limit(U64));
  const PrimitiveType types[] = {U32, U64, U8, U16};
  Shape bits = state_.RandomShape(types[state_.Below(4)]);
  HloInstruction* rng = Add(HloInstruction::CreateRngBitGenerator(
      ShapeUtil::MakeTupleShape({key.shape(), bits}), key.instruction,
      philox ? RandomAlgorithm::RNG_PHILOX : RandomAlgorithm::RNG_THREE_FRY));
  Publish(HloInstruction::CreateGetTupleElement(rng, 0), state_.Limit(U64),
          true);
  Publish(HloInstruction::CreateGetTupleElement(rng, 1),
          state_.Limit(bits.element_type()), true);
  return true;
}

}  // namespace random_module_internal
}  // namespace xla
