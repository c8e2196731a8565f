#include "xla/hlo/analysis/buffers/buffer_assignment_sizes.h"

#include <algorithm>
#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
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

bool IsIndefinite(const BufferAllocationProto& allocation) {
  return allocation.is_entry_computation_parameter() ||
         allocation.is_constant() || allocation.maybe_live_out();
}

// Allocations that live as long as the module: in them are these buffers, and
// the largest of each counts.
struct Indefinite {
  absl::flat_hash_set<int64_t> buffers;
  int64_t bytes = 0;
};

// Scratch memory that no trace describes is there all the time, too.
Indefinite FindIndefinite(const BufferAssignmentProto& proto,
                          const Sizes& sizes) {
  absl::flat_hash_set<int64_t> traced;
  for (const HeapSimulatorTrace& trace : proto.heap_simulator_traces()) {
    for (const auto& event : trace.events()) traced.insert(event.buffer_id());
  }
  Indefinite result;
  for (const BufferAllocationProto& allocation : proto.buffer_allocations()) {
    if (allocation.is_thread_local()) continue;
    const bool is_traced =
        absl::c_any_of(allocation.assigned(), [&](const auto& assigned) {
          return traced.contains(assigned.logical_buffer_id());
        });
    if (!IsIndefinite(allocation) && is_traced) continue;
    int64_t largest = 0;
    for (const auto& assigned : allocation.assigned()) {
      auto it = sizes.find(assigned.logical_buffer_id());
      if (it == sizes.end()) continue;
      result.buffers.insert(it->first);
      largest = std::max(largest, it->second);
    }
    result.bytes += largest;
  }
  return result;
}

// The most bytes that are live in a trace, without those of `elsewhere`. What
// shares with a buffer costs nothing while that memory is taken.
// A block is live until the last of its buffers has been freed, whichever came
// first; its size is that of the buffer which opened it.
absl::StatusOr<int64_t> PeakOfTrace(
    const HeapSimulatorTrace& trace, const Sizes& sizes,
    const absl::flat_hash_set<int64_t>& elsewhere) {
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
    if (elsewhere.contains(id)) continue;
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
        return bad("is freed without having been allocated");
      }
      Block& block = blocks[it->second];
      if (--block.num_live == 0) live -= block.size;
      continue;
    }
    int64_t first = id;
    if (event.kind() == HeapSimulatorTrace::Event::SHARE_WITH &&
        !elsewhere.contains(event.share_with_canonical_id())) {
      auto it = block_of.find(event.share_with_canonical_id());
      if (it == block_of.end())
        return bad("shares with a buffer that does not exist");
      first = it->second;
    }
    block_of[id] = first;
    Block& block = blocks[first];
    if (block.num_live++ > 0) continue;
    block.size = size->second;
    live += block.size;
    peak = std::max(peak, live);
  }
  return peak;
}

absl::StatusOr<int64_t> PeakBytes(const BufferAssignmentProto& proto,
                                  const Sizes& sizes) {
  const Indefinite indefinite = FindIndefinite(proto, sizes);
  int64_t total = indefinite.bytes;
  for (const HeapSimulatorTrace& trace : proto.heap_simulator_traces()) {
    TF_ASSIGN_OR_RETURN(const int64_t peak,
                        PeakOfTrace(trace, sizes, indefinite.buffers));
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
    if (allocation.color() == memory_color &&
        (allocation.is_thread_local() || IsIndefinite(allocation))) {
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
  return PeakBytes(proto, PaddedSizes(proto));
}

absl::StatusOr<PeakMemorySizes> ComputePeakMemorySizes(
    const BufferAssignmentProto& proto,
    const HloModuleProto& hlo_module_proto) {
  PeakMemorySizes sizes;
  TF_ASSIGN_OR_RETURN(sizes.padded, ComputePeakMemory(proto));
  TF_ASSIGN_OR_RETURN(const Sizes unpadded, ComputeLogicalBufferUnpaddedSizes(
                                                hlo_module_proto, proto));
  TF_ASSIGN_OR_RETURN(sizes.unpadded, PeakBytes(proto, unpadded));
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
