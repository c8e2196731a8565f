#ifndef TOOLS_MUTATION_HLO_MUTANT_H_
#define TOOLS_MUTATION_HLO_MUTANT_H_

// What instrument.py writes into sources in place of the code that it mutates:
// every mutant of a build is there, and HLO_MUTANT=17 in the environment turns
// number 17 on. For example
//   if (bytes <= limit) return;
//     →  if (bytes <= hlo_mutant::Le(17, 18) <= limit) return;
// which is `bytes < limit` in mutant 17 and `bytes > limit` in mutant 18.
// A tag between two operators of the same kind needs neither the operands'
// extents nor their types, and keeps precedence and associativity.
//
// With HLO_MUTANTS_REACHED=PREFIX each process writes the numbers that it came
// by to the file PREFIX.<process>, at its end.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

// The sources' warnings are errors; mutants give good reasons for them.
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wdangling-else"
#pragma GCC diagnostic ignored "-Wempty-body"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wreturn-type"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Wmisleading-indentation"
#pragma GCC diagnostic ignored "-Wdangling-pointer"

namespace hlo_mutant {

inline constexpr int kMost = 1 << 14;

inline const int active = [] {
  const char* text = std::getenv("HLO_MUTANT");
  return text == nullptr ? -1 : std::atoi(text);
}();

struct Reached {
  bool ids[kMost] = {};
  ~Reached() {
    const char* prefix = std::getenv("HLO_MUTANTS_REACHED");
    if (prefix == nullptr) return;
    std::string path = std::string(prefix) + "." + std::to_string(getpid());
    std::FILE* file = std::fopen(path.c_str(), "a");
    if (file == nullptr) return;
    for (int id = 1; id < kMost; ++id) {
      if (ids[id]) std::fprintf(file, "%d\n", id);
    }
    std::fclose(file);
  }
};
inline Reached reached;

// Numbers start at 1; 0 is no mutant.
inline bool On(int id) {
  reached.ids[id] = true;
  return id == active && id != 0;
}

template <typename T>
bool Not(int id, T&& condition) {
  return static_cast<bool>(std::forward<T>(condition)) != On(id);
}

template <typename T>
T If(int id, T mutated, T original) {
  return On(id) ? mutated : original;
}

// Both mutants are in the signature, so that an operand without them is an
// error of the line that has it.
#define HLO_MUTANT_OPERATOR(NAME, OP, FIRST, SECOND)                           \
  struct NAME {                                                                \
    explicit NAME(int first, int second = 0) : first(first), second(second) {} \
    int first, second;                                                         \
  };                                                                           \
  template <typename L>                                                        \
  struct NAME##Left {                                                          \
    L&& left;                                                                  \
    NAME ids;                                                                  \
  };                                                                           \
  template <typename L>                                                        \
  NAME##Left<L> operator OP(L&& left, NAME ids) {                              \
    return {std::forward<L>(left), ids};                                       \
  }                                                                            \
  template <typename L, typename R,                                            \
            typename T = std::decay_t<decltype(std::declval<L>()               \
                                                   OP std::declval<R>())>,     \
            typename = decltype(static_cast<T>(std::declval<L>()               \
                                                   FIRST std::declval<R>())),  \
            typename = decltype(static_cast<T>(std::declval<L>()               \
                                                   SECOND std::declval<R>()))> \
  T operator OP(NAME##Left<L> l, R&& right) {                                  \
    if (On(l.ids.first)) {                                                     \
      return std::forward<L>(l.left) FIRST std::forward<R>(right);             \
    }                                                                          \
    if (On(l.ids.second)) {                                                    \
      return std::forward<L>(l.left) SECOND std::forward<R>(right);            \
    }                                                                          \
    return std::forward<L>(l.left) OP std::forward<R>(right);                  \
  }

HLO_MUTANT_OPERATOR(Le, <=, <, >)
HLO_MUTANT_OPERATOR(Ge, >=, >, <)
HLO_MUTANT_OPERATOR(Lt, <, <=, >=)
HLO_MUTANT_OPERATOR(Gt, >, >=, <=)
HLO_MUTANT_OPERATOR(Eq, ==, !=, !=)
HLO_MUTANT_OPERATOR(Ne, !=, ==, ==)
HLO_MUTANT_OPERATOR(Add, +, -, -)
HLO_MUTANT_OPERATOR(Sub, -, +, +)
HLO_MUTANT_OPERATOR(Mul, *, /, /)
HLO_MUTANT_OPERATOR(Div, /, *, *)
HLO_MUTANT_OPERATOR(Mod, %, /, /)
#undef HLO_MUTANT_OPERATOR

// `a += AddTo(17) += b`, which is a -= b in mutant 17.
struct AddTo {
  explicit AddTo(int id) : id(id) {}
  int id;
};
template <typename R, typename T = std::decay_t<R>,
          typename = decltype(static_cast<T>(-std::declval<R>()))>
T operator+=(AddTo tag, R&& right) {
  return On(tag.id) ? static_cast<T>(-right) : static_cast<T>(right);
}
template <typename R, typename T = std::decay_t<R>,
          typename = decltype(static_cast<T>(-std::declval<R>()))>
T operator-=(AddTo tag, R&& right) {
  return On(tag.id) ? static_cast<T>(-right) : static_cast<T>(right);
}

// std::min and std::max in one; `minimum` is what the source says.
template <int id, bool minimum>
struct Extreme {
  template <typename T>
  static const T& of(const T& a, const T& b) {
    return On(id) != minimum ? std::min(a, b) : std::max(a, b);
  }
  template <typename T, typename Less>
  static const T& of(const T& a, const T& b, Less less) {
    return On(id) != minimum ? std::min(a, b, less) : std::max(a, b, less);
  }
  template <typename T>
  static T of(std::initializer_list<T> values) {
    return On(id) != minimum ? std::min(values) : std::max(values);
  }
};

// any_of and all_of in one, of iterators or of a container.
template <int id, bool any>
struct Quantor {
  template <typename Iterator, typename Predicate>
  static bool of(Iterator begin, Iterator end, Predicate predicate) {
    return On(id) != any ? std::any_of(begin, end, predicate)
                         : std::all_of(begin, end, predicate);
  }
  template <typename Container, typename Predicate>
  static bool of(Container&& container, Predicate predicate) {
    return of(std::begin(container), std::end(container), predicate);
  }
};

}  // namespace hlo_mutant

#endif  // TOOLS_MUTATION_HLO_MUTANT_H_
