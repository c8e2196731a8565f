// Neighbors that one thread computes, and their accesses at once:
//
//   before: for %j : unroll [0, 4) {
//             %v0[0] = copy(%p0[4*t + j])
//             %v1[0] = exp(%v0[0])
//             %out0[4*t + j] = copy(%v1[0])
//           }
//   after:  for %j1 : vectorize [0, 4) { %v2[j1] = copy(%p0[4*t + j1]) }
//           for %j : unroll [0, 4) {
//             %v0[0] = copy(%v2[j])
//             %v1[0] = exp(%v0[0])
//             %v3[j] = copy(%v1[0])
//           }
//           for %j2 : vectorize [0, 4) { %out0[4*t + j2] = copy(%v3[j2]) }
//
// Legal because a thread reads no element of a result, and who writes a result
// where an operand lies asks MayOverwrite of the kernel that comes out.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/kernel_vectors.h"
#include "xla/backends/gpu/lowering/kernel_builder.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using kir::Operand;

// The loop that gives a value a name, which stands around a body alone.
kir::Loop* OnlyName(std::vector<kir::Statement>& body) {
  if (body.size() != 1) return nullptr;
  kir::Loop* loop = body[0].As<kir::Loop>();
  return loop != nullptr && loop->kind == kir::LoopKind::kSerial &&
                 (loop->stop - loop->start).IsConstant(1)
             ? loop
             : nullptr;
}

template <typename Node>
kir::Statement StatementOf(Node node) {
  kir::Statement statement;
  statement.node = std::move(node);
  return statement;
}

int64_t BytesOf(const kir::Buffer& buffer) {
  return buffer.Bytes().AsConstant().value_or(0);
}

// The only atom of an expression that is nothing else.
const AffineExpr::AtomNode* OnlyAtom(const AffineExpr& e) {
  return e.constant() == 0 && e.terms().size() == 1 &&
                 e.terms()[0].coefficient == 1 &&
                 e.terms()[0].factors.size() == 1
             ? e.terms()[0].factors[0].get()
             : nullptr;
}

// The argument of min or max beside that constant, if there are these two.
const AffineExpr* Beside(const AffineExpr::AtomNode& atom, AffineExpr::Op op,
                         int64_t constant) {
  if (atom.op != op || atom.args.size() != 2) return nullptr;
  if (atom.args[0].IsConstant(constant)) return &atom.args[1];
  return atom.args[1].IsConstant(constant) ? &atom.args[0] : nullptr;
}

// The expression of which the atom is 1 where it is positive and 0 elsewhere.
const AffineExpr* PositiveOf(const AffineExpr::AtomNode& atom,
                             const AffineExpr::Ranges& ranges) {
  using Op = AffineExpr::Op;
  const AffineExpr* least = Beside(atom, Op::kMin, 1);
  const AffineExpr* most = Beside(atom, Op::kMax, 0);
  if (least != nullptr) {
    const auto* inner = OnlyAtom(*least);
    const AffineExpr* e =
        inner == nullptr ? nullptr : Beside(*inner, Op::kMax, 0);
    if (e != nullptr) return e;
    const auto bounds = least->Bounds(ranges);
    return bounds.has_value() && bounds->lo >= 0 ? least : nullptr;
  }
  if (most == nullptr) return nullptr;
  const auto* inner = OnlyAtom(*most);
  return inner == nullptr ? nullptr : Beside(*inner, Op::kMin, 1);
}

// Whether the condition is the same for all values of a name in [0, width): its
// tests compare the name with places at multiples of the width.
//
//   max(0, min(1, 4096 - 4*t - j)), 0 <= j < 4     yes: as for j = 0
bool IsSameForAll(const AffineExpr& e, const std::string& name, int64_t width,
                  const AffineExpr::Ranges& ranges) {
  if (!e.Mentions(name)) return true;
  const auto is_same = [&](const AffineExpr::Atom& atom) {
    if (atom->op == AffineExpr::Op::kSymbol) return atom->name != name;
    if (const AffineExpr* positive = PositiveOf(*atom, ranges)) {
      const AffineExpr first = positive->Substitute({{name, 0}});
      const AffineExpr symbol = AffineExpr::Symbol(name);
      if (*positive - first == symbol) {
        return AffineExpr::Mod(first - AffineExpr(1), width).IsConstant(0);
      }
      return first - *positive == symbol &&
             AffineExpr::Mod(first, width).IsConstant(0);
    }
    return absl::c_all_of(atom->args, [&](const AffineExpr& argument) {
      return IsSameForAll(argument, name, width, ranges);
    });
  };
  return absl::c_all_of(e.terms(), [&](const AffineExpr::Term& term) {
    return absl::c_all_of(term.factors, is_same);
  });
}

bool MentionsAny(const AffineExpr& e, const std::set<std::string>& names) {
  return absl::c_any_of(
      names, [&](const std::string& name) { return e.Mentions(name); });
}

}  // namespace

absl::Status KernelBuilder::Vector(
    int64_t width, absl::FunctionRef<absl::Status(const AffineExpr&)> body) {
  if (width == 1) return body(0);
  RETURN_IF_ERROR(Loop("j", kir::LoopKind::kUnroll, 0, width, body));
  RETURN_IF_ERROR(status());
  kir::Loop loop = std::move(*body_->back().As<kir::Loop>());
  body_->pop_back();
  Widen(std::move(loop));
  return absl::OkStatus();
}

void KernelBuilder::Widen(kir::Loop loop) {
  Neighbors neighbors;
  neighbors.name = loop.index;
  neighbors.width = *loop.stop.AsConstant();
  std::vector<kir::Statement>* body = &loop.body;
  while (kir::Loop* name = OnlyName(*body)) {
    neighbors.names[name->index] = name->start.Substitute(neighbors.names);
    body = &name->body;
  }
  bytes_at_once_ = bytes_one_by_one_ = 0;
  WidenStatements(body, &neighbors);
  std::set<std::string> varying = {neighbors.name};
  CountReads(loop.body, &varying);
  for (kir::Statement& statement : neighbors.before) Add(std::move(statement));
  Add(StatementOf(std::move(loop)));
  for (kir::Statement& statement : neighbors.behind) Add(std::move(statement));
}

// If all neighbors take the branch or none does, its vectors are under its
// condition: what it reads may lie behind the end of an array elsewhere.
void KernelBuilder::WidenBranch(kir::If* branch, Neighbors* neighbors) {
  AffineExpr predicate =
      branch->predicate.Substitute(neighbors->names).SimplifyIn(ranges_);
  if (!IsSameForAll(predicate, neighbors->name, neighbors->width, ranges_)) {
    return;
  }
  predicate = predicate.Substitute({{neighbors->name, 0}}).SimplifyIn(ranges_);
  branch->predicate = predicate;
  Neighbors taken = {
      neighbors->name, neighbors->width, neighbors->names, {}, {}};
  Neighbors otherwise = taken;
  WidenStatements(&branch->then_body, &taken);
  WidenStatements(&branch->else_body, &otherwise);
  const auto guard = [&](std::vector<kir::Statement> then_body,
                         std::vector<kir::Statement> else_body,
                         std::vector<kir::Statement>* place) {
    if (then_body.empty() && else_body.empty()) return;
    kir::If guarded;
    guarded.uniformity = branch->uniformity;
    guarded.predicate = predicate;
    guarded.then_body = std::move(then_body);
    guarded.else_body = std::move(else_body);
    place->push_back(StatementOf(std::move(guarded)));
  };
  guard(std::move(taken.before), std::move(otherwise.before),
        &neighbors->before);
  guard(std::move(taken.behind), std::move(otherwise.behind),
        &neighbors->behind);
}

void KernelBuilder::WidenStatements(std::vector<kir::Statement>* body,
                                    Neighbors* neighbors) {
  for (kir::Statement& statement : *body) {
    if (kir::If* branch = statement.As<kir::If>()) {
      WidenBranch(branch, neighbors);
      continue;
    }
    kir::Expr* expr = statement.As<kir::Expr>();
    if (expr == nullptr || expr->op != "copy") continue;
    auto* from = std::get_if<Operand>(&expr->arguments[0]);
    Operand* to = &expr->outputs[0];
    if (from == nullptr || TypeOf(*from) != TypeOf(*to)) continue;
    const bool loads = IsRegister(*to);
    if (IsRegister(*from) == loads) continue;
    Operand* const outside = loads ? from : to;
    const std::optional<Operand> place = VectorPlace(*outside, *neighbors);
    if (!place.has_value()) continue;
    if (loads) bytes_at_once_ += BytesOf(kernel_.buffers[outside->buffer]);
    Operand element;
    element.buffer = AddVector(TypeOf(*outside), neighbors->width);
    element.indices = {AffineExpr::Symbol(neighbors->name)};
    *outside = element;
    (loads ? neighbors->before : neighbors->behind)
        .push_back(loads ? CopyVector(element, *place, *neighbors)
                         : CopyVector(*place, element, *neighbors));
  }
}

void KernelBuilder::CountReads(const std::vector<kir::Statement>& body,
                               std::set<std::string>* varying) {
  for (const kir::Statement& statement : body) {
    if (const auto* loop = statement.As<kir::Loop>()) {
      if (MentionsAny(loop->start, *varying)) varying->insert(loop->index);
      CountReads(loop->body, varying);
    } else if (const auto* branch = statement.As<kir::If>()) {
      CountReads(branch->then_body, varying);
      CountReads(branch->else_body, varying);
    } else if (const auto* expr = statement.As<kir::Expr>()) {
      for (const kir::Argument& argument : expr->arguments) {
        const auto* operand = std::get_if<Operand>(&argument);
        if (operand == nullptr) continue;
        const kir::Buffer& buffer = kernel_.buffers[operand->buffer];
        if (!buffer.is_param) continue;
        // What a gather reads depends on values.
        if (expr->op == "gather" ||
            absl::c_any_of(operand->indices, [&](const AffineExpr& index) {
              return MentionsAny(index, *varying);
            })) {
          bytes_one_by_one_ += BytesOf(buffer);
        }
      }
    }
  }
}

// The operand without names from inside of the loop, if neighbors are next to
// each other in a parameter and the first is aligned.
std::optional<Operand> KernelBuilder::VectorPlace(
    const Operand& operand, const Neighbors& neighbors) const {
  const kir::Buffer& buffer = kernel_.buffers[operand.buffer];
  if (!buffer.is_param ||
      !kir::IsVector(kir::ElementBytes(buffer.type) * neighbors.width)) {
    return std::nullopt;
  }
  Operand place = operand;
  for (AffineExpr& index : place.indices) {
    index = index.Substitute(neighbors.names).SimplifyIn(ranges_);
  }
  const auto is_vector = [&] {
    return kir::FirstOfVector(buffer, place, neighbors.name, neighbors.width)
        .has_value();
  };
  if (is_vector()) return place;
  // What names around stand for may tell that it is aligned.
  for (AffineExpr& index : place.indices) {
    index = index.Substitute(values_).SimplifyIn(ranges_);
  }
  return is_vector() ? std::optional<Operand>(place) : std::nullopt;
}

kir::BufferId KernelBuilder::AddVector(kir::ElementType type, int64_t width) {
  const kir::BufferId id = AddLocal(type, {width});
  kernel_.buffers[id].vector_width = static_cast<int>(width);
  return id;
}

kir::Statement KernelBuilder::CopyVector(const Operand& to, const Operand& from,
                                         const Neighbors& neighbors) {
  kir::Loop loop;
  loop.index = absl::StrCat("j", names_++);
  loop.kind = kir::LoopKind::kVectorize;
  loop.stop = neighbors.width;
  ranges_[loop.index] = {0, neighbors.width - 1};
  const AffineExpr::Substitution name = {
      {neighbors.name, AffineExpr::Symbol(loop.index)}};
  const auto renamed = [&](Operand operand) {
    for (AffineExpr& index : operand.indices) index = index.Substitute(name);
    return operand;
  };
  kir::Expr copy;
  copy.outputs.push_back(renamed(to));
  copy.op = "copy";
  copy.arguments.push_back(renamed(from));
  loop.body.push_back(StatementOf(std::move(copy)));
  return StatementOf(std::move(loop));
}

}  // namespace xla::gpu
