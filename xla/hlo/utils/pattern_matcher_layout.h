#ifndef XLA_HLO_UTILS_PATTERN_MATCHER_LAYOUT_H_
#define XLA_HLO_UTILS_PATTERN_MATCHER_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/hlo/utils/pattern_matcher_core.h"
#include "xla/layout.h"

namespace xla {
namespace match {
namespace detail {

using Int64List = absl::InlinedVector<int64_t, 6>;

struct LayoutKind {
  static constexpr char kNoun[] = "layout";
  static std::string Text(const ::xla::Layout& layout) {
    return layout.ToString();
  }
};

struct LayoutEqualTo {
  const ::xla::Layout* want;

  bool Match(const ::xla::Layout* layout, const MatchOption& option) const {
    return *layout == *want || Explain(option, [&] {
      return absl::StrCat("is not equal to ", want->ToString());
    });
  }
  std::string Describe() const {
    return absl::StrCat("equal to ", want->ToString());
  }
};

struct MinorToMajorField {
  using Item = ::xla::Layout;
  using Value = Int64List;
  static constexpr char kName[] = "minor to major order";
  static std::optional<absl::Span<const int64_t>> Get(const Item& layout) {
    return layout.minor_to_major();
  }
  static std::string Text(absl::Span<const int64_t> order) {
    return absl::StrCat("{", absl::StrJoin(order, ","), "}");
  }
};

// A pattern that matches layouts.
template <typename LayoutType, typename Checks>
class LayoutPattern : public PatternBase<LayoutPattern, LayoutKind,
                                         ::xla::Layout, LayoutType, Checks> {
 public:
  using LayoutPattern::PatternBase::PatternBase;

  // `layout` must outlive the pattern.
  auto EqualTo(const ::xla::Layout* layout) const {
    return this->With(LayoutEqualTo{layout});
  }
  auto WithMinorToMajor(absl::Span<const int64_t> minor_to_major) const {
    return this->With(FieldIs<MinorToMajorField>{
        {minor_to_major.begin(), minor_to_major.end()}});
  }
};

template <>
struct PatternOf<::xla::Layout> {
  template <typename LayoutType, typename Checks>
  using type = LayoutPattern<LayoutType, Checks>;
};

}  // namespace detail

// Any layout; captures it.
inline auto Layout(const ::xla::Layout** matched_layout = nullptr) {
  return detail::LayoutPattern<const ::xla::Layout, detail::Conjunction<>>(
      {}, matched_layout);
}
inline auto Layout(::xla::Layout** matched_layout) {
  return detail::LayoutPattern<::xla::Layout, detail::Conjunction<>>(
      {}, matched_layout);
}

}  // namespace match
}  // namespace xla

#endif  // XLA_HLO_UTILS_PATTERN_MATCHER_LAYOUT_H_
