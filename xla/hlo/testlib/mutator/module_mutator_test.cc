#include "xla/hlo/testlib/mutator/module_mutator.h"

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/testlib/mutator/module_detours.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/primitive_util.h"

namespace xla {
namespace {

std::unique_ptr<HloModule> Mutated(uint64_t seed, int changes) {
  RandomModuleOptions options;
  options.steps = 8;
  std::unique_ptr<HloModule> module = RandomModule(seed, options);
  for (int i = 0; i < changes; ++i) MutateModule(seed + i, module.get());
  return module;
}

TEST(ModuleMutatorTest, TheSameSeedMakesTheSameModule) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    EXPECT_EQ(Mutated(seed, 3)->ToString(), Mutated(seed, 3)->ToString());
    EXPECT_NE(Mutated(seed, 3)->ToString(), Mutated(seed, 0)->ToString());
  }
}

TEST(ModuleMutatorTest, DetoursGiveTheShapeOfTheirValue) {
  std::mt19937_64 random(0);
  module_mutator_internal::Picker pick(random);
  std::set<HloOpcode> met;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::unique_ptr<HloModule> module = Mutated(seed, 1);
    for (HloInstruction* inst :
         module->entry_computation()->MakeInstructionPostOrder()) {
      const HloInstruction* detour =
          module_mutator_internal::Detour(inst, pick);
      if (detour == nullptr) continue;
      met.insert(detour->opcode());
      EXPECT_EQ(detour->shape(), inst->shape()) << inst->ToString();
      if (detour->opcode() == HloOpcode::kReducePrecision) {
        EXPECT_TRUE(
            primitive_util::IsFloatingPointType(detour->shape().element_type()))
            << inst->ToString();
      }
    }
  }
  EXPECT_TRUE(met.count(HloOpcode::kGetTupleElement));
  EXPECT_TRUE(met.count(HloOpcode::kReducePrecision));
}

// What the header promises does come about, in modules that verify.
TEST(ModuleMutatorTest, MakesWhatIsLegalAndRare) {
  HloVerifierOpts verify;
  verify.allow_mixed_precision = true;
  constexpr int kModules = 300;
  int legal = 0;
  std::set<std::string> met;
  for (uint64_t seed = 0; seed < kModules; ++seed) {
    const std::unique_ptr<HloModule> module = Mutated(seed, 1);
    if (!VerifyHloModule(module.get(), verify).ok()) continue;
    ++legal;
    if (module->has_schedule()) met.insert("schedule");
    if (module->config().num_partitions() > 1) met.insert("devices");
    for (const HloComputation* computation : module->computations()) {
      for (const HloInstruction* inst : computation->instructions()) {
        if (!inst->control_successors().empty()) {
          met.insert(computation->IsEntryComputation() ? "edge"
                                                       : "edge in a callee");
        }
        if (inst->IsDead()) met.insert("dead");
        if (inst->has_sharding()) met.insert("sharding");
        if (!inst->frontend_attributes().map().empty()) met.insert("attribute");
        if (inst->HasSideEffect()) met.insert("side effect");
        if (inst->shape().is_dynamic()) met.insert("dynamic");
        if (inst->unique_operands().size() <
            static_cast<size_t>(inst->operand_count())) {
          met.insert("operand twice");
        }
        for (const HloInstruction* operand : inst->operands()) {
          if (operand->shape().IsTuple() &&
              inst->opcode() == HloOpcode::kOptimizationBarrier) {
            met.insert("tuple through a barrier");
          }
        }
      }
    }
  }
  EXPECT_GT(legal, kModules * 2 / 3);
  EXPECT_EQ(met, (std::set<std::string>{
                     "attribute", "dead", "devices", "dynamic", "edge",
                     "edge in a callee", "operand twice", "schedule",
                     "sharding", "side effect", "tuple through a barrier"}));
}

}  // namespace
}  // namespace xla
