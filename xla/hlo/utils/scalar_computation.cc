#include "xla/hlo/utils/scalar_computation.h"

#include <string>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"

namespace xla {

std::unique_ptr<HloComputation> MakeScalarComputation(HloOpcode opcode,
                                                      PrimitiveType type,
                                                      absl::string_view name) {
  const Shape scalar = ShapeUtil::MakeShape(type, {});
  HloComputation::Builder builder{std::string(name)};
  HloInstruction* x =
      builder.AddInstruction(HloInstruction::CreateParameter(0, scalar, "x"));
  HloInstruction* y =
      builder.AddInstruction(HloInstruction::CreateParameter(1, scalar, "y"));
  builder.AddInstruction(HloInstruction::CreateBinary(scalar, opcode, x, y));
  return builder.Build();
}

}  // namespace xla
