#include "xla/hlo/evaluator/run/module_meaning.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/devices/lockstep_evaluator.h"
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

TEST(ModuleMeaningTest, MoreDevicesThanCanRun) {
  for (const absl::string_view devices :
       {"num_partitions=9223372036854775807",
        "replica_count=4294967296, num_partitions=4294967296"}) {
    const auto meaning =
        ModuleMeaning::Make(*Parse(absl::StrCat("HloModule m, ", devices, R"(
ENTRY e { ROOT a = f32[4] parameter(0) })")),
                            MeaningOptions());
    EXPECT_EQ(meaning.status().code(), absl::StatusCode::kResourceExhausted)
        << devices << ": " << meaning.status();
  }
}

TEST(ModuleMeaningTest, LoopsThatDoNotEnd) {
  constexpr absl::string_view kLoop = R"(HloModule m
c { i = s32[] parameter(0) n = s32[] constant(4)
  ROOT p = pred[] compare(i, n), direction=$0 }
b { i = s32[] parameter(0) o = s32[] constant(1) ROOT n = s32[] add(i, o) }
ENTRY e { z = s32[] constant(0) ROOT w = s32[] while(z), condition=c, body=b }
)";
  const auto ends = Parse(absl::Substitute(kLoop, "LT"));
  const auto goes_on = Parse(absl::Substitute(kLoop, "NE"));
  const auto never = Parse(absl::Substitute(kLoop, "GE"));
  MeaningOptions options;
  options.max_work = 200'000;
  auto meaning = ModuleMeaning::Make(*ends, options);
  ASSERT_TRUE(meaning.ok()) << meaning.status();
  EXPECT_FALSE((*meaning)->DifferenceFrom(*goes_on)->has_value());
  EXPECT_TRUE((*meaning)->DifferenceFrom(*never)->has_value());
  const auto endless = Parse(absl::StrReplaceAll(
      absl::Substitute(kLoop, "LT"), {{"add(i, o)", "subtract(o, o)"}}));
  const absl::Status later = (*meaning)->DifferenceFrom(*endless).status();
  EXPECT_EQ(later.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(later.message(), HasSubstr("it exceeds 1"));
  EXPECT_THAT(later.message(), HasSubstr("called from %w in e (trip "));
  const absl::Status first = ModuleMeaning::Make(*endless, options).status();
  EXPECT_EQ(first.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(first.message(), HasSubstr("limit of 10000 steps"));
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

TEST(RandomRoundTripTest, Part0) { CheckRoundTrip(0, 300, Small()); }
TEST(RandomRoundTripTest, Part1) { CheckRoundTrip(300, 300, Small()); }
TEST(RandomRoundTripTest, Part2) { CheckRoundTrip(600, 300, Small()); }
TEST(RandomRoundTripTest, Part3) { CheckRoundTrip(900, 300, Small()); }
TEST(RandomRoundTripTest, Part4) { CheckRoundTrip(1200, 300, Small()); }
TEST(RandomRoundTripTest, Part5) { CheckRoundTrip(1500, 300, Small()); }
TEST(RandomRoundTripTest, SeveralDevices) {
  RandomModuleOptions random = Small();
  random.num_partitions = 2;
  random.num_replicas = 2;
  CheckRoundTrip(0, 180, random);
}
TEST(RandomRoundTripTest, Large) {
  CheckRoundTrip(0, 20, RandomModuleOptions());
}

// A fusion of element-wise instructions of many types, with three results.
std::string RandomFusion(uint64_t seed) {
  constexpr const char* kTypes[] = {"pred", "s4",   "s8",  "u32",
                                    "f16",  "bf16", "f32", "s64"};
  std::mt19937_64 random(seed);
  std::string body;
  // Types of the values v0, v1, ...
  std::vector<int> types;
  const auto add = [&](int type, const std::string& right) {
    absl::StrAppend(&body, "  v", types.size(), " = ", kTypes[type], "[7,90] ",
                    right, "\n");
    types.push_back(type);
  };
  for (int type = 0; type < 8; ++type) {
    add(type, absl::StrCat("parameter(", type, ")"));
  }
  absl::StrAppend(&body, "  s = f32[] parameter(8)\n");
  add(6, "broadcast(s), dimensions={}");
  for (int i = 0; i < 20; ++i) {
    const uint64_t v = random() % types.size();
    const int type = types[v];
    // The latest of the type; v itself is one.
    uint64_t w = types.size() - 1;
    while (types[w] != type) --w;
    uint64_t p = types.size() - 1;
    while (types[p] != 0) --p;
    switch (random() % 4) {
      case 0:
        add(static_cast<int>(random() % 8), absl::StrCat("convert(v", v, ")"));
        break;
      case 1:
        add(0, absl::StrCat("compare(v", v, ", v", w, "), direction=LE"));
        break;
      case 2:
        add(type, absl::StrCat("select(v", p, ", v", v, ", v", w, ")"));
        break;
      default:
        add(type, absl::StrCat(type == 0           ? "xor"
                               : random() % 2 == 0 ? "multiply"
                                                   : "subtract",
                               "(v", v, ", v", w, ")"));
    }
  }
  std::string results, operands, entry;
  for (size_t v = types.size() - 3; v < types.size(); ++v) {
    absl::StrAppend(&results, results.empty() ? "" : ", ", kTypes[types[v]],
                    "[7,90]");
    absl::StrAppend(&operands, operands.empty() ? "v" : ", v", v);
  }
  for (int i = 0; i < 9; ++i) {
    absl::StrAppend(&entry, "  p", i, " = ",
                    i < 8 ? absl::StrCat(kTypes[i], "[7,90]") : "f32[]",
                    " parameter(", i, ")\n");
  }
  return absl::Substitute(R"(HloModule m
f {
$0  ROOT r = ($1) tuple($2)
}
ENTRY e {
$3  ROOT r = ($1) fusion(p0, p1, p2, p3, p4, p5, p6, p7, p8), kind=kLoop, calls=f
})",
                          body, results, operands, entry);
}

// An observer is told of every value inside a fusion, so it is interpreted.
TEST(FusionLoopTest, IsWhatTheInstructionsCompute) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::unique_ptr<HloModule> module = Parse(RandomFusion(seed));
    auto inputs = GenerateDeviceInputs(*module, 1, seed, false);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    std::vector<std::vector<const Literal*>> arguments(1);
    for (const Literal& input : (*inputs)[0]) arguments[0].push_back(&input);
    LockstepEvaluator loop(*module);
    auto fused = loop.Run(arguments);
    ASSERT_TRUE(fused.ok()) << fused.status() << module->ToString();
    LockstepOptions observed;
    observed.observer = [](int64_t, const HloInstruction*,
                           const evaluator::Value&) {};
    LockstepEvaluator interpreter(*module, observed);
    auto interpreted = interpreter.Run(arguments);
    ASSERT_TRUE(interpreted.ok()) << interpreted.status();
    EXPECT_EQ((*fused)[0].ToString(), (*interpreted)[0].ToString())
        << module->ToString();
    EXPECT_EQ(loop.steps(), 10);
    EXPECT_GT(interpreter.steps(), 12);
  }
}

}  // namespace
}  // namespace xla
