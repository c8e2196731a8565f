#include "xla/hlo/ir/ptrvec.h"

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace xla {
namespace {

int values[100];

std::vector<int*> Contents(const PtrVec<int*>& v) { return v; }

TEST(PtrVecTest, TakesOneWord) { EXPECT_EQ(sizeof(PtrVec<int*>), 8); }

TEST(PtrVecTest, EmptyOneAndMany) {
  PtrVec<int*> v;
  EXPECT_TRUE(v.empty());
  EXPECT_EQ(v.begin(), v.end());
  for (int i = 0; i < 100; ++i) {
    v.push_back(&values[i]);
    ASSERT_EQ(v.size(), i + 1);
    EXPECT_EQ(v.front(), &values[0]);
    EXPECT_EQ(v.back(), &values[i]);
  }
  EXPECT_EQ(*v.rbegin(), &values[99]);
  v.clear();
  EXPECT_TRUE(v.empty());
}

TEST(PtrVecTest, NullsAndReservedBitPatternsAreElements) {
  PtrVec<char*> v;
  for (uintptr_t bits = 0; bits < 8; ++bits) {
    PtrVec<char*> one;
    one.push_back(reinterpret_cast<char*>(bits));
    ASSERT_EQ(one.size(), 1) << bits;
    EXPECT_EQ(one[0], reinterpret_cast<char*>(bits));
    one.pop_back();
    EXPECT_TRUE(one.empty());
    v.push_back(reinterpret_cast<char*>(bits));
  }
  EXPECT_EQ(v.size(), 8);
}

TEST(PtrVecTest, ElementsAreOverwrittenInPlace) {
  static char bytes[16];
  for (char& byte : bytes) {
    PtrVec<char*> one = {bytes};
    one[0] = &byte;
    ASSERT_EQ(one.size(), 1);
    EXPECT_EQ(one[0], &byte);
  }
  for (int& value : values) {
    int* odd = reinterpret_cast<int*>(reinterpret_cast<uintptr_t>(&value) + 1);
    PtrVec<int*> one = {&value};
    *one.begin() = odd;
    ASSERT_EQ(one.size(), 1);
    EXPECT_EQ(one.front(), odd);
    one.push_back(&value);
    EXPECT_EQ(Contents(one), (std::vector<int*>{odd, &value}));
  }
}

TEST(PtrVecTest, CopiesAreIndependentAndMovesLeaveEmpty) {
  PtrVec<int*> a = {&values[0], &values[1], &values[2]};
  PtrVec<int*> b = a;
  b[1] = &values[9];
  EXPECT_EQ(a[1], &values[1]);
  EXPECT_NE(a, b);
  PtrVec<int*> c = std::move(b);
  EXPECT_TRUE(b.empty());
  EXPECT_EQ(c.size(), 3);
  c = a;
  EXPECT_EQ(c, a);
  const PtrVec<int*>& alias = c;
  c = alias;
  EXPECT_EQ(c, a);
}

TEST(PtrVecTest, AssignFromItself) {
  PtrVec<int*> v = {&values[0], &values[1], &values[2]};
  v.assign(v.begin() + 1, v.end());
  EXPECT_EQ(Contents(v), (std::vector<int*>{&values[1], &values[2]}));
}

TEST(PtrVecTest, EraseKeepsOrder) {
  PtrVec<int*> v = {&values[0], &values[1], &values[2]};
  v.erase(v.begin() + 1);
  EXPECT_EQ(Contents(v), (std::vector<int*>{&values[0], &values[2]}));
  PtrVec<int*> one = {&values[5]};
  one.erase(one.begin());
  EXPECT_TRUE(one.empty());
}

// Any sequence of changes gives what a std::vector gives.
TEST(PtrVecTest, RandomChangesLikeVector) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    PtrVec<int*> tested;
    std::vector<int*> expected;
    for (int step = 0; step < 200; ++step) {
      int* p = random() % 7 == 0 ? nullptr : &values[random() % 100];
      switch (random() % 6) {
        case 0:
        case 1:
          tested.push_back(p);
          expected.push_back(p);
          break;
        case 2:
          if (expected.empty()) break;
          tested.pop_back();
          expected.pop_back();
          break;
        case 3: {
          if (expected.empty()) break;
          const int at = random() % expected.size();
          tested.erase(tested.begin() + at);
          expected.erase(expected.begin() + at);
          break;
        }
        case 4: {
          const int size = random() % 5;
          tested.resize(size, p);
          expected.resize(size, p);
          break;
        }
        case 5:
          tested.reserve(random() % 10);
          break;
      }
      ASSERT_EQ(Contents(tested), expected);
      ASSERT_GE(tested.capacity(), tested.size());
    }
  }
}

}  // namespace
}  // namespace xla
