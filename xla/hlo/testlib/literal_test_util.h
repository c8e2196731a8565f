#ifndef XLA_HLO_TESTLIB_LITERAL_TEST_UTIL_H_
#define XLA_HLO_TESTLIB_LITERAL_TEST_UTIL_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "xla/array2d.h"
#include "xla/array3d.h"
#include "xla/array4d.h"
#include "xla/error_spec.h"
#include "xla/literal.h"
#include "xla/literal_comparison.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {

// Literals in expectations:
//
//   EXPECT_TRUE(LiteralTestUtil::Near(expected, actual, ErrorSpec(1e-5)));
//   LiteralTestUtil::ExpectR1Equal<float>({1, 2}, actual);
//
// Failures say where the first and the largest difference is.
class LiteralTestUtil {
 public:
  using MiscompareCallback = literal_comparison::MiscompareCallback;

  LiteralTestUtil() = delete;

  // In any layout; the second one also the layout.
  [[nodiscard]] static ::testing::AssertionResult EqualShapes(
      const Shape& expected, const Shape& actual) {
    return ToResult(literal_comparison::EqualShapes(expected, actual));
  }
  [[nodiscard]] static ::testing::AssertionResult EqualShapesAndLayouts(
      const Shape& expected, const Shape& actual) {
    if (ShapeUtil::Equal(expected, actual)) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure()
           << "expected " << ShapeUtil::HumanStringWithLayout(expected)
           << ", found " << ShapeUtil::HumanStringWithLayout(actual);
  }

  [[nodiscard]] static ::testing::AssertionResult Equal(
      const LiteralSlice& expected, const LiteralSlice& actual) {
    return ToResult(literal_comparison::Equal(expected, actual));
  }
  [[nodiscard]] static ::testing::AssertionResult Near(
      const LiteralSlice& expected, const LiteralSlice& actual,
      const ErrorSpec& error_spec,
      std::optional<bool> detailed_message = std::nullopt,
      const MiscompareCallback& miscompare_callback = nullptr) {
    return ToResult(literal_comparison::Near(
        expected, actual, error_spec, detailed_message, miscompare_callback));
  }
  // Equal without a specification.
  [[nodiscard]] static ::testing::AssertionResult NearOrEqual(
      const LiteralSlice& expected, const LiteralSlice& actual,
      const std::optional<ErrorSpec>& error) {
    return error.has_value() ? Near(expected, actual, *error)
                             : Equal(expected, actual);
  }

  template <typename T>
  static void ExpectR0Equal(T expected, const LiteralSlice& actual) {
    EXPECT_TRUE(Equal(LiteralUtil::CreateR0<T>(expected), actual));
  }
  template <typename T>
  static void ExpectR1Equal(absl::Span<const T> expected,
                            const LiteralSlice& actual) {
    EXPECT_TRUE(Equal(LiteralUtil::CreateR1<T>(expected), actual));
  }
  template <typename T>
  static void ExpectR2Equal(
      std::initializer_list<std::initializer_list<T>> expected,
      const LiteralSlice& actual) {
    EXPECT_TRUE(Equal(LiteralUtil::CreateR2<T>(expected), actual));
  }
  template <typename T>
  static void ExpectR3Equal(
      std::initializer_list<std::initializer_list<std::initializer_list<T>>>
          expected,
      const LiteralSlice& actual) {
    EXPECT_TRUE(Equal(LiteralUtil::CreateR3<T>(expected), actual));
  }
  template <typename T>
  static void ExpectR2EqualArray2D(const Array2D<T>& expected,
                                   const LiteralSlice& actual) {
    EXPECT_TRUE(Equal(LiteralUtil::CreateR2FromArray2D(expected), actual));
  }
  template <typename T>
  static void ExpectR3EqualArray3D(const Array3D<T>& expected,
                                   const LiteralSlice& actual) {
    EXPECT_TRUE(Equal(LiteralUtil::CreateR3FromArray3D(expected), actual));
  }
  template <typename T>
  static void ExpectR4EqualArray4D(const Array4D<T>& expected,
                                   const LiteralSlice& actual) {
    EXPECT_TRUE(Equal(LiteralUtil::CreateR4FromArray4D(expected), actual));
  }

  template <typename T>
  static void ExpectR0Near(T expected, const LiteralSlice& actual,
                           const ErrorSpec& error) {
    EXPECT_TRUE(Near(LiteralUtil::CreateR0<T>(expected), actual, error));
  }
  template <typename T>
  static void ExpectR1Near(absl::Span<const T> expected,
                           const LiteralSlice& actual, const ErrorSpec& error) {
    EXPECT_TRUE(Near(LiteralUtil::CreateR1<T>(expected), actual, error));
  }
  template <typename T>
  static void ExpectR2Near(
      std::initializer_list<std::initializer_list<T>> expected,
      const LiteralSlice& actual, const ErrorSpec& error) {
    EXPECT_TRUE(Near(LiteralUtil::CreateR2<T>(expected), actual, error));
  }
  template <typename T>
  static void ExpectR3Near(
      std::initializer_list<std::initializer_list<std::initializer_list<T>>>
          expected,
      const LiteralSlice& actual, const ErrorSpec& error) {
    EXPECT_TRUE(Near(LiteralUtil::CreateR3<T>(expected), actual, error));
  }
  template <typename T>
  static void ExpectR4Near(std::initializer_list<std::initializer_list<
                               std::initializer_list<std::initializer_list<T>>>>
                               expected,
                           const LiteralSlice& actual, const ErrorSpec& error) {
    EXPECT_TRUE(Near(LiteralUtil::CreateR4<T>(expected), actual, error));
  }
  template <typename T>
  static void ExpectR2NearArray2D(const Array2D<T>& expected,
                                  const LiteralSlice& actual,
                                  const ErrorSpec& error) {
    EXPECT_TRUE(
        Near(LiteralUtil::CreateR2FromArray2D(expected), actual, error));
  }
  template <typename T>
  static void ExpectR3NearArray3D(const Array3D<T>& expected,
                                  const LiteralSlice& actual,
                                  const ErrorSpec& error) {
    EXPECT_TRUE(
        Near(LiteralUtil::CreateR3FromArray3D(expected), actual, error));
  }
  template <typename T>
  static void ExpectR4NearArray4D(const Array4D<T>& expected,
                                  const LiteralSlice& actual,
                                  const ErrorSpec& error) {
    EXPECT_TRUE(
        Near(LiteralUtil::CreateR4FromArray4D(expected), actual, error));
  }

 private:
  static ::testing::AssertionResult ToResult(const absl::Status& status) {
    if (status.ok()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << status.message();
  }
};

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_LITERAL_TEST_UTIL_H_
