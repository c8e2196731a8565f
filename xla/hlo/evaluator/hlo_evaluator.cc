#include "xla/hlo/evaluator/hlo_evaluator.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/array2d.h"
#include "xla/comparison_util.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/custom_call_registry.h"
#include "xla/hlo/evaluator/device.h"
#include "xla/hlo/evaluator/gemm.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/program.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using evaluator::CustomCallRegistry;
using evaluator::Device;
using evaluator::DeviceOptions;
using evaluator::MemoryBudget;
using evaluator::Program;
using evaluator::Value;

std::vector<const Literal*> Pointers(absl::Span<const Literal> literals) {
  std::vector<const Literal*> pointers;
  for (const Literal& literal : literals) pointers.push_back(&literal);
  return pointers;
}

// A registry handler that asks a handler of literals.
CustomCallRegistry::Handler Adapted(HloEvaluator::CustomCallHandler handler) {
  return [handler = std::move(handler)](
             const HloCustomCallInstruction& call,
             absl::Span<const Value> operands) -> absl::StatusOr<Value> {
    std::vector<Literal> literals;
    for (int64_t i = 0; i < call.operand_count(); ++i) {
      TF_ASSIGN_OR_RETURN(Literal literal,
                          operands[i].ToLiteral(call.operand(i)->shape()));
      literals.push_back(std::move(literal));
    }
    std::vector<const Literal*> pointers = Pointers(literals);
    TF_ASSIGN_OR_RETURN(Literal result,
                        handler(&call, absl::MakeSpan(pointers)));
    return Value::FromLiteral(result, nullptr, /*borrow=*/false);
  };
}

absl::StatusOr<Value> RunToEnd(Device& device) {
  TF_ASSIGN_OR_RETURN(const Device::State state, device.Run());
  if (state == Device::State::kDone) return device.TakeResult();
  return Unimplemented("%s %s: there is one device, which has no others",
                       HloOpcodeString(device.pending()->opcode()),
                       device.Position());
}

template <typename T>
std::unique_ptr<Array2D<T>> Matmul(PrimitiveType type, const Array2D<T>& lhs,
                                   const Array2D<T>& rhs) {
  CHECK_EQ(lhs.width(), rhs.height());
  auto result = std::make_unique<Array2D<T>>(lhs.height(), rhs.width());
  evaluator::Gemm(type, lhs.height(), rhs.width(), lhs.width(),
                  {lhs.data(), lhs.width()}, {rhs.data(), rhs.width()},
                  {result->data(), rhs.width()});
  return result;
}

}  // namespace

HloEvaluator::HloEvaluator(int64_t max_loop_iterations)
    : max_loop_iterations_(max_loop_iterations) {}

HloEvaluator::~HloEvaluator() = default;

bool HloEvaluator::IsOpcodeImplemented(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAsyncDone:
    case HloOpcode::kAsyncStart:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
    case HloOpcode::kConstant:
    case HloOpcode::kCustomCall:
    case HloOpcode::kFusion:
    case HloOpcode::kParameter:
    case HloOpcode::kWhile:
      return true;
    default:
      return evaluator::KernelFor(opcode) != nullptr;
  }
}

std::unique_ptr<HloEvaluator> HloEvaluator::CreateEmbedded(
    int64_t max_loop_iterations) {
  auto embedded = std::make_unique<HloEvaluator>(max_loop_iterations);
  embedded->max_steps_ = max_steps_;
  embedded->memory_limit_bytes_ = memory_limit_bytes_;
  embedded->seed_ = seed_;
  embedded->dynamic_dimension_inference_ = dynamic_dimension_inference_;
  embedded->custom_call_handler_ = custom_call_handler_;
  embedded->eval_literal_handler_ = eval_literal_handler_;
  return embedded;
}

// The state of one evaluation: options, and the objects they point to.
class HloEvaluator::Run {
 public:
  explicit Run(const HloEvaluator& evaluator)
      : budget_(evaluator.memory_limit_bytes_),
        registry_(CustomCallRegistry::Default()) {
    if (evaluator.custom_call_handler_) {
      registry_.set_fallback(Adapted(evaluator.custom_call_handler_));
    }
    options_.max_steps = evaluator.max_steps_;
    options_.max_loop_iterations = evaluator.max_loop_iterations_;
    options_.seed = evaluator.seed_;
    options_.budget = &budget_;
    options_.custom_calls = &registry_;
    options_.constants = evaluator.eval_literal_handler_;
  }

  // `given` must outlive the run.
  void SetGiven(
      const absl::flat_hash_map<const HloInstruction*, Value>* given) {
    options_.given = given;
  }
  MemoryBudget* budget() { return &budget_; }
  const DeviceOptions* options() const { return &options_; }

 private:
  MemoryBudget budget_;
  CustomCallRegistry registry_;
  DeviceOptions options_;
};

absl::StatusOr<Literal> HloEvaluator::Evaluate(
    const HloModule& module, absl::Span<const Literal* const> args) {
  return Evaluate(*module.entry_computation(), args);
}

absl::StatusOr<Literal> HloEvaluator::Evaluate(const HloModule& module,
                                               absl::Span<const Literal> args) {
  return Evaluate(*module.entry_computation(), Pointers(args));
}

absl::StatusOr<Literal> HloEvaluator::Evaluate(
    const HloComputation& computation, absl::Span<const Literal> args) {
  return Evaluate(computation, Pointers(args));
}

absl::StatusOr<Literal> HloEvaluator::Evaluate(
    const HloComputation& computation, absl::Span<const Literal* const> args) {
  OnEvaluateComputation(computation);
  Run run(*this);
  Program program;
  std::vector<Value> values;
  for (size_t i = 0; i < args.size(); ++i) {
    absl::StatusOr<Value> value =
        Value::FromLiteral(*args[i], run.budget(), /*borrow=*/true);
    if (!value.ok()) {
      return AddStatus(value.status(), absl::StrCat("argument ", i));
    }
    values.push_back(*std::move(value));
  }
  Device device(&program, run.options());
  TF_RETURN_IF_ERROR(device.Start(&computation, std::move(values)));
  absl::StatusOr<Value> result = RunToEnd(device);
  steps_ = device.steps();
  peak_bytes_ = run.budget()->peak_bytes();
  TF_RETURN_IF_ERROR(result.status());
  return result->ToLiteral(computation.root_instruction()->shape());
}

absl::StatusOr<Literal> HloEvaluator::Evaluate(
    const HloInstruction* instruction, PrecomputedAnalyses precomputed_analyses,
    bool recursively_evaluate_nonconstant_operands,
    const absl::flat_hash_map<const HloInstruction*, const LiteralBase*>&
        substitutions) {
  Run run(*this);
  absl::flat_hash_map<const HloInstruction*, Value> given;
  for (const auto& [inst, literal] : substitutions) {
    TF_ASSIGN_OR_RETURN(Value value,
                        Value::FromLiteral(*literal, run.budget(), true));
    given.emplace(inst, std::move(value));
  }
  run.SetGiven(&given);
  if (!recursively_evaluate_nonconstant_operands) {
    for (const HloInstruction* operand : instruction->operands()) {
      if (operand->opcode() == HloOpcode::kConstant ||
          given.contains(operand)) {
        continue;
      }
      return FailedPrecondition("operand %%%s of %%%s is not constant",
                                operand->name(), instruction->name());
    }
  }
  const std::unique_ptr<evaluator::ComputationPlan> plan =
      evaluator::MakePlanFrom(instruction, [&](const HloInstruction* inst) {
        return given.contains(inst);
      });
  Program program;
  Device device(&program, run.options());
  TF_RETURN_IF_ERROR(device.StartPlan(plan.get(), {}));
  absl::StatusOr<Value> result = RunToEnd(device);
  steps_ = device.steps();
  peak_bytes_ = run.budget()->peak_bytes();
  TF_RETURN_IF_ERROR(result.status());
  return result->ToLiteral(instruction->shape());
}

bool HloEvaluator::TryEvaluate(const HloInstruction* instruction,
                               Literal* result,
                               bool recursively_evaluate_nonconstant_operands) {
  absl::StatusOr<Literal> evaluated =
      Evaluate(instruction, {}, recursively_evaluate_nonconstant_operands);
  if (!evaluated.ok()) return false;
  *result = *std::move(evaluated);
  return true;
}

absl::StatusOr<Literal> HloEvaluator::EvaluateMade(
    absl::FunctionRef<
        std::unique_ptr<HloInstruction>(absl::Span<HloInstruction* const>)>
        make,
    absl::Span<const Literal* const> operands) {
  HloComputation::Builder builder("operation");
  std::vector<HloInstruction*> parameters;
  for (size_t i = 0; i < operands.size(); ++i) {
    parameters.push_back(builder.AddInstruction(HloInstruction::CreateParameter(
        i, operands[i]->shape(), absl::StrCat("operand.", i))));
  }
  builder.AddInstruction(make(parameters));
  const std::unique_ptr<HloComputation> computation = builder.Build();
  return Evaluate(*computation, operands);
}

absl::StatusOr<Literal> HloEvaluator::EvaluateElementwiseUnaryOp(
    HloOpcode opcode, const Literal& operand) {
  TF_ASSIGN_OR_RETURN(const Shape shape, ShapeInference::InferUnaryOpShape(
                                             opcode, operand.shape()));
  return EvaluateMade(
      [&](absl::Span<HloInstruction* const> p) {
        return HloInstruction::CreateUnary(shape, opcode, p[0]);
      },
      {&operand});
}

absl::StatusOr<Literal> HloEvaluator::EvaluateElementwiseBinaryOp(
    HloOpcode opcode, const Literal& lhs, const Literal& rhs) {
  TF_ASSIGN_OR_RETURN(
      const Shape shape,
      ShapeInference::InferBinaryOpShape(opcode, lhs.shape(), rhs.shape(), {}));
  return EvaluateMade(
      [&](absl::Span<HloInstruction* const> p) {
        return HloInstruction::CreateBinary(shape, opcode, p[0], p[1]);
      },
      {&lhs, &rhs});
}

absl::StatusOr<Literal> HloEvaluator::EvaluateElementwiseTernaryOp(
    HloOpcode opcode, const Literal& lhs, const Literal& rhs,
    const Literal& ehs) {
  TF_ASSIGN_OR_RETURN(const Shape shape,
                      ShapeInference::InferTernaryOpShape(
                          opcode, lhs.shape(), rhs.shape(), ehs.shape()));
  return EvaluateMade(
      [&](absl::Span<HloInstruction* const> p) {
        return HloInstruction::CreateTernary(shape, opcode, p[0], p[1], p[2]);
      },
      {&lhs, &rhs, &ehs});
}

absl::StatusOr<Literal> HloEvaluator::EvaluateElementwiseCompareOp(
    ComparisonDirection direction, const Literal& lhs, const Literal& rhs) {
  TF_ASSIGN_OR_RETURN(const Shape shape,
                      ShapeInference::InferBinaryOpShape(
                          HloOpcode::kCompare, lhs.shape(), rhs.shape(), {}));
  return EvaluateMade(
      [&](absl::Span<HloInstruction* const> p) {
        return HloInstruction::CreateCompare(shape, p[0], p[1], direction);
      },
      {&lhs, &rhs});
}

absl::StatusOr<Literal> HloEvaluator::EvaluateDotOp(
    const DotDimensionNumbers& dim_numbers,
    const PrecisionConfig& precision_config, const Literal& lhs,
    const Literal& rhs) {
  TF_ASSIGN_OR_RETURN(
      const Shape shape,
      ShapeInference::InferDotOpShape(lhs.shape(), rhs.shape(), dim_numbers,
                                      /*preferred_element_type=*/std::nullopt));
  return EvaluateMade(
      [&](absl::Span<HloInstruction* const> p) {
        return HloInstruction::CreateDot(shape, p[0], p[1], dim_numbers,
                                         precision_config);
      },
      {&lhs, &rhs});
}

absl::StatusOr<Literal> HloEvaluator::EvaluateScaledDotOp(
    const DotDimensionNumbers& dim_numbers,
    const PrecisionConfig& precision_config, const Literal& lhs,
    const Literal& rhs, const Literal& lhs_scale, const Literal& rhs_scale) {
  TF_ASSIGN_OR_RETURN(
      const Shape shape,
      ShapeInference::InferDotOpShape(lhs.shape(), rhs.shape(), dim_numbers,
                                      /*preferred_element_type=*/std::nullopt));
  return EvaluateMade(
      [&](absl::Span<HloInstruction* const> p) {
        return HloInstruction::CreateScaledDot(shape, p[0], p[1], p[2], p[3],
                                               dim_numbers, precision_config);
      },
      {&lhs, &rhs, &lhs_scale, &rhs_scale});
}

std::unique_ptr<Array2D<float>> HloEvaluator::MatmulArray2D(
    const Array2D<float>& lhs, const Array2D<float>& rhs) {
  return Matmul(F32, lhs, rhs);
}
std::unique_ptr<Array2D<double>> HloEvaluator::MatmulArray2D(
    const Array2D<double>& lhs, const Array2D<double>& rhs) {
  return Matmul(F64, lhs, rhs);
}

}  // namespace xla
