#include "xla/hlo/evaluator/run/module_meaning.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

constexpr char kSum[] = R"(HloModule m
ENTRY e { a = f32[4] parameter(0) b = f32[4] parameter(1)
  s = f32[4] add(a, b) p = f32[4] multiply(s, s)
  ROOT r = f32[4] subtract(p, b) })";

TEST(ModuleMeaningTest, EqualAndDifferent) {
  MeaningOptions options;
  options.seeds = 2;
  auto meaning = ModuleMeaning::Make(*Parse(kSum), options);
  ASSERT_TRUE(meaning.ok()) << meaning.status();
  auto same = (*meaning)->DifferenceFrom(*Parse(R"(HloModule m
ENTRY e { a = f32[4] parameter(0) b = f32[4] parameter(1)
  s = f32[4] add(b, a) p = f32[4] multiply(s, s) n = f32[4] negate(b)
  ROOT r = f32[4] add(n, p) })"));
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_FALSE(same->has_value()) << **same;
  auto different = (*meaning)->DifferenceFrom(*Parse(R"(HloModule m
ENTRY e { a = f32[4] parameter(0) b = f32[4] parameter(1)
  s = f32[4] add(a, b) p = f32[4] multiply(s, a)
  ROOT r = f32[4] subtract(p, b) })"));
  ASSERT_TRUE(different.ok()) << different.status();
  ASSERT_TRUE(different->has_value());
  EXPECT_THAT(**different, HasSubstr("output at ["));
  EXPECT_THAT(**different, HasSubstr("inputs of seed 0"));
  EXPECT_THAT(**different, HasSubstr("first differs: %p (multiply) in %e"));
}

TEST(ModuleMeaningTest, WhatCannotBeCompared) {
  MeaningOptions options;
  auto meaning = ModuleMeaning::Make(*Parse(kSum), options);
  ASSERT_TRUE(meaning.ok()) << meaning.status();
  EXPECT_EQ((*meaning)
                ->DifferenceFrom(*Parse(R"(HloModule m
ENTRY e { a = f32[4] parameter(0) ROOT r = f32[4] negate(a) })"))
                .status()
                .code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_THAT(ModuleMeaning::Make(*Parse(R"(HloModule m
ENTRY e { a = f32[] constant(0) b = f32[] constant(1)
  ROOT r = f32[4] rng(a, b), distribution=rng_uniform })"),
                                  options)
                  .status()
                  .message(),
              HasSubstr("%r: rng"));
  EXPECT_THAT(ModuleMeaning::Make(*Parse(R"(HloModule m
ENTRY e { ROOT a = f32[4] constant({...}) })"),
                                  options)
                  .status()
                  .message(),
              HasSubstr("%a: the constant is elided"));
  options.max_work = 10;
  EXPECT_THAT(ModuleMeaning::Make(*Parse(kSum), options).status().message(),
              HasSubstr("the cap is 10"));
}

// Two thousand modules, in parts: they are valid, and printing and parsing
// change neither their text nor what they compute.
void CheckRoundTrip(uint64_t first, uint64_t count,
                    const RandomModuleOptions& random) {
  MeaningOptions options;
  options.tolerance = Tolerance();
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::unique_ptr<HloModule> module = RandomModule(seed, random);
    const HloPrintOptions print =
        HloPrintOptions().set_print_large_constants(true);
    const std::string text = module->ToString(print);
    const std::unique_ptr<HloModule> parsed = Parse(text);
    absl::Status valid = VerifyHloModule(parsed.get(), HloVerifierOpts());
    ASSERT_TRUE(valid.ok()) << "seed " << seed << ": " << valid;
    ASSERT_EQ(parsed->ToString(print), text) << "seed " << seed;
    auto meaning = ModuleMeaning::Make(*module, options);
    ASSERT_TRUE(meaning.ok())
        << "seed " << seed << ": " << meaning.status() << "\n"
        << text;
    auto difference = (*meaning)->DifferenceFrom(*parsed);
    ASSERT_TRUE(difference.ok())
        << "seed " << seed << ": " << difference.status();
    ASSERT_FALSE(difference->has_value())
        << "seed " << seed << ": " << **difference;
  }
}

RandomModuleOptions Small() {
  RandomModuleOptions random;
  random.steps = 3;
  random.max_depth = 1;
  return random;
}

TEST(RandomRoundTripTest, Part0) { CheckRoundTrip(0, 600, Small()); }
TEST(RandomRoundTripTest, Part1) { CheckRoundTrip(600, 600, Small()); }
TEST(RandomRoundTripTest, Part2) { CheckRoundTrip(1200, 600, Small()); }
TEST(RandomRoundTripTest, SeveralDevicesAndLarge) {
  RandomModuleOptions random = Small();
  random.num_partitions = 2;
  random.num_replicas = 2;
  CheckRoundTrip(0, 180, random);
  CheckRoundTrip(0, 20, RandomModuleOptions());
}

}  // namespace
}  // namespace xla
