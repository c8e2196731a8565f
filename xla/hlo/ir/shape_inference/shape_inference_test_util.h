#ifndef XLA_HLO_IR_SHAPE_INFERENCE_SHAPE_INFERENCE_TEST_UTIL_H_
#define XLA_HLO_IR_SHAPE_INFERENCE_SHAPE_INFERENCE_TEST_UTIL_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {

// "f32[2,<=3,?]": an array; "token[]" and "opaque[]" are what they say.
inline Shape S(absl::string_view text) {
  if (text == "token[]") return ShapeUtil::MakeTokenShape();
  if (text == "opaque[]") return ShapeUtil::MakeOpaqueShape();
  const size_t bracket = text.find('[');
  const PrimitiveType type =
      primitive_util::StringToPrimitiveType(text.substr(0, bracket)).value();
  text = text.substr(bracket + 1);
  absl::ConsumeSuffix(&text, "]");
  std::vector<int64_t> sizes;
  std::vector<bool> dynamic;
  for (absl::string_view dim : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    int64_t size = Shape::kUnboundedSize;
    dynamic.push_back(dim == "?" || absl::ConsumePrefix(&dim, "<="));
    if (dim != "?") {
      EXPECT_TRUE(absl::SimpleAtoi(dim, &size)) << dim;
    }
    sizes.push_back(size);
  }
  return ShapeUtil::MakeShape(type, sizes, dynamic);
}

inline Shape Tup(const std::vector<Shape>& elements) {
  return ShapeUtil::MakeTupleShape(absl::MakeConstSpan(elements));
}

inline ProgramShape Program(const std::vector<Shape>& parameters,
                            const Shape& result) {
  ProgramShape program;
  for (const Shape& parameter : parameters) program.AddParameter(parameter, "");
  *program.mutable_result() = result;
  return program;
}

// (type[], type[]) -> type[]
inline ProgramShape Reducer(absl::string_view type) {
  const Shape scalar = S(absl::StrCat(type, "[]"));
  return Program({scalar, scalar}, scalar);
}

// The shape in text, or "error: " and the message. All errors must be
// InvalidArgument.
inline std::string Result(const absl::StatusOr<Shape>& shape) {
  if (shape.ok()) return ShapeUtil::HumanString(*shape);
  EXPECT_EQ(shape.status().code(), absl::StatusCode::kInvalidArgument)
      << shape.status();
  return absl::StrCat("error: ", shape.status().message());
}

// A matcher for an error message that contains `text`.
inline auto Error(absl::string_view text) {
  return ::testing::AllOf(::testing::StartsWith("error: "),
                          ::testing::HasSubstr(std::string(text)));
}

// Pointers to shapes, which must outlive them.
inline std::vector<const Shape*> Pointers(const std::vector<Shape>& shapes) {
  std::vector<const Shape*> pointers;
  for (const Shape& shape : shapes) pointers.push_back(&shape);
  return pointers;
}

}  // namespace xla

#endif  // XLA_HLO_IR_SHAPE_INFERENCE_SHAPE_INFERENCE_TEST_UTIL_H_
