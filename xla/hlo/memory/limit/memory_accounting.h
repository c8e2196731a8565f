#ifndef XLA_HLO_MEMORY_LIMIT_MEMORY_ACCOUNTING_H_
#define XLA_HLO_MEMORY_LIMIT_MEMORY_ACCOUNTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/accounting/remat_buffers.h"

namespace xla {

// How the bytes are counted that a limit is compared with. `ours` is the
// default everywhere.
enum class MemoryAccounting {
  // As schedulers and the memory report do (schedule_memory.h): arguments live
  // until their last reader, results may reuse operands.
  kOurs,
  // As OpenXLA's rematerialization does (remat_accounting.h): arguments are not
  // counted, the module's result is live at all times.
  kUpstream,
  // As OpenXLA's GPU compiler then allocates for the module as it stands:
  // temporaries packed by best fit, arguments and results all the time, what
  // these two share once, outputs in the memory of operands where its kernels
  // write in place (gpu_alias_info.h).
  kAllocated,
};

// ours, upstream, allocated.
bool AbslParseFlag(absl::string_view text, MemoryAccounting* accounting,
                   std::string* error);
std::string AbslUnparseFlag(MemoryAccounting accounting);

// The peak of a scheduled module, in bytes. `execution_threads` matter to
// upstream's accounting only. InvalidArgument where the schedule is not one of
// the module; errors of alias analysis, and for kAllocated of BufferAssigner.
absl::StatusOr<int64_t> ScheduledPeakBytes(
    const HloModule& module, MemoryAccounting accounting,
    const RematSizeOptions& sizes = {},
    const absl::flat_hash_set<absl::string_view>& execution_threads = {});

// The bytes that no schedule and no rewrite of a module's inside can save.
//
//   p = param; q = param; a = f(p, q); ROOT t = (a, q)
//   → ours: arguments p + q, total p + q + a + table, throughout p
struct MemoryAlwaysThere {
  int64_t argument_bytes = 0;
  // Arguments and results at once, those that share their memory counted once.
  int64_t total_bytes = 0;
  // The part of it that is live at all times, beside whatever else runs:
  // arguments, but for those whose memory results take while nothing of their
  // size has to be there in between.
  int64_t throughout_bytes = 0;
  // What has to be there in between, where results are not computed directly
  // from the arguments whose memory they take: one of these arrays at a time,
  // whatever runs again and in which order, and counted with the argument.
  //
  //   m = param; a = multiply(m, s); ROOT r = add(a, b), in m's memory → a
  std::vector<const HloInstruction*> in_between;
};

// By the accounting of upstream arguments count nothing, and results are there
// at all times. Linear in positions; errors of alias analysis.
absl::StatusOr<MemoryAlwaysThere> BytesAlwaysThere(
    const HloModule& module, MemoryAccounting accounting,
    const RematSizeOptions& sizes = {});

}  // namespace xla

#endif  // XLA_HLO_MEMORY_LIMIT_MEMORY_ACCOUNTING_H_
