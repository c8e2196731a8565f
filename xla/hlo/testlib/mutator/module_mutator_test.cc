#include "xla/hlo/testlib/mutator/module_mutator.h"

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
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
    const auto holders = module_mutator_internal::AsyncStateHolders(*module);
    for (HloInstruction* inst :
         module->entry_computation()->MakeInstructionPostOrder()) {
      const HloInstruction* detour =
          module_mutator_internal::Detour(inst, holders.contains(inst), pick);
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

// Which of the rare things that the header lists are in a module.
std::set<std::string> Rarities(const HloModule& module) {
  std::set<std::string> met;
  if (module.has_schedule()) met.insert("schedule");
  if (module.config().num_partitions() > 1) met.insert("devices");
  for (const HloComputation* computation : module.computations()) {
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
      if (inst->opcode() == HloOpcode::kOptimizationBarrier &&
          inst->operand(0)->shape().IsTuple()) {
        met.insert("tuple through a barrier");
      }
    }
  }
  return met;
}

// All of them come about, in modules that verify, and most by mutation alone.
TEST(ModuleMutatorTest, MakesWhatIsLegalAndRare) {
  HloVerifierOpts verify;
  verify.allow_mixed_precision = true;
  constexpr int kModules = 300;
  int legal = 0;
  std::set<std::string> before;
  std::set<std::string> after;
  for (uint64_t seed = 0; seed < kModules; ++seed) {
    before.merge(Rarities(*Mutated(seed, 0)));
    const std::unique_ptr<HloModule> module = Mutated(seed, 1);
    if (!VerifyHloModule(module.get(), verify).ok()) continue;
    ++legal;
    after.merge(Rarities(*module));
  }
  EXPECT_GT(legal, kModules * 2 / 3);
  EXPECT_EQ(before, (std::set<std::string>{"dead", "operand twice",
                                           "tuple through a barrier"}));
  EXPECT_EQ(after, (std::set<std::string>{
                       "attribute", "dead", "devices", "dynamic", "edge",
                       "edge in a callee", "operand twice", "schedule",
                       "sharding", "side effect", "tuple through a barrier"}));
}

// The state of a copy is read only by its end and by what hands it on, and it
// is ended once.
TEST(ModuleMutatorTest, LeavesAsynchronousStateLegal) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto module = ParseAndReturnUnverifiedModule(R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  s = (f32[4], f32[4], u32[]) copy-start(x)
  t = ((f32[4], f32[4], u32[])) tuple(s)
  g = (f32[4], f32[4], u32[]) get-tuple-element(t), index=0
  ROOT d = f32[4] copy-done(g)
})");
    ASSERT_TRUE(module.ok()) << module.status();
    MutateModule(seed, module->get());
    const absl::Status status = VerifyHloModule(module->get(), {});
    for (const absl::string_view broken : {"[V139]", "[V140]"}) {
      EXPECT_FALSE(absl::StartsWith(status.message(), broken)) << status;
    }
  }
}

}  // namespace
}  // namespace xla
