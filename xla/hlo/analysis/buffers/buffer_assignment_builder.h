#ifndef XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_BUILDER_H_
#define XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_BUILDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/buffer_reuse.h"
#include "xla/hlo/analysis/buffers/lent_memory.h"
#include "xla/hlo/analysis/buffers/value_chains.h"
#include "xla/hlo/analysis/heap/heap_result.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace xla {

// Builds one assignment; see BufferAssigner.
class BufferAssignmentBuilder {
 public:
  BufferAssignmentBuilder(BufferAssigner* assigner,
                          BufferAssignment* assignment,
                          const AliasInfo* alias_info,
                          const BufferValue::AlignmentFunction& alignment,
                          const BufferAssigner::Options& options)
      : assigner_(*assigner),
        assignment_(*assignment),
        alias_(assignment->alias_analysis()),
        alias_info_(alias_info),
        alignment_(alignment),
        options_(options),
        schedule_(&assignment->module()) {}

  absl::Status Run();

 private:
  // The key of a heap: a color, and 0 for its private stacks, else -1.
  using HeapKey = std::pair<BufferValue::Color, int64_t>;

  struct Kind {
    bool is_constant = false;
    bool is_global = false;
    bool is_thread_local = false;
    bool lives_out = false;
    const HloValue* parameter = nullptr;  // of the entry
  };

  absl::Status CheckSizes() const;
  // Takes the schedule of the ordering, and computes live ranges if it is
  // complete.
  absl::Status FindLiveRanges();
  absl::Status AssignPresets();
  std::vector<const HloBuffer*> OrderedBuffers() const;
  Kind KindOf(const HloBuffer& buffer) const;
  absl::Status AssignBuffer(const HloBuffer& buffer);
  // Without a schedule: puts the buffer into some existing allocation / into
  // this one.
  absl::StatusOr<bool> Reuse(const HloBuffer& buffer);
  absl::StatusOr<bool> TryAllocation(BufferAllocation* allocation,
                                     const HloBuffer& buffer);
  // Whether one is a copy of the other and must not share its memory.
  bool IsCopy(const HloValue& a, const HloValue& b) const;
  void AssignAlone(const HloBuffer& buffer, BufferValue::Color color,
                   const Kind& kind);
  // Results may come after temporaries that could be in their memory.
  void LendToTemporaries();
  int64_t PrivateStackOf(const HloBuffer& buffer,
                         BufferValue::Color color) const;
  absl::Status AssignTemporaries(const HeapKey& key,
                                 const std::vector<const HloValue*>& values);
  void AssignHeap(const HeapKey& key, const HeapResultOf<HloValue>& heap,
                  int64_t page);

  BufferAssigner& assigner_;
  BufferAssignment& assignment_;
  const HloAliasAnalysis& alias_;
  const AliasInfo* alias_info_;
  const BufferValue::AlignmentFunction& alignment_;
  const BufferAssigner::Options& options_;
  HloSchedule schedule_;
  std::vector<const HloComputation*> global_list_;
  std::vector<const HloComputation*> thread_local_list_;
  absl::flat_hash_set<const HloComputation*> global_;
  absl::flat_hash_set<const HloComputation*> thread_local_;
  std::unique_ptr<BufferAllocationsManagerForComputationsWithoutOrdering>
      reuse_;
  std::optional<ValueChains> chains_;
  // With a schedule.
  std::optional<LentMemory> lent_;
  // Comparisons left for the current buffer.
  int64_t budget_ = 0;
  // In the order of buffers.
  std::vector<std::pair<const HloBuffer*, HeapKey>> temporaries_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_BUILDER_H_
