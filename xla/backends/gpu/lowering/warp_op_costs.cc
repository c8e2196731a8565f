#include "xla/backends/gpu/lowering/warp_op_costs.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/kernel_ir/warp_mma.h"

namespace xla::gpu {
namespace {

using kir::ElementType;

constexpr double kProductLatency = 35;  // of fragments of matrices
constexpr double kLatency = 14;         // of an addition, with its operands
constexpr OpCost kRounding = {4, 28};

// On f32 or s32. Those of div and sigmoid were fitted to div.full alone,
// without the correction that kernels make now (cuda_prelude.cc), which is
// counted.
OpCost CostOf(absl::string_view op) {
  static const auto& costs =
      *new absl::flat_hash_map<absl::string_view, OpCost>(
          {{"exp", {7, 125}},    {"log", {18, 180}},   {"sqrt", {8, 140}},
           {"rsqrt", {16, 210}}, {"rcp", {8, 125}},    {"tanh", {24, 240}},
           {"sin", {28, 210}},   {"cos", {28, 210}},   {"tan", {40, 280}},
           {"expm1", {22, 240}}, {"log1p", {24, 240}}, {"cbrt", {24, 240}},
           {"acos", {24, 220}},  {"asin", {24, 220}},  {"acosh", {32, 300}},
           {"asinh", {32, 300}}, {"atanh", {32, 300}}, {"cosh", {26, 250}},
           {"sinh", {30, 260}},  {"erf", {26, 240}},   {"sigmoid", {22, 270}},
           {"div", {15, 175}},   {"rem", {24, 210}},   {"pow", {60, 420}},
           {"atan2", {50, 420}}, {"sign", {3, 30}},    {"floor", {2, 15}},
           {"ceil", {2, 15}},    {"rint", {2, 15}},    {"round", {4, 30}},
           {"popcnt", {2, 15}},  {"clz", {2, 15}},     {"clamp", {2, 20}}});
  const auto it = costs.find(op);
  return it == costs.end() ? OpCost{1, kLatency} : it->second;
}

}  // namespace

ProductCost CostOfProducts(const kir::Kernel& kernel, const kir::Expr& expr) {
  constexpr double kSplit = 3;  // instructions for a register of a factor
  std::string why;
  const std::optional<kir::WarpMma> mma = kir::FindWarpMma(kernel, expr, &why);
  if (!mma.has_value()) return {1, 1, kProductLatency};
  const auto blocks = static_cast<double>(mma->down * mma->across);
  if (mma->type != ElementType::kF32) {
    return {2 * blocks, 2 * blocks, 2 * kProductLatency};
  }
  // Factors of columns are split once for all rows whose sums are there twice.
  const double parts = std::max(1.0, blocks / 8);
  const double registers = 2 * (4.0 * mma->down + 2 * parts * mma->across);
  return {6 * blocks, 6 * blocks + 8 * blocks + kSplit * registers,
          3 * kProductLatency};
}

OpCost CostOf(absl::string_view op, ElementType type) {
  OpCost cost = CostOf(op);
  switch (type) {
    case ElementType::kF64:
      return {2 * cost.slots, 2 * cost.cycles};
    case ElementType::kS64:
    case ElementType::kU64:
      return {3 * cost.slots, 3 * cost.cycles};
    case ElementType::kF16:
    case ElementType::kBF16:
    case ElementType::kF8E4M3FN:
    case ElementType::kF8E5M2:
      // Computed as f32, and rounded.
      return {cost.slots + kRounding.slots, cost.cycles + kRounding.cycles};
    default:
      return cost;
  }
}

// One slot for each term and each operation inside of it. Division by a power
// of two is a shift or a mask; by any other number it is taken for four
// operations, as compilers multiply by a reciprocal and correct the result.
// What does not depend on the loop is computed in front of it and costs nothing
// here.
double IndexSlots(const AffineExpr& expr, absl::string_view loop) {
  const auto is_outside = [&](const AffineExpr::Atom& atom) {
    return !loop.empty() && atom->name != loop &&
           absl::c_none_of(atom->args, [&](const AffineExpr& arg) {
             return arg.Mentions(loop);
           });
  };
  double slots = 0;
  for (const AffineExpr::Term& term : expr.terms()) {
    if (absl::c_all_of(term.factors, is_outside)) continue;
    slots += 1;
    for (const AffineExpr::Atom& atom : term.factors) {
      if (atom->op == AffineExpr::Op::kSymbol || is_outside(atom)) continue;
      const bool divides = atom->op == AffineExpr::Op::kFloorDiv ||
                           atom->op == AffineExpr::Op::kMod;
      const std::optional<int64_t> by =
          divides ? atom->args.back().AsConstant() : std::nullopt;
      slots += !divides                                              ? 1
               : by.has_value() && *by > 0 && (*by & (*by - 1)) == 0 ? 1
                                                                     : 4;
      for (const AffineExpr& arg : atom->args) slots += IndexSlots(arg, loop);
    }
  }
  return slots;
}

double ShufflesOf(const kir::Expr& expr) {
  double steps = 0;
  for (int lanes = kir::LanesOfWarpReduce(expr).value_or(kir::kWarpThreads);
       lanes > 1; lanes /= 2) {
    ++steps;
  }
  return steps;
}

}  // namespace xla::gpu
