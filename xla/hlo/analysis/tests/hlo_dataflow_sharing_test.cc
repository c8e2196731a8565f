// CanShareOperandBufferWithUser and DoesNotUseOperandBuffer.

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/tests/analysis_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

class SharingTest : public ::testing::Test {
 protected:
  // An entry computation with x, y: f32[8], u: f32[2], i: s32[].
  void Load(absl::string_view lines, absl::string_view computations = "") {
    module_ = ParseForTest(absl::StrCat("HloModule m\n", computations, R"(
    sum { a_ = f32[] parameter(0) b_ = f32[] parameter(1) ROOT s_ = add(a_, b_) }
    ENTRY e {
      x = f32[8] parameter(0)
      y = f32[8] parameter(1)
      u = f32[2] parameter(2)
      i = s32[] parameter(3)
      )",
                                        lines, "\n}"));
    ASSERT_NE(module_, nullptr);
    auto analysis = HloDataflowAnalysis::Run(*module_);
    ASSERT_TRUE(analysis.ok()) << analysis.status();
    analysis_ = *std::move(analysis);
  }
  bool CanShare(absl::string_view operand, const ShapeIndex& operand_index,
                absl::string_view user, const ShapeIndex& user_index,
                const AliasInfo& info = AliasInfo()) {
    return analysis_->CanShareOperandBufferWithUser(
        FindForTest(*module_, operand), operand_index,
        FindForTest(*module_, user), user_index, &info);
  }
  bool CanShare(absl::string_view operand, absl::string_view user) {
    return CanShare(operand, {}, user, {});
  }
  bool DoesNotUse(absl::string_view operand, const ShapeIndex& index,
                  absl::string_view user) {
    return analysis_->DoesNotUseOperandBuffer(
        FindForTest(*module_, operand), index, FindForTest(*module_, user));
  }

  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloDataflowAnalysis> analysis_;
};

TEST_F(SharingTest, Elementwise) {
  Load(R"(n = exponential(x)
      m = log(n)
      c = pred[8] compare(x, y), direction=EQ
      b = f32[8,2] broadcast(m), dimensions={0}
      r = f32[8] reverse(m), dimensions={0}
      k = f32[8] constant({...})
      a = add(k, n)
      ROOT t = tuple(b, r, c, a))");
  EXPECT_TRUE(CanShare("x", "n"));
  EXPECT_TRUE(CanShare("n", "m"));
  EXPECT_FALSE(CanShare("x", "c"));
  EXPECT_FALSE(CanShare("m", "b"));
  EXPECT_FALSE(CanShare("m", "r"));
  EXPECT_FALSE(CanShare("k", "a"));
  EXPECT_TRUE(CanShare("n", "a"));
}

// --- Fusions

constexpr absl::string_view kFusion =
    "ROOT f = f32[8] fusion(x, y), kind=kLoop, calls=fused";

std::string Fused(absl::string_view lines) {
  return absl::StrCat(R"(fused {
      a = f32[8] parameter(0)
      b = f32[8] parameter(1)
      )",
                      lines, "\n}");
}

TEST_F(SharingTest, LoopFusions) {
  Load(kFusion, Fused("n = negate(a)\n ROOT s = add(n, b)"));
  EXPECT_TRUE(CanShare("x", "f"));
  EXPECT_TRUE(CanShare("y", "f"));
  Load(kFusion, Fused("n = f32[8] reverse(a), dimensions={0}\n"
                      "ROOT s = add(n, b)"));
  EXPECT_FALSE(CanShare("x", "f"));
  EXPECT_TRUE(CanShare("y", "f"));
  Load("ROOT f = (f32[8], f32[8]) fusion(x, y), kind=kLoop, calls=fused",
       Fused("n = negate(a)\n s = add(a, b)\n ROOT t = tuple(n, s)"));
  EXPECT_TRUE(CanShare("x", {}, "f", {0}));
  EXPECT_TRUE(CanShare("x", {}, "f", {1}));
  EXPECT_FALSE(CanShare("x", {}, "f", {}));
}

// What else a reduction's kernel writes may be where it reads; not what waits
// for the sum, nor a reduction that a loop computes where it likes.
TEST_F(SharingTest, ReductionsWithOtherOutputs) {
  auto call = [](absl::string_view kind) {
    return absl::StrCat("g = f32[8,4] parameter(4)\n",
                        "ROOT f = (f32[8,4], f32[8]) fusion(g), kind=", kind,
                        ", calls=fused");
  };
  const absl::string_view summed = R"(
    plus { c = f32[] parameter(0) d = f32[] parameter(1) ROOT added = add(c, d) }
    fused {
      a = f32[8,4] parameter(0)
      n = negate(a)
      r = f32[8,2,2] reshape(n)
      z = f32[] constant(0)
      m = f32[8] reduce(r, z), dimensions={1,2}, to_apply=plus
      ROOT t = tuple(n, m)
    })";
  Load(call("kInput"), summed);
  EXPECT_TRUE(CanShare("g", {}, "f", {0}));
  EXPECT_FALSE(CanShare("g", {}, "f", {1}));
  Load(call("kLoop"), summed);
  EXPECT_FALSE(CanShare("g", {}, "f", {0}));
  Load(call("kInput"), R"(
    plus { c = f32[] parameter(0) d = f32[] parameter(1) ROOT added = add(c, d) }
    fused {
      a = f32[8,4] parameter(0)
      z = f32[] constant(0)
      m = f32[8] reduce(a, z), dimensions={1}, to_apply=plus
      b = f32[8,4] broadcast(m), dimensions={0}
      n = subtract(a, b)
      ROOT t = tuple(n, m)
    })");
  EXPECT_FALSE(CanShare("g", {}, "f", {0}));
  // What else is written follows from another operand.
  Load(
      R"(g = f32[8,4] parameter(4)
      h = f32[8,4] parameter(5)
      ROOT f = (f32[8,4], f32[8]) fusion(g, h), kind=kInput, calls=fused)",
      R"(plus { c = f32[] parameter(0) d = f32[] parameter(1) ROOT added = add(c, d) }
    fused {
      a = f32[8,4] parameter(0)
      b = f32[8,4] parameter(1)
      z = f32[] constant(0)
      m = f32[8] reduce(a, z), dimensions={1}, to_apply=plus
      n = negate(b)
      ROOT t = tuple(n, m)
    })");
  EXPECT_FALSE(CanShare("g", {}, "f", {0}));
  EXPECT_TRUE(CanShare("h", {}, "f", {0}));
  // All threads read where the sums begin.
  Load(
      R"(g = f32[4] parameter(4)
      h = f32[] parameter(5)
      ROOT f = (f32[], f32[]) fusion(g, h), kind=kInput, calls=fused)",
      R"(plus { c = f32[] parameter(0) d = f32[] parameter(1) ROOT added = add(c, d) }
    fused {
      a = f32[4] parameter(0)
      z = f32[] parameter(1)
      m = f32[] reduce(a, z), dimensions={0}, to_apply=plus
      n = negate(z)
      ROOT t = tuple(n, m)
    })");
  EXPECT_FALSE(CanShare("h", {}, "f", {0}));
  // A bitcast that only renames puts other elements side by side.
  Load(R"(g = f32[4,4] parameter(4)
      ROOT f = f32[4,4] fusion(g), kind=kInput, calls=fused)",
       R"(fused {
      a = f32[4,4]{1,0} parameter(0)
      b = f32[4,4]{0,1} bitcast(a)
      ROOT n = f32[4,4]{1,0} subtract(a, b)
    })");
  EXPECT_FALSE(CanShare("g", "f"));
}

TEST_F(SharingTest, OutputFusions) {
  const absl::string_view call =
      "g = f32[4,4] parameter(4)\n h = f32[4,4] parameter(5)\n"
      "ROOT f = f32[4,4] fusion(g, h), kind=kOutput, calls=fused";
  auto fused = [](absl::string_view lines) {
    return absl::StrCat(R"(fused {
      a = f32[4,4] parameter(0)
      b = f32[4,4] parameter(1)
      d = f32[4,4] dot(b, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      )",
                        lines, "\n}");
  };
  Load(call, fused("ROOT s = add(d, a)"));
  EXPECT_TRUE(CanShare("g", "f"));
  EXPECT_FALSE(CanShare("h", "f"));
  Load(call, fused("ROOT s = add(a, d)"));
  EXPECT_TRUE(CanShare("g", "f"));
  // The addend is read elsewhere, too.
  Load(call, fused("n = f32[4,4] transpose(a), dimensions={1,0}\n"
                   "m = add(d, a)\n ROOT s = multiply(m, n)"));
  EXPECT_FALSE(CanShare("g", "f"));
  Load(call, fused("ROOT s = multiply(d, a)"));
  EXPECT_FALSE(CanShare("g", "f"));
  // A compiler's kernel ends with whatever is elementwise.
  const absl::string_view custom =
      "g = f32[4,4] parameter(4)\n h = f32[4,4] parameter(5)\n"
      "ROOT f = f32[4,4] fusion(g, h), kind=kCustom, calls=fused";
  Load(custom, fused("m = multiply(d, a)\n ROOT s = subtract(a, m)"));
  EXPECT_TRUE(CanShare("g", "f"));
  EXPECT_FALSE(CanShare("h", "f"));
  Load(custom, fused("m = f32[4,4] dot(d, a), lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={0}\n ROOT s = add(m, a)"));
  EXPECT_FALSE(CanShare("g", "f"));
}

TEST_F(SharingTest, FusedUpdate) {
  const absl::string_view call =
      "ROOT f = f32[8] fusion(x, u, i), kind=kLoop, calls=fused";
  Load(call, R"(fused {
      a = f32[8] parameter(0)
      v = f32[2] parameter(1)
      j = s32[] parameter(2)
      ROOT d = f32[8] dynamic-update-slice(a, v, j)
    })");
  EXPECT_TRUE(CanShare("x", "f"));
  EXPECT_FALSE(CanShare("u", "f"));
  Load(call, R"(fused {
      a = f32[8] parameter(0)
      v = f32[2] parameter(1)
      j = s32[] parameter(2)
      n = negate(a)
      ROOT d = f32[8] dynamic-update-slice(n, v, j)
    })");
  // Not the same value any more, but element by element in the same place.
  EXPECT_TRUE(CanShare("x", "f"));
}

// --- Updates

TEST_F(SharingTest, DynamicUpdateSlice) {
  Load(R"(d = f32[8] dynamic-update-slice(x, u, i)
      ROOT e = f32[8] dynamic-update-slice(y, y, i))");
  EXPECT_TRUE(CanShare("x", "d"));
  EXPECT_FALSE(CanShare("u", "d"));
  EXPECT_FALSE(CanShare("i", "d"));
  // In place by definition, although the update is the target.
  EXPECT_TRUE(CanShare("y", "e"));
}

TEST_F(SharingTest, Scatter) {
  Load(R"(k = s32[8,1] parameter(4)
      ROOT d = f32[8] scatter(x, k, y), update_window_dims={},
        inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
        index_vector_dim=1, to_apply=sum)");
  EXPECT_TRUE(CanShare("x", "d"));
  EXPECT_FALSE(CanShare("k", "d"));
  EXPECT_FALSE(CanShare("y", "d"));
}

TEST_F(SharingTest, SetDimensionSizeAndTriangularSolve) {
  Load(R"(d = f32[<=8] parameter(4)
      s = f32[<=8] set-dimension-size(d, i), dimensions={0}
      n = f32[8] negate(x)
      m = f32[<=8] set-dimension-size(n, i), dimensions={0}
      a = f32[4,4] parameter(5)
      b = f32[4,4] parameter(6)
      v = f32[4,4] triangular-solve(a, b), left_side=true, lower=true,
        transpose_a=NO_TRANSPOSE, unit_diagonal=true
      w = f32[4,4] triangular-solve(b, b), left_side=true, lower=true,
        transpose_a=NO_TRANSPOSE, unit_diagonal=true
      ROOT t = tuple(s, m, v, w))");
  EXPECT_TRUE(CanShare("d", "s"));
  EXPECT_FALSE(CanShare("i", "s"));
  EXPECT_TRUE(CanShare("n", "m"));
  EXPECT_FALSE(CanShare("a", "v"));
  EXPECT_TRUE(CanShare("b", "v"));
  EXPECT_FALSE(CanShare("b", "w"));
}

TEST_F(SharingTest, Sort) {
  const absl::string_view less = R"(
    less { k = f32[] parameter(0) l = f32[] parameter(1)
      ROOT c = pred[] compare(k, l), direction=LT }
    less2 { k2 = f32[] parameter(0) l2 = f32[] parameter(1)
      m2 = f32[] parameter(2) n2 = f32[] parameter(3)
      ROOT c2 = pred[] compare(k2, l2), direction=LT })";
  Load(R"(n = negate(x)
      s = f32[8] sort(n), dimensions={0}, to_apply=less
      v = (f32[8], f32[8]) sort(y, x), dimensions={0}, to_apply=less2
      ROOT t = tuple(s, v))",
       less);
  EXPECT_TRUE(CanShare("n", "s"));
  EXPECT_TRUE(CanShare("y", {}, "v", {0}));
  EXPECT_FALSE(CanShare("y", {}, "v", {1}));
  // Somebody else reads it.
  EXPECT_FALSE(CanShare("x", {}, "v", {1}));
}

TEST_F(SharingTest, Dot) {
  Load(R"(g = f32[4,4] parameter(4)
      h = f32[4,4] parameter(5)
      d = f32[4,4] dot(g, h), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      ROOT s = add(d, g))");
  EXPECT_FALSE(CanShare("g", "d"));
  EXPECT_TRUE(CanShare("d", "s"));
}

// --- Control flow

TEST_F(SharingTest, LoopAndConditional) {
  Load(R"(t = tuple(i, x)
      w = while(t), condition=cond, body=body
      c = pred[] constant(true)
      ROOT v = f32[8] conditional(c, x, y), true_computation=yes, false_computation=no)",
       R"(
    body { b = (s32[], f32[8]) parameter(0) ROOT r = (s32[], f32[8]) copy(b) }
    cond { q = (s32[], f32[8]) parameter(0) ROOT f = pred[] constant(false) }
    yes { a = f32[8] parameter(0) ROOT n = negate(a) }
    no { a2 = f32[8] parameter(0) ROOT n2 = sine(a2) })");
  EXPECT_TRUE(CanShare("t", {}, "w", {}));
  EXPECT_TRUE(CanShare("t", {1}, "w", {1}));
  EXPECT_FALSE(CanShare("t", {1}, "w", {0}));
  EXPECT_TRUE(CanShare("x", "v"));
}

TEST_F(SharingTest, Calls) {
  const absl::string_view lines =
      "n = negate(x)\n ROOT v = f32[8] call(n), to_apply=f";
  Load(lines, "f { a = f32[8] parameter(0) ROOT e = exponential(a) }");
  EXPECT_TRUE(CanShare("n", "v"));
  Load(lines,
       "f { a = f32[8] parameter(0) "
       "ROOT e = f32[8] reverse(a), dimensions={0} }");
  EXPECT_FALSE(CanShare("n", "v"));
  Load(lines, "f { a = f32[8] parameter(0) s = sine(a) ROOT e = add(a, s) }");
  EXPECT_FALSE(CanShare("n", "v"));
}

// --- Backends

class Hint : public AliasInfo {
 public:
  explicit Hint(bool answer) : answer_(answer) {}
  std::optional<bool> MayAlias(const HloInstruction*, const ShapeIndex&,
                               const HloInstruction* user,
                               const ShapeIndex&) const override {
    if (user->opcode() == HloOpcode::kDynamicUpdateSlice ||
        user->opcode() == HloOpcode::kReverse ||
        user->opcode() == HloOpcode::kExp) {
      return answer_;
    }
    return std::nullopt;
  }

 private:
  bool answer_;
};

TEST_F(SharingTest, BackendDecides) {
  Load(R"(r = f32[8] reverse(x), dimensions={0}
      n = exponential(r)
      d = f32[8] dynamic-update-slice(n, u, i)
      ROOT s = sine(d))");
  EXPECT_TRUE(CanShare("x", {}, "r", {}, Hint(true)));
  EXPECT_FALSE(CanShare("r", {}, "n", {}, Hint(false)));
  // What must be in place is.
  EXPECT_TRUE(CanShare("n", {}, "d", {}, Hint(false)));
  EXPECT_TRUE(CanShare("d", {}, "s", {}, Hint(false)));
}

// --- Who reads what

TEST_F(SharingTest, DoesNotUse) {
  Load(R"(t = tuple(x, y)
      g = get-tuple-element(t), index=0
      p = (f32[8], f32[2], f32[8]) parameter(4)
      f = f32[8] fusion(p, i), kind=kLoop, calls=fused
      k = f32[8] fusion(p, i), kind=kInput, calls=fused2
      ROOT r = tuple(g, f, k))",
       R"(
    fused {
      a = (f32[8], f32[2], f32[8]) parameter(0)
      j = s32[] parameter(1)
      a0 = get-tuple-element(a), index=0
      a1 = get-tuple-element(a), index=1
      ROOT d = f32[8] dynamic-update-slice(a0, a1, j)
    }
    fused2 {
      b = (f32[8], f32[2], f32[8]) parameter(0)
      l = s32[] parameter(1)
      ROOT b0 = get-tuple-element(b), index=0
    })");
  EXPECT_TRUE(DoesNotUse("t", {0}, "g"));
  EXPECT_TRUE(DoesNotUse("t", {1}, "g"));
  EXPECT_FALSE(DoesNotUse("t", {}, "g"));
  EXPECT_FALSE(DoesNotUse("p", {0}, "f"));
  EXPECT_FALSE(DoesNotUse("p", {1}, "f"));
  EXPECT_TRUE(DoesNotUse("p", {2}, "f"));
  // Only loop fusions are looked into.
  EXPECT_FALSE(DoesNotUse("p", {2}, "k"));
}

}  // namespace
}  // namespace xla
