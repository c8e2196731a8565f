#ifndef XLA_BACKENDS_GPU_PROGRAM_KERNEL_ALIAS_INFO_H_
#define XLA_BACKENDS_GPU_PROGRAM_KERNEL_ALIAS_INFO_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/backends/gpu/lowering/loop_lowering.h"
#include "xla/backends/gpu/lowering/module_lowering.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"

namespace xla::gpu {

// What results of a module's kernels may be written over: what the default
// rules allow, if the module's kernels can do it (overwriting.h). A rule of
// thumb about opcodes is not enough: a kernel may compute one result after the
// other.
class KernelAliasInfo : public AliasInfo {
 public:
  // The lowering must outlive it.
  explicit KernelAliasInfo(const ModuleLowering& lowering);

  // Null if it is not a kernel, or not lowered.
  const LoweredKernel* Find(const HloInstruction* hlo) const;

  // Whether that result may lie where that operand does: of a dot that the
  // library multiplies (library_dot.h), never.
  bool MayOverwrite(const HloInstruction* hlo, int64_t operand,
                    const ShapeIndex& operand_index,
                    const ShapeIndex& result) const;

  std::optional<bool> MayAlias(const HloInstruction* operand,
                               const ShapeIndex& operand_index,
                               const HloInstruction* user,
                               const ShapeIndex& user_index) const override;

 protected:
  std::optional<std::vector<InPlacePair>> GetNonDefaultInPlaceInputOutputPairs(
      const HloInstruction* user) const override;

 private:
  absl::flat_hash_map<const HloInstruction*, const LoweredKernel*> kernels_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_PROGRAM_KERNEL_ALIAS_INFO_H_
