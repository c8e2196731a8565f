#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/base/casts.h"
#include "xla/hlo/evaluator/lane_types.h"
#include "xla/hlo/evaluator/lanes.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/types.h"

// Unary operations on lanes.

namespace xla {
namespace evaluator {
namespace {

#define XLA_UNARY_OP(Name, expression) \
  struct Name {                        \
    template <typename T>              \
    static auto Apply(T x) {           \
      return expression;               \
    }                                  \
  };

XLA_UNARY_OP(NegateOp, -x)
XLA_UNARY_OP(CeilOp, std::ceil(x))
XLA_UNARY_OP(FloorOp, std::floor(x))
XLA_UNARY_OP(RoundAwayOp, std::round(x))
// The rounding mode is the default one, to nearest even.
XLA_UNARY_OP(RoundEvenOp, std::nearbyint(x))
XLA_UNARY_OP(SqrtOp, std::sqrt(x))
XLA_UNARY_OP(RsqrtOp, T(1) / std::sqrt(x))
XLA_UNARY_OP(ExpOp, std::exp(x))
XLA_UNARY_OP(LogOp, std::log(x))
XLA_UNARY_OP(SinOp, std::sin(x))
XLA_UNARY_OP(CosOp, std::cos(x))
XLA_UNARY_OP(TanOp, std::tan(x))
XLA_UNARY_OP(SinhOp, std::sinh(x))
XLA_UNARY_OP(CoshOp, std::cosh(x))
XLA_UNARY_OP(TanhOp, std::tanh(x))
XLA_UNARY_OP(AsinOp, std::asin(x))
XLA_UNARY_OP(AcosOp, std::acos(x))
XLA_UNARY_OP(AsinhOp, std::asinh(x))
XLA_UNARY_OP(AcoshOp, std::acosh(x))
XLA_UNARY_OP(AtanhOp, std::atanh(x))
XLA_UNARY_OP(ErfOp, std::erf(x))
XLA_UNARY_OP(LogisticOp, T(1) / (T(1) + std::exp(-x)))
XLA_UNARY_OP(IsFiniteOp, std::isfinite(x))
XLA_UNARY_OP(RealOp, std::real(x))
XLA_UNARY_OP(ImagOp, std::imag(x))
XLA_UNARY_OP(NotOp, static_cast<T>(~x))
#undef XLA_UNARY_OP

struct LogicalNotOp {
  static bool Apply(bool x) { return !x; }
};

struct AbsOp {
  template <typename T>
  static auto Apply(T x) {
    if constexpr (std::is_unsigned_v<T>) {
      return x;
    } else if constexpr (std::is_integral_v<T>) {
      return x < 0 ? static_cast<T>(0 - static_cast<uint64_t>(x)) : x;
    } else {
      return std::abs(x);
    }
  }
};

struct WrappingNegateOp {
  template <typename T>
  static T Apply(T x) {
    return static_cast<T>(0 - static_cast<uint64_t>(x));
  }
};

struct SignOp {
  template <typename T>
  static T Apply(T x) {
    if constexpr (is_complex_v<T>) {
      const auto magnitude = std::abs(x);
      return magnitude == 0 ? x : x / magnitude;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>((x > 0) - (x < T(0)));
    } else {
      // Zeros keep their sign, NaN stays.
      return x == 0 || std::isnan(x) ? x : std::copysign(T(1), x);
    }
  }
};

struct CbrtOp {
  template <typename T>
  static T Apply(T x) {
    if constexpr (is_complex_v<T>) {
      return x == T(0) ? x : std::pow(x, typename T::value_type(1.0 / 3));
    } else {
      return std::cbrt(x);
    }
  }
};

struct Expm1Op {
  template <typename T>
  static T Apply(T x) {
    if constexpr (is_complex_v<T>) {
      // exp(a + bi) - 1 without cancellation for small a and b.
      if (x.imag() == 0) return T(std::expm1(x.real()), x.imag());
      const auto half_sine = std::sin(x.imag() / 2);
      return T(
          std::expm1(x.real()) * std::cos(x.imag()) - 2 * half_sine * half_sine,
          std::exp(x.real()) * std::sin(x.imag()));
    } else {
      return std::expm1(x);
    }
  }
};

struct Log1pOp {
  template <typename T>
  static T Apply(T x) {
    if constexpr (is_complex_v<T>) {
      const auto a = x.real();
      const auto b = x.imag();
      const auto angle = std::atan2(b, a + 1);
      // |1 + x|^2 = 1 + (a (2 + a) + b^2).
      if (std::abs(a) < 0.5 && std::abs(b) < 0.5) {
        return T(std::log1p(a * (2 + a) + b * b) / 2, angle);
      }
      return T(std::log(std::hypot(a + 1, b)), angle);
    } else {
      return std::log1p(x);
    }
  }
};

struct PopcountOp {
  template <typename T>
  static T Apply(T x, int width) {
    return static_cast<T>(
        __builtin_popcountll(LowBits(static_cast<uint64_t>(x), width)));
  }
};

struct ClzOp {
  template <typename T>
  static T Apply(T x, int width) {
    const uint64_t bits = LowBits(static_cast<uint64_t>(x), width);
    return static_cast<T>(bits == 0 ? width
                                    : __builtin_clzll(bits) - (64 - width));
  }
};

// Rounds a number in the format of `kExponent` and `kMantissa` bits to
// `mantissa_bits` (to nearest even), then values beyond the range of
// `exponent_bits` become infinite and those below it zero.
// Adding half a unit less one, plus the last bit that is kept, rounds ties to
// even; a carry out of the mantissa goes into the exponent, which is what
// rounding up to the next power of two needs, up to infinity.
template <typename Bits, int kExponent, int kMantissa>
Bits ReducePrecision(Bits bits, int exponent_bits, int mantissa_bits) {
  constexpr Bits kSign = Bits{1} << (kExponent + kMantissa);
  constexpr Bits kInfinity = ((Bits{1} << kExponent) - 1) << kMantissa;
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  const int dropped = kMantissa - mantissa_bits;
  const Bits sign = bits & kSign;
  Bits magnitude = bits & ~kSign;
  if (magnitude > kInfinity) {  // NaN stays one.
    return sign | kInfinity | (Bits{1} << (kMantissa - 1));
  }
  if (magnitude < kInfinity && dropped > 0) {
    const Bits odd = (magnitude >> dropped) & 1;
    magnitude += ((Bits{1} << (dropped - 1)) - 1) + odd;
    magnitude &= ~((Bits{1} << dropped) - 1);
  }
  if (exponent_bits < kExponent) {
    const int64_t bias = (int64_t{1} << (exponent_bits - 1)) - 1;
    const int64_t exponent =
        static_cast<int64_t>(magnitude >> kMantissa) - kBias;
    if (exponent > bias) magnitude = kInfinity;
    if (exponent <= -bias) magnitude = 0;
  }
  return sign | magnitude;
}

// In the format of the operand's type, whose subnormal numbers are other ones
// than those of the lanes.
template <typename T>
void ReducePrecisionLoop(const void* const* in, void* out, int64_t n,
                         const LaneParams& params) {
  const T* a = static_cast<const T*>(in[0]);
  T* r = static_cast<T*>(out);
  primitive_util::FloatingPointTypeSwitch<void>(
      [&](auto constant) {
        using Type = primitive_util::NativeTypeOf<constant>;
        if constexpr (is_mini_float_v<Type>) {
          if constexpr (Type::kFloatKind == FloatKind::kIeee) {
            for (int64_t i = 0; i < n; ++i) {
              const uint32_t bits =
                  ReducePrecision<uint32_t, Type::kExponentBits,
                                  Type::kMantissaBits>(Type(a[i]).rep(),
                                                       params.exponent_bits,
                                                       params.mantissa_bits);
              r[i] = Type::FromRep(static_cast<typename Type::Rep>(bits))
                         .ToFloat();
            }
            return;
          }
        }
        using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
        constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
        constexpr int kExponent = sizeof(T) * 8 - 1 - kMantissa;
        for (int64_t i = 0; i < n; ++i) {
          r[i] = absl::bit_cast<T>(ReducePrecision<Bits, kExponent, kMantissa>(
              absl::bit_cast<Bits>(a[i]), params.exponent_bits,
              params.mantissa_bits));
        }
      },
      params.from);
}

template <typename T>
LaneKernel FloatKernel(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kCeil:
      return UnaryLoop<CeilOp, T>;
    case HloOpcode::kFloor:
      return UnaryLoop<FloorOp, T>;
    case HloOpcode::kRoundNearestAfz:
      return UnaryLoop<RoundAwayOp, T>;
    case HloOpcode::kRoundNearestEven:
      return UnaryLoop<RoundEvenOp, T>;
    case HloOpcode::kErf:
      return UnaryLoop<ErfOp, T>;
    case HloOpcode::kIsFinite:
      return UnaryLoop<IsFiniteOp, T, bool>;
    case HloOpcode::kReducePrecision:
      return ReducePrecisionLoop<T>;
    default:  // Not defined for this type: an error of the caller.
      return nullptr;
  }
}

// Real or complex.
template <typename T>
LaneKernel AnalyticKernel(HloOpcode opcode) {
  using Real = decltype(std::real(T()));
  switch (opcode) {
    case HloOpcode::kAbs:
      return UnaryLoop<AbsOp, T, Real>;
    case HloOpcode::kNegate:
      return UnaryLoop<NegateOp, T>;
    case HloOpcode::kSign:
      return UnaryLoop<SignOp, T>;
    case HloOpcode::kSqrt:
      return UnaryLoop<SqrtOp, T>;
    case HloOpcode::kRsqrt:
      return UnaryLoop<RsqrtOp, T>;
    case HloOpcode::kCbrt:
      return UnaryLoop<CbrtOp, T>;
    case HloOpcode::kExp:
      return UnaryLoop<ExpOp, T>;
    case HloOpcode::kExpm1:
      return UnaryLoop<Expm1Op, T>;
    case HloOpcode::kLog:
      return UnaryLoop<LogOp, T>;
    case HloOpcode::kLog1p:
      return UnaryLoop<Log1pOp, T>;
    case HloOpcode::kSin:
      return UnaryLoop<SinOp, T>;
    case HloOpcode::kCos:
      return UnaryLoop<CosOp, T>;
    case HloOpcode::kTan:
      return UnaryLoop<TanOp, T>;
    case HloOpcode::kSinh:
      return UnaryLoop<SinhOp, T>;
    case HloOpcode::kCosh:
      return UnaryLoop<CoshOp, T>;
    case HloOpcode::kTanh:
      return UnaryLoop<TanhOp, T>;
    case HloOpcode::kAsin:
      return UnaryLoop<AsinOp, T>;
    case HloOpcode::kAcos:
      return UnaryLoop<AcosOp, T>;
    case HloOpcode::kAsinh:
      return UnaryLoop<AsinhOp, T>;
    case HloOpcode::kAcosh:
      return UnaryLoop<AcoshOp, T>;
    case HloOpcode::kAtanh:
      return UnaryLoop<AtanhOp, T>;
    case HloOpcode::kLogistic:
      return UnaryLoop<LogisticOp, T>;
    case HloOpcode::kReal:
      return UnaryLoop<RealOp, T, Real>;
    case HloOpcode::kImag:
      return UnaryLoop<ImagOp, T, Real>;
    default:  // Not defined for this type: an error of the caller.
      return nullptr;
  }
}

template <typename T>
LaneKernel IntegerKernel(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAbs:
      return UnaryLoop<AbsOp, T>;
    case HloOpcode::kNegate:
      return UnaryLoop<WrappingNegateOp, T>;
    case HloOpcode::kNot:
      return UnaryLoop<NotOp, T>;
    case HloOpcode::kSign:
      return UnaryLoop<SignOp, T>;
    case HloOpcode::kPopulationCount:
      return WidthUnaryLoop<PopcountOp, T>;
    case HloOpcode::kClz:
      return WidthUnaryLoop<ClzOp, T>;
    default:  // Not defined for this type: an error of the caller.
      return nullptr;
  }
}

}  // namespace

LaneKernel FindUnaryKernel(HloOpcode opcode, LaneType operand) {
  if (opcode == HloOpcode::kConvert) return ConvertLanes;
  if (opcode == HloOpcode::kBitcastConvert) return BitcastLanes;
  switch (operand) {
    case LaneType::kPred:
      return opcode == HloOpcode::kNot ? UnaryLoop<LogicalNotOp, bool>
                                       : nullptr;
    case LaneType::kS64:
      return IntegerKernel<int64_t>(opcode);
    case LaneType::kU64:
      return IntegerKernel<uint64_t>(opcode);
    case LaneType::kF32: {
      const LaneKernel kernel = AnalyticKernel<float>(opcode);
      return kernel != nullptr ? kernel : FloatKernel<float>(opcode);
    }
    case LaneType::kF64: {
      const LaneKernel kernel = AnalyticKernel<double>(opcode);
      return kernel != nullptr ? kernel : FloatKernel<double>(opcode);
    }
    case LaneType::kC64:
      return AnalyticKernel<std::complex<float>>(opcode);
    case LaneType::kC128:
      return AnalyticKernel<std::complex<double>>(opcode);
  }
  return nullptr;
}

}  // namespace evaluator
}  // namespace xla
