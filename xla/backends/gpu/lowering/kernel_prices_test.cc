// What kernels execute, and how long that takes: by what makes one kernel
// slower than another, not by figures of a device.

#include "xla/backends/gpu/lowering/kernel_prices.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_parser.h"
#include "xla/backends/gpu/lowering/kernel_work.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla::gpu {
namespace {

KernelWork WorkOf(absl::string_view body) {
  auto kernel = kir::ParseKernel(
      absl::StrCat("kernel @k {\n  launch grid(8, 1, 1) block(64, 1, 1)\n"
                   "  param %p : global f32[8, 64]\n"
                   "  param %out : global f32[8, 64]\n",
                   "  alloc %s : shared f32[64, 32]\n"
                   "  alloc %v : local f32[4]\n"
                   "  for %b : bidx [0, 8) {\n  for %t : tidx [0, 64) {\n",
                   body, "  }\n  }\n}\n"),
      "test.kir");
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  auto work = WorkOfKernel(*kernel);
  EXPECT_TRUE(work.ok()) << work.status();
  return *work;
}

TEST(KernelWorkTest, SectorsOfWarps) {
  const KernelWork along =
      WorkOf("    %v[0] = copy(%p[b, t])\n    %out[b, t] = copy(%v[0])\n");
  EXPECT_EQ(along.blocks, 8);
  EXPECT_EQ(along.threads, 64);
  // 16 warps, 128 bytes each.
  EXPECT_EQ(along.sectors_read, 64);
  EXPECT_EQ(along.sectors_written, 64);
  EXPECT_EQ(along.loads, 16);
  EXPECT_EQ(along.chain.memory, 1);
  // Each lane reads another sector; and what it has read already is near.
  const KernelWork apart = WorkOf(
      "    %v[0] = copy(%p[t % 8, 8*(t / 8)])\n"
      "    %v[1] = copy(%p[t % 8, 8*(t / 8) + 1])\n"
      "    %v[2] = add(%v[0], %v[1])\n    %out[b, t] = copy(%v[2])\n");
  EXPECT_EQ(apart.sectors_read, 16 * 32);
  EXPECT_EQ(apart.sectors_again, 16 * 32);
  EXPECT_EQ(apart.chain.memory, 1);
}

TEST(KernelWorkTest, BanksAndWaits) {
  const KernelWork conflicts = WorkOf(
      "    %s[t, 0] = full(1.0)\n    sync block\n"
      "    %v[0] = copy(%s[63 - t, 0])\n    %out[b, t] = copy(%v[0])\n");
  EXPECT_EQ(conflicts.shared_accesses, 2 * 16 * 32);
  EXPECT_EQ(conflicts.chain.barriers, 1);
  const KernelWork none = WorkOf(
      "    %s[t / 32, t % 32] = full(1.0)\n    sync block\n"
      "    %v[0] = copy(%s[t / 32, 31 - t % 32])\n"
      "    %out[b, t] = copy(%v[0])\n");
  EXPECT_EQ(none.shared_accesses, 2 * 16);
  EXPECT_EQ(none.chain.shared, 1);
  // Iterations one behind the other are as many waits.
  const auto loop = [](int trips) {
    return WorkOf(absl::StrCat(
        "    for %k : serial [0, ", trips,
        ") {\n      %s[t % 32, k % 32] = full(1.0)\n      sync block\n"
        "      %v[0] = copy(%s[0, 0])\n      sync block\n    }\n"
        "    %out[b, t] = copy(%v[0])\n"));
  };
  EXPECT_EQ(loop(100).chain.barriers, 200);
  EXPECT_EQ(loop(100).chain.shared, 100);
  EXPECT_NEAR(loop(100).instructions / loop(50).instructions, 2, 0.1);
}

// Copies behind a loop compute all of their indices, as those before it do; in
// it they compute what depends on its index.
TEST(KernelWorkTest, IndicesOfCopies) {
  const auto instructions = [](absl::string_view body) {
    return WorkOf(absl::StrCat(body, "    %out[b, t] = full(1.0)\n"))
        .instructions;
  };
  const auto loop = [](absl::string_view body) {
    return absl::StrCat("    for %k : serial [0, 2) {\n", body,
                        "      sync block\n    }\n");
  };
  const std::string copy =
      "    %s[t, 0] = copy(%p[7 - b, (3*t + 5) % 64]) {async=cp}\n"
      "    commit cp\n    wait cp keep=0\n";
  const double work = instructions(copy) - instructions("");
  EXPECT_EQ(instructions(loop("") + copy) - instructions(loop("")), work);
  EXPECT_LT(instructions(loop(copy)) - instructions(loop("")), 2 * work);
}

// A sum that replaces a value under a condition is added under it.
TEST(KernelWorkTest, SelectionsOfWhatIsKept) {
  const auto select = [](int result) {
    return WorkOf(absl::StrCat(
        "    %v[0] = copy(%p[b, t])\n    %v[1] = add(%v[0], %v[0])\n    %v[",
        result, "] = select(%v[1], %v[1], %v[0])\n    %out[b, t] = copy(%v[",
        result, "])\n"));
  };
  EXPECT_EQ(select(2).instructions - select(0).instructions, 16);
  EXPECT_EQ(select(2).chain.instructions, 2 * select(0).chain.instructions);
}

// Units multiply 32 bytes of the depth at once; f32 as three products.
TEST(KernelWorkTest, ProductsOfFragments) {
  const auto multiply = [](absl::string_view type, int row) {
    return WorkOf(
        absl::StrCat("    alloc %a : local ", type, "[2, 2, ", row,
                     "] vec 4\n    alloc %b : local ", type, "[3, ", row,
                     "] vec 4\n    alloc %c : local f32[2, 3, 2, 2]\n"
                     "    %a[0, 0, 0] = full(1.0)\n    %b[0, 0] = full(1.0)\n"
                     "    %c[0, 0, 0, 0] = full(0.0)\n"
                     "    %c[0, 0, 0, 0] = warp_mma(%a[0, 0, 0], %b[0, 0])\n"
                     "    %out[b, t] = copy(%c[0, 0, 0, 0])\n"));
  };
  const KernelWork bf16 = multiply("bf16", 8), f32 = multiply("f32", 4);
  // 16 warps, 2 x 3 blocks, twice 32 bytes.
  EXPECT_EQ(bf16.products, 16 * 6 * 2);
  EXPECT_EQ(f32.products, 3 * bf16.products);
  // Splitting factors and adding sums takes more than multiplying.
  EXPECT_GT(f32.instructions, 5 * bf16.instructions);
  EXPECT_GT(f32.chain.instructions, bf16.chain.instructions);
}

double Microseconds(absl::string_view instruction,
                    absl::string_view device_name = "h200") {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
      "HloModule m\n"
      "add { a = f32[] parameter(0) b = f32[] parameter(1)\n"
      "  ROOT c = f32[] add(a, b) }\n"
      "f { p = f32[4096,4096] parameter(0) t = f32[4096,4096] tanh(p)\n"
      "  c = f32[4096,4096] cosine(t) u = f32[4096,4096] tanh(c)\n"
      "  d = f32[4096,4096] cosine(u) v = f32[4096,4096] tanh(d)\n"
      "  ROOT r = f32[4096,4096] tanh(v) }\nENTRY e {\n",
      instruction, "\n}"));
  EXPECT_TRUE(module.ok()) << module.status();
  const auto device = LoadGpuDevice(device_name);
  EXPECT_TRUE(device.ok()) << device.status();
  KernelPrices prices(*device);
  return absl::ToDoubleMicroseconds(
      prices.Of(*(*module)->entry_computation()->root_instruction()).time);
}

std::string Dot(absl::string_view type, int m, int k, int n) {
  return absl::StrCat("a = ", type, "[", m, ",", k,
                      "] parameter(0)\nb = ", type, "[", k, ",", n,
                      "] parameter(1)\nROOT r = ", type, "[", m, ",", n,
                      "] dot(a, b), lhs_contracting_dims={1}, "
                      "rhs_contracting_dims={0}");
}

TEST(KernelPricesTest, ProductsHideNothing) {
  const auto device = LoadGpuDevice("h200");
  ASSERT_TRUE(device.ok()) << device.status();
  const auto price = [&](double instructions, double shared, double products,
                         double copies = 0) {
    KernelWork work;
    work.blocks = 132;
    work.threads = 256;
    work.instructions = instructions;
    work.shared_accesses = shared;
    work.products = products;
    work.copies = copies;
    absl::Duration arithmetic;
    PriceOfWork(work, 1, 0, *device, &arithmetic);
    return absl::ToDoubleMicroseconds(arithmetic);
  };
  const double all = price(4e7, 1e7, 5e6);
  EXPECT_NEAR(all, price(4e7, 0, 0) + price(0, 1e7, 0) + price(0, 0, 5e6),
              0.01 * all);
  // Where copies run ahead of them, most of the rest.
  EXPECT_LT(price(4e7, 1e7, 5e6, 1), 0.7 * all);
  EXPECT_GT(price(4e7, 1e7, 5e6, 1), price(4e7, 0, 0));
  // Other warps do one thing while some do the other.
  EXPECT_NEAR(price(4e7, 1e7, 0), price(4e7, 0, 0), 0.01 * all);
}

TEST(KernelPricesTest, Copies) {
  const std::string add =
      "a = f32[4096,4096] parameter(0)\nb = f32[4096,4096] parameter(1)\n"
      "ROOT r = f32[4096,4096] add(a, b)";
  const double least = 3 * 4096.0 * 4096 * 4 / 4.8e6;
  EXPECT_GT(Microseconds(add), least);
  EXPECT_LT(Microseconds(add), 1.15 * least);
  EXPECT_GT(Microseconds(add, "a100"), 2 * Microseconds(add));
}

TEST(KernelPricesTest, FunctionsTakeIssueSlots) {
  const std::string p = "p = f32[4096,4096] parameter(0)\n";
  const double negate = Microseconds(p + "ROOT r = f32[4096,4096] negate(p)");
  EXPECT_GT(Microseconds(p + "ROOT r = f32[4096,4096] fusion(p), kind=kLoop, "
                             "calls=f"),
            1.5 * negate);
}

TEST(KernelPricesTest, ProductsByType) {
  // Without matrix units, unless the type is theirs.
  EXPECT_GT(Microseconds(Dot("f32", 2048, 2048, 2048)),
            8 * Microseconds(Dot("bf16", 2048, 2048, 2048)));
  // 67 and 989 TFLOPS at most.
  EXPECT_GT(Microseconds(Dot("f32", 2048, 2048, 2048)), 2 * 8589.9 / 67);
  EXPECT_GT(Microseconds(Dot("bf16", 4096, 4096, 4096)), 16 * 8589.9 / 989);
  EXPECT_LT(Microseconds(Dot("bf16", 4096, 4096, 4096)), 32 * 8589.9 / 989);
  // A single wave is as long as its depth, however few its tiles are.
  EXPECT_GT(Microseconds(Dot("f32", 128, 8192, 128)),
            10 * Microseconds(Dot("f32", 512, 512, 512)));
  // Equal ones are priced once, and named ones the same.
  EXPECT_EQ(Microseconds(Dot("f32", 512, 512, 512)),
            Microseconds(Dot("f32", 512, 512, 512)));
}

TEST(KernelPricesTest, SmallKernelsWaitForTheirChains) {
  const double fill = Microseconds(
      "z = f32[] constant(0)\nROOT r = f32[64] broadcast(z), "
      "dimensions={}");
  const double reduce = Microseconds(
      "p = f32[64,64] parameter(0)\nz = f32[] constant(0)\n"
      "ROOT r = f32[64] reduce(p, z), dimensions={1}, "
      "to_apply=add");
  EXPECT_GT(fill, 0.5);
  EXPECT_GT(reduce, 1.1 * fill);
  EXPECT_LT(reduce, 4 * fill);
}

TEST(KernelPricesTest, WhatIsNoKernelIsFree) {
  EXPECT_EQ(Microseconds("p = f32[64,64] parameter(0)\n"
                         "ROOT r = f32[4096] bitcast(p)"),
            0);
}

}  // namespace
}  // namespace xla::gpu
