#include "xla/hlo/transforms/collectives/collective_permute_motion.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "xla/comparison_util.h"
#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Moves a collective-permute at the end of a loop body to the beginning of the
// next iteration, together with the element-wise instructions behind it. There
// it can overlap with the computation of that iteration. The state then carries
// the value before the permute; in the first iteration, which has no
// predecessor, the initial value is used as it is, selected by a counter that
// tells the first iteration from all others. The permute after the last
// iteration is saved, and one whose result is ignored runs in the first.

namespace xla {
namespace {

constexpr int64_t kMaxMoved = 8;

// The element of a loop's state that `inst` reads, if it reads one.
std::optional<int64_t> ElementOf(const HloInstruction& inst) {
  if (inst.opcode() != HloOpcode::kGetTupleElement ||
      inst.operand(0)->opcode() != HloOpcode::kParameter) {
    return std::nullopt;
  }
  return inst.tuple_index();
}

// The same in every iteration.
bool IsLoopConstant(const HloInstruction& inst) {
  if (inst.opcode() == HloOpcode::kConstant) return true;
  if (inst.opcode() == HloOpcode::kBroadcast) {
    return IsLoopConstant(*inst.operand(0));
  }
  const std::optional<int64_t> element = ElementOf(inst);
  return element.has_value() &&
         inst.parent()->root_instruction()->operand(*element) == &inst;
}

// A permute, and the elementwise instructions from it to an element of the
// root, in this order.
struct Chain {
  HloInstruction* permute = nullptr;
  std::vector<HloInstruction*> moved;
};

// Walks back from an element of the root. Each step may have one reader only,
// since the permute's result is no longer there for another one, and one
// operand only that changes from iteration to iteration: the rest are the same
// at the beginning of the next iteration, where the chain is going to be
// computed. The operand of the permute must have the shape of the element that
// it takes the place of in the state.
std::optional<Chain> ChainTo(HloInstruction* end) {
  Chain chain;
  HloInstruction* at = end;
  while (at->opcode() != HloOpcode::kCollectivePermute) {
    if (chain.moved.size() == kMaxMoved || !at->IsElementwise() ||
        at->HasControlDependencies() || at->user_count() != 1 ||
        at->operand_count() == 0) {
      return std::nullopt;
    }
    chain.moved.push_back(at);
    HloInstruction* next = nullptr;
    for (HloInstruction* operand : at->operands()) {
      if (IsLoopConstant(*operand)) continue;
      if (next != nullptr) return std::nullopt;
      next = operand;
    }
    if (next == nullptr) return std::nullopt;
    at = next;
  }
  if (at->user_count() != 1 || at->operand_count() != 1 ||
      at->HasControlDependencies() || !at->shape().IsArray() ||
      !ShapeUtil::Equal(at->operand(0)->shape(), end->shape())) {
    return std::nullopt;
  }
  chain.permute = at;
  absl::c_reverse(chain.moved);
  return chain;
}

// The only reader of element `index` of the state; null if there are others.
HloInstruction* OnlyReader(const HloComputation& body, int64_t index) {
  HloInstruction* reader = nullptr;
  for (HloInstruction* user : body.parameter_instruction(0)->users()) {
    if (user->opcode() != HloOpcode::kGetTupleElement) return nullptr;
    if (user->tuple_index() != index) continue;
    if (reader != nullptr) return nullptr;
    reader = user;
  }
  return reader;
}

// Whether anything outside the loop body reads the element.
bool IsReadOutside(const HloInstruction& loop, int64_t index) {
  if (loop.IsRoot()) return true;
  auto reads = [&](const HloInstruction& state) {
    return absl::c_any_of(state.users(), [&](const HloInstruction* user) {
      return user->opcode() != HloOpcode::kGetTupleElement ||
             user->tuple_index() == index;
    });
  };
  return reads(loop) ||
         reads(*loop.while_condition()->parameter_instruction(0));
}

// A scalar that tells the first iteration from all others.
struct Counter {
  HloInstruction* value;
  const Literal* initial;
};

// The counter must never take its initial value again. With a known trip count
// this is checked against wrap-around of the type; otherwise only steps of 1 in
// types of at least 32 bits are trusted.
std::optional<Counter> CounterAt(const HloInstruction& loop, int64_t index,
                                 std::optional<int64_t> trip_count) {
  const HloInstruction& initial = *loop.operand(0)->operand(index);
  const HloInstruction& next =
      *loop.while_body()->root_instruction()->operand(index);
  if (initial.opcode() != HloOpcode::kConstant ||
      !ShapeUtil::IsScalar(initial.shape()) || initial.literal().is_elided() ||
      !primitive_util::IsIntegralType(initial.shape().element_type()) ||
      next.opcode() != HloOpcode::kAdd) {
    return std::nullopt;
  }
  const bool first = next.operand(1)->opcode() == HloOpcode::kConstant;
  HloInstruction* value = const_cast<HloInstruction*>(next.operand(!first));
  const HloInstruction& step = *next.operand(first);
  if (step.opcode() != HloOpcode::kConstant || step.literal().is_elided() ||
      ElementOf(*value) != index) {
    return std::nullopt;
  }
  const std::optional<int64_t> by =
      LiteralUtil::LiteralAsScalarInt64(step.literal());
  const int64_t bits = primitive_util::BitWidth(initial.shape().element_type());
  if (!by.has_value() || *by == 0) return std::nullopt;
  const absl::int128 stride = *by < 0 ? -absl::int128(*by) : absl::int128(*by);
  const bool returns = trip_count.has_value()
                           ? stride * *trip_count >= absl::int128(1) << bits
                           : stride != 1 || bits < 32;
  if (returns) return std::nullopt;
  return Counter{value, &initial.literal()};
}

std::optional<Counter> FindCounter(const HloInstruction& loop) {
  const std::optional<int64_t> trip_count =
      ComputeWhileLoopTripCount(&loop, /*max_brute_force_iters=*/0);
  for (int64_t i = 0; i < loop.operand(0)->operand_count(); ++i) {
    std::optional<Counter> counter = CounterAt(loop, i, trip_count);
    if (counter.has_value()) return counter;
  }
  return std::nullopt;
}

// `first` in the first iteration, else `later`.
HloInstruction* SelectFirst(const Counter& counter, HloInstruction* first,
                            HloInstruction* later) {
  HloComputation* body = first->parent();
  HloInstruction* initial = body->AddInstruction(
      HloInstruction::CreateConstant(counter.initial->Clone()));
  HloInstruction* is_first = body->AddInstruction(HloInstruction::CreateCompare(
      ShapeUtil::MakeShape(PRED, {}), counter.value, initial,
      ComparisonDirection::kEq));
  Shape mask = ShapeUtil::ChangeElementType(first->shape(), PRED);
  if (!ShapeUtil::IsScalar(mask)) {
    is_first = body->AddInstruction(
        HloInstruction::CreateBroadcast(mask, is_first, {}));
  }
  return body->AddInstruction(HloInstruction::CreateTernary(
      first->shape(), HloOpcode::kSelect, is_first, first, later));
}

absl::Status Move(HloInstruction* loop, int64_t index, const Chain& chain,
                  const Counter& counter, HloInstruction* reader) {
  HloComputation* body = loop->while_body();
  const std::vector<HloInstruction*> readers(reader->users().begin(),
                                             reader->users().end());
  absl::flat_hash_map<HloInstruction*, HloInstruction*> clones;
  HloInstruction* last = body->AddInstruction(
      chain.permute->CloneWithNewOperands(reader->shape(), {reader}));
  clones[chain.permute] = last;
  for (HloInstruction* inst : chain.moved) {
    std::vector<HloInstruction*> operands;
    for (HloInstruction* operand : inst->operands()) {
      auto it = clones.find(operand);
      operands.push_back(it == clones.end() ? operand : it->second);
    }
    last = body->AddInstruction(
        inst->CloneWithNewOperands(inst->shape(), operands));
    clones[inst] = last;
  }
  HloInstruction* selected = SelectFirst(counter, reader, last);
  for (HloInstruction* user : readers) {
    TF_RETURN_IF_ERROR(reader->ReplaceUseWith(user, selected));
  }
  HloInstruction* end = body->root_instruction()->mutable_operand(index);
  HloInstruction* sent = chain.permute->mutable_operand(0);
  TF_RETURN_IF_ERROR(body->root_instruction()->ReplaceOperandWith(index, sent));
  // From the end back, the old ones have no readers.
  return body->RemoveInstructionAndUnusedOperands(end);
}

absl::StatusOr<bool> RunOnLoop(HloInstruction* loop) {
  HloComputation* body = loop->while_body();
  HloInstruction* root = body->root_instruction();
  if (root->opcode() != HloOpcode::kTuple ||
      loop->operand(0)->opcode() != HloOpcode::kTuple ||
      loop->HasControlDependencies() ||
      body->caller_instructions().size() != 1) {
    return false;
  }
  bool changed = false;
  std::optional<Counter> counter;
  for (int64_t i = 0; i < root->operand_count(); ++i) {
    HloInstruction* end = root->mutable_operand(i);
    const std::optional<Chain> chain = ChainTo(end);
    // A permute that other elements need as well stays where it is.
    if (!chain.has_value() || absl::c_count(root->operands(), end) > 1) {
      continue;
    }
    HloInstruction* reader = OnlyReader(*body, i);
    if (reader == nullptr || reader->HasControlDependencies() ||
        reader->user_count() == 0 || IsReadOutside(*loop, i)) {
      continue;
    }
    if (!counter.has_value()) counter = FindCounter(*loop);
    if (!counter.has_value()) break;
    TF_RETURN_IF_ERROR(Move(loop, i, *chain, *counter, reader));
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> CollectivePermuteMotion::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (inst->opcode() != HloOpcode::kWhile) continue;
      TF_ASSIGN_OR_RETURN(bool loop_changed, RunOnLoop(inst));
      changed |= loop_changed;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
