#include "xla/map_util.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

TEST(MapUtilTest, Find) {
  std::map<std::string, int> map = {{"a", 1}};
  EXPECT_EQ(FindOrDie(map, "a"), 1);
  FindOrDie(map, "a") = 2;
  EXPECT_EQ(MaybeFind(map, "a")->get(), 2);
  EXPECT_EQ(MaybeFind(map, "b").status().code(), absl::StatusCode::kNotFound);
  const int fallback = 7;
  EXPECT_EQ(FindOrDefault(map, "b", fallback), 7);
  EXPECT_TRUE(ContainsKey(map, "a"));
  EXPECT_FALSE(ContainsKey(map, "b"));
  EXPECT_DEATH(FindOrDie(map, "b"), "not found");
}

TEST(MapUtilTest, InsertOrDie) {
  absl::flat_hash_map<int, int> map;
  InsertOrDie(&map, 1, 2);
  EXPECT_EQ(map.at(1), 2);
  EXPECT_DEATH(InsertOrDie(&map, 1, 3), "duplicate");
  std::set<int> set;
  InsertOrDie(&set, 4);
  EXPECT_DEATH(InsertOrDie(&set, 4), "duplicate");
}

TEST(MapUtilTest, Predicates) {
  const absl::flat_hash_map<int, int> map = {{1, 2}};
  const absl::flat_hash_set<int> set = {3};
  const std::vector<int> values = {1, 3, 3};
  EXPECT_EQ(std::count_if(values.begin(), values.end(), IsKeyIn(map)), 1);
  EXPECT_EQ(std::count_if(values.begin(), values.end(), IsValueIn(set)), 2);
}

}  // namespace
}  // namespace xla
