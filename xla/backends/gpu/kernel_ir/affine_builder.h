#ifndef XLA_BACKENDS_GPU_KERNEL_IR_AFFINE_BUILDER_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_AFFINE_BUILDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"

// Shared by AffineExpr's files; not included elsewhere.

namespace xla::gpu {

struct AffineExpr::Rep {
  enum class State { kValid, kUnknown, kFailed };
  State state = State::kValid;
  std::string error;  // kFailed.
  int64_t constant = 0;
  std::vector<Term> terms;
  int depth = 0;
  int64_t size = 0;
};

// Builds normal forms. `ranges`, if given, decides divisions, remainders, min
// and max that are not decided for all values.
struct AffineBuilder {
  using Rep = AffineExpr::Rep;
  using Atom = AffineExpr::Atom;
  using Term = AffineExpr::Term;
  using Op = AffineExpr::Op;
  using Interval = AffineExpr::Interval;
  using State = Rep::State;

  const AffineExpr::Ranges* ranges = nullptr;

  static AffineExpr Wrap(Rep rep) {
    return AffineExpr(std::make_shared<const Rep>(std::move(rep)));
  }
  static const Rep& Get(const AffineExpr& e) { return *e.rep_; }

  static AffineExpr Fail(absl::string_view error) {
    Rep rep;
    rep.state = State::kFailed;
    rep.error = std::string(error);
    return Wrap(std::move(rep));
  }
  static AffineExpr Overflow() { return Fail("index expression overflows"); }

  // The operand that absorbs the operation, if there is one; failures first.
  static const AffineExpr* Poison(const AffineExpr& a, const AffineExpr& b) {
    if (!a.status().ok()) return &a;
    if (!b.status().ok()) return &b;
    if (a.IsUnknown()) return &a;
    if (b.IsUnknown()) return &b;
    return nullptr;
  }

  // Sorts and merges the terms of `rep`, and checks its size.
  static AffineExpr Finish(Rep rep);
  static AffineExpr Constant(int64_t value) {
    Rep rep;
    rep.constant = value;
    rep.size = 1;
    return Wrap(std::move(rep));
  }

  static AffineExpr FromTerm(AffineExpr::Term term);
  static AffineExpr FromAtom(Op op, std::vector<AffineExpr> args,
                             std::string name = "");

  // c * x / c's floor and c's remainder of it, as one sum, are x again.
  AffineExpr Recombine(AffineExpr sum) const;
  AffineExpr Add(const AffineExpr& a, const AffineExpr& b) const;
  AffineExpr Scale(const AffineExpr& a, int64_t factor) const;
  AffineExpr Mul(const AffineExpr& a, const AffineExpr& b) const;
  AffineExpr FloorDiv(const AffineExpr& a, const AffineExpr& b) const;
  AffineExpr FloorDivConstant(const AffineExpr& a, int64_t c) const;
  AffineExpr CeilDiv(const AffineExpr& a, const AffineExpr& b) const;
  AffineExpr Mod(const AffineExpr& a, const AffineExpr& b) const;
  AffineExpr ModConstant(const AffineExpr& a, int64_t c) const;
  AffineExpr MinMax(Op op, const AffineExpr& a, const AffineExpr& b) const;
  AffineExpr AlignUp(const AffineExpr& a, const AffineExpr& b) const;
  AffineExpr AlignUpConstant(const AffineExpr& a, int64_t c) const;
  AffineExpr And(const AffineExpr& a, const AffineExpr& b) const;
  AffineExpr Rebuild(const AffineExpr& e,
                     const AffineExpr::Substitution& substitution) const;

  // By degree, higher first, then by the factors.
  static int CompareFactors(const std::vector<Atom>& a,
                            const std::vector<Atom>& b);
  // The factors of `a` without those of `b`, if `a` has all of these.
  static std::optional<std::vector<Atom>> DivideFactors(
      const std::vector<Atom>& a, const std::vector<Atom>& b);

  // a == c * quotient + remainder, with the remainder's coefficients in
  // (-c, c) and its constant in [0, c).
  struct Split {
    AffineExpr quotient, remainder;
    int64_t gcd;  // Of c and the remainder's coefficients.
  };
  static Split SplitBy(const AffineExpr& a, int64_t c);
  // factor * high + low, with low in [0, factor) and factor a divisor of c.
  struct LowPart {
    AffineExpr high, low;
    int64_t factor;
  };
  std::optional<LowPart> SplitOffLow(const AffineExpr& e, int64_t c) const;

  std::optional<Interval> Bounds(const AffineExpr& e) const;
  std::optional<Interval> AtomBounds(const AffineExpr::AtomNode& atom) const;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_AFFINE_BUILDER_H_
