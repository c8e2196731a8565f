#include "xla/backends/gpu/kernel_ir/warp_mma.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"

namespace xla::gpu::kir {
namespace {

std::optional<int64_t> Extent(const Kernel& kernel, const Buffer& buffer,
                              size_t d) {
  return buffer.extents[d].Bind(kernel.Bindings()).AsConstant();
}

// Whether it is the first element of a register array whose last extents are
// these.
bool IsFragment(const Kernel& kernel, const Operand& operand,
                absl::Span<const int64_t> last, size_t rank) {
  const Buffer& buffer = kernel.buffers[operand.buffer];
  if (buffer.memory != Memory::kLocal || buffer.extents.size() != rank ||
      operand.indices.size() != rank || buffer.circular.has_value()) {
    return false;
  }
  for (size_t d = 0; d < rank; ++d) {
    if (!Extent(kernel, buffer, d).has_value() ||
        !operand.indices[d].IsConstant(0)) {
      return false;
    }
  }
  for (size_t d = 0; d < last.size(); ++d) {
    if (Extent(kernel, buffer, rank - last.size() + d) != last[d]) return false;
  }
  return true;
}

}  // namespace

std::optional<WarpMma> FindWarpMma(const Kernel& kernel, const Expr& expr,
                                   std::string* why) {
  const auto* lhs = expr.arguments.size() < 2
                        ? nullptr
                        : std::get_if<Operand>(&expr.arguments[0]);
  const auto* rhs =
      lhs == nullptr ? nullptr : std::get_if<Operand>(&expr.arguments[1]);
  if (rhs == nullptr || expr.outputs.size() != 1) {
    *why = "it multiplies two arrays";
    return std::nullopt;
  }
  WarpMma mma;
  mma.type = kernel.buffers[lhs->buffer].type;
  if (mma.type != ElementType::kF32 && mma.type != ElementType::kF16 &&
      mma.type != ElementType::kBF16) {
    *why = absl::StrCat("no unit multiplies ", ElementTypeName(mma.type));
    return std::nullopt;
  }
  if (kernel.buffers[rhs->buffer].type != mma.type ||
      kernel.buffers[expr.outputs[0].buffer].type != ElementType::kF32) {
    *why = "the factors are of one type, the sums of f32";
    return std::nullopt;
  }
  if (!IsFragment(kernel, *lhs, {2, mma.per_row()}, 3) ||
      !IsFragment(kernel, *rhs, {mma.per_row()}, 2) ||
      !IsFragment(kernel, expr.outputs[0], {2, 2}, 4)) {
    *why = absl::StrCat("in registers it takes [n, 2, ", mma.per_row(),
                        "] and [m, ", mma.per_row(), "], and [n, m, 2, 2]");
    return std::nullopt;
  }
  mma.down = *Extent(kernel, kernel.buffers[lhs->buffer], 0);
  mma.across = *Extent(kernel, kernel.buffers[rhs->buffer], 0);
  const Buffer& sums = kernel.buffers[expr.outputs[0].buffer];
  if (Extent(kernel, sums, 0) != mma.down ||
      Extent(kernel, sums, 1) != mma.across) {
    *why = "the sums are of another number of rows or columns";
    return std::nullopt;
  }
  if (expr.arguments.size() > 2) {
    const auto* flag = std::get_if<AffineExpr>(&expr.arguments[2]);
    if (flag == nullptr || !flag->IsConstant(1)) {
      *why = "the third argument, if any, is 1";
      return std::nullopt;
    }
    mma.is_exact = true;
  }
  int64_t threads = 1;
  for (const std::optional<int64_t>& extent : kernel.BlockExtents()) {
    threads *= extent.value_or(1);
  }
  if (threads % kWarpThreads != 0) {
    *why = "the block has no whole warps";
    return std::nullopt;
  }
  return mma;
}

// Lane l holds sums of row l / 4 (and of that + 8), of columns 2 * (l % 4) and
// the next one. The depth of a row is spread over the four lanes 4 * (l / 4) …
// + 3, that of a column over the four lanes from 4 * column on. Both are cut at
// the same places, so the product over the whole depth is the sum over
// `quarter` of what lanes with equal l % 4 hold.
void MultiplyFragments(const WarpMma& mma,
                       absl::Span<const std::vector<double>> lhs,
                       absl::Span<const std::vector<double>> rhs,
                       std::vector<std::vector<double>>* sums) {
  const int64_t row = mma.per_row();
  for (int lane = 0; lane < kWarpThreads; ++lane) {
    double* sum = (*sums)[lane].data();
    for (int64_t i = 0; i < mma.down; ++i) {
      for (int64_t j = 0; j < mma.across; ++j) {
        for (int place = 0; place < 4; ++place, ++sum) {
          const int64_t r = place / 2;
          const int column = 2 * (lane % 4) + place % 2;
          for (int quarter = 0; quarter < 4; ++quarter) {
            const std::vector<double>& a = lhs[lane / 4 * 4 + quarter];
            const std::vector<double>& b = rhs[column * 4 + quarter];
            for (int64_t v = 0; v < row; ++v) {
              *sum += a[(i * 2 + r) * row + v] * b[j * row + v];
            }
          }
        }
      }
    }
  }
}

}  // namespace xla::gpu::kir
