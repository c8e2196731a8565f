#include "xla/hlo/transforms/loops/loop_state.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/literal.h"

namespace xla::remat_plan {
namespace {

constexpr absl::string_view kLoop = R"(HloModule m
body {
  s = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  y = f32[8] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  z = f32[8] negate(x)
  ROOT r = (s32[], f32[8], f32[8]) tuple(j, z, y)
}
condition {
  s.1 = (s32[], f32[8], f32[8]) parameter(0)
  i.1 = s32[] get-tuple-element(s.1), index=0
  ten = s32[] constant(10)
  ROOT less = pred[] compare(i.1, ten), direction=LT
}
ENTRY e {
  a = s32[] parameter(0)
  b = f32[8] parameter(1)
  p = (s32[], f32[8], f32[8]) parameter(2)
  first = f32[8] abs(b)
  t = (s32[], f32[8], f32[8]) tuple(a, b, b)
  w = (s32[], f32[8], f32[8]) while(t), condition=condition, body=body
  g = f32[8] get-tuple-element(w), index=1
  h = f32[8] get-tuple-element(w), index=2
  ROOT last = f32[8] subtract(g, first)
})";

using Edits = std::vector<std::pair<absl::string_view, absl::string_view>>;

// kLoop with some of its text replaced; null, and a failure, if it has no such
// text or does not parse.
std::unique_ptr<HloModule> Loop(const Edits& edits) {
  std::string text(kLoop);
  for (const auto& edit : edits) {
    EXPECT_EQ(absl::StrReplaceAll({edit}, &text), 1) << edit.first;
  }
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status() << text;
  return module.ok() ? *std::move(module) : nullptr;
}

// The loop or one of its tuples waits for something.
std::vector<Edits> WaitingCases() {
  return {
      {{"body=body", "body=body, control-predecessors={first}"}},
      {{"tuple(a, b, b)", "tuple(a, b, b), control-predecessors={first}"}},
      {{"tuple(j, z, y)", "tuple(j, z, y), control-predecessors={one}"}},
  };
}

HloInstruction* Find(const HloModule& module, absl::string_view name) {
  for (HloComputation* computation : module.computations()) {
    HloInstruction* found = computation->GetInstructionWithName(name);
    if (found != nullptr) return found;
  }
  ADD_FAILURE() << "no " << name;
  return nullptr;
}

TEST(LoopStateTest, MatchesStatesThatAreReadByElement) {
  const std::unique_ptr<HloModule> module = Loop({});
  const std::optional<LoopState> state = LoopState::Match(Find(*module, "w"));
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->size(), 3);
  EXPECT_EQ(state->init(), Find(*module, "t"));
  EXPECT_EQ(state->body_root(), Find(*module, "r"));
  EXPECT_EQ(state->body_state(), Find(*module, "s"));
  EXPECT_FALSE(state->IsInvariant(0));
  EXPECT_FALSE(state->IsInvariant(1));
  EXPECT_TRUE(state->IsInvariant(2));
  EXPECT_TRUE(state->ConditionReads(0));
  EXPECT_FALSE(state->ConditionReads(1));
  EXPECT_EQ(state->BodyReaders(1),
            std::vector<HloInstruction*>{Find(*module, "z")});
  EXPECT_TRUE(state->BodyReaders(2).empty());
  EXPECT_EQ(state->ResultReaders(1),
            std::vector<HloInstruction*>{Find(*module, "last")});
  EXPECT_TRUE(state->ResultReaders(2).empty());
  EXPECT_FALSE(state->IsResultRoot(1));
  EXPECT_FALSE(LoopState::Match(Find(*module, "g")).has_value());
}

TEST(LoopStateTest, ElementsAreResultsOfTheComputation) {
  const std::unique_ptr<HloModule> module =
      Loop({{"ROOT last = f32[8] subtract(g, first)", ""},
            {"g = f32[8] get", "ROOT g = f32[8] get"}});
  ASSERT_NE(module, nullptr);
  const std::optional<LoopState> state = LoopState::Match(Find(*module, "w"));
  ASSERT_TRUE(state.has_value());
  EXPECT_FALSE(state->IsResultRoot(0));
  EXPECT_TRUE(state->IsResultRoot(1));
  EXPECT_FALSE(state->IsResultRoot(2));
  EXPECT_EQ(state->ResultReaders(1),
            std::vector<HloInstruction*>{Find(*module, "g")});
}

// Whoever needs the loop's result or its tuples whole, or waits for them, would
// have to be changed with the state.
TEST(LoopStateTest, MatchesOnlyInsideIfTheTuplesAreNeeded) {
  std::vector<Edits> cases = {
      // The result of the entry.
      {{"w = ", "ROOT w = "},
       {"ROOT last = f32[8] subtract(g, first)", ""},
       {"g = f32[8] get-tuple-element(w), index=1", ""},
       {"h = f32[8] get-tuple-element(w), index=2", ""}},
      {{"w = ", "ROOT w = "}, {"ROOT last", "last"}},
      {{"subtract(g, first)",
        "subtract(g, first)\n"
        "c = ((s32[], f32[8], f32[8])) tuple(w)"}},
  };
  const std::vector<Edits> waiting = WaitingCases();
  cases.insert(cases.end(), waiting.begin(), waiting.end());
  for (const Edits& edits : cases) {
    const std::unique_ptr<HloModule> module = Loop(edits);
    ASSERT_NE(module, nullptr);
    HloInstruction* loop = Find(*module, "w");
    EXPECT_FALSE(LoopState::Match(loop).has_value()) << module->ToString();
    EXPECT_TRUE(LoopState::MatchInside(loop).has_value()) << module->ToString();
  }
  // The tuple of the next state is read in the body, too.
  const std::unique_ptr<HloModule> module = Loop({});
  HloInstruction* root = Find(*module, "r");
  root->parent()->AddInstruction(
      HloInstruction::CreateGetTupleElement(root, 1));
  HloInstruction* loop = Find(*module, "w");
  EXPECT_FALSE(LoopState::Match(loop).has_value());
  EXPECT_TRUE(LoopState::MatchInside(loop).has_value());
}

TEST(LoopStateTest, MatchesNoOtherStates) {
  const absl::string_view other =
      "v = (s32[], f32[8], f32[8]) while(p), condition=condition, body=body\n"
      "ROOT last = ";
  const std::vector<Edits> cases = {
      {{"while(t)", "while(p)"}},
      {{"ROOT r = (s32[], f32[8], f32[8]) tuple(j, z, y)",
        "k = (s32[], f32[8], f32[8]) tuple(j, z, y)\n"
        "ROOT r = (s32[], f32[8], f32[8]) copy(k)"}},
      {{"z = f32[8] negate(x)",
        "z = f32[8] negate(x)\n"
        "k = ((s32[], f32[8], f32[8])) tuple(s)"}},
      {{"ten = s32[] constant(10)",
        "ten = s32[] constant(10)\n"
        "k = ((s32[], f32[8], f32[8])) tuple(s.1)"}},
  };
  for (const Edits& edits : cases) {
    const std::unique_ptr<HloModule> module = Loop(edits);
    ASSERT_NE(module, nullptr);
    EXPECT_FALSE(LoopState::MatchInside(Find(*module, "w")).has_value())
        << module->ToString();
  }
  // Another loop has the body, or the condition, or both.
  for (const bool own_body : {false, true}) {
    for (const bool own_condition : {false, true}) {
      const std::unique_ptr<HloModule> module = Loop({{"ROOT last = ", other}});
      ASSERT_NE(module, nullptr);
      HloInstruction* v = Find(*module, "v");
      if (own_body) {
        v->set_while_body(
            module->AddEmbeddedComputation(v->while_body()->Clone()));
      }
      if (own_condition) {
        v->set_while_condition(
            module->AddEmbeddedComputation(v->while_condition()->Clone()));
      }
      EXPECT_EQ(LoopState::MatchInside(Find(*module, "w")).has_value(),
                own_body && own_condition);
    }
  }
}

// Readers of whole tuples get others; what waits for the loop would not wait
// for all of its new form.
TEST(LoopStateTest, OpensLoopsWhoseTuplesAreNeeded) {
  const std::vector<Edits> cases = {
      {{"while(t)", "while(p)"}},
      {{"w = ", "ROOT w = "}, {"ROOT last", "last"}},
      {{"subtract(g, first)",
        "subtract(g, first)\n"
        "c = ((s32[], f32[8], f32[8])) tuple(w)"}},
  };
  for (const Edits& edits : cases) {
    const std::unique_ptr<HloModule> module = Loop(edits);
    ASSERT_NE(module, nullptr);
    HloInstruction* loop = Find(*module, "w");
    const std::string shape = loop->shape().ToString();
    const bool is_root = loop->IsRoot();
    EXPECT_FALSE(LoopState::Match(loop).has_value()) << module->ToString();
    std::optional<LoopState> state = LoopState::MatchClosed(loop);
    ASSERT_TRUE(state.has_value()) << module->ToString();
    EXPECT_EQ(state->size(), 3);
    ASSERT_TRUE(state->Open().ok());
    EXPECT_TRUE(LoopState::Match(loop).has_value()) << module->ToString();
    if (is_root) {
      EXPECT_EQ(
          module->entry_computation()->root_instruction()->shape().ToString(),
          shape);
    }
    // Once is enough.
    const int64_t count = module->entry_computation()->instruction_count();
    ASSERT_TRUE(state->Open().ok());
    EXPECT_EQ(module->entry_computation()->instruction_count(), count);
  }
  for (const Edits& edits : WaitingCases()) {
    const std::unique_ptr<HloModule> module = Loop(edits);
    ASSERT_NE(module, nullptr);
    EXPECT_FALSE(LoopState::MatchClosed(Find(*module, "w")).has_value());
  }
}

TEST(LoopStateTest, PassesValuesThroughOnce) {
  const std::unique_ptr<HloModule> module = Loop({});
  std::optional<LoopState> state = LoopState::Match(Find(*module, "w"));
  ASSERT_TRUE(state.has_value());
  state->loop()->set_sharding(HloSharding::Replicate());
  // Element 1 starts as b, too, but changes.
  EXPECT_EQ(*state->Append(Find(*module, "b")), 2);
  EXPECT_EQ(state->size(), 3);
  EXPECT_EQ(*state->Append(Find(*module, "first")), 3);
  EXPECT_EQ(*state->Append(Find(*module, "first")), 3);
  EXPECT_EQ(state->size(), 4);
  EXPECT_TRUE(state->IsInvariant(3));
  EXPECT_EQ(state->init()->operand(3), Find(*module, "first"));
  for (const HloInstruction* inst :
       {state->loop(), state->body_state(), state->body_root(),
        state->loop()->while_condition()->parameter_instruction(0)}) {
    EXPECT_EQ(inst->shape().ToString(), "(s32[], f32[8], f32[8], f32[8])");
    EXPECT_FALSE(inst->has_sharding()) << "is that of fewer elements";
  }
}

TEST(LoopStateTest, LeavesTuplesThatOthersRead) {
  const std::unique_ptr<HloModule> module =
      Loop({{"h = f32[8] get",
             "k = ((s32[], f32[8], f32[8])) tuple(t)\n"
             "h = f32[8] get"}});
  ASSERT_NE(module, nullptr);
  std::optional<LoopState> state = LoopState::Match(Find(*module, "w"));
  ASSERT_TRUE(state.has_value());
  ASSERT_TRUE(state->Append(Find(*module, "first")).ok());
  EXPECT_EQ(Find(*module, "k")->operand(0), Find(*module, "t"));
  EXPECT_EQ(Find(*module, "t")->operand_count(), 3);
  EXPECT_EQ(state->size(), 4);
  EXPECT_TRUE(
      module->CheckUniqueNamesAndIdsForComputationsAndInstructions().ok());
}

TEST(LoopStateTest, BlanksOnlyWhatNobodyReads) {
  const std::unique_ptr<HloModule> module = Loop({});
  std::optional<LoopState> state = LoopState::Match(Find(*module, "w"));
  ASSERT_TRUE(state.has_value());
  for (const int64_t read : {0, 1}) {
    EXPECT_EQ(state->Blank(read).code(), absl::StatusCode::kFailedPrecondition);
  }
  state->loop()->set_original_value(
      OriginalValue::CreateFromInstruction(state->loop()));
  ASSERT_TRUE(state->Blank(2).ok());
  EXPECT_EQ(state->loop()->original_value()->ToString(),
            R"(({"w" {0}}, {"w" {1}}, {}))");
  EXPECT_EQ(state->loop()->shape().ToString(), "(s32[], f32[8], s32[])");
  EXPECT_EQ(state->body_root()->shape().ToString(), "(s32[], f32[8], s32[])");
  ASSERT_EQ(state->init()->operand(2)->opcode(), HloOpcode::kConstant);
  EXPECT_TRUE(state->init()->operand(2)->literal().IsAll(0));
  EXPECT_TRUE(state->IsInvariant(2));
  // The only read left is the one that passes the element on.
  EXPECT_EQ(state->body_state()->user_count(), 3);
  EXPECT_EQ(state->loop()->user_count(), 1);
}

}  // namespace
}  // namespace xla::remat_plan
