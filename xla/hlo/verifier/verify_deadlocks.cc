#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/module_checks.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/status_macros.h"

// Finds schedules in which devices wait for each other forever. All devices
// run the same sequence, so a send and the recv that it feeds are separate
// instructions of one program, and between them nothing may require all devices
// to proceed together. The check follows the schedule with a balance for each
// list of source-target pairs: sends minus recvs. While a recv waits for its
// send, no collective and no transfer of other pairs may start. Pairs must not
// form cycles either: each device of a cycle would wait for its predecessor.
//
// Callees are followed at their call sites, the branches of a conditional each
// from the balance before it. Afterwards a list of pairs has the least balance
// that a branch leaves: whether some way through the program has a recv waiting
// depends on the least of all ways only, for each list by itself. Conditionals
// of one predicate take the same branch, so a computation that has several of
// them is followed once for each branch. The result for a callee depends only
// on the balance at entry, by which it is memoized: of the lists that it has
// transfers of, and of others that wait. Balances are clamped, so there are few
// different ones.

namespace xla::verifier {
namespace {

constexpr absl::string_view kPairs = "_xla_send_recv_source_target_pairs";

// More of one kind under way make no difference to what is found; the bound
// keeps the states of nested calls few.
constexpr int64_t kMaxCount = 16;

// Ways through a computation, by the predicates that its conditionals share.
// Further predicates count as those of one conditional.
constexpr int64_t kMaxWays = 64;

bool IsCollective(const HloInstruction& inst) {
  return (HloCollectiveInstruction::ClassOf(&inst) ||
          HloCollectivePermuteInstruction::ClassOf(&inst));
}

// Transfers under way, by the text of their pairs: recvs without their sends,
// less than 0, and sends without their recvs, more.
using Balance = std::map<std::string, int64_t>;

// Lists that a balance does not have are at 0.
void KeepLeast(const Balance& other, Balance* balance) {
  for (auto& [pairs, count] : *balance) {
    const auto its = other.find(pairs);
    count = std::min(count, its == other.end() ? 0 : its->second);
  }
  for (const auto& [pairs, count] : other) {
    if (count < 0) balance->emplace(pairs, count);
  }
  for (auto it = balance->begin(); it != balance->end();) {
    it = it->second == 0 ? balance->erase(it) : std::next(it);
  }
}

absl::Status Deadlock(const HloInstruction& inst, absl::string_view detail) {
  return WithCode(absl::StatusCode::kInternal,
                  Broken(Invariant::V165, inst, detail));
}

// Ids of sources and targets in turn; none if the text is something else.
std::vector<int64_t> IdsOf(absl::string_view text) {
  const std::string flat =
      absl::StrReplaceAll(text, {{"{", ""}, {"}", ""}, {" ", ""}});
  std::vector<int64_t> ids;
  for (absl::string_view piece : absl::StrSplit(flat, ',', absl::SkipEmpty())) {
    if (!absl::SimpleAtoi(piece, &ids.emplace_back())) return {};
  }
  if (ids.size() % 2 != 0) ids.clear();
  return ids;
}

// Devices have at most one target, so walking from each source ends or closes a
// cycle; devices that were passed before are not walked again. Linear in the
// number of pairs.
absl::Status CheckPairs(const HloInstruction& inst, absl::string_view text) {
  const std::vector<int64_t> ids = IdsOf(text);
  absl::flat_hash_map<int64_t, int64_t> target_of;
  for (size_t i = 0; i + 1 < ids.size(); i += 2) {
    if (!target_of.emplace(ids[i], ids[i + 1]).second) {
      return Deadlock(inst, absl::StrCat("found ", ids[i], " twice as source"));
    }
  }
  // Each device is left once, so that a walk ends or comes back.
  absl::flat_hash_set<int64_t> done;
  for (size_t i = 0; i + 1 < ids.size(); i += 2) {
    absl::flat_hash_set<int64_t> path;
    int64_t at = ids[i];
    while (path.insert(at).second && !done.contains(at)) {
      const auto next = target_of.find(at);
      if (next == target_of.end()) break;
      at = next->second;
      if (path.contains(at)) {
        return Deadlock(inst,
                        absl::StrCat("its pairs come back to device ", at));
      }
    }
    done.insert(path.begin(), path.end());
  }
  return absl::OkStatus();
}

class DeadlockCheck {
 public:
  explicit DeadlockCheck(const HloModule& module) : module_(module) {
    for (const HloComputation* computation :
         module.MakeComputationPostOrder()) {
      for (const HloInstruction* inst : computation->instructions()) {
        if (!Communicates(*inst)) continue;
        Lists& lists = lists_[computation];
        if (const auto list = ListOf(*inst)) lists.insert(*list);
        for (const HloComputation* callee : inst->called_computations()) {
          if (const auto its = lists_.find(callee); its != lists_.end()) {
            lists.insert(its->second.begin(), its->second.end());
          }
        }
      }
    }
  }

  absl::Status Run() {
    Balance balance;
    return Follow(*module_.entry_computation(), &balance);
  }

 private:
  using Lists = absl::flat_hash_set<std::string>;

  // Whether the devices do something together there.
  bool Communicates(const HloInstruction& inst) const {
    if (IsCollective(inst) || inst.opcode() == HloOpcode::kSend ||
        inst.opcode() == HloOpcode::kRecv) {
      return true;
    }
    return std::any_of(
        inst.called_computations().begin(), inst.called_computations().end(),
        [&](const HloComputation* callee) { return lists_.contains(callee); });
  }

  // The pairs of a transfer between devices; nothing else has any.
  static std::optional<std::string> ListOf(const HloInstruction& inst) {
    if ((inst.opcode() != HloOpcode::kSend &&
         inst.opcode() != HloOpcode::kRecv) ||
        Cast<HloSendRecvInstruction>(&inst)->is_host_transfer()) {
      return std::nullopt;
    }
    return inst.get_frontend_attribute(std::string(kPairs));
  }

  // What chooses a branch.
  struct Choice {
    const HloInstruction* predicate;
    int64_t branches;
    bool is_shared;
  };
  using Taken = absl::flat_hash_map<const HloInstruction*, int64_t>;

  // The choices of several conditionals, and the number of ways they make.
  std::vector<Choice> SharedChoices(const HloComputation& computation,
                                    int64_t* ways) const {
    std::vector<Choice> choices;
    for (const HloInstruction* inst :
         module_.schedule().sequence(&computation).instructions()) {
      if (inst->opcode() != HloOpcode::kConditional || !Communicates(*inst)) {
        continue;
      }
      const auto seen = absl::c_find_if(choices, [&](const Choice& choice) {
        return choice.predicate == inst->operand(0);
      });
      if (seen == choices.end()) {
        choices.push_back({inst->operand(0), inst->branch_count(), false});
      } else {
        seen->branches =
            std::max<int64_t>(seen->branches, inst->branch_count());
        seen->is_shared = true;
      }
    }
    std::vector<Choice> shared;
    for (const Choice& choice : choices) {
      if (!choice.is_shared || choice.branches > kMaxWays / *ways) continue;
      *ways *= choice.branches;
      shared.push_back(choice);
    }
    return shared;
  }

  // Goes through the computation in its order, and through what it calls.
  absl::Status Follow(const HloComputation& computation, Balance* balance) {
    const auto lists = lists_.find(&computation);
    if (lists == lists_.end() ||
        !module_.schedule().is_computation_scheduled(&computation)) {
      return absl::OkStatus();
    }
    // Sends of other lists than its own: nothing in there depends on them.
    Balance apart;
    for (auto it = balance->begin(); it != balance->end();) {
      const auto next = std::next(it);
      if (it->second > 0 && !lists->second.contains(it->first)) {
        apart.insert(balance->extract(it));
      }
      it = next;
    }
    const auto key = std::make_pair(&computation, *balance);
    const auto known = followed_.find(key);
    if (known != followed_.end()) {
      *balance = known->second;
    } else {
      TF_RETURN_IF_ERROR(FollowAllWays(computation, balance));
      followed_.emplace(key, *balance);
    }
    balance->merge(apart);
    return absl::OkStatus();
  }

  absl::Status FollowAllWays(const HloComputation& computation,
                             Balance* balance) {
    const Balance before = *balance;
    int64_t ways = 1;
    const std::vector<Choice> choices = SharedChoices(computation, &ways);
    for (int64_t way = 0; way < ways; ++way) {
      Taken taken;
      int64_t rest = way;
      for (const Choice& choice : choices) {
        taken[choice.predicate] = rest % choice.branches;
        rest /= choice.branches;
      }
      Balance after = before;
      for (const HloInstruction* inst :
           module_.schedule().sequence(&computation).instructions()) {
        if (!Communicates(*inst)) continue;
        TF_RETURN_IF_ERROR(Visit(*inst, taken, &after));
      }
      if (way == 0) {
        *balance = std::move(after);
      } else {
        KeepLeast(after, balance);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Visit(const HloInstruction& inst, const Taken& taken,
                     Balance* balance) {
    const std::optional<std::string> pairs = ListOf(inst);
    if (pairs.has_value()) TF_RETURN_IF_ERROR(CheckPairs(inst, *pairs));
    if (pairs.has_value() || IsCollective(inst)) {
      for (const auto& [other, count] : *balance) {
        if (count >= 0 || other == pairs) continue;
        return Deadlock(inst, absl::StrCat("it starts while a recv of ", other,
                                           " waits for its send"));
      }
    }
    if (pairs.has_value()) {
      int64_t& count = (*balance)[*pairs];
      count += inst.opcode() == HloOpcode::kSend ? 1 : -1;
      count = std::clamp(count, -kMaxCount, kMaxCount);
      if (count == 0) balance->erase(*pairs);
      return absl::OkStatus();
    }
    if (inst.opcode() == HloOpcode::kConditional) {
      const auto way = taken.find(inst.operand(0));
      if (way == taken.end()) return FollowBranches(inst, balance);
      // Beyond the last branch that one runs.
      const int64_t branch =
          std::min<int64_t>(way->second, inst.branch_count() - 1);
      return Follow(*inst.branch_computation(branch), balance);
    }
    for (const HloComputation* callee : inst.called_computations()) {
      TF_RETURN_IF_ERROR(Follow(*callee, balance));
    }
    return absl::OkStatus();
  }

  absl::Status FollowBranches(const HloInstruction& inst, Balance* balance) {
    const Balance before = std::move(*balance);
    for (int64_t branch = 0; branch < inst.branch_count(); ++branch) {
      Balance after = before;
      TF_RETURN_IF_ERROR(Follow(*inst.branch_computation(branch), &after));
      if (branch == 0) {
        *balance = std::move(after);
      } else {
        KeepLeast(after, balance);
      }
    }
    return absl::OkStatus();
  }

  const HloModule& module_;
  // Of the computations that communicate: the pairs of transfers in there.
  absl::flat_hash_map<const HloComputation*, Lists> lists_;
  std::map<std::pair<const HloComputation*, Balance>, Balance> followed_;
};

}  // namespace

absl::Status CheckNoCollectiveDeadlocks(const HloModule& module) {
  if (!module.has_schedule()) return absl::OkStatus();
  return DeadlockCheck(module).Run();
}

}  // namespace xla::verifier
