#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

// Batch normalization over all dimensions but the feature dimension, in double
// (Ioffe and Szegedy, 2015).

namespace xla {
namespace evaluator {
namespace {

// An operand as doubles, seen as [outer, feature, inner].
struct Features {
  int64_t outer = 1;
  int64_t features = 1;
  int64_t inner = 1;

  // Calls fn(feature, offset) for each element.
  template <typename Fn>
  void ForEach(const Fn& fn) const {
    int64_t offset = 0;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t f = 0; f < features; ++f) {
        for (int64_t i = 0; i < inner; ++i) fn(f, offset++);
      }
    }
  }
  double per_feature() const { return static_cast<double>(outer * inner); }
};

// Converts operands: the first (of batch-norm-grad also the last) are arrays,
// the others vectors with one element per feature.
absl::StatusOr<Features> Prepare(const HloInstruction* instruction,
                                 absl::Span<Value> operands,
                                 KernelContext& context) {
  Features shape;
  const int64_t feature = instruction->feature_index();
  const Value& array = operands[0];
  if (feature < 0 || feature >= array.rank()) {
    return InvalidArgument("feature dimension %d is out of bounds", feature);
  }
  for (int64_t d = 0; d < array.rank(); ++d) {
    (d < feature   ? shape.outer
     : d > feature ? shape.inner
                   : shape.features) *= array.dim(d);
  }
  for (Value& operand : operands) {
    if (operand.count() != shape.features && operand.count() != array.count()) {
      return InvalidArgument("an operand has %d elements for %d features",
                             operand.count(), shape.features);
    }
    TF_ASSIGN_OR_RETURN(operand,
                        ConvertValue(std::move(operand), F64, context.budget));
  }
  return shape;
}

absl::StatusOr<Value> MakeVector(int64_t n, KernelContext& context) {
  return Value::MakeZeros(F64, {n}, context.budget);
}

// A tuple of the values, in the types of the result.
absl::StatusOr<Value> Pack(const HloInstruction* instruction,
                           std::vector<Value> values, KernelContext& context) {
  for (size_t i = 0; i < values.size(); ++i) {
    TF_ASSIGN_OR_RETURN(
        values[i],
        ConvertValue(std::move(values[i]),
                     instruction->shape().tuple_shapes(i).element_type(),
                     context.budget));
  }
  return Value::Tuple(std::move(values));
}

// (x - mean) / sqrt(variance + epsilon) * scale + offset.
absl::StatusOr<Value> Normalize(const Features& shape, const Value& operand,
                                const double* scale, const double* offset,
                                const double* mean, const double* variance,
                                double epsilon, KernelContext& context) {
  TF_ASSIGN_OR_RETURN(Value result,
                      Value::Make(F64, operand.dims(), context.budget));
  const double* x = operand.data<double>();
  double* y = result.mutable_data<double>();
  shape.ForEach([&](int64_t f, int64_t i) {
    y[i] = (x[i] - mean[f]) / std::sqrt(variance[f] + epsilon) * scale[f] +
           offset[f];
  });
  return result;
}

}  // namespace

// The variance takes a second pass over the data, so that a mean that is far
// from 0 cancels nothing: the difference of two large sums would.
absl::StatusOr<Value> EvaluateBatchNormTraining(
    const HloInstruction* instruction, absl::Span<Value> operands,
    KernelContext& context) {
  TF_ASSIGN_OR_RETURN(const Features shape,
                      Prepare(instruction, operands, context));
  TF_ASSIGN_OR_RETURN(Value mean, MakeVector(shape.features, context));
  TF_ASSIGN_OR_RETURN(Value variance, MakeVector(shape.features, context));
  const double* x = operands[0].data<double>();
  double* m = mean.mutable_data<double>();
  double* v = variance.mutable_data<double>();
  shape.ForEach([&](int64_t f, int64_t i) { m[f] += x[i]; });
  for (int64_t f = 0; f < shape.features; ++f) m[f] /= shape.per_feature();
  shape.ForEach(
      [&](int64_t f, int64_t i) { v[f] += (x[i] - m[f]) * (x[i] - m[f]); });
  for (int64_t f = 0; f < shape.features; ++f) v[f] /= shape.per_feature();
  TF_ASSIGN_OR_RETURN(Value result,
                      Normalize(shape, operands[0], operands[1].data<double>(),
                                operands[2].data<double>(), m, v,
                                instruction->epsilon(), context));
  return Pack(instruction,
              {std::move(result), std::move(mean), std::move(variance)},
              context);
}

absl::StatusOr<Value> EvaluateBatchNormInference(
    const HloInstruction* instruction, absl::Span<Value> operands,
    KernelContext& context) {
  TF_ASSIGN_OR_RETURN(const Features shape,
                      Prepare(instruction, operands, context));
  TF_ASSIGN_OR_RETURN(
      Value result,
      Normalize(shape, operands[0], operands[1].data<double>(),
                operands[2].data<double>(), operands[3].data<double>(),
                operands[4].data<double>(), instruction->epsilon(), context));
  return ConvertValue(std::move(result), instruction->shape().element_type(),
                      context.budget);
}

absl::StatusOr<Value> EvaluateBatchNormGrad(const HloInstruction* instruction,
                                            absl::Span<Value> operands,
                                            KernelContext& context) {
  TF_ASSIGN_OR_RETURN(const Features shape,
                      Prepare(instruction, operands, context));
  if (operands[4].dims() != operands[0].dims()) {
    return InvalidArgument("gradient and operand have different dimensions");
  }
  const double* x = operands[0].data<double>();
  const double* scale = operands[1].data<double>();
  const double* mean = operands[2].data<double>();
  const double* variance = operands[3].data<double>();
  const double* dy = operands[4].data<double>();
  TF_ASSIGN_OR_RETURN(Value grad_scale, MakeVector(shape.features, context));
  TF_ASSIGN_OR_RETURN(Value grad_offset, MakeVector(shape.features, context));
  TF_ASSIGN_OR_RETURN(Value grad,
                      Value::Make(F64, operands[0].dims(), context.budget));
  std::vector<double> inverse(shape.features);
  for (int64_t f = 0; f < shape.features; ++f) {
    inverse[f] = 1 / std::sqrt(variance[f] + instruction->epsilon());
  }
  double* ds = grad_scale.mutable_data<double>();
  double* db = grad_offset.mutable_data<double>();
  double* dx = grad.mutable_data<double>();
  shape.ForEach([&](int64_t f, int64_t i) {
    ds[f] += dy[i] * (x[i] - mean[f]) * inverse[f];
    db[f] += dy[i];
  });
  const double n = shape.per_feature();
  shape.ForEach([&](int64_t f, int64_t i) {
    const double normal = (x[i] - mean[f]) * inverse[f];
    dx[i] = scale[f] * inverse[f] * (dy[i] - (db[f] + normal * ds[f]) / n);
  });
  return Pack(instruction,
              {std::move(grad), std::move(grad_scale), std::move(grad_offset)},
              context);
}

}  // namespace evaluator
}  // namespace xla
