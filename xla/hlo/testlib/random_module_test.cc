#include "xla/hlo/testlib/random_module.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

// Verifies, prints, parses, prints; the two texts must be equal but for names,
// since a short form does not tell those inside of it, and once they are read
// the text stays as it is.
void CheckModule(uint64_t seed, const RandomModuleOptions& options) {
  const HloPrintOptions print =
      HloPrintOptions().set_print_large_constants(true);
  std::unique_ptr<HloModule> module = RandomModule(seed, options);
  const std::string text = module->ToString(print);
  absl::Status valid = VerifyHloModule(module.get(), HloVerifierOpts());
  ASSERT_TRUE(valid.ok()) << "seed " << seed << ": " << valid << "\n" << text;
  absl::StatusOr<std::unique_ptr<HloModule>> parsed =
      ParseAndReturnUnverifiedModule(text);
  ASSERT_TRUE(parsed.ok()) << "seed " << seed << ": " << parsed.status() << "\n"
                           << text;
  const HloPrintOptions canonical = HloPrintOptions::Canonical();
  ASSERT_EQ((*parsed)->ToString(canonical), module->ToString(canonical))
      << "seed " << seed;
  const std::string again = (*parsed)->ToString(print);
  parsed = ParseAndReturnUnverifiedModule(again);
  ASSERT_TRUE(parsed.ok()) << "seed " << seed << ": " << parsed.status();
  ASSERT_EQ((*parsed)->ToString(print), again) << "seed " << seed;
}

void CheckModules(int64_t count, const RandomModuleOptions& options) {
  for (int64_t seed = 0; seed < count; ++seed) {
    CheckModule(seed, options);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Small ones: what is rare in one module is frequent in many.
RandomModuleOptions Small() {
  RandomModuleOptions options;
  options.steps = 4;
  options.max_depth = 1;
  return options;
}

TEST(RandomModuleTest, SmallModules) { CheckModules(400, Small()); }

TEST(RandomModuleTest, DefaultModules) { CheckModules(20, {}); }

TEST(RandomModuleTest, SeveralDevices) {
  RandomModuleOptions options = Small();
  options.num_partitions = 2;
  options.num_replicas = 2;
  CheckModules(150, options);
}

TEST(RandomModuleTest, ExactModules) {
  RandomModuleOptions options = Small();
  options.exact = true;
  options.types = {F32, S32, PRED};
  CheckModules(150, options);
}

TEST(RandomModuleTest, NarrowAndOddTypes) {
  RandomModuleOptions options = Small();
  options.types = {S4,     U4,         S2,       U2,   F8E4M3FN, F8E5M2,
                   F8E3M4, F8E4M3FNUZ, F4E2M1FN, C128, U16,      S16};
  options.zero_sized_every = 10;
  CheckModules(150, options);
}

TEST(RandomModuleTest, OddModules) {
  RandomModuleOptions options = Small();
  options.odd = true;
  CheckModules(200, options);
  options.steps = 20;
  options.max_depth = 3;
  CheckModules(20, options);
}

TEST(RandomModuleTest, UndefinedNumerics) {
  RandomModuleOptions options = Small();
  options.undefined_numerics = true;
  options.stable_decisions = false;
  CheckModules(50, options);
}

TEST(RandomModuleTest, DrawsEveryOpcode) {
  std::map<HloOpcode, int> opcodes;
  RandomModuleOptions options = Small();
  options.steps = 30;
  options.num_partitions = 2;
  options.num_replicas = 2;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const std::unique_ptr<HloModule> module = RandomModule(seed, options);
    for (const HloComputation* computation : module->computations()) {
      for (const HloInstruction* instruction : computation->instructions()) {
        ++opcodes[instruction->opcode()];
      }
    }
  }
  for (HloOpcode opcode : RandomModuleOpcodes()) {
    EXPECT_GT(opcodes[opcode], 0) << HloOpcodeString(opcode);
  }
}

TEST(RandomModuleTest, SameSeedSameModule) {
  EXPECT_EQ(RandomModule(7)->ToString(), RandomModule(7)->ToString());
  EXPECT_NE(RandomModule(7)->ToString(), RandomModule(8)->ToString());
}

TEST(RandomModuleTest, OpcodesCanBeRestricted) {
  RandomModuleOptions options;
  options.opcodes = {HloOpcode::kAdd, HloOpcode::kDot, HloOpcode::kReduce};
  options.types = {F32};
  options.max_depth = 0;
  bool dots = false;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::unique_ptr<HloModule> module = RandomModule(seed, options);
    for (const HloInstruction* instruction :
         module->entry_computation()->instructions()) {
      dots |= instruction->opcode() == HloOpcode::kDot;
      EXPECT_NE(instruction->opcode(), HloOpcode::kMultiply);
      EXPECT_NE(instruction->opcode(), HloOpcode::kTranspose);
      EXPECT_EQ(instruction->called_computations().size(),
                instruction->opcode() == HloOpcode::kReduce ? 1 : 0);
    }
  }
  EXPECT_TRUE(dots);
}

TEST(RandomModuleTest, SizeFollowsSteps) {
  RandomModuleOptions options;
  options.steps = 1000;
  options.max_depth = 0;
  EXPECT_GT(RandomModule(1, options)->instruction_count(), 1000);
}

// Clones have as many computations, and their schedules fit.
TEST(RandomModuleTest, ClonesAreScheduledLikeTheirOriginals) {
  RandomModuleOptions options;
  options.steps = 30;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::unique_ptr<HloModule> module = RandomModule(seed, options);
    HloSchedule schedule(module.get());
    for (HloComputation* computation : module->MakeNonfusionComputations()) {
      schedule.set_sequence(computation,
                            computation->MakeInstructionPostOrder());
    }
    absl::Status set = module->set_schedule(std::move(schedule));
    ASSERT_TRUE(set.ok()) << set;
    std::unique_ptr<HloModule> clone = module->Clone("");
    EXPECT_EQ(clone->computation_count(), module->computation_count());
    absl::Status valid = clone->schedule().Verify();
    EXPECT_TRUE(valid.ok()) << valid;
    EXPECT_EQ(clone->ToString(), module->ToString());
  }
}

}  // namespace
}  // namespace xla
