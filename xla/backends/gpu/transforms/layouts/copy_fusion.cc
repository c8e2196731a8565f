#include "xla/backends/gpu/transforms/layouts/copy_fusion.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// Fills of so many bytes are written where they are needed.
constexpr int64_t kMinBytesOfFill = 1 << 20;

// Whether each element of the result is computed from the same ones of the
// operands: the copy may be there to lie where an operand does. Not through
// bitcasts either, through which OnlyElementwiseUses does not look.
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
      if (user->opcode() == HloOpcode::kCopy || !user->IsElementwise()) {
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
         instruction.user_count() > 0 && !instruction.has_sharding();
}

bool AreEqual(const HloInstruction& a, const HloInstruction& b) {
  return a.Identical(b, std::equal_to<const HloInstruction*>(),
                     [](const HloComputation* x, const HloComputation* y) {
                       return *x == *y;
                     });
}

// The same fills again, which read nothing.
bool MergeFills(const std::vector<HloInstruction*>& fills) {
  // Fills by what they write, in order.
  std::vector<std::vector<HloInstruction*>> groups;
  absl::flat_hash_map<size_t, std::vector<size_t>> groups_of_hash;
  for (HloInstruction* fill : fills) {
    std::vector<size_t>& known = groups_of_hash[absl::HashOf(
        *fill, *fill->fused_instructions_computation())];
    const auto group = absl::c_find_if(
        known, [&](size_t i) { return AreEqual(*groups[i][0], *fill); });
    if (group == known.end()) {
      known.push_back(groups.size());
      groups.push_back({fill});
    } else {
      groups[*group].push_back(fill);
    }
  }
  for (const std::vector<HloInstruction*>& group : groups) {
    // In pairs, pairs of pairs...: merging two takes as long as both are large.
    for (size_t step = 1; step < group.size(); step *= 2) {
      for (size_t i = 0; i + step < group.size(); i += 2 * step) {
        group[i]->MergeFusionInstructionIntoMultiOutput(group[i + step]);
      }
    }
  }
  return groups.size() < fills.size();
}

// Lets the kernel write what `copies` of it compute.
absl::Status WriteCopies(HloInstruction* kernel,
                         absl::Span<HloInstruction* const> copies) {
  HloComputation* computation = kernel->parent();
  HloInstruction* fusion = computation->CreateFusionInstruction(
      {copies[0]}, HloInstruction::FusionKind::kLoop);
  for (HloInstruction* copy : copies.subspan(1)) {
    fusion->FuseInstructionIntoMultiOutput(copy);
    RETURN_IF_ERROR(computation->RemoveInstruction(copy));
  }
  fusion->MergeFusionInstructionIntoMultiOutput(kernel);
  return absl::OkStatus();
}

absl::StatusOr<bool> FuseCopies(HloComputation* computation) {
  bool changed = false;
  std::vector<HloInstruction*> fills;
  for (HloInstruction* kernel : computation->MakeInstructionPostOrder()) {
    if (!IsSource(*kernel)) continue;
    std::vector<HloInstruction*> copies;
    absl::c_copy_if(kernel->users(), std::back_inserter(copies),
                    [](const HloInstruction* user) { return IsCopy(*user); });
    if (!copies.empty()) {
      RETURN_IF_ERROR(WriteCopies(kernel, copies));
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
    ASSIGN_OR_RETURN(const bool fused, FuseCopies(computation));
    changed |= fused;
  }
  return changed;
}

}  // namespace xla::gpu
