#ifndef XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_LAYOUT_SPREAD_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_LAYOUT_SPREAD_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape.h"

namespace xla::gpu {

// Dimensions of an array from major to minor, as they lie in memory.
using MemoryOrder = std::vector<int64_t>;

MemoryOrder OrderOf(const Shape& shape);
// The same up to the positions of dimensions of size 1.
bool SameOrder(const Shape& shape, absl::Span<const int64_t> a,
               absl::Span<const int64_t> b);
// The order of a transpose's, or a copy's, result if it is its operand,
// relabeled; and the inverse.
MemoryOrder ResultOrder(const HloInstruction& transpose,
                        absl::Span<const int64_t> operand_order);
MemoryOrder OperandOrder(const HloInstruction& transpose,
                         absl::Span<const int64_t> result_order);

// Spreads a new memory order of one value to all values that must then have it,
// too. Values are arrays and elements of tuples.
class LayoutSpread {
 public:
  // `loops`: the while instruction of each body and condition, null where
  // several share it: their states would all have to follow.
  using Loops = absl::flat_hash_map<const HloComputation*, HloInstruction*>;
  static Loops FindLoops(const HloModule& module);

  // `module`: parameters and results of its entry may change, too, those that
  // share memory (input_output_alias) together, and copies may make any order;
  // null: they keep theirs.
  explicit LayoutSpread(const Loops& loops, HloModule* module = nullptr)
      : loops_(loops), module_(module) {}

  // Whether the array may have this order; false also after an earlier false.
  bool Start(HloInstruction* array, MemoryOrder order);

  // The order of an array after the change.
  MemoryOrder After(const HloInstruction& array) const;
  // Transposes and copies affected by the change, in an unspecified but
  // deterministic order.
  std::vector<HloInstruction*> Moves() const;
  // Carries out the change, also in the layout of the entry.
  void Apply();

 private:
  // An array, with -1, or the element of a tuple.
  using Value = std::pair<HloInstruction*, int64_t>;

  // A parameter or the root of the entry, where those may change. What devices
  // have of them, if they have a sharding, does not depend on the order.
  bool IsAtBorder(const HloInstruction& instruction) const;
  static const Shape& ShapeOf(const Value& value);
  bool Add(HloInstruction* instruction, int64_t element, MemoryOrder order);
  // Whether the value's producer and readers accept this order.
  bool Visit(const Value& value, const MemoryOrder& order);
  bool VisitDefinition(const Value& value, const MemoryOrder& order);
  bool VisitUser(HloInstruction* user, int64_t operand,
                 const MemoryOrder& order);
  bool VisitTuple(const Value& value, const MemoryOrder& order);
  // A parameter or the root of the entry, or an element of one.
  bool VisitEntry(const Value& value, const MemoryOrder& order);
  bool VisitLoop(HloInstruction* loop, int64_t element,
                 const MemoryOrder& order);
  bool VisitReshape(HloInstruction* reshape, bool from_operand,
                    const MemoryOrder& order);

  const Loops& loops_;
  HloModule* const module_;
  absl::flat_hash_map<Value, MemoryOrder> orders_;
  std::vector<Value> values_;
  bool possible_ = true;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_LAYOUT_SPREAD_H_
