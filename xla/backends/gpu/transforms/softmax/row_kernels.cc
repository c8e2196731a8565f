#include "xla/backends/gpu/transforms/softmax/row_kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

constexpr int64_t kShortestRow = 16;

// Opcodes that a kernel may consist of.
bool IsRowWise(const HloInstruction& instruction) {
  if (!instruction.shape().IsArray() || instruction.HasControlDependencies() ||
      instruction.HasSideEffect() || instruction.has_sharding()) {
    return false;
  }
  switch (instruction.opcode()) {
    case HloOpcode::kBroadcast:
    case HloOpcode::kReshape:
    case HloOpcode::kBitcast:
      return true;
    case HloOpcode::kReduce:
      return instruction.operand_count() == 2 &&
             instruction.dimensions().size() == 1;
    case HloOpcode::kCopy:
    case HloOpcode::kFusion:
    case HloOpcode::kMap:
    case HloOpcode::kRng:
    case HloOpcode::kStochasticConvert:
      return false;
    default:  // Elementwise opcodes alone.
      return instruction.IsElementwise() && instruction.operand_count() > 0;
  }
}

// Whether a kernel may end with it: what only renames elements goes with what
// reads it.
bool MayBeResult(const HloInstruction& instruction) {
  return instruction.opcode() != HloOpcode::kBroadcast &&
         instruction.opcode() != HloOpcode::kReshape &&
         instruction.opcode() != HloOpcode::kBitcast;
}

using Set = absl::flat_hash_set<const HloInstruction*>;

// A reduction of rows. Short ones are as cheap in loops, and what is one row
// altogether would be one program.
bool IsOfRows(const HloInstruction& instruction) {
  if (instruction.opcode() != HloOpcode::kReduce ||
      instruction.dimensions().size() != 1 ||
      ShapeUtil::IsEffectiveScalar(instruction.shape())) {
    return false;
  }
  const Shape& shape = instruction.operand(0)->shape();
  const int64_t row = instruction.dimensions(0);
  return shape.has_layout() && LayoutUtil::Minor(shape.layout(), 0) == row &&
         shape.dimensions(row) >= kShortestRow;
}

Set ReductionsOf(const RowKernel& kernel) {
  Set reductions;
  for (const HloInstruction* instruction : kernel) {
    if (IsOfRows(*instruction)) reductions.insert(instruction);
  }
  return reductions;
}

// The reductions and what reads, within the kernel, what follows from one.
Set Follows(const RowKernel& kernel, Set reductions) {
  Set follows = std::move(reductions);
  for (const HloInstruction* instruction : kernel) {
    if (absl::c_any_of(instruction->operands(),
                       [&](const HloInstruction* operand) {
                         return follows.contains(operand);
                       })) {
      follows.insert(instruction);
    }
  }
  return follows;
}

// A reduction's result that is broadcast.
bool GoesBack(const HloInstruction& instruction, const Set& follows) {
  return instruction.opcode() == HloOpcode::kBroadcast &&
         follows.contains(instruction.operand(0));
}

bool HasReductionThatGoesBack(const RowKernel& kernel) {
  const Set follows = Follows(kernel, ReductionsOf(kernel));
  return absl::c_any_of(kernel, [&](const HloInstruction* instruction) {
    return GoesBack(*instruction, follows);
  });
}

// The reductions, what leads to them alone, and what follows from them.
RowKernel Around(const RowKernel& kernel, const Set& reductions) {
  const Set follows = Follows(kernel, reductions);
  Set kept;
  RowKernel result;
  for (size_t i = kernel.size(); i-- > 0;) {
    HloInstruction* instruction = kernel[i];
    const bool is_kept =
        follows.contains(instruction) ||
        (!IsOfRows(*instruction) &&
         absl::c_all_of(instruction->users(), [&](const HloInstruction* user) {
           return kept.contains(user) &&
                  (reductions.contains(user) || !follows.contains(user));
         }));
    if (!is_kept) continue;
    kept.insert(instruction);
    result.push_back(instruction);
  }
  absl::c_reverse(result);
  return result;
}

}  // namespace

bool IsUniformConstant(const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kConstant) {
    return instruction.shape().IsArray() &&
           ShapeUtil::IsEffectiveScalar(instruction.shape());
  }
  return instruction.opcode() == HloOpcode::kBroadcast &&
         instruction.operand(0)->opcode() == HloOpcode::kConstant &&
         ShapeUtil::IsEffectiveScalar(instruction.operand(0)->shape()) &&
         !instruction.HasControlDependencies();
}

// Assigns each instruction to the kernel of its users in reverse post order: if
// all users belong to one kernel, the instruction joins it, otherwise it starts
// a kernel of its own as its result. The kernels found this way are disjoint,
// and only their results are read from outside. Those without a reduction whose
// result is broadcast back to the rows are dropped: they gain nothing from
// keeping a row on chip.
std::vector<RowKernel> FindRowKernels(const HloComputation& computation) {
  const std::vector<HloInstruction*> order =
      computation.MakeInstructionPostOrder();
  // By instruction: the result of its kernel.
  absl::flat_hash_map<const HloInstruction*, const HloInstruction*> result_of;
  for (size_t i = order.size(); i-- > 0;) {
    const HloInstruction* instruction = order[i];
    if (!IsRowWise(*instruction) || IsUniformConstant(*instruction)) continue;
    const HloInstruction* result = nullptr;
    bool is_inside = !instruction->IsRoot() && instruction->user_count() > 0;
    for (const HloInstruction* user : instruction->users()) {
      auto it = result_of.find(user);
      if (it == result_of.end() ||
          (result != nullptr && it->second != result)) {
        is_inside = false;
        break;
      }
      result = it->second;
    }
    if (is_inside) {
      result_of[instruction] = result;
    } else if (MayBeResult(*instruction)) {
      result_of[instruction] = instruction;
    }
  }
  absl::flat_hash_map<const HloInstruction*, size_t> index;
  std::vector<RowKernel> kernels;
  for (HloInstruction* instruction : order) {
    auto it = result_of.find(instruction);
    if (it == result_of.end()) continue;
    auto [known, is_new] = index.try_emplace(it->second, kernels.size());
    if (is_new) kernels.emplace_back();
    kernels[known->second].push_back(instruction);
  }
  kernels.erase(std::remove_if(kernels.begin(), kernels.end(),
                               [](const RowKernel& kernel) {
                                 return !HasReductionThatGoesBack(kernel);
                               }),
                kernels.end());
  return kernels;
}

RowKernel WithoutProducers(const RowKernel& kernel) {
  return Around(kernel, ReductionsOf(kernel));
}

RowKernel WithoutReaders(const RowKernel& kernel) {
  const Set follows = Follows(kernel, ReductionsOf(kernel));
  // The first ones that read what goes back, and what these lead to as long as
  // it follows from nothing else.
  Set back;
  const HloInstruction* last = nullptr;
  for (const HloInstruction* instruction : kernel) {
    if (GoesBack(*instruction, follows)) {
      back.insert(instruction);
      continue;
    }
    if (!absl::c_any_of(instruction->operands(),
                        [&](const HloInstruction* operand) {
                          return back.contains(operand);
                        })) {
      continue;
    }
    if (MayBeResult(*instruction)) {
      last = instruction;
    } else {
      back.insert(instruction);
    }
  }
  if (last == nullptr) return {};
  Set kept = {last};
  RowKernel result;
  for (size_t i = kernel.size(); i-- > 0;) {
    HloInstruction* instruction = kernel[i];
    if (instruction != last &&
        !(instruction->user_count() > 0 &&
          absl::c_all_of(instruction->users(), [&](const HloInstruction* user) {
            return kept.contains(user);
          }))) {
      continue;
    }
    kept.insert(instruction);
    result.push_back(instruction);
  }
  absl::c_reverse(result);
  return HasReductionThatGoesBack(result) ? result : RowKernel();
}

RowKernel OfLastReduction(const RowKernel& kernel) {
  if (ReductionsOf(kernel).size() < 2) return {};
  const auto last = std::find_if(
      kernel.rbegin(), kernel.rend(),
      [](const HloInstruction* instruction) { return IsOfRows(*instruction); });
  const RowKernel result = Around(kernel, {*last});
  return HasReductionThatGoesBack(result) ? result : RowKernel();
}

bool CombinesPairs(const RowKernel& kernel) {
  const Set follows = Follows(kernel, ReductionsOf(kernel));
  // What goes back, and what follows from it alone.
  Set back;
  for (const HloInstruction* instruction : kernel) {
    if (GoesBack(*instruction, follows)) {
      back.insert(instruction);
    } else if (absl::c_any_of(instruction->operands(),
                              [&](const HloInstruction* operand) {
                                return back.contains(operand);
                              })) {
      if (instruction->operand_count() > 2) return false;
      if (instruction->operand_count() == 1) back.insert(instruction);
    }
  }
  return true;
}

}  // namespace xla::gpu
