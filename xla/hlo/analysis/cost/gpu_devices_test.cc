#include "xla/hlo/analysis/cost/gpu_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/testlib/gpu_device_info_for_tests.h"
#include "xla/xla_data.pb.h"

namespace xla::gpu {
namespace {

using ::stream_executor::DeviceDescription;
using ::testing::HasSubstr;

constexpr char kSmall[] = R"(core_count: 2
fpus_per_core: 64
clock_rate_ghz: 1
memory_bandwidth: 1000000000
threads_per_warp: 32
threads_per_block_limit: 256
threads_per_core_limit: 512
)";

TEST(GpuDevicesTest, KnownOnesLoadAndGoThroughProto) {
  EXPECT_GE(GpuDeviceNames().size(), 6);
  for (const std::string& name : GpuDeviceNames()) {
    auto device = LoadGpuDevice(name);
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_GE(device->l2_cache_size(), 6 << 20) << name;
    EXPECT_GT(device->device_memory_size(), int64_t{20} << 30) << name;
    EXPECT_GE(device->shared_memory_per_block(), 48 << 10) << name;
    EXPECT_GT(device->l1_cache_size_per_SM(), 16 << 10) << name;
    auto again = DeviceDescription::FromProto(device->ToProto());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, *device) << again->ToString();
  }
  EXPECT_EQ(LoadGpuDevice("H200")->memory_bandwidth(), 4800000000000);
}

TEST(GpuDevicesTest, A6000HasTheFiguresTestsAreWrittenFor) {
  const DeviceDescription device = TestGpuDeviceInfo::RTXA6000DeviceInfo();
  EXPECT_EQ(device.core_count(), 84);
  EXPECT_EQ(device.fpus_per_core(), 128);
  EXPECT_FLOAT_EQ(device.clock_rate_ghz(), 1.41f);
  EXPECT_EQ(device.l2_cache_size(), 6 << 20);
  EXPECT_EQ(device.threads_per_core_limit(), 1536);
  EXPECT_EQ(device.shared_memory_per_block(), 49152);
  EXPECT_EQ(device.cuda_compute_capability().ToString(), "8.9");
  EXPECT_EQ(stream_executor::MakeComputeCapabilityAttributeString(device),
            "compute_capability=8.9");
  EXPECT_TRUE(TestGpuDeviceInfo::AMDMI210DeviceInfo()
                  .rocm_compute_capability()
                  .gfx9_mi100_or_later());
  EXPECT_EQ(device.rocm_compute_capability().gfx_version(), "gfx000");
}

// Cores, units and clocks amount to the rates that the vendors publish: dense
// operations per second, in 10^12; the sources are named with each device.
TEST(GpuDevicesTest, RatesAreThePublishedOnes) {
  struct Rates {
    const char* device;
    double scalar_f32;
    double f16, f32, f64, s8;  // of matrix units; 0: not published
  };
  for (const Rates& rates :
       std::vector<Rates>{{"v100", 15.7, 125, 0, 0, 0},
                          {"a100", 19.5, 312, 156, 19.5, 624},
                          {"a6000", 0, 154.8, 77.4, 0, 309.7},
                          {"h100", 66.9, 989.4, 494.7, 66.9, 1979},
                          {"h200", 66.9, 989.4, 494.7, 66.9, 1979},
                          {"b200", 75, 2250, 1125, 37, 4500},
                          {"mi210", 22.6, 181, 45.3, 45.3, 0},
                          {"mi300", 163.4, 1307.4, 653.7, 163.4, 2614.9},
                          {"mi350", 144.2, 2306.9, 144.2, 72.1, 4613.7}}) {
    SCOPED_TRACE(rates.device);
    auto device = LoadGpuDevice(rates.device);
    ASSERT_TRUE(device.ok()) << device.status();
    const auto expect = [](double published, double rate) {
      EXPECT_NEAR(rate / (published > 0 ? published : rate), 1, 0.01);
    };
    const double giga_cores = 1e9 * device->core_count();
    expect(1e12 * rates.scalar_f32,
           2 * giga_cores * device->fpus_per_core() * device->clock_rate_ghz());
    for (const auto& [type, published] :
         std::vector<std::pair<PrimitiveType, double>>{{F16, rates.f16},
                                                       {BF16, rates.f16},
                                                       {F32, rates.f32},
                                                       {F64, rates.f64},
                                                       {S8, rates.s8}}) {
      const auto rate = device->matrix_unit_description()->GetRateInfo(type);
      if (!rate.has_value()) continue;
      expect(1e12 * published, giga_cores * rate->units_per_core *
                                   rate->clock_rate_ghz * rate->ops_per_clock);
    }
  }
}

TEST(GpuDevicesTest, UnknownNameListsTheKnownOnes) {
  auto device = LoadGpuDevice("h300");
  EXPECT_EQ(device.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(device.status().message(),
              HasSubstr("unknown device \"h300\"; known: a100, a6000, b200, "
                        "h100, h200, "));
}

TEST(GpuDevicesTest, FileOfTheUser) {
  const std::string path = ::testing::TempDir() + "/mine.textproto";
  std::ofstream(path) << kSmall;
  auto device = LoadGpuDevice(path);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(device->core_count(), 2);
  EXPECT_EQ(LoadGpuDevice(path + ".none").status().code(),
            absl::StatusCode::kNotFound);
  auto target = GpuDeviceFromText(
      absl::StrCat("gpu_device_info {\n", kSmall, "}\nplatform_name: \"CUDA\""),
      "t");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(*target, *device);
}

TEST(GpuDevicesTest, MalformedTextNamesThePlace) {
  auto message = [](absl::string_view text) {
    auto device = GpuDeviceFromText(text, "d.textproto");
    EXPECT_EQ(device.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(device.status().message());
  };
  EXPECT_THAT(message("core_count: 2\n  cores: 3\n"),
              HasSubstr("d.textproto:2:8: "));
  EXPECT_THAT(message("core_count: two"), HasSubstr("d.textproto:1:13: "));
  EXPECT_THAT(message("gpu_device_info {\n core_count: }"),
              HasSubstr("d.textproto:2:14: "));
  EXPECT_THAT(message(""),
              HasSubstr("d.textproto: core_count is 0, it must be positive"));
  EXPECT_THAT(
      message(absl::StrCat(kSmall, "driver_version: \"12\"")),
      HasSubstr("d.textproto: driver_version: \"12\" is not a version"));
  EXPECT_THAT(message(absl::StrCat(kSmall, "l2_cache_size: -1")),
              HasSubstr("l2_cache_size is -1, it must be 0 or positive"));
  EXPECT_THAT(message(absl::StrReplaceAll(kSmall, {{"ghz: 1", "ghz: nan"}})),
              HasSubstr("clock_rate_ghz is nan, it must be positive"));
  EXPECT_THAT(
      message(absl::StrCat(
          kSmall, "scalar_unit_description { rate_infos { key: 99 } }")),
      HasSubstr("rate_infos: 99 is not an element type"));
}

TEST(DeviceDescriptionTest, Comparison) {
  using Options = DeviceDescription::CompareOptions;
  DeviceDescription a = TestGpuDeviceInfo::H100SXMDeviceInfo();
  DeviceDescription b = a;
  b.set_numa_node(1);
  EXPECT_FALSE(a.EqualsTo(b));
  EXPECT_TRUE(a.EqualsTo(b, {Options::kPortable}));
  b.set_runtime_version({12, 9, 1});
  EXPECT_FALSE(a.EqualsTo(b, {Options::kPortable}));
  EXPECT_TRUE(
      a.EqualsTo(b, {Options::kPortable, Options::kIgnoreVersionNumbers}));
}

TEST(DeviceDescriptionTest, Launches) {
  const DeviceDescription device = TestGpuDeviceInfo::H100SXMDeviceInfo();
  int64_t threads = 0, blocks = 0;
  stream_executor::CalculateDimensionality(device, 2500, &threads, &blocks);
  EXPECT_EQ(threads, 1024);
  EXPECT_EQ(blocks, 3);
  EXPECT_TRUE(stream_executor::ThreadDimOk(device, {1024, 1, 1}));
  EXPECT_FALSE(stream_executor::ThreadDimOk(device, {1024, 2, 1}));
  EXPECT_FALSE(stream_executor::ThreadDimOk(device, {1, 1, 128}));
}

}  // namespace
}  // namespace xla::gpu
