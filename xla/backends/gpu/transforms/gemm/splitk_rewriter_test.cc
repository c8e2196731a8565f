#include "xla/backends/gpu/transforms/gemm/splitk_rewriter.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace xla::gpu {
namespace {

constexpr int64_t kCores = 132;

int64_t Parts(int64_t batches, int64_t rows, int64_t columns, int64_t depth) {
  return SplitkRewriter::PartsOf({batches, rows, columns, depth}, kCores);
}

TEST(SplitkRewriterTest, SplitsByTheRootOfDepthOverTiles) {
  EXPECT_EQ(Parts(1, 192, 192, 6272), 32);
  EXPECT_EQ(Parts(1, 16, 16, 4100), 32);
  EXPECT_EQ(Parts(1, 129, 64, 1 << 20), 128);
  EXPECT_EQ(Parts(1, 129, 65, 1 << 20), 64);
  // Each batch has two tiles at least.
  EXPECT_EQ(Parts(1, 16, 16, 2048), Parts(1, 128, 128, 2048));
  EXPECT_EQ(Parts(2, 16, 16, 1536), 16);
}

TEST(SplitkRewriterTest, SplitsExchangedOperandsAlike) {
  EXPECT_EQ(Parts(1, 192, 64, 1 << 16), 128);
  EXPECT_EQ(Parts(1, 64, 192, 1 << 16), 128);
  // Tiles of 128 x 64 would be six, those of 64 x 128 are five.
  EXPECT_EQ(Parts(1, 320, 128, 1 << 16), 64);
  EXPECT_EQ(Parts(1, 128, 320, 1 << 16), 64);
  EXPECT_EQ(Parts(1, 384, 192, 1 << 16), 32);
  EXPECT_EQ(Parts(1, 192, 384, 1 << 16), 32);
}

TEST(SplitkRewriterTest, LeavesShortSumsAndLittleWorkWhole) {
  EXPECT_EQ(Parts(1, 64, 64, 128), 8);
  EXPECT_EQ(Parts(1, 64, 64, 127), 1);
  EXPECT_EQ(Parts(1, 32, 64, 128), 1);
  EXPECT_EQ(Parts(16, 16, 16, 352), 2);
  EXPECT_EQ(Parts(16, 16, 16, 351), 1);
  // Operands are work, too, if they are large beside the results.
  EXPECT_EQ(Parts(1, 1, 1, 32768), 128);
  EXPECT_EQ(Parts(1, 1, 1, 16384), 1);
}

TEST(SplitkRewriterTest, LeavesResultsForAllCoresWhole) {
  EXPECT_EQ(Parts(1, 512, 512, 1 << 20), 8);
  EXPECT_EQ(Parts(1, 1024, 1024, 1 << 20), 2);
  EXPECT_EQ(Parts(1, 2048, 2048, 1 << 20), 1);
  EXPECT_EQ(Parts(64, 16, 16, 1 << 20), 2);
  EXPECT_EQ(Parts(256, 16, 16, 1 << 20), 1);
  EXPECT_EQ(SplitkRewriter::PartsOf({1, 512, 512, 1 << 20}, 16), 1);
}

TEST(SplitkRewriterTest, TakesSizesWhoseProductExceeds64Bits) {
  EXPECT_EQ(Parts(1, 1 << 30, 1 << 30, 1 << 30), 1);
  EXPECT_EQ(Parts(1, 1, 1 << 30, int64_t{1} << 40), 1);
}

}  // namespace
}  // namespace xla::gpu
