// What verifiers ask, and what visitors check and count.

#include "xla/hlo/verifier/visitors/verifier_visitors.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/hlo/verifier/visitors/layout_change.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

absl::Status VerifyRoot(absl::string_view root) {
  std::unique_ptr<HloModule> module = Parse(absl::StrCat(
      "ENTRY e { a = f32[4,8]{0,1} parameter(0) z = f32[] parameter(1) "
      "ROOT r = ",
      root, " }"));
  return VerifyHloModule(
      module.get(),
      HloVerifierOpts().MakeLayoutSensitive().WithInstructionCanChangeLayout(
          InstructionCanChangeLayout));
}

TEST(VerifierVisitorsTest, LayoutsAreKeptByWhatFollowsItsOperands) {
  for (const char* keeps : {"f32[4,8]{1,0} add(a, a)",
                            "f32[2,8]{1,0} slice(a), slice={[0:2], [0:8]}",
                            "f32[8,8]{1,0} concatenate(a, a), dimensions={0}",
                            "f32[6,8]{1,0} pad(a, z), padding=1_1x0_0"}) {
    EXPECT_THAT(std::string(VerifyRoot(keeps).message()), StartsWith("[V42]"))
        << keeps;
  }
  for (const char* changes :
       {"f32[4,8]{1,0} copy(a)", "f32[8,4]{1,0} transpose(a), dimensions={1,0}",
        "f32[8,4]{1,0} reshape(a)",
        "f32[4,4]{1,0} dot(a, a), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={1}",
        "f32[4,8]{1,0} custom-call(a), custom_call_target=\"t\""}) {
    EXPECT_EQ(VerifyRoot(changes), absl::OkStatus()) << changes;
  }
}

TEST(VerifierVisitorsTest, InstructionsAreCheckedOneByOne) {
  const absl::string_view text = R"(
    f { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }
    ENTRY e { x = f32[4] parameter(0) ROOT c = f32[4] call(x), to_apply=f })";
  std::unique_ptr<HloModule> module = Parse(text);
  std::unique_ptr<HloModule> other = Parse(text);
  auto check = [&] {
    InstructionVerifier verifier(module.get(), HloVerifierOpts());
    for (HloComputation* computation : module->computations()) {
      absl::Status status = computation->Accept(&verifier);
      if (!status.ok()) return std::string(status.message());
    }
    return std::string();
  };
  EXPECT_EQ(check(), "");
  HloInstruction* root = module->entry_computation()->root_instruction();
  root->SetAndSanitizeName("n");
  EXPECT_THAT(check(), AllOf(StartsWith("[V8]"), HasSubstr("another one in")));
  root->SetAndSanitizeName("c");
  *root->mutable_shape() = ShapeUtil::MakeShape(F32, {5});
  EXPECT_THAT(check(), StartsWith("[V"));
  InstructionVerifier verifier(module.get(), HloVerifierOpts());
  EXPECT_THAT(
      std::string(other->entry_computation()->Accept(&verifier).message()),
      StartsWith("[V2]"));
}

TEST(VerifierVisitorsTest, MetadataIsCounted) {
  std::unique_ptr<HloModule> module = Parse(R"(
    ENTRY e {
      p = f32[4] parameter(0), metadata={op_name="x"}
      n = f32[4] negate(p), metadata={op_type="neg" op_name="y"}
      a = f32[4] abs(n), metadata={source_file="f.py" source_line=3}
      ROOT r = f32[4] sine(a)
    })");
  MetadataTracker tracker("here");
  EXPECT_EQ(module->entry_computation()->Accept(&tracker), absl::OkStatus());
  EXPECT_EQ(tracker.ToString(),
            "here: 4 instructions, 3 with metadata: 1 op_type, 2 op_name, "
            "1 source file, 0 stack frame");
}

}  // namespace
}  // namespace xla
