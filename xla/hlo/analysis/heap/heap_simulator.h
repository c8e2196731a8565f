#ifndef XLA_HLO_ANALYSIS_HEAP_HEAP_SIMULATOR_H_
#define XLA_HLO_ANALYSIS_HEAP_HEAP_SIMULATOR_H_

#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/heap/best_fit_heap.h"
#include "xla/hlo/analysis/heap/breadth_first_midpoint_iterator.h"  // IWYU pragma: export
#include "xla/hlo/analysis/heap/heap_algorithm.h"
#include "xla/hlo/analysis/heap/heap_result.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_live_range.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace xla {

// Replays the live ranges of a scheduled module or computation against a heap
// algorithm: at each time of HloLiveRange, values that start there are
// allocated, those that end first first, then those that end there are freed,
// those that started first first.
//
//   a = negate(p); b = exp(a)     → alloc p, alloc a, share b with a, …
//
// A value shares the chunk of
// - the values before it of its HloBuffer (updates in place, loops);
// - else an operand that ends where it starts, if alias rules let its
//   instruction overwrite that operand, neither is in a buffer with other
//   values, and the instruction is not a copy.
// Constants are excluded unless requested. Computations called by control flow
// are part of the time line; those of fusions, reductions and the like take no
// memory. Near-linear in values and uses, plus the cost of the algorithm.
class HeapSimulator {
 public:
  using Chunk = HeapChunk;
  template <typename BufferType>
  using HeapResult = HeapResultOf<BufferType>;
  template <typename BufferType>
  using Result = HeapSimulationOf<BufferType>;

  struct Options {
    // Whether an output may reuse the chunk of an operand that ends.
    bool may_reuse_operand_buffers = true;
    // Whether constants take memory.
    bool alloc_constants = false;
    // If set, only these values take memory.
    const absl::flat_hash_set<const HloValue*>* buffers_to_assign = nullptr;
  };

  // The fewest bytes that any heap needs for the module in this order: the most
  // live at one time. 0 for an empty schedule. `size_function` is not null,
  // here and below.
  static absl::StatusOr<int64_t> MinimumMemoryForModule(
      const HloSchedule& schedule, const HloAliasAnalysis& alias_analysis,
      const AliasInfo* alias_info,
      const BufferValue::SizeFunction* size_function);

  // The same for one computation, without what it calls.
  static absl::StatusOr<int64_t> MinimumMemoryForComputation(
      const HloComputation& computation, const HloInstructionSequence& sequence,
      const HloAliasAnalysis& alias_analysis, const AliasInfo* alias_info,
      const BufferValue::SizeFunction* size_function);

  // FailedPrecondition where the schedule lacks a computation on the time line;
  // InvalidArgument, naming one, if the values have a negative size or more
  // than 2^62 bytes together; errors of the algorithm. `alias_info` may be null
  // (defaults).
  static absl::StatusOr<Result<HloValue>> Run(
      std::unique_ptr<HeapAlgorithm<HloValue>> algorithm,
      const HloModule& module, const HloSchedule& schedule,
      const HloAliasAnalysis& alias_analysis, const AliasInfo* alias_info,
      const BufferValue::SizeFunction* size_fn,
      const Options& options = DefaultOptions());

  // The same for one computation; with `schedule`, including the computations
  // it calls.
  static absl::StatusOr<Result<HloValue>> Run(
      std::unique_ptr<HeapAlgorithm<HloValue>> algorithm,
      const HloComputation& computation,
      const HloInstructionSequence& instruction_sequence,
      const HloAliasAnalysis& alias_analysis, const AliasInfo* alias_info,
      const BufferValue::SizeFunction* size_fn,
      const Options& options = DefaultOptions());
  static absl::StatusOr<Result<HloValue>> Run(
      std::unique_ptr<HeapAlgorithm<HloValue>> algorithm,
      const HloComputation& computation,
      const HloInstructionSequence& instruction_sequence,
      const HloAliasAnalysis& alias_analysis, const AliasInfo* alias_info,
      const BufferValue::SizeFunction* size_fn, const HloSchedule* schedule,
      const Options& options = DefaultOptions());

 private:
  static Options DefaultOptions() { return Options(); }
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HEAP_HEAP_SIMULATOR_H_
