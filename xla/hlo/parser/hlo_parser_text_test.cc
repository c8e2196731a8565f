// Text that is less than a module, what is printed of what was read, and files.

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/parser/parser_test_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- Less than a module ------------------------------------------------------

TEST(HloParserTextTest, OneComputation) {
  auto module = Parse("f {\n x = f32[] parameter(0)\n ROOT y = negate(x)\n}");
  EXPECT_EQ(module->name(), "module_f");
  EXPECT_EQ(module->entry_computation()->name(), "f");
  module = Parse("%f (x: f32[]) -> f32[] {\n %x = f32[] parameter(0)\n}");
  EXPECT_EQ(module->name(), "module_f");
}

TEST(HloParserTextTest, SeveralComputations) {
  auto module = Parse(
      "f {\n x = f32[] parameter(0)\n}\n"
      "ENTRY g {\n x = f32[] parameter(0)\n"
      " ROOT y = call(x), to_apply=f\n}");
  EXPECT_EQ(module->computation_count(), 2);
  EXPECT_EQ(module->name(), "module_g");
}

TEST(HloParserTextTest, OneInstruction) {
  auto module = Parse("%r = f32[4]{0} add(f32[4]{0} %p, f32[4]{0} %q)");
  const HloComputation* entry = module->entry_computation();
  EXPECT_EQ(entry->num_parameters(), 2);
  EXPECT_EQ(entry->parameter_instruction(1)->name(), "q");
  EXPECT_EQ(entry->root_instruction()->name(), "r");
  // With shapes instead of operands.
  module = Parse("r = f32[4]{0} subtract(f32[4]{0}, f32[4]{0})");
  entry = module->entry_computation();
  EXPECT_EQ(entry->num_parameters(), 2);
  EXPECT_EQ(entry->root_instruction()->opcode(), HloOpcode::kSubtract);
  // One operand twice.
  module = Parse("ROOT r = f32[4] add(f32[4] x, f32[4] x)");
  EXPECT_EQ(module->entry_computation()->num_parameters(), 1);
  module = Parse(
      "r = f32[8] fusion(f32[8] p), kind=kLoop, calls={\n"
      " x = f32[8] parameter(0)\n ROOT n = negate(x)\n}");
  EXPECT_EQ(module->computation_count(), 2);
}

TEST(HloParserTextTest, NestedOperandsInOneInstruction) {
  auto module = Parse(
      "r = f32[4] add(f32[4] x, f32[4] multiply(f32[4] x, "
      "f32[4] y))");
  EXPECT_EQ(module->entry_computation()->num_parameters(), 2);
  EXPECT_EQ(module->entry_computation()->instruction_count(), 4);
}

TEST(HloParserTextTest, RunFillsAnEmptyModule) {
  const std::string text = absl::StrCat("HloModule m", kBody);
  HloModule module("other", HloModuleConfig());
  EXPECT_TRUE(HloParser::Create(text)->Run(&module).ok());
  EXPECT_EQ(module.name(), "m");
  EXPECT_EQ(HloParser::Create(text)->Run(&module).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(HloParserTextTest, FailedParsesLeaveNothingBehind) {
  // Computations, calls and control edges of every state of completion.
  for (absl::string_view tail :
       {"}", "ROOT x = f32[] bogus(p)\n}", "x = call(p), to_apply=f, z=1",
        "c = call(p), to_apply=f\n d = negate(c), control-predecessors={c}"}) {
    const std::string text = absl::StrCat(
        "HloModule m\nf {\n p = f32[] parameter(0)\n}\n"
        "g {\n p = f32[] parameter(0)\n ROOT c = call(p), to_apply=f\n}\n"
        "ENTRY e {\n p = f32[] parameter(0)\n a = call(p), to_apply=g\n",
        tail, "\n bad");
    EXPECT_FALSE(ParseAndReturnUnverifiedModule(text).ok());
  }
}

// --- Printing ----------------------------------------------------------------

// An instruction, as it is printed once it has been read.
std::string Printed(absl::string_view instruction,
                    const HloPrintOptions& options) {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
      "HloModule m\nf {\n c = f32[] parameter(0)\n x = f32[] parameter(1)\n"
      " s = add(c, x)\n ROOT t = tuple(s, s)\n}\nENTRY e {\n"
      "  a = f32[4] parameter(0)\n  z = f32[] parameter(1)\n"
      "  k = f32[3,3,8,3] parameter(2)\n  ROOT r = ",
      instruction, "\n}\n"));
  return module.ok()
             ? (*module)->entry_computation()->root_instruction()->ToString(
                   options)
             : std::string(module.status().message());
}

TEST(HloParserTextTest, PrintedForms) {
  const HloPrintOptions plain = HloPrintOptions::Default();
  EXPECT_THAT(
      Printed("tuple(a, a, a, a, a, a, a)", HloPrintOptions::ShortParsable()),
      HasSubstr("tuple(a, a, a, a, a, a, a)"));
  EXPECT_THAT(
      Printed("f32[4] collective-broadcast(a), replica_groups={{0}}", plain),
      HasSubstr("has_dynamic_root=false"));
  EXPECT_THAT(Printed("(f32[4], f32[]) scan(a, z), to_apply=f, "
                      "is_associative=true, is_reverse=true, num_carries=1, "
                      "dimensions={0}",
                      plain),
              HasSubstr("dimensions={0}, num_carries=1, is_reverse=true, "
                        "is_associative=true, to_apply=%f"));
  EXPECT_THAT(Printed("(f32[4], f32[]) scan(a, z), to_apply=f, "
                      "num_carries=1, dimensions={0}",
                      plain),
              HasSubstr("is_associative=false, to_apply=%f"));
  for (absl::string_view type : {"f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3b11fnuz"}) {
    EXPECT_THAT(Printed(absl::StrCat(type, "[] constant(nan)"), plain),
                HasSubstr("constant(-nan)"));
  }
  for (absl::string_view labels : {"b0?f_?0?io->?b?0?f", "b01f_01io->b01f"}) {
    EXPECT_THAT(Printed(absl::StrCat("f32[4] custom-call(a, k), "
                                     "custom_call_target=\"t\", dim_labels=",
                                     labels),
                        plain),
                HasSubstr(absl::StrCat("dim_labels=", labels)));
  }
  EXPECT_THAT(
      Printed("f32[1,2,2,3] convolution(f32[1,4,4,16] broadcast(z), k), "
              "window={size=3x3}, dim_labels=b01f_01io->b01f, "
              "sparsity_config={rhs={sparsity=2x4 dimension=2 stride=1 idx=2}}",
              plain),
      HasSubstr("sparsity_config={rhs={sparsity=2x4 dimension=2 stride=1 "
                "idx=2}}"));
  EXPECT_THAT(
      Printed("f32[1,2,2,3] convolution(f32[1,4,4,16] broadcast(z), k, a), "
              "window={size=3x3}, dim_labels=b01f_01io->b01f, "
              "sparsity_config={rhs={sparsity=2x4 dimension=2 stride=1 idx=2}}",
              plain),
      HasSubstr("a), window={size=3x3}"));
}

TEST(HloParserTextTest, CanonicalForms) {
  auto module = Parse(R"(HloModule m
f {
  x = f32[4] parameter(0)
  n = f32[4] negate(x)
  ROOT t = (f32[4], f32[4]) tuple(x, n)
}, execution_thread="t"
ENTRY e {
  p = f32[4] parameter(0)
  s = ((f32[4]), (f32[4], f32[4]), u32[]) async-start(p), calls=f
  d = (f32[4], f32[4]) async-done(s)
  g = f32[4] get-tuple-element(d), index=1
  ROOT r = f32[4] abs(g)
})");
  const HloPrintOptions canonical = HloPrintOptions::Canonical();
  EXPECT_THAT(module->ToString(canonical),
              HasSubstr("}, execution_thread=\"t\""));
  EXPECT_THAT(
      module->ToString(HloPrintOptions::Canonical().set_compact_gte(true)),
      testing::ContainsRegex("abs\\(.*tmp_[0-9]+#1"));
}

TEST(HloParserTextTest, EntryLayoutsStayUnsetWithTheShapes) {
  auto bare =
      Parse("HloModule m\nENTRY e {\n ROOT p = f32[4,8] parameter(0)\n}\n",
            HloParserOptions().set_fill_missing_layouts(false));
  EXPECT_FALSE(bare->entry_computation_layout().result_layout().LayoutIsSet());
  EXPECT_FALSE(
      bare->entry_computation_layout().parameter_layout(0).LayoutIsSet());
}

TEST(HloParserTextTest, NamesOfElementsAndNestedOperands) {
  auto module = Parse(
      "HloModule m\nENTRY e {\n p = (f32[2], f32[3]) parameter(0)\n"
      " p_0 = f32[2] get-tuple-element(p), index=0\n"
      " ROOT r = add(p#0, p_0)\n}\n");
  EXPECT_THAT(Names(*module->entry_computation()),
              ElementsAre("p", "p_0", "p_0.1", "r"));
  module = Parse(
      "HloModule m\nENTRY e {\n ROOT r = add(f32[] add(f32[] parameter(0), "
      "f32[] parameter(1)), f32[] parameter(2))\n}\n");
  EXPECT_THAT(Names(*module->entry_computation()),
              ElementsAre("parameter.anon", "parameter.anon.1", "add.anon",
                          "parameter.anon.2", "r"));
}

TEST(HloParserTextTest, TopKTakesTheLargestWhereNothingElseIsWritten) {
  auto module = Parse(
      "HloModule m\nENTRY e {\n p = f32[5] parameter(0)\n"
      " ROOT r = (f32[3], s32[3]) topk(p), k=3\n}\n");
  EXPECT_THAT(module->entry_computation()->root_instruction()->ToString(),
              ::testing::HasSubstr("topk(%p), k=3, largest=true"));
}

TEST(HloParserTextTest, AccuracyIsTheDefaultOneWhereNoneIsWritten) {
  auto module = Parse(
      "HloModule m\nENTRY e {\n p = f32[] parameter(0)\n"
      " ROOT r = exponential(p)\n}\n");
  const ResultAccuracy& accuracy =
      module->entry_computation()->root_instruction()->result_accuracy();
  EXPECT_TRUE(accuracy.has_mode());
  EXPECT_EQ(accuracy.mode(), ResultAccuracy::DEFAULT);
}

// --- Files -------------------------------------------------------------------

// order= is how later versions write what type= says of floats.
TEST(HloParserTextTest, OrdersOfComparisonsAreTypes) {
  const auto compare = [](absl::string_view type,
                          absl::string_view attributes) {
    return ParseAndReturnUnverifiedModule(absl::StrCat(
        "HloModule m\nENTRY e {\n  a = ", type,
        "[4] parameter(0)\n  ROOT c = pred[4] compare(a, a), direction=LT",
        attributes, "\n}\n"));
  };
  const auto text = [&](absl::string_view type, absl::string_view attributes) {
    const auto module = compare(type, attributes);
    return module.ok()
               ? (*module)->entry_computation()->root_instruction()->ToString(
                     HloPrintOptions::ShortParsable())
               : std::string(module.status().message());
  };
  EXPECT_THAT(text("f32", ", order=TOTAL"), HasSubstr("LT, type=TOTALORDER"));
  EXPECT_EQ(text("f32", ", order=PARTIAL"), text("f32", ""));
  EXPECT_EQ(text("c64", ", order=PARTIAL"), text("c64", ""));
  EXPECT_EQ(text("s32", ", order=TOTAL"), text("s32", ""));
  EXPECT_EQ(text("f32", ", type=TOTALORDER, order=TOTAL"),
            text("f32", ", type=TOTALORDER"));
  EXPECT_FALSE(compare("s32", ", order=PARTIAL").ok());
  EXPECT_FALSE(compare("f32", ", type=FLOAT, order=TOTAL").ok());
  EXPECT_THAT(text("f32", ", order=ANY"),
              HasSubstr("4:55: error: unknown order"));
}

TEST(SplitInputTest, PiecesKnowTheirLines) {
  auto pieces = SplitInput(
      "// RUN: x\nHloModule a\n// -----\n// only a comment\n  // -----  \n"
      "HloModule b\nmore\n");
  ASSERT_EQ(pieces.size(), 2);
  EXPECT_EQ(pieces[0].text, "// RUN: x\nHloModule a\n");
  EXPECT_EQ(pieces[0].first_line, 1);
  EXPECT_EQ(pieces[1].text, "HloModule b\nmore\n");
  EXPECT_EQ(pieces[1].first_line, 6);
  EXPECT_TRUE(SplitInput("").empty());
  EXPECT_EQ(SplitInput("HloModule a // -----").size(), 1);
}

TEST(StripLogHeadersTest, RemovesWhatLoggingAdds) {
  const std::string log =
      "I0822 10:00:00.000000   123 file.cc:45] something else\n"
      "I0822 10:00:00.000000   123 file.cc:45] HloModule m\n"
      "I0822 10:00:00.000001   123 file.cc:45] ENTRY e {\n"
      "I0822 10:00:00.000001   123 file.cc:45]   ROOT p = f32[] parameter(0)\n"
      "I0822 10:00:00.000001   123 file.cc:45] }\n";
  EXPECT_NE(Parse(StripLogHeaders(log)), nullptr);
  const std::string text = absl::StrCat("HloModule m", kBody);
  EXPECT_EQ(StripLogHeaders(text), text);
}

}  // namespace
}  // namespace xla
