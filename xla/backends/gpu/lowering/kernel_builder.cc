#include "xla/backends/gpu/lowering/kernel_builder.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using kir::Argument;
using kir::ElementType;
using kir::Operand;

// No name of .kir texts begins so.
constexpr absl::string_view kRegisterName = "register:";

AffineExpr AtomValue(const AffineExpr::AtomNode& atom) {
  using Op = AffineExpr::Op;
  if (atom.op == Op::kSymbol) return AffineExpr::Symbol(atom.name);
  AffineExpr value = atom.args[0];
  for (size_t i = 1; i < atom.args.size(); ++i) {
    const AffineExpr& next = atom.args[i];
    value = atom.op == Op::kFloorDiv  ? AffineExpr::FloorDiv(value, next)
            : atom.op == Op::kMod     ? AffineExpr::Mod(value, next)
            : atom.op == Op::kMin     ? AffineExpr::Min(value, next)
            : atom.op == Op::kMax     ? AffineExpr::Max(value, next)
            : atom.op == Op::kAlignUp ? AffineExpr::AlignUp(value, next)
                                      : AffineExpr::And(value, next);
  }
  return value;
}

kir::Statement Of(kir::Alloc alloc) {
  kir::Statement statement;
  statement.node = alloc;
  return statement;
}

}  // namespace

kir::BufferId KernelBuilder::AddParam(absl::string_view name, ElementType type,
                                      const std::vector<int64_t>& extents) {
  kir::Buffer buffer;
  buffer.name = std::string(name);
  buffer.memory = kir::Memory::kGlobal;
  buffer.type = type;
  buffer.is_param = true;
  for (int64_t e : extents) buffer.extents.push_back(AffineExpr(e));
  kernel_.buffers.push_back(std::move(buffer));
  return static_cast<kir::BufferId>(kernel_.buffers.size()) - 1;
}

kir::BufferId KernelBuilder::AddShared(absl::string_view prefix,
                                       ElementType type,
                                       const std::vector<int64_t>& extents) {
  const kir::BufferId id =
      AddParam(absl::StrCat(prefix, shared_++), type, extents);
  kernel_.buffers[id].memory = kir::Memory::kShared;
  kernel_.buffers[id].is_param = false;
  allocs_.push_back(Of(kir::Alloc{id}));
  return id;
}

Operand KernelBuilder::AddRegister(ElementType type) {
  kir::Buffer buffer;
  buffer.name = absl::StrCat("v", registers_++);
  buffer.memory = kir::Memory::kLocal;
  buffer.type = type;
  buffer.extents.push_back(1);
  Operand operand;
  operand.buffer = static_cast<kir::BufferId>(kernel_.buffers.size());
  operand.indices.push_back(0);
  kernel_.buffers.push_back(std::move(buffer));
  allocs_.push_back(Of(kir::Alloc{operand.buffer}));
  return operand;
}

kir::BufferId KernelBuilder::AddLocal(ElementType type,
                                      const std::vector<int64_t>& extents) {
  const Operand array = AddRegister(type);
  kir::Buffer& buffer = kernel_.buffers[array.buffer];
  buffer.extents.clear();
  for (int64_t e : extents) buffer.extents.push_back(AffineExpr(e));
  return array.buffer;
}

void KernelBuilder::Add(kir::Statement statement) {
  if (++statements_ <= kMaxStatements) body_->push_back(std::move(statement));
}

void KernelBuilder::Undo(const Mark& mark) {
  kernel_.buffers.resize(mark.buffers);
  allocs_.resize(mark.allocs);
  body_->resize(mark.statements);
  named_.resize(mark.named);
  statements_ = mark.added;
}

absl::Status KernelBuilder::status() const {
  if (statements_ <= kMaxStatements) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      "the kernel would have more than ", kMaxStatements, " statements"));
}

void KernelBuilder::EmitTo(const Operand& output, absl::string_view op,
                           std::vector<Argument> arguments,
                           kir::AsyncKind async) {
  kir::Expr expr;
  expr.outputs.push_back(output);
  expr.op = std::string(op);
  expr.arguments = std::move(arguments);
  expr.async = async;
  kir::Statement statement;
  statement.node = std::move(expr);
  Add(std::move(statement));
}

void KernelBuilder::EmitSync(kir::SyncScope scope) {
  kir::Sync sync;
  sync.scope = scope;
  kir::Statement statement;
  statement.node = std::move(sync);
  Add(std::move(statement));
}

void KernelBuilder::EmitAsync(kir::Async::Op op, int64_t keep) {
  kir::Async async;
  async.op = op;
  async.keep = static_cast<int>(keep);
  kir::Statement statement;
  statement.node = std::move(async);
  Add(std::move(statement));
}

Operand KernelBuilder::Emit(absl::string_view op, ElementType type,
                            std::vector<Argument> arguments) {
  const Operand output = AddRegister(type);
  EmitTo(output, op, std::move(arguments));
  return output;
}

absl::Status KernelBuilder::Loop(
    absl::string_view prefix, kir::LoopKind kind, const AffineExpr& start,
    const AffineExpr& stop,
    absl::FunctionRef<absl::Status(const AffineExpr&)> body) {
  kir::Loop loop;
  loop.index = absl::StrCat(prefix, names_++);
  loop.kind = kind;
  loop.start = start;
  loop.stop = stop;
  const std::optional<AffineExpr::Interval> first = start.Bounds(ranges_);
  const std::optional<AffineExpr::Interval> end = stop.Bounds(ranges_);
  if (first.has_value() && end.has_value()) {
    ranges_[loop.index] = {first->lo, std::max(first->lo, end->hi - 1)};
  }
  std::vector<kir::Statement>* const outer = body_;
  body_ = &loop.body;
  const absl::Status status = body(AffineExpr::Symbol(loop.index));
  body_ = outer;
  RETURN_IF_ERROR(status);
  kir::Statement statement;
  statement.node = std::move(loop);
  Add(std::move(statement));
  return absl::OkStatus();
}

// The kernel IR has no variables for indices, but a loop of one iteration names
// one. `extent` bounds it where the bounds of the expression alone are wider.
absl::Status KernelBuilder::Let(
    absl::string_view prefix, const AffineExpr& value, int64_t extent,
    absl::FunctionRef<absl::Status(const AffineExpr&)> body) {
  // Names and constants need no new name.
  if (value.IsConstant() || value.AsSymbol().has_value()) return body(value);
  return Loop(prefix, kir::LoopKind::kSerial, value, value + AffineExpr(1),
              [&](const AffineExpr& index) {
                ranges_[*index.AsSymbol()] = {0, extent - 1};
                values_[*index.AsSymbol()] = value.Substitute(values_);
                return body(index);
              });
}

absl::Status KernelBuilder::If(kir::Uniformity uniformity,
                               const AffineExpr& predicate,
                               absl::FunctionRef<absl::Status()> then_body,
                               absl::FunctionRef<absl::Status()> else_body) {
  kir::If branch;
  branch.uniformity = uniformity;
  branch.predicate = predicate;
  std::vector<kir::Statement>* const outer = body_;
  body_ = &branch.then_body;
  absl::Status status = then_body();
  body_ = &branch.else_body;
  if (status.ok()) status = else_body();
  body_ = outer;
  RETURN_IF_ERROR(status);
  kir::Statement statement;
  statement.node = std::move(branch);
  Add(std::move(statement));
  return absl::OkStatus();
}

AffineExpr KernelBuilder::NameRegister(const Operand& reg, int64_t lo,
                                       int64_t hi) {
  if (lo == hi) return lo;
  const std::string name = absl::StrCat(kRegisterName, named_.size());
  named_.emplace_back(name, reg);
  ranges_[name] = {lo, hi};
  return AffineExpr::Symbol(name);
}

bool KernelBuilder::ReadsRegister(const AffineExpr& expr) const {
  for (const std::string& name : expr.Symbols()) {
    if (absl::StartsWith(name, kRegisterName)) return true;
  }
  return false;
}

absl::StatusOr<Argument> KernelBuilder::Number(
    const AffineExpr::AtomNode& atom) {
  using Op = AffineExpr::Op;
  if (atom.op == Op::kSymbol) {
    int number = 0;
    absl::string_view name = atom.name;
    if (absl::ConsumePrefix(&name, kRegisterName) &&
        absl::SimpleAtoi(name, &number)) {
      return Argument(named_[number].second);
    }
    return Argument(AffineExpr::Symbol(atom.name));
  }
  absl::string_view op;
  switch (atom.op) {
    case Op::kFloorDiv:
    case Op::kMod: {
      // Division of registers rounds towards zero, so operands must not be
      // negative.
      const auto bounds = atom.args[0].Bounds(ranges_);
      if (!bounds.has_value() || bounds->lo < 0) {
        return absl::UnimplementedError(
            "an index known only at run time, which may be negative, is "
            "divided");
      }
      op = atom.op == Op::kFloorDiv ? "div" : "rem";
      break;
    }
    case Op::kMin:
      op = "min";
      break;
    case Op::kMax:
      op = "max";
      break;
    default:
      return absl::UnimplementedError(
          "an index known only at run time is masked");
  }
  ASSIGN_OR_RETURN(Argument result, Number(atom.args[0]));
  for (size_t i = 1; i < atom.args.size(); ++i) {
    ASSIGN_OR_RETURN(Argument next, Number(atom.args[i]));
    result = Emit(op, ElementType::kS64, {result, next});
  }
  return result;
}

// Index expressions of the kernel IR may not read registers. Where an index
// depends on a value loaded at run time (gather, dynamic-slice), registers
// appear in the expression as symbols of a reserved name; here the terms that
// use them are computed by instructions, and all other terms stay one symbolic
// argument.
absl::StatusOr<Argument> KernelBuilder::Number(const AffineExpr& expr) {
  if (!ReadsRegister(expr)) return Argument(expr);
  // Terms without registers are one argument together.
  const auto reads = [this](const AffineExpr::Atom& atom) {
    if (atom->op == AffineExpr::Op::kSymbol) {
      return absl::StartsWith(atom->name, kRegisterName);
    }
    return absl::c_any_of(atom->args, [this](const AffineExpr& argument) {
      return ReadsRegister(argument);
    });
  };
  AffineExpr plain = expr.constant();
  std::optional<Argument> sum;
  for (const AffineExpr::Term& term : expr.terms()) {
    AffineExpr scale = term.coefficient;
    std::optional<Argument> product;
    for (const AffineExpr::Atom& atom : term.factors) {
      if (!reads(atom)) {
        scale = scale * AtomValue(*atom);
        continue;
      }
      ASSIGN_OR_RETURN(Argument factor, Number(*atom));
      product =
          product.has_value()
              ? Argument(Emit("mul", ElementType::kS64, {*product, factor}))
              : factor;
    }
    if (!product.has_value()) {
      plain = plain + scale;
      continue;
    }
    if (!scale.IsConstant(1)) {
      product = Emit("mul", ElementType::kS64, {*product, scale});
    }
    sum = sum.has_value()
              ? Argument(Emit("add", ElementType::kS64, {*sum, *product}))
              : *product;
  }
  if (!plain.IsConstant(0)) {
    sum = Emit("add", ElementType::kS64, {*sum, plain});
  }
  return *sum;
}

kir::Kernel KernelBuilder::Finish(const kir::Launch& launch) {
  kernel_.launch = launch;
  if (blocks_per_sm_.value_or(1) > 1) {
    kernel_.options.emplace_back("blocks_per_sm",
                                 std::to_string(*blocks_per_sm_));
  }
  kernel_.body.insert(kernel_.body.begin(), allocs_.begin(), allocs_.end());
  return std::move(kernel_);
}

}  // namespace xla::gpu
