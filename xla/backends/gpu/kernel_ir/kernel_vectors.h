#ifndef XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_VECTORS_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_VECTORS_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// Vectors: neighboring elements that a thread reads or writes in one access.
//
//   for %j : vectorize [0, 4) { %v[j] = copy(%in[4*t + j]) }

namespace xla::gpu::kir {

// Largest vector. Parameters of kernels are aligned to it.
inline constexpr int64_t kVectorBytes = 16;

// Whether an access can have this many bytes.
bool IsVector(int64_t bytes);

// How many of `count` elements a thread takes at once: at most 8, no more bytes
// than a vector, and equally many in all threads.
int64_t NeighborsOfThread(int64_t element_bytes, int64_t count);

// The first of the `width` elements that the operand covers as an index runs
// through [0, width), if they are adjacent in the buffer and the position of
// the first one is a multiple of the width, a power of two.
std::optional<Operand> FirstOfVector(const Buffer& buffer,
                                     const Operand& operand,
                                     absl::string_view index, int64_t width);

}  // namespace xla::gpu::kir

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_VECTORS_H_
