#include "xla/hlo/analysis/buffers/buffer_assignment_sizes.h"

#include <algorithm>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using Sizes = absl::flat_hash_map<int64_t, int64_t>;  // by logical buffer

constexpr int64_t kPointerSize = 8;

bool HasTrace(const BufferAssignmentProto& proto, int64_t allocation) {
  for (const HeapSimulatorTrace& trace : proto.heap_simulator_traces()) {
    if (trace.buffer_allocation_index() == allocation &&
        trace.events_size() > 0) {
      return true;
    }
  }
  return false;
}

bool IsIndefinite(const BufferAssignmentProto& proto,
                  const BufferAllocationProto& allocation) {
  if (allocation.is_thread_local()) return false;
  return allocation.is_entry_computation_parameter() ||
         allocation.is_constant() || allocation.maybe_live_out() ||
         !HasTrace(proto, allocation.index());
}

// The most bytes that are live in a trace. Sharing buffers count once, with the
// size of the largest that has lived since the memory was last free.
absl::StatusOr<int64_t> PeakOfTrace(const HeapSimulatorTrace& trace,
                                    const Sizes& sizes) {
  struct Block {
    int64_t num_live = 0;
    int64_t size = 0;
  };
  absl::flat_hash_map<int64_t, Block> blocks;      // by first buffer
  absl::flat_hash_map<int64_t, int64_t> block_of;  // by buffer
  int64_t live = 0;
  int64_t peak = 0;
  for (const HeapSimulatorTrace::Event& event : trace.events()) {
    const int64_t id = event.buffer_id();
    auto bad = [&](const char* what) {
      return absl::InvalidArgumentError(absl::StrCat(
          "heap trace of allocation ", trace.buffer_allocation_index(),
          ": logical buffer ", id, " ", what));
    };
    auto size = sizes.find(id);
    if (size == sizes.end()) return bad("is unknown");
    if (event.kind() == HeapSimulatorTrace::Event::FREE) {
      auto it = block_of.find(id);
      if (it == block_of.end() || blocks[it->second].num_live == 0) {
        return bad("is freed and was not allocated");
      }
      Block& block = blocks[it->second];
      if (--block.num_live == 0) live -= block.size;
      continue;
    }
    int64_t first = id;
    if (event.kind() == HeapSimulatorTrace::Event::SHARE_WITH) {
      auto it = block_of.find(event.share_with_canonical_id());
      if (it == block_of.end()) return bad("shares with one that is not there");
      first = it->second;
    }
    block_of[id] = first;
    Block& block = blocks[first];
    const int64_t before = block.num_live++ > 0 ? block.size : 0;
    block.size = std::max(before, size->second);
    live += block.size - before;
    peak = std::max(peak, live);
  }
  return peak;
}

absl::StatusOr<int64_t> PeakOfTraces(const BufferAssignmentProto& proto,
                                     const Sizes& sizes) {
  int64_t total = 0;
  for (const HeapSimulatorTrace& trace : proto.heap_simulator_traces()) {
    TF_ASSIGN_OR_RETURN(const int64_t peak, PeakOfTrace(trace, sizes));
    total += peak;
  }
  return total;
}

Sizes PaddedSizes(const BufferAssignmentProto& proto) {
  Sizes sizes;
  for (const LogicalBufferProto& buffer : proto.logical_buffers()) {
    sizes[buffer.id()] = buffer.size();
  }
  return sizes;
}

}  // namespace

int64_t ComputeIndefiniteAllocationsInBytes(const BufferAssignmentProto& proto,
                                            int64_t memory_color) {
  int64_t bytes = 0;
  for (const BufferAllocationProto& allocation : proto.buffer_allocations()) {
    if (allocation.color() == memory_color && IsIndefinite(proto, allocation)) {
      bytes += allocation.size();
    }
  }
  return bytes;
}

int64_t ComputeTotalAllocationBytes(const BufferAssignmentProto& proto,
                                    int64_t memory_color) {
  int64_t bytes = 0;
  for (const BufferAllocationProto& allocation : proto.buffer_allocations()) {
    if (allocation.color() == memory_color) bytes += allocation.size();
  }
  return bytes;
}

absl::StatusOr<int64_t> ComputePeakMemory(const BufferAssignmentProto& proto) {
  TF_ASSIGN_OR_RETURN(int64_t bytes, PeakOfTraces(proto, PaddedSizes(proto)));
  for (const BufferAllocationProto& allocation : proto.buffer_allocations()) {
    if (IsIndefinite(proto, allocation)) bytes += allocation.size();
  }
  return bytes;
}

absl::StatusOr<PeakMemorySizes> ComputePeakMemorySizes(
    const BufferAssignmentProto& proto,
    const HloModuleProto& hlo_module_proto) {
  PeakMemorySizes sizes;
  TF_ASSIGN_OR_RETURN(sizes.padded, ComputePeakMemory(proto));
  TF_ASSIGN_OR_RETURN(const Sizes unpadded, ComputeLogicalBufferUnpaddedSizes(
                                                hlo_module_proto, proto));
  TF_ASSIGN_OR_RETURN(sizes.unpadded, PeakOfTraces(proto, unpadded));
  for (const BufferAllocationProto& allocation : proto.buffer_allocations()) {
    if (!IsIndefinite(proto, allocation)) continue;
    int64_t largest = 0;
    for (const auto& assigned : allocation.assigned()) {
      auto it = unpadded.find(assigned.logical_buffer_id());
      if (it != unpadded.end()) largest = std::max(largest, it->second);
    }
    sizes.unpadded += largest;
  }
  return sizes;
}

absl::StatusOr<Sizes> ComputeLogicalBufferUnpaddedSizes(
    const HloModuleProto& hlo_module_proto,
    const BufferAssignmentProto& buffer_assignment_proto) {
  absl::flat_hash_map<int64_t, const HloInstructionProto*> instructions;
  for (const auto& computation : hlo_module_proto.computations()) {
    for (const HloInstructionProto& inst : computation.instructions()) {
      instructions[inst.id()] = &inst;
    }
  }
  Sizes sizes;
  for (const LogicalBufferProto& buffer :
       buffer_assignment_proto.logical_buffers()) {
    auto bad = [&](const char* what) {
      return absl::InvalidArgumentError(
          absl::StrCat("logical buffer ", buffer.id(), " at instruction ",
                       buffer.defined_at().instruction_id(), " ", what));
    };
    auto it = instructions.find(buffer.defined_at().instruction_id());
    if (it == instructions.end()) return bad("is not of this module");
    TF_ASSIGN_OR_RETURN(const Shape shape,
                        Shape::FromProto(it->second->shape()));
    TF_RETURN_IF_ERROR(ShapeUtil::ValidateShapeWithOptionalLayout(shape));
    ShapeIndex index;
    for (int64_t i : buffer.defined_at().shape_index()) index.push_back(i);
    if (!ShapeUtil::IndexIsValid(shape, index)) return bad("has no such index");
    const Shape& own = ShapeUtil::GetSubshape(shape, index);
    sizes[buffer.id()] = own.IsTuple()
                             ? kPointerSize * own.tuple_shapes().size()
                         : own.IsArray() ? ShapeUtil::ByteSizeOfElements(own)
                                         : 0;
  }
  return sizes;
}

}  // namespace xla
