#include "xla/literal_packing.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/base/config.h"
#include "absl/log/check.h"
#include "absl/types/span.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace xla {
namespace literal_internal {
namespace {

#ifdef ABSL_IS_BIG_ENDIAN
constexpr bool kBigEndian = true;
#else
constexpr bool kBigEndian = false;
#endif

}  // namespace

bool IsPackable(PrimitiveType type) {
  return type == PRED || primitive_util::IsSubByteNonPredType(type);
}

int64_t PackedBytes(PrimitiveType type, int64_t count) {
  if (IsPackable(type)) {
    return CeilOfRatio<int64_t>(count * primitive_util::BitWidth(type), 8);
  }
  return count * ShapeUtil::ByteSizeOfPrimitiveType(type);
}

std::string PackElements(PrimitiveType type, const char* src, int64_t count) {
  std::string packed(PackedBytes(type, count), '\0');
  if (IsPackable(type)) {
    PackIntN(primitive_util::BitWidth(type), absl::MakeConstSpan(src, count),
             absl::MakeSpan(packed.data(), packed.size()));
  } else if (!packed.empty()) {
    std::memcpy(packed.data(), src, packed.size());
    SwapToLittleEndian(type, packed.data(), count);
  }
  return packed;
}

void UnpackElements(PrimitiveType type, absl::Span<const char> packed,
                    int64_t count, char* dest) {
  CHECK_EQ(static_cast<int64_t>(packed.size()), PackedBytes(type, count));
  if (IsPackable(type)) {
    UnpackIntN(primitive_util::BitWidth(type), packed,
               absl::MakeSpan(dest, count));
  } else if (!packed.empty()) {
    std::memcpy(dest, packed.data(), packed.size());
    SwapToLittleEndian(type, dest, count);
  }
  NormalizeElements(type, dest, count);
}

void NormalizeElements(PrimitiveType type, char* elements, int64_t count) {
  if (type == PRED) {
    for (int64_t i = 0; i < count; ++i) elements[i] = elements[i] != 0;
    return;
  }
  const int width = primitive_util::BitWidth(type);
  if (width >= 8) return;
  const uint8_t mask = (1u << width) - 1;
  const uint8_t sign =
      primitive_util::IsSignedIntegralType(type) ? 1u << (width - 1) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t low = static_cast<uint8_t>(elements[i]) & mask;
    elements[i] = static_cast<char>((low & sign) != 0 ? low | ~mask : low);
  }
}

void SwapToLittleEndian(PrimitiveType type, char* elements, int64_t count) {
  if (!kBigEndian) return;
  const int64_t bytes = ShapeUtil::ByteSizeOfPrimitiveType(type);
  // The two parts of a complex number keep their order.
  const int64_t unit = primitive_util::IsComplexType(type) ? bytes / 2 : bytes;
  for (int64_t at = 0; at < count * bytes; at += unit) {
    std::reverse(elements + at, elements + at + unit);
  }
}

}  // namespace literal_internal
}  // namespace xla
