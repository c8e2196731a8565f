#include "xla/hlo/ir/hlo_schedule.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

Shape F32Scalar() { return ShapeUtil::MakeShape(F32, {}); }

std::unique_ptr<HloInstruction> Constant(float value) {
  return HloInstruction::CreateConstant(LiteralUtil::CreateR0<float>(value));
}

std::unique_ptr<HloInstruction> Binary(HloOpcode opcode, HloInstruction* a,
                                       HloInstruction* b) {
  return HloInstruction::CreateBinary(a->shape(), opcode, a, b);
}

std::vector<std::string> Names(const HloInstructionSequence& sequence) {
  std::vector<std::string> names;
  for (const HloInstruction* instruction : sequence.instructions()) {
    names.emplace_back(instruction->name());
  }
  return names;
}

// a + b, c = const, sum * c, neg, root: six instructions, scheduled as added.
class HloScheduleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    module_ = std::make_unique<HloModule>("m", HloModuleConfig());
    HloComputation::Builder builder("entry");
    a_ = builder.AddInstruction(
        HloInstruction::CreateParameter(0, F32Scalar(), "a"));
    b_ = builder.AddInstruction(
        HloInstruction::CreateParameter(1, F32Scalar(), "b"));
    c_ = builder.AddInstruction(Constant(42), "c");
    sum_ = builder.AddInstruction(Binary(HloOpcode::kAdd, a_, b_), "sum");
    neg_ = builder.AddInstruction(
        HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kNegate, sum_),
        "neg");
    mul_ =
        builder.AddInstruction(Binary(HloOpcode::kMultiply, neg_, c_), "mul");
    entry_ = module_->AddEntryComputation(builder.Build());
    schedule_ = std::make_unique<HloSchedule>(module_.get());
    schedule_->set_sequence(entry_, {a_, b_, c_, sum_, neg_, mul_});
    ASSERT_TRUE(schedule_->Verify().ok());
  }

  void RunDce() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (HloInstruction* instruction : entry_->instructions()) {
        if (instruction->IsDead() &&
            instruction->opcode() != HloOpcode::kParameter) {
          ASSERT_TRUE(entry_->RemoveInstruction(instruction).ok());
          changed = true;
        }
      }
    }
    ASSERT_TRUE(module_->RemoveUnusedComputations().ok());
  }

  void ExpectUpdatedTo(const std::vector<std::string>& names) {
    absl::Status status = schedule_->Update();
    ASSERT_TRUE(status.ok()) << status;
    status = schedule_->Verify();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(Names(schedule_->sequence(entry_)), names);
  }

  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloSchedule> schedule_;
  HloComputation* entry_;
  HloInstruction *a_, *b_, *c_, *sum_, *neg_, *mul_;
};

TEST_F(HloScheduleTest, UnchangedModuleKeepsItsSchedule) {
  ExpectUpdatedTo({"a", "b", "c", "sum", "neg", "mul"});
  EXPECT_EQ(schedule_->sequence(entry_).size(), 6);
}

TEST_F(HloScheduleTest, NewInstructionsAreInserted) {
  HloInstruction* constant = entry_->AddInstruction(Constant(1), "one");
  HloInstruction* sub = entry_->AddInstruction(
      Binary(HloOpcode::kSubtract, mul_, constant), "sub");
  entry_->set_root_instruction(sub);
  EXPECT_FALSE(schedule_->Verify().ok());
  ExpectUpdatedTo({"one", "a", "b", "c", "sum", "neg", "mul", "sub"});
}

TEST_F(HloScheduleTest, NewInstructionsComeAsSoonAsTheyCan) {
  HloInstruction* exp = entry_->AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kExp, a_), "exp");
  HloInstruction* tanh = entry_->AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kTanh, exp), "tanh");
  HloInstruction* add =
      entry_->AddInstruction(Binary(HloOpcode::kAdd, tanh, sum_), "add");
  entry_->AddInstruction(Binary(HloOpcode::kAdd, add, add), "twice");
  ExpectUpdatedTo(
      {"a", "exp", "tanh", "b", "c", "sum", "add", "twice", "neg", "mul"});
}

TEST_F(HloScheduleTest, ReplacedRootAndDeadCode) {
  HloInstruction* new_root =
      entry_->AddInstruction(Binary(HloOpcode::kSubtract, a_, b_), "new_root");
  entry_->set_root_instruction(new_root);
  HloInstruction* third = entry_->AddInstruction(Constant(3), "three");
  HloInstruction* root =
      entry_->AddInstruction(Binary(HloOpcode::kAdd, new_root, third), "root");
  entry_->set_root_instruction(root);
  RunDce();
  EXPECT_FALSE(schedule_->Verify().ok());
  ExpectUpdatedTo({"three", "a", "b", "new_root", "root"});
}

TEST_F(HloScheduleTest, EverythingReplaced) {
  HloInstruction* x = entry_->AddInstruction(Constant(1), "x");
  HloInstruction* y =
      entry_->AddInstruction(Binary(HloOpcode::kAdd, x, x), "y");
  entry_->set_root_instruction(y);
  RunDce();
  ASSERT_TRUE(entry_->RemoveUnusedParametersFromAnyComputation().ok());
  ExpectUpdatedTo({"x", "y"});
  module_->Cleanup();
  ExpectUpdatedTo({"x", "y"});
}

TEST_F(HloScheduleTest, NewConstantBeforeEverything) {
  HloInstruction* first = entry_->AddInstruction(Constant(7), "first");
  for (HloInstruction* instruction : {a_, b_, c_, sum_, neg_, mul_}) {
    ASSERT_TRUE(first->AddControlDependencyTo(instruction).ok());
  }
  ExpectUpdatedTo({"first", "a", "b", "c", "sum", "neg", "mul"});
}

TEST_F(HloScheduleTest, NewConstantAfterEverything) {
  HloInstruction* last = entry_->AddInstruction(Constant(7), "last");
  for (HloInstruction* instruction : {a_, b_, c_, sum_, neg_, mul_}) {
    ASSERT_TRUE(instruction->AddControlDependencyTo(last).ok());
  }
  ExpectUpdatedTo({"a", "b", "c", "sum", "neg", "mul", "last"});
}

TEST_F(HloScheduleTest, ControlDependencyAgainstTheOrder) {
  ASSERT_TRUE(sum_->AddControlDependencyTo(c_).ok());
  EXPECT_FALSE(schedule_->Verify().ok());
  ExpectUpdatedTo({"a", "b", "sum", "c", "neg", "mul"});
}

TEST_F(HloScheduleTest, CyclesAreErrors) {
  ASSERT_TRUE(mul_->AddControlDependencyTo(sum_).ok());
  EXPECT_EQ(schedule_->Update().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(HloScheduleTest, VerifyFindsWhatIsWrong) {
  schedule_->set_sequence(entry_, {a_, b_, c_, sum_, neg_});
  EXPECT_FALSE(schedule_->Verify().ok());
  schedule_->set_sequence(entry_, {a_, b_, c_, sum_, neg_, neg_});
  EXPECT_FALSE(schedule_->Verify().ok());
  schedule_->set_sequence(entry_, {a_, b_, c_, neg_, sum_, mul_});
  EXPECT_FALSE(schedule_->Verify().ok());
  EXPECT_FALSE(module_->set_schedule(*schedule_).ok());
  schedule_->set_sequence(entry_, {b_, a_, sum_, c_, neg_, mul_});
  EXPECT_TRUE(schedule_->Verify().ok());
  EXPECT_TRUE(module_->set_schedule(*schedule_).ok());
  EXPECT_TRUE(module_->has_schedule());
}

TEST_F(HloScheduleTest, ScheduleOfAnotherModule) {
  HloModule other("other", HloModuleConfig());
  EXPECT_FALSE(other.set_schedule(*schedule_).ok());
}

TEST_F(HloScheduleTest, CleanupKeepsTheModulesSchedule) {
  ASSERT_TRUE(module_->set_schedule(*schedule_).ok());
  HloInstruction* root =
      entry_->AddInstruction(Binary(HloOpcode::kAdd, sum_, sum_), "root");
  entry_->set_root_instruction(root);
  RunDce();
  module_->Cleanup();
  ASSERT_TRUE(module_->schedule().Update().ok());
  ASSERT_TRUE(module_->schedule().Verify().ok());
  const HloInstructionSequence& sequence = module_->schedule().sequence(entry_);
  EXPECT_THAT(Names(sequence), ElementsAre("a", "b", "sum", "root"));
  for (int64_t i = 0; i < sequence.size(); ++i) {
    EXPECT_EQ(sequence.ids()[i], sequence.instructions()[i]->unique_id());
  }
}

// What stays is found though others have its ids now.
TEST_F(HloScheduleTest, CleanupChangesIds) {
  HloInstruction* exp = entry_->AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kExp, a_), "exp");
  HloInstruction* tanh = entry_->AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kTanh, b_), "tanh");
  HloInstruction* root =
      entry_->AddInstruction(Binary(HloOpcode::kAdd, exp, tanh), "root");
  schedule_->set_sequence(entry_,
                          {a_, b_, c_, sum_, neg_, mul_, tanh, exp, root});
  const int64_t id = tanh->unique_id();
  entry_->set_root_instruction(root);
  RunDce();
  module_->Cleanup();
  ASSERT_NE(tanh->unique_id(), id);
  ExpectUpdatedTo({"a", "b", "tanh", "exp", "root"});
}

TEST_F(HloScheduleTest, ProtoRoundTrip) {
  auto proto = schedule_->ToProto();
  ASSERT_TRUE(proto.ok());
  auto copy = HloSchedule::CreateFromProto(module_.get(), *proto);
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(copy->sequence(entry_), schedule_->sequence(entry_));
  proto->mutable_sequences()->begin()->second.add_instruction_ids(12345);
  EXPECT_FALSE(HloSchedule::CreateFromProto(module_.get(), *proto).ok());
}

TEST_F(HloScheduleTest, TextNamesRemovedInstructions) {
  HloInstruction* root =
      entry_->AddInstruction(Binary(HloOpcode::kAdd, a_, b_), "root");
  entry_->set_root_instruction(root);
  RunDce();
  const std::string text = schedule_->ToString();
  EXPECT_NE(text.find("computation entry:"), std::string::npos);
  EXPECT_NE(text.find("(removed)"), std::string::npos);
}

// --- Modules with several computations
// -----------------------------------------

// while (count < limit) { ++count; x = x * 2 } with all computations scheduled.
class HloScheduleWhileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    module_ = std::make_unique<HloModule>("m", HloModuleConfig());
    const Shape s32 = ShapeUtil::MakeShape(S32, {});
    state_ = ShapeUtil::MakeTupleShape({s32, F32Scalar()});

    HloComputation::Builder body("body");
    HloInstruction* p =
        body.AddInstruction(HloInstruction::CreateParameter(0, state_, "p"));
    HloInstruction* count =
        body.AddInstruction(HloInstruction::CreateGetTupleElement(s32, p, 0));
    HloInstruction* x = body.AddInstruction(
        HloInstruction::CreateGetTupleElement(F32Scalar(), p, 1));
    HloInstruction* one = body.AddInstruction(
        HloInstruction::CreateConstant(LiteralUtil::CreateR0<int32_t>(1)));
    HloInstruction* next =
        body.AddInstruction(Binary(HloOpcode::kAdd, count, one));
    HloInstruction* twice = body.AddInstruction(Binary(HloOpcode::kAdd, x, x));
    body.AddInstruction(HloInstruction::CreateTuple({next, twice}));
    body_ = module_->AddEmbeddedComputation(body.Build());

    HloComputation::Builder cond("cond");
    p = cond.AddInstruction(HloInstruction::CreateParameter(0, state_, "q"));
    count =
        cond.AddInstruction(HloInstruction::CreateGetTupleElement(s32, p, 0));
    HloInstruction* limit = cond.AddInstruction(
        HloInstruction::CreateConstant(LiteralUtil::CreateR0<int32_t>(42)));
    cond.AddInstruction(
        HloInstruction::CreateCompare(ShapeUtil::MakeShape(PRED, {}), count,
                                      limit, Comparison::Direction::kLt));
    cond_ = module_->AddEmbeddedComputation(cond.Build());

    HloComputation::Builder entry("entry");
    HloInstruction* init = entry.AddInstruction(
        HloInstruction::CreateParameter(0, state_, "init"));
    while_ = entry.AddInstruction(
        HloInstruction::CreateWhile(state_, cond_, body_, init), "loop");
    entry_ = module_->AddEntryComputation(entry.Build());

    schedule_ = std::make_unique<HloSchedule>(module_.get());
    for (HloComputation* computation : module_->computations()) {
      schedule_->set_sequence(computation,
                              computation->MakeInstructionPostOrder());
    }
    ASSERT_TRUE(schedule_->Verify().ok());
  }

  Shape state_;
  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloSchedule> schedule_;
  HloComputation *body_, *cond_, *entry_;
  HloInstruction* while_;
};

TEST_F(HloScheduleWhileTest, ChangedBodyAndCondition) {
  EXPECT_EQ(schedule_->sequence(body_).size(), 7);
  EXPECT_EQ(schedule_->sequence(cond_).size(), 4);
  // The body passes its parameter on; the condition gets an instruction more.
  HloInstruction* old_root = body_->root_instruction();
  body_->set_root_instruction(body_->parameter_instruction(0));
  ASSERT_TRUE(body_->RemoveInstructionAndUnusedOperands(old_root).ok());
  HloInstruction* less = cond_->root_instruction();
  cond_->set_root_instruction(cond_->AddInstruction(
      HloInstruction::CreateUnary(less->shape(), HloOpcode::kNot, less)));
  EXPECT_FALSE(schedule_->Verify().ok());
  ASSERT_TRUE(schedule_->Update().ok());
  ASSERT_TRUE(schedule_->Verify().ok());
  EXPECT_EQ(schedule_->sequence(body_).size(), 1);
  EXPECT_EQ(schedule_->sequence(cond_).size(), 5);
}

TEST_F(HloScheduleWhileTest, RemovedLoop) {
  entry_->set_root_instruction(entry_->parameter_instruction(0));
  ASSERT_TRUE(entry_->RemoveInstruction(while_).ok());
  ASSERT_TRUE(module_->RemoveUnusedComputations().ok());
  EXPECT_EQ(schedule_->sequences().size(), 3);
  ASSERT_TRUE(schedule_->Update().ok());
  ASSERT_TRUE(schedule_->Verify().ok());
  EXPECT_EQ(schedule_->sequences().size(), 1);
  EXPECT_EQ(schedule_->sequence(entry_).size(), 1);
}

TEST_F(HloScheduleWhileTest, OtherThreadsAreLeftAlone) {
  body_->SetExecutionThread("parallel");
  cond_->SetExecutionThread("parallel");
  for (HloComputation* computation : {body_, cond_}) {
    schedule_->set_sequence(computation,
                            computation->MakeInstructionPostOrder());
  }
  EXPECT_EQ(schedule_->num_sequences_by_execution_thread().at("parallel"), 2);
  entry_->set_root_instruction(entry_->parameter_instruction(0));
  ASSERT_TRUE(entry_->RemoveInstruction(while_).ok());
  ASSERT_TRUE(module_->RemoveUnusedComputations().ok());
  ASSERT_TRUE(schedule_->Update({HloInstruction::kMainExecutionThread}).ok());
  auto counts = schedule_->num_sequences_by_execution_thread();
  EXPECT_EQ(counts.at("main"), 1);
  EXPECT_EQ(counts.at("parallel"), 2);
  ASSERT_TRUE(schedule_->Update().ok());
  EXPECT_FALSE(
      schedule_->num_sequences_by_execution_thread().contains("parallel"));
}

TEST_F(HloScheduleWhileTest, AddedComputationGetsASequence) {
  HloComputation::Builder builder("callee");
  builder.AddInstruction(HloInstruction::CreateParameter(0, state_, "p"));
  HloComputation* callee = module_->AddEmbeddedComputation(builder.Build());
  callee->SetExecutionThread("parallel");
  HloInstruction* call = entry_->AddInstruction(
      HloInstruction::CreateCall(state_, {while_}, callee), "call");
  entry_->set_root_instruction(call);
  ASSERT_TRUE(schedule_->Update({"parallel"}).ok());
  EXPECT_TRUE(schedule_->is_computation_scheduled(callee));
  EXPECT_FALSE(schedule_->Verify().ok());  // The entry has a new instruction.
  ASSERT_TRUE(schedule_->Update({"main"}).ok());
  EXPECT_TRUE(schedule_->Verify().ok());
}

TEST(HloInstructionSequenceTest, Edits) {
  HloModule module("m", HloModuleConfig());
  HloComputation::Builder builder("entry");
  std::vector<HloInstruction*> c;
  for (int i = 0; i < 4; ++i) c.push_back(builder.AddInstruction(Constant(i)));
  module.AddEntryComputation(builder.Build());
  HloInstructionSequence sequence({c[0], c[1]});
  sequence.insert_instruction(c[2], 1);
  EXPECT_THAT(sequence.instructions(), ElementsAre(c[0], c[2], c[1]));
  sequence.replace_instruction(c[2], c[3]);
  EXPECT_FALSE(sequence.contains(c[2]));
  sequence.remove_instruction(c[0]);
  sequence.remove_instruction(c[0]);
  EXPECT_THAT(sequence.instructions(), ElementsAre(c[3], c[1]));
  EXPECT_THAT(sequence.ids(),
              ElementsAre(c[3]->unique_id(), c[1]->unique_id()));
  EXPECT_EQ(sequence, HloInstructionSequence({c[3], c[1]}));
  sequence.clear();
  EXPECT_EQ(sequence.size(), 0);
}

TEST(HloScheduleScaleTest, LongChain) {
  HloModule module("m", HloModuleConfig());
  HloComputation::Builder builder("entry");
  HloInstruction* last = builder.AddInstruction(
      HloInstruction::CreateParameter(0, F32Scalar(), "p"));
  std::vector<HloInstruction*> order = {last};
  for (int i = 0; i < 100000; ++i) {
    last = builder.AddInstruction(
        HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kNegate, last));
    order.push_back(last);
  }
  HloComputation* entry = module.AddEntryComputation(builder.Build());
  HloSchedule schedule(&module);
  // Only the front of the chain is known.
  schedule.set_sequence(entry, absl::MakeSpan(order).subspan(0, 3));
  ASSERT_TRUE(schedule.Update().ok());
  EXPECT_EQ(schedule.sequence(entry).instructions(), order);
  EXPECT_TRUE(schedule.Verify().ok());
}

}  // namespace
}  // namespace xla
