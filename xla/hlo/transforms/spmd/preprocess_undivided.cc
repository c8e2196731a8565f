#include <cstdint>
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

std::vector<ShapeIndex> BuffersIn(const Shape& shape) {
  std::vector<ShapeIndex> parts;
  ShapeUtil::ForEachSubshape(shape,
                             [&](const Shape& part, const ShapeIndex& index) {
                               if (part.IsBuffer()) parts.push_back(index);
                             });
  return parts;
}

// The value of an instruction, or the part of a tuple at an index.
using Part = std::pair<HloInstruction*, ShapeIndex>;

// The parts that must not be divided, in groups that share a sharding: those
// that come from one another, and all that one instruction makes or takes.
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
  Part GroupOf(const Part& part);
  void Join(const Part& a, const Part& b) { groups_[GroupOf(a)] = GroupOf(b); }
  // The parts of values of one shape, one by one.
  void JoinEach(HloInstruction* a, HloInstruction* b,
                const std::vector<ShapeIndex>& parts) {
    for (const ShapeIndex& part : parts) Join({a, part}, {b, part});
  }
  HloSharding LeafOf(const Part& part);
  void SetSharding(HloInstruction* holder);
  absl::Status SetShardingOfTaker(HloInstruction* taker,
                                  const HloSharding& leaf);

  // A forest; roots stand for groups. {} is also what makes or takes.
  absl::flat_hash_map<Part, Part> groups_;
  // In order: what holds such parts, what makes them, and what takes them
  // without making another.
  Instructions holders_, makers_, takers_;
  absl::flat_hash_map<HloInstruction*, std::vector<ShapeIndex>> parts_;
  // Whether all that make the parts of a group are manual.
  absl::flat_hash_map<Part, bool> is_manual_;
};

// A disjoint-set forest, with path compression: after the root is found, all on
// the way to it point to it.
Part UndividedValues::GroupOf(const Part& part) {
  Part root = part;
  for (auto it = groups_.find(root); it != groups_.end() && it->second != root;
       it = groups_.find(root)) {
    root = it->second;
  }
  for (Part at = part; at != root;) at = std::exchange(groups_[at], root);
  return root;
}

void UndividedValues::AddStatesOf(HloInstruction* maker) {
  makers_.push_back(maker);
  for (const auto& [place, index] : AsyncStatePlaces(maker)) {
    HloInstruction* holder = const_cast<HloInstruction*>(place);
    AddPart(holder, index);
    Join({holder, index}, {maker, {}});
    if (!index.empty()) continue;
    for (HloInstruction* user : holder->users()) {
      if (user->operand(0) != holder || !TakesState(*user)) continue;
      Join({user, {}}, {maker, {}});
      if (!MakesState(*user)) takers_.push_back(user);
    }
  }
}

// Follows buffers from the operands of `hlo` to its value and its callees.
void UndividedValues::AddBuffersOf(HloInstruction* hlo) {
  const std::vector<ShapeIndex> parts = BuffersIn(hlo->shape());
  for (const ShapeIndex& part : parts) AddPart(hlo, part);
  switch (hlo->opcode()) {
    case HloOpcode::kCall:
      for (int64_t i = 0; i < hlo->operand_count(); ++i) {
        JoinEach(hlo->mutable_operand(i),
                 hlo->to_apply()->parameter_instruction(i),
                 BuffersIn(hlo->operand(i)->shape()));
      }
      JoinEach(hlo, hlo->to_apply()->root_instruction(), parts);
      return;
    case HloOpcode::kGetTupleElement:
      for (const ShapeIndex& part : parts) {
        ShapeIndex whole = part;
        whole.push_front(hlo->tuple_index());
        Join({hlo->mutable_operand(0), whole}, {hlo, part});
      }
      return;
    case HloOpcode::kParameter:
      return;
    case HloOpcode::kTuple:
      for (const ShapeIndex& part : parts) {
        Join({hlo->mutable_operand(part.front()),
              ShapeIndex(part.begin() + 1, part.end())},
             {hlo, part});
      }
      return;
    case HloOpcode::kWhile:
      for (HloInstruction* other :
           {hlo->mutable_operand(0), hlo->while_body()->root_instruction(),
            hlo->while_body()->parameter_instruction(0),
            hlo->while_condition()->parameter_instruction(0)}) {
        JoinEach(hlo, other, parts);
      }
      return;
    default:  // Takes buffers, or makes them, maybe of those.
      break;
  }
  bool takes = false;
  for (HloInstruction* operand : hlo->operands()) {
    for (const ShapeIndex& part : BuffersIn(operand->shape())) {
      Join({operand, part}, {hlo, {}});
      takes = true;
    }
  }
  for (const ShapeIndex& part : parts) Join({hlo, part}, {hlo, {}});
  if (!parts.empty()) {
    makers_.push_back(hlo);
  } else if (takes) {
    takers_.push_back(hlo);
  }
}

HloSharding UndividedValues::LeafOf(const Part& part) {
  const auto it = is_manual_.find(GroupOf(part));
  return it != is_manual_.end() && it->second ? HloSharding::Manual()
                                              : HloSharding::Replicate();
}

void UndividedValues::SetSharding(HloInstruction* holder) {
  const Shape& shape = holder->shape();
  const std::vector<ShapeIndex>& parts = parts_.at(holder);
  if (absl::c_linear_search(parts, ShapeIndex())) {
    holder->set_sharding(HloSharding::Single(shape, LeafOf({holder, {}})));
    return;
  }
  ShapeTree<HloSharding> tree = holder->sharding().GetAsShapeTree(shape);
  for (const ShapeIndex& part : parts) {
    const HloSharding leaf = LeafOf({holder, part});
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
  for (HloInstruction* maker : makers_) {
    bool& all =
        is_manual_.try_emplace(GroupOf({maker, {}}), true).first->second;
    all = all && maker->sharding().IsManual();
  }
  for (HloInstruction* holder : holders_) SetSharding(holder);
  absl::flat_hash_set<const HloInstruction*> done;
  for (HloInstruction* taker : takers_) {
    if (!done.insert(taker).second) continue;
    RETURN_IF_ERROR(SetShardingOfTaker(taker, LeafOf({taker, {}})));
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
