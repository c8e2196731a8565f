#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/preprocess.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::spmd {
namespace {

// Send and recv run on one device, in a branch, which cannot return a state.
bool MakesState(const HloInstruction& hlo) {
  return hlo.IsAsyncProducer() ||
         HloPredicateIsOp<
             HloOpcode::kAllGatherStart, HloOpcode::kAllReduceStart,
             HloOpcode::kCollectivePermuteStart, HloOpcode::kCopyStart>(&hlo);
}

bool TakesState(const HloInstruction& hlo) {
  return hlo.IsAsyncConsumer() ||
         HloPredicateIsOp<HloOpcode::kAllGatherDone, HloOpcode::kAllReduceDone,
                          HloOpcode::kCollectivePermuteDone,
                          HloOpcode::kCopyDone>(&hlo);
}

bool HasBuffer(const Shape& shape) {
  return shape.IsTuple() ? absl::c_any_of(shape.tuple_shapes(), HasBuffer)
                         : shape.IsBuffer();
}

// Where buffers are handed on; what else has them reads or makes them.
bool HandsBuffersOn(const HloInstruction& hlo) {
  return HloPredicateIsOp<HloOpcode::kCall, HloOpcode::kGetTupleElement,
                          HloOpcode::kParameter, HloOpcode::kTuple,
                          HloOpcode::kWhile>(&hlo);
}

// The values that must not be divided, in groups that share a sharding: all
// those that an instruction holds, and those they come from and go to.
class UndividedValues {
 public:
  void AddStatesOf(HloInstruction* maker);
  void AddBuffersOf(HloInstruction* hlo);
  absl::Status SetShardings();

 private:
  using Instructions = std::vector<HloInstruction*>;

  void AddPart(HloInstruction* holder, const ShapeIndex& index) {
    if (parts_[holder].empty()) holders_.push_back(holder);
    parts_[holder].push_back(index);
  }
  HloInstruction* GroupOf(HloInstruction* hlo);
  void Join(HloInstruction* a, HloInstruction* b) {
    groups_[GroupOf(a)] = GroupOf(b);
  }
  void SetSharding(HloInstruction* holder, const HloSharding& leaf);
  absl::Status SetShardingOfTaker(HloInstruction* taker,
                                  const HloSharding& leaf);

  // A forest; roots stand for groups.
  absl::flat_hash_map<HloInstruction*, HloInstruction*> groups_;
  // In order: what holds such values, what makes them, and what takes them
  // without making another.
  Instructions holders_, makers_, takers_;
  absl::flat_hash_map<HloInstruction*, std::vector<ShapeIndex>> parts_;
};

HloInstruction* UndividedValues::GroupOf(HloInstruction* hlo) {
  HloInstruction* root = hlo;
  for (auto it = groups_.find(root); it != groups_.end() && it->second != root;
       it = groups_.find(root)) {
    root = it->second;
  }
  while (hlo != root) hlo = std::exchange(groups_[hlo], root);
  return root;
}

void UndividedValues::AddStatesOf(HloInstruction* maker) {
  makers_.push_back(maker);
  for (const auto& [place, index] : AsyncStatePlaces(maker)) {
    HloInstruction* holder = const_cast<HloInstruction*>(place);
    AddPart(holder, index);
    Join(holder, maker);
    if (!index.empty()) continue;
    for (HloInstruction* user : holder->users()) {
      if (user->operand(0) != holder || !TakesState(*user)) continue;
      Join(user, maker);
      if (!MakesState(*user)) takers_.push_back(user);
    }
  }
}

void UndividedValues::AddBuffersOf(HloInstruction* hlo) {
  if (!HasBuffer(hlo->shape())) return;
  ShapeUtil::ForEachSubshape(hlo->shape(),
                             [&](const Shape& part, const ShapeIndex& index) {
                               if (part.IsBuffer()) AddPart(hlo, index);
                             });
  if (!HandsBuffersOn(*hlo)) makers_.push_back(hlo);
  for (HloInstruction* user : hlo->users()) {
    Join(user, hlo);
    if (!HasBuffer(user->shape()) && !HandsBuffersOn(*user)) {
      takers_.push_back(user);
    }
    if (!HloPredicateIsOp<HloOpcode::kCall, HloOpcode::kWhile>(user)) continue;
    for (HloComputation* callee : user->called_computations()) {
      for (HloInstruction* parameter : callee->parameter_instructions()) {
        if (HasBuffer(parameter->shape())) Join(parameter, user);
      }
      HloInstruction* root = callee->root_instruction();
      if (HasBuffer(root->shape())) Join(root, user);
    }
  }
}

void UndividedValues::SetSharding(HloInstruction* holder,
                                  const HloSharding& leaf) {
  const Shape& shape = holder->shape();
  const std::vector<ShapeIndex>& parts = parts_.at(holder);
  if (absl::c_any_of(parts, [](const ShapeIndex& at) { return at.empty(); })) {
    holder->set_sharding(HloSharding::Single(shape, leaf));
    return;
  }
  ShapeTree<HloSharding> tree = holder->sharding().GetAsShapeTree(shape);
  for (const ShapeIndex& part : parts) {
    ShapeUtil::ForEachSubshape(ShapeUtil::GetSubshape(shape, part),
                               [&](const Shape&, const ShapeIndex& inside) {
                                 ShapeIndex index = part;
                                 index.insert(index.end(), inside.begin(),
                                              inside.end());
                                 *tree.mutable_element(index) = leaf;
                               });
  }
  holder->set_sharding(HloSharding::Tuple(tree));
}

// The taker does its work as the value is, and another sharding comes after.
absl::Status UndividedValues::SetShardingOfTaker(HloInstruction* taker,
                                                 const HloSharding& leaf) {
  const HloSharding wanted = taker->sharding();
  const bool is_at_odds =
      leaf.IsManual() ? !wanted.IsManual()
                      : wanted.IsManual() || wanted.UniqueDevice().has_value();
  if (!is_at_odds) return absl::OkStatus();
  taker->set_sharding(HloSharding::Single(taker->shape(), leaf));
  return taker->ReplaceAllUsesWith(AddSharding(taker, wanted));
}

absl::Status UndividedValues::SetShardings() {
  absl::flat_hash_map<const HloInstruction*, bool> is_manual;
  for (HloInstruction* maker : makers_) {
    bool& all = is_manual.try_emplace(GroupOf(maker), true).first->second;
    all = all && maker->sharding().IsManual();
  }
  const auto leaf_of = [&](HloInstruction* hlo) {
    const auto it = is_manual.find(GroupOf(hlo));
    return it != is_manual.end() && it->second ? HloSharding::Manual()
                                               : HloSharding::Replicate();
  };
  for (HloInstruction* holder : holders_) SetSharding(holder, leaf_of(holder));
  absl::flat_hash_set<const HloInstruction*> done;
  for (HloInstruction* taker : takers_) {
    if (!done.insert(taker).second) continue;
    RETURN_IF_ERROR(SetShardingOfTaker(taker, leaf_of(taker)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status KeepStatesAndBuffersUndivided(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  UndividedValues values;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
      if (MakesState(*hlo)) values.AddStatesOf(hlo);
      values.AddBuffersOf(hlo);
    }
  }
  return values.SetShardings();
}

}  // namespace xla::spmd
