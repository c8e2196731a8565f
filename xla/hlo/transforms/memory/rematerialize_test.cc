// Plans for what a compiler makes of a module.
#include "xla/hlo/transforms/memory/rematerialize.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/memory/remat_test_util.h"

namespace xla::remat_test {
namespace {

constexpr int64_t kWhole = 100'000;
constexpr int64_t kLimit = 99'500;

// Each instruction more, as plans have, allocates less and adds to what is
// live.
HloRematerializationOptions Compiled(int64_t live_bytes_of_instruction) {
  HloRematerializationOptions options;
  options.accounting = MemoryAccounting::kAllocated;
  options.reader = PlanReader::kXlaGpu;
  options.compiled.emplace();
  options.compiled->bytes =
      [live_bytes_of_instruction](
          const HloModule& m) -> absl::StatusOr<CompiledMemory::Bytes> {
    const int64_t more = m.instruction_count() - 8;
    return CompiledMemory::Bytes{kWhole - 1000 * more,
                                 kWhole + live_bytes_of_instruction * more};
  };
  options.compiled->fused = [](const HloModule&) {
    return absl::StatusOr<absl::flat_hash_set<std::string>>(
        absl::flat_hash_set<std::string>());
  };
  return options;
}

TEST(RematerializeTest, LessIsLive) {
  auto module = Scheduled(LateReader());
  ASSERT_EQ(module->instruction_count(), 8);
  auto planned = Rematerialize(Compiled(-1), kLimit, module.get(), {});
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_TRUE(planned->changed);
  EXPECT_TRUE(planned->met);
  EXPECT_EQ(planned->peak_before_bytes, kWhole);
  EXPECT_EQ(planned->peak_after_bytes,
            kWhole - 1000 * (module->instruction_count() - 8));
}

// Fewer gaps between more bytes: the compiler's own order has others.
TEST(RematerializeTest, MoreIsLive) {
  auto module = Scheduled(LateReader());
  auto planned = Rematerialize(Compiled(1), kLimit, module.get(), {});
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_FALSE(planned->changed);
  EXPECT_FALSE(planned->met);
  EXPECT_EQ(planned->peak_after_bytes, kWhole);
  EXPECT_EQ(module->instruction_count(), 8);
}

}  // namespace
}  // namespace xla::remat_test
