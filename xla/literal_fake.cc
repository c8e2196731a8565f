// Literals with made-up elements: to run modules without inputs, and to give
// elided constants elements.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/types.h"

namespace xla {
namespace {

// The splitmix64 generator: the same on every platform.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t operator()() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

 private:
  uint64_t state_;
};

// In [-1, 1), a multiple of 2^-52.
double SignedUnit(uint64_t bits) {
  return std::ldexp(static_cast<double>(bits >> 11), -52) - 1.0;
}

// The element that FillDeterministic derives from 64 random bits.
template <typename NativeT>
NativeT ElementOf(uint64_t bits) {
  if constexpr (std::is_same_v<NativeT, bool>) {
    return (bits >> 63) != 0;
  } else if constexpr (is_complex_v<NativeT>) {
    using Part = typename NativeT::value_type;
    return NativeT(static_cast<Part>(SignedUnit(bits)),
                   static_cast<Part>(SignedUnit(bits << 32)));
  } else if constexpr (is_specialized_integral_v<NativeT>) {
    // Numbers in 0..7, or what of them the type holds.
    constexpr int kBits = std::min(std::numeric_limits<NativeT>::digits, 3);
    return static_cast<NativeT>(static_cast<int64_t>(
        kBits == 0 ? 0 : bits >> (kBits == 0 ? 63 : 64 - kBits)));
  } else if constexpr (!std::numeric_limits<NativeT>::is_signed) {
    // Powers of two: 1/2 to 4.
    return static_cast<NativeT>(std::ldexp(0.5, bits >> 62));
  } else {
    return static_cast<NativeT>(SignedUnit(bits));
  }
}

struct FakeOptions {
  std::optional<std::pair<int64_t, int64_t>> limit;
  bool is_sorted = false;
  bool no_duplicates = false;
  bool use_large_range = false;
  std::optional<int64_t> max_bits_of_precision;
  std::optional<int64_t> index_alignment;
  std::optional<uint64_t> index_known_zeroes;
  std::function<double(std::minstd_rand0*)> float_generator;
};

// Engine outputs put together to 64 bits; the standard distributions differ
// from one library to the next.
uint64_t Next64(std::minstd_rand0* engine) {
  uint64_t bits = 0;
  for (int i = 0; i < 3; ++i) bits = bits << 30 ^ (*engine)();
  return SplitMix64(bits)();
}

// Uniform in low..high, both included.
int64_t UniformInteger(int64_t low, int64_t high, std::minstd_rand0* engine) {
  const uint64_t span =
      static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  const uint64_t bits = Next64(engine);
  return static_cast<int64_t>(static_cast<uint64_t>(low) +
                              (span == 0 ? bits : bits % span));
}

// Cuts the significand of a number to `bits` bits, the leading 1 included.
double LimitPrecision(double value, int64_t bits) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::trunc(std::ldexp(fraction, bits)), exponent - bits);
}

// A finite number; `use_large_range` spreads the exponent over the type's
// range.
template <typename NativeT>
NativeT FakeFloat(const FakeOptions& options, std::minstd_rand0* engine) {
  using Limits = std::numeric_limits<NativeT>;
  double value;
  if (options.float_generator) {
    value = options.float_generator(engine);
  } else if (options.use_large_range) {
    const double top = Limits::max_exponent - 1;
    const double bottom = Limits::min_exponent;
    const double unit = (SignedUnit(Next64(engine)) + 1) / 2;
    value = std::exp2(bottom + unit * (top - bottom));
    if ((Next64(engine) & 1) != 0) value = -value;
  } else {
    value = SignedUnit(Next64(engine));
  }
  if (!Limits::is_signed) value = std::abs(value);
  if (options.max_bits_of_precision.has_value()) {
    value = LimitPrecision(value, *options.max_bits_of_precision);
  }
  return static_cast<NativeT>(value);
}

template <typename NativeT>
std::pair<int64_t, int64_t> IntegerRange(const FakeOptions& options) {
  using Limits = std::numeric_limits<NativeT>;
  int64_t low = static_cast<int64_t>(Limits::lowest());
  int64_t high = Limits::digits > 63 ? std::numeric_limits<int64_t>::max()
                                     : static_cast<int64_t>(Limits::max());
  if (options.limit.has_value()) {
    low = std::clamp(options.limit->first, low, high);
    high = std::clamp(options.limit->second, low, high);
  } else if (!options.use_large_range) {
    // Small enough for sums and products over many elements.
    low = std::max<int64_t>(low, -(1 << 15));
    high = std::min<int64_t>(high, 1 << 15);
  }
  return {low, high};
}

// Distinct numbers in low..high, of which there are at least data.size().
template <typename NativeT>
void FillDistinct(int64_t low, int64_t high, std::minstd_rand0* engine,
                  absl::Span<NativeT> data) {
  const uint64_t span =
      static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (span / 2 < data.size()) {
    // Most of the range is needed: shuffle it.
    std::vector<int64_t> values(span + 1);
    std::iota(values.begin(), values.end(), low);
    for (size_t i = 0; i < data.size(); ++i) {
      std::swap(values[i], values[UniformInteger(i, span, engine)]);
      data[i] = static_cast<NativeT>(values[i]);
    }
    return;
  }
  absl::flat_hash_set<int64_t> seen;
  for (NativeT& element : data) {
    int64_t value = UniformInteger(low, high, engine);
    while (!seen.insert(value).second) {
      value = UniformInteger(low, high, engine);
    }
    element = static_cast<NativeT>(value);
  }
}

template <typename NativeT>
void FillFakeIntegers(const FakeOptions& options, std::minstd_rand0* engine,
                      absl::Span<NativeT> data) {
  const auto [low, high] = IntegerRange<NativeT>(options);
  const int64_t alignment = options.index_alignment.value_or(1);
  const uint64_t zeroes = options.index_known_zeroes.value_or(0);
  const uint64_t span =
      static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (options.no_duplicates && data.size() <= span && alignment <= 1 &&
      zeroes == 0) {
    FillDistinct<NativeT>(low, high, engine, data);
    return;
  }
  for (NativeT& element : data) {
    int64_t value = UniformInteger(low, high, engine);
    if (alignment > 1) value -= value % alignment;
    value &= ~static_cast<int64_t>(zeroes);
    element = static_cast<NativeT>(value);
  }
}

template <typename NativeT>
void FillFake(const FakeOptions& options, std::minstd_rand0* engine,
              absl::Span<NativeT> data) {
  if constexpr (is_complex_v<NativeT>) {
    using Part = typename NativeT::value_type;
    for (NativeT& element : data) {
      const Part real = FakeFloat<Part>(options, engine);
      element = NativeT(real, FakeFloat<Part>(options, engine));
    }
  } else if constexpr (std::is_same_v<NativeT, bool>) {
    for (NativeT& element : data) element = (Next64(engine) & 1) != 0;
  } else {
    if constexpr (is_specialized_integral_v<NativeT>) {
      FillFakeIntegers(options, engine, data);
    } else {
      for (NativeT& element : data) {
        element = FakeFloat<NativeT>(options, engine);
      }
    }
    if (options.is_sorted) std::sort(data.begin(), data.end());
  }
}

absl::StatusOr<Literal> MakeFake(const Shape& shape, const FakeOptions& options,
                                 std::minstd_rand0* engine) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    elements.reserve(shape.tuple_shapes_size());
    for (const Shape& element : shape.tuple_shapes()) {
      TF_ASSIGN_OR_RETURN(Literal literal, MakeFake(element, options, engine));
      elements.push_back(std::move(literal));
    }
    return LiteralUtil::MakeTupleOwned(std::move(elements));
  }
  TF_ASSIGN_OR_RETURN(Literal literal, Literal::Make(shape));
  if (!shape.IsArray() || engine == nullptr) return literal;
  primitive_util::ArrayTypeSwitch(
      [&](auto constant) {
        using NativeT = primitive_util::NativeTypeOf<constant>;
        FillFake<NativeT>(options, engine, literal.data<NativeT>());
      },
      shape.element_type());
  return literal;
}

}  // namespace

absl::Status LiteralUtil::FillDeterministic(Literal* literal, uint64_t seed) {
  // A fresh literal, so that elided arrays get buffers; dynamic sizes stay.
  Literal filled;
  TF_ASSIGN_OR_RETURN(filled, Literal::Make(literal->shape()));
  SplitMix64 bits(seed);
  ShapeUtil::ForEachSubshape(
      literal->shape(), [&](const Shape& subshape, const ShapeIndex& index) {
        if (!subshape.IsArray()) return;
        primitive_util::ArrayTypeSwitch(
            [&](auto constant) {
              using NativeT = primitive_util::NativeTypeOf<constant>;
              for (NativeT& element : filled.data<NativeT>(index)) {
                element = ElementOf<NativeT>(bits());
              }
            },
            subshape.element_type());
        for (int64_t i = 0; i < subshape.dimensions_size(); ++i) {
          if (subshape.is_dynamic_dimension(i)) {
            filled.SetDynamicSize(i, index, literal->GetDynamicSize(i, index));
          }
        }
      });
  *literal = std::move(filled);
  return absl::OkStatus();
}

absl::StatusOr<Literal> MakeFakeLiteral(const Shape& shape, bool pseudo_random,
                                        bool use_large_range) {
  std::minstd_rand0 engine;
  FakeOptions options;
  options.use_large_range = use_large_range;
  return MakeFake(shape, options, pseudo_random ? &engine : nullptr);
}

absl::StatusOr<Literal> MakeFakeLiteral(
    const Shape& shape, std::minstd_rand0* engine,
    std::optional<std::pair<int64_t, int64_t>> limit, bool is_sorted,
    bool no_duplicates, bool use_large_range,
    std::optional<int64_t> max_bits_of_precision,
    std::optional<int64_t> index_alignment,
    std::optional<uint64_t> index_known_zeroes,
    std::function<double(std::minstd_rand0*)> float_generator) {
  FakeOptions options;
  options.limit = limit;
  options.is_sorted = is_sorted;
  options.no_duplicates = no_duplicates;
  options.use_large_range = use_large_range;
  options.max_bits_of_precision = max_bits_of_precision;
  options.index_alignment = index_alignment;
  options.index_known_zeroes = index_known_zeroes;
  options.float_generator = std::move(float_generator);
  return MakeFake(shape, options, engine);
}

}  // namespace xla
