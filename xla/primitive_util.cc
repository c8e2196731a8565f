#include "xla/primitive_util.h"

#include <array>
#include <climits>
#include <cstdint>
#include <string>
#include <tuple>

#include "absl/base/no_destructor.h"
#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/errors.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace primitive_util {
namespace internal {

void FatalTypeError(const char* expected, PrimitiveType type) {
  LOG(FATAL) << expected << " is not for type "
             << LowercasePrimitiveTypeName(type) << " ("
             << static_cast<int>(type) << ")";
}

}  // namespace internal

namespace {

const internal::TypeInfo& ArrayInfo(PrimitiveType type) {
  const internal::TypeInfo& info = internal::Info(type);
  if (ABSL_PREDICT_FALSE(!info.is_array)) {
    internal::FatalTypeError("A width", type);
  }
  return info;
}

const internal::TypeInfo& FloatInfo(PrimitiveType type) {
  const internal::TypeInfo& info = internal::Info(type);
  if (ABSL_PREDICT_FALSE(!info.is_floating_point)) {
    internal::FatalTypeError("A floating point format", type);
  }
  return info;
}

}  // namespace

int BitWidth(PrimitiveType type) { return ArrayInfo(type).bit_width; }
int StorageBitWidth(PrimitiveType type) {
  return ArrayInfo(type).storage_bit_width;
}
int ByteWidth(PrimitiveType type) { return ArrayInfo(type).byte_width; }

int SignificandWidth(PrimitiveType type) { return FloatInfo(type).digits; }

int ExponentWidth(PrimitiveType type) {
  // The significand's leading 1 is not stored; F8E8M0FNU has no sign bit.
  const int stored = SignificandWidth(type) - 1;
  return BitWidth(type) - stored - (type == F8E8M0FNU ? 0 : 1);
}

int UnderflowExponent(PrimitiveType type) {
  return FloatInfo(type).min_exponent;
}
int OverflowExponent(PrimitiveType type) {
  return FloatInfo(type).max_exponent;
}

int ExponentBias(PrimitiveType type) {
  return FloatingPointTypeSwitch(
      [](auto constant) -> int {
        return exponent_bias_v<NativeTypeOf<constant>>;
      },
      type);
}

bool HasInfinity(PrimitiveType type) {
  return internal::Info(type).has_infinity;
}
bool HasNaN(PrimitiveType type) { return internal::Info(type).has_nan; }
bool HasNegativeZero(PrimitiveType type) {
  return internal::Info(type).has_negative_zero;
}
bool HasPositiveZero(PrimitiveType type) {
  return internal::Info(type).has_positive_zero;
}

PrimitiveType ComplexComponentType(PrimitiveType complex_type) {
  switch (complex_type) {
    case C64:
      return F32;
    case C128:
      return F64;
    default:
      internal::FatalTypeError("ComplexComponentType", complex_type);
  }
}

PrimitiveType HigherPrecisionType(PrimitiveType a, PrimitiveType b) {
  auto rank = [](PrimitiveType type) {
    const bool complex = IsComplexType(type);
    const PrimitiveType part = complex ? ComplexComponentType(type) : type;
    const internal::TypeInfo& info = internal::Info(part);
    return std::make_tuple(
        complex, info.is_floating_point ? info.max_exponent : INT_MIN,
        info.is_floating_point ? info.digits : INT_MIN, info.bit_width,
        info.is_signed_integral, -static_cast<int>(type));
  };
  return rank(a) >= rank(b) ? a : b;
}

namespace {

bool IntegerFitsInFloat(const internal::TypeInfo& from, PrimitiveType from_type,
                        const internal::TypeInfo& to) {
  if (!to.has_positive_zero) return false;
  return from.digits <= to.digits && from.digits <= to.max_exponent &&
         // The least value, -2^digits, is a power of two.
         (!IsSignedIntegralType(from_type) || from.digits < to.max_exponent);
}

bool FloatFitsInFloat(const internal::TypeInfo& from,
                      const internal::TypeInfo& to) {
  // The exponents of the smallest subnormal numbers. F8E8M0FNU has none, but
  // with a significand of one bit the formula holds.
  const int from_min = from.min_exponent - from.digits;
  const int to_min = to.min_exponent - to.digits;
  return from.digits <= to.digits && from_min >= to_min &&
         from.max_exponent <= to.max_exponent &&
         (!from.has_infinity || to.has_infinity) &&
         (!from.has_nan || to.has_nan) &&
         (!from.has_negative_zero || to.has_negative_zero) &&
         (!from.has_positive_zero || to.has_positive_zero);
}

}  // namespace

bool CastPreservesValues(PrimitiveType from_type, PrimitiveType to_type) {
  const internal::TypeInfo& from = internal::Info(from_type);
  const internal::TypeInfo& to = internal::Info(to_type);
  if (from_type == to_type) return true;
  if (!from.is_array || !to.is_array) return false;
  if (to.is_complex) {
    const PrimitiveType from_part =
        from.is_complex ? ComplexComponentType(from_type) : from_type;
    return CastPreservesValues(from_part, ComplexComponentType(to_type));
  }
  if (from.is_complex) return false;
  if (to.is_floating_point) {
    return from.is_floating_point ? FloatFitsInFloat(from, to)
                                  : IntegerFitsInFloat(from, from_type, to);
  }
  // Integers and PRED. A conversion to PRED is a comparison with 0.
  if (from.is_floating_point || to_type == PRED) return false;
  if (from_type == PRED) return true;
  return from.digits <= to.digits &&
         (!from.is_signed_integral || to.is_signed_integral);
}

bool FitsInIntegralType(int64_t x, PrimitiveType ty) {
  return IntegralTypeSwitch(
      [&](auto constant) -> bool {
        using Limits = std::numeric_limits<NativeTypeOf<constant>>;
        if (Limits::digits >= 63) return Limits::is_signed || x >= 0;
        return x >= static_cast<int64_t>(Limits::min()) &&
               x <= static_cast<int64_t>(Limits::max());
      },
      ty);
}

// ---- Names ------------------------------------------------------------------

namespace {

struct NameAndType {
  absl::string_view name;
  PrimitiveType type = PRIMITIVE_TYPE_INVALID;
};

constexpr NameAndType kNames[] = {
#define XLA_NAME(TYPE, Native, name) {name, TYPE},
    XLA_ARRAY_TYPES(XLA_NAME) XLA_NON_ARRAY_TYPES(XLA_NAME)
#undef XLA_NAME
};

// An open-addressing hash table over kNames, filled at compile time.
constexpr uint32_t kSlots = 128;
constexpr uint32_t SlotOf(absl::string_view name) {
  const auto at = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(name[i]));
  };
  const size_t n = name.size();
  const uint32_t hash = n * 7 + at(0) * 29 + at(1) * 13 + at(n - 1) * 3 +
                        at(n / 2) * 5 + at(n - 1 - n / 4) * 17;
  return hash % kSlots;
}

struct NameTable {
  NameAndType slots[kSlots];
};
constexpr NameTable MakeNameTable() {
  NameTable table{};
  for (const NameAndType& entry : kNames) {
    uint32_t slot = SlotOf(entry.name);
    while (table.slots[slot].type != PRIMITIVE_TYPE_INVALID) {
      slot = (slot + 1) % kSlots;
    }
    table.slots[slot].name = entry.name;
    table.slots[slot].type = entry.type;
  }
  return table;
}
constexpr NameTable kNameTable = MakeNameTable();

}  // namespace

const std::string& LowercasePrimitiveTypeName(PrimitiveType s) {
  using Names = std::array<std::string, PrimitiveType_ARRAYSIZE>;
  static const absl::NoDestructor<Names> names([] {
    Names result;
    result.fill("invalid");
    for (const NameAndType& entry : kNames) {
      result[entry.type] = std::string(entry.name);
    }
    return result;
  }());
  const auto index = static_cast<uint32_t>(s);
  return (*names)[index < names->size() ? index : 0u];
}

PrimitiveType PrimitiveTypeFromName(absl::string_view lower_name) {
  if (lower_name.size() < 2) return PRIMITIVE_TYPE_INVALID;
  uint32_t slot = SlotOf(lower_name);
  while (kNameTable.slots[slot].type != PRIMITIVE_TYPE_INVALID) {
    if (kNameTable.slots[slot].name == lower_name) {
      return kNameTable.slots[slot].type;
    }
    slot = (slot + 1) % kSlots;
  }
  return PRIMITIVE_TYPE_INVALID;
}

absl::StatusOr<PrimitiveType> StringToPrimitiveType(
    absl::string_view lower_name) {
  const PrimitiveType type = PrimitiveTypeFromName(lower_name);
  if (type == PRIMITIVE_TYPE_INVALID) {
    return InvalidArgument("\"%s\" is not the name of a type", lower_name);
  }
  return type;
}

bool IsPrimitiveTypeName(absl::string_view name) {
  return PrimitiveTypeFromName(name) != PRIMITIVE_TYPE_INVALID;
}

}  // namespace primitive_util
}  // namespace xla
