#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/memory/remat/planner/computation_problem.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/shape_util.h"

namespace xla::remat_plan {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// The order behind the parameters after the entry computation, of the lines in
// `body`, has been made to run `program`, names of instructions, and its clones
// wait. `fused`: null or those that are fused into their readers.
std::vector<std::string> Written(
    const std::string& body, const std::string& program,
    const absl::flat_hash_set<std::string>* fused) {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
      R"(HloModule m, is_scheduled=true
         sum {
           x = f32[] parameter(0)
           y = f32[] parameter(1)
           ROOT total = f32[] add(x, y)
         }
         ENTRY e {
           p = f32[8]{0} parameter(0)
        )",
      body, "\n}"));
  EXPECT_TRUE(module.ok()) << module.status();
  HloComputation* entry = (*module)->entry_computation();
  HloSchedule& schedule = (*module)->schedule();
  const ComputationProblem problem = MakeComputationProblem(
      schedule.sequence(entry),
      [](const Shape& shape) { return ShapeUtil::ByteSizeOf(shape, 8); },
      [](const HloInstruction&) { return 1.0; },
      [](const HloInstruction&) { return 0; });
  std::vector<NodeId> steps;
  for (absl::string_view name : absl::StrSplit(program, ' ')) {
    const auto it = absl::c_find_if(
        problem.instructions,
        [&](const HloInstruction* inst) { return inst->name() == name; });
    EXPECT_NE(it, problem.instructions.end()) << name;
    steps.push_back(static_cast<NodeId>(it - problem.instructions.begin()));
  }
  ApplyOptions options;
  options.tie_clones = true;
  options.fused = fused;
  const absl::Status applied =
      ApplyProgram(problem.instructions, steps, options, entry, &schedule);
  EXPECT_TRUE(applied.ok()) << applied;
  const absl::Status verified = VerifyHloModule(module->get(), {});
  EXPECT_TRUE(verified.ok()) << verified;
  std::vector<std::string> lines;
  for (const HloInstruction* inst : schedule.sequence(entry).instructions()) {
    if (inst->opcode() == HloOpcode::kParameter) continue;
    lines.push_back(absl::StrCat(
        inst->name(), " ",
        absl::StrJoin(inst->operands(), " ",
                      [](std::string* out, const HloInstruction* operand) {
                        absl::StrAppend(out, operand->name());
                      })));
  }
  return lines;
}

const absl::flat_hash_set<std::string> kNoneFused;

constexpr char kLateReaders[] = R"(
  a = f32[8]{0} exponential(p)
  b = f32[8]{0} reverse(a), dimensions={0}
  e = f32[8]{0} tanh(b)
  g = f32[8]{0} multiply(a, e)
  h = f32[8]{0} add(g, e))";

TEST(ApplyProgramTest, ReadsBehindTheBarrierWhatCloneWaitsFor) {
  EXPECT_THAT(
      Written(kLateReaders, "p a b e a g h", &kNoneFused),
      ElementsAre("a p", "b a", "e b", "tuple p e", "opt-barrier tuple",
                  "get-tuple-element opt-barrier",
                  "get-tuple-element.1 opt-barrier",
                  "a.remat get-tuple-element", "g a.remat get-tuple-element.1",
                  "h g get-tuple-element.1"));
}

// It may be no value in memory, which readers would make it.
TEST(ApplyProgramTest, LeavesReadersOfWhatMayBeFused) {
  EXPECT_THAT(Written(kLateReaders, "p a b e a g h", nullptr),
              ElementsAre("a p", "b a", "e b", "tuple p e", "opt-barrier tuple",
                          "get-tuple-element opt-barrier",
                          "a.remat get-tuple-element", "g a.remat e", "h g e"));
}

// One of several results.
TEST(ApplyProgramTest, ReadsElementsBehindTheBarrier) {
  EXPECT_THAT(
      Written(R"(
  a = f32[8]{0} exponential(p)
  b = f32[8]{0} reverse(a), dimensions={0}
  t = (f32[8]{0}, f32[8]{0}) custom-call(b), custom_call_target="two"
  e = f32[8]{0} get-tuple-element(t), index=0
  g = f32[8]{0} multiply(a, e)
  ROOT h = f32[8]{0} add(g, e))",
              "p a b t a g h", &kNoneFused),
      ElementsAre("a p", "b a", "t b", "e t", "tuple p e", "opt-barrier tuple",
                  "get-tuple-element opt-barrier",
                  "get-tuple-element.1 opt-barrier",
                  "a.remat get-tuple-element", "g a.remat get-tuple-element.1",
                  "h g get-tuple-element.1"));
}

// Those of one operand; another one waits for the same value.
TEST(ApplyProgramTest, ClonesShareABarrier) {
  EXPECT_THAT(Written(R"(
  q = f32[8]{0} parameter(1)
  a = f32[8]{0} exponential(p)
  c = f32[8]{0} negate(q)
  k = f32[8]{0} cosine(p)
  l = f32[8]{0} add(a, c)
  b = f32[8]{0} add(l, k)
  e = f32[8]{0} tanh(b)
  g = f32[8]{0} multiply(a, e)
  i = f32[8]{0} multiply(c, e)
  j = f32[8]{0} multiply(k, e)
  m = f32[8]{0} add(g, i)
  ROOT h = f32[8]{0} add(m, j))",
                      "p q a c k l b e a g c i k j m h", &kNoneFused),
              ElementsAreArray({"a p",
                                "c q",
                                "k p",
                                "l a c",
                                "b l k",
                                "e b",
                                "tuple p e",
                                "opt-barrier tuple",
                                "get-tuple-element opt-barrier",
                                "get-tuple-element.1 opt-barrier",
                                "a.remat get-tuple-element",
                                "g a.remat get-tuple-element.1",
                                "tuple.1 q get-tuple-element.1",
                                "opt-barrier.1 tuple.1",
                                "get-tuple-element.2 opt-barrier.1",
                                "get-tuple-element.3 opt-barrier.1",
                                "c.remat get-tuple-element.2",
                                "i c.remat get-tuple-element.3",
                                "k.remat get-tuple-element",
                                "j k.remat get-tuple-element.3",
                                "m g i",
                                "h m j"}));
}

// And has them wait again: what reads the same is the same.
TEST(ApplyProgramTest, RepeatsReadersBehindTheBarrier) {
  EXPECT_THAT(
      Written(absl::StrCat(kLateReaders, "\n ROOT i = f32[8]{0} add(h, g)"),
              "p a b e a g h g i", &kNoneFused),
      ElementsAreArray(
          {"a p", "b a", "e b", "tuple p e", "opt-barrier tuple",
           "get-tuple-element opt-barrier", "get-tuple-element.1 opt-barrier",
           "a.remat get-tuple-element", "g a.remat get-tuple-element.1",
           "h g get-tuple-element.1", "tuple.1 get-tuple-element.1 h",
           "opt-barrier.1 tuple.1", "get-tuple-element.2 opt-barrier.1",
           "get-tuple-element.3 opt-barrier.1",
           "g.remat a.remat get-tuple-element.2",
           "i get-tuple-element.3 g.remat"}));
}

// What is read behind one barrier may wait at the next.
TEST(ApplyProgramTest, WaitsAgain) {
  EXPECT_THAT(
      Written(R"(
  a = f32[8]{0} exponential(p)
  b = f32[8]{0} reverse(a), dimensions={0}
  e = f32[8]{0} tanh(b)
  k = f32[8]{0} negate(e)
  f = f32[8]{0} reverse(k), dimensions={0}
  g = f32[8]{0} multiply(a, e)
  i = f32[8]{0} tanh(f)
  j = f32[8]{0} multiply(k, i)
  ROOT h = f32[8]{0} add(g, j))",
              "p a b e k f a g i k j h", &kNoneFused),
      ElementsAreArray(
          {"a p", "b a", "e b", "k e", "f k", "tuple p e", "opt-barrier tuple",
           "get-tuple-element opt-barrier", "get-tuple-element.1 opt-barrier",
           "a.remat get-tuple-element", "g a.remat get-tuple-element.1", "i f",
           "tuple.1 get-tuple-element.1 i", "opt-barrier.1 tuple.1",
           "get-tuple-element.2 opt-barrier.1",
           "get-tuple-element.3 opt-barrier.1", "k.remat get-tuple-element.2",
           "j k.remat get-tuple-element.3", "h g j"}));
}

// Nothing else keeps it from being made first of all.
TEST(ApplyProgramTest, WhatScattersAddToWaits) {
  const std::string body = R"(
  z = f32[] constant(0)
  s = f32[1024]{0} broadcast(z), dimensions={}
  u = f32[8]{0} exponential(p)
  i = s32[8]{0} iota(), iota_dimension=0
  ROOT r = f32[1024]{0} scatter(s, i, u), to_apply=sum,
    update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1)";
  EXPECT_THAT(Written(body, "p z u i s r", &kNoneFused),
              ElementsAre("z ", "u p", "i ", "tuple z u", "opt-barrier tuple",
                          "get-tuple-element opt-barrier",
                          "get-tuple-element.1 opt-barrier",
                          "s get-tuple-element", "r s i get-tuple-element.1"));
  EXPECT_THAT(Written(body, "p z u i s r", nullptr),
              ElementsAre("z ", "u p", "i ", "s z", "r s i u"));
}

// Its clones read what it reads itself, which is placed once.
TEST(ApplyProgramTest, WhatScattersAddToWaitsAndRunsAgain) {
  EXPECT_THAT(
      Written(R"(
  z = f32[] constant(0)
  s = f32[1024]{0} broadcast(z), dimensions={}
  u = f32[8]{0} exponential(p)
  i = s32[8]{0} iota(), iota_dimension=0
  r = f32[1024]{0} scatter(s, i, u), to_apply=sum,
    update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1
  v = f32[8]{0} cosine(u)
  q = f32[1024]{0} scatter(s, i, v), to_apply=sum,
    update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1
  ROOT t = (f32[1024]{0}, f32[1024]{0}) tuple(r, q))",
              "p z u i s r v s q", &kNoneFused),
      ElementsAre("z ", "u p", "i ", "tuple z u", "opt-barrier tuple",
                  "get-tuple-element opt-barrier",
                  "get-tuple-element.1 opt-barrier", "s get-tuple-element",
                  "r s i get-tuple-element.1", "v get-tuple-element.1",
                  "s.remat get-tuple-element", "q s.remat i v", "t r q"));
}

// Neither what is made of other values nor what is added.
TEST(ApplyProgramTest, OtherOperandsOfScattersDoNotWait) {
  EXPECT_THAT(Written(R"(
  z = f32[] constant(0)
  a = f32[1024]{0} broadcast(z), dimensions={}
  i = s32[1024,1]{1,0} iota(), iota_dimension=0
  u = f32[8]{0} exponential(p)
  m = f32[] reduce(u, z), dimensions={0}, to_apply=sum
  s = f32[1024]{0} broadcast(m), dimensions={}
  r = f32[1024]{0} scatter(s, i, a), to_apply=sum,
    update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1
  n = f32[8]{0} negate(u)
  ROOT t = (f32[1024]{0}, f32[8]{0}) tuple(r, n))",
                      "p z i u m a s r n", &kNoneFused),
              ElementsAre("z ", "i ", "u p", "m u z", "a z", "s m", "r s i a",
                          "n u", "t r n"));
}

// Only its done may read what was started.
TEST(ApplyProgramTest, WaitsForNothingThatIsStillOnItsWay) {
  EXPECT_THAT(Written(R"(
  a = f32[8]{0} exponential(p)
  b = f32[8]{0} reverse(a), dimensions={0}
  s = f32[8]{0} all-reduce-start(b), to_apply=sum
  g = f32[8]{0} multiply(a, b)
  d = f32[8]{0} all-reduce-done(s)
  ROOT h = f32[8]{0} add(g, d))",
                      "p a b s a g d h", &kNoneFused),
              ElementsAre("a p", "b a", "s b", "tuple p b", "opt-barrier tuple",
                          "get-tuple-element opt-barrier",
                          "get-tuple-element.1 opt-barrier",
                          "a.remat get-tuple-element",
                          "g a.remat get-tuple-element.1", "d s", "h g d"));
}

// The reader reads nothing else, so that the latest value read later has to do.
TEST(ApplyProgramTest, WaitsForNeitherOriginalsNorDeadValues) {
  const std::string body = R"(
  c = f32[8]{0} tanh(p)
  a = f32[8]{0} exponential(c)
  k = f32[8]{0} cosine(a)
  b = f32[8]{0} add(a, k)
  h = f32[8]{0} negate(a)
  g = f32[8]{0} multiply(h, k)
  d = f32[8]{0} add(g, c))";
  // Nothing is alive but what the clone reads.
  EXPECT_THAT(Written(body, "p c a k b a h k g d", &kNoneFused),
              ElementsAre("c p", "a c", "k a", "b a k", "opt-barrier c",
                          "a.remat opt-barrier", "h a.remat", "k.remat a.remat",
                          "g h k.remat", "d g c"));
  EXPECT_THAT(
      Written(body, "p c a k b c a h g d", &kNoneFused),
      ElementsAre("c p", "a c", "k a", "b a k", "tuple p k",
                  "opt-barrier tuple", "get-tuple-element opt-barrier",
                  "get-tuple-element.1 opt-barrier",
                  "c.remat get-tuple-element", "a.remat c.remat", "h a.remat",
                  "g h get-tuple-element.1", "d g c.remat"));
}

TEST(ApplyProgramTest, WaitsForNoClone) {
  EXPECT_THAT(
      Written(R"(
  k = f32[8]{0} cosine(p)
  a = f32[8]{0} exponential(p)
  b = f32[8]{0} add(a, k)
  g = f32[8]{0} multiply(a, k))",
              "p k a b k a g", &kNoneFused),
      ElementsAre("k p", "a p", "b a k", "opt-barrier p", "k.remat opt-barrier",
                  "a.remat opt-barrier", "g a.remat k.remat"));
}

// However early it was there, as long as it is read later.
TEST(ApplyProgramTest, WaitsForWhatWasThereBeforeTheOriginalDied) {
  EXPECT_THAT(Written(R"(
  k = f32[8]{0} cosine(p)
  a = f32[8]{0} exponential(p)
  b = f32[8]{0} negate(a)
  h = f32[8]{0} reverse(a), dimensions={0}
  g = f32[8]{0} multiply(h, k))",
                      "p k a b a h g", &kNoneFused),
              ElementsAre("k p", "a p", "b a", "tuple p k", "opt-barrier tuple",
                          "get-tuple-element opt-barrier",
                          "get-tuple-element.1 opt-barrier",
                          "a.remat get-tuple-element", "h a.remat",
                          "g h get-tuple-element.1"));
}

// Others would merge what reads the same.
TEST(ApplyProgramTest, RunsHaveBarriersOfTheirOwn) {
  EXPECT_THAT(Written(R"(
  a = f32[8]{0} exponential(p)
  b = f32[8]{0} negate(a)
  g = f32[8]{0} reverse(a), dimensions={0}
  h = f32[8]{0} cosine(a))",
                      "p a b a g a h", &kNoneFused),
              ElementsAre("a p", "b a", "opt-barrier p", "a.remat opt-barrier",
                          "g a.remat", "opt-barrier.1 opt-barrier",
                          "a.remat.1 opt-barrier.1", "h a.remat.1"));
}

TEST(ApplyProgramTest, EqualOriginalsHaveBarriersOfTheirOwn) {
  EXPECT_THAT(
      Written(R"(
  a = f32[8]{0} exponential(p)
  c = f32[8]{0} exponential(p)
  b = f32[8]{0} add(a, c)
  g = f32[8]{0} reverse(a), dimensions={0}
  h = f32[8]{0} cosine(c))",
              "p a c b a g c h", &kNoneFused),
      ElementsAre("a p", "c p", "b a c", "opt-barrier p", "a.remat opt-barrier",
                  "g a.remat", "opt-barrier.1 opt-barrier",
                  "c.remat opt-barrier.1", "h c.remat"));
}

TEST(ApplyProgramTest, RunsThatReadTheSameCloneWaitApart) {
  EXPECT_THAT(Written(R"(
  a = f32[8]{0} exponential(p)
  c = f32[8]{0} negate(a)
  b = f32[8]{0} tanh(a)
  d = f32[8]{0} reverse(b), dimensions={0}
  e = f32[8]{0} cosine(b))",
                      "p a c a b d b e", &kNoneFused),
              ElementsAre("a p", "c a", "opt-barrier p", "a.remat opt-barrier",
                          "b a.remat", "d b", "opt-barrier.1 a.remat",
                          "b.remat opt-barrier.1", "e b.remat"));
}

// So do those that read it by another name.
TEST(ApplyProgramTest, RenamedClonesWaitOnce) {
  EXPECT_THAT(Written(R"(
  q = f32[2,4]{1,0} parameter(1)
  a = f32[8]{0} exponential(p)
  r = f32[2,4]{1,0} bitcast(a)
  b = f32[2,4]{1,0} add(r, q)
  d = f32[2,4]{1,0} reverse(b), dimensions={0}
  e = f32[2,4]{1,0} cosine(b))",
                      "p q a b d a b e", &kNoneFused),
              ElementsAre("a p", "r a", "b r q", "d b", "opt-barrier p",
                          "a.remat opt-barrier", "r.remat a.remat",
                          "b.remat r.remat q", "e b.remat"));
}

// The second name is given to a clone first.
TEST(ApplyProgramTest, NamesOfNamesFollowTheLatestRun) {
  EXPECT_THAT(Written(R"(
  a = f32[8]{0} exponential(p)
  r = f32[2,4]{1,0} bitcast(a)
  b = f32[2,4]{1,0} negate(r)
  s = f32[4,2]{1,0} bitcast(r)
  c = f32[4,2]{1,0} cosine(s)
  d = f32[4,2]{1,0} reverse(s), dimensions={0})",
                      "p a b a c a d", &kNoneFused),
              ElementsAreArray(
                  {"a p", "r a", "b r", "opt-barrier p", "a.remat opt-barrier",
                   "r.remat a.remat", "s r.remat", "c s",
                   "opt-barrier.1 opt-barrier", "a.remat.1 opt-barrier.1",
                   "r.remat.1 a.remat.1", "s.remat r.remat.1", "d s.remat"}));
}

}  // namespace
}  // namespace xla::remat_plan
