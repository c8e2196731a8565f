// Modules with a schedule.

#include "xla/hlo/analysis/buffers/buffer_assigner.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/buffers/buffer_assigner_test_base.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/service/hlo.pb.h"

namespace xla {
namespace {

using BufferAssignerTest = BufferAssignerTestBase;

TEST_F(BufferAssignerTest, ElementwiseChainEndsInTheResult) {
  Assign(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] negate(p)
  b = f32[100] exponential(a)
  ROOT c = f32[100] log(b)
})");
  EXPECT_TRUE(Share("a", "c"));
  EXPECT_TRUE(Share("b", "c"));
  EXPECT_FALSE(Share("p", "a"));
  EXPECT_TRUE(Allocation("c").maybe_live_out());
  EXPECT_TRUE(Allocation("p").is_entry_computation_parameter());
  EXPECT_TRUE(Allocation("p").is_readonly());
  EXPECT_EQ(assignment_->GetStats().total_allocation_bytes, 800);
  EXPECT_EQ(assignment_->ToProto().buffer_allocations_size(), 2);
}

TEST_F(BufferAssignerTest, TemporariesShareOneAllocation) {
  Assign(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  b = f32[100] reverse(a), dimensions={0}
  c = f32[100] reverse(b), dimensions={0}
  ROOT d = f32[50] slice(c), slice={[0:50]}
})");
  EXPECT_EQ(Slice("a").allocation(), Slice("b").allocation());
  EXPECT_EQ(Slice("a"), Slice("c"));
  EXPECT_FALSE(Slice("a").OverlapsWith(Slice("b")));
  EXPECT_TRUE(Allocation("a").IsPreallocatedTempBuffer());
  EXPECT_EQ(assignment_->temp_allocation_total_size(), 800);
  // Two of the three are live at the peak.
  EXPECT_EQ(Allocation("a").PeakMemoryLogicalBuffers().size(), 2);
  EXPECT_EQ(Allocation("a").HeapTraces().size(), 1);
}

TEST_F(BufferAssignerTest, ConstantsHaveMemoryOnRequest) {
  constexpr absl::string_view kText = R"(
ENTRY e {
  p = f32[2] parameter(0)
  k = f32[2] constant({1, 2})
  ROOT a = f32[2] add(p, k)
})";
  Assign(kText);
  EXPECT_FALSE(Has("k"));
  BufferAssigner::Options options;
  options.allocate_buffers_for_constants = true;
  Assign(kText, std::move(options));
  EXPECT_TRUE(Allocation("k").is_constant());
  EXPECT_TRUE(Allocation("k").is_readonly());
  EXPECT_FALSE(Share("k", "a"));
}

TEST_F(BufferAssignerTest, ReducersAreThreadLocal) {
  Assign(R"(
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  p = f32[100] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=sum
})");
  EXPECT_TRUE(Allocation("s").is_thread_local());
  EXPECT_FALSE(Allocation("s").is_reusable());
  EXPECT_FALSE(Allocation("r").is_thread_local());
}

TEST_F(BufferAssignerTest, NothingInFusionsHasMemory) {
  Assign(R"(
f {
  x = f32[100] parameter(0)
  n = f32[100] negate(x)
  ROOT s = f32[100] exponential(n)
}
ENTRY e {
  p = f32[100] parameter(0)
  ROOT r = f32[100] fusion(p), kind=kLoop, calls=f
})");
  EXPECT_FALSE(Has("n"));
  EXPECT_FALSE(Has("s"));
  EXPECT_TRUE(Has("r"));
}
TEST_F(BufferAssignerTest, LoopStateIsOneSlice) {
  Assign(kLoop);
  for (absl::string_view name : {"init", "w", "bp", "cp", "bt"}) {
    EXPECT_EQ(Slice(name, {1}), Slice("n")) << name;
    EXPECT_EQ(Slice(name, {0}), Slice("zc")) << name;
  }
  EXPECT_EQ(Slice("y"), Slice("n"));
  EXPECT_FALSE(Slice("t1").OverlapsWith(Slice("n")));
  EXPECT_TRUE(Allocation("init").is_tuple());
}

TEST_F(BufferAssignerTest, BranchesShareTheResult) {
  Assign(R"(
f {
  fp = f32[100] parameter(0)
  fa = f32[100] reverse(fp), dimensions={0}
  ROOT fr = f32[100] reverse(fa), dimensions={0}
}
g {
  gp = f32[100] parameter(0)
  ga = f32[50] slice(gp), slice={[0:50]}
  ROOT gr = f32[100] concatenate(ga, ga), dimensions={0}
}
ENTRY e {
  p = f32[100] parameter(0)
  s = s32[] parameter(1)
  a = f32[100] negate(p)
  c = f32[100] conditional(s, a, a), branch_computations={f, g}
  ROOT r = f32[50] slice(c), slice={[0:50]}
})");
  EXPECT_EQ(Slice("fr"), Slice("gr"));
  EXPECT_EQ(Slice("fr"), Slice("c"));
  EXPECT_TRUE(Slice("fa").allocation() == Slice("c").allocation());
  EXPECT_FALSE(Slice("fa").OverlapsWith(Slice("fr")));
}

TEST_F(BufferAssignerTest, CalledComputationsShareTheHeap) {
  Assign(R"(
f {
  fp = f32[100] parameter(0)
  fa = f32[100] reverse(fp), dimensions={0}
  ROOT fr = f32[50] slice(fa), slice={[0:50]}
}
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  c = f32[50] call(a), to_apply=f
  b = f32[50] reverse(c), dimensions={0}
  ROOT r = f32[10] slice(b), slice={[0:10]}
})");
  EXPECT_EQ(Slice("fp"), Slice("a"));
  EXPECT_EQ(Slice("fr"), Slice("c"));
  EXPECT_EQ(Slice("fa").allocation(), Slice("a").allocation());
  EXPECT_FALSE(Slice("fa").OverlapsWith(Slice("a")));
  EXPECT_EQ(assignment_->temp_allocation_total_size(), 800);
}

TEST_F(BufferAssignerTest, UpdateInPlaceTakesItsOperand) {
  Assign(R"(
ENTRY e {
  p = f32[100] parameter(0)
  i = s32[] parameter(1)
  a = f32[100] negate(p)
  u = f32[1] slice(p), slice={[0:1]}
  d = f32[100] dynamic-update-slice(a, u, i)
  ROOT r = f32[100] reverse(d), dimensions={0}
})");
  EXPECT_TRUE(Share("a", "d"));
}

// A second reader after the update: the operand would have to be copied first.
TEST_F(BufferAssignerTest, CopyKeepsItsOperandApart) {
  Assign(R"(
ENTRY e {
  p = f32[100] parameter(0)
  i = s32[] parameter(1)
  a = f32[100] negate(p)
  k = f32[100] copy(a)
  u = f32[1] slice(p), slice={[0:1]}
  d = f32[100] dynamic-update-slice(k, u, i)
  ROOT r = f32[100] add(d, a)
})");
  EXPECT_TRUE(Share("k", "d"));
  EXPECT_FALSE(Slice("a").OverlapsWith(Slice("k")));
}

TEST_F(BufferAssignerTest, AsynchronousOperandsStayUntilDone) {
  Assign(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  s = (f32[100], f32[100], u32[]) copy-start(a)
  t = f32[100] reverse(p), dimensions={0}
  u = f32[50] slice(t), slice={[0:50]}
  d = f32[100] copy-done(s)
  v = f32[50] slice(d), slice={[0:50]}
  ROOT r = f32[50] add(u, v)
})");
  EXPECT_EQ(Slice("s", {1}), Slice("a"));
  EXPECT_EQ(Slice("s", {0}), Slice("d"));
  EXPECT_FALSE(Slice("t").OverlapsWith(Slice("a")));
  EXPECT_FALSE(Slice("t").OverlapsWith(Slice("d")));
}

TEST_F(BufferAssignerTest, PartsOfParametersAreAllocations) {
  Assign(R"(
ENTRY e {
  p = (f32[10], (f32[20], f32[30])) parameter(0)
  q = (f32[20], f32[30]) get-tuple-element(p), index=1
  ROOT r = f32[30] get-tuple-element(q), index=1
})");
  const BufferAllocation& part = Allocation("r");
  EXPECT_TRUE(part.is_entry_computation_parameter());
  EXPECT_EQ(part.parameter_number(), 0);
  EXPECT_EQ(part.param_shape_index(), (ShapeIndex{1, 1}));
  EXPECT_TRUE(part.maybe_live_out());
  EXPECT_EQ(part.size(), 120);
  EXPECT_TRUE(Allocation("p").is_tuple());
  EXPECT_EQ(assignment_->GetStats().parameter_allocation_count, 5);
}

TEST_F(BufferAssignerTest, TupleOfResults) {
  Assign(R"(
ENTRY e {
  p = f32[10] parameter(0)
  a = f32[10] negate(p)
  b = f32[20] concatenate(a, p), dimensions={0}
  ROOT t = (f32[10], f32[20], f32[10]) tuple(a, b, a)
})");
  EXPECT_EQ(Slice("t", {0}), Slice("a"));
  EXPECT_EQ(Slice("t", {2}), Slice("a"));
  EXPECT_TRUE(Allocation("a").maybe_live_out());
  EXPECT_TRUE(Allocation("t").is_tuple());
  EXPECT_FALSE(assignment_->HaveDisjointSlices(Find("a"), Find("t")));
  EXPECT_TRUE(assignment_->HaveDisjointSlices(Find("a"), Find("b")));
}

TEST_F(BufferAssignerTest, ComputationThatIsCalledAndAppliedIsRefused) {
  Parse(R"(
HloModule m, is_scheduled=true
f {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  p = f32[100] parameter(0)
  z = f32[] constant(0)
  r = f32[] reduce(p, z), dimensions={0}, to_apply=f
  ROOT c = f32[] call(r, z), to_apply=f
})");
  const absl::Status status = TryAssign();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("computation f"), std::string::npos)
      << status;
}

TEST_F(BufferAssignerTest, MoreThanFitsIntoANumberOfBytes) {
  Parse(R"(
HloModule m, is_scheduled=true
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  b = f32[100] reverse(a), dimensions={0}
  ROOT c = f32[100] reverse(b), dimensions={0}
})");
  for (int64_t size : {int64_t{1} << 61, int64_t{-1}}) {
    const absl::Status status =
        BufferAssigner::Run(
            module_.get(),
            std::make_unique<SequentialHloOrdering>(module_->schedule()),
            [=](const BufferValue&) { return size; }, &alias_info_,
            [](BufferValue::Color) { return 16; }, {})
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(size > 0 ? " b>" : " p>"),
              std::string::npos)
        << status;
  }
}

TEST_F(BufferAssignerTest, EmptyArraysTakeNothing) {
  Assign(R"(
ENTRY e {
  p = f32[0] parameter(0)
  a = f32[0] negate(p)
  b = f32[0] reverse(a), dimensions={0}
  ROOT r = f32[4] parameter(1)
})");
  EXPECT_EQ(assignment_->GetStats().total_allocation_bytes, 16);
  EXPECT_EQ(Slice("a").size(), 0);
}

}  // namespace
}  // namespace xla
