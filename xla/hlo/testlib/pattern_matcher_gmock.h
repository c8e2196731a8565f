#ifndef XLA_HLO_TESTLIB_PATTERN_MATCHER_GMOCK_H_
#define XLA_HLO_TESTLIB_PATTERN_MATCHER_GMOCK_H_

#include <ostream>
#include <type_traits>
#include <utility>

#include "gmock/gmock.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/pattern_matcher.h"
#include "xla/layout.h"
#include "xla/shape.h"

namespace xla {

namespace pattern_matcher_gmock_detail {

// A pattern (xla/hlo/utils/pattern_matcher.h) as a gmock matcher of layouts,
// shapes, instructions and pointers to them. Explains failures.
template <typename Pattern>
class GmockMatcher {
 public:
  explicit GmockMatcher(Pattern p) : pattern_(std::move(p)) {}

  template <typename Item>
  bool MatchAndExplain(Item* item,
                       ::testing::MatchResultListener* listener) const {
    // The stream of a listener that does not listen is null.
    return Match(item, pattern_,
                 {/*capture=*/true, /*single_user_only=*/false,
                  /*explain_os=*/listener->stream()});
  }
  bool MatchAndExplain(const Layout& l,
                       ::testing::MatchResultListener* listener) const {
    return MatchAndExplain(&l, listener);
  }
  bool MatchAndExplain(const Shape& s,
                       ::testing::MatchResultListener* listener) const {
    return MatchAndExplain(&s, listener);
  }
  bool MatchAndExplain(const HloInstruction& instr,
                       ::testing::MatchResultListener* listener) const {
    return MatchAndExplain(&instr, listener);
  }

  void DescribeTo(std::ostream* os) const { pattern_.DescribeTo(os); }
  void DescribeNegationTo(std::ostream* os) const {
    *os << "not ";
    pattern_.DescribeTo(os);
  }

 private:
  Pattern pattern_;
};

}  // namespace pattern_matcher_gmock_detail

// EXPECT_THAT(root, GmockMatch(m::Add(m::Parameter(0), m::Op(&x))));
template <typename Pattern>
::testing::PolymorphicMatcher<
    pattern_matcher_gmock_detail::GmockMatcher<std::decay_t<Pattern>>>
GmockMatch(Pattern&& p) {
  return ::testing::MakePolymorphicMatcher(
      pattern_matcher_gmock_detail::GmockMatcher<std::decay_t<Pattern>>(
          std::forward<Pattern>(p)));
}

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_PATTERN_MATCHER_GMOCK_H_
