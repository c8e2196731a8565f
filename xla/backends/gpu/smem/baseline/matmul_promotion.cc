#include "xla/backends/gpu/smem/baseline/matmul_promotion.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"

namespace xla::gpu {
namespace {

using kir::BufferId;

// The buffers of a matmul; -1 where there is none.
struct Matmul {
  BufferId a = -1, b = -1, c = -1;
  int a_uses = 0, b_uses = 0;
};

// One walk in program order: the operands are the first two shared buffers that
// one matrix operation reads, and the result is the first shared buffer that
// anything computed from a product is written to.
Matmul FindMatmul(const kir::Kernel& kernel) {
  Matmul matmul;
  absl::flat_hash_set<BufferId> results;  // computed from the product
  kir::ForEachStatement(kernel.body, [&](const kir::Statement& statement) {
    const auto* expr = statement.As<kir::Expr>();
    if (expr == nullptr) return;
    const kir::OpInfo* info = kir::FindOp(expr->op);
    bool mma = info != nullptr && info->op_class == kir::OpClass::kMma;
    bool from_product = mma;
    std::vector<BufferId> shared;
    for (const kir::Argument& argument : expr->arguments) {
      const auto* operand = std::get_if<kir::Operand>(&argument);
      if (operand == nullptr) continue;
      from_product |= results.contains(operand->buffer);
      if (kernel.buffers[operand->buffer].memory == kir::Memory::kShared) {
        shared.push_back(operand->buffer);
      }
    }
    if (mma && matmul.a < 0 && shared.size() >= 2) {
      matmul.a = shared[0];
      matmul.b = shared[1];
    }
    for (BufferId buffer : shared) {
      matmul.a_uses += buffer == matmul.a;
      matmul.b_uses += buffer == matmul.b;
    }
    if (!from_product) return;
    for (const kir::Operand& output : expr->outputs) {
      results.insert(output.buffer);
      bool is_shared =
          kernel.buffers[output.buffer].memory == kir::Memory::kShared;
      if (is_shared && matmul.c < 0) matmul.c = output.buffer;
    }
  });
  return matmul;
}

int64_t OptionValue(const kir::Kernel& kernel, absl::string_view name) {
  int64_t value;
  std::optional<std::string> text = kernel.FindOption(name);
  return text.has_value() && absl::SimpleAtoi(*text, &value) ? value : 0;
}

}  // namespace

// Promotion reuses the memory of the operands for the result and costs a
// barrier. It is done when both do not fit side by side, or when sharing lets
// more blocks run per multiprocessor; register pressure bounds the number of
// blocks that memory can help to reach.
MatmulDecision DecideMatmulPromotion(const MatmulSmem& smem,
                                     const MatmulLimits& limits) {
  MatmulDecision decision;
  int64_t operands = smem.a + smem.b;
  decision.bytes_separate = operands + smem.c;
  decision.bytes_shared =
      std::max(operands, smem.c + (smem.a_dead ? 0 : smem.a) +
                             (smem.b_dead ? 0 : smem.b));
  bool must = limits.limit < decision.bytes_separate;
  if (limits.ignore_occupancy) {
    decision.promote = must;
    decision.use_epilogue_tile = !must || decision.bytes_shared <= limits.limit;
    return decision;
  }
  int64_t bound = limits.register_blocks > 0
                      ? limits.register_blocks
                      : std::numeric_limits<int64_t>::max();
  auto blocks = [&](int64_t bytes) {
    return std::min(limits.limit / std::max<int64_t>(bytes, 1), bound);
  };
  decision.promote =
      must || blocks(decision.bytes_shared) != blocks(decision.bytes_separate);
  decision.use_epilogue_tile =
      blocks(decision.bytes_shared) == blocks(operands);
  return decision;
}

absl::StatusOr<MatmulDecision> ApplyMatmulPromotion(const GpuDevice& device,
                                                    kir::Kernel& kernel,
                                                    std::string* note) {
  Matmul matmul = FindMatmul(kernel);
  if (matmul.a < 0 || matmul.c < 0) {
    return kernel.ErrorAt(
        kernel.location,
        absl::StrCat("@", kernel.name,
                     " has no product of two shared buffers whose result is "
                     "written to a third"));
  }
  AffineExpr::Binding bindings = kernel.Bindings();
  MatmulSmem smem;
  for (auto [buffer, bytes] :
       {std::pair{matmul.a, &smem.a}, std::pair{matmul.b, &smem.b},
        std::pair{matmul.c, &smem.c}}) {
    absl::StatusOr<int64_t> value =
        kernel.buffers[buffer].Bytes().Evaluate(bindings);
    if (!value.ok()) {
      return kernel.ErrorAt(kernel.buffers[buffer].location,
                            value.status().message());
    }
    *bytes = *value;
  }
  smem.a_dead = matmul.a_uses == 1;
  smem.b_dead = matmul.b_uses == 1;
  MatmulLimits limits;
  limits.limit = device.shared_per_block_max;
  limits.ignore_occupancy = OptionValue(kernel, "ignore_occupancy") != 0;
  int64_t registers = OptionValue(kernel, "registers");
  for (std::optional<int64_t> extent : kernel.BlockExtents()) {
    registers *= extent.value_or(1);
  }
  if (registers > 0)
    limits.register_blocks = device.registers_per_sm / registers;
  MatmulDecision decision = DecideMatmulPromotion(smem, limits);
  for (BufferId operand : {matmul.a, matmul.b}) {
    kernel.buffers[operand].promote = decision.promote;
  }
  absl::StrAppend(
      note, "matmul: ", decision.bytes_shared, " bytes when %",
      kernel.buffers[matmul.c].name, " takes the place of operands, else ",
      decision.bytes_separate, "; operands ",
      decision.promote ? "promoted" : "not promoted", ", %",
      kernel.buffers[matmul.c].name,
      decision.use_epilogue_tile ? " is worth having" : " is not worth having");
  return decision;
}

}  // namespace xla::gpu
