#include "xla/hlo/ir/hlo_print_options.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_test_modules.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

TEST(HloPrintOptionsTest, OperandComments) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  HloComputation* entry = module->entry_computation();
  HloInstruction* p0 = entry->parameter_instruction(0);
  HloInstruction* tuple = entry->AddInstruction(
      HloInstruction::CreateTuple({p0, p0, p0, p0, p0, p0, p0}), "t");
  HloPrintOptions options =
      HloPrintOptions().set_print_result_shape(false).set_print_percent(false);
  EXPECT_EQ(tuple->ToString(options),
            "t = tuple(p0, p0, p0, p0, p0, /*index=5*/p0, p0)");
  options.set_print_operand_index_annotation_interval(3);
  EXPECT_EQ(tuple->ToString(options),
            "t = tuple(p0, p0, p0, /*index=3*/p0, p0, p0, /*index=6*/p0)");
  options.set_compact_operands(true)
      .set_print_operand_index_annotation_interval(0)
      .set_print_operand_shape(true)
      .set_include_layout_in_shapes(false);
  EXPECT_EQ(tuple->ToString(options),
            "t = tuple(f32[4] p0, f32[4] p0, f32[4] p0, f32[4] p0, ...(+3))");
}

TEST(HloPrintOptionsTest, Constants) {
  const auto small = HloInstruction::CreateConstant(
      LiteralUtil::CreateR1<int32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(small->ToString(),
            "%constant = s32[10]{0} constant({0, 1, 2, 3, 4, 5, 6, 7, 8, 9})");
  const auto large = HloInstruction::CreateConstant(
      LiteralUtil::CreateR1<int32_t>(std::vector<int32_t>(11, 1)));
  EXPECT_EQ(large->ToString(), "%constant = s32[11]{0} constant({...})");
  EXPECT_EQ(large->ToString(HloPrintOptions::Lossless()),
            "%constant = s32[11]{0} constant({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
            "1})");
  const HloPrintOptions essential =
      HloPrintOptions().set_print_only_essential_constants(true);
  EXPECT_EQ(large->ToString(essential), "%constant = s32[11]{0} constant(1)");
  EXPECT_EQ(small->ToString(essential),
            "%constant = s32[10]{0} constant({...})");
}

// No constants, whose elements print options can leave out.
TEST(HloPrintOptionsTest, LiteralsOfCustomCallsAreWhole) {
  auto call =
      HloInstruction::CreateCustomCall(ShapeUtil::MakeShape(F32, {}), {}, "c");
  auto* custom_call = Cast<HloCustomCallInstruction>(call.get());
  custom_call->set_literal(
      LiteralUtil::CreateR1<int32_t>(std::vector<int32_t>(11, 1)));
  EXPECT_EQ(call->ToString(),
            "%custom-call = f32[] custom-call(), custom_call_target=\"c\", "
            "literal=s32[11]{0} {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}");
  custom_call->set_literal(LiteralUtil::MakeTupleOwned(
      LiteralUtil::CreateR0<float>(1), LiteralUtil::CreateR1<int32_t>({2, 3})));
  EXPECT_EQ(call->ToString(),
            "%custom-call = f32[] custom-call(), custom_call_target=\"c\", "
            "literal=( f32[] 1, s32[2]{0} {2, 3} )");
}

TEST(HloPrintOptionsTest, CompactGetTupleElements) {
  auto module = std::make_unique<HloModule>("m", HloModuleConfig());
  HloComputation::Builder b("main");
  const Shape f32 = ShapeUtil::MakeShape(F32, {});
  const Shape pair = ShapeUtil::MakeTupleShape({f32, f32});
  HloInstruction* p = b.AddInstruction(HloInstruction::CreateParameter(
      0, ShapeUtil::MakeTupleShape({f32, pair}), "p"));
  HloInstruction* inner =
      b.AddInstruction(HloInstruction::CreateGetTupleElement(p, 1));
  HloInstruction* leaf =
      b.AddInstruction(HloInstruction::CreateGetTupleElement(inner, 0));
  HloInstruction* sum = b.AddInstruction(
      HloInstruction::CreateBinary(f32, HloOpcode::kAdd, leaf, leaf));
  HloInstruction* tuple =
      b.AddInstruction(HloInstruction::CreateTuple({sum, sum}));
  b.AddInstruction(HloInstruction::CreateGetTupleElement(tuple, 0));
  module->AddEntryComputationWithLayouts(b.Build());
  const std::string text =
      module->ToString(HloPrintOptions().set_compact_gte(true));
  EXPECT_TRUE(absl::StrContains(text, R"( {
  %p = (f32[], (f32[], f32[])) parameter(0)
  %add = f32[] add(%p#1#0, %p#1#0)
  %tuple = (f32[], f32[]) tuple(%add, %add)
  ROOT %get-tuple-element.2 = f32[] get-tuple-element(%tuple), index=0
}
)")) << text;
  const std::string canonical =
      module->ToString(HloPrintOptions::Canonical().set_compact_gte(true));
  EXPECT_TRUE(
      absl::StrContains(canonical, "add(f32[] tmp_0#1#0, f32[] tmp_0#1#0)"))
      << canonical;
}

TEST(HloPrintOptionsTest, ShortParsable) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  module->entry_computation()->root_instruction()->set_metadata_op_name("n");
  EXPECT_EQ(
      module->ToString(HloPrintOptions::ShortParsable()),
      R"(HloModule small, entry_computation_layout={(f32[4]{0}, f32[4]{0})->(f32[4]{0}, f32[])}

sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT add = f32[] add(x, y)
}

ENTRY main {
  p0 = f32[4]{0} parameter(0)
  p1 = f32[4]{0} parameter(1)
  add.1 = f32[4]{0} add(p0, p1)
  constant = f32[] constant(0)
  reduce = f32[] reduce(add.1, constant), dimensions={0}, to_apply=sum
  ROOT tuple = (f32[4]{0}, f32[]) tuple(add.1, reduce)
}

)");
}

TEST(HloPrintOptionsTest, CanonicalTextNamesInstructionsByPosition) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  HloInstruction* reduce =
      module->entry_computation()->root_instruction()->mutable_operand(1);
  EXPECT_EQ(reduce->ToString(HloPrintOptions::Canonical()),
            R"(f32[] reduce(f32[4]{0}, f32[]), dimensions={0}, to_apply=
{
  tmp_0 = f32[] parameter(0)
  tmp_1 = f32[] parameter(1)
  ROOT tmp_2 = f32[] add(f32[] tmp_0, f32[] tmp_1)
})");
}

TEST(HloPrintOptionsTest, FingerprintsIgnoreNames) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  std::unique_ptr<HloModule> renamed = MakeSmallModule();
  renamed->set_name("other");
  renamed->entry_computation()->SetAndSanitizeName("start");
  renamed->entry_computation()->root_instruction()->SetAndSanitizeName("r");
  const HloPrintOptions options = HloPrintOptions::ModuleFingerprint();
  EXPECT_EQ(module->ToString(options), renamed->ToString(options));
  EXPECT_EQ(module->ToFingerprint(options), renamed->ToFingerprint(options));

  HloInstruction* constant = renamed->entry_computation()
                                 ->root_instruction()
                                 ->mutable_operand(1)
                                 ->mutable_operand(1);
  ASSERT_TRUE(renamed->entry_computation()
                  ->ReplaceWithNewInstruction(
                      constant, HloInstruction::CreateConstant(
                                    LiteralUtil::CreateR0<float>(2)))
                  .ok());
  EXPECT_NE(module->ToFingerprint(options), renamed->ToFingerprint(options));
}

TEST(HloPrintOptionsTest, FullBodies) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  const HloPrintOptions options =
      HloPrintOptions()
          .set_print_subcomputation_mode(
              HloPrintOptions::PrintSubcomputationMode::kFullBodies)
          .set_print_percent(false);
  EXPECT_TRUE(absl::StrContains(module->entry_computation()->ToString(options),
                                R"(
  reduce = f32[] reduce(add.1, constant), dimensions={0}, to_apply=
  (x: f32[], y: f32[]) -> f32[] {
    x = f32[] parameter(0)
    y = f32[] parameter(1)
    ROOT add = f32[] add(x, y)
  }
  ROOT tuple)"));
}

// As OpenXLA prints: only ids name computations, which attributes always name.
TEST(HloPrintOptionsTest, WhatIsLeftOut) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  const HloComputation* entry = module->entry_computation();
  EXPECT_TRUE(
      absl::StartsWith(entry->ToString(HloPrintOptions().set_print_ids(false)),
                       "%(p0: f32[4], p1: f32[4]) -> (f32[4], f32[]) {\n"));
  EXPECT_TRUE(absl::StartsWith(
      entry->ToString(HloPrintOptions().set_is_in_nested_computation(true)),
      "(p0: f32[4], p1: f32[4]) -> (f32[4], f32[]) {\n"));
  EXPECT_TRUE(
      absl::StartsWith(entry->ToString(HloPrintOptions::Fingerprint()), "{\n"));
  EXPECT_TRUE(absl::StrContains(
      module->ToString(HloPrintOptions().set_canonicalize_computations(true)),
      "\nENTRY %main (p0: "));
  EXPECT_EQ(entry->root_instruction()->operand(1)->ToString(
                HloPrintOptions().set_print_extra_attributes(false)),
            "%reduce = f32[] reduce(%add.1, %constant), to_apply=%sum");
  EXPECT_TRUE(
      absl::StartsWith(module->ToString(HloPrintOptions().set_indent_amount(1)),
                       "  HloModule small, "));
}

TEST(HloPrintOptionsTest, ComputationOptions) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  HloComputation* entry = module->entry_computation();
  HloPrintOptions options;
  EXPECT_TRUE(absl::StartsWith(entry->ToString(options), "%main (p0: f32[4]"));
  options
      .set_print_computation_mode(
          HloPrintOptions::PrintComputationMode::kComputationWithEntryKeyword)
      .set_print_name_after_closing_brace(true)
      .set_indent_amount(1);
  EXPECT_TRUE(absl::StartsWith(entry->ToString(options), "  ENTRY %main (p0"));
  EXPECT_TRUE(absl::EndsWith(entry->ToString(options), "\n  } // main"));
  EXPECT_EQ(std::string(entry->ToCord(options, {})), entry->ToString(options));
}

}  // namespace
}  // namespace xla
