// Helpers that emit instructions, run on devices.
#include "xla/hlo/transforms/spmd/exchange_halo.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/devices/lockstep_evaluator.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using Values = std::vector<int32_t>;
using Term = MultiplyAddDivideOffsetCalculation;

// What stands in the padding of shards.
constexpr int32_t kPoison = -777;

HloSharding Sharding(absl::string_view text) { return *ParseSharding(text); }

// A computation under construction, as handlers see it.
struct Device {
  SpmdBuilder* b;
  HloInstruction* shard;
  PartitionedHlo::PartitioningState state;
  HloInstruction* ordinal;
};

// Runs what `emit` makes of s32[size] under `sharding`, elements 0, 1, .., on
// all devices; results flattened, by ordinal along dimension 0.
std::vector<Values> RunOnDevices(
    int64_t size, const HloSharding& sharding,
    const std::function<HloInstruction*(const Device&)>& emit) {
  const int64_t devices = sharding.num_devices();
  const Shape whole = ShapeUtil::MakeShape(S32, {size});
  const Shape shard = MakePartitionedShape(whole, sharding);
  HloModuleConfig config;
  config.set_num_partitions(devices);
  auto module = std::make_unique<HloModule>("m", config);
  SpmdPartitioner partitioner(devices, 1, SpmdPartitionerOptions());
  PartitionedHlo::ReshardCache cache;
  int64_t channel = 1;
  SpmdBuilder b("e", nullptr);
  Device device;
  device.b = &b;
  device.shard =
      b.AddInstruction(HloInstruction::CreateParameter(0, shard, "p"));
  device.shard->set_sharding(sharding);
  device.state = {&b,
                  module.get(),
                  1,
                  nullptr,
                  GetDefaultCollectiveOpsCreator(devices, 1),
                  &channel,
                  &cache,
                  &partitioner};
  device.state.partition_id =
      device.state.collective_ops_creator.create_partition_id(&b);
  device.ordinal =
      MakeTiledPartitionOrdinals(sharding, device.state.partition_id, &b)[0];
  HloInstruction* root = emit(device);
  for (HloInstruction* added : {device.shard, root}) added->clear_sharding();
  module->AddEntryComputation(b.Build(root));
  EXPECT_TRUE(VerifyHloModule(module.get(), HloVerifierOpts()).ok())
      << module->ToString();
  std::vector<Literal> inputs;
  for (int64_t i = 0; i < devices; ++i) {
    Values values(shard.dimensions(0), kPoison);
    const int64_t start = sharding.TileOffsetForDevice(whole, i)[0];
    const int64_t limit = sharding.TileLimitForDevice(whole, i)[0];
    for (int64_t k = start; k < limit; ++k) values[k - start] = k;
    inputs.push_back(LiteralUtil::CreateR1<int32_t>(values));
  }
  std::vector<std::vector<const Literal*>> arguments;
  for (const Literal& input : inputs) arguments.push_back({&input});
  LockstepEvaluator evaluator(*module);
  auto results = evaluator.Run(arguments);
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<Values> by_ordinal(devices);
  const std::vector<int64_t> ordinals = OrdinalTable(sharding, 0);
  for (int64_t i = 0; i < devices && results.ok(); ++i) {
    const auto data = (*results)[i].data<int32_t>();
    by_ordinal[ordinals[i]].assign(data.begin(), data.end());
  }
  return by_ordinal;
}

HloInstruction* Constant(int64_t value, SpmdBuilder* b) {
  return CreateR0(value, S32, b);
}

TEST(OffsetCalculationTest, TermsAreInLowestTerms) {
  EXPECT_EQ(Term(4, 8, 2), Term(2, 4, 1));
  EXPECT_EQ(Term(0, 7, 2), Term(0, 3, 1));
  EXPECT_FALSE(Term(4, 7, 2) == Term(2, 3, 1));
  EXPECT_EQ(Term(3, -2, 2).Calculate(0), -1);
  EXPECT_EQ(Term(3, -3, 2).Calculate(0), -1);
  EXPECT_EQ(Term(3, 1, 2).Calculate(2), 3);
  EXPECT_TRUE(Term(0, 3, 1).IsConstant());
  EXPECT_FALSE(Term(1, 0, 8).IsConstant());
}

TEST(OffsetCalculationTest, SumsAndDifferences) {
  EXPECT_EQ(Term(3, 1, 1) - Term(1, 4, 1), OffsetCalculation(Term(2, -3, 1)));
  EXPECT_EQ(Term(3, 1, 1) + Term(-3, 4, 1), OffsetCalculation(Term(0, 5, 1)));
  // Quotients are rounded one by one: 1/2 + 1/2 is 0.
  const OffsetCalculation halves = Term(1, 0, 2) + Term(1, 0, 2);
  EXPECT_EQ(halves.Calculate(1), 0);
  EXPECT_EQ(halves.Calculate(2), 2);
  const OffsetCalculation square(HloOpcode::kMultiply, Term(1, -2, 1),
                                 Term(1, -2, 1));
  EXPECT_EQ(square.MaxInRange(1, 4), 1);
  EXPECT_EQ(square.MaxInRange(0, 4), 4);
  EXPECT_TRUE((square - square).IsConstant());
  EXPECT_FALSE(square.IsConstant());
  EXPECT_EQ(Term(-3, 5, 2).MaxInRange(1, 4), 1);
}

TEST(OffsetCalculationTest, InstructionsComputeTheSame) {
  const OffsetCalculation terms[] = {
      Term(0, 3, 1),
      Term(1, 0, 1),
      Term(-3, 5, 2),
      Term(3, -5, 2),
      Term(1, 1, 2) + Term(1, 0, 3),
      OffsetCalculation(HloOpcode::kMultiply, Term(2, 1, 1), Term(1, 0, 2))};
  for (const OffsetCalculation& term : terms) {
    const auto results = RunOnDevices(
        8, Sharding("{devices=[4]2,0,3,1}"),
        [&](const Device& d) { return term.Calculate(d.ordinal, d.b); });
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_THAT(results[i], ElementsAre(term.Calculate(i)));
    }
  }
}

TEST(ExchangeHaloTest, BothSidesOverSeveralNeighbors) {
  for (absl::string_view text :
       {"{devices=[4]<=[4]}", "{devices=[4]2,0,3,1}"}) {
    const HloSharding sharding = Sharding(text);
    const auto results = RunOnDevices(8, sharding, [&](const Device& d) {
      return *ExchangeHalo(d.shard, Term(0, 3, 1), Term(0, 1, 1), 0, sharding,
                           d.state.collective_ops_creator,
                           d.state.next_channel_id, d.b);
    });
    // Zeros where nobody is.
    EXPECT_THAT(results[0], ElementsAre(0, 0, 0, 0, 1, 2));
    EXPECT_THAT(results[1], ElementsAre(0, 0, 1, 2, 3, 4));
    EXPECT_THAT(results[2], ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_THAT(results[3], ElementsAre(3, 4, 5, 6, 7, 0));
  }
}

TEST(ExchangeHaloTest, HalosOfDifferentSizes) {
  const HloSharding sharding = Sharding("{devices=[4]<=[4]}");
  // Shard i needs i elements of the left, and gives up the first where that is
  // negative.
  const auto results = RunOnDevices(12, sharding, [&](const Device& d) {
    return *ExchangeHalo(d.shard, Term(1, -2, 1), Term(0, -1, 1), 0, sharding,
                         d.state.collective_ops_creator,
                         d.state.next_channel_id, d.b);
  });
  EXPECT_THAT(results[3], ElementsAre(8, 9, 10));
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_THAT(absl::MakeConstSpan(results[i]).subspan(1),
                ElementsAre(3 * i, 3 * i + 1));
  }
}

TEST(ExchangeHaloTest, NothingToExchange) {
  const HloSharding sharding = Sharding("{devices=[4]<=[4]}");
  RunOnDevices(8, sharding, [&](const Device& d) {
    const auto exchange = [&](int64_t left, int64_t right) {
      return ExchangeHalo(d.shard, Term(0, left, 1), Term(0, right, 1), 0,
                          sharding, d.state.collective_ops_creator,
                          d.state.next_channel_id, d.b);
    };
    EXPECT_EQ(exchange(0, 0), d.shard);
    EXPECT_TRUE(exchange(6, 0).has_value());
    EXPECT_FALSE(exchange(7, 0).has_value());
    EXPECT_FALSE(exchange(-1, -1).has_value());
    EXPECT_EQ(ExchangeHalo(d.shard, {Term(0, 1, 1)}, {Term(0, 0, 1)}, sharding,
                           d.state.collective_ops_creator,
                           d.state.next_channel_id, d.b)
                  .value()
                  ->shape()
                  .dimensions(0),
              3);
    return d.shard;
  });
}

TEST(ExchangeHaloTest, CompactStartsAtTheOwnHalo) {
  for (absl::string_view text :
       {"{devices=[4]<=[4]}", "{devices=[4]2,0,3,1}"}) {
    const HloSharding sharding = Sharding(text);
    // 10 elements: shards of 3, 3, 3 and 1; shard i gets i to the left.
    const auto results = RunOnDevices(10, sharding, [&](const Device& d) {
      return ExchangeHaloCompact(
          d.shard, ShapeUtil::MakeShape(S32, {10}), Term(1, 0, 1),
          Term(0, 1, 1), Constant(-1, d.b), 0, sharding, d.ordinal,
          d.state.collective_ops_creator, d.state.next_channel_id, d.b);
    });
    const auto begin = [](const Values& values, size_t count) {
      return absl::MakeConstSpan(values).subspan(0, count);
    };
    EXPECT_THAT(begin(results[0], 4), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(begin(results[1], 5), ElementsAre(2, 3, 4, 5, 6));
    EXPECT_THAT(begin(results[2], 6), ElementsAre(4, 5, 6, 7, 8, 9));
    EXPECT_THAT(results[3], ElementsAre(6, 7, 8, 9, -1, -1, -1));
  }
}

TEST(ExchangeHaloTest, ShardsOfAPaddedWhole) {
  for (absl::string_view text :
       {"{devices=[4]<=[4]}", "{devices=[4]2,0,3,1}"}) {
    const HloSharding sharding = Sharding(text);
    // Two elements before and two behind 10: shards of 3 become those of 4.
    const auto padded = [&](const Device& d, bool mask) {
      return *ExchangeHaloAndGetValidData(
          d.shard, ShapeUtil::MakeShape(S32, {10}), Term(-1, 2, 1),
          Term(1, -1, 1), /*explicit_left_padding_on_full_shape=*/2,
          /*padded_full_shape_size=*/14, /*shard_size_with_halo=*/4, 0,
          sharding, Term(4, 0, 1).Calculate(d.ordinal, d.b), Constant(-1, d.b),
          d.ordinal, d.state.collective_ops_creator, d.state.next_channel_id,
          d.b, mask);
    };
    const auto results = RunOnDevices(
        10, sharding, [&](const Device& d) { return padded(d, true); });
    EXPECT_THAT(results[0], ElementsAre(-1, -1, 0, 1));
    EXPECT_THAT(results[1], ElementsAre(2, 3, 4, 5));
    EXPECT_THAT(results[2], ElementsAre(6, 7, 8, 9));
    EXPECT_THAT(results[3], ElementsAre(-1, -1, -1, -1));
    const auto unmasked = RunOnDevices(
        10, sharding, [&](const Device& d) { return padded(d, false); });
    EXPECT_EQ(unmasked[1], results[1]);
    EXPECT_EQ(unmasked[2], results[2]);
    // What is asked for beyond the halos is padding.
    const auto longer = RunOnDevices(10, sharding, [&](const Device& d) {
      return *ExchangeHaloAndGetValidData(
          d.shard, ShapeUtil::MakeShape(S32, {10}), Term(-1, 2, 1),
          Term(1, -1, 1), /*explicit_left_padding_on_full_shape=*/2,
          /*padded_full_shape_size=*/14, /*shard_size_with_halo=*/6, 0,
          sharding, Term(4, 0, 1).Calculate(d.ordinal, d.b), Constant(-1, d.b),
          d.ordinal, d.state.collective_ops_creator, d.state.next_channel_id,
          d.b);
    });
    EXPECT_EQ(longer[3], Values(6, -1));
  }
}

TEST(ExchangeHaloTest, PaddingOnTheLeft) {
  for (absl::string_view text : {"{devices=[3]<=[3]}", "{devices=[3]2,0,1}"}) {
    const HloSharding sharding = Sharding(text);
    const auto results = RunOnDevices(5, sharding, [&](const Device& d) {
      PartitionedHlo value(d.shard, ShapeUtil::MakeShape(S32, {5}), d.state);
      return HaloExchangeToPadOnLeft(value, {0});
    });
    EXPECT_EQ(results[0][1], 0);
    EXPECT_THAT(results[1], ElementsAre(1, 2));
    EXPECT_THAT(results[2], ElementsAre(3, 4));
  }
}

// Result element r of every window operation below, by index in the whole.
TEST(WindowedReshardTest, Slices) {
  for (absl::string_view text :
       {"{devices=[4]<=[4]}", "{devices=[4]2,0,3,1}"}) {
    const HloSharding sharding = Sharding(text);
    const auto results = RunOnDevices(14, sharding, [&](const Device& d) {
      // Elements 1, 4, 7, 10, 13 in shards of two.
      PartitionedHlo value(d.shard, ShapeUtil::MakeShape(S32, {14}), d.state);
      auto windowed =
          ReshardDataForSlicing({3}, {1}, {14}, value, sharding, d.b);
      EXPECT_FALSE(windowed->dynamic_slice_index_on_output.has_value());
      // The same again is known.
      EXPECT_EQ(ReshardDataForSlicing({3}, {1}, {14}, value, sharding, d.b)
                    ->sharded_input,
                windowed->sharded_input);
      return SliceDataFromWindowReshard(
          *windowed, {3}, ShapeUtil::MakeShape(S32, {5}), sharding, d.b);
    });
    EXPECT_THAT(results[0], ElementsAre(1, 4));
    EXPECT_THAT(results[1], ElementsAre(7, 10));
    EXPECT_EQ(results[2][0], 13);
  }
}

TEST(WindowedReshardTest, PadsByOtherValuesAreOtherValues) {
  const HloSharding sharding = Sharding("{devices=[4]2,0,3,1}");
  for (int32_t padding : {-1, -2}) {
    const auto results = RunOnDevices(6, sharding, [&](const Device& d) {
      PartitionedHlo value(d.shard, ShapeUtil::MakeShape(S32, {6}), d.state);
      PaddingConfig config;
      config.add_dimensions()->set_edge_padding_low(1);
      config.mutable_dimensions(0)->set_edge_padding_high(1);
      HloInstruction* result = nullptr;
      for (int32_t other : {-1, -2}) {
        HloInstruction* pad_value = Constant(other, d.b);
        auto windowed =
            ReshardDataForPad(pad_value, config, value, sharding, d.b);
        HloInstruction* padded =
            PadDataFromWindowReshard(*windowed, pad_value, d.b);
        if (other == padding) result = padded;
      }
      return result;
    });
    EXPECT_THAT(results[0], ElementsAre(padding, 0));
    EXPECT_THAT(results[1], ElementsAre(1, 2));
    EXPECT_THAT(results[2], ElementsAre(3, 4));
    EXPECT_THAT(results[3], ElementsAre(5, padding));
  }
}

TEST(WindowedReshardTest, PadsAtTheHighEndOnly) {
  const HloSharding sharding = Sharding("{devices=[2]1,0}");
  const auto results = RunOnDevices(4, sharding, [&](const Device& d) {
    PartitionedHlo value(d.shard, ShapeUtil::MakeShape(S32, {4}), d.state);
    // A window of its own: shards are whole, and padding is the caller's.
    PartitionedHlo::WindowedInputShardReturnValue whole;
    whole.sharded_input = d.shard;
    WindowDimension* dim = whole.shard_window.add_dimensions();
    dim->set_size(1);
    dim->set_stride(1);
    dim->set_window_dilation(1);
    dim->set_base_dilation(1);
    dim->set_padding_high(1);
    return PadDataFromWindowReshard(whole, Constant(-1, d.b), d.b);
  });
  EXPECT_THAT(results[0], ElementsAre(0, 1, -1));
  EXPECT_THAT(results[1], ElementsAre(2, 3, -1));
}

TEST(WindowedReshardTest, ShardsOfDilatedPadsBeginAtAnIndex) {
  const HloSharding sharding = Sharding("{devices=[2]1,0}");
  // 0 . 1 . 2 . 3 in shards of four: both need another padding.
  const auto results = RunOnDevices(4, sharding, [&](const Device& d) {
    PartitionedHlo value(d.shard, ShapeUtil::MakeShape(S32, {4}), d.state);
    PaddingConfig config;
    config.add_dimensions()->set_interior_padding(2);
    HloInstruction* pad_value = Constant(-1, d.b);
    auto windowed = ReshardDataForPad(pad_value, config, value, sharding, d.b);
    HloInstruction* padded =
        PadDataFromWindowReshard(*windowed, pad_value, d.b);
    EXPECT_TRUE(windowed->dynamic_slice_index_on_output.has_value());
    return d.b->AddInstruction(HloInstruction::CreateDynamicSlice(
        ShapeUtil::MakeShape(S32, {5}), padded,
        *windowed->dynamic_slice_index_on_output, {5}));
  });
  EXPECT_THAT(results[0], ElementsAre(0, -1, -1, 1, -1));
  EXPECT_THAT(results[1], ElementsAre(-1, 2, -1, -1, 3));
}

TEST(DeviceGroupStateTest, CollectivesRunInEveryGroup) {
  const HloSharding sharding = Sharding("{devices=[4]<=[4]}");
  const hlo_sharding_util::DeviceGroupTileAssignment groups(2, 2, {2, 2},
                                                            {1, 0});
  const auto gathered = RunOnDevices(8, sharding, [&](const Device& d) {
    const auto state = CreatePerGroupPartitioningState(d.state, groups, d.b);
    EXPECT_EQ(
        state.reshard_cache,
        CreatePerGroupPartitioningState(d.state, groups, d.b).reshard_cache);
    d.shard->set_sharding(Sharding("{devices=[2]1,0}"));
    return PartitionedHlo(d.shard, ShapeUtil::MakeShape(S32, {4}), state)
        .Replicate()
        .hlo();
  });
  // Groups {0,2} and {1,3}, the second member first.
  EXPECT_THAT(gathered[0], ElementsAre(4, 5, 0, 1));
  EXPECT_THAT(gathered[1], ElementsAre(6, 7, 2, 3));
  EXPECT_THAT(gathered[2], ElementsAre(4, 5, 0, 1));
  EXPECT_THAT(gathered[3], ElementsAre(6, 7, 2, 3));
  const auto sums = RunOnDevices(8, sharding, [&](const Device& d) {
    const auto state = CreatePerGroupPartitioningState(d.state, groups, d.b);
    return state.collective_ops_creator.create_reduce_scatter(
        d.b, d.shard, MakeBinaryAdd(S32, state.module),
        ShapeUtil::MakeShape(S32, {1}), CollectiveDeviceList({{0, 1}}),
        (*state.next_channel_id)++, 0);
  });
  EXPECT_THAT(sums, ElementsAre(ElementsAre(4), ElementsAre(8), ElementsAre(6),
                                ElementsAre(10)));
  const auto ids = RunOnDevices(8, sharding, [&](const Device& d) {
    HloInstruction* id =
        GetInGroupPartitionId(d.state.partition_id, groups, d.b);
    return d.b->AddInstruction(
        HloInstruction::CreateConvert(ShapeUtil::MakeShape(S32, {}), id));
  });
  EXPECT_THAT(ids, ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(1),
                               ElementsAre(1)));
}

TEST(DeviceGroupStateTest, PartsOfReplicatedValues) {
  const hlo_sharding_util::DeviceGroupTileAssignment groups(2, 2, {2, 2},
                                                            {1, 0});
  const auto parts =
      RunOnDevices(8, Sharding("{devices=[4]<=[4]}"), [&](const Device& d) {
        HloInstruction* all = d.b->AddInstruction(
            HloInstruction::CreateIota(ShapeUtil::MakeShape(S32, {5}), 0));
        return PerGroupSliceFromReplicated(all, d.state.partition_id, groups,
                                           {0}, {2}, d.b);
      });
  const Values first = {0, 1, 2}, second = {3, 4, 0};
  EXPECT_THAT(parts, ElementsAre(first, second, first, second));
}

TEST(PartialReplicationTest, ShardsOfTheirParts) {
  // 5 elements in 2 tiles, which 4 tiles part.
  const HloSharding halves =
      Sharding("{devices=[2,2]2,3,0,1 last_tile_dim_replicate}");
  const HloSharding quarters = Sharding("{devices=[4]2,3,0,1}");
  const auto longer = RunOnDevices(5, halves, [&](const Device& d) {
    return *PadFromPartialReplicateShape(
        d.shard, ShapeUtil::MakeShape(S32, {5}), halves, quarters, {0},
        d.state.collective_ops_creator, d.state.next_channel_id,
        d.state.partition_id, d.b);
  });
  EXPECT_EQ((Values(longer[0].begin(), longer[0].end())), (Values{0, 1, 2, 3}));
  ASSERT_EQ(longer[1].size(), 4);
  EXPECT_EQ(longer[1][0], 4);
  // Nothing moves where sizes divide.
  RunOnDevices(8, halves, [&](const Device& d) {
    EXPECT_EQ(*PadFromPartialReplicateShape(
                  d.shard, ShapeUtil::MakeShape(S32, {8}), halves, quarters,
                  {0}, d.state.collective_ops_creator, d.state.next_channel_id,
                  d.state.partition_id, d.b),
              d.shard);
    return d.shard;
  });
  const auto aligned = RunOnDevices(5, quarters, [&](const Device& d) {
    return *TileToPartialReplicateHaloExchange(
        d.shard, ShapeUtil::MakeShape(S32, {5}), quarters, halves, {0},
        d.state.collective_ops_creator, d.state.next_channel_id,
        d.state.partition_id, d.b);
  });
  EXPECT_THAT(aligned[0], ElementsAre(0, 1));
  EXPECT_EQ(aligned[1][0], 2);
  EXPECT_THAT(aligned[2], ElementsAre(3, 4));
}

// A product in all its dimensions, and the same in halves.
struct Halves {
  const char* product;
  // In the operands, or -1, and by whether it is contracting, or a batch.
  int64_t lhs_dim, rhs_dim;
  bool contracting, batch;
  std::vector<int64_t> lhs, rhs;
  // Where dimensions of the operands are in the result.
  std::vector<int64_t> lhs_to_output, rhs_to_output;
};

TEST(ConvolutionHalvesTest, ComputeTheWhole) {
  const Halves cases[] = {
      {"l = f32[3,6,2] parameter(0)\nr = f32[6,2,4] parameter(1)\n"
       "ROOT c = f32[3,1,4] convolution(l, r), "
       "window={size=6}, dim_labels=b0f_0io->b0f",
       1,
       0,
       true,
       false,
       {3, 2, 3, 2},
       {2, 3, 2, 4},
       {0, -1, -1},
       {-1, -1, 2}},
      {"l = f32[4,6,2] parameter(0)\nr = f32[6,2,3] parameter(1)\n"
       "ROOT c = f32[4,1,3] convolution(l, r), "
       "window={size=6}, dim_labels=b0f_0io->b0f",
       0,
       -1,
       false,
       false,
       {2, 2, 6, 2},
       {6, 2, 3, 1},
       {0, -1, -1},
       {-1, -1, 2}},
      {"l = f32[3,6,2] parameter(0)\nr = f32[6,2,4] parameter(1)\n"
       "ROOT c = f32[3,1,4] convolution(l, r), "
       "window={size=6}, dim_labels=b0f_0io->b0f",
       -1,
       2,
       false,
       false,
       {3, 6, 2, 1},
       {6, 2, 2, 2},
       {0, -1, -1},
       {-1, -1, 2}},
      {"l = f32[3,4,2] parameter(0)\nr = f32[4,2,5] parameter(1)\n"
       "ROOT c = f32[3,4,5] convolution(l, r), "
       "window={size=4 stride=3 lhs_dilate=4}, dim_labels=b0f_0io->b0f",
       1,
       0,
       false,
       true,
       {3, 2, 2, 2},
       {2, 2, 2, 5},
       {0, 1, -1},
       {1, -1, 2}},
      {"l = f32[3,1,2] parameter(0)\nr = f32[6,2,4] parameter(1)\n"
       "ROOT c = f32[3,6,4] convolution(l, r), "
       "window={size=6 pad=5_5 rhs_reversal=1}, dim_labels=b0f_0io->b0f",
       -1,
       0,
       false,
       false,
       {3, 1, 2, 1},
       {2, 3, 2, 4},
       {0, -1, -1},
       {1, -1, 2}},
  };
  for (const Halves& c : cases) {
    auto module = *ParseAndReturnUnverifiedModule(
        absl::StrCat("HloModule m\nENTRY e {\n", c.product, "\n}"));
    HloComputation* entry = module->entry_computation();
    HloInstruction* whole = entry->root_instruction();
    auto reshape = [&](int64_t i, const std::vector<int64_t>& dims) {
      return entry->AddInstruction(HloInstruction::CreateReshape(
          ShapeUtil::MakeShape(F32, dims), whole->mutable_operand(i)));
    };
    HloInstruction* lhs = reshape(0, c.lhs);
    HloInstruction* rhs = reshape(1, c.rhs);
    const Window window = GenNewWindow(whole, lhs, rhs, c.lhs_dim, c.rhs_dim,
                                       c.contracting, c.batch);
    std::vector<int64_t> dims(whole->shape().dimensions().begin(),
                              whole->shape().dimensions().end());
    if (c.contracting) {
      dims.push_back(1);
    } else {
      const int64_t at = c.lhs_dim >= 0 ? c.lhs_to_output[c.lhs_dim]
                                        : c.rhs_to_output[c.rhs_dim];
      dims[at] /= 2;
      dims.insert(dims.begin() + at, 2);
    }
    const Shape shape = ShapeUtil::MakeShape(F32, dims);
    HloInstruction* halves =
        entry->AddInstruction(HloInstruction::CreateConvolve(
            shape, lhs, rhs, 1, 1, window,
            GenNewConvDNums(whole, lhs, rhs, c.lhs_dim, c.rhs_dim,
                            c.contracting, c.batch, c.lhs_to_output,
                            c.rhs_to_output, shape),
            whole->precision_config()));
    HloInstruction* back = entry->AddInstruction(
        HloInstruction::CreateReshape(whole->shape(), halves));
    entry->set_root_instruction(
        entry->AddInstruction(HloInstruction::CreateBinary(
            whole->shape(), HloOpcode::kSubtract, whole, back)));
    ASSERT_TRUE(VerifyHloModule(module.get(), HloVerifierOpts()).ok())
        << module->ToString();
    HloEvaluator evaluator;
    std::vector<Literal> arguments;
    for (const HloInstruction* p : entry->parameter_instructions()) {
      Literal literal(p->shape());
      int64_t i = 0;
      for (float& x : literal.data<float>()) x = ++i * 7 % 11;
      arguments.push_back(std::move(literal));
    }
    const auto results =
        evaluator.Evaluate(*module, {&arguments[0], &arguments[1]});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_TRUE(results->IsAll(0)) << module->ToString();
  }
}

}  // namespace
}  // namespace xla::spmd
