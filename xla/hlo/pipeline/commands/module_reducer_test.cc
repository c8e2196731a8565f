#include "xla/hlo/pipeline/commands/module_reducer.h"

#include <memory>

#include "absl/algorithm/container.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

bool Holds(const HloModule& module, HloOpcode opcode) {
  return absl::c_any_of(module.computations(), [&](const HloComputation* c) {
    return absl::c_any_of(c->instructions(), [&](const HloInstruction* i) {
      return i->opcode() == opcode;
    });
  });
}

// Whatever a random module holds, it is found in one of a few instructions.
TEST(ModuleReducerTest, RandomModules) {
  int reduced_modules = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    RandomModuleOptions random;
    random.steps = 12;
    random.max_depth = 1;
    const std::unique_ptr<HloModule> module = RandomModule(seed, random);
    // Reducing removes unread instructions, also if one of them has the opcode.
    ASSERT_TRUE(HloDCE().Run(module.get()).ok());
    for (HloOpcode opcode :
         {HloOpcode::kWhile, HloOpcode::kReduce, HloOpcode::kMultiply}) {
      if (!Holds(*module, opcode)) continue;
      ModuleReducerStats stats;
      auto reduced = ReduceModule(
          *module, [&](HloModule& m) { return Holds(m, opcode); }, {}, &stats);
      ASSERT_TRUE(reduced.ok()) << reduced.status();
      EXPECT_TRUE(Holds(**reduced, opcode));
      EXPECT_LE((*reduced)->instruction_count(), 16)
          << seed << " " << HloOpcodeString(opcode) << "\n"
          << (*reduced)->ToString();
      HloVerifierOpts opts;
      opts.allow_mixed_precision = true;
      EXPECT_EQ(VerifyHloModule(reduced->get(), opts), absl::OkStatus());
      EXPECT_GT(stats.accepted, 0);
      ++reduced_modules;
    }
  }
  EXPECT_GT(reduced_modules, 3);
}

// What a wrong rewrite makes of a module: sums instead of differences.
std::unique_ptr<HloModule> Miscompiled(const HloModule& module) {
  std::unique_ptr<HloModule> wrong = module.Clone("");
  for (HloComputation* computation : wrong->computations()) {
    for (HloInstruction* i : computation->MakeInstructionPostOrder()) {
      if (i->opcode() != HloOpcode::kSubtract) continue;
      EXPECT_TRUE(computation
                      ->ReplaceWithNewInstruction(
                          i, HloInstruction::CreateBinary(
                                 i->shape(), HloOpcode::kAdd,
                                 i->mutable_operand(0), i->mutable_operand(1)))
                      .ok());
    }
  }
  return wrong;
}

TEST(ModuleReducerTest, WrongRewriteOfARandomModule) {
  const auto changes_meaning = [](HloModule& module) {
    MeaningOptions options;
    options.max_work = 200'000;
    auto meaning = ModuleMeaning::Make(module, options);
    if (!meaning.ok()) return false;
    auto difference = (*meaning)->DifferenceFrom(*Miscompiled(module));
    return difference.ok() && difference->has_value();
  };
  int found = 0;
  for (uint64_t seed = 0; found < 3 && seed < 60; ++seed) {
    RandomModuleOptions random;
    random.steps = 10;
    random.max_depth = 1;
    const std::unique_ptr<HloModule> module = RandomModule(seed, random);
    if (!changes_meaning(*module->Clone(""))) continue;
    ++found;
    auto reduced = ReduceModule(*module, changes_meaning);
    ASSERT_TRUE(reduced.ok()) << reduced.status();
    EXPECT_TRUE(Holds(**reduced, HloOpcode::kSubtract));
    EXPECT_LE((*reduced)->instruction_count(), 8) << (*reduced)->ToString();
  }
  EXPECT_EQ(found, 3);
}

TEST(ModuleReducerTest, NotInterestingAndOutOfAttempts) {
  RandomModuleOptions random;
  random.steps = 5;
  const std::unique_ptr<HloModule> module = RandomModule(1, random);
  EXPECT_EQ(
      ReduceModule(*module, [](HloModule&) { return false; }).status().code(),
      absl::StatusCode::kFailedPrecondition);
  ModuleReducerOptions options;
  options.max_attempts = 3;
  ModuleReducerStats stats;
  EXPECT_TRUE(ReduceModule(
                  *module, [](HloModule&) { return true; }, options, &stats)
                  .ok());
  EXPECT_EQ(stats.attempts, 3);
}

}  // namespace
}  // namespace xla
