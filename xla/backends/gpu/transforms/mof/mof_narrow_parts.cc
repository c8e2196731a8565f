#include "xla/backends/gpu/transforms/mof/mof_narrow_parts.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/hash/hash.h"
#include "xla/backends/gpu/transforms/mof/mof_outputs.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

constexpr size_t kMaxParameters = 4;

bool IsScalarConstant(const HloInstruction& instruction) {
  return instruction.opcode() == HloOpcode::kConstant &&
         instruction.shape().IsArray() &&
         ShapeUtil::IsEffectiveScalar(instruction.shape());
}

// Each element of the result is computed from those in the same place, by
// nothing but the instruction itself.
bool IsPlainElementwise(const HloInstruction& instruction) {
  return instruction.IsElementwise() && instruction.operand_count() > 0 &&
         instruction.opcode() != HloOpcode::kCopy &&
         instruction.opcode() != HloOpcode::kFusion &&
         instruction.called_computations().empty() &&
         !instruction.HasSideEffect() && instruction.shape().IsArray();
}

// A linear pre-pass over a fusion that rules out most instructions: for each
// one, by local id, whether it follows from parameters element by element in
// few steps, and whether those that are not at hand elsewhere are smaller than
// the result.
class Candidates {
 public:
  Candidates(const std::vector<HloInstruction*>& order,
             const std::vector<bool>& at_hand)
      : at_hand_(at_hand) {
    for (const HloInstruction* instruction : order) {
      const size_t id = instruction->local_id();
      if (known_.size() <= id) known_.resize(id + 1);
      known_[id] = Look(*instruction);
      any_ |= known_[id].is_candidate;
    }
  }

  bool any() const { return any_; }
  bool contains(const HloInstruction* instruction) const {
    return known_[instruction->local_id()].is_candidate;
  }

 private:
  struct Known {
    bool is_candidate = false;
    bool follows = false;  // from parameters, element by element
    size_t steps = 0;
    // The number of elements of the largest parameter.
    int64_t elements_at_hand = 0;
    int64_t other_elements = 0;
  };

  Known Look(const HloInstruction& instruction) const {
    Known known;
    if (instruction.opcode() == HloOpcode::kParameter) {
      known.follows = instruction.shape().IsArray();
      if (!known.follows) return known;
      (at_hand_[instruction.parameter_number()] ? known.elements_at_hand
                                                : known.other_elements) =
          ShapeUtil::ElementsIn(instruction.shape());
      return known;
    }
    const bool is_plain = IsPlainElementwise(instruction);
    known.follows = is_plain || IsScalarConstant(instruction) ||
                    instruction.opcode() == HloOpcode::kBroadcast;
    for (const HloInstruction* operand : instruction.operands()) {
      if (!known.follows) return {};
      const Known& of = known_[operand->local_id()];
      known.follows = of.follows;
      known.steps = std::max(known.steps, of.steps);
      known.elements_at_hand =
          std::max(known.elements_at_hand, of.elements_at_hand);
      known.other_elements = std::max(known.other_elements, of.other_elements);
    }
    if (!known.follows) return {};
    ++known.steps;
    known.follows = known.steps <= kMaxNarrowChain;
    const int64_t elements = ShapeUtil::ElementsIn(instruction.shape());
    known.is_candidate = known.follows && is_plain &&
                         known.elements_at_hand == elements &&
                         known.other_elements < elements;
    return known;
  }

  const std::vector<bool>& at_hand_;
  std::vector<Known> known_;
  bool any_ = false;
};

class Finder {
 public:
  Finder(HloInstruction* fusion, const KernelCost& cost,
         const std::vector<HloInstruction*>& order)
      : fusion_(fusion), cost_(cost), order_(order), first_of_(order) {
    for (HloInstruction* instruction : order_) {
      const size_t id = First(instruction)->local_id();
      if (equals_.size() <= id) equals_.resize(id + 1);
      equals_[id].push_back(instruction);
    }
  }

  std::vector<NarrowPart> Run(const Candidates& candidates) {
    std::vector<NarrowPart> parts;
    for (HloInstruction* value : order_) {
      if (First(value) != value || !candidates.contains(value)) continue;
      NarrowPart part;
      if (Collect(value, value->shape(), 0, &part) && Price(value, &part)) {
        parts.push_back(std::move(part));
      }
    }
    return parts;
  }

 private:
  using Equals = absl::InlinedVector<HloInstruction*, 1>;

  const HloInstruction* root() const {
    return fusion_->fused_expression_root();
  }
  HloInstruction* First(const HloInstruction* instruction) const {
    return first_of_.at(instruction);
  }
  const Equals& EqualsOf(const HloInstruction* instruction) const {
    return equals_[First(instruction)->local_id()];
  }
  bool IsOutput(const HloInstruction* value) const {
    return value == root() || (root()->opcode() == HloOpcode::kTuple &&
                               absl::c_linear_search(value->users(), root()));
  }

  // Adds what computes `inst`, and it, to the chain. `shape`: of the value.
  // False if it is computed in another way. The depth is bounded.
  bool Collect(HloInstruction* inst, const Shape& shape, size_t depth,
               NarrowPart* part) const {
    if (inst->opcode() == HloOpcode::kParameter) {
      return AddLeaf(inst, shape, part);
    }
    for (const NarrowPart::Step& step : part->chain) {
      if (step.instruction == inst) return true;
    }
    if (depth == kMaxNarrowChain) return false;
    NarrowPart::Step step{inst, {}};
    if (!IsScalarConstant(*inst)) {
      if (inst->opcode() != HloOpcode::kBroadcast &&
          !IsPlainElementwise(*inst)) {
        return false;
      }
      for (const HloInstruction* operand : inst->operands()) {
        step.operands.push_back(First(operand));
        if (!Collect(step.operands.back(), shape, depth + 1, part)) {
          return false;
        }
      }
    }
    part->chain.push_back(std::move(step));
    return part->chain.size() <= kMaxNarrowChain;
  }

  static bool AddLeaf(HloInstruction* parameter, const Shape& shape,
                      NarrowPart* part) {
    if (!parameter->shape().IsArray()) return false;
    const bool is_large =
        ShapeUtil::EqualIgnoringElementType(parameter->shape(), shape);
    // One that is as large but lies elsewhere is not read element by element.
    if (!is_large && ShapeUtil::ElementsIn(parameter->shape()) >=
                         ShapeUtil::ElementsIn(shape)) {
      return false;
    }
    std::vector<HloInstruction*>& leaves = is_large ? part->large : part->small;
    if (!absl::c_linear_search(leaves, parameter)) leaves.push_back(parameter);
    return leaves.size() <= kMaxParameters;
  }

  // All that reads it, or what equals it, is in `closed`.
  bool IsReadWithin(const HloInstruction* instruction,
                    const std::vector<const HloInstruction*>& closed) const {
    for (const HloInstruction* equal : EqualsOf(instruction)) {
      if (equal == root()) return false;
      for (const HloInstruction* user : equal->users()) {
        if (!absl::c_linear_search(closed, First(user))) return false;
      }
    }
    return true;
  }

  // What only the value's chain reads need no longer be read once the value
  // comes from elsewhere. Walking the chain backwards finds it: an instruction
  // is closed if all its readers are, and readers come later in the chain. A
  // leaf that the kernel gets by two of its parameters, or updates in place, is
  // read nevertheless.
  bool Price(HloInstruction* value, NarrowPart* part) {
    part->kernel = fusion_;
    part->values.assign(EqualsOf(value).begin(), EqualsOf(value).end());
    for (const HloInstruction* equal : part->values) {
      if (IsOutput(equal)) return false;
    }
    std::vector<const HloInstruction*> closed = {value};
    for (size_t i = part->chain.size() - 1; i-- > 0;) {
      const HloInstruction* inst = part->chain[i].instruction;
      if (IsReadWithin(inst, closed)) closed.push_back(inst);
    }
    const OperandCost* reads = nullptr;
    double bytes = 0;
    for (const auto* leaves : {&part->large, &part->small}) {
      for (HloInstruction* leaf : *leaves) {
        const int64_t number = leaf->parameter_number();
        const OperandCost& cost = cost_.operands[number];
        if (cost.in_place || !IsReadWithin(leaf, closed) ||
            fusion_->OperandIndices(fusion_->operand(number)).size() != 1) {
          continue;
        }
        part->absorbed.push_back(leaf);
        bytes += NetBytes(cost, leaf->shape());
        if (leaves == &part->large && reads == nullptr) reads = &cost;
      }
    }
    if (reads == nullptr) return false;
    part->reads = *reads;
    part->saved_bytes = bytes - NetBytes(*reads, value->shape());
    part->hash = Hash(*part);
    return part->saved_bytes > 0;
  }

  static double NetBytes(const OperandCost& cost, const Shape& shape) {
    const double size =
        static_cast<double>(ShapeUtil::ByteSizeOfElementsRecursive(shape));
    return size * std::min(1.0, cost.utilization());
  }

  size_t Hash(const NarrowPart& part) const {
    absl::flat_hash_map<const HloInstruction*, size_t> hashes;
    for (const auto* leaves : {&part.large, &part.small}) {
      for (const HloInstruction* leaf : *leaves) {
        hashes[leaf] = absl::HashOf(OperandOf(part, leaf)->unique_id());
      }
    }
    size_t hash = 0;
    for (const auto& [instruction, operands] : part.chain) {
      // The sum knows no order: the operands of some may be swapped.
      size_t sum = 0;
      for (const HloInstruction* operand : operands) sum += hashes.at(operand);
      hash = absl::HashOf(*instruction, sum);
      hashes[instruction] = hash;
    }
    return hash;
  }

  HloInstruction* fusion_;
  const KernelCost& cost_;
  const std::vector<HloInstruction*>& order_;
  const ValueNumbers first_of_;
  // By local id of the first one.
  std::vector<Equals> equals_;
};

}  // namespace

std::vector<NarrowPart> FindNarrowParts(HloInstruction* fusion,
                                        const KernelCost& cost,
                                        const std::vector<bool>& at_hand) {
  if (!absl::c_linear_search(at_hand, true)) return {};
  const std::vector<HloInstruction*> order =
      fusion->fused_instructions_computation()->MakeInstructionPostOrder();
  const Candidates candidates(order, at_hand);
  if (!candidates.any()) return {};
  return Finder(fusion, cost, order).Run(candidates);
}

bool AreEqualParts(const NarrowPart& a, const NarrowPart& b) {
  if (a.hash != b.hash || a.chain.size() != b.chain.size()) return false;
  absl::flat_hash_map<const HloInstruction*, const HloInstruction*> equal;
  const auto same = [&](const HloInstruction* x, const HloInstruction* y) {
    if (x->opcode() == HloOpcode::kParameter) {
      return y->opcode() == HloOpcode::kParameter &&
             OperandOf(a, x) == OperandOf(b, y);
    }
    return equal.at(x) == y;
  };
  // Operands are compared by step, for instructions may read equal ones.
  const auto any = [](const HloInstruction*, const HloInstruction*) {
    return true;
  };
  for (size_t i = 0; i < a.chain.size(); ++i) {
    const NarrowPart::Step& left = a.chain[i];
    const NarrowPart::Step& right = b.chain[i];
    if (!left.instruction->Identical(*right.instruction, any) ||
        !absl::c_equal(left.operands, right.operands, same)) {
      return false;
    }
    equal[left.instruction] = right.instruction;
  }
  return true;
}

HloInstruction* OperandOf(const NarrowPart& part,
                          const HloInstruction* parameter) {
  return part.kernel->mutable_operand(parameter->parameter_number());
}

}  // namespace xla::gpu
