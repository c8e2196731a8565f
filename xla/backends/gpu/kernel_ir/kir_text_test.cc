#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/kernel_ir/kir_parser.h"
#include "xla/backends/gpu/kernel_ir/kir_printer.h"
#include "xla/backends/gpu/kernel_ir/kir_verifier.h"
#include "xla/hlo/testlib/test.h"

namespace xla::gpu::kir {
namespace {

// Every kind of declaration, statement and attribute, as the printer writes it.
constexpr char kEverything[] = R"(kernel @all {
  sym H
  sym W = 6
  launch grid(ceildiv(H, 4), 1, 1) block(32, W, 1)
  param %in : global f16[H, W]
  param %out : global f32[]
  id rows = H
  id cols = W
  option min_align = 16
  alloc %A : shared f32[H, W] align 128 promote zero_init reset swizzle 64 vec 4 circ(3, 2) ids(rows, cols)
  alloc %B : shared f32[H*W] alias %A
  alloc %C : shared f32[W + 1] addr(128*W)
  alloc %m : shared u64[1]
  for %i : serial [0, H) step 2 unroll stage main ids(rows) {
    for %x : tidx [0, W) {
      alloc %r : local f32[1]
      %r[0] = copy(%in[i, x])
      %A[i, x] = fma(%r[0], 1.5, -2e+10)
      %B[6*i + x] = copy(%A[i, ?]) {sync async=cp mbar=%m}
    }
    if divergent (max(0, -tid.x + 16)) {
      sync warp
    } else {
      %C[ceildiv(i, 2)] = reduce.max(%B[3*i % 8])
    }
    if uniform (H) {
      sync block war group=compute
    }
  }
  sync grid
  arrive %m
  wait %m phase=H % 2
  commit cp
  wait bulk_store keep=2
  fence async_proxy
  mbarrier.init %m(W)
  mbarrier.inval %m
  %out[] = copy(%C[0])
}
)";

TEST(KirTextTest, PrintingAndParsingAreInverse) {
  TF_ASSERT_OK_AND_ASSIGN(Kernel kernel, ParseKernel(kEverything));
  EXPECT_EQ(PrintKernel(kernel), kEverything);
  TF_ASSERT_OK_AND_ASSIGN(Kernel again, ParseKernel(PrintKernel(kernel)));
  EXPECT_TRUE(again == kernel);
  again.buffers[2].promote = false;
  EXPECT_FALSE(again == kernel);
}

TEST(KirTextTest, FreeTextBecomesCanonical) {
  TF_ASSERT_OK_AND_ASSIGN(Kernel kernel, ParseKernel(R"(
// Two names for one size.
kernel @k {   // opens
  launch grid(1,1,1) block(8*4,1,1)
  sym H=5
  alloc %A:shared f32[H+H] vec 2   align 16

  for %i:serial [0,2*H) step 1 {
    %A[ i+0 ] = full( 0.5e1 )
  }
}
)"));
  EXPECT_EQ(PrintKernel(kernel), R"(kernel @k {
  sym H = 5
  launch grid(1, 1, 1) block(32, 1, 1)
  alloc %A : shared f32[2*H] align 16 vec 2
  for %i : serial [0, 2*H) {
    %A[i] = full(5.0)
  }
}
)");
}

TEST(KirTextTest, EveryOperationRoundTrips) {
  for (const OpInfo& op : AllOps()) {
    std::string text = "kernel @k {\n  alloc %a : local f32[1]\n  ";
    for (int i = 0; i < op.outputs; ++i) {
      absl::StrAppend(&text, i > 0 ? ", " : "", "%a[0]");
    }
    absl::StrAppend(&text, " = ", op.name, op.combines ? ".add" : "", "(");
    for (int i = 0; i < op.max_arguments; ++i) {
      absl::StrAppend(&text, i > 0 ? ", " : "", "%a[0]");
    }
    absl::StrAppend(&text, ")\n}\n");
    TF_ASSERT_OK_AND_ASSIGN(Kernel kernel, ParseKernel(text));
    EXPECT_EQ(PrintKernel(kernel), text);
  }
}

struct BadCase {
  const char* body;  // of a kernel, from line 4 on
  const char* error;
};

// What is wrong, and where.
constexpr BadCase kBadCases[] = {
    {"  %A[i] = full(1.0)", "4:6: error: 'i' is not a symbol"},
    {"  %A[0] = ad(1.0, 2.0)", "4:11: error: unknown operation 'ad'; did"},
    {"  %A[0] = add(1.0)", "4:11: error: 'add' takes 2 arguments, not 1"},
    {"  %A[0] = reduce(%A[0])", "4:11: error: 'reduce' needs a combiner"},
    {"  %A[0] = add.max(1.0, 1.0)", "4:11: error: 'add' does not combine"},
    {"  %A[0], %A[1] = neg(1.0)", "4:18: error: 'neg' has 1 result, not 2"},
    {"  %A[0, 1] = full(1.0)", "4:6: error: %A has 1 dimension and 2 indices"},
    {"  %B[0] = full(1.0)", "4:3: error: unknown buffer '%B'"},
    {"  alloc %A : local f32[1]", "4:9: error: '%A' has been declared"},
    {"  alloc %B : heap f32[1]", "4:14: error: unknown memory 'heap'"},
    {"  alloc %B : local f33[1]", "4:20: error: unknown element type 'f33'"},
    {"  alloc %B : local f32[?]", "4:24: error: an unknown value ('?')"},
    {"  alloc %B : local f32[1] big", "4:27: error: unknown attribute 'big'"},
    {"  alloc %B : shared f32[1] promote promote",
     "4:36: error: 'promote' is given twice"},
    {"  alloc %B : local f32[1] ids(z)", "4:31: error: unknown axis 'z'"},
    {"  alloc %B : local f32[9223372036854775807 + 1]", "4:47: error:"},
    {"  for %i : tidw [0, 4) {", "4:12: error: unknown kind of loop 'tidw'"},
    {"  for %i : serial [0, 4) {\n  for %i : serial [0, 4) {",
     "5:7: error: 'i' has been declared already"},
    {"  sync house", "4:8: error: unknown scope 'house'"},
    {"  sync block 7", "4:14: error: unexpected '7' after a statement"},
    {"  if maybe (1) {", "4:6: error: expected uniform, warp or divergent"},
    {"  wait cp", "4:10: error: expected 'keep', not end of line"},
    {"  commit fax", "4:10: error: unknown transfer 'fax'"},
    {"  sync block\n  sym X", "5:3: error: 'sym' belongs before statements"},
    {"  dance", "4:3: error: unknown statement 'dance'"},
    {"  %A[0] = full(1.0) {quick}", "4:22: error: unknown attribute 'quick'"},
    {"  for %i : serial [0, 4) {", "expected '}'"},
    // The verifier's.
    {"  alloc %B : local f32[1] promote", "4:9: error: K4: 'promote' is for"},
    {"  alloc %B : shared f32[0]", "4:9: error: K3: an extent of %B is 0"},
    {"  alloc %B : shared f32[1] align 24", "4:9: error: K5: alignment 24"},
    {"  alloc %B : shared f64[4] vec 4", "4:9: error: K5: vectors of 4 f64"},
    {"  alloc %B : shared f32[1] alias %A", "4:9: error: K6: %B is an alias"},
    {"  for %i : serial [0, 4) step 0 {\n  }", "4:3: error: K7: a loop steps"},
    {"  for %x : tidx [0, 4) {\n  for %y : tidx [0, 4) {\n  }\n  }",
     "5:3: error: K7: a loop around runs over tidx already"},
    {"  if divergent (tid.x) {\n    sync block\n  }",
     "5:5: error: K8: not every thread meets this barrier: the branch around "
     "is divergent"},
    {"  for %x : tidx [0, 4) {\n    sync block\n  }",
     "5:5: error: K8: not every thread meets this barrier: the loop over tidx "
     "runs for 4 of 8 threads"},
    {"  for %i : serial [0, tid.x) {\n    sync warp\n  }",
     "5:5: error: K8: not every thread meets this barrier: the trip count"},
    // A warp of which half is in the loop.
    {"  for %x : tidx [0, 4) {\n    sync warp\n  }",
     "5:5: error: K8: not every thread meets this barrier: the loop over tidx "
     "runs for 4 of 8 threads"},
    // The loop covers the threads, but steps over half of their indices.
    {"  for %x : tidx [0, 8) step 2 {\n    sync block\n  }",
     "5:5: error: K8: not every thread meets this barrier: the loop over tidx "
     "runs for 4 of 8 threads"},
    {"  alloc %s : shared f32[1]\n  %A[0] = copy(%s[0])",
     "5:16: error: K9: %s is read before any write"},
    {"  if uniform (1) {\n    alloc %s : local f32[1]\n  }\n  %s[0] = "
     "full(1.0)",
     "7:3: error: K1: %s is not allocated here"},
    {"  arrive %A", "4:3: error: K10: %A is not a barrier"},
    {"  fence garden", "4:3: error: K10: unknown fence 'garden'"},
    {"  alloc %l : local f32[1]\n  %l[0] = atomic.add(%A[0], 0)",
     "5:3: error: K12: atomics are on global or shared memory, and %l is "
     "local"},
    {"  alloc %a : local f16[1, 2, 8]\n  alloc %b : local f16[1, 4]\n"
     "  alloc %c : local f32[1, 1, 2, 2]\n  %a[0, 0, 0] = full(0.0)\n"
     "  %b[0, 0] = full(0.0)\n"
     "  %c[0, 0, 0, 0] = warp_mma(%a[0, 0, 0], %b[0, 0])",
     "9:3: error: K13: no warp_mma: in registers it takes [n, 2, 8] and [m, "
     "8]"},
};

TEST(KirTextTest, ErrorsSayWhere) {
  for (const BadCase& bad : kBadCases) {
    std::string text = absl::StrCat(
        "kernel @k {\n  launch grid(1, 1, 1) block(8, 1, 1)\n"
        "  param %A : global f32[4]\n",
        bad.body, "\n}\n");
    absl::StatusOr<Kernel> kernel = ParseKernel(text, "k.kir");
    absl::Status status = kernel.ok() ? VerifyKernel(*kernel) : kernel.status();
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(bad.error))
        << text;
    EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("k.kir:"));
  }
}

TEST(KirTextTest, ThreadLoopsOfWholeWarpsHoldTheirBarriers) {
  struct Case {
    absl::string_view block, loop;
    bool whole;
  };
  for (const Case& c : {
           Case{"128, 1, 1", "tidx [0, 64)", true},
           Case{"128, 1, 1", "tidx [0, 40)", false},
           Case{"128, 1, 1", "tidx [0, 0)", true},
           Case{"8, 8, 1", "tidy [0, 4)", true},
           Case{"8, 8, 1", "tidy [0, 2)", false},
           Case{"8, 8, 1", "tidx [0, 4)", false},
           Case{"64, 2, 1", "tidx [0, 32)", true},
           // The second row starts within a warp.
           Case{"48, 2, 1", "tidx [0, 32)", false},
           // There may be a second one.
           Case{"48, n, 1", "tidx [0, 32)", false},
       }) {
    const std::string text = absl::StrCat(
        "kernel @k {\n  sym n\n  launch grid(1, 1, 1) block(", c.block,
        ")\n  for %x : ", c.loop, " {\n    sync warp\n  }\n}\n");
    absl::StatusOr<Kernel> kernel = ParseKernel(text, "k.kir");
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    EXPECT_EQ(VerifyKernel(*kernel).ok(), c.whole) << text;
  }
}

// Threads that a thread loop leaves out join a reduction in it, those that a
// branch leaves out do not, whatever loop is in the branch.
TEST(KirTextTest, ReductionsOfTheBlockAreMetByAll) {
  for (const bool uniform : {true, false}) {
    const std::string text = absl::StrCat(
        "kernel @k {\n  launch grid(1, 1, 1) block(64, 1, 1)\n"
        "  param %in : global f32[64]\n  alloc %s : local f32[1]\n"
        "  %s[0] = full(0.0)\n  if ",
        uniform ? "uniform (bid.x)" : "warp (tid.x / 32)",
        " {\n    for %x : tidx [0, 40) {\n"
        "      %s[0] = reduce.add(%in[x]) {sync}\n    }\n  }\n}\n");
    absl::StatusOr<Kernel> kernel = ParseKernel(text, "k.kir");
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    const absl::Status status = VerifyKernel(*kernel);
    EXPECT_EQ(status.ok(), uniform) << status;
  }
}

TEST(KirTextTest, WholeWarpsMultiplyFragments) {
  absl::StatusOr<Kernel> kernel = ParseKernel(
      "kernel @k {\n  launch grid(1, 1, 1) block(32, 1, 1)\n"
      "  alloc %a : local f16[1, 2, 8]\n  alloc %b : local f16[1, 8]\n"
      "  alloc %c : local f32[1, 1, 2, 2]\n  %a[0, 0, 0] = full(0.0)\n"
      "  %b[0, 0] = full(0.0)\n  %c[0, 0, 0, 0] = full(0.0)\n"
      "  if divergent (max(0, min(1, 16 - tid.x))) {\n"
      "    %c[0, 0, 0, 0] = warp_mma(%a[0, 0, 0], %b[0, 0])\n  }\n}\n",
      "k.kir");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_THAT(std::string(VerifyKernel(*kernel).message()),
              ::testing::HasSubstr("10:5: error: K13: not every lane"));
}

TEST(KirTextTest, ErrorsShowTheLine) {
  absl::StatusOr<Kernel> kernel =
      ParseKernel("kernel @k {\n\tsync house\n}\n", "k.kir");
  EXPECT_EQ(kernel.status().message(),
            "k.kir:2:7: error: unknown scope 'house'; one of block, warp, "
            "grid, cluster\n\tsync house\n\t     ^");
}

// Any damage gives an error or a kernel, not a crash.
TEST(KirTextTest, DamagedTextsAreErrors) {
  std::string text = kEverything;
  for (size_t cut = 0; cut < text.size(); cut += 11) {
    std::string damaged = text;
    damaged.erase(cut, 1 + cut % 5);
    absl::StatusOr<Kernel> kernel = ParseKernel(damaged);
    if (kernel.ok()) VerifyKernel(*kernel).IgnoreError();
    EXPECT_FALSE(ParseKernel(text.substr(0, cut)).ok());
  }
  std::string deep = "kernel @k {\n";
  for (int i = 0; i < 5000; ++i) deep += "if uniform (1) {\n";
  EXPECT_THAT(std::string(ParseKernel(deep).status().message()),
              ::testing::HasSubstr("blocks nest more than"));
}

}  // namespace
}  // namespace xla::gpu::kir
