// Asynchronous chains, plain and with sugar.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

// Computations `w` (negate on thread "side") and `other`, then an entry
// computation of two parameters and `lines`.
std::string Text(absl::string_view lines) {
  return absl::StrCat(R"(HloModule m

w {
  x = f32[4] parameter(0)
  ROOT n = negate(x)
}, execution_thread="side"

other {
  x = f32[4] parameter(0)
  ROOT n = sine(x)
}, execution_thread="side"

two {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  ROOT sum = add(x, y)
}

none {
  ROOT c = f32[4] constant({1, 2, 3, 4})
}

ENTRY e {
  p = f32[4] parameter(0)
  q = f32[4] parameter(1)
)",
                      lines, "\n}\n");
}

std::unique_ptr<HloModule> Parse(absl::string_view lines) {
  auto module = ParseAndReturnUnverifiedModule(Text(lines));
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? *std::move(module) : nullptr;
}

std::string ErrorOf(absl::string_view lines) {
  auto module = ParseAndReturnUnverifiedModule(Text(lines));
  return module.ok() ? "OK" : std::string(module.status().message());
}

#define CHAIN "((f32[4]), f32[4], u32[])"

TEST(HloParserAsyncTest, PlainChains) {
  auto module = Parse("s = " CHAIN
                      " async-start(p), calls=w\n"
                      "u = " CHAIN
                      " async-update(s)\n"
                      "ROOT d = f32[4] async-done(u)");
  const HloInstruction* done = module->entry_computation()->root_instruction();
  ASSERT_EQ(done->opcode(), HloOpcode::kAsyncDone);
  EXPECT_EQ(done->async_chain_start()->name(), "s");
  EXPECT_EQ(done->async_wrapped_opcode(), HloOpcode::kNegate);
  EXPECT_EQ(done->async_execution_thread(), "side");
}

TEST(HloParserAsyncTest, NoneOneAndTwoOperands) {
  EXPECT_NE(Parse("s = ((), f32[4], u32[]) async-start(), calls=none\n"
                  "ROOT d = f32[4] async-done(s)"),
            nullptr);
  EXPECT_NE(Parse("s = ((f32[4], f32[4]), f32[4]) async-start(p, q), "
                  "calls=two\nROOT d = f32[4] async-done(s)"),
            nullptr);
}

TEST(HloParserAsyncTest, SugarMakesAComputationOfOneOperation) {
  auto module = Parse("s = " CHAIN
                      " custom-call-start(p), custom_call_target=\"foo\", "
                      "async_execution_thread=\"t\", metadata={op_name=\"o\"}, "
                      "frontend_attributes={a=\"b\"}, backend_config=\"c\"\n"
                      "u = " CHAIN
                      " custom-call-update(s)\n"
                      "ROOT d = f32[4] custom-call-done(u)");
  const HloInstruction* done = module->entry_computation()->root_instruction();
  const HloInstruction* start = done->async_chain_start();
  const HloInstruction* wrapped = start->async_wrapped_instruction();
  EXPECT_EQ(wrapped->opcode(), HloOpcode::kCustomCall);
  EXPECT_EQ(wrapped->custom_call_target(), "foo");
  EXPECT_EQ(start->async_execution_thread(), "t");
  EXPECT_EQ(wrapped->parent()->execution_thread(), "t");
  // What is said of the start is true of the operation.
  for (const HloInstruction* instruction : {start, wrapped}) {
    EXPECT_EQ(instruction->metadata().op_name(), "o");
    EXPECT_EQ(instruction->get_frontend_attribute("a"), "b");
    EXPECT_EQ(instruction->raw_backend_config_string(), "c");
  }
  for (bool sugar : {true, false}) {
    HloPrintOptions options =
        HloPrintOptions().set_syntax_sugar_async_ops(sugar);
    const std::string text = module->ToString(options);
    auto again = ParseAndReturnUnverifiedModule(text);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ((*again)->ToString(options), text);
  }
}

TEST(HloParserAsyncTest, SugarForManyOpcodes) {
  for (absl::string_view lines :
       {"s = " CHAIN " call-start(p), to_apply=w\n"
        "ROOT d = f32[4] call-done(s)",
        "s = " CHAIN " fusion-start(p), kind=kLoop, calls=w\n"
        "ROOT d = f32[4] fusion-done(s)",
        "s = ((f32[4], f32[4]), f32[4]) add-start(p, q)\n"
        "ROOT d = f32[4] add-done(s)",
        "s = ((f32[4]), f32[2]) slice-start(p), slice={[0:2]}\n"
        "ROOT d = f32[2] slice-done(s)",
        "s = ((f32[4]), f32[2]) reduce-scatter-start(p), dimensions={0}, "
        "replica_groups={{0,1}}, to_apply=sum\n"
        "ROOT d = f32[2] reduce-scatter-done(s)\n}\n"
        "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
        " ROOT c = add(a, b)"}) {
    EXPECT_EQ(ErrorOf(lines), "OK") << lines;
  }
}

TEST(HloParserAsyncTest, SugarPrintsAliasesBehindWhatIsWrapped) {
  auto module = Parse(
      "s = ((f32[4]), f32[4], s32[]) slice-start(p), slice={[0:4]}, "
      "output_to_operand_aliasing={{1}: (0, {})}\n"
      "ROOT d = f32[4] slice-done(s)");
  const HloInstruction* start =
      module->entry_computation()->root_instruction()->async_chain_start();
  EXPECT_EQ(start->output_operand_aliasing().size(), 1);
  EXPECT_EQ(start->ToString(),
            "%s = ((f32[4]{0}), f32[4]{0}, s32[]) slice-start(%p), "
            "slice={[0:4]}, output_to_operand_aliasing={{1}: (0, {})}");
}

TEST(HloParserAsyncTest, WhatTheWrappedCanSayTheStartDoesNot) {
  auto module = Parse(
      "s = ((f32[4]), f32[4], s32[]) fusion-start(p), kind=kLoop, calls=w, "
      "output_to_operand_aliasing={{}: (0, {})}\n"
      "ROOT d = f32[4] fusion-done(s), origin={{\"x\"}}");
  const HloInstruction* start =
      module->entry_computation()->root_instruction()->async_chain_start();
  const HloInstruction* fusion = start->async_wrapped_instruction();
  EXPECT_EQ(start->output_operand_aliasing().size(), 0);
  EXPECT_EQ(fusion->output_operand_aliasing().size(), 1);
  ASSERT_NE(fusion->original_value(), nullptr);
  EXPECT_EQ(fusion->original_value()->ToString(), "{\"x\"}");
}

TEST(HloParserAsyncTest, NoSugarForNativePairs) {
  for (absl::string_view opcode :
       {"all-gather-update", "all-reduce-update", "collective-permute-update",
        "copy-update", "send-start", "send-update", "recv-start",
        "async-start-start"}) {
    EXPECT_THAT(ErrorOf(absl::StrCat("s = " CHAIN " ", opcode, "(p)")),
                HasSubstr(absl::StrCat("unknown opcode '", opcode, "'")));
  }
}

TEST(HloParserAsyncTest, LinksMayRepeatWhatTheStartSays) {
  EXPECT_EQ(ErrorOf("s = " CHAIN " custom-call-start(p), "
                    "custom_call_target=\"foo\", async_execution_thread=\"t\"\n"
                    "u = " CHAIN " custom-call-update(s), "
                    "custom_call_target=\"foo\", async_execution_thread=\"t\"\n"
                    "ROOT d = f32[4] custom-call-done(u), "
                    "custom_call_target=\"foo\", "
                    "async_execution_thread=\"t\""),
            "OK");
  EXPECT_EQ(ErrorOf("s = " CHAIN " async-start(p), "
                    "async_execution_thread=\"side\", calls=w\n"
                    "ROOT d = f32[4] async-done(s), calls=w, "
                    "async_execution_thread=\"side\""),
            "OK");
}

TEST(HloParserAsyncTest, LinksMustAgreeWithTheStart) {
  const std::string start = "s = " CHAIN " async-start(p), calls=w\n";
  EXPECT_THAT(ErrorOf(start + "ROOT d = f32[4] sine-done(s)"),
              HasSubstr("the chain was started with negate, not sine"));
  EXPECT_THAT(ErrorOf(start + "ROOT d = f32[4] async-done(s), calls=other"),
              HasSubstr("another computation"));
  EXPECT_THAT(ErrorOf(start + "ROOT d = f32[4] async-done(s), "
                              "async_execution_thread=\"t\""),
              HasSubstr("started on thread 'side', not 't'"));
  EXPECT_THAT(ErrorOf("s = " CHAIN " async-start(p), calls=w, "
                      "async_execution_thread=\"t\""),
              HasSubstr("runs on thread 'side', not 't'"));
}

TEST(HloParserAsyncTest, ChainsBeginAndEnd) {
  const std::string start = "s = " CHAIN " async-start(p), calls=w\n";
  EXPECT_THAT(ErrorOf(start + "d = f32[4] async-done(s)\n"
                              "ROOT x = f32[4] async-done(d)"),
              HasSubstr("ends with its async-done"));
  EXPECT_THAT(ErrorOf("ROOT d = f32[4] async-done(p)"),
              HasSubstr("must be an async-start or async-update"));
  EXPECT_THAT(ErrorOf("ROOT d = f32[4] async-done()"),
              HasSubstr("exactly one operand, found 0"));
  EXPECT_THAT(ErrorOf(start + "ROOT d = f32[4] async-done(s, p)"),
              HasSubstr("exactly one operand, found 2"));
  EXPECT_THAT(ErrorOf("u = " CHAIN " async-update()"),
              HasSubstr("at least one operand"));
  EXPECT_THAT(ErrorOf("s = (f32[4], f32[4]) async-start(p), calls=w"),
              HasSubstr("((operands), results, context...)"));
  EXPECT_THAT(ErrorOf("s = f32[4] async-start(p), calls=w"),
              HasSubstr("((operands), results, context...)"));
  EXPECT_THAT(ErrorOf("s = async-start(p), calls=w"), HasSubstr("a shape"));
  EXPECT_THAT(ErrorOf("s = " CHAIN " async-start(p)"),
              HasSubstr("needs the attribute calls="));
  EXPECT_THAT(ErrorOf("s = " CHAIN " async-start(p, q), calls=w"),
              HasSubstr("has 1 parameters, async-start 2 operands"));
  // A start without a done is not the parser's business.
  EXPECT_EQ(ErrorOf(start), "OK");
}

TEST(HloParserAsyncTest, OperandsMayBeBoundLate) {
  EXPECT_EQ(ErrorOf("s = ((f32[4]), f32[4]) async-start(p), calls=two\n"
                    "u = ((f32[4], f32[4]), f32[4]) async-update(s, q)\n"
                    "ROOT d = f32[4] async-done(u)"),
            "OK");
}

TEST(HloParserAsyncTest, SugarPrintsWhereTheChainTellsTheRest) {
  const auto printed = [](absl::string_view lines) {
    auto module = ParseAndReturnUnverifiedModule(Text(lines));
    return module.ok() ? (*module)->ToString(HloPrintOptions::ShortParsable())
                       : std::string(module.status().message());
  };
  const std::string whole = printed(
      "s = ((f32[4]), (), s32[]) add-start(p)\n"
      "u = ((f32[4], f32[4]), f32[4], s32[]) add-update(s, q)\n"
      "ROOT d = f32[4] add-done(u)");
  EXPECT_THAT(whole, HasSubstr("s = ((f32[4]{0}), (), s32[]) add-start(p)\n"));
  EXPECT_THAT(whole, HasSubstr("s32[]) add-update(s, q)\n"));
  EXPECT_THAT(whole, testing::Not(HasSubstr("async_wrapped")));
  EXPECT_THAT(printed("s = ((), ()) call-start(), to_apply=w\n"
                      "u = ((f32[4]), f32[4]) call-update(s, p)\n"
                      "ROOT d = f32[4] call-done(u)"),
              HasSubstr("s = ((), ()) call-start(), to_apply=w\n"));
  // Nothing says what the second operand is.
  EXPECT_THAT(printed("ROOT s = ((f32[4]), ()) async-start(p), calls=two"),
              HasSubstr("async-start(p), calls=two"));
}

// `op(types of the parameters) -> type` of what the first start calls.
std::string Wrapped(absl::string_view lines) {
  auto module = ParseAndReturnUnverifiedModule(Text(lines));
  if (!module.ok()) return std::string(module.status().message());
  for (const HloInstruction* inst :
       (*module)->entry_computation()->instructions()) {
    if (inst->opcode() != HloOpcode::kAsyncStart) continue;
    const HloComputation* wrapper = inst->async_wrapped_computation();
    std::string text =
        absl::StrCat(HloOpcodeString(inst->async_wrapped_opcode()), "(");
    for (const HloInstruction* parameter : wrapper->parameter_instructions()) {
      absl::StrAppend(&text, ShapeUtil::HumanString(parameter->shape()), ";");
    }
    const std::string printed = (*module)->ToString();
    auto again = ParseAndReturnUnverifiedModule(printed);
    if (!again.ok()) return absl::StrCat(again.status().message(), printed);
    EXPECT_EQ((*again)->ToString(), printed);
    return absl::StrCat(
        text, ") -> ",
        ShapeUtil::HumanString(wrapper->root_instruction()->shape()));
  }
  return "no start";
}

TEST(HloParserAsyncTest, SugarWrapsWhatTheChainBinds) {
  // Operands come one by one, the output with the done alone.
  EXPECT_EQ(Wrapped("s = ((), ()) add-start()\n"
                    "u = ((f32[4]), ()) add-update(s, p)\n"
                    "v = ((f32[4], f32[4]), f32[4]) add-update(u, q)\n"
                    "ROOT d = f32[4] add-done(v)"),
            "add(f32[4];f32[4];) -> f32[4]");
  EXPECT_EQ(Wrapped("s = ((), (), s32[]) custom-call-start(), "
                    "custom_call_target=\"t\"\n"
                    "u = ((f32[4]), (), s32[]) custom-call-update(s, p)\n"
                    "ROOT d = (f32[2], u8[]) custom-call-done(u)"),
            "custom-call(f32[4];) -> (f32[2], u8[])");
  // A call has at least the parameters of what it calls.
  EXPECT_EQ(Wrapped("s = ((), ()) call-start(), to_apply=two"),
            "call(f32[4];f32[4];) -> f32[4]");
  EXPECT_EQ(Wrapped("s = ((), ()) call-start(), to_apply=w\n"
                    "u = ((f32[4], f32[4]), ()) call-update(s, p, q)\n"
                    "ROOT d = f32[64] call-done(u)"),
            "call(f32[4];f32[4];) -> f32[64]");
  EXPECT_EQ(Wrapped("s = ((), f32[]) dot-start(), lhs_contracting_dims={0}, "
                    "rhs_contracting_dims={0}"),
            "dot(f32[];f32[];) -> f32[]");
  EXPECT_EQ(Wrapped("s = ((f32[4]), f32[]) dot-start(p), "
                    "lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
            "dot(f32[4];f32[];) -> f32[]");
  // A start that binds all and shows all has the last word.
  EXPECT_EQ(Wrapped("s = " CHAIN " negate-start(p)\n"
                    "ROOT d = f32[64] negate-done(s)"),
            "negate(f32[4];) -> f32[4]");
  EXPECT_EQ(Wrapped("s = " CHAIN " call-start(p), to_apply=w\n"
                    "ROOT d = f32[64] call-done(s)"),
            "call(f32[4];) -> f32[4]");
  EXPECT_EQ(Wrapped("s = " CHAIN " fusion-start(p), kind=kLoop, calls=w\n"
                    "ROOT d = f32[64] fusion-done(s)"),
            "fusion(f32[4];) -> f32[4]");
}

TEST(HloParserAsyncTest, ThreadsReachAllThatIsCalled) {
  auto module = Parse(
      "s = ((f32[4], f32[4]), f32[4], u32[]) "
      "call-start(p, q), to_apply=two, "
      "async_execution_thread=\"t\"\n"
      "ROOT d = f32[4] call-done(s)");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->GetComputationWithName("two")->execution_thread(), "t");
}

TEST(HloParserAsyncTest, ChainsPassBarriersCopiesAndTuples) {
  auto module = Parse("s = " CHAIN
                      " async-start(p), calls=w\n"
                      "c = " CHAIN
                      " copy(s)\n"
                      "t = tuple(c, q)\n"
                      "b = (" CHAIN
                      ", f32[4]) opt-barrier(t)\n"
                      "g = " CHAIN
                      " get-tuple-element(b), index=0\n"
                      "ROOT d = f32[4] async-done(g)");
  ASSERT_NE(module, nullptr);
  const HloInstruction* done = module->entry_computation()->root_instruction();
  ASSERT_NE(done->async_chain_start(), nullptr);
  EXPECT_EQ(done->async_chain_start()->async_chain_next(), done);
  EXPECT_TRUE(done->IsAsyncDone());
  EXPECT_FALSE(done->IsAsyncProducer());
}

TEST(HloParserAsyncTest, ChainsMayCrossLoops) {
  const std::string loop = R"(
body {
  t = (((f32[4]), f32[4], u32[]), s32[]) parameter(0)
  s = ((f32[4]), f32[4], u32[]) get-tuple-element(t), index=0
  i = get-tuple-element(t), index=1
  u = ((f32[4]), f32[4], u32[]) async-update(s), calls=w
  ROOT r = tuple(u, i)
}
cond {
  t = (((f32[4]), f32[4], u32[]), s32[]) parameter(0)
  ROOT c = pred[] constant(false))";
  auto module = Parse("s = " CHAIN
                      " async-start(p), calls=w\n"
                      "i = s32[] constant(0)\n"
                      "t = tuple(s, i)\n"
                      "l = while(t), condition=cond, body=body\n"
                      "g = " CHAIN
                      " get-tuple-element(l), index=0\n"
                      "ROOT d = f32[4] async-done(g), calls=w\n}\n" +
                      loop);
  ASSERT_NE(module, nullptr);
  const HloInstruction* done = module->entry_computation()->root_instruction();
  ASSERT_NE(done->async_chain_start(), nullptr);
  EXPECT_EQ(done->async_chain_start()->name(), "s");
  EXPECT_EQ(done->async_chain_start()->async_chain_next()->name(), "u");
  EXPECT_EQ(done->async_chain_start()->async_chain_done(), done);
  EXPECT_EQ(done->async_wrapped_opcode(), HloOpcode::kNegate);
  const std::string text = module->ToString();
  auto again = ParseAndReturnUnverifiedModule(text);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ((*again)->ToString(), text);
  EXPECT_THAT(ErrorOf("g = " CHAIN " get-tuple-element(t), index=0\n"
                      "ROOT d = f32[4] async-done(g)"),
              HasSubstr("no instruction 't'"));
  EXPECT_THAT(ErrorOf("g = " CHAIN " parameter(2)\n"
                      "ROOT d = f32[4] async-done(g)"),
              HasSubstr("calls= is needed"));
  // Nor is an element that there is not.
  for (absl::string_view index : {"-1", "1"}) {
    EXPECT_THAT(ErrorOf(absl::StrCat(
                    "s = " CHAIN " async-start(p), calls=w\nt = tuple(s)\n"
                    "g = " CHAIN " get-tuple-element(t), index=",
                    index, "\nROOT d = f32[4] async-done(g)")),
                HasSubstr("calls= is needed"));
  }
}

TEST(HloParserAsyncTest, ChainsGrowLinkByLink) {
  auto module = Parse("s = " CHAIN
                      " async-start(p), calls=w\n"
                      "u = " CHAIN
                      " async-update(s)\n"
                      "ROOT d = f32[4] async-done(u)");
  ASSERT_NE(module, nullptr);
  HloComputation* entry = module->entry_computation();
  auto* start =
      Cast<HloAsyncStartInstruction>(entry->GetInstructionWithName("s"));
  start->AddCallOperand(entry->parameter_instruction(1));
  const auto shape = [&](absl::string_view name) {
    return ShapeUtil::HumanString(entry->GetInstructionWithName(name)->shape());
  };
  EXPECT_EQ(shape("s"), "((f32[4], f32[4]), f32[4], u32[])");
  EXPECT_EQ(shape("u"), "((f32[4]), f32[4], u32[])");
  start->UpdateChainShapes();
  EXPECT_EQ(shape("u"), "((f32[4], f32[4]), f32[4], u32[])");
  EXPECT_EQ(shape("d"), "f32[4]");
}

TEST(HloParserAsyncTest, ClonesAreChainsToo) {
  auto module = Parse(
      "s = ((), (), u32[]) async-start(), calls=w\n"
      "t = (((), (), u32[])) tuple(s)\n"
      "g = ((), (), u32[]) get-tuple-element(t), index=0\n"
      "u = " CHAIN
      " async-update(g, p)\n"
      "ROOT d = f32[4] async-done(u)");
  ASSERT_NE(module, nullptr);
  const auto names = [](const HloModule& of) {
    std::vector<std::string> texts;
    for (const HloInstruction* link :
         Cast<HloAsyncInstruction>(of.entry_computation()->root_instruction())
             ->GetAsyncChain()) {
      EXPECT_EQ(link->GetModule(), &of);
      texts.push_back(absl::StrCat(HloOpcodeString(link->opcode()), " ",
                                   link->operand_count()));
    }
    return texts;
  };
  const auto chain =
      testing::ElementsAre("async-start 0", "async-update 2", "async-done 1");
  EXPECT_THAT(names(*module), chain);
  const auto clone = module->Clone();
  EXPECT_THAT(names(*clone), chain);
  EXPECT_NE(clone->entry_computation()
                ->root_instruction()
                ->async_wrapped_computation(),
            module->entry_computation()
                ->root_instruction()
                ->async_wrapped_computation());
}

// A loop's body is read before the start of what it updates.
TEST(HloParserAsyncTest, LinksInLoopsNameWhatTheyContinue) {
  auto module = ParseAndReturnUnverifiedModule(R"(HloModule m
body {
  s = (((f32[4]), f32[4], u32[])) parameter(0)
  g = ((f32[4]), f32[4], u32[]) get-tuple-element(s), index=0
  u = ((f32[4]), f32[4], u32[]) negate-update(g)
  v = ((f32[4]), f32[4], u32[]) negate-update(u)
  ROOT t = (((f32[4]), f32[4], u32[])) tuple(v)
}
condition {
  s = (((f32[4]), f32[4], u32[])) parameter(0)
  ROOT c = pred[] constant(false)
}
ENTRY e {
  x = f32[4] parameter(0)
  s = ((f32[4]), f32[4], u32[]) negate-start(x)
  t = (((f32[4]), f32[4], u32[])) tuple(s)
  w = (((f32[4]), f32[4], u32[])) while(t), condition=condition, body=body
  g = ((f32[4]), f32[4], u32[]) get-tuple-element(w), index=0
  ROOT d = f32[4] negate-done(g)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  const HloPrintOptions options =
      HloPrintOptions().set_syntax_sugar_async_ops(false);
  const std::string text = (*module)->ToString(options);
  EXPECT_THAT(text, HasSubstr("async-update(%g), calls="));
  EXPECT_THAT(text, HasSubstr("async-update(%u)\n"));
  auto again = ParseAndReturnUnverifiedModule(text);
  ASSERT_TRUE(again.ok()) << again.status() << text;
  EXPECT_EQ((*again)->ToString(options), text);
}

}  // namespace
}  // namespace xla
