// Computations to look at, and the outputs of fusions.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
namespace gpu {
namespace {

// The attribute of calls whose body runs as separate kernels on another stream.
constexpr absl::string_view kStreamAnnotation = "_xla_stream_annotation";

bool RunsCalleesAsKernels(const HloInstruction& caller) {
  switch (caller.opcode()) {
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
    case HloOpcode::kFusion:
      return true;
    case HloOpcode::kCall:
      return caller.has_frontend_attributes() &&
             caller.get_frontend_attribute(kStreamAnnotation).has_value();
    default:  // Their callees are parts of their own kernels.
      return false;
  }
}

// A bitcast of what the root returns, by whatever shape.
bool OnlyFeedsRoot(const HloInstruction& bitcast) {
  return bitcast.opcode() == HloOpcode::kBitcast &&
         absl::c_all_of(bitcast.users(), [](const HloInstruction* user) {
           return user->IsRoot();
         });
}

}  // namespace

std::vector<HloComputation*> GetFusibleComputations(
    const HloModule& module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  std::vector<HloComputation*> result =
      module.MakeComputationPostOrder(execution_threads);
  result.erase(
      std::remove_if(result.begin(), result.end(),
                     [](const HloComputation* computation) {
                       return computation->IsFusionComputation() ||
                              !absl::c_all_of(
                                  computation->caller_instructions(),
                                  [](const HloInstruction* caller) {
                                    return RunsCalleesAsKernels(*caller);
                                  });
                     }),
      result.end());
  return result;
}

bool IsConsumerTheOnlyNonRootUser(const HloInstruction& instr,
                                  const HloInstruction& consumer) {
  std::vector<const HloInstruction*> worklist = {&instr};
  while (!worklist.empty()) {
    const HloInstruction* value = worklist.back();
    worklist.pop_back();
    for (const HloInstruction* user : value->users()) {
      if (user == &consumer) continue;
      if (user->opcode() == HloOpcode::kGetTupleElement) {
        worklist.push_back(user);
      } else if (!user->IsRoot() && !OnlyFeedsRoot(*user)) {
        return false;
      }
    }
  }
  return true;
}

int64_t GetInstrCountOfFusible(const HloInstruction& instr) {
  return instr.opcode() == HloOpcode::kFusion ? instr.fused_instruction_count()
                                              : 1;
}

absl::InlinedVector<const HloInstruction*, 2> GetOutputsOfFusible(
    const HloInstruction& instr) {
  if (instr.opcode() != HloOpcode::kFusion) return {&instr};
  const HloInstruction* root = instr.fused_expression_root();
  if (root->opcode() != HloOpcode::kTuple) return {root};
  return {root->operands().begin(), root->operands().end()};
}

size_t GetOutputSizeOfFusible(const HloInstruction& instr) {
  if (instr.opcode() != HloOpcode::kFusion || !instr.IsMultiOutputFusion()) {
    return 1;
  }
  return instr.fused_expression_root()->operand_count();
}

std::vector<const HloInstruction*> GetFusionRoots(
    const HloComputation& computation) {
  std::vector<const HloInstruction*> result;
  // Values, with the elements still to be taken out of them, last first.
  std::vector<std::pair<const HloInstruction*, std::vector<int64_t>>> worklist;
  worklist.push_back({computation.root_instruction(), {}});
  while (!worklist.empty()) {
    auto [value, indices] = std::move(worklist.back());
    worklist.pop_back();
    if (value->opcode() == HloOpcode::kGetTupleElement) {
      indices.push_back(value->tuple_index());
      worklist.push_back({value->operand(0), std::move(indices)});
    } else if (value->opcode() != HloOpcode::kTuple) {
      result.push_back(value);
    } else if (!indices.empty()) {
      const HloInstruction* element = value->operand(indices.back());
      indices.pop_back();
      worklist.push_back({element, std::move(indices)});
    } else {
      for (int64_t i = value->operand_count() - 1; i >= 0; --i) {
        worklist.push_back({value->operand(i), {}});
      }
    }
  }
  return result;
}

}  // namespace gpu
}  // namespace xla
