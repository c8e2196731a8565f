#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "xla/hlo/evaluator/lane_types.h"
#include "xla/hlo/evaluator/lanes.h"
#include "xla/primitive_util.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

// Conversions between lanes of any two types.

namespace xla {
namespace evaluator {
namespace {

// Towards zero, saturating at the ends of an integer of `width` bits. The test
// is against 2^digits, which every float has: the largest integer itself may
// round up to it (2^63 - 1 as a double does), and a conversion that is out of
// range is undefined in C++.
template <typename Int, typename Float>
Int SaturatingTruncate(Float x, int width) {
  if (std::isnan(x)) return 0;
  const int digits = width - std::is_signed_v<Int>;
  const Float limit = std::ldexp(Float{1}, digits);
  if (x >= limit) {
    return static_cast<Int>(std::numeric_limits<Int>::max() >>
                            (std::numeric_limits<Int>::digits - digits));
  }
  if constexpr (std::is_signed_v<Int>) {
    if (x < -limit) {
      return std::numeric_limits<Int>::min() >>
             (std::numeric_limits<Int>::digits - digits);
    }
  } else {
    if (x <= 0) return 0;
  }
  return static_cast<Int>(x);
}

template <typename From, typename To>
To ConvertOne(From x, int width) {
  if constexpr (is_complex_v<From>) {
    if constexpr (is_complex_v<To>) {
      return To(x);
    } else if constexpr (std::is_same_v<To, bool>) {
      return x != From(0);
    } else {
      return ConvertOne<typename From::value_type, To>(x.real(), width);
    }
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (is_complex_v<To>) {
    return To(static_cast<typename To::value_type>(x));
  } else if constexpr (std::is_floating_point_v<From> &&
                       std::is_integral_v<To>) {
    return SaturatingTruncate<To>(x, width);
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To>
void ConvertLoop(const void* in, void* out, int64_t n, int width) {
  const From* a = static_cast<const From*>(in);
  To* r = static_cast<To*>(out);
  for (int64_t i = 0; i < n; ++i) r[i] = ConvertOne<From, To>(a[i], width);
}

// From lanes wider than float to a float type below F32: rounded once.
template <typename From>
void NarrowLoop(const From* in, float* out, int64_t n, PrimitiveType to) {
  primitive_util::FloatingPointTypeSwitch<void>(
      [&](auto constant) {
        using T = primitive_util::NativeTypeOf<constant>;
        if constexpr (is_mini_float_v<T>) {
          for (int64_t i = 0; i < n; ++i) {
            if constexpr (is_complex_v<From>) {
              out[i] = T(in[i].real()).ToFloat();
            } else {
              out[i] = T(in[i]).ToFloat();
            }
          }
        }
      },
      to);
}

template <typename From>
void ConvertFrom(const void* in, void* out, int64_t n,
                 const LaneParams& params) {
  const int width = primitive_util::BitWidth(params.to);
  switch (LaneTypeOf(params.to)) {
    case LaneType::kPred:
      return ConvertLoop<From, bool>(in, out, n, width);
    case LaneType::kS64:
      return ConvertLoop<From, int64_t>(in, out, n, width);
    case LaneType::kU64:
      return ConvertLoop<From, uint64_t>(in, out, n, width);
    case LaneType::kF32:
      if constexpr (!std::is_same_v<From, float> &&
                    !std::is_same_v<From, bool>) {
        if (params.to != F32) {
          return NarrowLoop(static_cast<const From*>(in),
                            static_cast<float*>(out), n, params.to);
        }
      }
      return ConvertLoop<From, float>(in, out, n, width);
    case LaneType::kF64:
      return ConvertLoop<From, double>(in, out, n, width);
    case LaneType::kC64:
      return ConvertLoop<From, std::complex<float>>(in, out, n, width);
    case LaneType::kC128:
      return ConvertLoop<From, std::complex<double>>(in, out, n, width);
  }
}

// --- Stochastic rounding -----------------------------------------------------

// The neighbor of |x| in T towards zero, and the one above it; equal if |x| is
// a value of T. Pre: |x| is finite and not above T's largest value.
template <typename T>
struct Neighbors {
  double below;
  double above;
};
template <typename T>
Neighbors<T> FindNeighbors(double magnitude) {
  T nearest(magnitude);
  const double value = nearest.ToFloat();
  if (value == magnitude) return {value, value};
  const int step = value > magnitude ? -1 : 1;
  const double other =
      T::FromRep(static_cast<typename T::Rep>(nearest.rep() + step)).ToFloat();
  return value > magnitude ? Neighbors<T>{other, value}
                           : Neighbors<T>{value, other};
}

// `random` is uniform in [0, 1).
template <typename T>
float StochasticRound(double x, double random) {
  if (!std::isfinite(x)) return T(x).ToFloat();
  const double magnitude = std::abs(x);
  constexpr double kMax =
      static_cast<double>(T::FromRep(T::kMaxFinite).ToFloat());
  double result;
  if (magnitude >= kMax) {
    result = T(magnitude).ToFloat();
  } else {
    const Neighbors<T> n = FindNeighbors<T>(magnitude);
    const bool up = n.above > n.below &&
                    random < (magnitude - n.below) / (n.above - n.below);
    result = up ? n.above : n.below;
  }
  return static_cast<float>(std::copysign(result, x));
}

template <typename Int>
Int StochasticTruncate(double x, double random, int width) {
  if (std::isnan(x) || std::isinf(x)) {
    return SaturatingTruncate<Int>(x, width);
  }
  double magnitude = std::trunc(std::abs(x));
  if (random < std::abs(x) - magnitude) magnitude += 1;
  return SaturatingTruncate<Int>(std::copysign(magnitude, x), width);
}

template <typename From>
void StochasticLoop(const void* const* in, void* out, int64_t n,
                    const LaneParams& params) {
  const From* x = static_cast<const From*>(in[0]);
  const uint64_t* bits = static_cast<const uint64_t*>(in[1]);
  const double unit = std::ldexp(1.0, -params.width);
  const auto random = [&](int64_t i) {
    return static_cast<double>(bits[i]) * unit;
  };
  const int width = primitive_util::BitWidth(params.to);
  switch (LaneTypeOf(params.to)) {
    case LaneType::kS64:
      for (int64_t i = 0; i < n; ++i) {
        static_cast<int64_t*>(out)[i] =
            StochasticTruncate<int64_t>(x[i], random(i), width);
      }
      return;
    case LaneType::kU64:
      for (int64_t i = 0; i < n; ++i) {
        static_cast<uint64_t*>(out)[i] =
            StochasticTruncate<uint64_t>(x[i], random(i), width);
      }
      return;
    case LaneType::kF32:
      primitive_util::FloatingPointTypeSwitch<void>(
          [&](auto constant) {
            using T = primitive_util::NativeTypeOf<constant>;
            for (int64_t i = 0; i < n; ++i) {
              if constexpr (is_mini_float_v<T>) {
                static_cast<float*>(out)[i] =
                    StochasticRound<T>(x[i], random(i));
              } else {
                static_cast<float*>(out)[i] = static_cast<float>(x[i]);
              }
            }
          },
          params.to);
      return;
    default:
      // To F64, PRED or complex there is nothing to round.
      ConvertLanes(in, out, n, params);
  }
}

}  // namespace

void ConvertLanes(const void* const* in, void* out, int64_t n,
                  const LaneParams& params) {
  switch (LaneTypeOf(params.from)) {
    case LaneType::kPred:
      return ConvertFrom<bool>(in[0], out, n, params);
    case LaneType::kS64:
      return ConvertFrom<int64_t>(in[0], out, n, params);
    case LaneType::kU64:
      return ConvertFrom<uint64_t>(in[0], out, n, params);
    case LaneType::kF32:
      return ConvertFrom<float>(in[0], out, n, params);
    case LaneType::kF64:
      return ConvertFrom<double>(in[0], out, n, params);
    case LaneType::kC64:
      return ConvertFrom<std::complex<float>>(in[0], out, n, params);
    case LaneType::kC128:
      return ConvertFrom<std::complex<double>>(in[0], out, n, params);
  }
}

void BitcastLanes(const void* const* in, void* out, int64_t n,
                  const LaneParams& params) {
  alignas(16) char elements[kLaneBlock * 16];
  StoreLanes(params.from, in[0], n, elements);
  // The high bits of elements of less than a byte are undefined in the other
  // type.
  const int width = primitive_util::BitWidth(params.to);
  if (params.to == PRED) {
    for (int64_t i = 0; i < n; ++i) elements[i] = elements[i] != 0;
  } else if (width < 8) {
    if (primitive_util::IsSignedIntegralType(params.to)) {
      for (int64_t i = 0; i < n; ++i) {
        elements[i] = static_cast<char>(
            static_cast<int8_t>(static_cast<uint8_t>(elements[i])
                                << (8 - width)) >>
            (8 - width));
      }
    } else {
      for (int64_t i = 0; i < n; ++i) elements[i] &= (1 << width) - 1;
    }
  }
  LoadLanes(params.to, elements, n, out);
}

void StochasticConvertLanes(const void* const* in, void* out, int64_t n,
                            const LaneParams& params) {
  if (LaneTypeOf(params.from) == LaneType::kF64) {
    StochasticLoop<double>(in, out, n, params);
  } else {
    StochasticLoop<float>(in, out, n, params);
  }
}

}  // namespace evaluator
}  // namespace xla
