// Assignments as protos and as text, and what is read from these.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/buffers/buffer_assigner_test_base.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/buffer_assignment_sizes.h"
#include "xla/service/hlo.pb.h"

namespace xla {
namespace {

using BufferAssignmentProtoTest = BufferAssignerTestBase;

TEST_F(BufferAssignmentProtoTest, ProtoHoldsTheAssignment) {
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

TEST_F(BufferAssignmentProtoTest, ProtoHoldsPeaksWithoutASchedule) {
  AssignUnordered(R"(
ENTRY e {
  p = f32[20] parameter(0)
  q = f32[24] parameter(1)
  a = f32[20] reverse(p), dimensions={0}
  b = f32[24] reverse(q), dimensions={0}
  ROOT c = f32[44] concatenate(a, b), dimensions={0}
})");
  auto again = BufferAssignment::FromProto(assignment_->ToProto(),
                                           module_.get(), SizeOf, &alias_info_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->ToString(), assignment_->ToString());
  EXPECT_EQ((*again)->temp_allocation_total_size(), 80 + 96);
  for (const BufferAllocation& allocation : assignment_->Allocations()) {
    const auto& before = allocation.PeakMemoryLogicalBuffers();
    const auto& after =
        (*again)->GetAllocation(allocation.index()).PeakMemoryLogicalBuffers();
    ASSERT_EQ(before.size(), 1);
    ASSERT_EQ(after.size(), 1);
    EXPECT_EQ(before[0]->instruction(), after[0]->instruction());
  }
}

TEST_F(BufferAssignmentProtoTest, SlicesGoThroughProtos) {
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

TEST_F(BufferAssignmentProtoTest, SizesFromTheProto) {
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

TEST_F(BufferAssignmentProtoTest, PeakOfAProto) {
  const BufferAssignmentProto proto = HandMadeProto();
  auto peak = ComputePeakMemory(proto);
  ASSERT_TRUE(peak.ok()) << peak.status();
  EXPECT_EQ(*peak, 100 + 30 + 40);
  EXPECT_EQ(ComputeIndefiniteAllocationsInBytes(proto, 0), 128 + 1000);
  EXPECT_EQ(ComputeIndefiniteAllocationsInBytes(proto, 1), 0);
}

TEST_F(BufferAssignmentProtoTest, TakenAllocationsNameNoValues) {
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

TEST_F(BufferAssignmentProtoTest, PeaksOfAllAllocations) {
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

TEST_F(BufferAssignmentProtoTest, Texts) {
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

TEST_F(BufferAssignmentProtoTest, MemoryUsageAsAMessage) {
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

}  // namespace
}  // namespace xla
