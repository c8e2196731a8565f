#include "absl/strings/string_view.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

PrimitiveType IntegerType(absl::string_view digits, PrimitiveType b1,
                          PrimitiveType b2, PrimitiveType b4, PrimitiveType b8,
                          PrimitiveType b16, PrimitiveType b32,
                          PrimitiveType b64) {
  if (digits.size() == 1) {
    switch (digits[0]) {
      case '1':
        return b1;
      case '2':
        return b2;
      case '4':
        return b4;
      case '8':
        return b8;
      default:
        return PRIMITIVE_TYPE_INVALID;
    }
  }
  if (digits == "32") return b32;
  if (digits == "64") return b64;
  if (digits == "16") return b16;
  return PRIMITIVE_TYPE_INVALID;
}

PrimitiveType SmallFloatType(absl::string_view name) {
  struct Entry {
    absl::string_view name;
    PrimitiveType type;
  };
  static constexpr Entry kEntries[] = {
      {"f8e5m2", F8E5M2},         {"f8e4m3", F8E4M3},
      {"f8e4m3fn", F8E4M3FN},     {"f8e4m3b11fnuz", F8E4M3B11FNUZ},
      {"f8e3m4", F8E3M4},         {"f8e5m2fnuz", F8E5M2FNUZ},
      {"f8e4m3fnuz", F8E4M3FNUZ}, {"f8e8m0fnu", F8E8M0FNU},
      {"f6e3m2fn", F6E3M2FN},     {"f6e2m3fn", F6E2M3FN},
      {"f4e2m1fn", F4E2M1FN},
  };
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.type;
  }
  return PRIMITIVE_TYPE_INVALID;
}

}  // namespace

PrimitiveType PrimitiveTypeFromText(absl::string_view name) {
  if (name.size() < 2 || name.size() > 13) return PRIMITIVE_TYPE_INVALID;
  switch (name[0]) {
    case 'f':
      if (name == "f32") return F32;
      if (name == "f16") return F16;
      if (name == "f64") return F64;
      if (name.size() >= 6) return SmallFloatType(name);
      break;
    case 'b':
      if (name == "bf16") return BF16;
      break;
    case 's':
      if (name.size() > 3) break;
      return IntegerType(name.substr(1), S1, S2, S4, S8, S16, S32, S64);
    case 'u':
      if (name.size() > 3) break;
      return IntegerType(name.substr(1), U1, U2, U4, U8, U16, U32, U64);
    case 'p':
      if (name == "pred") return PRED;
      break;
    case 'c':
      if (name == "c64") return C64;
      if (name == "c128") return C128;
      break;
    case 't':
      if (name == "token") return TOKEN;
      break;
    case 'o':
      if (name == "opaque") return OPAQUE_TYPE;
      break;
    default:
      break;
  }
  return PRIMITIVE_TYPE_INVALID;
}

}  // namespace xla
