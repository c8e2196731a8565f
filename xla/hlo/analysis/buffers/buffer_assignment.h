#ifndef XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_H_
#define XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/service/buffer_assignment.pb.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

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

  // Which values get memory of their own, to find out-of-bounds writes.
  struct BufferIsolationOptions {
    // The order of values; null: by id.
    std::function<bool(const HloValue*, const HloValue*)> hlo_value_compare;
    buffer_assignment::BufferIsolationConfig config;
  };

  const std::vector<BufferAllocation>& Allocations() const {
    return allocations_;
  }
  // Leaves none. The allocations returned have no values, since these belong to
  // the analyses.
  std::vector<BufferAllocation> TakeAllocations();
  // Pre: index < Allocations().size().
  const BufferAllocation& GetAllocation(BufferAllocation::Index index) const {
    return allocations_[index];
  }
  // Bytes of scratch memory.
  int64_t temp_allocation_total_size() const {
    return stats_.preallocated_temp_allocation_bytes;
  }

  // The largest size of a block of a color that has several, in bytes; 0 if
  // the memory of a color is not split. This is the page size of the module's
  // config, if set, else that of its debug options.
  uint64_t multiheap_size_constraint_per_heap() const {
    const HloModuleConfig& config = module_->config();
    if (config.page_size_kib() > 0) {
      return uint64_t{1024} * static_cast<uint64_t>(config.page_size_kib());
    }
    return std::max<int64_t>(
        0, config.debug_options().xla_multiheap_size_constraint_per_heap());
  }

  bool HasAllocation(const HloValue& value) const {
    return HasAllocation(value.id());
  }
  bool HasAllocation(HloValue::Id value_id) const {
    return value_id < allocation_of_value_.size() &&
           allocation_of_value_[value_id] >= 0;
  }
  bool HasAllocation(const HloBuffer& buffer) const {
    return HasAllocation(*buffer.values()[0]);
  }
  bool HasAllocationAt(const HloInstruction* instruction,
                       const ShapeIndex& index) const;
  bool HasTopLevelAllocation(const HloInstruction* instruction) const {
    return HasAllocationAt(instruction, {});
  }
  // Pre: it has one.
  const BufferAllocation& GetAssignedAllocation(const HloValue& value) const {
    return allocations_[allocation_of_value_[value.id()]];
  }
  const BufferAllocation& GetAssignedAllocation(const HloBuffer& buffer) const {
    return GetAssignedAllocation(*buffer.values()[0]);
  }
  // The allocation of the unique slice there; null if there is none.
  const BufferAllocation* GetInstructionAllocation(
      const HloInstruction* hlo, const ShapeIndex& shape_index) const;

  // The slices of all values that may be at the position.
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
  // The shape of the value that defines the unique slice.
  absl::StatusOr<Shape> GetShapeForUniqueSlice(
      const HloInstruction* instruction, const ShapeIndex& index) const;

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
  // Whether the slices of the two are disjoint at all indices.
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
  int64_t ValueSize(const HloValue& value) const { return buffer_size_(value); }

  const Stats& GetStats() const { return stats_; }

  // All allocations with their values; the values alone, by allocation.
  std::string ToString() const;
  std::string ValuesToString() const;
  // Sizes by kind, and by color.
  std::string StatsString(const AliasInfo* alias_info) const;
  // The same with the largest allocations and their largest values.
  std::string ToVerboseString(const AliasInfo* alias_info,
                              size_t max_buffers_to_show) const;
  // Sizes by kind; then allocations in the order of size, each with its largest
  // values (see BufferAllocation::MemoryUsageReport).
  std::string MemoryUsageReport(float percentile = 0.05,
                                int64_t more_than_k = 50,
                                bool print_shape_layout = false) const;
  // The same as a message: for each color its bytes and its allocations,
  // largest first, each with the cumulative size and its percentage of the
  // color's bytes; where their values are defined, largest first; and the text
  // of the instruction that defines the largest.
  MemoryUsageReportProto GetMemoryUsageReportProto(
      float percentile = 0.05, int64_t more_than_k = 50) const;
  // A line `id,offset,size,allocation,start,end,name` for each value, by id;
  // times are empty without a schedule.
  std::string BufferInfoString() const;

  BufferAssignmentProto ToProto() const;
  void ToProto(BufferAssignmentProto* proto) const { *proto = ToProto(); }
  // The assignment that was written for this module, whose instructions must
  // have kept their ids. InvalidArgument, naming the mismatch, otherwise.
  // `alias_info` may be null (defaults).
  static absl::StatusOr<std::unique_ptr<BufferAssignment>> FromProto(
      const BufferAssignmentProto& proto, const HloModule* module,
      BufferValue::SizeFunction buffer_size, const AliasInfo* alias_info);

  // For code that builds an assignment. References to allocations are valid
  // until the next is made.
  BufferAllocation* NewEmptyAllocation(int64_t size, BufferValue::Color color);
  BufferAllocation* GetMutableAllocation(BufferAllocation::Index index) {
    return &allocations_[index];
  }
  // Adds a value, which must not have an allocation, to one.
  void AddAssignment(BufferAllocation* allocation, const HloValue& value,
                     int64_t offset);
  void ClearAllocations();
  // Computes the statistics and the values live at the peak of scratch memory.
  void Finalize();

 private:
  friend class BufferAssigner;
  friend class BufferAssignmentBuilder;  // of live_range_

  BufferAssignment(const HloModule* module,
                   std::unique_ptr<HloOrdering> ordering,
                   BufferValue::SizeFunction buffer_size,
                   std::unique_ptr<HloAliasAnalysis> alias_analysis)
      : module_(module),
        ordering_(std::move(ordering)),
        buffer_size_(std::move(buffer_size)),
        alias_analysis_(std::move(alias_analysis)) {}

  void FindPeakBuffers(BufferAllocation& allocation) const;
  // Puts the scratch allocations of each color one after another into one, or
  // as many as it takes if the memory of a color is split (see LayOutScratch);
  // these come last. Those of color 0 get `temp_color`. Call before Finalize,
  // which finds statistics and peaks.
  void CombineTemporaries(const BufferValue::AlignmentFunction& alignment,
                          std::optional<BufferValue::Color> temp_color);

  const HloModule* module_;
  std::unique_ptr<HloOrdering> ordering_;
  BufferValue::SizeFunction buffer_size_;
  std::unique_ptr<HloAliasAnalysis> alias_analysis_;
  std::unique_ptr<HloLiveRange> live_range_;
  std::vector<BufferAllocation> allocations_;
  std::vector<BufferAllocation::Index> allocation_of_value_;  // by id; -1: none
  Stats stats_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_H_
