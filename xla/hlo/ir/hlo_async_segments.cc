#include "xla/hlo/ir/hlo_async_segments.h"

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/const_init.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_async_walk.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla::async_segments {

std::atomic<bool> remembers{false};

namespace {

// Links on the way that are looked at before the table is, and every how many
// links it has an entry.
constexpr int kStride = 32;

// Instructions between two links of a segment that are looked at.
constexpr int kMaxBetween = 64;

// What carries a state within its computation; asked for instructions that are
// half made, too. The target of a custom-call is not known then, and may change
// without notice.
bool Carries(const HloInstruction& inst) {
  if (inst.opcode() == HloOpcode::kCustomCall) return false;
  return inst.opcode() == HloOpcode::kTuple ||
         inst.opcode() == HloOpcode::kGetTupleElement ||
         ForwardsAsyncState(inst);
}

// The first user that takes the state `value` itself.
HloInstruction* DirectConsumer(const HloInstruction* value) {
  for (HloInstruction* user : value->users()) {
    if (user->IsAsyncConsumer() && user->operand(0) == value) return user;
  }
  return nullptr;
}

// From links to an end of their segment, in one direction, for both. An entry
// holds as long as nothing on the way changes its operands.
struct Ends {
  absl::flat_hash_map<const HloInstruction*, const HloInstruction*> first;
  absl::flat_hash_map<const HloInstruction*, const HloInstruction*> last;
};

ABSL_CONST_INIT absl::Mutex ends_mutex(absl::kConstInit);

Ends& RememberedEnds() ABSL_EXCLUSIVE_LOCKS_REQUIRED(ends_mutex) {
  static Ends& ends = *new Ends();
  return ends;
}

using Step = HloInstruction* (*)(const HloInstruction*);

HloInstruction* FindEnd(
    const HloInstruction* link, Step next,
    absl::flat_hash_map<const HloInstruction*, const HloInstruction*> Ends::*
        table) {
  for (int i = 0; i < kStride; ++i) {
    const HloInstruction* following = next(link);
    if (following == nullptr) return const_cast<HloInstruction*>(link);
    link = following;
  }
  absl::MutexLock lock(&ends_mutex);
  auto& ends = RememberedEnds().*table;
  std::vector<const HloInstruction*> way;
  const HloInstruction* end = link;
  while (true) {
    if (auto it = ends.find(end); it != ends.end()) {
      end = it->second;
      break;
    }
    const HloInstruction* following = next(end);
    if (following == nullptr) break;
    way.push_back(end);
    end = following;
  }
  for (size_t i = 0; i + kStride <= way.size(); i += kStride) {
    ends.emplace(way[i], end);
  }
  if (!ends.empty()) remembers.store(true, std::memory_order_release);
  return const_cast<HloInstruction*>(end);
}

}  // namespace

bool DirectlyFollowsLink(const HloInstruction& link) {
  return link.IsAsyncConsumer() && link.operand_count() > 0 &&
         link.operand(0) != nullptr && link.operand(0)->IsAsyncProducer();
}

HloInstruction* Previous(const HloInstruction* link) {
  if (!link->IsAsyncConsumer() || link->operand_count() == 0) return nullptr;
  const HloInstruction* value = link->operand(0);
  ShapeIndex index;
  for (int i = 0; i < kMaxBetween && value != nullptr; ++i) {
    if (index.empty() && value->IsAsyncProducer()) {
      return const_cast<HloInstruction*>(value);
    }
    if (!Carries(*value)) return nullptr;
    if (value->opcode() == HloOpcode::kGetTupleElement) {
      index.push_front(value->tuple_index());
      value = value->operand(0);
    } else if (value->opcode() == HloOpcode::kTuple) {
      if (index.empty() || index.front() < 0 ||
          index.front() >= value->operand_count()) {
        return nullptr;
      }
      value = value->operand(index.front());
      index.pop_front();
    } else {
      value = value->operand(0);
    }
  }
  return nullptr;
}

HloInstruction* Next(const HloInstruction* link) {
  if (!link->IsAsyncProducer()) return nullptr;
  if (HloInstruction* consumer = DirectConsumer(link)) return consumer;
  std::vector<std::pair<const HloInstruction*, ShapeIndex>> work = {{link, {}}};
  for (size_t i = 0; i < work.size(); ++i) {
    const auto [value, index] = work[i];
    if (index.empty()) {
      HloInstruction* consumer = DirectConsumer(value);
      if (consumer != nullptr) return consumer;
    }
    for (const HloInstruction* user : value->users()) {
      if (work.size() >= kMaxBetween) break;
      if (!Carries(*user)) continue;
      if (user->opcode() == HloOpcode::kGetTupleElement) {
        if (!index.empty() && index.front() == user->tuple_index()) {
          work.push_back({user, async_walk::OutsideElement(index)});
        }
      } else if (user->opcode() == HloOpcode::kTuple) {
        const auto operand = absl::c_find(user->operands(), value);
        work.push_back({user, async_walk::InsideElement(
                                  operand - user->operands().begin(), index)});
      } else {
        work.push_back({user, index});
      }
    }
  }
  return nullptr;
}

HloInstruction* First(const HloInstruction* link) {
  return FindEnd(link, Previous, &Ends::first);
}

HloInstruction* Last(const HloInstruction* link) {
  return FindEnd(link, Next, &Ends::last);
}

void Forget(const HloInstruction& user) {
  const bool is_link = user.IsAsynchronous();
  if (!is_link && !Carries(user)) return;
  absl::MutexLock lock(&ends_mutex);
  Ends& ends = RememberedEnds();
  if (user.user_count() > 0) {
    ends.first.clear();
    ends.last.clear();
  } else if (is_link) {
    // No way from a later link leads through one that nothing uses, which is
    // what a chain grows and shrinks by.
    ends.first.erase(&user);
    ends.last.clear();
  }
  if (ends.first.empty() && ends.last.empty()) {
    remembers.store(false, std::memory_order_release);
  }
}

}  // namespace xla::async_segments
