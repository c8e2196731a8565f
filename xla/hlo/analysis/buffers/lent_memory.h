#ifndef XLA_HLO_ANALYSIS_BUFFERS_LENT_MEMORY_H_
#define XLA_HLO_ANALYSIS_BUFFERS_LENT_MEMORY_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_live_range.h"
#include "xla/hlo/analysis/hlo_value.h"

namespace xla {

// Whether the allocation may hold a buffer of that color, apart from conflicts
// with its other values: compares kind, color and size, and excludes values
// that must not leave the module from memory of results.
bool MayHold(const BufferAllocation& allocation, const HloBuffer& buffer,
             BufferValue::Color color, const BufferAssignment& assignment,
             const BufferAssigner::Options& options);

// The memory of results, and of parameters that results are aliased to, while
// it is free; with a schedule only. Places buffers as OpenXLA does, byte for
// byte, if they come in the same order:
//
//   p = parameter(0); a = negate(p); b = reverse(a); ROOT c = add(b, b)
//   c has an allocation → b lies in it, a does not: reverse reads both ends
//
// Two values may be in one place if the ranges in which they live are apart, or
// touch where an instruction may overwrite its operand. O(log values) for each
// of at most 1024 allocations, and of 256 operands of each value.
class LentMemory {
 public:
  LentMemory(BufferAssignment* assignment, const AliasInfo* alias_info,
             const BufferAssigner::Options& options)
      : assignment_(*assignment), alias_info_(alias_info), options_(options) {}

  // Adds an allocation all of whose values cover it from offset 0.
  void Register(BufferAllocation::Index index);

  // Puts the buffer at the start of the first allocation that is free: that of
  // an operand of one of its values, then others from the smallest on that is
  // large enough, among equal sizes the one registered last. Results take only
  // allocations of exactly their size. Returns whether it did.
  bool LendTo(const HloBuffer& buffer, BufferValue::Color color);

 private:
  // The values in an allocation by the start and end of their ranges, which at
  // most touch each other, apart from values of one HloBuffer.
  using Busy = std::multimap<std::pair<int64_t, int64_t>, const HloValue*>;

  const HloLiveRange::TimeBound* RangeOf(const HloValue& value) const;
  bool IsFree(const Busy& busy, const HloBuffer& buffer) const;
  bool HasAllocation(const HloInstruction& inst) const;
  bool TryAllocation(BufferAllocation::Index index, const HloBuffer& buffer,
                     BufferValue::Color color);

  BufferAssignment& assignment_;
  const AliasInfo* alias_info_;
  const BufferAssigner::Options& options_;
  absl::flat_hash_map<BufferAllocation::Index, Busy> busy_;
  std::set<std::pair<int64_t, int64_t>> by_size_;  // size, index negated
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_LENT_MEMORY_H_
