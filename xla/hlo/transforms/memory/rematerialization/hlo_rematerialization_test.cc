#include "xla/hlo/transforms/memory/rematerialization/hlo_rematerialization.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "absl/time/clock.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_checker.h"
#include "xla/hlo/transforms/memory/rematerialization/rematerialization_pass.h"

namespace xla {
namespace {

using Sizes = HloRematerialization::RematerializationSizes;
using Mode = HloRematerialization::RematerializationModeConfig;
using Pairs = std::vector<std::pair<std::string, std::string>>;

// A value that waits for the last but one instruction; $0 names it, $1 makes
// other names.
constexpr char kLateReader[] = R"(
  param$1 = f32[1]{0} parameter(0)
  reshape$1 = f32[] reshape(param$1)
  bcast$1 = f32[1024]{0} broadcast(reshape$1), dimensions={}
  negate$1 = f32[1024]{0} negate(bcast$1)
  concat$1 = f32[2048]{0} concatenate(negate$1, negate$1), dimensions={0}
  slice$1 = f32[1]{0} slice(concat$1), slice={[0:1]}
  concat2$1 = f32[1025]{0} concatenate(bcast$1, slice$1), dimensions={0}
  ROOT slice2$1 = f32[1]{0} slice(concat2$1), slice={[0:1]}
)";

std::string LateReader(absl::string_view suffix = "") {
  return absl::Substitute(kLateReader, "", suffix);
}

std::unique_ptr<HloModule> Parse(const std::string& text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status() << text;
  return *std::move(module);
}

std::unique_ptr<HloModule> Scheduled(const std::string& body) {
  return Parse(absl::StrCat("HloModule m, is_scheduled=true\nENTRY main {",
                            body, "}\n"));
}

struct Trial {
  HloCostAnalysis cost;
  Sizes sizes;
  Pairs pairs;
  bool warned_too_long = false;
  bool warned_slow_progress = false;
  std::unique_ptr<HloRematerialization::Options> options;

  explicit Trial(int64_t limit, Mode mode = Mode(true, false, false),
                 HloCostAnalysis::Options cost_options = {})
      : cost(cost_options) {
    options = std::make_unique<HloRematerialization::Options>(
        cost, mode, limit, /*block_size_limit=*/1,
        /*block_rematerialization_factor=*/1, /*min_remat_size=*/0,
        /*compact_shape_function=*/nullptr);
  }

  absl::StatusOr<bool> On(HloModule* module,
                          absl::flat_hash_set<absl::string_view> threads = {},
                          absl::Duration ago = absl::ZeroDuration()) {
    HloRematerialization pass(
        *options, sizes, [&](HloInstruction* from, HloInstruction* to) {
          pairs.push_back({std::string(from->name()), std::string(to->name())});
          return absl::OkStatus();
        });
    pass.set_start_time(absl::Now() - ago);
    auto changed = pass.Run(module, threads);
    warned_too_long = pass.warned_too_long();
    warned_slow_progress = pass.warned_slow_progress();
    if (changed.ok() && sizes.after_bytes >= 0 &&
        options->host_memory_offload_config == std::nullopt) {
      peak_agrees = CheckRematPeak(*module, sizes.after_bytes);
    }
    return changed;
  }
  absl::Status peak_agrees;
};

HloInstruction* Named(HloModule* module, absl::string_view name) {
  for (HloComputation* computation : module->computations()) {
    if (HloInstruction* inst = computation->GetInstructionWithName(name)) {
      return inst;
    }
  }
  return nullptr;
}

int64_t Count(const HloComputation& computation, HloOpcode opcode) {
  int64_t count = 0;
  for (const HloInstruction* inst : computation.instructions()) {
    count += inst->opcode() == opcode;
  }
  return count;
}

int64_t Count(const HloModule& module, HloOpcode opcode) {
  int64_t count = 0;
  for (const HloComputation* computation : module.computations()) {
    count += Count(*computation, opcode);
  }
  return count;
}

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

TEST(HloRematerializationTest, NothingToDo) {
  auto module = Scheduled(LateReader());
  const std::string before = module->ToString();
  Trial enough(20 * 1024);
  EXPECT_FALSE(enough.On(module.get()).value());
  EXPECT_EQ(enough.sizes.before_bytes, enough.sizes.after_bytes);
  Trial no_mode(0, Mode(false, false, false));
  EXPECT_FALSE(no_mode.On(module.get()).value());
  EXPECT_EQ(no_mode.sizes.before_bytes, -1);
  EXPECT_EQ(module->ToString(), before);
}

// Bad input is refused before anything is changed.
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

// Computations that run beside the entry keep their share of the limit.
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

TEST(HloRematerializationTest, Warnings) {
  auto module = Scheduled(LateReader());
  Trial slow(14 * 1024);
  ASSERT_TRUE(slow.On(module.get(), {}, absl::Minutes(5)).ok());
  EXPECT_TRUE(slow.warned_too_long);

  // Two instructions need nearly the same.
  module = Scheduled(R"(
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

// Makes and drops 8 KiB.
constexpr char kCallee[] = R"(
callee {
  x = f32[1024]{0} parameter(0)
  slice = f32[1]{0} slice(x), slice={[0:1]}
  scalar = f32[] reshape(slice)
  both = f32[2048]{0} broadcast(scalar), dimensions={}
  ROOT half = f32[1024]{0} slice(both), slice={[0:1024]}
}
)";

// Each call finds little else live.
TEST(HloRematerializationTest, AgainAndAgain) {
  auto module = Parse(absl::StrCat("HloModule m, is_scheduled=true\n", kCallee,
                                   R"(
ENTRY main {
  param = f32[] parameter(0)
  bcast = f32[1024]{0} broadcast(param), dimensions={}
  add_1 = f32[1024]{0} add(bcast, bcast)
  call_1 = f32[1024]{0} call(add_1), to_apply=callee
  add_2 = f32[1024]{0} add(bcast, call_1)
  call_2 = f32[1024]{0} call(add_2), to_apply=callee
  add_3 = f32[1024]{0} add(bcast, call_2)
  call_3 = f32[1024]{0} call(add_3), to_apply=callee
  ROOT add_4 = f32[1024]{0} add(bcast, call_3)
}
)"));
  Trial run(22 * 1024);
  EXPECT_TRUE(run.On(module.get()).value());
  EXPECT_EQ(module->entry_computation()->instruction_count(), 12);
  EXPECT_EQ(Count(*module->entry_computation(), HloOpcode::kBroadcast), 4);
  for (const char* name : {"add_2", "add_3", "add_4"}) {
    const HloInstruction* operand = Named(module.get(), name)->operand(0);
    EXPECT_NE(operand->name(), "bcast");
    EXPECT_TRUE(absl::StrContains(operand->name(), ".remat"));
  }
  EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
}

// An element that is read out of a tuple is read directly, and what only the
// tuple held together is dead; so is nothing if another element is read.
TEST(HloRematerializationTest, ReadersThroughTuples) {
  for (const int index : {0, 1}) {
    auto module =
        Parse(absl::StrCat("HloModule m, is_scheduled=true\n", kCallee, R"(
ENTRY main {
  param = f32[] parameter(0)
  bcast = f32[1024]{0} broadcast(param), dimensions={}
  add_1 = f32[1024]{0} add(bcast, bcast)
  call_1 = f32[1024]{0} call(add_1), to_apply=callee
  add_2 = f32[1024]{0} add(bcast, call_1)
  tuple = (f32[1024]{0}, f32[1024]{0}) tuple(bcast, add_2)
  gte = f32[1024]{0} get-tuple-element(tuple), index=)",
                           index, R"(
  ROOT negate = f32[1024]{0} negate(gte)
}
)"));
    Trial run(22 * 1024);
    EXPECT_TRUE(run.On(module.get()).value());
    EXPECT_EQ(module->entry_computation()->instruction_count(),
              index == 0 ? 3 : 9);
    EXPECT_EQ(Count(*module->entry_computation(), HloOpcode::kBroadcast),
              index == 0 ? 1 : 2);
    EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
  }
}

// A loop that finds a broadcast of 4 KiB live; $0 makes names, $1 is its body.
constexpr char kLoop[] = R"(
no$0 {
  p = f32[1]{0} parameter(0)
  ROOT no = pred[] constant(false)
}
loop$0 {
  param$0 = f32[1]{0} parameter(0)
  reshape$0 = f32[] reshape(param$0)
  bcast$0 = f32[1024]{0} broadcast(reshape$0), dimensions={}
  slice$0 = f32[1]{0} slice(bcast$0), slice={[0:1]}
  while$0 = f32[1]{0} while(slice$0), condition=no$0, body=$1
  concat$0 = f32[1025]{0} concatenate(bcast$0, while$0), dimensions={0}
  ROOT slice2$0 = f32[1]{0} slice(concat$0), slice={[0:1]}
}
)";

// Outer computations first, inner ones with what is left.
TEST(HloRematerializationTest, LoopsInLoops) {
  const std::string body = absl::StrCat("body {", LateReader(".b"), "}\n");
  struct {
    bool nested;
    int64_t kib;
    std::vector<int64_t> counts;
  } cases[] = {{false, 17, {8, 8}}, {false, 15, {9, 9}}, {true, 13, {9, 9, 9}}};
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.kib);
    std::string text = absl::StrCat("HloModule m, is_scheduled=true\n", body);
    if (expected.nested) {
      absl::StrAppend(&text, absl::Substitute(kLoop, ".i", "body"));
    }
    std::string entry =
        absl::Substitute(kLoop, ".o", expected.nested ? "loop.i" : "body");
    entry.replace(entry.find("loop.o {"), 8, "ENTRY loop.o {");
    auto module = Parse(text + entry);
    Trial run(expected.kib * 1024);
    EXPECT_TRUE(run.On(module.get()).value());
    const HloComputation* at = module->entry_computation();
    for (int64_t count : expected.counts) {
      EXPECT_EQ(at->instruction_count(), count) << at->ToString();
      for (const HloInstruction* inst : at->instructions()) {
        if (inst->opcode() == HloOpcode::kWhile) at = inst->while_body();
      }
    }
    EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
  }
}

// Calls in calls that nothing can make fit.
TEST(HloRematerializationTest, CallsInCalls) {
  for (const auto algorithm : {HloRematerialization::kAlwaysRemat,
                               HloRematerialization::kPeakPriority}) {
    auto module = Parse(absl::StrCat("HloModule m, is_scheduled=true\ninner {",
                                     LateReader(".i"), R"(}
middle {
  param = f32[] parameter(0)
  bcast.m = f32[1024]{0} broadcast(param), dimensions={}
  slice = f32[1]{0} slice(bcast.m), slice={[0:1]}
  call.m = f32[1]{0} call(slice), to_apply=inner
  concat = f32[1025]{0} concatenate(bcast.m, call.m), dimensions={0}
  ROOT r = f32[1]{0} slice(concat), slice={[0:1]}
}
ENTRY main {
  param = f32[] parameter(0)
  bcast.e = f32[1024]{0} broadcast(param), dimensions={}
  neg = f32[1024]{0} negate(bcast.e)
  slice = f32[1]{0} slice(neg), slice={[0:1]}
  scalar = f32[] reshape(slice)
  call.e = f32[1]{0} call(scalar), to_apply=middle
  concat = f32[1025]{0} concatenate(bcast.e, call.e), dimensions={0}
  ROOT r = f32[1]{0} slice(concat), slice={[0:1]}
}
)"));
    Trial run(0);
    run.options->remat_algorithm = algorithm;
    EXPECT_TRUE(run.On(module.get()).value());
    EXPECT_NE(Named(module.get(), "bcast.e.remat"), nullptr);
    EXPECT_NE(Named(module.get(), "bcast.m.remat"), nullptr);
    EXPECT_NE(Named(module.get(), "bcast.i.remat"), nullptr);
    EXPECT_LT(run.sizes.after_bytes, run.sizes.before_bytes);
    EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
  }
}

// The callback learns of clones, and of the elements and bitcasts of them.
TEST(HloRematerializationTest, CallbackOnAliases) {
  auto module = Parse(R"(
HloModule m, is_scheduled=true
mof {
  x = f32[] parameter(0)
  b = f32[512]{0} broadcast(x), dimensions={}
  n = f32[512]{0} negate(b)
  ROOT t = (f32[512]{0}, f32[512]{0}) tuple(b, n)
}
ENTRY main {
  param = f32[] parameter(0)
  fus = (f32[512]{0}, f32[512]{0}) fusion(param), kind=kLoop, calls=mof
  gte0 = f32[512]{0} get-tuple-element(fus), index=0
  gte1 = f32[512]{0} get-tuple-element(fus), index=1
  cast = f32[1,512]{1,0} bitcast(gte1)
  one = f32[1,1]{1,0} slice(cast), slice={[0:1], [0:1]}
  first = f32[1]{0} bitcast(one)
  wide = f32[3072]{0} concatenate(gte0, gte0, gte0, gte0, gte0, gte0), dimensions={0}
  slice = f32[1]{0} slice(wide), slice={[0:1]}
  whole = f32[1,512]{1,0} negate(cast)
  back = f32[512]{0} bitcast(whole)
  both = f32[512]{0} add(gte0, back)
  sum = f32[514]{0} concatenate(both, slice, first), dimensions={0}
  ROOT r = f32[1]{0} slice(sum), slice={[0:1]}
}
)");
  Trial run(14 * 1024);
  EXPECT_TRUE(run.On(module.get()).value());
  int elements = 0, bitcasts = 0, fusions = 0;
  for (const auto& [from, to] : run.pairs) {
    EXPECT_TRUE(absl::StrContains(to, ".remat")) << to;
    elements += absl::StartsWith(from, "gte");
    bitcasts += from == "cast";
    fusions += from == "fus";
  }
  EXPECT_EQ(fusions, 1);
  EXPECT_EQ(elements, 2);
  EXPECT_EQ(bitcasts, 1);
  EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
}

// An error of the callback is the pass's.
TEST(HloRematerializationTest, CallbackFails) {
  auto module = Scheduled(LateReader());
  HloCostAnalysis cost;
  Sizes sizes;
  HloRematerialization pass(
      HloRematerialization::Options(cost, Mode(true, false, false), 14 * 1024,
                                    1, 1, 0, nullptr),
      sizes, [](HloInstruction*, HloInstruction*) {
        return absl::AbortedError("enough");
      });
  EXPECT_EQ(pass.Run(module.get()).status().code(), absl::StatusCode::kAborted);
}

// A copy that changes no layout was put there on purpose.
TEST(HloRematerializationTest, CopiesStay) {
  auto module = Scheduled(R"(
  param = f32[1024]{0} parameter(0)
  copy = f32[1024]{0} copy(param)
  a = f32[1024]{0} negate(copy)
  b = f32[1]{0} slice(a), slice={[0:1]}
  c = f32[1025]{0} concatenate(copy, b), dimensions={0}
  ROOT r = f32[1]{0} slice(c), slice={[0:1]}
)");
  ASSERT_TRUE(Trial(1).On(module.get()).ok());
  EXPECT_EQ(Count(*module, HloOpcode::kCopy), 1);
}

// Limits that nothing can meet end all the same.
TEST(HloRematerializationTest, UnreachableLimitsEnd) {
  for (const auto algorithm : {HloRematerialization::kAlwaysRemat,
                               HloRematerialization::kPeakPriority}) {
    auto module = Scheduled(R"(
  p0 = f32[] parameter(0)
  p1 = f32[] parameter(1)
  b0 = f32[1024,1]{1,0} broadcast(p0), dimensions={}
  c0 = f32[1024]{0} bitcast(b0)
  b1 = f32[1024,1]{1,0} broadcast(p1), dimensions={}
  c1 = f32[1024]{0} bitcast(b1)
  ROOT add = f32[1024]{0} add(c0, c1)
)");
    Trial run(1);
    run.options->remat_algorithm = algorithm;
    ASSERT_TRUE(run.On(module.get()).ok());
    const HloInstruction* root =
        module->entry_computation()->root_instruction();
    EXPECT_EQ(root->operand(0)->opcode(), HloOpcode::kBitcast);
    EXPECT_EQ(root->operand(0)->operand(0)->opcode(), HloOpcode::kBroadcast);
    EXPECT_EQ(root->operand(1)->operand(0)->opcode(), HloOpcode::kBroadcast);
    EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
  }
}

// What is dead afterwards has gone, down to fusions' outputs.
TEST(HloRematerializationTest, LeavesNothingDead) {
  auto module = Parse(R"(
HloModule m, is_scheduled=true
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
fused {
  p = f32[64,8]{1,0} parameter(0)
  zero = f32[] constant(0)
  n = f32[64,8]{1,0} negate(p)
  r = f32[64]{0} reduce(n, zero), dimensions={1}, to_apply=sum
  ROOT t = (f32[64,8]{1,0}, f32[64]{0}) tuple(n, r)
}
ENTRY main {
  p = f32[64,8]{1,0} parameter(0)
  f = (f32[64,8]{1,0}, f32[64]{0}) fusion(p), kind=kLoop, calls=fused
  g = f32[64]{0} get-tuple-element(f), index=1
  e = f32[64]{0} exponential(g)
  ROOT a = f32[64]{0} add(g, e)
}
)");
  Trial run(1);
  EXPECT_TRUE(run.On(module.get()).value());
  const std::string once = module->ToString();
  for (const HloComputation* computation : module->computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      EXPECT_FALSE(inst->IsDead() && inst->opcode() != HloOpcode::kParameter)
          << inst->ToString();
    }
  }
  EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
}

// Sizes that pad the minor dimension to 64, and the other order of the two
// minor dimensions.
struct Padded : Trial {
  static HloCostAnalysis::Options Cost() {
    HloCostAnalysis::Options options;
    options.shape_size = [](const Shape& shape) {
      if (!shape.IsArray() || shape.dimensions_size() == 0) {
        return HloCostAnalysis::DefaultShapeSize(shape);
      }
      int64_t elements = 1;
      for (int i = 0; i < shape.dimensions_size(); ++i) {
        int64_t size = shape.dimensions(i);
        if (i == shape.layout().minor_to_major(0)) size = (size + 63) / 64 * 64;
        elements *= size;
      }
      return 4 * elements;
    };
    return options;
  }
  explicit Padded(int64_t limit)
      : Trial(limit, Mode(false, true, false), Cost()) {
    options->min_remat_size = 10 * 1024;
    options->compact_shape_function =
        [](const Shape& shape) -> absl::StatusOr<Shape> {
      if (!shape.IsArray() || shape.dimensions_size() < 2) return shape;
      Shape result = shape;
      Layout* layout = result.mutable_layout();
      const int64_t minor = layout->minor_to_major(0);
      const int64_t next = layout->minor_to_major(1);
      if (shape.dimensions(minor) >= shape.dimensions(next)) return shape;
      layout->set_minor_to_major(0, next);
      layout->set_minor_to_major(1, minor);
      return result;
    };
  }
};

constexpr char kCompressible[] = R"(
HloModule m, is_scheduled=true
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY main {
  param = f32[] parameter(0)
  big = f32[64,2]{1,0} broadcast(param), dimensions={}
  small = f32[10,2]{1,0} broadcast(param), dimensions={}
  wide = f32[96,64]{1,0} broadcast(param), dimensions={}
  neg = f32[96,64]{1,0} negate(wide)
  total = f32[] reduce(neg, param), dimensions={0,1}, to_apply=sum
  first = f32[] reduce(big, total), dimensions={0,1}, to_apply=sum
  second = f32[] reduce(small, first), dimensions={0,1}, to_apply=sum
  third = f32[] reduce(big, second), dimensions={0,1}, to_apply=sum
  ROOT r = f32[] add(third, first)
}
)";

TEST(HloRematerializationTest, Compress) {
  auto module = Parse(kCompressible);
  Padded run(56 * 1024);
  EXPECT_TRUE(run.On(module.get()).value());
  // Both readers come late: they share one copy back.
  const HloInstruction* back = Named(module.get(), "first")->operand(0);
  EXPECT_EQ(back->opcode(), HloOpcode::kCopy);
  EXPECT_EQ(back->operand(0)->opcode(), HloOpcode::kCopy);
  EXPECT_EQ(back->operand(0)->operand(0)->name(), "big");
  EXPECT_EQ(Named(module.get(), "third")->operand(0), back);
  EXPECT_EQ(Named(module.get(), "second")->operand(0)->name(), "small");
  EXPECT_EQ(Count(*module, HloOpcode::kCopy), 2);
}

// Both forms at once would be the peak.
TEST(HloRematerializationTest, CompressingTheLargest) {
  auto module = Scheduled(R"(
  param = f32[] parameter(0)
  big = f32[63,60]{1,0} broadcast(param), dimensions={}
  slice = f32[1,1]{1,0} slice(big), slice={[0:1], [0:1]}
  wide = f32[1,1]{1,0} negate(slice)
  last = f32[1,1]{1,0} slice(big), slice={[1:2], [0:1]}
  ROOT r = f32[1,1]{1,0} add(wide, last)
)");
  Padded run(8 * 1024);
  run.options->min_remat_size = 0;
  EXPECT_FALSE(run.On(module.get()).value());
}

// A chain of 0.5 s each, whose first two values are read at its end.
TEST(HloRematerializationTest, HostOffload) {
  for (const bool bitcast : {false, true}) {
    std::string body = R"(
  param = f32[1024]{0} parameter(0)
  res_3 = f32[1024]{0} tanh(param)
)";
    if (bitcast) body += "  cast = f32[1024]{0} bitcast(res_3)\n";
    body += "  res_4 = f32[1024]{0} tanh(res_3)\n";
    for (int i = 5; i < 12; ++i) {
      absl::StrAppend(&body, "  res_", i, " = f32[1024]{0} tanh(res_", i - 1,
                      ")\n");
    }
    absl::StrAppend(&body, R"(  res_12 = f32[1024]{0} add(res_11, res_4)
  res_13 = f32[1024]{0} tanh(res_12)
  res_14 = f32[1024]{0} add(res_13, )",
                    bitcast ? "cast" : "res_3", R"()
  ROOT out = f32[1024]{0} tanh(res_14)
)");
    auto module = Scheduled(body);
    HloCostAnalysis::Options cost;
    cost.set_flops_per_second(2 * 1024);
    cost.set_transcendentals_per_second(2 * 1024);
    Trial run(10 * 1024 + 4096, Mode(false, false, true), cost);
    run.options->host_memory_offload_config.emplace(5, 4096.0f, 4096.0f);
    auto changed = run.On(module.get());
    ASSERT_TRUE(changed.ok()) << changed.status();
    EXPECT_TRUE(*changed);
    ASSERT_TRUE(module->has_schedule());
    EXPECT_TRUE(module->schedule().Verify().ok());
    EXPECT_EQ(Count(*module, HloOpcode::kCopyDone), bitcast ? 2 : 4);
    const auto is_from_host = [&](const HloInstruction* inst) {
      return inst->opcode() == HloOpcode::kCopyDone &&
             inst->operand(0)->operand(0)->shape().layout().memory_space() == 5;
    };
    EXPECT_TRUE(is_from_host(Named(module.get(), "res_12")->operand(1)));
    if (!bitcast) {
      EXPECT_TRUE(is_from_host(Named(module.get(), "res_14")->operand(1)));
    }
  }
}

// An element of the tuple is read through it and may be made again; whoever
// gets the tuple as a whole keeps it.
TEST(HloRematerializationTest, IndirectReaders) {
  auto module = Scheduled(R"(
  param = f32[] parameter(0)
  bcast = f32[1024]{0} broadcast(param), dimensions={}
  neg = f32[1024]{0} negate(bcast)
  big = f32[4096]{0} concatenate(neg, neg, neg, neg), dimensions={0}
  one = f32[1]{0} slice(big), slice={[0:1]}
  tuple = (f32[1024]{0}, f32[1]{0}) tuple(bcast, one)
  reader = f32[1]{0} custom-call(tuple), custom_call_target="reads"
  ROOT r = f32[1]{0} add(reader, one)
)");
  Trial run(1);
  ASSERT_TRUE(run.On(module.get()).ok());
  EXPECT_EQ(Named(module.get(), "bcast.remat"), nullptr);
}

}  // namespace
}  // namespace xla
