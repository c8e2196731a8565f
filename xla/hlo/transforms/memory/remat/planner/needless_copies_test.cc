#include "xla/hlo/transforms/memory/remat/planner/needless_copies.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla::remat_plan {
namespace {

// How many copies of x, in whose memory result 0 is, are left.
int64_t CopiesLeft(absl::string_view order) {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(R"(
HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }
ENTRY e {
  x = f32[8,8]{1,0} parameter(0)
  y = f32[8,8]{1,0} parameter(1)
)",
                                                            order, "\n}"));
  EXPECT_TRUE(module.ok()) << module.status();
  const HloComputation* entry = (*module)->entry_computation();
  const auto count = [&] {
    return absl::c_count_if(entry->instructions(),
                            HloPredicateIsOp<HloOpcode::kCopy>);
  };
  const int64_t before = count();
  const absl::StatusOr<bool> dropped = DropNeedlessCopies({}, module->get());
  EXPECT_TRUE(dropped.ok()) << dropped.status();
  const absl::Status valid = (*module)->schedule().Verify();
  EXPECT_TRUE(valid.ok()) << valid;
  EXPECT_EQ(dropped.value_or(false), count() != before);
  return count();
}

TEST(NeedlessCopiesTest, ReadersBeforeTheWriter) {
  EXPECT_EQ(CopiesLeft(R"(
  c = f32[8,8]{1,0} copy(x)
  n = f32[8,8]{1,0} negate(c)
  u = f32[8,8]{1,0} add(x, y)
  ROOT r = (f32[8,8]{1,0}, f32[8,8]{1,0}) tuple(u, n))"),
            0);
  EXPECT_EQ(CopiesLeft(R"(
  c = f32[8,8]{1,0} copy(x)
  u = f32[8,8]{1,0} add(x, y)
  n = f32[8,8]{1,0} negate(c)
  ROOT r = (f32[8,8]{1,0}, f32[8,8]{1,0}) tuple(u, n))"),
            1);
}

TEST(NeedlessCopiesTest, WriterReads) {
  EXPECT_EQ(CopiesLeft(R"(
  c = f32[8,8]{1,0} copy(x)
  u = f32[8,8]{1,0} add(c, y)
  ROOT r = (f32[8,8]{1,0}, f32[8,8]{1,0}) tuple(u, y))"),
            0);
  EXPECT_EQ(CopiesLeft(R"(
  c = f32[8,8]{1,0} copy(x)
  u = f32[8,8]{1,0} reverse(c), dimensions={0}
  ROOT r = (f32[8,8]{1,0}, f32[8,8]{1,0}) tuple(u, y))"),
            1);
}

TEST(NeedlessCopiesTest, SeveralCopies) {
  // Readers of the original and of the copy, early and late.
  EXPECT_EQ(CopiesLeft(R"(
  c = f32[8,8]{1,0} copy(x)
  d = f32[8,8]{1,0} copy(c)
  n = f32[8,8]{1,0} negate(d)
  c.remat = f32[8,8]{1,0} copy(x)
  u = f32[8,8]{1,0} add(c, y)
  m = f32[8,8]{1,0} add(n, c.remat)
  ROOT r = (f32[8,8]{1,0}, f32[8,8]{1,0}) tuple(u, m))"),
            1);
}

TEST(NeedlessCopiesTest, OtherLayoutsAndResults) {
  EXPECT_EQ(CopiesLeft(R"(
  c = f32[8,8]{0,1} copy(x)
  d = f32[8,8]{1,0} copy(x)
  n = f32[8,8]{0,1} negate(c)
  u = f32[8,8]{1,0} add(x, y)
  ROOT r = (f32[8,8]{1,0}, f32[8,8]{0,1}, f32[8,8]{1,0}) tuple(u, n, d))"),
            2);
}

}  // namespace
}  // namespace xla::remat_plan
