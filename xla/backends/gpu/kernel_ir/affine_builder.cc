// Sums, products, bounds and substitution of normal forms.

#include "xla/backends/gpu/kernel_ir/affine_builder.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "xla/backends/gpu/kernel_ir/affine_arith.h"

// Index expressions are kept in a normal form: a sum of terms, each an integer
// coefficient times a sorted product of atoms, with terms sorted and like terms
// merged. Atoms are symbols or opaque operations (floor division, modulo,
// minimum, maximum, ...) whose arguments are normal forms themselves.
// Polynomials that are equal as polynomials are then equal in memory; equality
// across opaque operations relies on the rewrites made when they are built.
// Arithmetic is checked: an overflow, a division by zero or an expression that
// grows beyond the size limits yields an invalid expression, which poisons
// everything built from it.

namespace xla::gpu {
namespace {

using Atom = AffineExpr::Atom;
using Term = AffineExpr::Term;
using Op = AffineExpr::Op;
using Interval = AffineExpr::Interval;

int CompareAtoms(const Atom& a, const Atom& b) {
  if (a == b) return 0;
  if (a->op != b->op) return a->op < b->op ? -1 : 1;
  if (int c = a->name.compare(b->name); c != 0) return c < 0 ? -1 : 1;
  if (a->args.size() != b->args.size()) {
    return a->args.size() < b->args.size() ? -1 : 1;
  }
  for (size_t i = 0; i < a->args.size(); ++i) {
    if (int c = AffineExpr::Compare(a->args[i], b->args[i]); c != 0) return c;
  }
  return 0;
}

}  // namespace

int AffineBuilder::CompareFactors(const std::vector<Atom>& a,
                                  const std::vector<Atom>& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (int c = CompareAtoms(a[i], b[i]); c != 0) return c;
  }
  return 0;
}

std::optional<std::vector<AffineExpr::Atom>> AffineBuilder::DivideFactors(
    const std::vector<Atom>& a, const std::vector<Atom>& b) {
  std::vector<Atom> rest;
  size_t j = 0;
  for (const Atom& atom : a) {
    if (j < b.size() && CompareAtoms(atom, b[j]) == 0) {
      ++j;
    } else {
      rest.push_back(atom);
    }
  }
  if (j != b.size()) return std::nullopt;
  return rest;
}

// The normal form of a polynomial in its atoms: terms are sorted by their
// factors, like ones added up, and those that cancel gone. Equal polynomials
// then are equal term by term.
AffineExpr AffineBuilder::Finish(Rep rep) {
  std::sort(rep.terms.begin(), rep.terms.end(),
            [](const Term& a, const Term& b) {
              return CompareFactors(a.factors, b.factors) < 0;
            });
  std::vector<Term> merged;
  for (Term& term : rep.terms) {
    if (!merged.empty() &&
        CompareFactors(merged.back().factors, term.factors) == 0) {
      if (!CheckedAdd(merged.back().coefficient, term.coefficient,
                      &merged.back().coefficient)) {
        return Overflow();
      }
    } else {
      if (!merged.empty() && merged.back().coefficient == 0) {
        merged.pop_back();
      }
      merged.push_back(std::move(term));
    }
  }
  if (!merged.empty() && merged.back().coefficient == 0) merged.pop_back();
  rep.terms = std::move(merged);
  rep.depth = 0;
  rep.size = 1;
  for (const Term& term : rep.terms) {
    for (const Atom& atom : term.factors) {
      rep.depth = std::max(rep.depth, atom->depth);
      rep.size += 1;
      for (const AffineExpr& arg : atom->args) rep.size += Get(arg).size;
    }
  }
  if (rep.terms.size() > AffineExpr::kMaxTerms ||
      rep.depth > AffineExpr::kMaxDepth || rep.size > AffineExpr::kMaxSize) {
    return Fail("index expression is too large");
  }
  return Wrap(std::move(rep));
}

AffineExpr AffineBuilder::FromTerm(Term term) {
  Rep rep;
  rep.terms.push_back(std::move(term));
  return Finish(std::move(rep));
}

AffineExpr AffineBuilder::FromAtom(Op op, std::vector<AffineExpr> args,
                                   std::string name) {
  auto node = std::make_shared<AffineExpr::AtomNode>();
  node->op = op;
  node->name = std::move(name);
  node->depth = 0;
  for (const AffineExpr& arg : args) {
    node->depth = std::max(node->depth, Get(arg).depth + 1);
  }
  node->args = std::move(args);
  return FromTerm({1, {std::move(node)}});
}

// Undoes a division with remainder: c * (x / c) + x % c becomes x, also with a
// common factor. Such sums arise wherever an index is split and put together
// again.
AffineExpr AffineBuilder::Recombine(AffineExpr sum) const {
  for (const Term& term : Get(sum).terms) {
    if (term.factors.size() != 1 || term.factors[0]->op != Op::kMod) continue;
    const AffineExpr& x = term.factors[0]->args[0];
    const std::optional<int64_t> c = term.factors[0]->args[1].AsConstant();
    int64_t want;
    if (!c.has_value() || !CheckedMul(term.coefficient, *c, &want)) continue;
    const AffineExpr quotient = FloorDivConstant(x, *c);
    const Rep& q = Get(quotient);
    if (q.constant != 0 || q.terms.size() != 1 || q.terms[0].coefficient != 1) {
      continue;
    }
    for (const Term& other : Get(sum).terms) {
      if (other.coefficient != want ||
          CompareFactors(other.factors, q.terms[0].factors) != 0) {
        continue;
      }
      Rep rest = Get(sum);
      rest.terms.erase(
          std::remove_if(rest.terms.begin(), rest.terms.end(),
                         [&](const Term& t) {
                           return CompareFactors(t.factors, term.factors) ==
                                      0 ||
                                  CompareFactors(t.factors, other.factors) == 0;
                         }),
          rest.terms.end());
      return Add(Finish(std::move(rest)), Scale(x, term.coefficient));
    }
  }
  return sum;
}

AffineExpr AffineBuilder::Add(const AffineExpr& a, const AffineExpr& b) const {
  if (const AffineExpr* poison = Poison(a, b)) return *poison;
  Rep rep = Get(a);
  const Rep& other = Get(b);
  if (!CheckedAdd(rep.constant, other.constant, &rep.constant)) {
    return Overflow();
  }
  if (other.terms.empty()) return Wrap(std::move(rep));
  rep.terms.insert(rep.terms.end(), other.terms.begin(), other.terms.end());
  AffineExpr sum = Finish(std::move(rep));
  return sum.IsValid() ? Recombine(std::move(sum)) : sum;
}

AffineExpr AffineBuilder::Scale(const AffineExpr& a, int64_t factor) const {
  if (!a.IsValid()) return a;
  if (factor == 0) return AffineExpr();
  Rep rep = Get(a);
  bool fits = CheckedMul(rep.constant, factor, &rep.constant);
  for (Term& term : rep.terms) {
    fits = fits && CheckedMul(term.coefficient, factor, &term.coefficient);
  }
  if (!fits) return Overflow();
  return Wrap(std::move(rep));
}

// Multiplies out, so that equal products meet as equal terms and can cancel:
// j * (i + 1) - i * j is j. The number of products is bounded before any is
// made, since the product of n sums of two terms has 2^n. Factors of a term are
// sorted, for i * j and j * i to be one term.
AffineExpr AffineBuilder::Mul(const AffineExpr& a, const AffineExpr& b) const {
  if (const AffineExpr* poison = Poison(a, b)) return *poison;
  const Rep& x = Get(a);
  const Rep& y = Get(b);
  if (x.terms.empty()) return Scale(b, x.constant);
  if (y.terms.empty()) return Scale(a, y.constant);
  if (x.terms.size() * y.terms.size() > AffineExpr::kMaxTerms) {
    return Fail("index expression is too large");
  }
  Rep rep;
  bool fits = CheckedMul(x.constant, y.constant, &rep.constant);
  auto add = [&](const Term& term, int64_t factor) {
    if (factor == 0) return;
    Term scaled = term;
    fits = fits && CheckedMul(term.coefficient, factor, &scaled.coefficient);
    rep.terms.push_back(std::move(scaled));
  };
  for (const Term& s : x.terms) {
    add(s, y.constant);
    for (const Term& t : y.terms) {
      Term product = s;
      product.factors.insert(product.factors.end(), t.factors.begin(),
                             t.factors.end());
      std::sort(
          product.factors.begin(), product.factors.end(),
          [](const Atom& p, const Atom& q) { return CompareAtoms(p, q) < 0; });
      if (product.factors.size() > AffineExpr::kMaxDepth) {
        return Fail("index expression is too large");
      }
      fits = fits &&
             CheckedMul(s.coefficient, t.coefficient, &product.coefficient);
      rep.terms.push_back(std::move(product));
    }
  }
  for (const Term& t : y.terms) add(t, x.constant);
  if (!fits) return Overflow();
  AffineExpr result = Finish(std::move(rep));
  return result.IsValid() ? Recombine(std::move(result)) : result;
}

// Builds the expression again from its leaves, with symbols replaced. Since
// every operation simplifies, new ranges or constants take effect at all
// levels.
AffineExpr AffineBuilder::Rebuild(
    const AffineExpr& e, const AffineExpr::Substitution& substitution) const {
  if (!e.IsValid()) return e;
  AffineExpr sum = Constant(Get(e).constant);
  for (const Term& term : Get(e).terms) {
    AffineExpr product = Constant(term.coefficient);
    for (const Atom& atom : term.factors) {
      if (atom->op == Op::kSymbol) {
        auto it = substitution.find(atom->name);
        product =
            Mul(product,
                it != substitution.end() ? it->second : FromTerm({1, {atom}}));
        continue;
      }
      std::vector<AffineExpr> args;
      for (const AffineExpr& arg : atom->args) {
        args.push_back(Rebuild(arg, substitution));
      }
      AffineExpr value = args[0];
      for (size_t i = 1; i < args.size(); ++i) {
        switch (atom->op) {
          case Op::kFloorDiv:
            value = FloorDiv(value, args[i]);
            break;
          case Op::kMod:
            value = Mod(value, args[i]);
            break;
          case Op::kAlignUp:
            value = AlignUp(value, args[i]);
            break;
          case Op::kAnd:
            value = And(value, args[i]);
            break;
          default:
            value = MinMax(atom->op, value, args[i]);
        }
      }
      product = Mul(product, value);
    }
    sum = Add(sum, product);
  }
  return sum;
}

std::optional<Interval> AffineBuilder::AtomBounds(
    const AffineExpr::AtomNode& atom) const {
  if (atom.op == Op::kSymbol) {
    if (ranges == nullptr) return std::nullopt;
    auto it = ranges->find(atom.name);
    if (it == ranges->end()) return std::nullopt;
    return it->second;
  }
  std::vector<std::optional<Interval>> args;
  for (const AffineExpr& arg : atom.args) args.push_back(Bounds(arg));
  const std::optional<Interval>& x = args[0];
  if (atom.op == Op::kMin || atom.op == Op::kMax) {
    std::optional<Interval> result = x;
    for (const std::optional<Interval>& y : args) {
      if (!result.has_value() || !y.has_value()) return std::nullopt;
      result = atom.op == Op::kMin ? Interval{std::min(result->lo, y->lo),
                                              std::min(result->hi, y->hi)}
                                   : Interval{std::max(result->lo, y->lo),
                                              std::max(result->hi, y->hi)};
    }
    return result;
  }
  const std::optional<Interval>& y = args[1];
  if (atom.op == Op::kAnd) {
    // A non-negative operand bounds the result.
    int64_t hi = -1;
    for (const std::optional<Interval>& v : args) {
      if (v.has_value() && v->lo >= 0 && (hi < 0 || v->hi < hi)) hi = v->hi;
    }
    if (hi < 0) return std::nullopt;
    return Interval{0, hi};
  }
  if (!y.has_value() || y->lo <= 0) return std::nullopt;
  switch (atom.op) {
    case Op::kMod:
      if (x.has_value() && x->lo >= 0 && x->hi < y->lo) return x;
      return Interval{0, y->hi - 1};
    case Op::kFloorDiv:
      if (!x.has_value()) return std::nullopt;
      return Interval{FloorDivide(x->lo, x->lo >= 0 ? y->hi : y->lo),
                      FloorDivide(x->hi, x->hi >= 0 ? y->lo : y->hi)};
    default: {
      if (!x.has_value()) return std::nullopt;
      Interval result = *x;
      if (y->lo != y->hi) {
        if (!CheckedAdd(x->hi, y->hi - 1, &result.hi)) return std::nullopt;
      } else if (!CheckedAlignUp(x->lo, y->lo, &result.lo) ||
                 !CheckedAlignUp(x->hi, y->lo, &result.hi)) {
        return std::nullopt;
      }
      return result;
    }
  }
}

// Interval arithmetic over the normal form: sound, but it treats repeated atoms
// as independent, so bounds may be wider than necessary.
std::optional<Interval> AffineBuilder::Bounds(const AffineExpr& e) const {
  if (!e.IsValid()) return std::nullopt;
  Interval sum{Get(e).constant, Get(e).constant};
  for (const Term& term : Get(e).terms) {
    Interval product{term.coefficient, term.coefficient};
    for (const Atom& atom : term.factors) {
      const std::optional<Interval> v = AtomBounds(*atom);
      int64_t corner[4];
      if (!v.has_value() || !CheckedMul(product.lo, v->lo, &corner[0]) ||
          !CheckedMul(product.lo, v->hi, &corner[1]) ||
          !CheckedMul(product.hi, v->lo, &corner[2]) ||
          !CheckedMul(product.hi, v->hi, &corner[3])) {
        return std::nullopt;
      }
      product = {*std::min_element(corner, corner + 4),
                 *std::max_element(corner, corner + 4)};
    }
    if (!CheckedAdd(sum.lo, product.lo, &sum.lo) ||
        !CheckedAdd(sum.hi, product.hi, &sum.hi)) {
      return std::nullopt;
    }
  }
  return sum;
}

}  // namespace xla::gpu
