#ifndef XLA_HLO_MEMORY_ACCOUNTING_REMAT_ACCOUNTING_H_
#define XLA_HLO_MEMORY_ACCOUNTING_REMAT_ACCOUNTING_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/accounting/remat_buffers.h"

namespace xla {

// The memory of a scheduled module as OpenXLA's rematerialization counts it.
//
//   p = param; a = f(p); w = while(a) {body: 30 B}; ROOT r = g(w)
//   → at w: a and what runs inside (30 B); r, the result, counts at all times
//
// A value is live from its definition to its last reader, including readers of
// instructions that forward it. Parameters and results of a computation are not
// counted inside it. A while reuses the buffers of its operand. While an
// instruction runs, the peaks of all computations that it calls (while, call,
// conditional, async-start; not fusions and reducers) are added. The module's
// result is added once.
struct RematPeak {
  struct OfComputation {
    int64_t bytes = 0;
    // The first instruction at the peak; null if nothing needs memory.
    const HloInstruction* at = nullptr;
  };

  // Including the result.
  int64_t bytes = 0;
  // Bytes of the module's result, including tuple index tables.
  int64_t output_bytes = 0;
  // Where the peak is: an instruction of the entry, then one in its callee with
  // the highest peak, and so on inwards. Empty if nothing needs memory.
  std::vector<const HloInstruction*> at;
  // All computations that hold memory of their own, without results.
  absl::flat_hash_map<const HloComputation*, OfComputation> computations;
};

// Computations that the entry runs as steps, callees first, the entry last;
// those of `execution_threads` only (empty: all).
std::vector<HloComputation*> ComputationsThatRun(
    const HloModule& module,
    const absl::flat_hash_set<absl::string_view>& execution_threads = {});

// InvalidArgument if a computation that runs has no sequence or one that
// contradicts its operands. Computations that are keys of `beside` are not
// counted where they are called. O(indices of all shapes). `buffers`, if given,
// gets the data built for this.
absl::StatusOr<RematPeak> ComputeRematPeak(
    const HloModule& module, const HloSchedule& schedule,
    const RematSizeOptions& options = {},
    const absl::flat_hash_set<absl::string_view>& execution_threads = {},
    const absl::flat_hash_map<HloComputation*, int64_t>& beside = {},
    RematBuffersByComputation* buffers = nullptr);

// Bytes of the result: all arrays and tables of pointers.
int64_t RematOutputBytes(const HloModule& module,
                         const RematSizeOptions& options = {});

// The peak of one computation, given the peaks of its callees; missing callees
// count as zero.
absl::StatusOr<RematPeak::OfComputation> ComputeRematPeakOfComputation(
    const HloInstructionSequence& sequence, const RematSizeOptions& options,
    const absl::flat_hash_map<const HloComputation*, RematPeak::OfComputation>&
        callees);
RematPeak::OfComputation ComputeRematPeakOfComputation(
    const RematBuffers& buffers,
    const absl::flat_hash_map<const HloComputation*, RematPeak::OfComputation>&
        callees);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_ACCOUNTING_REMAT_ACCOUNTING_H_
