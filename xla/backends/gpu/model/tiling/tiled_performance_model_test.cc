#include "xla/backends/gpu/model/tiling/tiled_performance_model.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/model/hlo_fusion_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/gpu_device_info_for_tests.h"
#include "xla/hlo/utils/hlo_traversal.h"

namespace xla::gpu {
namespace {

constexpr absl::string_view kReducers = R"(
add { a1 = f32[] parameter(0)  a2 = f32[] parameter(1)  ROOT sum = f32[] add(a1, a2) }
max { m1 = f32[] parameter(0)  m2 = f32[] parameter(1)  ROOT top = f32[] maximum(m1, m2) }
)";

class TiledPerformanceModelTest : public testing::Test {
 protected:
  // A fusion with this body.
  void Parse(absl::string_view parameters, absl::string_view body,
             absl::string_view result) {
    std::vector<std::string> entry, inner, operands;
    int number = 0;
    for (absl::string_view shape : absl::StrSplit(parameters, ' ')) {
      entry.push_back(absl::StrCat("  q", number, " = ", shape, " parameter(",
                                   number, ")"));
      inner.push_back(absl::StrCat("  p", number, " = ", shape, " parameter(",
                                   number, ")"));
      operands.push_back(absl::StrCat("q", number++));
    }
    const std::string text = absl::StrCat(
        "HloModule m\n", kReducers, "f {\n", absl::StrJoin(inner, "\n"), "\n",
        body, "\n}\nENTRY e {\n", absl::StrJoin(entry, "\n"),
        "\n  ROOT t = ", result, " fusion(", absl::StrJoin(operands, ", "),
        "), kind=kLoop, calls=f\n}\n");
    auto module = ParseAndReturnUnverifiedModule(text);
    CHECK_OK(module.status()) << text;
    module_ = *std::move(module);
    fusion_ = HloFusionAdaptor::ForInstruction(root());
  }
  // Each element less the maximum of its row.
  void ParseRowsLessMaximum(int64_t rows, int64_t columns) {
    const std::string shape = absl::StrCat("f32[", rows, ",", columns, "]");
    Parse(shape,
          absl::StrCat("  z = f32[] constant(0)\n  r = f32[", rows,
                       "] reduce(p0, z), dimensions={1}, to_apply=max\n",
                       "  b = ", shape, " broadcast(r), dimensions={0}\n",
                       "  ROOT s = ", shape, " subtract(p0, b)"),
          shape);
  }
  HloInstruction* root() const {
    return module_->entry_computation()->root_instruction();
  }
  TileableKernel Kernel() const {
    auto kernel = TileableKernel::Create(*fusion_);
    CHECK_OK(kernel.status());
    return *std::move(kernel);
  }
  absl::Status Refusal() {
    return model_.TryFindBestTilingForFusion(*fusion_).status();
  }
  EstimateRunTimeData Time(std::vector<int64_t> sizes) {
    const TileableKernel kernel = Kernel();
    auto tiled = kernel.Tiled(sizes);
    CHECK_OK(tiled.status());
    auto time = model_.EstimateRunTime(*tiled);
    CHECK_OK(time.status());
    return time->runtime_data;
  }

  const stream_executor::DeviceDescription device_ =
      TestGpuDeviceInfo::RTXA6000DeviceInfo();
  TiledPerformanceModel model_{device_};
  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloFusionAdaptor> fusion_;
};

// Values of a program, operands first, and the sizes of their tiles.
std::string ToString(const TiledKernel& tiled) {
  std::vector<std::string> lines;
  for (const TiledValue& value : tiled.values) {
    lines.push_back(absl::StrCat(
        value.is_read ? "read " : "", value.hlo->name(), " ",
        absl::StrJoin(value.tile, "x",
                      [](std::string* out, const TileDimension& part) {
                        absl::StrAppend(out, part.size);
                      })));
  }
  return absl::StrCat(tiled.programs,
                      " programs: ", absl::StrJoin(lines, ", "));
}

TEST_F(TiledPerformanceModelTest, ValuesOfSoftmax) {
  ParseRowsLessMaximum(127, 125);
  const TileableKernel kernel = Kernel();
  EXPECT_EQ(ToString(*kernel.Tiled({4, 125})),
            "32 programs: z , read q0 4x125, r 4, b 4x125, s 4x125");
  // Narrower tiles need the rows all the same, and a part of them once more.
  EXPECT_EQ(ToString(*kernel.Tiled({4, 25})),
            "160 programs: z , read q0 4x25, read q0 4x125, r 4, b 4x25, s "
            "4x25");
}

// What several programs need comes from memory once; rows that are reduced for
// each of their tiles are reduced again.
TEST_F(TiledPerformanceModelTest, NarrowTilesReduceAgain) {
  ParseRowsLessMaximum(1024, 512);
  const EstimateRunTimeData whole = Time({4, 512});
  const EstimateRunTimeData half = Time({4, 256});
  EXPECT_EQ(whole.bytes_read, 1024 * 512 * 4);
  EXPECT_EQ(half.bytes_read, 1024 * 512 * 4);
  EXPECT_EQ(whole.bytes_written, 1024 * 512 * 4);
  EXPECT_GT(half.flops, 1.4 * whole.flops);
  EXPECT_GT(half.read_time, whole.read_time);
  EXPECT_EQ(whole.time, absl::Microseconds(1) + whole.exec_time);
}

// Sizes are rounded up to powers of two, to be computed.
TEST_F(TiledPerformanceModelTest, PaddedTilesComputeMore) {
  Parse("f32[4096,33]", "  ROOT s = f32[4096,33] exponential(p0)",
        "f32[4096,33]");
  EXPECT_NEAR(Time({1, 33}).flops / Time({1, 1}).flops, 64.0 / 33, 1e-9);
}

// A column of single elements moves a transaction for each.
TEST_F(TiledPerformanceModelTest, ShortRunsMoveWholeTransactions) {
  Parse("f32[4096,4096]", "  ROOT s = f32[4096,4096] negate(p0)",
        "f32[4096,4096]");
  const EstimateRunTimeData column = Time({1024, 1});
  const EstimateRunTimeData row = Time({1, 1024});
  EXPECT_EQ(column.bytes_read, row.bytes_read);
  EXPECT_NEAR(absl::FDivDuration(column.read_time, row.read_time),
              device_.dram_to_l2_transaction_size_bytes() / 4.0, 1e-3);
}

TEST_F(TiledPerformanceModelTest, BestTiling) {
  ParseRowsLessMaximum(1024, 512);
  auto best = model_.TryFindBestTilingForFusion(*fusion_);
  ASSERT_TRUE(best.ok()) << best.status();
  const BlockLevelParameters& parameters = best->block_level_parameters;
  ASSERT_EQ(parameters.output_tile_sizes.size(), 1);
  EXPECT_EQ(parameters.output_tile_sizes[0][1], 512);
  // None of all powers of two is faster.
  const TileableKernel kernel = Kernel();
  int64_t possible = 0;
  for (int64_t rows = 1; rows <= 1024; rows *= 2) {
    for (int64_t columns = 1; columns <= 512; columns *= 2) {
      auto tiled = kernel.Tiled({rows, columns});
      ASSERT_TRUE(tiled.ok()) << tiled.status();
      auto other = model_.EstimateRunTime(*tiled);
      if (!other.ok()) continue;
      ++possible;
      EXPECT_LE(best->runtime_data.time, other->runtime_data.time)
          << rows << " x " << columns;
    }
  }
  EXPECT_GT(possible, 20);
}

// The programs of a matrix compute each of its rows' sums once, if a row is one
// program's: then the sums may be another output.
TEST_F(TiledPerformanceModelTest, OutputOnTheWay) {
  Parse("f32[64,32]", R"(  z = f32[] constant(0)
  r = f32[64] reduce(p0, z), dimensions={1}, to_apply=add
  b = f32[64,32] broadcast(r), dimensions={0}
  s = f32[64,32] subtract(p0, b)
  ROOT t = (f32[64], f32[64,32]) tuple(r, s))",
        "(f32[64], f32[64,32])");
  const TileableKernel kernel = Kernel();
  EXPECT_EQ(kernel.result_shape().dimensions_size(), 2);
  EXPECT_TRUE(kernel.Tiled({4, 32}).ok());
  const absl::Status refused = kernel.Tiled({4, 16}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(refused.message(),
            "r: the result's programs do not compute each element of this "
            "output once");
  auto best = model_.TryFindBestTilingForFusion(*fusion_);
  ASSERT_TRUE(best.ok()) << best.status();
  const auto& tiles = best->block_level_parameters.output_tile_sizes;
  ASSERT_EQ(tiles.size(), 2);
  ASSERT_EQ(tiles[0].size(), 1);
  EXPECT_EQ(tiles[0][0], tiles[1][0]);
  EXPECT_EQ(tiles[1][1], 32);
}

// An output of which the programs also need elements elsewhere is computed
// twice: these are not each program's own.
TEST_F(TiledPerformanceModelTest, OutputReadElsewhere) {
  Parse("f32[24]", R"(  x = f32[24] negate(p0)
  h = f32[4] slice(x), slice={[0:4]}
  b = f32[4,6] broadcast(h), dimensions={0}
  r = f32[24] reshape(b)
  s = f32[24] add(r, p0)
  ROOT t = (f32[24], f32[24]) tuple(s, x))",
        "(f32[24], f32[24])");
  const TileableKernel kernel = Kernel();
  auto tiled = kernel.Tiled({1});
  ASSERT_TRUE(tiled.ok()) << tiled.status();
  int64_t count = 0;
  for (const TiledValue& value : tiled->values) {
    count += value.hlo->name() == "x";
  }
  EXPECT_EQ(count, 2);
}

// What has been read for the last time makes room: of a chain, two values are
// live at once.
TEST_F(TiledPerformanceModelTest, ValuesLeaveRegisters) {
  std::string body;
  for (int i = 1; i <= 64; ++i) {
    absl::StrAppend(&body, i == 64 ? "  ROOT p" : "  p", i,
                    " = f32[16,8192] negate(p", i - 1, ")\n");
  }
  Parse("f32[16,8192]", body, "f32[16,8192]");
  EXPECT_GT(Time({1, 8192}).time, absl::Microseconds(1));
  EXPECT_GT(Time({2, 8192}).time, absl::Microseconds(1));
  auto tiled = Kernel().Tiled({4, 8192});
  ASSERT_TRUE(tiled.ok()) << tiled.status();
  EXPECT_EQ(model_.EstimateRunTime(*tiled).status().message(),
            "a program needs 65536 registers for values > 32768");
}

TEST_F(TiledPerformanceModelTest, LongPrograms) {
  std::string body;
  for (int i = 1; i <= 600; ++i) {
    absl::StrAppend(&body, i == 600 ? "  ROOT p" : "  p", i,
                    " = f32[8] negate(p", i - 1, ")\n");
  }
  Parse("f32[8]", body, "f32[8]");
  EXPECT_EQ(Refusal().message(),
            "no tiling is possible: a program of more than 512 tiles");
}

TEST_F(TiledPerformanceModelTest, Refusals) {
  Parse("c64[8]", "  ROOT s = c64[8] negate(p0)", "c64[8]");
  EXPECT_EQ(Refusal().message(), "s: values of c64 are not tiled");
  Parse("s4[8]", "  ROOT s = s4[8] negate(p0)", "s4[8]");
  EXPECT_EQ(Refusal().message(), "s: values of s4 are not tiled");
  Parse("f32[8] f32[8]",
        "  ROOT s = f32[16] concatenate(p0, p1), dimensions={0}", "f32[16]");
  EXPECT_EQ(Refusal().message(), "concatenate s is not tiled");
  Parse("s32[8]", "  ROOT s = s32[8] sign(p0)", "s32[8]");
  EXPECT_EQ(Refusal().message(), "sign s is not tiled");
  Parse("s32[8] s32[8]", "  ROOT s = s32[8] shift-left(p0, p1)", "s32[8]");
  EXPECT_EQ(Refusal().message(), "shift-left s is not tiled");
  Parse("s32[8] s32[8]", "  ROOT s = s32[8] power(p0, p1)", "s32[8]");
  EXPECT_EQ(Refusal().message(), "power s is not tiled");
  Parse("f32[0,8]", "  ROOT s = f32[0,8] negate(p0)", "f32[0,8]");
  EXPECT_EQ(Refusal().message(), "s: not tiled: f32[0,8]");
  Parse("f32[2,262144]", R"(  z = f32[] constant(0)
  r = f32[2] reduce(p0, z), dimensions={1}, to_apply=add
  b = f32[2,262144] broadcast(r), dimensions={0}
  ROOT s = f32[2,262144] subtract(p0, b))",
        "f32[2,262144]");
  EXPECT_EQ(Refusal().code(), absl::StatusCode::kResourceExhausted);
}

// Kernels that differ in nothing but names are searched once; any difference
// that tilings depend on counts.
TEST_F(TiledPerformanceModelTest, EqualStructuresAreSearchedOnce) {
  struct Case {
    const char* parameters;
    const char* body;
    const char* result;
    int64_t searches;
  };
  const Case cases[] = {
      {"f32[8,16]", "  ROOT s = f32[8,16] negate(p0)", "f32[8,16]", 1},
      {"f32[8,16]", "  ROOT other = f32[8,16] negate(p0)", "f32[8,16]", 1},
      {"f32[8,16]", "  ROOT s = f32[8,16] exponential(p0)", "f32[8,16]", 2},
      {"f32[16,8]", "  ROOT s = f32[16,8] negate(p0)", "f32[16,8]", 3},
      {"f16[8,16]", "  ROOT s = f16[8,16] negate(p0)", "f16[8,16]", 4},
      {"f32[8,16]{0,1}", "  ROOT s = f32[8,16]{1,0} negate(p0)", "f32[8,16]",
       5},
      {"f32[9,16]", "  ROOT s = f32[8,16] slice(p0), slice={[0:8], [0:16]}",
       "f32[8,16]", 6},
      {"f32[9,16]", "  ROOT s = f32[8,16] slice(p0), slice={[1:9], [0:16]}",
       "f32[8,16]", 7},
      {"f32[16]", "  ROOT s = f32[16,16] broadcast(p0), dimensions={0}",
       "f32[16,16]", 8},
      {"f32[16]", "  ROOT s = f32[16,16] broadcast(p0), dimensions={1}",
       "f32[16,16]", 9},
      {"f32[8,16] f32[8,16]", "  ROOT s = f32[8,16] subtract(p0, p1)",
       "f32[8,16]", 10},
      {"f32[8,16] f32[8,16]", "  ROOT s = f32[8,16] subtract(p0, p0)",
       "f32[8,16]", 11},
      {"f32[8,16]", "  ROOT s = f32[8,16] negate(p0)", "f32[8,16]", 11},
  };
  for (const Case& test : cases) {
    Parse(test.parameters, test.body, test.result);
    ASSERT_TRUE(model_.CanTile(*fusion_).ok()) << test.body;
    const auto best = model_.TryFindBestTilingForFusion(*fusion_);
    ASSERT_TRUE(best.ok()) << best.status();
    EXPECT_EQ(model_.searches(), test.searches) << test.body;
    // As a model finds it that remembers nothing.
    const stream_executor::DeviceDescription device =
        TestGpuDeviceInfo::RTXA6000DeviceInfo();
    TiledPerformanceModel fresh(device);
    const auto again = fresh.TryFindBestTilingForFusion(*fusion_);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(best->runtime_data.time, again->runtime_data.time) << test.body;
    EXPECT_EQ(best->block_level_parameters.output_tile_sizes,
              again->block_level_parameters.output_tile_sizes);
  }
}

// Reducers of the same cost are alike.
TEST_F(TiledPerformanceModelTest, ReducersCountByCost) {
  for (const char* reducer : {"add", "max"}) {
    Parse("f32[64,256]",
          absl::StrCat("  z = f32[] constant(0)\n  ROOT r = f32[64] reduce(p0, "
                       "z), dimensions={1}, to_apply=",
                       reducer),
          "f32[64]");
    ASSERT_TRUE(model_.TryFindBestTilingForFusion(*fusion_).ok());
    EXPECT_EQ(model_.searches(), 1) << reducer;
  }
}

// More combinations than are tried: the result's last dimensions are cut.
TEST_F(TiledPerformanceModelTest, ManyDimensions) {
  Parse("f32[64,64,64,64,64]", "  ROOT s = f32[64,64,64,64,64] negate(p0)",
        "f32[64,64,64,64,64]");
  auto best = model_.TryFindBestTilingForFusion(*fusion_);
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_GT(best->block_level_parameters.output_tile_sizes[0].back(), 8);
}

TEST_F(TiledPerformanceModelTest, BackendConfig) {
  Parse("f32[8,16]", "  ROOT s = f32[8,16] negate(p0)", "f32[8,16]");
  BlockLevelParameters parameters;
  parameters.output_tile_sizes = {{4, 16}};
  parameters.num_warps = 2;
  ASSERT_TRUE(SetBlockLevelParameters(parameters, root()).ok());
  EXPECT_EQ(
      root()->raw_backend_config_string(),
      R"({"fusion_backend_config":{"kind":"__triton","block_level_fusion_config":)"
      R"({"num_warps":"2","output_tiles":[{"sizes":["4","16"]}],"num_ctas":1,)"
      R"("num_stages":1}}})");
  EXPECT_TRUE(IsGpuFusionKind(*root(), kTritonFusionKind));
}

}  // namespace
}  // namespace xla::gpu
