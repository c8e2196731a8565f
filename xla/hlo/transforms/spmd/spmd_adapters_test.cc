// Partitioners as of 2020: their creators of collectives, their products of
// shards, and both forms of collectives over several dimensions.
#include "xla/hlo/transforms/spmd/spmd_adapters.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/evaluator/run/sharded_meaning.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SpmdPartitionerOptions Options() {
  SpmdPartitionerOptions options;
  options.allow_module_signature_change = true;
  return options;
}

// Each as one of its time, over today's instructions.
CrossPartitionOpsCreator Creator(int64_t num_partitions) {
  const SPMDCollectiveOpsCreator today =
      GetDefaultCollectiveOpsCreator(num_partitions, 1);
  CrossPartitionOpsCreator creator;
  creator.create_partition_id = today.create_partition_id;
  creator.create_cross_partition_all_reduce =
      [today](SpmdBuilder* b, HloInstruction* operand,
              HloComputation* reduction, int64_t channel_id) {
        return today.create_all_reduce(b, operand, reduction,
                                       CollectiveDeviceList(), channel_id);
      };
  creator.create_cross_partition_collective_permute =
      today.create_collective_permute;
  creator.create_cross_partition_all_to_all =
      [today](SpmdBuilder* b, absl::Span<HloInstruction* const> operands,
              const std::vector<ReplicaGroup>& groups, int64_t channel_id,
              std::optional<int64_t> split_dimension) {
        return today.create_all_to_all(
            b, operands,
            CollectiveDeviceList(absl::Span<const ReplicaGroup>(groups)),
            channel_id, split_dimension);
      };
  creator.create_cross_partition_all_gather =
      [today](SpmdBuilder* b, HloInstruction* operand, const Shape& shape,
              const std::vector<std::vector<int64_t>>& groups,
              int64_t channel_id, int64_t dimension) {
        return today.create_all_gather(
            b, operand, shape,
            CollectiveDeviceList(
                absl::Span<const std::vector<int64_t>>(groups)),
            channel_id, dimension);
      };
  return creator;
}

struct Outcome {
  absl::Status status;
  std::string text;
};

// The partitioned module; an error if it does not compute the same.
Outcome Partition(absl::string_view text, int64_t num_partitions,
                  SpmdPartitioner& partitioner) {
  auto module = ParseAndReturnUnverifiedModule(text);
  if (!module.ok()) return {module.status(), ""};
  auto meaning =
      ShardedMeaning::Make(**module, num_partitions, MeaningOptions());
  if (!meaning.ok()) return {meaning.status(), ""};
  const absl::Status status = partitioner.Run(module->get()).status();
  if (!status.ok()) return {status, ""};
  auto difference = (*meaning)->DifferenceFrom(**module);
  if (!difference.ok()) return {difference.status(), ""};
  if (difference->has_value()) {
    return {absl::InternalError(**difference), (*module)->ToString()};
  }
  return {absl::OkStatus(), (*module)->ToString()};
}

constexpr absl::string_view kMoves = R"(
HloModule m
ENTRY e {
  p = f32[8,6] parameter(0), sharding={devices=[2,1]<=[2]}
  w = f32[8,6] copy(p), sharding={replicated}
  c = f32[8,6] copy(p), sharding={devices=[1,2]<=[2]}
  o = f32[8,6] copy(p), sharding={devices=[2,1]1,0}
  ROOT t = (f32[8,6], f32[8,6], f32[8,6]) tuple(w, c, o), sharding={{replicated}, {devices=[1,2]<=[2]}, {devices=[2,1]1,0}}
}
)";

constexpr absl::string_view kSum = R"(
HloModule m
ENTRY e {
  p = f32[8,6] parameter(0), sharding={devices=[1,2]<=[2]}
  q = f32[6,4] parameter(1), sharding={devices=[2,1]<=[2]}
  ROOT d = f32[8,4] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={replicated}
}
)";

TEST(SpmdAdaptersTest, CreatorsOfCollectives) {
  for (absl::string_view text : {kMoves, kSum}) {
    SpmdPartitioner partitioner(2, 1, Options(),
                                ToCollectiveOpsCreator(Creator(2), 2));
    const Outcome outcome = Partition(text, 2, partitioner);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status << outcome.text;
  }
}

TEST(SpmdAdaptersTest, CreatorWithoutAllGather) {
  CrossPartitionOpsCreator creator = Creator(2);
  creator.create_cross_partition_all_gather = nullptr;
  SpmdPartitioner partitioner(2, 1, Options(),
                              ToCollectiveOpsCreator(creator, 2));
  const Outcome outcome = Partition(kMoves, 2, partitioner);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status << outcome.text;
  EXPECT_THAT(outcome.text, Not(HasSubstr("all-gather")));
  EXPECT_THAT(outcome.text, HasSubstr("all-reduce("));
}

TEST(SpmdAdaptersTest, AllReduceAmongSome) {
  constexpr absl::string_view text = R"(
HloModule m
ENTRY e {
  p = f32[8,6] parameter(0), sharding={devices=[2,2]<=[4]}
  q = f32[6,4] parameter(1), sharding={devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  ROOT d = f32[8,4] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
}
)";
  SpmdPartitioner partitioner(4, 1, Options(),
                              ToCollectiveOpsCreator(Creator(4), 4));
  const absl::Status status = Partition(text, 4, partitioner).status;
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("partitioning d in e: all-reduce among"));
}

// Three of eight shards along the first dimension have elements: less to add up
// than to gather, but not all partitions would take part.
TEST(SpmdAdaptersTest, FewShardsWithElementsAmongSome) {
  constexpr absl::string_view text = R"(
HloModule m
ENTRY e {
  p = f32[3,2] parameter(0), sharding={devices=[8,2]<=[16]}
  ROOT w = f32[3,2] copy(p), sharding={replicated}
}
)";
  SpmdPartitioner partitioner(16, 1, Options(),
                              ToCollectiveOpsCreator(Creator(16), 16));
  const Outcome outcome = Partition(text, 16, partitioner);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status << outcome.text;
  EXPECT_THAT(outcome.text, Not(HasSubstr("all-reduce(")));
}

class ProductVisitor : public SpmdPartitioningVisitor {
 public:
  using SpmdPartitioningVisitor::SpmdPartitioningVisitor;
  absl::Status HandleDot(HloInstruction* hlo) override {
    DotGeneralDimsMapping mapping;
    mapping.contracting_dims = {{1, 0, -1}};
    mapping.lhs_non_contracting_dims = {{0, -1, 0}};
    mapping.rhs_non_contracting_dims = {{-1, 1, 1}};
    return HandleDotHelper(
        hlo, mapping,
        [&](HloInstruction* lhs, HloInstruction* rhs,
            SpmdBuilder* b) -> absl::StatusOr<HloInstruction*> {
          return b->AddInstruction(HloInstruction::CreateDot(
              ShapeUtil::MakeShape(F32, {lhs->shape().dimensions(0),
                                         rhs->shape().dimensions(1)}),
              lhs, rhs, hlo->dot_dimension_numbers(), hlo->precision_config()));
        });
  }
};

class ProductPartitioner : public SpmdPartitioner {
 public:
  using SpmdPartitioner::SpmdPartitioner;
  std::unique_ptr<SpmdPartitioningVisitor> CreateVisitor(
      HloComputation* computation, int64_t num_partitions, int64_t num_replicas,
      const SPMDCollectiveOpsCreator& collective_ops_creator,
      int64_t* next_channel_id, SpmdLogger* logger,
      SpmdPartitionerOptions options, const CallGraph& call_graph) override {
    return std::make_unique<ProductVisitor>(
        computation, num_partitions, num_replicas, collective_ops_creator,
        next_channel_id, logger, std::move(options), this, call_graph);
  }
};

TEST(SpmdAdaptersTest, ProductOfShards) {
  SpmdPartitionerOptions options = Options();
  options.threshold_for_windowed_einsum_mib = 0;
  ProductPartitioner partitioner(2, 1, options);
  EXPECT_EQ(partitioner.num_partitions(), 2);
  const Outcome outcome = Partition(kSum, 2, partitioner);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("all-reduce("));
}

// Gathers two dimensions with one collective, and adds up with two.
class OtherFormsPartitioner : public SpmdPartitioner {
 public:
  using SpmdPartitioner::SpmdPartitioner;
  HloInstruction* AllGatherShards(
      SpmdBuilder* b, HloInstruction* operand, const HloSharding& sharding,
      int64_t* next_channel_id, absl::Span<const int64_t> selected_dims,
      const SPMDCollectiveOpsCreator& collectives_creator) override {
    const auto [gathered, all_gather] = AllGatherShardsInternal(
        b, operand, sharding, next_channel_id, selected_dims,
        collectives_creator, /*per_dim_ag=*/false);
    gathers += all_gather != nullptr;
    return gathered;
  }
  HloInstruction* AllReduceAlongShardingDims(
      SpmdBuilder* b, HloInstruction* operand, const HloSharding& sharding,
      int64_t* next_channel_id, absl::Span<const int64_t> selected_dims,
      const SPMDCollectiveOpsCreator& collectives_creator,
      HloComputation* reduction) override {
    return AllReduceAlongShardingDimsInternal(
        b, operand, sharding, next_channel_id, selected_dims,
        collectives_creator, reduction, /*per_dim_ar=*/true);
  }
  int64_t gathers = 0;
};

int64_t Count(const std::string& text, absl::string_view part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(SpmdAdaptersTest, FormsOfCollectives) {
  constexpr absl::string_view text = R"(
HloModule m
add {
  x = s32[] parameter(0)
  y = s32[] parameter(1)
  ROOT z = s32[] add(x, y)
}
ENTRY e {
  p = s32[7,5,6] parameter(0), sharding={devices=[2,1,3]3,1,0,2,5,4}
  zero = s32[] constant(0), sharding={replicated}
  r = s32[5] reduce(p, zero), dimensions={0,2}, to_apply=add, sharding={replicated}
  w = s32[7,5,6] custom-call(p), custom_call_target="MoveToHost", sharding={replicated}
  ROOT t = (s32[5], s32[7,5,6]) tuple(r, w), sharding={{replicated}, {replicated}}
}
)";
  OtherFormsPartitioner other(6, 1, Options());
  const Outcome others = Partition(text, 6, other);
  ASSERT_TRUE(others.status.ok()) << others.status << others.text;
  EXPECT_EQ(Count(others.text, " all-reduce("), 2);
  SpmdPartitioner usual(6, 1, Options());
  const Outcome usuals = Partition(text, 6, usual);
  ASSERT_TRUE(usuals.status.ok()) << usuals.status << usuals.text;
  EXPECT_EQ(Count(usuals.text, " all-reduce("), 1);
}

// What a handler builds with AllGatherShards, in both forms.
TEST(SpmdAdaptersTest, GatherOfTwoDimensions) {
  class Visitor : public SpmdPartitioningVisitor {
   public:
    using SpmdPartitioningVisitor::SpmdPartitioningVisitor;
    absl::Status HandleCopy(HloInstruction* hlo) override {
      PartitionedHlo& operand = GetPartitionedHlo(hlo->operand(0));
      HloInstruction* whole = partitioner()->AllGatherShards(
          builder(), operand.hlo(), operand.sharding(),
          operand.state().next_channel_id, {2, 0}, collective_ops_creator());
      SetPartitionedHlo(hlo, whole);
      return absl::OkStatus();
    }
  };
  class Partitioner : public OtherFormsPartitioner {
   public:
    using OtherFormsPartitioner::OtherFormsPartitioner;
    std::unique_ptr<SpmdPartitioningVisitor> CreateVisitor(
        HloComputation* computation, int64_t num_partitions,
        int64_t num_replicas,
        const SPMDCollectiveOpsCreator& collective_ops_creator,
        int64_t* next_channel_id, SpmdLogger* logger,
        SpmdPartitionerOptions options, const CallGraph& call_graph) override {
      return std::make_unique<Visitor>(
          computation, num_partitions, num_replicas, collective_ops_creator,
          next_channel_id, logger, std::move(options), this, call_graph);
    }
  };
  constexpr absl::string_view text = R"(
HloModule m
ENTRY e {
  p = s32[4,5,6] parameter(0), sharding={devices=[2,1,3]3,1,0,2,5,4}
  ROOT w = s32[4,5,6] copy(p), sharding={replicated}
}
)";
  Partitioner partitioner(6, 1, Options());
  const Outcome outcome = Partition(text, 6, partitioner);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status << outcome.text;
  EXPECT_EQ(partitioner.gathers, 1);
  EXPECT_EQ(Count(outcome.text, " all-gather("), 1);
  EXPECT_THAT(outcome.text, HasSubstr("s32[6,2,5,2]{3,2,1,0} all-gather("));
}

}  // namespace
}  // namespace xla::spmd
