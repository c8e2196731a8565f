#ifndef XLA_HLO_UTILS_PATTERN_MATCHER_CHECKS_H_
#define XLA_HLO_UTILS_PATTERN_MATCHER_CHECKS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/utils/pattern_matcher_core.h"
#include "xla/hlo/utils/pattern_matcher_layout.h"
#include "xla/types.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// The properties of instructions that patterns can ask for, apart from those of
// operands and shapes.

namespace xla {
namespace match {
namespace detail {

// The instruction without metadata and configuration, "null" for null.
std::string InstToString(const HloInstruction* inst);

struct InstructionKind {
  static constexpr char kNoun[] = "instruction";
  static std::string Text(const HloInstruction& inst) {
    return InstToString(&inst);
  }
};

// --- Fields: see FieldIs
// ------------------------------------------------------

struct InstructionField {
  using Item = HloInstruction;
  static std::string Text(int64_t value) { return absl::StrCat(value); }
};

struct OpcodeField : InstructionField {
  using Value = HloOpcode;
  static constexpr char kName[] = "opcode";
  static std::optional<HloOpcode> Get(const HloInstruction& inst) {
    return inst.opcode();
  }
  static std::string Text(HloOpcode opcode) {
    return std::string(HloOpcodeString(opcode));
  }
};

struct NameField : InstructionField {
  using Value = std::string;
  static constexpr char kName[] = "name";
  static std::optional<absl::string_view> Get(const HloInstruction& inst) {
    return inst.name();
  }
  static std::string Text(absl::string_view name) { return std::string(name); }
};

struct NumOperandsField : InstructionField {
  using Value = int64_t;
  static constexpr char kName[] = "operand count";
  static std::optional<int64_t> Get(const HloInstruction& inst) {
    return inst.operand_count();
  }
};

struct NumUserField : InstructionField {
  using Value = int64_t;
  static constexpr char kName[] = "user count";
  static std::optional<int64_t> Get(const HloInstruction& inst) {
    return inst.user_count();
  }
};

struct TupleIndexField : InstructionField {
  using Value = int64_t;
  static constexpr char kName[] = "tuple index";
  static std::optional<int64_t> Get(const HloInstruction& inst) {
    if (inst.opcode() != HloOpcode::kGetTupleElement) return std::nullopt;
    return inst.tuple_index();
  }
};

struct ParameterNumField : InstructionField {
  using Value = int64_t;
  static constexpr char kName[] = "parameter number";
  static std::optional<int64_t> Get(const HloInstruction& inst) {
    if (inst.opcode() != HloOpcode::kParameter) return std::nullopt;
    return inst.parameter_number();
  }
};

struct FusionKindField : InstructionField {
  using Value = HloInstruction::FusionKind;
  static constexpr char kName[] = "fusion kind";
  static std::optional<Value> Get(const HloInstruction& inst) {
    if (inst.opcode() != HloOpcode::kFusion) return std::nullopt;
    return inst.fusion_kind();
  }
  static std::string Text(Value kind) {
    return std::string(::xla::ToString(kind));
  }
};

struct ComparisonDirectionField : InstructionField {
  using Value = ComparisonDirection;
  static constexpr char kName[] = "comparison direction";
  static std::optional<ComparisonDirection> Get(const HloInstruction& inst) {
    if (inst.opcode() != HloOpcode::kCompare) return std::nullopt;
    return inst.comparison_direction();
  }
  static std::string Text(ComparisonDirection direction) {
    return ComparisonDirectionToString(direction);
  }
};

// As HLO text, in which equal numbers are equal.
struct ConvDnumsField : InstructionField {
  using Value = std::string;
  static constexpr char kName[] = "convolution dimension numbers";
  static std::optional<std::string> Get(const HloInstruction& inst);
  static std::string Text(absl::string_view dnums) {
    return std::string(dnums);
  }
  // CHECKs that the text can be parsed.
  static std::string Normalize(absl::string_view dnums);
};

struct ContractingDimsField : InstructionField {
  // The contracting dimensions of lhs and of rhs.
  using Value = std::pair<Int64List, Int64List>;
  static constexpr char kName[] = "contracting dimension pair";
  static std::optional<Value> Get(const HloInstruction& inst);
  static std::string Text(const Value& dims);
};

struct ReplicaGroupsField : InstructionField {
  using Value = std::vector<std::vector<int64_t>>;
  static constexpr char kName[] = "replica group list";
  static std::optional<Value> Get(const HloInstruction& inst);
  static std::string Text(const Value& groups);
};

// The empty text stands for no sharding.
struct ShardingField : InstructionField {
  using Value = std::optional<HloSharding>;
  static constexpr char kName[] = "sharding";
  static std::optional<Value> Get(const HloInstruction& inst);
  static std::string Text(const Value& sharding);
  // CHECKs that the text can be parsed.
  static Value Parse(absl::string_view sharding);
};

// --- Other checks ------------------------------------------------------------

struct OpcodeIsNot {
  HloOpcode opcode;

  bool Match(const HloInstruction* inst, const MatchOption& option) const {
    return inst->opcode() != opcode ||
           Explain(option, [&] { return absl::StrCat("opcode is ", opcode); });
  }
  std::string Describe() const { return absl::StrCat("opcode not ", opcode); }
};

struct IsInstruction {
  const HloInstruction* want;

  bool Match(const HloInstruction* inst, const MatchOption& option) const {
    return inst == want || Explain(option, [&] {
             return absl::StrCat("is not the instruction ", InstToString(want));
           });
  }
  std::string Describe() const { return InstToString(want); }
};

struct CustomCallTargetIs {
  std::vector<std::string> targets;

  // One of the targets will do.
  explicit CustomCallTargetIs(absl::Span<const absl::string_view> targets)
      : targets(targets.begin(), targets.end()) {}
  bool Match(const HloInstruction* inst, const MatchOption& option) const;
  std::string Describe() const;
};

// Exactly one operand of one user.
struct UsedOnce {
  bool Match(const HloInstruction* inst, const MatchOption& option) const;
  std::string Describe() const { return "used once"; }
};

struct AtMostNumUsers {
  int64_t limit;

  bool Match(const HloInstruction* inst, const MatchOption& option) const {
    return inst->user_count() <= limit || Explain(option, [&] {
             return absl::StrCat("user count is ", inst->user_count(),
                                 ", more than ", limit);
           });
  }
  std::string Describe() const {
    return absl::StrCat("user count at most ", limit);
  }
};

struct PredicateHolds {
  HloPredicate predicate;

  bool Match(const HloInstruction* inst, const MatchOption& option) const {
    return predicate(inst) ||
           Explain(option, [] { return "fails the predicate"; });
  }
  std::string Describe() const { return "passing a predicate"; }
};

struct ElementwiseOnOperand {
  int64_t index;

  bool Match(const HloInstruction* inst, const MatchOption& option) const;
  std::string Describe() const {
    return absl::StrCat("elementwise on operand ", index);
  }
};

// Control edges, in any order.
struct ControlDepsAre {
  absl::InlinedVector<const HloInstruction*, 2> predecessors;
  absl::InlinedVector<const HloInstruction*, 2> successors;

  bool Match(const HloInstruction* inst, const MatchOption& option) const;
  std::string Describe() const;
};

// A number that a constant may be equal to; the element type does not matter.
class ScalarValue {
 public:
  template <typename T>
  explicit ScalarValue(const T& value) {
    if constexpr (is_complex_v<T>) {
      kind_ = Kind::kComplex;
      complex_ = complex128(value.real(), value.imag());
    } else if constexpr (std::is_integral_v<T>) {
      kind_ = std::is_signed_v<T> ? Kind::kSigned : Kind::kUnsigned;
      integer_ = static_cast<int64_t>(value);
    } else {
      kind_ = Kind::kDouble;
      complex_ = static_cast<double>(value);
    }
  }

  // The only element of an array; false if it is elided. 0 equals -0.
  bool EqualsScalar(const Literal& literal) const;
  std::string Text() const;

 private:
  enum class Kind { kSigned, kUnsigned, kDouble, kComplex };
  Kind kind_;
  int64_t integer_ = 0;
  complex128 complex_;
};

// A constant of one element, perhaps of a given value.
struct ConstantScalarIs {
  std::optional<ScalarValue> value;
  // Dimensions of size 1 are allowed.
  bool effective;

  bool Match(const HloInstruction* inst, const MatchOption& option) const;
  std::string Describe() const;
};

}  // namespace detail
}  // namespace match
}  // namespace xla

#endif  // XLA_HLO_UTILS_PATTERN_MATCHER_CHECKS_H_
