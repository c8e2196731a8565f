#include "xla/hlo/utils/progress_watch.h"

#include <sstream>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(ProgressWatchTest, ShortRunsAreSilent) {
  std::ostringstream out;
  {
    ProgressWatch watch(&out, absl::Seconds(1000));
    watch.Phase("planning");
  }
  EXPECT_EQ(out.str(), "");
}

TEST(ProgressWatchTest, LongRunsSayWhatTheyDoAndClearTheLine) {
  std::ostringstream out;
  {
    ProgressWatch watch(&out, absl::Milliseconds(20));
    watch.Phase("planning", "--effort=0 takes less");
    absl::SleepFor(absl::Milliseconds(400));
    watch.Stop();
    EXPECT_THAT(out.str(), EndsWith("\r\033[K"));
  }
  EXPECT_THAT(out.str(), HasSubstr("0 s  planning (--effort=0 takes less)"));
  EXPECT_THAT(out.str(), EndsWith("\r\033[K"));
}

TEST(ProgressWatchTest, NowhereToWriteIsFine) {
  ProgressWatch watch(nullptr);
  watch.Phase("planning");
}

}  // namespace
}  // namespace xla
