// The graph itself, which no text can break: each test breaks one thing behind
// the back of the IR, verifies, and repairs it.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/ptrvec.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {

// Private members, for tests that break what the interface keeps whole.
template <typename Tag, typename Tag::Type kMember>
struct Expose {
  friend typename Tag::Type Member(Tag) { return kMember; }
};
struct ComputationParent {
  using Type = HloModule* HloComputation::*;
  friend Type Member(ComputationParent);
};
template struct Expose<ComputationParent, &HloComputation::parent_>;
struct ComputationRoot {
  using Type = HloInstruction* HloComputation::*;
  friend Type Member(ComputationRoot);
};
template struct Expose<ComputationRoot, &HloComputation::root_instruction_>;
struct InstructionParent {
  using Type = HloComputation* HloInstruction::*;
  friend Type Member(InstructionParent);
};
template struct Expose<InstructionParent, &HloInstruction::parent_>;
struct InstructionId {
  using Type = HloInstruction::LocalId HloInstruction::*;
  friend Type Member(InstructionId);
};
template struct Expose<InstructionId, &HloInstruction::local_id_>;

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr absl::string_view kModule = R"(
HloModule m

other {
  p = f32[4] parameter(0)
  q = f32[4] parameter(1)
  ROOT sub = f32[4] subtract(p, q)
}

inner {
  p = f32[4] parameter(0)
  ROOT copy = f32[4] copy(p)
}

callee {
  p = f32[4] parameter(0)
  ROOT nested = f32[4] call(p), to_apply=inner
}

ENTRY main {
  a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  neg = f32[4] negate(a)
  add = f32[4] add(neg, b), control-predecessors={a}
  called = f32[4] call(add), to_apply=callee
  custom = f32[4] custom-call(called), custom_call_target="t", called_computations={other}
  ROOT mul = f32[4] multiply(custom, add)
}
)";

// Sets a value, and puts the old one back when it goes.
template <typename T>
class Broken {
 public:
  Broken(T& place, T value) : place_(place), old_(place) { place_ = value; }
  ~Broken() { place_ = old_; }

 private:
  T& place_;
  T old_;
};

template <typename T>
T& Mutable(const T& value) {
  return const_cast<T&>(value);
}

class VerifyStructureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto module = ParseAndReturnUnverifiedModule(kModule);
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
    ASSERT_EQ(Verify(), absl::OkStatus());
  }
  void TearDown() override {
    if (module_ == nullptr) return;
    EXPECT_EQ(Verify(), absl::OkStatus());
  }

  HloComputation& Comp(absl::string_view name) {
    return *module_->GetComputationWithName(name);
  }
  HloInstruction& Inst(absl::string_view name,
                       absl::string_view computation = "main") {
    return *Comp(computation).GetInstructionWithName(name);
  }
  absl::Status Verify(const HloVerifierOpts& opts = {}) {
    return VerifyHloModule(module_.get(), opts);
  }
  void ExpectBroken(absl::string_view number, absl::string_view text = "",
                    const HloVerifierOpts& opts = {}) {
    const absl::Status status = Verify(opts);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(
        std::string(status.message()),
        AllOf(StartsWith(std::string(number)), HasSubstr(std::string(text))));
  }

  std::unique_ptr<HloModule> module_;
};

TEST_F(VerifyStructureTest, NoEntry) {
  HloModule module("m", HloModuleConfig());
  const absl::Status status = VerifyHloModule(&module, {});
  EXPECT_THAT(std::string(status.message()), StartsWith("[V1] "));
}

TEST_F(VerifyStructureTest, ComputationOfAnotherModule) {
  Broken<HloModule*> broken(Comp("other").*Member(ComputationParent()),
                            nullptr);
  ExpectBroken("[V2]", "computation %other");
}

TEST_F(VerifyStructureTest, TwoComputationsOfOneName) {
  HloComputation& inner = Comp("inner");
  inner.SetAndSanitizeName("callee");
  ExpectBroken("[V3]", "computation %callee");
  inner.SetAndSanitizeName("inner");
}

TEST_F(VerifyStructureTest, NoRoot) {
  Broken<HloInstruction*> broken(Comp("inner").*Member(ComputationRoot()),
                                 nullptr);
  ExpectBroken("[V4]", "there is no root");
}

TEST_F(VerifyStructureTest, RootOfAnotherComputation) {
  Broken<HloInstruction*> broken(Comp("inner").*Member(ComputationRoot()),
                                 &Inst("mul"));
  ExpectBroken("[V4]", "%mul is not in it");
}

TEST_F(VerifyStructureTest, RootWithoutMark) {
  Inst("mul").MarkAsNonRoot();
  ExpectBroken("[V5]", "the root, and not marked");
  Inst("mul").MarkAsRoot();
}

TEST_F(VerifyStructureTest, MarkThatIsNoRoot) {
  Inst("neg").MarkAsRoot();
  ExpectBroken("[V5]", "marked, and not the root");
  Inst("neg").MarkAsNonRoot();
}

TEST_F(VerifyStructureTest, InstructionOfAnotherComputation) {
  Broken<HloComputation*> broken(Inst("neg").*Member(InstructionParent()),
                                 &Comp("inner"));
  ExpectBroken("[V6]", "held by %main");
}

TEST_F(VerifyStructureTest, LocalIdsOutOfOrder) {
  HloInstruction::LocalId& id = Inst("neg").*Member(InstructionId());
  Broken<HloInstruction::LocalId> broken(id, id + 1);
  ExpectBroken("[V7]");
}

TEST_F(VerifyStructureTest, LocalIdOutOfRange) {
  Broken<HloInstruction::LocalId> broken(Inst("mul").*Member(InstructionId()),
                                         1000000);
  ExpectBroken("[V7]", "found 1000000");
}

TEST_F(VerifyStructureTest, TwoInstructionsOfOneName) {
  Inst("neg").SetAndSanitizeName("add");
  ExpectBroken("[V8]", "%add");
  Inst("add").SetAndSanitizeName("neg");
}

TEST_F(VerifyStructureTest, ParametersOutOfOrder) {
  auto& parameters = Mutable(Comp("main").parameter_instructions());
  std::swap(parameters[0], parameters[1]);
  ExpectBroken("[V9]", "parameter 0 is something else");
  std::swap(parameters[0], parameters[1]);
}

TEST_F(VerifyStructureTest, ParameterThatIsNotListed) {
  auto& parameters = Mutable(Comp("main").parameter_instructions());
  HloInstruction* last = parameters.back();
  parameters.pop_back();
  ExpectBroken("[V9]", "expected 1 parameters");
  parameters.push_back(last);
}

TEST_F(VerifyStructureTest, OneOperandTooMany) {
  Inst("neg").AppendOperand(&Inst("b"));
  // The operand is further down, and the order is not at fault.
  ExpectBroken("[V10]", "expected 1, found 2");
  module_.reset();
}

TEST_F(VerifyStructureTest, NullOperand) {
  Broken<HloInstruction*> broken(Mutable(Inst("neg").operands())[0], nullptr);
  ExpectBroken("[V11]", "negate(null)");
}

TEST_F(VerifyStructureTest, NullCallee) {
  Broken<HloComputation*> broken(
      *Mutable(Inst("called").called_computations()).begin(), nullptr);
  ExpectBroken("[V11]", "a called computation");
}

TEST_F(VerifyStructureTest, NullControlNeighbor) {
  Broken<HloInstruction*> broken(
      *Mutable(Inst("add").control_predecessors()).begin(), nullptr);
  ExpectBroken("[V11]", "a control neighbor");
}

TEST_F(VerifyStructureTest, OperandThatDoesNotKnow) {
  Broken<HloInstruction*> broken(Mutable(Inst("neg").operands())[0],
                                 &Inst("b"));
  ExpectBroken("[V12]", "%b does not list it");
}

TEST_F(VerifyStructureTest, UserThatIsNone) {
  auto& users = Mutable(Inst("neg").users());
  users.push_back(&Inst("mul"));
  ExpectBroken("[V13]", "%mul does not use it");
  users.pop_back();
}

TEST_F(VerifyStructureTest, ControlEdgeWithOneEnd) {
  auto& successors = Mutable(Inst("a").control_successors());
  successors.push_back(&Inst("mul"));
  ExpectBroken("[V14]", "only %a knows");
  successors.pop_back();
}

TEST_F(VerifyStructureTest, ControlEdgeToAnotherComputation) {
  Broken<HloInstruction*> broken(
      *Mutable(Inst("a").control_successors()).begin(), &Inst("sub", "other"));
  ExpectBroken("[V15]", "%sub is elsewhere");
}

TEST_F(VerifyStructureTest, CycleOfOperands) {
  ASSERT_EQ(Inst("neg").ReplaceOperandWith(0, &Inst("add")), absl::OkStatus());
  ExpectBroken("[V16]");
  ASSERT_EQ(Inst("neg").ReplaceOperandWith(0, &Inst("a")), absl::OkStatus());
}

TEST_F(VerifyStructureTest, CycleThroughControl) {
  ASSERT_EQ(Inst("mul").AddControlDependencyTo(&Inst("neg")), absl::OkStatus());
  ExpectBroken("[V16]");
  ASSERT_EQ(Inst("mul").RemoveControlDependencyTo(&Inst("neg")),
            absl::OkStatus());
}

TEST_F(VerifyStructureTest, OrderOfStorageIsNoMatter) {
  // `late` stands behind its user.
  HloInstruction* late =
      Comp("main").AddInstruction(HloInstruction::CreateUnary(
          ShapeUtil::MakeShape(F32, {4}), HloOpcode::kAbs, &Inst("a")));
  ASSERT_EQ(Inst("neg").ReplaceOperandWith(0, late), absl::OkStatus());
  EXPECT_EQ(Verify(), absl::OkStatus());
}

TEST_F(VerifyStructureTest, OperandOfAnotherComputation) {
  Broken<HloInstruction*> broken(Mutable(Inst("neg").operands())[0],
                                 &Inst("sub", "other"));
  ExpectBroken("[V17]",
               "[V17] operands are defined in the same computation: %neg = "
               "f32[4] negate(%sub) in computation %main: expected main, "
               "found other for %sub");
}

TEST_F(VerifyStructureTest, CalleeOfAnotherModule) {
  auto another = ParseAndReturnUnverifiedModule(kModule);
  ASSERT_TRUE(another.ok());
  Broken<HloComputation*> broken(
      *Mutable(Inst("called").called_computations()).begin(),
      (*another)->GetComputationWithName("callee"));
  ExpectBroken("[V18]", "%called");
}

TEST_F(VerifyStructureTest, CalleeTooMany) {
  auto& callees = Mutable(Inst("nested", "callee").called_computations());
  callees.push_back(&Comp("inner"));
  ExpectBroken("[V19]", "expected 1, found 2");
  callees.pop_back();
}

TEST_F(VerifyStructureTest, Recursion) {
  Inst("nested", "callee").set_to_apply(&Comp("callee"));
  ExpectBroken("[V20]", "calls %callee");
  Inst("nested", "callee").set_to_apply(&Comp("inner"));
}

// A chain of calls, one per level.
std::string NestedCalls(int levels) {
  std::string text =
      "HloModule nested\nlevel0 {\n  ROOT p = f32[] parameter(0)\n}\n";
  for (int i = 1; i <= levels; ++i) {
    absl::StrAppend(&text, i == levels ? "ENTRY " : "", "level", i,
                    " {\n  p = f32[] parameter(0)\n"
                    "  ROOT c = f32[] call(p), to_apply=level",
                    i - 1, "\n}\n");
  }
  return text;
}

TEST_F(VerifyStructureTest, CallsThatNestTooDeeply) {
  auto within = ParseAndReturnUnverifiedModule(NestedCalls(499));
  ASSERT_TRUE(within.ok()) << within.status();
  EXPECT_EQ(VerifyHloModule(within->get(), {}), absl::OkStatus());
  auto beyond = ParseAndReturnUnverifiedModule(NestedCalls(501));
  ASSERT_TRUE(beyond.ok()) << beyond.status();
  const absl::Status status = VerifyHloModule(beyond->get(), {});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), StartsWith("[V48] "));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("nest more than 500 levels deep"));
}

// The parser refuses these.
TEST_F(VerifyStructureTest, LayoutConstraintsOfOtherShapes) {
  auto module = ParseAndReturnUnverifiedModule(
      "HloModule m\nENTRY e {\n  a = f32[4]{0} parameter(0)\n"
      "  ROOT n = f32[4]{0} negate(a)\n}\n");
  ASSERT_TRUE(module.ok()) << module.status();
  HloComputation* entry = (*module)->entry_computation();
  for (const Shape& constraint :
       {ShapeUtil::MakeShape(F32, {4}), ShapeUtil::MakeShape(F32, {5})}) {
    HloInstruction* call =
        entry->AddInstruction(HloInstruction::CreateCustomCall(
            ShapeUtil::MakeShape(F32, {4}), {entry->parameter_instruction(0)},
            "t", absl::Span<const Shape>(&constraint, 1)));
    entry->set_root_instruction(call);
    const absl::Status status = VerifyHloModule(module->get(), {});
    if (constraint.dimensions(0) == 4) {
      EXPECT_EQ(status, absl::OkStatus());
      continue;
    }
    EXPECT_THAT(std::string(status.message()), StartsWith("[V120] "));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("expected f32[5] as operand 0, found f32[4]"));
  }
}

TEST_F(VerifyStructureTest, CallerThatIsNotListed) {
  auto& callees = Mutable(Inst("custom").called_computations());
  callees.push_back(&Comp("inner"));
  ExpectBroken("[V21]", "computation %inner: expected 2, found 1");
  callees.pop_back();
}

TEST_F(VerifyStructureTest, CalleeOnAnotherThread) {
  Comp("inner").SetExecutionThread("host");
  ExpectBroken("[V22]", "expected main, found host for %inner");
  Comp("inner").SetExecutionThread(HloInstruction::kMainExecutionThread);
}

TEST_F(VerifyStructureTest, NameIsNoSchedulingName) {
  Inst("neg").set_metadata_scheduling_name("neg");
  Inst("add").set_metadata_scheduling_name("sum");
  EXPECT_EQ(Verify(), absl::OkStatus());
  ExpectBroken("[V23]", "expected sum, found add",
               HloVerifierOpts().VerifyInstructionNameUnchanged());
  Inst("add").SetAndSanitizeName("sum.clone");
  EXPECT_EQ(Verify(HloVerifierOpts().VerifyInstructionNameUnchanged()),
            absl::OkStatus());
}

TEST_F(VerifyStructureTest, ErrorsNameTheSource) {
  OpMetadata metadata;
  metadata.set_source_file("model.py");
  metadata.set_source_line(12);
  Inst("neg").set_metadata(metadata);
  Broken<HloInstruction*> broken(Mutable(Inst("neg").operands())[0], nullptr);
  ExpectBroken("[V11]", "(model.py:12)");
}

// Users beyond the first few, and operands beyond the first few.
TEST_F(VerifyStructureTest, ManyUsersAndOperands) {
  HloComputation& main = Comp("main");
  HloInstruction::InstructionVector all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(main.AddInstruction(HloInstruction::CreateUnary(
        ShapeUtil::MakeShape(F32, {4}), HloOpcode::kNegate, &Inst("a"))));
    all.push_back(&Inst("a"));
  }
  HloInstruction* tuple = main.AddInstruction(HloInstruction::CreateTuple(all));
  EXPECT_EQ(Verify(), absl::OkStatus());
  Broken<HloInstruction*> broken(Mutable(tuple->operands())[7], &Inst("mul"));
  ExpectBroken("[V12]", "%mul does not list it");
}

}  // namespace
}  // namespace xla
