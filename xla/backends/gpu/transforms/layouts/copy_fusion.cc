#include "xla/backends/gpu/transforms/layouts/copy_fusion.h"

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

// Fills of so many bytes are written where they are needed.
constexpr int64_t kMinBytesOfFill = 1 << 20;

// Whether neighbors in the result are computed from neighbors in the operands
// alone.
bool GoesThroughOperands(const HloInstruction& kernel) {
  absl::flat_hash_set<const HloInstruction*> seen;
  std::vector<const HloInstruction*> worklist;
  auto visit = [&](const HloInstruction* value) {
    if (seen.insert(value).second) worklist.push_back(value);
  };
  absl::c_for_each(kernel.fused_parameters(), visit);
  while (!worklist.empty()) {
    const HloInstruction* value = worklist.back();
    worklist.pop_back();
    for (const HloInstruction* user : value->users()) {
      if (user->opcode() != HloOpcode::kBitcast &&
          (user->opcode() == HloOpcode::kCopy || !user->IsElementwise())) {
        return false;
      }
      visit(user);
    }
  }
  return true;
}

bool IsSource(const HloInstruction& kernel) {
  return kernel.opcode() == HloOpcode::kFusion && kernel.IsLoopFusion() &&
         kernel.shape().IsArray() && !kernel.HasControlDependencies() &&
         !kernel.IsRoot() && GoesThroughOperands(kernel);
}

bool IsCopy(const HloInstruction& instruction) {
  return instruction.opcode() == HloOpcode::kCopy &&
         instruction.shape() == instruction.operand(0)->shape() &&
         !instruction.HasControlDependencies() && !instruction.IsRoot() &&
         !instruction.has_sharding();
}

bool AreEqual(const HloInstruction& a, const HloInstruction& b) {
  return a.Identical(b, std::equal_to<const HloInstruction*>(),
                     [](const HloComputation* x, const HloComputation* y) {
                       return *x == *y;
                     });
}

// Whether the kernel also writes what `copies` compute, which it then replaces.
bool Merge(HloInstruction* kernel, const std::vector<HloInstruction*>& copies) {
  for (HloInstruction* copy : copies) {
    kernel->MergeFusionInstructionIntoMultiOutput(copy);
  }
  return !copies.empty();
}

// The same fills again, which read nothing.
bool MergeFills(const std::vector<HloInstruction*>& fills) {
  bool changed = false;
  std::vector<std::vector<HloInstruction*>> groups;
  for (HloInstruction* fill : fills) {
    const auto group = absl::c_find_if(
        groups, [&](const auto& known) { return AreEqual(*known[0], *fill); });
    if (group == groups.end()) {
      groups.push_back({fill});
    } else {
      group->push_back(fill);
    }
  }
  for (const std::vector<HloInstruction*>& group : groups) {
    changed |= Merge(group[0], {group.begin() + 1, group.end()});
  }
  return changed;
}

bool FuseCopies(HloComputation* computation) {
  bool changed = false;
  std::vector<HloInstruction*> fills;
  for (HloInstruction* kernel : computation->MakeInstructionPostOrder()) {
    if (!IsSource(*kernel)) continue;
    const std::vector<HloInstruction*> users(kernel->users().begin(),
                                             kernel->users().end());
    HloInstruction* host = kernel;
    for (HloInstruction* user : users) {
      if (!IsCopy(*user)) continue;
      HloInstruction* copy = computation->CreateFusionInstruction(
          {user}, HloInstruction::FusionKind::kLoop);
      copy->MergeFusionInstructionIntoMultiOutput(host);
      host = copy;
    }
    if (host != kernel) {
      changed = true;
    } else if (kernel->operand_count() == 0 &&
               ShapeUtil::ByteSizeOf(kernel->shape()) < kMinBytesOfFill) {
      fills.push_back(kernel);
    }
  }
  return MergeFills(fills) || changed;
}

}  // namespace

absl::StatusOr<bool> CopyFusion::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (module->has_schedule()) return false;
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    changed |= FuseCopies(computation);
  }
  return changed;
}

}  // namespace xla::gpu
