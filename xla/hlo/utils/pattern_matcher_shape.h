#ifndef XLA_HLO_UTILS_PATTERN_MATCHER_SHAPE_H_
#define XLA_HLO_UTILS_PATTERN_MATCHER_SHAPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/hlo/utils/pattern_matcher_core.h"
#include "xla/hlo/utils/pattern_matcher_layout.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace match {
namespace detail {

struct ShapeKind {
  static constexpr char kNoun[] = "shape";
  static std::string Text(const ::xla::Shape& shape) {
    return ShapeUtil::HumanStringWithLayout(shape);
  }
};

struct ShapeEqualTo {
  const ::xla::Shape* want;

  bool Match(const ::xla::Shape* shape, const MatchOption& option) const {
    return ShapeUtil::Equal(*shape, *want) || Explain(option, [&] {
             return absl::StrCat("is not equal to ", ShapeKind::Text(*want));
           });
  }
  std::string Describe() const {
    return absl::StrCat("equal to ", ShapeKind::Text(*want));
  }
};

struct ShapeCompatibleTo {
  const ::xla::Shape* want;

  bool Match(const ::xla::Shape* shape, const MatchOption& option) const {
    return ShapeUtil::Compatible(*shape, *want) || Explain(option, [&] {
             return absl::StrCat("is not compatible with ",
                                 ShapeUtil::HumanString(*want));
           });
  }
  std::string Describe() const {
    return absl::StrCat("compatible with ", ShapeUtil::HumanString(*want));
  }
};

struct ElementTypeField {
  using Item = ::xla::Shape;
  using Value = PrimitiveType;
  static constexpr char kName[] = "element type";
  static std::optional<PrimitiveType> Get(const Item& shape) {
    return shape.element_type();
  }
  static std::string Text(PrimitiveType type) {
    return primitive_util::LowercasePrimitiveTypeName(type);
  }
};

struct DimensionsField {
  using Item = ::xla::Shape;
  using Value = Int64List;
  static constexpr char kName[] = "dimension list";
  static std::optional<absl::Span<const int64_t>> Get(const Item& shape) {
    if (!shape.IsArray()) return std::nullopt;
    return shape.dimensions();
  }
  static std::string Text(absl::Span<const int64_t> dims) {
    return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
  }
};

struct RankField {
  using Item = ::xla::Shape;
  using Value = int64_t;
  static constexpr char kName[] = "rank";
  static std::optional<int64_t> Get(const Item& shape) {
    if (!shape.IsArray()) return std::nullopt;
    return shape.dimensions().size();
  }
  static std::string Text(int64_t rank) { return absl::StrCat(rank); }
};

#define XLA_SHAPE_PROPERTY(NAME, TEXT, TEST)         \
  struct NAME {                                      \
    using Item = ::xla::Shape;                       \
    static constexpr char kName[] = TEXT;            \
    static bool Test(const Item& s) { return TEST; } \
  };
XLA_SHAPE_PROPERTY(ScalarProperty, "a scalar", ShapeUtil::IsScalar(s))
XLA_SHAPE_PROPERTY(ArrayProperty, "an array", s.IsArray())
XLA_SHAPE_PROPERTY(DenseArrayProperty, "a dense array",
                   LayoutUtil::IsDenseArray(s))
XLA_SHAPE_PROPERTY(TupleProperty, "a tuple", s.IsTuple())
XLA_SHAPE_PROPERTY(EffectiveScalarProperty, "an effective scalar",
                   ShapeUtil::IsEffectiveScalar(s))
#undef XLA_SHAPE_PROPERTY

// Parts of a shape.
struct LayoutAccessor {
  static constexpr bool kOwnLine = false;
  const ::xla::Layout* Get(const ::xla::Shape& shape) const {
    return shape.IsArray() && shape.has_layout() ? &shape.layout() : nullptr;
  }
  std::string Label() const { return "layout"; }
  bool Accepts(const ::xla::Layout&, const MatchOption&) const { return true; }
};

struct SubshapeAccessor {
  static constexpr bool kOwnLine = false;
  ShapeIndex index;

  const ::xla::Shape* Get(const ::xla::Shape& shape) const {
    if (!ShapeUtil::IndexIsValid(shape, index)) return nullptr;
    return &ShapeUtil::GetSubshape(shape, index);
  }
  std::string Label() const {
    return absl::StrCat("subshape {", absl::StrJoin(index, ","), "}");
  }
  bool Accepts(const ::xla::Shape&, const MatchOption&) const { return true; }
};

// A pattern of shapes.
template <typename ShapeType, typename Checks>
class ShapePattern : public PatternBase<ShapePattern, ShapeKind, ::xla::Shape,
                                        ShapeType, Checks> {
 public:
  using ShapePattern::PatternBase::PatternBase;

  // Equal, layouts included. `shape`, here and below, must outlive the pattern.
  auto EqualTo(const ::xla::Shape* shape) const {
    return this->With(ShapeEqualTo{shape});
  }
  // Equal but for layouts and dynamic dimensions.
  auto CompatibleTo(const ::xla::Shape* shape) const {
    return this->With(ShapeCompatibleTo{shape});
  }
  auto WithElementType(PrimitiveType element_type) const {
    return this->With(FieldIs<ElementTypeField>{element_type});
  }
  // An array of these dimensions.
  auto WithDims(absl::Span<const int64_t> dims) const {
    return this->With(FieldIs<DimensionsField>{{dims.begin(), dims.end()}});
  }
  // An array of this many dimensions.
  auto WithRank(int64_t rank) const {
    return this->With(FieldIs<RankField>{rank});
  }
  auto IsScalar() const { return this->With(HasProperty<ScalarProperty>{}); }
  auto IsArray() const { return this->With(HasProperty<ArrayProperty>{}); }
  auto IsDenseArray() const {
    return this->With(HasProperty<DenseArrayProperty>{});
  }
  auto IsTuple() const { return this->With(HasProperty<TupleProperty>{}); }
  // An array of one element.
  auto IsEffectiveScalar() const {
    return this->With(HasProperty<EffectiveScalarProperty>{});
  }

  // An array with such a layout.
  template <typename LayoutType, typename LayoutChecks>
  auto WithLayout(const LayoutPattern<LayoutType, LayoutChecks>& layout) const {
    return this->With(PartMatches(LayoutAccessor{}, layout));
  }
  auto WithLayout(absl::Span<const int64_t> minor_to_major) const {
    return WithLayout(match::Layout().WithMinorToMajor(minor_to_major));
  }
  auto WithLayoutEqualTo(const ::xla::Layout* layout) const {
    return WithLayout(match::Layout().EqualTo(layout));
  }

  // The element of a tuple at `index` is such a shape; {} is the shape itself.
  template <typename SubshapeType, typename SubshapeChecks>
  auto WithSubshape(
      ShapeIndexView index,
      const ShapePattern<SubshapeType, SubshapeChecks>& subshape) const {
    return this->With(
        PartMatches(SubshapeAccessor{ShapeIndex(index)}, subshape));
  }
  auto WithSubshapeEqualTo(ShapeIndexView index,
                           const ::xla::Shape* shape) const {
    return WithSubshape(
        index, ShapePattern<const ::xla::Shape, Conjunction<>>({}, nullptr)
                   .EqualTo(shape));
  }
  auto WithSubshapeCompatibleTo(ShapeIndexView index,
                                const ::xla::Shape* shape) const {
    return WithSubshape(
        index, ShapePattern<const ::xla::Shape, Conjunction<>>({}, nullptr)
                   .CompatibleTo(shape));
  }
};

template <>
struct PatternOf<::xla::Shape> {
  template <typename ShapeType, typename Checks>
  using type = ShapePattern<ShapeType, Checks>;
};

}  // namespace detail

// Any shape; captures it.
inline auto Shape(const ::xla::Shape** matched_shape = nullptr) {
  return detail::ShapePattern<const ::xla::Shape, detail::Conjunction<>>(
      {}, matched_shape);
}
inline auto Shape(::xla::Shape** matched_shape) {
  return detail::ShapePattern<::xla::Shape, detail::Conjunction<>>(
      {}, matched_shape);
}

}  // namespace match
}  // namespace xla

#endif  // XLA_HLO_UTILS_PATTERN_MATCHER_SHAPE_H_
