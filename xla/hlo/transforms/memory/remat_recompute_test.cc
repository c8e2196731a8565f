// What is made again, and what that leaves of computations, loops and calls.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/memory/hlo_rematerialization.h"
#include "xla/hlo/transforms/memory/remat_test_util.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"

namespace xla::remat_test {
namespace {

// Cases 5, 6, 7. Outer computations first, inner ones with what is left.
TEST(RematRecomputeTest, LoopsInLoops) {
  struct {
    bool nested;
    int64_t kib;
    std::vector<int64_t> counts;
  } cases[] = {{false, 17, {8, 8}}, {false, 15, {9, 9}}, {true, 13, {9, 9, 9}}};
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.kib);
    auto module = Parse(LoopText(expected.nested));
    const HloComputation* at = module->entry_computation();
    EXPECT_EQ(at->instruction_count(), 7);
    Trial run(expected.kib * 1024);
    EXPECT_TRUE(run.On(module.get()).value());
    for (int64_t count : expected.counts) {
      EXPECT_EQ(at->instruction_count(), count) << at->ToString();
      for (const HloInstruction* inst : at->instructions()) {
        if (inst->opcode() == HloOpcode::kWhile) at = inst->while_body();
      }
    }
    EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
  }
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

// Case 9. Each call finds little else live.
TEST(RematRecomputeTest, AgainAndAgain) {
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
  const HloComputation& entry = *module->entry_computation();
  EXPECT_EQ(entry.instruction_count(), 9);
  EXPECT_EQ(Count(entry, HloOpcode::kBroadcast), 1);
  Trial run(22 * 1024);
  EXPECT_TRUE(run.On(module.get()).value());
  EXPECT_EQ(entry.instruction_count(), 12);
  EXPECT_EQ(Count(entry, HloOpcode::kBroadcast), 4);
  for (const char* name : {"add_2", "add_3", "add_4"}) {
    const HloInstruction* operand = Named(module.get(), name)->operand(0);
    EXPECT_NE(operand->name(), "bcast");
    EXPECT_TRUE(absl::StrContains(operand->name(), ".remat"));
  }
  EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
}

// Case 26. An element that is read out of a tuple is read directly, and what
// only the tuple held together is dead; so is nothing if another element is
// read.
TEST(RematRecomputeTest, ReadersThroughTuples) {
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
    const HloComputation& entry = *module->entry_computation();
    EXPECT_EQ(entry.instruction_count(), index == 0 ? 3 : 9);
    EXPECT_EQ(Count(entry, HloOpcode::kBroadcast), index == 0 ? 1 : 2);
    EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
  }
}

// An element of the tuple is read through it and may be made again; whoever
// gets the tuple as a whole keeps it.
TEST(RematRecomputeTest, IndirectReaders) {
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

// Case 10. A copy that changes no layout was put there on purpose.
TEST(RematRecomputeTest, CopiesStay) {
  auto module = Scheduled(R"(
  param = f32[1024]{0} parameter(0)
  copy = f32[1024]{0} copy(param)
  a = f32[1024]{0} negate(copy)
  b = f32[1]{0} slice(a), slice={[0:1]}
  d = f32[1024]{0} negate(param)
  e = f32[1]{0} slice(copy), slice={[0:1]}
  f = f32[1]{0} slice(d), slice={[0:1]}
  ROOT c = f32[3]{0} concatenate(b, e, f), dimensions={0}
)");
  EXPECT_TRUE(Trial(1).On(module.get()).value());
  EXPECT_EQ(Count(*module->entry_computation(), HloOpcode::kCopy), 1);
}

// Case 12. Limits that nothing can meet end all the same.
TEST(RematRecomputeTest, UnreachableLimitsEnd) {
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
    for (const HloInstruction* operand : root->operands()) {
      EXPECT_EQ(operand->opcode(), HloOpcode::kBitcast);
      EXPECT_EQ(operand->operand(0)->opcode(), HloOpcode::kBroadcast);
    }
    EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
  }
}

// Case 27. What is dead afterwards has gone, down to fusions' outputs.
TEST(RematRecomputeTest, LeavesNothingDead) {
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
  EXPECT_FALSE(HloDCE().Run(module.get()).value());
  EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
}

// Case 29. Calls in calls that nothing can make fit.
TEST(RematRecomputeTest, CallsInCalls) {
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

// f32[1] values: $0 with $1 elements of 256 floats waits while $2 runs.
std::string Holding(absl::string_view name, int elements, absl::string_view in,
                    absl::string_view runs, absl::string_view root = "") {
  return absl::Substitute(
      R"(
  hold.$0 = f32[$1]{0} custom-call($2), custom_call_target="make"
  call.$0 = f32[1]{0} call($2), to_apply=$3
  part.$0 = f32[1]{0} slice(hold.$0), slice={[0:1]}
  $4end.$0 = f32[1]{0} add(part.$0, call.$0)
)",
      name, 256 * elements, in, runs, root);
}

// A value of $1 elements of 256 floats waits while $2 are needed, and can be
// made again; then .. goes on with cut.$0.
std::string Waiting(absl::string_view name, int elements, int needed) {
  return absl::Substitute(R"(
  param.$0 = f32[1]{0} parameter(0)
  scalar.$0 = f32[] reshape(param.$0)
  bcast.$0 = f32[$1]{0} broadcast(scalar.$0), dimensions={}
  early.$0 = f32[1]{0} slice(bcast.$0), slice={[0:1]}
  wide.$0 = f32[$2]{0} custom-call(early.$0), custom_call_target="make"
  cut.$0 = f32[1]{0} slice(wide.$0), slice={[0:1]}
  late.$0 = f32[1]{0} slice(bcast.$0), slice={[1:2]}
  both.$0 = f32[1]{0} add(cut.$0, late.$0)
)",
                          name, 256 * elements, 256 * needed);
}

// In KiB: b needs 16 (12 at least), a needs 22 (18) and calls b with 4, c needs
// 40 (20) and calls a with 6. At 30, c has the highest peak and gets 27, a 21
// and its 18. Then b gets 14. Then a is visited again, for 19, and finds b
// smaller than it was.
TEST(RematRecomputeTest, CalleesOfSeveralCallers) {
  const std::string text = absl::StrCat(
      "HloModule m, is_scheduled=true\nb {", LateReader(".b"), "}\na {",
      Waiting("a", 4, 18), Holding("ab", 4, "both.a", "b", "ROOT "), "}\nc {",
      Waiting("c", 20, 20), Holding("ca", 6, "both.c", "a", "ROOT "),
      "}\nENTRY main {\n  p = f32[1]{0} parameter(0)",
      Holding("1", 3, "p", "c"), Holding("2", 16, "end.1", "b"),
      Holding("3", 11, "end.2", "a", "ROOT "), "}\n");
  for (const auto algorithm : {HloRematerialization::kPeakPriority,
                               HloRematerialization::kAlwaysRemat}) {
    auto module = Parse(text);
    Trial trial(30 * 1024 + 64);
    trial.options->remat_algorithm = algorithm;
    HloRematerialization pass(*trial.options, trial.sizes);
    auto changed = pass.Run(module.get());
    ASSERT_TRUE(changed.ok()) << changed.status();
    EXPECT_TRUE(*changed);
    EXPECT_LE(trial.sizes.after_bytes, 30 * 1024 + 64);
    EXPECT_NE(Named(module.get(), "bcast.b.remat"), nullptr);
    EXPECT_EQ(Named(module.get(), "bcast.b.remat2"), nullptr);
    // The bytes of all computations are those after the changes of all.
    const auto peak = ComputeRematPeak(*module, module->schedule());
    ASSERT_TRUE(peak.ok()) << peak.status();
    for (const auto& [computation, of] : peak->computations) {
      EXPECT_EQ(pass.ComputationPeakMemory(computation), of.bytes)
          << computation->name();
    }
  }
}

// A computation that fits calls one that has to give way elsewhere.
TEST(RematRecomputeTest, CallersThatAreNotWalkedThrough) {
  const std::string text =
      absl::StrCat("HloModule m, is_scheduled=true\nb {", LateReader(".b"),
                   "}\nsmall {\n  q = f32[1]{0} parameter(0)",
                   Holding("s", 1, "q", "b", "ROOT "),
                   "}\nENTRY main {\n  p = f32[1]{0} parameter(0)",
                   Holding("1", 3, "p", "small"),
                   Holding("2", 16, "end.1", "b", "ROOT "), "}\n");
  for (const auto algorithm : {HloRematerialization::kPeakPriority,
                               HloRematerialization::kAlwaysRemat}) {
    auto module = Parse(text);
    Trial trial(30 * 1024);
    trial.options->remat_algorithm = algorithm;
    HloRematerialization pass(*trial.options, trial.sizes);
    EXPECT_TRUE(pass.Run(module.get()).value());
    const HloComputation* small = module->entry_computation()
                                      ->GetInstructionWithName("call.1")
                                      ->to_apply();
    const auto peak = ComputeRematPeak(*module, module->schedule());
    ASSERT_TRUE(peak.ok()) << peak.status();
    EXPECT_EQ(pass.ComputationPeakMemory(small),
              peak->computations.at(small).bytes);
  }
}

// A value waits in a compact form, which only the options know.
TEST(RematRecomputeTest, CompactShapeFunction) {
  auto module = Scheduled(kCompressible);
  Trial run(1, {/*recompute=*/false, /*compress=*/true,
                /*host_offload=*/false});
  run.options->compact_shape_function =
      [](const Shape& shape) -> absl::StatusOr<Shape> {
    if (shape.dimensions_size() < 2) return shape;
    Shape result = shape;
    result.mutable_layout()->set_element_size_in_bits(8);
    return result;
  };
  EXPECT_TRUE(run.On(module.get()).value());
  EXPECT_EQ(run.sizes.before_bytes - run.sizes.after_bytes, 3 * 64 * 64);
  const HloInstruction* back = Named(module.get(), "part")->operand(0);
  EXPECT_EQ(back->opcode(), HloOpcode::kCopy);
  EXPECT_EQ(back->operand(0)->opcode(), HloOpcode::kCopy);
  EXPECT_EQ(back->operand(0)->operand(0)->name(), "big");
  EXPECT_TRUE(run.peak_agrees.ok()) << run.peak_agrees;
}

}  // namespace
}  // namespace xla::remat_test
