#include "xla/hlo/ir/collective_op_group_mode.h"

#include <optional>

#include "gtest/gtest.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

TEST(CollectiveOpGroupModeTest, AttributesChooseTheMode) {
  EXPECT_EQ(*GetCollectiveOpGroupMode(false, std::nullopt),
            COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA);
  EXPECT_EQ(*GetCollectiveOpGroupMode(false, false),
            COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA);
  EXPECT_FALSE(GetCollectiveOpGroupMode(false, true).ok());
  EXPECT_EQ(*GetCollectiveOpGroupMode(true, std::nullopt),
            COLLECTIVE_OP_GROUP_MODE_CROSS_PARTITION);
  EXPECT_EQ(*GetCollectiveOpGroupMode(true, false),
            COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA_AND_PARTITION);
  EXPECT_EQ(*GetCollectiveOpGroupMode(true, true),
            COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID);
}

TEST(CollectiveOpGroupModeTest, NamesReadBack) {
  for (CollectiveOpGroupMode mode :
       {COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA,
        COLLECTIVE_OP_GROUP_MODE_CROSS_PARTITION,
        COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA_AND_PARTITION,
        COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID}) {
    auto read =
        StringToCollectiveOpGroupMode(CollectiveOpGroupModeToString(mode));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, mode);
  }
  EXPECT_FALSE(StringToCollectiveOpGroupMode("cross").ok());
}

}  // namespace
}  // namespace xla
