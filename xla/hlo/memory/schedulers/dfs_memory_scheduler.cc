#include "xla/hlo/memory/schedulers/dfs_memory_scheduler.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/dfs_hlo_visitor_with_default.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Totals over an instruction and its transitive operands.
struct Behind {
  int64_t extra_users = 0;
  int64_t bytes = 0;
};

using BehindMap = absl::flat_hash_map<const HloInstruction*, Behind>;

int64_t BytesDefined(const HloInstruction& inst,
                     const HloDataflowAnalysis& dataflow,
                     const BufferValue::SizeFunction& size_function) {
  int64_t bytes = 0;
  for (const auto& [index, set] : dataflow.GetInstructionValueSet(&inst)) {
    for (const HloValue* value : set.values()) {
      if (value->instruction() == &inst && value->index() == index) {
        bytes += size_function(*value);
      }
    }
  }
  return bytes;
}

// One pass in post order. Sums over operands count shared subgraphs once per
// path and may grow exponentially with depth, so both are capped: users by the
// number of instructions, bytes by the bytes defined so far.
BehindMap FindBehind(const HloComputation& computation,
                     const HloDataflowAnalysis& dataflow,
                     const BufferValue::SizeFunction& size_function) {
  BehindMap result;
  int64_t bytes_so_far = 0;
  for (const HloInstruction* inst : computation.MakeInstructionPostOrder()) {
    result[inst] = {};
    if (inst->opcode() == HloOpcode::kParameter ||
        inst->opcode() == HloOpcode::kConstant) {
      continue;
    }
    int64_t bytes = BytesDefined(*inst, dataflow, size_function);
    bytes_so_far += bytes;
    Behind sum = {std::max<int64_t>(0, inst->user_count() - 1), bytes};
    absl::flat_hash_set<const HloInstruction*> seen;
    for (const HloInstruction* operand : inst->operands()) {
      if (!seen.insert(operand).second) continue;
      const Behind& more = result[operand];
      sum.extra_users += more.extra_users;
      sum.bytes += more.bytes;
      sum.extra_users =
          std::min(sum.extra_users, computation.instruction_count());
      sum.bytes = std::min(sum.bytes, bytes_so_far);
    }
    result[inst] = sum;
  }
  return result;
}

class SequenceVisitor : public DfsHloVisitorWithDefault {
 public:
  absl::Status DefaultAction(HloInstruction* inst) override {
    sequence_.push_back(inst);
    return absl::OkStatus();
  }
  HloInstructionSequence& sequence() { return sequence_; }

 private:
  HloInstructionSequence sequence_;
};

}  // namespace

absl::StatusOr<HloInstructionSequence> DFSMemoryScheduler::Run(
    HloComputation* computation, const HloAliasAnalysis& alias_analysis) const {
  BehindMap behind = FindBehind(
      *computation, alias_analysis.dataflow_analysis(), size_function());
  SequenceVisitor visitor;
  TF_RETURN_IF_ERROR(computation->AcceptWithOperandOrder(
      &visitor, [&](const HloInstruction* a, const HloInstruction* b) {
        const Behind& one = behind.at(a);
        const Behind& two = behind.at(b);
        return std::make_tuple(-one.extra_users, -one.bytes, a->name()) <
               std::make_tuple(-two.extra_users, -two.bytes, b->name());
      }));
  return std::move(visitor.sequence());
}

}  // namespace xla
