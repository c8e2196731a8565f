#ifndef XLA_HLO_TRANSFORMS_SPMD_SHARDING_FORMAT_PICKER_H_
#define XLA_HLO_TRANSFORMS_SPMD_SHARDING_FORMAT_PICKER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::test_only {

// Converts all shardings to one form, for tests that run in every form.
//
//   kV1            before: {devices=[2,2]<=[4]}
//                  after:  {devices=[2,2]0,1,2,3}
//   kBestEffortV2  before: {devices=[2,2]0,1,2,3}
//                  after:  {devices=[2,2]<=[4]}
//   kNamed         before: {devices=[2,2]<=[4]}
//                  after:  {mesh['axis_0'=2,'axis_1'=2], [..]}
class ShardingFormatPicker : public HloModulePass {
 public:
  enum class ShardingType { kV1, kBestEffortV2, kNamed };

  explicit ShardingFormatPicker(ShardingType sharding_type)
      : sharding_type_(sharding_type) {}
  absl::string_view name() const override {
    return "test-only-sharding-format-picker";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  const ShardingType sharding_type_;
};

}  // namespace xla::test_only

#endif  // XLA_HLO_TRANSFORMS_SPMD_SHARDING_FORMAT_PICKER_H_
