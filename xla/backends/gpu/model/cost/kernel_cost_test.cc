// How often kernels compute and read, mostly without a device.
#include "xla/backends/gpu/model/cost/kernel_cost.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/model/cost/coalescing_analysis.h"
#include "xla/backends/gpu/model/cost/instruction_flops.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/backends/gpu/model/threads_at_once.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/gpu_device_info_for_tests.h"

namespace xla::gpu {
namespace {

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  CHECK_OK(module.status());
  return *std::move(module);
}

HloInstruction* Find(const HloModule& module, absl::string_view name) {
  for (HloComputation* computation : module.computations()) {
    for (HloInstruction* hlo : computation->instructions()) {
      if (hlo->name() == name) return hlo;
    }
  }
  LOG(FATAL) << name;
}

// A fusion `fusion` of the entry, of `body` with parameters p0 and p1.
std::unique_ptr<HloModule> Fusion(absl::string_view body,
                                  absl::string_view p0 = "f32[64,128]",
                                  absl::string_view p1 = "f32[]",
                                  absl::string_view result = "f32[64,128]") {
  return Parse(absl::StrCat(
      "HloModule m\nadd { a = f32[] parameter(0) b = f32[] parameter(1) "
      "ROOT s = f32[] add(a, b) }\nf {\n p0 = ",
      p0, " parameter(0)\n p1 = ", p1, " parameter(1)\n", body,
      "\n}\nENTRY e {\n x = ", p0, " parameter(0)\n y = ", p1,
      " parameter(1)\n ROOT fusion = ", result,
      " fusion(x, y), kind=kLoop, calls=f\n}"));
}

// A program of a custom fusion keeps a row: what is computed of it, or read, is
// so once, whatever reads it.
TEST(KernelCostTest, CustomFusionsKeepTheirRows) {
  const auto flops_and_reads = [](absl::string_view kind) {
    auto module = Fusion(
        "s = f32[64] reduce(p0, p1), dimensions={1}, to_apply=add\n"
        "b = f32[64,128] broadcast(s), dimensions={0}\n"
        "d = f32[64,128] subtract(p0, b)\n"
        "q = f32[64,128] multiply(d, d)\n"
        "t = f32[64] reduce(q, p1), dimensions={1}, to_apply=add\n"
        "c = f32[64,128] broadcast(t), dimensions={0}\n"
        "ROOT r = f32[64,128] multiply(d, c)");
    HloInstruction* fusion = Find(*module, "fusion");
    if (kind == "custom") {
      fusion->set_fusion_kind(HloInstruction::FusionKind::kCustom);
    }
    KernelCosts costs;
    const KernelCost& cost = costs.Get(*fusion);
    return std::pair(cost.flops, cost.operands[0].utilization());
  };
  const auto [custom_flops, custom_reads] = flops_and_reads("custom");
  const auto [loop_flops, loop_reads] = flops_and_reads("loop");
  EXPECT_EQ(custom_reads, 1);
  EXPECT_GT(loop_reads, 128);
  // Two sums and three elementwise operations, by weight.
  EXPECT_LT(custom_flops, 10 * 64 * 128);
  EXPECT_GT(custom_flops, 3 * 64 * 128);
  EXPECT_GT(loop_flops, 128 * custom_flops);
}

TEST(KernelCostTest, ElementwiseUsesOfAValueAreOneRead) {
  auto module = Fusion(
      "e = f32[64,128] exponential(p0)\n"
      "n = f32[64,128] negate(p0)\n"
      "ROOT r = f32[64,128] add(e, n)");
  KernelCosts costs;
  const KernelCost& cost = costs.Get(*Find(*module, "fusion"));
  EXPECT_EQ(cost.operands[0].utilization(), 1);
  EXPECT_EQ(cost.operands[1].utilization(), 0);
  EXPECT_EQ(cost.bytes_written, 64 * 128 * 4);
  EXPECT_EQ(cost.flops,
            64 * 128 * (FlopsPerElement(HloOpcode::kExp, F32) + 2.0));
  EXPECT_EQ(cost.ir_size, 3);
}

TEST(KernelCostTest, OperationsAsXlaCountsThem) {
  auto module = Fusion(
      "e = f32[64,128] exponential(p0)\n"
      "h = bf16[64,128] convert(e)\n"
      "t = bf16[64,128] multiply(h, h)\n"
      "g = bf16[64,128] tanh(t)\n"
      "b = f32[64,128] convert(g)\n"
      "d = f32[64,128] divide(b, p0)\n"
      "i = s32[64,128] convert(d)\n"
      "q = s32[64,128] divide(i, i)\n"
      "c = s32[128,64] transpose(q), dimensions={1,0}\n"
      "ROOT r = f32[128,64] convert(c)");
  KernelCosts costs(/*device=*/nullptr, KernelTarget::kXla,
                    OperationPrices::kXla);
  // Four conversions and a multiplication of bf16 by default; a transpose that
  // computes nothing.
  EXPECT_EQ(costs.Get(*Find(*module, "fusion")).flops,
            64 * 128 * (79.0 + 5 * 3 + 467 + 19 + 297));
}

TEST(KernelCostTest, CopiesComputeNothingForXla) {
  auto fused = Fusion(
      "c = f32[64,128]{0,1} copy(p0)\n"
      "i = s32[64,128]{0,1} bitcast-convert(c)\n"
      "ROOT f = f32[64,128]{0,1} bitcast-convert(i)",
      "f32[64,128]", "f32[]", "f32[64,128]{0,1}");
  auto real = Fusion("ROOT r = f32[64,128] real(p0)", "c64[64,128]");
  KernelCosts costs(/*device=*/nullptr, KernelTarget::kXla,
                    OperationPrices::kXla);
  EXPECT_EQ(costs.Get(*Find(*fused, "fusion")).flops, 0);
  EXPECT_EQ(costs.Get(*Find(*real, "fusion")).flops, 64 * 128 * 3);
}

// For XLA, updates do not read what they keep, and only transposes take the
// elements apart that neighbors read.
TEST(KernelCostTest, ReadsAsXlaTakesThem) {
  auto module = Parse(R"(HloModule m
f {
  p = f32[64,128] parameter(0)
  u = f32[64,1] parameter(1)
  i = s32[] parameter(2)
  d = f32[64,128] dynamic-update-slice(p, u, i, i)
  n = f32[64,128] negate(d)
  ROOT s = f32[64,32] slice(n), slice={[0:64], [0:128:4]}
}
ENTRY e {
  x = f32[64,128] parameter(0)
  y = f32[64,1] parameter(1)
  j = s32[] parameter(2)
  update = f32[64,128] dynamic-update-slice(x, y, j, j)
  user = f32[64,128] negate(update)
  fusion = f32[64,32] fusion(x, y, j), kind=kLoop, calls=f
  ROOT t = (f32[64,128], f32[64,32]) tuple(user, fusion)
})");
  for (const auto& [prices, reads] :
       {std::pair(OperationPrices::kDevice, 127.0 / 128),
        std::pair(OperationPrices::kXla, 0.0)}) {
    KernelCosts costs(/*device=*/nullptr, KernelTarget::kXla, prices);
    const KernelCost& cost = costs.Get(*Find(*module, "fusion"));
    EXPECT_DOUBLE_EQ(cost.operands[0].utilization(), reads / 4);
    EXPECT_GT(cost.operands[1].utilization(), 0);
    EXPECT_EQ(cost.operands[1].accesses[0].coalesced, reads == 0);
    const KernelCostWithOperands pair =
        costs.Fused(*Find(*module, "update"), *Find(*module, "user"));
    EXPECT_EQ(pair.cost.operands[0].utilization() == 0, reads == 0);
  }
}

TEST(KernelCostTest, TransposesReadApart) {
  const std::unique_ptr<HloModule> modules[] = {
      // Too small for tiles.
      Fusion("ROOT t = f32[8,4] transpose(p0), dimensions={1,0}", "f32[4,8]",
             "f32[]", "f32[8,4]"),
      Fusion("ROOT c = f32[64,128]{0,1} copy(p0)", "f32[64,128]", "f32[]",
             "f32[64,128]{0,1}"),
      Fusion("ROOT r = f32[8192] reshape(p0)", "f32[64,128]{0,1}", "f32[]",
             "f32[8192]")};
  for (const OperationPrices prices :
       {OperationPrices::kDevice, OperationPrices::kXla}) {
    KernelCosts costs(/*device=*/nullptr, KernelTarget::kXla, prices);
    for (const std::unique_ptr<HloModule>& module : modules) {
      const KernelCost& cost = costs.Get(*Find(*module, "fusion"));
      EXPECT_FALSE(cost.operands[0].accesses[0].coalesced)
          << module->ToString();
    }
  }
}

// For XLA, neighbors are as far as anything else.
TEST(KernelCostTest, XlaKnowsNoWindows) {
  auto module = Fusion(
      "l = f32[64,127] slice(p0), slice={[0:64], [0:127]}\n"
      "r = f32[64,127] slice(p0), slice={[0:64], [1:128]}\n"
      "ROOT s = f32[64,127] add(l, r)",
      "f32[64,128]", "f32[]", "f32[64,127]");
  for (const auto& [prices, near] : {std::pair(OperationPrices::kDevice, true),
                                     std::pair(OperationPrices::kXla, false)}) {
    KernelCosts costs(/*device=*/nullptr, KernelTarget::kXla, prices);
    const OperandCost& reads = costs.Get(*Find(*module, "fusion")).operands[0];
    EXPECT_EQ(reads.accesses.back().near, near);
    EXPECT_DOUBLE_EQ(reads.utilization(), 2 * 127.0 / 128);
  }
}

// For XLA, what is read through two bitcasts is read twice.
TEST(KernelCostTest, BitcastsReadApartWithXlasPrices) {
  auto fused = Fusion(
      "b = f32[8192] bitcast(p0)\n"
      "c = f32[8192] bitcast(p0)\n"
      "n = f32[8192] negate(b)\n"
      "s = f32[8192] add(b, n)\n"
      "m = f32[8192] multiply(s, c)\n"
      "v = f32[64,128] bitcast(m)\n"
      "ROOT r = f32[64] reduce(v, p1), dimensions={1}, to_apply=add",
      "f32[64,128]", "f32[]", "f32[64]");
  auto nested = Fusion(
      "b = f32[8192] bitcast(p0)\n"
      "c = f32[32,256] bitcast(b)\n"
      "d = f32[32,256] bitcast(b)\n"
      "ROOT m = f32[32,256] multiply(c, d)",
      "f32[64,128]", "f32[]", "f32[32,256]");
  auto apart = Parse(R"(HloModule m
f {
  p = f32[64,128] parameter(0)
  b = f32[8192] bitcast(p)
  ROOT n = f32[8192] negate(b)
}
h {
  p = f32[8192] parameter(0)
  b = f32[32,256] bitcast(p)
  c = f32[32,256] bitcast(p)
  ROOT m = f32[32,256] multiply(b, c)
}
g {
  p = f32[64,128] parameter(0)
  b = f32[8192] bitcast(p)
  q = f32[8192] parameter(1)
  ROOT m = f32[8192] multiply(b, q)
}
ENTRY e {
  x = f32[64,128] parameter(0)
  first = f32[8192] fusion(x), kind=kLoop, calls=f
  second = f32[8192] fusion(x, first), kind=kLoop, calls=g
  third = f32[32,256] fusion(first), kind=kLoop, calls=h
  ROOT t = (f32[8192], f32[32,256]) tuple(second, third)
})");
  const HloInstruction& first = *Find(*apart, "first");
  const HloInstruction& second = *Find(*apart, "second");
  const HloInstruction& third = *Find(*apart, "third");
  for (const auto& [prices, reads] : {std::pair(OperationPrices::kDevice, 1),
                                      std::pair(OperationPrices::kXla, 2)}) {
    KernelCosts costs(/*device=*/nullptr, KernelTarget::kXla, prices);
    const KernelCost& cost = costs.Get(*Find(*fused, "fusion"));
    EXPECT_TRUE(cost.has_hero);
    EXPECT_EQ(cost.operands[0].utilization(), reads);
    EXPECT_EQ(costs.Get(*Find(*nested, "fusion")).operands[0].utilization(),
              reads);
    EXPECT_EQ(costs.Fused(first, second).cost.operands[0].utilization(), reads);
    EXPECT_EQ(costs.Fused(first, third).cost.operands[0].utilization(), reads);
    // Each fusion has its own bitcast.
    const auto of_pair = [&] {
      return costs.Fused(first, second).cost.operands[0].accesses.front();
    };
    EXPECT_EQ(of_pair().bitcast == of_pair().bitcast, reads == 1);
  }
}

TEST(KernelCostTest, BroadcastComputesItsOperandAgain) {
  auto module = Fusion(
      "e = f32[64] exponential(p0)\n"
      "ROOT b = f32[64,128] broadcast(e), dimensions={0}",
      "f32[64]");
  KernelCosts costs;
  const KernelCost& cost = costs.Get(*Find(*module, "fusion"));
  EXPECT_EQ(cost.operands[0].utilization(), 128);
  EXPECT_EQ(cost.flops, 64 * 128 * FlopsPerElement(HloOpcode::kExp, F32));
}

TEST(KernelCostTest, SlicesReadParts) {
  auto module = Fusion(
      "a = f32[16,128] slice(p0), slice={[0:16],[0:128]}\n"
      "b = f32[16,128] slice(p0), slice={[32:48],[0:128]}\n"
      "ROOT r = f32[16,128] add(a, b)",
      "f32[64,128]", "f32[]", "f32[16,128]");
  KernelCosts costs;
  const KernelCost& cost = costs.Get(*Find(*module, "fusion"));
  EXPECT_EQ(cost.operands[0].utilization(), 0.5);
  EXPECT_EQ(cost.operands[1].utilization(), 0);
}

// Three neighbors in a row of `p0`, added up; `value` is what is read.
std::string Window(absl::string_view value) {
  return absl::StrCat(
      "z = f32[] constant(0)\n"
      "w = f32[64,130] pad(",
      value,
      ", z), padding=0_0x1_1\n"
      "a = f32[64,128] slice(w), slice={[0:64],[0:128]}\n"
      "b = f32[64,128] slice(w), slice={[0:64],[1:129]}\n"
      "c = f32[64,128] slice(w), slice={[0:64],[2:130]}\n"
      "d = f32[64,128] add(a, b)\n"
      "ROOT r = f32[64,128] add(c, d)");
}

TEST(KernelCostTest, ElementsOfAWindowAreNearEachOther) {
  auto module = Fusion(Window("p0"));
  KernelCosts costs;
  const OperandCost& read = costs.Get(*Find(*module, "fusion")).operands[0];
  ASSERT_EQ(read.accesses.size(), 1);
  EXPECT_TRUE(read.accesses[0].near);
  EXPECT_EQ(read.center(), 0);
  EXPECT_NEAR(read.utilization(), 3 * 128 / 130.0, 1e-9);
  EXPECT_EQ(read.utilization_by_place(), 1);
  EXPECT_EQ(read.copies(), 3);
}

TEST(KernelCostTest, WhatIsBroadcastIsReadOnceForAWindow) {
  const char* producer =
      "y_all = f32[64,128] broadcast(p1), dimensions={0}\n"
      "m = f32[64,128] multiply(p0, y_all)\n";
  auto module =
      Fusion(absl::StrCat(producer, Window("m")), "f32[64,128]", "f32[64]");
  KernelCosts costs;
  const KernelCost& cost = costs.Get(*Find(*module, "fusion"));
  EXPECT_NEAR(cost.operands[0].utilization(), 3 * 128 / 130.0, 1e-9);
  EXPECT_EQ(cost.operands[1].utilization(), 128);

  // The same of a producer that is not in the fusion yet.
  auto pair = Parse(absl::StrCat(
      "HloModule m\ng {\n p0 = f32[64,128] parameter(0)\n "
      "p1 = f32[64] parameter(1)\n y_all = f32[64,128] broadcast(p1), "
      "dimensions={0}\n ROOT m = f32[64,128] multiply(p0, y_all)\n}\n"
      "f {\n p0 = f32[64,128] parameter(0)\n",
      Window("p0"),
      "\n}\nENTRY e {\n x = f32[64,128] parameter(0)\n "
      "y = f32[64] parameter(1)\n producer = f32[64,128] fusion(x, y), "
      "kind=kLoop, calls=g\n ROOT fusion = f32[64,128] fusion(producer), "
      "kind=kLoop, calls=f\n}"));
  const KernelCostWithOperands both =
      costs.Fused(*Find(*pair, "producer"), *Find(*pair, "fusion"));
  ASSERT_EQ(both.operands.size(), 2);
  EXPECT_NEAR(both.cost.operands[0].utilization(), 3 * 128 / 130.0, 1e-9);
  EXPECT_EQ(both.cost.operands[0].center(), 0);
  EXPECT_EQ(both.cost.operands[1].utilization(), 128);
}

TEST(KernelCostTest, RowsFarApartAreNotNear) {
  auto module = Fusion(
      "a = f32[32,128] slice(p0), slice={[0:32],[0:128]}\n"
      "b = f32[32,128] slice(p0), slice={[4:36],[0:128]}\n"
      "c = f32[32,128] slice(p0), slice={[5:37],[0:128]}\n"
      "d = f32[32,128] add(a, b)\n"
      "ROOT r = f32[32,128] add(c, d)",
      "f32[64,128]", "f32[]", "f32[32,128]");
  KernelCosts costs;
  const OperandCost& read = costs.Get(*Find(*module, "fusion")).operands[0];
  int near = 0;
  for (const ValueAccess& access : read.accesses) near += access.near;
  // 4 rows are the 512 elements of a block, 5 rows more.
  EXPECT_EQ(near, 1);
  EXPECT_EQ(read.accesses.size(), 2);
  EXPECT_EQ(read.center(), std::nullopt);
}

TEST(KernelCostTest, UpdateInPlaceWritesWhatItUpdates) {
  auto module = Fusion(
      "u = f32[1,128] broadcast(p1), dimensions={}\n"
      "z = s32[] constant(0)\n"
      "ROOT d = f32[64,128] dynamic-update-slice(p0, u, z, z)");
  KernelCosts costs;
  const KernelCost& cost = costs.Get(*Find(*module, "fusion"));
  EXPECT_TRUE(cost.operands[0].in_place);
  EXPECT_EQ(cost.operands[0].utilization(), 0);
  EXPECT_EQ(cost.bytes_written, 128 * 4);
  // If what is updated is computed inside, all of it is written.
  auto plain = Parse(R"(HloModule m
ENTRY e {
  x = f32[64,128] parameter(0)
  u = f32[1,128] parameter(1)
  z = s32[] parameter(2)
  n = f32[64,128] negate(x)
  ROOT d = f32[64,128] dynamic-update-slice(n, u, z, z)
})");
  const KernelCostWithOperands fused =
      costs.Fused(*Find(*plain, "n"), *Find(*plain, "d"));
  EXPECT_EQ(fused.cost.bytes_written, 64 * 128 * 4);
  EXPECT_EQ(fused.operands.size(), 3);
  // So it is if kernels have no threads of its elements.
  for (absl::string_view type : {"c64", "s4"}) {
    const std::string layout = type == "s4" ? "{1,0:E(4)}" : "{1,0}";
    const std::string array = absl::StrCat(type, "[64,128]", layout);
    auto whole = Fusion(
        absl::StrCat("u = ", type, "[1,128]", layout,
                     " broadcast(p1), dimensions={}\nz = s32[] constant(0)\n",
                     "ROOT d = ", array, " dynamic-update-slice(p0, u, z, z)"),
        array, absl::StrCat(type, "[]"), array);
    KernelCosts of_type;
    const KernelCost& of_whole = of_type.Get(*Find(*whole, "fusion"));
    EXPECT_FALSE(of_whole.operands[0].in_place) << type;
    EXPECT_GT(of_whole.bytes_written, 63 * 128 / 2) << type;
  }
}

TEST(KernelCostTest, PairsCostWhatTheirFusionsDo) {
  auto apart = Parse(R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[64,128] parameter(0)
  z = f32[] parameter(1)
  e1 = f32[64,128] exponential(x)
  r = f32[64] reduce(e1, z), dimensions={1}, to_apply=add
  wide = f32[64,128] broadcast(r), dimensions={0}
  ROOT d = f32[64,128] divide(x, wide)
})");
  KernelCosts costs;
  const KernelCostWithOperands reduce =
      costs.Fused(*Find(*apart, "e1"), *Find(*apart, "r"));
  auto fused = Fusion(
      "e = f32[64,128] exponential(p0)\n"
      "ROOT r = f32[64] reduce(e, p1), dimensions={1}, "
      "to_apply=add",
      "f32[64,128]", "f32[]", "f32[64]");
  const KernelCost& expected = costs.Get(*Find(*fused, "fusion"));
  EXPECT_EQ(reduce.cost.flops, expected.flops);
  EXPECT_EQ(reduce.cost.ir_size, expected.ir_size);
  EXPECT_EQ(reduce.cost.bytes_written, expected.bytes_written);
  EXPECT_EQ(reduce.cost.iterations, 64 * 128);
  EXPECT_TRUE(reduce.cost.has_hero);
  // A broadcast of it computes each sum for each element.
  const KernelCostWithOperands broadcast =
      costs.Fused(*Find(*apart, "r"), *Find(*apart, "wide"));
  EXPECT_FALSE(broadcast.cost.has_hero);
  EXPECT_EQ(broadcast.cost.operands[0].utilization(), 128);
  EXPECT_FALSE(broadcast.cost.operands[0].accesses[0].coalesced);
}

// Also of values that a kernel reads twice or not at all.
TEST(KernelCostTest, AnIndexFindsOperandsWhereTheyAre) {
  std::string lines, operands = "p0, p7";
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&lines, "p", i, " = f32[4] parameter(", i, ")\n");
    absl::StrAppend(&operands, ", p", i);
  }
  auto module = Parse(absl::StrCat("HloModule m\nENTRY e {\n", lines,
                                   "n = f32[4] negate(p7)\n"
                                   "c = f32[168] concatenate(",
                                   operands, "), dimensions={0}\n",
                                   "ROOT t = tuple(c, n)\n}"));
  const HloInstruction& kernel = *Find(*module, "c");
  KernelCosts costs;
  const KernelCosts::Positions twice = {1, 9}, none;
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(costs.PositionsOf(*Find(*module, "p7"), kernel), twice);
    EXPECT_EQ(costs.PositionsOf(*Find(*module, "n"), kernel), none);
    costs.IndexOperands(&kernel);
  }
}

// Prices are those of the kernels that there are (scatter_way.h).
TEST(KernelCostTest, ScattersAreUpdatesOrSearches) {
  const auto cost_of = [](absl::string_view type, int64_t rows,
                          absl::string_view apply, int64_t updates = 6,
                          const se::DeviceDescription* device = nullptr,
                          KernelTarget target = KernelTarget::kOwn) {
    auto module = Parse(absl::StrCat(
        "HloModule m\nadd { a = ", type, "[] parameter(0) b = ", type,
        "[] parameter(1) ROOT c = ", type,
        "[] add(a, b) }\nENTRY e {\np = ", type, "[", rows,
        ",4] parameter(0)\ni = s32[", updates, ",1] parameter(1)\nu = ", type,
        "[", updates, ",4] parameter(2)\nROOT s = ", type, "[", rows,
        ",4] scatter(p, i, u), update_window_dims={1}, "
        "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
        "index_vector_dim=1, to_apply=",
        apply, "\n}"));
    KernelCosts costs(device, target);
    return costs.Get(*Find(*module, "s"));
  };
  for (const auto& [type, rows, apply, threads] :
       {std::tuple("f32", 50, "add, unique_indices=true", 6 * 4),
        std::tuple("s32", 50, "add", 6 * 4),
        std::tuple("f32", 300000, "add", 4)}) {
    const KernelCost cost = cost_of(type, rows, apply);
    EXPECT_EQ(cost.bytes_written, 6 * 4 * 4) << type << rows;
    EXPECT_EQ(cost.iterations, threads) << type << rows;
    EXPECT_TRUE(cost.operands[0].in_place) << type << rows;
    EXPECT_EQ(cost.operands[2].utilization(), 1) << type << rows;
  }
  // 40 groups would have 16 updates each; 39 has no factor in common with rows
  // of 4 elements.
  EXPECT_EQ(cost_of("f32", 300000, "add", 640).iterations, 39 * 4);
  // As many groups as the kernel has: an eighth of 2^18 threads, not of the
  // device's 132 * 2048, has a place of a row each.
  const se::DeviceDescription h100 = TestGpuDeviceInfo::H100SXMDeviceInfo();
  EXPECT_EQ(cost_of("f32", 300000, "add", 200000, &h100).iterations, 8191 * 4);
  const KernelCost update = cost_of("s32", 50, "add");
  const KernelCost search = cost_of("f32", 50, "add");
  EXPECT_EQ(search.bytes_written, 50 * 4 * 4);
  EXPECT_EQ(search.iterations, 50 * 4);
  EXPECT_FALSE(search.operands[0].in_place);
  EXPECT_EQ(search.operands[0].utilization(), 1);
  // Each element of the result looks at all indices.
  EXPECT_EQ(search.operands[1].utilization(), 50 * 4);
  EXPECT_EQ(search.operands[2].utilization(), 50);
  EXPECT_EQ(search.flops, 50 * update.flops);
  // XLA's kernels add floats with atomics, in whatever order.
  const KernelCost atomic =
      cost_of("f32", 50, "add", 6, nullptr, KernelTarget::kXla);
  EXPECT_EQ(atomic.bytes_written, 6 * 4 * 4);
  EXPECT_EQ(atomic.iterations, 6 * 4);
  EXPECT_EQ(atomic.operands[2].utilization(), 1);
  EXPECT_EQ(atomic.flops, update.flops);
}

TEST(KernelCostTest, ThreadsAtOnceAreRounded) {
  EXPECT_EQ(ThreadsAtOnce(nullptr), 1 << 18);
  se::DeviceDescription device;
  EXPECT_EQ(ThreadsAtOnce(&device), 1 << 18);
  device.set_core_count(3);
  for (const auto& [of_core, threads] :
       {std::pair(100, 300), std::pair(11000, 1 << 15),
        std::pair(40000, 3 << 15)}) {
    device.set_threads_per_core_limit(of_core);
    EXPECT_EQ(ThreadsAtOnce(&device), threads) << of_core;
  }
}

TEST(KernelCostTest, SiblingsShareWhatTheyReadAtOnePlace) {
  auto module = Parse(R"(HloModule m
ENTRY e {
  x = f32[64,128] parameter(0)
  y = f32[64,128] parameter(1)
  a = f32[64,128] add(x, y)
  m = f32[64,128] multiply(x, x)
  ROOT t = (f32[64,128], f32[64,128]) tuple(a, m)
})");
  KernelCosts costs;
  const KernelCostWithOperands both =
      costs.Siblings(*Find(*module, "a"), *Find(*module, "m"));
  ASSERT_EQ(both.operands.size(), 2);
  EXPECT_EQ(both.cost.operands[0].utilization(), 1);
  EXPECT_EQ(both.cost.bytes_written, 2 * 64 * 128 * 4);
  const KernelCostWithOperands kept = costs.Fused(
      *Find(*module, "a"), *Find(*module, "t"), /*keep_output=*/true);
  EXPECT_EQ(kept.cost.operands[1].utilization(), 1);
}

TEST(CoalescingTest, MinorDimensions) {
  auto module = Parse(R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[64,128]{1,0} parameter(0)
  z = f32[] parameter(1)
  v = f32[64]{0} parameter(2)
  t = f32[128,64]{1,0} transpose(x), dimensions={1,0}
  c = f32[64,128]{0,1} copy(x)
  same = f32[64,128]{1,0} copy(x)
  rows = f32[64]{0} reduce(x, z), dimensions={1}, to_apply=add
  columns = f32[128]{0} reduce(x, z), dimensions={0}, to_apply=add
  wide = f32[64,128]{1,0} broadcast(v), dimensions={0}
  column = f32[64,1]{1,0} slice(x), slice={[0:64],[3:4]}
  row = f32[1,128]{1,0} slice(x), slice={[3:4],[0:128]}
  strided = f32[64,64]{1,0} slice(x), slice={[0:64],[0:128:2]}
  flat = f32[8192]{0} reshape(x)
  ROOT r = (f32[]) tuple(z)
})");
  auto coalesced = [&](absl::string_view name) {
    return IsReadCoalesced(*Find(*module, name), 0);
  };
  EXPECT_FALSE(coalesced("t"));
  EXPECT_FALSE(coalesced("c"));
  EXPECT_TRUE(coalesced("same"));
  EXPECT_FALSE(coalesced("rows"));
  EXPECT_TRUE(coalesced("columns"));
  EXPECT_TRUE(coalesced("wide"));
  EXPECT_FALSE(coalesced("column"));
  EXPECT_TRUE(coalesced("row"));
  EXPECT_FALSE(coalesced("strided"));
  EXPECT_TRUE(coalesced("flat"));
}

}  // namespace
}  // namespace xla::gpu
