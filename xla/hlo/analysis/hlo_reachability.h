#ifndef XLA_HLO_ANALYSIS_HLO_REACHABILITY_H_
#define XLA_HLO_ANALYSIS_HLO_REACHABILITY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/reachability_labels.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Which instruction of a computation reaches which, along operands and control
// dependencies. Each reaches itself.
//
//   a = op(p); b = op(a); c = op(p)      a reaches b; a and c are not connected
//
// Two representations behind one interface:
//  - dense: a bit matrix, one row of predecessors per instruction. Queries
//    O(1), memory N²/8 bytes, Build O(N * E / 64).
//  - sparse, for computations whose matrix would take more than
//    max_dense_bytes: the predecessors of each instruction and a topological
//    rank. Memory O(N + E); a query walks from b to its predecessors that do
//    not rank before a. When queries have walked as far as there are
//    instructions since the last update, labels are made that answer most of
//    them at once and cut short the walks of the others (see
//    ReachabilityLabels).
//
// Updates report changes of the graph; in dense form they cost one row
// operation per changed row. In sparse form, ranks are recomputed by the first
// query after an edge that contradicts them.
//
// Instructions are found by local id, so all must belong to one computation,
// without Cleanup() in between. Not thread safe.
class HloReachabilityMap {
 public:
  using Index = size_t;

  // A row: a view of words that the map owns.
  class BitSet {
   public:
    using Word = uint64_t;
    static constexpr size_t kBits = 64;

    BitSet() = default;
    BitSet(Word* ptr, size_t num_bits)
        : ptr_(ptr), num_words_((num_bits + kBits - 1) / kBits) {}

    bool Get(Index index) const {
      return (ptr_[index / kBits] >> (index % kBits)) & 1;
    }
    void Set(Index index) { ptr_[index / kBits] |= Word{1} << (index % kBits); }
    void operator|=(const BitSet& other) {
      for (size_t i = 0; i < num_words_; ++i) ptr_[i] |= other.ptr_[i];
    }
    // Whether any bit has been added.
    bool OrUpdate(const BitSet& other);
    // Adds words at the given positions.
    void OrUpdatePartial(const std::vector<std::pair<size_t, Word>>& diff) {
      for (const auto& [i, word] : diff) ptr_[i] |= word;
    }
    // Appends the unions of the words that differ, with their positions.
    void GetDifferingWordUnions(
        const BitSet& other,
        std::vector<std::pair<size_t, Word>>& diff_buffer) const;
    void CopyBitSet(const BitSet& other);
    size_t NumWords() const { return num_words_; }
    size_t NumBytes() const { return num_words_ * sizeof(Word); }
    void SetToZero();
    bool operator==(const BitSet& other) const;
    bool operator!=(const BitSet& other) const { return !(*this == other); }

   private:
    Word* ptr_ = nullptr;
    size_t num_words_ = 0;
  };

  // 128 MiB: 32,768 instructions.
  static constexpr size_t kMaxDenseBytes = size_t{128} << 20;

  // Each instruction reaches itself only.
  explicit HloReachabilityMap(
      absl::Span<const HloInstruction* const> instructions,
      size_t max_dense_bytes = kMaxDenseBytes);
  HloReachabilityMap(const HloReachabilityMap&) = default;
  HloReachabilityMap& operator=(const HloReachabilityMap&) = default;

  static std::unique_ptr<HloReachabilityMap> Build(
      const HloComputation* computation,
      size_t max_dense_bytes = kMaxDenseBytes);

  // The predecessors of an instruction are those that `add_dependencies`
  // appends to the vector for it, instead of operands and control predecessors.
  // They must come before it in the post order.
  static std::unique_ptr<HloReachabilityMap> BuildWithRestrictions(
      const HloComputation* computation,
      absl::FunctionRef<void(const HloInstruction*,
                             std::vector<HloInstruction*>*)>
          add_dependencies,
      size_t max_dense_bytes = kMaxDenseBytes);

  // Sets the predecessors of `instruction` to itself and everything that
  // reaches one of `inputs`. Returns whether they changed. In dense form,
  // instructions that it reaches are not updated.
  bool SetReachabilityToUnion(absl::Span<const HloInstruction* const> inputs,
                              const HloInstruction* instruction);
  void FastSetReachabilityToUnion(
      absl::Span<const HloInstruction* const> inputs,
      const HloInstruction* instruction);
  void FastSetReachabilityToUnion(absl::Span<const Index> input_indices,
                                  Index index);

  // CHECKs that the instruction is present.
  Index GetIndex(const HloInstruction* instruction) const;

  // Makes a reach b; in dense form, other instructions are not updated.
  void SetReachable(const HloInstruction* a, const HloInstruction* b) {
    SetReachable(GetIndex(a), GetIndex(b));
  }
  void SetReachable(Index a, Index b);

  // Called after the operands or control predecessors of `instruction` changed:
  // updates it and all instructions that it reaches.
  void UpdateReachabilityThroughInstruction(const HloInstruction* instruction);

  // The same for all keys of the map in one sweep, after edges were added
  // between a key and instructions of its set.
  void UpdateMultipleInstructions(
      const absl::flat_hash_map<const HloInstruction*,
                                absl::flat_hash_set<const HloInstruction*>>&
          to_update);

  // Merges `left` and `right`, which must not be connected: everything that
  // reaches either now reaches both and everything that either reaches. Touches
  // only instructions reached by exactly one of them.
  void UpdateReachabilityForMerge(const HloInstruction* left,
                                  const HloInstruction* right);

  bool IsReachable(const HloInstruction* a, const HloInstruction* b) const {
    return IsReachable(GetIndex(a), GetIndex(b));
  }
  bool IsReachable(Index a, Index b) const;

  // One of them reaches the other.
  bool IsConnected(const HloInstruction* a, const HloInstruction* b) const {
    return IsConnected(GetIndex(a), GetIndex(b));
  }
  bool IsConnected(Index a, Index b) const {
    return IsReachable(a, b) || IsReachable(b, a);
  }

  bool IsPresent(const HloInstruction& instruction) const {
    return IsPresent(&instruction);
  }
  bool IsPresent(const HloInstruction* instruction) const;

  // `replacement` takes the place of `original`, which is no longer present.
  void Replace(const HloInstruction* original,
               const HloInstruction* replacement);

  bool is_dense() const { return dense_; }
  // Heap memory, in bytes.
  size_t MemoryBytes() const;

 private:
  static constexpr Index kRowsPerBlock = 1024;

  BitSet Row(Index index) const {
    auto& block =
        const_cast<std::vector<BitSet::Word>&>(blocks_[index / kRowsPerBlock]);
    return BitSet(block.data() + (index % kRowsPerBlock) * words_per_row_,
                  instructions_.size());
  }
  void Register(const HloInstruction* instruction, Index index);
  // Sets the row to the union of the rows of inputs and itself. `scratch` is
  // one row.
  bool SetRow(absl::Span<const Index> inputs, Index index, BitSet scratch);
  // Operands and control predecessors that are present.
  void AppendPredecessors(const HloInstruction* instruction,
                          std::vector<Index>* indices) const;
  // Present instructions that the given ones reach along users and control
  // successors, themselves included, predecessors first.
  std::vector<Index> AffectedInOrder(
      absl::Span<const HloInstruction* const> changed) const;
  void UpdateFrom(absl::Span<const HloInstruction* const> changed);

  // --- Sparse form ---
  Index Representative(Index index) const;
  void SetInputs(Index index, absl::Span<const Index> inputs);
  void AddInput(Index index, Index input);
  void ComputeRanks() const;
  void MakeLabels() const;
  void ForgetLabels() {
    labels_.reset();
    steps_walked_ = 0;
  }
  // Marks the ranks stale if an edge contradicts them.
  void CheckRank(Index from, Index to);
  bool IsReachableSparse(Index a, Index b) const;

  bool dense_;
  size_t words_per_row_;
  // By index.
  std::vector<const HloInstruction*> instructions_;
  // By local id; -1 for those that are not present.
  std::vector<int32_t> index_of_;
  // Dense: rows.
  std::vector<std::vector<BitSet::Word>> blocks_;
  // Sparse: by index. Merged instructions refer to the one that represents
  // both.
  struct Node {
    int32_t merged_into = -1;
    int32_t merged_count = 1;
    absl::InlinedVector<int32_t, 2> inputs;
  };
  std::vector<Node> nodes_;
  // Ascending along edges unless they are stale.
  mutable std::vector<int32_t> ranks_;
  mutable bool ranks_are_stale_ = false;
  // Labels by rank; present only while they match the current graph.
  mutable std::optional<ReachabilityLabels> labels_;
  // Steps walked by queries since the last update.
  mutable size_t steps_walked_ = 0;
  // By index: the last query that visited the node.
  mutable std::vector<uint32_t> seen_by_;
  mutable uint32_t query_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HLO_REACHABILITY_H_
