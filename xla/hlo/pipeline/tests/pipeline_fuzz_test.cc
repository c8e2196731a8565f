// The properties of the fuzzers on a few inputs with fixed seeds;
// PIPELINE_FUZZ_RUNS is how many.

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/pipeline/tests/pipeline_fuzz_target.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

uint64_t Runs(uint64_t otherwise) {
  const char* wanted = std::getenv("PIPELINE_FUZZ_RUNS");
  return wanted == nullptr ? otherwise : std::atoll(wanted);
}

TEST(PipelineFuzzTest, RandomModules) {
  const uint64_t runs = Runs(60);
  uint64_t ran = 0;
  for (uint64_t seed = 0; seed < runs; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::string bytes(32, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    ran += PipelineRunsOnRandomModule(bytes);
  }
  EXPECT_GT(ran, runs / 2);
}

constexpr char kSmallModule[] = R"(HloModule small

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY e {
  x = f32[4,8] parameter(0)
  w = f32[8,4] parameter(1)
  d = f32[4,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[4,4] transpose(d), dimensions={1,0}
  y = f32[4,4] multiply(d, t)
  zero = f32[] constant(0)
  r = f32[4] reduce(y, zero), dimensions={1}, to_apply=sum
  s = f32[2] slice(r), slice={[1:3]}
  ROOT o = (f32[4,4], f32[2]) tuple(t, s)
}
)";

TEST(PipelineFuzzTest, Texts) {
  const uint64_t runs = Runs(20);
  uint64_t ran = 0;
  for (uint64_t seed = 0; seed < runs; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::string text = MutatePipelineText(kSmallModule, random);
    EXPECT_THAT(text, HasSubstr("\nHloModule small"));
    ran += PipelineRunsOnText(text);
  }
  EXPECT_GT(ran, runs / 2);
}

TEST(PipelineFuzzTest, Passes) {
  constexpr absl::string_view kPieces[] = {"hlo-dce",
                                           "hlo-cse",
                                           "{",
                                           "}",
                                           ",",
                                           "=",
                                           "fix(",
                                           ")",
                                           "limit",
                                           "3",
                                           "-1",
                                           "true",
                                           "hlo-rematerialization",
                                           "memory-limit",
                                           "80%",
                                           "nan",
                                           "1e999",
                                           "layout-sensitive",
                                           "priority-fusion",
                                           "device",
                                           "h100",
                                           "\xff",
                                           " ",
                                           "99999999999999999999"};
  int made = 0;
  for (uint64_t seed = 0; seed < 40 * Runs(60); ++seed) {
    std::mt19937_64 random(seed);
    std::string text;
    for (int i = random() % 9; i >= 0; --i) {
      text.append(kPieces[random() % std::size(kPieces)]);
    }
    made += PassesAreMade(text);
  }
  EXPECT_GT(made, 5);
}

}  // namespace
}  // namespace xla
