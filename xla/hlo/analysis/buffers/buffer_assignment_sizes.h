#ifndef XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_SIZES_H_
#define XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_SIZES_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "xla/service/hlo.pb.h"

namespace xla {

// Sizes that can be told from a BufferAssignmentProto, without its module in
// memory. All in bytes.

struct PeakMemorySizes {
  // With and without what layouts and alignment add to the shapes' elements.
  int64_t padded = 0;
  int64_t unpadded = 0;
};

// The most that is taken at one time, over all memory spaces: of allocations
// that live as long as the module the largest buffer, and of what the heap
// simulator packed what its traces say is live, where what shares memory costs
// nothing. Thread-local memory does not count. InvalidArgument for a trace that
// frees what it did not allocate or names an unknown buffer.
absl::StatusOr<int64_t> ComputePeakMemory(const BufferAssignmentProto& proto);
// The same, and with the sizes of shapes.
absl::StatusOr<PeakMemorySizes> ComputePeakMemorySizes(
    const BufferAssignmentProto& proto, const HloModuleProto& hlo_module_proto);

// Allocations of a memory space that no heap holds: parameters, constants,
// results, and thread-local memory.
int64_t ComputeIndefiniteAllocationsInBytes(const BufferAssignmentProto& proto,
                                            int64_t memory_color);
// All allocations of a memory space.
int64_t ComputeTotalAllocationBytes(const BufferAssignmentProto& proto,
                                    int64_t memory_color);

// By id of the logical buffer: the bytes of its shape's elements, densely
// packed; of a tuple those of its pointers. InvalidArgument for a buffer whose
// instruction or index the module has not.
absl::StatusOr<absl::flat_hash_map<int64_t, int64_t>>
ComputeLogicalBufferUnpaddedSizes(
    const HloModuleProto& hlo_module_proto,
    const BufferAssignmentProto& buffer_assignment_proto);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_SIZES_H_
