#ifndef XLA_STRIDED_COPY_H_
#define XLA_STRIDED_COPY_H_

#include <cstdint>

#include "absl/types/span.h"

namespace xla {

// Copies the box `dims` of elements of `element_bytes` bytes from `src` to
// `dest`. Strides are in elements per dimension; a source stride of 0 repeats.
// The ranges must not overlap. Contiguous elements are copied with memcpy,
// transposes in cache-sized tiles; no allocation per element.
void CopyStridedBox(char* dest, absl::Span<const int64_t> dest_strides,
                    const char* src, absl::Span<const int64_t> src_strides,
                    absl::Span<const int64_t> dims, int64_t element_bytes);

// Whether the two boxes hold the same bytes.
bool EqualStridedBox(const char* lhs, absl::Span<const int64_t> lhs_strides,
                     const char* rhs, absl::Span<const int64_t> rhs_strides,
                     absl::Span<const int64_t> dims, int64_t element_bytes);

}  // namespace xla

#endif  // XLA_STRIDED_COPY_H_
