#include "xla/hlo/evaluator/scalar_function.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/device.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/lane_program.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace evaluator {
namespace {

bool IsScalarOf(const Shape& shape, PrimitiveType type) {
  return shape.IsArray() && shape.dimensions().empty() &&
         shape.element_type() == type;
}

}  // namespace

absl::Status CheckSignature(const HloComputation* computation,
                            absl::Span<const PrimitiveType> parameters,
                            absl::Span<const PrimitiveType> results) {
  bool fits =
      computation->num_parameters() == static_cast<int64_t>(parameters.size());
  for (size_t i = 0; fits && i < parameters.size(); ++i) {
    fits = IsScalarOf(computation->parameter_instruction(i)->shape(),
                      parameters[i]);
  }
  const Shape& root = computation->root_instruction()->shape();
  if (root.IsTuple()) {
    fits = fits && root.tuple_shapes_size() == results.size();
    for (size_t i = 0; fits && i < results.size(); ++i) {
      fits = IsScalarOf(root.tuple_shapes(i), results[i]);
    }
  } else {
    fits = fits && results.size() == 1 && IsScalarOf(root, results[0]);
  }
  if (fits) return absl::OkStatus();
  return InvalidArgument(
      "computation %s has the signature %s, which does not fit the operands",
      computation->name(),
      ShapeUtil::HumanString(computation->ComputeProgramShape()));
}

ScalarFunction::ScalarFunction(const HloComputation* computation,
                               KernelContext& context)
    : computation_(computation),
      context_(context),
      program_(context.device.program().LanesFor(computation)) {
  if (program_ != nullptr) machine_.emplace(*program_);
  for (const HloInstruction* parameter :
       computation->parameter_instructions()) {
    input_types_.push_back(parameter->shape().element_type());
    input_bytes_.push_back(ElementBytes(input_types_.back()));
  }
  const Shape& root = computation->root_instruction()->shape();
  if (root.IsTuple()) {
    for (const Shape& shape : root.tuple_shapes()) {
      output_bytes_.push_back(ElementBytes(shape.element_type()));
    }
  } else {
    output_bytes_.push_back(ElementBytes(root.element_type()));
  }
}

absl::Status ScalarFunction::Interpret(absl::Span<const void* const> in,
                                       absl::Span<void* const> out, int64_t i) {
  std::vector<Value> arguments;
  arguments.reserve(in.size());
  for (size_t k = 0; k < in.size(); ++k) {
    TF_ASSIGN_OR_RETURN(Value value, Value::Make(input_types_[k], {}, nullptr));
    std::memcpy(value.mutable_raw(),
                static_cast<const char*>(in[k]) + i * input_bytes_[k],
                input_bytes_[k]);
    arguments.push_back(std::move(value));
  }
  TF_ASSIGN_OR_RETURN(Value result, context_.device.RunEmbedded(
                                        computation_, std::move(arguments)));
  for (size_t j = 0; j < out.size(); ++j) {
    const Value& element = result.IsTuple() ? result.element(j) : result;
    std::memcpy(static_cast<char*>(out[j]) + i * output_bytes_[j],
                element.raw(), output_bytes_[j]);
  }
  return absl::OkStatus();
}

absl::Status ScalarFunction::Apply(absl::Span<const void* const> in,
                                   absl::Span<void* const> out, int64_t n) {
  if (program_ == nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      TF_RETURN_IF_ERROR(Interpret(in, out, i));
    }
    return absl::OkStatus();
  }
  for (int64_t start = 0; start < n; start += kLaneBlock) {
    const int64_t lanes = std::min(kLaneBlock, n - start);
    for (size_t k = 0; k < in.size(); ++k) {
      machine_->LoadInput(
          k, static_cast<const char*>(in[k]) + start * input_bytes_[k], lanes);
    }
    machine_->Run(lanes);
    for (size_t j = 0; j < out.size(); ++j) {
      machine_->StoreOutput(
          j, static_cast<char*>(out[j]) + start * output_bytes_[j], lanes);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ScalarFunction::Test(absl::Span<const void* const> in) {
  bool result = false;
  void* out[1] = {&result};
  TF_RETURN_IF_ERROR(Apply(in, out, 1));
  return result;
}

}  // namespace evaluator
}  // namespace xla
