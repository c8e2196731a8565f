#include "xla/hlo/analysis/gpu_alias_info.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/tests/analysis_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// What GpuAliasInfo says of operand x of a fusion (or of the root as it is).
std::optional<bool> GpuMayAlias(absl::string_view fusion,
                                absl::string_view inside,
                                const ShapeIndex& output = {}) {
  auto module = ParseForTest(absl::StrCat(R"(HloModule m
    sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = add(a, b) }
    sums { a = f32[] parameter(0) b = f32[] parameter(1)
      c = f32[] parameter(2) d = f32[] parameter(3)
      s = add(a, c) t = add(b, d) ROOT r = tuple(s, t) }
    less { a = f32[] parameter(0) b = f32[] parameter(1)
      c = f32[] parameter(2) d = f32[] parameter(3)
      ROOT l = pred[] compare(a, b), direction=LT }
    f {
      a = f32[8,4] parameter(0)
      b = f32[8,4] parameter(1)
      )",
                                          inside, R"(
    }
    ENTRY e {
      x = f32[8,4] parameter(0)
      y = f32[8,4] parameter(1)
      ROOT r = )",
                                          fusion, "\n}"));
  if (module == nullptr) return std::nullopt;
  const HloInstruction* root = module->entry_computation()->root_instruction();
  return gpu::GpuAliasInfo().MayAlias(FindForTest(*module, "x"), {}, root,
                                      output);
}

constexpr absl::string_view kLoop =
    "f32[8,4] fusion(x, y), kind=kLoop, calls=f";

TEST(GpuAliasInfoTest, ElementwiseFusions) {
  EXPECT_EQ(GpuMayAlias(kLoop, "ROOT s = add(a, b)"), true);
  EXPECT_EQ(GpuMayAlias(kLoop,
                        "k = f32[32] bitcast(a)\n n = negate(k)\n"
                        "m = f32[8,4] bitcast(n)\n ROOT s = add(m, b)"),
            true);
  EXPECT_EQ(GpuMayAlias(kLoop,
                        "n = f32[8,4] reverse(a), dimensions={0}\n"
                        "ROOT s = add(n, b)"),
            false);
  // Reshapes that move nothing are bitcasts, too.
  EXPECT_EQ(GpuMayAlias(kLoop, R"(
      c = f32[8,4]{1,0} abs(a)
      k = f32[2,4,1,4]{3,2,1,0} reshape(c)
      n = f32[2,4,1,4]{3,2,1,0} negate(k)
      m = f32[8,4]{1,0} reshape(n)
      ROOT s = f32[8,4]{1,0} add(m, b))"),
            true);
  EXPECT_EQ(GpuMayAlias(kLoop, R"(
      c = f32[8,4]{1,0} abs(a)
      k = f32[4,8]{1,0} transpose(c), dimensions={1,0}
      m = f32[8,4]{1,0} reshape(k)
      ROOT s = f32[8,4]{1,0} add(m, b))"),
            false);
  // The operand does not get there at all.
  EXPECT_EQ(GpuMayAlias(kLoop, "ROOT s = negate(b)"), false);
}

TEST(GpuAliasInfoTest, LayoutsThatChange) {
  EXPECT_EQ(GpuMayAlias("f32[8,4]{0,1} fusion(x, y), kind=kLoop, calls=f",
                        "c = f32[8,4]{0,1} copy(a)\n"
                        "ROOT s = f32[8,4]{0,1} abs(c)"),
            false);
  // On the way there and back as well.
  EXPECT_EQ(GpuMayAlias(kLoop,
                        "c = f32[8,4]{0,1} copy(a)\n"
                        "ROOT s = f32[8,4]{1,0} copy(c)"),
            false);
  // A copy that changes none is made to keep two values apart.
  EXPECT_EQ(GpuMayAlias(kLoop,
                        "c = f32[8,4]{1,0} copy(a)\n"
                        "ROOT s = f32[8,4]{1,0} abs(c)"),
            false);
}

TEST(GpuAliasInfoTest, TypesOfOneWidth) {
  EXPECT_EQ(GpuMayAlias("s32[8,4] fusion(x, y), kind=kLoop, calls=f",
                        "s = add(a, b)\n ROOT c = s32[8,4] convert(s)"),
            true);
  EXPECT_EQ(GpuMayAlias("bf16[8,4] fusion(x, y), kind=kLoop, calls=f",
                        "s = add(a, b)\n ROOT c = bf16[8,4] convert(s)"),
            false);
  // A narrow type on the way moves elements.
  EXPECT_EQ(GpuMayAlias(kLoop,
                        "c = bf16[8,4] convert(a)\n"
                        "d = f32[8,4] convert(c)\n ROOT s = add(d, b)"),
            false);
}

TEST(GpuAliasInfoTest, UpdatesAndSlices) {
  EXPECT_EQ(GpuMayAlias(kLoop, R"(z = s32[] constant(0)
      n = negate(a)
      u = f32[2,4] slice(b), slice={[0:2], [0:4]}
      ROOT d = f32[8,4] dynamic-update-slice(n, u, z, z))"),
            true);
  // The part that is updated, and another one.
  const absl::string_view update = R"(z = s32[] constant(0)
      y = s32[] constant(2)
      k = f32[8,4] bitcast(a)
      s = f32[2,4] dynamic-slice(k, $0, z), dynamic_slice_sizes={2,4}
      n = f32[2,4] negate(s)
      ROOT d = f32[8,4] dynamic-update-slice(a, n, y, z))";
  EXPECT_EQ(GpuMayAlias(kLoop, absl::Substitute(update, "y")), true);
  EXPECT_EQ(GpuMayAlias(kLoop, absl::Substitute(update, "z")), false);
  // The target's own slice, from elsewhere.
  EXPECT_EQ(GpuMayAlias(kLoop, R"(z = s32[] constant(0)
      u = f32[2,4] slice(a), slice={[2:4], [0:4]}
      ROOT d = f32[8,4] dynamic-update-slice(a, u, z, z))"),
            false);
}

TEST(GpuAliasInfoTest, SeveralResultsOfOneInstruction) {
  const absl::string_view two =
      "(f32[8,4], f32[8,4]) fusion(x, y), kind=kLoop, calls=f";
  for (int64_t output : {0, 1}) {
    EXPECT_EQ(GpuMayAlias(two, R"(ROOT s = (f32[8,4], f32[8,4]) sort(a, b),
                                    dimensions={1}, to_apply=less)",
                          {output}),
              output == 0);
    EXPECT_EQ(GpuMayAlias(two, R"(k = s32[2,1] constant({{0},{1}})
        u = f32[2,4] broadcast(f32[] constant(1)), dimensions={}
        ROOT s = (f32[8,4], f32[8,4]) scatter(a, b, k, u, u),
          update_window_dims={1}, inserted_window_dims={0},
          scatter_dims_to_operand_dims={0}, index_vector_dim=1,
          to_apply=sums)",
                          {output}),
              output == 0);
  }
}

TEST(GpuAliasInfoTest, MultiOutputFusions) {
  const absl::string_view two =
      "(f32[8,4], f32[8,4]) fusion(x, y), kind=kLoop, calls=f";
  EXPECT_EQ(GpuMayAlias(two,
                        "n = negate(a)\n m = negate(b)\n"
                        "ROOT t = tuple(n, m)",
                        {0}),
            true);
  // A thread reads its element for all outputs before it writes any.
  EXPECT_EQ(GpuMayAlias(two,
                        "n = negate(a)\n m = add(a, b)\n"
                        "ROOT t = tuple(n, m)",
                        {0}),
            true);
  for (int64_t output : {0, 1}) {
    EXPECT_EQ(GpuMayAlias(two,
                          "n = negate(a)\n m = multiply(b, n)\n"
                          "ROOT t = tuple(m, n)",
                          {output}),
              true);
    EXPECT_EQ(GpuMayAlias(two,
                          "n = negate(b)\n m = multiply(a, n)\n"
                          "ROOT t = tuple(m, n)",
                          {output}),
              output == 0);
  }
  // But not where an update of other elements is an output.
  EXPECT_EQ(GpuMayAlias(two, R"(z = s32[] constant(0)
      u = f32[2,4] slice(b), slice={[0:2], [0:4]}
      d = f32[8,4] dynamic-update-slice(a, u, z, z)
      n = negate(a)
      ROOT t = tuple(d, n))",
                        {0}),
            false);
  // A reduction is through when the other output is written.
  EXPECT_EQ(
      GpuMayAlias("(f32[8,4], f32[8]) fusion(x, y), kind=kInput, calls=f",
                  "n = negate(a)\n z = f32[] constant(0)\n"
                  "m = f32[8] reduce(a, z), dimensions={1}, to_apply=sum\n"
                  "ROOT t = tuple(n, m)",
                  {0}),
      true);
  // The first one is. Which others are depends on the kernel.
  for (const bool swapped : {false, true}) {
    for (const absl::string_view read : {"a", "b"}) {
      EXPECT_EQ(
          GpuMayAlias(
              "(f32[8,4], f32[8], f32[8]) fusion(x, y), kind=kInput, calls=f",
              absl::StrCat(
                  "n = negate(a)\n z = f32[] constant(0)\n"
                  "m = f32[8] reduce(a, z), dimensions={1}, to_apply=sum\n",
                  "k = f32[8] reduce(", read,
                  ", z), dimensions={1}, to_apply=sum\n ROOT t = tuple(n, ",
                  swapped ? "k, m)" : "m, k)"),
              {0}),
          read == "b" && !swapped)
          << read << swapped;
    }
  }
  // Also if its elements are changed one by one.
  for (const absl::string_view last :
       {"f16[8] convert(m)", "f32[8] copy(m)", "f32[8] negate(m)"}) {
    EXPECT_EQ(
        GpuMayAlias(
            absl::StrCat("(f32[8,4], ", last.substr(0, 3),
                         "[8], f32[8]) fusion(x, y), kind=kInput, calls=f"),
            absl::StrCat(
                "n = negate(a)\n z = f32[] constant(0)\n"
                "m = f32[8] reduce(b, z), dimensions={1}, to_apply=sum\n"
                "h = ",
                last,
                "\n k = f32[8] reduce(a, z), dimensions={1}, to_apply=sum\n"
                "ROOT t = tuple(n, h, k)"),
            {0}),
        false)
        << last;
  }
}

TEST(GpuAliasInfoTest, Collectives) {
  EXPECT_EQ(
      GpuMayAlias("f32[8,4] all-reduce(x), to_apply=sum", "ROOT s = add(a, b)"),
      true);
  EXPECT_EQ(GpuMayAlias("(f32[8,4], f32[8,4]) all-reduce(y, x), to_apply=sum",
                        "ROOT s = add(a, b)", {1}),
            true);
  EXPECT_EQ(GpuMayAlias("(f32[8,4], f32[8,4]) all-reduce(y, x), to_apply=sum",
                        "ROOT s = add(a, b)", {0}),
            false);
  EXPECT_EQ(GpuMayAlias("f32[8,4] add(x, y)", "ROOT s = add(a, b)"),
            std::nullopt);
}

}  // namespace
}  // namespace xla
