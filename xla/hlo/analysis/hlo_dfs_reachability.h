#ifndef XLA_HLO_ANALYSIS_HLO_DFS_REACHABILITY_H_
#define XLA_HLO_ANALYSIS_HLO_DFS_REACHABILITY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Which instruction of a computation reaches which, along operands and control
// dependencies; each reaches itself. Keeps positions in a post order only:
//
//   a = op(p); b = op(a); c = op(p)      p 0, a 1, b 2, c 3
//
// a reaches b if a walk from b against the edges, through instructions after a
// only, arrives at a. Memory 4 N bytes, Build O(N + E), a query O(instructions
// between a and b), O(1) if b comes before a. The edges are those of the graph
// at the time of the query: after removals and replacements (see
// OnInstructionReplaced) nothing need be recomputed, as long as new edges lead
// from earlier to later instructions.
//
// Prefer HloReachabilityMap for many queries on one computation.
class HloDfsReachability {
 public:
  static std::unique_ptr<HloDfsReachability> Build(
      const HloComputation* computation);

  bool IsPresent(const HloInstruction* instruction) const;

  // Both must be present.
  bool IsReachable(const HloInstruction* from, const HloInstruction* to) const;
  // One of them reaches the other.
  bool IsConnected(const HloInstruction* a, const HloInstruction* b) const;

  // `current` takes the position of `previous`, which is no longer present.
  void OnInstructionReplaced(const HloInstruction* previous,
                             const HloInstruction* current);

  // Heap memory, in bytes.
  size_t MemoryBytes() const;

 private:
  HloDfsReachability() = default;

  int32_t PositionOf(const HloInstruction* instruction) const;

  // By local id: position in the post order, -1 if not present.
  std::vector<int32_t> position_;
  const HloComputation* computation_ = nullptr;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HLO_DFS_REACHABILITY_H_
