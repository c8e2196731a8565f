#include "xla/comparison_util.h"

#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/errors.h"
#include "xla/primitive_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using Direction = Comparison::Direction;
using Order = Comparison::Order;
using Type = Comparison::Type;

// In the order of the enums.
constexpr absl::string_view kDirectionNames[] = {"EQ", "NE", "GE",
                                                 "GT", "LE", "LT"};
constexpr absl::string_view kTypeNames[] = {"FLOAT", "TOTALORDER", "SIGNED",
                                            "UNSIGNED"};

bool HasPartialOrder(PrimitiveType type) {
  return primitive_util::IsFloatingPointType(type) ||
         primitive_util::IsComplexType(type);
}

Order DefaultOrder(PrimitiveType type) {
  return HasPartialOrder(type) ? Order::kPartial : Order::kTotal;
}

PrimitiveType PrimitiveTypeOf(Type type) {
  switch (type) {
    case Type::kFloat:
    case Type::kFloatTotalOrder:
      return F32;
    case Type::kSigned:
      return S32;
    case Type::kUnsigned:
      return U32;
  }
  LOG(FATAL) << "bad comparison type " << static_cast<int>(type);
}

Direction ConverseOf(Direction direction) {
  switch (direction) {
    case Direction::kEq:
    case Direction::kNe:
      return direction;
    case Direction::kGe:
      return Direction::kLe;
    case Direction::kGt:
      return Direction::kLt;
    case Direction::kLe:
      return Direction::kGe;
    case Direction::kLt:
      return Direction::kGt;
  }
  LOG(FATAL) << "bad direction " << static_cast<int>(direction);
}

Direction InverseOf(Direction direction) {
  switch (direction) {
    case Direction::kEq:
      return Direction::kNe;
    case Direction::kNe:
      return Direction::kEq;
    case Direction::kGe:
      return Direction::kLt;
    case Direction::kGt:
      return Direction::kLe;
    case Direction::kLe:
      return Direction::kGt;
    case Direction::kLt:
      return Direction::kGe;
  }
  LOG(FATAL) << "bad direction " << static_cast<int>(direction);
}

}  // namespace

Comparison::Comparison(Direction dir, PrimitiveType type)
    : Comparison(dir, type, DefaultOrder(type)) {}

Comparison::Comparison(Direction dir, PrimitiveType type, Order order)
    : dir_(dir), order_(order), primitive_type_(type) {
  CHECK(order == Order::kTotal || HasPartialOrder(type))
      << primitive_util::LowercasePrimitiveTypeName(type)
      << " has no partial order";
}

Comparison::Comparison(Direction dir, Type type)
    : Comparison(dir, PrimitiveTypeOf(type),
                 type == Type::kFloat ? Order::kPartial : Order::kTotal) {}

Comparison::Type Comparison::GetType() const {
  if (HasPartialOrder(primitive_type_)) {
    return IsTotalOrder() ? Type::kFloatTotalOrder : Type::kFloat;
  }
  return DefaultComparisonType(primitive_type_);
}

Comparison::Type Comparison::DefaultComparisonType(PrimitiveType type) {
  if (HasPartialOrder(type)) return Type::kFloat;
  if (primitive_util::IsSignedIntegralType(type)) return Type::kSigned;
  CHECK(type == PRED || primitive_util::IsUnsignedIntegralType(type))
      << primitive_util::LowercasePrimitiveTypeName(type)
      << " cannot be compared";
  return Type::kUnsigned;
}

bool Comparison::IsReflexive() const {
  return IsTotalOrder() && (IsEq() || IsGe() || IsLe());
}

bool Comparison::IsAntireflexive() const {
  return IsGt() || IsLt() || (IsNe() && IsTotalOrder());
}

Comparison Comparison::Converse() const {
  return Comparison(ConverseOf(dir_), primitive_type_, order_);
}

std::optional<Comparison> Comparison::Inverse() const {
  if (IsPartialOrder()) return std::nullopt;
  return Comparison(InverseOf(dir_), primitive_type_, order_);
}

std::string Comparison::ToString(std::string prefix1, std::string prefix2,
                                 std::string prefix3) const {
  return absl::StrCat(prefix1, ComparisonDirectionToString(dir_), prefix2,
                      ComparisonPrimitiveTypeToString(primitive_type_), prefix3,
                      order_);
}

std::ostream& operator<<(std::ostream& os, const Comparison& cmp) {
  return os << cmp.ToString();
}

std::string ComparisonDirectionToString(Comparison::Direction direction) {
  return std::string(kDirectionNames[static_cast<int>(direction)]);
}

std::string ComparisonTypeToString(Comparison::Type type) {
  return std::string(kTypeNames[static_cast<int>(type)]);
}

absl::string_view ComparisonPrimitiveTypeToString(PrimitiveType type) {
  return PrimitiveType_Name(type);
}

absl::StatusOr<Comparison::Direction> StringToComparisonDirection(
    absl::string_view direction) {
  for (int i = 0; i < static_cast<int>(std::size(kDirectionNames)); ++i) {
    if (kDirectionNames[i] == direction) return static_cast<Direction>(i);
  }
  return InvalidArgument("\"%s\" is not a comparison direction", direction);
}

absl::StatusOr<Comparison::Type> StringToComparisonType(
    absl::string_view comparison) {
  for (int i = 0; i < static_cast<int>(std::size(kTypeNames)); ++i) {
    if (kTypeNames[i] == comparison) return static_cast<Type>(i);
  }
  return InvalidArgument("\"%s\" is not a comparison type", comparison);
}

}  // namespace xla
