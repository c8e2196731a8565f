#include "xla/hlo/evaluator/run/literal_difference.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// The tolerance of arrays of a type, given their largest expected element.
using ToleranceFor = std::function<Tolerance(PrimitiveType, double)>;

// How far apart two elements are, and whether that passes.
struct Verdict {
  bool passes = true;
  bool both_nan = false;
  double abs_error = 0;
  double rel_error = 0;  // of the larger one
  std::optional<int64_t> ulps;
};

Verdict JudgeDoubles(double expected, double actual, const Tolerance& bound) {
  Verdict verdict;
  if (std::isnan(expected) || std::isnan(actual)) {
    verdict.both_nan = std::isnan(expected) && std::isnan(actual);
    verdict.passes = verdict.both_nan;
    return verdict;
  }
  if (expected == actual) return verdict;
  verdict.abs_error = std::abs(expected - actual);
  const double larger = std::max(std::abs(expected), std::abs(actual));
  if (std::isfinite(larger)) verdict.rel_error = verdict.abs_error / larger;
  verdict.passes =
      std::isfinite(verdict.abs_error) &&
      verdict.abs_error <= bound.abs + bound.rel * std::abs(expected);
  return verdict;
}

// Compares two arrays of equal dimensions.
class ArrayComparison {
 public:
  ArrayComparison(const LiteralSlice& expected, const LiteralSlice& actual,
                  const ShapeIndex& index, const ToleranceFor& tolerance_for)
      : expected_(expected, index),
        actual_(actual, index),
        tolerance_for_(tolerance_for),
        type_(expected_.shape().element_type()) {}

  void Run(const ShapeIndex& shape_index, std::vector<int64_t> dimensions,
           std::optional<LiteralDifference>& difference, int64_t& elements,
           int64_t& mismatches, double& max_abs_error, LiteralErrors& errors) {
    std::vector<int64_t> index(dimensions.size(), 0);
    for (int64_t size : dimensions) {
      if (size == 0) return;
    }
    const Extent extent = Scan();
    tolerance_ = tolerance_for_(type_, extent.largest);
    if (!errors.tolerance.has_value()) errors.tolerance = tolerance_;
    if (SameBytes()) {
      errors.elements += expected_.element_count();
      errors.nans += extent.nans;
      elements += expected_.element_count();
      return;
    }
    while (true) {
      ++elements;
      ++errors.elements;
      const Verdict verdict = Judge(index);
      if (verdict.both_nan) ++errors.nans;
      if (verdict.abs_error > errors.max_abs) errors.tolerance = tolerance_;
      errors.max_abs = std::max(errors.max_abs, verdict.abs_error);
      errors.max_rel = std::max(errors.max_rel, verdict.rel_error);
      if (!verdict.passes) {
        ++mismatches;
        max_abs_error = std::max(max_abs_error, verdict.abs_error);
        if (!difference.has_value()) {
          difference.emplace();
          difference->shape_index = shape_index;
          difference->index = index;
          difference->expected = expected_.GetAsString(index);
          difference->actual = actual_.GetAsString(index);
          difference->ulps = verdict.ulps;
        }
      }
      int64_t d = static_cast<int64_t>(dimensions.size()) - 1;
      while (d >= 0 && ++index[d] == dimensions[d]) index[d--] = 0;
      if (d < 0) return;
    }
  }

 private:
  bool SameBytes() const {
    return !expected_.shape().is_dynamic() && !actual_.shape().is_dynamic() &&
           expected_.shape().layout().minor_to_major() ==
               actual_.shape().layout().minor_to_major() &&
           std::memcmp(expected_.untyped_data(), actual_.untyped_data(),
                       expected_.size_bytes()) == 0;
  }

  // The magnitude of the largest finite element, and how many are NaN; 0 for
  // integers.
  struct Extent {
    double largest = 0;
    int64_t nans = 0;
  };
  Extent Scan() const {
    Extent extent;
    if (!primitive_util::IsFloatingPointType(type_) &&
        !primitive_util::IsComplexType(type_)) {
      return extent;
    }
    for (int64_t i = 0; i < expected_.element_count(); ++i) {
      const double value = primitive_util::ArrayTypeSwitch<double>(
          [&](auto type) {
            using NativeT = primitive_util::NativeTypeOf<type>;
            if constexpr (is_complex_v<NativeT>) {
              return static_cast<double>(
                  std::abs(expected_.GetLinear<NativeT>(i)));
            } else if constexpr (primitive_util::IsFloatingPointType(type)) {
              return std::abs(
                  static_cast<double>(expected_.GetLinear<NativeT>(i)));
            } else {
              return 0.0;
            }
          },
          type_);
      if (std::isfinite(value)) {
        extent.largest = std::max(extent.largest, value);
      } else if (std::isnan(value)) {
        ++extent.nans;
      }
    }
    return extent;
  }

  Verdict Judge(absl::Span<const int64_t> index) const {
    if (primitive_util::IsComplexType(type_)) {
      const complex128 e = *expected_.GetAsComplex128(index);
      const complex128 a = *actual_.GetAsComplex128(index);
      // A part may be off by what the whole allows.
      Tolerance bound = tolerance_;
      bound.abs += bound.rel * std::abs(e);
      const Verdict re = JudgeDoubles(e.real(), a.real(), bound);
      const Verdict im = JudgeDoubles(e.imag(), a.imag(), bound);
      Verdict both;
      both.passes = re.passes && im.passes;
      both.both_nan = both.passes && (re.both_nan || im.both_nan);
      both.abs_error = std::max(re.abs_error, im.abs_error);
      both.rel_error = std::max(re.rel_error, im.rel_error);
      return both;
    }
    if (primitive_util::IsFloatingPointType(type_)) {
      const double e = *expected_.GetAsDouble(index);
      const double a = *actual_.GetAsDouble(index);
      Verdict verdict = JudgeDoubles(e, a, tolerance_);
      if (verdict.passes || std::isnan(e) || std::isnan(a)) return verdict;
      verdict.ulps =
          UlpsApart(type_, Element(expected_, index), Element(actual_, index));
      verdict.passes = *verdict.ulps <= tolerance_.ulps;
      return verdict;
    }
    const int64_t e = *expected_.GetIntegralAsS64(index);
    const int64_t a = *actual_.GetIntegralAsS64(index);
    if (e == a) return {};
    Verdict verdict = JudgeDoubles(static_cast<double>(e),
                                   static_cast<double>(a), tolerance_);
    verdict.passes = tolerance_.integers && verdict.passes;
    return verdict;
  }

  static const void* Element(const LiteralBase& literal,
                             absl::Span<const int64_t> index) {
    int64_t linear = 0, stride = 1;
    for (int64_t d : literal.shape().layout().minor_to_major()) {
      linear += index[d] * stride;
      stride *= literal.shape().dimensions(d);
    }
    return static_cast<const char*>(literal.untyped_data()) +
           linear * literal.size_bytes() / literal.element_count();
  }

  const LiteralSlice expected_;
  const LiteralSlice actual_;
  const ToleranceFor& tolerance_for_;
  Tolerance tolerance_;
  const PrimitiveType type_;
};

// The sizes in use.
std::vector<int64_t> ValidDimensions(const LiteralSlice& literal,
                                     const ShapeIndex& index) {
  const Shape& shape = ShapeUtil::GetSubshape(literal.shape(), index);
  std::vector<int64_t> dimensions;
  for (size_t d = 0; d < shape.dimensions().size(); ++d) {
    dimensions.push_back(shape.is_dynamic_dimension(d)
                             ? literal.GetDynamicSize(d, index)
                             : shape.dimensions(d));
  }
  return dimensions;
}

absl::StatusOr<std::optional<LiteralDifference>> Find(
    const LiteralSlice& expected, const LiteralSlice& actual,
    const ToleranceFor& tolerance_for, LiteralErrors* all_errors) {
  if (!ShapeUtil::DynamicShapeIsCompatible(expected.shape(), actual.shape()) &&
      !ShapeUtil::Compatible(expected.shape(), actual.shape())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "shapes differ: expected ", ShapeUtil::HumanString(expected.shape()),
        ", actual ", ShapeUtil::HumanString(actual.shape())));
  }
  std::optional<LiteralDifference> difference;
  int64_t elements = 0, mismatches = 0;
  double max_abs_error = 0;
  LiteralErrors unused;
  LiteralErrors& errors = all_errors != nullptr ? *all_errors : unused;
  for (const ShapeUtil::IndexedShape& leaf :
       ShapeUtil::GetLeafShapes(expected.shape())) {
    if (!leaf.shape.IsArray()) continue;
    if (!expected.IsKnown(leaf.index) || !actual.IsKnown(leaf.index)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output ", leaf.index.ToString(), " has no elements to compare"));
    }
    const std::vector<int64_t> dimensions =
        ValidDimensions(expected, leaf.index);
    if (dimensions != ValidDimensions(actual, leaf.index)) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", leaf.index.ToString(), " has dynamic sizes [",
                       absl::StrJoin(ValidDimensions(actual, leaf.index), ","),
                       "], expected [", absl::StrJoin(dimensions, ","), "]"));
    }
    ArrayComparison(expected, actual, leaf.index, tolerance_for)
        .Run(leaf.index, dimensions, difference, elements, mismatches,
             max_abs_error, errors);
  }
  if (difference.has_value()) {
    difference->elements = elements;
    difference->mismatches = mismatches;
    difference->max_abs_error = max_abs_error;
  }
  return difference;
}

}  // namespace

absl::StatusOr<Tolerance> Tolerance::Parse(absl::string_view text) {
  Tolerance tolerance;
  if (text == "exact") return tolerance;
  if (absl::SimpleAtod(text, &tolerance.abs)) {
    tolerance.rel = tolerance.abs;
    if (tolerance.abs >= 0 && std::isfinite(tolerance.abs)) return tolerance;
  }
  for (absl::string_view piece : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(piece, '=');
    bool parsed = parts.size() == 2;
    if (parsed && parts[0] == "abs") {
      parsed = absl::SimpleAtod(parts[1], &tolerance.abs);
    } else if (parsed && parts[0] == "rel") {
      parsed = absl::SimpleAtod(parts[1], &tolerance.rel);
    } else if (parsed && parts[0] == "ulps") {
      parsed = absl::SimpleAtoi(parts[1], &tolerance.ulps);
    } else {
      parsed = false;
    }
    if (!parsed || !(tolerance.abs >= 0) || !(tolerance.rel >= 0) ||
        !std::isfinite(tolerance.abs) || !std::isfinite(tolerance.rel) ||
        tolerance.ulps < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "bad tolerance '", text,
          "'; expected 'exact', a number, or abs=, rel=, ulps= with numbers"));
    }
  }
  return tolerance;
}

Tolerance Tolerance::ForType(PrimitiveType type) {
  if (primitive_util::IsComplexType(type)) {
    type = primitive_util::ComplexComponentType(type);
  }
  if (!primitive_util::IsFloatingPointType(type)) return Tolerance();
  // 2^-p is half a unit in the last place of 1.
  const double unit = std::ldexp(1.0, -primitive_util::SignificandWidth(type));
  // A few dozen roundings; wider types get more room, since conversions from
  // narrower ones and library functions cost more than their own rounding.
  const double factor = primitive_util::BitWidth(type) <= 16   ? 8
                        : primitive_util::BitWidth(type) == 32 ? 256
                                                               : 65536;
  Tolerance tolerance;
  tolerance.abs = tolerance.rel = factor * unit;
  return tolerance;
}

std::string LiteralDifference::ToString() const {
  std::string text = "output";
  if (!shape_index.empty()) absl::StrAppend(&text, " ", shape_index.ToString());
  absl::StrAppend(&text, " at [", absl::StrJoin(index, ","), "]: expected ",
                  expected, ", actual ", actual);
  if (ulps.has_value()) {
    absl::StrAppend(&text, " (", *ulps, *ulps == 1 ? " ULP)" : " ULPs)");
  }
  absl::StrAppend(&text, "; ", mismatches, " of ", elements,
                  elements == 1 ? " element differs" : " elements differ");
  if (max_abs_error > 0) {
    absl::StrAppend(&text, ", by at most ", max_abs_error);
  }
  return text;
}

std::string LiteralErrors::ToString() const {
  const Tolerance bound = tolerance.value_or(Tolerance());
  std::string text = absl::StrCat("largest error ", max_abs, " absolute, ",
                                  max_rel, " relative; tolerance ");
  if (bound.abs == 0 && bound.rel == 0 && bound.ulps == 0) {
    absl::StrAppend(&text, "exact");
  } else {
    absl::StrAppend(&text, "abs=", bound.abs, ", rel=", bound.rel);
    if (bound.ulps > 0) absl::StrAppend(&text, ", ulps=", bound.ulps);
    if ((bound.abs > 0) + (bound.rel > 0) + (bound.ulps > 0) > 1) {
      absl::StrAppend(&text, " (any one is enough)");
    }
  }
  if (nans > 0) {
    absl::StrAppend(&text, "; ", nans, " of ", elements,
                    " elements are NaN in both");
  }
  return text;
}

absl::StatusOr<std::optional<LiteralDifference>> FindDifference(
    const LiteralSlice& expected, const LiteralSlice& actual,
    const Tolerance& tolerance, LiteralErrors* errors) {
  return Find(
      expected, actual, [&](PrimitiveType, double) { return tolerance; },
      errors);
}

// The error of a sum is relative to its addends, of which a small result of
// cancellation shows nothing. So the absolute bound grows with the largest
// element of the array, as a stand-in for the addends.
absl::StatusOr<std::optional<LiteralDifference>> FindDifferenceByType(
    const LiteralSlice& expected, const LiteralSlice& actual, double scale,
    LiteralErrors* errors) {
  return Find(
      expected, actual,
      [&](PrimitiveType type, double largest) {
        Tolerance tolerance = Tolerance::ForType(type);
        tolerance.abs *= scale * std::max(largest, 1.0);
        tolerance.rel *= scale;
        return tolerance;
      },
      errors);
}

int64_t UlpsApart(PrimitiveType type, const void* a, const void* b) {
  const int bits = primitive_util::BitWidth(type);
  // Sign and magnitude to a number that grows with the value.
  auto ordered = [&](const void* element) {
    uint64_t word = 0;
    std::memcpy(&word, element, (bits + 7) / 8);
    const uint64_t sign = uint64_t{1} << (bits - 1);
    const auto magnitude = static_cast<int64_t>(word & (sign - 1));
    return (word & sign) != 0 ? -magnitude : magnitude;
  };
  const int64_t x = ordered(a), y = ordered(b);
  const uint64_t apart =
      x > y ? static_cast<uint64_t>(x) - y : static_cast<uint64_t>(y) - x;
  return static_cast<int64_t>(
      std::min<uint64_t>(apart, std::numeric_limits<int64_t>::max()));
}

}  // namespace xla
