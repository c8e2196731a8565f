#ifndef XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_SEARCH_H_
#define XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/plan/smem_flow.h"
#include "xla/backends/gpu/smem/plan/smem_footprint.h"
#include "xla/backends/gpu/smem/plan/smem_hazard.h"
#include "xla/backends/gpu/smem/plan/smem_liveness.h"
#include "xla/backends/gpu/smem/plan/smem_place.h"

// Which barriers to add, and the addresses they allow: a tradeoff of bytes
// against barriers.
//
//   A 28 | B 32 | C 36 bytes, each read before the next is written, no barrier,
//   alignment 128:   0 added: 284   1 added: 156 (before C)   2 added: 36
//
// Two buffers may overlap if their live ranges are disjoint and every arc
// between them passes a barrier, old or new. With few buffers and few useful
// places for barriers all sets of places are tried; with more, sets grow one
// place at a time; with very many, only the two extremes are computed: no added
// barriers, and a placement as if barriers were free, followed by the fewest
// that make it correct. In any case the places cover the required arcs (races
// inside one buffer), at whichever admissible places help reuse most.

namespace xla::gpu {

struct SmemItem {
  kir::BufferId buffer = -1;
  int64_t bytes = 0;
  int64_t alignment = 1;
  SmemLife life;
};

struct SmemChoice {
  std::vector<int> gaps;  // of new block barriers, the required ones among them
  int64_t weight = 0;     // how often they are met
  int extra = 0;          // beyond those that races inside buffers require
  std::vector<int64_t> addresses;  // by item
  int64_t total = 0;
  bool optimal = false;  // the least total for these barriers
};

struct SmemSearchOptions {
  int exact_up_to = 10;  // buffers placed by exhaustive search
  int max_extra = 1 << 20;
  // Addresses by item from another planner: used where they are valid and
  // better. Empty: none.
  std::vector<int64_t> seed;
};

class SmemSearch {
 public:
  // `required`: arcs within buffers that no barrier of the kernel covers and
  // that need one of the block. All references must outlive this.
  SmemSearch(const SmemFlow& flow, SmemHazards& hazards,
             const std::vector<SmemItem>& items,
             const std::vector<SmemArc>& required, int64_t lower_bound,
             const SmemSearchOptions& options);

  // Ascending in `extra`, descending in `total`; the first has extra 0.
  std::vector<SmemChoice> Run();

  // The relations of all items when barriers stand at `gaps`, computed from
  // scratch; indexed by item.
  std::vector<std::vector<PlaceRelation>> RelationsWith(
      const std::vector<int>& gaps);

 private:
  // The synchronization required between two items; bits are candidates.
  struct PairRule {
    bool meet = false;                // lives overlap, or nothing orders them
    bool base_meet = false;           // … at one base either
    std::vector<uint64_t> anywhere;   // each needs one of these candidates
    std::vector<uint64_t> same_base;  // the same at one base
  };

  bool BuildRules();
  void CollectArcs();
  PlaceProblem ProblemFor(uint64_t chosen) const;
  SmemChoice Evaluate(uint64_t chosen);
  bool HitsRequired(uint64_t chosen) const;
  void Offer(const SmemChoice& choice);
  void TryAllSets();
  void GrowSets();
  void RunLarge();
  bool ClearlyApart(int i, int j, bool* decided) const;
  void FindInnerBarriers(const std::vector<int>& gaps);
  void FinishFront();
  Placement PlaceOrSeed(const PlaceProblem& problem,
                        const PlaceOptions& options) const;
  Placement PlaceFor(const std::vector<int>& gaps);

  const SmemFlow& flow_;
  SmemHazards& hazards_;
  const std::vector<SmemItem>& items_;
  const std::vector<SmemArc>& required_;
  const int64_t lower_bound_;
  const SmemSearchOptions options_;
  int required_count_ = 0;
  std::vector<int64_t> weights_;  // by gap; negative: no place for a barrier

  // Small problems.
  struct Arc {
    std::vector<std::pair<int, int>> gaps;
    uint64_t mask = 0;
  };
  std::vector<Arc> arcs_;
  std::vector<int> required_arcs_;
  struct PairArcs {
    bool meet = false;
    bool meet_anywhere = false, meet_at_base = false;
    std::vector<int> anywhere, same_base;  // arcs
  };
  std::vector<std::vector<PairArcs>> pair_arcs_;  // [i][j], j < i
  std::vector<int> candidates_;                   // gaps
  std::vector<std::vector<PairRule>> rules_;      // [i][j], j < i
  std::vector<uint64_t> required_masks_;
  absl::flat_hash_map<std::string, Placement> placed_;
  int64_t nodes_left_;  // of exact placements of sets that may come to nothing
  std::vector<SmemChoice> front_;

  // Large problems: statements of the kernel's body that each item spans.
  std::vector<std::pair<int, int>> spans_;
  std::vector<bool> inner_barrier_;  // by statement of the kernel's body
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_SEARCH_H_
