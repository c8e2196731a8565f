#ifndef XLA_HLO_IR_HLO_ORIGINAL_VALUE_H_
#define XLA_HLO_IR_HLO_ORIGINAL_VALUE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/tuple_tree.h"
#include "xla/xla_data.pb.h"

namespace xla {

class HloInstruction;
class HloModule;

// An array of the unoptimized program: a leaf of the value of an instruction.
struct OriginalArray {
  std::string instruction_name;
  ShapeIndex shape_index;

  // "name" or "name" {0,1}, quotes included.
  std::string ToString() const;
  OriginalArrayProto ToProto() const;
  static OriginalArray FromProto(const OriginalArrayProto& proto);

  friend bool operator==(const OriginalArray& a, const OriginalArray& b) {
    return a.instruction_name == b.instruction_name &&
           a.shape_index == b.shape_index;
  }
  friend bool operator!=(const OriginalArray& a, const OriginalArray& b) {
    return !(a == b);
  }
  template <typename H>
  friend H AbslHashValue(H h, const OriginalArray& array) {
    return H::combine(std::move(h), array.instruction_name, array.shape_index);
  }
};

// Which arrays of the unoptimized program an instruction's value corresponds
// to, leaf by leaf.
class OriginalValue {
 public:
  // A leaf and its array; nullopt if that is lost.
  using Leaf = std::pair<ShapeIndex, std::optional<OriginalArray>>;

  // All leaves of `shape`, without arrays.
  explicit OriginalValue(const Shape& shape);
  // The leaves of a tree.
  explicit OriginalValue(TupleTree<std::optional<OriginalArray>>::Node root);
  // `leaves` in pre-order of their indices.
  explicit OriginalValue(std::vector<Leaf> leaves)
      : leaves_(std::move(leaves)) {}

  // The value of a call that exists only to carry call site information.
  static OriginalValue SyntheticCall();
  bool is_synthetic_call() const { return is_synthetic_call_; }

  const std::vector<Leaf>& original_arrays() const { return leaves_; }
  std::vector<Leaf>& mutable_original_arrays() { return leaves_; }

  // The array behind the leaf at `index`; nullopt if there is no such leaf.
  const std::optional<OriginalArray>& original_array(
      ShapeIndexView index) const;
  std::optional<OriginalArray>* mutable_original_array(ShapeIndexView index);

  // No leaf has an array.
  bool IsEmpty() const;
  // The leaves are those of `shape` (always true for synthetic calls).
  bool IsCompatibleWith(const Shape& shape) const;

  // `{"a"}`, `({"a"}, {"b" {1}}, {})` or `[synthetic_call]`, that is: what
  // is printed inside the braces of the attribute origin={...}.
  std::string ToString() const;
  OriginalValueProto ToProto() const;
  static std::shared_ptr<OriginalValue> FromProto(
      const OriginalValueProto& proto);

  // The original value of an instruction of the unoptimized program. It passes
  // through get-tuple-element, tuple and opt-barrier unchanged; null if their
  // operands have none. `prefix` is prepended to the name.
  static std::shared_ptr<OriginalValue> CreateFromInstruction(
      const HloInstruction* instruction, absl::string_view prefix = "");

  friend bool operator==(const OriginalValue& a, const OriginalValue& b) {
    return a.is_synthetic_call_ == b.is_synthetic_call_ &&
           a.leaves_ == b.leaves_;
  }
  friend bool operator!=(const OriginalValue& a, const OriginalValue& b) {
    return !(a == b);
  }
  template <typename H>
  friend H AbslHashValue(H h, const OriginalValue& value) {
    return H::combine(std::move(h), value.is_synthetic_call_, value.leaves_);
  }

 private:
  std::vector<Leaf> leaves_;
  bool is_synthetic_call_ = false;
};

inline std::ostream& operator<<(std::ostream& out, const OriginalValue& value) {
  return out << value.ToString();
}

// Gives `dest` the original value of `src` if the leaves match; never from a
// tuple to an array or vice versa.
void CopyOriginalValue(const HloInstruction* src, HloInstruction* dest);

// Gives `dest`, a tuple, the values of those elements of the tuple `src` that
// became elements of it: element i of `src` is element new_index_of.at(i) of
// `dest`. Other elements of `dest`, and those whose leaves differ, get no
// arrays. Does nothing if `src` has no value.
void CopyOriginalValue(
    const HloInstruction* src, HloInstruction* dest,
    const absl::flat_hash_map<int64_t, int64_t>& new_index_of);

// Makes equal original values of all instructions of the module share one
// object.
void DeduplicateOriginalValues(HloModule* module);

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_ORIGINAL_VALUE_H_
