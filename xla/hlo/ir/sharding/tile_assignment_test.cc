#include "xla/hlo/ir/tile_assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "xla/array.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TileAssignment V1(const TileAssignment& assignment) {
  return TileAssignment(assignment.shared_array());
}

TEST(IotaTileAssignmentTest, DropsOnesAndMergesNeighbors) {
  const auto iota =
      IotaTileAssignment::Create({4, 4, 1}, {2, 2, 1, 4}, {3, 2, 0, 1});
  EXPECT_THAT(iota.reshape_dims(), ElementsAre(4, 4));
  EXPECT_THAT(iota.transpose_perm(), ElementsAre(1, 0));
  EXPECT_EQ(iota.ToString(), "[4,4,1]<=[4,4]T(1,0)");
  EXPECT_EQ(IotaTileAssignment::Create({4}, {2, 2}, {0, 1}).ToString(),
            "[4]<=[4]");
  EXPECT_EQ(IotaTileAssignment::Create({1, 1}, {1, 1}, {1, 0}).ToString(),
            "[1,1]<=[1]");
}

TEST(IotaTileAssignmentTest, ValueAtAndIndexForAreInverse) {
  const auto iota = IotaTileAssignment::Create({4, 4, 1}, {4, 2, 2}, {1, 0, 2});
  EXPECT_EQ(iota.ToString(), "[4,4,1]<=[4,2,2]T(1,0,2)");
  const Array<int64_t> array = iota.ToArray();
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 4; ++j) {
      const int64_t device = iota.value_at({i, j, 0});
      const std::vector<int64_t> index = {i, j, 0};
      EXPECT_EQ(device, array(index));
      EXPECT_THAT(iota.index_for(device), ElementsAre(i, j, 0));
    }
  }
}

TEST(IotaTileAssignmentTest, ValidateRefusesBadRules) {
  EXPECT_TRUE(IotaTileAssignment::Validate({2, 2}, {4}, {0}).ok());
  for (const absl::Status& status :
       {IotaTileAssignment::Validate({2, 2}, {5}, {0}),
        IotaTileAssignment::Validate({2, 2}, {4}, {1}),
        IotaTileAssignment::Validate({2, 2}, {2, 2}, {0, 0}),
        IotaTileAssignment::Validate({2, 2}, {2, 2}, {0}),
        IotaTileAssignment::Validate({0, 2}, {4}, {0}),
        IotaTileAssignment::Validate({-2, -2}, {4}, {0}),
        IotaTileAssignment::Validate({1}, {}, {}),
        IotaTileAssignment::Validate({int64_t{1} << 62, 4},
                                     {int64_t{1} << 62, 4}, {0, 1})}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(IotaTileAssignmentTest, TransposeMatchesArrayOrIsRefused) {
  const auto iota = IotaTileAssignment::Create({8, 4}, {2, 16}, {1, 0});
  const auto transposed = iota.Transpose({1, 0});
  ASSERT_TRUE(transposed.has_value());
  Array<int64_t> expected = iota.ToArray();
  expected.TransposeDimensions({1, 0});
  EXPECT_EQ(transposed->ToArray(), expected);
  // 6 = 2 * 3 devices; a cut of [2,3]T(1,0) = [3,2] into [2,3] meets no factor.
  const auto odd = IotaTileAssignment::Create({2, 3}, {2, 3}, {1, 0});
  EXPECT_FALSE(odd.Transpose({1, 0}).has_value());
  EXPECT_TRUE(odd.Transpose({0, 1}).has_value());
}

TEST(IotaTileAssignmentTest, FromArrayFindsEveryRule) {
  std::mt19937 rng(7);
  const std::vector<int64_t> sizes = {1, 2, 3, 4, 2};
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> reshape_dims;
    std::vector<int> perm;
    int64_t count = 1;
    for (int i = 0; i < 4; ++i) {
      reshape_dims.push_back(sizes[rng() % sizes.size()]);
      count *= reshape_dims.back();
      perm.insert(perm.begin() + rng() % (perm.size() + 1), i);
    }
    const auto iota =
        IotaTileAssignment::Create({1, count}, reshape_dims, perm);
    const auto found = IotaTileAssignment::FromArray(iota.ToArray());
    ASSERT_TRUE(found.has_value()) << iota.ToString();
    EXPECT_EQ(*found, iota) << found->ToString() << " " << iota.ToString();
  }
  EXPECT_FALSE(IotaTileAssignment::FromArray(Array<int64_t>({{0, 1}, {3, 2}}))
                   .has_value());
  EXPECT_FALSE(
      IotaTileAssignment::FromArray(Array<int64_t>({{1, 0}})).has_value());
  EXPECT_FALSE(IotaTileAssignment::FromArray(Array<int64_t>({{0, 1, 2, 4}}))
                   .has_value());
}

TEST(TileAssignmentTest, V1AndV2OfOneArrayAreEqualAndHashAlike) {
  const TileAssignment v2({2, 2, 2}, {2, 4}, {1, 0});
  const TileAssignment v1 = V1(v2);
  EXPECT_TRUE(v2.iota().has_value());
  EXPECT_FALSE(v1.iota().has_value());
  EXPECT_EQ(v1, v2);
  EXPECT_EQ(v2, v1);
  EXPECT_EQ(absl::HashOf(v1), absl::HashOf(v2));
  EXPECT_NE(v1, TileAssignment({2, 2, 2}));
  EXPECT_NE(v2, TileAssignment({2, 2, 2}));
  EXPECT_NE(v2, TileAssignment({2, 4}, {2, 4}, {1, 0}));
  EXPECT_EQ(v1.ToV2().iota(), v2.iota());
}

TEST(TileAssignmentTest, ArrayOfRuleIsComputedOnlyWhenAsked) {
  const TileAssignment v2({1024, 1024});
  EXPECT_EQ(v2, TileAssignment({1024, 1024}, {1024, 1024}, {0, 1}));
  EXPECT_EQ(v2.first(), 0);
  EXPECT_EQ(v2(3, 5), 3 * 1024 + 5);
  EXPECT_TRUE(v2.contains(1024 * 1024 - 1));
  EXPECT_FALSE(v2.contains(1024 * 1024));
  EXPECT_EQ(v2.Reshape({1024 * 1024}).num_dimensions(), 1);
  absl::HashOf(v2);
  EXPECT_EQ(v2.array_ptr(), nullptr);
  EXPECT_EQ(v2.array().num_elements(), 1024 * 1024);
  EXPECT_NE(v2.array_ptr(), nullptr);
}

TEST(TileAssignmentTest, Prints) {
  EXPECT_EQ(TileAssignment({2, 2}).ToString(), "devices=[2,2]<=[4]");
  EXPECT_EQ(TileAssignment({2, 2}, {2, 2}, {1, 0}).ToString(),
            "devices=[2,2]<=[2,2]T(1,0)");
  EXPECT_EQ(V1(TileAssignment({2, 2}, {2, 2}, {1, 0})).ToString(),
            "devices=[2,2]0,2,1,3");
  EXPECT_EQ(TileAssignment({2, 2}, {2, 2}, {1, 0}).ArrayToString(),
            "[2,2]T(1,0)");
}

TEST(TileAssignmentTest, EachVisitsInRowMajorOrderForBothForms) {
  const TileAssignment v2({2, 3}, {3, 2}, {1, 0});
  std::vector<int64_t> seen;
  std::vector<int64_t> seen_v1;
  v2.Each([&](absl::Span<const int64_t> index, int64_t device) {
    EXPECT_EQ(v2(index), device);
    seen.push_back(device);
  });
  V1(v2).Each([&](absl::Span<const int64_t>, int64_t device) {
    seen_v1.push_back(device);
  });
  EXPECT_THAT(seen, ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_EQ(seen, seen_v1);
  int visited = 0;
  const absl::Status status =
      v2.EachStatus([&](absl::Span<const int64_t>, int64_t) {
        return ++visited == 2 ? absl::InternalError("stop") : absl::OkStatus();
      });
  EXPECT_EQ(status.message(), "stop");
  EXPECT_EQ(visited, 2);
}

TEST(TileAssignmentTest, TransposeFallsBackToElements) {
  const TileAssignment odd({2, 3}, {2, 3}, {1, 0});
  const TileAssignment transposed = odd.Transpose({1, 0});
  EXPECT_FALSE(transposed.iota().has_value());
  EXPECT_THAT(transposed.dimensions(), ElementsAre(3, 2));
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j) EXPECT_EQ(odd(i, j), transposed(j, i));
  }
  EXPECT_THAT(transposed.index_for(odd(1, 2)), ElementsAre(2, 1));
}

TEST(TileAssignmentTest, CommonFactors) {
  EXPECT_THAT(ExtractCommonFactorSequence({8, 4}, {4, 8}),
              ElementsAre(4, 2, 4));
  EXPECT_THAT(ExtractCommonFactorSequence({1, 6}, {6, 1, 1}), ElementsAre(6));
  EXPECT_THAT(ExtractCommonFactorSequence({2, 3}, {3, 2}), IsEmpty());
  EXPECT_THAT(ExtractCommonFactorSequence({4}, {2}), IsEmpty());
}

TEST(TileAssignmentTest, AnalyzeNamesFactorsInDeviceOrder) {
  const TileAssignment v2({4, 2}, {2, 4}, {1, 0});
  for (const TileAssignment& form : {v2, V1(v2)}) {
    const auto analysis = AnalyzeTileAssignment(form);
    ASSERT_TRUE(analysis.has_value());
    EXPECT_THAT(analysis->local_mesh, ElementsAre(2, 4));
    EXPECT_EQ(analysis->sub_dims[0].tile_dim_index, 1);
    EXPECT_EQ(analysis->sub_dims[1].tile_dim_index, 0);
  }
  const auto split = AnalyzeTileAssignment(TileAssignment({8}, {2, 4}, {1, 0}));
  ASSERT_TRUE(split.has_value());
  // Factor of device dimension 0 is the minor part of the tile dimension.
  EXPECT_EQ(split->sub_dims[0].tile_sub_dim_index, 0);
  EXPECT_EQ(split->sub_dims[1].tile_sub_dim_index, 1);
  auto array =
      std::make_shared<Array<int64_t>>(Array<int64_t>({{0, 1}, {3, 2}}));
  EXPECT_FALSE(AnalyzeTileAssignment(TileAssignment(array)).has_value());
}

}  // namespace
}  // namespace xla
