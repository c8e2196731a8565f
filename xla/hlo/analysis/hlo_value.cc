#include "xla/hlo/analysis/hlo_value.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
namespace {

// Whether `user` reads operand index `index`, or only passes it on.
bool Reads(const HloInstruction& user, const ShapeIndex& index) {
  switch (user.opcode()) {
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kCopy:
      return index.empty();
    case HloOpcode::kDomain:
    case HloOpcode::kTuple:
      return false;
    default:  // Reads all of its operands.
      return true;
  }
}

}  // namespace

std::string HloPosition::ToString() const {
  return absl::StrCat(instruction->name(), instruction->shape().IsTuple()
                                               ? " " + index.ToString()
                                               : "");
}

bool HloPosition::operator<(const HloPosition& other) const {
  if (instruction != other.instruction) {
    return instruction->unique_id() < other.instruction->unique_id();
  }
  return index < other.index;
}

std::ostream& operator<<(std::ostream& out, const HloPosition& position) {
  return out << position.ToString();
}

std::string HloUse::ToString() const {
  if (instruction == nullptr) return "no use";
  return absl::StrCat(instruction->name(), ", operand ", operand_number,
                      instruction->operand(operand_number)->shape().IsTuple()
                          ? " " + operand_index.ToString()
                          : "");
}

std::ostream& operator<<(std::ostream& out, const HloUse& use) {
  return out << use.ToString();
}

HloValue::HloValue(Id id, HloInstruction* instruction, const ShapeIndex& index,
                   bool is_phi)
    : BufferValue(instruction, index, id), is_phi_(is_phi) {
  AddPosition(instruction, index);
}

void HloValue::AddPosition(HloInstruction* instruction,
                           const ShapeIndex& index) {
  positions_.push_back({instruction, index});
  if (instruction->IsRoot() && instruction->parent()->IsEntryComputation()) {
    live_out_of_module_ = true;
  }
}

void HloValue::SetPositions(absl::Span<const HloPosition> positions) {
  positions_.resize(1);
  live_out_of_module_ =
      IsRootOf(instruction()->GetModule()->entry_computation());
  for (const HloPosition& position : positions) {
    AddPosition(position.instruction, position.index);
  }
}

bool HloValue::IsRootOf(const HloComputation* computation) const {
  return std::any_of(positions_.begin(), positions_.end(),
                     [&](const HloPosition& position) {
                       return position.instruction->IsRoot() &&
                              position.instruction->parent() == computation;
                     });
}

absl::Span<const HloUse> HloValue::GetUses() const {
  absl::call_once(uses_found_, [this] { FindUses({}); });
  return uses_;
}

void HloValue::FindUsesAmong(const TupleReaders& readers) {
  absl::call_once(uses_found_, [&] { FindUses(readers); });
}

// A use reads memory. A tuple, or a get-tuple-element where the value is a part
// of the tuple, only passes pointers on. The exception is the root of a
// computation: the value is read there even by a tuple, since callers find it
// in the result; with elements known, only the operand that has the value
// counts.
void HloValue::FindUses(const TupleReaders& readers) const {
  // Roots that hand the value on: callers see it there.
  absl::flat_hash_set<const HloInstruction*> roots;
  // Where it is in them, if they are tuples: at which operand, and where in it.
  absl::flat_hash_map<const HloInstruction*, std::vector<const ShapeIndex*>>
      elements;
  for (const HloPosition& position : positions_) {
    if (!position.instruction->IsRoot()) continue;
    roots.insert(position.instruction);
    if (position.instruction->opcode() == HloOpcode::kTuple &&
        !position.index.empty()) {
      elements[position.instruction].push_back(&position.index);
    }
  }
  for (const HloPosition& position : positions_) {
    auto add = [&](HloInstruction* user, int64_t operand) {
      if (user->operand(operand) != position.instruction) return;
      uses_.emplace_back(user, operand, position.index);
    };
    auto add_if_it_reads = [&](HloInstruction* user) {
      if (!Reads(*user, position.index) && !roots.contains(user)) return;
      auto places = elements.find(user);
      if (places == elements.end()) {
        for (int64_t i = 0; i < user->operand_count(); ++i) add(user, i);
        return;
      }
      for (const ShapeIndex* place : places->second) {
        if (std::equal(place->begin() + 1, place->end(), position.index.begin(),
                       position.index.end())) {
          add(user, place->front());
        }
      }
    };
    auto known = readers.find(position.instruction);
    if (known != readers.end() && !position.index.empty()) {
      for (HloInstruction* user : known->second) add_if_it_reads(user);
    } else {
      for (HloInstruction* user : position.instruction->users()) {
        add_if_it_reads(user);
      }
    }
  }
}

std::string HloValue::ToShortString() const {
  return absl::StrCat(
      "<", id(), " ", instruction()->name(),
      instruction()->shape().IsTuple() ? index().ToString() : "",
      is_phi_ ? " (phi)" : "", live_out_of_module_ ? " (live out)" : "", ">");
}

std::string HloValue::ToString(int indent) const {
  const std::string margin(indent, ' ');
  std::string out =
      absl::StrCat(margin, ToShortString(), "\n", margin, " positions:\n");
  for (const HloPosition& position : positions_) {
    absl::StrAppend(&out, margin, "  ", position.ToString(), "\n");
  }
  absl::StrAppend(&out, margin, " uses:\n");
  for (const HloUse& use : GetUses()) {
    absl::StrAppend(&out, margin, "  ", use.ToString(), "\n");
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const HloValue& hlo_value) {
  return out << hlo_value.ToShortString();
}

HloValueSet::HloValueSet(absl::Span<const HloValue* const> values)
    : values_(values.begin(), values.end()) {
  SortAndUnique();
}

HloValueSet::HloValueSet(const absl::flat_hash_set<const HloValue*>& values)
    : values_(values.begin(), values.end()) {
  SortAndUnique();
}

void HloValueSet::SortAndUnique() {
  std::sort(values_.begin(), values_.end(), HloValue::IdLessThan);
  values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
}

bool HloValueSet::AssignUnionOf(absl::Span<const HloValueSet* const> inputs) {
  HloValueSet all;
  for (const HloValueSet* input : inputs) {
    all.values_.insert(all.values_.end(), input->values_.begin(),
                       input->values_.end());
  }
  all.SortAndUnique();
  if (*this == all) return false;
  *this = std::move(all);
  return true;
}

bool HloValueSet::AddValue(const HloValue* value) {
  auto it = std::lower_bound(values_.begin(), values_.end(), value,
                             HloValue::IdLessThan);
  if (it != values_.end() && *it == value) return false;
  values_.insert(it, value);
  return true;
}

const HloValue& HloValueSet::GetUniqueValue() const {
  CHECK_EQ(values_.size(), 1) << ToString();
  return *values_[0];
}

std::string HloValueSet::ToString() const {
  return absl::StrCat(
      "{",
      absl::StrJoin(values_, ", ",
                    [](std::string* out, const HloValue* value) {
                      absl::StrAppend(out, value->ToShortString());
                    }),
      "}");
}

std::ostream& operator<<(std::ostream& out, const HloValueSet& value_set) {
  return out << value_set.ToString();
}

bool InstructionValueSet::AssignUnionOf(
    absl::Span<const InstructionValueSet* const> inputs) {
  bool changed = false;
  for (auto& [index, set] : *this) {
    std::vector<const HloValueSet*> sets;
    for (const InstructionValueSet* input : inputs) {
      sets.push_back(&input->element(index));
    }
    changed |= set.AssignUnionOf(sets);
  }
  return changed;
}

bool InstructionValueSet::AssignUnionOf(const InstructionValueSet& input,
                                        ShapeIndexView input_index) {
  bool changed = false;
  for (auto& [index, set] : *this) {
    ShapeIndex there(input_index);
    there.insert(there.end(), index.begin(), index.end());
    const HloValueSet* source = &input.element(there);
    changed |= set.AssignUnionOf({source});
  }
  return changed;
}

bool InstructionValueSet::IsAmbiguous() const {
  return std::any_of(begin(), end(), [](const auto& node) {
    return node.second.values().size() > 1;
  });
}

std::string InstructionValueSet::ToString() const {
  return absl::StrCat("{",
                      absl::StrJoin(*this, ", ",
                                    [](std::string* out, const auto& node) {
                                      absl::StrAppend(
                                          out, node.first.ToString(), ": ",
                                          node.second.ToString());
                                    }),
                      "}");
}

std::ostream& operator<<(std::ostream& out,
                         const InstructionValueSet& instruction_value_set) {
  return out << instruction_value_set.ToString();
}

}  // namespace xla
