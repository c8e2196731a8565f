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
  // The context must outlive the function.
  ScalarFunction(const HloComputation* computation, KernelContext& context);

  // Null if the computation is interpreted.
  const LaneProgram* lanes() const { return program_; }

  // out[j][i] = f(in[0][i], in[1][i], ...)[j] for all i < n. Arrays of elements
  // in memory, of the types of parameters and results; an output array may be
  // one of the input arrays, and must not overlap others.
  absl::Status Apply(absl::Span<const void* const> in,
                     absl::Span<void* const> out, int64_t n);

  // For functions of elements to one PRED.
  absl::StatusOr<bool> Test(absl::Span<const void* const> in);

 private:
  absl::Status Interpret(absl::Span<const void* const> in,
                         absl::Span<void* const> out, int64_t i);

  const HloComputation* computation_;
  KernelContext& context_;
  const LaneProgram* program_;
  std::optional<LaneMachine> machine_;
  std::vector<PrimitiveType> input_types_;
  std::vector<int64_t> input_bytes_;
  std::vector<int64_t> output_bytes_;
};

// InvalidArgument unless the computation takes exactly scalars of these types
// and returns scalars of `results`, as kernels that trust their operands need.
absl::Status CheckSignature(const HloComputation* computation,
                            absl::Span<const PrimitiveType> parameters,
                            absl::Span<const PrimitiveType> results);

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_SCALAR_FUNCTION_H_
