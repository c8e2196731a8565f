// Original values to protos and back.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/repeated_field.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_original_value_recovery_table.h"
#include "xla/hlo/ir/proto/hlo_instruction_proto_internal.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla.pb.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// Whether text can say the index, too.
bool IsShapeIndex(const google::protobuf::RepeatedField<int64_t>& index) {
  return absl::c_all_of(index, [](int64_t i) {
    return i >= 0 && i <= std::numeric_limits<int32_t>::max();
  });
}

}  // namespace

OriginalArrayProto OriginalArray::ToProto() const {
  OriginalArrayProto proto;
  proto.set_instruction_name(instruction_name);
  for (int64_t i : shape_index) proto.add_shape_index(i);
  return proto;
}

OriginalArray OriginalArray::FromProto(const OriginalArrayProto& proto) {
  return {proto.instruction_name(),
          ShapeIndex(proto.shape_index().begin(), proto.shape_index().end())};
}

namespace hlo_proto_internal {

absl::Status CheckOriginalArray(const OriginalArrayProto& proto) {
  if (IsShapeIndex(proto.shape_index())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "no index into a shape: {", absl::StrJoin(proto.shape_index(), ","),
      "} of \"", proto.instruction_name(), "\""));
}

}  // namespace hlo_proto_internal

OriginalValueProto OriginalValue::ToProto() const {
  OriginalValueProto proto;
  proto.set_is_synthetic_call(is_synthetic_call());
  for (const auto& [index, array] : original_arrays()) {
    // A leaf without an array is an element without one.
    OriginalValueElementProto* element = proto.add_elements();
    for (int64_t i : index) element->add_shape_index(i);
    if (array.has_value())
      *element->mutable_original_array() = array->ToProto();
  }
  return proto;
}

std::shared_ptr<OriginalValue> OriginalValue::FromProto(
    const OriginalValueProto& proto) {
  if (proto.is_synthetic_call()) {
    return std::make_shared<OriginalValue>(SyntheticCall());
  }
  std::vector<Leaf> leaves;
  leaves.reserve(proto.elements_size());
  for (const OriginalValueElementProto& element : proto.elements()) {
    if (!IsShapeIndex(element.shape_index()) ||
        !IsShapeIndex(element.original_array().shape_index())) {
      return nullptr;
    }
    std::optional<OriginalArray> array;
    if (element.has_original_array()) {
      array = OriginalArray::FromProto(element.original_array());
    }
    leaves.emplace_back(
        ShapeIndex(element.shape_index().begin(), element.shape_index().end()),
        std::move(array));
  }
  return std::make_shared<OriginalValue>(std::move(leaves));
}

OriginalValueRecoveryTableProto OriginalValueRecoveryTable::ToProto() const {
  // In order of the old arrays, as in text.
  std::vector<const Table::value_type*> entries;
  for (const auto& entry : table_) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) {
    return std::tie(a->first.instruction_name, a->first.shape_index) <
           std::tie(b->first.instruction_name, b->first.shape_index);
  });
  OriginalValueRecoveryTableProto proto;
  for (const auto* entry : entries) {
    const auto& [new_array, module] = entry->second;
    OriginalValueRecoveryTableProto::Entry* entry_proto = proto.add_entries();
    *entry_proto->mutable_old_original_array() = entry->first.ToProto();
    *entry_proto->mutable_new_original_array() = new_array.ToProto();
    if (module != nullptr) {
      *entry_proto->mutable_recovery_module() = module->ToProto();
    }
  }
  return proto;
}

absl::StatusOr<OriginalValueRecoveryTable>
OriginalValueRecoveryTable::FromProto(
    const OriginalValueRecoveryTableProto& original_value_recovery_table) {
  OriginalValueRecoveryTable table;
  for (const auto& entry : original_value_recovery_table.entries()) {
    for (const OriginalArrayProto* array :
         {&entry.old_original_array(), &entry.new_original_array()}) {
      TF_RETURN_IF_ERROR(hlo_proto_internal::CheckOriginalArray(*array));
    }
    std::unique_ptr<HloModule> module;
    if (entry.has_recovery_module()) {
      // Modules with tables of their own would nest without limit.
      if (entry.recovery_module().has_original_value_recovery_table()) {
        return absl::InvalidArgumentError(
            "a recovery module has a recovery table");
      }
      TF_ASSIGN_OR_RETURN(HloModuleConfig config,
                          HloModule::CreateModuleConfigFromProto(
                              entry.recovery_module(), DebugOptions()));
      TF_ASSIGN_OR_RETURN(
          module, HloModule::CreateFromProto(entry.recovery_module(), config));
    }
    table.emplace(OriginalArray::FromProto(entry.old_original_array()),
                  {OriginalArray::FromProto(entry.new_original_array()),
                   std::move(module)});
  }
  return table;
}

}  // namespace xla
