#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/corpus.h"

namespace xla {
namespace {

// A computation for reductions.
constexpr absl::string_view kAdd = R"(
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT s = f32[] add(a, b) })";

class HloCostAnalysisTest : public ::testing::Test {
 protected:
  void Analyze(absl::string_view text,
               const HloCostAnalysis::Options& options = {}) {
    auto module = ParseAndReturnUnverifiedModule(text);
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
    analysis_ = std::make_unique<HloCostAnalysis>(options);
    absl::Status status = module_->entry_computation()->Accept(analysis_.get());
    ASSERT_TRUE(status.ok()) << status;
  }
  HloInstruction* Inst(absl::string_view name) {
    for (HloComputation* computation : module_->computations()) {
      if (auto* inst = computation->GetInstructionWithName(name)) return inst;
    }
    ADD_FAILURE() << name;
    return nullptr;
  }
  int64_t Flops(absl::string_view name) {
    return analysis_->flop_count(*Inst(name));
  }
  int64_t Bytes(absl::string_view name) {
    return analysis_->bytes_accessed(*Inst(name));
  }

  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloCostAnalysis> analysis_;
};

TEST_F(HloCostAnalysisTest, WhatFusionsUseOfOperandsInside) {
  Analyze(R"(
HloModule m
sum { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y) }
f { p = f32[10] parameter(0)
  zero = f32[] constant(0)
  s = f32[1] slice(p), slice={[0:1]}
  n = f32[1] negate(s)
  q = f32[] reduce(n, zero), dimensions={0}, to_apply=sum
  inner = (f32[], f32[1]) tuple(q, n)
  ROOT t = (f32[1], (f32[], f32[1])) tuple(s, inner) }
ENTRY e { a = f32[10] parameter(0)
  ROOT r = (f32[1], (f32[], f32[1])) fusion(a), kind=kLoop, calls=f })");
  auto check = [&] {
    EXPECT_NEAR(analysis_->operand_utilization(*Inst("s"), 0), 0.1, 1e-9);
    EXPECT_EQ(analysis_->operand_utilization(*Inst("z"), 0), 1);
    EXPECT_EQ(analysis_->output_bytes_accessed(*Inst("r"), {0}), 4);
    EXPECT_EQ(analysis_->output_bytes_accessed(*Inst("r"), {1, 0}), 4);
    EXPECT_EQ(analysis_->output_bytes_accessed(*Inst("r"), {1, 1}), 4);
    EXPECT_EQ(analysis_->output_bytes_accessed(*Inst("r"), {1}), 8);
    EXPECT_EQ(analysis_->output_bytes_accessed(*Inst("r")), 12);
  };
  check();
  ASSERT_TRUE(analysis_->RevisitInstruction(Inst("r")).ok());
  check();
}

TEST_F(HloCostAnalysisTest, Elementwise) {
  Analyze(R"(
HloModule m
ENTRY e {
  x = f32[10,20] parameter(0)
  y = f32[10,20] parameter(1)
  s = f32[10,20] add(x, y)
  c = pred[10,20] compare(s, y), direction=LT
  z = f32[10,20] select(c, x, s)
  ex = f32[10,20] exponential(z)
  cv = bf16[10,20] convert(ex)
  cp = bf16[10,20] copy(cv)
  g = (bf16[10,20], f32[10,20]) tuple(cp, x)
  ROOT r = bf16[10,20] get-tuple-element(g), index=0
})");
  EXPECT_EQ(Flops("s"), 200);
  EXPECT_EQ(Bytes("s"), 3 * 800);
  EXPECT_EQ(analysis_->operand_bytes_accessed(*Inst("s"), 1), 800);
  EXPECT_EQ(analysis_->output_bytes_accessed(*Inst("c")), 200);
  EXPECT_EQ(Flops("z"), 200);
  EXPECT_EQ(Flops("ex"), 0);
  EXPECT_EQ(analysis_->transcendental_count(*Inst("ex")), 200);
  EXPECT_EQ(Flops("cv"), 200);
  EXPECT_EQ(Flops("cp"), 0);
  EXPECT_EQ(Bytes("cp"), 800);
  EXPECT_EQ(Bytes("g"), 2 * HloCostAnalysis::kDefaultPointerSize);
  EXPECT_EQ(analysis_->operand_bytes_accessed(*Inst("g"), 1), 0);
  EXPECT_EQ(analysis_->output_bytes_accessed(*Inst("g")), 16);
  EXPECT_EQ(Bytes("r") + Bytes("x"), 0);
  EXPECT_EQ(analysis_->flop_count(), 800);
  EXPECT_EQ(analysis_->transcendental_count(), 200);
}

TEST_F(HloCostAnalysisTest, Dots) {
  Analyze(R"(
HloModule m
ENTRY e {
  a = f32[4,64,128] parameter(0)
  b = f32[4,128,32] parameter(1)
  d = f32[4,64,32] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  la = f32[64,128] parameter(2)
  rb = f32[4,128,32] parameter(3)
  gs = s32[4] parameter(4)
  rd = f32[64,32] ragged-dot(la, rb, gs), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
  ROOT t = (f32[4,64,32], f32[64,32]) tuple(d, rd)
})");
  EXPECT_EQ(Flops("d"), 2 * 4 * 64 * 32 * 128);
  EXPECT_EQ(Bytes("d"), 4 * (4 * 64 * 128 + 4 * 128 * 32 + 4 * 64 * 32));
  EXPECT_EQ(Flops("rd"), 2 * 64 * 128 * 32);
}

TEST_F(HloCostAnalysisTest, ConvolutionsWithoutPadding) {
  Analyze(R"(
HloModule m
ENTRY e {
  x = f32[8,10,20,3] parameter(0)
  k = f32[3,3,3,16] parameter(1)
  v = f32[8,8,18,16] convolution(x, k), window={size=3x3}, dim_labels=b01f_01io->b01f
  p = f32[8,10,20,16] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  x2 = f32[8,10,20,4] parameter(2)
  k2 = f32[3,3,2,16] parameter(3)
  g = f32[8,8,18,16] convolution(x2, k2), window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=2
  ROOT t = (f32[8,8,18,16], f32[8,10,20,16], f32[8,8,18,16]) tuple(v, p, g)
})");
  EXPECT_EQ(Flops("v"), 2 * 8 * 8 * 18 * 16 * 9 * 3);
  // Two of the 10 * 3 positions and two of the 20 * 3 fall into the padding.
  EXPECT_EQ(Flops("p"), 2 * 8 * 28 * 58 * 16 * 3);
  EXPECT_EQ(Flops("g"), 2 * 8 * 8 * 18 * 16 * 9 * 2);
}

TEST_F(HloCostAnalysisTest, ConvolutionsWithDilationSkipHoles) {
  Analyze(R"(
HloModule m
ENTRY e {
  x = f32[1,5,1] parameter(0)
  k = f32[3,1,1] parameter(1)
  base = f32[1,7,1] convolution(x, k), window={size=3 lhs_dilate=2}, dim_labels=b0f_0io->b0f
  strided = f32[1,3,1] convolution(x, k), window={size=3 stride=2 pad=1_1}, dim_labels=b0f_0io->b0f
  ROOT t = (f32[1,7,1], f32[1,3,1]) tuple(base, strided)
})");
  // x . x . x . x . x: windows of 3 hold 2, 1, 2, 1, 2, 1, 2 elements.
  EXPECT_EQ(Flops("base"), 2 * 11);
  EXPECT_EQ(Flops("strided"), 2 * 7);
}

TEST_F(HloCostAnalysisTest, AppliedComputations) {
  Analyze(absl::StrCat("HloModule m\n", kAdd, R"(
two { a = f32[] parameter(0)
 b = f32[] parameter(1)
 m = f32[] multiply(a, a)
 e = f32[] exponential(b)
 ROOT s = f32[] add(m, e) }
less { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT s = pred[] compare(a, b), direction=LT }
ENTRY e {
  x = f32[10,20] parameter(0)
  zero = f32[] constant(0)
  r = f32[10] reduce(x, zero), dimensions={1}, to_apply=add
  r2 = f32[10] reduce(x, zero), dimensions={1}, to_apply=two
  w = f32[8,18] reduce-window(x, zero), window={size=3x3}, to_apply=add
  i = s32[2,1] parameter(1)
  u = f32[2,20] parameter(2)
  sc = f32[10,20] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  so = f32[10,20] sort(x), dimensions={1}, to_apply=less
  ROOT t = (f32[10], f32[10], f32[8,18], f32[10,20], f32[10,20]) tuple(r, r2, w, sc, so)
})"));
  EXPECT_EQ(Flops("r"), 190);
  EXPECT_EQ(Bytes("r"), 800 + 4 + 40);
  EXPECT_EQ(Flops("r2"), 2 * 190);
  EXPECT_EQ(analysis_->transcendental_count(*Inst("r2")), 190);
  EXPECT_EQ(Flops("w"), 8 * 18 * 8);
  EXPECT_EQ(Flops("sc"), 40);
  EXPECT_EQ(Bytes("sc"), 3 * 160 + 8);
  EXPECT_EQ(Flops("so"), 200 * 8);
}

TEST_F(HloCostAnalysisTest, SlicesTouchWhatTheyTake) {
  Analyze(R"(
HloModule m
ENTRY e {
  x = f32[1000] parameter(0)
  i = s32[] parameter(1)
  s = f32[10] slice(x), slice={[0:10]}
  d = f32[10] dynamic-slice(x, i), dynamic_slice_sizes={10}
  u = f32[1000] dynamic-update-slice(x, d, i)
  idx = s32[5,1] parameter(2)
  g = f32[5] gather(x, idx), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
  ROOT t = (f32[10], f32[1000], f32[5]) tuple(s, u, g)
})");
  EXPECT_EQ(Bytes("s"), 80);
  EXPECT_EQ(Bytes("d"), 84);
  EXPECT_EQ(Bytes("u"), 40 + 4 + 40);
  EXPECT_EQ(analysis_->operand_bytes_accessed(*Inst("u"), 0), 0);
  EXPECT_EQ(Bytes("g"), 20 + 20 + 20);
}

// The figures are those that XLA's own analysis has for these instructions.
TEST_F(HloCostAnalysisTest, LibraryOperationsAndSizes) {
  Analyze(R"(
HloModule m
ENTRY e {
  x = c64[8,8] parameter(0)
  a = f32[4,4] parameter(1)
  b = f32[4,5] parameter(2)
  i = s32[] parameter(3)
  fft = c64[8,8] fft(x), fft_type=FFT, fft_length={8,8}
  thin = c64[8,1] slice(x), slice={[0:8], [0:1]}
  flat = c64[8,1] fft(thin), fft_type=FFT, fft_length={8,1}
  chol = f32[4,4] cholesky(a), lower=true
  solve = f32[4,5] triangular-solve(a, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
  turn = f32[5,4] transpose(b), dimensions={1,0}
  same = f32[4,5] transpose(b), dimensions={0,1}
  part = f32[2,5] dynamic-slice(b, i, i), dynamic_slice_sizes={2,5}
  whole = f32[4,5] dynamic-update-slice(b, part, i, i)
  id = u32[] partition-id()
  sized = f32[4,<=5] set-dimension-size(b, i), dimensions={1}
  ROOT t = (f32[4,5]) tuple(same)
})");
  EXPECT_EQ(Flops("fft"), 8 * 64 * 3 * 3);
  EXPECT_EQ(Flops("flat"), 0);
  EXPECT_EQ(Flops("chol"), 21);
  EXPECT_EQ(Bytes("chol"), 32 + 32);
  EXPECT_EQ(Flops("solve"), 2 * 20 * 4);
  EXPECT_EQ(Bytes("solve"), 32 + 80 + 80);
  EXPECT_EQ(Bytes("turn"), 160);
  EXPECT_EQ(Bytes("same"), 0);
  EXPECT_EQ(analysis_->operand_utilization(*Inst("same"), 0), 1);
  EXPECT_EQ(Bytes("part"), 40 + 40 + 4);
  EXPECT_EQ(Bytes("whole"), 40 + 40 + 4);
  EXPECT_FLOAT_EQ(analysis_->operand_utilization(*Inst("whole"), 0), 0.5);
  EXPECT_EQ(Bytes("id"), 4);
  EXPECT_EQ(Bytes("sized"), 80 + 4 + 80);
}

TEST_F(HloCostAnalysisTest, FusionsMoveParametersAndOutputs) {
  Analyze(R"(
HloModule m
f {
  a = f32[1000] parameter(0)
  b = f32[1000] parameter(1)
  s = f32[10] slice(a), slice={[0:10]}
  sb = f32[20] slice(a), slice={[0:20]}
  p = f32[1000] multiply(b, b)
  ROOT t = (f32[10], f32[20], f32[1000]) tuple(s, sb, p)
}
update {
  ua = f32[1000] parameter(0)
  uv = f32[10] parameter(1)
  ui = s32[] parameter(2)
  un = f32[10] negate(uv)
  ROOT d = f32[1000] dynamic-update-slice(ua, un, ui)
}
ENTRY e {
  x = f32[1000] parameter(0)
  y = f32[1000] parameter(1)
  i = s32[] parameter(2)
  fusion = (f32[10], f32[20], f32[1000]) fusion(x, y), kind=kLoop, calls=f
  g = f32[10] get-tuple-element(fusion), index=0
  u = f32[1000] fusion(x, g, i), kind=kLoop, calls=update
  ROOT r = f32[1000] add(u, y)
})");
  EXPECT_EQ(Flops("fusion"), 1000);
  EXPECT_EQ(analysis_->operand_bytes_accessed(*Inst("fusion"), 0), 120);
  EXPECT_DOUBLE_EQ(analysis_->operand_utilization(*Inst("fusion"), 0), 0.03);
  EXPECT_EQ(analysis_->operand_bytes_accessed(*Inst("fusion"), 1), 4000);
  EXPECT_EQ(analysis_->output_bytes_accessed(*Inst("fusion"), {1}), 80);
  EXPECT_EQ(Bytes("fusion"), 120 + 4000 + 40 + 80 + 4000);
  EXPECT_EQ(Bytes("u"), 0 + 40 + 4 + 40);
  HloCostAnalysis::Options twice;
  twice.count_multiple_input_accesses = true;
  HloCostAnalysis other(twice);
  ASSERT_TRUE(module_->entry_computation()->Accept(&other).ok());
  EXPECT_EQ(other.operand_bytes_accessed(*Inst("fusion"), 1), 8000);
}

TEST_F(HloCostAnalysisTest, ElementsOfTuplesThatFusionsRead) {
  Analyze(R"(
HloModule m
f {
  p = (f32[10], (f32[20], f32[7])) parameter(0)
  a = f32[10] get-tuple-element(p), index=0
  inner = (f32[20], f32[7]) get-tuple-element(p), index=1
  b = f32[20] get-tuple-element(inner), index=0
  c = f32[10] slice(b), slice={[0:10]}
  ROOT s = f32[10] add(a, c)
}
ENTRY e {
  x = (f32[10], (f32[20], f32[7])) parameter(0)
  ROOT r = f32[10] fusion(x), kind=kLoop, calls=f
})");
  const HloInstruction& fusion = *Inst("r");
  EXPECT_EQ(analysis_->operand_bytes_accessed(fusion, 0), 80);
  EXPECT_EQ(analysis_->operand_bytes_accessed(fusion, 0, {0}), 40);
  EXPECT_EQ(analysis_->operand_bytes_accessed(fusion, 0, {1, 0}), 40);
  EXPECT_EQ(analysis_->operand_bytes_accessed(fusion, 0, {1, 1}), 0);
  EXPECT_EQ(analysis_->bytes_accessed(fusion), 120);
}

TEST_F(HloCostAnalysisTest, RepeatedReadsOfBroadcastsAndWindows) {
  const std::string text = absl::StrCat("HloModule m\n", kAdd, R"(
ENTRY e {
  x = f32[8,8] parameter(0)
  zero = f32[] constant(0)
  wide = f32[10,7] broadcast(zero), dimensions={}
  r = f32[3,4] reduce-window(x, zero), window={size=4x5 stride=2x1}, to_apply=add
  ROOT t = (f32[10,7], f32[3,4]) tuple(wide, r)
})");
  for (const bool each_read : {false, true}) {
    HloCostAnalysis::Options options;
    options.count_multiple_input_accesses = each_read;
    Analyze(text, options);
    EXPECT_EQ(analysis_->operand_bytes_accessed(*Inst("wide"), 0),
              4 * (each_read ? 70 : 1));
    EXPECT_EQ(analysis_->operand_utilization(*Inst("wide"), 0),
              each_read ? 70 : 1);
    EXPECT_EQ(Bytes("wide"), 4 * (1 + 70));
    EXPECT_EQ(analysis_->operand_bytes_accessed(*Inst("r"), 0),
              4 * (each_read ? 12 * 20 : 64));
    EXPECT_EQ(analysis_->operand_bytes_accessed(*Inst("r"), 1),
              4 * (each_read ? 12 : 1));
    EXPECT_EQ(analysis_->operand_utilization(*Inst("r"), 0),
              each_read ? 12 * 20 / 64.0 : 1);
    EXPECT_EQ(analysis_->operand_utilization(*Inst("r"), 1),
              each_read ? 12 : 1);
    EXPECT_EQ(Bytes("r"), 4 * (64 + 1 + 12));
    EXPECT_EQ(Flops("r"), 12 * 19);
  }
}

// Each of the 7 windows of a row holds its 7 elements.
TEST_F(HloCostAnalysisTest, EqualWindows) {
  const auto flops = [&](absl::string_view window, bool each = false) {
    HloCostAnalysis::Options options;
    options.count_equal_windows = each;
    Analyze(absl::StrCat("HloModule m\n", kAdd, R"(
ENTRY e {
  x = f32[5,7] parameter(0)
  zero = f32[] constant(0)
  ROOT r = f32[5,7] reduce-window(x, zero), window={)",
                         window, "}, to_apply=add }"),
            options);
    return Flops("r");
  };
  EXPECT_EQ(flops("size=1x13 pad=0_0x6_6"), 5 + 6);
  EXPECT_EQ(flops("size=1x13 pad=0_0x6_6", true), 35 * 12);
  EXPECT_EQ(flops("size=9x1 pad=4_4x0_0"), 7 + 4);
  EXPECT_EQ(flops("size=1x7 pad=0_0x6_0"), 35 * 6);
  EXPECT_EQ(flops("size=1x11 pad=0_0x5_5"), 35 * 10);
  EXPECT_EQ(flops("size=9x13 pad=4_4x6_6"), 35 * 9 * 13 - 35);
  EXPECT_EQ(flops("size=2x13 pad=1_0x6_6"), 35 * 25);
}

TEST_F(HloCostAnalysisTest, UtilizationInAFusion) {
  Analyze(R"(
HloModule m
f {
  a = f32[8] parameter(0)
  n = f32[8] negate(a)
  wide = f32[4,8] broadcast(n), dimensions={1}
  x = f32[4,8] exponential(wide)
  y = f32[4,8] sine(wide)
  sum = f32[4,8] add(x, y)
  part = f32[2] slice(n), slice={[0:2]}
  ROOT t = (f32[4,8], f32[2]) tuple(sum, part)
}
ENTRY e {
  p = f32[8] parameter(0)
  ROOT fusion = (f32[4,8], f32[2]) fusion(p), kind=kLoop, calls=f
})");
  auto utilization = [&](absl::string_view name) {
    return analysis_->properties(*Inst(name)).utilization;
  };
  EXPECT_EQ(utilization("sum"), 1);
  EXPECT_EQ(utilization("wide"), 1);
  // Four times in the broadcast, a quarter in the slice.
  EXPECT_EQ(utilization("n"), 4.25);
  EXPECT_EQ(utilization("a"), 4.25);
}

constexpr char kLoop[] = R"(
HloModule m
body {
  p = (s32[], f32[100]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[100] get-tuple-element(p), index=1
  y = f32[100] multiply(x, x)
  ROOT t = (s32[], f32[100]) tuple(next, y)
}
cond {
  q = (s32[], f32[100]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  n = s32[] constant(7)
  ROOT lt = pred[] compare(j, n), direction=LT
}
callee {
  c = f32[100] parameter(0)
  ROOT cn = f32[100] negate(c)
}
ENTRY e {
  zero = s32[] constant(0)
  a = f32[100] parameter(0)
  pr = pred[] parameter(1)
  init = (s32[], f32[100]) tuple(zero, a)
  w = (s32[], f32[100]) while(init), condition=cond, body=body
  g = f32[100] get-tuple-element(w), index=1
  call = f32[100] call(g), to_apply=callee
  ROOT call2 = f32[100] call(call), to_apply=callee
})";

TEST_F(HloCostAnalysisTest, LoopsOnceOrAsOftenAsTheyRun) {
  Analyze(kLoop);
  EXPECT_EQ(Flops("w"), 102);
  EXPECT_EQ(Bytes("w"), 1200 + 12 + 9 + 16);
  EXPECT_EQ(analysis_->flop_count(), 302);
  HloCostAnalysis::Options options;
  options.multiply_by_trip_count = true;
  Analyze(kLoop, options);
  EXPECT_EQ(Flops("w"), 7 * 101 + 8);
  EXPECT_EQ(Flops("call2"), 100);
  EXPECT_EQ(analysis_->flop_count(), 7 * 101 + 8 + 200);
}

TEST_F(HloCostAnalysisTest, WorseBranchOfAConditional) {
  Analyze(R"(
HloModule m
cheap { a = f32[100] parameter(0)
 ROOT n = f32[100] negate(a) }
dear { b = f32[100] parameter(0)
 m = f32[100] multiply(b, b)
 ROOT s = f32[100] add(m, b) }
ENTRY e {
  p = pred[] parameter(0)
  x = f32[100] parameter(1)
  ROOT c = f32[100] conditional(p, x, x), true_computation=cheap, false_computation=dear
})");
  EXPECT_EQ(Flops("c"), 200);
  EXPECT_EQ(Bytes("c"), 2400);
}

TEST_F(HloCostAnalysisTest, SecondsAreThoseOfTheBottleneck) {
  HloCostAnalysis::Options options;
  options.set_flops_per_second(1000);
  options.set_bytes_per_second(4000);
  options.set_bytes_min_latency_second(0.5);
  Analyze(kLoop, options);
  // 100 multiplications take 0.1 s, 1200 bytes 0.3 s, but not below 0.5 s.
  EXPECT_DOUBLE_EQ(analysis_->optimal_seconds(*Inst("y")), 0.5);
  // Three instructions and a table in the loop, two calls and a table around.
  EXPECT_DOUBLE_EQ(analysis_->optimal_seconds(*Inst("w")), 2);
  EXPECT_DOUBLE_EQ(analysis_->optimal_seconds(), 3.5);
  options.set_bytes_min_latency_second(0);
  Analyze(kLoop, options);
  EXPECT_DOUBLE_EQ(analysis_->optimal_seconds(*Inst("y")), 0.3);
}

TEST_F(HloCostAnalysisTest, FollowsChanges) {
  Analyze(R"(
HloModule m
ENTRY e {
  x = f32[100] parameter(0)
  y = f32[100] negate(x)
  z = f32[100] multiply(x, x)
  ROOT r = f32[100] add(y, z)
})");
  EXPECT_EQ(analysis_->flop_count(), 300);
  ASSERT_TRUE(analysis_->RemoveInstruction(Inst("y")).ok());
  EXPECT_EQ(analysis_->flop_count(), 200);
  EXPECT_EQ(Flops("y"), 0);
  ASSERT_TRUE(analysis_->RevisitInstruction(Inst("y")).ok());
  ASSERT_TRUE(analysis_->RevisitInstruction(Inst("z")).ok());
  EXPECT_EQ(analysis_->flop_count(), 300);
  EXPECT_EQ(analysis_->bytes_accessed(), 800 + 800 + 400 + 1200);
}

TEST_F(HloCostAnalysisTest, BytesByMemorySpace) {
  Analyze(R"(
HloModule m
ENTRY e {
  x = f32[100]{0:S(1)} parameter(0)
  y = f32[100]{0} parameter(1)
  ROOT z = f32[100]{0:S(1)} add(x, y)
})");
  EXPECT_EQ(analysis_->GetBytesRead(*Inst("z")), 800);
  EXPECT_EQ(analysis_->GetBytesRead(*Inst("z"), 1), 400);
  EXPECT_EQ(analysis_->GetBytesWritten(*Inst("z"), 1), 400);
  EXPECT_EQ(analysis_->GetBytesWritten(*Inst("z"), 0), 0);
}

TEST_F(HloCostAnalysisTest, FeedsMoveEachArrayOfATuple) {
  Analyze(R"(
HloModule m
ENTRY e {
  t = token[] after-all()
  i = ((f32[8], (s32[2], bf16[3])), token[]) infeed(t)
  d = (f32[8], (s32[2], bf16[3])) get-tuple-element(i), index=0
  ROOT o = token[] outfeed(d, t), outfeed_shape=(f32[8], (s32[2], bf16[3]))
})");
  EXPECT_EQ(analysis_->output_bytes_accessed(*Inst("i")), 32 + 8 + 6);
  EXPECT_EQ(analysis_->output_bytes_accessed(*Inst("i"), {0, 0}), 32);
  EXPECT_EQ(analysis_->output_bytes_accessed(*Inst("i"), {0, 1, 0}), 8);
  EXPECT_EQ(analysis_->output_bytes_accessed(*Inst("i"), {0, 1, 1}), 6);
  EXPECT_EQ(Bytes("i"), 46);
  EXPECT_EQ(analysis_->operand_bytes_accessed(*Inst("o"), 0), 46);
  EXPECT_EQ(analysis_->operand_bytes_accessed(*Inst("o"), 0, {0}), 32);
  EXPECT_EQ(analysis_->operand_bytes_accessed(*Inst("o"), 0, {1, 0}), 8);
  EXPECT_EQ(analysis_->operand_bytes_accessed(*Inst("o"), 0, {1, 1}), 6);
  EXPECT_EQ(analysis_->output_bytes_accessed(*Inst("o")), 0);
}

TEST_F(HloCostAnalysisTest, CollectivesAndAsynchronousCopies) {
  Analyze(R"(
HloModule m
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[100] parameter(0)
  r = f32[100] all-reduce(x), replica_groups={}, to_apply=add
  g = f32[200] all-gather(x), replica_groups={{0,1}}, dimensions={0}
  cs = (f32[100], f32[100], u32[]) copy-start(x)
  cd = f32[100] copy-done(cs)
  cc = f32[100] custom-call(cd), custom_call_target="foo"
  ROOT t = (f32[100], f32[200], f32[100]) tuple(r, g, cc)
})");
  EXPECT_EQ(Flops("r"), 100);
  EXPECT_EQ(Bytes("g"), 1200);
  EXPECT_EQ(Bytes("cs"), 800);
  EXPECT_EQ(Bytes("cd"), 0);
  EXPECT_EQ(Bytes("cc"), 800);
}

// Real training steps, against counts made from their text by other means.
// These count multiplications with padding and with the holes of dilation, too:
// 17 % of a ResNet's step, where strided convolutions are differentiated, and
// none of a transformer's. Beyond that the two differ in conversions (one
// operation per element here), sorts (n log n here), scatters (their updates
// here), and loops whose trip count depends on data (once here).
TEST(HloCostCorpusTest, TrainingSteps) {
  const std::string corpus = CorpusFolder();
  if (corpus.empty()) GTEST_SKIP() << "HLO_CORPUS names no folder";
  struct Expected {
    const char* file;
    double flops;
    double tolerance;
  };
  for (const Expected& expected :
       {Expected{"llama3_8b_train.hlo", 1.1715e16, 0.01},
        Expected{"resnet50_train.hlo", 9.11e11, 0.2}}) {
    std::ifstream file(absl::StrCat(corpus, "/", expected.file));
    if (!file) continue;
    std::stringstream text;
    text << file.rdbuf();
    auto module = ParseAndReturnUnverifiedModule(text.str());
    ASSERT_TRUE(module.ok()) << module.status();
    HloCostAnalysis::Options options;
    options.multiply_by_trip_count = true;
    HloCostAnalysis analysis(options);
    ASSERT_TRUE((*module)->entry_computation()->Accept(&analysis).ok());
    EXPECT_NEAR(analysis.flop_count() / expected.flops, 1, expected.tolerance)
        << expected.file;
  }
}

TEST(HloCostOptionsTest, TextSaysWhatCounts) {
  HloCostAnalysis::Options options;
  EXPECT_NE(options.ToString().find(", equal windows: 0,"), std::string::npos);
  options.count_equal_windows = true;
  EXPECT_NE(options.ToString().find(", equal windows: 1,"), std::string::npos);
}

TEST(HloCostPropertiesTest, NamesReachMembers) {
  HloCostProperties properties;
  properties["flops"] = 3;
  properties["bytes accessed1{}"] = 7;
  properties["mine"] = 9;
  properties.set_operand_utilization(1, 0.5);
  properties.set_output_bytes_accessed({0}, 2);
  EXPECT_EQ(properties.flops, 3);
  EXPECT_EQ(properties[HloCostAnalysis::kFlopsKey], 3);
  EXPECT_EQ(properties[HloCostAnalysis::kTranscendentalsKey], 0);
  EXPECT_EQ(properties.operand_bytes_accessed(1), 7);
  EXPECT_EQ(properties[HloCostAnalysis::GetOperandUtilizationKey(1)], 0.5);
  EXPECT_EQ(properties[HloCostAnalysis::GetOutputBytesAccessedKey({0})], 2);
  EXPECT_EQ(properties.ToString(), "flops 3, mine 9");
  HloCostProperties sum;
  sum.AddTotals(properties, 2);
  EXPECT_EQ(sum.ToString(/*print_named_properties=*/true), "flops 6, mine 18");
}

}  // namespace
}  // namespace xla
