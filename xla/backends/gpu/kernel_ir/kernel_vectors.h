#ifndef XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_VECTORS_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_VECTORS_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// Vectors: neighbors that a thread reads or writes in one access.
//
//   for %j : vectorize [0, 4) { %v[j] = copy(%in[4*t + j]) }

namespace xla::gpu::kir {

// Of one access at most. Parameters of kernels begin at multiples of it.
inline constexpr int64_t kVectorBytes = 16;

// Whether there is an access of so many bytes.
bool IsVector(int64_t bytes);

// Of `count` elements, as many as a thread takes at once: at most 4, no more
// bytes than a vector, and all threads alike.
int64_t NeighborsOfThread(int64_t element_bytes, int64_t count);

// The first of `width` elements that the operand goes through with an index in
// [0, width), if they are next to each other in the buffer and the first one's
// number is a multiple of the width, which is a power of two.
std::optional<Operand> FirstOfVector(const Buffer& buffer,
                                     const Operand& operand,
                                     absl::string_view index, int64_t width);

}  // namespace xla::gpu::kir

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_VECTORS_H_
