#include "xla/hlo/memory/limit/distinct_bytes.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/byte_size.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(DistinctBytesTest, EqualSizesAreWrittenAsAlways) {
  EXPECT_THAT(DistinctBytes(1 << 20, 1 << 20), Pair("1.0 MiB", "1.0 MiB"));
  EXPECT_THAT(DistinctBytes(0, 0), Pair("0 B", "0 B"));
}

TEST(DistinctBytesTest, OneDigitWhereItSuffices) {
  EXPECT_THAT(DistinctBytes(1300000, 2600000), Pair("1.2 MiB", "2.5 MiB"));
  EXPECT_THAT(DistinctBytes(1023, 1024), Pair("1023 B", "1.0 KiB"));
}

TEST(DistinctBytesTest, MoreDigitsWhereTheyTellApart) {
  EXPECT_THAT(DistinctBytes(1300000, 1290000), Pair("1.24 MiB", "1.23 MiB"));
  EXPECT_THAT(DistinctBytes(1300000, 1299000), Pair("1.240 MiB", "1.239 MiB"));
  EXPECT_THAT(DistinctBytes(80.0 * (1 << 30), 80.01 * (1 << 30)),
              Pair("80.00 GiB", "80.01 GiB"));
}

TEST(DistinctBytesTest, BytesWhereNothingElseDoes) {
  EXPECT_THAT(DistinctBytes(1300000, 1300001), Pair("1300000 B", "1300001 B"));
  EXPECT_THAT(DistinctBytes(1300000, 1300001, /*to_the_byte=*/false),
              Pair("1.2 MiB", "1.2 MiB"));
}

TEST(BytesBetweenTest, IsTheDifferenceOfWhatIsPrinted) {
  const double mib = 1 << 20;
  // 41.75 and 29.22 MiB are 12.53 apart.
  EXPECT_EQ(BytesBetween("41.8 MiB", "29.2 MiB", 12.53 * mib), "12.6 MiB");
  EXPECT_EQ(BytesBetween("29.2 MiB", "41.8 MiB", 12.53 * mib), "12.6 MiB");
  EXPECT_EQ(BytesBetween("512 B", "500 B", 12), "12 B");
}

TEST(BytesBetweenTest, IsExactWhereNobodyCanSubtract) {
  EXPECT_EQ(BytesBetween("1.8 MiB", "1.7 MiB", 106.5 * 1024), "106.5 KiB");
  EXPECT_EQ(BytesBetween("24.00 KiB", "23.99 KiB", 10), "10 B");
  EXPECT_EQ(BytesBetween("53.4 KiB", "78.4 GiB", 78.4 * (1 << 30)), "78.4 GiB");
  EXPECT_EQ(BytesBetween("2.1 MiB", "1000.0 KiB", 1.163 * (1 << 20)),
            "1.2 MiB");
}

TEST(PartsOfSumTest, AddUp) {
  const double mib = 1 << 20;
  const auto parts = [&](double sum, std::vector<double> counts) {
    for (double& count : counts) count *= mib;
    return PartsOfSum(ByteUnit(sum * mib), sum * mib, counts);
  };
  // Each rounds to 1.04 and 0.82 alone.
  EXPECT_THAT(parts(1.868, {1.044, 0, 0.824}),
              ElementsAre("1.05 MiB", "0 B", "0.82 MiB"));
  // Halves go to even digits: 0.12, 1.12 and 1.38.
  EXPECT_THAT(parts(1.375, {0.125, 0.125, 1.125}),
              ElementsAre("0.12 MiB", "0.12 MiB", "1.14 MiB"));
  EXPECT_THAT(parts(1.25, {0.125, 1.125}), ElementsAre("0.12 MiB", "1.13 MiB"));
  // What has a unit of its own is exact.
  EXPECT_THAT(parts(1.2749, {1.228, 0.0469}),
              ElementsAre("1.22 MiB", "48.0 KiB"));
  // No sum.
  EXPECT_THAT(parts(3, {1, 1}), ElementsAre("1.00 MiB", "1.00 MiB"));
}

}  // namespace
}  // namespace xla
