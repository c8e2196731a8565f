#ifndef XLA_HLO_MEMORY_ACCOUNTING_HLO_MEMORY_GRAPH_H_
#define XLA_HLO_MEMORY_ACCOUNTING_HLO_MEMORY_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/memory/graph/memory_graph.h"

namespace xla {

// Peaks of computations, bytes, without what their callers hold.
using ComputationPeaks = absl::flat_hash_map<const HloComputation*, int64_t>;

// The MemoryGraph of a computation. Node i represents instructions[i].
struct HloMemoryGraph {
  MemoryGraph graph;
  std::vector<HloInstruction*> instructions;  // in post order
  std::vector<const HloValue*> values;        // the HloValue of each Value

  // The node order of a sequence of all instructions; InvalidArgument, naming
  // the instruction, if one is missing, repeated or from another computation.
  absl::StatusOr<std::vector<MemoryGraph::Node>> ToNodes(
      absl::Span<HloInstruction* const> sequence) const;
  std::vector<HloInstruction*> ToInstructions(
      absl::Span<const MemoryGraph::Node> order) const;
};

// Translates dataflow and buffers of a computation, so that replaying an order
// gives the peak that HeapSimulator without fragmentation finds for it:
//   - each value of the dataflow analysis that the computation defines, or that
//     calls return, is a value; its HloBuffer is its buffer. Constants take no
//     memory here.
//   - parameters are live from the start, those of the entry computation that
//     no output is aliased with to the end; what the root returns lives to the
//     end;
//   - what a while changes is handed over to it, its other inputs are live
//     throughout, as are the operands of calls and conditionals (whose bodies
//     may in fact need them for a part of their time only);
//   - `callees` has the peaks of computations that while, conditional, call
//     and async-start run; other computations run without memory of their own.
// Values from outside the computation are counted by the caller.
//
// Near-linear in positions. InvalidArgument, with an instruction, for cyclic
// control dependencies and sizes beyond 2^62 bytes in all.
absl::StatusOr<HloMemoryGraph> BuildMemoryGraph(
    const HloComputation& computation, const HloAliasAnalysis& alias_analysis,
    const AliasInfo* alias_info, const BufferValue::SizeFunction& size_function,
    const ComputationPeaks& callees);

// An error naming an instruction of `computation` on a cycle of operands and
// control dependencies; OK if there is none. O(instructions
// + edges).
absl::Status CheckNoCycle(const HloComputation& computation);

// The computations that run with `instruction` and hold memory meanwhile.
absl::Span<HloComputation* const> ComputationsRunBy(
    const HloInstruction& instruction);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_ACCOUNTING_HLO_MEMORY_GRAPH_H_
