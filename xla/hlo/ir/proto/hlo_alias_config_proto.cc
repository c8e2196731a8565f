// Aliasing of inputs and outputs, and buffer donors, to protos and back.

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/repeated_field.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

ShapeIndex ToIndex(const google::protobuf::RepeatedField<int64_t>& field) {
  return ShapeIndex(field.begin(), field.end());
}

void AddIndex(const ShapeIndex& index,
              google::protobuf::RepeatedField<int64_t>* field) {
  for (int64_t i : index) field->Add(i);
}

}  // namespace

HloInputOutputAliasProto HloInputOutputAliasConfig::ToProto() const {
  HloInputOutputAliasProto proto;
  ForEachAlias([&](const ShapeIndex& output_index, const Alias& alias) {
    HloInputOutputAliasProto::AliasEntryProto* entry = proto.add_entries();
    AddIndex(output_index, entry->mutable_output_shape_index());
    entry->set_parameter_number(alias.parameter_number);
    AddIndex(alias.parameter_index, entry->mutable_parameter_shape_index());
    entry->set_kind(alias.must_alias() ? Kind::MUST_ALIAS : Kind::MAY_ALIAS);
  });
  return proto;
}

absl::StatusOr<HloInputOutputAliasConfig>
HloInputOutputAliasConfig::CreateFromProto(
    Shape output_shape, const HloInputOutputAliasProto& proto) {
  HloInputOutputAliasConfig config(std::move(output_shape));
  for (const auto& entry : proto.entries()) {
    // An unset kind counts as may-alias.
    TF_RETURN_IF_ERROR(config.SetUpAlias(
        ToIndex(entry.output_shape_index()), entry.parameter_number(),
        ToIndex(entry.parameter_shape_index()),
        entry.kind() == Kind::MUST_ALIAS ? kMustAlias : kMayAlias));
  }
  return config;
}

HloBufferDonorProto HloBufferDonorConfig::ToProto() const {
  HloBufferDonorProto proto;
  for (const BufferDonor& donor : buffer_donor()) {
    HloBufferDonorProto::BufferDonorEntryProto* entry = proto.add_entries();
    entry->set_parameter_number(donor.param_number);
    AddIndex(donor.param_index, entry->mutable_parameter_shape_index());
  }
  return proto;
}

absl::StatusOr<HloBufferDonorConfig> HloBufferDonorConfig::CreateFromProto(
    const HloBufferDonorProto& proto) {
  HloBufferDonorConfig config;
  for (const auto& entry : proto.entries()) {
    if (entry.parameter_number() < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("buffer donor: negative parameter number ",
                       entry.parameter_number()));
    }
    TF_RETURN_IF_ERROR(config.AddBufferDonor(
        entry.parameter_number(), ToIndex(entry.parameter_shape_index())));
  }
  return config;
}

}  // namespace xla
