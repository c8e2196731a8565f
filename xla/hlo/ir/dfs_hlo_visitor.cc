#include "xla/hlo/ir/dfs_hlo_visitor.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {

template <typename HloInstructionPtr>
absl::Status DfsHloVisitorBase<HloInstructionPtr>::HandleElementwiseUnary(
    HloInstructionPtr hlo) {
  return HandleUnclassified(hlo);
}

template <typename HloInstructionPtr>
absl::Status DfsHloVisitorBase<HloInstructionPtr>::HandleElementwiseBinary(
    HloInstructionPtr hlo) {
  return HandleUnclassified(hlo);
}

template <typename HloInstructionPtr>
absl::Status DfsHloVisitorBase<HloInstructionPtr>::HandleUnclassified(
    HloInstructionPtr hlo) {
  return absl::UnimplementedError(absl::StrCat("visitor does not handle ",
                                               HloOpcodeString(hlo->opcode()),
                                               " (", hlo->name(), ")"));
}

template <typename HloInstructionPtr>
absl::Status DfsHloVisitorBase<HloInstructionPtr>::HandleByClass(
    HloInstructionPtr hlo, HloOpcode opcode) {
  if (HloOpcodeIsElementwiseUnary(opcode) || opcode == HloOpcode::kDomain) {
    return HandleElementwiseUnary(hlo);
  }
  if (HloOpcodeIsElementwiseBinary(opcode) ||
      opcode == HloOpcode::kStochasticConvert) {
    return HandleElementwiseBinary(hlo);
  }
  return HandleUnclassified(hlo);
}

template <typename HloInstructionPtr>
typename DfsHloVisitorBase<HloInstructionPtr>::Page*
DfsHloVisitorBase<HloInstructionPtr>::FindPage(int64_t computation_id) const {
  if (last_page_ != nullptr && last_page_->computation_id == computation_id) {
    return last_page_;
  }
  auto it = pages_.find(computation_id);
  if (it == pages_.end()) return nullptr;
  last_page_ = it->second.get();
  return last_page_;
}

template <typename HloInstructionPtr>
typename DfsHloVisitorBase<HloInstructionPtr>::VisitState
DfsHloVisitorBase<HloInstructionPtr>::GetVisitState(int64_t id) const {
  const int32_t local_id = HloInstruction::CalculateLocalId(id);
  if (id < 0 || local_id < 0) {
    auto it = other_states_.find(id);
    return it == other_states_.end() ? kNotVisited : it->second;
  }
  const Page* page = FindPage(HloInstruction::CalculateParentId(id));
  if (page == nullptr || local_id >= page->states.size()) return kNotVisited;
  return static_cast<VisitState>(page->states[local_id]);
}

template <typename HloInstructionPtr>
typename DfsHloVisitorBase<HloInstructionPtr>::VisitState
DfsHloVisitorBase<HloInstructionPtr>::GetVisitState(
    const HloInstruction& instruction) const {
  return GetVisitState(instruction.unique_id());
}

template <typename HloInstructionPtr>
void DfsHloVisitorBase<HloInstructionPtr>::SetVisitState(int64_t id,
                                                         VisitState state) {
  const int32_t local_id = HloInstruction::CalculateLocalId(id);
  if (id < 0 || local_id < 0) {
    other_states_[id] = state;
    return;
  }
  const int64_t computation_id = HloInstruction::CalculateParentId(id);
  Page* page = FindPage(computation_id);
  if (page == nullptr) {
    std::unique_ptr<Page>& slot = pages_[computation_id];
    slot = std::make_unique<Page>();
    slot->computation_id = computation_id;
    if (reserved_ > 0) slot->states.reserve(reserved_);
    page = last_page_ = slot.get();
  }
  if (local_id >= page->states.size()) {
    page->states.resize(local_id + 1, kNotVisited);
  }
  page->states[local_id] = state;
}

template <typename HloInstructionPtr>
void DfsHloVisitorBase<HloInstructionPtr>::SetVisiting(
    const HloInstruction& instruction) {
  SetVisitState(instruction.unique_id(), kVisiting);
}

template <typename HloInstructionPtr>
void DfsHloVisitorBase<HloInstructionPtr>::SetVisited(
    const HloInstruction& instruction) {
  SetVisitState(instruction.unique_id(), kVisited);
}

template <typename HloInstructionPtr>
size_t DfsHloVisitorBase<HloInstructionPtr>::VisitStateCapacity() const {
  size_t capacity = other_states_.capacity();
  for (const auto& [id, page] : pages_) capacity += page->states.capacity();
  return capacity;
}

template <typename HloInstructionPtr>
void DfsHloVisitorBase<HloInstructionPtr>::ResetVisitStates() {
  last_page_ = nullptr;
  pages_.clear();
  other_states_.clear();
}

template class DfsHloVisitorBase<HloInstruction*>;
template class DfsHloVisitorBase<const HloInstruction*>;

}  // namespace xla
