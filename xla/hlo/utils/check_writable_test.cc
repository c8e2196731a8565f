#include "xla/hlo/utils/check_writable.h"

#include <sys/stat.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(CheckWritableTest, SaysBeforehandWhatCannotBeWritten) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/outputs");
  ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
  EXPECT_TRUE(CheckWritable("").ok());
  EXPECT_TRUE(CheckWritable("-").ok());
  EXPECT_TRUE(CheckWritable("/dev/null").ok());
  EXPECT_TRUE(CheckWritable(absl::StrCat(folder, "/new.html")).ok());
  EXPECT_THAT(std::string(CheckWritable(folder).message()),
              EndsWith("/outputs: is a folder"));
  EXPECT_THAT(
      std::string(CheckWritable(absl::StrCat(folder, "/no/x.html")).message()),
      HasSubstr("/outputs/no/x.html"));
  EXPECT_FALSE(CheckWritable("/dev/null/x.html").ok());
}

}  // namespace
}  // namespace xla
