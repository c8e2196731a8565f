#include "xla/hlo/ir/hlo_clone_context.h"

#include <cstddef>
#include <string>

#include "absl/log/check.h"

namespace xla {

HloCloneContext::HloCloneContext(HloModule* module, const std::string& suffix)
    : module_(module), suffix_(suffix) {}
HloCloneContext::~HloCloneContext() = default;

void HloCloneContext::MapInstruction(const HloInstruction* old_instruction,
                                     HloInstruction* new_instruction) {
  instructions_[old_instruction] = new_instruction;
}

void HloCloneContext::MapComputation(const HloComputation* old_computation,
                                     HloComputation* new_computation) {
  computations_[old_computation] = new_computation;
}

HloInstruction* HloCloneContext::FindInstruction(
    const HloInstruction* old_instruction) const {
  auto it = instructions_.find(old_instruction);
  return it == instructions_.end() ? nullptr : it->second;
}

HloComputation* HloCloneContext::FindComputation(
    const HloComputation* old_computation) const {
  auto it = computations_.find(old_computation);
  return it == computations_.end() ? nullptr : it->second;
}

HloInstruction* HloCloneContext::GetInstruction(
    const HloInstruction* old_instruction) const {
  HloInstruction* found = FindInstruction(old_instruction);
  CHECK(found != nullptr) << "the instruction was not cloned";
  return found;
}

HloComputation* HloCloneContext::GetComputation(
    const HloComputation* old_computation) const {
  HloComputation* found = FindComputation(old_computation);
  CHECK(found != nullptr) << "the computation was not cloned";
  return found;
}

void HloCloneContext::ReserveInstructions(size_t count) {
  instructions_.reserve(count);
}

}  // namespace xla
