// What the pass takes and says: options, threads, sizes, callback, warnings,
// errors.
#include "xla/hlo/transforms/memory/hlo_rematerialization.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "xla/hlo/transforms/memory/remat_test_util.h"
#include "xla/hlo/transforms/memory/rematerialization_pass.h"

namespace xla::remat_test {
namespace {

using Mode = HloRematerialization::RematerializationModeConfig;
using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(HloRematerializationTest, SizesCallbackAndPeaks) {
  auto module = Scheduled(LateReader());
  const HloInstruction* root = module->entry_computation()->root_instruction();
  Trial run(14 * 1024);
  auto changed = run.On(module.get());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(*changed);
  EXPECT_EQ(module->entry_computation()->root_instruction(), root);
  EXPECT_EQ(run.sizes.before_bytes, 4 * 4096 + 4);
  EXPECT_LE(run.sizes.after_bytes, 14 * 1024);
  EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
  EXPECT_EQ(run.pairs, (Pairs{{"bcast", "bcast.remat"}}));
  EXPECT_FALSE(run.warned_too_long);
}

// Case 4.
TEST(HloRematerializationTest, NothingToDo) {
  auto module = Scheduled(LateReader());
  const std::string before = module->ToString();
  Trial enough(20 * 1024);
  EXPECT_FALSE(enough.On(module.get()).value());
  EXPECT_EQ(enough.sizes.before_bytes, enough.sizes.after_bytes);
  EXPECT_EQ(module->entry_computation()->instruction_count(), 8);
  Trial no_mode(0, Mode(false, false, false));
  EXPECT_FALSE(no_mode.On(module.get()).value());
  EXPECT_EQ(no_mode.sizes.before_bytes, -1);
  EXPECT_EQ(module->ToString(), before);
}

TEST(HloRematerializationTest, BadOptions) {
  auto module = Scheduled(LateReader());
  const std::string before = module->ToString();
  EXPECT_EQ(Trial(-1).On(module.get()).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Trial(1, Mode(true, false, true)).On(module.get()).status().code(),
            absl::StatusCode::kInvalidArgument);
  Trial no_blocks(1);
  no_blocks.options->block_size_limit = 0;
  EXPECT_EQ(no_blocks.On(module.get()).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(module->ToString(), before);
  module->clear_schedule();
  EXPECT_EQ(Trial(1).On(module.get()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// A schedule that lacks an instruction.
TEST(HloRematerializationTest, StaleSchedule) {
  auto module = Scheduled(LateReader());
  HloComputation* entry = module->entry_computation();
  entry->AddInstruction(HloInstruction::CreateUnary(
      entry->root_instruction()->shape(), HloOpcode::kNegate,
      entry->parameter_instruction(0)));
  EXPECT_EQ(Trial(1).On(module.get()).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(entry->instruction_count(), 9);
}

// What would come to light when dead code goes, after the changes, is found
// before them: instructions that wait for themselves, wherever they are.
TEST(HloRematerializationTest, Cycles) {
  const std::string text = absl::StrCat(R"(
HloModule m, is_scheduled=true
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  w = f32[] negate(x)
  v = f32[] negate(y)
  ROOT s = f32[] add(w, v)
}
ENTRY main {)",
                                        LateReader(), R"(
  zero = f32[] constant(0)
  dead = f32[] reduce(param, zero), dimensions={0}, to_apply=sum
}
)");
  const auto cycle = [](HloModule* module, const char* a, const char* b) {
    EXPECT_TRUE(
        Named(module, a)->AddControlDependencyTo(Named(module, b)).ok());
    EXPECT_TRUE(
        Named(module, b)->AddControlDependencyTo(Named(module, a)).ok());
  };
  for (const auto algorithm : {HloRematerialization::kAlwaysRemat,
                               HloRematerialization::kPeakPriority}) {
    for (const auto& [a, b] : {std::pair("w", "v"), {"slice", "concat"}}) {
      SCOPED_TRACE(a);
      auto module = Parse(text);
      cycle(module.get(), a, b);
      const std::string before = module->ToString();
      Trial run(14 * 1024);
      run.options->remat_algorithm = algorithm;
      EXPECT_EQ(run.On(module.get()).status().code(),
                absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(module->ToString(), before);
    }
    Trial run(14 * 1024);
    run.options->remat_algorithm = algorithm;
    EXPECT_TRUE(run.On(Parse(text).get()).value());
  }
}

// A fusion has an output that nothing reads. One of its reads waits for a
// reader of the other output; the fusion itself cannot wait in its place.
TEST(HloRematerializationTest, ReadsThatWait) {
  auto module = Parse(R"(
HloModule m, is_scheduled=true
mof {
  x = f32[8]{0} parameter(0)
  n = f32[8]{0} negate(x)
  e = f32[8]{0} exponential(x)
  ROOT t = (f32[8]{0}, f32[8]{0}) tuple(n, e)
}
ENTRY main {
  p = f32[8]{0} parameter(0)
  fus = (f32[8]{0}, f32[8]{0}) fusion(p), kind=kLoop, calls=mof
  g0 = f32[8]{0} get-tuple-element(fus), index=0
  a = f32[8]{0} negate(g0)
  g1 = f32[8]{0} get-tuple-element(fus), index=0, control-predecessors={a}
  ROOT r = f32[8]{0} add(a, g1)
}
)");
  Trial run(1);
  EXPECT_TRUE(run.On(module.get()).value());
  EXPECT_TRUE(module->schedule().Verify().ok());
  EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
}

// Case 1. Computations that run beside the entry keep their share of the limit.
TEST(HloRematerializationTest, AsyncParallelism) {
  const std::string text = absl::StrCat(
      "HloModule m, is_scheduled=true\n"
      "beside {",
      LateReader(".a"),
      "}, execution_thread=\"other\"\n"
      "called {",
      LateReader(".c"), R"(}
ENTRY main {
  p = f32[1]{0} parameter(0)
  start = ((f32[1]{0}), f32[1]{0}, u32[]) call-start(p), async_execution_thread="other", to_apply=beside
  done = f32[1]{0} call-done(start), async_execution_thread="other", to_apply=beside
  ROOT call = f32[1]{0} call(done), to_apply=called
}
)");
  auto module = Parse(text);
  Trial run((16 * 16 + 14) * 1024);
  for (HloComputation* computation : module->computations()) {
    if (computation->IsAsyncComputation() ||
        computation->execution_thread() == "other") {
      run.options->async_computation_parallelism[computation] = 16;
    }
  }
  auto changed = run.On(module.get(), {HloInstruction::kMainExecutionThread});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(*changed);
  EXPECT_NE(Named(module.get(), "bcast.c.remat"), nullptr);
  EXPECT_EQ(Named(module.get(), "bcast.a.remat"), nullptr);
  Trial alone((16 * 16 + 14) * 1024);
  EXPECT_FALSE(alone.On(Parse(text).get()).value());
}

// Case 35.
TEST(HloRematerializationTest, OtherThreadsAreLeftAlone) {
  auto module =
      Parse(absl::StrCat("HloModule m, is_scheduled=true\nENTRY main {",
                         LateReader(), "}, execution_thread=\"host\"\n"));
  const std::string before = module->ToString();
  auto changed = Trial(0).On(module.get(), {"device"});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_FALSE(*changed);
  HloRematerializationOptions options;
  options.memory_limit = "1%";
  changed = RematerializationPass(options).Run(module.get(), {"device"});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_FALSE(*changed);
  EXPECT_EQ(module->ToString(), before);
  EXPECT_TRUE(RematerializationPass(options).Run(module.get()).value());
}

// Case 33.
TEST(HloRematerializationTest, TooLong) {
  auto module = Scheduled(LateReader());
  Trial slow(14 * 1024);
  ASSERT_TRUE(slow.On(module.get(), {}, absl::Minutes(5)).ok());
  EXPECT_TRUE(slow.warned_too_long);
}

// Case 34. Two instructions need nearly the same.
TEST(HloRematerializationTest, SlowProgress) {
  auto module = Scheduled(R"(
  p = f32[] parameter(0)
  q = f32[1]{0} parameter(1)
  a = f32[262144]{0} broadcast(p), dimensions={}
  b = f32[16]{0} broadcast(p), dimensions={}
  c = f32[262144]{0} negate(a)
  d = f32[262144]{0} add(a, c)
  e = f32[16]{0} slice(d), slice={[0:16]}
  f = f32[262144]{0} negate(d)
  g = f32[16]{0} slice(f), slice={[0:16]}
  h = f32[16]{0} add(e, g)
  ROOT r = f32[16]{0} add(h, b)
)");
  Trial little(0);
  little.options->remat_algorithm = HloRematerialization::kPeakPriority;
  ASSERT_TRUE(little.On(module.get()).ok());
  EXPECT_TRUE(little.warned_slow_progress);
}

// Finds $0 of 4 KiB live, and reads it again at the end; $1 makes names.
constexpr char kStretch[] = R"(
  neg_$1 = f32[1024]{0} negate($0)
  wide_$1 = f32[2048]{0} concatenate(neg_$1, neg_$1), dimensions={0}
  cut_$1 = f32[1]{0} slice(wide_$1), slice={[0:1]}
  late_$1 = f32[1025]{0} concatenate($0, cut_$1), dimensions={0}
  end_$1 = f32[1]{0} slice(late_$1), slice={[0:1]}
)";

std::string CallbackText() {
  return absl::StrCat(
      R"(
HloModule m, is_scheduled=true
mof {
  x = f32[] parameter(0)
  b = f32[1024]{0} broadcast(x), dimensions={}
  n = f32[8]{0} broadcast(x), dimensions={}
  ROOT t = (f32[1024]{0}, f32[8]{0}) tuple(b, n)
}
ENTRY main {
  p0 = f32[] parameter(0)
  p1 = f32[] parameter(1)
  res_param = f32[1024]{0} parameter(2)
  constant_x = f32[1024]{0} broadcast(p0), dimensions={}
)",
      absl::Substitute(kStretch, "constant_x", "a"), R"(
  constant_source_8 = f32[8]{0} broadcast(p0), dimensions={}
  constant_source_8_user = f32[8,128]{1,0} broadcast(constant_source_8), dimensions={0}
  user_cast = f32[1024]{0} bitcast(constant_source_8_user)
)",
      absl::Substitute(kStretch, "user_cast", "b"), R"(
  res_param_add = f32[1024]{0} add(res_param, res_param)
)",
      absl::Substitute(kStretch, "res_param_add", "c"),
      absl::Substitute(kStretch, "res_param_add", "d"), R"(
  p0_bcast = f32[1024]{0} broadcast(p0), dimensions={}
)",
      absl::Substitute(kStretch, "p0_bcast", "e"), R"(
  p1_bcast = (f32[1024]{0}, f32[8]{0}) fusion(p1), kind=kLoop, calls=mof
  p1_element = f32[1024]{0} get-tuple-element(p1_bcast), index=0
)",
      absl::Substitute(kStretch, "p1_element", "f"), R"(
  ROOT r = f32[6]{0} concatenate(end_a, end_b, end_c, end_d, end_e, end_f), dimensions={0}
}
)");
}

// Case 31. The callback learns of clones, of clones of clones, and of new
// elements and bitcasts of them.
TEST(HloRematerializationTest, Callback) {
  auto module = Parse(CallbackText());
  Trial run(14 * 1024);
  EXPECT_TRUE(run.On(module.get()).value());
  std::map<std::string, int> count;
  for (const auto& [from, to] : run.pairs) {
    const std::string group = from.substr(0, from.find(".remat"));
    EXPECT_TRUE(absl::StrContains(to, ".remat")) << to;
    ++count[group];
  }
  EXPECT_EQ(count, (std::map<std::string, int>{{"constant_x", 1},
                                               {"constant_source_8_user", 1},
                                               {"user_cast", 1},
                                               {"res_param_add", 2},
                                               {"p0_bcast", 1},
                                               {"p1_bcast", 1},
                                               {"p1_element", 1}}));
  EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
}

// --- Errors ------------------------------------------------------------------

// Whatever was done before the callback failed is undone.
void FailAtEachCall(
    const std::string& text, int64_t limit,
    HloRematerialization::RematAlgorithm algorithm,
    Mode mode = Mode(true, false, false),
    HloRematerialization::CompactShapeFunction compact = nullptr) {
  const auto make = [&] {
    auto run = std::make_unique<Trial>(limit, mode);
    run->options->remat_algorithm = algorithm;
    if (compact != nullptr) run->options->compact_shape_function = compact;
    return run;
  };
  auto whole = make();
  ASSERT_TRUE(whole->On(Parse(text).get()).value());
  ASSERT_GT(whole->pairs.size(), 0);
  for (size_t calls = 0; calls < whole->pairs.size(); ++calls) {
    SCOPED_TRACE(calls);
    auto module = Parse(text);
    const std::string before = module->ToString();
    auto fails = make();
    fails->calls_before_error = static_cast<int64_t>(calls);
    EXPECT_EQ(fails->On(module.get()).status().code(),
              absl::StatusCode::kAborted);
    EXPECT_EQ(module->ToString(), before);
    EXPECT_TRUE(module->schedule().Verify().ok());
    // It is good for another run.
    auto again = make();
    EXPECT_TRUE(again->On(module.get()).value());
    EXPECT_EQ(again->sizes.after_bytes, whole->sizes.after_bytes);
    EXPECT_EQ(again->pairs.size(), whole->pairs.size());
    EXPECT_TRUE(again->peak_agrees.ok()) << again->peak_agrees;
  }
}

// A fusion whose computations are cloned with it, and a chain of control
// dependencies.
constexpr char kCustomCall[] = R"(
HloModule m, is_scheduled=true
called {
  x = f32[1024]{0} parameter(0)
  ROOT n = f32[1024]{0} negate(x)
}
fused {
  x = f32[] parameter(0)
  b = f32[1024]{0} broadcast(x), dimensions={}
  ROOT c = f32[1024]{0} custom-call(b), custom_call_target="f", called_computations={called}
}
ENTRY main {
  param = f32[1]{0} parameter(0)
  first = f32[1]{0} negate(param)
  reshape = f32[] reshape(param)
  fus = f32[1024]{0} fusion(reshape), kind=kCustom, calls=fused, control-predecessors={first}
  again = f32[1024]{0} broadcast(reshape), dimensions={}
  negate = f32[1024]{0} negate(fus)
  concat = f32[2048]{0} concatenate(negate, negate), dimensions={0}
  slice = f32[1]{0} slice(concat), slice={[0:1]}
  both = f32[1024]{0} add(again, fus), control-predecessors={fus}
  ROOT slice2 = f32[1]{0} slice(both), slice={[0:1]}
}
)";

TEST(HloRematerializationTest, CallbackFails) {
  for (const auto algorithm : {HloRematerialization::kAlwaysRemat,
                               HloRematerialization::kPeakPriority}) {
    FailAtEachCall(CallbackText(), 1024, algorithm);
    FailAtEachCall(LoopText(/*nested=*/true), 1024, algorithm);
    FailAtEachCall(kCustomCall, 1024, algorithm);
  }
}

// Elements of two dimensions take a byte each.
absl::StatusOr<Shape> Packed(const Shape& shape) {
  if (!shape.IsArray() || shape.dimensions_size() < 2) return shape;
  Shape result = shape;
  result.mutable_layout()->set_element_size_in_bits(8);
  return result;
}

TEST(HloRematerializationTest, CompressionFails) {
  FailAtEachCall(ModuleText(kCompressible), 1024,
                 HloRematerialization::kAlwaysRemat, Mode(false, true, false),
                 Packed);
  // What is not known while candidates are compared is no error then, but when
  // it is needed.
  int errors = 0;
  for (int good_calls = 0; good_calls < 6; ++good_calls) {
    SCOPED_TRACE(good_calls);
    auto module = Scheduled(kCompressible);
    const std::string before = module->ToString();
    Trial run(1024, Mode(false, true, false));
    int calls = 0;
    run.options->compact_shape_function =
        [&](const Shape& shape) -> absl::StatusOr<Shape> {
      if (shape.dimensions_size() == 2 && ++calls > good_calls) {
        return absl::AbortedError("enough");
      }
      return Packed(shape);
    };
    const auto changed = run.On(module.get());
    if (changed.ok()) continue;
    ++errors;
    EXPECT_EQ(changed.status().code(), absl::StatusCode::kAborted);
    EXPECT_EQ(module->ToString(), before);
  }
  EXPECT_GT(errors, 0);
}

}  // namespace
}  // namespace xla::remat_test
