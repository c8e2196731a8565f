// Times of kernels.
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/gpu_device_info_for_tests.h"
#include "xla/service/gpu/backend_configs.pb.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

constexpr double kA6000BytesPerUs = 768096;

class GpuPerformanceModelTest : public ::testing::Test {
 protected:
  const HloInstruction& Parse(absl::string_view text,
                              absl::string_view name = "r") {
    auto module = ParseAndReturnUnverifiedModule(text);
    CHECK_OK(module.status());
    module_ = *std::move(module);
    return Find(name);
  }
  const HloInstruction& Find(absl::string_view name) {
    return *module_->entry_computation()->GetInstructionWithName(name);
  }
  static double Us(absl::Duration time) {
    return absl::ToDoubleMicroseconds(time);
  }

  const stream_executor::DeviceDescription device_ =
      TestGpuDeviceInfo::RTXA6000DeviceInfo();
  GpuPerformanceModel model_{device_};
  std::unique_ptr<HloModule> module_;
};

TEST_F(GpuPerformanceModelTest, SmallKernelsAreLaunches) {
  const EstimateRunTimeData& data = model_.EstimateRunTime(Parse(R"(HloModule m
ENTRY e { x = f32[8] parameter(0)  ROOT r = f32[8] negate(x) })"));
  EXPECT_NEAR(Us(data.time), 1, 0.01);
  EXPECT_EQ(data.bytes(), 64);
  EXPECT_EQ(data.flops, 8);
}

TEST_F(GpuPerformanceModelTest, EstimatesAreWrittenIntoConfigs) {
  Parse(R"(HloModule m
ENTRY e {
  x = f32[65536] parameter(0)
  n = f32[65536] negate(x), backend_config={"operation_queue_id":"7"}
  ROOT r = f32[65536] exponential(n), backend_config={"unknown":1}
})");
  HloInstruction* n = module_->entry_computation()->GetInstructionWithName("n");
  ASSERT_TRUE(model_.RecordEstimatedRunTime(n).ok());
  const GpuBackendConfig config = *n->backend_config<GpuBackendConfig>();
  EXPECT_EQ(config.operation_queue_id(), 7);
  ASSERT_EQ(config.reification_cost_size(), 1);
  const EstimateRunTimeData data = model_.EstimateRunTimeForInstruction(n);
  const ReificationCost& cost = config.reification_cost(0);
  EXPECT_NEAR(cost.exec_time_us(), Us(data.exec_time), 1e-9);
  EXPECT_NEAR(cost.compute_time_us(), Us(data.compute_time), 1e-9);
  EXPECT_NEAR(cost.memory_access_time_us(),
              Us(data.read_time) + Us(data.write_time), 1e-9);
  EXPECT_NEAR(cost.end_to_end_cycles(),
              Us(data.time) * 1000 * device_.clock_rate_ghz(), 1e-3);
  EXPECT_GT(cost.end_to_end_cycles(), 1000);
  EXPECT_EQ(model_
                .RecordEstimatedRunTime(
                    module_->entry_computation()->root_instruction())
                .code(),
            absl::StatusCode::kInvalidArgument);
}

// What a window reads again comes from the nearest cache, however large the
// array; every other element, from memory all the same.
TEST_F(GpuPerformanceModelTest, WindowsAreReadFromMemoryOnce) {
  const double us = 64.0 * 1048576 * 4 / kA6000BytesPerUs;
  const EstimateRunTimeData& dense = model_.EstimateRunTime(Parse(R"(HloModule m
f {
  x = f32[64,1048576] parameter(0)
  a = f32[64,1048574] slice(x), slice={[0:64],[0:1048574]}
  b = f32[64,1048574] slice(x), slice={[0:64],[1:1048575]}
  c = f32[64,1048574] slice(x), slice={[0:64],[2:1048576]}
  d = f32[64,1048574] add(a, b)
  ROOT e = f32[64,1048574] add(c, d)
}
ENTRY e {
  x = f32[64,1048576] parameter(0)
  ROOT r = f32[64,1048574] fusion(x), kind=kLoop, calls=f
})"));
  EXPECT_NEAR(Us(dense.read_time), us * (1 + 2 / 20.0), 0.01 * us);
  EXPECT_NEAR(dense.bytes_read, 64.0 * 1048576 * 4, 1);

  GpuPerformanceModel model(device_);
  const EstimateRunTimeData& strided =
      model.EstimateRunTime(Parse(R"(HloModule m
f {
  x = f32[64,1048576] parameter(0)
  a = f32[64,524287] slice(x), slice={[0:64],[0:1048574:2]}
  b = f32[64,524287] slice(x), slice={[0:64],[1:1048575:2]}
  ROOT e = f32[64,524287] add(a, b)
}
ENTRY e {
  x = f32[64,1048576] parameter(0)
  ROOT r = f32[64,524287] fusion(x), kind=kLoop, calls=f
})"));
  EXPECT_NEAR(Us(strided.read_time), us, 0.01 * us);
}

TEST_F(GpuPerformanceModelTest, LargeAdditionRunsAtMemoryBandwidth) {
  const EstimateRunTimeData& data = model_.EstimateRunTime(Parse(R"(HloModule m
ENTRY e {
  x = f32[64,1048576] parameter(0)
  y = f32[64,1048576] parameter(1)
  ROOT r = f32[64,1048576] add(x, y)
})"));
  const double bytes = 64.0 * 1048576 * 4;
  EXPECT_EQ(data.bytes_read, 2 * bytes);
  EXPECT_NEAR(Us(data.read_time), 2 * bytes / kA6000BytesPerUs, 1);
  EXPECT_NEAR(Us(data.write_time), bytes / kA6000BytesPerUs, 1);
  EXPECT_NEAR(Us(data.exec_time), 3 * bytes / kA6000BytesPerUs, 5);
  EXPECT_LT(data.compute_time, data.read_time / 50);
}

TEST_F(GpuPerformanceModelTest, OneOperandReadTwiceIsReadOnce) {
  const EstimateRunTimeData& data = model_.EstimateRunTime(Parse(R"(HloModule m
ENTRY e { x = f32[4096] parameter(0)  ROOT r = f32[4096] multiply(x, x) })"));
  EXPECT_EQ(data.bytes_read, 4096 * 4);
}

TEST_F(GpuPerformanceModelTest, RepeatedReadsComeFromCaches) {
  // 32 times: 4 MiB that L2 holds, 64 MiB that it does not, 64 KiB for L1.
  auto read = [&](absl::string_view text) {
    GpuPerformanceModel model(device_);
    const EstimateRunTimeData& data = model.EstimateRunTime(Parse(text));
    return Us(data.read_time) / data.bytes_read;
  };
  const double none = read(R"(HloModule m
ENTRY e { x = f32[16777216] parameter(0)
  ROOT r = f32[16777216,32] broadcast(x), dimensions={0} })");
  const double l2 = read(R"(HloModule m
ENTRY e { x = f32[1572864] parameter(0)
  ROOT r = f32[1572864,32] broadcast(x), dimensions={0} })");
  const double l1 = read(R"(HloModule m
ENTRY e { x = f32[16384] parameter(0)
  ROOT r = f32[16384,32] broadcast(x), dimensions={0} })");
  EXPECT_NEAR(none * kA6000BytesPerUs, 32, 0.1);
  EXPECT_NEAR(l2 * kA6000BytesPerUs, 1 + 31 / 2.5, 0.1);
  EXPECT_NEAR(l1 * kA6000BytesPerUs, 1 + 31 / 20.0, 0.2);
}

TEST_F(GpuPerformanceModelTest, TransposedReadsMoveWholeTransactions) {
  // Inside another kernel a transpose goes through no tiles.
  Parse(R"(HloModule m
ENTRY e {
  x = f32[8192,8192] parameter(0)
  t = f32[8192,8192] transpose(x), dimensions={1,0}
  r = f32[8192,8192] reverse(t), dimensions={0}
  ROOT n = f32[8192,8192] negate(r)
})");
  const double tiled = Us(model_.EstimateRunTime(Find("t")).read_time);
  const double apart =
      Us(model_.EstimateFusedTime(Find("t"), Find("r")).read_time);
  EXPECT_NEAR(tiled, 8192.0 * 8192 * 4 / kA6000BytesPerUs, 1);
  EXPECT_NEAR(apart / tiled, device_.dram_to_l2_transaction_size_bytes() / 4.0,
              0.1);
}

TEST_F(GpuPerformanceModelTest, FewBlocksCannotUseTheBandwidth) {
  // 32 bytes per block and clock.
  const EstimateRunTimeData& data = model_.EstimateRunTime(Parse(R"(HloModule m
ENTRY e { x = f32[262144] parameter(0)  i = s32[] parameter(1)
  ROOT r = f32[128] dynamic-slice(x, i), dynamic_slice_sizes={128} })"));
  EXPECT_EQ(data.bytes_read, 128 * 4 + 4);
  EXPECT_NEAR(Us(data.read_time), 516 / (1.41e3 * 32), 1e-3);
}

// For XLA, not even those of the same few elements.
TEST_F(GpuPerformanceModelTest, FewBlocksAskForNoMoreOfCachesInXla) {
  const HloInstruction& sums = Parse(R"(HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[16,16] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[16,17] reduce-window(x, z), window={size=1x16 pad=0_0x16_0}, to_apply=add
})");
  GpuPerformanceModel xla(device_, KernelTarget::kXla, OperationPrices::kXla);
  // 272 elements, three blocks, each of which asks for 32 bytes per clock.
  EXPECT_NEAR(Us(xla.EstimateRunTime(sums).read_time),
              (272 * 16 + 1) * 4 / (3 * 32 * device_.clock_rate_ghz() * 1000),
              1e-3);
  EXPECT_LT(model_.EstimateRunTime(sums).read_time,
            xla.EstimateRunTime(sums).read_time / 5);
}

// Many blocks ask for more than memory gives.
TEST_F(GpuPerformanceModelTest, ManyBlocksReadAgainFromCachesInXla) {
  const HloInstruction& sums = Parse(R"(HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[4096,64] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[4096,49] reduce-window(x, z), window={size=1x16}, to_apply=add
})");
  GpuPerformanceModel xla(device_, KernelTarget::kXla, OperationPrices::kXla);
  EXPECT_LT(absl::ToDoubleSeconds(xla.EstimateRunTime(sums).read_time),
            4096.0 * 49 * 16 * 4 / device_.memory_bandwidth());
}

TEST_F(GpuPerformanceModelTest, ManyOperationsBoundAKernel) {
  const EstimateRunTimeData& data = model_.EstimateRunTime(Parse(R"(HloModule m
f {
  x = f32[1048576] parameter(0)
  b = f32[1048576] power(x, x)
  c = f32[1048576] power(b, x)
  d = f32[1048576] power(c, c)
  e = f32[1048576] power(d, d)
  g = f32[1048576] power(e, e)
  h = f32[1048576] power(g, g)
  i = f32[1048576] power(h, h)
  j = f32[1048576] power(i, i)
  ROOT k = f32[1048576] power(j, j)
}
ENTRY e { x = f32[1048576] parameter(0)
  ROOT r = f32[1048576] fusion(x), kind=kLoop, calls=f })"));
  EXPECT_GT(data.compute_time, data.read_time + data.write_time);
  EXPECT_NEAR(Us(data.compute_time), 1048576 * 360.0 / (2 * 1.41e3 * 84 * 128),
              0.1);
}

TEST_F(GpuPerformanceModelTest, ElementwisePairIsFasterFused) {
  Parse(R"(HloModule m
ENTRY e {
  x = f32[1048576] parameter(0)
  a = f32[1048576] exponential(x)
  b = f32[1048576] negate(a)
  c = f32[1048576] sine(a)
  ROOT t = (f32[1048576], f32[1048576]) tuple(b, c)
})");
  const auto times =
      model_.EstimateRunTimes(Find("a"), {&Find("b"), &Find("c")});
  EXPECT_GT(times.saved(), absl::Microseconds(10));
  // Both in one kernel that writes a, too: a is not read.
  const auto both =
      model_.EstimateRunTimesForMultiOutputFusion(Find("a"), Find("b"));
  EXPECT_NEAR(Us(both.saved()), 1 + 1048576 * 4 / kA6000BytesPerUs, 1);
  // Siblings read a once.
  EXPECT_EQ(model_.SiblingBytesSaved(Find("b"), Find("c")), 1048576 * 4);
  EXPECT_GT(model_.EstimateRunTimesForSiblings(Find("b"), Find("c")).saved(),
            absl::Microseconds(5));
}

TEST_F(GpuPerformanceModelTest, ReductionIntoBroadcastIsSlowerFused) {
  Parse(R"(HloModule m
add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT o = f32[] add(p, q) }
ENTRY e {
  x = f32[4096,4096] parameter(0)
  z = f32[] parameter(1)
  s = f32[4096] reduce(x, z), dimensions={1}, to_apply=add
  b = f32[4096,4096] broadcast(s), dimensions={0}
  ROOT r = f32[4096,4096] divide(x, b)
})");
  EXPECT_LT(model_.EstimateRunTimes(Find("s"), {&Find("b")}).saved(),
            absl::ZeroDuration());
  EXPECT_GT(model_.EstimateRunTimes(Find("b"), {&Find("r")}).saved(),
            absl::Microseconds(50));
}

TEST_F(GpuPerformanceModelTest, FreeInstructionsTakeNoTime) {
  Parse(R"(HloModule m
ENTRY e {
  x = f32[64,64] parameter(0)
  c = f32[64,64] constant({...})
  b = f32[4096] bitcast(x)
  s = f32[64,64,1] reshape(x)
  t = (f32[64,64], f32[4096]) tuple(x, b)
  ROOT r = f32[4096] get-tuple-element(t), index=1
})");
  for (const HloInstruction* hlo :
       module_->entry_computation()->instructions()) {
    EXPECT_EQ(model_.EstimateRunTime(*hlo).time, absl::ZeroDuration())
        << hlo->name();
    EXPECT_EQ(model_.EstimateRunTime(*hlo).bytes(), 0) << hlo->name();
  }
}

TEST_F(GpuPerformanceModelTest, DotsRunAtTheRateOfTheMatrixUnits) {
  const EstimateRunTimeData& data = model_.EstimateRunTime(Parse(R"(HloModule m
ENTRY e {
  x = bf16[4096,4096] parameter(0)
  y = bf16[4096,4096] parameter(1)
  ROOT r = bf16[4096,4096] dot(x, y), lhs_contracting_dims={1},
    rhs_contracting_dims={0}
})"));
  EXPECT_NEAR(Us(data.compute_time), 2 * 4096.0 * 4096 * 4096 / 154.8e6, 10);
  EXPECT_EQ(data.bytes(), 3 * 4096 * 4096 * 2);
}

TEST_F(GpuPerformanceModelTest, ChangesAreSeenAfterInvalidate) {
  Parse(R"(HloModule m
ENTRY e { x = f32[1024] parameter(0)  ROOT r = f32[1024] negate(x) })");
  EXPECT_EQ(model_.EstimateRunTime(Find("r")).bytes(), 8192);
  HloInstruction* negate = module_->entry_computation()->root_instruction();
  *negate->mutable_shape() = ShapeUtil::MakeShape(F32, {2048});
  EXPECT_EQ(model_.EstimateRunTime(*negate).bytes(), 8192);
  model_.Invalidate(*negate);
  EXPECT_EQ(model_.EstimateRunTime(*negate).bytes(), 12288);
}

TEST_F(GpuPerformanceModelTest, CodeThatDoublesBecomesTooLarge) {
  std::string text = "HloModule m\nf {\n v0 = f32[8,8] parameter(0)\n";
  for (int i = 0; i < 12; ++i) {
    absl::StrAppend(&text, " a", i, " = f32[8,8] reverse(v", i,
                    "), dimensions={0}\n b", i, " = f32[8,8] reverse(v", i,
                    "), dimensions={1}\n ", i == 11 ? "ROOT" : "", " v", i + 1,
                    " = f32[8,8] add(a", i, ", b", i, ")\n");
  }
  absl::StrAppend(&text, R"(}
ENTRY e {
  x = f32[8,8] parameter(0)
  n = f32[8,8] negate(x)
  p = f32[8,8] fusion(n), kind=kLoop, calls=f
  ROOT r = f32[8,8] fusion(p), kind=kLoop, calls=f
})");
  Parse(text);
  // 3 * (2^12 - 1), and a copy for each of 2^12 readers.
  EXPECT_EQ(model_.costs().Get(Find("p")).ir_size, 12285);
  EXPECT_EQ(model_.FusedIrSize(Find("n"), Find("p")), 12285 + 4096);
  EXPECT_TRUE(model_.IsTooLarge(Find("p"), Find("r")));
}

}  // namespace
}  // namespace xla::gpu
