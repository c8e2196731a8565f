#include "xla/permutation_util.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

TEST(PermutationUtilTest, IsPermutation) {
  EXPECT_TRUE(IsPermutation({}));
  EXPECT_TRUE(IsPermutation({0}));
  EXPECT_TRUE(IsPermutation({2, 0, 1}));
  EXPECT_FALSE(IsPermutation({-3}));
  EXPECT_FALSE(IsPermutation({0, 0}));
  EXPECT_FALSE(IsPermutation({1, 2}));
  EXPECT_TRUE(IsIdentityPermutation(std::vector<int64_t>{0, 1, 2}));
  EXPECT_FALSE(IsIdentityPermutation(std::vector<int64_t>{0, 2, 1}));
  EXPECT_TRUE(IsIdentityPermutation({}));
  EXPECT_TRUE(IsIdentityPermutation({0, 1, 2}));
  EXPECT_FALSE(IsIdentityPermutation({1, 0}));
}

TEST(PermutationUtilTest, PermuteAndBack) {
  const std::vector<std::string> words = {"a", "b", "c"};
  const std::vector<int64_t> p = {2, 0, 1};
  EXPECT_THAT(Permute(words, p), ElementsAre("c", "a", "b"));
  EXPECT_EQ(PermuteInverse(Permute(words, p), p), words);
  EXPECT_EQ(Permute(words, InversePermutation(p)), PermuteInverse(words, p));
  const std::vector<int64_t> numbers = {5, 6, 7};
  EXPECT_THAT(PermuteInverse(numbers, p), ElementsAre(6, 7, 5));
  using Inlined = absl::InlinedVector<int64_t, 6>;
  const Inlined inlined = PermuteInverse<Inlined>(numbers, p);
  EXPECT_THAT(inlined, ElementsAre(6, 7, 5));
}

TEST(PermutationUtilTest, CompositionPermutesTwice) {
  const std::vector<int64_t> p1 = {1, 2, 3, 0};
  const std::vector<int64_t> p2 = {3, 1, 0, 2};
  const std::vector<int64_t> x = {10, 11, 12, 13};
  EXPECT_EQ(Permute(x, ComposePermutations(p1, p2)),
            Permute(Permute(x, p1), p2));
  EXPECT_TRUE(
      IsIdentityPermutation(ComposePermutations(p1, InversePermutation(p1))));
}

TEST(PermutationUtilTest, MoveSingleElementShiftsTheOthers) {
  std::vector<int64_t> p = {0, 1, 2, 3, 4};
  MoveSingleElement(absl::MakeSpan(p), 1, 3);
  EXPECT_THAT(p, ElementsAre(0, 2, 3, 1, 4));
  MoveSingleElement(absl::MakeSpan(p), 3, 1);
  EXPECT_THAT(p, ElementsAre(0, 1, 2, 3, 4));
  MoveSingleElement(absl::MakeSpan(p), 4, 0);
  EXPECT_THAT(p, ElementsAre(4, 0, 1, 2, 3));
}

}  // namespace
}  // namespace xla
