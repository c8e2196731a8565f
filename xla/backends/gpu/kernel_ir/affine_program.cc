// Evaluation of AffineExpr: under a binding, and compiled for inner loops.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/affine_arith.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"

namespace xla::gpu {

// Emits postfix code. Evaluation needs no recursion and no maps, and reports
// overflow and division by zero as a missing value.
void AffineProgram::Append(const AffineExpr& expr,
                           absl::Span<const std::string> slots,
                           absl::Status* status) {
  using Op = AffineExpr::Op;
  auto append_atom = [&](const AffineExpr::AtomNode& atom) {
    if (atom.op == Op::kSymbol) {
      auto it = std::find(slots.begin(), slots.end(), atom.name);
      if (it == slots.end()) {
        *status = absl::NotFoundError(
            absl::StrCat("symbol '", atom.name, "' has no value"));
        return;
      }
      steps_.push_back({Code::kSlot, it - slots.begin()});
      return;
    }
    const Code code = atom.op == Op::kFloorDiv  ? Code::kFloorDiv
                      : atom.op == Op::kMod     ? Code::kMod
                      : atom.op == Op::kMin     ? Code::kMin
                      : atom.op == Op::kMax     ? Code::kMax
                      : atom.op == Op::kAlignUp ? Code::kAlignUp
                                                : Code::kAnd;
    // Operations with more than two arguments fold from the left: min(a, b, c)
    // is `a b min c min`, which needs two places of the stack rather than
    // three.
    for (size_t i = 0; i < atom.args.size(); ++i) {
      Append(atom.args[i], slots, status);
      if (i > 0) steps_.push_back({code, 0});
    }
  };
  bool first = true;
  for (const AffineExpr::Term& term : expr.terms()) {
    bool inner = true;
    if (term.coefficient != 1) {
      steps_.push_back({Code::kConstant, term.coefficient});
      inner = false;
    }
    for (const AffineExpr::Atom& atom : term.factors) {
      append_atom(*atom);
      if (!inner) steps_.push_back({Code::kMul, 0});
      inner = false;
    }
    if (!first) steps_.push_back({Code::kAdd, 0});
    first = false;
  }
  if (first || expr.constant() != 0) {
    steps_.push_back({Code::kConstant, expr.constant()});
    if (!first) steps_.push_back({Code::kAdd, 0});
  }
}

absl::StatusOr<AffineProgram> AffineProgram::Compile(
    const AffineExpr& expr, absl::Span<const std::string> slots) {
  if (!expr.status().ok()) {
    return absl::InvalidArgumentError(expr.status().message());
  }
  if (expr.IsUnknown()) {
    return absl::InvalidArgumentError("the index expression is unknown");
  }
  AffineProgram program;
  absl::Status status;
  program.Append(expr, slots, &status);
  if (!status.ok()) return status;
  int stack = 0;
  for (const Step& step : program.steps_) {
    stack += step.code == Code::kConstant || step.code == Code::kSlot ? 1 : -1;
    program.max_stack_ = std::max(program.max_stack_, stack);
  }
  return program;
}

std::optional<int64_t> AffineProgram::Evaluate(
    absl::Span<const int64_t> values) const {
  // Millions of points are evaluated, in builds without inlining too: pointers
  // to plain memory.
  constexpr int kSmall = 32;
  int64_t small[kSmall];
  std::vector<int64_t> large;
  int64_t* stack = small;
  if (max_stack_ > kSmall) {
    large.resize(max_stack_);
    stack = large.data();
  }
  int top = -1;
  const int64_t* const slots = values.data();
  const Step* const end = steps_.data() + steps_.size();
  for (const Step* step = steps_.data(); step != end; ++step) {
    if (step->code == Code::kConstant) {
      stack[++top] = step->operand;
      continue;
    }
    if (step->code == Code::kSlot) {
      stack[++top] = slots[step->operand];
      continue;
    }
    const int64_t b = stack[top--];
    int64_t& a = stack[top];
    switch (step->code) {
      case Code::kAdd:
        if (!CheckedAdd(a, b, &a)) return std::nullopt;
        break;
      case Code::kMul:
        if (!CheckedMul(a, b, &a)) return std::nullopt;
        break;
      case Code::kFloorDiv:
        // A divisor that only a symbol makes negative is refused like zero.
        if (b <= 0) return std::nullopt;
        a = FloorDivide(a, b);
        break;
      case Code::kMod:
        if (b <= 0) return std::nullopt;
        a = FloorRemainder(a, b);
        break;
      case Code::kMin:
        a = std::min(a, b);
        break;
      case Code::kMax:
        a = std::max(a, b);
        break;
      case Code::kAlignUp:
        if (b <= 0 || !CheckedAlignUp(a, b, &a)) return std::nullopt;
        break;
      default:
        a &= b;
    }
  }
  return stack[0];
}

bool AffineProgram::Reads(int slot) const {
  for (const Step& step : steps_) {
    if (step.code == Code::kSlot && step.operand == slot) return true;
  }
  return false;
}

absl::StatusOr<int64_t> AffineExpr::Evaluate(const Binding& binding) const {
  if (std::optional<int64_t> constant = AsConstant()) return *constant;
  std::vector<std::string> slots;
  std::vector<int64_t> values;
  for (const auto& [name, value] : binding) {
    slots.push_back(name);
    values.push_back(value);
  }
  absl::StatusOr<AffineProgram> program = AffineProgram::Compile(*this, slots);
  if (!program.ok()) {
    const absl::Status& status = program.status();
    return absl::IsNotFound(status)
               ? absl::FailedPreconditionError(status.message())
               : status;
  }
  const std::optional<int64_t> value = program->Evaluate(values);
  if (!value.has_value()) {
    return absl::OutOfRangeError(
        absl::StrCat("'", ToString(), "' overflows or divides by zero"));
  }
  return *value;
}

}  // namespace xla::gpu
