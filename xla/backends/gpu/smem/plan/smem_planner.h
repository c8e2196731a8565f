#ifndef XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_PLANNER_H_
#define XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/kernel_positions.h"
#include "xla/backends/gpu/smem/plan/plan_shared_memory.h"
#include "xla/backends/gpu/smem/plan/smem_flow.h"
#include "xla/backends/gpu/smem/plan/smem_hazard.h"
#include "xla/backends/gpu/smem/plan/smem_insert.h"
#include "xla/backends/gpu/smem/plan/smem_liveness.h"
#include "xla/backends/gpu/smem/plan/smem_search.h"
#include "xla/backends/gpu/smem/plan/smem_split_barriers.h"
#include "xla/backends/gpu/smem/smem_device.h"
#include "xla/backends/gpu/smem/smem_plan.h"

// The steps of PlanSharedMemory. smem_planner.cc decides, smem_planner_build.cc
// builds the plan from the decisions.

namespace xla::gpu {

class SmemPlanner {
 public:
  // `settled`: circular buffers that the split loops of the kernel keep in
  // order by themselves.
  SmemPlanner(kir::Kernel kernel, const GpuDevice& device,
              const SmemPlanOptions& options,
              std::vector<kir::BufferId> settled)
      : kernel_(std::move(kernel)),
        device_(device),
        options_(options),
        settled_(std::move(settled)) {}

  absl::StatusOr<SmemPlan> Plan();

 private:
  // Pairs of buffers whose reasons are written into the plan.
  static constexpr size_t kMaxDescribedItems = 64;

  // Scratch of block reductions as buffers that live for one statement.
  void AddWorkspaces();
  absl::Status CollectItems(std::vector<SmemLife> lives);

  // The addresses of the stack allocator: one candidate among others.
  std::vector<int64_t> StackAddresses() const;
  bool IsSettled(const SmemArc& arc) const;
  void NoteRace(int a, int b, absl::string_view why);
  void NoteRaces(const std::vector<std::pair<int, int>>& unordered);
  int MaxExtra() const;

  // First to fit, then blocks per multiprocessor, then few barriers.
  const SmemChoice& Choose(const std::vector<SmemChoice>& choices);
  static const SmemChoice& Least(const std::vector<SmemChoice>& choices,
                                 int max_extra);

  // Two buffers of fixed size at one address, which stay at one address.
  bool SharesBase(const std::vector<int64_t>& addresses, size_t i,
                  size_t j) const {
    return addresses[i] == addresses[j] && HasFixedSize(i) && HasFixedSize(j);
  }
  bool HasFixedSize(size_t i) const {
    return kernel_.buffers[items_[i].buffer].Bytes().IsConstant();
  }

  bool Overlap(const SmemChoice& choice, size_t i, size_t j) const {
    return choice.addresses[i] < choice.addresses[j] + items_[j].bytes &&
           choice.addresses[j] < choice.addresses[i] + items_[i].bytes;
  }

  std::vector<SmemArc> ArcsBetween(const SmemHazards& hazards,
                                   const std::vector<int64_t>& addresses);

  void SplitBarriers(const std::vector<SmemArc>& within,
                     const std::vector<SmemArc>& between,
                     const SmemInsertions& insertions);
  void ShareRegisters();
  void Build(const SmemInsertions& insertions, const SmemChoice& choice,
             const std::vector<SmemArc>& between);
  void QueueSetup();
  void QueueGap(int gap, const SmemGapInsertion& insertion);
  void Queue(int anchor, int gap, kir::Statement statement, SmemSync::Kind kind,
             SmemSync::Reason reason, std::string why);
  std::vector<AffineExpr> SymbolicAddresses(const SmemChoice& choice) const;
  absl::Status SetAddresses(SmemChoice& choice);
  void DescribeHazards(const SmemInsertions& insertions,
                       const SmemChoice& choice,
                       const std::vector<SmemArc>& between,
                       const std::vector<Insertion>& statements,
                       const std::vector<int>& barrier_of_gap);
  void CountBarriers();
  // For a block, without what is set aside.
  int64_t AvailableBytes() const;
  absl::Status CheckLimit() const;

  kir::Kernel kernel_;
  const GpuDevice& device_;
  const SmemPlanOptions& options_;
  const std::vector<kir::BufferId> settled_;
  std::vector<kir::BufferId> workspaces_;
  std::optional<SmemFlow> flow_;
  std::vector<SmemItem> items_;
  bool symbolic_ = false;  // some size is known at launch only
  // A statement on its way into the kernel.
  struct Queued {
    int gap;
    Insertion insertion;
    SmemSync sync;
    bool listed;  // among the plan's syncs
  };
  std::vector<Queued> queue_;
  std::vector<SmemSplit> splits_;
  std::vector<kir::BufferId> split_buffers_;
  SmemPlan plan_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_PLANNER_H_
