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

}  // namespace
}  // namespace xla
