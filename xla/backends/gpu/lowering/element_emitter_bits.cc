#include <array>
#include <cmath>
#include <cstdint>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/lowering/element_emitter.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Bits of numbers: bitcast-convert, reduce-precision, and total orders. 64 bits
// are taken in halves where all of them count, since machines that compute in
// doubles hold no integer of as many.

namespace xla::gpu {

using kir::ElementType;
using kir::Operand;

namespace {

// The integers of as many bits.
PrimitiveType BitsType(PrimitiveType type) {
  return primitive_util::UnsignedIntegralTypeForBitWidth(
      primitive_util::BitWidth(type));
}

bool HasBits(PrimitiveType type) {
  return type != PRED && primitive_util::BitWidth(type) >= 8 &&
         KernelType(type).ok();
}

absl::Status NoBits(const HloInstruction& hlo) {
  return NotLowered(hlo,
                    absl::StrCat("from ",
                                 primitive_util::LowercasePrimitiveTypeName(
                                     hlo.operand(0)->shape().element_type()),
                                 " to ",
                                 primitive_util::LowercasePrimitiveTypeName(
                                     hlo.shape().element_type())));
}

}  // namespace

absl::StatusOr<Operand> ElementEmitter::ReinterpretBits(
    const HloInstruction& hlo, const Operand& a, ElementType type) {
  const PrimitiveType from = hlo.operand(0)->shape().element_type(),
                      to = hlo.shape().element_type();
  if (from == to) return a;
  if (primitive_util::IsIntegralType(from) &&
      primitive_util::IsIntegralType(to)) {
    return builder_.Emit("cast", type, {a});
  }
  if (!HasBits(from) || !HasBits(to)) return NoBits(hlo);
  return builder_.Emit("bits", type, {a});
}

// Up to 32 bits of `a`, as the lower ones of a u32.
absl::StatusOr<Operand> ElementEmitter::BitsOf(const Operand& a,
                                               PrimitiveType from) {
  ASSIGN_OR_RETURN(const ElementType own, KernelType(BitsType(from)));
  Operand bits = builder_.Emit(
      primitive_util::IsIntegralType(from) ? "cast" : "bits", own, {a});
  return own == ElementType::kU32
             ? bits
             : builder_.Emit("cast", ElementType::kU32, {bits});
}

// The last dimension counts the parts of the wider elements, the lowest first.
ElementEmitter::Values ElementEmitter::SplitOrJoinBits(
    const HloInstruction& hlo, const Indices& indices) {
  const HloInstruction& operand = *hlo.operand(0);
  const PrimitiveType from = operand.shape().element_type();
  const PrimitiveType to = hlo.shape().element_type();
  if (!HasBits(from) || !HasBits(to)) return NoBits(hlo);
  constexpr ElementType kBits = ElementType::kU32;
  ASSIGN_OR_RETURN(const ElementType type, KernelType(to));
  const int from_width = primitive_util::BitWidth(from);
  const int to_width = primitive_util::BitWidth(to);
  Indices places = indices;
  if (from_width > to_width) {
    const AffineExpr part = places.back();
    places.pop_back();
    ASSIGN_OR_RETURN(const Operand whole, Element(operand, places));
    AffineExpr shift = part * AffineExpr(to_width);
    Operand bits;
    if (from_width == 64) {
      ASSIGN_OR_RETURN(
          const kir::Argument half,
          builder_.Number(AffineExpr::FloorDiv(shift, AffineExpr(32))));
      shift = AffineExpr::Mod(shift, AffineExpr(32));
      const Operand is_low =
          builder_.Emit("eq", ElementType::kPred, {half, AffineExpr(0)});
      const Operand low = builder_.Emit("low_bits", kBits, {whole});
      const Operand high = builder_.Emit("high_bits", kBits, {whole});
      bits = builder_.Emit("select", kBits, {is_low, low, high});
    } else {
      ASSIGN_OR_RETURN(bits, BitsOf(whole, from));
    }
    if (to_width < 32) {
      ASSIGN_OR_RETURN(const kir::Argument by,
                       builder_.Number(shift.SimplifyIn(builder_.ranges())));
      bits = builder_.Emit("shr", kBits, {bits, by});
      ASSIGN_OR_RETURN(const ElementType own, KernelType(BitsType(to)));
      bits = builder_.Emit("cast", own, {bits});
    }
    return std::vector<Operand>{builder_.Emit(
        primitive_util::IsIntegralType(to) ? "cast" : "bits", type, {bits})};
  }
  std::vector<kir::Argument> halves;
  const int parts_of_half = (to_width < 32 ? to_width : 32) / from_width;
  for (int first = 0; first * from_width < to_width; first += parts_of_half) {
    Operand half;
    for (int k = 0; k < parts_of_half; ++k) {
      places.push_back(AffineExpr(first + k));
      ASSIGN_OR_RETURN(const Operand part, Element(operand, places));
      places.pop_back();
      ASSIGN_OR_RETURN(Operand bits, BitsOf(part, from));
      if (k > 0) {
        bits = builder_.Emit("shl", kBits, {bits, AffineExpr(k * from_width)});
        bits = builder_.Emit("or", kBits, {half, bits});
      }
      half = bits;
    }
    halves.insert(halves.begin(), half);
  }
  if (to_width < 32) {
    ASSIGN_OR_RETURN(const ElementType own, KernelType(BitsType(to)));
    halves = {builder_.Emit("cast", own, {std::get<Operand>(halves[0])})};
  }
  return std::vector<Operand>{builder_.Emit("bits", type, halves)};
}

// Through the type that has these bits, if there is one. Numbers whose exponent
// it lacks become zero, where the type has fractions of them; those that round
// up to its least normal number are kept, as far as half a place below it.
absl::StatusOr<Operand> ElementEmitter::ReducePrecision(
    const HloInstruction& hlo, const Operand& a, ElementType type) {
  struct Narrow {
    int exponent, mantissa;
    PrimitiveType type;
    double least;  // normal number
  };
  static constexpr Narrow kNarrow[] = {{8, 23, F32, 0x1p-126},
                                       {8, 7, BF16, 0x1p-126},
                                       {5, 10, F16, 0x1p-14},
                                       {5, 2, F8E5M2, 0x1p-14}};
  const int exponent =
      primitive_util::ExponentWidth(hlo.shape().element_type());
  const int mantissa =
      primitive_util::SignificandWidth(hlo.shape().element_type()) - 1;
  if (hlo.exponent_bits() >= exponent && hlo.mantissa_bits() >= mantissa) {
    return a;
  }
  for (const Narrow& narrow : kNarrow) {
    if (hlo.exponent_bits() != narrow.exponent ||
        hlo.mantissa_bits() != narrow.mantissa || exponent < narrow.exponent ||
        mantissa < narrow.mantissa) {
      continue;
    }
    ASSIGN_OR_RETURN(const ElementType through, KernelType(narrow.type));
    const Operand value =
        builder_.Emit("cast", type, {builder_.Emit("cast", through, {a})});
    if (exponent == narrow.exponent) return value;
    const Operand size = builder_.Emit("abs", type, {a});
    const double kept =
        narrow.least * (1 - std::ldexp(1.0, -narrow.mantissa - 2));
    const Operand is_kept =
        builder_.Emit("ge", ElementType::kPred, {size, kept});
    const Operand zero = builder_.Emit("mul", type, {a, 0.0});
    return builder_.Emit("select", type, {is_kept, value, zero});
  }
  return RoundBits(hlo, a, type);
}

// In integers: the bits of the magnitude rounded to the nearest, ties to even;
// then what is too large becomes infinite, what is too small zero.
//
// Adding half a unit less one, plus the lowest kept bit, and cutting off the
// rest rounds ties to even. A carry out of the mantissa goes into the exponent,
// which is right in every case: the next power of two, and from the largest
// finite number infinity.
absl::StatusOr<Operand> ElementEmitter::RoundBits(const HloInstruction& hlo,
                                                  const Operand& a,
                                                  ElementType type) {
  const PrimitiveType from = hlo.shape().element_type();
  if (from == F64) return RoundHalves(hlo, a);
  if (from != F32 && from != F16 && from != BF16 && from != F8E5M2) {
    return NotLowered(
        hlo,
        absl::StrCat("of ", primitive_util::LowercasePrimitiveTypeName(from),
                     " to ", hlo.exponent_bits(), " bits of exponent and ",
                     hlo.mantissa_bits(), " of mantissa"));
  }
  const int exponent = primitive_util::ExponentWidth(from);
  const int mantissa = primitive_util::SignificandWidth(from) - 1;
  const int64_t sign_bit = int64_t{1} << (exponent + mantissa);
  const int64_t infinity = ((int64_t{1} << exponent) - 1) << mantissa;
  const int64_t nan = infinity | int64_t{1} << (mantissa - 1);
  constexpr ElementType kBits = ElementType::kU32;
  const auto emit = [&](absl::string_view op, const Operand& x,
                        const kir::Argument& y) {
    return builder_.Emit(op, kBits, {x, y});
  };
  const auto compare = [&](absl::string_view op, const Operand& x, int64_t y) {
    return builder_.Emit(op, ElementType::kPred, {x, AffineExpr(y)});
  };
  const auto select = [&](const Operand& condition, const kir::Argument& x,
                          const kir::Argument& y) {
    return builder_.Emit("select", kBits, {condition, x, y});
  };
  ASSIGN_OR_RETURN(const ElementType own, KernelType(BitsType(from)));
  Operand bits = builder_.Emit("bits", own, {a});
  if (own != kBits) bits = builder_.Emit("cast", kBits, {bits});
  const Operand sign = emit("and", bits, AffineExpr(sign_bit));
  const Operand size = emit("and", bits, AffineExpr(sign_bit - 1));
  Operand rounded = size;
  if (const int dropped = mantissa - static_cast<int>(hlo.mantissa_bits());
      dropped > 0) {
    const int64_t unit = int64_t{1} << dropped;
    const Operand odd =
        emit("and", emit("shr", size, AffineExpr(dropped)), AffineExpr(1));
    const Operand half = emit("add", odd, AffineExpr(unit / 2 - 1));
    rounded =
        emit("and", emit("add", size, half), AffineExpr(2 * sign_bit - unit));
  }
  if (hlo.exponent_bits() < exponent) {
    const int64_t bias = (int64_t{1} << (exponent - 1)) - 1;
    const int64_t largest = (int64_t{1} << (hlo.exponent_bits() - 1)) - 1;
    const Operand is_large =
        compare("ge", rounded, (bias + largest + 1) << mantissa);
    const Operand is_small =
        compare("lt", rounded, (bias - largest + 1) << mantissa);
    rounded = select(is_large, AffineExpr(infinity), rounded);
    rounded = select(is_small, AffineExpr(0), rounded);
  }
  rounded = select(compare("gt", size, infinity), AffineExpr(nan), rounded);
  Operand result = emit("or", sign, rounded);
  if (own != kBits) result = builder_.Emit("cast", own, {result});
  return builder_.Emit("bits", type, {result});
}

// As RoundBits, of doubles, whose halves are added with a carry.
absl::StatusOr<Operand> ElementEmitter::RoundHalves(const HloInstruction& hlo,
                                                    const Operand& a) {
  constexpr ElementType kBits = ElementType::kU32;
  constexpr int kHighMantissa = 20;
  constexpr int64_t kInfinity = int64_t{0x7ff} << kHighMantissa;
  const auto emit = [&](absl::string_view op, const Operand& x,
                        const kir::Argument& y) {
    return builder_.Emit(op, kBits, {x, y});
  };
  const auto compare = [&](absl::string_view op, const Operand& x,
                           const kir::Argument& y) {
    return builder_.Emit(op, ElementType::kPred, {x, y});
  };
  const auto select = [&](const Operand& condition, const kir::Argument& x,
                          const kir::Argument& y) {
    return builder_.Emit("select", kBits, {condition, x, y});
  };
  const auto low_half = [](uint64_t bits) {
    return AffineExpr(static_cast<int64_t>(bits & 0xffffffff));
  };
  const auto high_half = [](uint64_t bits) {
    return AffineExpr(static_cast<int64_t>(bits >> 32));
  };
  const Operand top = builder_.Emit("high_bits", kBits, {a});
  const Operand sign = emit("and", top, AffineExpr(int64_t{1} << 31));
  Operand high = emit("and", top, AffineExpr((int64_t{1} << 31) - 1));
  Operand low = builder_.Emit("low_bits", kBits, {a});
  if (const int dropped = 52 - static_cast<int>(hlo.mantissa_bits());
      dropped > 0) {
    const uint64_t unit = uint64_t{1} << dropped;
    const Operand last = dropped < 32
                             ? emit("shr", low, AffineExpr(dropped))
                             : emit("shr", high, AffineExpr(dropped - 32));
    const Operand odd = emit("and", last, AffineExpr(1));
    const Operand more = emit("add", odd, low_half(unit / 2 - 1));
    // One more than the lower half has bits for, if it is odd and all ones.
    const Operand more_carry = compare("lt", more, odd);
    const Operand sum = emit("add", low, more);
    const Operand carry = compare("lt", sum, low);
    high = emit("add", high, high_half(unit / 2 - 1));
    high = emit("add", high, select(more_carry, AffineExpr(1), AffineExpr(0)));
    high = emit("add", high, select(carry, AffineExpr(1), AffineExpr(0)));
    low = emit("and", sum, low_half(~(unit - 1)));
    high = emit("and", high, high_half(~(unit - 1)));
  }
  if (hlo.exponent_bits() < 11) {
    constexpr int64_t kBias = 1023;
    const int64_t largest = (int64_t{1} << (hlo.exponent_bits() - 1)) - 1;
    const auto beyond = [&](const Operand& is_beyond, int64_t becomes) {
      high = select(is_beyond, AffineExpr(becomes), high);
      low = select(is_beyond, AffineExpr(0), low);
    };
    beyond(
        compare("ge", high, AffineExpr((kBias + largest + 1) << kHighMantissa)),
        kInfinity);
    beyond(
        compare("lt", high, AffineExpr((kBias - largest + 1) << kHighMantissa)),
        0);
  }
  const Operand result =
      builder_.Emit("bits", ElementType::kF64, {emit("or", sign, high), low});
  const Operand is_number = compare("eq", a, a);
  return builder_.Emit("select", ElementType::kF64, {is_number, result, a});
}

absl::StatusOr<Operand> ElementEmitter::CompareTotal(
    const HloInstruction& hlo, ComparisonDirection direction, const Operand& a,
    const Operand& b) {
  if (!primitive_util::IsFloatingPointType(
          hlo.operand(0)->shape().element_type())) {
    return Compare(direction, a, b);
  }
  if (hlo.operand(0)->shape().element_type() == F64)
    return CompareHalves(direction, a, b);
  ASSIGN_OR_RETURN(const Operand x, TotalOrder(hlo, a));
  ASSIGN_OR_RETURN(const Operand y, TotalOrder(hlo, b));
  return Compare(direction, x, y);
}

// The bits as a signed number, those of negative floats turned around.
//
// This is the order totalOrder of IEEE 754: floats are kept as sign and
// magnitude, so that flipping the magnitude of negative ones makes integers of
// them that compare alike, with -NaN < -inf < … < -0 < 0 < … < inf < NaN.
absl::StatusOr<Operand> ElementEmitter::TotalOrder(const HloInstruction& hlo,
                                                   const Operand& a) {
  const int64_t width =
      primitive_util::BitWidth(hlo.operand(0)->shape().element_type());
  ASSIGN_OR_RETURN(
      const ElementType type,
      KernelType(primitive_util::SignedIntegralTypeForBitWidth(width)));
  const Operand bits = builder_.Emit("bits", type, {a});
  const Operand sign =
      builder_.Emit("shr", type, {bits, AffineExpr(width - 1)});
  const AffineExpr most((int64_t{1} << (width - 1)) - 1);
  const Operand flips = builder_.Emit("and", type, {sign, most});
  return builder_.Emit("xor", type, {bits, flips});
}

// The same of doubles: by their upper halves, or else by their lower ones.
Operand ElementEmitter::CompareHalves(ComparisonDirection direction,
                                      const Operand& a, const Operand& b) {
  constexpr ElementType kPred = ElementType::kPred;
  const auto halves = [&](const Operand& x) {
    constexpr ElementType kHigh = ElementType::kS32, kLow = ElementType::kU32;
    const Operand high = builder_.Emit("high_bits", kHigh, {x});
    const Operand low = builder_.Emit("low_bits", kLow, {x});
    const Operand sign = builder_.Emit("shr", kHigh, {high, AffineExpr(31)});
    const AffineExpr most((int64_t{1} << 31) - 1);
    const Operand flips = builder_.Emit("and", kHigh, {sign, most});
    return std::array<Operand, 2>{
        builder_.Emit("xor", kHigh, {high, flips}),
        builder_.Emit("xor", kLow, {low, builder_.Emit("cast", kLow, {sign})})};
  };
  const std::array<Operand, 2> x = halves(a), y = halves(b);
  const Operand same = Compare(ComparisonDirection::kEq, x[0], y[0]);
  const Operand below =
      builder_.Emit("and", kPred, {same, Compare(direction, x[1], y[1])});
  if (direction == ComparisonDirection::kEq) return below;
  ComparisonDirection strictly = direction;
  if (direction == ComparisonDirection::kLe)
    strictly = ComparisonDirection::kLt;
  if (direction == ComparisonDirection::kGe)
    strictly = ComparisonDirection::kGt;
  return builder_.Emit("or", kPred, {Compare(strictly, x[0], y[0]), below});
}

}  // namespace xla::gpu
