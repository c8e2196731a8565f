#include "xla/hlo/utils/custom_call_sharding_helper.h"

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

std::unique_ptr<HloModule> Call() {
  return *ParseAndReturnUnverifiedModule(R"(
HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  ROOT c = f32[4] custom-call(p), custom_call_target="Lost"
})");
}

// What is not overridden says nothing and partitions nothing.
TEST(CustomCallShardingHelperTest, KnowsNothing) {
  auto module = Call();
  HloInstruction* call = module->entry_computation()->root_instruction();
  CustomCallPartitioner partitioner;
  const HloSharding tiled = *ParseSharding("{devices=[2]<=[2]}");
  EXPECT_EQ(partitioner.PropagateUserSharding(call->operand(0), call, tiled),
            tiled);
  EXPECT_FALSE(partitioner.InferShardingFromOperands(call).has_value());
  EXPECT_FALSE(partitioner.IsCustomCallShardable(call));
  EXPECT_TRUE(partitioner.CanPropagateShardingToOperands(call));
  EXPECT_TRUE(partitioner.GetRelatedInstructions(call).empty());
  EXPECT_FALSE(partitioner.CanSideEffectingHaveReplicatedSharding());
  absl::Status status = partitioner.Partition(nullptr, call);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "c: the partitioner of custom call Lost has no "
            "Partition");
}

class SideEffects : public CustomCallPartitioner {
 public:
  bool CanSideEffectingHaveReplicatedSharding() const override { return true; }
};

// The first partitioner of a target stays.
TEST(CustomCallShardingHelperTest, FirstRegistrationStays) {
  EXPECT_EQ(GetCustomCallPartitioner("Known"), nullptr);
  RegisterCustomCallPartitioner("Known", std::make_unique<SideEffects>());
  const CustomCallPartitioner* first = GetCustomCallPartitioner("Known");
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(first->CanSideEffectingHaveReplicatedSharding());
  RegisterCustomCallPartitioner("Known",
                                std::make_unique<CustomCallPartitioner>());
  EXPECT_EQ(GetCustomCallPartitioner("Known"), first);
  EXPECT_EQ(GetCustomCallPartitioner("Unknown"), nullptr);
}

int64_t BatchDims(absl::string_view operand, absl::string_view result,
                  absl::string_view rest) {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
      "HloModule m\nENTRY e { p = ", operand, " parameter(0)\n  ROOT c = ",
      result, " custom-call(p), custom_call_target=\"f\"", rest, " }"));
  EXPECT_TRUE(module.ok()) << module.status();
  return CustomCallBatchDims(
      *(*module)->entry_computation()->root_instruction());
}

TEST(CustomCallShardingHelperTest, LeadingBatches) {
  const auto says = [](absl::string_view count) {
    return absl::StrCat(", frontend_attributes={num_batch_dims=\"", count,
                        "\"}");
  };
  EXPECT_EQ(BatchDims("f32[8,3]", "(f32[8], s32[8,4])", says("1")), 1);
  EXPECT_EQ(BatchDims("f32[8,3]", "f32[8,3]", says("2")), 2);
  EXPECT_EQ(BatchDims("f32[8,3]", "f32[8,4]", says("2")), 0);
  EXPECT_EQ(BatchDims("f32[8,3]", "(f32[8], s32[])", says("1")), 0);
  EXPECT_EQ(BatchDims("f32[8,3]", "()", says("1")), 0);
  EXPECT_EQ(BatchDims("(f32[8])", "f32[8]", says("1")), 0);
  EXPECT_EQ(BatchDims("f32[8]", "f32[8]", says("2")), 0);
  EXPECT_EQ(BatchDims("f32[8]", "f32[8]", says("-1")), 0);
  EXPECT_EQ(BatchDims("f32[8]", "f32[8]", says("all")), 0);
  EXPECT_EQ(BatchDims("f32[8]", "f32[8]", ""), 0);
  EXPECT_EQ(
      BatchDims("f32[8]", "f32[8]",
                absl::StrCat(", custom_call_has_side_effect=true", says("1"))),
      0);
}

}  // namespace
}  // namespace xla
