#include "xla/hlo/transforms/spmd/sort_order.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

// Proves orders, from the root of a comparator down.
class OrderProof {
 public:
  // One key: f(a) < f(b) or f(a) > f(b). Several: that, or equal and the order
  // of the others.
  bool IsOrder(const HloInstruction* hlo) {
    if (IsKey(hlo)) return true;
    if (hlo->opcode() == HloOpcode::kSelect) {
      return IsKey(hlo->operand(2)) &&
             IsEqualityOf(hlo->operand(0), hlo->operand(2)) &&
             IsOrder(hlo->operand(1));
    }
    if (hlo->opcode() != HloOpcode::kOr) return false;
    for (int64_t i : {0, 1}) {
      const HloInstruction* both = hlo->operand(1 - i);
      if (!IsKey(hlo->operand(i)) || both->opcode() != HloOpcode::kAnd) {
        continue;
      }
      for (int64_t j : {0, 1}) {
        if (IsEqualityOf(both->operand(j), hlo->operand(i))) {
          return IsOrder(both->operand(1 - j));
        }
      }
    }
    return false;
  }

 private:
  // NaNs have no place in the other order of floats.
  static const HloCompareInstruction* AsCompare(const HloInstruction* hlo) {
    const auto* compare = DynCast<HloCompareInstruction>(hlo);
    return compare == nullptr || compare->type() == Comparison::Type::kFloat
               ? nullptr
               : compare;
  }
  bool IsKey(const HloInstruction* hlo) {
    const HloCompareInstruction* compare = AsCompare(hlo);
    return compare != nullptr &&
           (compare->direction() == ComparisonDirection::kLt ||
            compare->direction() == ComparisonDirection::kGt) &&
           (Mirrored(hlo->operand(0), hlo->operand(1)) ||
            Mirrored(hlo->operand(1), hlo->operand(0)));
  }
  static bool IsEqualityOf(const HloInstruction* hlo,
                           const HloInstruction* key) {
    const HloCompareInstruction* compare = AsCompare(hlo);
    return compare != nullptr &&
           compare->direction() == ComparisonDirection::kEq &&
           compare->type() == Cast<HloCompareInstruction>(key)->type() &&
           ((hlo->operand(0) == key->operand(0) &&
             hlo->operand(1) == key->operand(1)) ||
            (hlo->operand(0) == key->operand(1) &&
             hlo->operand(1) == key->operand(0)));
  }
  // y is the function of b that x is of a.
  bool Mirrored(const HloInstruction* x, const HloInstruction* y) {
    if (x->opcode() == HloOpcode::kParameter) {
      return y->opcode() == HloOpcode::kParameter &&
             x->parameter_number() % 2 == 0 &&
             y->parameter_number() == x->parameter_number() + 1;
    }
    auto [known, is_new] = mirrored_.try_emplace(std::make_pair(x, y), false);
    if (!is_new) return known->second;
    const bool result =
        (x->opcode() == HloOpcode::kConstant || x->IsElementwise()) &&
        x->opcode() != HloOpcode::kRng && x->called_computations().empty() &&
        x->Identical(*y,
                     [this](const HloInstruction* a, const HloInstruction* b) {
                       return Mirrored(a, b);
                     });
    mirrored_[{x, y}] = result;
    return result;
  }

  absl::flat_hash_map<std::pair<const HloInstruction*, const HloInstruction*>,
                      bool>
      mirrored_;
};

// The value of `less` of two elements, each given by its parameters.
HloInstruction* AddLess(const HloComputation& less,
                        const std::vector<HloInstruction*>& parameters,
                        HloComputation::Builder* b) {
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> clones;
  for (const HloInstruction* hlo : less.MakeInstructionPostOrder()) {
    if (hlo->opcode() == HloOpcode::kParameter) {
      clones[hlo] = parameters[hlo->parameter_number()];
      continue;
    }
    std::vector<HloInstruction*> operands;
    for (const HloInstruction* operand : hlo->operands()) {
      operands.push_back(clones.at(operand));
    }
    clones[hlo] =
        b->AddInstruction(hlo->CloneWithNewOperands(hlo->shape(), operands));
  }
  return clones.at(less.root_instruction());
}

}  // namespace

bool IsStrictWeakOrder(const HloComputation& less) {
  return OrderProof().IsOrder(less.root_instruction());
}

std::optional<OrderOfValues> AsOrderOfValues(const HloComputation& less) {
  const HloInstruction* root = less.root_instruction();
  if (less.num_parameters() != 2 || root->opcode() != HloOpcode::kCompare ||
      root->operand(0)->opcode() != HloOpcode::kParameter ||
      !IsStrictWeakOrder(less)) {
    return std::nullopt;
  }
  const bool less_than =
      root->comparison_direction() == ComparisonDirection::kLt;
  return less_than == (root->operand(0)->parameter_number() == 0)
             ? OrderOfValues::kSmallestFirst
             : OrderOfValues::kLargestFirst;
}

HloComputation* OrderTiesByNumber(const HloComputation& less, int64_t numbers,
                                  PrimitiveType number_type,
                                  std::optional<int64_t> no_element,
                                  HloModule* module) {
  HloComputation::Builder b("compare_and_number");
  std::vector<HloInstruction*> ab, ba;
  const int64_t count =
      std::max<int64_t>(less.num_parameters(), 2 * numbers + 2);
  for (int64_t i = 0; i < count; ++i) {
    const PrimitiveType type =
        i < less.num_parameters()
            ? less.parameter_instruction(i)->shape().element_type()
            : number_type;
    ab.push_back(b.AddInstruction(HloInstruction::CreateParameter(
        i, ShapeUtil::MakeShape(type, {}), "p")));
  }
  for (int64_t i = 0; i < count; ++i) ba.push_back(ab[i ^ 1]);
  const Shape pred = ShapeUtil::MakeShape(PRED, {});
  const auto compare = [&](HloInstruction* x, ComparisonDirection direction,
                           HloInstruction* y) {
    return b.AddInstruction(
        HloInstruction::CreateCompare(pred, x, y, direction));
  };
  const auto select = [&](HloInstruction* if_true, HloInstruction* x,
                          HloInstruction* y) {
    return b.AddInstruction(
        HloInstruction::CreateTernary(pred, HloOpcode::kSelect, if_true, x, y));
  };
  HloInstruction* is_less = AddLess(less, ab, &b);
  HloInstruction* a = ab[2 * numbers];
  HloInstruction* other = ab[2 * numbers + 1];
  HloInstruction* root =
      select(compare(is_less, ComparisonDirection::kEq, AddLess(less, ba, &b)),
             compare(a, ComparisonDirection::kLt, other), is_less);
  if (no_element.has_value()) {
    HloInstruction* none = CreateR0WithType(number_type, *no_element, &b);
    HloInstruction* b_is_none = compare(other, ComparisonDirection::kEq, none);
    root = select(compare(compare(a, ComparisonDirection::kEq, none),
                          ComparisonDirection::kEq, b_is_none),
                  root, b_is_none);
  }
  return module->AddEmbeddedComputation(b.Build(root));
}

}  // namespace xla::spmd
