#ifndef XLA_LITERAL_FORMAT_H_
#define XLA_LITERAL_FORMAT_H_

#include <cstddef>

#include "xla/xla_data.pb.h"

namespace xla {
namespace literal_internal {

// An element takes at most this many characters.
inline constexpr size_t kMaxElementChars = 64;

// Writes the element at `element`, of the native type, to `out` as HLO text
// (PRED as 0 or 1) and returns the end. No allocation.
using FormatFn = char* (*)(const char* element, char* out);

// The function for elements of an array type. Its text of floats is that of
// RoundTripFpToString.
FormatFn FormatterOf(PrimitiveType type);

}  // namespace literal_internal
}  // namespace xla

#endif  // XLA_LITERAL_FORMAT_H_
