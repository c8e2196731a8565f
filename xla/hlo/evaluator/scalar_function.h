#ifndef XLA_HLO_EVALUATOR_SCALAR_FUNCTION_H_
#define XLA_HLO_EVALUATOR_SCALAR_FUNCTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/lane_program.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace evaluator {

// A computation on scalars that an instruction applies to elements: a lane
// program where it compiles to one, else the computation, run by the device
// element by element.
class ScalarFunction {
 public:
  // The elements that it is applied to and gives, as CheckSignature() has
  // found them to fit; floats of other types than those of the computation are
  // converted. The context must outlive the function.
  ScalarFunction(const HloComputation* computation,
                 absl::Span<const PrimitiveType> parameters,
                 absl::Span<const PrimitiveType> results,
                 KernelContext& context);

  // Null if the computation is interpreted, or on converted elements.
  const LaneProgram* lanes() const { return converts_ ? nullptr : program_; }

  // out[j][i] = f(in[0][i], in[1][i], ...)[j] for all i < n. Arrays of elements
  // in memory; an output array may be one of the input arrays, and must not
  // overlap others.
  absl::Status Apply(absl::Span<const void* const> in,
                     absl::Span<void* const> out, int64_t n);

  // For functions of elements to one PRED.
  absl::StatusOr<bool> Test(absl::Span<const void* const> in);

 private:
  // Types of elements, and of the computation's scalars.
  struct Types {
    PrimitiveType element;
    PrimitiveType scalar;
  };

  // The same on arrays of the computation's scalars.
  absl::Status ApplyToScalars(absl::Span<const void* const> in,
                              absl::Span<void* const> out, int64_t n);
  absl::Status Interpret(absl::Span<const void* const> in,
                         absl::Span<void* const> out, int64_t i);

  const HloComputation* computation_;
  KernelContext& context_;
  const LaneProgram* program_;
  std::optional<LaneMachine> machine_;
  std::vector<Types> inputs_;
  std::vector<Types> outputs_;
  // Whether types differ; if so, blocks of scalars of each input and output.
  bool converts_ = false;
  std::vector<std::vector<char>> scratch_;
};

// InvalidArgument unless the computation takes exactly scalars of these types
// and returns scalars of `results`, as kernels that trust their operands need.
// In mixed precision floats may be of other types.
absl::Status CheckSignature(const HloComputation* computation,
                            absl::Span<const PrimitiveType> parameters,
                            absl::Span<const PrimitiveType> results);

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_SCALAR_FUNCTION_H_
