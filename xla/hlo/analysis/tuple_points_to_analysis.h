#ifndef XLA_HLO_ANALYSIS_TUPLE_POINTS_TO_ANALYSIS_H_
#define XLA_HLO_ANALYSIS_TUPLE_POINTS_TO_ANALYSIS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/instruction_slots.h"
#include "xla/hlo/analysis/logical_buffer.h"
#include "xla/hlo/analysis/stable_vector.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/ptrvec.h"
#include "xla/shape.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"

namespace xla {

// The logical buffers of an instruction's value: for every index of its shape a
// list of buffers, and the tuple instructions that may have made the tuple
// there.
class PointsToSet {
 public:
  // In the order of buffer ids.
  struct BufferIdLess {
    bool operator()(const LogicalBuffer* a, const LogicalBuffer* b) const {
      return a->id() < b->id();
    }
  };
  using BufferSet = absl::btree_set<const LogicalBuffer*, BufferIdLess>;
  using BufferList = absl::InlinedVector<const LogicalBuffer*, 1>;

  // A set of few instructions, in the order of insertion.
  class SourceSet {
   public:
    using value_type = HloInstruction*;
    using const_iterator = PtrVec<HloInstruction*>::const_iterator;
    using iterator = const_iterator;

    void insert(HloInstruction* tuple) {
      if (count(tuple) == 0) sources_.push_back(tuple);
    }
    size_t count(const HloInstruction* tuple) const {
      return std::find(begin(), end(), tuple) != end() ? 1 : 0;
    }
    bool contains(const HloInstruction* tuple) const {
      return count(tuple) != 0;
    }
    size_t size() const { return sources_.size(); }
    bool empty() const { return sources_.empty(); }
    const_iterator begin() const { return sources_.begin(); }
    const_iterator end() const { return sources_.end(); }
    bool operator==(const SourceSet& other) const {
      return std::equal(begin(), end(), other.begin(), other.end());
    }

   private:
    PtrVec<HloInstruction*> sources_;
  };

  // The shape must outlive the set.
  explicit PointsToSet(const Shape* shape) : tree_(shape) {}

  // Whether some index has more than one buffer.
  bool IsAmbiguous() const;
  // Whether no buffer is at two indices.
  bool IsDistinct() const;

  // Number of different buffers at all indices.
  size_t size() const { return CreateFlattenedSet().size(); }
  BufferSet CreateFlattenedSet() const;

  bool ContainsBufferAtIndex(const LogicalBuffer& buffer,
                             const ShapeIndex& index) const;
  bool ContainsBuffer(const LogicalBuffer& buffer) const;
  // Each buffer once per index.
  void AddPointedToBuffer(const LogicalBuffer& buffer, const ShapeIndex& index);

  // The tuple instructions whose table of pointers may be at `index`; empty if
  // unknown or not a tuple.
  const SourceSet& tuple_sources(const ShapeIndex& index) const {
    return tree_.element(index).tuple_sources;
  }
  void add_tuple_source(const ShapeIndex& index, HloInstruction* tuple) {
    tree_.mutable_element(index)->tuple_sources.insert(tuple);
  }

  // The index must be one of the shape.
  const BufferList& element(const ShapeIndex& index) const {
    return tree_.element(index).buffers;
  }
  BufferList* mutable_element(const ShapeIndex& index) {
    return &tree_.mutable_element(index)->buffers;
  }

  // fn(index, buffers) for every index, in pre-order.
  template <typename Fn>
  void ForEachElement(const Fn& fn) const {
    for (const auto& node : tree_) fn(node.first, node.second.buffers);
  }
  template <typename Fn>
  void ForEachMutableElement(const Fn& fn) {
    for (auto& node : tree_) fn(node.first, &node.second.buffers);
  }
  // The first error ends the walk.
  template <typename Fn>
  absl::Status ForEachElementWithStatus(const Fn& fn) const {
    for (const auto& node : tree_) {
      absl::Status status = fn(node.first, node.second.buffers);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  template <typename Fn>
  absl::Status ForEachMutableElementWithStatus(const Fn& fn) {
    for (auto& node : tree_) {
      absl::Status status = fn(node.first, &node.second.buffers);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  std::string ToString() const;

 private:
  friend class PointsToBuilder;

  struct Elem {
    BufferList buffers;
    SourceSet tuple_sources;
  };
  ShapeTree<Elem> tree_;
};

// An (instruction, index) where a buffer is present: where it is defined, or
// where it was forwarded to.
class BufferAlias {
 public:
  BufferAlias(HloInstruction* instruction, const ShapeIndex& index)
      : instruction_(instruction), index_(index) {}

  HloInstruction* instruction() const { return instruction_; }
  const ShapeIndex& index() const { return index_; }

  bool operator==(const BufferAlias& other) const {
    return instruction_ == other.instruction_ && index_ == other.index_;
  }
  bool operator!=(const BufferAlias& other) const { return !(*this == other); }

  // `name{1,0}`
  std::string ToString() const;

 private:
  HloInstruction* instruction_;
  ShapeIndex index_;
};

std::ostream& operator<<(std::ostream& out, const BufferAlias& buffer_alias);

// Custom calls that mark where an outlined call begins and ends. The first
// packs its operands like a tuple, the second forwards its operand.
inline constexpr absl::string_view kCallMarkerBeforeTarget =
    "__xla_internal_call_marker_before";
inline constexpr absl::string_view kCallMarkerAfterTarget =
    "__xla_internal_call_marker_after";

// The buffers of values, within each computation separately.
//
//   c = f32[8] constant(…)       defines c{}
//   t = tuple(c, c)              defines t{}, {0} and {1} are c{}
//   g = get-tuple-element(t)     is c{}
//
// Most instructions define all their indices. These forward operands:
//   tuple (elements), get-tuple-element, bitcast, domain, add-dependency,
//   opt-barrier; copy (all but {}: it is shallow); copy-start ({1}) and -done;
//   send ({0}), recv-done ({0}); async chains (operands, and from link to link;
//   output_to_operand_aliasing, also that of operands bound by a later link,
//   which holds for the whole chain); fusion (output_to_operand_aliasing);
//   call markers.
// Call, while, conditional and other custom calls define their results: nothing
// flows between computations. Fused computations are analyzed separately.
//
// A snapshot: instructions that are added later have no points-to set. One pass
// over all instructions; time and memory are linear in the number of indices of
// all shapes.
class TuplePointsToAnalysis {
 public:
  using BufferDefinitionVector = absl::InlinedVector<const LogicalBuffer*, 1>;
  using BufferAliasVector = absl::InlinedVector<BufferAlias, 1>;

  // InvalidArgument if shapes contradict operands, which verified modules do
  // not.
  static absl::StatusOr<std::unique_ptr<TuplePointsToAnalysis>> Run(
      const HloModule* module);

  // The instruction must have existed in Run, as in all functions below.
  const PointsToSet& GetPointsToSet(
      const HloInstruction* hlo_instruction) const;

  // `id` < num_logical_buffers().
  const LogicalBuffer& GetBuffer(LogicalBuffer::Id id) const;
  LogicalBuffer::Id num_logical_buffers() const {
    return static_cast<LogicalBuffer::Id>(buffers_.size());
  }

  // FailedPrecondition if the instruction defines nothing at this index.
  absl::StatusOr<const LogicalBuffer*> GetBufferDefinedAt(
      const HloInstruction* instruction, const ShapeIndex& index) const;

  // All positions of the buffer, the defining one included.
  const BufferAliasVector& GetBufferAliases(const LogicalBuffer& buffer) const;

  const BufferDefinitionVector& GetBuffersDefinedByInstruction(
      const HloInstruction* instruction) const;
  bool InstructionDefinesBufferAtIndex(const HloInstruction* instruction,
                                       const ShapeIndex& index) const;

  // Internal if the buffer is not at its defining position.
  absl::Status VerifyBuffer(const LogicalBuffer& buffer) const;

  // Whether `user`, which has `operand` as an operand, provably does not read
  // the buffer at `index` of it: a get-tuple-element reads only {}; a loop
  // fusion reads nothing of a parameter whose users inside do not read it
  // either.
  bool DoesNotUseOperandBuffer(const HloInstruction* operand,
                               const ShapeIndex& index,
                               const HloInstruction* user) const;

  std::string ToString() const;

 private:
  friend class PointsToBuilder;

  explicit TuplePointsToAnalysis(const HloModule* module) : module_(module) {}

  // `order`: slots.
  void CollectAliases(const std::vector<int32_t>& order);

  const HloModule* module_;
  InstructionSlots slots_;
  // By slot; nullopt for holes.
  std::vector<std::optional<PointsToSet>> points_to_;
  std::vector<BufferDefinitionVector> defined_;
  // By id; addresses are stable.
  StableVector<LogicalBuffer> buffers_;
  std::vector<BufferAliasVector> aliases_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_TUPLE_POINTS_TO_ANALYSIS_H_
