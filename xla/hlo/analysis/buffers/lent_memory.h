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

// Whether the allocation may hold a buffer of that colour, apart from conflicts
// with its other values: compares kind, colour and size, and excludes values
// that must not leave the module from memory of results.
bool MayHold(const BufferAllocation& allocation, const HloBuffer& buffer,
             BufferValue::Color color, const BufferAssignment& assignment,
             const BufferAssigner::Options& options);

// The memory of results, and of parameters that results are aliased to, while
// it is free. Empty without a schedule. Queries O(log values) for each of at
// most 256 allocations.
class LentMemory {
 public:
  LentMemory(BufferAssignment* assignment, const AliasInfo* alias_info,
             const BufferAssigner::Options& options);

  // Puts operands that a result can overwrite into its allocation, and in turn
  // their operands.
  void LendToOperandsOfResults();
  // Puts the buffer at the start of the smallest allocation that is large
  // enough and free during its live range, if there is one.
  void LendTo(const HloBuffer& buffer, BufferValue::Color color);

 private:
  // Start → end of the live ranges in an allocation.
  using Busy = std::map<int64_t, int64_t>;

  const HloValue* ReusableOperand(const HloValue& value) const;
  // False if a value has no range.
  bool AddTo(Busy& busy, const HloValue& value) const;
  bool IsFree(const Busy& busy, const HloBuffer& buffer) const;

  BufferAssignment& assignment_;
  const AliasInfo* alias_info_;
  const BufferAssigner::Options& options_;
  absl::flat_hash_map<BufferAllocation::Index, Busy> busy_;
  // Size and index; among equal sizes, those of earlier results come first.
  std::vector<std::pair<int64_t, BufferAllocation::Index>> by_size_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_LENT_MEMORY_H_
