#include "xla/backends/gpu/lowering/loop_lowering.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/lowering/element_emitter.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/kernel_builder.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla::gpu {
namespace {

absl::StatusOr<kir::BufferId> AddArray(const HloInstruction& hlo,
                                       const Shape& shape,
                                       absl::string_view name,
                                       KernelBuilder* builder) {
  if (!shape.IsArray()) return NotLowered(hlo, "a tuple in memory");
  if (shape.is_dynamic()) return NotLowered(hlo, "a dynamic shape");
  ASSIGN_OR_RETURN(const kir::ElementType type,
                   KernelType(shape.element_type()));
  return builder->AddParam(name, type, MemoryExtents(shape));
}

// Names of kernels are those of instructions, in what .kir texts know.
std::string KernelName(absl::string_view name) {
  std::string result;
  for (char c : name) {
    result += absl::ascii_isalnum(c) ? c : '_';
  }
  return result;
}

absl::Status EmitResult(const HloInstruction& root, int64_t tuple_index,
                        const Shape& shape, kir::BufferId output,
                        int64_t threads, ElementEmitter* emitter,
                        KernelBuilder* builder) {
  const int64_t count = ShapeUtil::ElementsIn(shape);
  if (count == 0) return absl::OkStatus();
  const auto element = [&](const AffineExpr& number) -> absl::Status {
    const Indices indices = IndicesInMemory(number, shape, builder->ranges());
    ASSIGN_OR_RETURN(const kir::Operand value,
                     emitter->Element(root, indices, tuple_index));
    kir::Operand place;
    place.buffer = output;
    place.indices = MemoryIndices(shape, indices);
    builder->EmitTo(place, "copy", {value});
    return absl::OkStatus();
  };
  return builder->Loop(
      "b", kir::LoopKind::kBidX, 0, CeilOfRatio(count, threads),
      [&](const AffineExpr& block) {
        return builder->Loop(
            "t", kir::LoopKind::kTidX, 0, threads,
            [&](const AffineExpr& thread) {
              const AffineExpr number = block * AffineExpr(threads) + thread;
              const auto body = [&] {
                return emitter->InScope([&] { return element(number); });
              };
              if (count % threads == 0) return body();
              return builder->If(
                  kir::Uniformity::kDivergent,
                  AffineExpr::Max(
                      0, AffineExpr::Min(1, AffineExpr(count) - number)),
                  body, [] { return absl::OkStatus(); });
            });
      });
}

}  // namespace

absl::StatusOr<LoweredKernel> LowerLoop(const HloInstruction& hlo,
                                        const LoopLoweringOptions& options) {
  KernelBuilder builder(KernelName(hlo.name()));
  ElementEmitter emitter(&builder);
  LoweredKernel result;
  const HloInstruction* root = &hlo;
  absl::Span<HloInstruction* const> inputs = hlo.operands();
  std::vector<const HloInstruction*> body = {&hlo};
  if (hlo.opcode() == HloOpcode::kFusion) {
    const HloComputation& fused = *hlo.fused_instructions_computation();
    root = fused.root_instruction();
    inputs = fused.parameter_instructions();
    body.assign(fused.instructions().begin(), fused.instructions().end());
  }
  result.num_operands = inputs.size();
  for (int64_t i = 0; i < inputs.size(); ++i) {
    ASSIGN_OR_RETURN(const kir::BufferId buffer,
                     AddArray(*inputs[i], inputs[i]->shape(),
                              absl::StrCat("p", i), &builder));
    emitter.AddInput(inputs[i], buffer);
  }
  for (const HloInstruction* constant : body) {
    if (constant->opcode() != HloOpcode::kConstant ||
        constant->shape().dimensions().empty()) {
      continue;
    }
    ASSIGN_OR_RETURN(
        const kir::BufferId buffer,
        AddArray(*constant, constant->shape(),
                 absl::StrCat("c", result.constants.size()), &builder));
    emitter.AddInput(constant, buffer);
    result.constants.push_back(constant);
  }
  std::vector<Shape> shapes = {hlo.shape()};
  if (hlo.shape().IsTuple()) shapes = hlo.shape().tuple_shapes();
  result.num_results = shapes.size();
  std::vector<kir::BufferId> outputs;
  int64_t blocks = 1;
  for (const Shape& shape : shapes) {
    ASSIGN_OR_RETURN(
        const kir::BufferId buffer,
        AddArray(hlo, shape, absl::StrCat("out", outputs.size()), &builder));
    outputs.push_back(buffer);
    blocks = std::max(blocks, CeilOfRatio(ShapeUtil::ElementsIn(shape),
                                          options.threads_per_block));
  }
  for (int64_t k = 0; k < outputs.size(); ++k) {
    RETURN_IF_ERROR(EmitResult(*root, k, shapes[k], outputs[k],
                               options.threads_per_block, &emitter, &builder));
  }
  RETURN_IF_ERROR(builder.status());
  kir::Launch launch;
  launch.grid = {AffineExpr(blocks), AffineExpr(1), AffineExpr(1)};
  launch.block = {AffineExpr(options.threads_per_block), AffineExpr(1),
                  AffineExpr(1)};
  result.kernel = builder.Finish(launch);
  return result;
}

}  // namespace xla::gpu
