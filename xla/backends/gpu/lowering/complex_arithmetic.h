#ifndef XLA_BACKENDS_GPU_LOWERING_COMPLEX_ARITHMETIC_H_
#define XLA_BACKENDS_GPU_LOWERING_COMPLEX_ARITHMETIC_H_

#include <optional>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::gpu {

// The real and the imaginary parts of an array, two arrays of one shape.
struct ComplexParts {
  HloInstruction* re = nullptr;
  HloInstruction* im = nullptr;
};

// Arithmetic of complex numbers as instructions on their parts, which are added
// to a computation.
//
//   Binary(kMultiply, {a, b}, {c, d})  ->  {a*c - b*d, a*d + b*c}
//
// Finite results are those of the evaluator up to rounding, except for
// quotients by infinite divisors and where an intermediate value overflows:
// abs, log and sqrt of numbers whose magnitude exceeds the type's maximum; exp,
// sine and cosine where exp(re) or cosh(im) does. Products with an infinite
// part differ too: C++ recovers an infinite result where the formula gives NaN;
// here the NaN stays.
class ComplexArithmetic {
 public:
  explicit ComplexArithmetic(HloComputation::Builder* builder)
      : builder_(*builder) {}

  // Results have the dimensions and the layout of this array. Operands may have
  // other layouts.
  void SetShape(const Shape& shape) { shape_ = shape; }

  // The result for one operand or two; nullopt for what has no formula here.
  std::optional<ComplexParts> Unary(HloOpcode opcode, const ComplexParts& a);
  std::optional<ComplexParts> Binary(HloOpcode opcode, const ComplexParts& a,
                                     const ComplexParts& b);
  HloInstruction* Abs(const ComplexParts& a);
  // Whether both parts are equal, or at least one differs.
  HloInstruction* Equal(const ComplexParts& a, const ComplexParts& b);
  HloInstruction* NotEqual(const ComplexParts& a, const ComplexParts& b);
  // An array filled with `value`, of the type of `like`.
  HloInstruction* Number(double value, const HloInstruction* like);

 private:
  HloInstruction* Do(HloOpcode opcode, HloInstruction* a);
  HloInstruction* Do(HloOpcode opcode, HloInstruction* a, HloInstruction* b);
  HloInstruction* Add(HloInstruction* a, HloInstruction* b) {
    return Do(HloOpcode::kAdd, a, b);
  }
  HloInstruction* Sub(HloInstruction* a, HloInstruction* b) {
    return Do(HloOpcode::kSubtract, a, b);
  }
  HloInstruction* Mul(HloInstruction* a, HloInstruction* b) {
    return Do(HloOpcode::kMultiply, a, b);
  }
  HloInstruction* Div(HloInstruction* a, HloInstruction* b) {
    return Do(HloOpcode::kDivide, a, b);
  }
  HloInstruction* Compare(HloInstruction* a, ComparisonDirection direction,
                          HloInstruction* b);
  HloInstruction* Select(HloInstruction* pred, HloInstruction* a,
                         HloInstruction* b);
  ComplexParts Select(HloInstruction* pred, const ComplexParts& a,
                      const ComplexParts& b);
  ComplexParts Number(double re, double im, const ComplexParts& like);
  // True of -0 as well.
  HloInstruction* IsNegative(HloInstruction* a);
  HloInstruction* Sinh(HloInstruction* a);
  HloInstruction* Cosh(HloInstruction* a);

  ComplexParts Add(const ComplexParts& a, const ComplexParts& b);
  ComplexParts Sub(const ComplexParts& a, const ComplexParts& b);
  ComplexParts Multiply(const ComplexParts& a, const ComplexParts& b);
  ComplexParts Divide(const ComplexParts& a, const ComplexParts& b);
  HloInstruction* ImagOfExp(const ComplexParts& a);
  ComplexParts Exp(const ComplexParts& a);
  ComplexParts Log(const ComplexParts& a);
  ComplexParts Sqrt(const ComplexParts& a);
  ComplexParts Expm1(const ComplexParts& a);
  ComplexParts Log1p(const ComplexParts& a);
  ComplexParts Logistic(const ComplexParts& a);
  ComplexParts Tan(const ComplexParts& a);
  ComplexParts Tanh(const ComplexParts& a);
  ComplexParts Power(const ComplexParts& a, const ComplexParts& b);
  ComplexParts Atan2(const ComplexParts& y, const ComplexParts& x);

  Shape Of(PrimitiveType type) const {
    return ShapeUtil::ChangeElementType(shape_, type);
  }

  HloComputation::Builder& builder_;
  Shape shape_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_COMPLEX_ARITHMETIC_H_
