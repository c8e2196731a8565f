#ifndef XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_INSERT_H_
#define XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_INSERT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "xla/backends/gpu/smem/plan/smem_flow.h"
#include "xla/backends/gpu/smem/plan/smem_hazard.h"
#include "xla/backends/gpu/smem/smem_plan.h"

// The synchronization to insert into a kernel once addresses are known: for all
// arcs between bytes that really overlap, the fewest barriers of the block,
// barriers of warps for the rest, waits for transfers in flight and fences
// before the async proxy takes over. Assign, then sync.

namespace xla::gpu {

// Statements to insert in one gap; those that are set, in this order.
struct SmemGapInsertion {
  struct AsyncWait {
    bool commit = false;  // nothing was committed since the transfer
    int keep = 0;         // groups that may stay in flight
  };
  absl::btree_map<kir::AsyncKind, AsyncWait> waits;
  bool fence = false;                                  // fence async_proxy
  bool block = false;                                  // sync block …
  bool warp = false;                                   // … or sync warp
  SmemSync::Reason reason = SmemSync::Reason::kReuse;  // of the barrier
  std::string why;  // of the barrier: "%A -> %C, %B -> %C"
};

struct SmemInsertions {
  absl::btree_map<int, SmemGapInsertion> gaps;  // by gap
  std::vector<SmemArc> unordered;  // arcs that no gap admits a barrier for
  std::vector<std::string> notes;
  bool fewest = true;  // no smaller number of block barriers exists
};

// `within`: all arcs of single buffers; `between`: all arcs of pairs of buffers
// at their addresses. Covered ones are looked at for waits and fences only.
SmemInsertions FindInsertions(const SmemFlow& flow, const SmemHazards& hazards,
                              const std::vector<SmemArc>& within,
                              const std::vector<SmemArc>& between);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_INSERT_H_
