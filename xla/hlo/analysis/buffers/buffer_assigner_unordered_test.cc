// Modules without a schedule: what may share memory in any order.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assigner_test_base.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"

namespace xla {
namespace {

using BufferAssignerUnorderedTest = BufferAssignerTestBase;

TEST_F(BufferAssignerUnorderedTest, ElementwiseChainReusesOneAllocation) {
  AssignUnordered(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] tanh(p)
  b = f32[100] exponential(a)
  ROOT c = f32[100] log(b)
})");
  EXPECT_TRUE(Share("a", "b"));
  EXPECT_TRUE(Share("b", "c"));
  EXPECT_FALSE(Share("p", "a"));
  EXPECT_FALSE(assignment_->HasHloLiveRange());
}

TEST_F(BufferAssignerUnorderedTest, ValuesWithLaterReadersAreKept) {
  AssignUnordered(R"(
ENTRY e {
  p = f32[100] parameter(0)
  q = f32[100] parameter(1)
  m = f32[100] multiply(p, q)
  a = f32[100] add(m, q)
  ROOT s = f32[100] subtract(a, m)
})");
  EXPECT_FALSE(Share("m", "a"));
  EXPECT_TRUE(Share("m", "s") || Share("a", "s"));
}

TEST_F(BufferAssignerUnorderedTest, IndependentValuesDoNotShare) {
  AssignUnordered(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  b = f32[100] negate(p)
  ROOT t = (f32[100], f32[100]) tuple(a, b)
})");
  EXPECT_FALSE(Share("a", "b"));
}

TEST_F(BufferAssignerUnorderedTest, TemporariesAreOneAllocation) {
  constexpr absl::string_view kDots = R"(
ENTRY e {
  x = f32[2,3] parameter(0)
  y = f32[3,4] parameter(1)
  z = f32[4,4] parameter(2)
  xy = f32[2,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  yz = f32[3,4] dot(y, z), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT c = f32[5,4] concatenate(xy, yz), dimensions={0}
})";
  AssignUnordered(kDots);
  EXPECT_EQ(assignment_->Allocations().size(), 5);
  EXPECT_EQ(Slice("xy").allocation(), Slice("yz").allocation());
  EXPECT_FALSE(Share("xy", "yz"));
  EXPECT_FALSE(Slice("xy").OverlapsWith(Slice("yz")));
  const BufferAllocation& temporaries = Allocation("xy");
  EXPECT_TRUE(temporaries.IsPreallocatedTempBuffer());
  EXPECT_EQ(temporaries.size(), 32 + 48);
  EXPECT_EQ(temporaries.index(), 4);
  EXPECT_EQ(temporaries.fragmentation_bytes(), 0);
  // Without times, the largest.
  ASSERT_EQ(temporaries.PeakMemoryLogicalBuffers().size(), 1);
  EXPECT_EQ(temporaries.PeakMemoryLogicalBuffers()[0]->instruction(),
            Find("yz"));
  EXPECT_EQ(assignment_->GetStats().preallocated_temp_allocation_count, 1);
  EXPECT_EQ(assignment_->temp_allocation_total_size(), 80);
  // As many as it takes if the memory is split.
  module_->mutable_config()
      .mutable_debug_options()
      .set_xla_multiheap_size_constraint_per_heap(50);
  ASSERT_TRUE(TryAssign().ok());
  EXPECT_NE(Slice("xy").allocation(), Slice("yz").allocation());
  EXPECT_EQ(Allocation("xy").size(), 32);
  EXPECT_EQ(Allocation("yz").size(), 48);
  EXPECT_EQ(Allocation("xy").page_id() + Allocation("yz").page_id(), 1);
  BufferAssigner::Options options;
  options.temp_buffer_color = 7;
  AssignUnordered(kDots, std::move(options));
  EXPECT_EQ(Allocation("xy").color(), 7);
  EXPECT_EQ(Allocation("c").color(), 0);
}

TEST_F(BufferAssignerUnorderedTest, TemporariesAreAligned) {
  Parse(R"(
HloModule m
ENTRY e {
  p = s8[50] parameter(0)
  q = s8[50] parameter(1)
  a = s8[50] reverse(p), dimensions={0}
  b = s8[50] reverse(q), dimensions={0}
  ROOT c = s8[100] concatenate(a, b), dimensions={0}
})");
  absl::Status status = TryAssign({}, /*alignment=*/64);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Slice("a").allocation(), Slice("b").allocation());
  EXPECT_EQ(Slice("a").offset() + Slice("b").offset(), 64);
  EXPECT_EQ(Allocation("a").size(), 64 + 50);
  EXPECT_EQ(Allocation("a").fragmentation_bytes(), 14);
  const BufferAssignment::Stats& stats = assignment_->GetStats();
  EXPECT_EQ(stats.preallocated_temp_allocation_bytes, 64 + 50);
  EXPECT_EQ(stats.preallocated_temp_fragmentation_bytes, 14);
  // The padding counts, too.
  for (const int64_t limit : {100, 114, 128}) {
    module_->mutable_config()
        .mutable_debug_options()
        .set_xla_multiheap_size_constraint_per_heap(limit);
    status = TryAssign({}, /*alignment=*/64);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(Slice("a").allocation() == Slice("b").allocation(), limit >= 114)
        << limit;
    EXPECT_LE(Allocation("a").size(), limit);
    EXPECT_LE(Allocation("b").size(), limit);
  }
}

// A piece goes where the least is left: the last one beside the second.
TEST_F(BufferAssignerUnorderedTest, PagesAreFilled) {
  Parse(R"(
HloModule m
ENTRY e {
  p = s8[60] parameter(0)
  q = s8[50] parameter(1)
  r = s8[48] parameter(2)
  a = s8[60] reverse(p), dimensions={0}
  b = s8[50] reverse(q), dimensions={0}
  c = s8[48] reverse(r), dimensions={0}
  d = s8[16] slice(a), slice={[0:16]}
  f = s8[16] reverse(d), dimensions={0}
  ROOT g = s8[190] concatenate(a, b, c, d, f), dimensions={0}
})");
  module_->mutable_config()
      .mutable_debug_options()
      .set_xla_multiheap_size_constraint_per_heap(80);
  const absl::Status status = TryAssign();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(assignment_->GetStats().preallocated_temp_allocation_count, 3);
  EXPECT_EQ(Slice("d").allocation(), Slice("a").allocation());
  EXPECT_EQ(Slice("f").allocation(), Slice("b").allocation());
}

TEST_F(BufferAssignerUnorderedTest, ReductionsDoNotOverwriteTheirOperand) {
  AssignUnordered(R"(
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  p = f32[10,10] parameter(0)
  z = f32[] constant(0)
  a = f32[10,10] exponential(p)
  r = f32[10] reduce(a, z), dimensions={1}, to_apply=sum
  ROOT b = f32[10] exponential(r)
})");
  EXPECT_NE(Slice("a").allocation(), Slice("r").allocation());
  EXPECT_TRUE(Share("r", "b"));
  EXPECT_TRUE(Allocation("s").is_thread_local());
}

// What is dead by then need not be an operand.
TEST_F(BufferAssignerUnorderedTest, DeadValuesAreReused) {
  AssignUnordered(R"(
ENTRY e {
  p = f32[100] parameter(0)
  n = f32[100] negate(p)
  s = f32[50] slice(n), slice={[0:50]}
  b = f32[100] concatenate(s, s), dimensions={0}
  ROOT r = f32[10] slice(b), slice={[0:10]}
})");
  EXPECT_TRUE(Share("n", "b"));
}

TEST_F(BufferAssignerUnorderedTest, LiveValuesAreNot) {
  AssignUnordered(R"(
ENTRY e {
  p = f32[100] parameter(0)
  n = f32[100] negate(p)
  s = f32[50] slice(n), slice={[0:50]}
  b = f32[100] concatenate(s, s), dimensions={0}
  ROOT t = (f32[100], f32[100]) tuple(n, b)
})");
  EXPECT_FALSE(Share("n", "b"));
}

TEST_F(BufferAssignerUnorderedTest, ValuesSeenThroughTuplesAreNot) {
  AssignUnordered(R"(
ENTRY e {
  p = f32[100] parameter(0)
  n = f32[100] negate(p)
  t = (f32[100]) tuple(n)
  g = f32[100] get-tuple-element(t), index=0
  s = f32[50] slice(n), slice={[0:50]}
  b = f32[100] concatenate(s, s), dimensions={0}
  ROOT r = f32[100] subtract(b, g)
})");
  EXPECT_FALSE(Share("n", "b"));
}

TEST_F(BufferAssignerUnorderedTest, ResultsAreExactlySized) {
  constexpr absl::string_view kHead = R"(
ENTRY e {
  p = f32[100] parameter(0)
  n = f32[100] negate(p)
  s = f32[50] slice(n), slice={[0:50]}
)";
  AssignUnordered(std::string(kHead) +
                  "  ROOT b = f32[100] concatenate(s, s), dimensions={0}\n}");
  EXPECT_TRUE(Share("n", "b"));
  AssignUnordered(std::string(kHead) +
                  "  ROOT b = f32[90] pad(s, s), padding=0_40\n}");
  EXPECT_FALSE(Share("n", "b"));
  AssignUnordered(std::string(kHead) +
                  "  b = f32[90] pad(s, s), padding=0_40\n"
                  "  ROOT t = (f32[90]) tuple(b)\n}");
  EXPECT_FALSE(Share("n", "b"));
  EXPECT_EQ(Allocation("b").size(), 360);
}

TEST_F(BufferAssignerUnorderedTest, CopiesDoNotShareWithTheirOperand) {
  AssignUnordered(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] negate(p)
  k = f32[100] copy(a)
  ROOT r = f32[100] reverse(k), dimensions={0}
})");
  EXPECT_FALSE(Share("a", "k"));
}

TEST_F(BufferAssignerUnorderedTest, AliasedParametersAreReused) {
  Parse(R"(
HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] negate(p)
  b = f32[100] exponential(a)
  ROOT c = f32[100] log(b)
})");
  const absl::Status status = TryAssign();
  ASSERT_TRUE(status.ok()) << status;
  for (absl::string_view name : {"a", "b", "c"}) {
    EXPECT_TRUE(Share("p", name)) << name;
  }
  EXPECT_EQ(assignment_->Allocations().size(), 1);
}

TEST_F(BufferAssignerUnorderedTest, ReadOnlyParametersAreNot) {
  AssignUnordered(R"(
ENTRY e {
  p = f32[100] parameter(0)
  ROOT a = f32[100] negate(p)
})");
  EXPECT_FALSE(Share("p", "a"));
}

// k would go into the memory of t, which has its size and is dead by then.
TEST_F(BufferAssignerUnorderedTest, TablesOfTuplesAreNotReused) {
  const auto assign = [&](absl::string_view t_and_g) {
    AssignUnordered(absl::StrCat(R"(
ENTRY e {
  p = s64[2] parameter(0)
  a = s64[2] negate(p)
)",
                                 t_and_g, R"(
  k = s64[2] reverse(g), dimensions={0}
  ROOT r = s64[2] reverse(k), dimensions={0}
})"));
  };
  assign(R"(
  t = (s64[2], s64[2]) tuple(a, p)
  g = s64[2] get-tuple-element(t), index=0)");
  EXPECT_EQ(Slice("t").allocation(), Slice("k").allocation());
  EXPECT_FALSE(Slice("t").OverlapsWith(Slice("k")));
  EXPECT_FALSE(Slice("t").OverlapsWith(Slice("r")));
  EXPECT_FALSE(Allocation("k").is_tuple());
  assign(R"(
  t = s64[2] reverse(a), dimensions={0}
  g = s64[2] reverse(t), dimensions={0})");
  EXPECT_TRUE(Slice("t").OverlapsWith(Slice("k")));
}

TEST_F(BufferAssignerUnorderedTest, CallsAreGlobalAndMapsAreNot) {
  AssignUnordered(R"(
f {
  x = f32[100] parameter(0)
  ROOT n = f32[100] negate(x)
}
g {
  y = f32[] parameter(0)
  ROOT k = f32[] exponential(y)
}
ENTRY e {
  p = f32[100] parameter(0)
  c = f32[100] call(p), to_apply=f
  ROOT m = f32[100] map(c), dimensions={0}, to_apply=g
})");
  EXPECT_FALSE(Allocation("n").is_thread_local());
  EXPECT_EQ(Slice("n"), Slice("c"));
  EXPECT_EQ(Slice("x"), Slice("p"));
  EXPECT_TRUE(Allocation("k").is_thread_local());
  EXPECT_TRUE(Allocation("y").is_thread_local());
}

constexpr absl::string_view kTwoLoops = R"(
body1 {
  b1 = (s32[], f32[100]) parameter(0)
  i1 = s32[] get-tuple-element(b1), index=0
  x1 = f32[100] get-tuple-element(b1), index=1
  n1 = f32[100] negate(x1)
  ROOT t1 = (s32[], f32[100]) tuple(i1, n1)
}
cond1 {
  c1 = (s32[], f32[100]) parameter(0)
  ROOT r1 = pred[] constant(true)
}
body2 {
  b2 = (s32[], f32[100]) parameter(0)
  i2 = s32[] get-tuple-element(b2), index=0
  x2 = f32[100] get-tuple-element(b2), index=1
  n2 = f32[100] exponential(x2)
  ROOT t2 = (s32[], f32[100]) tuple(i2, n2)
}
cond2 {
  c2 = (s32[], f32[100]) parameter(0)
  ROOT r2 = pred[] constant(true)
}
ENTRY e {
  i = s32[] parameter(0)
  p = f32[100] parameter(1)
  k = s32[] copy(i)
  a = f32[100] negate(p)
  init = (s32[], f32[100]) tuple(k, a)
  w1 = (s32[], f32[100]) while(init), condition=cond1, body=body1
  ROOT w2 = (s32[], f32[100]) while(w1), condition=cond2, body=body2
})";

TEST_F(BufferAssignerUnorderedTest, LoopsInARowShareTheirState) {
  AssignUnordered(kTwoLoops);
  for (absl::string_view name :
       {"init", "w1", "w2", "b1", "c1", "t1", "b2", "c2", "t2"}) {
    EXPECT_EQ(Slice(name, {1}), Slice("a")) << name;
  }
  EXPECT_TRUE(Allocation("a").maybe_live_out());
}

TEST_F(BufferAssignerUnorderedTest, BranchesShareTheResult) {
  AssignUnordered(R"(
f {
  fp = f32[100] parameter(0)
  ROOT fr = f32[100] negate(fp)
}
g {
  gp = f32[100] parameter(0)
  ROOT gr = f32[100] exponential(gp)
}
ENTRY e {
  p = f32[100] parameter(0)
  s = pred[] parameter(1)
  ROOT c = f32[100] conditional(s, p, p), true_computation=f,
    false_computation=g
})");
  EXPECT_EQ(Slice("fr"), Slice("c"));
  EXPECT_EQ(Slice("gr"), Slice("c"));
  EXPECT_EQ(Slice("fp"), Slice("p"));
}

TEST_F(BufferAssignerUnorderedTest, PassedThroughParameters) {
  AssignUnordered(R"(
f {
  x = (f32[10], f32[20]) parameter(0)
  ROOT y = f32[20] get-tuple-element(x), index=1
}
ENTRY e {
  p = (f32[10], f32[20]) parameter(0)
  ROOT c = f32[20] call(p), to_apply=f
})");
  EXPECT_EQ(Slice("c"), Slice("p", {1}));
  EXPECT_TRUE(Allocation("c").is_entry_computation_parameter());
  EXPECT_TRUE(Allocation("c").maybe_live_out());
}

TEST_F(BufferAssignerUnorderedTest, CustomCallsWithAliasing) {
  AssignUnordered(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] negate(p)
  ROOT c = (f32[100], f32[50]) custom-call(a), custom_call_target="x",
    output_to_operand_aliasing={{0}: (0, {})}
})");
  EXPECT_EQ(Slice("c", {0}), Slice("a"));
  EXPECT_NE(Slice("c", {1}).allocation(), Slice("a").allocation());
}

TEST_F(BufferAssignerUnorderedTest, BitcastsAreTheirOperand) {
  AssignUnordered(R"(
ENTRY e {
  p = f32[10,10] parameter(0)
  ROOT b = f32[100] bitcast(p)
})");
  EXPECT_EQ(Slice("b"), Slice("p"));
}

TEST_F(BufferAssignerUnorderedTest, AsynchronousCalls) {
  AssignUnordered(R"(
f {
  x = f32[100] parameter(0)
  ROOT n = f32[50] slice(x), slice={[0:50]}
}
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] negate(p)
  s = ((f32[100]), f32[50], u32[]) async-start(a), calls=f
  d = f32[50] async-done(s)
  ROOT r = f32[10] slice(d), slice={[0:10]}
})");
  EXPECT_EQ(Slice("d"), Slice("s", {1}));
  EXPECT_FALSE(Slice("a").OverlapsWith(Slice("d")));
}

TEST_F(BufferAssignerUnorderedTest, ColorsAreKeptApart) {
  AssignUnordered(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] negate(p)
  b = f32[100]{0:S(2)} exponential(a)
  ROOT c = f32[100] log(b)
})");
  EXPECT_FALSE(Share("a", "b"));
  EXPECT_EQ(Allocation("b").color(), 2);
}

TEST_F(BufferAssignerUnorderedTest, MustNotLiveOut) {
  BufferAssigner::Options options;
  options.must_not_live_out =
      [](const HloAliasAnalysis&, const HloInstruction* inst,
         const ShapeIndex&) { return inst->name() == "a"; };
  AssignUnordered(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] negate(p)
  b = f32[100] exponential(a)
  ROOT c = f32[100] log(b)
})",
                  std::move(options));
  EXPECT_FALSE(Share("a", "c"));
  EXPECT_FALSE(Allocation("a").maybe_live_out());
}

TEST_F(BufferAssignerUnorderedTest, FastMergingFindsTheSameOnAChain) {
  BufferAssigner::Options options;
  options.assignment_algorithm_for_computations_without_ordering =
      BufferAssigner::UnorderedAlgorithm::FAST_MERGE;
  AssignUnordered(kTwoLoops, std::move(options));
  const auto bytes = assignment_->GetStats().total_allocation_bytes;
  AssignUnordered(kTwoLoops);
  EXPECT_EQ(assignment_->GetStats().total_allocation_bytes, bytes);
}

// The checker compares all pairs of values, the assigner few.
TEST_F(BufferAssignerUnorderedTest, RandomGraphs) {
  std::mt19937 random(3);
  for (int round = 0; round < 12; ++round) {
    const int64_t size = 20 + 10 * round;
    std::string text = R"(
halve {
  a = f32[8] parameter(0)
  b = f32[8] negate(a)
  ROOT c = f32[8] tanh(b)
}
ENTRY e {
  x0 = f32[8] parameter(0)
  x1 = f32[8] parameter(1)
  i = s32[] constant(2)
)";
    // Long chains with branches, as networks have them.
    auto earlier = [&](int64_t id) {
      const int64_t back = random() % 4 == 0
                               ? random() % id
                               : random() % std::min<int64_t>(id, 4);
      return absl::StrCat("x", id - 1 - back);
    };
    for (int64_t id = 2; id < size; ++id) {
      const std::string a = earlier(id);
      const std::string b = earlier(id);
      absl::StrAppend(&text, "  x", id, " = f32[8] ");
      switch (random() % 8) {
        case 0:
          absl::StrAppend(&text, "reverse(", a, "), dimensions={0}\n");
          break;
        case 1:
          absl::StrAppend(&text, "copy(", a, ")\n");
          break;
        case 2:
          absl::StrAppend(&text, "dynamic-update-slice(", a, ", ", b, ", i)\n");
          break;
        case 3:
          absl::StrAppend(&text, "map(", a, "), to_apply=halve_",
                          random() % 2 == 0 ? "element" : "other", "\n");
          break;
        default:
          absl::StrAppend(&text, "add(", a, ", ", b, ")\n");
      }
    }
    absl::StrAppend(&text, "  y = f32[8] call(x", size - 2,
                    "), to_apply=halve\n  ROOT t = (f32[8], f32[8], f32[8])",
                    " tuple(x", size - 1, ", y, x", size / 2, ")\n}");
    AssignUnordered(absl::StrCat(R"(
halve_element {
  a = f32[] parameter(0)
  ROOT b = f32[] negate(a)
}
halve_other {
  a = f32[] parameter(0)
  ROOT b = f32[] tanh(a)
}
)",
                                 text));
    // Something is shared.
    EXPECT_LT(assignment_->Allocations().size(), size) << round;
  }
}

TEST_F(BufferAssignerUnorderedTest, OneBufferAtATime) {
  AssignUnordered(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  b = f32[50] slice(a), slice={[0:50]}
  c = f32[25] slice(b), slice={[0:25]}
  ROOT d = f32[10] slice(c), slice={[0:10]}
})");
  BufferAssigner assigner(&alias_info_, {});
  const HloAliasAnalysis& alias = assignment_->alias_analysis();
  const HloBuffer& c = alias.GetUniqueBufferAt(Find("c"));
  auto in_b = assigner.MaybeAssignBuffer(
      assignment_->GetMutableAllocation(Slice("b").index()), c,
      assignment_.get());
  ASSERT_TRUE(in_b.ok());
  const bool separate = Slice("b").allocation() != Slice("a").allocation();
  EXPECT_FALSE(separate && *in_b);  // b is read when c is written
  auto in_parameter = assigner.MaybeAssignBuffer(
      assignment_->GetMutableAllocation(Slice("p").index()), c,
      assignment_.get());
  ASSERT_TRUE(in_parameter.ok());
  EXPECT_FALSE(*in_parameter);
  auto manager = BufferAssigner::CreateFastMergeManagerForTest(
      assignment_.get(), &assigner);
  const BufferAllocation::Index larger =
      assignment_->NewEmptyAllocation(1000, /*color=*/0)->index();
  manager->RegisterNewAllocation(&c, larger);
  auto reused = manager->TryAssignToExistingAllocation(&c, 1001);
  ASSERT_TRUE(reused.ok());
  EXPECT_FALSE(*reused);
  reused = manager->TryAssignToExistingAllocation(&c, Slice("c").size());
  ASSERT_TRUE(reused.ok());
  EXPECT_TRUE(*reused);
  EXPECT_EQ(Slice("c").index(), larger);
}

}  // namespace
}  // namespace xla
