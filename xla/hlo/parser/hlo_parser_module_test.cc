// Computations, operands, layouts, schedules and constants.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/parser/parser_test_util.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- Computations ------------------------------------------------------------

TEST(HloParserModuleTest, TheLastComputationIsTheEntryIfNoneIsMarked) {
  auto module = Parse(
      "HloModule m\na {\n ROOT x = f32[] parameter(0)\n}\n"
      "b {\n x = f32[] parameter(0)\n}\n");
  EXPECT_EQ(module->entry_computation()->name(), "b");
  module = Parse(
      "HloModule m\nENTRY a {\n x = f32[] parameter(0)\n}\n"
      "b {\n x = f32[] parameter(0)\n}\n");
  EXPECT_EQ(module->entry_computation()->name(), "a");
}

TEST(HloParserModuleTest, TheLastInstructionIsTheRootIfNoneIsMarked) {
  auto module = Parse(
      "HloModule m\nENTRY e {\n x = f32[] parameter(0)\n"
      " ROOT y = negate(x)\n z = f32[] negate(x)\n}\n");
  EXPECT_EQ(module->entry_computation()->root_instruction()->name(), "y");
  module = Parse(
      "HloModule m\nENTRY e {\n x = f32[] parameter(0)\n"
      " y = negate(x)\n z = f32[] negate(x)\n}\n");
  EXPECT_EQ(module->entry_computation()->root_instruction()->name(), "z");
}

// The names of the instructions, computation by computation.
std::vector<std::vector<std::string>> AllNames(const HloModule& module) {
  std::vector<std::vector<std::string>> names;
  for (const HloComputation* computation : module.computations()) {
    names.push_back(Names(*computation));
  }
  return names;
}

// As XLA itself names them: in the order of the text.
TEST(HloParserModuleTest, NamesBecomeUniqueInTheModule) {
  auto module = Parse(
      "HloModule m\na { x = f32[] parameter(0)\n x.1 = negate(x)\n"
      " ROOT y = negate(x.1) }\n"
      "b { x = f32[] parameter(0)\n ROOT x.07 = add(x, negate(x)) }\n"
      "ENTRY e { x = f32[] parameter(0)\n y = call(x), to_apply=a\n"
      " x.7 = negate(y)\n negate.anon = f32[] negate(x.7)\n"
      " ROOT y.2 = call(negate.anon), to_apply=b,"
      " control-predecessors={x.7} }");
  EXPECT_THAT(
      AllNames(*module),
      ElementsAre(ElementsAre("x", "x.1", "y"),
                  ElementsAre("x.2", "negate.anon", "x.7"),
                  ElementsAre("x.3", "y.1", "x.4", "negate.anon.1", "y.2")));
  const HloInstruction* root = module->entry_computation()->root_instruction();
  EXPECT_EQ(root->operand(0)->name(), "negate.anon.1");
  EXPECT_EQ(root->control_predecessors()[0]->name(), "x.4");
  // Once unique, they stay, as no short form hides names here.
  const std::string text = module->ToString();
  EXPECT_EQ(Parse(text)->ToString(), text);
}

TEST(HloParserModuleTest, NamesFollowTheTextWhereComputationsAreReadAhead) {
  auto module = Parse(
      "HloModule m\nENTRY e { x = f32[] parameter(0)\n"
      " y = call(x), to_apply=a\n ROOT z = call(y), to_apply={\n"
      "  x = f32[] parameter(0) } }\n"
      "a { x = f32[] parameter(0)\n ROOT y = negate(x) }\n");
  HloComputation* body = module->GetComputationWithName("_");
  ASSERT_NE(body, nullptr);
  EXPECT_THAT(Names(*body), ElementsAre("x"));
  EXPECT_THAT(Names(*module->entry_computation()),
              ElementsAre("x.1", "y", "z"));
  EXPECT_THAT(Names(*module->GetComputationWithName("a")),
              ElementsAre("x.2", "y.1"));
}

TEST(HloParserModuleTest, NamesOfComputationsBecomeUnique) {
  auto module = Parse(
      "HloModule m\na.01 { x = f32[] parameter(0) }\n"
      "a.1 { y = f32[] parameter(0) }\n"
      "ENTRY a { z = f32[] parameter(0)\n u = call(z), to_apply=a.01\n"
      " v = call(u), to_apply={ w = f32[] parameter(0) }\n"
      " ROOT r = call(v), to_apply={ t = f32[] parameter(0) } }");
  std::vector<std::string> names;
  for (const HloComputation* computation : module->computations()) {
    names.emplace_back(computation->name());
  }
  EXPECT_THAT(names, ElementsAre("a.1", "a.0", "_", "_.1", "a.2"));
}

// Messages have the names of the text.
TEST(HloParserModuleTest, ErrorsHaveTheNamesOfTheText) {
  auto module = ParseAndReturnUnverifiedModule(
      "HloModule m\na { x = f32[] parameter(0) }\n"
      "ENTRY e { x = f32[] parameter(0)\n ROOT y = f32[] negate(f32[2] x) }");
  EXPECT_THAT(module.status().message(), HasSubstr("operand 'x' has shape"));
}

TEST(HloParserModuleTest, ForwardReferences) {
  auto module = Parse(R"(HloModule m
ENTRY %main (p: f32[4]) -> (f32[], f32[]) {
  p = f32[4]{0} parameter(0)
  z = f32[] constant(0)
  a = f32[] reduce(p, z), dimensions={0}, to_apply=%add
  b = f32[] call(a), to_apply=%later
  ROOT t = (f32[], f32[]) tuple(a, b)
}

%later (x: f32[]) -> f32[] {
  x = f32[] parameter(0)
  ROOT y = f32[] map(x, x), to_apply=%add
} // later

%add (x: f32[], y: f32[]) -> f32[] {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}, execution_thread="side"
)");
  EXPECT_EQ(module->computation_count(), 3);
  EXPECT_EQ(module->entry_computation()->name(), "main");
  const HloInstruction* a =
      module->entry_computation()->GetInstructionWithName("a");
  EXPECT_EQ(a->to_apply()->name(), "add");
  EXPECT_EQ(a->to_apply()->execution_thread(), "side");
  EXPECT_EQ(module->entry_computation()
                ->GetInstructionWithName("b")
                ->to_apply()
                ->root_instruction()
                ->to_apply(),
            a->to_apply());
}

TEST(HloParserModuleTest, InlineBodies) {
  auto module = Parse(R"(HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  z = f32[] constant(0)
  r = reduce(p, z), dimensions={0}, to_apply={
    x = f32[] parameter(0)
    y = f32[] parameter(1)
    ROOT s = call(x, y), to_apply={ a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT c = add(a, b) }
  }
  i = s32[] constant(1)
  ROOT d = f32[] conditional(i, r, r), branch_computations={
    { x = f32[] parameter(0) }, {x = f32[] parameter(0) ROOT y = negate(x)} }
})");
  EXPECT_EQ(module->computation_count(), 5);
  EXPECT_NE(module->GetComputationWithName("_.1"), nullptr);
  const std::string text = module->ToString();
  EXPECT_EQ(Parse(text)->ToString(), text);
  // Canonical text has all bodies in place.
  const std::string canonical = module->ToString(HloPrintOptions::Canonical());
  EXPECT_EQ(Parse(text)->ToString(HloPrintOptions::Canonical()), canonical);
}

TEST(HloParserModuleTest, CommentsOfAllKinds) {
  auto module = Parse(
      "/* a\n * b */ HloModule m // c\r\n\r\n"
      "ENTRY e { // {\r\n  p = f32[4] /*{{*/ parameter(0)\r\n"
      "  c = f32[4] call(p), to_apply=f\n"
      "  ROOT t = tuple(p, /*index=1*/c) // }\n}// e\n"
      "f { ROOT x = f32[4] parameter(0) // {\r}\n// end");
  EXPECT_THAT(Names(*module->entry_computation()), ElementsAre("p", "c", "t"));
}

// --- Operands ----------------------------------------------------------------

TEST(HloParserModuleTest, NestedOperands) {
  auto module = Parse(
      "HloModule m\nENTRY e {\n x = f32[] parameter(0)\n"
      " y = f32[] parameter(1)\n"
      " ROOT r = add(maximum(x, negate(y)), f32[] maximum(y, "
      "x))\n}\n");
  EXPECT_THAT(Names(*module->entry_computation()),
              ElementsAre("x", "y", "negate.anon", "maximum.anon",
                          testing::StartsWith("maximum.anon."), "r"));
}

TEST(HloParserModuleTest, CompactTupleElements) {
  auto module = Parse(
      "HloModule m\nENTRY e {\n"
      " p = ((f32[2], f32[3]), f32[4]) parameter(0)\n"
      " a = negate(p#1)\n b = negate(p#0#1)\n"
      " c = negate(p#0#1)\n"
      " ROOT t = tuple(a, b, c, p#0)\n}\n");
  const HloComputation* entry = module->entry_computation();
  EXPECT_THAT(Names(*entry),
              ElementsAre("p", "p_1", "a", "p_0", "p_0_1", "b", "c", "t"));
  EXPECT_EQ(entry->root_instruction()->shape().tuple_shapes(1).dimensions(0),
            3);
  const HloPrintOptions compact = HloPrintOptions().set_compact_gte(true);
  const std::string text = module->ToString(compact);
  EXPECT_THAT(text, HasSubstr("negate(%p#0#1)"));
  EXPECT_EQ(Parse(text)->ToString(compact), text);
}

TEST(HloParserModuleTest, OperandsWithShapes) {
  auto module = Parse(
      "HloModule m\nENTRY %e (p: f32[4]) -> f32[4] {\n"
      " %p = f32[4]{0} parameter(0)\n"
      " ROOT %r = f32[4]{0} add(f32[4]{0} %p, f32[4]{0} %p)\n"
      "}\n");
  EXPECT_EQ(module->entry_computation()->root_instruction()->operand_count(),
            2);
}

TEST(HloParserModuleTest, ImpliedShapes) {
  auto module = Parse(R"(HloModule m
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = add(x, y) }
ENTRY e {
  p = f32[4,8] parameter(0)
  s = f32[] constant(1)
  a = negate(p)
  b = multiply(a, p)
  c = compare(a, b), direction=LT
  d = select(c, a, b)
  e = reduce(d, s), dimensions={1}, to_apply=add
  f = transpose(p), dimensions={1,0}
  g = dot(p, f), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  h = concatenate(p, p), dimensions={0}
  i = pad(p, s), padding=1_1x0_0
  j = tuple(e, g)
  k = get-tuple-element(j), index=1
  l = map(p, p), dimensions={0,1}, to_apply=add
  m = clamp(s, p, s)
  n = after-all()
  o = replica-id()
  ROOT t = tuple(d, e, f, g, h, i, k, l, m, n, o)
})");
  EXPECT_EQ(ShapeUtil::HumanStringWithLayout(
                module->entry_computation()->root_instruction()->shape()),
            "(f32[4,8]{1,0}, f32[4]{0}, f32[8,4]{0,1}, f32[4,4]{1,0}, "
            "f32[8,8]{1,0}, /*index=5*/f32[6,8]{1,0}, f32[4,4]{1,0}, "
            "f32[4,8]{1,0}, f32[4,8]{1,0}, token[], /*index=10*/u32[])");
}

// --- Layouts -----------------------------------------------------------------

TEST(HloParserModuleTest, MissingLayoutsAreFilledOrNot) {
  const std::string text =
      "HloModule m\nENTRY e {\n ROOT p = f32[4,8] parameter(0)\n}\n";
  auto filled = Parse(text);
  EXPECT_TRUE(
      filled->entry_computation()->root_instruction()->shape().has_layout());
  auto bare = Parse(text, HloParserOptions().set_fill_missing_layouts(false));
  EXPECT_FALSE(
      bare->entry_computation()->root_instruction()->shape().has_layout());
}

TEST(HloParserModuleTest, OutfeedShapesHaveLayoutsAsOthersDo) {
  const std::string text =
      "HloModule m\nENTRY e {\n p = (f32[4,8], s32[]) parameter(0)\n"
      " t = token[] after-all()\n"
      " ROOT o = token[] outfeed(p, t), outfeed_shape=(f32[4,8], s32[])\n}\n";
  EXPECT_THAT(Parse(text)->ToString(),
              HasSubstr("outfeed_shape=(f32[4,8]{1,0}, s32[])"));
  EXPECT_THAT(Parse(text, HloParserOptions().set_fill_missing_layouts(false))
                  ->ToString(),
              HasSubstr("outfeed_shape=(f32[4,8], s32[])"));
}

TEST(HloParserModuleTest, ConstrainedOperandsHaveLayoutsAsOthersDo) {
  const std::string text =
      "HloModule m\nENTRY e {\n p = f32[4,8] parameter(0)\n"
      " ROOT c = f32[4,8] custom-call(p), custom_call_target=\"t\", "
      "operand_layout_constraints={f32[4,8]}\n}\n";
  EXPECT_THAT(Parse(text)->ToString(),
              HasSubstr("operand_layout_constraints={f32[4,8]{1,0}}"));
  EXPECT_THAT(Parse(text, HloParserOptions().set_fill_missing_layouts(false))
                  ->ToString(),
              HasSubstr("operand_layout_constraints={f32[4,8]}"));
}

TEST(HloParserModuleTest, EntryLayoutsComeFromTheHeader) {
  auto module = Parse(
      "HloModule m, entry_computation_layout={(f32[4,8]{0,1})->f32[4,8]{1,0}}\n"
      "ENTRY e {\n ROOT p = f32[4,8]{1,0} parameter(0)\n}\n");
  EXPECT_EQ(module->entry_computation_layout().ToString(),
            "(f32[4,8]{0,1})->f32[4,8]{1,0}");
}

TEST(HloParserModuleTest, WithoutAHeaderEntryLayoutsComeFromTheShapes) {
  auto module = Parse(
      "HloModule m\nENTRY e {\n p = f32[4,8]{0,1} parameter(0)\n"
      " ROOT c = f32[4,8]{1,0} copy(p)\n}\n");
  EXPECT_EQ(module->entry_computation_layout().ToString(),
            "(f32[4,8]{0,1})->f32[4,8]{1,0}");
}

TEST(HloParserModuleTest, AutomaticEntryLayouts) {
  const std::string text =
      "HloModule m, entry_computation_layout={(f32[4,8])->f32[4,8]{0,1}}\n"
      "ENTRY e {\n ROOT p = f32[4,8]{1,0} parameter(0)\n}\n";
  EXPECT_EQ(Parse(text)->entry_computation_layout().ToString(),
            "(f32[4,8]{1,0})->f32[4,8]{0,1}");
  auto kept =
      Parse(text, HloParserOptions().set_keep_module_auto_layouts(true));
  EXPECT_FALSE(
      kept->entry_computation_layout().parameter_layout(0).LayoutIsSet());
}

// --- Schedules ---------------------------------------------------------------

TEST(HloParserModuleTest, ScheduledModulesKeepTheOrderOfTheText) {
  const std::string body =
      "\nadd {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n"
      " ROOT s = add(x, y)\n}\n"
      "fused {\n x = f32[4] parameter(0)\n ROOT n = negate(x)\n}\n"
      "ENTRY e {\n p = f32[4] parameter(0)\n z = f32[] constant(0)\n"
      " late = negate(p)\n early = f32[4] fusion(p), kind=kLoop, calls=fused\n"
      " r = reduce(early, z), dimensions={0}, to_apply=add\n"
      " ROOT t = tuple(late, r)\n}\n";
  auto module = Parse(absl::StrCat("HloModule m, is_scheduled=true", body));
  ASSERT_TRUE(module->has_schedule());
  std::vector<std::string> order;
  for (const HloInstruction* instruction :
       module->schedule()
           .sequence(module->entry_computation())
           .instructions()) {
    order.emplace_back(instruction->name());
  }
  EXPECT_THAT(order, ElementsAre("p", "z", "late", "early", "r", "t"));
  EXPECT_TRUE(module->schedule().Verify().ok());
  EXPECT_FALSE(module->schedule().is_computation_scheduled(
      module->GetComputationWithName("fused")));
  EXPECT_FALSE(Parse(absl::StrCat("HloModule m, is_scheduled=false", body))
                   ->has_schedule());
  EXPECT_FALSE(Parse(absl::StrCat("HloModule m", body))->has_schedule());
}

// --- Constants ---------------------------------------------------------------

TEST(HloParserModuleTest, ElidedConstants) {
  const std::string text =
      "HloModule m\nENTRY e {\n a = f32[100]{0} constant({...})\n"
      " b = s32[100]{0} constant({...})\n ROOT t = tuple(a, b, a)\n}\n";
  auto kept = Parse(text);
  EXPECT_TRUE(kept->entry_computation()
                  ->GetInstructionWithName("a")
                  ->literal()
                  .is_elided());
  const std::string printed = kept->ToString();
  EXPECT_THAT(printed, HasSubstr("constant({...})"));
  EXPECT_EQ(Parse(printed)->ToString(), printed);

  HloParserOptions fill;
  fill.set_fill_shortform_constants_with_random_values(true);
  auto filled = Parse(text, fill);
  auto again = Parse(text, fill);
  auto literal = [](const std::unique_ptr<HloModule>& module,
                    absl::string_view name) -> const Literal& {
    return module->entry_computation()->GetInstructionWithName(name)->literal();
  };
  EXPECT_FALSE(literal(filled, "a").is_elided());
  EXPECT_EQ(literal(filled, "a"), literal(again, "a"));
  EXPECT_FALSE(literal(filled, "a").IsAllFirst());
  for (int32_t value : literal(filled, "b").data<int32_t>()) {
    EXPECT_GE(value, 0);
    EXPECT_LT(value, 100);
  }
}

}  // namespace
}  // namespace xla
