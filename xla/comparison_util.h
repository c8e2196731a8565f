#ifndef XLA_COMPARISON_UTIL_H_
#define XLA_COMPARISON_UTIL_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/bit_util.h"
#include "xla/primitive_util.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

namespace xla {

// A comparison of two numbers of one type: the direction, the type, and for
// floating point numbers the order, which determines how NaN and -0 compare.
class Comparison {
 public:
  enum class Order : uint8_t {
    // -NaN < -inf < ... < -0 < +0 < ... < inf < NaN; integers have this order.
    kTotal,
    // IEEE comparison: NaN is unordered, -0 equals +0.
    kPartial,
  };
  template <typename Sink>
  friend void AbslStringify(Sink& sink, const Order& p) {
    sink.Append(p == Order::kTotal ? "TOTALORDER" : "PARTIALORDER");
  }

  enum class Direction : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };

  // The older encoding of type and order.
  enum class Type : uint8_t { kFloat, kFloatTotalOrder, kSigned, kUnsigned };

  Comparison() = delete;
  // In the default order of the type: partial for floating point and complex.
  explicit Comparison(Direction dir, PrimitiveType type);
  // Pre: the order exists for the type.
  explicit Comparison(Direction dir, PrimitiveType type, Order order);
  // A comparison of F32, S32 or U32.
  explicit Comparison(Direction dir, Type type);

  Direction GetDirection() const { return dir_; }
  PrimitiveType GetPrimitiveType() const { return primitive_type_; }
  Order GetOrder() const { return order_; }
  Type GetType() const;

  bool IsEq() const { return dir_ == Direction::kEq; }
  bool IsNe() const { return dir_ == Direction::kNe; }
  bool IsGe() const { return dir_ == Direction::kGe; }
  bool IsGt() const { return dir_ == Direction::kGt; }
  bool IsLe() const { return dir_ == Direction::kLe; }
  bool IsLt() const { return dir_ == Direction::kLt; }
  bool IsTotalOrder() const { return order_ == Order::kTotal; }
  bool IsPartialOrder() const { return order_ == Order::kPartial; }

  bool IsF32TotalOrder() const {
    return primitive_type_ == F32 && IsTotalOrder();
  }
  bool IsStandardF32() const {
    return primitive_type_ == F32 && IsPartialOrder();
  }
  bool IsStandardS32() const { return primitive_type_ == S32; }
  bool IsStandardU32() const { return primitive_type_ == U32; }
  bool IsIntegralPrimitiveType() const {
    return primitive_util::IsIntegralType(primitive_type_);
  }
  bool IsFloatingPointPrimitiveType() const {
    return primitive_util::IsFloatingPointType(primitive_type_);
  }

  // Whether x OP x is true / false for every x.
  bool IsReflexive() const;
  bool IsAntireflexive() const;

  // The comparison with operands swapped: LT -> GT.
  Comparison Converse() const;
  // The comparison that is true where this one is false: LT -> GE. None in
  // partial order, where NaN makes both false.
  std::optional<Comparison> Inverse() const;

  // ".GT.F32.TOTALORDER".
  std::string ToString(std::string prefix1 = ".", std::string prefix2 = ".",
                       std::string prefix3 = ".") const;

  // The comparison as a function on the native type, ignoring the order: for
  // keys already mapped to it.
  template <typename T>
  absl::FunctionRef<bool(T, T)> GetComparator() const {
    return *ComparatorOf<T>(dir_);
  }

  // a OP b. T is the native type of GetPrimitiveType().
  template <typename T>
  bool Compare(const T a, const T b) const {
    DCHECK(primitive_util::IsCanonicalRepresentation<T>(primitive_type_));
    if constexpr (is_specialized_floating_point_v<T>) {
      if (IsTotalOrder()) {
        using R = decltype(ToSignMagnitude(a));
        return ComparatorOf<R>(dir_)(ToSignMagnitude(a), ToSignMagnitude(b));
      }
    }
    return ComparatorOf<T>(dir_)(a, b);
  }

  // The type of a comparison that does not specify one.
  static Comparison::Type DefaultComparisonType(PrimitiveType type);

  template <typename H>
  friend H AbslHashValue(H h, const Comparison& c) {
    return H::combine(std::move(h), c.dir_, c.primitive_type_, c.order_);
  }

 private:
  template <typename T>
  using Comparator = bool (*)(T, T);
  template <typename T>
  static Comparator<T> ComparatorOf(Direction direction) {
    switch (direction) {
      case Direction::kEq:
        return [](T a, T b) -> bool { return a == b; };
      case Direction::kNe:
        return [](T a, T b) -> bool { return a != b; };
      default:
        break;
    }
    if constexpr (!is_complex_v<T>) {
      switch (direction) {
        case Direction::kGe:
          return [](T a, T b) -> bool { return a >= b; };
        case Direction::kGt:
          return [](T a, T b) -> bool { return a > b; };
        case Direction::kLe:
          return [](T a, T b) -> bool { return a <= b; };
        case Direction::kLt:
          return [](T a, T b) -> bool { return a < b; };
        default:
          break;
      }
    }
    LOG(FATAL) << "complex numbers have no order";
  }

  Direction dir_;
  Order order_;
  PrimitiveType primitive_type_;
};

using ComparisonDirection = Comparison::Direction;
using ComparisonOrder = Comparison::Order;

inline bool operator==(const Comparison& a, const Comparison& b) {
  return a.GetDirection() == b.GetDirection() &&
         a.GetPrimitiveType() == b.GetPrimitiveType() &&
         a.GetOrder() == b.GetOrder();
}
inline bool operator!=(const Comparison& a, const Comparison& b) {
  return !(a == b);
}
std::ostream& operator<<(std::ostream& os, const Comparison& cmp);

// "EQ", "NE", ... and "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", and back.
std::string ComparisonDirectionToString(Comparison::Direction direction);
std::string ComparisonTypeToString(Comparison::Type type);
// "F32".
absl::string_view ComparisonPrimitiveTypeToString(PrimitiveType type);
absl::StatusOr<Comparison::Direction> StringToComparisonDirection(
    absl::string_view direction);
absl::StatusOr<Comparison::Type> StringToComparisonType(
    absl::string_view comparison);

template <typename Sink>
void AbslStringify(Sink& sink, const ComparisonDirection& direction) {
  sink.Append(ComparisonDirectionToString(direction));
}

// A less-than on `key_fn` of the operands, for sorting.
template <typename KeyFn>
auto LessThanByKey(KeyFn&& key_fn) {
  return [key_fn = std::forward<KeyFn>(key_fn)](const auto& a, const auto& b) {
    return key_fn(a) < key_fn(b);
  };
}

}  // namespace xla

#endif  // XLA_COMPARISON_UTIL_H_
