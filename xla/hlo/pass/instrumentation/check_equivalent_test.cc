#include "xla/hlo/pass/instrumentation/check_equivalent.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/substitute.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"

namespace xla {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Swaps the operands of the root, once.
class SwapOperands : public HloModulePass {
 public:
  absl::string_view name() const override { return "swap-operands"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& threads) override {
    HloComputation* entry = module->entry_computation();
    HloInstruction* root = entry->root_instruction();
    entry->set_root_instruction(entry->AddInstruction(
        root->CloneWithNewOperands(root->shape(), {root->mutable_operand(1),
                                                   root->mutable_operand(0)})));
    absl::Status removed = entry->RemoveInstruction(root);
    if (!removed.ok()) return removed;
    return true;
  }
};

// Runs the pass twice.
absl::Status Swap(absl::string_view text, MeaningOptions options,
                  std::string* notes) {
  auto module = ParseAndReturnUnverifiedModule(text);
  if (!module.ok()) return module.status();
  HloPassPipeline pipeline("test");
  pipeline.AddPass<SwapOperands>();
  pipeline.AddPass<SwapOperands>();
  pipeline.AddInstrumentation(std::make_shared<CheckEquivalent>(
      std::move(options), [notes](absl::string_view note) {
        notes->append(note.data(), note.size());
      }));
  return pipeline.Run(module->get()).status();
}

constexpr char kModule[] = R"(HloModule m
ENTRY e { a = f32[3] parameter(0) b = f32[3] parameter(1)
  ROOT r = f32[3] $0(a, b) })";

TEST(CheckEquivalentTest, FindsTheFirstPassThatChangesTheMeaning) {
  std::string notes;
  EXPECT_TRUE(Swap(absl::Substitute(kModule, "add"), {}, &notes).ok());
  absl::Status status = Swap(absl::Substitute(kModule, "subtract"), {}, &notes);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              HasSubstr("pass swap-operands changed the meaning of the module: "
                        "output at [0]: expected"));
  EXPECT_THAT(notes, IsEmpty());
}

TEST(CheckEquivalentTest, SaysWhatItCannotCheck) {
  std::string notes;
  MeaningOptions options;
  options.max_work = 1;
  EXPECT_TRUE(
      Swap(absl::Substitute(kModule, "subtract"), options, &notes).ok());
  EXPECT_THAT(notes, HasSubstr("note: equivalence is not checked for m: "));
  notes.clear();
  EXPECT_TRUE(Swap(R"(HloModule m
ENTRY e { a = f32[3] parameter(0) b = f32[3] constant({...})
  ROOT r = f32[3] subtract(a, b) })",
                   {}, &notes)
                  .ok());
  EXPECT_THAT(notes, HasSubstr("the constant is elided"));
}

}  // namespace
}  // namespace xla
