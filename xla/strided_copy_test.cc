#include "xla/strided_copy.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace xla {
namespace {

// Strides of `dims` with the dimensions laid out in `minor_to_major`.
std::vector<int64_t> Strides(const std::vector<int64_t>& dims,
                             const std::vector<int64_t>& minor_to_major) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (int64_t d : minor_to_major) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return strides;
}

template <typename T>
void CheckAllLayouts(int64_t element_bytes) {
  const std::vector<int64_t> dims = {3, 1, 70, 5};
  const std::vector<std::vector<int64_t>> orders = {
      {3, 2, 1, 0}, {0, 1, 2, 3}, {2, 0, 3, 1}, {1, 3, 0, 2}};
  for (const auto& from : orders) {
    for (const auto& to : orders) {
      std::vector<T> src(3 * 70 * 5);
      for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<T>(i * 7);
      std::vector<T> dest(src.size());
      const auto s = Strides(dims, from);
      const auto d = Strides(dims, to);
      CopyStridedBox(reinterpret_cast<char*>(dest.data()), d,
                     reinterpret_cast<const char*>(src.data()), s, dims,
                     element_bytes);
      for (int64_t i = 0; i < 3; ++i) {
        for (int64_t j = 0; j < 70; ++j) {
          for (int64_t k = 0; k < 5; ++k) {
            ASSERT_EQ(dest[i * d[0] + j * d[2] + k * d[3]],
                      src[i * s[0] + j * s[2] + k * s[3]]);
          }
        }
      }
      EXPECT_TRUE(EqualStridedBox(reinterpret_cast<char*>(dest.data()), d,
                                  reinterpret_cast<char*>(src.data()), s, dims,
                                  element_bytes));
      dest[d[0] + 69 * d[2] + 4 * d[3]] ^= 1;
      EXPECT_FALSE(EqualStridedBox(reinterpret_cast<char*>(dest.data()), d,
                                   reinterpret_cast<char*>(src.data()), s, dims,
                                   element_bytes));
    }
  }
}

TEST(StridedCopyTest, EveryPairOfLayoutsAndWidth) {
  CheckAllLayouts<uint8_t>(1);
  CheckAllLayouts<uint16_t>(2);
  CheckAllLayouts<uint32_t>(4);
  CheckAllLayouts<uint64_t>(8);
}

TEST(StridedCopyTest, SourceStrideZeroRepeats) {
  const uint32_t src[2] = {5, 6};
  uint32_t dest[6] = {};
  CopyStridedBox(reinterpret_cast<char*>(dest), {3, 1},
                 reinterpret_cast<const char*>(src), {1, 0}, {2, 3}, 4);
  EXPECT_EQ(std::vector<uint32_t>(dest, dest + 6),
            (std::vector<uint32_t>{5, 5, 5, 6, 6, 6}));
}

TEST(StridedCopyTest, CopiesOnlyTheBox) {
  const uint8_t src[6] = {1, 2, 3, 4, 5, 6};
  uint8_t dest[9] = {};
  // Columns 1 and 2 of the 2x3 source to the middle of a 3x3 destination.
  CopyStridedBox(reinterpret_cast<char*>(dest) + 4, {3, 1},
                 reinterpret_cast<const char*>(src) + 1, {3, 1}, {2, 2}, 1);
  EXPECT_EQ(std::vector<uint8_t>(dest, dest + 9),
            (std::vector<uint8_t>{0, 0, 0, 0, 2, 3, 0, 5, 6}));
}

TEST(StridedCopyTest, AnEmptyBoxTouchesNothing) {
  CopyStridedBox(nullptr, {1, 1}, nullptr, {1, 1}, {0, 3}, 4);
  EXPECT_TRUE(EqualStridedBox(nullptr, {1, 1}, nullptr, {1, 1}, {3, 0}, 4));
}

}  // namespace
}  // namespace xla
