#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/transforms/spmd/windowed_einsum.h"
#include "xla/shape_util.h"

// Operands of ring loops are often cheap expressions of much smaller values,
// such as a broadcast. One that stays at its device is a part of the state of
// the ring, and takes memory all the time. If the loop only slices windows out
// of it, the expression is moved into the body, where a compiler fuses it into
// the window that the step takes, and the loop carries its leaves instead.
//
//   before: x = f32[8,4096] broadcast(scalar)
//           while((.., x, ..)), whose body slices x
//   after:  while((.., (scalar), ..)), whose body slices broadcast(scalar)

namespace xla::spmd {
namespace {

// An operand that is cheap to compute, with the instructions that compute it.
struct CheapValue {
  std::vector<HloInstruction*> steps;   // operands first, the value last
  std::vector<HloInstruction*> leaves;  // far smaller
};

constexpr int64_t kMaxSteps = 32;

bool IsCheap(const HloInstruction* hlo, const Shape& value) {
  if (hlo->HasControlDependencies()) return false;
  switch (hlo->opcode()) {
    case HloOpcode::kBroadcast:
    case HloOpcode::kIota:
    case HloOpcode::kPad:
      return true;
    case HloOpcode::kConstant:
      return ShapeUtil::IsScalar(hlo->shape());
    default:  // Elementwise opcodes of this shape alone.
      return hlo->IsElementwise() && !hlo->HasSideEffect() &&
             hlo->called_computations().empty() &&
             ShapeUtil::SameDimensions(hlo->shape(), value);
  }
}

// Splits the expression into cheap steps, operands first, and the leaves below
// them. False if there are too many steps.
bool Collect(HloInstruction* hlo, const Shape& value,
             absl::flat_hash_set<HloInstruction*>* seen, CheapValue* cheap) {
  if (!seen->insert(hlo).second) return true;
  if (!IsCheap(hlo, value)) {
    cheap->leaves.push_back(hlo);
    return true;
  }
  if (static_cast<int64_t>(seen->size()) > kMaxSteps) return false;
  for (HloInstruction* operand : hlo->mutable_operands()) {
    if (!Collect(operand, value, seen, cheap)) return false;
  }
  cheap->steps.push_back(hlo);
  return true;
}

// Worth it if the leaves take less than half of the value's bytes.
bool IsWorthMoving(HloInstruction* value, CheapValue* cheap) {
  absl::flat_hash_set<HloInstruction*> seen;
  if (!Collect(value, value->shape(), &seen, cheap) || cheap->steps.empty()) {
    return false;
  }
  int64_t bytes = 0;
  for (const HloInstruction* leaf : cheap->leaves) {
    if (!leaf->shape().IsArray()) return false;
    bytes += ShapeSizeInBytes(leaf->shape());
  }
  return bytes < ShapeSizeInBytes(value->shape()) / 2;
}

// Each step only reads windows of the element and passes it on unchanged.
bool IsOnlySliced(const HloComputation* body, int64_t element) {
  const HloInstruction* root = body->root_instruction();
  for (const HloInstruction* user : body->parameter_instruction(0)->users()) {
    if (user->opcode() != HloOpcode::kGetTupleElement) return false;
    if (user->tuple_index() != element) continue;
    for (const HloInstruction* reader : user->users()) {
      if (reader->opcode() != HloOpcode::kDynamicSlice && reader != root) {
        return false;
      }
    }
    if (root->operand(element) != user) return false;
  }
  return true;
}

// A copy of a body or condition over the new state.
HloComputation* OverNewState(HloComputation* computation, const Shape& state,
                             int64_t element, const CheapValue& cheap,
                             HloModule* module) {
  HloComputation::Builder b(computation->name());
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> clones;
  HloInstruction* parameter =
      b.AddInstruction(HloInstruction::CreateParameter(0, state, "state"));
  auto get = [&](HloInstruction* tuple, int64_t i) {
    return b.AddInstruction(HloInstruction::CreateGetTupleElement(
        tuple->shape().tuple_shapes(i), tuple, i));
  };
  HloInstruction* leaves = get(parameter, element);
  auto value = [&] {
    absl::flat_hash_map<const HloInstruction*, HloInstruction*> made;
    for (int64_t i = 0; i < cheap.leaves.size(); ++i) {
      made[cheap.leaves[i]] = get(leaves, i);
    }
    for (const HloInstruction* step : cheap.steps) {
      std::vector<HloInstruction*> operands;
      for (const HloInstruction* operand : step->operands()) {
        operands.push_back(made.at(operand));
      }
      made[step] =
          b.AddInstruction(step->CloneWithNewOperands(step->shape(), operands));
      made[step]->clear_sharding();
    }
    return made.at(cheap.steps.back());
  };
  const HloInstruction* root = computation->root_instruction();
  for (const HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
    if (hlo->opcode() == HloOpcode::kParameter) {
      clones[hlo] = parameter;
      continue;
    }
    const bool is_element =
        hlo->opcode() == HloOpcode::kGetTupleElement &&
        hlo->operand(0)->opcode() == HloOpcode::kParameter &&
        hlo->tuple_index() == element;
    if (is_element) {
      clones[hlo] = value();
      continue;
    }
    std::vector<HloInstruction*> operands;
    for (const HloInstruction* operand : hlo->operands()) {
      operands.push_back(clones.at(operand));
    }
    const bool is_state = hlo == root && hlo->shape().IsTuple();
    if (is_state) operands[element] = leaves;
    clones[hlo] = b.AddInstruction(
        hlo->CloneWithNewOperands(is_state ? state : hlo->shape(), operands));
  }
  return module->AddEmbeddedComputation(b.Build(clones.at(root)));
}

// A loop that others wait for, or that waits, stays as it is.
bool HasPlaceInOrder(const HloInstruction& loop) {
  const auto waits = [](const HloInstruction* hlo) {
    return hlo->HasControlDependencies();
  };
  return waits(&loop) || absl::c_any_of(loop.operands(), waits) ||
         absl::c_any_of(loop.users(), waits);
}

// The loop rewritten to carry the leaves of a cheap element instead of the
// element; nullptr if the element is not cheap.
HloInstruction* WithoutElement(HloInstruction* loop, int64_t element) {
  HloComputation* computation = loop->parent();
  HloInstruction* init = loop->mutable_operand(0);
  HloInstruction* value = init->mutable_operand(element);
  CheapValue cheap;
  if (init->opcode() != HloOpcode::kTuple ||
      !IsOnlySliced(loop->while_body(), element) ||
      !IsWorthMoving(value, &cheap)) {
    return nullptr;
  }
  std::vector<HloInstruction*> elements(init->operands().begin(),
                                        init->operands().end());
  elements[element] =
      computation->AddInstruction(HloInstruction::CreateTuple(cheap.leaves));
  HloInstruction* state =
      computation->AddInstruction(HloInstruction::CreateTuple(elements));
  HloModule* module = computation->parent();
  HloInstruction* moved =
      computation->AddInstruction(HloInstruction::CreateWhile(
          state->shape(),
          OverNewState(loop->while_condition(), state->shape(), element, cheap,
                       module),
          OverNewState(loop->while_body(), state->shape(), element, cheap,
                       module),
          state));
  moved->set_metadata(loop->metadata());
  const std::vector<HloInstruction*> users(loop->users().begin(),
                                           loop->users().end());
  for (HloInstruction* user : users) {
    HloInstruction* replacement =
        user->tuple_index() == element
            ? value
            : computation->AddInstruction(HloInstruction::CreateGetTupleElement(
                  user->shape(), moved, user->tuple_index()));
    CHECK_OK(user->ReplaceAllUsesWithDifferentShape(replacement));
  }
  return moved;
}

}  // namespace

absl::Status SpmdPartitioningVisitor::DoCodeMotionForWindowedDotGeneralLoops(
    HloComputation* computation) {
  for (WindowedDotGeneralLoop& loop : windowed_dot_general_loops_) {
    if (HasPlaceInOrder(*loop.while_loop)) continue;
    for (int64_t operand : {0, 1}) {
      const bool stays = loop.operands_sharded_at_contracting_dims ||
                         operand != loop.windowed_operand;
      const bool only_read_here = absl::c_all_of(
          loop.while_loop->users(), [](const HloInstruction* user) {
            return user->opcode() == HloOpcode::kGetTupleElement;
          });
      if (!stays || !only_read_here) continue;
      HloInstruction* moved = WithoutElement(loop.while_loop, operand);
      if (moved != nullptr) loop.while_loop = moved;
    }
    if (loop.windowed_in_contracting_dims ||
        loop.operands_sharded_at_contracting_dims) {
      continue;
    }
    HloInstruction* moved = MoveUsersIntoRing(loop.while_loop);
    if (moved != nullptr) loop.while_loop = moved;
  }
  return absl::OkStatus();
}

}  // namespace xla::spmd
