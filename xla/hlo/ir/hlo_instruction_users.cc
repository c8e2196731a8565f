// The set of users of an instruction.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "xla/hlo/ir/hlo_async_segments.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/mapped_ptr_container_sorter.h"

namespace xla {

void HloInstruction::Users::Clear() {
  for (const HloInstruction* user : users_)
    async_segments::OperandsChange(*user);
  users_.clear();
  user_map_.reset();
}

int64_t HloInstruction::Users::Find(const HloInstruction* user) const {
  if (user_map_ != nullptr) {
    auto it = user_map_->find(user);
    return it == user_map_->end() ? -1 : it->second;
  }
  // Computations are taken apart users first, youngest first.
  for (int64_t i = size() - 1; i >= 0; --i) {
    if (users_[i] == user) return i;
  }
  return -1;
}

bool HloInstruction::Users::Contains(const HloInstruction* instruction) const {
  return Find(instruction) >= 0;
}

void HloInstruction::Users::AddUser(HloInstruction* user) {
  async_segments::OperandsChange(*user);
  if (Contains(user)) return;
  users_.push_back(user);
  if (user_map_ != nullptr) {
    user_map_->emplace(user, size() - 1);
  } else if (size() > kMapThreshold) {
    RebuildMap();
  }
}

void HloInstruction::Users::MaybeRemoveUser(HloInstruction* user) {
  async_segments::OperandsChange(*user);
  const int64_t position = Find(user);
  if (position < 0) return;
  HloInstruction* last = users_.back();
  if (user_map_ != nullptr) {
    (*user_map_)[last] = position;
    user_map_->erase(user);
  }
  users_[position] = last;
  users_.pop_back();
  if (users_.empty()) Clear();
}

void HloInstruction::Users::RemoveUser(HloInstruction* user) {
  DCHECK(Contains(user));
  MaybeRemoveUser(user);
}

int64_t HloInstruction::Users::UserId(const HloInstruction* user) const {
  const int64_t position = Find(user);
  CHECK_GE(position, 0) << user->name() << " is not a user";
  return position;
}

void HloInstruction::Users::RebuildMap() {
  user_map_ =
      std::make_unique<absl::flat_hash_map<const HloInstruction*, int64_t>>();
  user_map_->reserve(users_.size());
  for (int64_t i = 0; i < size(); ++i) user_map_->emplace(users_[i], i);
}

void HloInstruction::Users::SortInstructionUsers(
    absl::FunctionRef<bool(const HloInstruction*, const HloInstruction*)>
        compare) {
  std::sort(users_.begin(), users_.end(), compare);
  if (user_map_ != nullptr) RebuildMap();
}

void HloInstruction::Users::SortInstructionUsers(
    const MappedPtrContainerSorter<HloInstruction>::MapPtrFn& map_fn,
    const Users& sorted_instruction_users) {
  absl::Status status = MappedPtrContainerSorter<HloInstruction>::Sort(
      map_fn, sorted_instruction_users.users_, users_);
  CHECK(status.ok()) << status;
  if (user_map_ != nullptr) RebuildMap();
}

bool HloInstruction::Users::CheckInvariants() const {
  if (user_map_ == nullptr) return size() <= kMapThreshold;
  if (user_map_->size() != users_.size()) return false;
  for (int64_t i = 0; i < size(); ++i) {
    auto it = user_map_->find(users_[i]);
    if (it == user_map_->end() || it->second != i) return false;
  }
  return true;
}

void HloInstruction::SortUsers(
    absl::FunctionRef<bool(const HloInstruction*, const HloInstruction*)>
        compare) {
  users_.SortInstructionUsers(compare);
}

void HloInstruction::SortInstructionUsersAndControlLists(
    const MappedPtrContainerSorter<HloInstruction>::MapPtrFn& map_fn,
    const HloInstruction& sorted_instruction) {
  using Sorter = MappedPtrContainerSorter<HloInstruction>;
  if (users_.size() > 1) {
    users_.SortInstructionUsers(map_fn, sorted_instruction.users_);
  }
  if (!has_rare()) return;
  absl::Status status =
      Sorter::Sort(map_fn, sorted_instruction.control_predecessors(),
                   mutable_rare()->control_predecessors);
  status.Update(Sorter::Sort(map_fn, sorted_instruction.control_successors(),
                             mutable_rare()->control_successors));
  CHECK(status.ok()) << status;
}

}  // namespace xla
