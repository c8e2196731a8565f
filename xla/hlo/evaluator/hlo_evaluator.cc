#include "xla/hlo/evaluator/hlo_evaluator.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/array2d.h"
#include "xla/comparison_util.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/custom_call_registry.h"
#include "xla/hlo/evaluator/device.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/program.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/index_util.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/types.h"
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
  return Unimplemented("%s %s: it needs other devices, and there is only one",
                       HloOpcodeString(device.pending()->opcode()),
                       device.Position());
}

// Marks a status as EvalErrorDetail::kDynamicValueDependence (payload type).
constexpr absl::string_view kDynamicUrl = "hlo/evaluator/dynamic_value";
// Maximum number of callers followed in search of a value.
constexpr int kMaxDetours = 200;

// Without arguments, parameters have no values.
absl::Status MarkDynamic(absl::Status status) {
  if (absl::IsFailedPrecondition(status)) {
    status.SetPayload(kDynamicUrl, absl::Cord("1"));
  }
  return status;
}

// The instruction that makes the same value elsewhere, or null: an element of a
// tuple in sight, what the only call of a computation passes.
const HloInstruction* DetourOf(const HloInstruction* inst) {
  if (inst->opcode() == HloOpcode::kGetTupleElement) {
    std::vector<int64_t> indices;  // the outermost last
    while (true) {
      if (inst->opcode() == HloOpcode::kGetTupleElement) {
        indices.push_back(inst->tuple_index());
        inst = inst->operand(0);
      } else if (inst->opcode() == HloOpcode::kTuple &&
                 indices.back() < inst->operand_count()) {
        inst = inst->operand(indices.back());
        indices.pop_back();
        if (indices.empty()) return inst;
      } else {
        return nullptr;
      }
    }
  }
  if (inst->opcode() != HloOpcode::kParameter || inst->parent() == nullptr) {
    return nullptr;
  }
  const auto callers = inst->parent()->caller_instructions();
  if (callers.size() != 1) return nullptr;
  const HloInstruction* caller = *callers.begin();
  const bool passes_operands = caller->opcode() == HloOpcode::kCall ||
                               caller->opcode() == HloOpcode::kFusion;
  return passes_operands && inst->parameter_number() < caller->operand_count()
             ? caller->operand(inst->parameter_number())
             : nullptr;
}

// The instructions that `root` depends on whose value is made elsewhere
// (DetourOf), each with the instruction that makes it.
std::vector<std::pair<const HloInstruction*, const HloInstruction*>>
FindDetours(const HloInstruction* root,
            absl::FunctionRef<bool(const HloInstruction*)> is_given) {
  std::vector<std::pair<const HloInstruction*, const HloInstruction*>> detours;
  absl::flat_hash_set<const HloInstruction*> seen = {root};
  std::vector<const HloInstruction*> work = {root};
  while (!work.empty()) {
    const HloInstruction* inst = work.back();
    work.pop_back();
    if (is_given(inst)) continue;
    if (const HloInstruction* source = DetourOf(inst)) {
      detours.push_back({inst, source});
      continue;
    }
    for (const HloInstruction* operand : inst->operands()) {
      if (seen.insert(operand).second) work.push_back(operand);
    }
  }
  return detours;
}

// `size` indices of `dims` after `at`, row by row; false after the last.
bool NextIndex(absl::Span<const int64_t> sizes, absl::Span<int64_t> at) {
  for (int64_t d = sizes.size() - 1; d >= 0; --d) {
    if (++at[d] < sizes[d]) return true;
    at[d] = 0;
  }
  return false;
}

// Calls the handler for each product that the dot adds.
void TraceDot(const HloInstruction& dot,
              const HloEvaluator::TraceMACHandler& handler) {
  const Shape& lhs = dot.operand(0)->shape();
  const Shape& rhs = dot.operand(1)->shape();
  if (ShapeUtil::IsZeroElementArray(lhs) ||
      ShapeUtil::IsZeroElementArray(rhs)) {
    return;
  }
  const DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
  // Dimensions of the operands by dimension of the result, then those that are
  // summed; -1: none.
  std::vector<int64_t> sizes, of_lhs, of_rhs;
  auto add = [&](int64_t l, int64_t r) {
    of_lhs.push_back(l);
    of_rhs.push_back(r);
    sizes.push_back(l >= 0 ? lhs.dimensions(l) : rhs.dimensions(r));
  };
  for (int i = 0; i < numbers.lhs_batch_dimensions_size(); ++i) {
    add(numbers.lhs_batch_dimensions(i), numbers.rhs_batch_dimensions(i));
  }
  for (int64_t d = 0; d < lhs.dimensions_size(); ++d) {
    if (!absl::c_linear_search(numbers.lhs_batch_dimensions(), d) &&
        !absl::c_linear_search(numbers.lhs_contracting_dimensions(), d)) {
      add(d, -1);
    }
  }
  for (int64_t d = 0; d < rhs.dimensions_size(); ++d) {
    if (!absl::c_linear_search(numbers.rhs_batch_dimensions(), d) &&
        !absl::c_linear_search(numbers.rhs_contracting_dimensions(), d)) {
      add(-1, d);
    }
  }
  const size_t rank = sizes.size();
  for (int i = 0; i < numbers.lhs_contracting_dimensions_size(); ++i) {
    add(numbers.lhs_contracting_dimensions(i),
        numbers.rhs_contracting_dimensions(i));
  }
  std::vector<int64_t> at(sizes.size(), 0);
  std::vector<int64_t> lhs_at(lhs.dimensions_size());
  std::vector<int64_t> rhs_at(rhs.dimensions_size());
  do {
    for (size_t i = 0; i < at.size(); ++i) {
      if (of_lhs[i] >= 0) lhs_at[of_lhs[i]] = at[i];
      if (of_rhs[i] >= 0) rhs_at[of_rhs[i]] = at[i];
    }
    handler(IndexUtil::MultidimensionalIndexToLinearIndex(
                dot.shape(), absl::MakeConstSpan(at).first(rank)),
            IndexUtil::MultidimensionalIndexToLinearIndex(lhs, lhs_at),
            IndexUtil::MultidimensionalIndexToLinearIndex(rhs, rhs_at));
  } while (NextIndex(sizes, absl::MakeSpan(at)));
}

template <typename T>
std::unique_ptr<Array2D<T>> Matmul(const Array2D<T>& lhs,
                                   const Array2D<T>& rhs) {
  DotDimensionNumbers dims;
  dims.add_lhs_contracting_dimensions(1);
  dims.add_rhs_contracting_dimensions(0);
  const absl::StatusOr<Literal> product = HloEvaluator().EvaluateDotOp(
      dims, PrecisionConfig(), LiteralUtil::CreateR2FromArray2D(lhs),
      LiteralUtil::CreateR2FromArray2D(rhs));
  CHECK_OK(product.status());
  auto result = std::make_unique<Array2D<T>>(lhs.height(), rhs.width());
  absl::c_copy(product->data<T>(), result->begin());
  return result;
}

}  // namespace

namespace internal {

std::optional<EvalErrorDetail> ParseEvalErrorDetail(const absl::Status& error) {
  if (!error.GetPayload(kDynamicUrl).has_value()) return std::nullopt;
  return EvalErrorDetail::kDynamicValueDependence;
}

}  // namespace internal

HloEvaluator::HloEvaluator(int64_t max_loop_iterations)
    : max_loop_iterations_(max_loop_iterations) {}

HloEvaluator::~HloEvaluator() = default;

bool HloEvaluator::IsOpcodeImplemented(HloOpcode opcode) {
  return HloOpcodeIsOneOf<HloOpcode::kAsyncDone, HloOpcode::kAsyncStart,
                          HloOpcode::kAsyncUpdate, HloOpcode::kCall,
                          HloOpcode::kConditional, HloOpcode::kConstant,
                          HloOpcode::kCustomCall, HloOpcode::kFusion,
                          HloOpcode::kParameter, HloOpcode::kWhile>(opcode) ||
         evaluator::KernelFor(opcode) != nullptr;
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
  embedded->trace_mac_handler_ = trace_mac_handler_;
  embedded->constant_handler_ = constant_handler_;
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
    options_.constants = evaluator.constant_handler_;
    if (!evaluator.eval_literal_handler_ && !evaluator.trace_mac_handler_) {
      return;
    }
    options_.observer = [&evaluator](const HloInstruction* inst,
                                     const Value& value) {
      if (evaluator.trace_mac_handler_ && inst->opcode() == HloOpcode::kDot) {
        TraceDot(*inst, evaluator.trace_mac_handler_);
      }
      if (!evaluator.eval_literal_handler_) return;
      absl::StatusOr<Literal> literal = value.ToLiteral(inst->shape());
      if (literal.ok()) {
        evaluator.eval_literal_handler_(inst, LiteralSlice(*literal));
      }
    };
  }

  // Values that instructions have without being evaluated.
  absl::flat_hash_map<const HloInstruction*, Value>& given() {
    options_.given = &given_;
    return given_;
  }
  MemoryBudget* budget() { return &budget_; }
  const DeviceOptions* options() const { return &options_; }

 private:
  MemoryBudget budget_;
  CustomCallRegistry registry_;
  absl::flat_hash_map<const HloInstruction*, Value> given_;
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
  for (const auto& [inst, literal] : substitutions) {
    TF_ASSIGN_OR_RETURN(Value value,
                        Value::FromLiteral(*literal, run.budget(), true));
    run.given().emplace(inst, std::move(value));
  }
  if (!recursively_evaluate_nonconstant_operands) {
    for (const HloInstruction* operand : instruction->operands()) {
      if (operand->opcode() == HloOpcode::kConstant ||
          run.given().contains(operand)) {
        continue;
      }
      return MarkDynamic(
          FailedPrecondition("operand %%%s of %%%s is not constant",
                             operand->name(), instruction->name()));
    }
  }
  steps_ = 0;
  Value result;
  absl::Status status = EvaluateFrom(instruction, run, /*depth=*/0, &result);
  peak_bytes_ = run.budget()->peak_bytes();
  if (!status.ok()) return MarkDynamic(std::move(status));
  return result.ToLiteral(instruction->shape());
}

absl::Status HloEvaluator::EvaluateFrom(const HloInstruction* instruction,
                                        Run& run, int depth, Value* result) {
  if (depth > kMaxDetours) {
    return ResourceExhausted("%%%s depends on calls in more than %d others",
                             instruction->name(), kMaxDetours);
  }
  auto is_given = [&](const HloInstruction* inst) {
    return run.given().contains(inst);
  };
  for (const auto& [inst, source] : FindDetours(instruction, is_given)) {
    if (is_given(inst)) continue;
    Value value;
    TF_RETURN_IF_ERROR(EvaluateFrom(source, run, depth + 1, &value));
    run.given().emplace(inst, std::move(value));
  }
  const std::unique_ptr<evaluator::ComputationPlan> plan =
      evaluator::MakePlanFrom(instruction, is_given);
  Program program;
  Device device(&program, run.options());
  TF_RETURN_IF_ERROR(device.StartPlan(plan.get(), {}));
  absl::StatusOr<Value> value = RunToEnd(device);
  steps_ += device.steps();
  TF_RETURN_IF_ERROR(value.status());
  *result = *std::move(value);
  return absl::OkStatus();
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

#define XLA_EVALUATOR_MATMUL(T)                            \
  std::unique_ptr<Array2D<T>> HloEvaluator::MatmulArray2D( \
      const Array2D<T>& lhs, const Array2D<T>& rhs) {      \
    return Matmul(lhs, rhs);                               \
  }
XLA_EVALUATOR_MATMUL(half)
XLA_EVALUATOR_MATMUL(float)
XLA_EVALUATOR_MATMUL(double)
XLA_EVALUATOR_MATMUL(complex64)
XLA_EVALUATOR_MATMUL(complex128)
XLA_EVALUATOR_MATMUL(int32_t)
XLA_EVALUATOR_MATMUL(uint8_t)
XLA_EVALUATOR_MATMUL(tsl::float8_e4m3fn)
XLA_EVALUATOR_MATMUL(tsl::float8_e5m2)
#undef XLA_EVALUATOR_MATMUL

}  // namespace xla
