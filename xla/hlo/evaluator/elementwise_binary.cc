#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/base/casts.h"
#include "xla/comparison_util.h"
#include "xla/hlo/evaluator/lane_types.h"
#include "xla/hlo/evaluator/lanes.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/types.h"

// Binary and ternary operations on lanes.

namespace xla {
namespace evaluator {
namespace {

#define XLA_BINARY_OP(Name, expression) \
  struct Name {                         \
    template <typename T>               \
    static T Apply(T x, T y) {          \
      return expression;                \
    }                                   \
  };

XLA_BINARY_OP(AddOp, x + y)
XLA_BINARY_OP(SubtractOp, x - y)
XLA_BINARY_OP(MultiplyOp, x* y)
XLA_BINARY_OP(DivideOp, x / y)
XLA_BINARY_OP(FmodOp, std::fmod(x, y))
XLA_BINARY_OP(IntMinOp, x < y ? x : y)
XLA_BINARY_OP(IntMaxOp, x > y ? x : y)
XLA_BINARY_OP(AndOp, static_cast<T>(x& y))
XLA_BINARY_OP(OrOp, static_cast<T>(x | y))
XLA_BINARY_OP(XorOp, static_cast<T>(x ^ y))
// Signed overflow wraps.
XLA_BINARY_OP(WrappingAddOp, T(uint64_t(x) + uint64_t(y)))
XLA_BINARY_OP(WrappingSubtractOp, T(uint64_t(x) - uint64_t(y)))
XLA_BINARY_OP(WrappingMultiplyOp, T(uint64_t(x) * uint64_t(y)))
#undef XLA_BINARY_OP

// NaN wins; of zeros the negative one is smaller (IEEE 754-2019 minimum).
struct MinOp {
  template <typename T>
  static T Apply(T x, T y) {
    if (x < y || std::isnan(x)) return x;
    return x == y && std::signbit(x) ? x : y;
  }
};
struct MaxOp {
  template <typename T>
  static T Apply(T x, T y) {
    if (x > y || std::isnan(x)) return x;
    return x == y && !std::signbit(x) ? x : y;
  }
};

struct PowOp {
  template <typename T>
  static T Apply(T x, T y) {
    // Whatever the other one is, NaN that signals included.
    if (y == T(0) || x == T(1)) return T(1);
    if constexpr (is_complex_v<T>) {
      if (x == T(0)) {
        return y.imag() == 0 && y.real() > 0
                   ? T(0)
                   : T(std::numeric_limits<typename T::value_type>::quiet_NaN(),
                       std::numeric_limits<
                           typename T::value_type>::quiet_NaN());
      }
    }
    return std::pow(x, y);
  }
};

struct Atan2Op {
  template <typename T>
  static T Apply(T y, T x) {
    if constexpr (is_complex_v<T>) {
      const T i(0, 1);
      return -i * std::log((x + i * y) / std::sqrt(x * x + y * y));
    } else {
      return std::atan2(y, x);
    }
  }
};

// x / 0 has all bits set; the quotient of the smallest number and -1 wraps.
struct IntDivideOp {
  template <typename T>
  static T Apply(T x, T y) {
    if (y == 0) return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>) {
      if (y == -1) return static_cast<T>(0 - static_cast<uint64_t>(x));
    }
    return x / y;
  }
};
// x % 0 is x; the sign is that of x.
struct IntRemainderOp {
  template <typename T>
  static T Apply(T x, T y) {
    if (y == 0) return x;
    if constexpr (std::is_signed_v<T>) {
      if (y == -1) return 0;
    }
    return x % y;
  }
};

struct IntPowOp {
  template <typename T>
  static T Apply(T x, T y) {
    if constexpr (std::is_signed_v<T>) {
      if (y < 0) {
        // 1 / x^|y|, towards zero.
        if (x == 1) return 1;
        if (x == -1) return y % 2 == 0 ? 1 : -1;
        return 0;
      }
    }
    uint64_t base = static_cast<uint64_t>(x);
    uint64_t result = 1;
    for (uint64_t e = static_cast<uint64_t>(y); e != 0; e >>= 1) {
      if (e & 1) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
};

// Shift amounts are unsigned, whatever the type is.
struct ShiftLeftOp {
  template <typename T>
  static T Apply(T x, T y, int width) {
    const uint64_t amount = LowBits(static_cast<uint64_t>(y), width);
    if (amount >= static_cast<uint64_t>(width)) return 0;
    return static_cast<T>(static_cast<uint64_t>(x) << amount);
  }
};
struct ShiftRightLogicalOp {
  template <typename T>
  static T Apply(T x, T y, int width) {
    const uint64_t amount = LowBits(static_cast<uint64_t>(y), width);
    if (amount >= static_cast<uint64_t>(width)) return 0;
    return static_cast<T>(LowBits(static_cast<uint64_t>(x), width) >> amount);
  }
};
// Lanes are 64 bits wide and hold narrower types extended, but what is shifted
// in must come from the type's own top bit, whichever way a lane was extended.
struct ShiftRightArithmeticOp {
  template <typename T>
  static T Apply(T x, T y, int width) {
    const uint64_t amount = LowBits(static_cast<uint64_t>(y), width);
    const int unused = 64 - width;
    const int64_t extended =
        static_cast<int64_t>(static_cast<uint64_t>(x) << unused) >> unused;
    if (amount >= static_cast<uint64_t>(width)) {
      return static_cast<T>(extended < 0 ? -1 : 0);
    }
    return static_cast<T>(extended >> amount);
  }
};
// The high half of the product of twice the width.
struct MulhiOp {
  template <typename T>
  static T Apply(T x, T y, int width) {
    using Wide =
        std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>((static_cast<Wide>(x) * static_cast<Wide>(y)) >>
                          width);
  }
};

template <typename T>
void ComplexLoop(const void* const* in, void* out, int64_t n,
                 const LaneParams& params) {
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  std::complex<T>* r = static_cast<std::complex<T>*>(out);
  for (int64_t i = 0; i < n; ++i) r[i] = std::complex<T>(a[i], b[i]);
}

template <typename T>
LaneKernel FloatKernel(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAdd:
      return BinaryLoop<AddOp, T>;
    case HloOpcode::kSubtract:
      return BinaryLoop<SubtractOp, T>;
    case HloOpcode::kMultiply:
      return BinaryLoop<MultiplyOp, T>;
    case HloOpcode::kDivide:
      return BinaryLoop<DivideOp, T>;
    case HloOpcode::kPower:
      return BinaryLoop<PowOp, T>;
    case HloOpcode::kAtan2:
      return BinaryLoop<Atan2Op, T>;
    default:  // Not defined for complex numbers, or below.
      break;
  }
  if constexpr (!is_complex_v<T>) {
    switch (opcode) {
      case HloOpcode::kRemainder:
        return BinaryLoop<FmodOp, T>;
      case HloOpcode::kMinimum:
        return BinaryLoop<MinOp, T>;
      case HloOpcode::kMaximum:
        return BinaryLoop<MaxOp, T>;
      case HloOpcode::kComplex:
        return ComplexLoop<T>;
      default:  // Not defined for this type: an error of the caller.
        break;
    }
  }
  return nullptr;
}

template <typename T>
LaneKernel IntegerKernel(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAdd:
      return BinaryLoop<WrappingAddOp, T>;
    case HloOpcode::kSubtract:
      return BinaryLoop<WrappingSubtractOp, T>;
    case HloOpcode::kMultiply:
      return BinaryLoop<WrappingMultiplyOp, T>;
    case HloOpcode::kDivide:
      return BinaryLoop<IntDivideOp, T>;
    case HloOpcode::kRemainder:
      return BinaryLoop<IntRemainderOp, T>;
    case HloOpcode::kPower:
      return BinaryLoop<IntPowOp, T>;
    case HloOpcode::kMinimum:
      return BinaryLoop<IntMinOp, T>;
    case HloOpcode::kMaximum:
      return BinaryLoop<IntMaxOp, T>;
    case HloOpcode::kAnd:
      return BinaryLoop<AndOp, T>;
    case HloOpcode::kOr:
      return BinaryLoop<OrOp, T>;
    case HloOpcode::kXor:
      return BinaryLoop<XorOp, T>;
    case HloOpcode::kShiftLeft:
      return WidthBinaryLoop<ShiftLeftOp, T>;
    case HloOpcode::kShiftRightLogical:
      return WidthBinaryLoop<ShiftRightLogicalOp, T>;
    case HloOpcode::kShiftRightArithmetic:
      return WidthBinaryLoop<ShiftRightArithmeticOp, T>;
    case HloOpcode::kMulhi:
      return WidthBinaryLoop<MulhiOp, T>;
    default:  // Not defined for this type: an error of the caller.
      return nullptr;
  }
}

// PRED is the two-element boolean algebra.
LaneKernel PredKernel(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAdd:
    case HloOpcode::kMaximum:
    case HloOpcode::kOr:
      return BinaryLoop<OrOp, bool>;
    case HloOpcode::kMultiply:
    case HloOpcode::kMinimum:
    case HloOpcode::kAnd:
      return BinaryLoop<AndOp, bool>;
    case HloOpcode::kXor:
      return BinaryLoop<XorOp, bool>;
    default:  // Not defined for this type: an error of the caller.
      return nullptr;
  }
}

// --- Comparisons -------------------------------------------------------------

// Keys whose integer order is the total order of floats.
// Negative floats have their magnitude's order reversed: flipping it puts
// larger magnitudes first.
template <typename T>
auto TotalOrderKey(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  const Bits bits = absl::bit_cast<Bits>(x);
  return bits < 0 ? static_cast<Bits>(bits ^ std::numeric_limits<Bits>::max())
                  : bits;
}

template <Comparison::Direction kDirection, bool kTotal>
struct CompareOp {
  template <typename T>
  static bool Apply(T x, T y) {
    if constexpr (kTotal) {
      return CompareOp<kDirection, false>::Apply(TotalOrderKey(x),
                                                 TotalOrderKey(y));
    } else if constexpr (kDirection == Comparison::Direction::kEq) {
      return x == y;
    } else if constexpr (kDirection == Comparison::Direction::kNe) {
      return x != y;
    } else if constexpr (kDirection == Comparison::Direction::kLt) {
      return x < y;
    } else if constexpr (kDirection == Comparison::Direction::kLe) {
      return x <= y;
    } else if constexpr (kDirection == Comparison::Direction::kGt) {
      return x > y;
    } else {
      return x >= y;
    }
  }
};

template <Comparison::Direction kDirection>
LaneKernel CompareKernel(bool total, LaneType type) {
  using Op = CompareOp<kDirection, false>;
  using TotalOp = CompareOp<kDirection, true>;
  switch (type) {
    case LaneType::kPred:
      return BinaryLoop<Op, bool>;
    case LaneType::kS64:
      return BinaryLoop<Op, int64_t, bool>;
    case LaneType::kU64:
      return BinaryLoop<Op, uint64_t, bool>;
    case LaneType::kF32:
      return total ? BinaryLoop<TotalOp, float, bool>
                   : BinaryLoop<Op, float, bool>;
    case LaneType::kF64:
      return total ? BinaryLoop<TotalOp, double, bool>
                   : BinaryLoop<Op, double, bool>;
    default:
      break;
  }
  if constexpr (kDirection == Comparison::Direction::kEq ||
                kDirection == Comparison::Direction::kNe) {
    return type == LaneType::kC64 ? BinaryLoop<Op, std::complex<float>, bool>
                                  : BinaryLoop<Op, std::complex<double>, bool>;
  }
  return nullptr;
}

// --- Ternary -----------------------------------------------------------------

template <typename T>
void SelectLoop(const void* const* in, void* out, int64_t n,
                const LaneParams& params) {
  const bool* p = static_cast<const bool*>(in[0]);
  const T* a = static_cast<const T*>(in[1]);
  const T* b = static_cast<const T*>(in[2]);
  T* r = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) r[i] = p[i] ? a[i] : b[i];
}

template <typename Min, typename Max, typename T>
void ClampLoop(const void* const* in, void* out, int64_t n,
               const LaneParams& params) {
  const T* low = static_cast<const T*>(in[0]);
  const T* x = static_cast<const T*>(in[1]);
  const T* high = static_cast<const T*>(in[2]);
  T* r = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    r[i] = Min::Apply(Max::Apply(low[i], x[i]), high[i]);
  }
}

}  // namespace

LaneKernel FindBinaryKernel(HloOpcode opcode, LaneType operands) {
  if (opcode == HloOpcode::kStochasticConvert) return StochasticConvertLanes;
  switch (operands) {
    case LaneType::kPred:
      return PredKernel(opcode);
    case LaneType::kS64:
      return IntegerKernel<int64_t>(opcode);
    case LaneType::kU64:
      return IntegerKernel<uint64_t>(opcode);
    case LaneType::kF32:
      return FloatKernel<float>(opcode);
    case LaneType::kF64:
      return FloatKernel<double>(opcode);
    case LaneType::kC64:
      return FloatKernel<std::complex<float>>(opcode);
    case LaneType::kC128:
      return FloatKernel<std::complex<double>>(opcode);
  }
  return nullptr;
}

LaneKernel FindCompareKernel(Comparison::Direction direction,
                             Comparison::Order order, LaneType operands) {
  const bool total = order == Comparison::Order::kTotal;
  switch (direction) {
    case Comparison::Direction::kEq:
      return CompareKernel<Comparison::Direction::kEq>(total, operands);
    case Comparison::Direction::kNe:
      return CompareKernel<Comparison::Direction::kNe>(total, operands);
    case Comparison::Direction::kGe:
      return CompareKernel<Comparison::Direction::kGe>(total, operands);
    case Comparison::Direction::kGt:
      return CompareKernel<Comparison::Direction::kGt>(total, operands);
    case Comparison::Direction::kLe:
      return CompareKernel<Comparison::Direction::kLe>(total, operands);
    case Comparison::Direction::kLt:
      return CompareKernel<Comparison::Direction::kLt>(total, operands);
  }
  return nullptr;
}

LaneKernel FindTernaryKernel(HloOpcode opcode, LaneType operands) {
  if (opcode == HloOpcode::kSelect) {
    switch (LaneBytes(operands)) {
      case 1:
        return SelectLoop<bool>;
      case 4:
        return SelectLoop<uint32_t>;
      case 8:
        return SelectLoop<uint64_t>;
      default:
        return SelectLoop<std::complex<double>>;
    }
  }
  if (opcode != HloOpcode::kClamp) return nullptr;
  switch (operands) {
    case LaneType::kPred:
      return ClampLoop<AndOp, OrOp, bool>;
    case LaneType::kS64:
      return ClampLoop<IntMinOp, IntMaxOp, int64_t>;
    case LaneType::kU64:
      return ClampLoop<IntMinOp, IntMaxOp, uint64_t>;
    case LaneType::kF32:
      return ClampLoop<MinOp, MaxOp, float>;
    case LaneType::kF64:
      return ClampLoop<MinOp, MaxOp, double>;
    default:
      return nullptr;
  }
}

}  // namespace evaluator
}  // namespace xla
