#include "xla/hlo/ir/hlo_input_output_alias_config.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// For what modules get wrong: RET_CHECK says where in our code it was found.
template <typename... Words>
absl::Status Expect(bool holds, const Words&... words) {
  return holds ? absl::OkStatus() : absl::InternalError(absl::StrCat(words...));
}

}  // namespace

HloInputOutputAliasConfig::HloInputOutputAliasConfig() = default;
HloInputOutputAliasConfig::HloInputOutputAliasConfig(
    const HloInputOutputAliasConfig& other) = default;
HloInputOutputAliasConfig::HloInputOutputAliasConfig(
    HloInputOutputAliasConfig&& other) noexcept = default;
HloInputOutputAliasConfig& HloInputOutputAliasConfig::operator=(
    const HloInputOutputAliasConfig& other) = default;
HloInputOutputAliasConfig& HloInputOutputAliasConfig::operator=(
    HloInputOutputAliasConfig&& other) noexcept = default;
HloInputOutputAliasConfig::~HloInputOutputAliasConfig() = default;

HloInputOutputAliasConfig::HloInputOutputAliasConfig(Shape output_shape)
    : alias_(std::move(output_shape)) {}

HloBufferDonorConfig::HloBufferDonorConfig() = default;
HloBufferDonorConfig::HloBufferDonorConfig(const HloBufferDonorConfig& other) =
    default;
HloBufferDonorConfig::HloBufferDonorConfig(
    HloBufferDonorConfig&& other) noexcept = default;
HloBufferDonorConfig& HloBufferDonorConfig::operator=(
    const HloBufferDonorConfig& other) = default;
HloBufferDonorConfig& HloBufferDonorConfig::operator=(
    HloBufferDonorConfig&& other) noexcept = default;
HloBufferDonorConfig::~HloBufferDonorConfig() = default;

std::string HloInputOutputAliasConfig::Alias::ToString() const {
  return absl::StrCat("(", parameter_number, ", ", parameter_index.ToString(),
                      ", ", must_alias() ? "must-alias" : "may-alias", ")");
}

absl::Status HloInputOutputAliasConfig::SetUpAlias(
    const ShapeIndex& output_index, int64_t param_number,
    const ShapeIndex& param_index, AliasKind must_alias) {
  if (!ShapeUtil::IndexIsValid(alias_.shape(), output_index)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot alias output ", output_index.ToString(),
                     ", which is not an index "
                     "of ",
                     ShapeUtil::HumanString(alias_.shape())));
  }
  if (param_number < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot alias parameter ", param_number));
  }
  std::optional<Alias>& alias = *alias_.mutable_element(output_index);
  TF_RET_CHECK(!alias.has_value())
      << "output " << output_index.ToString() << " is already aliased to "
      << alias->ToString();
  // Whether another output has the parameter is for Verify() to say.
  alias = Alias(param_number, param_index, must_alias);
  return absl::OkStatus();
}

std::optional<ShapeIndex> HloInputOutputAliasConfig::GetAliasedOutput(
    int64_t param_number, const ShapeIndex& param_index) const {
  std::optional<ShapeIndex> output;
  alias_.ForEachElement(
      [&](const ShapeIndex& index, const std::optional<Alias>& alias) {
        if (alias.has_value() && alias->parameter_number == param_number &&
            alias->parameter_index == param_index) {
          output = index;
        }
      });
  return output;
}

std::optional<HloInputOutputAliasConfig::Alias>
HloInputOutputAliasConfig::GetAliasedParameter(
    const ShapeIndex& output_index) const {
  if (!ShapeUtil::IndexIsValid(alias_.shape(), output_index)) {
    return std::nullopt;
  }
  return alias_.element(output_index);
}

bool HloInputOutputAliasConfig::ParameterMustAlias(
    int64_t param_number, const ShapeIndex& param_index) const {
  std::optional<ShapeIndex> output =
      GetAliasedOutput(param_number, param_index);
  return output.has_value() && GetAliasedParameter(*output)->must_alias();
}

void HloInputOutputAliasConfig::ForEachAlias(AliasFn fn) const {
  alias_.ForEachElement(
      [&](const ShapeIndex& index, const std::optional<Alias>& alias) {
        if (alias.has_value()) fn(index, *alias);
      });
}

absl::Status HloInputOutputAliasConfig::ForEachAliasWithStatus(
    AliasFnWithStatus fn) const {
  return alias_.ForEachElementWithStatus(
      [&](const ShapeIndex& index, const std::optional<Alias>& alias) {
        return alias.has_value() ? fn(index, *alias) : absl::OkStatus();
      });
}

absl::Status HloInputOutputAliasConfig::Verify(
    const HloModule& module,
    absl::FunctionRef<int64_t(const Shape&)> size_func) const {
  const HloComputation* entry = module.entry_computation();
  const Shape& result = entry->root_instruction()->shape();
  absl::flat_hash_set<HloBufferDonorConfig::BufferDonor> seen;
  return ForEachAliasWithStatus([&](const ShapeIndex& output_index,
                                    const Alias& alias) -> absl::Status {
    TF_RETURN_IF_ERROR(Expect(alias.parameter_number < entry->num_parameters(),
                              "aliased parameter ", alias.parameter_number,
                              " of ", entry->num_parameters()));
    const Shape& parameter =
        entry->parameter_instruction(alias.parameter_number)->shape();
    TF_RETURN_IF_ERROR(
        Expect(ShapeUtil::IndexIsValid(parameter, alias.parameter_index),
               "alias ", alias.ToString(), " is not an index of ",
               ShapeUtil::HumanString(parameter)));
    TF_RETURN_IF_ERROR(Expect(ShapeUtil::IndexIsValid(result, output_index),
                              "aliased output ", output_index.ToString(),
                              " is not an index of ",
                              ShapeUtil::HumanString(result)));
    const Shape& input_leaf =
        ShapeUtil::GetSubshape(parameter, alias.parameter_index);
    const Shape& output_leaf = ShapeUtil::GetSubshape(result, output_index);
    TF_RETURN_IF_ERROR(Expect(!input_leaf.IsTuple() && !output_leaf.IsTuple(),
                              "alias ", alias.ToString(), " is of tuples"));
    // Buffers of dynamic shapes have run-time sizes.
    if (input_leaf.is_static() && output_leaf.is_static()) {
      TF_RETURN_IF_ERROR(Expect(
          size_func(input_leaf) == size_func(output_leaf), "parameter ",
          alias.parameter_number, " at ", alias.parameter_index.ToString(),
          " has ", size_func(input_leaf), " bytes and output ",
          output_index.ToString(), " has ", size_func(output_leaf)));
    }
    TF_RETURN_IF_ERROR(Expect(
        seen.emplace(alias.parameter_number, alias.parameter_index).second,
        "alias ", alias.ToString(), " is there twice"));
    return absl::OkStatus();
  });
}

std::string HloInputOutputAliasConfig::ToString() const {
  std::string text = "Input-Output Alias Config\n";
  ForEachAlias([&](const ShapeIndex& output_index, const Alias& alias) {
    absl::StrAppend(&text, "  output ", output_index.ToString(),
                    " aliases parameter ", alias.ToString(), "\n");
  });
  return text;
}

std::string HloInputOutputAliasConfig::ToShortString() const {
  std::string text;
  ForEachAlias([&](const ShapeIndex& output_index, const Alias& alias) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", output_index.ToString(),
                    ": ", alias.ToString());
  });
  return text;
}

// --- Donors ------------------------------------------------------------------

int HloBufferDonorConfig::BufferDonor::Compare(const BufferDonor& other) const {
  if (param_number != other.param_number) {
    return param_number < other.param_number ? -1 : 1;
  }
  if (param_index == other.param_index) return 0;
  return std::lexicographical_compare(param_index.begin(), param_index.end(),
                                      other.param_index.begin(),
                                      other.param_index.end())
             ? -1
             : 1;
}

absl::Status HloBufferDonorConfig::AddBufferDonor(
    int64_t param_number, const ShapeIndex& param_index) {
  TF_RET_CHECK(param_number >= 0) << "parameter " << param_number;
  buffer_donor_.emplace(param_number, param_index);
  return absl::OkStatus();
}

absl::Status HloBufferDonorConfig::RemoveBufferDonor(
    int64_t param_number, const ShapeIndex& param_index) {
  TF_RET_CHECK(param_number >= 0) << "parameter " << param_number;
  buffer_donor_.erase(BufferDonor(param_number, param_index));
  return absl::OkStatus();
}

bool HloBufferDonorConfig::ParameterIsBufferDonor(
    int64_t param_number, const ShapeIndex& param_index) const {
  return buffer_donor_.contains(BufferDonor(param_number, param_index));
}

absl::Status HloBufferDonorConfig::Verify(const HloModule& module) const {
  const HloComputation* entry = module.entry_computation();
  const HloInputOutputAliasConfig& aliases = module.input_output_alias_config();
  for (const BufferDonor& donor : buffer_donor_) {
    TF_RETURN_IF_ERROR(Expect(
        donor.param_number >= 0 && donor.param_number < entry->num_parameters(),
        "donated parameter ", donor.param_number, " of ",
        entry->num_parameters()));
    const Shape& parameter =
        entry->parameter_instruction(donor.param_number)->shape();
    TF_RETURN_IF_ERROR(
        Expect(ShapeUtil::IndexIsValid(parameter, donor.param_index), "donor (",
               donor.param_number, ", ", donor.param_index.ToString(),
               ") is not an index of ", ShapeUtil::HumanString(parameter)));
    TF_RETURN_IF_ERROR(
        Expect(!ShapeUtil::GetSubshape(parameter, donor.param_index).IsTuple(),
               "donor (", donor.param_number, ", ",
               donor.param_index.ToString(), ") is a tuple"));
    TF_RETURN_IF_ERROR(Expect(
        !aliases.ParameterHasAlias(donor.param_number, donor.param_index),
        "donor (", donor.param_number, ", ", donor.param_index.ToString(),
        ") is aliased by an output as well"));
  }
  return absl::OkStatus();
}

std::string HloBufferDonorConfig::ToString() const {
  std::string text = "Buffer Donor Config\n";
  for (const BufferDonor& donor : buffer_donor_) {
    absl::StrAppend(&text, "  parameter ", donor.param_number, " at ",
                    donor.param_index.ToString(), " is donated\n");
  }
  return text;
}

std::string HloBufferDonorConfig::ToShortString() const {
  std::string text;
  for (const BufferDonor& donor : buffer_donor_) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", "(", donor.param_number,
                    ", ", donor.param_index.ToString(), ")");
  }
  return text;
}

std::ostream& operator<<(std::ostream& out,
                         const HloInputOutputAliasConfig& config) {
  return out << config.ToString();
}

std::ostream& operator<<(std::ostream& out,
                         const HloBufferDonorConfig& config) {
  return out << config.ToString();
}

}  // namespace xla
