#include "xla/hlo/transforms/copies/copy_writer.h"

#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Whether an array is one constant all over. To write that again costs half of
// a copy, and the first array need not wait to be copied.
bool IsFill(const HloInstruction& value) {
  if (value.opcode() == HloOpcode::kBroadcast) {
    return value.operand(0)->opcode() == HloOpcode::kConstant &&
           ShapeUtil::IsEffectiveScalar(value.operand(0)->shape());
  }
  return value.opcode() == HloOpcode::kFusion && value.shape().IsArray() &&
         value.operand_count() == 0 && value.IsLoopFusion() &&
         absl::c_all_of(
             value.fused_instructions_computation()->instructions(),
             [](const HloInstruction* inst) {
               return inst->opcode() == HloOpcode::kConstant
                          ? ShapeUtil::IsEffectiveScalar(inst->shape())
                          : HloPredicateIsOp<HloOpcode::kBitcast,
                                             HloOpcode::kBroadcast,
                                             HloOpcode::kReshape>(inst);
             });
}

}  // namespace

HloInstruction* CopyWriter::Add(HloInstruction* like,
                                std::unique_ptr<HloInstruction> inst,
                                List* list) {
  HloInstruction* added = like->parent()->AddInstruction(std::move(inst));
  added->set_metadata(like->metadata());
  list->push_back(added);
  return added;
}

HloInstruction* CopyWriter::Element(HloInstruction* value, int64_t index,
                                    List* list) {
  if (value->opcode() == HloOpcode::kTuple)
    return value->mutable_operand(index);
  return Add(value,
             HloInstruction::CreateGetTupleElement(
                 value->shape().tuple_shapes(index), value, index),
             list);
}

HloInstruction* CopyWriter::Leaf(HloInstruction* value, const ShapeIndex& index,
                                 List* list) {
  for (int64_t i : index) value = Element(value, i, list);
  return value;
}

// Only tuples on the way to a copied leaf are built anew, each once, whatever
// number of leaves below it are copied: copies are grouped by element, level by
// level.
HloInstruction* CopyWriter::Rebuilt(HloInstruction* value,
                                    absl::Span<const Copy> copies, size_t depth,
                                    List* list) {
  if (copies[0].index->size() == depth) return copies[0].copy;
  absl::btree_map<int64_t, std::vector<Copy>> by_element;
  for (const Copy& copy : copies) {
    by_element[(*copy.index)[depth]].push_back(copy);
  }
  List elements;
  for (int64_t i = 0; i < value->shape().tuple_shapes_size(); ++i) {
    auto below = by_element.find(i);
    if (below == by_element.end()) {
      elements.push_back(Element(value, i, list));
    } else if (below->second[0].index->size() == depth + 1) {
      elements.push_back(below->second[0].copy);
    } else {
      elements.push_back(
          Rebuilt(Element(value, i, list), below->second, depth + 1, list));
    }
  }
  return Add(value, HloInstruction::CreateTuple(elements), list);
}

HloInstruction* CopyWriter::WithCopies(HloInstruction* value,
                                       absl::Span<const CopySite* const> sites,
                                       List* list) {
  std::vector<Copy> copies;
  for (const CopySite* site : sites) {
    HloInstruction* leaf = Leaf(value, site->index, list);
    std::unique_ptr<HloInstruction> copy =
        IsFill(*leaf) ? leaf->Clone()
                      : HloInstruction::CreateUnary(leaf->shape(),
                                                    HloOpcode::kCopy, leaf);
    if (copy->opcode() != HloOpcode::kCopy) loose_.push_back(leaf);
    copies.push_back({&site->index, Add(leaf, std::move(copy), list)});
  }
  HloInstruction* rebuilt = Rebuilt(value, copies, 0, list);
  if (rebuilt->opcode() == HloOpcode::kTuple && value->has_sharding()) {
    rebuilt->set_sharding(value->sharding_ptr());
  }
  loose_.push_back(value);
  return rebuilt;
}

absl::Status CopyWriter::WriteOperand(absl::Span<const CopySite* const> sites) {
  HloInstruction* inst = sites[0]->instruction;
  const int64_t number = sites[0]->operand_number;
  Touch(inst->parent());
  HloInstruction* copied =
      WithCopies(inst->mutable_operand(number), sites, &before_[inst]);
  return inst->ReplaceOperandWith(number, copied);
}

absl::Status CopyWriter::WriteResult(absl::Span<const CopySite* const> sites) {
  HloComputation* computation = sites[0]->computation;
  Touch(computation);
  computation->set_root_instruction(WithCopies(computation->root_instruction(),
                                               sites, &at_end_[computation]));
  return absl::OkStatus();
}

absl::Status CopyWriter::WriteParameter(
    absl::Span<const CopySite* const> sites) {
  HloInstruction* parameter = sites[0]->instruction;
  HloComputation* computation = parameter->parent();
  Touch(computation);
  // Taken before the copies are added, which are users too and keep reading the
  // parameter.
  const List users(parameter->users().begin(), parameter->users().end());
  const bool is_root = computation->root_instruction() == parameter;
  HloInstruction* copied = WithCopies(
      parameter, sites,
      parameter->opcode() == HloOpcode::kParameter ? &at_start_[computation]
                                                   : &after_[parameter]);
  for (HloInstruction* user : users) {
    if (user->opcode() == HloOpcode::kGetTupleElement) {
      HloInstruction* element = copied->mutable_operand(user->tuple_index());
      if (element->opcode() == HloOpcode::kGetTupleElement) continue;
      TF_RETURN_IF_ERROR(user->ReplaceAllUsesWith(element));
      loose_.push_back(user);
    } else {
      TF_RETURN_IF_ERROR(parameter->ReplaceUseWith(user, copied));
    }
  }
  if (is_root) computation->set_root_instruction(copied);
  loose_.push_back(copied);
  return absl::OkStatus();
}

absl::Status CopyWriter::Remove(HloInstruction* copy) {
  Touch(copy->parent());
  TF_RETURN_IF_ERROR(copy->ReplaceAllUsesWith(copy->mutable_operand(0)));
  loose_.push_back(copy);
  return absl::OkStatus();
}

absl::Status CopyWriter::RemoveLoose() {
  while (!loose_.empty()) {
    HloInstruction* inst = loose_.back();
    loose_.pop_back();
    if (removed_.contains(inst)) continue;
    const bool can_go = inst->opcode() == HloOpcode::kTuple ||
                        inst->opcode() == HloOpcode::kGetTupleElement ||
                        inst->opcode() == HloOpcode::kCopy || IsFill(*inst);
    if (!can_go || inst->user_count() > 0 || inst->IsRoot() ||
        inst->HasControlDependencies()) {
      continue;
    }
    const auto operands = inst->unique_operands();
    TF_RETURN_IF_ERROR(inst->parent()->RemoveInstruction(inst));
    removed_.insert(inst);
    loose_.insert(loose_.end(), operands.begin(), operands.end());
  }
  return absl::OkStatus();
}

// Builds the order of each computation once, in time linear in its length,
// rather than once for each copy. Where copies stand at the start, the
// parameters come first: a copy at the start reads a parameter, wherever in the
// order that stood.
absl::Status CopyWriter::Finish() {
  TF_RETURN_IF_ERROR(RemoveLoose());
  for (HloComputation* computation : touched_) {
    List sequence;
    auto append = [&](const List& list) {
      for (HloInstruction* inst : list) {
        if (!removed_.contains(inst)) sequence.push_back(inst);
      }
    };
    const List& start = at_start_[computation];
    if (!start.empty()) {
      append({computation->parameter_instructions().begin(),
              computation->parameter_instructions().end()});
      append(start);
    }
    for (HloInstruction* inst : order_->sequence(computation).instructions()) {
      if (removed_.contains(inst)) continue;
      if (!start.empty() && inst->opcode() == HloOpcode::kParameter) continue;
      auto before = before_.find(inst);
      if (before != before_.end()) append(before->second);
      append({inst});
      auto after = after_.find(inst);
      if (after != after_.end()) append(after->second);
    }
    append(at_end_[computation]);
    order_->set_sequence(computation, sequence);
  }
  return absl::OkStatus();
}

}  // namespace xla
