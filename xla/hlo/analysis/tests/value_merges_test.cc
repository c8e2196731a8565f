#include "xla/hlo/analysis/value_merges.h"

#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

TEST(ValueMergesTest, ExampleOfTheHeader) {
  for (bool phi : {true, false}) {
    ValueMerges merges(5);
    merges.Merge(1, {0, 2}, phi);
    merges.Forward(2, 1);
    merges.Merge(3, {1, 4}, phi);
    ASSERT_TRUE(merges.Resolve().ok());
    EXPECT_EQ(merges.Unique(1), 0);
    EXPECT_EQ(merges.Unique(2), 0);
    EXPECT_EQ(merges.Unique(4), 4);
    EXPECT_EQ(merges.Unique(3), phi ? 3 : -1);
    EXPECT_EQ(merges.IsPhi(3), phi);
    EXPECT_FALSE(merges.IsPhi(1));
    if (!phi) {
      EXPECT_THAT(merges.Values(3), ElementsAre(0, 4));
    }
  }
}

TEST(ValueMergesTest, CircleOfForwards) {
  ValueMerges merges(3);
  merges.Forward(0, 1);
  merges.Forward(1, 0);
  EXPECT_FALSE(merges.Resolve().ok());
}

// Components within a component: 1 gets 0 and 4; 2 and 3 pass 1 to and fro.
TEST(ValueMergesTest, InnerLoopsPassThePhiOfTheOuter) {
  ValueMerges merges(5);
  merges.Merge(1, {0, 2}, true);
  merges.Merge(2, {1, 3}, true);
  merges.Merge(3, {2, 2}, true);
  ASSERT_TRUE(merges.Resolve().ok());
  // Only 0 ever gets in.
  for (int32_t i : {1, 2, 3}) EXPECT_EQ(merges.Unique(i), 0);
  ValueMerges two(5);
  two.Merge(1, {0, 2, 4}, true);
  two.Merge(2, {1, 3}, true);
  two.Merge(3, {2, 2}, true);
  ASSERT_TRUE(two.Resolve().ok());
  for (int32_t i : {1, 2, 3}) EXPECT_EQ(two.Unique(i), 1);
  EXPECT_TRUE(two.IsPhi(1));
}

// A random graph; sources[i] empty: defines, one: forwards, else merges.
std::vector<std::vector<int32_t>> RandomGraph(std::mt19937& random) {
  const int32_t n = 2 + random() % 14;
  std::vector<std::vector<int32_t>> sources(n);
  for (int32_t i = 0; i < n; ++i) {
    switch (random() % 3) {
      case 0:
        break;
      case 1:
        // Forwards go back, merges anywhere.
        if (i > 0) sources[i] = {static_cast<int32_t>(random() % i)};
        break;
      default:
        sources[i].resize(2 + random() % 2);
        for (int32_t& source : sources[i]) source = random() % n;
        // Something always gets in.
        sources[i][0] = 0;
    }
  }
  sources[0].clear();
  return sources;
}

TEST(ValueMergesTest, RandomGraphsAgainstAFixedPoint) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const auto sources = RandomGraph(random);
    const int32_t n = static_cast<int32_t>(sources.size());
    ValueMerges sets(n);
    ValueMerges phis(n);
    std::vector<std::set<int32_t>> expected(n);
    for (int32_t i = 0; i < n; ++i) {
      if (sources[i].empty()) expected[i] = {i};
      if (sources[i].size() == 1) {
        sets.Forward(i, sources[i][0]);
        phis.Forward(i, sources[i][0]);
      } else if (sources[i].size() > 1) {
        sets.Merge(i, sources[i], false);
        phis.Merge(i, sources[i], true);
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (int32_t i = 0; i < n; ++i) {
        for (int32_t source : sources[i]) {
          for (int32_t value : expected[source]) {
            changed |= expected[i].insert(value).second;
          }
        }
      }
    }
    ASSERT_TRUE(sets.Resolve().ok());
    ASSERT_TRUE(phis.Resolve().ok());
    for (int32_t i = 0; i < n; ++i) {
      std::set<int32_t> found;
      if (sets.Unique(i) >= 0) {
        found = {sets.Unique(i)};
      } else {
        found = {sets.Values(i).begin(), sets.Values(i).end()};
      }
      EXPECT_EQ(found, expected[i]) << round << " " << i;
      // Each place has one value, which is a definition or needs to be a phi:
      // different values come to it.
      const int32_t value = phis.Unique(i);
      ASSERT_GE(value, 0);
      EXPECT_EQ(expected[value], expected[i]);
      if (!phis.IsPhi(value)) {
        EXPECT_TRUE(sources[value].empty());
        continue;
      }
      std::set<int32_t> coming;
      for (int32_t source : sources[value]) {
        if (phis.Unique(source) != value) coming.insert(phis.Unique(source));
      }
      EXPECT_GE(coming.size(), 2) << round << " " << i;
    }
  }
}

}  // namespace
}  // namespace xla
