// Which rewrite of a loop comes first: the cheapest for what it frees; among
// equal ones, the first, wherever instructions lie.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/loops/loop_residuals.h"
#include "xla/hlo/transforms/loops/loop_sinking.h"

namespace xla::remat_plan {
namespace {

constexpr int kValues = 8;
constexpr int kClones = 10;

// Sums of these have other last bits in another order.
double Seconds(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kNegate:
      return 0.1;
    case HloOpcode::kAbs:
      return 0.2;
    case HloOpcode::kFloor:
      return 0.3;
    case HloOpcode::kTanh:
      return 0.7;
    default:
      return 1e-3;
  }
}

// `kValues` times what `of` makes of a number.
template <typename Of>
std::string Each(const Of& of, const char* separator = "") {
  std::vector<std::string> parts;
  for (int i = 0; i < kValues; ++i) parts.push_back(of(i));
  return absl::StrJoin(parts, separator);
}

std::string Chain(const std::string& shape, int i, const std::string& of) {
  const auto line = [&](const char* name, const char* opcode,
                        const std::string& operand) {
    return absl::StrCat("  ", name, i, " = ", shape, " ", opcode, "(", operand,
                        ")\n");
  };
  return absl::StrCat(line("n", "negate", of),
                      line("a", "abs", absl::StrCat("n", i)),
                      line("f", "floor", absl::StrCat("a", i)),
                      line("y", "tanh", absl::StrCat("f", i)));
}

std::vector<std::unique_ptr<HloModule>> Clones(const std::string& text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status() << text;
  std::vector<std::unique_ptr<HloModule>> clones;
  if (!module.ok()) return clones;
  for (int i = 0; i < kClones; ++i) clones.push_back((*module)->Clone(""));
  return clones;
}

TEST(LoopOrderTest, EqualInvariantsStayInOrder) {
  const std::string state =
      absl::StrCat("(s32[], f32[64,64], ",
                   Each([](int) { return "f32[64,64]"; }, ", "), ")");
  const std::string text = absl::StrCat(
      "HloModule loop, is_scheduled=true\ncond {\n  s = ", state,
      " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
      "  n = s32[] constant(8)\n  ROOT lt = pred[] compare(i, n), "
      "direction=LT\n}\nbody {\n  s = ",
      state,
      " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
      "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n"
      "  x = f32[64,64] get-tuple-element(s), index=1\n",
      Each([](int i) {
        return absl::StrCat(
            "  m", i, " = f32[64,64] get-tuple-element(s), index=", i + 2,
            "\n  x", i, " = f32[64,64] add(",
            i == 0 ? "x" : absl::StrCat("x", i - 1), ", m", i, ")\n");
      }),
      "  ROOT t = ", state, " tuple(j, x", kValues - 1, ", ",
      Each([](int i) { return absl::StrCat("m", i); }, ", "),
      ")\n}\nENTRY e {\n  p = f32[64,64] parameter(0)\n"
      "  q = f32[64] parameter(1)\n  zero = s32[] constant(0)\n",
      Each([](int i) {
        return absl::StrCat("  b", i,
                            " = f32[64,64] broadcast(q), dimensions={1}\n",
                            Chain("f32[64,64]", i, absl::StrCat("b", i)));
      }),
      "  init = ", state, " tuple(zero, p, ",
      Each([](int i) { return absl::StrCat("y", i); }, ", "),
      ")\n  w = ", state,
      " while(init), condition=cond, body=body\n"
      "  ROOT r = f32[64,64] get-tuple-element(w), index=1\n}\n");
  for (const auto& module : Clones(text)) {
    const std::vector<LoopInvariant> found =
        FindLoopInvariants(*module, /*min_bytes=*/1024, Seconds);
    ASSERT_EQ(found.size(), kValues);
    for (int i = 0; i < kValues; ++i) EXPECT_EQ(found[i].element, i + 2);
  }
}

TEST(LoopOrderTest, EqualResidualsStayInOrder) {
  const std::string stacks = Each([](int) { return "f32[8,64]"; }, ", ");
  const std::string state =
      absl::StrCat("(s32[], f32[64], f32[8,64], ", stacks, ")");
  const auto element = [](const char* name, int i) {
    return absl::StrCat("  ", name, i,
                        " = f32[8,64] get-tuple-element(s), index=", i + 3,
                        "\n");
  };
  const std::string head = absl::StrCat(
      "  s = ", state,
      " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n");
  const std::string condition =
      absl::StrCat(head,
                   "  n = s32[] constant(8)\n  ROOT lt = pred[] compare(i, n), "
                   "direction=LT\n}\n");
  const std::string counting = absl::StrCat(
      "  zero = s32[] constant(0)\n  one = s32[] constant(1)\n"
      "  j = s32[] add(i, one)\n  h = f32[64] get-tuple-element(s), index=1\n"
      "  hs = f32[8,64] get-tuple-element(s), index=2\n");
  const std::string text = absl::StrCat(
      "HloModule step, is_scheduled=true\nfcond {\n", condition, "fbody {\n",
      head, counting, Each([&](int i) { return element("xs", i); }),
      "  hr = f32[1,64] reshape(h)\n"
      "  hs2 = f32[8,64] dynamic-update-slice(hs, hr, i, zero)\n",
      Each([](int i) {
        return absl::StrCat(Chain("f32[64]", i, "h"), "  r", i,
                            " = f32[1,64] reshape(y", i, ")\n  z", i,
                            " = f32[8,64] dynamic-update-slice(xs", i, ", r", i,
                            ", i, zero)\n");
      }),
      "  c = f32[64] cosine(h)\n  ROOT t = ", state, " tuple(j, c, hs2, ",
      Each([](int i) { return absl::StrCat("z", i); }, ", "), ")\n}\nbcond {\n",
      condition, "bbody {\n", head, counting,
      Each([&](int i) { return element("xs", i); }),
      "  seven = s32[] constant(7)\n  k = s32[] subtract(seven, i)\n"
      "  hi = f32[1,64] dynamic-slice(hs, k, zero), "
      "dynamic_slice_sizes={1,64}\n  g = f32[64] reshape(hi)\n"
      "  sum = f32[64] add(h, g)\n",
      Each([](int i) {
        return absl::StrCat(
            "  v", i, " = f32[1,64] dynamic-slice(xs", i,
            ", k, zero), dynamic_slice_sizes={1,64}\n  w", i,
            " = f32[64] reshape(v", i, ")\n  sum", i, " = f32[64] add(",
            i == 0 ? "sum" : absl::StrCat("sum", i - 1), ", w", i, ")\n");
      }),
      "  ROOT t = ", state, " tuple(j, sum", kValues - 1, ", hs, ",
      Each([](int i) { return absl::StrCat("xs", i); }, ", "),
      ")\n}\nENTRY e {\n  p = f32[64] parameter(0)\n"
      "  zero = s32[] constant(0)\n  fzero = f32[] constant(0)\n",
      "  stack = f32[8,64] broadcast(fzero), dimensions={}\n", Each([](int i) {
        return absl::StrCat("  k", i,
                            " = f32[8,64] broadcast(fzero), dimensions={}\n");
      }),
      "  init = ", state, " tuple(zero, p, stack, ",
      Each([](int i) { return absl::StrCat("k", i); }, ", "),
      ")\n  fw = ", state,
      " while(init), condition=fcond, body=fbody\n"
      "  y = f32[64] get-tuple-element(fw), index=1\n"
      "  hs = f32[8,64] get-tuple-element(fw), index=2\n",
      Each([](int i) {
        return absl::StrCat("  o", i,
                            " = f32[8,64] get-tuple-element(fw), index=", i + 3,
                            "\n");
      }),
      "  init2 = ", state, " tuple(zero, y, hs, ",
      Each([](int i) { return absl::StrCat("o", i); }, ", "),
      ")\n  bw = ", state,
      " while(init2), condition=bcond, body=bbody\n"
      "  ROOT r = f32[64] get-tuple-element(bw), index=1\n}\n");
  for (const auto& module : Clones(text)) {
    const std::vector<LoopResidual> residuals = FindLoopResiduals(*module);
    ASSERT_EQ(residuals.size(), kValues + 1);
    const std::vector<int> order = OrderOfDrops(residuals, Seconds);
    ASSERT_EQ(order.size(), kValues);
    for (int i = 0; i < kValues; ++i) EXPECT_EQ(order[i], i + 1);
  }
}

// What was spent on others does not make large stacks cheaper: with the seconds
// of the absolute value counted again, the tangent would come second, 0.45 for
// each floor's 0.5.
TEST(LoopOrderTest, StacksArePricedByWhatTheyAdd) {
  constexpr absl::string_view kText = R"(
HloModule step, is_scheduled=true

fcond {
  s = (s32[], f32[64], f32[8,64], f32[8,64], f32[8,64], f32[8,128]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(8)
  ROOT lt = pred[] compare(i, n), direction=LT
}

fbody {
  s = (s32[], f32[64], f32[8,64], f32[8,64], f32[8,64], f32[8,128]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  zero = s32[] constant(0)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  h = f32[64] get-tuple-element(s), index=1
  hs = f32[8,64] get-tuple-element(s), index=2
  as = f32[8,64] get-tuple-element(s), index=3
  fs = f32[8,64] get-tuple-element(s), index=4
  ts = f32[8,128] get-tuple-element(s), index=5
  hr = f32[1,64] reshape(h)
  hs2 = f32[8,64] dynamic-update-slice(hs, hr, i, zero)
  a = f32[1,64] abs(hr)
  as2 = f32[8,64] dynamic-update-slice(as, a, i, zero)
  f = f32[1,64] floor(hr)
  fs2 = f32[8,64] dynamic-update-slice(fs, f, i, zero)
  hh = f32[1,128] concatenate(hr, hr), dimensions={1}
  t = f32[1,128] tanh(hh)
  ts2 = f32[8,128] dynamic-update-slice(ts, t, i, zero)
  c = f32[64] cosine(h)
  ROOT r = (s32[], f32[64], f32[8,64], f32[8,64], f32[8,64], f32[8,128]) tuple(j, c, hs2, as2, fs2, ts2)
}

bcond {
  s = (s32[], f32[64], f32[8,64], f32[8,64], f32[8,64], f32[8,128]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(8)
  ROOT lt = pred[] compare(i, n), direction=LT
}

bbody {
  s = (s32[], f32[64], f32[8,64], f32[8,64], f32[8,64], f32[8,128]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  zero = s32[] constant(0)
  one = s32[] constant(1)
  seven = s32[] constant(7)
  j = s32[] add(i, one)
  k = s32[] subtract(seven, i)
  g = f32[64] get-tuple-element(s), index=1
  hs = f32[8,64] get-tuple-element(s), index=2
  as = f32[8,64] get-tuple-element(s), index=3
  fs = f32[8,64] get-tuple-element(s), index=4
  ts = f32[8,128] get-tuple-element(s), index=5
  h = f32[1,64] dynamic-slice(hs, k, zero), dynamic_slice_sizes={1,64}
  a = f32[1,64] dynamic-slice(as, k, zero), dynamic_slice_sizes={1,64}
  f = f32[1,64] dynamic-slice(fs, k, zero), dynamic_slice_sizes={1,64}
  t = f32[1,128] dynamic-slice(ts, k, zero), dynamic_slice_sizes={1,128}
  t0 = f32[1,64] slice(t), slice={[0:1], [0:64]}
  ha = f32[1,64] add(h, a)
  ft = f32[1,64] add(f, t0)
  hat = f32[1,64] add(ha, ft)
  hatr = f32[64] reshape(hat)
  g2 = f32[64] multiply(g, hatr)
  ROOT r = (s32[], f32[64], f32[8,64], f32[8,64], f32[8,64], f32[8,128]) tuple(j, g2, hs, as, fs, ts)
}

ENTRY e {
  p = f32[64] parameter(0)
  zero = s32[] constant(0)
  fzero = f32[] constant(0)
  k1 = f32[8,64] broadcast(fzero), dimensions={}
  k2 = f32[8,64] broadcast(fzero), dimensions={}
  k3 = f32[8,64] broadcast(fzero), dimensions={}
  k4 = f32[8,128] broadcast(fzero), dimensions={}
  init = (s32[], f32[64], f32[8,64], f32[8,64], f32[8,64], f32[8,128]) tuple(zero, p, k1, k2, k3, k4)
  fw = (s32[], f32[64], f32[8,64], f32[8,64], f32[8,64], f32[8,128]) while(init), condition=fcond, body=fbody
  y = f32[64] get-tuple-element(fw), index=1
  hs = f32[8,64] get-tuple-element(fw), index=2
  as = f32[8,64] get-tuple-element(fw), index=3
  fs = f32[8,64] get-tuple-element(fw), index=4
  ts = f32[8,128] get-tuple-element(fw), index=5
  init2 = (s32[], f32[64], f32[8,64], f32[8,64], f32[8,64], f32[8,128]) tuple(zero, y, hs, as, fs, ts)
  bw = (s32[], f32[64], f32[8,64], f32[8,64], f32[8,64], f32[8,128]) while(init2), condition=bcond, body=bbody
  ROOT r = f32[64] get-tuple-element(bw), index=1
}
)";
  auto module = ParseAndReturnUnverifiedModule(kText);
  ASSERT_TRUE(module.ok()) << module.status();
  const std::vector<LoopResidual> residuals = FindLoopResiduals(**module);
  std::vector<int64_t> elements;
  for (int drop : OrderOfDrops(residuals, Seconds)) {
    elements.push_back(residuals[drop].forward_element);
  }
  EXPECT_EQ(elements, (std::vector<int64_t>{3, 4, 5}));
}

}  // namespace
}  // namespace xla::remat_plan
