#ifndef XLA_HLO_EVALUATOR_LANES_H_
#define XLA_HLO_EVALUATOR_LANES_H_

#include <cstdint>

#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

// Arithmetic on blocks of elements. All 32 element types are computed in seven
// forms: an operation exists once per form, not once per type, and what is
// special about a type is in one routine that loads, rounds and stores it.
//
//   PRED                       one byte, 0 or 1
//   s1..s64, u1..u64           int64_t, uint64_t, wrapped to the type's width
//   f4..f32                    float, rounded to the type after each operation
//   f64, c64, c128             themselves
//
// Rounding a float result of +, -, *, / or sqrt to a type with at most 11
// significant bits equals rounding the exact result once (24 >= 2 * 11 + 2;
// Figueroa, "When is double rounding innocuous?", 1995).

namespace xla {
namespace evaluator {

enum class LaneType : uint8_t { kPred, kS64, kU64, kF32, kF64, kC64, kC128 };

LaneType LaneTypeOf(PrimitiveType type);
int64_t LaneBytes(LaneType type);

// Lanes computed at a time: they stay in the first-level cache.
inline constexpr int64_t kLaneBlock = 512;

// The type's elements in memory are lanes already.
bool StoredAsLanes(PrimitiveType type);
// `n` elements of the type in memory to lanes, and back. Storing wraps integers
// and rounds floats.
void LoadLanes(PrimitiveType type, const void* elements, int64_t n,
               void* lanes);
void StoreLanes(PrimitiveType type, const void* lanes, int64_t n,
                void* elements);
// Brings lanes to values that the type has: wraps or rounds to nearest even.
void RoundLanes(PrimitiveType type, void* lanes, int64_t n);

// Parameters of an operation besides its operands.
struct LaneParams {
  PrimitiveType from = PRIMITIVE_TYPE_INVALID;  // Type of operand 0.
  PrimitiveType to = PRIMITIVE_TYPE_INVALID;    // Type of the result.
  // Bits of integers of type `from`.
  int32_t width = 0;
  int32_t exponent_bits = 0;
  int32_t mantissa_bits = 0;
};

// Computes `n` lanes. `out` may be an input whose lanes are as wide as those of
// the result, and else overlaps none. Results may still need RoundLanes.
using LaneKernel = void (*)(const void* const* in, void* out, int64_t n,
                            const LaneParams& params);

// Null where XLA does not define the operation for the type.
LaneKernel FindUnaryKernel(HloOpcode opcode, LaneType operand);
LaneKernel FindBinaryKernel(HloOpcode opcode, LaneType operands);
LaneKernel FindCompareKernel(Comparison::Direction direction,
                             Comparison::Order order, LaneType operands);
// select: in[0] is PRED, the others are of the type.
LaneKernel FindTernaryKernel(HloOpcode opcode, LaneType operands);
// Value conversion between any two types by LaneParams: integers wrap, floats
// round once, float to integer truncates and saturates (NaN is 0), anything to
// PRED is whether it is not 0, complex to real drops the imaginary part.
void ConvertLanes(const void* const* in, void* out, int64_t n,
                  const LaneParams& params);
// Between types of one width.
void BitcastLanes(const void* const* in, void* out, int64_t n,
                  const LaneParams& params);
// in[1] are random bits, unsigned, as wide as the operand.
void StochasticConvertLanes(const void* const* in, void* out, int64_t n,
                            const LaneParams& params);

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_LANES_H_
