#include "xla/backends/gpu/smem/plan/plan_shared_memory.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_verifier.h"
#include "xla/backends/gpu/smem/baseline/circular_buffering.h"
#include "xla/backends/gpu/smem/baseline/required_syncs.h"
#include "xla/backends/gpu/smem/plan/smem_planner.h"
#include "xla/status_macros.h"

namespace xla::gpu {

namespace {

// What is asked for; otherwise 0.
int64_t MinAlign(const kir::Kernel& kernel, std::optional<int64_t> min_align) {
  if (min_align.has_value()) return *min_align;
  int64_t option = 0;
  const std::optional<std::string> text = kernel.FindOption("min_align");
  return text.has_value() && absl::SimpleAtoi(*text, &option) ? option : 0;
}

}  // namespace

int64_t SmemAlignment(const kir::Kernel& kernel, const kir::Buffer& buffer,
                      std::optional<int64_t> min_align) {
  const int element = kir::ElementBytes(buffer.type);
  int64_t alignment = element;
  if (buffer.vector_width.has_value()) {
    alignment = std::max<int64_t>(alignment, *buffer.vector_width * element);
  }
  if (buffer.swizzle.has_value()) {
    alignment = std::max<int64_t>(
        alignment, *buffer.swizzle == 0 ? 128 : *buffer.swizzle * 8);
  }
  if (buffer.align.has_value()) return std::max(alignment, *buffer.align);
  const int64_t option = MinAlign(kernel, min_align);
  if (option > 0) return std::max(alignment, option);
  // Transfers move 16 bytes at a time, bulk ones to lines of 128.
  kir::ForEachStatement(kernel.body, [&](const kir::Statement& statement) {
    const kir::Expr* expr = statement.As<kir::Expr>();
    if (expr == nullptr || (expr->async == kir::AsyncKind::kNone &&
                            !absl::StartsWith(expr->op, "mma"))) {
      return;
    }
    const int64_t least = expr->async == kir::AsyncKind::kNone ||
                                  expr->async == kir::AsyncKind::kCp
                              ? 16
                              : 128;
    auto look = [&](const kir::Operand& operand) {
      const kir::Buffer* b = &kernel.buffers[operand.buffer];
      if (b->alias.has_value()) b = &kernel.buffers[*b->alias];
      if (b == &buffer) alignment = std::max(alignment, least);
    };
    for (const kir::Operand& output : expr->outputs) look(output);
    for (const kir::Argument& argument : expr->arguments) {
      if (const auto* operand = std::get_if<kir::Operand>(&argument)) {
        look(*operand);
      }
    }
  });
  return alignment;
}

absl::StatusOr<SmemPlan> PlanSharedMemory(const kir::Kernel& kernel,
                                          const GpuDevice& device,
                                          const SmemPlanOptions& options) {
  kir::KirVerifierOptions verify;
  verify.allow_divergent_barriers = options.allow_divergent_barriers;
  RETURN_IF_ERROR(kir::VerifyKernel(kernel, verify));
  if (options.max_reuse_syncs.value_or(0) < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_reuse_syncs is ", *options.max_reuse_syncs));
  }
  // Vectors lie at multiples of their own bytes too.
  const int64_t min_align = MinAlign(kernel, options.min_align);
  if (min_align > 0 && (min_align & (min_align - 1)) != 0) {
    return kernel.ErrorAt(
        kernel.location,
        absl::StrCat("buffers of @", kernel.name, " are to be aligned to ",
                     min_align, " bytes, which is no power of two"));
  }
  kir::Kernel prepared = kernel;
  std::vector<kir::BufferId> settled;
  if (options.circular) {
    ASSIGN_OR_RETURN(MbarrierResult added, AddMbarriers(prepared));
    ASSIGN_OR_RETURN(CircularSplit split, SplitCircularLoops(added.kernel));
    prepared = std::move(split.kernel);
    settled = std::move(split.buffers);
  }
  if (options.global_syncs) {
    ASSIGN_OR_RETURN(prepared, InsertGlobalSyncs(prepared));
  }
  return SmemPlanner(std::move(prepared), device, options, std::move(settled))
      .Plan();
}

}  // namespace xla::gpu
