#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/casts.h"
#include "absl/status/statusor.h"
#include "absl/strings/charconv.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/parser/elided_values.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/value_parser.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

// Elements are parsed into the buffer of a literal in row-major order, whatever
// layout the shape asks for: text is row major, so that elements are appended,
// and Relayout() moves them at the end where the layouts differ. The buffer is
// allocated only once the rest of the text is long enough to fill it, so that
// `f32[1000000000] constant({1})` is an error and not four gigabytes.

namespace xla::hlo_text {
namespace {

template <typename T>
struct IsComplex : std::false_type {};
template <typename T>
struct IsComplex<std::complex<T>> : std::true_type {};

template <typename T>
inline constexpr bool kIsNativeFloat =
    std::is_same_v<T, float> || std::is_same_v<T, double>;

// NaN with a payload, for IEEE formats; nullopt if the payload does not fit
// into the significand.
template <typename T>
std::optional<T> NanWithPayload(uint64_t payload, bool negative) {
  if constexpr (kIsNativeFloat<T>) {
    using Bits =
        std::conditional_t<std::is_same_v<T, float>, uint32_t, uint64_t>;
    constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
    if (payload == 0 || payload >> kMantissa != 0) return std::nullopt;
    Bits bits = absl::bit_cast<Bits>(std::numeric_limits<T>::infinity());
    bits |= static_cast<Bits>(payload);
    if (negative) bits |= Bits{1} << (sizeof(Bits) * 8 - 1);
    return absl::bit_cast<T>(bits);
  } else if constexpr (T::kHasInfinity) {
    if (payload == 0 || payload >> T::kMantissaBits != 0) return std::nullopt;
    auto rep = static_cast<typename T::Rep>(T::kInfinity | payload);
    if (negative) rep |= T::kSignMask;
    return T::FromRep(rep);
  } else {
    // One NaN is all that these formats have.
    return std::nullopt;
  }
}

// The number that `text` spells; nullopt if it overflows. Rounded to a double
// first, and by way of f32 to 16 bits: not always the nearest number, but the
// one that XLA reads.
template <typename T>
std::optional<T> FloatFromText(absl::string_view text) {
  double value = 0;
  absl::from_chars_result result =
      absl::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() && std::fabs(value) > 1) return std::nullopt;
  using Step = std::conditional_t<sizeof(T) == 2, float, double>;
  T narrow = static_cast<T>(static_cast<Step>(value));
  if constexpr (kIsNativeFloat<T>) {
    if (!std::isfinite(narrow)) return std::nullopt;
  } else {
    if (!isfinite(narrow)) return std::nullopt;
    if (T::kFloatKind == FloatKind::kFinite &&
        std::fabs(value) > T::FromRep(T::kMaxFinite).ToFloat()) {
      return std::nullopt;
    }
  }
  return narrow;
}

}  // namespace

template <typename NativeT>
bool ValueParser::ParseElement(NativeT* result) {
  const Loc start = loc();
  constexpr PrimitiveType kType =
      primitive_util::NativeToPrimitiveType<NativeT>();
  auto type_name = [] {
    return primitive_util::LowercasePrimitiveTypeName(kType);
  };
  auto out_of_range = [&] {
    return Error(start, absl::StrCat("value ", lexer_.GetStrView(),
                                     " is out of range for ", type_name()));
  };
  if constexpr (std::is_same_v<NativeT, bool>) {
    return ParseBool(result);
  } else if constexpr (IsComplex<NativeT>::value) {
    using Part = typename NativeT::value_type;
    Part real = 0, imaginary = 0;
    if (Eat(TokKind::kLparen)) {
      if (!ParseElement(&real) || !Expect(TokKind::kComma) ||
          !ParseElement(&imaginary) || !Expect(TokKind::kRparen)) {
        return false;
      }
    } else if (!ParseElement(&real)) {
      return false;
    }
    *result = NativeT(real, imaginary);
    return true;
  } else if constexpr (primitive_util::IsIntegralType(kType)) {
    if (kind() != TokKind::kInt) {
      if (kind() == TokKind::kDecimal &&
          lexer_.GetStrView().find_first_not_of("-0123456789") ==
              absl::string_view::npos) {
        return out_of_range();
      }
      return Expected(absl::StrCat("an integer for ", type_name()));
    }
    const int64_t value = lexer_.GetInt64Val();
    // Without the sign.
    constexpr int kBits = std::numeric_limits<NativeT>::digits;
    bool fits;
    if constexpr (primitive_util::IsUnsignedIntegralType(kType)) {
      // For a 64-bit type, a negative number stands for the same bits.
      fits = kBits == 64 || (!lexer_.IsUnsigned64() && value >= 0 &&
                             value >> (kBits % 64) == 0);
    } else {
      constexpr int64_t kMax =
          std::numeric_limits<int64_t>::max() >> (63 - kBits);
      fits = !lexer_.IsUnsigned64() && value <= kMax && value >= -kMax - 1;
    }
    if (!fits) return out_of_range();
    *result = static_cast<NativeT>(value);
    Next();
    return true;
  } else {
    switch (kind()) {
      case TokKind::kw_inf:
      case TokKind::kNegInf: {
        const bool negative = kind() == TokKind::kNegInf;
        if (!primitive_util::HasInfinity(kType)) return out_of_range();
        *result = static_cast<NativeT>(lexer_.GetDecimalVal());
        if (negative && !(*result < NativeT(0))) return out_of_range();
        break;
      }
      case TokKind::kInt:
      case TokKind::kDecimal: {
        absl::string_view text = lexer_.GetStrView();
        const bool negative = text[0] == '-';
        if (text.substr(negative ? 1 : 0, 3) == "nan") {
          if (!primitive_util::HasNaN(kType)) return out_of_range();
          std::optional<uint64_t> payload = lexer_.GetNanPayload();
          std::optional<NativeT> nan =
              payload.has_value()
                  ? NanWithPayload<NativeT>(*payload, negative)
                  : static_cast<NativeT>(
                        std::copysign(std::numeric_limits<double>::quiet_NaN(),
                                      negative ? -1.0 : 1.0));
          if (!nan.has_value()) {
            return Error(start, absl::StrCat("the NaN payload does not fit in ",
                                             type_name()));
          }
          *result = *nan;
          break;
        }
        std::optional<NativeT> value = FloatFromText<NativeT>(text);
        if (!value.has_value()) return out_of_range();
        *result = *value;
        break;
      }
      default:
        return Expected(absl::StrCat("a number for ", type_name()));
    }
    Next();
    return true;
  }
}

// The elements from dimension `dim` on in row-major order, with braces around
// every dimension. `next` is where the next one goes.
template <typename NativeT>
bool ValueParser::ParseElements(const Shape& shape, int dim, NativeT** next) {
  if (dim == shape.dimensions_size()) return ParseElement((*next)++);
  Nesting nesting(this);
  if (!nesting.ok()) return false;
  const int64_t size = shape.dimensions(dim);
  int64_t count = 0;
  if (!ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
        if (count == size) {
          return Error(loc(), absl::StrCat("more than ", size,
                                           " elements in dimension ", dim));
        }
        ++count;
        return ParseElements(shape, dim + 1, next);
      })) {
    return false;
  }
  return count == size || Error(lexer_.GetPreviousEndLoc() - 1,
                                absl::StrCat(count, " of ", size,
                                             " elements in dimension ", dim));
}

bool ValueParser::ParseElided(const Shape& shape, Literal* result) {
  const Loc start = loc();
  Next();  // '{'
  Next();  // '...'
  if (!Expect(TokKind::kRbrace, "after '...'")) return false;
  if (!shape.is_static()) {
    return Error(start, "a constant has no dynamic dimensions");
  }
  if (!options_.fill_shortform_constants_with_random_values()) {
    *result = Literal::CreateElided(shape);
    return true;
  }
  absl::StatusOr<Literal> filled = MakeElidedValues(shape);
  if (!filled.ok()) return Error(start, filled.status().message());
  *result = *std::move(filled);
  return true;
}

bool ValueParser::ParseTupleLiteral(const Shape& shape, Literal* result) {
  std::vector<Literal> elements;
  const Loc start = loc();
  if (!ParseList(TokKind::kLparen, TokKind::kRparen, [&] {
        if (elements.size() >= shape.tuple_shapes_size()) {
          return Error(loc(),
                       absl::StrCat("the tuple has only ",
                                    shape.tuple_shapes_size(), " elements"));
        }
        Literal element;
        if (!ParseLiteral(shape.tuple_shapes(elements.size()), &element)) {
          return false;
        }
        elements.push_back(std::move(element));
        return true;
      })) {
    return false;
  }
  if (elements.size() != shape.tuple_shapes_size()) {
    return Error(start,
                 absl::StrCat("the tuple needs ", shape.tuple_shapes_size(),
                              " elements, found ", elements.size()));
  }
  *result = Literal::MoveIntoTuple(absl::MakeSpan(elements));
  return true;
}

bool ValueParser::ParseArrayLiteral(const Shape& shape, Literal* result) {
  const Loc start = loc();
  // No element is shorter than `0,`: do not allocate what the text cannot fill.
  const int64_t rest =
      lexer_.text().data() + lexer_.text().size() - lexer_.GetLoc();
  if (!shape.is_static()) {
    return Error(start, "a constant has no dynamic dimensions");
  }
  const int64_t count = ShapeUtil::ElementsIn(shape);
  const bool fills = shape.dimensions_size() > 0 && kind() != TokKind::kLbrace;
  if (fills) {
    constexpr int64_t kMostFilled = int64_t{1} << 27;
    if (count > kMostFilled) {
      return Error(
          start, absl::StrCat("a scalar does not fill more than ", kMostFilled,
                              " elements; use broadcast"));
    }
  } else if (count > rest / 2 + 1) {
    return Error(start, absl::StrCat("the constant needs ", count,
                                     " elements; the text ends before"));
  }
  Shape row_major = shape;
  LayoutUtil::SetToDefaultLayout(&row_major);
  absl::StatusOr<Literal> literal = Literal::Make(row_major);
  if (!literal.ok()) return Error(start, literal.status().message());
  if (fills) {
    if (!primitive_util::ArrayTypeSwitch(
            [&](auto type) {
              using NativeT = primitive_util::NativeTypeOf<type>;
              NativeT value;
              if (!ParseElement(&value)) return false;
              absl::Span<NativeT> elements = literal->data<NativeT>();
              absl::c_fill(elements, value);
              return true;
            },
            shape.element_type())) {
      return false;
    }
  } else if (count == 0 && shape.dimensions_size() > 0 &&
             kind() == TokKind::kLbrace &&
             lexer_.LookAhead() == TokKind::kRbrace &&
             shape.dimensions(0) != 0) {
    // `{}` is short for no elements, whatever the rank.
    Next();
    Next();
  } else if (!primitive_util::ArrayTypeSwitch(
                 [&](auto type) {
                   using NativeT = primitive_util::NativeTypeOf<type>;
                   NativeT* next = literal->data<NativeT>().data();
                   return ParseElements<NativeT>(shape, 0, &next);
                 },
                 shape.element_type())) {
    return false;
  }
  *result = shape.has_layout() && shape.layout() != row_major.layout()
                ? literal->Relayout(shape.layout())
                : *std::move(literal);
  return true;
}

bool ValueParser::ParseLiteral(const Shape& shape, Literal* result) {
  Nesting nesting(this);
  if (!nesting.ok()) return false;
  if (!shape.IsTuple() && !shape.IsArrayExcludingBuffer()) {
    return Error(loc(), "only arrays and tuples have constant values");
  }
  if (kind() == TokKind::kLbrace && lexer_.LookAhead() == TokKind::kDots) {
    return ParseElided(shape, result);
  }
  return shape.IsTuple() ? ParseTupleLiteral(shape, result)
                         : ParseArrayLiteral(shape, result);
}

bool ValueParser::ParseTypedLiteral(Literal* result) {
  if (kind() == TokKind::kLparen) {
    // A tuple's shape has a value behind it, a tuple of typed literals has not.
    const char* end = MatchingEnd(loc());
    HloLexer ahead = lexer_;
    if (end != nullptr && ahead.Reset(end) != TokKind::kLparen) {
      Nesting nesting(this);
      if (!nesting.ok()) return false;
      std::vector<Literal> elements;
      if (!ParseList(TokKind::kLparen, TokKind::kRparen, [&] {
            return ParseTypedLiteral(&elements.emplace_back());
          })) {
        return false;
      }
      *result = Literal::MoveIntoTuple(absl::MakeSpan(elements));
      return true;
    }
  }
  const Shape* shape = ParseCachedShape(/*fill=*/true);
  return shape != nullptr && ParseLiteral(*shape, result);
}

}  // namespace xla::hlo_text
