#include "xla/hlo/transforms/spmd/sort_order.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/utils/comparator_order.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

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
  return CheckComparatorOrder(less, FloatOrders::kTotalOnly).ok();
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

// a goes before b if less(a, b), or if neither goes before the other and a has
// the smaller number: a weak order and a tie break make a total order, so that
// a sort that is not stable, run in parts on several devices, still has one
// result. What has the number `no_element` is padding and goes behind
// everything; of two of these the order does not matter. A comparator takes its
// operands in pairs (a0, b0, a1, b1, …), so i ^ 1 is the partner of parameter
// i.
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
  const auto binary = [&](HloInstruction* x, HloOpcode opcode,
                          HloInstruction* y) {
    return b.AddInstruction(HloInstruction::CreateBinary(pred, opcode, x, y));
  };
  HloInstruction* a = ab[2 * numbers];
  HloInstruction* other = ab[2 * numbers + 1];
  HloInstruction* is_not_greater = b.AddInstruction(HloInstruction::CreateUnary(
      pred, HloOpcode::kNot, AddLess(less, ba, &b)));
  HloInstruction* root =
      binary(AddLess(less, ab, &b), HloOpcode::kOr,
             binary(is_not_greater, HloOpcode::kAnd,
                    compare(a, ComparisonDirection::kLt, other)));
  if (no_element.has_value()) {
    HloInstruction* none = CreateR0WithType(number_type, *no_element, &b);
    HloInstruction* a_is_none = compare(a, ComparisonDirection::kEq, none);
    HloInstruction* b_is_none = compare(other, ComparisonDirection::kEq, none);
    // CheckComparatorOrder knows logic on predicates, but not their comparison.
    root = b.AddInstruction(HloInstruction::CreateTernary(
        pred, HloOpcode::kSelect, binary(a_is_none, HloOpcode::kXor, b_is_none),
        b_is_none, root));
  }
  return module->AddEmbeddedComputation(b.Build(root));
}

}  // namespace xla::spmd
