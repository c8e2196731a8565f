#include "xla/array.h"

#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/array2d.h"
#include "xla/array3d.h"
#include "xla/array4d.h"
#include "xla/types.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

TEST(ArrayTest, SizesAndElementsInRowMajorOrder) {
  Array<int> zeros({2, 3});
  EXPECT_THAT(zeros.dimensions(), ElementsAre(2, 3));
  EXPECT_EQ(zeros.num_elements(), 6);
  EXPECT_EQ(zeros(1, 2), 0);
  Array<int> lists({{1, 2}, {3, 4}, {5, 6}});
  EXPECT_EQ(lists.dim(0), 3);
  EXPECT_EQ(lists(2, 0), 5);
  EXPECT_EQ(lists({1, 1}), 4);
  EXPECT_THAT(lists, ElementsAre(1, 2, 3, 4, 5, 6));
  const std::vector<int> flat = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(lists, Array<int>({3, 2}, flat));
  EXPECT_NE(lists, Array<int>({2, 3}, flat));
  EXPECT_EQ(Array<int>({0, 4}).num_elements(), 0);
  EXPECT_EQ(Array<int>(std::vector<int64_t>{}).num_elements(), 1);
}

TEST(ArrayTest, FloatConstantsMakeNarrowTypes) {
  Array<half> d1({1.0f, 2.0f});
  EXPECT_EQ(d1.num_dimensions(), 1);
  EXPECT_EQ(d1(1), half(2.0f));
  Array<bfloat16> d4({{{{1.0f, 2.0f}}}});
  EXPECT_THAT(d4.dimensions(), ElementsAre(1, 1, 1, 2));
  Array2D<bfloat16> d2({{1.5f}, {2.5f}});
  EXPECT_EQ(d2(1, 0), bfloat16(2.5f));
}

TEST(ArrayTest, BoolElementsHaveAddresses) {
  Array<bool> array({2}, true);
  bool* p = &array(1);
  *p = false;
  EXPECT_THAT(array, ElementsAre(true, false));
}

TEST(ArrayTest, CopiesAreIndependent) {
  Array<int> a({{1, 2}});
  Array<int> b = a;
  b(0, 0) = 7;
  EXPECT_EQ(a(0, 0), 1);
  a = b;
  EXPECT_EQ(a, b);
  EXPECT_EQ(absl::HashOf(a), absl::HashOf(b));
  const Array<int> c = std::move(b);
  EXPECT_EQ(a, c);
}

TEST(ArrayTest, Fills) {
  Array<int64_t> a({2, 3});
  a.FillIota(5);
  EXPECT_THAT(a, ElementsAre(5, 6, 7, 8, 9, 10));
  a.FillRepeatedIota(1, 2);
  EXPECT_THAT(a, ElementsAre(1, 2, 1, 2, 1, 2));
  a.FillWithMultiples(3);
  EXPECT_THAT(a, ElementsAre(0, 3, 6, 9, 12, 15));
  a.FillRandomUniform(2, 4);
  for (int64_t x : a) EXPECT_TRUE(x >= 2 && x <= 4);
  Array<float> b({100});
  Array<float> c({100});
  b.FillRandom(1.0f);
  c.FillRandom(1.0f);
  EXPECT_EQ(b, c);
  c.FillRandom(1.0f, 0.0, 3);
  EXPECT_NE(b, c);
}

TEST(ArrayTest, EachVisitsIndicesInOrder) {
  Array<int64_t> a({2, 2});
  a.Each([](absl::Span<const int64_t> index, int64_t* x) {
    *x = 10 * index[0] + index[1];
  });
  EXPECT_THAT(a, ElementsAre(0, 1, 10, 11));
  int visits = 0;
  const absl::Status status = a.EachStatus(
      [&](absl::Span<const int64_t> index, int64_t* x) -> absl::Status {
        ++visits;
        return *x == 1 ? absl::InternalError("one") : absl::OkStatus();
      });
  EXPECT_EQ(status, absl::InternalError("one"));
  EXPECT_EQ(visits, 2);
}

TEST(ArrayTest, SliceAndUpdateSlice) {
  Array<int64_t> a({3, 4});
  a.FillIota(0);
  const Array<int64_t> slice = a.Slice({1, 1}, {3, 3});
  EXPECT_EQ(slice, Array<int64_t>({{5, 6}, {9, 10}}));
  const Array<int64_t> beyond = a.Slice({2, 3}, {4, 5}, -1);
  EXPECT_EQ(beyond, Array<int64_t>({{11, -1}, {-1, -1}}));
  a.UpdateSlice(Array<int64_t>({1, 2}, int64_t{101}), {0, 2});
  EXPECT_EQ(a(0, 3), 101);
  EXPECT_EQ(a(1, 2), 6);
}

TEST(ArrayTest, ReshapeKeepsAndTransposeMovesElements) {
  Array<int64_t> a({2, 3});
  a.FillIota(0);
  a.TransposeDimensions({1, 0});
  EXPECT_EQ(a, Array<int64_t>({{0, 3}, {1, 4}, {2, 5}}));
  a.Reshape({6});
  EXPECT_THAT(a, ElementsAre(0, 3, 1, 4, 2, 5));
  Array<int64_t> b({2, 3, 4});
  b.FillIota(0);
  const Array<int64_t> before = b;
  b.TransposeDimensions(std::vector<int64_t>{2, 0, 1});
  EXPECT_THAT(b.dimensions(), ElementsAre(4, 2, 3));
  EXPECT_EQ(b(3, 1, 2), before(1, 2, 3));
}

TEST(ArrayTest, TextNestsLikeTheDimensions) {
  EXPECT_EQ(Array<int>({2}, 7).ToString(), "[7, 7]");
  EXPECT_EQ(Array<int>({{1, 2}, {3, 4}}).ToString(), "[[1, 2],\n [3, 4]]");
  Array<int> deep({2, 2, 1});
  deep.FillIota(1);
  EXPECT_EQ(deep.ToString(), "[[[1],\n  [2]],\n [[3],\n  [4]]]");
}

TEST(ArrayTest, TextOfNoElementsIsBrackets) {
  EXPECT_EQ(Array<int>({0}).ToString(), "[]");
  EXPECT_EQ(Array<int>({0, 0}).ToString(), "[[]]");
  EXPECT_EQ(Array<int>({0, 2}).ToString(), "[[, ]]");
  EXPECT_EQ(Array2D<int>(0, 1).ToString(), "[[]]");
  EXPECT_EQ(Array<int>(std::vector<int64_t>{}).ToString(), "");
}

TEST(ArrayTest, RowsOfDifferentLengthsDie) {
  EXPECT_DEATH(Array<int>({{1, 2}, {3}}), "different lengths");
}

TEST(Array2DTest, Accessors) {
  Array2D<int> a(2, 3);
  EXPECT_EQ(a.n1(), 2);
  EXPECT_EQ(a.width(), 3);
  a.FillUnique(100);
  EXPECT_EQ(a(1, 2), 100 + (1 << 2 | 2));
  int64_t sum = 0;
  a.Each([&](int64_t i, int64_t j, int* x) { sum += i * j; });
  EXPECT_EQ(sum, 0 + 1 + 2);
  EXPECT_THAT(*MakeLinspaceArray2D(1.0, 3.5, 3, 2),
              ElementsAre(1.0f, 1.5f, 2.0f, 2.5f, 3.0f, 3.5f));
}

TEST(Array3DTest, UniqueValuesAreUnique) {
  Array3D<int> a(2, 3, 5);
  a.FillUnique();
  EXPECT_EQ(a.n3(), 5);
  EXPECT_EQ(a(1, 2, 4), (1 << 2 | 2) << 3 | 4);
  Array3D<int> lists({{{1, 2}}, {{3, 4}}});
  EXPECT_EQ(lists(1, 0, 1), 4);
}

TEST(Array4DTest, FillsFromMatrices) {
  Array2D<float> matrix({{1, 2}, {3, 4}});
  Array4D<float> a(2, 2, 2, 2);
  a.FillWithYX(matrix);
  EXPECT_EQ(a(1, 0, 1, 0), 3);
  a.FillWithPZ(matrix);
  EXPECT_EQ(a(1, 0, 0, 1), 3);
  a.FillWithZY(matrix);
  EXPECT_EQ(a(0, 1, 0, 1), 3);
  a.FillWithMinorDimNum();
  EXPECT_EQ(a(1, 0, 1, 1), 2);
  Array4D<float> flat(1, 1, 1, 2, {8, 9});
  EXPECT_EQ(flat(0, 0, 0, 1), 9);
  EXPECT_EQ(flat.planes() * flat.depth() * flat.height(), 1);
}

}  // namespace
}  // namespace xla
