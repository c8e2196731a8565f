#include "xla/backends/gpu/transforms/mof/mof_held_bytes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

// A value with more readers is taken to be live throughout.
constexpr int64_t kMaxReaders = 64;

int64_t Bytes(const HloInstruction& value) {
  if (value.opcode() == HloOpcode::kParameter ||
      value.opcode() == HloOpcode::kConstant || value.shape().IsTuple()) {
    return 0;
  }
  return ShapeUtil::ByteSizeOfElementsRecursive(value.shape());
}

// The last place at which somebody other than `but` reads the value.
int64_t LastUse(const MofKernels& kernels, const HloInstruction& value,
                const HloInstruction& but) {
  if (value.user_count() > kMaxReaders || value.IsRoot()) {
    return std::numeric_limits<int64_t>::max();
  }
  int64_t last = -1;
  for (const HloInstruction* user : value.users()) {
    if (user == &but) continue;
    if (user->opcode() == HloOpcode::kGetTupleElement) {
      last = std::max(last, LastUse(kernels, *user, but));
    } else {
      last = std::max(last, kernels.Position(kernels.NodeOf(user)));
    }
  }
  return last;
}

int64_t ResultBytes(const HloInstruction& kernel) {
  return ShapeUtil::ByteSizeOfElementsRecursive(kernel.shape());
}

}  // namespace

int64_t HeldBytes(const MofKernels& kernels, const HloInstruction& a,
                  const HloInstruction& b) {
  const HloInstruction* early = &a;
  const HloInstruction* late = &b;
  int64_t early_at = kernels.Position(kernels.NodeOf(early));
  int64_t late_at = kernels.Position(kernels.NodeOf(late));
  if (early_at > late_at) {
    std::swap(early, late);
    std::swap(early_at, late_at);
  }
  // A result that is through before the other one is there waits for it.
  int64_t at_late = LastUse(kernels, *early, *late) < late_at
                        ? std::min(ResultBytes(*early), ResultBytes(*late))
                        : -ResultBytes(*early);
  for (const HloInstruction* operand : early->unique_operands()) {
    if (LastUse(kernels, *operand, *early) < late_at)
      at_late += Bytes(*operand);
  }
  int64_t at_early = ResultBytes(*late);
  for (const HloInstruction* operand : late->unique_operands()) {
    if (operand->opcode() != HloOpcode::kParameter &&
        operand->opcode() != HloOpcode::kConstant &&
        kernels.Position(kernels.NodeOf(operand)) >= early_at) {
      return std::max<int64_t>(0, at_late);
    }
    if (LastUse(kernels, *operand, *late) < late_at) {
      at_early -= Bytes(*operand);
    }
  }
  return std::max<int64_t>(0, std::min(at_late, at_early));
}

}  // namespace xla::gpu
