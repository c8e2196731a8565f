#include "xla/hlo/analysis/value_range.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

using Known = absl::flat_hash_map<const HloInstruction*, Range>;

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

Range Signed(int64_t min, int64_t max, std::optional<int64_t> step = 1) {
  std::optional<ConstantValue> wide_step;
  if (step.has_value()) wide_step = ConstantValue::GetSigned(*step, 32);
  return Range(ConstantValue::GetSigned(min, 32),
               ConstantValue::GetSigned(max, 32), wide_step,
               /*is_linear=*/true);
}

// The range of `expression`, the last of some instructions on the parameters
// p in [0, 5] and q in [2, 9], as text.
std::string RangeOf(absl::string_view instructions,
                    absl::string_view type = "s32") {
  auto module = Parse(absl::Substitute(R"(
HloModule m
ENTRY e {
  p = $0[] parameter(0)
  q = $0[] parameter(1)
  c3 = $0[] constant(3)
  c7 = $0[] constant(7)
  zero = $0[] constant(0)
  $1
})",
                                       type, instructions));
  HloComputation* entry = module->entry_computation();
  Known known = {{entry->parameter_instruction(0), Signed(0, 5)},
                 {entry->parameter_instruction(1), Signed(2, 9)}};
  return RecursivelyIdentifyRange(entry->root_instruction(), known).ToString();
}

TEST(ValueRangeTest, Arithmetic) {
  EXPECT_EQ(RangeOf("ROOT r = s32[] add(p, c7)"),
            "min: 7, max: 12, step: 1, linear");
  EXPECT_EQ(RangeOf("ROOT r = s32[] subtract(c7, p)"),
            "min: 2, max: 7, step: 1, linear");
  EXPECT_EQ(RangeOf("ROOT r = s32[] add(p, q)"),
            "min: 2, max: 14, step: unknown");
  EXPECT_EQ(RangeOf("ROOT r = s32[] subtract(p, q)"),
            "min: -9, max: 3, step: unknown");
  EXPECT_EQ(RangeOf("ROOT r = s32[] multiply(p, c3)"),
            "min: 0, max: 15, step: 3, linear");
  EXPECT_EQ(RangeOf("n = s32[] negate(q)  ROOT r = s32[] multiply(n, c3)"),
            "min: -27, max: -6, step: 3, linear");
  EXPECT_EQ(RangeOf("m = s32[] multiply(p, c7)  a = s32[] add(m, c3)"
                    "  ROOT r = s32[] subtract(a, c7)"),
            "min: -4, max: 31, step: 7, linear");
  EXPECT_EQ(RangeOf("ROOT r = s32[] divide(q, c3)"),
            "min: 0, max: 3, step: unknown");
  EXPECT_EQ(RangeOf("ROOT r = s32[] divide(q, zero)"), "empty");
  EXPECT_EQ(RangeOf("ROOT r = s32[] shift-left(p, c3)"),
            "min: 0, max: 40, step: 8, linear");
  // The highest bit of u8 is shifted in, as if it were the sign.
  EXPECT_EQ(RangeOf("c = u8[] constant(200)  n = u8[] constant(2)  "
                    "ROOT r = u8[] shift-right-arithmetic(c, n)",
                    "u8"),
            "empty");
}

TEST(ValueRangeTest, RemaindersAndBits) {
  EXPECT_EQ(RangeOf("ROOT r = s32[] remainder(p, c7)"),
            "min: 0, max: 5, step: 1, linear");
  EXPECT_EQ(RangeOf("ROOT r = s32[] remainder(q, c7)"),
            "min: 0, max: 6, step: unknown");
  EXPECT_EQ(RangeOf("n = s32[] negate(q)  ROOT r = s32[] remainder(n, c7)"),
            "min: -6, max: 0, step: unknown");
  EXPECT_EQ(RangeOf("ROOT r = s32[] and(q, c3)"),
            "min: 0, max: 3, step: unknown");
  EXPECT_EQ(RangeOf("ROOT r = s32[] or(p, q)"),
            "min: 2, max: 15, step: unknown");
  EXPECT_EQ(RangeOf("ROOT r = s32[] xor(c3, c7)"),
            "min: 4, max: 4, step: unknown, linear");
  EXPECT_EQ(RangeOf("n = s32[] negate(q)  ROOT r = s32[] and(n, c3)"), "empty");
}

TEST(ValueRangeTest, ComparisonsAndChoices) {
  EXPECT_EQ(RangeOf("ROOT r = pred[] compare(p, c7), direction=LT"),
            "min: 1, max: 1, step: unknown, linear");
  EXPECT_EQ(RangeOf("ROOT r = pred[] compare(q, c3), direction=GE"),
            "min: 0, max: 1, step: unknown");
  EXPECT_EQ(RangeOf("x = pred[] compare(p, c7), direction=EQ"
                    "  ROOT r = pred[] not(x)"),
            "min: 1, max: 1, step: unknown, linear");
  EXPECT_EQ(RangeOf("x = pred[] compare(p, c7), direction=GT"
                    "  ROOT r = s32[] select(x, p, q)"),
            "min: 2, max: 9, step: 1, linear");
  EXPECT_EQ(RangeOf("x = pred[] compare(p, c3), direction=NE"
                    "  ROOT r = s32[] select(x, p, q)"),
            "min: 0, max: 9, step: unknown");
  EXPECT_EQ(RangeOf("ROOT r = s32[] minimum(q, c3)"),
            "min: 2, max: 3, step: unknown");
  EXPECT_EQ(RangeOf("ROOT r = s32[] maximum(p, c7)"),
            "min: 7, max: 7, step: unknown, linear");
  EXPECT_EQ(RangeOf("ROOT r = s32[] clamp(c3, q, c7)"),
            "min: 3, max: 7, step: unknown");
}

TEST(ValueRangeTest, WhatMayWrapAroundIsUnknown) {
  EXPECT_EQ(RangeOf("c = s32[] constant(2147483645)"
                    "  ROOT r = s32[] add(p, c)"),
            "empty");
  EXPECT_EQ(RangeOf("c = s32[] constant(2147483642)"
                    "  ROOT r = s32[] add(p, c)"),
            "min: 2147483642, max: 2147483647, step: 1, linear");
  EXPECT_EQ(RangeOf("ROOT r = u32[] subtract(p, c3)", "u32"), "empty");
  EXPECT_EQ(RangeOf("c = s32[] constant(30)  m = s32[] multiply(p, c)"
                    "  ROOT r = s8[] convert(m)"),
            "empty");
  EXPECT_EQ(RangeOf("c = s32[] constant(25)  m = s32[] multiply(p, c)"
                    "  ROOT r = s8[] convert(m)"),
            "min: 0, max: 125, step: 25, linear");
  EXPECT_EQ(RangeOf("c = u64[] constant(18446744073709551615)"
                    "  w = u64[] convert(p)  ROOT r = u64[] multiply(w, c)"),
            "empty");
}

TEST(ValueRangeTest, UnsignedValuesAreNotSigned) {
  EXPECT_EQ(RangeOf("c = u16[] constant(32768)  n = u16[] convert(p)"
                    "  ROOT r = u16[] add(n, c)"),
            "min: 32768, max: 32773, step: 1, linear");
}

TEST(ValueRangeTest, FloatsArraysAndParametersAreUnknown) {
  EXPECT_EQ(RangeOf("f = f32[] convert(p)  ROOT r = s32[] convert(f)"),
            "empty");
  EXPECT_EQ(RangeOf("ROOT r = s32[4] broadcast(p), dimensions={}"), "empty");
  EXPECT_EQ(RangeOf("x = s32[] parameter(2)  ROOT r = s32[] add(x, p)"),
            "empty");
}

TEST(ValueRangeTest, GoesThroughTuplesReshapesAndCopies) {
  EXPECT_EQ(RangeOf("t = (s32[], s32[]) tuple(p, q)"
                    "  g = s32[] get-tuple-element(t), index=1"
                    "  b = s32[1,1] reshape(g)  ROOT r = s32[1,1] copy(b)"),
            "min: 2, max: 9, step: 1, linear");
}

TEST(ValueRangeTest, RemembersWhatItFindsAndTakesWhatItIsGiven) {
  auto module = Parse(R"(
HloModule m
ENTRY e {
  p = s32[] parameter(0)
  a = s32[] add(p, p)
  b = s32[] add(a, a)
  ROOT c = s32[] add(b, b)
})");
  HloComputation* entry = module->entry_computation();
  const HloInstruction* b = entry->GetInstructionWithName("b");
  Known known = {{b, Signed(1, 4)}};
  EXPECT_EQ(RecursivelyIdentifyRange(entry->root_instruction(), known),
            Range(ConstantValue::GetSigned(2, 32),
                  ConstantValue::GetSigned(8, 32), /*is_linear=*/false));
  EXPECT_TRUE(known.contains(entry->root_instruction()));
  EXPECT_FALSE(known.contains(entry->parameter_instruction(0)));
}

TEST(ValueRangeTest, LongChainsNeedNoStack) {
  std::string text =
      "HloModule m\nENTRY e {\n  x0 = s64[] constant(0)\n"
      "  one = s64[] constant(1)\n";
  for (int i = 1; i <= 100000; ++i) {
    absl::StrAppend(&text, i == 100000 ? "ROOT " : "", "x", i, " = s64[] add(x",
                    i - 1, ", one)\n");
  }
  auto module = Parse(text + "}");
  Known known;
  EXPECT_EQ(RecursivelyIdentifyRange(
                module->entry_computation()->root_instruction(), known)
                .GetSingleSignedValue(),
            100000);
}

constexpr char kLoop[] = R"(
HloModule m
double {
  x = s32[] parameter(0)
  ROOT y = s32[] add(x, x)
}
body {
  p = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  o = s32[] get-tuple-element(p), index=1
  four = s32[] constant(4)
  offset = s32[] multiply(i, four)
  called = s32[] call(offset), to_apply=double
  two = s32[] constant(2)
  next = s32[] add(i, two)
  ROOT t = (s32[], s32[]) tuple(next, o)
}
cond {
  q = (s32[], s32[]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  ten = s32[] constant(10)
  ROOT c = pred[] compare(j, ten), direction=LT
}
ENTRY e {
  zero = s32[] constant(0)
  init = (s32[], s32[]) tuple(zero, zero)
  ROOT w = (s32[], s32[]) while(init), condition=cond, body=body
})";

TEST(ValueRangeTest, KnowsTheInductionVariable) {
  auto module = Parse(kLoop);
  HloComputation* body = module->GetComputationWithName("body");
  Known known;
  EXPECT_EQ(
      RecursivelyIdentifyRange(body->GetInstructionWithName("offset"), known)
          .ToString(),
      "min: 0, max: 32, step: 8, linear");
  EXPECT_TRUE(RecursivelyIdentifyRange(body->GetInstructionWithName("o"), known)
                  .IsEmpty());
  EXPECT_TRUE(
      RecursivelyIdentifyRange(body->GetInstructionWithName("called"), known)
          .IsEmpty());
}

TEST(ValueRangeTest, DataflowLeadsThroughCalls) {
  auto module = Parse(kLoop);
  auto dataflow = HloDataflowAnalysis::Run(*module);
  ASSERT_TRUE(dataflow.ok()) << dataflow.status();
  HloComputation* body = module->GetComputationWithName("body");
  Known known;
  EXPECT_EQ(RecursivelyIdentifyRange(body->GetInstructionWithName("called"),
                                     known, dataflow->get())
                .ToString(),
            "min: 0, max: 64, step: unknown");
}

}  // namespace
}  // namespace xla
