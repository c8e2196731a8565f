#include "xla/hlo/memory/accounting/remat_accounting.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/schedulers/remat_checker.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/corpus.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/utils/module_io.h"

namespace xla {
namespace {

std::unique_ptr<HloModule> Parse(const char* text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

RematPeak Peak(const HloModule& module) {
  auto peak = ComputeRematPeak(module, module.schedule());
  EXPECT_TRUE(peak.ok()) << peak.status();
  return *peak;
}

// Parameters and results count nothing while they wait; the result once.
TEST(RematAccountingTest, Chain) {
  auto module = Parse(R"(
HloModule chain, is_scheduled=true
ENTRY main {
  p = f32[256]{0} parameter(0)
  a = f32[256]{0} negate(p)
  b = f32[512]{0} concatenate(a, a), dimensions={0}
  c = f32[256]{0} slice(b), slice={[0:256]}
  ROOT d = f32[256]{0} add(c, a)
}
)");
  const RematPeak peak = Peak(*module);
  EXPECT_EQ(peak.output_bytes, 1024);
  EXPECT_EQ(peak.bytes, 1024 + 4096);
  ASSERT_EQ(peak.at.size(), 1);
  EXPECT_EQ(peak.at[0]->name(), "c");
  EXPECT_TRUE(CheckRematPeak(*module, peak.bytes).ok());
  EXPECT_FALSE(CheckRematPeak(*module, peak.bytes + 1).ok());
}

// Each update of an asynchronous call has a context of its own; what it passes
// on, and operands that it binds, stay where they are.
TEST(RematAccountingTest, AsynchronousUpdates) {
  auto module = Parse(R"(
HloModule updates, is_scheduled=true
wrapped {
  a = f32[256]{0} parameter(0)
  b = f32[256]{0} parameter(1)
  ROOT c = f32[256]{0} add(a, b)
}
ENTRY main {
  p = f32[256]{0} parameter(0)
  x = f32[256]{0} negate(p)
  y = f32[256]{0} exponential(p)
  s = ((f32[256]{0}), (), u32[9]{0}) async-start(x), calls=wrapped
  u = ((f32[256]{0}, f32[256]{0}), f32[256]{0}, u32[9]{0}) async-update(s, y)
  v = ((f32[256]{0}, f32[256]{0}), f32[256]{0}, u32[9]{0}) async-update(u)
  d = f32[256]{0} async-done(v)
  ROOT r = f32[256]{0} negate(d)
}
)");
  const RematPeak peak = Peak(*module);
  EXPECT_TRUE(CheckRematPeak(*module, peak.bytes).ok())
      << CheckRematPeak(*module, peak.bytes);
}

// The state of a loop stays where it is; what the body needs comes on top.
TEST(RematAccountingTest, Loop) {
  auto module = Parse(R"(
HloModule loop, is_scheduled=true
cond {
  s = (s32[], f32[256]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT lt = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[256]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[256]{0} get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  a = f32[256]{0} negate(x)
  b = f32[256]{0} exponential(x)
  y = f32[256]{0} add(a, b)
  ROOT t = (s32[], f32[256]{0}) tuple(j, y)
}
ENTRY main {
  p = f32[256]{0} parameter(0)
  zero = s32[] constant(0)
  n = f32[256]{0} negate(p)
  t = (s32[], f32[256]{0}) tuple(zero, n)
  w = (s32[], f32[256]{0}) while(t), condition=cond, body=body
  g = f32[256]{0} get-tuple-element(w), index=1
  ROOT r = f32[] constant(0)
}
)");
  const RematPeak peak = Peak(*module);
  // zero, n and their table; in the body a and b; in the condition n and lt.
  EXPECT_EQ(peak.bytes, 4 + (4 + 1024 + 16) + 2048 + 4);
  ASSERT_EQ(peak.at.size(), 2);
  EXPECT_EQ(peak.at[0]->name(), "w");
  EXPECT_EQ(peak.at[1]->name(), "b");
  EXPECT_TRUE(CheckRematPeak(*module, peak.bytes).ok());
}

// Both programs say the same of any module.
TEST(RematAccountingTest, AgreesWithTheChecker) {
  RandomModuleOptions options;
  options.steps = 30;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::unique_ptr<HloModule> module = RandomModule(seed, options);
    HloSchedule schedule(module.get());
    ASSERT_TRUE(schedule.Update().ok());
    ASSERT_TRUE(module->set_schedule(std::move(schedule)).ok());
    EXPECT_TRUE(CheckRematPeak(*module, Peak(*module).bytes).ok())
        << seed << ": " << CheckRematPeak(*module, Peak(*module).bytes) << "\n"
        << module->ToString();
  }
}

TEST(RematAccountingTest, AgreesWithTheCheckerOnTheCorpus) {
  const std::string corpus = CorpusFolder();
  if (corpus.empty()) GTEST_SKIP() << "HLO_CORPUS names no folder";
  for (const std::string& path : HloFilesBelow(corpus)) {
    if (path.find("/upstream/") == std::string::npos ||
        path.find("_train") != std::string::npos) {
      continue;
    }
    auto module = ReadModuleFromFile(path);
    ASSERT_TRUE(module.ok()) << path;
    if (!(*module)->has_schedule()) continue;
    const RematPeak peak = Peak(**module);
    EXPECT_TRUE(CheckRematPeak(**module, peak.bytes).ok()) << path;
  }
}

}  // namespace
}  // namespace xla
