// The text form of AffineExpr: ToString() and ParseAffineExpr().

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"

namespace xla::gpu {
namespace {

using Op = AffineExpr::Op;
using Term = AffineExpr::Term;

// How tightly printed text binds, loosest first.
enum class Binding { kSum, kProduct, kUnit };

struct Text {
  std::string text;
  Binding binding;

  std::string At(Binding least) const {
    return binding < least ? absl::StrCat("(", text, ")") : text;
  }
};

Text Print(const AffineExpr& e);

Text PrintCall(absl::string_view name, const std::vector<AffineExpr>& args) {
  // Two operands at a time: min(a, min(b, c)).
  std::string text = Print(args.back()).text;
  for (size_t i = args.size() - 1; i-- > 0;) {
    text = absl::StrCat(name, "(", Print(args[i]).text, ", ", text, ")");
  }
  return {text, Binding::kUnit};
}

Text PrintAtom(const AffineExpr::AtomNode& atom) {
  switch (atom.op) {
    case Op::kSymbol:
      return {atom.name, Binding::kUnit};
    case Op::kMin:
      return PrintCall("min", atom.args);
    case Op::kMax:
      return PrintCall("max", atom.args);
    case Op::kAlignUp:
      return PrintCall("alignup", atom.args);
    case Op::kAnd:
      return {absl::StrCat("(", Print(atom.args[0]).At(Binding::kSum), " & ",
                           Print(atom.args[1]).At(Binding::kSum), ")"),
              Binding::kUnit};
    default:
      break;
  }
  const AffineExpr &a = atom.args[0], &b = atom.args[1];
  // ceildiv(x, b) is kept as (x + b - 1) / b. It is printed as ceildiv again
  // only if x has no constant term left and reading the text back gives the
  // same normal form, so that printing and parsing are inverses.
  if (atom.op == Op::kFloorDiv) {
    const AffineExpr up = a - b + AffineExpr(1);
    if (up.IsValid() && up.constant() == 0 && !up.terms().empty() &&
        AffineExpr::CeilDiv(up, b) == AffineExpr::FloorDiv(a, b)) {
      return PrintCall("ceildiv", {up, b});
    }
  }
  return {absl::StrCat(Print(a).At(Binding::kProduct),
                       atom.op == Op::kMod ? " % " : " / ",
                       Print(b).At(Binding::kUnit)),
          Binding::kProduct};
}

// The one number whose sign stays with its digits: without it they fit no 64
// bits.
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

// |coefficient| * factors, or with the sign of kLowest.
Text PrintTerm(const Term& term) {
  const bool one = term.coefficient == 1 || term.coefficient == -1;
  if (one && term.factors.size() == 1) return PrintAtom(*term.factors[0]);
  std::string text;
  if (!one) {
    text = absl::StrCat(term.coefficient);
    if (term.coefficient < 0 && term.coefficient != kLowest) text.erase(0, 1);
  }
  for (const AffineExpr::Atom& atom : term.factors) {
    absl::StrAppend(&text, text.empty() ? "" : "*",
                    PrintAtom(*atom).At(Binding::kUnit));
  }
  return {text, Binding::kProduct};
}

Text Print(const AffineExpr& e) {
  if (e.IsUnknown()) return {"?", Binding::kUnit};
  if (!e.status().ok()) return {"<overflow>", Binding::kUnit};
  if (e.terms().empty()) {
    return {absl::StrCat(e.constant()),
            e.constant() < 0 ? Binding::kSum : Binding::kUnit};
  }
  std::string text;
  Binding binding = Binding::kSum;
  int parts = 0;
  // Positive terms first, so that a sum begins with a minus only where all of
  // its terms are negative.
  for (const bool negative : {false, true}) {
    for (const Term& term : e.terms()) {
      if ((term.coefficient < 0) != negative) continue;
      const Text printed = PrintTerm(term);
      const bool minus = negative && term.coefficient != kLowest;
      if (parts++ == 0) {
        // A unary minus binds tighter than `/`.
        text = minus ? absl::StrCat("-", printed.At(Binding::kUnit))
                     : printed.text;
        binding = minus ? Binding::kSum : printed.binding;
      } else {
        absl::StrAppend(&text, minus ? " - " : " + ", printed.text);
        binding = Binding::kSum;
      }
    }
  }
  if (e.constant() != 0) {
    const bool minus = e.constant() < 0 && e.constant() != kLowest;
    const std::string digits = absl::StrCat(e.constant());
    absl::StrAppend(&text, minus ? " - " : " + ",
                    minus ? digits.substr(1) : digits);
    binding = Binding::kSum;
  }
  return {text, binding};
}

bool IsNameStart(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.';
}

// Recursive descent; `&` binds loosest, then + -, then * / %, then - ~.
class Parser {
 public:
  explicit Parser(absl::string_view* text) : text_(*text) {}

  absl::StatusOr<AffineExpr> ParseAnd() {
    if (++depth_ > kMaxNesting) return Error("expression is nested too deeply");
    absl::StatusOr<AffineExpr> a = ParseSum();
    while (a.ok() && Accept('&')) {
      absl::StatusOr<AffineExpr> b = ParseSum();
      if (!b.ok()) return b;
      a = Checked(AffineExpr::And(*a, *b));
    }
    --depth_;
    return a;
  }

 private:
  static constexpr int kMaxNesting = 200;

  absl::Status Error(absl::string_view message) const {
    return absl::InvalidArgumentError(message);
  }

  absl::StatusOr<AffineExpr> Checked(const AffineExpr& e) const {
    if (!e.status().ok()) return Error(e.status().message());
    return e;
  }

  void SkipBlanks() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\t')) {
      text_.remove_prefix(1);
    }
  }

  bool Accept(char c) {
    SkipBlanks();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  absl::StatusOr<AffineExpr> ParseSum() {
    absl::StatusOr<AffineExpr> a = ParseProduct();
    while (a.ok()) {
      const bool minus = Accept('-');
      if (!minus && !Accept('+')) break;
      absl::StatusOr<AffineExpr> b = ParseProduct();
      if (!b.ok()) return b;
      a = Checked(minus ? *a - *b : *a + *b);
    }
    return a;
  }

  absl::StatusOr<AffineExpr> ParseProduct() {
    absl::StatusOr<AffineExpr> a = ParseUnary();
    while (a.ok()) {
      char op = 0;
      for (char c : {'*', '/', '%'}) {
        if (op == 0 && Accept(c)) op = c;
      }
      if (op == 0) break;
      absl::StatusOr<AffineExpr> b = ParseUnary();
      if (!b.ok()) return b;
      a = Checked(op == '*'   ? *a * *b
                  : op == '/' ? AffineExpr::FloorDiv(*a, *b)
                              : AffineExpr::Mod(*a, *b));
    }
    return a;
  }

  absl::StatusOr<AffineExpr> ParseUnary() {
    // Signs in a row need no recursion: each is applied in turn, inside out.
    std::string signs;
    while (true) {
      if (Accept('-')) {
        // -9223372036854775808 has no positive counterpart.
        if (absl::StartsWith(text_, "9223372036854775808")) {
          text_.remove_prefix(19);
          return Apply(signs, AffineExpr(std::numeric_limits<int64_t>::min()));
        }
        signs += '-';
      } else if (Accept('~')) {
        signs += '~';
      } else {
        break;
      }
    }
    absl::StatusOr<AffineExpr> a = ParseUnit();
    if (!a.ok()) return a;
    return Apply(signs, *a);
  }

  absl::StatusOr<AffineExpr> Apply(const std::string& signs,
                                   AffineExpr e) const {
    for (size_t i = signs.size(); i-- > 0;) {
      e = signs[i] == '-' ? -e : AffineExpr::Not(e);
    }
    return Checked(e);
  }

  absl::StatusOr<AffineExpr> ParseUnit() {
    if (Accept('(')) {
      absl::StatusOr<AffineExpr> inner = ParseAnd();
      if (inner.ok() && !Accept(')')) return Error("expected ')'");
      return inner;
    }
    if (Accept('?')) return AffineExpr::Unknown();
    // Operand position, so that this is no remainder.
    if (text_.size() > 1 && text_[0] == '%' && IsNameStart(text_[1])) {
      text_.remove_prefix(1);
    }
    size_t length = 0;
    if (!text_.empty() && absl::ascii_isdigit(text_[0])) {
      while (length < text_.size() && absl::ascii_isdigit(text_[length])) {
        ++length;
      }
      int64_t value;
      if (!absl::SimpleAtoi(text_.substr(0, length), &value)) {
        return Error("integer does not fit 64 bits");
      }
      text_.remove_prefix(length);
      return AffineExpr(value);
    }
    if (text_.empty() || !IsNameStart(text_[0])) {
      return Error("expected an index expression");
    }
    while (length < text_.size() && IsNameCharacter(text_[length])) ++length;
    const absl::string_view before = text_;
    const absl::string_view name = text_.substr(0, length);
    text_.remove_prefix(length);
    if (!Accept('(')) return AffineExpr::Symbol(name);
    return ParseCall(before, name);
  }

  absl::StatusOr<AffineExpr> ParseCall(absl::string_view before,
                                       absl::string_view name) {
    using Function = AffineExpr (*)(const AffineExpr&, const AffineExpr&);
    Function function = name == "min"       ? &AffineExpr::Min
                        : name == "max"     ? &AffineExpr::Max
                        : name == "ceildiv" ? &AffineExpr::CeilDiv
                        : name == "alignup" ? &AffineExpr::AlignUp
                                            : nullptr;
    if (function == nullptr) {
      text_ = before;
      return Error(absl::StrCat("unknown function '", name, "'"));
    }
    absl::StatusOr<AffineExpr> a = ParseAnd();
    if (!a.ok()) return a;
    if (!Accept(',')) return Error("expected ','");
    absl::StatusOr<AffineExpr> b = ParseAnd();
    if (!b.ok()) return b;
    if (!Accept(')')) return Error("expected ')'");
    return Checked(function(*a, *b));
  }

  absl::string_view& text_;
  int depth_ = 0;
};

}  // namespace

std::string AffineExpr::ToString() const { return Print(*this).text; }

absl::StatusOr<AffineExpr> ConsumeAffineExpr(absl::string_view* text) {
  return Parser(text).ParseAnd();
}

absl::StatusOr<AffineExpr> ParseAffineExpr(absl::string_view text) {
  absl::StatusOr<AffineExpr> e = ConsumeAffineExpr(&text);
  if (!e.ok()) return e;
  text = absl::StripAsciiWhitespace(text);
  if (!text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("text after the index expression: '", text, "'"));
  }
  return e;
}

}  // namespace xla::gpu
