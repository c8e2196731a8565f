#include "xla/hlo/transforms/collectives/while_loop_all_reduce_code_motion.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/collectives/collective_ops_utils.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// An element of a loop's state to which each iteration adds what an all-reduce
// gives.
struct Sum {
  int64_t index = 0;
  HloInstruction* add = nullptr;
  // The operand of `add` that is the all-reduce.
  int64_t reduced_operand = 0;
};

// Whether a value is an all-reduce of sums whose parts may be added up first.
bool IsSumOverDevices(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kAllReduce && inst.operand_count() == 1 &&
         inst.user_count() == 1 && inst.shape().IsArray() &&
         inst.shape().is_static() && inst.shape().element_type() != PRED &&
         // It has no zero for the sum to start at.
         inst.shape().element_type() != F8E8M0FNU && !inst.has_sharding() &&
         ShapeUtil::Equal(inst.shape(), inst.operand(0)->shape()) &&
         !inst.HasControlDependencies() &&
         MatchReductionComputation(inst.to_apply()) == ReductionKind::SUM;
}

// The readers of each element of a loop's state; none where something reads all
// of it.
using Readers = std::vector<std::vector<HloInstruction*>>;

std::optional<Readers> ReadersOfElements(const HloInstruction& state) {
  Readers readers(state.shape().tuple_shapes_size());
  for (HloInstruction* user : state.users()) {
    if (user->opcode() != HloOpcode::kGetTupleElement) return std::nullopt;
    readers[user->tuple_index()].push_back(user);
  }
  return readers;
}

// Who reads the state of a loop.
struct LoopReaders {
  Readers body, condition, after;
};

std::optional<LoopReaders> ReadersOfLoop(const HloInstruction& loop) {
  std::optional<Readers> body =
      ReadersOfElements(*loop.while_body()->parameter_instruction(0));
  std::optional<Readers> condition =
      ReadersOfElements(*loop.while_condition()->parameter_instruction(0));
  std::optional<Readers> after = ReadersOfElements(loop);
  if (loop.IsRoot() || !body || !condition || !after) return std::nullopt;
  return LoopReaders{*std::move(body), *std::move(condition),
                     *std::move(after)};
}

// `before`: what alone reads the element in the body.
std::optional<Sum> SumAt(const HloInstruction& loop, int64_t index,
                         const HloInstruction* before) {
  HloInstruction* add =
      loop.while_body()->root_instruction()->mutable_operand(index);
  if (add->opcode() != HloOpcode::kAdd || add->user_count() != 1 ||
      add->HasControlDependencies() || add->has_sharding() ||
      before->user_count() != 1 || before->HasControlDependencies()) {
    return std::nullopt;
  }
  for (int64_t i = 0; i < 2; ++i) {
    const HloInstruction* reduced = add->operand(i);
    if (IsSumOverDevices(*reduced) && add->operand(1 - i) == before &&
        // A narrower type would round the sum of all iterations.
        ShapeUtil::Equal(reduced->shape(), add->shape()) &&
        ShapeUtil::Equal(add->shape(), loop.shape().tuple_shapes(index)) &&
        ShapeUtil::Equal(add->shape(), before->shape())) {
      return Sum{index, add, i};
    }
  }
  return std::nullopt;
}

// Those of elements that the condition does not look at, and that what follows
// the loop may take whenever they are there.
std::vector<Sum> SumsOf(const HloInstruction& loop,
                        const LoopReaders& readers) {
  const HloInstruction* root = loop.while_body()->root_instruction();
  absl::flat_hash_map<const HloInstruction*, int64_t> times;  // looked up
  for (const HloInstruction* element : root->operands()) ++times[element];
  std::vector<Sum> sums;
  for (int64_t i = 0; i < root->operand_count(); ++i) {
    if (times[root->operand(i)] != 1 || readers.body[i].size() != 1 ||
        !readers.condition[i].empty() ||
        absl::c_any_of(readers.after[i], [](const HloInstruction* reader) {
          return reader->HasControlDependencies();
        })) {
      continue;
    }
    const std::optional<Sum> sum = SumAt(loop, i, readers.body[i][0]);
    if (sum.has_value()) sums.push_back(*sum);
  }
  return sums;
}

// Lets the sums of the loop start at zero.
absl::Status StartAtZero(HloInstruction* loop, const std::vector<Sum>& sums) {
  HloComputation* computation = loop->parent();
  HloInstruction* initial = loop->mutable_operand(0);
  std::vector<HloInstruction*> elements(initial->operands().begin(),
                                        initial->operands().end());
  for (const Sum& sum : sums) {
    const Shape& shape = elements[sum.index]->shape();
    HloInstruction* zeros =
        computation->AddInstruction(HloInstruction::CreateConstant(
            LiteralUtil::Zero(shape.element_type())));
    if (!ShapeUtil::IsScalar(shape)) {
      zeros = computation->AddInstruction(
          HloInstruction::CreateBroadcast(shape, zeros, {}));
    }
    elements[sum.index] = zeros;
  }
  HloInstruction* state =
      computation->AddInstruction(HloInstruction::CreateTuple(elements));
  TF_RETURN_IF_ERROR(loop->ReplaceOperandWith(0, state));
  if (initial->IsDead() && computation->IsSafelyRemovable(initial)) {
    TF_RETURN_IF_ERROR(computation->RemoveInstruction(initial));
  }
  return absl::OkStatus();
}

// Adds up what the loop leaves over the devices, instead of each iteration's.
absl::Status Move(HloInstruction* loop, const Sum& sum, HloInstruction* start,
                  const std::vector<HloInstruction*>& readers) {
  HloComputation* computation = loop->parent();
  HloInstruction* reduced = sum.add->mutable_operand(sum.reduced_operand);
  const Shape& shape = reduced->shape();
  HloInstruction* part = computation->AddInstruction(
      HloInstruction::CreateGetTupleElement(shape, loop, sum.index));
  HloInstruction* total =
      computation->AddInstruction(reduced->CloneWithNewOperands(shape, {part}));
  HloInstruction* result =
      computation->AddInstruction(sum.add->CloneWithNewOperands(
          sum.add->shape(), sum.reduced_operand == 0
                                ? std::vector<HloInstruction*>{total, start}
                                : std::vector<HloInstruction*>{start, total}));
  for (HloInstruction* reader : readers) {
    TF_RETURN_IF_ERROR(computation->ReplaceInstruction(reader, result));
  }
  TF_RETURN_IF_ERROR(sum.add->ReplaceOperandWith(sum.reduced_operand,
                                                 reduced->mutable_operand(0)));
  return loop->while_body()->RemoveInstruction(reduced);
}

absl::StatusOr<bool> RunOnLoop(HloInstruction* loop) {
  HloComputation* body = loop->while_body();
  if (body->root_instruction()->opcode() != HloOpcode::kTuple ||
      loop->operand(0)->opcode() != HloOpcode::kTuple ||
      loop->HasControlDependencies() || loop->has_sharding() ||
      body->caller_instructions().size() != 1 ||
      loop->while_condition()->caller_instructions().size() != 1) {
    return false;
  }
  const std::optional<LoopReaders> readers = ReadersOfLoop(*loop);
  if (!readers.has_value()) return false;
  const std::vector<Sum> sums = SumsOf(*loop, *readers);
  if (sums.empty()) return false;
  std::vector<HloInstruction*> starts;
  for (const Sum& sum : sums) {
    starts.push_back(loop->mutable_operand(0)->mutable_operand(sum.index));
  }
  TF_RETURN_IF_ERROR(StartAtZero(loop, sums));
  for (size_t i = 0; i < sums.size(); ++i) {
    TF_RETURN_IF_ERROR(
        Move(loop, sums[i], starts[i], readers->after[sums[i].index]));
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> WhileLoopAllReduceCodeMotion::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  // Inner loops first: what leaves one may leave the loop around it, too.
  for (HloComputation* computation :
       module->MakeComputationPostOrder(execution_threads)) {
    if (computation->IsFusionComputation()) continue;
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
