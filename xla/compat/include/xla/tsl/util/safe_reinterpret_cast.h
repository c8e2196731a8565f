#ifndef XLA_COMPAT_INCLUDE_XLA_TSL_UTIL_SAFE_REINTERPRET_CAST_H_
#define XLA_COMPAT_INCLUDE_XLA_TSL_UTIL_SAFE_REINTERPRET_CAST_H_

// OpenXLA's path of this header, for code from outside.
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tsl {

namespace internal {
template <typename T>
struct Type {
  using type = T;
};
}  // namespace internal

// reinterpret_cast for the casts that aliasing allows: to and from bytes, void
// and integers as wide as a pointer.
template <typename To, typename From>
To safe_reinterpret_cast(From from) {
  using ToObject = std::remove_cv_t<std::remove_pointer_t<To>>;
  using FromObject = std::remove_cv_t<std::remove_pointer_t<From>>;
  constexpr auto is_byte = [](auto type) {
    using T = typename decltype(type)::type;
    return std::is_same_v<T, char> || std::is_same_v<T, unsigned char> ||
           std::is_same_v<T, signed char> || std::is_same_v<T, std::byte> ||
           std::is_void_v<T>;
  };
  static_assert(
      std::is_same_v<ToObject, FromObject> ||
          (std::is_pointer_v<To> && is_byte(internal::Type<ToObject>())) ||
          (std::is_pointer_v<From> && is_byte(internal::Type<FromObject>())) ||
          std::is_same_v<To, uintptr_t> || std::is_same_v<To, intptr_t> ||
          std::is_same_v<From, uintptr_t> || std::is_same_v<From, intptr_t>,
      "objects of one type are not read as another");
  return reinterpret_cast<To>(from);
}

}  // namespace tsl

#endif  // XLA_COMPAT_INCLUDE_XLA_TSL_UTIL_SAFE_REINTERPRET_CAST_H_
