#ifndef XLA_INT_TYPES_H_
#define XLA_INT_TYPES_H_

#include <cstdint>
#include <limits>
#include <ostream>
#include <type_traits>
#include <utility>

#include "absl/strings/str_format.h"

namespace xla {

// An integer of kBits < 8 bits that occupies one byte, two's complement where
// kSigned. Every operation wraps around modulo 2^kBits. Division by zero is
// undefined, as for int.
template <int kBits, bool kSigned>
class intN {
 public:
  using underlying_type = std::conditional_t<kSigned, int8_t, uint8_t>;
  static constexpr int bits = kBits;
  static constexpr int digits = kSigned ? kBits - 1 : kBits;

  constexpr intN() = default;
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  explicit constexpr intN(T value) : value_(Wrap(static_cast<int>(value))) {}
  template <int B, bool S,
            std::enable_if_t<B != kBits || S != kSigned, int> = 0>
  explicit constexpr intN(intN<B, S> value)
      : value_(Wrap(static_cast<int>(value))) {}
  // From types with an explicit conversion to float.
  template <typename T,
            std::enable_if_t<!std::is_arithmetic_v<T> &&
                                 std::is_constructible_v<float, T>,
                             int> = 0,
            typename = typename T::Rep>
  explicit constexpr intN(T value)
      : value_(Wrap(static_cast<int>(static_cast<float>(value)))) {}

  template <typename T, std::enable_if_t<std::is_constructible_v<T, int> ||
                                             std::is_arithmetic_v<T>,
                                         int> = 0>
  explicit constexpr operator T() const {
    return static_cast<T>(static_cast<int>(value_));
  }

  static constexpr intN lowest() { return intN(kSigned ? -(1 << digits) : 0); }
  static constexpr intN highest() { return intN((1 << digits) - 1); }

#define XLA_INTN_BINARY(op)                           \
  friend constexpr intN operator op(intN a, intN b) { \
    return intN(int{a.value_} op int{b.value_});      \
  }                                                   \
  constexpr intN& operator op##=(intN other) { return *this = *this op other; }
  XLA_INTN_BINARY(+)
  XLA_INTN_BINARY(-)
  XLA_INTN_BINARY(*)
  XLA_INTN_BINARY(/)
  XLA_INTN_BINARY(%)
  XLA_INTN_BINARY(&)
  XLA_INTN_BINARY(|)
  XLA_INTN_BINARY(^)
#undef XLA_INTN_BINARY

  constexpr intN operator-() const { return intN(-int{value_}); }
  constexpr intN operator+() const { return *this; }
  constexpr intN operator~() const { return intN(~int{value_}); }
  constexpr intN operator<<(int amount) const {
    return intN(static_cast<int>(static_cast<unsigned>(value_) << amount));
  }
  constexpr intN operator>>(int amount) const {
    return intN(int{value_} >> amount);
  }
  constexpr intN& operator<<=(int amount) { return *this = *this << amount; }
  constexpr intN& operator>>=(int amount) { return *this = *this >> amount; }

  constexpr intN& operator++() { return *this += intN(1); }
  constexpr intN& operator--() { return *this -= intN(1); }
  constexpr intN operator++(int) {
    intN old = *this;
    ++*this;
    return old;
  }
  constexpr intN operator--(int) {
    intN old = *this;
    --*this;
    return old;
  }

#define XLA_INTN_COMPARISON(op)                          \
  friend constexpr bool operator op(intN a, intN b) {    \
    return a.value_ op b.value_;                         \
  }                                                      \
  friend constexpr bool operator op(intN a, int64_t b) { \
    return int64_t{a.value_} op b;                       \
  }                                                      \
  friend constexpr bool operator op(int64_t a, intN b) { \
    return a op int64_t{b.value_};                       \
  }
  XLA_INTN_COMPARISON(==)
  XLA_INTN_COMPARISON(!=)
  XLA_INTN_COMPARISON(<)
  XLA_INTN_COMPARISON(<=)
  XLA_INTN_COMPARISON(>)
  XLA_INTN_COMPARISON(>=)
#undef XLA_INTN_COMPARISON

  friend std::ostream& operator<<(std::ostream& os, intN a) {
    return os << int{a.value_};
  }
  template <typename Sink>
  friend void AbslStringify(Sink& sink, intN a) {
    absl::Format(&sink, "%d", int{a.value_});
  }
  template <typename H>
  friend H AbslHashValue(H h, intN a) {
    return H::combine(std::move(h), a.value_);
  }

 private:
  static constexpr underlying_type Wrap(int value) {
    const unsigned low = static_cast<unsigned>(value) & ((1u << kBits) - 1);
    if (kSigned && (low >> (kBits - 1)) != 0) {
      return static_cast<underlying_type>(static_cast<int>(low) - (1 << kBits));
    }
    return static_cast<underlying_type>(low);
  }

  underlying_type value_ = 0;
};

using u1 = intN<1, false>;
using s1 = intN<1, true>;
using u2 = intN<2, false>;
using s2 = intN<2, true>;
using u4 = intN<4, false>;
using s4 = intN<4, true>;

template <typename T>
struct is_intN : std::false_type {};
template <int kBits, bool kSigned>
struct is_intN<intN<kBits, kSigned>> : std::true_type {};
template <typename T>
inline constexpr bool is_intN_v = is_intN<T>::value;

}  // namespace xla

namespace tsl {
using int1 = xla::s1;
using int2 = xla::s2;
using int4 = xla::s4;
using uint1 = xla::u1;
using uint2 = xla::u2;
using uint4 = xla::u4;
}  // namespace tsl

template <int kBits, bool kSigned>
class std::numeric_limits<xla::intN<kBits, kSigned>> {
  using T = xla::intN<kBits, kSigned>;

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = kSigned;
  static constexpr bool is_integer = true;
  static constexpr bool is_exact = true;
  static constexpr bool has_infinity = false;
  static constexpr bool has_quiet_NaN = false;
  static constexpr bool has_signaling_NaN = false;
  static constexpr std::float_denorm_style has_denorm = std::denorm_absent;
  static constexpr bool has_denorm_loss = false;
  static constexpr std::float_round_style round_style = std::round_toward_zero;
  static constexpr bool is_iec559 = false;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = true;
  static constexpr int digits = T::digits;
  static constexpr int digits10 = digits >= 4 ? 1 : 0;
  static constexpr int max_digits10 = 0;
  static constexpr int radix = 2;
  static constexpr int min_exponent = 0;
  static constexpr int min_exponent10 = 0;
  static constexpr int max_exponent = 0;
  static constexpr int max_exponent10 = 0;
  static constexpr bool traps = true;
  static constexpr bool tinyness_before = false;

  static constexpr T min() { return T::lowest(); }
  static constexpr T lowest() { return T::lowest(); }
  static constexpr T max() { return T::highest(); }
  static constexpr T epsilon() { return T(0); }
  static constexpr T round_error() { return T(0); }
  static constexpr T infinity() { return T(0); }
  static constexpr T quiet_NaN() { return T(0); }
  static constexpr T signaling_NaN() { return T(0); }
  static constexpr T denorm_min() { return T(0); }
};

#endif  // XLA_INT_TYPES_H_
