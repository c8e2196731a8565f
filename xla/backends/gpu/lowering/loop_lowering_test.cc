#include "xla/backends/gpu/lowering/loop_lowering.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/lowering/lowering_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/testlib/random_module.h"

namespace xla::gpu {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<LoweredKernel> LowerForTest(const HloInstruction& hlo) {
  LoopLoweringOptions options;
  options.threads_per_block = 32;
  return LowerLoop(hlo, options);
}

absl::Status Compare(absl::string_view text) {
  return CompareWithEvaluator(text, LowerForTest);
}

TEST(LoopLoweringTest, KernelsComputeWhatTheFusionDoes) {
  for (absl::string_view body : {
           "p = f32[3,5]{0,1} parameter(0)\n"
           "ROOT t = f32[5,3] transpose(p), dimensions={1,0}",
           "p = f32[4,6] parameter(0)\n"
           "r = f32[3,8] reshape(p)\n"
           "s = f32[2,4] slice(r), slice={[1:3], [0:8:2]}\n"
           "ROOT v = f32[2,4] reverse(s), dimensions={1}",
           "p = f32[3] parameter(0)\nq = f32[2] parameter(1)\n"
           "z = f32[] constant(7)\n"
           "c = f32[5] concatenate(p, q), dimensions={0}\n"
           "ROOT a = f32[12] pad(c, z), padding=1_2_1",
           "p = s32[7,4] parameter(0)\ni = s32[] parameter(1)\n"
           "o = s32[] constant(1)\n"
           "ROOT d = s32[2,3] dynamic-slice(p, i, o), "
           "dynamic_slice_sizes={2,3}",
           "p = f32[4,4] parameter(0)\nu = f32[2,1] parameter(1)\n"
           "i = s32[] parameter(2)\nj = s32[] parameter(3)\n"
           "ROOT d = f32[4,4] dynamic-update-slice(p, u, i, j)",
           "p = f32[6,5] parameter(0)\ni = s32[3,1] parameter(1)\n"
           "ROOT g = f32[3,5] gather(p, i), offset_dims={1}, "
           "collapsed_slice_dims={0}, start_index_map={0}, "
           "index_vector_dim=1, slice_sizes={1,5}",
           "p = f32[6] parameter(0)\n"
           "i = f32[6] constant({inf, -inf, nan, 1, 2, 3})\n"
           "n = f32[] constant(nan)\nb = f32[6] broadcast(n), dimensions={}\n"
           "f = pred[6] is-finite(i)\nROOT s = f32[6] select(f, p, b)",
           "p = f32[2,6,3] parameter(0)\nq = f32[2,3,4] parameter(1)\n"
           "ROOT d = f32[2,6,4] dot(p, q), lhs_batch_dims={0}, "
           "lhs_contracting_dims={2}, rhs_batch_dims={0}, "
           "rhs_contracting_dims={1}",
           "p = f32[6] parameter(0)\nb = u32[6] bitcast-convert(p)\n"
           "k = u32[] constant(9)\nkb = u32[6] broadcast(k), dimensions={}\n"
           "s = u32[6] shift-right-logical(b, kb)\n"
           "e = u32[] constant(1065353216)\n"
           "eb = u32[6] broadcast(e), dimensions={}\n"
           "o = u32[6] or(s, eb)\nf = f32[6] bitcast-convert(o)\n"
           "i = s32[6] bitcast-convert(p)\n"
           "ROOT t = (u32[6], f32[6], s32[6]) tuple(b, f, i)",
           // About the least normal number of f16, made large again.
           "p = f32[40] parameter(0)\nk = f32[] constant(6.1e-5)\n"
           "kb = f32[40] broadcast(k), dimensions={}\n"
           "m = f32[40] multiply(p, kb)\n"
           "r = f32[40] reduce-precision(m), exponent_bits=5, "
           "mantissa_bits=10\n"
           "s = f32[40] reduce-precision(m), exponent_bits=8, "
           "mantissa_bits=7\n"
           "l = f32[] constant(32768)\n"
           "lb = f32[40] broadcast(l), dimensions={}\n"
           "x = f32[40] multiply(r, lb)\ny = f32[40] multiply(s, lb)\n"
           "ROOT t = (f32[40], f32[40]) tuple(x, y)",
           "p = f64[4] parameter(0)\nROOT b = f64[4] bitcast-convert(p)",
           // Widths that no type has, of large and small numbers.
           "p = f32[40] parameter(0)\nh = f16[40] convert(p)\n"
           "b = bf16[40] convert(p)\n"
           "m = f32[40] multiply(p, p)\nn = f32[40] multiply(m, m)\n"
           "x = f32[40] exponential(n)\ny = f32[40] negate(n)\n"
           "z = f32[40] exponential(y)\n"
           "q = f32[40] reduce-precision(p), exponent_bits=6, "
           "mantissa_bits=3\n"
           "r = f32[40] reduce-precision(x), exponent_bits=4, "
           "mantissa_bits=0\n"
           "s = f32[40] reduce-precision(z), exponent_bits=3, "
           "mantissa_bits=23\n"
           "t = f16[40] reduce-precision(h), exponent_bits=2, "
           "mantissa_bits=5\n"
           "u = bf16[40] reduce-precision(b), exponent_bits=8, "
           "mantissa_bits=2\n"
           "i = f32[9] constant({inf, -inf, nan, -0, 1.9999999, 65536, "
           "1.0029297, 1.00097656, 1e-40})\n"
           "w = f32[9] reduce-precision(i), exponent_bits=5, "
           "mantissa_bits=9\n"
           "v = f32[9] reduce-precision(i), exponent_bits=1, "
           "mantissa_bits=9\n"
           "j = f32[9] reduce-precision(i), exponent_bits=8, "
           "mantissa_bits=22\n"
           "k = u32[9] bitcast-convert(j)\n"
           "ROOT o = (f32[40], f32[40], f32[40], f16[40], bf16[40], f32[9], "
           "f32[9], u32[9]) tuple(q, r, s, t, u, w, v, k)",
           // Infinities tell the signs of zeros.
           "p = f32[3] parameter(0)\nc = f32[3] constant({0, -0, -0})\n"
           "d = f32[3] constant({-0, 0, -0})\no = f32[] constant(1)\n"
           "ob = f32[3] broadcast(o), dimensions={}\n"
           "m = f32[3] maximum(c, d)\nn = f32[3] minimum(c, d)\n"
           "x = f32[3] divide(ob, m)\ny = f32[3] divide(ob, n)\n"
           "s = f32[3] add(p, x)\n"
           "ROOT t = (f32[3], f32[3]) tuple(s, y)",
           "p = s32[4] parameter(0)\nc = s32[4] constant({-3, 2, 0, -1})\n"
           "d = s32[4] constant({3, -1, 0, -5})\n"
           "w = s32[4] power(c, d)\nv = s32[4] power(p, c)\n"
           "ROOT t = (s32[4], s32[4]) tuple(w, v)",
           // Nobody reads slices without elements.
           "p = f32[6,5] parameter(0)\ni = s32[3] parameter(1)\n"
           "z = f32[] constant(7)\n"
           "g = f32[3,0,5] gather(p, i), offset_dims={1,2}, "
           "collapsed_slice_dims={}, start_index_map={0}, "
           "index_vector_dim=1, slice_sizes={0,5}\n"
           "ROOT a = f32[3,2,5] pad(g, z), padding=0_0x1_1x0_0",
           "p = f32[6] parameter(0)\nj = s32[] parameter(1)\n"
           "u = f32[0] slice(p), slice={[6:6]}\n"
           "ROOT d = f32[6] dynamic-update-slice(p, u, j)",
       }) {
    EXPECT_EQ(Compare(absl::StrCat("HloModule m\nENTRY e {\n", body, "\n}")),
              absl::OkStatus())
        << body;
  }
}

TEST(LoopLoweringTest, BitsAndFunctionsOfNumbers) {
  for (absl::string_view body : {
           // Doubles, in halves: dropped bits of the lower half, of both, and
           // all; a carry from one to the other; ties; what is too large, too
           // small, and on the way there.
           "i = f64[13] constant({inf, -inf, nan, -0, 1.9999999999999998, "
           "65536, 1.0000004768371582, 1.00048828125, 1e-310, 3, -6, 1.5, "
           "-1.7976931348623157e308})\n"
           "p = f64[13] parameter(0)\nn = f64[13] multiply(p, i)\n"
           "q = f64[13] reduce-precision(i), exponent_bits=11, "
           "mantissa_bits=51\n"
           "r = f64[13] reduce-precision(i), exponent_bits=11, "
           "mantissa_bits=20\n"
           "s = f64[13] reduce-precision(i), exponent_bits=6, "
           "mantissa_bits=19\n"
           "t = f64[13] reduce-precision(i), exponent_bits=11, "
           "mantissa_bits=0\n"
           "u = f64[13] reduce-precision(i), exponent_bits=1, "
           "mantissa_bits=60\n"
           "v = f64[13] reduce-precision(n), exponent_bits=9, "
           "mantissa_bits=30\n"
           "o = f64[] constant(1)\nob = f64[13] broadcast(o), dimensions={}\n"
           "x = f64[13] divide(ob, q)\ny = f64[13] divide(ob, s)\n"
           "ROOT z = (f64[13], f64[13], f64[13], f64[13], f64[13], f64[13], "
           "f64[13], f64[13]) tuple(q, r, s, t, u, v, x, y)",
           // Their order by halves: neighbors, zeros, signs.
           "i = f64[8] constant({1, 1.0000000000000002, -1, "
           "-1.0000000000000002, 0, -0, inf, 2})\n"
           "j = f64[8] constant({1.0000000000000002, 1, -1.0000000000000002, "
           "-1, -0, 0, nan, 2})\np = s32[8] parameter(0)\n"
           "a = pred[8] compare(i, j), direction=LT, type=TOTALORDER\n"
           "b = pred[8] compare(i, j), direction=LE, type=TOTALORDER\n"
           "c = pred[8] compare(i, j), direction=GT, type=TOTALORDER\n"
           "d = pred[8] compare(i, j), direction=GE, type=TOTALORDER\n"
           "e = pred[8] compare(i, j), direction=EQ, type=TOTALORDER\n"
           "f = pred[8] compare(i, j), direction=NE, type=TOTALORDER\n"
           "n = s32[8] negate(p)\n"
           "ROOT t = (pred[8], pred[8], pred[8], pred[8], pred[8], pred[8], "
           "s32[8]) tuple(a, b, c, d, e, f, n)",
           // Numbers that are none have a sign, and a place in the order.
           "p = f32[3] parameter(0)\nn = f32[] constant(nan)\n"
           "m = f32[] constant(-nan)\nk = f64[] constant(nan)\n"
           "h = bf16[] constant(-nan)\n"
           "nb = f32[3] broadcast(n), dimensions={}\n"
           "mb = f32[3] broadcast(m), dimensions={}\n"
           "kb = f64[3] broadcast(k), dimensions={}\n"
           "hb = bf16[3] broadcast(h), dimensions={}\n"
           "a = pred[3] compare(p, nb), direction=LT, type=TOTALORDER\n"
           "b = pred[3] compare(p, mb), direction=GT, type=TOTALORDER\n"
           "c = u32[3] bitcast-convert(mb)\nd = u32[3,2] bitcast-convert(kb)\n"
           "e = u16[3] bitcast-convert(hb)\n"
           "ROOT t = (pred[3], pred[3], u32[3], u32[3,2], u16[3]) "
           "tuple(a, b, c, d, e)",
           // Parts of elements, the lowest first.
           "p = u32[3] parameter(0)\nk = u32[] constant(2654435769)\n"
           "kb = u32[3] broadcast(k), dimensions={}\n"
           "x = u32[3] multiply(p, kb)\n"
           "a = u8[3,4] bitcast-convert(x)\nb = s16[3,2] bitcast-convert(x)\n"
           "c = u8[3,2,2] bitcast-convert(b)\n"
           "d = u32[3] bitcast-convert(a)\ne = s16[3,2] bitcast-convert(c)\n"
           "g = f64[3] convert(p)\nf = f32[3] bitcast-convert(b)\n"
           "h = u32[3,2] bitcast-convert(g)\nl = u8[3,8] bitcast-convert(g)\n"
           "m = f64[3] bitcast-convert(h)\nn = f64[3] bitcast-convert(l)\n"
           "o = u64[3] bitcast-convert(g)\nq = f64[3] bitcast-convert(o)\n"
           "r = f32[3] add(f, f)\n"
           "ROOT t = (u8[3,4], s16[3,2], u8[3,2,2], u32[3], s16[3,2], f32[3], "
           "u32[3,2], u8[3,8], f64[3], f64[3], u64[3], f64[3]) "
           "tuple(a, b, c, d, e, r, h, l, m, n, o, q)",
           "p = s4[7] parameter(0)\nq = u4[7] parameter(1)\n"
           "a = s4[7] count-leading-zeros(p)\nb = u4[7] popcnt(q)\n"
           "c = s4[7] popcnt(p)\nd = u4[7] count-leading-zeros(q)\n"
           "ROOT t = (s4[7], u4[7], s4[7], u4[7]) tuple(a, b, c, d)",
           "p = f32[9] parameter(0)\nk = f32[] constant(4)\n"
           "kb = f32[9] broadcast(k), dimensions={}\n"
           "t = f32[9] tanh(p)\nq = f32[9] divide(p, kb)\n"
           "a = f32[9] acos(t)\nb = f32[9] asin(t)\nc = f32[9] sinh(q)\n"
           "d = f32[9] cosh(q)\ne = f32[9] acosh(d)\nf = f32[9] asinh(p)\n"
           "g = f32[9] atanh(t)\n"
           "ROOT r = (f32[9], f32[9], f32[9], f32[9], f32[9], f32[9], f32[9]) "
           "tuple(a, b, c, d, e, f, g)",
           "p = s32[5] parameter(0)\nk = s32[] constant(1234567890)\n"
           "kb = s32[5] broadcast(k), dimensions={}\n"
           "m = s32[5] multiply(p, kb)\na = s32[5] mulhi(m, kb)\n"
           "u = u32[5] convert(m)\nb = u32[5] mulhi(u, u)\n"
           "v = s8[5] convert(m)\nc = s8[5] mulhi(v, v)\n"
           "w = u4[5] convert(p)\nd = u4[5] mulhi(w, w)\n"
           "ROOT r = (s32[5], u32[5], s8[5], u4[5]) tuple(a, b, c, d)",
           // The largest integers are near no double that is one.
           "p = s64[4] parameter(0)\nn = s64[4] constant({-1, -2, 5, 0})\n"
           "u = u64[4] convert(n)\nk = u64[] constant(10)\n"
           "kb = u64[4] broadcast(k), dimensions={}\n"
           "g = pred[4] compare(u, kb), direction=GT\nm = s64[4] negate(p)\n"
           "ROOT t = (pred[4], s64[4]) tuple(g, m)",
       }) {
    EXPECT_EQ(Compare(absl::StrCat("HloModule m\nENTRY e {\n", body, "\n}")),
              absl::OkStatus())
        << body;
  }
}

TEST(LoopLoweringTest, ReductionsAndWindowsAreLoops) {
  constexpr absl::string_view text = R"(
HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
largest {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  g = pred[] compare(a, b), direction=GE
  x = f32[] select(g, a, b)
  k = s32[] select(g, i, j)
  ROOT t = (f32[], s32[]) tuple(x, k)
}
ENTRY e {
  p = f32[4,9] parameter(0)
  z = f32[] constant(0)
  w = f32[4,9] reduce-window(p, z), window={size=1x3 pad=0_0x1_1}, to_apply=add
  s = f32[4] reduce(w, z), dimensions={1}, to_apply=add
  n = s32[4,9] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  none = s32[] constant(0)
  l = (f32[4], s32[4]) reduce(p, n, low, none), dimensions={1}, to_apply=largest
  m = f32[4] get-tuple-element(l), index=0
  k = s32[4] get-tuple-element(l), index=1
  ROOT t = (f32[4], f32[4], s32[4]) tuple(s, m, k)
}
)";
  EXPECT_EQ(Compare(text), absl::OkStatus());
}

// Off by one bit is still close, but not equal.
TEST(LoopLoweringTest, NumbersAreRoundedToTheBit) {
  struct Case {
    absl::string_view type;
    int exponent, mantissa;
    absl::string_view numbers, rounded;
  };
  for (const Case& c : std::vector<Case>{
           {"f32", 8, 22,
            "1.0000001192092896, 1.0000003576278687, 1.000000238418579, "
            "-1.9999998807907104",
            "1, 1.0000004768371582, 1.000000238418579, -2"},
           {"f64", 11, 51,
            "1.0000000000000002, 1.0000000000000007, 1.0000000000000004, "
            "-1.9999999999999998",
            "1, 1.0000000000000009, 1.0000000000000004, -2"},
           {"f64", 11, 31,
            "1.0000000002328306, 1.0000000002328309, 1.000000000698492, "
            "1.9999999999999998",
            "1, 1.0000000004656613, 1.0000000009313226, 2"},
           {"f64", 11, 20,
            "1.0000004768371582, 1.0000004768371584, 1.0000014305114746, "
            "1.0000009536743162",
            "1, 1.0000009536743164, 1.0000019073486328, 1.0000009536743164"},
           {"f64", 11, 19,
            "1.0000009536743164, 1.0000009536743166, 1.0000028610229492, "
            "1.0000009536743162",
            "1, 1.0000019073486328, 1.0000038146972656, 1"},
           {"f64", 11, 0, "1.5, 3, 1.4999999999999998, 3.0000000000000004",
            "2, 2, 1, 4"},
           {"f64", 10, 52,
            "6.703903964971299e+153, 1.3407807929942597e+154, "
            "2.983336292480083e-154, 1.4916681462400413e-154",
            "6.703903964971299e+153, inf, 2.983336292480083e-154, 0"},
       }) {
    const std::string text = absl::Substitute(
        "HloModule m\nENTRY e {\n  p = pred[4] parameter(0)\n"
        "  x = $0[4] constant({$3})\n  y = $0[4] constant({$4})\n"
        "  r = $0[4] reduce-precision(x), exponent_bits=$1, mantissa_bits=$2\n"
        "  c = pred[4] compare(r, y), direction=EQ\n"
        "  n = pred[4] not(p)\n"
        "  ROOT t = (pred[4], pred[4]) tuple(c, n)\n}",
        c.type, c.exponent, c.mantissa, c.numbers, c.rounded);
    EXPECT_EQ(Compare(text), absl::OkStatus()) << text;
  }
}

TEST(LoopLoweringTest, ManyArraysAreJoined) {
  std::string text = "HloModule m\nENTRY e {\n  p = s32[2] parameter(0)\n";
  std::string operands = "p";
  for (int k = 1; k < 70; ++k) {
    absl::StrAppend(&text, "  x", k, " = s32[", k % 3, "] constant({",
                    absl::StrJoin(std::vector<int>(k % 3, k), ","), "})\n");
    absl::StrAppend(&operands, ", x", k);
  }
  absl::StrAppend(&text, "  ROOT c = s32[71] concatenate(", operands,
                  "), dimensions={0}\n}");
  EXPECT_EQ(Compare(text), absl::OkStatus());
}

TEST(LoopLoweringTest, WhatIsNotLoweredSaysWhy) {
  const absl::Status status = Compare(R"(
HloModule m
ENTRY e {
  p = f4e2m1fn[4] parameter(0)
  ROOT n = f4e2m1fn[4] negate(p)
}
)");
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("parameter: elements of type f4e2m1fn, in p"));
}

TEST(LoopLoweringTest, RandomFusions) {
  const char* text = std::getenv("HLO_RANDOM_MODULES");
  const int64_t cases = text == nullptr ? 400 : std::atoll(text);
  int64_t lowered = 0, failed = 0;
  for (int64_t i = 0; i < cases && failed < 3; ++i) {
    RandomModuleOptions options;
    options.steps = 2 + i % 5;
    options.types = {F32, S32, PRED, BF16, U8};
    options.opcodes = {HloOpcode::kAbs,
                       HloOpcode::kAdd,
                       HloOpcode::kAnd,
                       HloOpcode::kBroadcast,
                       HloOpcode::kClamp,
                       HloOpcode::kCompare,
                       HloOpcode::kConcatenate,
                       HloOpcode::kConvert,
                       HloOpcode::kDivide,
                       HloOpcode::kDynamicSlice,
                       HloOpcode::kDynamicUpdateSlice,
                       HloOpcode::kExp,
                       HloOpcode::kGather,
                       HloOpcode::kIota,
                       HloOpcode::kMaximum,
                       HloOpcode::kMultiply,
                       HloOpcode::kNegate,
                       HloOpcode::kNot,
                       HloOpcode::kPad,
                       HloOpcode::kReduce,
                       HloOpcode::kRemainder,
                       HloOpcode::kReshape,
                       HloOpcode::kReverse,
                       HloOpcode::kSelect,
                       HloOpcode::kShiftLeft,
                       HloOpcode::kShiftRightArithmetic,
                       HloOpcode::kShiftRightLogical,
                       HloOpcode::kSlice,
                       HloOpcode::kSubtract,
                       HloOpcode::kTanh,
                       HloOpcode::kTranspose,
                       HloOpcode::kXor};
    options.tuples = false;
    std::unique_ptr<HloModule> module = RandomModule(i, options);
    const std::string before = module->ToString();
    const absl::Status status =
        CompareWithEvaluator(module.get(), i, [i](const HloInstruction& hlo) {
          LoopLoweringOptions options;
          options.threads_per_block = 32;
          // Half of them take neighbors at once.
          if (i % 2 == 0) options.device_threads = 1;
          return LowerLoop(hlo, options);
        });
    if (absl::IsUnimplemented(status)) continue;
    ++lowered;
    if (status.ok()) continue;
    ++failed;
    ADD_FAILURE() << "seed " << i << ": " << status.message() << "\n" << before;
  }
  EXPECT_GT(lowered, failed > 0 ? 0 : cases / 2);
}

}  // namespace
}  // namespace xla::gpu
