#ifndef XLA_HLO_IR_HLO_COMPUTATION_TEST_BASE_H_
#define XLA_HLO_IR_HLO_COMPUTATION_TEST_BASE_H_

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"

// What tests of computations are built of: scalars and arrays of f32.

namespace xla {

inline Shape F32Scalar() { return ShapeUtil::MakeShape(F32, {}); }

inline std::unique_ptr<HloInstruction> Parameter(int number,
                                                 const Shape& shape) {
  return HloInstruction::CreateParameter(number, shape,
                                         "p" + std::to_string(number));
}

inline std::unique_ptr<HloInstruction> Constant(float value) {
  return HloInstruction::CreateConstant(LiteralUtil::CreateR0<float>(value));
}

inline std::unique_ptr<HloInstruction> Unary(HloOpcode opcode,
                                             HloInstruction* a) {
  return HloInstruction::CreateUnary(a->shape(), opcode, a);
}

inline std::unique_ptr<HloInstruction> Binary(HloOpcode opcode,
                                              HloInstruction* a,
                                              HloInstruction* b) {
  return HloInstruction::CreateBinary(a->shape(), opcode, a, b);
}

inline std::unique_ptr<HloComputation> NegateComputation(
    const std::string& name) {
  HloComputation::Builder builder(name);
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  builder.AddInstruction(Unary(HloOpcode::kNegate, p));
  return builder.Build();
}

inline std::vector<HloInstruction*> Instructions(HloComputation* computation) {
  auto range = computation->instructions();
  return std::vector<HloInstruction*>(range.begin(), range.end());
}

// `length` exponentials, one after the other, and `last` of them.
inline std::unique_ptr<HloComputation> Chain(HloOpcode last, int length = 3) {
  HloComputation::Builder builder("chain");
  HloInstruction* x = builder.AddInstruction(Parameter(0, F32Scalar()));
  for (int i = 0; i < length; ++i) {
    x = builder.AddInstruction(Unary(HloOpcode::kExp, x));
  }
  builder.AddInstruction(Unary(last, x));
  return builder.Build();
}

class HloComputationTest : public ::testing::Test {
 protected:
  HloModule module_{"m", HloModuleConfig()};
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_COMPUTATION_TEST_BASE_H_
