#include "xla/hlo/parser/elided_values.h"

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {
namespace {

// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", 2014.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In [0, 1), 24 bits: exact in float.
  double NextFraction() {
    return static_cast<double>(Next() >> 40) / (1 << 24);
  }

 private:
  uint64_t state_;
};

// Independent of hash functions that may change between runs.
uint64_t SeedOf(const Shape& shape) {
  SplitMix64 mix(shape.element_type());
  uint64_t seed = mix.Next();
  for (int64_t size : shape.dimensions()) {
    seed = SplitMix64(seed ^ static_cast<uint64_t>(size)).Next();
  }
  return seed;
}

template <typename NativeT>
NativeT NextValue(SplitMix64& random) {
  constexpr PrimitiveType kType =
      primitive_util::NativeToPrimitiveType<NativeT>();
  if constexpr (std::is_same_v<NativeT, bool>) {
    return (random.Next() >> 63) != 0;
  } else if constexpr (primitive_util::IsComplexType(kType)) {
    using Part = typename NativeT::value_type;
    Part real = NextValue<Part>(random);
    return NativeT(real, NextValue<Part>(random));
  } else if constexpr (primitive_util::IsIntegralType(kType)) {
    constexpr int kBits = std::numeric_limits<NativeT>::digits;
    constexpr uint64_t kRange =
        kBits >= 7 ? 100 : uint64_t{1} << kBits;  // 0 .. range - 1
    return static_cast<NativeT>(static_cast<int>(random.Next() % kRange));
  } else if constexpr (kType == F8E8M0FNU) {
    return static_cast<NativeT>(random.NextFraction() + 0.5);
  } else {
    return static_cast<NativeT>(2 * random.NextFraction() - 1);
  }
}

}  // namespace

absl::StatusOr<Literal> MakeElidedValues(const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    elements.reserve(shape.tuple_shapes_size());
    for (const Shape& element : shape.tuple_shapes()) {
      absl::StatusOr<Literal> literal = MakeElidedValues(element);
      if (!literal.ok()) return literal.status();
      elements.push_back(*std::move(literal));
    }
    return Literal::MoveIntoTuple(absl::MakeSpan(elements));
  }
  absl::StatusOr<Literal> literal = Literal::Make(shape);
  if (!literal.ok() || !shape.IsArrayExcludingBuffer()) return literal;
  SplitMix64 random(SeedOf(shape));
  primitive_util::ArrayTypeSwitch(
      [&](auto type) {
        using NativeT = primitive_util::NativeTypeOf<type>;
        for (NativeT& value : literal->data<NativeT>()) {
          value = NextValue<NativeT>(random);
        }
      },
      shape.element_type());
  return literal;
}

}  // namespace xla::hlo_text
