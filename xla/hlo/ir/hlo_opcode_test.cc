#include "xla/hlo/ir/hlo_opcode.h"

#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"

namespace xla {
namespace {

TEST(HloOpcodeTest, EveryTextNamesItsOpcode) {
  std::set<std::string> texts;
  for (uint32_t i = 0; i < HloOpcodeCount(); ++i) {
    const HloOpcode opcode = static_cast<HloOpcode>(i);
    const std::string text(HloOpcodeString(opcode));
    EXPECT_TRUE(texts.insert(text).second) << text << " occurs twice";
    auto parsed = StringToHloOpcode(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, opcode) << text;
  }
  EXPECT_EQ(texts.size(), 133);
}

TEST(HloOpcodeTest, UnknownTextIsAnError) {
  for (const char* text : {"", "a", "ad", "addd", "ADD", "add ", "async",
                           "call-start", "get-tuple-elemenT"}) {
    EXPECT_FALSE(TryStringToHloOpcode(text).has_value()) << text;
  }
  auto status = StringToHloOpcode("frobnicate").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("frobnicate"), std::string::npos);
}

TEST(HloOpcodeTest, TextAndNumberOfSomeOpcodes) {
  EXPECT_EQ(HloOpcodeString(HloOpcode::kMultiply), "multiply");
  EXPECT_EQ(absl::StrCat(HloOpcode::kExpm1), "exponential-minus-one");
  EXPECT_EQ(*StringToHloOpcode("count-leading-zeros"), HloOpcode::kClz);
  EXPECT_EQ(HloOpcodeArity(HloOpcode::kAdd), 2);
  EXPECT_EQ(HloOpcodeArity(HloOpcode::kParameter), 0);
  EXPECT_EQ(HloOpcodeArity(HloOpcode::kTuple), std::nullopt);
  EXPECT_TRUE(HloOpcodeIsVariadic(HloOpcode::kConcatenate));
  EXPECT_FALSE(HloOpcodeIsVariadic(HloOpcode::kWhile));
}

TEST(HloOpcodeTest, TraitsOfSomeOpcodes) {
  EXPECT_TRUE(HloOpcodeIsComparison(HloOpcode::kCompare));
  EXPECT_FALSE(HloOpcodeIsComparison(HloOpcode::kAdd));
  EXPECT_TRUE(HloOpcodeIsAsync(HloOpcode::kAsyncUpdate));
  EXPECT_FALSE(HloOpcodeIsAsync(HloOpcode::kAllReduceStart));
  EXPECT_TRUE(HloOpcodeIsBinaryCommutative(HloOpcode::kMaximum));
  EXPECT_FALSE(HloOpcodeIsBinaryCommutative(HloOpcode::kSubtract));
  EXPECT_TRUE(HloOpcodeIsElementwise(HloOpcode::kSelect));
  EXPECT_TRUE(HloOpcodeIsElementwise(HloOpcode::kCopy));
  EXPECT_FALSE(HloOpcodeIsElementwise(HloOpcode::kTranspose));
  EXPECT_FALSE(HloOpcodeIsElementwise(HloOpcode::kDynamicUpdateSlice));
  EXPECT_TRUE(HloOpcodeIsTranscendental(HloOpcode::kTanh));
  EXPECT_TRUE(HloOpcodeAlwaysHasSideEffect(HloOpcode::kRecvDone));
  EXPECT_FALSE(HloOpcodeAlwaysHasSideEffect(HloOpcode::kAllReduce));
}

TEST(HloOpcodeTest, CallContexts) {
  EXPECT_EQ(GetInstructionCallContext(HloOpcode::kWhile),
            CallContext::kControlFlow);
  EXPECT_EQ(GetInstructionCallContext(HloOpcode::kAsyncStart),
            CallContext::kControlFlow);
  EXPECT_EQ(GetInstructionCallContext(HloOpcode::kFusion),
            CallContext::kEmbedded);
  EXPECT_EQ(GetInstructionCallContext(HloOpcode::kAdd), CallContext::kNone);
  EXPECT_EQ(CallContextToString(CallContext::kBoth), "kBoth");
}

TEST(HloOpcodeTest, IsOneOfThoseNamed) {
  EXPECT_TRUE((HloOpcodeIsOneOf<HloOpcode::kAdd>(HloOpcode::kAdd)));
  EXPECT_TRUE(
      (HloOpcodeIsOneOf<HloOpcode::kAdd, HloOpcode::kXor>(HloOpcode::kXor)));
  EXPECT_FALSE(
      (HloOpcodeIsOneOf<HloOpcode::kAdd, HloOpcode::kXor>(HloOpcode::kAnd)));
}

bool IsInElementwiseGroup(HloOpcode opcode) {
  switch (opcode) {
    case XLA_ANY_ELEMENTWISE:
      return true;
    default:
      return false;
  }
}

bool IsInAsyncGroup(HloOpcode opcode) {
  switch (opcode) {
    case XLA_ANY_ASYNC:
      return true;
    default:
      return false;
  }
}

TEST(HloOpcodeTest, GroupsAgreeWithTraits) {
  for (uint32_t i = 0; i < HloOpcodeCount(); ++i) {
    const HloOpcode opcode = static_cast<HloOpcode>(i);
    EXPECT_EQ(IsInElementwiseGroup(opcode) || opcode == HloOpcode::kCopy,
              HloOpcodeIsElementwise(opcode))
        << opcode;
    EXPECT_EQ(IsInAsyncGroup(opcode), HloOpcodeIsAsync(opcode)) << opcode;
  }
}

}  // namespace
}  // namespace xla
