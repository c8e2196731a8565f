#include "xla/hlo/memory/limit/distinct_bytes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

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
}

}  // namespace
}  // namespace xla
