#include "xla/hlo/transforms/memory/remat/planner/overwritten_values.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/memory/remat/planner/computation_problem.h"
#include "xla/shape_util.h"

namespace xla::remat_plan {
namespace {

struct Facts {
  std::string overwritten_by;  // of the first value; empty: nothing
  bool recomputable = false;
};

std::map<std::string, Facts> FactsOf(const HloModule& module) {
  const auto bytes = [](const Shape& shape) -> int64_t {
    return shape.IsArray() ? ShapeUtil::ByteSizeOf(shape) : 0;
  };
  const ComputationProblem problem = MakeComputationProblem(
      module.schedule().sequence(module.entry_computation()), bytes,
      [](const HloInstruction&) { return 1.0; },
      [](const HloInstruction&) { return int64_t{0}; }, /*placed=*/true);
  std::map<std::string, Facts> facts;
  for (size_t n = 0; n < problem.instructions.size(); ++n) {
    const RematProblem::Node& node = problem.problem.nodes[n];
    const NodeId writer =
        problem.problem.values[node.first_value].overwritten_by;
    facts[std::string(problem.instructions[n]->name())] = {
        writer < 0 ? "" : std::string(problem.instructions[writer]->name()),
        node.recomputable};
  }
  return facts;
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
  a = f32[8]{0} get-tuple-element(p), index=0
  b = f32[8]{0} get-tuple-element(p), index=1
  n = f32[8]{0} add(a, b)
  ROOT r = (f32[8]{0}, f32[8]{0}) tuple(n, b)
}
condition {
  p = (f32[8]{0}, f32[8]{0}) parameter(0)
  ROOT c = pred[] constant(false)
}
called {
  q = f32[8]{0} parameter(0)
  ROOT f = f32[8]{0} negate(q)
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
}

}  // namespace
}  // namespace xla::remat_plan
