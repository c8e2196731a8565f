#ifndef XLA_HLO_EVALUATOR_HLO_EVALUATOR_H_
#define XLA_HLO_EVALUATOR_HLO_EVALUATOR_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/array2d.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

namespace xla {

class CallGraph;
class DynamicDimensionInference;
class TuplePointsToAnalysis;

namespace evaluator {
class Value;
}  // namespace evaluator

// The meaning of HLO on one device: evaluates modules, computations and single
// instructions on literals.
//
// Results are those of the definitions: integers wrap, x / 0 is -1 and x % 0 is
// x, shifts beyond the width give 0 or the sign, float to integer saturates,
// minimum and maximum hand NaN on, narrow floats are rounded after each
// operation. Sums round once: a reduce adds floats of up to 64 bits in double,
// dot and convolution add those of up to 32 bits in float.
//
// Instructions that concern other devices (collectives, partition-id, send,
// infeed, ...) are Unimplemented here. Every error names the instruction.
// An evaluator may be used again, but not by two threads at a time.
class HloEvaluator {
 public:
  // Analyses that callers have at hand already; not needed here.
  struct PrecomputedAnalyses {
    TuplePointsToAnalysis* tuple_points_to;
    CallGraph* call_graph;
  };

  // Trips of a while loop before it counts as endless (ResourceExhausted); -1
  // for no limit.
  explicit HloEvaluator(int64_t max_loop_iterations = -1);
  virtual ~HloEvaluator();
  HloEvaluator(const HloEvaluator&) = delete;
  HloEvaluator& operator=(const HloEvaluator&) = delete;

  static bool IsOpcodeImplemented(HloOpcode opcode);

  // An evaluator with the same handlers and limits.
  virtual std::unique_ptr<HloEvaluator> CreateEmbedded(
      int64_t max_loop_iterations);
  // Called before a computation is evaluated from outside.
  virtual void OnEvaluateComputation(const HloComputation& computation) {}

  // The entry computation on arguments, in the layout of the root. Braces stand
  // for pointers: `Evaluate(module, {})`.
  // InvalidArgument unless number, types and dimensions of the arguments are
  // those of the parameters; any layout will do.
  absl::StatusOr<Literal> Evaluate(const HloModule& module,
                                   absl::Span<const Literal* const> args);
  absl::StatusOr<Literal> Evaluate(const HloModule& module,
                                   absl::Span<const Literal> args);
  absl::StatusOr<Literal> Evaluate(const HloComputation& computation,
                                   absl::Span<const Literal* const> args);
  absl::StatusOr<Literal> Evaluate(const HloComputation& computation,
                                   absl::Span<const Literal> args);
  absl::StatusOr<Literal> Evaluate(const HloModule& module,
                                   std::initializer_list<const Literal*> args) {
    return Evaluate(module, absl::Span<const Literal* const>(args));
  }
  absl::StatusOr<Literal> Evaluate(const HloComputation& computation,
                                   std::initializer_list<const Literal*> args) {
    return Evaluate(computation, absl::Span<const Literal* const>(args));
  }

  // One instruction whose operands are constants; or, if asked for, whatever
  // constants lead to, through elements of tuples whose others are unknown, and
  // out of computations that one call or fusion calls. `substitutions` give
  // values of instructions. A parameter in the way is FailedPrecondition, and
  // internal::ParseEvalErrorDetail tells it.
  absl::StatusOr<Literal> Evaluate(
      const HloInstruction* instruction,
      PrecomputedAnalyses precomputed_analyses = {},
      bool recursively_evaluate_nonconstant_operands = false,
      const absl::flat_hash_map<const HloInstruction*, const LiteralBase*>&
          substitutions = {});
  // The same, without an error text.
  bool TryEvaluate(const HloInstruction* instruction, Literal* result,
                   bool recursively_evaluate_nonconstant_operands = false);

  // Nothing is kept between evaluations.
  void ResetVisitStates() {}

  // One operation on literals.
  absl::StatusOr<Literal> EvaluateElementwiseUnaryOp(HloOpcode opcode,
                                                     const Literal& operand);
  absl::StatusOr<Literal> EvaluateElementwiseBinaryOp(HloOpcode opcode,
                                                      const Literal& lhs,
                                                      const Literal& rhs);
  absl::StatusOr<Literal> EvaluateElementwiseTernaryOp(HloOpcode opcode,
                                                       const Literal& lhs,
                                                       const Literal& rhs,
                                                       const Literal& ehs);
  absl::StatusOr<Literal> EvaluateElementwiseCompareOp(
      ComparisonDirection direction, const Literal& lhs, const Literal& rhs);
  absl::StatusOr<Literal> EvaluateDotOp(const DotDimensionNumbers& dim_numbers,
                                        const PrecisionConfig& precision_config,
                                        const Literal& lhs, const Literal& rhs);
  absl::StatusOr<Literal> EvaluateScaledDotOp(
      const DotDimensionNumbers& dim_numbers,
      const PrecisionConfig& precision_config, const Literal& lhs,
      const Literal& rhs, const Literal& lhs_scale, const Literal& rhs_scale);

  // Sizes of dynamic dimensions are known to the values here; kept for callers.
  void set_dynamic_dimension_inference(
      DynamicDimensionInference* dynamic_dimension_inference) {
    dynamic_dimension_inference_ = dynamic_dimension_inference;
  }
  DynamicDimensionInference* dynamic_dimension_inference() {
    return dynamic_dimension_inference_;
  }
  // There is one path, the fast one.
  void set_use_fast_path(bool) {}
  void set_reduce_use_fast_path(bool) {}

  // Meaning of custom calls that custom_call_registry.h has none for.
  using CustomCallHandler = std::function<absl::StatusOr<Literal>(
      const HloInstruction* custom_call, absl::Span<const Literal*> operands)>;
  void set_custom_call_handler(CustomCallHandler handler) {
    custom_call_handler_ = std::move(handler);
  }
  CustomCallHandler custom_call_handler() { return custom_call_handler_; }

  // Sees the value of each instruction that is evaluated, in the order of
  // evaluation; what runs inside kernels (reducers, fusions) it does not.
  using EvalLiteralHandler =
      std::function<void(const HloInstruction*, const LiteralSlice&)>;
  void set_eval_literal_handler(EvalLiteralHandler handler) {
    eval_literal_handler_ = std::move(handler);
  }
  EvalLiteralHandler eval_literal_handler() const {
    return eval_literal_handler_;
  }

  // Sees each multiplication that a dot adds up: where its result, its left and
  // its right operand lie in their literals.
  using TraceMACHandler = std::function<void(
      int64_t result_index, int64_t lhs_index, int64_t rhs_index)>;
  void set_trace_mac_handler(TraceMACHandler handler) {
    trace_mac_handler_ = std::move(handler);
  }

  // Ours: values of constants in place of their literals (elided ones, for
  // example).
  using ConstantHandler =
      std::function<absl::StatusOr<Literal>(const HloInstruction* constant)>;
  void set_constant_handler(ConstantHandler handler) {
    constant_handler_ = std::move(handler);
  }

  // Ours: limits and the seed of random numbers.
  void set_max_steps(int64_t max_steps) { max_steps_ = max_steps; }
  void set_memory_limit_bytes(int64_t bytes) { memory_limit_bytes_ = bytes; }
  void set_seed(uint64_t seed) { seed_ = seed; }
  // Figures of the last evaluation.
  int64_t steps() const { return steps_; }
  int64_t peak_bytes() const { return peak_bytes_; }

  // As a dot; CHECK-fails for matrices that do not fit.
#define XLA_EVALUATOR_MATMUL(T)                                           \
  static std::unique_ptr<Array2D<T>> MatmulArray2D(const Array2D<T>& lhs, \
                                                   const Array2D<T>& rhs)
  XLA_EVALUATOR_MATMUL(half);
  XLA_EVALUATOR_MATMUL(float);
  XLA_EVALUATOR_MATMUL(double);
  XLA_EVALUATOR_MATMUL(complex64);
  XLA_EVALUATOR_MATMUL(complex128);
  XLA_EVALUATOR_MATMUL(int32_t);
  XLA_EVALUATOR_MATMUL(uint8_t);
  XLA_EVALUATOR_MATMUL(tsl::float8_e4m3fn);
  XLA_EVALUATOR_MATMUL(tsl::float8_e5m2);
#undef XLA_EVALUATOR_MATMUL

 private:
  class Run;

  // In `run`, whose given values grow by what is found out on the way.
  absl::Status EvaluateFrom(const HloInstruction* instruction, Run& run,
                            int depth, evaluator::Value* result);

  // Makes an instruction on parameters, and evaluates it on the operands.
  absl::StatusOr<Literal> EvaluateMade(
      absl::FunctionRef<
          std::unique_ptr<HloInstruction>(absl::Span<HloInstruction* const>)>
          make,
      absl::Span<const Literal* const> operands);

  int64_t max_loop_iterations_;
  int64_t max_steps_ = -1;
  int64_t memory_limit_bytes_ = int64_t{16} << 30;
  uint64_t seed_ = 0;
  int64_t steps_ = 0;
  int64_t peak_bytes_ = 0;
  DynamicDimensionInference* dynamic_dimension_inference_ = nullptr;
  CustomCallHandler custom_call_handler_;
  EvalLiteralHandler eval_literal_handler_;
  TraceMACHandler trace_mac_handler_;
  ConstantHandler constant_handler_;
};

// A loop that counts: `trip_count` trips, with a state whose element
// `induction_var_index` grows from the initial value by the step in each. The
// condition compares it with the bound.
struct ParsedStaticWhileLoop {
  int64_t trip_count = -1;
  int64_t induction_var_index = -1;
  int64_t induction_var_init_value = -1;
  int64_t step_size = -1;
  int64_t loop_bound = -1;
};

// Dynamic: a loop that counts, but by numbers that depend on arguments.
struct ParsedWhileLoop {
  std::optional<ParsedStaticWhileLoop> static_while_loop;
  bool is_dynamic() const { return !static_while_loop.has_value(); }
};

// A loop whose condition compares an integer of its state with what it does not
// change, and whose body adds something to that integer:
//
//   body: tuple(add(i, 2), …)   cond: compare(i, 7), LT   init: tuple(0, …)
//   → 4 trips of element 0 from 0 by 2 to 7
//
// Follows tuples, copies, calls, fusions and what outer loops pass on, and
// evaluates other loops that a number comes from, for up to 65,536 trips.
// Nullopt for other loops, and for those that end only after the integer wraps
// around, or never. `while_op` must be a while.
std::optional<ParsedWhileLoop> PatternMatchParseWhileLoop(
    const HloInstruction* while_op,
    HloEvaluator::PrecomputedAnalyses precomputed_analyses = {});

namespace internal {

// Why an evaluation failed, where callers act on it.
enum class EvalErrorDetail {
  // The value depends on arguments.
  kDynamicValueDependence,
};
std::optional<EvalErrorDetail> ParseEvalErrorDetail(const absl::Status& error);

}  // namespace internal

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_HLO_EVALUATOR_H_
