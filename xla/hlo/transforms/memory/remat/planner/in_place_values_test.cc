#include "xla/hlo/transforms/memory/remat/planner/in_place_values.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/shape_util.h"

namespace xla::remat_plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kFused[] = R"(
both {
  fa = f32[64]{0} parameter(0)
  fb = f32[64]{0} parameter(1)
  fn = f32[64]{0} negate(fa)
  fr = f32[64]{0} reverse(fb), dimensions={0}
  ROOT fs = f32[64]{0} add(fn, fr)
}
two {
  ga = f32[64]{0} parameter(0)
  gb = f32[64]{0} parameter(1)
  gn = f32[64]{0} negate(ga)
  gm = f32[64]{0} multiply(ga, gb)
  ROOT gt = (f32[64]{0}, f32[64]{0}) tuple(gn, gm)
}
update {
  ha = f32[64]{0} parameter(0)
  hu = f32[1]{0} parameter(1)
  hi = s32[] parameter(2)
  ROOT hd = f32[64]{0} dynamic-update-slice(ha, hu, hi)
}
)";

// "result:operand" of an entry computation whose first parameters are
// p (f32[64]), u (f32[1]), i (s32[]).
std::vector<std::string> InPlace(const std::string& body,
                                 const AliasInfo& alias_info = AliasInfo()) {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
      "HloModule m, is_scheduled=true\n", kFused,
      "ENTRY main {\n  p = f32[64]{0} parameter(0)\n  u = f32[1]{0} "
      "parameter(1)\n  i = s32[] parameter(2)\n",
      body, "}\n"));
  EXPECT_TRUE(module.ok()) << module.status();
  const HloModule& of = **module;
  ComputationProblem problem = MakeComputationProblem(
      of.schedule().sequence(of.entry_computation()),
      [](const Shape& shape) { return ShapeUtil::ByteSizeOf(shape, 8); },
      [](const HloInstruction&) { return 1.0; },
      [](const HloInstruction&) { return int64_t{0}; });
  FindInPlaceValues(alias_info, &problem);
  std::vector<std::string> found;
  const auto name = [&](ValueId value) {
    return problem.instructions[problem.problem.values[value].node]->name();
  };
  for (size_t v = 0; v < problem.problem.values.size(); ++v) {
    const ValueId operand = problem.problem.values[v].in_place_of;
    if (operand < 0) continue;
    found.push_back(
        absl::StrCat(name(static_cast<ValueId>(v)), ":", name(operand)));
  }
  return found;
}

TEST(InPlaceValuesTest, ElementwiseInstructions) {
  EXPECT_THAT(InPlace(R"(
  a = f32[64]{0} negate(p)
  b = f32[64]{0} exponential(a)
  c = f32[64]{0} add(b, a)
  d = pred[64]{0} compare(c, b), direction=LT
  e = f32[64]{0} reverse(c), dimensions={0}
  ROOT f = f32[64]{0} select(d, e, c)
)"),
              ElementsAre("b:a", "c:b", "f:e"));
}

TEST(InPlaceValuesTest, NeitherParametersNorCopiesNorConstants) {
  EXPECT_THAT(InPlace(R"(
  k = f32[64]{0} constant({...})
  a = f32[64]{0} negate(k)
  b = f32[64]{0} copy(a)
  ROOT c = f32[64]{0} negate(p)
)"),
              IsEmpty());
}

TEST(InPlaceValuesTest, OnlyOfOwnResults) {
  EXPECT_THAT(InPlace(R"(
  a = f32[64]{0} negate(p)
  r = f32[8,8]{1,0} bitcast(a)
  b = f32[8,8]{1,0} negate(r)
  ROOT c = f32[8,8]{1,0} negate(b)
)"),
              ElementsAre("c:b"));
}

TEST(InPlaceValuesTest, Updates) {
  EXPECT_THAT(InPlace(R"(
  a = f32[64]{0} negate(p)
  b = f32[64]{0} dynamic-update-slice(a, u, i)
  v = f32[1]{0} negate(u)
  w = f32[1]{0} dynamic-update-slice(v, v, i)
  ROOT c = f32[64]{0} fusion(b, w, i), kind=kLoop, calls=update
)"),
              ElementsAre("b:a", "c:b"));
}

TEST(InPlaceValuesTest, UpdatesOfWhatIsRenamed) {
  EXPECT_THAT(InPlace(R"(
  a = f32[64]{0} negate(p)
  r = f32[8,8]{1,0} bitcast(a)
  b = (f32[8,8]{1,0}, s8[16]{0}) custom-call(u, r), custom_call_target="gemm",
    output_to_operand_aliasing={{0}: (1, {})}
  t = (f32[64]{0}, f32[64]{0}) fusion(p, p), kind=kLoop, calls=two
  g = f32[64]{0} get-tuple-element(t), index=1
  ROOT c = f32[64]{0} dynamic-update-slice(g, u, i)
)"),
              ElementsAre("b:a", "c:t"));
}

class ReverseInPlace : public AliasInfo {
 public:
  std::optional<bool> MayAlias(const HloInstruction* operand,
                               const ShapeIndex& operand_index,
                               const HloInstruction* user,
                               const ShapeIndex& user_index) const override {
    return user->opcode() == HloOpcode::kReverse;
  }
};

TEST(InPlaceValuesTest, WhatAliasInfoSays) {
  EXPECT_THAT(InPlace(R"(
  a = f32[64]{0} negate(p)
  b = f32[64]{0} exponential(a)
  c = s32[64]{0} reverse(b), dimensions={0}
  ROOT d = s32[64]{0} negate(c)
)",
                      ReverseInPlace()),
              ElementsAre("c:b"));
}

TEST(InPlaceValuesTest, Fusions) {
  EXPECT_THAT(InPlace(R"(
  a = f32[64]{0} negate(p)
  b = f32[64]{0} cosine(a)
  c = f32[64]{0} fusion(a, b), kind=kLoop, calls=both
  d = f32[64]{0} fusion(c, c), kind=kLoop, calls=both
  ROOT t = (f32[64]{0}, f32[64]{0}) fusion(c, d), kind=kLoop, calls=two
)"),
              ElementsAre("b:a", "c:a", "t:c", "t:d"));
}

}  // namespace
}  // namespace xla::remat_plan
