#include "xla/hlo/transforms/memory/remat_choices.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/transforms/simplifiers/hlo_cse.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

constexpr absl::string_view kSuffix = ".remat";

// The name before rematerialization: that of X.remat, X.remat2, … is X.
absl::string_view OriginalName(absl::string_view name) {
  return name.substr(0, name.find(kSuffix));
}

// The operand of a clone, looking through optimization barriers.
const HloInstruction* BehindBarrier(const HloInstruction* inst) {
  const HloInstruction* barrier = inst;
  int64_t index = -1;
  if (inst->opcode() == HloOpcode::kGetTupleElement) {
    index = inst->tuple_index();
    barrier = inst->operand(0);
  }
  if (barrier->opcode() != HloOpcode::kOptimizationBarrier) return inst;
  const HloInstruction* waits = barrier->operand(0);
  if (index < 0) return waits;
  return waits->opcode() == HloOpcode::kTuple ? waits->operand(index) : inst;
}

class Finder {
 public:
  Finder(const HloComputation& computation,
         const HloInstructionSequence& sequence, const HloCostAnalysis& cost,
         absl::FunctionRef<int64_t(const Shape&)> bytes)
      : computation_(computation),
        sequence_(sequence.instructions()),
        cost_(cost),
        bytes_(bytes) {
    for (size_t i = 0; i < sequence_.size(); ++i) {
      positions_[sequence_[i]] = static_cast<int64_t>(i);
    }
  }

  void Find(RematChoices* choices) {
    for (const HloInstruction* inst : sequence_) {
      const std::string original(OriginalName(inst->name()));
      if (inst->frontend_attributes().map().count(kRematerializedAttribute) >
          0) {
        auto it = latest_.find(original);
        Add(*inst, original, it == latest_.end() ? nullptr : it->second,
            choices->add_choices());
      }
      latest_[original] = inst;
    }
  }

 private:
  // The last reader before, and the first one.
  int64_t LastReader(const HloInstruction& inst, int64_t before) const {
    int64_t last = positions_.at(&inst);
    for (const HloInstruction* user : inst.users()) {
      auto it = positions_.find(user);
      if (it != positions_.end() && it->second < before) {
        last = std::max(last, it->second);
      }
    }
    return last;
  }
  const HloInstruction* FirstReader(const HloInstruction& inst) const {
    const HloInstruction* first = nullptr;
    for (const HloInstruction* user : inst.users()) {
      if (positions_.contains(user) &&
          (first == nullptr || positions_.at(user) < positions_.at(first))) {
        first = user;
      }
    }
    return first;
  }

  void Add(const HloInstruction& clone, const std::string& original,
           const HloInstruction* before, RematChoices::Choice* choice) const {
    choice->set_computation(std::string(computation_.name()));
    choice->set_value(original);
    choice->set_clone(std::string(clone.name()));
    choice->set_opcode(std::string(HloOpcodeString(clone.opcode())));
    choice->set_shape(ShapeUtil::HumanString(clone.shape()));
    choice->set_bytes(static_cast<double>(bytes_(clone.shape())));
    const int64_t position = positions_.at(&clone);
    const int64_t from = before == nullptr ? 0 : LastReader(*before, position);
    choice->set_freed_after(std::string(sequence_[from]->name()));
    choice->set_freed_until(std::string(clone.name()));
    choice->set_freed_instructions(
        static_cast<double>(std::max<int64_t>(0, position - from - 1)));
    for (const HloInstruction* operand : clone.operands()) {
      choice->add_recomputed_from(std::string(BehindBarrier(operand)->name()));
    }
    if (const HloInstruction* reader = FirstReader(clone); reader != nullptr) {
      choice->set_first_reader(std::string(reader->name()));
    }
    choice->set_seconds(cost_.optimal_seconds(clone));
  }

  const HloComputation& computation_;
  const std::vector<HloInstruction*>& sequence_;
  const HloCostAnalysis& cost_;
  const absl::FunctionRef<int64_t(const Shape&)> bytes_;
  absl::flat_hash_map<const HloInstruction*, int64_t> positions_;
  // By name before rematerialization.
  absl::flat_hash_map<std::string, const HloInstruction*> latest_;
};

}  // namespace

absl::StatusOr<RematChoices> FindRematChoices(
    const HloModule& module, const HloCostAnalysis::Options& device,
    absl::FunctionRef<int64_t(const Shape&)> bytes) {
  HloCostAnalysis cost(device);
  TF_RETURN_IF_ERROR(module.entry_computation()->Accept(&cost));
  RematChoices choices;
  for (const HloComputation* computation : module.MakeComputationPostOrder()) {
    if (!module.schedule().is_computation_scheduled(computation)) continue;
    Finder(*computation, module.schedule().sequence(computation), cost, bytes)
        .Find(&choices);
  }
  return choices;
}

}  // namespace xla
