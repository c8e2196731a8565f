#ifndef XLA_HLO_ANALYSIS_HLO_VALUE_H_
#define XLA_HLO_ANALYSIS_HLO_VALUE_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"

namespace xla {

// An instruction's output at one index of its shape.
struct HloPosition {
  HloInstruction* instruction;
  ShapeIndex index;

  const Shape& shape() const {
    return ShapeUtil::GetSubshape(instruction->shape(), index);
  }

  // `name {1,0}`; the index only of tuples.
  std::string ToString() const;

  bool operator==(const HloPosition& other) const {
    return instruction == other.instruction && index == other.index;
  }
  bool operator!=(const HloPosition& other) const { return !(*this == other); }
  // By unique id, then index: the same on every run.
  bool operator<(const HloPosition& other) const;

  template <typename H>
  friend H AbslHashValue(H h, const HloPosition& pos) {
    return H::combine(std::move(h), pos.instruction->unique_id(), pos.index);
  }
};

std::ostream& operator<<(std::ostream& out, const HloPosition& position);

// A place where an instruction reads a value: an index of one of its operands.
struct HloUse {
  HloInstruction* instruction;
  int64_t operand_number;
  ShapeIndex operand_index;

  HloUse() : instruction(nullptr), operand_number(-1) {}
  HloUse(HloInstruction* instruction, int64_t operand_number)
      : instruction(instruction), operand_number(operand_number) {}
  HloUse(HloInstruction* instruction, int64_t operand_number,
         ShapeIndex operand_index)
      : instruction(instruction),
        operand_number(operand_number),
        operand_index(std::move(operand_index)) {}

  // `name, operand 1 {0}`
  std::string ToString() const;

  bool operator==(const HloUse& other) const {
    return instruction == other.instruction &&
           operand_number == other.operand_number &&
           operand_index == other.operand_index;
  }
  bool operator!=(const HloUse& other) const { return !(*this == other); }

  template <typename H>
  friend H AbslHashValue(H h, const HloUse& use) {
    return H::combine(std::move(h), use.instruction->unique_id(),
                      use.operand_number, use.operand_index);
  }
};

std::ostream& operator<<(std::ostream& out, const HloUse& use);

// A value of dataflow analysis: defined once, by an instruction at an index of
// its shape or as the phi where several values meet, and present at all
// positions that it flows to.
class HloValue : public BufferValue {
 public:
  using Positions = absl::InlinedVector<HloPosition, 1>;

  static bool IdLessThan(const HloValue* a, const HloValue* b) {
    return a->id() < b->id();
  }

  HloValue(Id id, HloInstruction* instruction, const ShapeIndex& index,
           bool is_phi = false);
  // For callers that know whether the instruction is the root of the entry.
  HloValue(Id id, HloInstruction* instruction, const ShapeIndex& index,
           bool is_phi, bool is_root_of_entry)
      : BufferValue(instruction, index, id),
        is_phi_(is_phi),
        live_out_of_module_(is_root_of_entry),
        positions_(1, HloPosition{instruction, index}) {}
  HloValue(const HloValue&) = delete;
  HloValue& operator=(const HloValue&) = delete;

  // Positions other than the defining one. Must precede the first GetUses().
  void SetPositions(absl::Span<const HloPosition> positions);
  void AddPosition(HloInstruction* instruction, const ShapeIndex& index);

  bool is_phi() const { return is_phi_; }

  const HloPosition& defining_position() const { return positions_[0]; }
  HloInstruction* defining_instruction() const { return instruction(); }
  const ShapeIndex& defining_index() const { return index(); }

  // The defining position, then the others in the order of analysis.
  const Positions& positions() const { return positions_; }

  // Reads by instructions at all positions. Forwarding a value without reading
  // it is not a use (tuple, and get-tuple-element except of {}); calls, whiles
  // and conditionals are. Computed by the first call, which takes O(positions +
  // their users' operands); thread-safe.
  absl::Span<const HloUse> GetUses() const;

  // For instructions with wide tuples: the users that may read or return an
  // element, without the get-tuple-elements that only forward one.
  using TupleReaders =
      absl::flat_hash_map<const HloInstruction*, std::vector<HloInstruction*>>;
  // Finds the uses now; at instructions in `readers`, searches only those
  // users. If each of the N elements of a tuple searched all of its N users,
  // the total would be O(N²).
  void FindUsesAmong(const TupleReaders& readers);

  bool IsRootOf(const HloComputation* computation) const;
  // At the root of the entry computation.
  bool live_out_of_module() const { return live_out_of_module_; }

  bool operator==(const HloValue& other) const { return this == &other; }
  bool operator!=(const HloValue& other) const { return !(*this == other); }

  // `<3 name{1,0} (phi)>`
  std::string ToShortString() const;
  // With positions and uses.
  std::string ToString(int indent) const;
  std::string ToString() const { return ToString(0); }

 private:
  void FindUses(const TupleReaders& readers) const;

  const bool is_phi_;
  bool live_out_of_module_ = false;
  Positions positions_;
  mutable absl::once_flag uses_found_;
  mutable std::vector<HloUse> uses_;
};

std::ostream& operator<<(std::ostream& out, const HloValue& hlo_value);

// Values in the order of their ids, each once.
class HloValueSet {
 public:
  HloValueSet() = default;
  explicit HloValueSet(const HloValue* value) : values_(1, value) {}
  explicit HloValueSet(absl::Span<const HloValue* const> values);
  explicit HloValueSet(const absl::flat_hash_set<const HloValue*>& values);

  // Returns whether the set changed.
  bool AssignUnionOf(absl::Span<const HloValueSet* const> inputs);

  const std::vector<const HloValue*>& values() const { return values_; }

  // Returns whether it is new.
  bool AddValue(const HloValue* value);
  void Clear() { values_.clear(); }
  std::vector<const HloValue*> TakeValues() {
    return std::exchange(values_, {});
  }

  // The set must have exactly one value.
  const HloValue& GetUniqueValue() const;

  bool operator==(const HloValueSet& other) const {
    return values_ == other.values_;
  }
  bool operator!=(const HloValueSet& other) const { return !(*this == other); }

  std::string ToString() const;

 private:
  void SortAndUnique();

  std::vector<const HloValue*> values_;
};

std::ostream& operator<<(std::ostream& out, const HloValueSet& value_set);

// The values of an instruction, by index of its shape.
class InstructionValueSet : public ShapeTree<HloValueSet> {
 public:
  // The shape must outlive the set.
  explicit InstructionValueSet(const Shape* shape)
      : ShapeTree<HloValueSet>(shape) {}

  // Sets each index to the union of the inputs' sets there. Returns whether
  // anything changed.
  bool AssignUnionOf(absl::Span<const InstructionValueSet* const> inputs);
  // Assigns the values of `input` at and below `input_index`.
  bool AssignUnionOf(const InstructionValueSet& input,
                     ShapeIndexView input_index);

  // Whether some index has several values.
  bool IsAmbiguous() const;

  std::string ToString() const;
};

std::ostream& operator<<(std::ostream& out,
                         const InstructionValueSet& instruction_value_set);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HLO_VALUE_H_
