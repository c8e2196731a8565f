#ifndef XLA_HLO_TESTLIB_HLO_MATCHERS_H_
#define XLA_HLO_TESTLIB_HLO_MATCHERS_H_

// gmock matchers of instructions, one per opcode, for tests:
//
//   namespace op = ::xla::testing::opcode_matchers;
//   EXPECT_THAT(root, op::Add(op::Parameter(0), op::Constant()));
//   EXPECT_THAT(root, AllOf(op::Copy(), op::Shape("f32[2,3]")));
//
// With arguments, the operands must match them one by one; without, operands do
// not matter. To capture instructions, or to match in passes, see
// pattern_matcher.h.

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/utils/hlo_opcode_names.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace testing {

using HloInstructionMatcher = ::testing::Matcher<const HloInstruction*>;

// Opcode and operands; base of matchers that look at attributes too.
class HloMatcher : public ::testing::MatcherInterface<const HloInstruction*> {
 public:
  HloMatcher(HloOpcode opcode, std::vector<HloInstructionMatcher> operands)
      : opcode_(opcode), operands_(std::move(operands)) {}

  bool MatchAndExplain(const HloInstruction* instruction,
                       ::testing::MatchResultListener* listener) const override;
  // "add(parameter(0), constant)"
  void DescribeTo(std::ostream* os) const override;

 protected:
  // The text in the parentheses before the operands, and after them.
  virtual void DescribeAttributesTo(std::ostream* os) const {}

 private:
  HloOpcode opcode_;
  std::vector<HloInstructionMatcher> operands_;
};

class HloParameterMatcher : public HloMatcher {
 public:
  explicit HloParameterMatcher(int64_t parameter_number)
      : HloMatcher(HloOpcode::kParameter, {}),
        parameter_number_(parameter_number) {}
  bool MatchAndExplain(const HloInstruction* instruction,
                       ::testing::MatchResultListener* listener) const override;

 protected:
  void DescribeAttributesTo(std::ostream* os) const override;

 private:
  int64_t parameter_number_;
};

class HloComparisonMatcher : public HloMatcher {
 public:
  HloComparisonMatcher(ComparisonDirection direction,
                       std::vector<HloInstructionMatcher> operands)
      : HloMatcher(HloOpcode::kCompare, std::move(operands)),
        direction_(direction) {}
  bool MatchAndExplain(const HloInstruction* instruction,
                       ::testing::MatchResultListener* listener) const override;

 protected:
  void DescribeAttributesTo(std::ostream* os) const override;

 private:
  ComparisonDirection direction_;
};

class HloGetTupleElementMatcher : public HloMatcher {
 public:
  HloGetTupleElementMatcher(HloInstructionMatcher operand, int64_t tuple_index)
      : HloMatcher(HloOpcode::kGetTupleElement, {std::move(operand)}),
        tuple_index_(tuple_index) {}
  bool MatchAndExplain(const HloInstruction* instruction,
                       ::testing::MatchResultListener* listener) const override;

 protected:
  void DescribeAttributesTo(std::ostream* os) const override;

 private:
  int64_t tuple_index_;
};

class HloCustomCallMatcher : public HloMatcher {
 public:
  HloCustomCallMatcher(::testing::Matcher<std::string> call_target_matcher,
                       std::vector<HloInstructionMatcher> operands)
      : HloMatcher(HloOpcode::kCustomCall, std::move(operands)),
        call_target_matcher_(std::move(call_target_matcher)) {}
  bool MatchAndExplain(const HloInstruction* instruction,
                       ::testing::MatchResultListener* listener) const override;

 protected:
  void DescribeAttributesTo(std::ostream* os) const override;

 private:
  ::testing::Matcher<std::string> call_target_matcher_;
};

class HloDotWithContractingDimsMatcher : public HloMatcher {
 public:
  HloDotWithContractingDimsMatcher(HloInstructionMatcher lhs,
                                   HloInstructionMatcher rhs,
                                   int64_t lhs_contracting_dim,
                                   int64_t rhs_contracting_dim)
      : HloMatcher(HloOpcode::kDot, {std::move(lhs), std::move(rhs)}),
        lhs_contracting_dim_(lhs_contracting_dim),
        rhs_contracting_dim_(rhs_contracting_dim) {}
  // The dot contracts this pair of dimensions and no other.
  bool MatchAndExplain(const HloInstruction* instruction,
                       ::testing::MatchResultListener* listener) const override;

 protected:
  void DescribeAttributesTo(std::ostream* os) const override;

 private:
  int64_t lhs_contracting_dim_;
  int64_t rhs_contracting_dim_;
};

// A copy-done of a copy-start, from one memory space into another.
class HloAsyncCopyMatcher : public HloMatcher {
 public:
  HloAsyncCopyMatcher(int64_t to_space, int64_t from_space,
                      HloInstructionMatcher operand);
  bool MatchAndExplain(const HloInstruction* instruction,
                       ::testing::MatchResultListener* listener) const override;

 protected:
  void DescribeAttributesTo(std::ostream* os) const override;

 private:
  int64_t to_space_;
  int64_t from_space_;
};

class HloConstantMatcher : public HloMatcher {
 public:
  // Literals are equal element by element, layouts do not matter.
  explicit HloConstantMatcher(Literal literal)
      : HloMatcher(HloOpcode::kConstant, {}), literal_(std::move(literal)) {}
  bool MatchAndExplain(const HloInstruction* instruction,
                       ::testing::MatchResultListener* listener) const override;

 protected:
  void DescribeAttributesTo(std::ostream* os) const override;

 private:
  Literal literal_;
};

// A property of instructions of any opcode.
class HloPropertyMatcher
    : public ::testing::MatcherInterface<const HloInstruction*> {};

#define HLO_PROPERTY_MATCHER_MEMBERS()                           \
  bool MatchAndExplain(const HloInstruction* instruction,        \
                       ::testing::MatchResultListener* listener) \
      const override;                                            \
  void DescribeTo(std::ostream* os) const override;

// Compatible: layouts and dynamic dimensions do not matter.
class HloShapeMatcher : public HloPropertyMatcher {
 public:
  explicit HloShapeMatcher(const Shape& shape) : shape_(shape) {}
  HLO_PROPERTY_MATCHER_MEMBERS()

 private:
  Shape shape_;
};

class HloShapeAndLayoutMatcher : public HloPropertyMatcher {
 public:
  explicit HloShapeAndLayoutMatcher(const Shape& shape,
                                    bool minor_to_major_only = false)
      : shape_(shape), minor_to_major_only_(minor_to_major_only) {}
  HLO_PROPERTY_MATCHER_MEMBERS()

 private:
  Shape shape_;
  bool minor_to_major_only_;
};

// nullopt: no sharding.
class HloShardingMatcher : public HloPropertyMatcher {
 public:
  explicit HloShardingMatcher(const std::optional<HloSharding>& sharding)
      : sharding_(sharding) {}
  HLO_PROPERTY_MATCHER_MEMBERS()

 private:
  std::optional<HloSharding> sharding_;
};

class HloFrontendAttributeMatcher : public HloPropertyMatcher {
 public:
  HloFrontendAttributeMatcher(absl::string_view key, absl::string_view value)
      : key_(key), value_(value) {}
  HLO_PROPERTY_MATCHER_MEMBERS()

 private:
  std::string key_;
  std::string value_;
};

// Some user matches.
class HloUsedByMatcher : public HloPropertyMatcher {
 public:
  explicit HloUsedByMatcher(HloInstructionMatcher used_by)
      : used_by_(std::move(used_by)) {}
  HLO_PROPERTY_MATCHER_MEMBERS()

 private:
  HloInstructionMatcher used_by_;
};

class HloReplicaGroupsMatcher : public HloPropertyMatcher {
 public:
  explicit HloReplicaGroupsMatcher(
      std::vector<std::vector<int64_t>> replica_groups)
      : replica_groups_(std::move(replica_groups)) {}
  HLO_PROPERTY_MATCHER_MEMBERS()

 private:
  std::vector<std::vector<int64_t>> replica_groups_;
};

class HloSourceTargetPairsMatcher : public HloPropertyMatcher {
 public:
  explicit HloSourceTargetPairsMatcher(
      std::vector<std::pair<int64_t, int64_t>> source_target_pairs)
      : source_target_pairs_(std::move(source_target_pairs)) {}
  HLO_PROPERTY_MATCHER_MEMBERS()

 private:
  std::vector<std::pair<int64_t, int64_t>> source_target_pairs_;
};

class HloMetadataMatcher : public HloPropertyMatcher {
 public:
  explicit HloMetadataMatcher(OpMetadata metadata)
      : metadata_(std::move(metadata)) {}
  HLO_PROPERTY_MATCHER_MEMBERS()

 private:
  OpMetadata metadata_;
};
#undef HLO_PROPERTY_MATCHER_MEMBERS

namespace opcode_matchers {

#define HLO_MATCHER(opcode)                                                \
  template <typename... M>                                                 \
  ::testing::Matcher<const ::xla::HloInstruction*> opcode(M... operands) { \
    return ::testing::MakeMatcher(new ::xla::testing::HloMatcher(          \
        ::xla::HloOpcode::k##opcode, {std::move(operands)...}));           \
  }
XLA_HLO_OPCODE_NAMES(HLO_MATCHER)
#undef HLO_MATCHER

// Operands as a list.
inline ::testing::Matcher<const ::xla::HloInstruction*> DynamicSlice(
    std::vector<::testing::Matcher<const ::xla::HloInstruction*>> operands) {
  return ::testing::MakeMatcher(new ::xla::testing::HloMatcher(
      ::xla::HloOpcode::kDynamicSlice, std::move(operands)));
}

inline ::testing::Matcher<const ::xla::HloInstruction*> Parameter(
    int64_t parameter_number) {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloParameterMatcher(parameter_number));
}
inline ::testing::Matcher<const ::xla::HloInstruction*> Parameter() {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloMatcher(::xla::HloOpcode::kParameter, {}));
}

// Compares in one direction.
#define HLO_COMPARE_MATCHER(NAME)                                           \
  template <typename... M>                                                  \
  ::testing::Matcher<const ::xla::HloInstruction*> NAME(M... operands) {    \
    return ::testing::MakeMatcher(new ::xla::testing::HloComparisonMatcher( \
        ::xla::ComparisonDirection::k##NAME, {std::move(operands)...}));    \
  }
HLO_COMPARE_MATCHER(Eq)
HLO_COMPARE_MATCHER(Ne)
HLO_COMPARE_MATCHER(Ge)
HLO_COMPARE_MATCHER(Gt)
HLO_COMPARE_MATCHER(Le)
HLO_COMPARE_MATCHER(Lt)
#undef HLO_COMPARE_MATCHER

inline ::testing::Matcher<const ::xla::HloInstruction*> GetTupleElement(
    ::testing::Matcher<const ::xla::HloInstruction*> operand,
    int64_t tuple_index) {
  return ::testing::MakeMatcher(new ::xla::testing::HloGetTupleElementMatcher(
      std::move(operand), tuple_index));
}
inline ::testing::Matcher<const ::xla::HloInstruction*> GetTupleElement(
    ::testing::Matcher<const ::xla::HloInstruction*> operand) {
  return ::testing::MakeMatcher(new ::xla::testing::HloMatcher(
      ::xla::HloOpcode::kGetTupleElement, {std::move(operand)}));
}
inline ::testing::Matcher<const ::xla::HloInstruction*> GetTupleElement() {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloMatcher(::xla::HloOpcode::kGetTupleElement, {}));
}

// With a target, a string or a matcher of strings, in front of the operands...
template <typename... M>
::testing::Matcher<const ::xla::HloInstruction*> CustomCall(
    ::testing::Matcher<std::string> call_target_matcher, M... operands) {
  return ::testing::MakeMatcher(new ::xla::testing::HloCustomCallMatcher(
      std::move(call_target_matcher), {std::move(operands)...}));
}
// ... or with operands alone.
template <typename FirstM, typename... M,
          typename Dummy = std::enable_if_t<
              !std::is_convertible_v<FirstM, ::testing::Matcher<std::string>>>>
::testing::Matcher<const ::xla::HloInstruction*> CustomCall(
    FirstM operands_first, M... operands_rest) {
  return ::testing::MakeMatcher(new ::xla::testing::HloMatcher(
      ::xla::HloOpcode::kCustomCall,
      {std::move(operands_first), std::move(operands_rest)...}));
}
inline ::testing::Matcher<const ::xla::HloInstruction*> CustomCall() {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloMatcher(::xla::HloOpcode::kCustomCall, {}));
}

inline ::testing::Matcher<const ::xla::HloInstruction*> Dot() {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloMatcher(::xla::HloOpcode::kDot, {}));
}
inline ::testing::Matcher<const ::xla::HloInstruction*> Dot(
    ::testing::Matcher<const ::xla::HloInstruction*> lhs_matcher,
    ::testing::Matcher<const ::xla::HloInstruction*> rhs_matcher) {
  return ::testing::MakeMatcher(new ::xla::testing::HloMatcher(
      ::xla::HloOpcode::kDot,
      {std::move(lhs_matcher), std::move(rhs_matcher)}));
}
inline ::testing::Matcher<const ::xla::HloInstruction*> Dot(
    ::testing::Matcher<const ::xla::HloInstruction*> lhs_matcher,
    ::testing::Matcher<const ::xla::HloInstruction*> rhs_matcher,
    int64_t lhs_contracting_dim, int64_t rhs_contracting_dim) {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloDotWithContractingDimsMatcher(
          std::move(lhs_matcher), std::move(rhs_matcher), lhs_contracting_dim,
          rhs_contracting_dim));
}

inline ::testing::Matcher<const ::xla::HloInstruction*> AsyncCopy(
    int64_t to_space, int64_t from_space,
    ::testing::Matcher<const ::xla::HloInstruction*> operand_matcher) {
  return ::testing::MakeMatcher(new ::xla::testing::HloAsyncCopyMatcher(
      to_space, from_space, std::move(operand_matcher)));
}

inline ::testing::Matcher<const ::xla::HloInstruction*> Constant() {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloMatcher(::xla::HloOpcode::kConstant, {}));
}
inline ::testing::Matcher<const ::xla::HloInstruction*> Constant(
    Literal value) {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloConstantMatcher(std::move(value)));
}

// Shapes, as values or as HLO text, which must be good.
inline ::testing::Matcher<const ::xla::HloInstruction*> Shape(
    const class Shape& shape) {
  return ::testing::MakeMatcher(new ::xla::testing::HloShapeMatcher(shape));
}
::testing::Matcher<const ::xla::HloInstruction*> Shape(absl::string_view shape);
inline ::testing::Matcher<const ::xla::HloInstruction*> ShapeWithLayout(
    const class Shape& shape) {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloShapeAndLayoutMatcher(shape));
}
// `minor_to_major_only`: tiles, memory spaces and the like do not matter.
::testing::Matcher<const ::xla::HloInstruction*> ShapeWithLayout(
    absl::string_view shape, bool minor_to_major_only = false);

inline ::testing::Matcher<const ::xla::HloInstruction*> Sharding(
    const HloSharding& sharding) {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloShardingMatcher(sharding));
}
::testing::Matcher<const ::xla::HloInstruction*> Sharding(
    absl::string_view sharding);
inline ::testing::Matcher<const ::xla::HloInstruction*> NoSharding() {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloShardingMatcher(std::nullopt));
}

inline ::testing::Matcher<const ::xla::HloInstruction*> FrontendAttribute(
    absl::string_view key, absl::string_view value) {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloFrontendAttributeMatcher(key, value));
}
inline ::testing::Matcher<const ::xla::HloInstruction*> UsedBy(
    ::testing::Matcher<const ::xla::HloInstruction*> used_by) {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloUsedByMatcher(std::move(used_by)));
}
inline ::testing::Matcher<const ::xla::HloInstruction*> ReplicaGroups(
    std::vector<std::vector<int64_t>> replica_groups) {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloReplicaGroupsMatcher(std::move(replica_groups)));
}
inline ::testing::Matcher<const ::xla::HloInstruction*> SourceTargetPairs(
    std::vector<std::pair<int64_t, int64_t>> source_target_pairs) {
  return ::testing::MakeMatcher(new ::xla::testing::HloSourceTargetPairsMatcher(
      std::move(source_target_pairs)));
}
inline ::testing::Matcher<const ::xla::HloInstruction*> Metadata(
    OpMetadata metadata) {
  return ::testing::MakeMatcher(
      new ::xla::testing::HloMetadataMatcher(std::move(metadata)));
}

}  // namespace opcode_matchers

// The raw pointers of a container of smart pointers, for ElementsAre.
template <typename Container>
std::vector<const HloInstruction*> Pointers(const Container& container) {
  std::vector<const HloInstruction*> result;
  result.reserve(container.size());
  for (const auto& entry : container) result.push_back(entry.get());
  return result;
}

}  // namespace testing

// How googletest prints instructions.
void PrintTo(const HloInstruction* inst, std::ostream* os);
inline void PrintTo(HloInstruction* inst, std::ostream* os) {
  PrintTo(const_cast<const HloInstruction*>(inst), os);
}

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_HLO_MATCHERS_H_
