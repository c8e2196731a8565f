#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

// Instructions that make values from nothing.

namespace xla::verifier {

absl::Status CheckParameter(const Context& context,
                            const HloInstruction& inst) {
  const std::optional<std::vector<bool>>& flags =
      Cast<HloParameterInstruction>(&inst)
          ->parameter_replicated_at_leaf_buffers();
  if (!flags.has_value()) return absl::OkStatus();
  const int64_t leaves = ShapeUtil::GetLeafCount(inst.shape());
  if (static_cast<int64_t>(flags->size()) == leaves) return absl::OkStatus();
  return Broken(Invariant::V118, inst,
                absl::StrCat("expected ", leaves, ", found ", flags->size()));
}

absl::Status CheckConstant(const Context& context, const HloInstruction& inst) {
  const auto* constant = Cast<HloConstantInstruction>(&inst);
  // Literals may be dropped once nothing needs them.
  if (!constant->HasLiteral()) return absl::OkStatus();
  return context.Expect(Invariant::V56, inst, constant->literal().shape(),
                        Match::kSameOrder);
}

absl::Status CheckIota(const Context& context, const HloInstruction& inst) {
  const Shape& shape = inst.shape();
  if (!shape.IsArray()) {
    return Broken(Invariant::V57, inst, "the result is not an array");
  }
  const int64_t dimension = Cast<HloIotaInstruction>(&inst)->iota_dimension();
  if (dimension < 0 || dimension >= RankOf(shape)) {
    return Broken(Invariant::V57, inst,
                  absl::StrCat("expected a dimension below ", RankOf(shape),
                               ", found ", dimension));
  }
  if (shape.element_type() == PRED) {
    return Broken(Invariant::V57, inst, "pred does not count");
  }
  return absl::OkStatus();
}

absl::Status CheckRng(const Context& context, const HloInstruction& inst) {
  const Shape& shape = inst.shape();
  if (!shape.IsArray()) {
    return Broken(Invariant::V58, inst, "the result is not an array");
  }
  for (const HloInstruction* operand : inst.operands()) {
    const Shape& bound = operand->shape();
    if (!ShapeUtil::IsScalar(bound) ||
        !ShapeUtil::SameElementTypeIgnoringFpPrecision(bound, shape)) {
      return Broken(Invariant::V58, inst,
                    absl::StrCat("expected a scalar of the result's type, "
                                 "found ",
                                 context.Str(bound)));
    }
  }
  // Mixed precision does not allow this either.
  if (inst.operand(0)->shape().element_type() !=
      inst.operand(1)->shape().element_type()) {
    return Broken(Invariant::V58, inst,
                  absl::StrCat("expected operands of one type, found ",
                               context.Str(inst.operand(0)->shape()), " and ",
                               context.Str(inst.operand(1)->shape())));
  }
  const PrimitiveType type = shape.element_type();
  const bool fits = inst.random_distribution() == RNG_NORMAL
                        ? primitive_util::IsFloatingPointType(type)
                        : !primitive_util::IsComplexType(type);
  if (fits) return absl::OkStatus();
  return Broken(
      Invariant::V58, inst,
      absl::StrCat("no ",
                   RandomDistributionToString(inst.random_distribution()),
                   " distribution of ", context.Str(shape)));
}

absl::Status CheckRngBitGenerator(const Context& context,
                                  const HloInstruction& inst) {
  const Shape& shape = inst.shape();
  if (shape.IsArray()) return absl::OkStatus();
  if (!shape.IsTuple() || shape.tuple_shapes_size() != 2 ||
      !shape.tuple_shapes(1).IsArray()) {
    return Broken(Invariant::V58, inst,
                  "expected a tuple of the state and an array");
  }
  return context.Expect(Invariant::V58, inst, "state", shape.tuple_shapes(0),
                        inst.operand(0)->shape(), Match::kLoose);
}

absl::Status CheckRngGetAndUpdateState(const Context& context,
                                       const HloInstruction& inst) {
  const Shape& shape = inst.shape();
  if (shape.IsArray() && shape.element_type() == U64 && RankOf(shape) == 1 &&
      shape.dimensions(0) == 2) {
    return absl::OkStatus();
  }
  return Broken(Invariant::V58, inst,
                absl::StrCat("expected u64[2], found ", context.Str(shape)));
}

absl::Status CheckDeviceNumber(const Context& context,
                               const HloInstruction& inst) {
  if (IsScalarOf(inst.shape(), U32)) return absl::OkStatus();
  return Broken(
      Invariant::V141, inst,
      absl::StrCat("expected u32[], found ", context.Str(inst.shape())));
}

}  // namespace xla::verifier
