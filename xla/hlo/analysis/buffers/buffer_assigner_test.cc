// Modules with a schedule.

#include "xla/hlo/analysis/buffers/buffer_assigner.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/buffers/buffer_assigner_test_base.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/buffer_assignment_sizes.h"
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

TEST_F(BufferAssignerTest, ResultsLendTheirMemoryToTemporariesOfTheirSize) {
  Assign(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  b = f32[50] slice(a), slice={[0:50]}
  c = f32[50] reverse(b), dimensions={0}
  ROOT d = f32[100] concatenate(b, c), dimensions={0}
})");
  EXPECT_TRUE(Share("a", "d"));
  // b and c, each in a multiple of 16 bytes.
  EXPECT_EQ(assignment_->temp_allocation_total_size(), 408);
}

// a is dead when the result is computed, b is not.
TEST_F(BufferAssignerTest, ResultsLendTheirMemoryToSmallerTemporaries) {
  Assign(R"(
ENTRY e {
  p = f32[10] parameter(0)
  a = f32[10] reverse(p), dimensions={0}
  b = f32[10] reverse(a), dimensions={0}
  ROOT d = f32[20] concatenate(b, b), dimensions={0}
})");
  EXPECT_EQ(Slice("a").allocation(), Slice("d").allocation());
  EXPECT_EQ(Slice("a").offset(), 0);
  EXPECT_NE(Slice("b").allocation(), Slice("d").allocation());
  EXPECT_EQ(Allocation("d").size(), 80);
  EXPECT_TRUE(Allocation("d").maybe_live_out());
}

// Each temporary takes the smallest memory that it fits into; results take
// memory of their own size only.
TEST_F(BufferAssignerTest, TheSmallestMemoryThatFitsIsLent) {
  Assign(R"(
ENTRY e {
  p = f32[8] parameter(0)
  a = f32[8] reverse(p), dimensions={0}
  b = f32[6] slice(a), slice={[0:6]}
  m = f32[12] concatenate(b, b), dimensions={0}
  l = f32[24] concatenate(m, m), dimensions={0}
  ROOT t = (f32[24], f32[12]) tuple(l, m)
})");
  EXPECT_EQ(Slice("a").allocation(), Slice("m").allocation());
  EXPECT_EQ(Slice("b").allocation(), Slice("l").allocation());
  EXPECT_NE(Slice("m").allocation(), Slice("l").allocation());
  EXPECT_EQ(assignment_->temp_allocation_total_size(), 0);
}

// When b is computed from a in r's memory, that of s is free as well, and
// smaller.
constexpr absl::string_view kOperandOfResultsMemory = R"(
ENTRY e {
  p = f32[8] parameter(0)
  c = f32[8] reverse(p), dimensions={0}
  a = f32[4] slice(p), slice={[0:4]}
  d = f32[4] slice(c), slice={[0:4]}
  b = f32[4] $0
  e = f32[4] add(b, d)
  s = f32[8] concatenate(e, e), dimensions={0}
  r = f32[16] concatenate(s, s), dimensions={0}
  ROOT t = (f32[16], f32[8]) tuple(r, s)
})";

TEST_F(BufferAssignerTest, TheMemoryOfAnOperandIsLentFirst) {
  Assign(absl::StrReplaceAll(kOperandOfResultsMemory, {{"$0", "negate(a)"}}));
  EXPECT_EQ(Slice("c").allocation(), Slice("s").allocation());
  EXPECT_EQ(Slice("a").allocation(), Slice("r").allocation());
  EXPECT_EQ(Slice("b").allocation(), Slice("r").allocation());
}

TEST_F(BufferAssignerTest, MemoryIsNotLentToReadersThatDoNotWriteInPlace) {
  for (absl::string_view reader : {"reverse(a), dimensions={0}", "copy(a)"}) {
    Assign(absl::StrReplaceAll(kOperandOfResultsMemory, {{"$0", reader}}));
    EXPECT_EQ(Slice("a").allocation(), Slice("r").allocation()) << reader;
    EXPECT_EQ(Slice("b").allocation(), Slice("s").allocation()) << reader;
  }
}

// f adds c, element by element, and b in reverse, which are one value.
constexpr absl::string_view kReadThroughBitcasts = R"(
fused {
  p0 = f32[16,16] parameter(0)
  p1 = f32[256] parameter(1)
  v = f32[256] reverse(p1), dimensions={0}
  w = f32[16,16] reshape(v)
  ROOT s = f32[16,16] add(p0, w)
}
ENTRY e {
  p = f32[16,16] parameter(0)
  q = f32[4,64] parameter(1)
  $0
  f = f32[16,16] fusion(c, b), kind=kLoop, calls=fused
  $1
})";

constexpr absl::string_view kWaysToReadIt[] = {
    "a = f32[4,64] negate(q) c = f32[16,16] bitcast(a) b = f32[256] bitcast(c)",
    "a = f32[4,64] negate(q) b = f32[256] bitcast(a) c = f32[16,16] bitcast(a)",
    "c = f32[16,16] negate(p) a = f32[256] bitcast(c) b = f32[256] bitcast(a)",
};

TEST_F(BufferAssignerTest, WhatIsReadThroughBitcastsIsNotWrittenOver) {
  for (absl::string_view way : kWaysToReadIt) {
    for (absl::string_view result :
         {"ROOT t = (f32[16,16]) tuple(f)",
          "ROOT t = f32[1,1] slice(f), slice={[0:1], [0:1]}"}) {
      Assign(absl::StrReplaceAll(kReadThroughBitcasts,
                                 {{"$0", way}, {"$1", result}}));
      EXPECT_FALSE(Slice("c").OverlapsWith(Slice("f"))) << way << result;
    }
  }
}

TEST_F(BufferAssignerTest, CheckerSeesWhatIsReadThroughBitcasts) {
  for (absl::string_view way : kWaysToReadIt) {
    Assign(absl::StrReplaceAll(
        kReadThroughBitcasts,
        {{"$0", way}, {"$1", "ROOT t = (f32[16,16]) tuple(f)"}}));
    BufferAssignment& assignment = *assignment_;
    assignment.AddAssignment(
        assignment.GetMutableAllocation(Slice("f").index()),
        assignment.dataflow_analysis().GetUniqueValueAt(Find("c")), 0);
    const absl::Status status = CheckBufferAssignment(assignment, &alias_info_);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << way;
  }
}

// The last of the results is the first to lend.
TEST_F(BufferAssignerTest, OfEqualSizesTheLastResultLends) {
  Assign(R"(
ENTRY e {
  p = f32[8] parameter(0)
  a = f32[8] reverse(p), dimensions={0}
  b = f32[4] slice(a), slice={[0:4]}
  c = f32[8] concatenate(b, b), dimensions={0}
  d = f32[8] reverse(c), dimensions={0}
  ROOT t = (f32[8], f32[8]) tuple(c, d)
})");
  EXPECT_EQ(Slice("a").allocation(), Slice("d").allocation());
}

TEST_F(BufferAssignerTest, AliasedParameterIsWrittenOverAndLent) {
  Parse(R"(
HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[50] slice(p), slice={[0:50]}
  b = f32[100] concatenate(a, a), dimensions={0}
  c = f32[50] slice(b), slice={[20:70]}
  ROOT r = f32[100] concatenate(c, c), dimensions={0}
})");
  const absl::Status status = TryAssign();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(Share("p", "r"));
  EXPECT_TRUE(Share("p", "b"));
  EXPECT_TRUE(Allocation("p").is_parameter_aliased_with_output());
  EXPECT_FALSE(Allocation("p").is_readonly());
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

constexpr absl::string_view kLoop = R"(
body {
  bp = (s32[], f32[100]) parameter(0)
  i = s32[] get-tuple-element(bp), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[100] get-tuple-element(bp), index=1
  t1 = f32[200] concatenate(x, x), dimensions={0}
  y = f32[100] slice(t1), slice={[50:150]}
  ROOT bt = (s32[], f32[100]) tuple(next, y)
}
cond {
  cp = (s32[], f32[100]) parameter(0)
  ci = s32[] get-tuple-element(cp), index=0
  ten = s32[] constant(10)
  ROOT lt = pred[] compare(ci, ten), direction=LT
}
ENTRY e {
  z = s32[] constant(0)
  zc = s32[] copy(z)
  p = f32[100] parameter(0)
  n = f32[100] negate(p)
  init = (s32[], f32[100]) tuple(zc, n)
  w = (s32[], f32[100]) while(init), condition=cond, body=body
  ROOT r = f32[100] get-tuple-element(w), index=1
})";

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

TEST_F(BufferAssignerTest, ProtoHoldsTheAssignment) {
  Assign(kLoop);
  const BufferAssignmentProto proto = assignment_->ToProto();
  auto again =
      BufferAssignment::FromProto(proto, module_.get(), SizeOf, &alias_info_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->ToString(), assignment_->ToString());
  EXPECT_EQ((*again)->GetStats().total_allocation_bytes,
            assignment_->GetStats().total_allocation_bytes);

  BufferAssignmentProto broken = proto;
  broken.mutable_logical_buffers(0)->mutable_defined_at()->set_instruction_id(
      1'000'000);
  EXPECT_EQ(
      BufferAssignment::FromProto(broken, module_.get(), SizeOf, &alias_info_)
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
  broken = proto;
  broken.mutable_buffer_allocations(0)->mutable_assigned(0)->set_offset(1);
  EXPECT_FALSE(
      BufferAssignment::FromProto(broken, module_.get(), SizeOf, &alias_info_)
          .ok());
}

TEST_F(BufferAssignerTest, SlicesGoThroughProtos) {
  Assign(kLoop);
  const BufferAllocation::Slice slice = Slice("t1");
  auto proto = slice.ToProto();
  ASSERT_TRUE(proto.ok()) << proto.status();
  auto again =
      BufferAllocation::Slice::FromProto(*proto, assignment_->Allocations());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, slice);
  EXPECT_EQ(again->element_type(), F32);
  EXPECT_EQ(absl::StrCat(slice), slice.ToString());
  proto->set_buffer_allocation_index(99);
  EXPECT_EQ(
      BufferAllocation::Slice::FromProto(*proto, assignment_->Allocations())
          .status()
          .code(),
      absl::StatusCode::kOutOfRange);
  EXPECT_FALSE(BufferAllocation::Slice().ToProto().ok());
}

TEST_F(BufferAssignerTest, SizesFromTheProto) {
  Assign(kLoop);
  const BufferAssignmentProto proto = assignment_->ToProto();
  const BufferAssignment::Stats& stats = assignment_->GetStats();
  EXPECT_EQ(ComputeTotalAllocationBytes(proto, 0),
            stats.total_allocation_bytes);
  EXPECT_EQ(ComputeTotalAllocationBytes(proto, 1), 0);
  auto peak = ComputePeakMemory(proto);
  ASSERT_TRUE(peak.ok()) << peak.status();
  EXPECT_EQ(*peak, stats.total_allocation_bytes -
                       stats.preallocated_temp_fragmentation_bytes);
  auto sizes = ComputePeakMemorySizes(proto, module_->ToProto());
  ASSERT_TRUE(sizes.ok()) << sizes.status();
  EXPECT_EQ(sizes->padded, *peak);
  EXPECT_LE(sizes->unpadded, sizes->padded);
}

// A parameter of 100 and 60 bytes, scratch memory with a trace, and memory of
// threads.
BufferAssignmentProto HandMadeProto() {
  BufferAssignmentProto proto;
  for (int64_t id = 1; id <= 6; ++id) {
    LogicalBufferProto* buffer = proto.add_logical_buffers();
    buffer->set_id(id);
    buffer->set_size(id == 1 ? 100 : id == 2 ? 60 : 10 * id);
  }
  auto add = [&](int64_t index, int64_t size, std::vector<int64_t> ids) {
    BufferAllocationProto* allocation = proto.add_buffer_allocations();
    allocation->set_index(index);
    allocation->set_size(size);
    for (int64_t id : ids) {
      allocation->add_assigned()->set_logical_buffer_id(id);
    }
    return allocation;
  };
  add(0, 128, {1, 2, 99})->set_is_entry_computation_parameter(true);
  add(1, 90, {3, 4, 5});
  add(2, 1000, {6})->set_is_thread_local(true);
  HeapSimulatorTrace* trace = proto.add_heap_simulator_traces();
  using Event = HeapSimulatorTrace::Event;
  auto event = [&](Event::Kind kind, int64_t id, int64_t with = 0) {
    Event* event = trace->add_events();
    event->set_kind(kind);
    event->set_buffer_id(id);
    event->set_share_with_canonical_id(with);
  };
  event(Event::ALLOC, 2);  // of the parameter
  event(Event::ALLOC, 3);
  event(Event::ALLOC, 4);
  event(Event::SHARE_WITH, 5, 4);
  event(Event::FREE, 4);
  event(Event::FREE, 5);
  event(Event::FREE, 3);
  event(Event::FREE, 2);
  return proto;
}

TEST_F(BufferAssignerTest, PeakOfAProto) {
  const BufferAssignmentProto proto = HandMadeProto();
  auto peak = ComputePeakMemory(proto);
  ASSERT_TRUE(peak.ok()) << peak.status();
  EXPECT_EQ(*peak, 100 + 30 + 40);
  EXPECT_EQ(ComputeIndefiniteAllocationsInBytes(proto, 0), 128 + 1000);
  EXPECT_EQ(ComputeIndefiniteAllocationsInBytes(proto, 1), 0);
}

TEST_F(BufferAssignerTest, TakenAllocationsNameNoValues) {
  Assign(kLoop);
  const size_t count = assignment_->Allocations().size();
  std::vector<BufferAllocation> taken = assignment_->TakeAllocations();
  EXPECT_EQ(taken.size(), count);
  EXPECT_TRUE(assignment_->Allocations().empty());
  for (const BufferAllocation& allocation : taken) {
    EXPECT_TRUE(allocation.assigned_buffers().empty());
    EXPECT_TRUE(allocation.PeakMemoryLogicalBuffers().empty());
    EXPECT_TRUE(allocation.CrossColorBuffers().empty());
  }
}

TEST_F(BufferAssignerTest, PeaksOfAllAllocations) {
  Assign(kLoop);
  for (const BufferAllocation& allocation : assignment_->Allocations()) {
    EXPECT_FALSE(allocation.PeakMemoryLogicalBuffers().empty());
    // Values that are there one after the other are not there together.
    int64_t bytes = 0;
    for (const HloValue* value : allocation.PeakMemoryLogicalBuffers()) {
      bytes += allocation.GetSlice(*value).size();
    }
    EXPECT_LE(bytes, allocation.size()) << allocation;
  }
}

TEST_F(BufferAssignerTest, Texts) {
  Assign(kLoop);
  EXPECT_NE(assignment_->ToString().find("preallocated-temp"),
            std::string::npos);
  EXPECT_NE(assignment_->MemoryUsageReport().find("t1"), std::string::npos);
  EXPECT_NE(assignment_->BufferInfoString().find("id,offset,size"),
            std::string::npos);
  const std::string few =
      assignment_->ToVerboseString(&alias_info_, /*max_buffers_to_show=*/1);
  EXPECT_LT(few.size(), assignment_->ToVerboseString(&alias_info_, 100).size());
}

TEST_F(BufferAssignerTest, MemoryUsageAsAMessage) {
  Assign(kLoop);
  const MemoryUsageReportProto report =
      assignment_->GetMemoryUsageReportProto();
  ASSERT_EQ(report.memory_space_allocation_entries_size(), 1);
  const auto& space = report.memory_space_allocation_entries(0);
  EXPECT_EQ(space.memory_space_color(), 0);
  EXPECT_EQ(space.total_bytes(),
            assignment_->GetStats().total_allocation_bytes);
  ASSERT_EQ(space.allocation_entries_size(), assignment_->Allocations().size());
  int64_t sum = 0;
  for (const auto& entry : space.allocation_entries()) {
    const BufferAllocation& allocation =
        assignment_->GetAllocation(entry.index());
    EXPECT_EQ(entry.size(), allocation.size());
    EXPECT_EQ(entry.cumulative_size(), sum += entry.size());
    EXPECT_EQ(entry.defining_positions_size(),
              allocation.assigned_buffers().size());
    EXPECT_NE(entry.hlo_text().find(" = "), std::string::npos);
  }
  EXPECT_EQ(space.allocation_entries().rbegin()->cumulative_percentage(), 100);
  // None of the small allocations is listed.
  EXPECT_EQ(assignment_
                ->GetMemoryUsageReportProto(/*percentile=*/1.1,
                                            /*more_than_k=*/1)
                .memory_space_allocation_entries(0)
                .allocation_entries_size(),
            1);
}

TEST_F(BufferAssignerTest, CheckerSeesOverlap) {
  Assign(kLoop);
  BufferAssignment& assignment = *assignment_;
  const auto& dataflow = assignment.dataflow_analysis();
  const HloValue& t1 = dataflow.GetValueDefinedAt(Find("t1"));
  // A slice cannot be written over what it is cut from.
  const HloValue& y = dataflow.GetValueDefinedAt(Find("y"));
  assignment.AddAssignment(assignment.GetMutableAllocation(Slice("t1").index()),
                           y, Slice("t1").offset());
  const absl::Status status = CheckBufferAssignment(assignment, &alias_info_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(status.message().find(t1.ToShortString()), std::string::npos);
  // The state of the loop is no longer in one place.
  const absl::Status replayed =
      ReplayBufferAssignment(assignment, module_->schedule());
  EXPECT_EQ(replayed.code(), absl::StatusCode::kInternal) << replayed;
}

TEST_F(BufferAssignerTest, ReplayTellsMissingCopiesFromOverlap) {
  // The update is written into `a`, which is read once more.
  Assign(R"(
ENTRY e {
  p = f32[100] parameter(0)
  i = s32[] parameter(1)
  a = f32[100] negate(p)
  u = f32[1] slice(p), slice={[0:1]}
  d = f32[100] dynamic-update-slice(a, u, i)
  ROOT r = f32[100] add(d, a)
})");
  std::vector<MissingCopy> missing;
  const absl::Status status =
      ReplayBufferAssignment(*assignment_, module_->schedule(), &missing);
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_EQ(missing.size(), 1);
  EXPECT_EQ(missing[0].reader, Find("r"));
  EXPECT_EQ(missing[0].value->instruction(), Find("a"));
  EXPECT_EQ(missing[0].written->instruction(), Find("d"));
}

// The end of an asynchronous update in place does not read what it replaced.
TEST_F(BufferAssignerTest, ReplayOfAsynchronousUpdates) {
  const std::string text = R"(
update {
  old = f32[100] parameter(0)
  part = f32[50] parameter(1)
  at = s32[] parameter(2)
  ROOT new = f32[100] dynamic-update-slice(old, part, at)
}
ENTRY e {
  p = f32[100] parameter(0)
  b = f32[50] parameter(1)
  i = s32[] parameter(2)
  x = f32[100] negate(p)
  s = ((f32[100], f32[50], s32[]), f32[100], u32[]) async-start(x, b, i), calls=update
  d = f32[100] async-done(s)
  ROOT r = f32[100] add(d, %s)
})";
  for (const bool reads_again : {false, true}) {
    Assign(absl::StrReplaceAll(text, {{"%s", reads_again ? "x" : "d"}}));
    std::vector<MissingCopy> missing;
    const absl::Status status =
        ReplayBufferAssignment(*assignment_, module_->schedule(), &missing);
    EXPECT_TRUE(status.ok()) << status;
    ASSERT_EQ(missing.size(), reads_again ? 1 : 0);
    for (const MissingCopy& copy : missing) EXPECT_EQ(copy.reader, Find("r"));
  }
}

TEST_F(BufferAssignerTest, ReplaySeesWhatIsWrittenOver) {
  Assign(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  b = f32[100] reverse(p), dimensions={0}
  c = f32[100] add(a, b)
  ROOT d = f32[50] slice(c), slice={[0:50]}
})");
  const HloValue& b =
      assignment_->dataflow_analysis().GetValueDefinedAt(Find("b"));
  assignment_->AddAssignment(
      assignment_->GetMutableAllocation(Slice("a").index()), b,
      Slice("a").offset());
  const absl::Status status =
      ReplayBufferAssignment(*assignment_, module_->schedule());
  EXPECT_NE(status.message().find("memory replay at c: <1 a> is read after"),
            std::string::npos)
      << status;
}

}  // namespace
}  // namespace xla
