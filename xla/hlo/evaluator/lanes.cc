#include "xla/hlo/evaluator/lanes.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "absl/log/check.h"
#include "xla/hlo/evaluator/lane_types.h"
#include "xla/primitive_util.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

// Arithmetic is done in a few wide types (lanes): 64-bit integers, f32, f64 and
// their complex counterparts. Elements are widened on load, and results rounded
// or wrapped to the element type after every operation (RoundLanes), which
// gives the same results as arithmetic in the narrow type. Rounding twice is
// innocuous for +, -, *, / and the square root if the wide type has at least 2p
// + 2 bits of significand for p of the narrow one (Figueroa, "When is Double
// Rounding Innocuous?", 1995): f32 has 24, which is enough for f16 with 11.

namespace xla {
namespace evaluator {
namespace {

// A table of the values of all 256 codes of an 8-bit float: faster than
// decoding.
template <typename T>
const std::array<float, 256>& CodeValues() {
  static const std::array<float, 256>& values = *[] {
    auto* table = new std::array<float, 256>;
    for (int code = 0; code < 256; ++code) {
      (*table)[code] = T::FromRep(static_cast<uint8_t>(code)).ToFloat();
    }
    return table;
  }();
  return values;
}

template <typename T>
void Load(const T* elements, int64_t n, LaneOf<T>* lanes) {
  if constexpr (std::is_same_v<T, LaneOf<T>>) {
    std::memcpy(static_cast<void*>(lanes), elements, n * sizeof(T));
  } else if constexpr (is_mini_float_v<T> && sizeof(T) == 1) {
    const std::array<float, 256>& values = CodeValues<T>();
    for (int64_t i = 0; i < n; ++i) lanes[i] = values[elements[i].rep()];
  } else {
    for (int64_t i = 0; i < n; ++i) {
      lanes[i] = static_cast<LaneOf<T>>(elements[i]);
    }
  }
}

template <typename T>
void Store(const LaneOf<T>* lanes, int64_t n, T* elements) {
  if constexpr (std::is_same_v<T, LaneOf<T>>) {
    std::memcpy(static_cast<void*>(elements), lanes, n * sizeof(T));
  } else {
    for (int64_t i = 0; i < n; ++i) elements[i] = static_cast<T>(lanes[i]);
  }
}

template <typename T>
void Wrap(T* lanes, int64_t n, int width) {
  const int shift = 64 - width;
  for (int64_t i = 0; i < n; ++i) {
    lanes[i] =
        static_cast<T>(static_cast<uint64_t>(lanes[i]) << shift) >> shift;
  }
}

}  // namespace

LaneType LaneTypeOf(PrimitiveType type) {
  switch (type) {
    case PRED:
      return LaneType::kPred;
    case F64:
      return LaneType::kF64;
    case C64:
      return LaneType::kC64;
    case C128:
      return LaneType::kC128;
    default:
      break;
  }
  if (primitive_util::IsSignedIntegralType(type)) return LaneType::kS64;
  if (primitive_util::IsUnsignedIntegralType(type)) return LaneType::kU64;
  DCHECK(primitive_util::IsFloatingPointType(type));
  return LaneType::kF32;
}

int64_t LaneBytes(LaneType type) {
  switch (type) {
    case LaneType::kPred:
      return 1;
    case LaneType::kF32:
      return 4;
    case LaneType::kC128:
      return 16;
    default:
      return 8;
  }
}

bool StoredAsLanes(PrimitiveType type) {
  switch (type) {
    case PRED:
    case S64:
    case U64:
    case F32:
    case F64:
    case C64:
    case C128:
      return true;
    default:
      return false;
  }
}

void LoadLanes(PrimitiveType type, const void* elements, int64_t n,
               void* lanes) {
  primitive_util::ArrayTypeSwitch<void>(
      [&](auto constant) {
        using T = primitive_util::NativeTypeOf<constant>;
        Load(static_cast<const T*>(elements), n,
             static_cast<LaneOf<T>*>(lanes));
      },
      type);
}

void StoreLanes(PrimitiveType type, const void* lanes, int64_t n,
                void* elements) {
  primitive_util::ArrayTypeSwitch<void>(
      [&](auto constant) {
        using T = primitive_util::NativeTypeOf<constant>;
        Store(static_cast<const LaneOf<T>*>(lanes), n,
              static_cast<T*>(elements));
      },
      type);
}

void RoundLanes(PrimitiveType type, void* lanes, int64_t n) {
  if (StoredAsLanes(type)) return;
  switch (LaneTypeOf(type)) {
    case LaneType::kS64:
      Wrap(static_cast<int64_t*>(lanes), n, primitive_util::BitWidth(type));
      return;
    case LaneType::kU64:
      Wrap(static_cast<uint64_t*>(lanes), n, primitive_util::BitWidth(type));
      return;
    default:
      break;
  }
  primitive_util::FloatingPointTypeSwitch<void>(
      [&](auto constant) {
        using T = primitive_util::NativeTypeOf<constant>;
        if constexpr (is_mini_float_v<T>) {
          float* values = static_cast<float*>(lanes);
          for (int64_t i = 0; i < n; ++i) values[i] = T(values[i]).ToFloat();
        }
      },
      type);
}

}  // namespace evaluator
}  // namespace xla
