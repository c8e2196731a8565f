#include "xla/hlo/transforms/simplifiers/hlo_cse.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/hash/hash.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

bool IsCommutative(HloOpcode opcode) {
  return HloOpcodeIsOneOf<HloOpcode::kAdd, HloOpcode::kMultiply,
                          HloOpcode::kMaximum, HloOpcode::kMinimum,
                          HloOpcode::kAnd, HloOpcode::kOr, HloOpcode::kXor>(
      opcode);
}

// Element type and dimensions, without layouts, which may be ignored.
size_t HashShape(const Shape& shape) {
  size_t hash = absl::HashOf(static_cast<int>(shape.element_type()));
  if (shape.IsTuple()) {
    return absl::HashOf(hash, shape.tuple_shapes().size());
  }
  if (!shape.IsArray()) return hash;
  return absl::HashOf(hash, shape.dimensions());
}

bool HasKnownElements(const HloInstruction& constant) {
  return constant.opcode() == HloOpcode::kConstant &&
         Cast<HloConstantInstruction>(&constant)->HasLiteral() &&
         !constant.literal().is_elided();
}

// Hashes of computations, each looked at once. Without the constants in them,
// fusions that differ in nothing else would all be compared with one another.
class ComputationHashes {
 public:
  size_t Of(const HloComputation* computation) {
    auto [it, is_new] = hashes_.try_emplace(computation, 0);
    if (!is_new) return it->second;
    // A sum: equal computations may hold their instructions in another order.
    size_t sum = 0;
    for (const HloInstruction* inst : computation->instructions()) {
      size_t hash = absl::HashOf(static_cast<int>(inst->opcode()),
                                 HashShape(inst->shape()));
      if (HasKnownElements(*inst)) hash = absl::HashOf(hash, inst->literal());
      sum += hash;
    }
    it->second = sum;
    return sum;
  }

 private:
  absl::flat_hash_map<const HloComputation*, size_t> hashes_;
};

struct InstructionHash {
  size_t operator()(const HloInstruction* inst) const {
    absl::InlinedVector<int64_t, 4> operands;
    for (const HloInstruction* operand : inst->operands()) {
      operands.push_back(operand->unique_id());
    }
    if (IsCommutative(inst->opcode()))
      std::sort(operands.begin(), operands.end());
    int64_t index = inst->opcode() == HloOpcode::kGetTupleElement
                        ? inst->tuple_index()
                        : inst->called_computations().size();
    size_t callees = 0;
    for (const HloComputation* callee : inst->called_computations()) {
      callees = absl::HashOf(callees, computations->Of(callee));
    }
    return absl::HashOf(static_cast<int>(inst->opcode()),
                        HashShape(inst->shape()), operands, index, callees);
  }
  ComputationHashes* computations;
};

// Shardings that Shardy reads are attributes, not shardings.
bool HaveOneSharding(const HloInstruction& a, const HloInstruction& b) {
  constexpr char kSharding[] = "xla.sdy.sharding";
  return (!a.has_frontend_attributes() && !b.has_frontend_attributes()) ||
         a.get_frontend_attribute(kSharding) ==
             b.get_frontend_attribute(kSharding);
}

struct InstructionEqual {
  bool operator()(const HloInstruction* a, const HloInstruction* b) const {
    if (!HaveOneSharding(*a, *b)) return false;
    auto same = [](const HloInstruction* x, const HloInstruction* y) {
      return x == y;
    };
    auto equal = [this](const HloComputation* x, const HloComputation* y) {
      return x == y || (x->instruction_count() == y->instruction_count() &&
                        x->Equal(*y, layout_sensitive));
    };
    return a->IdenticalIgnoringCommutativeOperandOrder(
        *b, same, equal, layout_sensitive, /*sharding_sensitive=*/true);
  }
  bool layout_sensitive;
};

struct ConstantHash {
  size_t operator()(const HloInstruction* constant) const {
    return absl::HashOf(HashShape(constant->shape()), constant->literal());
  }
};

struct ConstantEqual {
  bool operator()(const HloInstruction* a, const HloInstruction* b) const {
    // Equal literals may have a dynamic dimension and a static one.
    const bool same_shape =
        Shape::Equal().IgnoreLayout(!layout_sensitive)(a->shape(), b->shape());
    if (!same_shape || a->has_sharding() != b->has_sharding()) return false;
    if (a->has_sharding() && a->sharding() != b->sharding()) return false;
    return a->literal() == b->literal();
  }
  bool layout_sensitive;
};

// Elements of a fusion that have become one are all read as the first of them.
bool ReadFirstOfEqualOutputs(HloInstruction* element) {
  if (element->opcode() != HloOpcode::kGetTupleElement ||
      element->operand(0)->opcode() != HloOpcode::kFusion) {
    return false;
  }
  const HloInstruction* root = element->operand(0)->fused_expression_root();
  const int64_t index = element->tuple_index();
  if (root->opcode() != HloOpcode::kTuple) return false;
  const int64_t first = root->operand_index(root->operand(index));
  if (first == index ||
      element->operand(0)->shape().tuple_shapes(first) != element->shape()) {
    return false;
  }
  element->set_tuple_index(first);
  return true;
}

bool IsRepeatedOnPurpose(const HloInstruction& inst) {
  return inst.has_frontend_attributes() &&
         inst.get_frontend_attribute(kRematerializedAttribute).has_value();
}

}  // namespace

bool HloCSE::ShouldEliminateInstruction(const HloInstruction* instruction) {
  if (IsRepeatedOnPurpose(*instruction)) return false;
  switch (instruction->opcode()) {
    // Constants are combined by their elements.
    case HloOpcode::kConstant:
    case HloOpcode::kParameter:
    case HloOpcode::kOptimizationBarrier:
    case XLA_ANY_COLLECTIVE_START:
    case XLA_ANY_COLLECTIVE_DONE:
    case XLA_ANY_COPY_PAIR:
    case XLA_ANY_ASYNC:
      return false;
    // Tokens without operands order nothing and stand for nothing.
    case HloOpcode::kAfterAll:
      return instruction->operand_count() > 0;
    case HloOpcode::kAddDependency:
    case HloOpcode::kBitcast:
    case HloOpcode::kCopy:
    case HloOpcode::kCustomCall:
    case HloOpcode::kDomain:
    case HloOpcode::kFusion:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kIota:
    case HloOpcode::kTuple:
    case XLA_ANY_COMPUTATION:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_COLLECTIVE:
    case XLA_ANY_TRANSFER:
    case XLA_ANY_FEED:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  // Two buffers of one value are two: each has one owner.
  return !instruction->HasSideEffect() &&
         !hlo_query::HoldsBuffer(instruction->shape());
}

absl::Status HloCSE::Replace(HloInstruction* instruction, HloInstruction* by) {
  TF_RETURN_IF_ERROR(instruction->DropAllControlDeps());
  TF_RETURN_IF_ERROR(instruction->ReplaceAllUsesWithDifferentShape(by));
  return instruction->parent()->RemoveInstruction(instruction);
}

absl::StatusOr<bool> HloCSE::CombineConstants(HloComputation* computation) {
  absl::flat_hash_set<HloInstruction*, ConstantHash, ConstantEqual> constants(
      0, ConstantHash{}, ConstantEqual{options_.layout_sensitive});
  std::vector<std::pair<HloInstruction*, HloInstruction*>> replacements;
  for (HloInstruction* inst : computation->instructions()) {
    if (!HasKnownElements(*inst) || inst->HasControlDependencies() ||
        IsRepeatedOnPurpose(*inst)) {
      continue;
    }
    if (should_combine_constant_ && !should_combine_constant_(inst)) continue;
    auto [first, is_new] = constants.insert(inst);
    if (!is_new) replacements.emplace_back(inst, *first);
  }
  bool changed = false;
  for (auto [inst, first] : replacements) {
    TF_RETURN_IF_ERROR(Replace(inst, first));
    changed = true;
  }
  return changed;
}

// Value numbering by hashing. In post order, operands of an instruction have
// been replaced by their representatives before the instruction itself is
// looked up, so structural equality of whole expressions reduces to equality of
// opcode, attributes and operand identities: one pass suffices, in expected
// linear time apart from the comparison of called computations.
absl::StatusOr<bool> HloCSE::CombineInstructions(HloComputation* computation) {
  ComputationHashes computations;
  absl::flat_hash_set<HloInstruction*, InstructionHash, InstructionEqual>
      instructions(computation->instruction_count(),
                   InstructionHash{&computations},
                   InstructionEqual{options_.layout_sensitive});
  bool changed = false;
  for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
    if (inst->HasControlDependencies() &&
        !options_.ignore_control_dependencies) {
      continue;
    }
    bool may_go = should_eliminate_instruction_
                      ? should_eliminate_instruction_(inst)
                      : ShouldEliminateInstruction(inst);
    if (!may_go) continue;
    changed = ReadFirstOfEqualOutputs(inst) || changed;
    auto [first, is_new] = instructions.insert(inst);
    if (is_new) continue;
    TF_RETURN_IF_ERROR(Replace(inst, *first));
    changed = true;
  }
  return changed;
}

absl::StatusOr<bool> HloCSE::RunOnComputation(HloComputation* computation) {
  if (should_eliminate_computation_ &&
      !should_eliminate_computation_(computation)) {
    return false;
  }
  TF_ASSIGN_OR_RETURN(bool constants_changed, CombineConstants(computation));
  TF_ASSIGN_OR_RETURN(bool instructions_changed,
                      CombineInstructions(computation));
  return constants_changed || instructions_changed;
}

absl::StatusOr<bool> HloCSE::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  // Callees first: calls are equal if what they call has become equal.
  for (HloComputation* computation :
       module->MakeComputationPostOrder(execution_threads)) {
    TF_ASSIGN_OR_RETURN(bool computation_changed,
                        RunOnComputation(computation));
    changed |= computation_changed;
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
