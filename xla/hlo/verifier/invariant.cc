#include "xla/hlo/verifier/invariant.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/instruction_source.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

struct Row {
  absl::string_view number;
  absl::string_view text;
};

constexpr Row kRows[] = {
#define INVARIANT(number, text) {#number, text},
#include "xla/hlo/verifier/invariants.def"
#undef INVARIANT
};

constexpr Invariant kAll[] = {
#define INVARIANT(number, text) Invariant::number,
#include "xla/hlo/verifier/invariants.def"
#undef INVARIANT
};

// Status codes that callers match on: the graph itself and asynchronous chains
// are internal matters, all else is the input's.
absl::StatusCode CodeOf(Invariant invariant) {
  if (invariant == Invariant::V142) {
    return absl::StatusCode::kFailedPrecondition;
  }
  if (invariant < Invariant::V40 ||
      (invariant >= Invariant::V135 && invariant <= Invariant::V140)) {
    return absl::StatusCode::kInternal;
  }
  return absl::StatusCode::kInvalidArgument;
}

// Operands and characters of a shape that an error shows.
constexpr int64_t kMaxOperands = 8;
constexpr size_t kMaxShapeText = 400;

absl::Status MakeError(Invariant invariant, absl::string_view where,
                       absl::string_view detail, absl::string_view source) {
  const Row& row = kRows[static_cast<int>(invariant)];
  std::string message =
      absl::StrCat("[", row.number, "] ", row.text, ": ", where);
  if (!detail.empty()) absl::StrAppend(&message, ": ", detail);
  if (!source.empty()) absl::StrAppend(&message, " (", source, ")");
  return absl::Status(CodeOf(invariant), message);
}

std::string TextOf(const HloInstruction& instruction) {
  std::string shape = ShapeUtil::HumanString(instruction.shape());
  if (shape.size() > kMaxShapeText) {
    shape.resize(kMaxShapeText);
    shape.append("...");
  }
  std::string text = absl::StrCat("%", instruction.name(), " = ", shape, " ",
                                  HloOpcodeString(instruction.opcode()), "(");
  if (instruction.opcode() == HloOpcode::kParameter) {
    absl::StrAppend(&text, instruction.parameter_number());
  }
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    if (i > 0) text.append(", ");
    if (i == kMaxOperands) {
      absl::StrAppend(&text, "... ", instruction.operand_count(), " in all");
      break;
    }
    const HloInstruction* operand = instruction.operand(i);
    absl::StrAppend(&text, operand == nullptr ? "" : "%",
                    operand == nullptr ? "null" : operand->name());
  }
  text.push_back(')');
  if (instruction.parent() != nullptr) {
    absl::StrAppend(&text, " in computation %", instruction.parent()->name());
  }
  return text;
}

}  // namespace

absl::Span<const Invariant> AllInvariants() { return kAll; }

absl::string_view InvariantNumber(Invariant invariant) {
  return kRows[static_cast<int>(invariant)].number;
}

absl::string_view InvariantText(Invariant invariant) {
  return kRows[static_cast<int>(invariant)].text;
}

absl::Status Broken(Invariant invariant, const HloInstruction& where,
                    absl::string_view detail) {
  return MakeError(invariant, TextOf(where), detail, InstructionSource(where));
}

absl::Status Broken(Invariant invariant, const HloComputation& where,
                    absl::string_view detail) {
  return MakeError(invariant, absl::StrCat("computation %", where.name()),
                   detail, "");
}

absl::Status Broken(Invariant invariant, const HloModule& where,
                    absl::string_view detail) {
  return MakeError(invariant, absl::StrCat("module ", where.name()), detail,
                   "");
}

}  // namespace xla
