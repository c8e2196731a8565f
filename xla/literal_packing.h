#ifndef XLA_LITERAL_PACKING_H_
#define XLA_LITERAL_PACKING_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace literal_internal {

// Whether packed elements take less than a byte each. PRED does, although it
// takes a byte in bitcasts.
bool IsPackable(PrimitiveType type);

// Bytes of `count` packed elements.
int64_t PackedBytes(PrimitiveType type, int64_t count);

// Packs elements that lie one per native type at `src`: packable ones (first
// into the lowest bits), all others as little-endian bytes.
std::string PackElements(PrimitiveType type, const char* src, int64_t count);

// The inverse, from exactly PackedBytes(type, count) bytes.
void UnpackElements(PrimitiveType type, absl::Span<const char> packed,
                    int64_t count, char* dest);

// Turns arbitrary bytes into native elements: sub-byte integers are
// sign-extended from their low bits, spare bits of narrow floats are cleared,
// nonzero PRED bytes become 1. Other types are unchanged.
void NormalizeElements(PrimitiveType type, char* elements, int64_t count);

// Reverses the bytes of each of `count` elements on big-endian machines, where
// that makes them little-endian; nothing elsewhere.
void SwapToLittleEndian(PrimitiveType type, char* elements, int64_t count);

}  // namespace literal_internal
}  // namespace xla

#endif  // XLA_LITERAL_PACKING_H_
