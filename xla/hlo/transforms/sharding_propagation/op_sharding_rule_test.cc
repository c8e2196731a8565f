#include "xla/hlo/transforms/sharding_propagation/op_sharding_rule.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

// The rule of the last of `lines`.
std::string RuleOf(absl::string_view lines) {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
      "HloModule m\nadd { x = f32[] parameter(0) y = f32[] parameter(1)\n"
      "ROOT s = f32[] add(x, y) }\n"
      "step { x = f32[8] parameter(0) c = f32[8] parameter(1)\n"
      "s = f32[8] add(x, c) ROOT t = (f32[8], f32[8]) tuple(s, s) }\n"
      "ENTRY e {\n",
      lines, "}\n"));
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return "";
  const HloInstruction* root =
      (*module)->entry_computation()->root_instruction();
  const auto calls = CallGraph::Build(module->get());
  const auto rule = GetOpShardingRule(*root, calls.get());
  return rule ? rule->ToString() : "none";
}

std::string RuleOfConvolution(absl::string_view lhs, absl::string_view rhs,
                              absl::string_view result,
                              absl::string_view attributes) {
  return RuleOf(absl::StrCat("p = ", lhs, " parameter(0)\nq = ", rhs,
                             " parameter(1)\nROOT c = ", result,
                             " convolution(p, q), ", attributes));
}

TEST(OpShardingRuleTest, Dot) {
  EXPECT_EQ(RuleOf(R"(
    p = f32[2,8,4] parameter(0)
    q = f32[2,4,16] parameter(1)
    ROOT d = f32[2,8,16] dot(p, q), lhs_batch_dims={0}, rhs_batch_dims={0},
      lhs_contracting_dims={2}, rhs_contracting_dims={1})"),
            "([i,j,l],[i,l,k])->([i,j,k]) {i=2,j=8,k=16,l=4} reduction={l}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[2,8,4] parameter(0)
    q = f32[2,4,16] parameter(1)
    s = f32[2,8,2] parameter(2)
    t = f32[] parameter(3)
    ROOT d = f32[2,8,16] scaled-dot(p, q, s, t), lhs_batch_dims={0},
      rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1})"),
            "([i,j,l],[i,l,k],[-,-,-],[])->([i,j,k]) {i=2,j=8,k=16,l=4} "
            "reduction={l}");
}

TEST(OpShardingRuleTest, Convolution) {
  EXPECT_EQ(
      RuleOfConvolution("f32[2,8,6]", "f32[3,6,9]", "f32[2,8,9]",
                        "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f"),
      "([i,l,j],[-,j,k])->([i,l,k]) {i=2,j=6,k=9,l=8} reduction={j}");
  // Three groups of two features, which become three each.
  EXPECT_EQ(RuleOfConvolution("f32[2,8,6]", "f32[3,2,9]", "f32[2,8,9]",
                              "window={size=3 pad=1_1}, "
                              "dim_labels=b0f_0io->b0f, feature_group_count=3"),
            "([i,k,j],[-,-,j])->([i,k,j]) {i=2,j=3,k=8}");
  // Groups of two batches.
  EXPECT_EQ(
      RuleOfConvolution(
          "f32[8,6,3]", "f32[1,3,4]", "f32[2,6,4]",
          "window={size=1}, dim_labels=b0f_0io->b0f, batch_group_count=4"),
      "([k,i,j],[-,j,k])->([-,i,k]) {i=6,j=3,k=4} reduction={j}");
  // A spatial batch, and one that is contracted.
  EXPECT_EQ(RuleOfConvolution("f32[2,4,5,3]", "f32[4,5,3,7]", "f32[2,4,1,7]",
                              "window={size=4x5 stride=3x1 lhs_dilate=4x1}, "
                              "dim_labels=b01f_01io->b01f"),
            "([i,j,l,k],[j,l,k,m])->([i,j,-,m]) {i=2,j=4,k=3,l=5,m=7} "
            "reduction={k,l}");
  // Windows in any number of steps.
  EXPECT_EQ(RuleOfConvolution("f32[2,8,6]", "f32[4,6,9]", "f32[2,4,9]",
                              "window={size=4 stride=2 pad=1_1}, "
                              "dim_labels=b0f_0io->b0f"),
            "([i,l,j],[-,j,k])->([i,l,k]) {i=2,j=6,k=9,l=4} reduction={j} "
            "permutation={l}");
  // Windows with holes reach further.
  EXPECT_EQ(RuleOfConvolution("f32[2,8,6]", "f32[4,6,9]", "f32[2,8,9]",
                              "window={size=4 pad=3_3 rhs_dilate=2}, "
                              "dim_labels=b0f_0io->b0f"),
            "([i,l,j],[-,j,k])->([i,l,k]) {i=2,j=6,k=9,l=8} reduction={j}");
  // Those that are larger than the input are not cut, and without padding there
  // are fewer windows than elements.
  EXPECT_EQ(
      RuleOfConvolution("f32[2,8,6]", "f32[9,6,9]", "f32[2,8,9]",
                        "window={size=9 pad=4_4}, dim_labels=b0f_0io->b0f"),
      "([i,-,j],[-,j,k])->([i,-,k]) {i=2,j=6,k=9} reduction={j}");
  EXPECT_EQ(RuleOfConvolution("f32[2,8,6]", "f32[3,6,9]", "f32[2,6,9]",
                              "window={size=3}, dim_labels=b0f_0io->b0f"),
            "([i,-,j],[-,j,k])->([i,-,k]) {i=2,j=6,k=9} reduction={j}");
}

// Gradients, as convolutions of any kind and as those of a backward one.
TEST(OpShardingRuleTest, InputGradients) {
  EXPECT_EQ(
      RuleOfConvolution(
          "f32[2,8,9]", "f32[3,6,9]", "f32[2,8,6]",
          "window={size=3 pad=1_1 rhs_reversal=1}, dim_labels=b0f_0oi->b0f"),
      "([i,l,j],[-,k,j])->([i,l,k]) {i=2,j=9,k=6,l=8} reduction={j}");
  // The gradient of a convolution with stride 2.
  EXPECT_EQ(RuleOfConvolution("f32[2,4,9]", "f32[3,6,9]", "f32[2,8,6]",
                              "window={size=3 pad=1_2 lhs_dilate=2 "
                              "rhs_reversal=1}, dim_labels=b0f_0oi->b0f"),
            "([i,l,j],[-,k,j])->([i,l,k]) {i=2,j=9,k=6,l=4} reduction={j} "
            "permutation={l}");
  EXPECT_EQ(
      RuleOfConvolution("f32[2,4,9]", "f32[3,6,9]", "f32[2,8,6]",
                        "window={size=3 pad=1_2 lhs_dilate=2}, "
                        "dim_labels=b0f_0io->b0f, convolution_kind=dgrad"),
      "([i,-,j],[-,k,j])->([i,-,k]) {i=2,j=9,k=6} reduction={j}");
  EXPECT_EQ(
      RuleOfConvolution("f32[2,8,8]", "f32[3,2,8]", "f32[2,8,8]",
                        "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, "
                        "feature_group_count=4, convolution_kind=dgrad"),
      "([i,-,-],[-,-,-])->([i,-,-]) {i=2}");
}

TEST(OpShardingRuleTest, KernelGradients) {
  EXPECT_EQ(
      RuleOfConvolution("f32[16,8,4]", "f32[16,8,3]", "f32[3,4,3]",
                        "window={size=8 pad=1_1}, dim_labels=f0b_i0o->0bf"),
      "([j,l,i],[j,l,k])->([-,i,k]) {i=4,j=16,k=3,l=8} "
      "reduction={j,l}");
  // The gradient of a convolution with stride 2.
  EXPECT_EQ(
      RuleOfConvolution(
          "f32[16,8,4]", "f32[16,4,3]", "f32[3,4,3]",
          "window={size=4 pad=0_1 rhs_dilate=2}, dim_labels=f0b_i0o->0bf"),
      "([j,l,i],[j,l,k])->([-,i,k]) {i=4,j=16,k=3,l=4} "
      "reduction={j,l}");
  // A kernel of half the size of the input is small, a larger one is not.
  EXPECT_EQ(
      RuleOfConvolution("f32[16,8,4]", "f32[16,8,3]", "f32[4,4,3]",
                        "window={size=8 pad=1_2}, dim_labels=f0b_i0o->0bf"),
      "([j,l,i],[j,l,k])->([-,i,k]) {i=4,j=16,k=3,l=8} reduction={j,l}");
  EXPECT_EQ(
      RuleOfConvolution("f32[16,8,4]", "f32[16,8,3]", "f32[5,4,3]",
                        "window={size=8 pad=2_2}, dim_labels=f0b_i0o->0bf"),
      "([j,-,i],[j,-,k])->([-,i,k]) {i=4,j=16,k=3} reduction={j}");
  // Windows that do not meet the input element by element.
  EXPECT_EQ(RuleOfConvolution("f32[16,8,4]", "f32[16,6,3]", "f32[3,4,3]",
                              "window={size=6}, dim_labels=f0b_i0o->0bf"),
            "([j,-,i],[j,-,k])->([-,i,k]) {i=4,j=16,k=3} reduction={j}");
  EXPECT_EQ(RuleOfConvolution("f32[16,8,4]", "f32[16,8,3]", "f32[4,4,3]",
                              "window={size=8 pad=-4_0 lhs_dilate=2}, "
                              "dim_labels=f0b_i0o->0bf"),
            "([j,-,i],[j,-,k])->([-,i,k]) {i=4,j=16,k=3} reduction={j}");
  // The kernel of a convolution in groups of one feature.
  EXPECT_EQ(RuleOfConvolution("f32[6,8,2]", "f32[8,2,6]", "f32[1,3,6]",
                              "window={size=8 pad=1_1}, "
                              "dim_labels=b0f_0io->b0f, batch_group_count=6"),
            "([i,k,j],[k,j,i])->([-,-,i]) {i=6,j=2,k=8} reduction={j,k}");
  EXPECT_EQ(
      RuleOfConvolution("f32[2,8,6]", "f32[2,8,9]", "f32[3,6,9]",
                        "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, "
                        "convolution_kind=wgrad"),
      "([j,-,i],[j,-,k])->([-,i,k]) {i=6,j=2,k=9} reduction={j}");
}

TEST(OpShardingRuleTest, Reshape) {
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    ROOT r = f32[2,16] reshape(p))"),
            "([ij,k])->([i,jk]) {i=2,j=4,k=4}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[6,4] parameter(0)
    ROOT r = f32[4,6] reshape(p))"),
            "([i,-])->([i,-]) {i=2}");
}

TEST(OpShardingRuleTest, DataMovement) {
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    ROOT t = f32[4,8] transpose(p), dimensions={1,0})"),
            "([j,i])->([i,j]) {i=4,j=8}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[4] parameter(0)
    ROOT b = f32[8,4] broadcast(p), dimensions={1})"),
            "([j])->([i,j]) {i=8,j=4}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    ROOT s = f32[4,4] slice(p), slice={[2:6], [0:4]})"),
            "([i,j])->([i,j]) {i=4,j=4} permutation={i}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    q = f32[8,2] parameter(1)
    ROOT c = f32[8,6] concatenate(p, q), dimensions={1})"),
            "([i,-],[i,-])->([i,-]) {i=8}");
}

TEST(OpShardingRuleTest, Reductions) {
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    z = f32[] constant(0)
    ROOT r = f32[8] reduce(p, z), dimensions={1}, to_apply=add)"),
            "([i,j],[])->([i]) {i=8,j=4} reduction={j}");
}

TEST(OpShardingRuleTest, GatherAndScatter) {
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    i = s32[5,1] parameter(1)
    ROOT g = f32[5,4] gather(p, i), offset_dims={1}, collapsed_slice_dims={0},
      start_index_map={0}, index_vector_dim=1, slice_sizes={1,4})"),
            "([-,i],[j,-])->([j,i]) {i=4,j=5}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    i = s32[5,1] parameter(1)
    u = f32[5,4] parameter(2)
    ROOT g = f32[8,4] scatter(p, i, u), update_window_dims={1},
      inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
      index_vector_dim=1, to_apply=add)"),
            "([i,j],[k,-],[k,j])->([i,j]) {i=8,j=4,k=5} reduction={k}");
  // Named batches.
  EXPECT_EQ(RuleOf(R"(
    p = f32[2,8,4] parameter(0)
    i = s32[2,5,1] parameter(1)
    ROOT g = f32[2,5,4] gather(p, i), offset_dims={2},
      collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0},
      start_indices_batching_dims={0}, index_vector_dim=2,
      slice_sizes={1,1,4})"),
            "([i,-,j],[i,k,-])->([i,k,j]) {i=2,j=4,k=5}");
}

// Batches by number, which the first component of the indices counts.
TEST(OpShardingRuleTest, ParallelDimensions) {
  EXPECT_EQ(RuleOf(R"(
    p = f32[2,8,4] parameter(0)
    n = s32[2,5,1] iota(), iota_dimension=0
    r = s32[2,5,1] parameter(1)
    i = s32[2,5,2] concatenate(n, r), dimensions={2}
    ROOT g = f32[2,5,4] gather(p, i), offset_dims={2},
      collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=2,
      slice_sizes={1,1,4})"),
            "([i,-,j],[i,k,-])->([i,k,j]) {i=2,j=4,k=5}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[2,8] parameter(0)
    n = s32[2,5,1] iota(), iota_dimension=0
    r = s32[2,5,1] parameter(1)
    i = s32[2,5,2] concatenate(n, r), dimensions={2}
    u = f32[2,5] parameter(2)
    ROOT g = f32[2,8] scatter(p, i, u), update_window_dims={},
      inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1},
      index_vector_dim=2, to_apply=add)"),
            "([i,j],[i,k,-],[i,k])->([i,j]) {i=2,j=8,k=5} reduction={k}");
}

TEST(OpShardingRuleTest, Scan) {
  EXPECT_EQ(RuleOf(R"(
    p = f32[6,8] parameter(0)
    c = f32[8] parameter(1)
    ROOT s = (f32[6,8], f32[8]) scan(p, c), dimensions={0}, num_carries=1,
      is_associative=true, to_apply=step)"),
            "([i,j],[j])->([i,j],[j]) {i=6,j=8}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,6] parameter(0)
    c = f32[8] parameter(1)
    ROOT s = (f32[8,6], f32[8]) scan(p, c), dimensions={1}, num_carries=1,
      to_apply=step)"),
            "([i,-],[i])->([i,-],[i]) {i=8}");
}

// What devices exchange along has no factor.
TEST(OpShardingRuleTest, Collectives) {
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    ROOT g = f32[8,8] all-gather(p), replica_groups={{0,1}}, dimensions={1})"),
            "([i,-])->([i,-]) {i=8}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    ROOT g = f32[4,4] reduce-scatter(p), replica_groups={{0,1}},
      dimensions={0}, to_apply=add)"),
            "([-,i])->([-,i]) {i=4}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    ROOT g = f32[8,4] all-to-all(p), replica_groups={{0,1}}, dimensions={0})"),
            "([-,i])->([-,i]) {i=4}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    q = f32[6] parameter(1)
    ROOT g = (f32[8,4], f32[6]) all-reduce(p, q), replica_groups={{0,1}},
      to_apply=add)"),
            "([i,j],[k])->([i,j],[k]) {i=8,j=4,k=6}");
}

TEST(OpShardingRuleTest, BatchesOfCustomCalls) {
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,6,6] parameter(0)
    q = f32[8,6,3] parameter(1)
    ROOT c = (f32[8,6,3], s32[8]) custom-call(p, q), custom_call_target="solve",
      frontend_attributes={num_batch_dims="1"})"),
            "([i,-,-],[i,-,-])->([i,-,-],[i]) {i=8}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,6] parameter(0)
    ROOT c = f32[6,8] custom-call(p), custom_call_target="transpose",
      frontend_attributes={num_batch_dims="1"})"),
            "none");
}

TEST(OpShardingRuleTest, WhatHasNone) {
  EXPECT_EQ(RuleOf("ROOT p = f32[8] parameter(0)"), "none");
  EXPECT_EQ(RuleOf("ROOT i = u32[] partition-id()"), "none");
  EXPECT_EQ(RuleOf(R"(
    p = f32[2,8,6] parameter(0)
    q = f32[1,3,9] parameter(1)
    i = u1[1,3,9] parameter(2)
    ROOT c = f32[2,8,9] convolution(p, q, i), window={size=1},
      dim_labels=b0f_0io->b0f,
      sparsity_config={rhs={sparsity=1x2 dimension=1 stride=1 idx=2}})"),
            "none");
  EXPECT_EQ(RuleOf(R"(
    p = f32[2,8,3] parameter(0)
    q = f32[1,6,9] parameter(1)
    i = u1[2,8,3] parameter(2)
    ROOT c = f32[2,8,9] convolution(p, q, i), window={size=1},
      dim_labels=b0f_0io->b0f,
      sparsity_config={lhs={sparsity=1x2 dimension=2 stride=1 idx=2}})"),
            "none");
}

}  // namespace
}  // namespace xla
