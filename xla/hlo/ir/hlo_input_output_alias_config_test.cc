#include "xla/hlo/ir/hlo_input_output_alias_config.h"

#include <memory>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

int64_t SizeOf(const Shape& shape) { return ShapeUtil::ByteSizeOf(shape, 8); }

// (a f32[4], b f32[4], t (f32[4], f32[8])) -> (a, b, t.1).
class HloInputOutputAliasConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    module_ = std::make_unique<HloModule>("m", HloModuleConfig());
    const Shape small = ShapeUtil::MakeShape(F32, {4});
    const Shape large = ShapeUtil::MakeShape(F32, {8});
    HloComputation::Builder builder("entry");
    HloInstruction* a =
        builder.AddInstruction(HloInstruction::CreateParameter(0, small, "a"));
    HloInstruction* b =
        builder.AddInstruction(HloInstruction::CreateParameter(1, small, "b"));
    HloInstruction* t = builder.AddInstruction(HloInstruction::CreateParameter(
        2, ShapeUtil::MakeTupleShape({small, large}), "t"));
    HloInstruction* t1 = builder.AddInstruction(
        HloInstruction::CreateGetTupleElement(large, t, 1));
    builder.AddInstruction(HloInstruction::CreateTuple({a, b, t1}));
    module_->AddEntryComputation(builder.Build());
  }

  HloInputOutputAliasConfig& config() {
    return module_->input_output_alias_config();
  }

  std::unique_ptr<HloModule> module_;
};

TEST_F(HloInputOutputAliasConfigTest, SimpleAlias) {
  ASSERT_TRUE(config().SetUpAlias({0}, 1, {}).ok());
  EXPECT_TRUE(config().ParameterHasAlias(1, {}));
  EXPECT_TRUE(config().OutputHasAlias({0}));
  EXPECT_FALSE(config().ParameterHasAlias(0, {}));
  EXPECT_FALSE(config().OutputHasAlias({1}));
  EXPECT_FALSE(config().OutputHasAlias({7, 7}));
  EXPECT_FALSE(config().ParameterMustAlias(1, {}));
  EXPECT_EQ(*config().GetAliasedOutput(1, {}), ShapeIndex({0}));
  EXPECT_EQ(config().GetAliasedParameter({0})->parameter_number, 1);
  EXPECT_TRUE(config().Verify(*module_, SizeOf).ok());
}

TEST_F(HloInputOutputAliasConfigTest, MustAliasAndTupleLeaves) {
  ASSERT_TRUE(
      config()
          .SetUpAlias({2}, 2, {1}, HloInputOutputAliasConfig::kMustAlias)
          .ok());
  EXPECT_TRUE(config().ParameterMustAlias(2, {1}));
  EXPECT_TRUE(config().Verify(*module_, SizeOf).ok());
  ASSERT_TRUE(config().SetUpAlias({0}, 0, {}).ok());
  EXPECT_EQ(config().ToShortString(),
            "{0}: (0, {}, may-alias), {2}: (2, {1}, must-alias)");
}

TEST_F(HloInputOutputAliasConfigTest, OneAliasPerOutputAndPerParameter) {
  ASSERT_TRUE(config().SetUpAlias({0}, 0, {}).ok());
  EXPECT_FALSE(config().SetUpAlias({0}, 1, {}).ok());
  EXPECT_FALSE(config().SetUpAlias({5}, 1, {}).ok());
  EXPECT_FALSE(config().SetUpAlias({1}, -1, {}).ok());
  EXPECT_TRUE(config().SetUpAlias({1}, 1, {}).ok());
}

TEST_F(HloInputOutputAliasConfigTest, TwoOutputsOfOneParameterDoNotVerify) {
  ASSERT_TRUE(config().SetUpAlias({0}, 0, {}).ok());
  EXPECT_TRUE(config().Verify(*module_, SizeOf).ok());
  ASSERT_TRUE(config().SetUpAlias({1}, 0, {}).ok());
  EXPECT_FALSE(config().Verify(*module_, SizeOf).ok());
}

TEST_F(HloInputOutputAliasConfigTest, VerifyFindsWhatTheModuleLacks) {
  ASSERT_TRUE(config().SetUpAlias({0}, 3, {}).ok());
  EXPECT_FALSE(config().Verify(*module_, SizeOf).ok());

  config() = HloInputOutputAliasConfig(module_->result_shape());
  ASSERT_TRUE(config().SetUpAlias({0}, 0, {1}).ok());
  EXPECT_FALSE(config().Verify(*module_, SizeOf).ok());

  config() = HloInputOutputAliasConfig(module_->result_shape());
  ASSERT_TRUE(config().SetUpAlias({0}, 2, {1}).ok());  // 16 and 32 bytes.
  EXPECT_FALSE(config().Verify(*module_, SizeOf).ok());

  config() = HloInputOutputAliasConfig(module_->result_shape());
  ASSERT_TRUE(config().SetUpAlias({0}, 2, {}).ok());  // A tuple.
  EXPECT_FALSE(config().Verify(*module_, SizeOf).ok());
}

TEST_F(HloInputOutputAliasConfigTest, ProtoRoundTrip) {
  ASSERT_TRUE(config().SetUpAlias({0}, 1, {}).ok());
  ASSERT_TRUE(
      config()
          .SetUpAlias({2}, 2, {1}, HloInputOutputAliasConfig::kMustAlias)
          .ok());
  auto copy = HloInputOutputAliasConfig::CreateFromProto(
      module_->result_shape(), config().ToProto());
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(copy->ToString(), config().ToString());
}

TEST_F(HloInputOutputAliasConfigTest, ForEachWithStatusStops) {
  ASSERT_TRUE(config().SetUpAlias({0}, 0, {}).ok());
  ASSERT_TRUE(config().SetUpAlias({1}, 1, {}).ok());
  int calls = 0;
  absl::Status status = config().ForEachAliasWithStatus(
      [&](const ShapeIndex&, const HloInputOutputAliasConfig::Alias&) {
        ++calls;
        return absl::AbortedError("enough");
      });
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(calls, 1);
}

TEST_F(HloInputOutputAliasConfigTest, Donors) {
  HloBufferDonorConfig& donors = module_->buffer_donor_config();
  ASSERT_TRUE(donors.AddBufferDonor(2, {1}).ok());
  ASSERT_TRUE(donors.AddBufferDonor(0, {}).ok());
  ASSERT_TRUE(donors.AddBufferDonor(0, {}).ok());
  EXPECT_EQ(donors.ToShortString(), "(0, {}), (2, {1})");
  EXPECT_TRUE(donors.ParameterIsBufferDonor(2, {1}));
  EXPECT_FALSE(donors.ParameterIsBufferDonor(2, {0}));
  EXPECT_TRUE(donors.Verify(*module_).ok());

  auto copy = HloBufferDonorConfig::CreateFromProto(donors.ToProto());
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(copy->ToString(), donors.ToString());

  ASSERT_TRUE(config().SetUpAlias({0}, 0, {}).ok());
  EXPECT_FALSE(donors.Verify(*module_).ok());
  ASSERT_TRUE(donors.RemoveBufferDonor(0, {}).ok());
  EXPECT_TRUE(donors.Verify(*module_).ok());
  ASSERT_TRUE(donors.AddBufferDonor(9, {}).ok());
  EXPECT_FALSE(donors.Verify(*module_).ok());
  EXPECT_FALSE(donors.AddBufferDonor(-1, {}).ok());
}

// Numbers in both configs follow when a parameter goes away.
TEST_F(HloInputOutputAliasConfigTest, FollowsRemovedEntryParameters) {
  ASSERT_TRUE(config().SetUpAlias({1}, 1, {}).ok());
  ASSERT_TRUE(config().SetUpAlias({2}, 2, {1}).ok());
  ASSERT_TRUE(module_->buffer_donor_config().AddBufferDonor(2, {0}).ok());
  HloComputation* entry = module_->entry_computation();
  HloInstruction* root = entry->root_instruction();
  ASSERT_TRUE(root->ReplaceOperandWith(0, root->mutable_operand(1)).ok());
  ASSERT_TRUE(entry
                  ->RemoveInstructionAndUnusedOperands(
                      entry->parameter_instruction(0), std::nullopt,
                      /*ignore_control_dependencies=*/false, std::nullopt,
                      /*remove_dead_parameters_from_entry_computation=*/true)
                  .ok());
  EXPECT_EQ(entry->num_parameters(), 2);
  EXPECT_EQ(module_->entry_computation_layout().parameter_count(), 2);
  EXPECT_EQ(config().ToShortString(),
            "{1}: (0, {}, may-alias), {2}: (1, {1}, may-alias)");
  EXPECT_EQ(module_->buffer_donor_config().ToShortString(), "(1, {0})");
  EXPECT_TRUE(config().Verify(*module_, SizeOf).ok());
}

}  // namespace
}  // namespace xla
