#ifndef XLA_BACKENDS_GPU_SMEM_SMEM_PLAN_H_
#define XLA_BACKENDS_GPU_SMEM_SMEM_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// A shared memory plan of one kernel. Both planners (the stack of
// smem_stack_planner.h and the default one) return this; reports, pictures and
// CUDA are made from it.
//
// Positions are those of kir_positions.h over `planned`, the kernel with its
// syncs inserted, unless said otherwise.

namespace xla::gpu {

// One buffer of shared memory, or an aliased register buffer.
struct SmemBufferPlan {
  kir::BufferId buffer = -1;
  std::string name;
  // The buffer whose memory this one is a reference to. Address and bytes are
  // then those of its own view.
  std::optional<kir::BufferId> alias_of;
  AffineExpr address;         // bytes from the base, over launch symbols
  int64_t address_bytes = 0;  // `address` under the bindings of the kernel
  int64_t bytes = 0;          // of its own, without padding
  // Closed interval of positions in which its bytes must stay, aliasers
  // included; last < first when it is never accessed.
  int first = 0;
  int last = -1;
  // Other buffers of shared memory that overlap it in some bytes.
  std::vector<kir::BufferId> shares_with;
};

// A statement that the planner inserted.
struct SmemSync {
  enum class Kind {
    kBlock,
    kWarp,
    kGrid,
    kArrive,
    kWait,
    kAsyncWait,
    kFence,
  };
  enum class Reason { kReuse, kRaw, kWar, kAsync };
  Kind kind = Kind::kBlock;
  Reason reason = Reason::kReuse;
  int position = 0;         // of the statement, in `planned`
  int before_position = 0;  // in the given kernel: of what follows it
  std::string why;          // readable: the hazards that it covers
};

absl::string_view SmemSyncKindName(SmemSync::Kind kind);        // "block", …
absl::string_view SmemSyncReasonName(SmemSync::Reason reason);  // "reuse", …

// A pair of buffers that share bytes, and why that is not a race.
struct SmemHazard {
  kir::BufferId earlier = -1;
  kir::BufferId later = -1;
  std::string covered_by;  // "sync block at 12", "same thread", …
};

struct SmemPlan {
  std::string mode;     // "stack" or "plan"
  kir::Kernel planned;  // syncs inserted; addresses and aliases set
  // Bytes a launch asks for: workspace and every buffer, not rounded up.
  int64_t total_bytes = 0;
  AffineExpr total;        // the same over launch symbols
  int64_t base_bytes = 0;  // of the reduction workspace below all buffers
  // Most bytes alive at once, by the lives this planner sees.
  int64_t lower_bound_bytes = 0;
  // Least total known to be reachable, if an exact search finished.
  std::optional<int64_t> optimum_bytes;
  std::vector<SmemBufferPlan> buffers;  // in order of allocation
  std::vector<SmemSync> syncs;          // what was inserted, by position
  // The fewest block barriers that can be inserted for these addresses, if that
  // is known.
  std::optional<int> optimum_syncs;
  // Block barriers in `planned`: those inserted and those given; and how often
  // one block meets them, by the trip counts of the loops around.
  int syncs_total = 0;
  int64_t dynamic_syncs = 0;
  std::vector<SmemHazard> hazards;
  std::vector<std::string> notes;  // anything else worth knowing

  // Block barriers inserted so that memory can be reused; those that data
  // dependences require in any case (RAW, WAR) do not count.
  int syncs_inserted() const;
  // Block barriers inserted for whatever reason.
  int NewBlockSyncs() const;
  // Null when the buffer is not planned.
  const SmemBufferPlan* Find(kir::BufferId buffer) const;
  const SmemBufferPlan* Find(absl::string_view name) const;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_SMEM_PLAN_H_
