#ifndef XLA_HLO_VERIFIER_MODULE_CHECKS_H_
#define XLA_HLO_VERIFIER_MODULE_CHECKS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/verifier/hlo_verifier.h"

// Rules between instructions, of computations and of the module. Internal to
// this folder.

namespace xla::verifier {

// The graph of one module, computation by computation: V2 to V9 and V11 to V17.
// Keeps its memory from one computation to the next.
class StructureCheck {
 public:
  // Near-linear in instructions plus edges.
  absl::Status Check(const HloModule& module,
                     const HloComputation& computation);

 private:
  absl::Status CheckRootAndParameters(const HloComputation& computation);
  absl::Status CheckNames(const HloComputation& computation);
  absl::Status CheckInstruction(const HloComputation& computation,
                                const HloInstruction& inst);
  absl::Status CheckOperands(const HloComputation& computation,
                             const HloInstruction& inst);
  absl::Status CheckControlNeighbors(const HloComputation& computation,
                                     const HloInstruction& inst);
  absl::Status CheckUsers(const HloComputation& computation);
  absl::Status CheckControlEdges(const HloComputation& computation);
  absl::Status CheckAcyclic(const HloComputation& computation);
  bool Holds(const HloInstruction& inst) const {
    return inst.local_id() >= 0 &&
           inst.local_id() < static_cast<int64_t>(slots_.size()) &&
           slots_[inst.local_id()] == &inst;
  }

  struct Edge {
    int32_t from;
    int32_t to;
    bool operator<(const Edge& other) const {
      return from != other.from ? from < other.from : to < other.to;
    }
    bool operator==(const Edge& other) const {
      return from == other.from && to == other.to;
    }
  };

  // All by local id. `stamps_` tells operands that were met from those that
  // were not, in one instruction; `uses_` counts the users of each.
  std::vector<const HloInstruction*> slots_;
  std::vector<int32_t> stamps_;
  std::vector<int32_t> uses_;
  std::vector<Edge> successors_;
  std::vector<Edge> predecessors_;
  int64_t parameters_ = 0;
  // No edge from a place to one before it.
  bool is_ordered_ = true;
};

// V1 and V3, and StructureCheck for all computations.
absl::Status CheckStructure(const HloModule& module);

// V11, V18, V20, V21 and V22 (by option, of reducers too), and V137 of other
// callers of what a chain runs. O(calls + computations).
absl::Status CheckCalls(const HloModule& module, const HloVerifierOpts& opts);

// Rules that involve several instructions; fed with one instruction at a time.
class CommunicationCheck {
 public:
  // V137 to V140, V164 and V168, and notes channels.
  absl::Status Visit(const HloInstruction& inst);

 private:
  absl::Status VisitChannel(const HloInstruction& inst);
  absl::Status VisitTransfer(const HloInstruction& inst);
  // V168.
  absl::Status VisitAllReduce(const HloInstruction& inst);

  // The first transfer on each channel: V163; and of those to the host the
  // first that begins one: V167.
  absl::flat_hash_map<int64_t, const HloSendRecvInstruction*> channels_;
  absl::flat_hash_map<int64_t, const HloSendRecvInstruction*> host_transfers_;
  const HloInstruction* all_reduce_ = nullptr;
};

// Links of chains of async-start, -update and -done: V137 to V140.
absl::Status CheckAsyncLink(const HloInstruction& inst);
// Starts and dones that are opcodes of their own: V139 and V140.
absl::Status CheckStartAndDone(const HloInstruction& inst);

// V165, in scheduled computations.
absl::Status CheckNoCollectiveDeadlocks(const HloModule& module);

// V171.
absl::Status CheckEntryLayout(const HloModule& module,
                              const HloVerifierOpts& opts);
// V172 and V173.
absl::Status CheckAliasing(const HloModule& module,
                           const HloVerifierOpts& opts);
// V124 to V127.
absl::Status CheckBuffers(const HloModule& module, const HloVerifierOpts& opts);
// V174.
absl::Status CheckSchedule(const HloModule& module);

}  // namespace xla::verifier

#endif  // XLA_HLO_VERIFIER_MODULE_CHECKS_H_
