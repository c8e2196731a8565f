#include "xla/hlo/transforms/sharding_propagation/sdy_attributes.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_sharding.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SdyMeshes Meshes() {
  auto meshes = ParseSdyMeshes(
      R"({empty = #sdy.mesh<[]>, m = #sdy.mesh<["a"=2, "b"=4]>, )"
      R"(one = #sdy.mesh<[], device_ids=[3]>})");
  EXPECT_TRUE(meshes.ok()) << meshes.status();
  return meshes.ok() ? *meshes : SdyMeshes();
}

std::string Tiles(absl::string_view text) {
  auto sharding = ParseSdySharding(text, Meshes());
  if (!sharding.ok()) return std::string(sharding.status().message());
  if (!sharding->sharding) return "nothing";
  return HloSharding::V3ToV2Sharding(*sharding->sharding).ToString();
}

TEST(SdyAttributesTest, Meshes) {
  const SdyMeshes meshes = Meshes();
  ASSERT_EQ(meshes.size(), 3);
  EXPECT_TRUE(meshes.at("empty").empty);
  EXPECT_FALSE(meshes.at("m").empty);
}

TEST(SdyAttributesTest, ShardingsAreTilings) {
  EXPECT_EQ(Tiles(R"(#sdy.sharding<@m, [{"a"}, {"b"}]>)"),
            "{devices=[2,4]<=[8]}");
  EXPECT_EQ(Tiles(R"(#sdy.sharding<@m, [{"b"}, {"a"}]>)"),
            "{devices=[4,2]<=[2,4]T(1,0)}");
  EXPECT_EQ(Tiles(R"(#sdy.sharding<@m, [{}, {"a", "b"}]>)"),
            "{devices=[1,8]<=[8]}");
  EXPECT_EQ(Tiles(R"(#sdy.sharding<@m, [{"b"}, {}]>)"),
            "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}");
  // A part of an axis.
  EXPECT_EQ(Tiles(R"(#sdy.sharding<@m, [{"b":(1)2}]>)"),
            "{devices=[2,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}");
  EXPECT_EQ(Tiles(R"(#sdy.sharding<@m, [{}, {}]>)"), "{replicated}");
  EXPECT_EQ(Tiles(R"(#sdy.sharding<@one, []>)"), "{maximal device=3}");
}

TEST(SdyAttributesTest, NothingIsSaidOnOpenDimensionsOfAnEmptyMesh) {
  EXPECT_EQ(Tiles(R"(#sdy.sharding<@empty, [{?}, {?}]>)"), "nothing");
}

TEST(SdyAttributesTest, QuotesMayBeEscaped) {
  EXPECT_EQ(Tiles(R"(#sdy.sharding<@m, [{\"a\"}, {}]>)"),
            Tiles(R"(#sdy.sharding<@m, [{"a"}, {}]>)"));
}

TEST(SdyAttributesTest, PrioritiesAndOpenDimensions) {
  auto sharding =
      ParseSdySharding(R"(#sdy.sharding<@m, [{"a", ?}p2, {?}, {}]>)", Meshes());
  ASSERT_TRUE(sharding.ok()) << sharding.status();
  EXPECT_THAT(sharding->priorities, ElementsAre(2, 0, 0));
  EXPECT_EQ(sharding->rank, 3);
}

TEST(SdyAttributesTest, OnePerValue) {
  auto values = ParseSdyShardingPerValue(
      R"(#sdy.sharding_per_value<[<@m, [{"a"}]>, <@m, [{}]>]>)", Meshes());
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(values->size(), 2);
}

TEST(SdyAttributesTest, BadTexts) {
  for (absl::string_view text :
       {"", "#sdy.sharding<", "#sdy.sharding<@m, [{\"a\"}]",
        "#sdy.sharding<@none, [{\"a\"}]>", "#sdy.sharding<@m, [{\"c\"}]>",
        "#sdy.sharding<@m, [{\"a\"}, {\"a\"}]>",
        "#sdy.sharding<@m, [{\"b\":(3)2}]>",
        "#sdy.sharding<@m, [{\"b\":(1)3}]>",
        "#sdy.sharding<@m, [{\"b\":(0)2}]>",
        "#sdy.sharding<@m, [{\"b\":(1)1}]>",
        "#sdy.sharding<@m, [{\"b\":(-1)2}]>",
        "#sdy.sharding<@m, [{\"a\"}]> more"}) {
    auto sharding = ParseSdySharding(text, Meshes());
    EXPECT_EQ(sharding.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_THAT(Tiles("#sdy.sharding<@none, [{\"a\"}]>"), HasSubstr("none"));
  for (absl::string_view text :
       {"", "{", "{m = #sdy.mesh<[\"a\"=0]>}", "{m = #sdy.mesh<[\"a\"=2>}",
        "{m = #sdy.mesh<[\"a\"=2, \"a\"=2]>}",
        "{m = #sdy.mesh<[\"a\"=2], device_ids=[0, 0]>}"}) {
    EXPECT_EQ(ParseSdyMeshes(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

}  // namespace
}  // namespace xla
