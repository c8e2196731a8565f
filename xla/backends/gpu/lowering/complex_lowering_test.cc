// Kernels of complex numbers.

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/lowering/fusion_lowering_test_base.h"

namespace xla::gpu {
namespace {

using ::testing::ElementsAre;

using ComplexLoweringTest = FusionLoweringTestBase;

// Formulas of parts, moves of both, and what becomes real.
TEST_F(ComplexLoweringTest, ComplexNumbersArePairs) {
  for (absl::string_view type : {"c64", "c128"}) {
    const absl::string_view part = type == "c64" ? "f32" : "f64";
    for (absl::string_view body : {
             "a = $0[3,5] add(p, q)\ns = $0[3,5] subtract(a, p)\n"
             "m = $0[3,5] multiply(s, q)\nROOT d = $0[3,5] divide(m, p)",
             "e = $0[3,5] exponential(p)\nl = $0[3,5] log(q)\n"
             "ROOT t = ($0[3,5], $0[3,5]) tuple(e, l)",
             "e = $0[3,5] sqrt(p)\nl = $0[3,5] rsqrt(q)\n"
             "ROOT t = ($0[3,5], $0[3,5]) tuple(e, l)",
             "e = $0[3,5] sine(p)\nl = $0[3,5] cosine(q)\n"
             "ROOT t = ($0[3,5], $0[3,5]) tuple(e, l)",
             "e = $0[3,5] tan(p)\nl = $0[3,5] tanh(q)\n"
             "ROOT t = ($0[3,5], $0[3,5]) tuple(e, l)",
             "e = $0[3,5] exponential-minus-one(p)\n"
             "l = $0[3,5] log-plus-one(q)\n"
             "ROOT t = ($0[3,5], $0[3,5]) tuple(e, l)",
             "e = $0[3,5] logistic(p)\nl = $0[3,5] sign(q)\n"
             "c = $0[3,5] cbrt(q)\n"
             "ROOT t = ($0[3,5], $0[3,5], $0[3,5]) tuple(e, l, c)",
             "e = $0[3,5] power(p, q)\nl = $0[3,5] atan2(p, q)\n"
             "ROOT t = ($0[3,5], $0[3,5]) tuple(e, l)",
             "e = $1[3,5] abs(p)\nl = $1[3,5] real(q)\ni = $1[3,5] imag(q)\n"
             "n = $0[3,5] negate(p)\nu = pred[3,5] compare(p, n), "
             "direction=NE\nv = pred[3,5] compare(p, p), direction=EQ\n"
             "ROOT t = ($1[3,5], $1[3,5], $1[3,5], pred[3,5], pred[3,5]) "
             "tuple(e, l, i, u, v)",
             "e = $1[3,5] abs(p)\nl = $1[3,5] real(q)\n"
             "c = $0[3,5] complex(e, l)\nk = pred[3,5] compare(e, l), "
             "direction=LT\nROOT s = $0[3,5] select(k, c, p)",
             "e = $1[3,5] real(p)\nh = bf16[3,5] convert(e)\n"
             "l = $0[3,5] convert(h)\nw = c128[3,5] convert(q)\n"
             "ROOT t = ($0[3,5], c128[3,5]) tuple(l, w)",
             "t = $0[5,3] transpose(p), dimensions={1,0}\n"
             "r = $0[3,5] reshape(t)\nc = $0[6,5] concatenate(r, q), "
             "dimensions={0}\nv = $0[6,5] reverse(c), dimensions={1}\n"
             "ROOT l = $0[3,2] slice(v), slice={[0:6:2], [1:3]}",
             "z = $0[] constant((1, -2))\nb = $0[2] constant({(1, 2), "
             "(3, -4)})\nw = $0[3,2] broadcast(b), dimensions={1}\n"
             "d = $0[6,7] pad(p, z), padding=2_1x1_1\n"
             "i = s32[] constant(1)\n"
             "u = $0[6,7] dynamic-update-slice(d, w, i, i)\n"
             "ROOT s = $0[3,2] dynamic-slice(u, i, i), "
             "dynamic_slice_sizes={3,2}",
             "z = $0[] constant((0, 0))\nr = $0[3] reduce(p, z), "
             "dimensions={1}, to_apply=sum\n"
             "o = $0[] constant((1, 0))\nm = $0[5] reduce(q, o), "
             "dimensions={0}, to_apply=product\n"
             "ROOT t = ($0[3], $0[5]) tuple(r, m)",
             "t = $0[5,3] transpose(q), dimensions={1,0}\n"
             "ROOT d = $0[3,3] dot(p, t), lhs_contracting_dims={1}, "
             "rhs_contracting_dims={0}",
             "z = $0[] constant((0, 1))\nr = $0[] reduce(p, z), "
             "dimensions={0,1}, to_apply=sum\nROOT n = $0[] negate(r)",
             "m = $0[3,5] multiply(p, q)\nROOT b = $0[15] bitcast(m)",
             "r = $1[3,5] real(p)\nROOT b = $1[15] bitcast(r)",
             "i = $0[3,5] iota(), iota_dimension=1\n"
             "ROOT a = $0[3,5] add(i, p)",
             // Powers that are infinite, or their squares are.
             "n = $0[3,5] negate(p)\nc = $0[7] constant({(-100, 0), (100, 0), "
             "(-1000, 0), (1000, 0), (-100, -1), (1, 89), (-2, 0.5)})\n"
             "l = $0[7] logistic(c)\ne = $0[7] exponential(c)\n"
             "s = $0[7] sine(c)\n"
             "ROOT t = ($0[3,5], $0[7], $0[7], $0[7]) tuple(n, l, e, s)",
         }) {
      const absl::Status status = Compare(absl::Substitute(
          absl::StrCat(
              "HloModule m\nsum {\na = $0[] parameter(0)\nb = $0[] "
              "parameter(1)\nROOT c = $0[] add(a, b)\n}\nproduct {\na = $0[] "
              "parameter(0)\nb = $0[] parameter(1)\nROOT c = $0[] "
              "multiply(a, b)\n}\nENTRY e {\np = $0[3,5]{0,1} parameter(0)\n"
              "q = $0[3,5] parameter(1)\n",
              body, "\n}"),
          type, part));
      EXPECT_EQ(status, absl::OkStatus()) << type << "\n" << body;
    }
  }
}

// Rows of both parts are reduced by one kernel, side by side.
TEST_F(ComplexLoweringTest, ComplexRows) {
  EXPECT_EQ(Compare(R"(
HloModule m
sum { a = c64[] parameter(0) b = c64[] parameter(1) ROOT c = c64[] add(a, b) }
ENTRY e {
  p = c64[7,70] parameter(0)
  z = c64[] constant((0, 0))
  n = c64[7,70] negate(p)
  ROOT r = c64[7] reduce(n, z), dimensions={1}, to_apply=sum
})"),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

// The imaginary part of a real factor is 0: times infinity, it is no number.
TEST_F(ComplexLoweringTest, RealFactorsOfInfiniteNumbers) {
  for (absl::string_view dot : {"c64[1,3] dot(r, x)", "c64[3,1] dot(t, r)"}) {
    EXPECT_EQ(
        Compare(absl::StrCat(
            "HloModule m\nENTRY e {\nr = f32[1,1] parameter(0)\n"
            "c = c64[3] constant({(inf, 1), (1, -inf), (2, 3)})\n"
            "x = c64[1,3] reshape(c)\nt = c64[3,1] reshape(c)\n"
            "ROOT d = ",
            dot, ", lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}")),
        absl::OkStatus())
        << dot;
  }
}

// What has no formula on parts is named, as are pairs that are made of the bits
// of one number.
TEST_F(ComplexLoweringTest, NoFormulaOfComplexNumbers) {
  for (absl::string_view body : {
           "p = c64[4] parameter(0)\nROOT a = c64[4] asin(p)",
           "p = f64[4]{0} parameter(0)\nROOT a = c64[4]{0} bitcast(p)",
           "p = c64[4]{0} parameter(0)\nROOT a = f64[4]{0} bitcast(p)",
       }) {
    const absl::Status status =
        Compare(absl::StrCat("HloModule m\nENTRY e {\n", body, "\n}"));
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                ::testing::HasSubstr(
                    ": no formula on the parts of complex numbers, in a"));
  }
}

}  // namespace
}  // namespace xla::gpu
