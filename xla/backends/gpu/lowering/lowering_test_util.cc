#include "xla/backends/gpu/lowering/lowering_test_util.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/kernel_ir/kir_printer.h"
#include "xla/backends/gpu/kernel_ir/kir_verifier.h"
#include "xla/backends/gpu/kernel_ir/race_checker.h"
#include "xla/backends/gpu/smem/check/smem_plan_checker.h"
#include "xla/backends/gpu/smem/plan/plan_shared_memory.h"
#include "xla/backends/gpu/smem/smem_device.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/evaluator/run/input_generator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::gpu {
namespace {

// Elements in the order of memory.
std::vector<double> InMemory(const LiteralBase& literal) {
  if (primitive_util::IsComplexType(literal.shape().element_type())) {
    const absl::StatusOr<Literal> numbers = literal.Convert(C128);
    std::vector<double> pairs;
    for (const complex128& number : numbers->data<complex128>()) {
      pairs.insert(pairs.end(), {number.real(), number.imag()});
    }
    return pairs;
  }
  const absl::StatusOr<Literal> numbers = literal.Convert(F64);
  const absl::Span<const double> data = numbers->data<double>();
  return {data.begin(), data.end()};
}

// Bytes of elements that share them, the first one in the lowest bits.
std::vector<double> InMemory(const LiteralBase& literal, const Shape& shape) {
  const int bits = PackedBits(shape);
  const std::vector<double> numbers = InMemory(literal);
  if (bits == 0) return numbers;
  std::vector<double> bytes;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t k = i * bits % 8;
    if (k == 0) bytes.push_back(0);
    const auto number = static_cast<int64_t>(numbers[i]);
    bytes.back() += static_cast<double>((number & ((1 << bits) - 1)) << k);
  }
  return bytes;
}

// Nothing rounds: neither the evaluator nor the machine, in whose numbers those
// of up to 32 bits fit.
bool IsExact(const HloModule& module) {
  return absl::c_all_of(
      module.entry_computation()->instructions(), [](const auto* hlo) {
        bool exact = true;
        ShapeUtil::ForEachSubshape(
            hlo->shape(), [&](const Shape& shape, const ShapeIndex&) {
              const PrimitiveType type = shape.element_type();
              exact &= !shape.IsArray() || type == PRED ||
                       (primitive_util::IsIntegralType(type) &&
                        primitive_util::BitWidth(type) <= 32);
            });
        return exact;
      });
}

bool IsClose(double a, double b, bool exactly) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  if (a == b) return true;
  if (exactly) return false;
  return std::fabs(a - b) <= 2e-2 * std::max(1.0, std::fabs(b)) &&
         std::isfinite(a) && std::isfinite(b);
}

// One fusion of everything that the entry computes.
absl::StatusOr<HloInstruction*> FuseAll(HloModule* module) {
  HloComputation* entry = module->entry_computation();
  std::vector<HloInstruction*> order = entry->MakeInstructionPostOrder();
  std::reverse(order.begin(), order.end());
  absl::flat_hash_set<const HloInstruction*> read = {entry->root_instruction()};
  std::vector<HloInstruction*> fused;
  for (HloInstruction* hlo : order) {
    if (hlo->opcode() == HloOpcode::kParameter || !read.contains(hlo)) continue;
    fused.push_back(hlo);
    for (const HloInstruction* operand : hlo->operands()) read.insert(operand);
  }
  if (fused.empty() || fused[0] != entry->root_instruction()) {
    return absl::UnimplementedError("nothing to fuse");
  }
  return entry->CreateFusionInstruction(fused,
                                        HloInstruction::FusionKind::kLoop);
}

// Says that one thread of a block writes an element of a result, and no other
// one comes there, unless data tell threads where they write.
void OwnResults(const LoweredKernel& lowered, kir::Kernel* kernel) {
  absl::flat_hash_set<kir::BufferId> shared;
  kir::ForEachStatement(kernel->body, [&](const kir::Statement& statement) {
    const auto* expr = statement.As<kir::Expr>();
    if (expr == nullptr ||
        kir::FindOp(expr->op)->op_class != kir::OpClass::kScatter) {
      return;
    }
    shared.insert(expr->outputs[0].buffer);
  });
  const size_t first = lowered.operands.size() + lowered.constants.size();
  for (const LoweredKernel::InPlace& place : lowered.in_place) {
    shared.insert(static_cast<kir::BufferId>(first + place.result));
  }
  for (size_t k = 0; k < lowered.results.size(); ++k) {
    const auto id = static_cast<kir::BufferId>(first + k);
    if (!shared.contains(id)) {
      kernel->options.emplace_back("own", kernel->buffers[id].name);
    }
  }
}

}  // namespace

absl::Status CompareWithEvaluator(HloModule* module, uint64_t seed,
                                  const Lower& lower) {
  InputOptions input_options;
  input_options.seed = seed;
  absl::StatusOr<std::vector<Literal>> inputs =
      GenerateInputs(*module, input_options);
  if (!inputs.ok()) return inputs.status();
  absl::StatusOr<Literal> expected =
      HloEvaluator().Evaluate(*module, absl::MakeConstSpan(*inputs));
  if (!expected.ok()) return absl::UnimplementedError("not evaluated");
  const bool is_exact = IsExact(*module);
  absl::StatusOr<HloInstruction*> fusion = FuseAll(module);
  if (!fusion.ok()) return fusion.status();
  absl::StatusOr<LoweredKernel> lowered = lower(**fusion);
  if (!lowered.ok()) return lowered.status();
  const std::string text = kir::PrintKernel(lowered->kernel);
  absl::Status valid = kir::VerifyKernel(lowered->kernel);
  if (!valid.ok()) {
    return absl::InternalError(absl::StrCat(valid.message(), "\n", text));
  }
  const GpuDevice device = *FindGpuDevice("sm_90");
  absl::StatusOr<SmemPlan> plan = PlanSharedMemory(lowered->kernel, device);
  if (plan.ok()) valid = CheckSmemPlan(*plan);
  if (!plan.ok() || !valid.ok()) {
    return absl::InternalError(absl::StrCat(
        plan.ok() ? valid.message() : plan.status().message(), "\n", text));
  }
  std::vector<std::vector<double>> params;
  for (const LoweredKernel::OperandArray& array : lowered->operands) {
    const int64_t number =
        (*fusion)->operand(array.operand)->parameter_number();
    params.push_back(
        InMemory(LiteralSlice((*inputs)[number], array.index),
                 ShapeUtil::GetSubshape(
                     (*fusion)->operand(array.operand)->shape(), array.index)));
  }
  for (const HloInstruction* constant : lowered->constants) {
    params.push_back(InMemory(constant->literal()));
  }
  // What a kernel leaves as it is lies there before.
  if (!lowered->in_place.empty()) {
    const size_t first = params.size();
    for (const ShapeIndex& index : lowered->results) {
      params.push_back(
          InMemory(LiteralSlice(*expected, index),
                   ShapeUtil::GetSubshape((*fusion)->shape(), index)));
      absl::c_fill(params.back(), -1);
    }
    for (const LoweredKernel::InPlace& place : lowered->in_place) {
      params[first + place.result] = params[place.operand];
    }
  }
  KernelRunOptions run_options;
  run_options.all_blocks = true;
  kir::Kernel kernel = plan->planned;
  OwnResults(*lowered, &kernel);
  absl::StatusOr<KernelRun> run = RunKernel(kernel, params, run_options);
  if (!run.ok()) {
    return absl::InternalError(
        absl::StrCat(run.status().message(), "\n", text));
  }
  if (!run->races.empty()) {
    return absl::InternalError(absl::StrCat(run->races[0], "\n", text));
  }
  const size_t first = lowered->operands.size() + lowered->constants.size();
  for (size_t k = 0; k < lowered->results.size(); ++k) {
    const Shape& shape =
        ShapeUtil::GetSubshape((*fusion)->shape(), lowered->results[k]);
    const std::vector<double> want =
        InMemory(LiteralSlice(*expected, lowered->results[k]), shape);
    // What the last byte has more, nobody reads.
    const int64_t bits = ShapeUtil::ElementsIn(shape) * PackedBits(shape);
    const int64_t full = bits == 0 ? want.size() : bits / 8, rest = bits % 8;
    // Bytes of several elements are near each other where no element is.
    const bool exactly = is_exact || bits > 0;
    const std::vector<double>& got = run->params[first + k];
    for (size_t i = 0; i < want.size(); ++i) {
      const double part = static_cast<int64_t>(i) < full
                              ? got[i]
                              : std::fmod(got[i], 1 << rest);
      if (IsClose(part, want[i], exactly)) continue;
      return absl::InternalError(absl::StrCat("result ", k, " element ", i,
                                              ": ", got[i], ", not ", want[i],
                                              "\n", text));
    }
  }
  return absl::OkStatus();
}

absl::Status CompareWithEvaluator(absl::string_view text, const Lower& lower) {
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ParseAndReturnUnverifiedModule(text);
  if (!module.ok()) return module.status();
  return CompareWithEvaluator(module->get(), 1, lower);
}

}  // namespace xla::gpu
