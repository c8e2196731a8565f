#ifndef XLA_HLO_ANALYSIS_BUFFERS_BUFFER_REUSE_H_
#define XLA_HLO_ANALYSIS_BUFFERS_BUFFER_REUSE_H_

#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/hlo_buffer.h"

namespace xla {

// Which allocations a buffer may try if the order of instructions is unknown
// and values are compared one by one. Named as in OpenXLA.
class BufferAllocationsManagerForComputationsWithoutOrdering {
 public:
  BufferAllocationsManagerForComputationsWithoutOrdering() = default;
  virtual ~BufferAllocationsManagerForComputationsWithoutOrdering() = default;

  // Registers the allocation of a parameter that an output is aliased to.
  virtual void RegisterAliasedEntryParameterAllocation(
      BufferAllocation::Index index) = 0;

  // Tries to put the buffer, of `required_size` bytes, into a registered
  // allocation; returns whether it did.
  virtual absl::StatusOr<bool> TryAssignToExistingAllocation(
      const HloBuffer* hlo_buffer, int64_t required_size) = 0;

  // Registers an allocation made for the buffer.
  virtual void RegisterNewAllocation(const HloBuffer* hlo_buffer,
                                     BufferAllocation::Index index) = 0;
};

// Puts a buffer into an allocation if it fits; returns whether it did.
using TryAllocation = absl::AnyInvocable<absl::StatusOr<bool>(
    BufferAllocation*, const HloBuffer&)>;

// Tries at most 256 allocations (16 if `fast`) that are large enough, smallest
// first, among equal sizes the latest first.
std::unique_ptr<BufferAllocationsManagerForComputationsWithoutOrdering>
CreateBufferReuse(BufferAssignment* assignment, TryAllocation try_allocation,
                  bool fast);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_BUFFER_REUSE_H_
