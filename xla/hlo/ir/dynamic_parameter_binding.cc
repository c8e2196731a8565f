#include "xla/hlo/ir/dynamic_parameter_binding.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {

bool DynamicParameterBinding::Less::operator()(
    const DynamicDimension& a, const DynamicDimension& b) const {
  if (a.parameter_num != b.parameter_num) {
    return a.parameter_num < b.parameter_num;
  }
  if (a.parameter_index != b.parameter_index) {
    return std::lexicographical_compare(
        a.parameter_index.begin(), a.parameter_index.end(),
        b.parameter_index.begin(), b.parameter_index.end());
  }
  return a.dimension < b.dimension;
}

absl::Status DynamicParameterBinding::Bind(
    const DynamicSizeParameter& dynamic_parameter,
    const DynamicDimension& dynamic_dimension) {
  if (!bindings_.try_emplace(dynamic_dimension, dynamic_parameter).second) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dimension ", dynamic_dimension.dimension, " of parameter ",
        dynamic_dimension.parameter_num, " at ",
        dynamic_dimension.parameter_index.ToString(), " is bound already"));
  }
  return absl::OkStatus();
}

std::optional<DynamicParameterBinding::DynamicSizeParameter>
DynamicParameterBinding::GetBinding(
    const DynamicDimension& dynamic_dimension) const {
  auto it = bindings_.find(dynamic_dimension);
  if (it == bindings_.end()) return std::nullopt;
  return it->second;
}

absl::Status DynamicParameterBinding::ForEachBinding(BindingFn fn) const {
  for (const auto& [dimension, parameter] : bindings_) {
    TF_RETURN_IF_ERROR(fn(parameter, dimension));
  }
  return absl::OkStatus();
}

std::string DynamicParameterBinding::ToString() const {
  std::string text = "DynamicParameterBinding:\n";
  for (const auto& [dimension, parameter] : bindings_) {
    absl::StrAppend(&text, " -- dimension ", dimension.dimension,
                    " of parameter ", dimension.parameter_num, " at ",
                    dimension.parameter_index.ToString());
    absl::StrAppend(&text, " has the size in parameter ",
                    parameter.parameter_num, " at ",
                    parameter.parameter_index.ToString(), "\n");
  }
  return text;
}

absl::Status DynamicParameterBinding::Verify(
    const HloComputation& computation) const {
  return ForEachBinding([&](const DynamicSizeParameter& parameter,
                            const DynamicDimension& dimension) -> absl::Status {
    for (int64_t number : {parameter.parameter_num, dimension.parameter_num}) {
      TF_RET_CHECK(number >= 0 && number < computation.num_parameters())
          << "parameter " << number << " of " << computation.num_parameters();
    }
    const Shape& size_shape =
        computation.parameter_instruction(parameter.parameter_num)->shape();
    TF_RET_CHECK(ShapeUtil::IndexIsValid(size_shape, parameter.parameter_index))
        << parameter.parameter_index.ToString();
    const Shape& shape =
        computation.parameter_instruction(dimension.parameter_num)->shape();
    TF_RET_CHECK(ShapeUtil::IndexIsValid(shape, dimension.parameter_index))
        << dimension.parameter_index.ToString();
    const Shape& leaf =
        ShapeUtil::GetSubshape(shape, dimension.parameter_index);
    TF_RET_CHECK(leaf.IsArray() && dimension.dimension >= 0 &&
                 dimension.dimension < leaf.dimensions_size())
        << "dimension " << dimension.dimension << " of "
        << ShapeUtil::HumanString(leaf);
    return absl::OkStatus();
  });
}

std::ostream& operator<<(std::ostream& out,
                         const DynamicParameterBinding& binding) {
  return out << binding.ToString();
}

}  // namespace xla
