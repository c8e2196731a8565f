#include "xla/window_util.h"

#include "gtest/gtest.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace window_util {
namespace {

TEST(WindowUtilTest, PlainWindowHasNothingSpecial) {
  const Window window = MakeWindow({3, 1});
  EXPECT_FALSE(HasStride(window) || HasPadding(window) || HasDilation(window) ||
               HasWindowReversal(window) || HasNegativePadding(window));
  EXPECT_TRUE(HasSymmetricPadding(window) && AllOrNoneReversed(window));
  EXPECT_TRUE(HasOverlappingWindow(window));
  EXPECT_FALSE(IsTrivialWindowDimension(window.dimensions(0)));
  EXPECT_TRUE(IsTrivialWindowDimension(window.dimensions(1)));
  EXPECT_EQ(ToString(window), "size=3x1");
  EXPECT_EQ(ToString(Window()), "");
}

TEST(WindowUtilTest, TextShowsWhatDiffersFromTheDefault) {
  Window window = MakeWindow({7, 7}, {2, 1});
  EXPECT_EQ(ToString(window), "size=7x7 stride=2x1");
  window.mutable_dimensions(0)->set_padding_low(3);
  window.mutable_dimensions(1)->set_padding_high(-1);
  window.mutable_dimensions(1)->set_base_dilation(2);
  window.mutable_dimensions(0)->set_window_dilation(4);
  window.mutable_dimensions(1)->set_window_reversal(true);
  EXPECT_EQ(ToString(window),
            "size=7x7 stride=2x1 pad=3_0x0_-1 lhs_dilate=1x2 rhs_dilate=4x1 "
            "rhs_reversal=0x1");
  EXPECT_EQ(ToString(window.dimensions(0)),
            "(size=7,stride=2,padding_low=3,window_dilation=4)");
  EXPECT_TRUE(HasNegativePadding(window) && HasBaseDilation(window) &&
              HasWindowDilation(window));
  EXPECT_FALSE(HasSymmetricPadding(window) || AllOrNoneReversed(window));
}

TEST(WindowUtilTest, SymmetricPaddingConfig) {
  PaddingConfig config = MakeSymmetricPadding({1, 2});
  EXPECT_TRUE(HasSymmetricPadding(config));
  EXPECT_EQ(config.dimensions(1).edge_padding_high(), 2);
  config.mutable_dimensions(0)->set_edge_padding_low(5);
  EXPECT_FALSE(HasSymmetricPadding(config));
}

TEST(WindowUtilTest, Bounds) {
  EXPECT_EQ(DilatedBound(0, 3), 0);
  EXPECT_EQ(DilatedBound(1, 3), 1);
  EXPECT_EQ(DilatedBound(4, 3), 10);
  EXPECT_EQ(StridedBound(10, 3, 2), 4);
  EXPECT_EQ(StridedBound(2, 3, 1), 0);
  EXPECT_EQ(StridedBound(3, 3, 5), 1);
  EXPECT_FALSE(HasOverlappingWindow(MakeWindow({2}, {2})));
}

}  // namespace
}  // namespace window_util
}  // namespace xla
