#include "xla/backends/gpu/program/kernel_alias_info.h"

#include <algorithm>
#include <utility>

#include "xla/backends/gpu/lowering/overwriting.h"
#include "xla/backends/gpu/model/library_dot.h"

namespace xla::gpu {

KernelAliasInfo::KernelAliasInfo(const ModuleLowering& lowering) {
  for (const ModuleLowering::Kernel& kernel : lowering.kernels) {
    if (kernel.status.ok()) kernels_[kernel.hlo] = &kernel.lowered;
  }
}

const LoweredKernel* KernelAliasInfo::Find(const HloInstruction* hlo) const {
  const auto found = kernels_.find(hlo);
  return found == kernels_.end() ? nullptr : found->second;
}

bool KernelAliasInfo::MayOverwrite(const HloInstruction* hlo, int64_t operand,
                                   const ShapeIndex& operand_index,
                                   const ShapeIndex& result) const {
  const LoweredKernel* kernel = Find(hlo);
  return kernel != nullptr && !MakeLibraryDot(*hlo).has_value() &&
         gpu::MayOverwrite(*kernel, operand, operand_index, result);
}

std::optional<bool> KernelAliasInfo::MayAlias(
    const HloInstruction* operand, const ShapeIndex& operand_index,
    const HloInstruction* user, const ShapeIndex& user_index) const {
  if (Find(user) == nullptr) return std::nullopt;
  for (int64_t i = 0; i < user->operand_count(); ++i) {
    if (user->operand(i) == operand &&
        !MayOverwrite(user, i, operand_index, user_index)) {
      return false;
    }
  }
  return std::nullopt;
}

std::optional<std::vector<AliasInfo::InPlacePair>>
KernelAliasInfo::GetNonDefaultInPlaceInputOutputPairs(
    const HloInstruction* user) const {
  if (Find(user) == nullptr) return std::nullopt;
  std::vector<InPlacePair> pairs = AliasInfo().GetInPlaceInputOutputPairs(user);
  pairs.erase(std::remove_if(pairs.begin(), pairs.end(),
                             [&](const InPlacePair& pair) {
                               return !MayOverwrite(
                                   user, pair.first.operand_number,
                                   pair.first.operand_index, pair.second);
                             }),
              pairs.end());
  return pairs;
}

}  // namespace xla::gpu
