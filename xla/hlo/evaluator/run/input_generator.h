#ifndef XLA_HLO_EVALUATOR_RUN_INPUT_GENERATOR_H_
#define XLA_HLO_EVALUATOR_RUN_INPUT_GENERATOR_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"
#include "xla/shape.h"

namespace xla {

// Options of generated inputs.
struct InputOptions {
  uint64_t seed = 0;
  // Floats hold integers in [-4, 4] (less where the type ends earlier), so that
  // short sums and products are exact in any order.
  bool small_integers = false;
  // One float in sixteen is NaN or infinite.
  bool with_nan = false;
  // Integers from all of the type's range rather than near 0.
  bool large_integers = false;
  // Do not look at how parameters are used.
  bool ignore_uses = false;
};

// Arguments for the entry computation of a module, one per parameter, the same
// on every platform; a parameter's values depend on the seed, its number and
// its shape alone, and on what it is used for:
//
//   start indices of dynamic-slice,        within the array
//   gather, scatter, topk-like indices
//   indices of scatter with unique_indices all different
//   branch index, group sizes              in range, summing up
//   first operand of a sort                all different, if the type
//                                          has enough values
//   operand of log, rsqrt, sqrt, divisor,  in [1/8, 1]
//   variance, exponent of a rate of decay
//   operand of cholesky                    symmetric positive definite
//   matrix of triangular-solve             dominant diagonal
//
// Uses are followed through tuples, reshapes, copies, slices, integer converts,
// and into called computations; uses that ask for positive values also through
// sums and products with what is never negative, as in the second moments of
// an optimizer, 0.9 * v + 0.1 * g * g. Other floats are in [-1, 1], integers in
// [-8, 8] or [0, 8], predicates either. Elements of dynamic shapes fill their
// bounds. InvalidArgument for parameters without a size (unbounded, opaque).
// Linear in the module times the number of parameters in the worst case.
absl::StatusOr<std::vector<Literal>> GenerateInputs(
    const HloModule& module, const InputOptions& options = InputOptions());

// A literal for a device that owns no part of a value. Its elements must not
// reach results: NaN for floats that have it, else an extreme of the type that
// differs between devices.
absl::StatusOr<Literal> PoisonLiteral(const Shape& shape, int64_t device);

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_RUN_INPUT_GENERATOR_H_
