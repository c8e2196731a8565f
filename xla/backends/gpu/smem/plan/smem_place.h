#ifndef XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_PLACE_H_
#define XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_PLACE_H_

#include <cstdint>
#include <optional>
#include <vector>

// Addresses for buffers of which some pairs may overlap and others must not:
// dynamic storage allocation on a conflict graph, with alignments.
//
// Heuristics place the buffers one by one at the lowest address that is free,
// in several orders (size; size * conflicts; conflicts; as given; alignment),
// then improve the best order by swaps. For up to `exact_up_to` buffers
// branch and bound over all orders of ascending address finds the least total:
// in some optimal placement every buffer stands at 0 or right above one that it
// conflicts with, so lowest-fit in the order of its addresses rebuilds it.
//
// Knuth's "dynamic storage allocation"; orders as in minimalloc (Moffitt,
// "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
// Learning", ASPLOS 2023). O(n^2 log n) per order.

namespace xla::gpu {

enum class PlaceRelation : uint8_t {
  kFree,      // may overlap in any way
  kDisjoint,  // no common byte
  kSameBase,  // may overlap if both start at the same address
};

struct PlaceProblem {
  std::vector<int64_t> bytes;                         // > 0
  std::vector<int64_t> alignments;                    // > 0
  std::vector<std::vector<PlaceRelation>> relations;  // symmetric
  int64_t lower_bound = 0;  // no placement is smaller: the search may stop
};

struct PlaceOptions {
  int exact_up_to = 10;        // buffers
  int64_t max_nodes = 300000;  // of the exact search
  int64_t max_swaps = 400;     // of the local search, for 100 buffers
};

struct Placement {
  std::vector<int64_t> addresses;
  int64_t total = 0;
  bool optimal = false;  // known to be least
  int64_t nodes = 0;     // that the exact search looked at
};

Placement PlaceBuffers(const PlaceProblem& problem,
                       const PlaceOptions& options = {});

// The largest end; checks nothing.
int64_t TotalBytes(const PlaceProblem& problem,
                   const std::vector<int64_t>& addresses);
// Whether the addresses satisfy alignments and relations.
bool IsPlacement(const PlaceProblem& problem,
                 const std::vector<int64_t>& addresses);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_PLACE_H_
