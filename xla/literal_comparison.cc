#include "xla/literal_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/error_spec.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/types.h"

namespace xla {
namespace literal_comparison {
namespace {

// Mismatches that the error shows, short and in detail.
constexpr int64_t kShownMismatches = 5;
constexpr int64_t kShownMismatchesDetailed = 50;

std::string Where(const ShapeIndex& index) {
  return index.empty() ? "" : absl::StrCat(" in element ", index.ToString());
}

absl::Status EqualShapesAt(const Shape& expected, const Shape& actual,
                           const ShapeIndex& index) {
  const auto mismatch = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("shapes differ", Where(index), ": ", what, "; expected ",
                     ShapeUtil::HumanString(expected), ", actual ",
                     ShapeUtil::HumanString(actual)));
  };
  if (expected.element_type_including_buffer() !=
      actual.element_type_including_buffer()) {
    return mismatch("element types");
  }
  if (expected.IsTuple()) {
    if (expected.tuple_shapes_size() != actual.tuple_shapes_size()) {
      return mismatch("tuple sizes");
    }
    for (int64_t i = 0; i < expected.tuple_shapes_size(); ++i) {
      ShapeIndex child = index;
      child.push_back(i);
      TF_RETURN_IF_ERROR(EqualShapesAt(expected.tuple_shapes(i),
                                       actual.tuple_shapes(i), child));
    }
  } else if (expected.IsArray()) {
    if (expected.element_type() != actual.element_type()) {
      return mismatch("element types");
    }
    if (expected.dimensions().size() != actual.dimensions().size()) {
      return mismatch("ranks");
    }
    for (int64_t i = 0; i < expected.dimensions_size(); ++i) {
      if (expected.is_dynamic_dimension(i) != actual.is_dynamic_dimension(i)) {
        return mismatch(absl::StrCat("dimension ", i, " is dynamic in one"));
      }
      if (expected.dimensions(i) != actual.dimensions(i)) {
        return mismatch(absl::StrCat("dimension ", i));
      }
    }
  }
  return absl::OkStatus();
}

template <typename NativeT>
bool IsNan(const NativeT& value) {
  if constexpr (is_complex_v<NativeT>) {
    return IsNan(value.real()) || IsNan(value.imag());
  } else if constexpr (is_specialized_floating_point_v<NativeT>) {
    using std::isnan;
    return isnan(value);
  } else {
    return false;
  }
}

template <typename NativeT>
bool EqualElements(const NativeT& expected, const NativeT& actual) {
  if constexpr (is_complex_v<NativeT>) {
    return EqualElements(expected.real(), actual.real()) &&
           EqualElements(expected.imag(), actual.imag());
  } else {
    return std::memcmp(&expected, &actual, sizeof(NativeT)) == 0 ||
           (IsNan(expected) && IsNan(actual));
  }
}

// Position of a number in the order of all values of its type, 0 for zero.
//
// Floats of one sign are ordered like their bit patterns, so the distance
// between two ranks is the number of representable values between them.
template <typename NativeT>
int64_t Rank(NativeT value) {
  using Bits = std::conditional_t<
      sizeof(NativeT) == 1, uint8_t,
      std::conditional_t<
          sizeof(NativeT) == 2, uint16_t,
          std::conditional_t<sizeof(NativeT) == 4, uint32_t, uint64_t>>>;
  Bits bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if constexpr (!std::numeric_limits<NativeT>::is_signed) {
    return static_cast<int64_t>(bits);
  } else {
    int width = sizeof(NativeT) * 8;
    if constexpr (is_mini_float_v<NativeT>) width = NativeT::kTotalBits;
    const Bits sign = static_cast<Bits>(Bits{1} << (width - 1));
    const int64_t magnitude = static_cast<int64_t>(bits & ~sign);
    return (bits & sign) != 0 ? -magnitude : magnitude;
  }
}

// How many representable numbers of `type` two numbers are apart, once both are
// rounded to it.
double StepsBetween(double a, double b, PrimitiveType type) {
  return primitive_util::FloatingPointTypeSwitch(
      [&](auto constant) -> double {
        using NativeT = primitive_util::NativeTypeOf<constant>;
        return std::abs(static_cast<double>(Rank(static_cast<NativeT>(a))) -
                        static_cast<double>(Rank(static_cast<NativeT>(b))));
      },
      type);
}

// How far an element is off, for the worst-first list.
struct Errors {
  double abs = 0;
  double rel = 0;
};

// Compares two floating-point or complex numbers under a specification.
template <typename NativeT>
class NearElements {
 public:
  explicit NearElements(const ErrorSpec& spec) : spec_(spec) {}

  bool operator()(const NativeT& expected, const NativeT& actual,
                  Errors* errors) const {
    if constexpr (is_complex_v<NativeT>) {
      if (EqualElements(expected, actual)) return true;
      if (IsNan(expected) || IsNan(actual)) {
        *errors = {kInfinity, kInfinity};
        return IsNan(expected) && (IsNan(actual) || spec_.relaxed_nans);
      }
      return Within(std::abs(complex128(actual) - complex128(expected)),
                    std::abs(complex128(expected)), errors);
    } else {
      return NearReals(expected, actual, errors);
    }
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  bool NearReals(NativeT expected, NativeT actual, Errors* errors) const {
    const double e = static_cast<double>(expected);
    const double a = static_cast<double>(actual);
    if (e == a) return true;
    *errors = {kInfinity, kInfinity};
    if (std::isnan(e)) return std::isnan(a) || spec_.relaxed_nans;
    if (std::isnan(a)) return false;
    const auto& low = spec_.low_precision_fp_error_spec;
    if (low.within_n_values >= 0 && std::isfinite(e) && std::isfinite(a) &&
        primitive_util::IsFloatingPointType(low.type)) {
      const double distance = StepsBetween(e, a, low.type);
      *errors = {std::abs(e - a), distance};
      return distance <= low.within_n_values;
    }
    if (std::isinf(e)) return std::isfinite(a) && spec_.fewer_infs_ok;
    if (std::isinf(a)) return spec_.more_infs_ok;
    return Within(std::abs(a - e), std::abs(e), errors);
  }

  // One of the two bounds is enough: near 0 the relative error says nothing, as
  // a sum that should cancel to 0 is off by 100 %; far from 0 the absolute one
  // does not.
  bool Within(double difference, double size, Errors* errors) const {
    errors->abs = difference;
    errors->rel = size == 0 ? kInfinity : difference / size;
    return errors->abs <= spec_.abs || errors->rel <= spec_.rel;
  }

  const ErrorSpec& spec_;
};

struct Mismatch {
  int64_t linear;  // row-major position among the valid elements
  Errors errors;
};

// Compares the valid elements of two arrays; `near` is empty for equality.
template <typename NativeT>
std::vector<Mismatch> FindMismatches(const LiteralSlice& expected,
                                     const LiteralSlice& actual,
                                     absl::Span<const int64_t> dims,
                                     const ErrorSpec* error) {
  std::vector<Mismatch> mismatches;
  if (!literal_internal::HasElements(dims)) return mismatches;
  DimensionVector index(dims.size(), 0);
  int64_t linear = 0;
  do {
    const NativeT e = expected.Get<NativeT>(index);
    const NativeT a = actual.Get<NativeT>(index);
    Errors errors;
    bool good;
    if constexpr (is_complex_v<NativeT> ||
                  is_specialized_floating_point_v<NativeT>) {
      good = error == nullptr ? EqualElements(e, a)
                              : NearElements<NativeT>(*error)(e, a, &errors);
    } else {
      good = e == a;
    }
    if (!good) mismatches.push_back({linear, errors});
    ++linear;
  } while (literal_internal::BumpRowMajor(dims, absl::MakeSpan(index)));
  return mismatches;
}

DimensionVector IndexOf(int64_t linear, absl::Span<const int64_t> dims) {
  DimensionVector index(dims.size());
  for (int64_t d = static_cast<int64_t>(dims.size()) - 1; d >= 0; --d) {
    index[d] = linear % dims[d];
    linear /= dims[d];
  }
  return index;
}

std::string Describe(const LiteralSlice& expected, const LiteralSlice& actual,
                     absl::Span<const int64_t> dims,
                     std::vector<Mismatch> mismatches, const ErrorSpec* error,
                     int64_t shown) {
  int64_t count = 1;
  for (int64_t size : dims) count *= size;
  std::string text =
      absl::StrCat(mismatches.size(), " of ", count, " elements of ",
                   ShapeUtil::HumanString(expected.shape()));
  if (error != nullptr) {
    absl::StrAppend(&text, " off by more than abs ", error->abs, " and rel ",
                    error->rel, ", worst first:");
    // Worse is what exceeds the absolute bound by more; stable, so that ties
    // come in order of position.
    std::stable_sort(mismatches.begin(), mismatches.end(),
                     [](const Mismatch& a, const Mismatch& b) {
                       return a.errors.abs > b.errors.abs;
                     });
  } else {
    absl::StrAppend(&text, " differ:");
  }
  for (int64_t i = 0; i < std::min<int64_t>(mismatches.size(), shown); ++i) {
    const DimensionVector index = IndexOf(mismatches[i].linear, dims);
    absl::StrAppend(&text, "\n  at ", LiteralUtil::MultiIndexAsString(index),
                    ": expected ", expected.GetAsString(index), ", actual ",
                    actual.GetAsString(index));
    if (error != nullptr) {
      absl::StrAppend(&text, ", abs error ", mismatches[i].errors.abs,
                      ", rel error ", mismatches[i].errors.rel);
    }
  }
  return text;
}

// Compares the arrays at one index.
absl::Status CompareArrays(const LiteralSlice& expected,
                           const LiteralSlice& actual, const ShapeIndex& index,
                           const ErrorSpec* error, int64_t shown,
                           const MiscompareCallback& miscompare_callback) {
  if (expected.untyped_data() == nullptr || actual.untyped_data() == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a literal without elements cannot be compared", Where(index)));
  }
  DimensionVector dims;
  for (int64_t i = 0; i < expected.shape().dimensions_size(); ++i) {
    const int64_t size = expected.GetDynamicSize(i);
    if (size != actual.GetDynamicSize(i)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dynamic sizes of dimension ", i, " differ", Where(index),
          ": expected ", size, ", actual ", actual.GetDynamicSize(i)));
    }
    dims.push_back(size);
  }
  std::vector<Mismatch> mismatches = primitive_util::ArrayTypeSwitch(
      [&](auto constant) {
        return FindMismatches<primitive_util::NativeTypeOf<constant>>(
            expected, actual, dims, error);
      },
      expected.shape().element_type());
  if (mismatches.empty()) return absl::OkStatus();
  if (miscompare_callback != nullptr) {
    Literal flags(ShapeUtil::MakeShape(PRED, dims));
    for (const Mismatch& mismatch : mismatches) {
      flags.data<bool>()[mismatch.linear] = true;
    }
    miscompare_callback(expected, actual, flags, index);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "literals differ", Where(index), ": ",
      Describe(expected, actual, dims, std::move(mismatches), error, shown)));
}

// Compares all arrays, so that the callback hears of each; returns the first
// error.
absl::Status Compare(const LiteralSlice& expected, const LiteralSlice& actual,
                     const ErrorSpec* error, int64_t shown,
                     const MiscompareCallback& miscompare_callback) {
  TF_RETURN_IF_ERROR(EqualShapes(expected.shape(), actual.shape()));
  absl::Status result;
  ShapeUtil::ForEachSubshape(
      expected.shape(), [&](const Shape& subshape, const ShapeIndex& index) {
        if (!subshape.IsArray()) return;
        absl::Status status = CompareArrays(LiteralSlice(expected, index),
                                            LiteralSlice(actual, index), index,
                                            error, shown, miscompare_callback);
        if (result.ok()) result = std::move(status);
      });
  return result;
}

}  // namespace

absl::Status EqualShapes(const Shape& expected, const Shape& actual) {
  return EqualShapesAt(expected, actual, {});
}

absl::Status Equal(const LiteralSlice& expected, const LiteralSlice& actual) {
  return Compare(expected, actual, /*error=*/nullptr, kShownMismatches,
                 /*miscompare_callback=*/nullptr);
}

absl::Status Near(const LiteralSlice& expected, const LiteralSlice& actual,
                  const ErrorSpec& error, std::optional<bool> detailed_message,
                  const MiscompareCallback& miscompare_callback) {
  return Compare(expected, actual, &error,
                 detailed_message.value_or(false) ? kShownMismatchesDetailed
                                                  : kShownMismatches,
                 miscompare_callback);
}

}  // namespace literal_comparison
}  // namespace xla
