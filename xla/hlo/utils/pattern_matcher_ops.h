#ifndef XLA_HLO_UTILS_PATTERN_MATCHER_OPS_H_
#define XLA_HLO_UTILS_PATTERN_MATCHER_OPS_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/hlo_opcode_names.h"
#include "xla/hlo/utils/pattern_matcher_checks.h"
#include "xla/hlo/utils/pattern_matcher_core.h"
#include "xla/hlo/utils/pattern_matcher_instruction.h"

// One function per opcode, named like its enumerator:
//
//   Add()                any add
//   Add(&add)            any add, captured
//   Add(p, q)            an add of operands that match p and q
//   Add(&add, p, q)      the same, captured
//   AddAnyOrder(p, q)    p and q may match either operand
//
// Opcodes with any number of operands have exactly as many as there are
// patterns, if there is at least one.

namespace xla {
namespace match {
namespace detail {

// The first argument of a pattern function, if it is a variable to capture in.
template <typename T>
struct CapturedType {
  using type = const HloInstruction;
  static constexpr bool kIsVariable = false;
};
template <>
struct CapturedType<HloInstruction**> {
  using type = HloInstruction;
  static constexpr bool kIsVariable = true;
};
template <>
struct CapturedType<const HloInstruction**> {
  using type = const HloInstruction;
  static constexpr bool kIsVariable = true;
};

// Makes a pattern from all its checks at once.
template <typename Captured, typename... Checks>
auto MakeInstructionPattern(Captured** captured, std::tuple<Checks...> checks) {
  return HloInstructionPattern<Captured, Conjunction<Checks...>>(
      Conjunction<Checks...>(std::move(checks)), captured);
}

template <typename... Patterns, size_t... kIndex>
auto OperandChecks(std::index_sequence<kIndex...>,
                   const Patterns&... patterns) {
  return std::make_tuple(
      PartMatches(OperandAccessor{static_cast<int64_t>(kIndex)}, patterns)...);
}

template <HloOpcode kOpcode, typename Captured, typename... Patterns>
auto MakeOpWithOperands(Captured** captured, const Patterns&... patterns) {
  static_assert((true && ... && kIsInstructionPattern<Patterns>),
                "operands of a pattern are patterns of instructions");
  constexpr int kArity = hlo_opcode_internal::Arity(kOpcode);
  constexpr int kPatterns = sizeof...(Patterns);
  static_assert(
      kPatterns == 0 || kArity == kHloOpcodeIsVariadic || kArity == kPatterns,
      "the opcode has another number of operands");
  auto opcode = std::make_tuple(FieldIs<OpcodeField>{kOpcode});
  auto operands =
      OperandChecks(std::make_index_sequence<kPatterns>(), patterns...);
  if constexpr (kPatterns != 0 && kArity == kHloOpcodeIsVariadic) {
    return MakeInstructionPattern(
        captured,
        std::tuple_cat(std::move(opcode),
                       std::make_tuple(FieldIs<NumOperandsField>{kPatterns}),
                       std::move(operands)));
  } else {
    return MakeInstructionPattern(
        captured, std::tuple_cat(std::move(opcode), std::move(operands)));
  }
}

template <HloOpcode kOpcode>
auto MakeOp() {
  return MakeOpWithOperands<kOpcode, const HloInstruction>(nullptr);
}
template <HloOpcode kOpcode, typename First, typename... Rest>
auto MakeOp(const First& first, const Rest&... rest) {
  if constexpr (CapturedType<First>::kIsVariable) {
    return MakeOpWithOperands<kOpcode>(first, rest...);
  } else {
    return MakeOpWithOperands<kOpcode, const HloInstruction>(nullptr, first,
                                                             rest...);
  }
}

template <HloOpcode kOpcode, typename P1, typename P2>
auto MakeOpAnyOrder(const P1& p1, const P2& p2) {
  return MakeOp<kOpcode>().WithBinaryOperandsAnyOrder(p1, p2);
}
template <HloOpcode kOpcode, typename T, typename P1, typename P2>
auto MakeOpAnyOrder(T** matched_inst, const P1& p1, const P2& p2) {
  return MakeOp<kOpcode>(matched_inst).WithBinaryOperandsAnyOrder(p1, p2);
}

}  // namespace detail

#define XLA_OP_PATTERN(NAME)                            \
  template <typename... Args>                           \
  auto NAME(const Args&... args) {                      \
    return detail::MakeOp<HloOpcode::k##NAME>(args...); \
  }
XLA_HLO_OPCODE_NAMES(XLA_OP_PATTERN)
XLA_OP_PATTERN(Constant)
XLA_OP_PATTERN(Dot)
#undef XLA_OP_PATTERN

#define XLA_COMMUTATIVE_OP_PATTERN(NAME)                        \
  template <typename... Args>                                   \
  auto NAME##AnyOrder(const Args&... args) {                    \
    return detail::MakeOpAnyOrder<HloOpcode::k##NAME>(args...); \
  }
XLA_COMMUTATIVE_OP_PATTERN(Add)
XLA_COMMUTATIVE_OP_PATTERN(And)
XLA_COMMUTATIVE_OP_PATTERN(Maximum)
XLA_COMMUTATIVE_OP_PATTERN(Minimum)
XLA_COMMUTATIVE_OP_PATTERN(Mulhi)
XLA_COMMUTATIVE_OP_PATTERN(Multiply)
XLA_COMMUTATIVE_OP_PATTERN(Or)
XLA_COMMUTATIVE_OP_PATTERN(Xor)
#undef XLA_COMMUTATIVE_OP_PATTERN

// Compares in one direction.
#define XLA_COMPARE_PATTERN(NAME)                               \
  template <typename... Args>                                   \
  auto NAME(const Args&... args) {                              \
    return detail::MakeOp<HloOpcode::kCompare>(args...)         \
        .WithComparisonDirection(ComparisonDirection::k##NAME); \
  }
#define XLA_COMMUTATIVE_COMPARE_PATTERN(NAME)                   \
  XLA_COMPARE_PATTERN(NAME)                                     \
  template <typename... Args>                                   \
  auto NAME##AnyOrder(const Args&... args) {                    \
    return detail::MakeOpAnyOrder<HloOpcode::kCompare>(args...) \
        .WithComparisonDirection(ComparisonDirection::k##NAME); \
  }
XLA_COMMUTATIVE_COMPARE_PATTERN(Eq)
XLA_COMMUTATIVE_COMPARE_PATTERN(Ne)
XLA_COMPARE_PATTERN(Ge)
XLA_COMPARE_PATTERN(Gt)
XLA_COMPARE_PATTERN(Le)
XLA_COMPARE_PATTERN(Lt)
#undef XLA_COMMUTATIVE_COMPARE_PATTERN
#undef XLA_COMPARE_PATTERN

// Anything but a constant.
inline auto NonConstant() { return Op().IsNonConstant(); }
template <typename HloInstructionType>
auto NonConstant(HloInstructionType** matched_inst) {
  return Op(matched_inst).IsNonConstant();
}

// Parameters, of any or one number.
inline auto Parameter() { return detail::MakeOp<HloOpcode::kParameter>(); }
template <typename HloInstructionType>
auto Parameter(HloInstructionType** matched_inst) {
  return detail::MakeOp<HloOpcode::kParameter>(matched_inst);
}
inline auto Parameter(int64_t parameter_num) {
  return Op().WithOpcode(HloOpcode::kParameter).WithParameterNum(parameter_num);
}
template <typename HloInstructionType>
auto Parameter(HloInstructionType** matched_inst, int64_t parameter_num) {
  return Op(matched_inst)
      .WithOpcode(HloOpcode::kParameter)
      .WithParameterNum(parameter_num);
}

// Elements of tuples, any or one.
inline auto GetTupleElement() {
  return detail::MakeOp<HloOpcode::kGetTupleElement>();
}
template <typename Arg>
auto GetTupleElement(const Arg& arg) {
  return detail::MakeOp<HloOpcode::kGetTupleElement>(arg);
}
template <typename HloInstructionType, typename Arg,
          std::enable_if_t<detail::kIsInstructionPattern<Arg>>* = nullptr>
auto GetTupleElement(HloInstructionType** matched_inst, const Arg& arg) {
  return detail::MakeOp<HloOpcode::kGetTupleElement>(matched_inst, arg);
}
template <typename Arg,
          std::enable_if_t<detail::kIsInstructionPattern<Arg>>* = nullptr>
auto GetTupleElement(const Arg& arg, int64_t tuple_index) {
  return detail::MakeOp<HloOpcode::kGetTupleElement>(arg).WithTupleIndex(
      tuple_index);
}
template <typename HloInstructionType, typename Arg>
auto GetTupleElement(HloInstructionType** matched_inst, const Arg& arg,
                     int64_t tuple_index) {
  return detail::MakeOp<HloOpcode::kGetTupleElement>(matched_inst, arg)
      .WithTupleIndex(tuple_index);
}

// Custom calls: CustomCall(&call, {"target", "other target"}, operand, ...),
// where each part may be left out.
inline auto CustomCall() { return detail::MakeOp<HloOpcode::kCustomCall>(); }
template <typename HloInstructionType>
auto CustomCall(HloInstructionType** matched_inst) {
  return detail::MakeOp<HloOpcode::kCustomCall>(matched_inst);
}
template <typename Arg0, typename... Args,
          std::enable_if_t<detail::kIsInstructionPattern<Arg0>>* = nullptr>
auto CustomCall(const Arg0& arg0, const Args&... args) {
  return detail::MakeOp<HloOpcode::kCustomCall>(arg0, args...);
}
template <typename... Args>
auto CustomCall(absl::Span<const absl::string_view> custom_call_targets,
                const Args&... args) {
  return detail::MakeOp<HloOpcode::kCustomCall>(args...).WithCustomCallTarget(
      custom_call_targets);
}
template <typename HloInstructionType, typename Arg0, typename... Args,
          std::enable_if_t<detail::kIsInstructionPattern<Arg0>>* = nullptr>
auto CustomCall(HloInstructionType** matched_inst, const Arg0& arg0,
                const Args&... args) {
  return detail::MakeOp<HloOpcode::kCustomCall>(matched_inst, arg0, args...);
}
template <typename HloInstructionType, typename... Args>
auto CustomCall(HloInstructionType** matched_inst,
                absl::Span<const absl::string_view> custom_call_targets,
                const Args&... args) {
  return detail::MakeOp<HloOpcode::kCustomCall>(matched_inst, args...)
      .WithCustomCallTarget(custom_call_targets);
}

// Constants of one element: scalars, or with "Effective" arrays of one element.
#define XLA_CONSTANT_PATTERN(NAME)                             \
  inline auto NAME() { return Op().Is##NAME(); }               \
  template <typename HloInstructionType>                       \
  auto NAME(HloInstructionType** matched_inst) {               \
    return Op(matched_inst).Is##NAME();                        \
  }                                                            \
  template <typename ScalarTy>                                 \
  auto NAME(ScalarTy val) {                                    \
    return Op().Is##NAME(val);                                 \
  }                                                            \
  template <typename HloInstructionType, typename ScalarTy>    \
  auto NAME(HloInstructionType** matched_inst, ScalarTy val) { \
    return Op(matched_inst).Is##NAME(val);                     \
  }
XLA_CONSTANT_PATTERN(ConstantScalar)
XLA_CONSTANT_PATTERN(ConstantEffectiveScalar)
#undef XLA_CONSTANT_PATTERN

}  // namespace match
}  // namespace xla

#endif  // XLA_HLO_UTILS_PATTERN_MATCHER_OPS_H_
