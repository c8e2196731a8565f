#include "xla/hlo/evaluator/scalar_function.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
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
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace evaluator {
namespace {

bool IsScalarOf(const Shape& shape, PrimitiveType type) {
  return shape.IsArray() && shape.dimensions().empty() &&
         (shape.element_type() == type ||
          (primitive_util::IsFloatingPointType(shape.element_type()) &&
           primitive_util::IsFloatingPointType(type)));
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
                               absl::Span<const PrimitiveType> parameters,
                               absl::Span<const PrimitiveType> results,
                               KernelContext& context)
    : computation_(computation),
      context_(context),
      program_(context.device.program().LanesFor(computation)) {
  if (program_ != nullptr) machine_.emplace(*program_);
  for (size_t i = 0; i < parameters.size(); ++i) {
    inputs_.push_back(
        {parameters[i],
         computation->parameter_instruction(i)->shape().element_type()});
  }
  const Shape& root = computation->root_instruction()->shape();
  for (size_t i = 0; i < results.size(); ++i) {
    const Shape& shape = root.IsTuple() ? root.tuple_shapes(i) : root;
    outputs_.push_back({results[i], shape.element_type()});
  }
  const auto differ = [](const Types& types) {
    return types.element != types.scalar;
  };
  converts_ =
      absl::c_any_of(inputs_, differ) || absl::c_any_of(outputs_, differ);
  if (!converts_) return;
  scratch_.resize(inputs_.size() + outputs_.size(),
                  std::vector<char>(kLaneBlock * 16));
}

absl::Status ScalarFunction::Interpret(absl::Span<const void* const> in,
                                       absl::Span<void* const> out, int64_t i) {
  std::vector<Value> arguments;
  arguments.reserve(in.size());
  for (size_t k = 0; k < in.size(); ++k) {
    TF_ASSIGN_OR_RETURN(Value value,
                        Value::Make(inputs_[k].scalar, {}, nullptr));
    const int64_t bytes = ElementBytes(inputs_[k].scalar);
    std::memcpy(value.mutable_raw(),
                static_cast<const char*>(in[k]) + i * bytes, bytes);
    arguments.push_back(std::move(value));
  }
  TF_ASSIGN_OR_RETURN(Value result, context_.device.RunEmbedded(
                                        computation_, std::move(arguments)));
  for (size_t j = 0; j < out.size(); ++j) {
    const Value& element = result.IsTuple() ? result.element(j) : result;
    const int64_t bytes = ElementBytes(outputs_[j].scalar);
    std::memcpy(static_cast<char*>(out[j]) + i * bytes, element.raw(), bytes);
  }
  return absl::OkStatus();
}

absl::Status ScalarFunction::Apply(absl::Span<const void* const> in,
                                   absl::Span<void* const> out, int64_t n) {
  if (!converts_) return ApplyToScalars(in, out, n);
  std::vector<const void*> scalars_in;
  std::vector<void*> scalars_out;
  for (size_t k = 0; k < scratch_.size(); ++k) {
    if (k < in.size()) {
      scalars_in.push_back(scratch_[k].data());
    } else {
      scalars_out.push_back(scratch_[k].data());
    }
  }
  for (int64_t start = 0; start < n; start += kLaneBlock) {
    const int64_t lanes = std::min(kLaneBlock, n - start);
    for (size_t k = 0; k < in.size(); ++k) {
      const auto [element, scalar] = inputs_[k];
      ConvertElements(
          element,
          static_cast<const char*>(in[k]) + start * ElementBytes(element),
          lanes, scalar, scratch_[k].data());
    }
    TF_RETURN_IF_ERROR(ApplyToScalars(scalars_in, scalars_out, lanes));
    for (size_t j = 0; j < out.size(); ++j) {
      const auto [element, scalar] = outputs_[j];
      ConvertElements(
          scalar, scalars_out[j], lanes, element,
          static_cast<char*>(out[j]) + start * ElementBytes(element));
    }
  }
  return absl::OkStatus();
}

absl::Status ScalarFunction::ApplyToScalars(absl::Span<const void* const> in,
                                            absl::Span<void* const> out,
                                            int64_t n) {
  if (program_ == nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      TF_RETURN_IF_ERROR(Interpret(in, out, i));
    }
    return absl::OkStatus();
  }
  for (int64_t start = 0; start < n; start += kLaneBlock) {
    const int64_t lanes = std::min(kLaneBlock, n - start);
    for (size_t k = 0; k < in.size(); ++k) {
      machine_->LoadInput(k,
                          static_cast<const char*>(in[k]) +
                              start * ElementBytes(inputs_[k].scalar),
                          lanes);
    }
    machine_->Run(lanes);
    for (size_t j = 0; j < out.size(); ++j) {
      machine_->StoreOutput(
          j,
          static_cast<char*>(out[j]) + start * ElementBytes(outputs_[j].scalar),
          lanes);
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
