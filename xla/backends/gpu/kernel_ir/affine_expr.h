#ifndef XLA_BACKENDS_GPU_KERNEL_IR_AFFINE_EXPR_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_AFFINE_EXPR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace xla::gpu {

// An integer index expression in normal form: a sum of constant * product of
// atoms, where an atom is a symbol ("i", "tid.x", "H") or one of the operations
// that a sum cannot hold (floor division, floor remainder, min, max, alignup,
// bitwise and). Every constructor simplifies exactly, without knowing ranges:
//
//   H*W - W*H            ->  0               4*i + 2*i           ->  6*i
//   (8*j + i) / 8        ->  j + i / 8       (8*j + i) % 8       ->  i % 8
//   (i / 4) / 8          ->  i / 32          (H*W) / W           ->  H
//   ceildiv(8*H + 1, 8)  ->  H + 1           min(i, i + 3)       ->  i
//   (x + 127) & ~127     ->  alignup(x, 128)
//   alignup(12, 16)      ->  16
//
// so two expressions with the same normal form are equal for all bindings.
// `/` and `%` are floor division and its remainder (C's where the dividend is
// not negative); ceildiv and alignup ask for a positive second operand.
//
// Two kinds of values are not numbers: Unknown() (the `?` of the text format)
// and the result of an operation that overflowed int64_t, divided by the
// constant zero or exceeded kMaxTerms, kMaxDepth or kMaxSize. Both absorb what
// they are combined with; status() tells them apart. Values are immutable and
// cheap to copy.
class AffineExpr {
 public:
  // Limits of one expression: terms of a sum, nesting depth of operations, and
  // symbols and operations in all, written out as a tree.
  static constexpr int kMaxTerms = 1024;
  static constexpr int kMaxDepth = 64;
  static constexpr int64_t kMaxSize = 1 << 16;

  enum class Op { kSymbol, kFloorDiv, kMod, kMin, kMax, kAlignUp, kAnd };

  // The value of a symbol, and the closed interval that it lies in.
  using Binding = absl::btree_map<std::string, int64_t>;
  using Substitution = absl::btree_map<std::string, AffineExpr>;
  struct Interval {
    int64_t lo, hi;
  };
  using Ranges = absl::btree_map<std::string, Interval>;

  AffineExpr();               // The constant 0.
  AffineExpr(int64_t value);  // NOLINT: sizes are written as numbers.

  static AffineExpr Symbol(absl::string_view name);
  static AffineExpr Unknown();
  static AffineExpr FloorDiv(const AffineExpr& a, const AffineExpr& b);
  static AffineExpr CeilDiv(const AffineExpr& a, const AffineExpr& b);
  static AffineExpr Mod(const AffineExpr& a, const AffineExpr& b);
  static AffineExpr Min(const AffineExpr& a, const AffineExpr& b);
  static AffineExpr Max(const AffineExpr& a, const AffineExpr& b);
  // The least multiple of `b` that is >= `a`.
  static AffineExpr AlignUp(const AffineExpr& a, const AffineExpr& b);
  static AffineExpr And(const AffineExpr& a, const AffineExpr& b);
  static AffineExpr Not(const AffineExpr& a);  // -a - 1.

  friend AffineExpr operator+(const AffineExpr& a, const AffineExpr& b);
  friend AffineExpr operator-(const AffineExpr& a, const AffineExpr& b);
  friend AffineExpr operator*(const AffineExpr& a, const AffineExpr& b);
  AffineExpr operator-() const;

  // Structural equality and a total order of normal forms (not of values).
  // Unknown() equals Unknown(), which says nothing of what they stand for.
  friend bool operator==(const AffineExpr& a, const AffineExpr& b) {
    return Compare(a, b) == 0;
  }
  friend bool operator!=(const AffineExpr& a, const AffineExpr& b) {
    return Compare(a, b) != 0;
  }
  friend bool operator<(const AffineExpr& a, const AffineExpr& b) {
    return Compare(a, b) < 0;
  }
  static int Compare(const AffineExpr& a, const AffineExpr& b);

  bool IsUnknown() const;
  // OutOfRange where an operation failed; OK for Unknown().
  absl::Status status() const;
  // A number: neither unknown nor failed.
  bool IsValid() const { return !IsUnknown() && status().ok(); }
  bool IsConstant() const;
  bool IsConstant(int64_t value) const;
  std::optional<int64_t> AsConstant() const;
  // The name when the expression is one symbol alone.
  std::optional<std::string> AsSymbol() const;

  // The names that occur, in order.
  absl::btree_set<std::string> Symbols() const;
  bool Mentions(absl::string_view symbol) const;

  // constant + sum of coefficient * symbol; nothing when some term is not
  // linear. Coefficients are never zero.
  struct Linear {
    int64_t constant = 0;
    absl::btree_map<std::string, int64_t> coefficients;
  };
  std::optional<Linear> AsLinear() const;

  // The value under `binding`. FailedPrecondition names a symbol without one;
  // OutOfRange on overflow or division by zero.
  absl::StatusOr<int64_t> Evaluate(const Binding& binding) const;
  AffineExpr Substitute(const Substitution& substitution) const;
  AffineExpr Bind(const Binding& binding) const;

  // Bounds of the value when every symbol lies in its interval; nothing when a
  // symbol has none or the bounds leave int64_t. Never too narrow.
  std::optional<Interval> Bounds(const Ranges& ranges) const;
  // The same value for all symbols inside `ranges`, with divisions, remainders,
  // min and max that the ranges decide taken out: (4*i + j) / 4 -> i for
  // 0 <= j < 4. Symbols without a range may take any value.
  AffineExpr SimplifyIn(const Ranges& ranges) const;

  // Canonical text in the grammar of .kir files: equal expressions print alike,
  // and parsing gives the expression back. Positive terms come first, the
  // constant last: "H - i - 1", "4*tid.x + i / 2", "ceildiv(H, 4)".
  std::string ToString() const;

  // ---- Traversal, for emitters and compiled evaluation
  // -----------------------

  struct AtomNode;
  using Atom = std::shared_ptr<const AtomNode>;
  struct Term {
    int64_t coefficient;        // Never 0.
    std::vector<Atom> factors;  // Sorted; empty never (see constant()).
  };
  int64_t constant() const;
  absl::Span<const Term> terms() const;

 private:
  struct Rep;
  friend struct AffineBuilder;
  explicit AffineExpr(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}
  std::shared_ptr<const Rep> rep_;
};

// A symbol, or an operation on normal forms.
struct AffineExpr::AtomNode {
  Op op;
  std::string name;              // kSymbol.
  std::vector<AffineExpr> args;  // The others: 2, or more for kMin, kMax.
  int depth;                     // 0 for symbols.
};

// Reads one expression from the front of `*text` and removes it; blanks before
// it go too. It ends before the first character that cannot continue it (`,`,
// `)`, `]`, a name...). Names are [A-Za-z_][A-Za-z0-9_.]*; a `%` directly
// before a name where an operand is expected is skipped, so `%i` reads as `i`.
// `?` is Unknown(). InvalidArgument tells what is wrong, and `*text` then
// begins where it is, so that callers can give its column. Nesting is limited
// to 200.
absl::StatusOr<AffineExpr> ConsumeAffineExpr(absl::string_view* text);

// The whole of `text` as one expression.
absl::StatusOr<AffineExpr> ParseAffineExpr(absl::string_view text);

// An expression compiled against a fixed list of symbols, for evaluation in
// inner loops: a postfix program over their values.
class AffineProgram {
 public:
  // NotFound names a symbol of `expr` that `slots` lacks; InvalidArgument if
  // `expr` is not a number.
  static absl::StatusOr<AffineProgram> Compile(
      const AffineExpr& expr, absl::Span<const std::string> slots);

  // `values[k]` is the value of `slots[k]`. Nothing on overflow or division by
  // zero.
  std::optional<int64_t> Evaluate(absl::Span<const int64_t> values) const;

  // Whether the value may depend on the given slot.
  bool Reads(int slot) const;

 private:
  enum class Code : uint8_t {
    kConstant,
    kSlot,
    kAdd,
    kMul,
    kFloorDiv,
    kMod,
    kMin,
    kMax,
    kAlignUp,
    kAnd
  };
  struct Step {
    Code code;
    int64_t operand;  // kConstant: the value; kSlot: its number.
  };
  void Append(const AffineExpr& expr, absl::Span<const std::string> slots,
              absl::Status* status);
  std::vector<Step> steps_;
  int max_stack_ = 0;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_AFFINE_EXPR_H_
