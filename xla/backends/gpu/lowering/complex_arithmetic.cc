#include "xla/backends/gpu/lowering/complex_arithmetic.h"

#include <limits>

#include "xla/comparison_util.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"

namespace xla::gpu {

HloInstruction* ComplexArithmetic::Do(HloOpcode opcode, HloInstruction* a) {
  return builder_.AddInstruction(
      HloInstruction::CreateUnary(Of(a->shape().element_type()), opcode, a));
}

HloInstruction* ComplexArithmetic::Do(HloOpcode opcode, HloInstruction* a,
                                      HloInstruction* b) {
  return builder_.AddInstruction(HloInstruction::CreateBinary(
      Of(a->shape().element_type()), opcode, a, b));
}

HloInstruction* ComplexArithmetic::Compare(HloInstruction* a,
                                           ComparisonDirection direction,
                                           HloInstruction* b) {
  return builder_.AddInstruction(
      HloInstruction::CreateCompare(Of(PRED), a, b, direction));
}

HloInstruction* ComplexArithmetic::Select(HloInstruction* pred,
                                          HloInstruction* a,
                                          HloInstruction* b) {
  return builder_.AddInstruction(HloInstruction::CreateTernary(
      Of(a->shape().element_type()), HloOpcode::kSelect, pred, a, b));
}

ComplexParts ComplexArithmetic::Select(HloInstruction* pred,
                                       const ComplexParts& a,
                                       const ComplexParts& b) {
  return {Select(pred, a.re, b.re), Select(pred, a.im, b.im)};
}

HloInstruction* ComplexArithmetic::Number(double value,
                                          const HloInstruction* like) {
  const PrimitiveType type = like->shape().element_type();
  HloInstruction* number =
      builder_.AddInstruction(HloInstruction::CreateConstant(
          LiteralUtil::CreateR0<double>(type, value)));
  if (ShapeUtil::IsScalar(shape_)) return number;
  return builder_.AddInstruction(
      HloInstruction::CreateBroadcast(Of(type), number, {}));
}

ComplexParts ComplexArithmetic::Number(double re, double im,
                                       const ComplexParts& like) {
  return {Number(re, like.re), Number(im, like.im)};
}

// Also true for -0, which no comparison tells from 0: its inverse is -infinity.
HloInstruction* ComplexArithmetic::IsNegative(HloInstruction* a) {
  HloInstruction* zero = Number(0, a);
  return Do(HloOpcode::kOr, Compare(a, ComparisonDirection::kLt, zero),
            Compare(Div(Number(1, a), a), ComparisonDirection::kLt, zero));
}

// The larger part, times the length of a vector whose larger part is 1.
HloInstruction* ComplexArithmetic::Abs(const ComplexParts& a) {
  HloInstruction* re = Do(HloOpcode::kAbs, a.re);
  HloInstruction* im = Do(HloOpcode::kAbs, a.im);
  HloInstruction* most = Do(HloOpcode::kMaximum, re, im);
  HloInstruction* ratio = Div(Do(HloOpcode::kMinimum, re, im), most);
  HloInstruction* length =
      Mul(most, Do(HloOpcode::kSqrt, Add(Number(1, most), Mul(ratio, ratio))));
  HloInstruction* is_end = Do(
      HloOpcode::kOr, Compare(most, ComparisonDirection::kEq, Number(0, most)),
      Compare(most, ComparisonDirection::kEq,
              Number(std::numeric_limits<double>::infinity(), most)));
  return Select(is_end, most, length);
}

HloInstruction* ComplexArithmetic::Equal(const ComplexParts& a,
                                         const ComplexParts& b) {
  return Do(HloOpcode::kAnd, Compare(a.re, ComparisonDirection::kEq, b.re),
            Compare(a.im, ComparisonDirection::kEq, b.im));
}

HloInstruction* ComplexArithmetic::NotEqual(const ComplexParts& a,
                                            const ComplexParts& b) {
  return Do(HloOpcode::kOr, Compare(a.re, ComparisonDirection::kNe, b.re),
            Compare(a.im, ComparisonDirection::kNe, b.im));
}

ComplexParts ComplexArithmetic::Add(const ComplexParts& a,
                                    const ComplexParts& b) {
  return {Add(a.re, b.re), Add(a.im, b.im)};
}

ComplexParts ComplexArithmetic::Sub(const ComplexParts& a,
                                    const ComplexParts& b) {
  return {Sub(a.re, b.re), Sub(a.im, b.im)};
}

ComplexParts ComplexArithmetic::Multiply(const ComplexParts& a,
                                         const ComplexParts& b) {
  return {Sub(Mul(a.re, b.re), Mul(a.im, b.im)),
          Add(Mul(a.re, b.im), Mul(a.im, b.re))};
}

// By the larger part of the divisor (Smith, 1962), so that no square overflows.
ComplexParts ComplexArithmetic::Divide(const ComplexParts& a,
                                       const ComplexParts& b) {
  HloInstruction* by_real =
      Compare(Do(HloOpcode::kAbs, b.re), ComparisonDirection::kGe,
              Do(HloOpcode::kAbs, b.im));
  HloInstruction* large = Select(by_real, b.re, b.im);
  HloInstruction* small = Select(by_real, b.im, b.re);
  HloInstruction* ratio = Div(small, large);
  HloInstruction* divisor = Add(large, Mul(small, ratio));
  // First the one of a.re and a.im that is multiplied by the large part.
  HloInstruction* re =
      Add(Select(by_real, a.re, a.im), Mul(Select(by_real, a.im, a.re), ratio));
  HloInstruction* im =
      Select(by_real, Sub(a.im, Mul(a.re, ratio)), Sub(Mul(a.im, ratio), a.re));
  const ComplexParts quotient = {Div(re, divisor), Div(im, divisor)};
  return Select(Compare(large, ComparisonDirection::kEq, Number(0, large)),
                {Div(a.re, b.re), Div(a.im, b.re)}, quotient);
}

// Real numbers stay real, also where their power is infinite.
HloInstruction* ComplexArithmetic::ImagOfExp(const ComplexParts& a) {
  return Select(Compare(a.im, ComparisonDirection::kEq, Number(0, a.im)), a.im,
                Mul(Do(HloOpcode::kExp, a.re), Do(HloOpcode::kSin, a.im)));
}

ComplexParts ComplexArithmetic::Exp(const ComplexParts& a) {
  return {Mul(Do(HloOpcode::kExp, a.re), Do(HloOpcode::kCos, a.im)),
          ImagOfExp(a)};
}

ComplexParts ComplexArithmetic::Log(const ComplexParts& a) {
  return {Do(HloOpcode::kLog, Abs(a)), Do(HloOpcode::kAtan2, a.im, a.re)};
}

// t = sqrt((|re| + |a|) / 2) is the real part where that is not negative, and
// else the size of the imaginary one: neither is a difference.
ComplexParts ComplexArithmetic::Sqrt(const ComplexParts& a) {
  HloInstruction* half = Number(0.5, a.re);
  HloInstruction* t =
      Do(HloOpcode::kSqrt, Mul(half, Add(Do(HloOpcode::kAbs, a.re), Abs(a))));
  HloInstruction* other = Div(Mul(half, a.im), t);
  HloInstruction* signed_t =
      Select(IsNegative(a.im), Do(HloOpcode::kNegate, t), t);
  HloInstruction* zero = Number(0, a.re);
  const ComplexParts root =
      Select(Compare(a.re, ComparisonDirection::kGe, zero), {t, other},
             {Do(HloOpcode::kAbs, other), signed_t});
  return Select(Compare(t, ComparisonDirection::kEq, zero), {zero, a.im}, root);
}

// For numbers up to 1, without cancellation, (m + m / (m + 1)) / 2 with
// m = exp(|a|) - 1. For larger ones (h² - 1 / h²) / 2 with h = exp(|a| / 2),
// which is finite where the result is.
HloInstruction* ComplexArithmetic::Sinh(HloInstruction* a) {
  HloInstruction *one = Number(1, a), *half = Number(0.5, a);
  HloInstruction* positive = Do(HloOpcode::kAbs, a);
  HloInstruction* m = Do(HloOpcode::kExpm1, positive);
  HloInstruction* small = Mul(half, Add(m, Div(m, Add(m, one))));
  HloInstruction* h = Do(HloOpcode::kExp, Mul(half, positive));
  HloInstruction* large = Sub(Mul(Mul(half, h), h), Div(half, Mul(h, h)));
  HloInstruction* size =
      Select(Compare(positive, ComparisonDirection::kGt, one), large, small);
  return Select(Compare(a, ComparisonDirection::kLt, Number(0, a)),
                Do(HloOpcode::kNegate, size), size);
}

// (h² + 1 / h²) / 2, with the same h.
HloInstruction* ComplexArithmetic::Cosh(HloInstruction* a) {
  HloInstruction* half = Number(0.5, a);
  HloInstruction* h = Do(HloOpcode::kExp, Mul(half, Do(HloOpcode::kAbs, a)));
  return Add(Mul(Mul(half, h), h), Div(half, Mul(h, h)));
}

// 1 - tanh² is 1 / cosh², which is no difference.
ComplexParts ComplexArithmetic::Tanh(const ComplexParts& a) {
  HloInstruction* one = Number(1, a.re);
  HloInstruction* t = Do(HloOpcode::kTanh, a.re);
  HloInstruction* u = Do(HloOpcode::kTan, a.im);
  HloInstruction *tt = Mul(t, t), *uu = Mul(u, u);
  HloInstruction* sech = Div(one, Cosh(a.re));
  HloInstruction* divisor = Add(one, Mul(tt, uu));
  return {Div(Mul(t, Add(one, uu)), divisor),
          Div(Mul(u, Mul(sech, sech)), divisor)};
}

// tan(a) = -i tanh(i a)
ComplexParts ComplexArithmetic::Tan(const ComplexParts& a) {
  const ComplexParts turned = Tanh({Do(HloOpcode::kNegate, a.im), a.re});
  return {turned.im, Do(HloOpcode::kNegate, turned.re)};
}

// The real part, exp(re) cos(im) - 1, is expm1(re) cos(im) + (cos(im) - 1), and
// cos(im) - 1 is -2 sin²(im / 2), so that small numbers do not cancel.
ComplexParts ComplexArithmetic::Expm1(const ComplexParts& a) {
  HloInstruction* half_sine = Do(HloOpcode::kSin, Mul(Number(0.5, a.im), a.im));
  HloInstruction* square = Mul(half_sine, half_sine);
  return {Sub(Mul(Do(HloOpcode::kExpm1, a.re), Do(HloOpcode::kCos, a.im)),
              Add(square, square)),
          ImagOfExp(a)};
}

// Small numbers by |1 + a|² = 1 + (re (2 + re) + im²).
ComplexParts ComplexArithmetic::Log1p(const ComplexParts& a) {
  HloInstruction* half = Number(0.5, a.re);
  HloInstruction* more = Add(a.re, Number(1, a.re));
  HloInstruction* square =
      Add(Mul(a.re, Add(Number(2, a.re), a.re)), Mul(a.im, a.im));
  HloInstruction* small = Mul(half, Do(HloOpcode::kLog1p, square));
  HloInstruction* large = Do(HloOpcode::kLog, Abs({more, a.im}));
  HloInstruction* is_small =
      Compare(Do(HloOpcode::kMaximum, Do(HloOpcode::kAbs, a.re),
                 Do(HloOpcode::kAbs, a.im)),
              ComparisonDirection::kLt, half);
  return {Select(is_small, small, large), Do(HloOpcode::kAtan2, a.im, more)};
}

// 1 / (1 + exp(-a)) or exp(a) / (1 + exp(a)): the power is no larger than 1.
ComplexParts ComplexArithmetic::Logistic(const ComplexParts& a) {
  const ComplexParts one = Number(1, 0, a);
  HloInstruction* is_less =
      Compare(a.re, ComparisonDirection::kLt, Number(0, a.re));
  const ComplexParts power =
      Exp(Select(is_less, a,
                 {Do(HloOpcode::kNegate, a.re), Do(HloOpcode::kNegate, a.im)}));
  return Divide(Select(is_less, power, one), Add(one, power));
}

// 1 where the exponent is 0 or the base 1; of 0, 0 for positive real exponents.
ComplexParts ComplexArithmetic::Power(const ComplexParts& a,
                                      const ComplexParts& b) {
  const ComplexParts zero = Number(0, 0, a), one = Number(1, 0, a);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  HloInstruction* is_root =
      Do(HloOpcode::kAnd, Compare(b.im, ComparisonDirection::kEq, zero.re),
         Compare(b.re, ComparisonDirection::kGt, zero.re));
  ComplexParts power = Exp(Multiply(b, Log(a)));
  power =
      Select(Equal(a, zero), Select(is_root, zero, Number(nan, nan, a)), power);
  return Select(Do(HloOpcode::kOr, Equal(b, zero), Equal(a, one)), one, power);
}

// -i log((x + i y) / sqrt(x² + y²))
ComplexParts ComplexArithmetic::Atan2(const ComplexParts& y,
                                      const ComplexParts& x) {
  const ComplexParts sum = {Sub(x.re, y.im), Add(x.im, y.re)};
  const ComplexParts log =
      Log(Divide(sum, Sqrt(Add(Multiply(x, x), Multiply(y, y)))));
  return {log.im, Do(HloOpcode::kNegate, log.re)};
}

std::optional<ComplexParts> ComplexArithmetic::Unary(HloOpcode opcode,
                                                     const ComplexParts& a) {
  switch (opcode) {
    case HloOpcode::kCbrt:
      return Select(Equal(a, Number(0, 0, a)), a,
                    Power(a, Number(1.0 / 3, 0, a)));
    case HloOpcode::kCos:
      return ComplexParts{
          Mul(Do(HloOpcode::kCos, a.re), Cosh(a.im)),
          Do(HloOpcode::kNegate, Mul(Do(HloOpcode::kSin, a.re), Sinh(a.im)))};
    case HloOpcode::kExp:
      return Exp(a);
    case HloOpcode::kExpm1:
      return Expm1(a);
    case HloOpcode::kLog:
      return Log(a);
    case HloOpcode::kLog1p:
      return Log1p(a);
    case HloOpcode::kLogistic:
      return Logistic(a);
    case HloOpcode::kNegate:
      return ComplexParts{Do(HloOpcode::kNegate, a.re),
                          Do(HloOpcode::kNegate, a.im)};
    case HloOpcode::kRsqrt:
      return Divide(Number(1, 0, a), Sqrt(a));
    case HloOpcode::kSign: {
      HloInstruction* size = Abs(a);
      return Select(Compare(size, ComparisonDirection::kEq, Number(0, size)), a,
                    {Div(a.re, size), Div(a.im, size)});
    }
    case HloOpcode::kSin:
      return ComplexParts{Mul(Do(HloOpcode::kSin, a.re), Cosh(a.im)),
                          Mul(Do(HloOpcode::kCos, a.re), Sinh(a.im))};
    case HloOpcode::kSqrt:
      return Sqrt(a);
    case HloOpcode::kTan:
      return Tan(a);
    case HloOpcode::kTanh:
      return Tanh(a);
    default:  // No formula.
      return std::nullopt;
  }
}

std::optional<ComplexParts> ComplexArithmetic::Binary(HloOpcode opcode,
                                                      const ComplexParts& a,
                                                      const ComplexParts& b) {
  switch (opcode) {
    case HloOpcode::kAdd:
      return Add(a, b);
    case HloOpcode::kAtan2:
      return Atan2(a, b);
    case HloOpcode::kDivide:
      return Divide(a, b);
    case HloOpcode::kMultiply:
      return Multiply(a, b);
    case HloOpcode::kPower:
      return Power(a, b);
    case HloOpcode::kSubtract:
      return Sub(a, b);
    default:  // No formula.
      return std::nullopt;
  }
}

}  // namespace xla::gpu
