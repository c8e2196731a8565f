#ifndef XLA_HLO_ANALYSIS_GPU_ALIAS_INFO_H_
#define XLA_HLO_ANALYSIS_GPU_ALIAS_INFO_H_

#include <optional>

#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"

namespace stream_executor {
class DeviceDescription;
}  // namespace stream_executor

namespace xla {

namespace se = ::stream_executor;  // NOLINT(misc-unused-alias-decls)

namespace gpu {

// In-place rules for GPU kernels and collectives.
//
//   f = s32[8] fusion(x), kind=kLoop     x is f32[8], the fusion converts it:
//   → f may be where x is
//
// A fusion's output may reuse the memory of a parameter if both are arrays of
// the same number of elements and bits per element, and only elementwise
// instructions and bitcasts lead from the parameter to the outputs: then a
// thread reads an element before it writes that element. The first reduction
// among the outputs of an input fusion is through when others are written; what
// further ones read may still be needed then. Updates in place are followed on
// their target, and where they read the part that they write (a dynamic-slice
// of equal indices), if they are the only output on the way; scatters and sorts
// of several operands have each result in the memory of its own operand.
// Collectives may work in place on each operand.
class GpuAliasInfo : public AliasInfo {
 public:
  GpuAliasInfo() = default;
  // Rules are the same for all devices.
  explicit GpuAliasInfo(const se::DeviceDescription& device_description) {}

  std::optional<bool> MayAlias(const HloInstruction* operand,
                               const ShapeIndex& operand_index,
                               const HloInstruction* user,
                               const ShapeIndex& user_index) const override;
};

}  // namespace gpu
}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_GPU_ALIAS_INFO_H_
