#include "xla/hlo/transforms/memory/remat/planner/overwritten_values.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/memory/remat/planner/computation_problem.h"
#include "xla/hlo/transforms/memory/remat/planner/reschedule.h"
#include "xla/shape_util.h"

namespace xla::remat_plan {
namespace {

struct Facts {
  std::string overwritten_by;  // of its values; empty: nothing
  bool recomputable = false;
};

std::map<std::string, Facts> FactsOf(const HloModule& module,
                                     const HloComputation* computation) {
  const auto bytes = [](const Shape& shape) -> int64_t {
    return shape.IsArray() ? ShapeUtil::ByteSizeOf(shape) : 0;
  };
  const ComputationProblem problem = MakeComputationProblem(
      module.schedule().sequence(computation), bytes,
      [](const HloInstruction&) { return 1.0; },
      [](const HloInstruction&) { return int64_t{0}; }, /*placed=*/true);
  std::map<std::string, Facts> facts;
  for (size_t n = 0; n < problem.instructions.size(); ++n) {
    const RematProblem::Node& node = problem.problem.nodes[n];
    Facts& of = facts[std::string(problem.instructions[n]->name())];
    of.recomputable = node.recomputable;
    for (int32_t k = 0; k < node.value_count; ++k) {
      const NodeId writer =
          problem.problem.values[node.first_value + k].overwritten_by;
      if (writer < 0) continue;
      of.overwritten_by += problem.instructions[writer]->name();
    }
  }
  return facts;
}

std::map<std::string, Facts> FactsOf(const HloModule& module) {
  return FactsOf(module, module.entry_computation());
}

TEST(OverwrittenValuesTest, UpdatesAndArguments) {
  const auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }
ENTRY e {
  weight = f32[8,8]{1,0} parameter(0)
  x = f32[8,8]{1,0} parameter(1)
  i = s32[] parameter(2)
  y = (f32[8,8]{1,0}, s8[64]{0}) custom-call(x, weight), custom_call_target="__cublas$lt$matmul"
  y0 = f32[8,8]{1,0} get-tuple-element(y), index=0
  row = f32[1,8]{1,0} slice(y0), slice={[0:1], [0:8]}
  stack = f32[8,8]{1,0} negate(x)
  kept = f32[8,8]{1,0} exponential(x)
  update = f32[8,8]{1,0} dynamic-update-slice(stack, row, i, i)
  copied = f32[8,8]{1,0} dynamic-update-slice(kept, row, i, i)
  sum = f32[8,8]{1,0} add(kept, copied)
  new = f32[8,8]{1,0} subtract(weight, y0)
  all = f32[8,8]{1,0} add(sum, update)
  ROOT r = (f32[8,8]{1,0}, f32[8,8]{1,0}) tuple(new, all)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_FALSE(IsPlacedByBackend(**module));  // its dimensions are not known
  std::map<std::string, Facts> facts = FactsOf(**module);
  EXPECT_TRUE(facts["y"].recomputable);
  EXPECT_EQ(facts["weight"].overwritten_by, "new");
  EXPECT_FALSE(facts["new"].recomputable);
  EXPECT_EQ(facts["x"].overwritten_by, "");
  EXPECT_EQ(facts["stack"].overwritten_by, "update");
  EXPECT_FALSE(facts["update"].recomputable);
  // Read afterwards, so that it lies elsewhere.
  EXPECT_EQ(facts["kept"].overwritten_by, "");
  EXPECT_TRUE(facts["copied"].recomputable);
}

TEST(OverwrittenValuesTest, StateOfLoops) {
  const auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true
body {
  p = (f32[8]{0}, f32[8]{0}) parameter(0)
  old = f32[8]{0} get-tuple-element(p), index=0
  other = f32[8]{0} get-tuple-element(p), index=1
  y = f32[8]{0} negate(old)
  n = f32[8]{0} add(old, y)
  ROOT state = (f32[8]{0}, f32[8]{0}) tuple(n, other)
}
condition {
  p = (f32[8]{0}, f32[8]{0}) parameter(0)
  ROOT c = pred[] constant(false)
}
called {
  q = f32[8]{0} parameter(0)
  ROOT negated = f32[8]{0} negate(q)
}
ENTRY e {
  x = f32[8]{0} parameter(0)
  a = f32[8]{0} negate(x)
  b = f32[8]{0} exponential(x)
  f = f32[8]{0} fusion(b), kind=kLoop, calls=called, backend_config={"fusion_backend_config":{"kind":"__triton"}}
  t = (f32[8]{0}, f32[8]{0}) tuple(a, b)
  w = (f32[8]{0}, f32[8]{0}) while(t), condition=condition, body=body
  g = f32[8]{0} get-tuple-element(w), index=0
  ROOT r = f32[8]{0} add(g, f)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(IsPlacedByBackend(**module));
  std::map<std::string, Facts> facts = FactsOf(**module);
  EXPECT_EQ(facts["a"].overwritten_by, "w");
  EXPECT_EQ(facts["b"].overwritten_by, "");
  EXPECT_TRUE(facts["f"].recomputable);

  // Inside, the state is there until its successor is made.
  facts = FactsOf(**module, (*module)->GetComputationWithName("body"));
  EXPECT_EQ(facts["p"].overwritten_by, "n");
  EXPECT_TRUE(facts["y"].recomputable);
  EXPECT_FALSE(facts["n"].recomputable);
}

// A module may hand on what it overwrites, whatever its config says: that lies
// elsewhere then.
TEST(OverwrittenValuesTest, ResultsAreRead) {
  const auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }
ENTRY e {
  x = f32[8]{0} parameter(0)
  n = f32[8]{0} negate(x)
  ROOT r = (f32[8]{0}, f32[8]{0}) tuple(n, x)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  std::map<std::string, Facts> facts = FactsOf(**module);
  EXPECT_EQ(facts["x"].overwritten_by, "");
  EXPECT_TRUE(facts["n"].recomputable);
}

// The order that needs least would run y after u.
std::string LateReader(const std::string& config) {
  return absl::StrCat(R"(
HloModule m, is_scheduled=true
called {
  q = f32[1]{0} parameter(0)
  ROOT f = f32[1]{0} negate(q)
}
ENTRY e {
  p = f32[1]{0} parameter(0)
  i = s32[] parameter(1)
  s = f32[] reshape(p)
  x = f32[1000]{0} broadcast(s), dimensions={}
  y = f32[1000]{0} exponential(x)
  u = f32[1000]{0} dynamic-update-slice(x, p, i)
  z = f32[1]{0} dynamic-slice(u, i), dynamic_slice_sizes={1}
  f = f32[1]{0} fusion(z), kind=kLoop, calls=called)",
                      config, R"(
  c = s32[1]{0} convert(f)
  j = s32[] reshape(c)
  ROOT r = f32[1]{0} dynamic-slice(y, j), dynamic_slice_sizes={1}
})");
}

TEST(OverwrittenValuesTest, OrdersReadInTime) {
  const auto free = ParseAndReturnUnverifiedModule(LateReader(""));
  ASSERT_TRUE(free.ok()) << free.status();
  EXPECT_TRUE(RescheduleForMemory(free->get()).ok());
  const auto placed = ParseAndReturnUnverifiedModule(LateReader(
      R"(, backend_config={"fusion_backend_config":{"kind":"__triton"}})"));
  ASSERT_TRUE(placed.ok()) << placed.status();
  EXPECT_EQ(RescheduleForMemory(placed->get()).code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace xla::remat_plan
