// Division, remainder, alignment, min, max and bitwise and of normal forms.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "xla/backends/gpu/kernel_ir/affine_arith.h"
#include "xla/backends/gpu/kernel_ir/affine_builder.h"

namespace xla::gpu {
namespace {

using Atom = AffineExpr::Atom;
using Term = AffineExpr::Term;
using Op = AffineExpr::Op;
using Interval = AffineExpr::Interval;

// Whether b divides a, and what it leaves of it then. Nothing for the one
// quotient that does not fit.
std::optional<int64_t> ExactQuotient(int64_t a, int64_t b) {
  if (a == std::numeric_limits<int64_t>::min() && b == -1) return std::nullopt;
  return a % b == 0 ? std::make_optional(a / b) : std::nullopt;
}

bool IsPowerOfTwo(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

}  // namespace

AffineBuilder::Split AffineBuilder::SplitBy(const AffineExpr& a, int64_t c) {
  Rep quotient, remainder;
  int64_t gcd = c;
  for (const Term& term : Get(a).terms) {
    const int64_t q = term.coefficient / c, r = term.coefficient % c;
    if (q != 0) quotient.terms.push_back({q, term.factors});
    if (r != 0) remainder.terms.push_back({r, term.factors});
    gcd = std::gcd(gcd, r);
  }
  quotient.constant = FloorDivide(Get(a).constant, c);
  remainder.constant = FloorRemainder(Get(a).constant, c);
  return {Finish(std::move(quotient)), Finish(std::move(remainder)), gcd};
}

// Where e is factor * high + low and 0 <= low < factor, for the largest factor
// of a coefficient and of c that leaves such a rest.
std::optional<AffineBuilder::LowPart> AffineBuilder::SplitOffLow(
    const AffineExpr& e, int64_t c) const {
  std::optional<LowPart> best;
  for (const Term& candidate : Get(e).terms) {
    const int64_t factor = std::gcd(candidate.coefficient, c);
    if (factor == 1 || (best.has_value() && factor <= best->factor)) continue;
    Rep high, low;
    for (const Term& term : Get(e).terms) {
      if (term.coefficient % factor == 0) {
        high.terms.push_back({term.coefficient / factor, term.factors});
      } else {
        low.terms.push_back(term);
      }
    }
    high.constant = FloorDivide(Get(e).constant, factor);
    low.constant = FloorRemainder(Get(e).constant, factor);
    const AffineExpr rest = Finish(std::move(low));
    const std::optional<Interval> bounds = Bounds(rest);
    if (!bounds.has_value() || bounds->lo < 0 || bounds->hi >= factor) continue;
    best = {Finish(std::move(high)), rest, factor};
  }
  return best;
}

// Splits off multiples of c, which leaves coefficients smaller than c in
// magnitude and a constant in [0, c). The remainder is then divided by the
// common factor of c and all coefficients, replaced by a constant if its bounds
// fall between two neighboring multiples of c, or merged with an inner
// division or modulo. Only what resists all of this stays a division. Rounding
// is towards minus infinity throughout, for which these identities hold without
// conditions on signs.
AffineExpr AffineBuilder::FloorDivConstant(const AffineExpr& a,
                                           int64_t c) const {
  if (c == 1) return a;
  auto [quotient, remainder, gcd] = SplitBy(a, c);
  if (Get(remainder).terms.empty()) return quotient;
  if (gcd > 1) {
    // Exact for the terms; the constant, in [0, c), rounds down with them.
    Rep reduced = Get(remainder);
    for (Term& term : reduced.terms) term.coefficient /= gcd;
    reduced.constant /= gcd;
    return Add(quotient, FloorDivConstant(Finish(std::move(reduced)), c / gcd));
  }
  if (std::optional<Interval> b = Bounds(remainder);
      b.has_value() && FloorDivide(b->lo, c) == FloorDivide(b->hi, c)) {
    return Add(quotient, Constant(FloorDivide(b->lo, c)));
  }
  // A part that is always less than what the others are multiples of decides
  // nothing.
  if (std::optional<LowPart> part = SplitOffLow(remainder, c)) {
    return Add(quotient, FloorDivConstant(part->high, c / part->factor));
  }
  const Rep& r = Get(remainder);
  // (x / d + y) / c is (x + d*y) / (d*c).
  for (const Term& term : r.terms) {
    if (term.coefficient != 1 || term.factors.size() != 1) continue;
    const AffineExpr::AtomNode& atom = *term.factors[0];
    if (atom.op != Op::kFloorDiv && atom.op != Op::kMod) continue;
    const std::optional<int64_t> d = atom.args[1].AsConstant();
    if (!d.has_value()) continue;
    if (atom.op == Op::kFloorDiv) {
      int64_t product;
      if (!CheckedMul(*d, c, &product)) continue;
      const AffineExpr rest = Add(remainder, Scale(FromTerm(term), -1));
      const AffineExpr dividend = Add(atom.args[0], Scale(rest, *d));
      if (!dividend.IsValid()) continue;
      return Add(quotient, FloorDivConstant(dividend, product));
    }
    // (x % d) / c is (x / c) % (d / c) where c divides d.
    if (r.terms.size() == 1 && r.constant == 0 && *d % c == 0) {
      return Add(quotient,
                 ModConstant(FloorDivConstant(atom.args[0], c), *d / c));
    }
  }
  return Add(quotient, FromAtom(Op::kFloorDiv, {remainder, Constant(c)}));
}

AffineExpr AffineBuilder::FloorDiv(const AffineExpr& a,
                                   const AffineExpr& b) const {
  if (const AffineExpr* poison = Poison(a, b)) return *poison;
  if (std::optional<int64_t> c = b.AsConstant()) {
    if (*c == 0) return Fail("division by zero in an index expression");
    if (*c > 0) return FloorDivConstant(a, *c);
    if (*c == std::numeric_limits<int64_t>::min()) return Overflow();
    const AffineExpr negated = Scale(a, -1);
    return negated.IsValid() ? FloorDivConstant(negated, -*c) : negated;
  }
  const Rep& x = Get(a);
  const Rep& y = Get(b);
  if (x.terms.empty() && x.constant == 0) return a;
  // A multiple of b.
  if (!x.terms.empty()) {
    const std::optional<int64_t> k =
        ExactQuotient(x.terms[0].coefficient, y.terms[0].coefficient);
    if (k.has_value() && Scale(b, *k) == a) return Constant(*k);
  }
  if (y.terms.size() == 1 && y.constant == 0) {
    // The terms that b, one product, divides leave exactly.
    Rep quotient, rest;
    rest.constant = x.constant;
    const Term& divisor = y.terms[0];
    for (const Term& term : x.terms) {
      std::optional<std::vector<Atom>> factors =
          DivideFactors(term.factors, divisor.factors);
      const std::optional<int64_t> k =
          ExactQuotient(term.coefficient, divisor.coefficient);
      if (!factors.has_value() || !k.has_value()) {
        rest.terms.push_back(term);
      } else if (factors->empty()) {
        quotient.constant += *k;
      } else {
        quotient.terms.push_back({*k, *std::move(factors)});
      }
    }
    if (!quotient.terms.empty() || quotient.constant != 0) {
      const AffineExpr remainder = Finish(std::move(rest));
      return Add(Finish(std::move(quotient)), FloorDiv(remainder, b));
    }
  }
  if (std::optional<Interval> p = Bounds(a), q = Bounds(b);
      p.has_value() && q.has_value() && p->lo >= 0 && p->hi < q->lo) {
    return AffineExpr();
  }
  return FromAtom(Op::kFloorDiv, {a, b});
}

AffineExpr AffineBuilder::CeilDiv(const AffineExpr& a,
                                  const AffineExpr& b) const {
  if (const AffineExpr* poison = Poison(a, b)) return *poison;
  if (std::optional<int64_t> c = b.AsConstant(); c.has_value() && *c <= 0) {
    return Fail("ceildiv by a number that is not positive");
  }
  // Exactly divisible: no rounding to write down.
  const AffineExpr quotient = FloorDiv(a, b);
  if (quotient.IsValid() && Mul(quotient, b) == a) return quotient;
  return FloorDiv(Add(a, Add(b, Constant(-1))), b);
}

// The steps of FloorDivConstant, each of which keeps what the division drops.
AffineExpr AffineBuilder::ModConstant(const AffineExpr& a, int64_t c) const {
  if (c == 1) return AffineExpr();
  auto [quotient, remainder, gcd] = SplitBy(a, c);
  if (Get(remainder).terms.empty()) return remainder;
  if (gcd > 1) {
    Rep reduced = Get(remainder);
    for (Term& term : reduced.terms) term.coefficient /= gcd;
    const int64_t low = reduced.constant % gcd;
    reduced.constant /= gcd;
    return Add(Scale(ModConstant(Finish(std::move(reduced)), c / gcd), gcd),
               Constant(low));
  }
  if (std::optional<Interval> b = Bounds(remainder);
      b.has_value() && FloorDivide(b->lo, c) == FloorDivide(b->hi, c)) {
    int64_t back;
    if (CheckedMul(FloorDivide(b->lo, c), -c, &back)) {
      return Add(remainder, Constant(back));
    }
  }
  if (std::optional<LowPart> part = SplitOffLow(remainder, c)) {
    return Add(Scale(ModConstant(part->high, c / part->factor), part->factor),
               part->low);
  }
  // A remainder of a multiple of c inside does not matter.
  for (const Term& term : Get(remainder).terms) {
    if (term.factors.size() != 1 || term.factors[0]->op != Op::kMod) continue;
    const AffineExpr::AtomNode& atom = *term.factors[0];
    const std::optional<int64_t> d = atom.args[1].AsConstant();
    int64_t product;
    if (!d.has_value() || !CheckedMul(*d, term.coefficient, &product) ||
        product % c != 0) {
      continue;
    }
    const AffineExpr rest = Add(remainder, Scale(FromTerm(term), -1));
    const AffineExpr whole = Add(rest, Scale(atom.args[0], term.coefficient));
    if (whole.IsValid()) return ModConstant(whole, c);
  }
  return FromAtom(Op::kMod, {remainder, Constant(c)});
}

AffineExpr AffineBuilder::Mod(const AffineExpr& a, const AffineExpr& b) const {
  if (const AffineExpr* poison = Poison(a, b)) return *poison;
  if (std::optional<int64_t> c = b.AsConstant()) {
    if (*c == 0) return Fail("remainder by zero in an index expression");
    if (*c > 0) return ModConstant(a, *c);
    if (*c == std::numeric_limits<int64_t>::min()) return Overflow();
    const AffineExpr negated = Scale(a, -1);
    return negated.IsValid() ? Scale(ModConstant(negated, -*c), -1) : negated;
  }
  const AffineExpr quotient = FloorDiv(a, b);
  if (!quotient.IsValid()) return quotient;
  // Whatever left exactly is no part of the remainder.
  const AffineExpr exact = [&] {
    Rep rep = Get(quotient);
    rep.terms.erase(
        std::remove_if(rep.terms.begin(), rep.terms.end(),
                       [&](const Term& t) {
                         for (const Atom& f : t.factors) {
                           if (f->op == Op::kFloorDiv && f->args[1] == b) {
                             return true;
                           }
                         }
                         return false;
                       }),
        rep.terms.end());
    return Finish(std::move(rep));
  }();
  const AffineExpr rest = Add(a, Scale(Mul(exact, b), -1));
  if (exact == quotient || !rest.IsValid()) return rest;
  return FromAtom(Op::kMod, {rest, b});
}

AffineExpr AffineBuilder::MinMax(Op op, const AffineExpr& a,
                                 const AffineExpr& b) const {
  if (const AffineExpr* poison = Poison(a, b)) return *poison;
  std::vector<AffineExpr> args;
  auto flatten = [&](const AffineExpr& e) {
    const Rep& rep = Get(e);
    if (rep.constant == 0 && rep.terms.size() == 1 &&
        rep.terms[0].coefficient == 1 && rep.terms[0].factors.size() == 1 &&
        rep.terms[0].factors[0]->op == op) {
      const std::vector<AffineExpr>& inner = rep.terms[0].factors[0]->args;
      args.insert(args.end(), inner.begin(), inner.end());
    } else {
      args.push_back(e);
    }
  };
  flatten(a);
  flatten(b);
  if (args.size() > 256) return Fail("index expression is too large");
  // Drops each argument that another one always beats. An argument that has
  // been beaten beats no other, so that one of several equal ones is left.
  std::sort(args.begin(), args.end());
  std::vector<bool> beaten(args.size(), false);
  for (size_t i = 0; i < args.size(); ++i) {
    for (size_t j = 0; j < args.size() && !beaten[i]; ++j) {
      if (i == j || beaten[j]) continue;
      const AffineExpr difference = Add(args[i], Scale(args[j], -1));
      if (!difference.IsValid()) continue;
      const std::optional<Interval> d = Bounds(difference);
      if (!d.has_value()) continue;
      beaten[i] = op == Op::kMin ? d->lo >= 0 : d->hi <= 0;
    }
  }
  std::vector<AffineExpr> left;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!beaten[i]) left.push_back(args[i]);
  }
  if (left.size() == 1) return left[0];
  return FromAtom(op, std::move(left));
}

AffineExpr AffineBuilder::AlignUpConstant(const AffineExpr& a,
                                          int64_t c) const {
  if (c == 1) return a;
  auto [quotient, remainder, gcd] = SplitBy(a, c);
  const AffineExpr base = Scale(quotient, c);
  const Rep& r = Get(remainder);
  if (r.terms.empty()) {
    return Add(base, Constant(r.constant == 0 ? 0 : c));
  }
  if (gcd > 1) {
    Rep reduced = r;
    for (Term& term : reduced.terms) term.coefficient /= gcd;
    reduced.constant = FloorDivide(reduced.constant + gcd - 1, gcd);
    return Add(
        base, Scale(AlignUpConstant(Finish(std::move(reduced)), c / gcd), gcd));
  }
  if (std::optional<Interval> b = Bounds(remainder)) {
    int64_t lo, hi;
    if (CheckedAlignUp(b->lo, c, &lo) && CheckedAlignUp(b->hi, c, &hi) &&
        lo == hi) {
      return Add(base, Constant(lo));
    }
  }
  // alignup(alignup(x, d) + d*y, c) is alignup(x + d*y, c) where d divides c,
  // and the inner one where c divides d.
  for (const Term& term : r.terms) {
    if (term.coefficient != 1 || term.factors.size() != 1 ||
        term.factors[0]->op != Op::kAlignUp) {
      continue;
    }
    const AffineExpr::AtomNode& atom = *term.factors[0];
    const std::optional<int64_t> d = atom.args[1].AsConstant();
    if (!d.has_value()) continue;
    const AffineExpr rest = Add(remainder, Scale(FromTerm(term), -1));
    if (*d % c == 0) {
      return Add(Add(base, FromTerm(term)), AlignUpConstant(rest, c));
    }
    if (c % *d == 0 && ModConstant(rest, *d) == AffineExpr()) {
      return Add(base, AlignUpConstant(Add(rest, atom.args[0]), c));
    }
  }
  return Add(base, FromAtom(Op::kAlignUp, {remainder, Constant(c)}));
}

AffineExpr AffineBuilder::AlignUp(const AffineExpr& a,
                                  const AffineExpr& b) const {
  if (const AffineExpr* poison = Poison(a, b)) return *poison;
  if (std::optional<int64_t> c = b.AsConstant()) {
    if (*c <= 0) return Fail("alignup to a number that is not positive");
    return AlignUpConstant(a, *c);
  }
  const AffineExpr quotient = FloorDiv(a, b);
  if (quotient.IsValid() && Mul(quotient, b) == a) return a;
  return FromAtom(Op::kAlignUp, {a, b});
}

AffineExpr AffineBuilder::And(const AffineExpr& a, const AffineExpr& b) const {
  if (const AffineExpr* poison = Poison(a, b)) return *poison;
  const std::optional<int64_t> x = a.AsConstant(), y = b.AsConstant();
  if (x.has_value() && y.has_value()) return Constant(*x & *y);
  if (x.has_value()) return And(b, a);
  if (a == b) return a;
  if (y.has_value()) {
    if (*y == 0) return AffineExpr();
    if (*y == -1) return a;
    if (*y > 0 && *y < std::numeric_limits<int64_t>::max() &&
        IsPowerOfTwo(*y + 1)) {
      return ModConstant(a, *y + 1);
    }
    if (*y < 0 && *y > std::numeric_limits<int64_t>::min() &&
        IsPowerOfTwo(-*y)) {
      return AlignUp(Add(a, Constant(*y + 1)), Constant(-*y));
    }
  }
  return b < a ? FromAtom(Op::kAnd, {b, a}) : FromAtom(Op::kAnd, {a, b});
}

}  // namespace xla::gpu
