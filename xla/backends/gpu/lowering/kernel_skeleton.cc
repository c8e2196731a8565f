#include "xla/backends/gpu/lowering/kernel_skeleton.h"

#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/smem/plan/loop_values.h"

namespace xla::gpu {
namespace {

// Iterations of a loop that differ in nothing, or take turns: enough that
// nobody moves a barrier from outside into it.
constexpr int64_t kTrips = 16;

class Skeleton {
 public:
  explicit Skeleton(const kir::Kernel& kernel) : kernel_(kernel) {}

  kir::Kernel Make() {
    result_.name = "k";
    result_.launch = kernel_.launch;
    result_.options = kernel_.options;
    std::vector<kir::Statement> body = Body(kernel_.body);
    result_.body = std::move(allocs_);
    for (kir::Statement& statement : body) {
      result_.body.push_back(std::move(statement));
    }
    if (result_.launch.has_value() && !BlocksDiffer()) AsOneBlock();
    return std::move(result_);
  }

 private:
  bool IsShared(const kir::Operand& operand) const {
    return kernel_.buffers[operand.buffer].memory == kir::Memory::kShared;
  }

  kir::BufferId Add(kir::Buffer buffer) {
    const auto id = static_cast<kir::BufferId>(result_.buffers.size());
    result_.buffers.push_back(std::move(buffer));
    kir::Statement alloc;
    alloc.node = kir::Alloc{id};
    allocs_.push_back(std::move(alloc));
    return id;
  }

  kir::Operand Shared(kir::Operand operand) {
    const auto [known, added] = shared_.try_emplace(operand.buffer, 0);
    if (added) known->second = Add(kernel_.buffers[operand.buffer]);
    operand.buffer = known->second;
    for (AffineExpr& index : operand.indices) index = Renamed(index);
    return operand;
  }

  // One register of each type takes what is read.
  kir::Operand Register(const kir::Operand& operand) {
    const kir::ElementType type = kernel_.buffers[operand.buffer].type;
    const auto [known, added] = registers_.try_emplace(type, 0);
    if (added) {
      kir::Buffer buffer;
      buffer.name = absl::StrCat("v_", kir::ElementTypeName(type));
      buffer.type = type;
      buffer.extents = {1};
      known->second = Add(std::move(buffer));
    }
    kir::Operand result;
    result.buffer = known->second;
    result.indices = {0};
    return result;
  }

  AffineExpr Renamed(const AffineExpr& expr) const {
    return names_.empty() ? expr : expr.Substitute(names_);
  }

  std::vector<kir::Statement> Body(const std::vector<kir::Statement>& body) {
    std::vector<kir::Statement> result;
    for (const kir::Statement& statement : body) {
      kir::Statement copy;
      if (const auto* loop = statement.As<kir::Loop>()) {
        if (!Keep(*loop, &copy)) continue;
      } else if (const auto* branch = statement.As<kir::If>()) {
        if (!Keep(*branch, &copy)) continue;
      } else if (const auto* expr = statement.As<kir::Expr>()) {
        if (!Keep(*expr, &copy)) continue;
      } else if (statement.As<kir::Sync>() != nullptr ||
                 statement.As<kir::Async>() != nullptr) {
        copy = statement;
      } else {
        continue;
      }
      result.push_back(std::move(copy));
    }
    return result;
  }

  // A long loop is cut by whole periods only: with stages that take turns (k %
  // 3) the loop must end in the same stage as before, since the code behind it
  // continues there. The period is at most half of kTrips, so that a whole one
  // still follows a whole one.
  bool Keep(const kir::Loop& loop, kir::Statement* result) {
    kir::Loop copy = loop;
    copy.index = absl::StrCat("i", ++loops_);
    copy.start = Renamed(loop.start);
    copy.stop = Renamed(loop.stop);
    names_[loop.index] = AffineExpr::Symbol(copy.index);
    copy.body = Body(loop.body);
    names_.erase(loop.index);
    if (copy.body.empty()) {
      --loops_;
      return false;
    }
    const int64_t trips = copy.stop.AsConstant().value_or(0);
    if (copy.kind == kir::LoopKind::kSerial && copy.start.IsConstant(0) &&
        copy.step.IsConstant(1) && trips > kTrips) {
      const std::optional<int64_t> period = PeriodOf(copy.body, copy.index);
      if (period.has_value()) copy.stop = kTrips + (trips - kTrips) % *period;
    }
    result->node = std::move(copy);
    return true;
  }

  bool Keep(const kir::If& branch, kir::Statement* result) {
    kir::If copy;
    copy.uniformity = branch.uniformity;
    copy.predicate = Renamed(branch.predicate);
    copy.then_body = Body(branch.then_body);
    copy.else_body = Body(branch.else_body);
    if (copy.then_body.empty() && copy.else_body.empty()) return false;
    result->node = std::move(copy);
    return true;
  }

  bool Keep(const kir::Expr& expr, kir::Statement* result) {
    const auto is_shared = [&](const kir::Argument& argument) {
      const auto* operand = std::get_if<kir::Operand>(&argument);
      return operand != nullptr && IsShared(*operand);
    };
    const bool reads = absl::c_any_of(expr.arguments, is_shared);
    const bool writes = absl::c_any_of(
        expr.outputs,
        [&](const kir::Operand& operand) { return IsShared(operand); });
    if (!reads && !writes && !expr.sync) return false;
    kir::Expr copy = expr;
    for (kir::Operand& output : copy.outputs) {
      output = IsShared(output) ? Shared(output) : Register(output);
    }
    for (kir::Argument& argument : copy.arguments) {
      if (is_shared(argument)) {
        argument = Shared(std::get<kir::Operand>(argument));
      } else {
        argument = 1.0;
      }
    }
    if (!reads && copy.op == "copy") {
      copy.op = "full";
      copy.arguments.resize(1);
    }
    result->node = std::move(copy);
    return true;
  }

  // Calls look(expression) with bounds, predicates and indices of accesses, and
  // open(loop) with loops before what they hold.
  template <typename Look, typename Open>
  static void ForEachExpr(const std::vector<kir::Statement>& body,
                          const Look& look, const Open& open) {
    kir::ForEachStatement(body, [&](const kir::Statement& statement) {
      if (const auto* loop = statement.As<kir::Loop>()) {
        look(loop->start);
        look(loop->stop);
        open(*loop);
      } else if (const auto* branch = statement.As<kir::If>()) {
        look(branch->predicate);
      } else if (const auto* expr = statement.As<kir::Expr>()) {
        for (const kir::Operand& output : expr->outputs) {
          for (const AffineExpr& index : output.indices) look(index);
        }
        for (const kir::Argument& argument : expr->arguments) {
          const auto* operand = std::get_if<kir::Operand>(&argument);
          if (operand == nullptr) continue;
          for (const AffineExpr& index : operand->indices) look(index);
        }
      }
    });
  }

  // After how many iterations a body does the same again; nothing where that
  // cannot be told, or is often.
  static std::optional<int64_t> PeriodOf(
      const std::vector<kir::Statement>& body, const std::string& name) {
    std::optional<int64_t> period = 1;
    ForEachExpr(
        body,
        [&](const AffineExpr& expr) {
          const std::optional<int64_t> more = PeriodIn(expr, name);
          period = !period.has_value() || !more.has_value()
                       ? std::nullopt
                       : std::make_optional(std::lcm(*period, *more));
          if (period.value_or(0) > kTrips / 2) period.reset();
        },
        [](const kir::Loop&) {});
    return period;
  }

  // Whether an access, or whether it is there, depends on the block's number.
  bool BlocksDiffer() const {
    std::vector<std::string> blocks;
    bool differ = false;
    ForEachExpr(
        result_.body,
        [&](const AffineExpr& expr) {
          for (const std::string& name : blocks) differ |= expr.Mentions(name);
        },
        [&](const kir::Loop& loop) {
          if (loop.kind == kir::LoopKind::kBidX) blocks.push_back(loop.index);
        });
    return differ;
  }

  // A grid of two blocks, the second of which skips what some blocks skip; of
  // one, where none skips anything.
  void AsOneBlock() {
    const AffineExpr grid = result_.launch->grid[0];
    bool some_skip = false;
    const auto each = [&](const auto& visit) {
      kir::ForEachStatement(result_.body, [&](kir::Statement& statement) {
        auto* loop = statement.As<kir::Loop>();
        if (loop != nullptr && loop->kind == kir::LoopKind::kBidX) {
          visit(*loop);
        }
      });
    };
    each([&](kir::Loop& loop) { some_skip |= loop.stop != grid; });
    const AffineExpr all(some_skip ? 2 : 1);
    each([&](kir::Loop& loop) {
      loop.stop = loop.stop == grid ? all : AffineExpr(1);
    });
    result_.launch->grid[0] = all;
  }

  const kir::Kernel& kernel_;
  kir::Kernel result_;
  std::vector<kir::Statement> allocs_;
  std::map<kir::BufferId, kir::BufferId> shared_;
  std::map<kir::ElementType, kir::BufferId> registers_;
  AffineExpr::Substitution names_;
  int loops_ = 0;
};

}  // namespace

kir::Kernel KernelSkeleton(const kir::Kernel& kernel) {
  return Skeleton(kernel).Make();
}

}  // namespace xla::gpu
