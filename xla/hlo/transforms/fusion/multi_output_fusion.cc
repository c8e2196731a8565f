#include "xla/hlo/transforms/fusion/multi_output_fusion.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/hlo_reachability.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/transforms/fusion/fusible_opcodes.h"
#include "xla/hlo/transforms/fusion/instruction_fusion.h"
#include "xla/hlo/utils/fusion_decision.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

constexpr int64_t kUsersPerSlice = 128;
constexpr int64_t kMaxOperandsAndOutputs = 1024;
constexpr int64_t kKiB = 1024;

bool IsMultiOutput(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kFusion && hlo.IsMultiOutputFusion();
}

int64_t OutputCount(const HloInstruction& hlo) {
  return IsMultiOutput(hlo) ? hlo.fused_expression_root()->operand_count() : 1;
}

const Shape& LoopShape(const HloInstruction& hlo) {
  return IsMultiOutput(hlo) ? hlo.shape().tuple_shapes(0) : hlo.shape();
}

// Calls `fn` with each operand that both have, once.
template <typename Fn>
void ForEachSharedOperand(HloInstruction* a, HloInstruction* b, const Fn& fn) {
  if (a->operand_count() > b->operand_count()) std::swap(a, b);
  absl::InlinedVector<HloInstruction*, 4> seen;
  for (HloInstruction* operand : a->operands()) {
    if (!b->IsUserOf(operand)) continue;
    // Operands of fusions are distinct; those of others are few.
    if (a->opcode() != HloOpcode::kFusion) {
      if (absl::c_linear_search(seen, operand)) continue;
      seen.push_back(operand);
    }
    fn(operand);
  }
}

}  // namespace

// The work on one computation. Candidates are numbered in post order; a fusion
// keeps the number of the one that stays.
//
// Sibling fusion: instructions that read a common large operand are merged so
// that it is read once. All pairs of users of an operand are put on a heap by
// profit (bytes read once instead of twice); pairs are limited by looking only
// at slices of 128 users, which bounds the number of pairs by 128 times the
// number of uses. After a merge, the pairs of the merged candidate are pushed
// again with their new profit. Outdated pairs stay on the heap and are
// recognized by version numbers.
//
// Candidates must not depend on each other. Reachability is built only when it
// is first needed: most merges are between candidates from which no other
// candidate is reachable, and those need no check at all.
class MultiOutputFusionRun {
 public:
  MultiOutputFusionRun(MultiOutputFusion* pass, HloComputation* computation)
      : pass_(*pass), computation_(computation) {}

  absl::StatusOr<bool> Run() {
    FindCandidates();
    FindPairs();
    bool changed = false;
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const Pair pair = heap_.back();
      heap_.pop_back();
      if (pair.version1 != version_[pair.index1] ||
          pair.version2 != version_[pair.index2]) {
        continue;
      }
      TF_ASSIGN_OR_RETURN(bool fused, TryFuse(pair.index1, pair.index2));
      changed |= fused;
    }
    return changed;
  }

 private:
  struct Pair {
    int64_t profit;
    // Counts up.
    int64_t timestamp;
    int32_t index1, index2;
    int32_t version1, version2;

    // The top of the heap is the greatest.
    bool operator<(const Pair& other) const {
      return std::make_tuple(profit, -timestamp) <
             std::make_tuple(other.profit, -other.timestamp);
    }
  };

  void FindCandidates() {
    const std::vector<HloInstruction*> post_order =
        computation_->MakeInstructionPostOrder();
    number_.assign(computation_->next_unique_instruction_internal_id(), -1);
    values_ = post_order;
    for (HloInstruction* hlo : post_order) {
      if (!pass_.IsFusible(hlo)) continue;
      number_[hlo->local_id()] = static_cast<int32_t>(candidates_.size());
      candidates_.push_back(hlo);
    }
    std::vector<bool> leads_on(number_.size(), false);
    for (auto it = post_order.rbegin(); it != post_order.rend(); ++it) {
      auto leads = [&](const HloInstruction* next) {
        return number_[next->local_id()] >= 0 || leads_on[next->local_id()];
      };
      leads_on[(*it)->local_id()] =
          absl::c_any_of((*it)->users(), leads) ||
          absl::c_any_of((*it)->control_successors(), leads);
    }
    for (HloInstruction* candidate : candidates_) {
      is_last_.push_back(!leads_on[candidate->local_id()]);
      members_.push_back({candidate});
    }
    version_.assign(candidates_.size(), 0);
    partners_.resize(candidates_.size());
  }

  void FindPairs() {
    absl::flat_hash_set<std::pair<int32_t, int32_t>> seen;
    for (HloInstruction* value : values_) {
      if (value->user_count() < 2 || !pass_.IsProfitableOperand(value)) {
        continue;
      }
      std::vector<int32_t> users;
      for (const HloInstruction* user : value->users()) {
        const int32_t number = number_[user->local_id()];
        if (number >= 0) users.push_back(number);
      }
      absl::c_sort(users);
      for (size_t begin = 0; begin < users.size(); begin += kUsersPerSlice) {
        const size_t end =
            std::min<size_t>(users.size(), begin + kUsersPerSlice);
        for (size_t i = begin; i < end; ++i) {
          for (size_t j = i + 1; j < end; ++j) {
            if (!pass_.ShapesCompatibleForFusion(candidates_[users[i]],
                                                 candidates_[users[j]]) ||
                !seen.insert({users[i], users[j]}).second) {
              continue;
            }
            partners_[users[i]].push_back(users[j]);
            partners_[users[j]].push_back(users[i]);
            Push(users[i], users[j]);
          }
        }
      }
    }
  }

  void Push(int32_t a, int32_t b) {
    HloInstruction* first = candidates_[a];
    HloInstruction* second = candidates_[b];
    if (first->opcode() != HloOpcode::kFusion &&
        second->opcode() != HloOpcode::kFusion) {
      return;
    }
    const int64_t profit = pass_.GetProfit(first, second);
    if (profit <= 0) return;
    heap_.push_back({profit, ++timestamp_, std::min(a, b), std::max(a, b),
                     version_[std::min(a, b)], version_[std::max(a, b)]});
    std::push_heap(heap_.begin(), heap_.end());
  }

  absl::StatusOr<bool> TryFuse(int32_t a, int32_t b) {
    HloInstruction* first = candidates_[a];
    HloInstruction* second = candidates_[b];
    if (!pass_.LegalToFuse(first, second)) return false;
    if (AreConnected(a, b)) return false;
    HloInstruction* fusion = pass_.Fuse(first, second);
    // The number of the one that stays, or of the first if both are replaced.
    const int32_t kept = fusion == second ? b : a;
    const int32_t gone = kept == a ? b : a;
    UpdateReachability(kept, gone, fusion);
    if (fusion != candidates_[kept]) {
      TF_RETURN_IF_ERROR(RemoveIfDead(candidates_[kept]));
    }
    TF_RETURN_IF_ERROR(RemoveIfDead(candidates_[gone]));
    candidates_[kept] = fusion;
    candidates_[gone] = nullptr;
    ++version_[kept];
    ++version_[gone];

    std::vector<int32_t> partners = std::move(partners_[kept]);
    partners.insert(partners.end(), partners_[gone].begin(),
                    partners_[gone].end());
    partners_[gone].clear();
    absl::c_sort(partners);
    partners.erase(std::unique(partners.begin(), partners.end()),
                   partners.end());
    std::vector<int32_t>& alive = partners_[kept];
    alive.clear();
    for (int32_t partner : partners) {
      if (partner == kept || candidates_[partner] == nullptr) continue;
      if (!absl::c_linear_search(partners_[partner], kept)) {
        partners_[partner].push_back(kept);
      }
      alive.push_back(partner);
      Push(kept, partner);
    }
    return true;
  }

  bool AreConnected(int32_t a, int32_t b) {
    if (is_last_[a] && is_last_[b]) return false;
    if (reachability_ == nullptr) {
      reachability_ = HloReachabilityMap::Build(computation_);
    }
    for (const HloInstruction* x : members_[a]) {
      for (const HloInstruction* y : members_[b]) {
        if (reachability_->IsConnected(x, y)) return true;
      }
    }
    return false;
  }

  // `fusion` takes the place of both.
  void UpdateReachability(int32_t kept, int32_t gone,
                          const HloInstruction* fusion) {
    std::vector<const HloInstruction*> members = std::move(members_[kept]);
    members.insert(members.end(), members_[gone].begin(), members_[gone].end());
    members_[gone].clear();
    if (reachability_ == nullptr) {
      // Will be built from the graph as it is then.
      members = {fusion};
    } else {
      if (fusion != candidates_[kept]) {
        reachability_->Replace(candidates_[kept], fusion);
        std::replace(members.begin(), members.end(),
                     static_cast<const HloInstruction*>(candidates_[kept]),
                     fusion);
      }
      if (!is_last_[kept] || !is_last_[gone]) {
        for (size_t i = 1; i < members.size(); ++i) {
          reachability_->UpdateReachabilityForMerge(members[0], members[i]);
        }
        members.resize(1);
        is_last_[kept] = false;
      }
    }
    members_[kept] = std::move(members);
  }

  absl::Status RemoveIfDead(HloInstruction* hlo) {
    if (hlo->parent() != computation_ || !hlo->IsDead() ||
        computation_->IsMarkedAsDead(hlo)) {
      return absl::OkStatus();
    }
    return computation_->RemoveInstruction(hlo);
  }

  MultiOutputFusion& pass_;
  HloComputation* computation_;
  std::vector<HloInstruction*> values_;
  std::vector<HloInstruction*> candidates_;
  // By local id: number of a candidate, or -1.
  std::vector<int32_t> number_;
  // By number; goes up when the candidate changes or goes.
  std::vector<int32_t> version_;
  // By number: those that share a value with it, or with what it took in.
  std::vector<std::vector<int32_t>> partners_;
  std::vector<Pair> heap_;
  int64_t timestamp_ = 0;
  // By number: no candidate can be reached from it. Two such are not connected,
  // and to fuse them connects no others: the map need not know.
  std::vector<bool> is_last_;
  // By number: what it stands for in the map; one instruction but for fusions
  // of such.
  std::vector<std::vector<const HloInstruction*>> members_;
  // Built when it is first asked for.
  std::unique_ptr<HloReachabilityMap> reachability_;
};

bool MultiOutputFusion::IsFusible(HloInstruction* instr) {
  if (instr->opcode() != HloOpcode::kFusion) {
    return instr->IsElementwise() && instr->operand_count() > 0 &&
           instr->user_count() > 0 && MayBeFused(*instr) &&
           !instr->HasControlDependencies();
  }
  if (!instr->IsLoopFusion()) return false;
  if (!instr->IsMultiOutputFusion()) return instr->shape().IsArray();
  return instr->shape().tuple_shapes_size() > 0 && !instr->IsRoot() &&
         absl::c_all_of(instr->shape().tuple_shapes(),
                        [](const Shape& shape) { return shape.IsArray(); }) &&
         absl::c_all_of(instr->users(), [](const HloInstruction* user) {
           return user->opcode() == HloOpcode::kGetTupleElement;
         });
}

bool MultiOutputFusion::IsProfitableOperand(HloInstruction* instr) {
  return instr->shape().IsArray() &&
         !ShapeUtil::IsEffectiveScalar(instr->shape());
}

bool MultiOutputFusion::ShapesCompatibleForFusion(HloInstruction* instr1,
                                                  HloInstruction* instr2) {
  return ShapeUtil::EqualIgnoringElementType(LoopShape(*instr1),
                                             LoopShape(*instr2));
}

int64_t MultiOutputFusion::GetProfit(HloInstruction* instr1,
                                     HloInstruction* instr2) {
  int64_t bytes = 0;
  ForEachSharedOperand(instr1, instr2, [&](HloInstruction* operand) {
    if (IsProfitableOperand(operand)) {
      bytes += ShapeUtil::ByteSizeOf(operand->shape());
    }
  });
  return bytes / kKiB + (bytes % kKiB != 0);
}

FusionDecision MultiOutputFusion::LegalToFuse(HloInstruction* instr1,
                                              HloInstruction* instr2) {
  const int64_t size = instr1->operand_count() + instr2->operand_count() +
                       OutputCount(*instr1) + OutputCount(*instr2);
  if (size > kMaxOperandsAndOutputs) {
    return FusionDecision::Forbid(absl::StrCat("operands and outputs ", size,
                                               " > ", kMaxOperandsAndOutputs));
  }
  for (const auto& [one, other] :
       {std::make_pair(instr1, instr2), std::make_pair(instr2, instr1)}) {
    for (const auto& [operand, output] :
         alias_info_.GetInPlaceInputOutputPairs(one)) {
      if (operand.operand_number < one->operand_count() &&
          other->IsUserOf(one->operand(operand.operand_number))) {
        return FusionDecision::Forbid(absl::StrCat(
            one->name(), " updates in place what ", other->name(), " reads"));
      }
    }
  }
  return FusionDecision::Allow();
}

HloInstruction* MultiOutputFusion::Fuse(HloInstruction* instr1,
                                        HloInstruction* instr2) {
  HloInstruction* host = instr1;
  HloInstruction* guest = instr2;
  const bool fusion1 = instr1->opcode() == HloOpcode::kFusion;
  const bool fusion2 = instr2->opcode() == HloOpcode::kFusion;
  // The smaller one moves.
  if (!fusion1 || (fusion2 && instr2->fused_instruction_count() >
                                  instr1->fused_instruction_count())) {
    std::swap(host, guest);
  }
  if (guest->opcode() == HloOpcode::kFusion) {
    host->MergeFusionInstructionIntoMultiOutput(guest);
  } else {
    host->FuseInstructionIntoMultiOutput(guest);
  }
  return host;
}

absl::StatusOr<bool> MultiOutputFusion::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputationsSorted(execution_threads)) {
    if (InstructionFusion::IsEmbeddedComputation(computation)) continue;
    MultiOutputFusionRun run(this, computation);
    TF_ASSIGN_OR_RETURN(bool changed_here, run.Run());
    changed |= changed_here;
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
