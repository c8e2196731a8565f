#include "xla/hlo/testlib/hlo_matchers.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/layout.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace testing {
namespace {

using ::testing::MatchResultListener;

// Says why and returns false.
template <typename... Parts>
bool Fail(MatchResultListener* listener, const Parts&... parts) {
  if (listener->IsInterested()) *listener << absl::StrCat(parts...);
  return false;
}

std::string GroupsText(const std::vector<std::vector<int64_t>>& groups) {
  return absl::StrCat(
      "{",
      absl::StrJoin(groups, ",",
                    [](std::string* out, const std::vector<int64_t>& group) {
                      absl::StrAppend(out, "{", absl::StrJoin(group, ","), "}");
                    }),
      "}");
}

std::string PairsText(const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  std::vector<std::vector<int64_t>> groups;
  for (const auto& [source, target] : pairs) {
    groups.push_back({source, target});
  }
  return GroupsText(groups);
}

int64_t MemorySpaceOf(const Shape& shape) {
  return shape.IsArray() && shape.has_layout() ? shape.layout().memory_space()
                                               : Layout::kDefaultMemorySpace;
}

}  // namespace

// --- Matchers of one opcode --------------------------------------------------

bool HloMatcher::MatchAndExplain(const HloInstruction* instruction,
                                 MatchResultListener* listener) const {
  if (instruction == nullptr) return Fail(listener, "null");
  if (instruction->opcode() != opcode_) {
    return Fail(listener, "opcode is ", instruction->opcode(), ", not ",
                opcode_);
  }
  if (operands_.empty()) return true;
  const auto& operands = instruction->operands();
  if (operands.size() != operands_.size()) {
    return Fail(listener, "operand count is ", operands.size(), ", not ",
                operands_.size());
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!listener->IsInterested()) {
      if (!operands_[i].Matches(operands[i])) return false;
      continue;
    }
    ::testing::StringMatchResultListener inner;
    if (!operands_[i].MatchAndExplain(operands[i], &inner)) {
      *listener << "operand " << i << ": ";
      PrintTo(operands[i], listener->stream());
      std::string why = inner.str();
      if (!why.empty()) *listener << "\n  " << why;
      return false;
    }
  }
  return true;
}

void HloMatcher::DescribeTo(std::ostream* os) const {
  *os << opcode_;
  DescribeAttributesTo(os);
  if (operands_.empty()) return;
  *os << "(";
  const char* separator = "";
  for (const HloInstructionMatcher& operand : operands_) {
    *os << separator;
    operand.DescribeTo(os);
    separator = ", ";
  }
  *os << ")";
}

bool HloParameterMatcher::MatchAndExplain(const HloInstruction* instruction,
                                          MatchResultListener* listener) const {
  if (!HloMatcher::MatchAndExplain(instruction, listener)) return false;
  return instruction->parameter_number() == parameter_number_ ||
         Fail(listener, "parameter number is ", instruction->parameter_number(),
              ", not ", parameter_number_);
}

void HloParameterMatcher::DescribeAttributesTo(std::ostream* os) const {
  *os << "(" << parameter_number_ << ")";
}

bool HloComparisonMatcher::MatchAndExplain(
    const HloInstruction* instruction, MatchResultListener* listener) const {
  if (!HloMatcher::MatchAndExplain(instruction, listener)) return false;
  return instruction->comparison_direction() == direction_ ||
         Fail(listener, "direction is ",
              ComparisonDirectionToString(instruction->comparison_direction()),
              ", not ", ComparisonDirectionToString(direction_));
}

void HloComparisonMatcher::DescribeAttributesTo(std::ostream* os) const {
  *os << " " << ComparisonDirectionToString(direction_);
}

bool HloGetTupleElementMatcher::MatchAndExplain(
    const HloInstruction* instruction, MatchResultListener* listener) const {
  if (!HloMatcher::MatchAndExplain(instruction, listener)) return false;
  return instruction->tuple_index() == tuple_index_ ||
         Fail(listener, "tuple index is ", instruction->tuple_index(), ", not ",
              tuple_index_);
}

void HloGetTupleElementMatcher::DescribeAttributesTo(std::ostream* os) const {
  *os << " " << tuple_index_;
}

bool HloCustomCallMatcher::MatchAndExplain(
    const HloInstruction* instruction, MatchResultListener* listener) const {
  if (!HloMatcher::MatchAndExplain(instruction, listener)) return false;
  ::testing::StringMatchResultListener inner;
  const std::string& target = instruction->custom_call_target();
  return call_target_matcher_.MatchAndExplain(target, &inner) ||
         Fail(listener, "target is \"", target, "\"",
              inner.str().empty() ? "" : ", ", inner.str());
}

void HloCustomCallMatcher::DescribeAttributesTo(std::ostream* os) const {
  *os << " with target that ";
  call_target_matcher_.DescribeTo(os);
}

bool HloDotWithContractingDimsMatcher::MatchAndExplain(
    const HloInstruction* instruction, MatchResultListener* listener) const {
  if (!HloMatcher::MatchAndExplain(instruction, listener)) return false;
  const DotDimensionNumbers& dims = instruction->dot_dimension_numbers();
  auto check = [&](absl::string_view side, const auto& have, int64_t want) {
    return (have.size() == 1 && have.Get(0) == want) ||
           Fail(listener, side, "_contracting_dims is {",
                absl::StrJoin(have, ","), "}, not {", want, "}");
  };
  return check("lhs", dims.lhs_contracting_dimensions(),
               lhs_contracting_dim_) &&
         check("rhs", dims.rhs_contracting_dimensions(), rhs_contracting_dim_);
}

void HloDotWithContractingDimsMatcher::DescribeAttributesTo(
    std::ostream* os) const {
  *os << " lhs_contracting_dims={" << lhs_contracting_dim_
      << "} rhs_contracting_dims={" << rhs_contracting_dim_ << "}";
}

HloAsyncCopyMatcher::HloAsyncCopyMatcher(int64_t to_space, int64_t from_space,
                                         HloInstructionMatcher operand)
    : HloMatcher(HloOpcode::kCopyDone,
                 {::testing::MakeMatcher(new HloMatcher(
                     HloOpcode::kCopyStart, {std::move(operand)}))}),
      to_space_(to_space),
      from_space_(from_space) {}

bool HloAsyncCopyMatcher::MatchAndExplain(const HloInstruction* instruction,
                                          MatchResultListener* listener) const {
  if (!HloMatcher::MatchAndExplain(instruction, listener)) return false;
  int64_t to_space = MemorySpaceOf(instruction->shape());
  if (to_space != to_space_) {
    return Fail(listener, "copies to memory space ", to_space, ", not ",
                to_space_);
  }
  const Shape& start = instruction->operand(0)->shape();
  if (!start.IsTuple() || start.tuple_shapes().size() < 2) {
    return Fail(listener, "copy-start has shape ",
                ShapeUtil::HumanString(start));
  }
  int64_t from_space = MemorySpaceOf(start.tuple_shapes(1));
  return from_space == from_space_ ||
         Fail(listener, "copies from memory space ", from_space, ", not ",
              from_space_);
}

void HloAsyncCopyMatcher::DescribeAttributesTo(std::ostream* os) const {
  *os << " from memory space " << from_space_ << " to " << to_space_;
}

bool HloConstantMatcher::MatchAndExplain(const HloInstruction* instruction,
                                         MatchResultListener* listener) const {
  if (!HloMatcher::MatchAndExplain(instruction, listener)) return false;
  const auto* constant = Cast<HloConstantInstruction>(instruction);
  if (!constant->HasLiteral()) return Fail(listener, "has no literal");
  return constant->literal() == literal_ ||
         Fail(listener, "literal is ", constant->literal().ToString());
}

void HloConstantMatcher::DescribeAttributesTo(std::ostream* os) const {
  *os << "(" << literal_.ToString() << ")";
}

// --- Matchers of properties --------------------------------------------------

bool HloShapeMatcher::MatchAndExplain(const HloInstruction* instruction,
                                      MatchResultListener* listener) const {
  return ShapeUtil::Compatible(instruction->shape(), shape_) ||
         Fail(listener, "shape is ",
              ShapeUtil::HumanString(instruction->shape()));
}

void HloShapeMatcher::DescribeTo(std::ostream* os) const {
  *os << "of shape " << ShapeUtil::HumanString(shape_);
}

bool HloShapeAndLayoutMatcher::MatchAndExplain(
    const HloInstruction* instruction, MatchResultListener* listener) const {
  Shape::Equal equal;
  if (minor_to_major_only_) equal.MinorToMajorOnlyInLayout();
  return equal(instruction->shape(), shape_) ||
         Fail(listener, "shape is ",
              ShapeUtil::HumanStringWithLayout(instruction->shape()));
}

void HloShapeAndLayoutMatcher::DescribeTo(std::ostream* os) const {
  *os << "of shape " << ShapeUtil::HumanStringWithLayout(shape_);
  if (minor_to_major_only_) *os << " (dimension order alone)";
}

bool HloShardingMatcher::MatchAndExplain(const HloInstruction* instruction,
                                         MatchResultListener* listener) const {
  if (!instruction->has_sharding()) {
    return !sharding_.has_value() || Fail(listener, "has no sharding");
  }
  return (sharding_.has_value() && instruction->sharding() == *sharding_) ||
         Fail(listener, "sharding is ", instruction->sharding().ToString());
}

void HloShardingMatcher::DescribeTo(std::ostream* os) const {
  if (sharding_.has_value()) {
    *os << "of sharding " << sharding_->ToString();
  } else {
    *os << "without sharding";
  }
}

bool HloFrontendAttributeMatcher::MatchAndExplain(
    const HloInstruction* instruction, MatchResultListener* listener) const {
  std::optional<std::string> value = instruction->get_frontend_attribute(key_);
  if (!value.has_value()) {
    return Fail(listener, "has no frontend attribute ", key_);
  }
  return *value == value_ ||
         Fail(listener, "frontend attribute is ", key_, "=\"", *value, "\"");
}

void HloFrontendAttributeMatcher::DescribeTo(std::ostream* os) const {
  *os << "with frontend attribute " << key_ << "=\"" << value_ << "\"";
}

bool HloUsedByMatcher::MatchAndExplain(const HloInstruction* instruction,
                                       MatchResultListener* listener) const {
  for (const HloInstruction* user : instruction->users()) {
    if (used_by_.Matches(user)) return true;
  }
  return Fail(listener, "no user matches");
}

void HloUsedByMatcher::DescribeTo(std::ostream* os) const {
  *os << "used by ";
  used_by_.DescribeTo(os);
}

bool HloReplicaGroupsMatcher::MatchAndExplain(
    const HloInstruction* instruction, MatchResultListener* listener) const {
  const auto* collective = DynCast<HloCollectiveInstruction>(instruction);
  if (collective == nullptr) return Fail(listener, "is not a collective");
  std::vector<std::vector<int64_t>> groups =
      collective->device_list()->flattened_replica_groups();
  return groups == replica_groups_ ||
         Fail(listener, "replica_groups is ", GroupsText(groups));
}

void HloReplicaGroupsMatcher::DescribeTo(std::ostream* os) const {
  *os << "with replica_groups=" << GroupsText(replica_groups_);
}

bool HloSourceTargetPairsMatcher::MatchAndExplain(
    const HloInstruction* instruction, MatchResultListener* listener) const {
  const auto* permute = DynCast<HloCollectivePermuteInstruction>(instruction);
  if (permute == nullptr) return Fail(listener, "is not a collective permute");
  return permute->source_target_pairs() == source_target_pairs_ ||
         Fail(listener, "source_target_pairs is ",
              PairsText(permute->source_target_pairs()));
}

void HloSourceTargetPairsMatcher::DescribeTo(std::ostream* os) const {
  *os << "with source_target_pairs=" << PairsText(source_target_pairs_);
}

bool HloMetadataMatcher::MatchAndExplain(const HloInstruction* instruction,
                                         MatchResultListener* listener) const {
  return google::protobuf::util::MessageDifferencer::Equals(
             instruction->metadata(), metadata_) ||
         Fail(listener, "metadata is {",
              instruction->metadata().ShortDebugString(), "}");
}

void HloMetadataMatcher::DescribeTo(std::ostream* os) const {
  *os << "with metadata {" << metadata_.ShortDebugString() << "}";
}

namespace opcode_matchers {

HloInstructionMatcher Shape(absl::string_view shape) {
  auto parsed = ParseShape(shape);
  CHECK_OK(parsed.status());
  return Shape(*parsed);
}

HloInstructionMatcher ShapeWithLayout(absl::string_view shape,
                                      bool minor_to_major_only) {
  auto parsed = ParseShape(shape);
  CHECK_OK(parsed.status());
  return ::testing::MakeMatcher(
      new HloShapeAndLayoutMatcher(*parsed, minor_to_major_only));
}

HloInstructionMatcher Sharding(absl::string_view sharding) {
  auto parsed = ParseSharding(sharding);
  CHECK_OK(parsed.status());
  return Sharding(*parsed);
}

}  // namespace opcode_matchers
}  // namespace testing

void PrintTo(const HloInstruction* inst, std::ostream* os) {
  if (inst == nullptr) {
    *os << "null";
  } else {
    *os << inst->ToString();
  }
}

}  // namespace xla
