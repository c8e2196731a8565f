#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/status_macros.h"

// An instruction that others wait for becomes several steps, as do those. Each
// step that reads no other one of its instruction waits for each step of the
// other that is read by none of it.
//
//   before: a = f32[8] add(x, y), sharding={replicated}
//           b = f32[8] negate(z), sharding={devices=[2]<=[2]},
//               control-predecessors={a}
//   after:  g = f32[8] all-gather(x)
//           a = f32[8] add(g, y)
//           b = f32[4] negate(z), control-predecessors={a}
//
// Steps are made in the order in which instructions are visited, those that
// others wait for first, so that there are no cycles. The last steps of a root,
// which bring it to the sharding of its computation, are made after all others,
// and nothing waits for them.

namespace xla::spmd {
namespace {

using Steps = std::vector<HloInstruction*>;
using StepSet = absl::flat_hash_set<const HloInstruction*>;

// Steps in the order in which they came, each once.
class DistinctSteps {
 public:
  void Append(const Steps& from) {
    for (HloInstruction* step : from) {
      if (all_.insert(step).second) steps_.push_back(step);
    }
  }
  const Steps& steps() const { return steps_; }

 private:
  Steps steps_;
  StepSet all_;
};

// `roots` and all that they read.
StepSet Needed(std::vector<const HloInstruction*> roots) {
  StepSet needed(roots.begin(), roots.end());
  while (!roots.empty()) {
    const HloInstruction* reader = roots.back();
    roots.pop_back();
    for (const HloInstruction* operand : reader->operands()) {
      if (needed.insert(operand).second) roots.push_back(operand);
    }
  }
  return needed;
}

bool IsThereFromTheStart(const HloInstruction& hlo) {
  return HloPredicateIsOp<HloOpcode::kConstant, HloOpcode::kParameter>(&hlo);
}

// Those of the steps made for an instruction that will stay: constants do not,
// unless the instruction is one itself.
Steps StepsThatStay(const Steps& made, const StepSet& needed) {
  Steps staying, steps;
  for (HloInstruction* step : made) {
    if (!needed.contains(step)) continue;
    staying.push_back(step);
    if (!IsThereFromTheStart(*step)) steps.push_back(step);
  }
  return steps.empty() ? staying : steps;
}

// Those that no other one reads, and those that read no other one.
Steps LastOf(const Steps& steps) {
  const StepSet all(steps.begin(), steps.end());
  Steps last;
  for (HloInstruction* step : steps) {
    if (absl::c_none_of(step->users(), [&](const HloInstruction* user) {
          return all.contains(user);
        })) {
      last.push_back(step);
    }
  }
  return last;
}
Steps FirstOf(const Steps& steps) {
  const StepSet all(steps.begin(), steps.end());
  Steps first;
  for (HloInstruction* step : steps) {
    if (absl::c_none_of(step->operands(), [&](const HloInstruction* operand) {
          return all.contains(operand);
        })) {
      first.push_back(step);
    }
  }
  return first;
}

}  // namespace

absl::Status SpmdPartitioningVisitor::KeepControlDependencies(
    const HloComputation& whole, size_t own_steps,
    HloComputation* partitioned) {
  const std::vector<HloInstruction*> order = whole.MakeInstructionPostOrder();
  if (absl::c_none_of(order, [](const HloInstruction* hlo) {
        return hlo->HasControlDependencies();
      })) {
    return absl::OkStatus();
  }
  // What is dead must not stay for the sake of its place in the order, unless
  // what it was made from stays for that as well.
  std::vector<const HloInstruction*> roots = {partitioned->root_instruction()};
  for (const HloInstruction* step : partitioned->instructions()) {
    if (step->HasSideEffect() &&
        !hlo_query::IsCollectiveCommunicationOp(step->opcode())) {
      roots.push_back(step);
    }
  }
  for (const HloInstruction* hlo : order) {
    if (hlo->HasControlDependencies() && hlo->user_count() == 0) {
      roots.push_back(GetPartitionedHlo(hlo).hlo());
    }
  }
  const StepSet needed = Needed(std::move(roots));

  // The steps that must be done before an instruction, and those with which it
  // is done. One of which nothing is left hands on what it waits for.
  absl::flat_hash_map<const HloInstruction*, Steps> handed_on, done;
  for (HloInstruction* hlo : order) {
    Steps made = b_.derived_instructions(hlo);
    DistinctSteps first, before;
    first.Append(FirstOf(StepsThatStay(made, needed)));
    if (hlo == whole.root_instruction()) made.resize(own_steps);
    const Steps own = StepsThatStay(made, needed);
    first.Append(FirstOf(own));
    for (const HloInstruction* predecessor : hlo->control_predecessors()) {
      before.Append(done.at(predecessor));
    }
    for (const HloInstruction* operand : hlo->operands()) {
      auto it = handed_on.find(operand);
      if (it != handed_on.end()) before.Append(it->second);
    }
    for (HloInstruction* step : first.steps()) {
      for (HloInstruction* predecessor : before.steps()) {
        RETURN_IF_ERROR(predecessor->AddControlDependencyTo(step));
      }
    }
    if (!own.empty()) {
      done[hlo] = LastOf(own);
      continue;
    }
    DistinctSteps ends = before;
    for (const HloInstruction* operand : hlo->operands()) {
      if (!IsThereFromTheStart(*operand)) ends.Append(done.at(operand));
    }
    if (!before.steps().empty()) handed_on[hlo] = before.steps();
    done[hlo] = ends.steps();
  }
  return absl::OkStatus();
}

}  // namespace xla::spmd
