#include "xla/hlo/memory/report/layer_groups.h"

#include <string>

#include "gtest/gtest.h"

namespace xla {
namespace {

TEST(LayerGroupsTest, LongNamesKeepBothEnds) {
  const std::string name(120, 'a');
  EXPECT_EQ(ShortOpName(name), name);
  EXPECT_EQ(
      ShortOpName("jit(step)/" + std::string(200, 'a') + "/mlp/dot_general"),
      "jit(step)/" + std::string(22, 'a') + "..." + std::string(69, 'a') +
          "/mlp/dot_general");
}

TEST(LayerGroupsTest, CharactersOfLongNamesStayWhole) {
  // Bytes 31 and 32 are one character, and so are those on both sides of the
  // last 85.
  const std::string begin(31, 'a'), middle(100, 'b'), end(84, 'c');
  EXPECT_EQ(ShortOpName(begin + "\u00e9" + middle + "\u00e9" + end),
            begin + "..." + end);
}

}  // namespace
}  // namespace xla
