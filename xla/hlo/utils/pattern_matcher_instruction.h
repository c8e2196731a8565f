#ifndef XLA_HLO_UTILS_PATTERN_MATCHER_INSTRUCTION_H_
#define XLA_HLO_UTILS_PATTERN_MATCHER_INSTRUCTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/utils/pattern_matcher_checks.h"
#include "xla/hlo/utils/pattern_matcher_core.h"
#include "xla/hlo/utils/pattern_matcher_shape.h"
#include "xla/layout.h"
#include "xla/shape.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace match {
namespace detail {

template <typename HloInstructionType, typename Checks>
class HloInstructionPattern;

template <typename T>
struct IsInstructionPatternImpl : std::false_type {};
template <typename T, typename Checks>
struct IsInstructionPatternImpl<HloInstructionPattern<T, Checks>>
    : std::true_type {};
template <typename T>
inline constexpr bool kIsInstructionPattern =
    IsInstructionPatternImpl<std::decay_t<T>>::value;

// Parts of an instruction: see PartMatches.
struct OperandAccessor {
  static constexpr bool kOwnLine = true;
  int64_t index;

  const HloInstruction* Get(const HloInstruction& inst) const {
    return index < inst.operand_count() ? inst.operand(index) : nullptr;
  }
  std::string Label() const { return absl::StrCat("operand ", index); }
  bool Accepts(const HloInstruction& operand, const MatchOption& option) const {
    return !option.single_user_only || operand.user_count() == 1 ||
           Explain(option, [&] {
             return absl::StrCat("user count is ", operand.user_count(),
                                 ", not 1\nin ", InstToString(&operand));
           });
  }
};

struct ShapeAccessor {
  static constexpr bool kOwnLine = false;
  const ::xla::Shape* Get(const HloInstruction& inst) const {
    return &inst.shape();
  }
  std::string Label() const { return "shape"; }
  bool Accepts(const ::xla::Shape&, const MatchOption&) const { return true; }
};

// An operand that need not be there, but if it is, must match.
template <typename Pattern>
struct OperandIfPresentMatches : NestedCheck {
  static constexpr bool kCapturesMutable = Pattern::kCapturesMutable;
  static constexpr bool kMultiline = true;
  PartMatches<OperandAccessor, Pattern> operand;

  OperandIfPresentMatches(int64_t index, Pattern pattern)
      : operand(OperandAccessor{index}, std::move(pattern)) {}
  bool Match(const HloInstruction* inst, const MatchOption& option) const {
    return operand.accessor.index >= inst->operand_count() ||
           operand.Match(inst, option);
  }
  void DescribeTo(std::ostream* os, int64_t indent) const {
    Indent(os, indent);
    *os << operand.accessor.Label() << ", if present: ";
    operand.pattern.DescribeTo(os, indent);
  }
};

// Two operands that match two patterns, one each. The second order is tried
// only if the first fails, and each pattern at most once on each operand.
template <typename P1, typename P2>
struct BinaryOperandsMatchAnyOrder : NestedCheck {
  static constexpr bool kCapturesMutable =
      P1::kCapturesMutable || P2::kCapturesMutable;
  static constexpr bool kMultiline = true;

  BinaryOperandsMatchAnyOrder(P1 p1, P2 p2)
      : pattern1(std::move(p1)), pattern2(std::move(p2)) {}

  bool Match(const HloInstruction* inst, const MatchOption& option) const {
    if (inst->operand_count() != 2) {
      return Explain(option, [&] {
        return absl::StrCat("operand count is ", inst->operand_count(),
                            ", not 2");
      });
    }
    auto in_order = [&](int64_t index1, const MatchOption& inner) {
      return MatchPartOf(*inst, OperandAccessor{index1}, pattern1, inner) &&
             MatchPartOf(*inst, OperandAccessor{1 - index1}, pattern2, inner);
    };
    Alternatives alternatives(option);
    auto try_order = [&](int64_t index1) {
      return alternatives.Try(
          [&](const MatchOption& inner) { return in_order(index1, inner); });
    };
    if (try_order(0)) return true;
    if (inst->operand(0) != inst->operand(1) && try_order(1)) return true;
    return alternatives.Fail("operands match in neither order");
  }
  void DescribeTo(std::ostream* os, int64_t indent) const {
    Indent(os, indent);
    *os << "one operand: ";
    pattern1.DescribeTo(os, indent);
    Indent(os, indent);
    *os << "the other: ";
    pattern2.DescribeTo(os, indent);
  }

  P1 pattern1;
  P2 pattern2;
};

// A pattern behind a pointer: cheap to copy, and its type does not grow that of
// the patterns it is used in.
class InstructionPatternInterface {
 public:
  virtual ~InstructionPatternInterface() = default;
  virtual bool Match(const HloInstruction* instr,
                     const MatchOption& option) const = 0;
  virtual void DescribeTo(std::ostream* os, int64_t indent) const = 0;
};

template <typename Pattern>
class TypedInstructionPattern : public InstructionPatternInterface {
 public:
  explicit TypedInstructionPattern(Pattern pattern)
      : pattern_(std::move(pattern)) {}
  bool Match(const HloInstruction* instr,
             const MatchOption& option) const override {
    return pattern_.MatchPart(instr, option);
  }
  void DescribeTo(std::ostream* os, int64_t indent) const override {
    pattern_.DescribeTo(os, indent);
  }

 private:
  Pattern pattern_;
};

template <bool kMutable>
class SharedPattern : public NestedCheck {
 public:
  static constexpr bool kCapturesMutable = kMutable;
  static constexpr bool kMultiline = true;

  explicit SharedPattern(
      std::shared_ptr<const InstructionPatternInterface> pattern)
      : pattern_(std::move(pattern)) {}
  bool Match(const HloInstruction* inst, const MatchOption& option) const {
    return pattern_->Match(inst, option);
  }
  void DescribeTo(std::ostream* os, int64_t indent) const {
    Indent(os, indent);
    pattern_->DescribeTo(os, indent);
  }

 private:
  std::shared_ptr<const InstructionPatternInterface> pattern_;
};

// A pattern of instructions. The methods return the pattern with one more
// property asked for; they are checked in the order in which they were added.
template <typename HloInstructionType, typename Checks>
class HloInstructionPattern
    : public PatternBase<HloInstructionPattern, InstructionKind, HloInstruction,
                         HloInstructionType, Checks> {
 public:
  using HloInstructionPattern::PatternBase::PatternBase;

  auto WithName(absl::string_view name) const {
    return this->With(FieldIs<NameField>{std::string(name)});
  }
  auto WithOpcode(HloOpcode opcode) const {
    return this->With(FieldIs<OpcodeField>{opcode});
  }
  auto WithoutOpcode(HloOpcode opcode) const {
    return this->With(OpcodeIsNot{opcode});
  }
  // A custom call of one of the targets.
  auto WithCustomCallTarget(
      absl::Span<const absl::string_view> custom_call_targets) const {
    return this->With(CustomCallTargetIs(custom_call_targets));
  }
  auto Is(const HloInstruction* instr) const {
    return this->With(IsInstruction{instr});
  }

  // Constants. A value is compared as a number: 1 matches a constant f32 1.0.
  auto IsConstant() const { return WithOpcode(HloOpcode::kConstant); }
  auto IsNonConstant() const { return WithoutOpcode(HloOpcode::kConstant); }
  auto IsConstantScalar() const {
    return this->With(ConstantScalarIs{std::nullopt, /*effective=*/false});
  }
  template <typename ScalarTy>
  auto IsConstantScalar(const ScalarTy& val) const {
    return this->With(ConstantScalarIs{ScalarValue(val), /*effective=*/false});
  }
  // Arrays of one element.
  auto IsConstantEffectiveScalar() const {
    return this->With(ConstantScalarIs{std::nullopt, /*effective=*/true});
  }
  template <typename ScalarTy>
  auto IsConstantEffectiveScalar(const ScalarTy& val) const {
    return this->With(ConstantScalarIs{ScalarValue(val), /*effective=*/true});
  }

  // Shapes.
  template <typename ShapeType, typename ShapeChecks>
  auto WithShape(const ShapePattern<ShapeType, ShapeChecks>& shape) const {
    return this->With(PartMatches(ShapeAccessor{}, shape));
  }
  auto WithShape(PrimitiveType ty, absl::Span<const int64_t> dims) const {
    return WithShape(match::Shape().WithElementType(ty).WithDims(dims));
  }
  auto WithShape(PrimitiveType ty, absl::Span<const int64_t> dims,
                 absl::Span<const int64_t> minor_to_major) const {
    return WithShape(
        match::Shape().WithElementType(ty).WithDims(dims).WithLayout(
            minor_to_major));
  }
  auto WithShapeEqualTo(const ::xla::Shape* shape) const {
    return WithShape(match::Shape().EqualTo(shape));
  }
  auto WithShapeCompatibleTo(const ::xla::Shape* shape) const {
    return WithShape(match::Shape().CompatibleTo(shape));
  }
  auto WithElementType(PrimitiveType ty) const {
    return WithShape(match::Shape().WithElementType(ty));
  }

  // Operands.
  auto WithNumOperands(int64_t num_operands) const {
    return this->With(FieldIs<NumOperandsField>{num_operands});
  }
  template <typename OperandType, typename OperandChecks>
  auto WithOperand(
      int64_t operand_index,
      const HloInstructionPattern<OperandType, OperandChecks>& operand) const {
    return this->With(PartMatches(OperandAccessor{operand_index}, operand));
  }
  template <typename OperandType, typename OperandChecks>
  auto WithOperandIfPresent(
      int64_t operand_index,
      const HloInstructionPattern<OperandType, OperandChecks>& operand) const {
    return this->With(OperandIfPresentMatches(operand_index, operand));
  }
  // The operand, on which the instruction is elementwise.
  template <typename OperandType, typename OperandChecks>
  auto WithElementwiseOperand(
      int64_t operand_index,
      const HloInstructionPattern<OperandType, OperandChecks>& operand) const {
    return this->With(ElementwiseOnOperand{operand_index})
        .WithOperand(operand_index, operand);
  }
  template <typename OperandType1, typename OperandChecks1,
            typename OperandType2, typename OperandChecks2>
  auto WithBinaryOperandsAnyOrder(
      const HloInstructionPattern<OperandType1, OperandChecks1>& op1,
      const HloInstructionPattern<OperandType2, OperandChecks2>& op2) const {
    return this->With(BinaryOperandsMatchAnyOrder(op1, op2));
  }

  // Attributes.
  auto WithFusionKind(HloInstruction::FusionKind kind) const {
    return this->With(FieldIs<FusionKindField>{kind});
  }
  auto WithTupleIndex(int64_t tuple_index) const {
    return this->With(FieldIs<TupleIndexField>{tuple_index});
  }
  auto WithParameterNum(int64_t parameter_num) const {
    return this->With(FieldIs<ParameterNumField>{parameter_num});
  }
  auto WithComparisonDirection(ComparisonDirection direction) const {
    return this->With(FieldIs<ComparisonDirectionField>{direction});
  }
  // As in HLO text: "bf01_oi01->bf01".
  auto WithConvDnums(absl::string_view dnums) const {
    return this->With(
        FieldIs<ConvDnumsField>{ConvDnumsField::Normalize(dnums)});
  }
  auto WithConvDnums(const ConvolutionDimensionNumbers& dnums) const {
    return this->With(
        FieldIs<ConvDnumsField>{ConvolutionDimensionNumbersToString(dnums)});
  }
  auto WithContractingDims(
      absl::Span<const int64_t> lhs_contracting_dims,
      absl::Span<const int64_t> rhs_contracting_dims) const {
    return this->With(FieldIs<ContractingDimsField>{
        {{lhs_contracting_dims.begin(), lhs_contracting_dims.end()},
         {rhs_contracting_dims.begin(), rhs_contracting_dims.end()}}});
  }
  // In this order, whatever syntax the groups were written in.
  auto WithReplicaGroups(
      std::vector<std::vector<int64_t>> replica_groups) const {
    return this->With(FieldIs<ReplicaGroupsField>{std::move(replica_groups)});
  }
  // As in HLO text; "" for none.
  auto WithSharding(absl::string_view sharding) const {
    return this->With(FieldIs<ShardingField>{ShardingField::Parse(sharding)});
  }
  // Exactly these control edges.
  auto WithControlDeps(absl::Span<HloInstruction* const> preds,
                       absl::Span<HloInstruction* const> succs) const {
    return this->With(ControlDepsAre{{preds.begin(), preds.end()},
                                     {succs.begin(), succs.end()}});
  }

  // Users. One use is one operand of one user; one user may use it often.
  auto WithOneUse() const { return this->With(UsedOnce{}); }
  auto WithOneUser() const { return WithNumUser(1); }
  auto WithNumUser(int64_t user_num) const {
    return this->With(FieldIs<NumUserField>{user_num});
  }
  auto WithAtMostNumUser(int64_t user_num) const {
    return this->With(AtMostNumUsers{user_num});
  }

  auto WithPredicate(HloPredicate fn) const {
    return this->With(PredicateHolds{std::move(fn)});
  }
};

template <>
struct PatternOf<HloInstruction> {
  template <typename HloInstructionType, typename Checks>
  using type = HloInstructionPattern<HloInstructionType, Checks>;
};

}  // namespace detail

// Any instruction; captures it.
inline auto Op(const HloInstruction** matched_inst = nullptr) {
  return detail::HloInstructionPattern<const HloInstruction,
                                       detail::Conjunction<>>({}, matched_inst);
}
inline auto Op(HloInstruction** matched_inst) {
  return detail::HloInstructionPattern<HloInstruction, detail::Conjunction<>>(
      {}, matched_inst);
}

// The same pattern, copied by reference: for large patterns that are used in
// several places of another one.
template <typename HloInstructionType, typename Checks>
auto SharedSubpattern(
    detail::HloInstructionPattern<HloInstructionType, Checks> pattern) {
  using Pattern = decltype(pattern);
  return detail::MakePattern<HloInstruction>(
      detail::SharedPattern<Pattern::kCapturesMutable>(
          std::make_shared<const detail::TypedInstructionPattern<Pattern>>(
              std::move(pattern))));
}

}  // namespace match
}  // namespace xla

#endif  // XLA_HLO_UTILS_PATTERN_MATCHER_INSTRUCTION_H_
