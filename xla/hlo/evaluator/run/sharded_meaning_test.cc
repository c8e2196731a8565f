#include "xla/hlo/evaluator/run/sharded_meaning.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/run/sharded_literals.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

HloSharding Sharding(absl::string_view text) {
  auto sharding = ParseSharding(text);
  EXPECT_TRUE(sharding.ok()) << sharding.status();
  return *sharding;
}

std::vector<const Literal*> Pointers(const std::vector<Literal>& literals) {
  std::vector<const Literal*> pointers;
  for (const Literal& literal : literals) pointers.push_back(&literal);
  return pointers;
}

TEST(ShardedLiteralsTest, UnevenShardsArePoisoned) {
  const Literal whole = LiteralUtil::CreateR1<float>({1, 2, 3, 4, 5});
  auto shards = SplitLiteral(whole, Sharding("{devices=[4]3,2,1,0}"), 4);
  ASSERT_TRUE(shards.ok()) << shards.status();
  EXPECT_EQ((*shards)[3].Get<float>({0}), 1);
  EXPECT_EQ((*shards)[3].Get<float>({1}), 2);
  EXPECT_EQ((*shards)[1].Get<float>({0}), 5);
  EXPECT_TRUE(std::isnan((*shards)[1].Get<float>({1})));
  EXPECT_TRUE(std::isnan((*shards)[0].Get<float>({0})));
  const Literal ints = LiteralUtil::CreateR1<int32_t>({7});
  auto empty = SplitLiteral(ints, Sharding("{devices=[3]<=[3]}"), 3);
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ((*empty)[0].Get<int32_t>({0}), 7);
  EXPECT_NE((*empty)[1].Get<int32_t>({0}), (*empty)[2].Get<int32_t>({0}));
  EXPECT_GT(std::abs(static_cast<double>((*empty)[1].Get<int32_t>({0}))), 1e9);
}

// All kinds, all orders of devices, more tiles than elements.
TEST(ShardedLiteralsTest, WhatIsSplitIsAssembledAgain) {
  const Literal whole = LiteralUtil::CreateR2<float>(
      {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}, {13, 14, 15}});
  for (const char* text :
       {"{replicated}", "{maximal device=5}", "{devices=[8,1]<=[8]}",
        "{devices=[1,8]<=[8]}", "{devices=[4,2]<=[2,4]T(1,0)}",
        "{devices=[2,4]0,7,3,4,5,1,2,6}",
        "{devices=[2,1,4]<=[8] last_tile_dim_replicate}",
        "{devices=[2,2,2]7,6,5,4,3,2,1,0 last_tile_dim_replicate}",
        "{devices=[2,2,2]<=[2,4]T(1,0) last_tile_dims={manual}}", "{manual}",
        "{unknown}"}) {
    const HloSharding sharding = Sharding(text);
    auto shards = SplitLiteral(whole, sharding, 8);
    ASSERT_TRUE(shards.ok()) << text << shards.status();
    auto assembled =
        AssembleLiteral(whole.shape(), sharding, Pointers(*shards));
    ASSERT_TRUE(assembled.ok()) << text << assembled.status();
    EXPECT_EQ(*assembled, whole) << text;
    auto same =
        FindReplicaDifference(whole.shape(), sharding, Pointers(*shards));
    ASSERT_TRUE(same.ok()) << text << same.status();
    EXPECT_FALSE(same->has_value()) << text << **same;
  }
}

TEST(ShardedLiteralsTest, ReplicasThatDiffer) {
  const Literal whole = LiteralUtil::CreateR1<float>({1, 2, 3, 4});
  const HloSharding sharding =
      Sharding("{devices=[2,2]<=[4] last_tile_dim_replicate}");
  auto shards = SplitLiteral(whole, sharding, 4);
  ASSERT_TRUE(shards.ok()) << shards.status();
  (*shards)[3].Set<float>({1}, -4);
  auto found =
      FindReplicaDifference(whole.shape(), sharding, Pointers(*shards));
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_THAT(**found, HasSubstr("devices 2 and 3 hold the same tile but "
                                 "differ: output at [1]: expected 4"));
  auto against = FindShardDifference({&whole, &whole, &whole, &whole}, sharding,
                                     Pointers(*shards), {Tolerance(), 1});
  ASSERT_TRUE(against.ok() && against->has_value());
  EXPECT_THAT(**against, HasSubstr("in the shard of device 3"));
}

TEST(ShardedLiteralsTest, Tuples) {
  std::vector<Literal> elements;
  elements.push_back(LiteralUtil::CreateR1<float>({1, 2, 3}));
  elements.push_back(LiteralUtil::CreateR0<int32_t>(7));
  const Literal whole = LiteralUtil::MakeTupleOwned(std::move(elements));
  const HloSharding sharding =
      Sharding("{{devices=[2]<=[2]}, {maximal device=1}}");
  auto shards = SplitLiteral(whole, sharding, 2);
  ASSERT_TRUE(shards.ok()) << shards.status();
  EXPECT_EQ((*shards)[1].Get<float>({0}, {0}), 3);
  EXPECT_EQ((*shards)[1].Get<int32_t>({}, {1}), 7);
  EXPECT_NE((*shards)[0].Get<int32_t>({}, {1}), 7);
  auto assembled = AssembleLiteral(whole.shape(), sharding, Pointers(*shards));
  ASSERT_TRUE(assembled.ok()) << assembled.status();
  EXPECT_EQ(*assembled, whole);
}

TEST(ShardedLiteralsTest, BadShardings) {
  const Literal whole = LiteralUtil::CreateR1<float>({1, 2, 3});
  EXPECT_EQ(
      SplitLiteral(whole, Sharding("{devices=[2]<=[2]}"), 4).status().code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      SplitLiteral(whole, Sharding("{devices=[2,2]<=[4]}"), 4).status().code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      SplitLiteral(whole, Sharding("{maximal device=4}"), 4).status().code(),
      absl::StatusCode::kInvalidArgument);
  auto difference = FindReplicaDifference(
      whole.shape(), Sharding("{devices=[2]<=[2]}"), {&whole, &whole});
  EXPECT_EQ(difference.status().code(), absl::StatusCode::kInvalidArgument);
}

// Two tiles, each the sum of two addends.
TEST(ShardedLiteralsTest, AddendsAreSummedUp) {
  const Literal whole = LiteralUtil::CreateR1<float>({1, 2, 3, 4, 5});
  const HloSharding sharding =
      Sharding("{devices=[2,2]<=[4] last_tile_dims={unreduced}}");
  auto shards = SplitLiteral(whole, sharding, 4);
  ASSERT_TRUE(shards.ok()) << shards.status();
  EXPECT_EQ((*shards)[0], LiteralUtil::CreateR1<float>({1, 2, 3}));
  EXPECT_EQ((*shards)[1], LiteralUtil::CreateR1<float>({0, 0, 0}));
  std::vector<const Literal*> all;
  for (const Literal& shard : *shards) all.push_back(&shard);
  EXPECT_EQ(*AssembleLiteral(whole.shape(), sharding, all), whole);
  // Other addends of the same sums.
  const Literal first = LiteralUtil::CreateR1<float>({4, 4, 4});
  const Literal second = LiteralUtil::CreateR1<float>({-3, -2, -1});
  all[0] = &first;
  all[1] = &second;
  EXPECT_EQ(*AssembleLiteral(whole.shape(), sharding, all), whole);
  EXPECT_EQ(*FindReplicaDifference(whole.shape(), sharding, all), std::nullopt);
  const std::vector<const Literal*> wholes(4, &whole);
  EXPECT_EQ(*FindShardDifference(wholes, sharding, all, {}), std::nullopt);
  all[1] = &first;
  EXPECT_NE(*FindShardDifference(wholes, sharding, all, {}), std::nullopt);
}

// Whatever has sums: integers that a double does not hold, and complex numbers.
TEST(ShardedLiteralsTest, AddendsOfManyTypes) {
  const HloSharding sharding =
      Sharding("{devices=[1,2]<=[2] last_tile_dims={unreduced}}");
  const int64_t large = (int64_t{1} << 60) + 1;
  const Literal one = LiteralUtil::CreateR1<int64_t>({1, -2});
  const Literal other = LiteralUtil::CreateR1<int64_t>({large - 1, 2});
  EXPECT_EQ(*AssembleLiteral(one.shape(), sharding, {&one, &other}),
            LiteralUtil::CreateR1<int64_t>({large, 0}));
  const Literal turned =
      LiteralUtil::CreateR1<complex64>({complex64(0, 1), complex64(2, 0)});
  EXPECT_EQ(
      *AssembleLiteral(turned.shape(), sharding, {&turned, &turned}),
      LiteralUtil::CreateR1<complex64>({complex64(0, 2), complex64(4, 0)}));
}

// Each tile the largest of two addends; one of them has nothing to say.
TEST(ShardedLiteralsTest, AddendsOfMaximaAndMinima) {
  const Literal whole = LiteralUtil::CreateR1<float>({1, -2, 3, -4});
  for (const ReductionOp op : {ReductionOp::kMax, ReductionOp::kMin}) {
    const bool largest = op == ReductionOp::kMax;
    HloSharding sharding =
        Sharding("{devices=[2,2]<=[4] last_tile_dims={unreduced}}");
    sharding.set_reduction_op(op);
    auto shards = SplitLiteral(whole, sharding, 4);
    ASSERT_TRUE(shards.ok()) << shards.status();
    EXPECT_EQ((*shards)[0], LiteralUtil::CreateR1<float>({1, -2}));
    const float nothing = largest ? -std::numeric_limits<float>::infinity()
                                  : std::numeric_limits<float>::infinity();
    EXPECT_EQ((*shards)[1], LiteralUtil::CreateR1<float>({nothing, nothing}));
    std::vector<const Literal*> all;
    for (const Literal& shard : *shards) all.push_back(&shard);
    EXPECT_EQ(*AssembleLiteral(whole.shape(), sharding, all), whole);
    const Literal other = largest ? LiteralUtil::CreateR1<float>({1, -3})
                                  : LiteralUtil::CreateR1<float>({1, 0});
    all[1] = &other;
    EXPECT_EQ(*AssembleLiteral(whole.shape(), sharding, all), whole);
    const Literal beyond =
        LiteralUtil::CreateR1<float>({1, largest ? 0.0f : -3.0f});
    all[1] = &beyond;
    EXPECT_NE(*AssembleLiteral(whole.shape(), sharding, all), whole);
  }
}

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

// A sum over devices, of each replica's own arguments.
TEST(ShardedMeaningTest, ReplicasHaveArgumentsOfTheirOwn) {
  const auto whole = Parse(R"(HloModule m, replica_count=2
add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT s = s32[] add(a, b) }
ENTRY e { p = s32[6] parameter(0), sharding={devices=[3]<=[3]}
  z = s32[] constant(0)
  ROOT r = s32[] reduce(p, z), dimensions={0}, to_apply=add })");
  constexpr char kPart[] = R"(HloModule m, replica_count=2, num_partitions=3
add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT s = s32[] add(a, b) }
ENTRY e { p = s32[2] parameter(0)
  z = s32[] constant(0)
  r = s32[] reduce(p, z), dimensions={0}, to_apply=add
  ROOT s = s32[] all-reduce(r), replica_groups=$, channel_id=1,
    use_global_device_ids=true, to_apply=add })";
  const auto with = [&](absl::string_view groups) {
    std::string text = kPart;
    text.replace(text.find('$'), 1, std::string(groups));
    return Parse(text);
  };
  MeaningOptions options;
  options.seeds = 3;
  auto meaning = ShardedMeaning::Make(*whole, 3, options);
  ASSERT_TRUE(meaning.ok()) << meaning.status();
  auto same = (*meaning)->DifferenceFrom(*with("{{0,1,2},{3,4,5}}"));
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_FALSE(same->has_value()) << **same;
  auto different = (*meaning)->DifferenceFrom(*with("{{0,1,5},{3,4,2}}"));
  ASSERT_TRUE(different.ok()) << different.status();
  ASSERT_TRUE(different->has_value());
  EXPECT_THAT(**different, HasSubstr("in the shard of device 0, sharding "
                                     "{replicated}"));
  auto other = (*meaning)->DifferenceFrom(*whole);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace xla
