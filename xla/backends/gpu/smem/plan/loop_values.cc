#include "xla/backends/gpu/smem/plan/loop_values.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

namespace xla::gpu {
namespace {

// Iterations of one loop that are told apart.
constexpr int64_t kMaxTrips = 32;

}  // namespace

// A period, though not always the least: 4 for (2 * k) mod 4. An argument that
// grows by a multiple of m within m iterations has the same remainder modulo m
// again after them; in all else, every part that depends on the name must
// repeat, which the name itself never does.
std::optional<int64_t> PeriodIn(const AffineExpr& e, const std::string& name) {
  int64_t period = 1;
  if (!e.Mentions(name)) return period;
  for (const AffineExpr::Term& term : e.terms()) {
    for (const AffineExpr::Atom& atom : term.factors) {
      if (atom->op == AffineExpr::Op::kSymbol) {
        if (atom->name == name) return std::nullopt;
        continue;
      }
      const bool repeats = atom->op == AffineExpr::Op::kMod;
      for (size_t a = 0; a < atom->args.size(); ++a) {
        const AffineExpr& argument = atom->args[a];
        if (!argument.Mentions(name)) continue;
        const std::optional<int64_t> by =
            repeats && a == 0 ? atom->args[1].AsConstant() : std::nullopt;
        std::optional<int64_t> of_argument;
        if (by.value_or(0) > 0) {
          const AffineExpr next = argument.Substitute(
              {{name, AffineExpr::Symbol(name) + AffineExpr(*by)}});
          const std::optional<int64_t> more = (next - argument).AsConstant();
          if (more.has_value() && *more % *by == 0) of_argument = by;
        }
        if (!of_argument.has_value()) of_argument = PeriodIn(argument, name);
        if (!of_argument.has_value()) return std::nullopt;
        period = std::lcm(period, *of_argument);
        if (period > kMaxTrips) return std::nullopt;
      }
    }
  }
  return period;
}

namespace {

// After how many iterations the accesses are the same ones again; nothing where
// that cannot be told or takes long.
// Two expressions of periods p and q are both the same again after lcm(p, q).
std::optional<int64_t> PeriodOf(const SmemFlow& flow, int loop,
                                absl::Span<const int> accesses) {
  const kir::Loop& l = *flow.AsLoop(loop);
  if (!l.step.IsConstant(1)) return std::nullopt;
  int64_t period = 1;
  for (int a : accesses) {
    const FlowAccess& access = flow.accesses()[a];
    if (flow.StageLoop(access) == loop) return std::nullopt;
    for (const AffineExpr& e : access.operand->indices) {
      const std::optional<int64_t> of_index = PeriodIn(e, l.index);
      if (!of_index.has_value()) return std::nullopt;
      period = std::lcm(period, *of_index);
      if (2 * period >= kMaxTrips) return std::nullopt;
    }
    for (int node = flow.Parent(access.node); node != loop;
         node = flow.Parent(node)) {
      const auto* branch = flow.nodes()[node].statement->As<kir::If>();
      const kir::Loop* inner = flow.AsLoop(node);
      if (branch != nullptr ? branch->predicate.Mentions(l.index)
                            : inner->start.Mentions(l.index) ||
                                  inner->stop.Mentions(l.index)) {
        return std::nullopt;
      }
    }
  }
  return period;
}

}  // namespace

std::vector<int64_t> LoopValuesOf(const SmemFlow& flow, int loop,
                                  absl::Span<const int> accesses) {
  const kir::Loop& l = *flow.AsLoop(loop);
  const std::optional<int64_t> start = l.start.AsConstant();
  std::optional<int64_t> trips = flow.nodes()[loop].trips;
  std::vector<int64_t> values;
  if (!start.has_value() || !trips.has_value()) return values;
  const std::optional<int64_t> period = PeriodOf(flow, loop, accesses);
  if (period.has_value()) {
    trips = std::min(*trips, 2 * *period + 1);
  } else if (*trips > kMaxTrips) {
    return values;
  }
  for (int64_t i = 0; i < *trips; ++i) {
    values.push_back(*start + i * l.step.AsConstant().value_or(1));
  }
  return values;
}

}  // namespace xla::gpu
