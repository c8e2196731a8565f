#ifndef XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_H_
#define XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_live_range.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/hlo.pb.h"

namespace xla {

// Where each value of a module is in memory: a list of allocations and, for
// each value, an allocation and an offset. BufferAssigner makes them.
class BufferAssignment {
 public:
  // In bytes and allocations.
  struct Stats {
    int64_t parameter_allocation_count = 0;
    int64_t parameter_allocation_bytes = 0;
    int64_t constant_allocation_count = 0;
    int64_t constant_allocation_bytes = 0;
    int64_t maybe_live_out_allocation_count = 0;
    int64_t maybe_live_out_allocation_bytes = 0;
    int64_t preallocated_temp_allocation_count = 0;
    int64_t preallocated_temp_allocation_bytes = 0;
    int64_t preallocated_temp_fragmentation_bytes = 0;
    int64_t total_allocation_count = 0;
    int64_t total_allocation_bytes = 0;
  };

  const std::vector<BufferAllocation>& Allocations() const {
    return allocations_;
  }
  // The index must be below Allocations().size().
  const BufferAllocation& GetAllocation(BufferAllocation::Index index) const {
    return allocations_[index];
  }
  // Of scratch memory, in bytes.
  int64_t temp_allocation_total_size() const {
    return stats_.preallocated_temp_allocation_bytes;
  }

  bool HasAllocation(const HloValue& value) const {
    return allocation_of_value_.contains(&value);
  }
  bool HasAllocation(const HloBuffer& buffer) const {
    return HasAllocation(*buffer.values()[0]);
  }
  bool HasAllocationAt(const HloInstruction* instruction,
                       const ShapeIndex& index) const;
  bool HasTopLevelAllocation(const HloInstruction* instruction) const {
    return HasAllocationAt(instruction, {});
  }
  // It must have one.
  const BufferAllocation& GetAssignedAllocation(const HloValue& value) const {
    return allocations_[allocation_of_value_.at(&value)];
  }
  const BufferAllocation& GetAssignedAllocation(const HloBuffer& buffer) const {
    return GetAssignedAllocation(*buffer.values()[0]);
  }
  // That of the unique slice there; null if there is none.
  const BufferAllocation* GetInstructionAllocation(
      const HloInstruction* hlo, const ShapeIndex& shape_index) const;

  // The slices of all values that may be there.
  std::set<BufferAllocation::Slice> GetAllSlices(
      const HloInstruction* instruction, const ShapeIndex& index) const;
  // FailedPrecondition, naming the instruction, if there are none or several.
  absl::StatusOr<BufferAllocation::Slice> GetUniqueSlice(
      const HloInstruction* instruction, const ShapeIndex& index) const;
  absl::StatusOr<BufferAllocation::Slice> GetUniqueTopLevelSlice(
      const HloInstruction* instruction) const {
    return GetUniqueSlice(instruction, {});
  }
  absl::StatusOr<BufferAllocation::Slice> GetUniqueTopLevelOutputSlice() const;

  const std::vector<const HloValue*>& GetSourceBuffers(
      const HloInstruction* instruction, const ShapeIndex& index) const {
    return dataflow_analysis().GetValueSet(instruction, index).values();
  }

  // Whether both have unique slices, and these are the same.
  bool SharesSliceAtIndex(const HloInstruction* hlo_a,
                          const ShapeIndex& shape_index_a,
                          const HloInstruction* hlo_b,
                          const ShapeIndex& shape_index_b) const;
  bool SharesTopLevelSlice(const HloInstruction* hlo_a,
                           const HloInstruction* hlo_b) const {
    return SharesSliceAtIndex(hlo_a, {}, hlo_b, {});
  }
  // Whether no slices of the two at any index overlap.
  bool HaveDisjointSlices(const HloInstruction* hlo_a,
                          const HloInstruction* hlo_b) const;

  const HloModule& module() const { return *module_; }
  const HloOrdering& hlo_ordering() const { return *ordering_; }
  HloAliasAnalysis& alias_analysis() const { return *alias_analysis_; }
  const HloDataflowAnalysis& dataflow_analysis() const {
    return alias_analysis_->dataflow_analysis();
  }
  // Null if the module has no schedule.
  bool HasHloLiveRange() const { return live_range_ != nullptr; }
  const HloLiveRange& hlo_live_range() const { return *live_range_; }

  // The largest size of its values, in bytes.
  int64_t HloBufferSize(const HloBuffer& buffer) const;

  const Stats& GetStats() const { return stats_; }
  std::string ToString() const;
  // Sizes by kind, then the largest allocations, at most `max_allocations`.
  std::string MemoryUsageReport(int64_t max_allocations = 50) const;
  BufferAssignmentProto ToProto() const;

 private:
  friend class BufferAssigner;
  friend class BufferAssignmentBuilder;

  BufferAssignment(const HloModule* module,
                   std::unique_ptr<HloOrdering> ordering,
                   BufferValue::SizeFunction buffer_size,
                   std::unique_ptr<HloAliasAnalysis> alias_analysis)
      : module_(module),
        ordering_(std::move(ordering)),
        buffer_size_(std::move(buffer_size)),
        alias_analysis_(std::move(alias_analysis)) {}

  BufferAllocation& NewAllocation(int64_t size, BufferValue::Color color);
  void Assign(BufferAllocation& allocation, const HloValue& value,
              int64_t offset);
  void ComputeStats();

  const HloModule* module_;
  std::unique_ptr<HloOrdering> ordering_;
  BufferValue::SizeFunction buffer_size_;
  std::unique_ptr<HloAliasAnalysis> alias_analysis_;
  std::unique_ptr<HloLiveRange> live_range_;
  std::vector<BufferAllocation> allocations_;
  absl::flat_hash_map<const HloValue*, BufferAllocation::Index>
      allocation_of_value_;
  std::vector<HeapSimulatorTrace> heap_traces_;
  Stats stats_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_H_
