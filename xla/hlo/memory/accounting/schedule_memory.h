#ifndef XLA_HLO_MEMORY_ACCOUNTING_SCHEDULE_MEMORY_H_
#define XLA_HLO_MEMORY_ACCOUNTING_SCHEDULE_MEMORY_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/accounting/hlo_memory_graph.h"

namespace xla {

// Computations that hold memory of their own when the entry runs, callees
// first; the entry is the last.
std::vector<HloComputation*> ComputationsWithMemory(const HloModule& module);

// Chooses orders bottom up: calls `choose` for each of ComputationsWithMemory,
// with its graph, in which callees have the peaks of their chosen orders.
// Returns the peak of the entry.
absl::StatusOr<int64_t> ForEachComputationMemory(
    const HloModule& module, const HloAliasAnalysis& alias_analysis,
    const AliasInfo* alias_info, const BufferValue::SizeFunction& size_function,
    absl::FunctionRef<absl::StatusOr<int64_t>(HloComputation*,
                                              const HloMemoryGraph&)>
        choose);

// The peak of a scheduled module, in bytes: live buffers of all computations
// that run at a time, fragmentation apart. InvalidArgument if a computation
// that runs is not scheduled, or its sequence is not one of its instructions.
// Near-linear.
absl::StatusOr<int64_t> PeakOfSchedule(
    const HloSchedule& schedule, const HloAliasAnalysis& alias_analysis,
    const AliasInfo* alias_info,
    const BufferValue::SizeFunction& size_function);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_ACCOUNTING_SCHEDULE_MEMORY_H_
