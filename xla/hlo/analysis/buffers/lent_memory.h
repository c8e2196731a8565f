#ifndef XLA_HLO_ANALYSIS_BUFFERS_LENT_MEMORY_H_
#define XLA_HLO_ANALYSIS_BUFFERS_LENT_MEMORY_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_value.h"

namespace xla {

// Whether the allocation may hold a buffer of that colour, as far as that does
// not depend on what else it holds: kind, colour, size; memory of results not
// what must not leave the module.
bool MayHold(const BufferAllocation& allocation, const HloBuffer& buffer,
             BufferValue::Color color, const BufferAssignment& assignment,
             const BufferAssigner::Options& options);

// The memory of results, and of parameters that results are aliased to, at
// times at which it holds nothing. Needs a schedule; without one there is none.
// Queries O(log values) for each of at most 256 allocations.
class LentMemory {
 public:
  LentMemory(BufferAssignment* assignment, const AliasInfo* alias_info,
             const BufferAssigner::Options& options);

  // Puts operands that a result can be written over into its allocation, and
  // operands of these.
  void LendToOperandsOfResults();
  // Puts the buffer at the start of the smallest allocation that is large
  // enough and free while it lives, if there is one.
  void LendTo(const HloBuffer& buffer, BufferValue::Color color);

 private:
  // Start → end of what an allocation holds.
  using Busy = std::map<int64_t, int64_t>;

  const HloValue* ReusableOperand(const HloValue& value) const;
  // False if a value has no range.
  bool AddTo(Busy& busy, const HloValue& value) const;
  bool IsFree(const Busy& busy, const HloBuffer& buffer) const;

  BufferAssignment& assignment_;
  const AliasInfo* alias_info_;
  const BufferAssigner::Options& options_;
  absl::flat_hash_map<BufferAllocation::Index, Busy> busy_;
  // Size and index; of equal sizes, those of results first made come first.
  std::vector<std::pair<int64_t, BufferAllocation::Index>> by_size_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_LENT_MEMORY_H_
