#include "xla/backends/gpu/kernel_ir/affine_expr.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/affine_builder.h"

namespace xla::gpu {

using Interval = AffineExpr::Interval;
using Term = AffineExpr::Term;

// All zeros share one representation that is never freed: vectors of indices
// are filled with default values before they are set, which then costs no
// allocation.
AffineExpr::AffineExpr() {
  static const auto* zero = new std::shared_ptr<const Rep>([] {
    auto rep = std::make_shared<Rep>();
    rep->size = 1;
    return rep;
  }());
  rep_ = *zero;
}

AffineExpr::AffineExpr(int64_t value) {
  *this = value == 0 ? AffineExpr() : AffineBuilder::Constant(value);
}

AffineExpr AffineExpr::Symbol(absl::string_view name) {
  return AffineBuilder::FromAtom(Op::kSymbol, {}, std::string(name));
}

AffineExpr AffineExpr::Unknown() {
  Rep rep;
  rep.state = Rep::State::kUnknown;
  return AffineBuilder::Wrap(std::move(rep));
}

AffineExpr AffineExpr::FloorDiv(const AffineExpr& a, const AffineExpr& b) {
  return AffineBuilder().FloorDiv(a, b);
}
AffineExpr AffineExpr::CeilDiv(const AffineExpr& a, const AffineExpr& b) {
  return AffineBuilder().CeilDiv(a, b);
}
AffineExpr AffineExpr::Mod(const AffineExpr& a, const AffineExpr& b) {
  return AffineBuilder().Mod(a, b);
}
AffineExpr AffineExpr::Min(const AffineExpr& a, const AffineExpr& b) {
  return AffineBuilder().MinMax(Op::kMin, a, b);
}
AffineExpr AffineExpr::Max(const AffineExpr& a, const AffineExpr& b) {
  return AffineBuilder().MinMax(Op::kMax, a, b);
}
AffineExpr AffineExpr::AlignUp(const AffineExpr& a, const AffineExpr& b) {
  return AffineBuilder().AlignUp(a, b);
}
AffineExpr AffineExpr::And(const AffineExpr& a, const AffineExpr& b) {
  return AffineBuilder().And(a, b);
}
AffineExpr AffineExpr::Not(const AffineExpr& a) { return -a - AffineExpr(1); }
AffineExpr operator+(const AffineExpr& a, const AffineExpr& b) {
  return AffineBuilder().Add(a, b);
}
AffineExpr operator-(const AffineExpr& a, const AffineExpr& b) {
  return AffineBuilder().Add(a, -b);
}
AffineExpr operator*(const AffineExpr& a, const AffineExpr& b) {
  return AffineBuilder().Mul(a, b);
}
AffineExpr AffineExpr::operator-() const {
  return AffineBuilder().Scale(*this, -1);
}

// Compares term by term, in the order in which the builder keeps terms. Normal
// forms are unique as structures, so 0 means equal for all bindings; the sign
// has no meaning beyond being a total order.
int AffineExpr::Compare(const AffineExpr& a, const AffineExpr& b) {
  if (a.rep_ == b.rep_) return 0;
  const Rep& x = *a.rep_;
  const Rep& y = *b.rep_;
  if (x.state != y.state) return x.state < y.state ? -1 : 1;
  const size_t common = std::min(x.terms.size(), y.terms.size());
  for (size_t i = 0; i < common; ++i) {
    if (int c = AffineBuilder::CompareFactors(x.terms[i].factors,
                                              y.terms[i].factors)) {
      return c;
    }
    if (x.terms[i].coefficient != y.terms[i].coefficient) {
      return x.terms[i].coefficient < y.terms[i].coefficient ? -1 : 1;
    }
  }
  if (x.terms.size() != y.terms.size()) {
    return x.terms.size() < y.terms.size() ? -1 : 1;
  }
  return x.constant < y.constant ? -1 : x.constant > y.constant ? 1 : 0;
}

bool AffineExpr::IsUnknown() const {
  return rep_->state == Rep::State::kUnknown;
}

absl::Status AffineExpr::status() const {
  if (rep_->state != Rep::State::kFailed) return absl::OkStatus();
  return absl::OutOfRangeError(rep_->error);
}

bool AffineExpr::IsConstant() const { return IsValid() && rep_->terms.empty(); }
bool AffineExpr::IsConstant(int64_t value) const {
  return IsConstant() && rep_->constant == value;
}
std::optional<int64_t> AffineExpr::AsConstant() const {
  if (!IsConstant()) return std::nullopt;
  return rep_->constant;
}

std::optional<std::string> AffineExpr::AsSymbol() const {
  if (!IsValid() || rep_->constant != 0 || rep_->terms.size() != 1 ||
      rep_->terms[0].coefficient != 1 || rep_->terms[0].factors.size() != 1 ||
      rep_->terms[0].factors[0]->op != Op::kSymbol) {
    return std::nullopt;
  }
  return rep_->terms[0].factors[0]->name;
}

absl::btree_set<std::string> AffineExpr::Symbols() const {
  absl::btree_set<std::string> result;
  for (const Term& term : rep_->terms) {
    for (const Atom& atom : term.factors) {
      if (atom->op == Op::kSymbol) result.insert(atom->name);
      for (const AffineExpr& arg : atom->args) result.merge(arg.Symbols());
    }
  }
  return result;
}

bool AffineExpr::Mentions(absl::string_view symbol) const {
  for (const Term& term : rep_->terms) {
    for (const Atom& atom : term.factors) {
      if (atom->op == Op::kSymbol && atom->name == symbol) return true;
      for (const AffineExpr& arg : atom->args) {
        if (arg.Mentions(symbol)) return true;
      }
    }
  }
  return false;
}

std::optional<AffineExpr::Linear> AffineExpr::AsLinear() const {
  if (!IsValid()) return std::nullopt;
  Linear result;
  result.constant = rep_->constant;
  for (const Term& term : rep_->terms) {
    if (term.factors.size() != 1 || term.factors[0]->op != Op::kSymbol) {
      return std::nullopt;
    }
    result.coefficients[term.factors[0]->name] = term.coefficient;
  }
  return result;
}

AffineExpr AffineExpr::Substitute(const Substitution& substitution) const {
  return AffineBuilder().Rebuild(*this, substitution);
}

AffineExpr AffineExpr::Bind(const Binding& binding) const {
  Substitution substitution;
  for (const auto& [name, value] : binding) substitution[name] = value;
  return Substitute(substitution);
}

std::optional<Interval> AffineExpr::Bounds(const Ranges& ranges) const {
  return AffineBuilder{&ranges}.Bounds(*this);
}

AffineExpr AffineExpr::SimplifyIn(const Ranges& ranges) const {
  return AffineBuilder{&ranges}.Rebuild(*this, {});
}

int64_t AffineExpr::constant() const { return rep_->constant; }
absl::Span<const Term> AffineExpr::terms() const { return rep_->terms; }

}  // namespace xla::gpu
