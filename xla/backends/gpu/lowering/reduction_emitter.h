#ifndef XLA_BACKENDS_GPU_LOWERING_REDUCTION_EMITTER_H_
#define XLA_BACKENDS_GPU_LOWERING_REDUCTION_EMITTER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/backends/gpu/lowering/reduction_lowering.h"
#include "xla/backends/gpu/lowering/reduction_results.h"

// What reduction_lowering.h promises, for one group.

namespace xla::gpu {

// Whether the initial value may be taken any number of times.
bool IsNeutral(const HloInstruction& reduce);
// Bytes of an element of the widest array of whole rows that is read or
// written.
int64_t WidestAlongRows(const ReductionGroup& group, KernelFrame& frame);
// How many neighbors of an array of whole rows a thread takes at once.
int64_t NeighborsAlongRows(const ReductionGroup& group, int64_t bytes);
// Whether each element is computed from those with its number, row by row.
bool KeepsNumbers(const HloInstruction& hlo);

// Emits one kernel for a group of reductions of the same rows, together with
// the element-wise code around them.
//
// The input is a matrix: kept dimensions number its rows, reduced dimensions
// its columns. A team of `lanes_` threads (a power of two) handles a row, and a
// block holds `rows_per_block_` rows. Row reductions (the reduced dimensions
// vary fastest in memory) put neighboring threads on neighboring columns;
// column reductions put them on neighboring rows. In both cases the threads of
// a warp read neighboring addresses.
//
// Reductions may depend on each other's results (as in softmax: maximum, then
// sum of exponentials). They are emitted level by level: at each level every
// thread loops over its columns and accumulates in registers, then the lanes of
// a row combine their partial results, by shuffles in a warp and in a tree
// through shared memory elsewhere, after which the results are known to all
// lanes for the next level. What a level computes along the row and a later one
// needs stays in registers where there are enough of them, and is computed
// again where not. Rows are clamped to the last one rather than skipped, so
// that every thread reaches every barrier; only stores are predicated.
class ReductionEmitter {
 public:
  ReductionEmitter(const ReductionGroup& group, int64_t min_vector_columns,
                   KernelFrame* frame);

  absl::Status Emit();

 private:
  struct Hero {
    const HloInstruction* hlo;
    int level;  // of its operands
    bool neutral;
    std::vector<kir::Operand> accumulators;
    std::vector<kir::Operand> result;  // once it is known
  };
  struct Output {
    const KernelFrame::Result* result;
    int level;
    ResultWay way;
  };
  // A value along the rows of which each thread keeps its columns' elements,
  // from the level that computes them to the last one that reads them.
  struct Kept {
    const HloInstruction* hlo;
    int level;
    int last;
    bool IsReadAt(int stage) const { return level < stage && stage <= last; }
    kir::BufferId elements = -1;
  };

  // reduction_threads.cc
  void ChooseWidth(int64_t min_vector_columns);
  void ChooseThreads();
  // What levels up to `last` compute and later ones need.
  void FindKept(int last);
  // What a stage computes along the rows.
  std::vector<const HloInstruction*> ComputedBy(int level);
  // That and what it is computed from, up to what is kept and what is known.
  std::set<const HloInstruction*> ReadBy(int level);
  // The number of lanes, by what they keep; keeps nothing that takes too many
  // registers.
  void ChooseLanesThatKeep();
  // The most registers of a thread for what it keeps at one level.
  int64_t KeptRegisters(int64_t lanes) const;

  absl::Status AddKept();
  absl::Status EmitStage(int level);
  bool IsOfRows(const HloInstruction& value) const;
  std::optional<Indices> SpreadPlaces(const HloInstruction& broadcast,
                                      const Indices& row) const;
  absl::Status Hoist(int level, const Indices& row);
  absl::Status Columns(int level, const Indices& row);
  // `slot`: which one of the thread's columns it is.
  absl::Status Column(int level, const Indices& row, const AffineExpr& column,
                      const AffineExpr& slot, bool first);
  // Indices into an array of as many elements, of the element with the same
  // number.
  Indices PlacesIn(const HloInstruction& hlo, const Indices& places) const;
  absl::Status WriteRows();
  absl::Status Write(const Output& output, const Indices& places);

  // reduction_joins.cc
  absl::Status Combine(int level);
  absl::Status Halve(int level, int64_t distance);
  void Join(int64_t distance);
  // The lanes of a row join through shuffles, and their warps in shared memory.
  // False where some hero's values combine otherwise.
  absl::StatusOr<bool> JoinByWarps(const std::vector<Hero*>& heroes);
  absl::Status JoinWarps(const std::vector<Hero*>& heroes);
  // How "warp_reduce" combines the hero's partial results; empty: it does not.
  std::string WarpOp(const Hero& hero) const;

  // Calls `body` with indices into the reductions' results.
  absl::Status InRow(absl::FunctionRef<absl::Status(const Indices&)> body);
  static kir::Operand Element(kir::BufferId buffer, const AffineExpr& index) {
    kir::Operand place;
    place.buffer = buffer;
    place.indices = {index};
    return place;
  }
  std::vector<Hero*> Heroes(int level) {
    std::vector<Hero*> result;
    for (Hero& hero : heroes_) {
      if (hero.level == level) result.push_back(&hero);
    }
    return result;
  }

  const ReductionGroup& group_;
  KernelFrame& frame_;
  KernelBuilder& builder_;
  ElementEmitter& emitter_;
  const Shape& input_;
  const ReductionLevels levels_;
  std::vector<int64_t> kept_dims_, reduced_;  // dimensions, the slowest first
  int64_t bytes_ = 1;  // of an element of the widest array
  int64_t width_ = 1;  // columns that a lane takes at once
  int64_t lanes_ = 1;  // threads of a row
  int64_t rows_per_block_ = 1;
  // This thread, its lane, and its row before it is clamped to the last.
  AffineExpr thread_, lane_, raw_row_;
  std::vector<Hero> heroes_;
  std::vector<Output> outputs_;
  std::vector<Kept> kept_;
  std::map<const Hero*, std::vector<kir::BufferId>> partials_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_REDUCTION_EMITTER_H_
