// The partitioner as code outside of it uses it: subclasses, creators of
// collectives, handlers that make their own local instruction.
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"

#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/evaluator/run/sharded_meaning.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/hlo_hardware_independent_test_base.h"
#include "xla/hlo/testlib/hlo_matchers.h"
#include "xla/hlo/transforms/spmd/convolution_handler.h"
#include "xla/hlo/transforms/spmd/dot_handler.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/shape_util.h"
#include "xla/window_util.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {
namespace {

namespace op = ::xla::testing::opcode_matchers;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::string_view kDot = R"(
HloModule m
ENTRY e {
  p = f32[8,6] parameter(0), sharding={devices=[2,1]<=[2]}
  q = f32[6,4] parameter(1), sharding={devices=[2,1]<=[2]}
  ROOT d = f32[8,4] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={devices=[2,1]<=[2]}
}
)";

SpmdPartitionerOptions Options() {
  SpmdPartitionerOptions options;
  options.allow_module_signature_change = true;
  return options;
}

class SpmdPartitionerTest : public HloHardwareIndependentTestBase {
 protected:
  // Null, and a failure, where the result is not that of the whole module.
  std::unique_ptr<HloModule> MakePartitionedModule(absl::string_view text,
                                                   SpmdPartitioner& partitioner,
                                                   int64_t num_partitions = 2) {
    auto module =
        ParseAndReturnVerifiedModule(text, /*replica_count=*/1, num_partitions);
    EXPECT_TRUE(module.ok()) << module.status();
    if (!module.ok()) return nullptr;
    MeaningOptions options;
    auto meaning = ShardedMeaning::Make(**module, num_partitions, options);
    EXPECT_TRUE(meaning.ok()) << meaning.status();
    const absl::Status status = partitioner.Run(module->get()).status();
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok() || !meaning.ok()) return nullptr;
    auto difference = (*meaning)->DifferenceFrom(**module);
    EXPECT_TRUE(difference.ok()) << difference.status();
    if (difference.ok()) {
      EXPECT_EQ(difference->value_or(""), "");
    }
    return *std::move(module);
  }
};

TEST_F(SpmdPartitionerTest, TiledToReplicated) {
  SpmdPartitioner partitioner(2, 1, Options());
  auto module = MakePartitionedModule(R"(
HloModule m
ENTRY e {
  p = s32[3,3] parameter(0), sharding={devices=[2,1]<=[2]}
  ROOT c = s32[3,3] copy(p), sharding={replicated}
}
)",
                                      partitioner);
  ASSERT_NE(module, nullptr);
  HloInstruction* root = module->entry_computation()->root_instruction();
  EXPECT_THAT(root, op::Shape("s32[3,3]"));
  const HloInstruction* gather = hlo_query::FindInstruction(
      module->entry_computation(), HloOpcode::kAllGather);
  ASSERT_NE(gather, nullptr);
  EXPECT_THAT(gather,
              AllOf(op::AllGather(op::Parameter(0)), op::Shape("s32[4,3]")));
}

// Without all-gathers, shards between zeros are added up, -0 and all.
TEST_F(SpmdPartitionerTest, CreatorWithoutAllGather) {
  SPMDCollectiveOpsCreator creator = GetDefaultCollectiveOpsCreator(4, 1);
  creator.create_all_gather = nullptr;
  SpmdPartitioner partitioner(4, 1, Options(), creator);
  auto module = MakePartitionedModule(R"(
HloModule m
ENTRY e {
  p = f32[7,4] parameter(0), sharding={devices=[2,2]3,1,0,2}
  z = f32[] constant(-0)
  b = f32[7,4] broadcast(z), dimensions={}, sharding={devices=[2,2]3,1,0,2}
  m = f32[7,4] multiply(p, b), sharding={devices=[2,2]3,1,0,2}
  a = f32[7,4] copy(p), sharding={replicated}
  c = f32[7,4] copy(m), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
  ROOT t = (f32[7,4], f32[7,4]) tuple(a, c), sharding={{replicated}, {devices=[2,1,2]<=[4] last_tile_dim_replicate}}
}
)",
                                      partitioner, /*num_partitions=*/4);
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(module->ToString(),
              AllOf(Not(HasSubstr("all-gather")), HasSubstr("u32[8,2]")));
}

// A creator need not have what is not needed; else the error says what it is.
TEST_F(SpmdPartitionerTest, CreatorWithGaps) {
  auto status = [](absl::string_view text, bool permute) {
    SPMDCollectiveOpsCreator creator = GetDefaultCollectiveOpsCreator(2, 1);
    creator.create_all_reduce = nullptr;
    creator.create_all_to_all = nullptr;
    if (!permute) creator.create_collective_permute = nullptr;
    auto module = ParseAndReturnUnverifiedModule(text);
    EXPECT_TRUE(module.ok()) << module.status();
    return SpmdPartitioner(2, 1, Options(), creator)
        .Run(module->get())
        .status();
  };
  EXPECT_TRUE(status(kDot, true).ok());
  EXPECT_THAT(status(R"(
HloModule m
ENTRY e {
  p = f32[8,6] parameter(0), sharding={devices=[2,1]<=[2]}
  ROOT c = f32[8,6] copy(p), sharding={devices=[1,2]<=[2]}
})",
                     true)
                  .message(),
              HasSubstr("cannot make the all-to-all"));
  EXPECT_THAT(status(R"(
HloModule m
ENTRY e {
  p = f32[8,6] parameter(0), sharding={devices=[2,1]<=[2]}
  ROOT c = f32[8,6] copy(p), sharding={devices=[2,1]1,0}
})",
                     false)
                  .message(),
              HasSubstr("cannot make the collective-permute"));
  EXPECT_THAT(status(R"(
HloModule m
ENTRY e {
  p = f32[8,6] parameter(0), sharding={devices=[1,2]<=[2]}
  q = f32[6,4] parameter(1), sharding={devices=[2,1]<=[2]}
  ROOT d = f32[8,4] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={replicated}
})",
                     true)
                  .message(),
              HasSubstr("cannot make the all-reduce"));
}

// Creators see every collective that the partitioner makes.
TEST_F(SpmdPartitionerTest, CreatorOfCollectives) {
  SPMDCollectiveOpsCreator creator = GetDefaultCollectiveOpsCreator(2, 1);
  auto standard = creator.create_all_reduce;
  int64_t reductions = 0;
  creator.create_all_reduce =
      [&](SpmdBuilder* b, HloInstruction* operand, HloComputation* reduction,
          const CollectiveDeviceListBase& groups, int64_t channel_id) {
        ++reductions;
        return standard(b, operand, reduction, groups, channel_id);
      };
  SpmdPartitioner partitioner(2, 1, Options(), creator);
  auto module = MakePartitionedModule(R"(
HloModule m
ENTRY e {
  p = f32[8,6] parameter(0), sharding={devices=[1,2]<=[2]}
  q = f32[6,4] parameter(1), sharding={devices=[2,1]<=[2]}
  ROOT d = f32[8,4] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={replicated}
}
)",
                                      partitioner);
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(reductions, 1);
  EXPECT_THAT(module->entry_computation()->root_instruction(),
              op::AllReduce(op::Dot(op::Parameter(0), op::Parameter(1))));
}

// Its visitors are `Visitor`.
template <typename Visitor>
class PartitionerOf : public SpmdPartitioner {
 public:
  using SpmdPartitioner::SpmdPartitioner;
  std::unique_ptr<SpmdPartitioningVisitor> CreateVisitor(
      HloComputation* computation, int64_t num_partitions, int64_t num_replicas,
      const SPMDCollectiveOpsCreator& collective_ops_creator,
      int64_t* next_channel_id, SpmdLogger* logger,
      SpmdPartitionerOptions options, const CallGraph& call_graph) override {
    return std::make_unique<Visitor>(
        computation, num_partitions, num_replicas, collective_ops_creator,
        next_channel_id, logger, std::move(options), this, call_graph);
  }
};

// The product of shards, transposed twice: any other way to write it.
class TransposingVisitor : public SpmdPartitioningVisitor {
 public:
  using SpmdPartitioningVisitor::SpmdPartitioningVisitor;
  absl::Status HandleDot(HloInstruction* hlo) override {
    CreateShardedDotFunctor create(hlo);
    create.SetCustomCreateSharded(
        [&create](const PartitionedHloMaybeMX& ll,
                  const PartitionedHloMaybeMX& rr, SpmdBuilder* b,
                  const Window& window) -> absl::StatusOr<HloInstruction*> {
          auto product = create(ll, rr, b, window,
                                /*call_custom_create_sharded=*/false);
          if (!product.ok()) return product;
          return AddTranspose(AddTranspose(*product, {1, 0}, b), {1, 0}, b);
        });
    return HandleDotHelper(
        hlo, dot_as_convolution_util::ParseDotGeneralFromDot(hlo), create);
  }
};

TEST_F(SpmdPartitionerTest, CustomProductOfShards) {
  PartitionerOf<TransposingVisitor> partitioner(2, 1, Options());
  auto module = MakePartitionedModule(kDot, partitioner);
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(module->entry_computation()->root_instruction(),
              AllOf(op::Shape("f32[4,4]"),
                    op::Transpose(op::Transpose(op::Dot(
                        op::Parameter(0), op::AllGather(op::Parameter(1)))))));
}

TEST_F(SpmdPartitionerTest, ScalesOfPlainDots) {
  auto module = *ParseAndReturnVerifiedModule(kDot);
  HloInstruction* dot = module->entry_computation()->root_instruction();
  SpmdBuilder b("b", nullptr);
  HloInstruction* p = b.AddInstruction(HloInstruction::CreateParameter(
      0, ShapeUtil::MakeShape(F32, {8, 6}), "p"));
  p->set_sharding(HloSharding::Replicate());
  PartitionedHlo phlo(p, p->shape(), {});
  const CreateShardedDotFunctor create(dot);
  EXPECT_THAT(
      std::string(create(PartitionedHloMX(phlo, phlo), phlo, &b, Window())
                      .status()
                      .message()),
      HasSubstr("d has 0 scales, 1 were given"));
}

TEST(PartitionedHloMXTest, ScalesFollowValues) {
  const Shape values = ShapeUtil::MakeShape(F32, {12, 8});
  const HloSharding rows = *ParseSharding("{devices=[3,1]<=[3]}");
  EXPECT_TRUE(CutsBetweenBlocks(12, 12, 3));
  EXPECT_TRUE(CutsBetweenBlocks(12, 1, 3));
  EXPECT_TRUE(CutsBetweenBlocks(10, 5, 3));
  EXPECT_FALSE(CutsBetweenBlocks(12, 4, 3));
  EXPECT_EQ(ScaleSharding(rows, values, ShapeUtil::MakeShape(F32, {6, 2})),
            rows);
  EXPECT_EQ(ScaleSharding(rows, values, ShapeUtil::MakeShape(F32, {1, 2})),
            HloSharding::Replicate());
  EXPECT_EQ(ScaleSharding(rows, values, ShapeUtil::MakeShape(F32, {4, 2})),
            HloSharding::Replicate());
  EXPECT_EQ(ScaleSharding(rows, values, ShapeUtil::MakeShape(F32, {})),
            HloSharding::Replicate());
  const PartitionedHloMX::ShapesMX shapes(values,
                                          ShapeUtil::MakeShape(F32, {6, 2}));
  EXPECT_EQ(shapes.dimensions()[0], 12);
  EXPECT_EQ((static_cast<std::pair<Shape, Shape>>(shapes).second.dimensions(0)),
            6);
}

// Either operand of a dot whole on every device, priced before one is taken.
absl::StatusOr<HloInstruction*> GatherThenDot(
    HloInstruction* hlo, PartitionedHlo lhs, PartitionedHlo rhs,
    bool gather_rhs, SpmdPartitioningVisitor* visitor) {
  if (gather_rhs) {
    rhs = rhs.Replicate();
  } else {
    lhs = lhs.Replicate();
    rhs = rhs.Replicate();
  }
  return CreateShardedDotFunctor(hlo).CreateSharded(lhs, rhs,
                                                    visitor->builder(), {});
}

class PricingVisitor : public SpmdPartitioningVisitor {
 public:
  using SpmdPartitioningVisitor::SpmdPartitioningVisitor;
  absl::Status HandleDot(HloInstruction* hlo) override {
    const PartitionedHlo& lhs = GetPartitionedHlo(hlo->operand(0));
    const PartitionedHlo& rhs = GetPartitionedHlo(hlo->operand(1));
    SpmdPartitioningVisitor* self = this;
    auto one =
        EvaluatePartitionCost(hlo, GatherThenDot, hlo, lhs, rhs, true, self);
    auto both =
        EvaluatePartitionCost(hlo, GatherThenDot, hlo, lhs, rhs, false, self);
    EXPECT_TRUE(one.ok() && both.ok());
    // f32[6,4]; and f32[8,6] besides.
    EXPECT_EQ(one->second, 6 * 4 * 4);
    EXPECT_EQ(both->second, 6 * 4 * 4 + 8 * 6 * 4);
    EXPECT_LT(one->first, both->first);
    EXPECT_FALSE(EvaluatePartitionCost(
                     hlo, [](int) -> HloInstruction* { return nullptr; }, 1)
                     .ok());
    auto none = EvaluatePartitionCost(
        hlo,
        [](SpmdPartitioningVisitor*) -> HloInstruction* { return nullptr; },
        self);
    EXPECT_EQ(none->first, std::numeric_limits<int64_t>::max());
    // Any container will do; builder and module belong to the trial, too.
    auto last_of_a_list = EvaluatePartitionCost(
        hlo,
        [&](std::list<PartitionedHlo> shards, SpmdBuilder* trial_builder,
            HloModule* trial, SpmdPartitioningVisitor* visitor) {
          EXPECT_EQ(shards.front().hlo()->opcode(), HloOpcode::kParameter);
          EXPECT_EQ(trial_builder, visitor->builder());
          EXPECT_EQ(trial, visitor->module());
          EXPECT_NE(trial, module());
          return shards.back().Replicate().hlo();
        },
        std::list<PartitionedHlo>{lhs, rhs}, builder(), module(), self);
    EXPECT_EQ(last_of_a_list->second, 6 * 4 * 4);
    return SpmdPartitioningVisitor::HandleDot(hlo);
  }
};

TEST_F(SpmdPartitionerTest, CostOfATrial) {
  PartitionerOf<PricingVisitor> partitioner(2, 1, Options());
  auto module = MakePartitionedModule(kDot, partitioner);
  ASSERT_NE(module, nullptr);
  // Trials leave nothing behind.
  EXPECT_THAT(module->entry_computation()->root_instruction(),
              op::Dot(op::Parameter(0), op::AllGather(op::Parameter(1))));
}

// Knows how long things take.
struct Times {
  double computing = 0;
  double sending = 0;
  int multiplier = 1;
};
Times times;
int64_t sent_bytes = 0;
std::string computed;

class TimingVisitor : public SpmdPartitioningVisitor {
 public:
  using SpmdPartitioningVisitor::SpmdPartitioningVisitor;
  double GetComputationTimeInMilliSec(HloInstruction* hlo) override {
    computed = hlo->operand(0)->shape().ToString() + " x " +
               hlo->operand(1)->shape().ToString() + " = " +
               hlo->shape().ToString();
    return times.computing;
  }
  double GetCommunicationTimeInMilliSec(
      int64_t bytes, const CollectiveDeviceListBase& devices) override {
    sent_bytes = bytes;
    EXPECT_THAT(devices.flattened_replica_groups(),
                ElementsAre(ElementsAre(0, 1, 2, 3)));
    return times.sending;
  }
  int GetCommunicationMultiplier(
      const CollectiveDeviceListBase& devices) override {
    return times.multiplier;
  }
};

// Rings are vetoed if they take longer than the dot and the gather.
TEST_F(SpmdPartitionerTest, TimesOfRings) {
  SpmdPartitionerOptions options = Options();
  options.threshold_for_windowed_einsum_mib = 0;
  options.bidirectional_windowed_einsum = true;
  const auto is_ring = [&](Times known) {
    times = known;
    PartitionerOf<TimingVisitor> partitioner(4, 1, options);
    auto module = MakePartitionedModule(R"(
HloModule m
ENTRY e {
  p = f32[8,6] parameter(0), sharding={devices=[4,1]<=[4]}
  q = f32[6,12] parameter(1), sharding={devices=[1,4]<=[4]}
  ROOT d = f32[8,12] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={devices=[4,1]<=[4]}
}
)",
                                        partitioner, /*num_partitions=*/4);
    return module != nullptr &&
           hlo_query::FindInstruction(module->entry_computation(),
                                      HloOpcode::kAllGather) == nullptr;
  };
  EXPECT_TRUE(is_ring({}));
  EXPECT_EQ(sent_bytes, 6 * 12 * 4);
  EXPECT_EQ(computed, "f32[2,6] x f32[6,12] = f32[2,12]");
  EXPECT_TRUE(is_ring({10, 4, 1}));
  EXPECT_FALSE(is_ring({10, 4, 2}));
  EXPECT_TRUE(is_ring({0, 4, 2}));
  EXPECT_TRUE(is_ring({10, 0, 2}));
  // One direction only: nothing goes ahead.
  options.bidirectional_windowed_einsum = false;
  EXPECT_TRUE(is_ring({10, 4, 2}));
}

// Rows of which each device has all elements.
class RowsVisitor : public SpmdPartitioningVisitor {
 public:
  using SpmdPartitioningVisitor::SpmdPartitioningVisitor;
  absl::Status HandleCholesky(HloInstruction* hlo) override {
    return HandleElementwiseWithDimsToReplicate(hlo, {1, 2});
  }
};

TEST_F(SpmdPartitionerTest, TilesOfDimsToReplicateMove) {
  PartitionerOf<RowsVisitor> partitioner(2, 1, Options());
  auto module = MakePartitionedModule(R"(
HloModule m
ENTRY e {
  x = f32[8,1,1] parameter(0), sharding={devices=[2,1,1]<=[2]}
  b = f32[8,1,1] abs(x), sharding={devices=[2,1,1]<=[2]}
  b0 = f32[] constant(1), sharding={replicated}
  p = f32[8,2,2] pad(b, b0), padding=0_0x0_1x0_1, sharding={devices=[1,2,1]<=[2]}
  ROOT c = f32[8,2,2] cholesky(p), lower=true, sharding={devices=[1,2,1]<=[2]}
}
)",
                                      partitioner);
  ASSERT_NE(module, nullptr);
  const HloInstruction* factor = hlo_query::FindInstruction(
      module->entry_computation(), HloOpcode::kCholesky);
  ASSERT_NE(factor, nullptr);
  EXPECT_THAT(factor, op::Shape("f32[4,2,2]"));
}

// Says what windows shards get.
class WindowFunctor : public CreateShardedConvolutionFunctor {
 public:
  using CreateShardedConvolutionFunctor::CreateShardedConvolutionFunctor;
  absl::StatusOr<HloInstruction*> CreateSharded(
      const PartitionedHlo& ll, const PartitionedHlo& rr, SpmdBuilder* b,
      const Window& conv_window) const override {
    window = window_util::ToString(conv_window);
    return CreateShardedConvolutionFunctor::CreateSharded(ll, rr, b,
                                                          conv_window);
  }
  mutable std::string window;
};

class ConvolutionVisitor : public SpmdPartitioningVisitor {
 public:
  using SpmdPartitioningVisitor::SpmdPartitioningVisitor;
  absl::Status HandleConvolution(HloInstruction* hlo) override {
    const auto info = dot_as_convolution_util::ParseConvolutionDimsInfo(hlo);
    WindowFunctor create(hlo, info);
    auto result = PartitionConvolution(
        GetPartitionedHlo(hlo->operand(0)), GetPartitionedHlo(hlo->operand(1)),
        hlo->shape(), hlo->sharding(), info, create, hlo->window(), hlo,
        num_partitions(), options(), partition_id(), module(), builder());
    if (!result.ok()) return result.status();
    EXPECT_EQ(create.window, "size=3");
    EXPECT_EQ((*result)->sharding(), hlo->sharding());
    SetPartitionedHlo(hlo, *result);
    return absl::OkStatus();
  }
};

TEST_F(SpmdPartitionerTest, ConvolutionOfShards) {
  PartitionerOf<ConvolutionVisitor> partitioner(2, 1, Options());
  auto module = MakePartitionedModule(R"(
HloModule m
ENTRY e {
  p = f32[2,8,3] parameter(0), sharding={devices=[1,2,1]<=[2]}
  k = f32[3,3,5] parameter(1), sharding={replicated}
  ROOT c = f32[2,8,5] convolution(p, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, sharding={devices=[1,2,1]<=[2]}
}
)",
                                      partitioner);
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(module->ToString(), HasSubstr("collective-permute("));
}

}  // namespace
}  // namespace xla::spmd
