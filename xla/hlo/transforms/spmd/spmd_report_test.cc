#include "xla/hlo/transforms/spmd/spmd_report.h"

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

double Bound(const Shape& shape, absl::string_view from, absl::string_view to) {
  return ReshardLowerBound(shape, *ParseSharding(from), *ParseSharding(to));
}

TEST(SpmdReportTest, LowerBoundsAreWhatTheNeediestDeviceLacks) {
  const Shape shape = ShapeUtil::MakeShape(F32, {8, 8});
  EXPECT_EQ(Bound(shape, "{replicated}", "{replicated}"), 0);
  EXPECT_EQ(Bound(shape, "{replicated}", "{devices=[4,1]<=[4]}"), 0);
  EXPECT_EQ(Bound(shape, "{devices=[4,1]<=[4]}", "{replicated}"), 192);
  // A quarter of the new tile is in the old one.
  EXPECT_EQ(Bound(shape, "{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}"), 48);
  // Half of the pairs hold it, and only they need it.
  EXPECT_EQ(Bound(shape, "{devices=[2,1,2]<=[4] last_tile_dim_replicate}",
                  "{devices=[4,1]<=[4]}"),
            0);
  EXPECT_EQ(Bound(shape, "{devices=[4,1]<=[4]}", "{devices=[4,1]3,2,1,0}"), 64);
}

TEST(SpmdReportTest, LowerBoundsLeavePaddingOut) {
  // Tiles of 3, 3 and 1 rows.
  const Shape shape = ShapeUtil::MakeShape(F32, {7});
  EXPECT_EQ(Bound(shape, "{devices=[3]<=[3]}", "{replicated}"), 6 * 4);
  EXPECT_EQ(Bound(shape, "{devices=[3]<=[3]}", "{devices=[3]2,1,0}"), 3 * 4);
}

}  // namespace
}  // namespace xla::spmd
