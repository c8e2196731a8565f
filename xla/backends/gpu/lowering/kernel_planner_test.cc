#include "xla/backends/gpu/lowering/kernel_planner.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/smem/smem_device.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"

namespace xla::gpu {
namespace {

using ::testing::ElementsAre;

// The bytes of shared memory of a device of compute capability 9.`minor`: of a
// block, of one that asks for more, of a multiprocessor, and those set aside.
std::vector<int64_t> SharedMemory(int minor, absl::string_view described) {
  const absl::StatusOr<stream_executor::DeviceDescription> description =
      GpuDeviceFromText(
          absl::StrCat("core_count: 8 fpus_per_core: 128 clock_rate_ghz: 1.7 ",
                       "threads_per_warp: 32 threads_per_block_limit: 1024 ",
                       "threads_per_core_limit: 2048 memory_bandwidth: 1000 ",
                       "cuda_compute_capability { major: 9 minor: ", minor,
                       " } ", described),
          "device");
  EXPECT_EQ(description.status(), absl::OkStatus());
  if (!description.ok()) return {};
  const GpuDevice device = GpuDeviceOf(*description);
  return {device.shared_per_block, device.shared_per_block_max,
          device.shared_per_sm, device.shared_reserved};
}

TEST(GpuDeviceOfTest, TakesSharedMemoryAsDescribedOrAsInTheGeneration) {
  EXPECT_THAT(SharedMemory(0, ""), ElementsAre(49152, 232448, 233472, 1024));
  EXPECT_THAT(SharedMemory(0, "shared_memory_per_block: 1536"),
              ElementsAre(1536, 232448, 233472, 1024));
  constexpr absl::string_view kAll =
      "shared_memory_per_block: 1536 shared_memory_per_block_optin: 2048 "
      "shared_memory_per_core: 65536 reserved_shared_memory_per_block: 512";
  EXPECT_THAT(SharedMemory(0, kAll), ElementsAre(1536, 2048, 65536, 512));
  EXPECT_THAT(SharedMemory(9, kAll), ElementsAre(1536, 2048, 65536, 512));
  EXPECT_THAT(SharedMemory(9, ""), ElementsAre(0, 0, 0, 0));
}

TEST(GpuDeviceOfTest, GivesNoLessToTheWholeThanToAPart) {
  EXPECT_THAT(SharedMemory(0, "shared_memory_per_block: 300000"),
              ElementsAre(300000, 300000, 300000, 1024));
}

}  // namespace
}  // namespace xla::gpu
