#include "xla/hlo/utils/pattern_matcher.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/literal.h"
#include "xla/shape_util.h"

namespace xla {
namespace match {
namespace detail {
namespace {

std::string NamesOf(absl::Span<const HloInstruction* const> instructions) {
  return absl::StrCat(
      "{",
      absl::StrJoin(instructions, ", ",
                    [](std::string* out, const HloInstruction* inst) {
                      absl::StrAppend(out, inst->name());
                    }),
      "}");
}

bool SameInAnyOrder(absl::Span<HloInstruction* const> have,
                    absl::Span<const HloInstruction* const> want) {
  auto sorted = [](auto span) {
    std::vector<const HloInstruction*> list(span.begin(), span.end());
    absl::c_sort(list);
    return list;
  };
  return have.size() == want.size() && sorted(have) == sorted(want);
}

}  // namespace

void Indent(std::ostream* os, int64_t indent) {
  *os << '\n' << std::string(indent, ' ');
}

void Alternatives::AddExplanation(absl::string_view explanation) {
  std::string number = absl::StrCat("\n", ++failures_, ". ");
  absl::StrAppend(
      &explanations_, number,
      absl::StrReplaceAll(
          explanation,
          {{"\n", absl::StrCat("\n", std::string(number.size() - 1, ' '))}}));
}

bool Alternatives::Fail(absl::string_view headline) const {
  return Explain(option_,
                 [&] { return absl::StrCat(headline, explanations_); });
}

std::string InstToString(const HloInstruction* inst) {
  if (inst == nullptr) return "null";
  return inst->ToString(HloPrintOptions::ShortParsable()
                            .set_print_large_constants(false)
                            .set_print_backend_config(false));
}

std::optional<std::string> ConvDnumsField::Get(const HloInstruction& inst) {
  if (inst.opcode() == HloOpcode::kConvolution ||
      inst.opcode() == HloOpcode::kCustomCall) {
    return ConvolutionDimensionNumbersToString(
        inst.convolution_dimension_numbers());
  }
  return std::nullopt;
}

std::string ConvDnumsField::Normalize(absl::string_view dnums) {
  auto parsed = ParseConvolutionDimensionNumbers(dnums);
  CHECK_OK(parsed.status());
  return ConvolutionDimensionNumbersToString(*parsed);
}

std::optional<ContractingDimsField::Value> ContractingDimsField::Get(
    const HloInstruction& inst) {
  if (inst.opcode() != HloOpcode::kDot &&
      inst.opcode() != HloOpcode::kScaledDot) {
    return std::nullopt;
  }
  const DotDimensionNumbers& dims = inst.dot_dimension_numbers();
  const auto& lhs = dims.lhs_contracting_dimensions();
  const auto& rhs = dims.rhs_contracting_dimensions();
  return Value({lhs.begin(), lhs.end()}, {rhs.begin(), rhs.end()});
}

std::string ContractingDimsField::Text(const Value& dims) {
  return absl::StrCat("{", absl::StrJoin(dims.first, ","), "} {",
                      absl::StrJoin(dims.second, ","), "}");
}

std::optional<ReplicaGroupsField::Value> ReplicaGroupsField::Get(
    const HloInstruction& inst) {
  const auto* collective = DynCast<HloCollectiveInstruction>(&inst);
  if (collective == nullptr) return std::nullopt;
  return collective->device_list()->flattened_replica_groups();
}

std::string ReplicaGroupsField::Text(const Value& groups) {
  return absl::StrCat(
      "{",
      absl::StrJoin(groups, ",",
                    [](std::string* out, const std::vector<int64_t>& group) {
                      absl::StrAppend(out, "{", absl::StrJoin(group, ","), "}");
                    }),
      "}");
}

std::optional<ShardingField::Value> ShardingField::Get(
    const HloInstruction& inst) {
  if (!inst.has_sharding()) return Value();
  return Value(inst.sharding());
}

std::string ShardingField::Text(const Value& sharding) {
  return sharding.has_value() ? sharding->ToString() : "absent";
}

ShardingField::Value ShardingField::Parse(absl::string_view sharding) {
  if (sharding.empty()) return std::nullopt;
  auto parsed = ParseSharding(sharding);
  CHECK_OK(parsed.status());
  return *std::move(parsed);
}

bool CustomCallTargetIs::Match(const HloInstruction* inst,
                               const MatchOption& option) const {
  if (inst->opcode() != HloOpcode::kCustomCall) {
    return Explain(option, [] { return "is not a custom call"; });
  }
  return absl::c_linear_search(targets, inst->custom_call_target()) ||
         Explain(option, [&] {
           return absl::StrCat("custom call target is \"",
                               inst->custom_call_target(), "\"");
         });
}

std::string CustomCallTargetIs::Describe() const {
  return absl::StrCat("custom call target \"",
                      absl::StrJoin(targets, "\" or \""), "\"");
}

bool UsedOnce::Match(const HloInstruction* inst,
                     const MatchOption& option) const {
  if (inst->user_count() != 1) {
    return Explain(option, [&] {
      return absl::StrCat("user count is ", inst->user_count(), ", not 1");
    });
  }
  const HloInstruction* user = inst->users()[0];
  int64_t uses = absl::c_count(user->operands(), inst);
  return uses == 1 || Explain(option, [&] {
           return absl::StrCat("is used ", uses, " times by its user ",
                               user->name());
         });
}

bool ElementwiseOnOperand::Match(const HloInstruction* inst,
                                 const MatchOption& option) const {
  if (index >= inst->operand_count()) {
    return Explain(option,
                   [&] { return absl::StrCat("has no operand ", index); });
  }
  return inst->IsElementwiseOnOperand(index) ||
         Explain(option, [&] { return absl::StrCat("is not ", Describe()); });
}

bool ControlDepsAre::Match(const HloInstruction* inst,
                           const MatchOption& option) const {
  auto check = [&](absl::string_view what, const auto& have,
                   absl::Span<const HloInstruction* const> want) {
    std::vector<HloInstruction*> list(have.begin(), have.end());
    return SameInAnyOrder(list, want) || Explain(option, [&] {
             return absl::StrCat("control ", what, " are ",
                                 NamesOf(std::vector<const HloInstruction*>(
                                     list.begin(), list.end())),
                                 ", not ", NamesOf(want));
           });
  };
  return check("predecessors", inst->control_predecessors(), predecessors) &&
         check("successors", inst->control_successors(), successors);
}

std::string ControlDepsAre::Describe() const {
  return absl::StrCat("control predecessors ", NamesOf(predecessors),
                      ", control successors ", NamesOf(successors));
}

bool ScalarValue::EqualsScalar(const Literal& literal) const {
  const Int64List zeros(literal.shape().dimensions().size(), 0);
  switch (kind_) {
    case Kind::kSigned:
      return literal.IsEqualAt(zeros, integer_);
    case Kind::kUnsigned:
      return literal.IsEqualAt(zeros, static_cast<uint64_t>(integer_));
    case Kind::kDouble:
      return literal.IsEqualAt(zeros, complex_.real());
    case Kind::kComplex:
      return literal.IsEqualAt(zeros, complex_);
  }
  return false;
}

std::string ScalarValue::Text() const {
  switch (kind_) {
    case Kind::kSigned:
      return absl::StrCat(integer_);
    case Kind::kUnsigned:
      return absl::StrCat(static_cast<uint64_t>(integer_));
    case Kind::kDouble:
      return absl::StrCat(complex_.real());
    case Kind::kComplex:
      return absl::StrCat("(", complex_.real(), ", ", complex_.imag(), ")");
  }
  return "";
}

bool ConstantScalarIs::Match(const HloInstruction* inst,
                             const MatchOption& option) const {
  const auto* constant = DynCast<HloConstantInstruction>(inst);
  if (constant == nullptr) {
    return Explain(option, [] { return "is not a constant"; });
  }
  if (effective ? !ShapeUtil::IsEffectiveScalar(inst->shape())
                : !ShapeUtil::IsScalar(inst->shape())) {
    return Explain(option, [&] {
      return absl::StrCat("is not ", effective ? "an effective " : "a ",
                          "scalar");
    });
  }
  if (!value.has_value()) return true;
  return (constant->HasLiteral() && value->EqualsScalar(constant->literal())) ||
         Explain(option,
                 [&] { return absl::StrCat("value is not ", value->Text()); });
}

std::string ConstantScalarIs::Describe() const {
  return absl::StrCat("constant", effective ? " effective" : "", " scalar",
                      value.has_value() ? " " : "",
                      value.has_value() ? value->Text() : "");
}

}  // namespace detail
}  // namespace match
}  // namespace xla
