#include "xla/hlo/ir/hlo_original_value.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {

// --- Arrays
// -------------------------------------------------------------------

std::string OriginalArray::ToString() const {
  std::string text = absl::StrCat("\"", absl::CEscape(instruction_name), "\"");
  if (!shape_index.empty()) {
    absl::StrAppend(&text, " {", absl::StrJoin(shape_index, ","), "}");
  }
  return text;
}

// --- Values
// -------------------------------------------------------------------

OriginalValue::OriginalValue(const Shape& shape) {
  ShapeUtil::ForEachLeafShape(shape,
                              [&](const Shape&, const ShapeIndex& index) {
                                leaves_.emplace_back(index, std::nullopt);
                              });
}

OriginalValue::OriginalValue(
    TupleTree<std::optional<OriginalArray>>::Node root) {
  TupleTree<std::optional<OriginalArray>>(std::move(root))
      .ForEachLeaf([&](const ShapeIndex& index,
                       const std::optional<OriginalArray>& array) {
        leaves_.emplace_back(index, array);
      });
}

OriginalValue OriginalValue::SyntheticCall() {
  OriginalValue value{std::vector<Leaf>()};
  value.is_synthetic_call_ = true;
  return value;
}

const std::optional<OriginalArray>& OriginalValue::original_array(
    ShapeIndexView index) const {
  static const auto& none = *new std::optional<OriginalArray>();
  for (const Leaf& leaf : leaves_) {
    if (ShapeIndexView(leaf.first) == index) return leaf.second;
  }
  return none;
}

std::optional<OriginalArray>* OriginalValue::mutable_original_array(
    ShapeIndexView index) {
  for (Leaf& leaf : leaves_) {
    if (ShapeIndexView(leaf.first) == index) return &leaf.second;
  }
  return nullptr;
}

bool OriginalValue::IsEmpty() const {
  return !is_synthetic_call_ && absl::c_none_of(leaves_, [](const Leaf& leaf) {
    return leaf.second.has_value();
  });
}

bool OriginalValue::IsCompatibleWith(const Shape& shape) const {
  if (is_synthetic_call_) return true;
  size_t next = 0;
  bool same = true;
  ShapeUtil::ForEachLeafShape(
      shape, [&](const Shape&, const ShapeIndex& index) {
        same = same && next < leaves_.size() && leaves_[next].first == index;
        ++next;
      });
  return same && next == leaves_.size();
}

std::string OriginalValue::ToString() const {
  if (is_synthetic_call_) return "[synthetic_call]";
  // The leaves stand in pre-order, so that the text can be written along: close
  // the tuples left, write a comma, open those entered.
  std::string text;
  ShapeIndex open;  // Index of the last leaf written.
  bool first = true;
  for (const auto& [index, array] : leaves_) {
    size_t common = 0;
    if (!first) {
      while (common < index.size() && common < open.size() &&
             index[common] == open[common]) {
        ++common;
      }
      for (size_t depth = open.size(); depth > common + 1; --depth) text += ")";
      text += ", ";
      ++common;
    }
    for (size_t depth = common; depth < index.size(); ++depth) text += "(";
    absl::StrAppend(&text, "{", array ? array->ToString() : "", "}");
    open = index;
    first = false;
  }
  text.append(open.size(), ')');
  return first ? "()" : text;
}

namespace {

// The leaves of one tuple element, with indices within it.
std::vector<OriginalValue::Leaf> LeavesOfElement(const OriginalValue& tuple,
                                                 int64_t element) {
  std::vector<OriginalValue::Leaf> leaves;
  for (const auto& [index, array] : tuple.original_arrays()) {
    if (index.empty() || index[0] != element) continue;
    leaves.emplace_back(ShapeIndex(index.begin() + 1, index.end()), array);
  }
  return leaves;
}

}  // namespace

std::shared_ptr<OriginalValue> OriginalValue::CreateFromInstruction(
    const HloInstruction* instruction, absl::string_view prefix) {
  switch (instruction->opcode()) {
    case HloOpcode::kGetTupleElement: {
      const HloInstruction* operand = instruction->operand(0);
      auto tuple = operand->original_value();
      if (tuple == nullptr && operand->opcode() == HloOpcode::kTuple) {
        return operand->operand(instruction->tuple_index())->original_value();
      }
      if (tuple == nullptr || tuple->is_synthetic_call()) return nullptr;
      return std::make_shared<OriginalValue>(
          LeavesOfElement(*tuple, instruction->tuple_index()));
    }
    case HloOpcode::kTuple: {
      std::vector<Leaf> leaves;
      for (int64_t i = 0; i < instruction->operand_count(); ++i) {
        auto element = instruction->operand(i)->original_value();
        if (element == nullptr) return nullptr;
        if (element->is_synthetic_call()) {
          // What the call stands for is lost, the other elements are not.
          ShapeUtil::ForEachLeafShape(
              instruction->operand(i)->shape(),
              [&](const Shape&, const ShapeIndex& index) {
                ShapeIndex full = index;
                full.push_front(i);
                leaves.emplace_back(std::move(full), std::nullopt);
              });
          continue;
        }
        for (const auto& [index, array] : element->original_arrays()) {
          ShapeIndex full = index;
          full.push_front(i);
          leaves.emplace_back(std::move(full), array);
        }
      }
      return std::make_shared<OriginalValue>(std::move(leaves));
    }
    case HloOpcode::kOptimizationBarrier:
      return instruction->operand(0)->original_value();
    default:  // A value of its own.
      break;
  }
  auto value = std::make_shared<OriginalValue>(instruction->shape());
  for (auto& [index, array] : value->leaves_) {
    array = OriginalArray{absl::StrCat(prefix, instruction->name()), index};
  }
  return value;
}

void CopyOriginalValue(const HloInstruction* src, HloInstruction* dest) {
  dest->CopyOriginalValue(src);
}

void CopyOriginalValue(
    const HloInstruction* src, HloInstruction* dest,
    const absl::flat_hash_map<int64_t, int64_t>& new_index_of) {
  const std::shared_ptr<OriginalValue> from = src->original_value();
  if (from == nullptr) return;
  if (from->is_synthetic_call()) return dest->set_original_value(from);
  auto value = std::make_shared<OriginalValue>(dest->shape());
  for (const auto& [index, array] : from->original_arrays()) {
    auto it = index.empty() ? new_index_of.end() : new_index_of.find(index[0]);
    if (it == new_index_of.end()) continue;
    ShapeIndex target = index;
    target[0] = it->second;
    if (auto* leaf = value->mutable_original_array(target)) *leaf = array;
  }
  dest->set_original_value(std::move(value));
}

void DeduplicateOriginalValues(HloModule* module) {
  struct HashValue {
    size_t operator()(const std::shared_ptr<OriginalValue>& value) const {
      return absl::HashOf(*value);
    }
  };
  struct EqualValue {
    bool operator()(const std::shared_ptr<OriginalValue>& a,
                    const std::shared_ptr<OriginalValue>& b) const {
      return *a == *b;
    }
  };
  absl::flat_hash_set<std::shared_ptr<OriginalValue>, HashValue, EqualValue>
      values;
  for (HloComputation* computation : module->computations()) {
    for (HloInstruction* instruction : computation->instructions()) {
      if (auto value = instruction->original_value()) {
        instruction->set_original_value(*values.insert(value).first);
      }
    }
  }
}

}  // namespace xla
