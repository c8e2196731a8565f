#ifndef XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_SIZES_H_
#define XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_SIZES_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "xla/service/hlo.pb.h"

namespace xla {

// Sizes computed from a BufferAssignmentProto, without its module in memory.
// All in bytes.

struct PeakMemorySizes {
  // With / without the padding that layouts and alignment add to the elements.
  int64_t padded = 0;
  int64_t unpadded = 0;
};

// The most bytes in use at one time, over all memory spaces: the largest buffer
// of each allocation that lives as long as the module, plus the live buffers of
// heap simulator traces, where buffers that share memory cost nothing.
// Thread-local memory is not counted. InvalidArgument for a trace that frees
// what it did not allocate or names an unknown buffer.
absl::StatusOr<int64_t> ComputePeakMemory(const BufferAssignmentProto& proto);
// The same, and with the sizes of shapes.
absl::StatusOr<PeakMemorySizes> ComputePeakMemorySizes(
    const BufferAssignmentProto& proto, const HloModuleProto& hlo_module_proto);

// Allocations of a memory space outside heaps: parameters, constants, results,
// and thread-local memory.
int64_t ComputeIndefiniteAllocationsInBytes(const BufferAssignmentProto& proto,
                                            int64_t memory_color);
// All allocations of a memory space.
int64_t ComputeTotalAllocationBytes(const BufferAssignmentProto& proto,
                                    int64_t memory_color);

// By id of the logical buffer: the bytes of its shape's elements, densely
// packed; for a tuple those of its pointers. InvalidArgument for a buffer whose
// instruction or index is not in the module.
absl::StatusOr<absl::flat_hash_map<int64_t, int64_t>>
ComputeLogicalBufferUnpaddedSizes(
    const HloModuleProto& hlo_module_proto,
    const BufferAssignmentProto& buffer_assignment_proto);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_SIZES_H_
