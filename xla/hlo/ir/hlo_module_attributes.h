#ifndef XLA_HLO_IR_HLO_MODULE_ATTRIBUTES_H_
#define XLA_HLO_IR_HLO_MODULE_ATTRIBUTES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {

class HloModule;

// Chooses layouts of the entry computation's parameters and result.
using LayoutCanonicalizationCallback =
    std::function<absl::StatusOr<std::pair<std::vector<Shape>, Shape>>(
        const HloModule& module)>;

// Attributes of a module that are not tied to its computations: the part of
// HloModule that a clone simply copies.
class HloModuleAttributes {
 public:
  // Not inline, like other members with containers, which nearly every file
  // would otherwise compile.
  HloModuleAttributes();

  void set_frontend_attributes(FrontendAttributes frontend_attributes) {
    frontend_attributes_ = std::move(frontend_attributes);
  }
  void add_frontend_attributes(const FrontendAttributes& attributes) {
    frontend_attributes_.MergeFrom(attributes);
  }
  void add_frontend_attribute(std::string key, std::string value);
  const FrontendAttributes& frontend_attributes() const {
    return frontend_attributes_;
  }
  std::optional<std::string> get_frontend_attribute(
      const std::string& key) const;

  void set_use_auto_spmd_partitioning(bool use) {
    use_auto_spmd_partitioning_ = use;
  }
  bool use_auto_spmd_partitioning() const {
    return use_auto_spmd_partitioning_;
  }
  void set_layout_canonicalization_callback(
      LayoutCanonicalizationCallback callback);
  LayoutCanonicalizationCallback layout_canonicalization_callback() const;

  bool is_dynamic() const { return is_dynamic_; }
  void set_is_dynamic(bool is_dynamic) { is_dynamic_ = is_dynamic; }

  bool has_spmd_parameters_shardings() const {
    return spmd_parameters_shardings_.has_value();
  }
  const std::vector<HloSharding>& spmd_parameters_shardings() const {
    CHECK(spmd_parameters_shardings_.has_value());
    return *spmd_parameters_shardings_;
  }
  void set_spmd_parameters_shardings(const std::vector<HloSharding>& shardings);
  bool has_spmd_output_sharding() const {
    return spmd_output_sharding_.has_value();
  }
  const HloSharding& spmd_output_sharding() const {
    CHECK(spmd_output_sharding_.has_value());
    return *spmd_output_sharding_;
  }
  void set_spmd_output_sharding(const HloSharding& sharding);

  // An entry parameter leaf that the previous program loads into alternate
  // memory, and where (bytes).
  struct CrossProgramPrefetchInfo {
    int64_t parameter;
    ShapeIndex index;
    std::optional<int64_t> alt_memory_offset;
  };
  void AddCrossProgramPrefetch(
      int64_t parameter, const ShapeIndex& index,
      std::optional<int64_t> alt_memory_offset = std::nullopt);
  // InvalidArgument for an index out of range or an offset set before.
  absl::Status SetCrossProgramPrefetchOffset(int64_t prefetch_index,
                                             int64_t offset);
  absl::Span<const CrossProgramPrefetchInfo> CrossProgramPrefetches() const {
    return cross_program_prefetches_;
  }

  bool hlo_passes_started() const { return hlo_passes_started_; }
  void set_hlo_passes_started(bool started) { hlo_passes_started_ = started; }

  int64_t profile_version() const { return profile_version_; }
  void set_profile_version(int64_t profile_version) {
    profile_version_ = profile_version;
  }
  void add_profile_info(const HloModuleProto::ProfileInfo& profile_info);
  void set_profile_info(
      const std::vector<HloModuleProto::ProfileInfo>& profile_info);
  const std::vector<HloModuleProto::ProfileInfo>& profile_info() const {
    return profile_info_list_;
  }
  void set_autofdo_profile_key(HloModuleProto::ProfileType profile_type,
                               absl::string_view profile_key);
  void set_autofdo_profile_keys(
      const absl::flat_hash_map<HloModuleProto::ProfileType, std::string>&
          profile_keys);
  const absl::flat_hash_map<HloModuleProto::ProfileType, std::string>&
  autofdo_profile_keys() const {
    return autofdo_profile_keys_;
  }
  bool has_module_autofdo_profiles() const {
    return !autofdo_profile_keys_.empty();
  }
  void set_relative_speedup(double relative_speedup) {
    relative_speedup_ = relative_speedup;
  }
  double relative_speedup() const { return relative_speedup_; }
  void set_autofdo_fingerprint(absl::string_view fingerprint) {
    autofdo_fingerprint_ = std::string(fingerprint);
  }
  std::string autofdo_fingerprint() const { return autofdo_fingerprint_; }

  // Requests to log original arrays when the program runs.
  struct DebugAttributes {
    enum class DebugLogMode { kNone, kDefault, kFusionDebugger };
    DebugLogMode log_mode = DebugLogMode::kNone;
    int64_t callback_id = 0;
    bool partitioned = false;
    int64_t op_id = 0;

    std::string ToString() const;
  };
  void AddDebugAttributes(const OriginalArray& original_array,
                          const DebugAttributes& debug_attributes);
  const absl::flat_hash_map<OriginalArray, std::vector<DebugAttributes>>&
  debug_attributes() const {
    return debug_attributes_;
  }

 protected:
  ~HloModuleAttributes();
  HloModuleAttributes(const HloModuleAttributes&);
  HloModuleAttributes& operator=(const HloModuleAttributes&);

 private:
  FrontendAttributes frontend_attributes_;
  bool is_dynamic_ = false;
  bool use_auto_spmd_partitioning_ = false;
  bool hlo_passes_started_ = false;
  LayoutCanonicalizationCallback layout_canonicalization_callback_;
  std::optional<std::vector<HloSharding>> spmd_parameters_shardings_;
  std::optional<HloSharding> spmd_output_sharding_;
  std::vector<CrossProgramPrefetchInfo> cross_program_prefetches_;

  int64_t profile_version_ = 0;
  std::vector<HloModuleProto::ProfileInfo> profile_info_list_;
  absl::flat_hash_map<HloModuleProto::ProfileType, std::string>
      autofdo_profile_keys_;
  double relative_speedup_ = 1.0;
  std::string autofdo_fingerprint_;
  absl::flat_hash_map<OriginalArray, std::vector<DebugAttributes>>
      debug_attributes_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_MODULE_ATTRIBUTES_H_
