#include "xla/hlo/ir/hlo_module_attributes.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace xla {

HloModuleAttributes::HloModuleAttributes() = default;
HloModuleAttributes::HloModuleAttributes(const HloModuleAttributes&) = default;
HloModuleAttributes& HloModuleAttributes::operator=(
    const HloModuleAttributes&) = default;
HloModuleAttributes::~HloModuleAttributes() = default;

void HloModuleAttributes::add_frontend_attribute(std::string key,
                                                 std::string value) {
  (*frontend_attributes_.mutable_map())[std::move(key)] = std::move(value);
}

std::optional<std::string> HloModuleAttributes::get_frontend_attribute(
    const std::string& key) const {
  auto it = frontend_attributes_.map().find(key);
  if (it == frontend_attributes_.map().end()) return std::nullopt;
  return it->second;
}

void HloModuleAttributes::set_layout_canonicalization_callback(
    LayoutCanonicalizationCallback callback) {
  layout_canonicalization_callback_ = std::move(callback);
}

void HloModuleAttributes::set_spmd_parameters_shardings(
    const std::vector<HloSharding>& shardings) {
  spmd_parameters_shardings_ = shardings;
}

void HloModuleAttributes::set_spmd_output_sharding(
    const HloSharding& sharding) {
  spmd_output_sharding_ = sharding;
}

void HloModuleAttributes::AddCrossProgramPrefetch(
    int64_t parameter, const ShapeIndex& index,
    std::optional<int64_t> alt_memory_offset) {
  cross_program_prefetches_.push_back({parameter, index, alt_memory_offset});
}

absl::Status HloModuleAttributes::SetCrossProgramPrefetchOffset(
    int64_t prefetch_index, int64_t offset) {
  if (prefetch_index < 0 ||
      prefetch_index >=
          static_cast<int64_t>(cross_program_prefetches_.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("no cross-program prefetch ", prefetch_index, " of ",
                     cross_program_prefetches_.size()));
  }
  std::optional<int64_t>& its_offset =
      cross_program_prefetches_[prefetch_index].alt_memory_offset;
  if (its_offset.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cross-program prefetch ", prefetch_index, " has offset ",
                     *its_offset, " already"));
  }
  its_offset = offset;
  return absl::OkStatus();
}

void HloModuleAttributes::add_profile_info(
    const HloModuleProto::ProfileInfo& profile_info) {
  profile_info_list_.push_back(profile_info);
}

void HloModuleAttributes::set_profile_info(
    const std::vector<HloModuleProto::ProfileInfo>& profile_info) {
  profile_info_list_ = profile_info;
}

void HloModuleAttributes::set_autofdo_profile_key(
    HloModuleProto::ProfileType profile_type, absl::string_view profile_key) {
  autofdo_profile_keys_[profile_type] = std::string(profile_key);
}

void HloModuleAttributes::set_autofdo_profile_keys(
    const absl::flat_hash_map<HloModuleProto::ProfileType, std::string>&
        profile_keys) {
  autofdo_profile_keys_ = profile_keys;
}

void HloModuleAttributes::AddDebugAttributes(
    const OriginalArray& original_array,
    const DebugAttributes& debug_attributes) {
  debug_attributes_[original_array].push_back(debug_attributes);
}

LayoutCanonicalizationCallback
HloModuleAttributes::layout_canonicalization_callback() const {
  return layout_canonicalization_callback_;
}

}  // namespace xla
