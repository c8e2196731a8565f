#include "xla/iterator_util.h"

#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

std::vector<std::unique_ptr<int>> Boxes() {
  std::vector<std::unique_ptr<int>> boxes;
  for (int i = 0; i < 5; ++i) boxes.push_back(std::make_unique<int>(i));
  return boxes;
}

TEST(IteratorUtilTest, UnwrapsUniquePointers) {
  const auto boxes = Boxes();
  std::vector<int> values;
  for (int* p : make_range(MakeUnwrappingIterator(boxes.begin()),
                           MakeUnwrappingIterator(boxes.end()))) {
    values.push_back(*p);
  }
  EXPECT_THAT(values, ElementsAre(0, 1, 2, 3, 4));
}

TEST(IteratorUtilTest, FilterSkipsAlsoAtTheEnds) {
  const auto boxes = Boxes();
  std::vector<int> odd;
  for (int* p : MakeFilteringUnwrappingIteratorRange(
           boxes.begin(), boxes.end(), [](const int* x) { return *x % 2; })) {
    odd.push_back(*p);
  }
  EXPECT_THAT(odd, ElementsAre(1, 3));
  EXPECT_TRUE(MakeFilteringUnwrappingIteratorRange(
                  boxes.begin(), boxes.end(), [](const int*) { return false; })
                  .empty());
}

TEST(IteratorUtilTest, WithIndexCounts) {
  std::list<int> list = {7, 8};
  size_t sum = 0;
  for (auto [index, value] : WithIndex(list)) {
    sum += index * value;
    ++value;
  }
  EXPECT_EQ(sum, 8u);
  EXPECT_THAT(list, ElementsAre(8, 9));
  std::vector<int> seen;
  for (auto [index, value] : WithIndex(std::vector<int>{5, 6})) {
    seen.push_back(static_cast<int>(index) + value);
  }
  EXPECT_THAT(seen, ElementsAre(5, 7));
}

}  // namespace
}  // namespace xla
