#ifndef XLA_HLO_UTILS_PATTERN_MATCHER_CORE_H_
#define XLA_HLO_UTILS_PATTERN_MATCHER_CORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

// The common part of the patterns for layouts, shapes and instructions.
//
// A pattern is a list of checks, all of which must hold, and perhaps a variable
// that captures what matched. A check is any type with
//
//   bool Match(const Item* item, const MatchOption& option) const;
//   std::string Describe() const;
//
// where a Match that fails may say why (Explain below). Checks that hold
// patterns derive from NestedCheck and say whether they are described on lines
// of their own.
//
// Captures are logged while matching and written once the whole pattern has
// matched, so a failed match changes no variable, and an alternative that fails
// half-way is forgotten by shortening the log. No pattern is matched twice
// against the same instruction for the same parent match.

namespace xla {

namespace match {
namespace detail {
class CaptureLog;
}  // namespace detail
}  // namespace match

struct MatchOption {
  // Write captured values to their variables.
  bool capture = true;
  // Operands must have no user but the one that is matched.
  bool single_user_only = false;
  // Where a failed match says why, from the innermost item outwards; may be
  // null.
  std::ostream* explain_os = nullptr;
  // Internal: what has been captured so far.
  match::detail::CaptureLog* captures = nullptr;
};

namespace match {
namespace detail {

// Column by which nested descriptions are indented.
enum { kIndentInc = 2 };

// Starts a new line.
void Indent(std::ostream* os, int64_t indent);

// Writes what `text()` returns if anybody wants to know; false, for returning.
template <typename Text>
bool Explain(const MatchOption& option, const Text& text) {
  if (option.explain_os != nullptr) *option.explain_os << text();
  return false;
}

// Pairs of a variable and the value it gets if the match succeeds.
class CaptureLog {
 public:
  template <typename Item>
  void Add(Item** variable, const Item* value) {
    entries_.push_back({variable, value, [](void* to, const void* what) {
                          *static_cast<Item**>(to) =
                              const_cast<Item*>(static_cast<const Item*>(what));
                        }});
  }
  template <typename Item>
  void Add(const Item** variable, const Item* value) {
    entries_.push_back({variable, value, [](void* to, const void* what) {
                          *static_cast<const Item**>(to) =
                              static_cast<const Item*>(what);
                        }});
  }

  size_t size() const { return entries_.size(); }
  void Shorten(size_t size) { entries_.resize(size); }
  void Commit() const {
    for (const Entry& entry : entries_)
      entry.store(entry.variable, entry.value);
  }

 private:
  struct Entry {
    void* variable;
    const void* value;
    void (*store)(void* variable, const void* value);
  };
  absl::InlinedVector<Entry, 6> entries_;
};

// Tries alternatives one by one: a failed one leaves no captures, and its
// explanation waits until all have failed.
class Alternatives {
 public:
  explicit Alternatives(const MatchOption& option) : option_(option) {}

  // Returns what `match` returns for the options it is to use.
  template <typename MatchFn>
  bool Try(const MatchFn& match) {
    MatchOption inner = option_;
    std::optional<std::ostringstream> explanation;
    if (option_.explain_os != nullptr) {
      inner.explain_os = &explanation.emplace();
    }
    size_t mark = option_.captures ? option_.captures->size() : 0;
    if (match(inner)) return true;
    if (option_.captures != nullptr) option_.captures->Shorten(mark);
    if (explanation.has_value()) AddExplanation(explanation->str());
    return false;
  }

  // Explains `headline` and then each failure; false.
  bool Fail(absl::string_view headline) const;

 private:
  void AddExplanation(absl::string_view explanation);

  const MatchOption& option_;
  int failures_ = 0;
  std::string explanations_;
};

// Base of checks that hold patterns. They define
//   kCapturesMutable: some variable in it is a pointer to a mutable item;
//   kMultiline: described by DescribeTo(os, indent), which starts new lines,
//     instead of Describe().
struct NestedCheck {};

template <typename Check>
constexpr bool CapturesMutable() {
  if constexpr (std::is_base_of_v<NestedCheck, Check>) {
    return Check::kCapturesMutable;
  } else {
    return false;
  }
}
template <typename Check>
constexpr bool IsMultiline() {
  if constexpr (std::is_base_of_v<NestedCheck, Check>) {
    return Check::kMultiline;
  } else {
    return false;
  }
}

// Checks that must all hold.
template <typename... Checks>
class Conjunction {
 public:
  static constexpr bool kCapturesMutable =
      (false || ... || detail::CapturesMutable<Checks>());
  static constexpr bool kMultiline =
      (false || ... || detail::IsMultiline<Checks>());

  Conjunction() = default;
  explicit Conjunction(std::tuple<Checks...> checks)
      : checks_(std::move(checks)) {}

  template <typename Check>
  Conjunction<Checks..., Check> And(Check check) const {
    return Conjunction<Checks..., Check>(
        std::tuple_cat(checks_, std::tuple<Check>(std::move(check))));
  }

  template <typename Item>
  bool Match(const Item* item, const MatchOption& option) const {
    return std::apply(
        [&](const auto&... check) {
          return (true && ... && check.Match(item, option));
        },
        checks_);
  }

  // "a, b, c", multi-line checks after it on lines of their own; `noun` before
  // it, or "any noun" if there is nothing to say.
  void DescribeTo(absl::string_view noun, std::ostream* os,
                  int64_t indent) const {
    std::string line;
    std::apply(
        [&](const auto&... check) { (DescribeInline(check, &line), ...); },
        checks_);
    if (!line.empty()) {
      *os << noun << ": " << line;
    } else if (kMultiline) {
      *os << noun << ":";
    } else {
      *os << "any " << noun;
    }
    std::apply(
        [&](const auto&... check) {
          (DescribeLines(check, os, indent + kIndentInc), ...);
        },
        checks_);
  }
  // The line alone.
  std::string Describe() const {
    std::string line;
    std::apply(
        [&](const auto&... check) { (DescribeInline(check, &line), ...); },
        checks_);
    return line;
  }

 private:
  template <typename Check>
  static void DescribeInline(const Check& check, std::string* line) {
    if constexpr (!IsMultiline<Check>()) {
      absl::StrAppend(line, line->empty() ? "" : ", ", check.Describe());
    }
  }
  template <typename Check>
  static void DescribeLines(const Check& check, std::ostream* os,
                            int64_t indent) {
    if constexpr (IsMultiline<Check>()) check.DescribeTo(os, indent);
  }

  std::tuple<Checks...> checks_;
};

// A pattern of items: checks and an optional variable of type Captured**, where
// Captured is Item or const Item. `Kind` names the item:
//   static constexpr char kNoun[];
//   static std::string Text(const Item& item);
// Self<Captured, Checks> is the class with the methods that add checks.
template <template <typename, typename> class Self, typename Kind,
          typename ItemType, typename Captured, typename Checks>
class PatternBase {
 public:
  using Item = ItemType;
  static constexpr bool kCapturesMutable =
      !std::is_const_v<Captured> || Checks::kCapturesMutable;
  static constexpr bool kMultiline = Checks::kMultiline;

  PatternBase(Checks checks, Captured** captured)
      : checks_(std::move(checks)), captured_(captured) {}

  // True if the item has all properties asked for; captures are written then,
  // and only then.
  bool Match(Item* item, const MatchOption& option) const {
    return MatchAndCommit(item, option);
  }
  bool Match(const Item* item, const MatchOption& option) const {
    static_assert(!kCapturesMutable,
                  "a const item cannot be captured by a pointer to a mutable "
                  "one: make the variable a pointer to const");
    return MatchAndCommit(item, option);
  }

  // Match inside of another pattern, which takes care of constness and of
  // writing the captures.
  bool MatchPart(const Item* item, const MatchOption& option) const {
    if (item == nullptr) {
      return Explain(option,
                     [] { return absl::StrCat(Kind::kNoun, " is null"); });
    }
    if (!checks_.Match(item, option)) {
      return Explain(option,
                     [&] { return absl::StrCat("\nin ", Kind::Text(*item)); });
    }
    if (captured_ != nullptr && option.capture) {
      option.captures->Add(captured_, item);
    }
    return true;
  }

  void DescribeTo(std::ostream* os, int64_t indent = 0) const {
    checks_.DescribeTo(Kind::kNoun, os, indent);
  }
  // Describes the pattern on one line, without the noun.
  std::string Describe() const { return checks_.Describe(); }

 protected:
  // This pattern and one more check.
  template <typename Check>
  auto With(Check check) const {
    auto checks = checks_.And(std::move(check));
    return Self<Captured, decltype(checks)>(std::move(checks), captured_);
  }

 private:
  bool MatchAndCommit(const Item* item, const MatchOption& option) const {
    if (!option.capture || option.captures != nullptr) {
      return MatchPart(item, option);
    }
    CaptureLog captures;
    MatchOption logged = option;
    logged.captures = &captures;
    if (!MatchPart(item, logged)) return false;
    captures.Commit();
    return true;
  }

  Checks checks_;
  Captured** captured_;
};

// --- Checks to build from
// -----------------------------------------------------

// A field has a value:
//   struct Field {
//     using Item = ...; using Value = ...;
//     static constexpr char kName[];
//     static std::optional<...> Get(const Item&);   // comparable with Value
//     static std::string Text(...);                 // of either
//   };
template <typename Field>
struct FieldIs {
  typename Field::Value want;

  bool Match(const typename Field::Item* item,
             const MatchOption& option) const {
    auto have = Field::Get(*item);
    if (have.has_value() && *have == want) return true;
    return Explain(option, [&] {
      if (!have.has_value()) return absl::StrCat("has no ", Field::kName);
      return absl::StrCat(Field::kName, " is ", Field::Text(*have), ", not ",
                          Field::Text(want));
    });
  }
  std::string Describe() const {
    return absl::StrCat(Field::kName, " ", Field::Text(want));
  }
};

// The item is of a kind:
//   struct Property {
//     using Item = ...;
//     static constexpr char kName[];   // with its article
//     static bool Test(const Item&);
//   };
template <typename Property>
struct HasProperty {
  bool Match(const typename Property::Item* item,
             const MatchOption& option) const {
    return Property::Test(*item) || Explain(option, [] {
             return absl::StrCat("is not ", Property::kName);
           });
  }
  std::string Describe() const { return Property::kName; }
};

// A part of the item matches a pattern. `Accessor`:
//   static constexpr bool kOwnLine;          // described on a line of its own
//   const Part* Get(const Item&) const;      // null: there is no such part
//   std::string Label() const;               // "operand 0"
//   bool Accepts(const Part&, const MatchOption&) const;
template <typename Accessor, typename Pattern, typename Item>
bool MatchPartOf(const Item& item, const Accessor& accessor,
                 const Pattern& pattern, const MatchOption& option) {
  const auto* part = accessor.Get(item);
  if (part == nullptr) {
    return Explain(option,
                   [&] { return absl::StrCat("has no ", accessor.Label()); });
  }
  if (accessor.Accepts(*part, option) && pattern.MatchPart(part, option)) {
    return true;
  }
  return Explain(option,
                 [&] { return absl::StrCat("\nas ", accessor.Label()); });
}

template <typename Accessor, typename Pattern>
struct PartMatches : NestedCheck {
  static constexpr bool kCapturesMutable = Pattern::kCapturesMutable;
  static constexpr bool kMultiline = Accessor::kOwnLine || Pattern::kMultiline;

  PartMatches(Accessor at, Pattern p)
      : accessor(std::move(at)), pattern(std::move(p)) {}

  template <typename Item>
  bool Match(const Item* item, const MatchOption& option) const {
    return MatchPartOf(*item, accessor, pattern, option);
  }
  std::string Describe() const {
    std::string properties = pattern.Describe();
    return absl::StrCat(accessor.Label(), " (",
                        properties.empty() ? "any" : properties, ")");
  }
  void DescribeTo(std::ostream* os, int64_t indent) const {
    Indent(os, indent);
    *os << accessor.Label() << ": ";
    pattern.DescribeTo(os, indent);
  }

  Accessor accessor;
  Pattern pattern;
};

// Several patterns of one item, of which all, or at least one, must match.
enum class Quantifier { kAll, kAny };
template <Quantifier kQuantifier, typename... Patterns>
class Quantified : public NestedCheck {
 public:
  static constexpr bool kCapturesMutable =
      (false || ... || Patterns::kCapturesMutable);
  static constexpr bool kMultiline = true;

  explicit Quantified(Patterns... patterns)
      : patterns_(std::move(patterns)...) {}

  template <typename Item>
  bool Match(const Item* item, const MatchOption& option) const {
    return std::apply(
        [&](const auto&... pattern) {
          if constexpr (kQuantifier == Quantifier::kAll) {
            return (true && ... && pattern.MatchPart(item, option));
          } else {
            Alternatives alternatives(option);
            return (false || ... || alternatives.Try([&](const auto& inner) {
                     return pattern.MatchPart(item, inner);
                   })) ||
                   alternatives.Fail("no alternative matches");
          }
        },
        patterns_);
  }
  void DescribeTo(std::ostream* os, int64_t indent) const {
    bool first = true;
    auto describe = [&](const auto& pattern) {
      Indent(os, indent);
      *os << (first ? "" : kQuantifier == Quantifier::kAll ? "and " : "or ");
      first = false;
      pattern.DescribeTo(os, indent);
    };
    std::apply([&](const auto&... pattern) { (describe(pattern), ...); },
               patterns_);
  }
  const std::tuple<Patterns...>& patterns() const { return patterns_; }

 private:
  std::tuple<Patterns...> patterns_;
};
template <typename... Patterns>
using AllOfPattern = Quantified<Quantifier::kAll, Patterns...>;
template <typename... Patterns>
using AnyOfPattern = Quantified<Quantifier::kAny, Patterns...>;

// The pattern class of an item type: PatternOf<Shape>::type<Captured, Checks>.
template <typename Item>
struct PatternOf;

template <typename Item, typename Check>
auto MakePattern(Check check) {
  using Checks = Conjunction<Check>;
  using Plain = std::remove_const_t<Item>;
  return typename PatternOf<Plain>::template type<const Plain, Checks>(
      Checks(std::tuple<Check>(std::move(check))), nullptr);
}

}  // namespace detail

// Matches what all patterns match: AllOf<Shape>(Shape().IsArray(), other).
template <typename Item, typename... Patterns>
auto AllOf(const Patterns&... patterns) {
  return detail::MakePattern<Item>(
      detail::AllOfPattern<Patterns...>(patterns...));
}

// Matches what at least one pattern matches; the first that does captures.
//   AnyOf<HloInstruction>(Convert(Op(&x)), Op(&x))
template <typename Item, typename... Patterns>
auto AnyOf(const Patterns&... patterns) {
  return detail::MakePattern<Item>(
      detail::AnyOfPattern<Patterns...>(patterns...));
}

}  // namespace match

// Whether `value`, a pointer to a layout, shape or instruction, matches.
template <typename Value, typename Pattern>
bool Match(Value* value, const Pattern& pattern,
           MatchOption option = {/*capture=*/true, /*single_user_only=*/false,
                                 /*explain_os=*/nullptr}) {
  return pattern.Match(value, option);
}

// As Match; operands must be used by the matched instruction only.
template <typename Value, typename Pattern>
bool MatchSingleUserOnly(Value* value, const Pattern& pattern) {
  return Match(value, pattern,
               {/*capture=*/true, /*single_user_only=*/true,
                /*explain_os=*/nullptr});
}

}  // namespace xla

#endif  // XLA_HLO_UTILS_PATTERN_MATCHER_CORE_H_
