#ifndef XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_FLOW_H_
#define XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_FLOW_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// A kernel laid flat for the shared-memory planner: its statements as numbered
// nodes, the gaps between them where a barrier could stand, and every access to
// shared memory.
//
//   %A[x] = ...        node 0          gap 0 |node 0| gap 1 |node 1| gap 4
//   for %i {           node 1                         gap 2 |node 2| gap 3
//     %B[i] = %A[i]    node 2
//   }
//
// Nothing here depends on the bindings of launch symbols, except the weights of
// gaps and the trips of loops that are marked as estimates. O(size of the
// kernel).

namespace xla::gpu {

// Statements in a row: the kernel's body, a loop's, or one branch of an if.
struct FlowSequence {
  int owner = -1;  // node of the loop or if; -1 for the kernel's body
  std::vector<int> nodes;
  int first_gap = 0;  // gaps first_gap .. first_gap + nodes.size() are its own
};

struct FlowNode {
  const kir::Statement* statement = nullptr;
  int sequence = 0;
  int index = 0;  // in its sequence
  // Pre-order numbers from 1, as in kir_positions.h: every statement and every
  // loop's end has one. `last` is that of the end of what it holds.
  int position = 0;
  int last = 0;
  std::vector<int> sequences;  // loop: its body; if: both branches
  // Whether a thread that runs the statement surely passes a barrier of the
  // whole block inside it, or at least one of the warp.
  bool block_barrier = false;
  bool warp_barrier = false;

  // Loops only.
  bool repeats = false;     // the body may run twice, with code between
  bool surely_runs = true;  // at least once
  std::optional<int64_t> trips;
  int64_t estimated_trips = 1;
};

// A place for a barrier, before a statement or at a sequence's end.
struct FlowGap {
  int sequence = 0;
  int index = 0;
  bool block_meets =
      true;                // every thread of the block gets here, equally often
  bool warp_meets = true;  // every thread of a warp that has any thread here
  int64_t weight = 1;      // how often, by the estimated trips
};

// One operand in shared memory, or in global memory that the kernel both reads
// and writes; or one operation on an mbarrier.
struct FlowAccess {
  int node = 0;
  kir::BufferId buffer = -1;  // aliases resolved
  bool write = false;
  const kir::Operand* operand = nullptr;  // null for mbarriers
  kir::AsyncKind async = kir::AsyncKind::kNone;
  std::optional<kir::BufferId> mbarrier;  // that tells of completion
  // For an expression that contains a barrier: which side of it the access is
  // on.
  bool before_barrier = false;
  bool after_barrier = false;
  // Scratch bytes of such an expression itself.
  bool workspace = false;
  // The same bytes and the same value in every thread of the block, so that
  // threads overwrite each other with the value that is already there.
  bool redundant = false;
  // Whether it may touch bytes beyond those its indices name.
  bool anywhere = false;
  // Runs whenever the sequence of its outermost statement does.
  bool unconditional = true;
  // Whether the async proxy makes it.
  bool async_proxy() const {
    return async != kir::AsyncKind::kNone && async != kir::AsyncKind::kCp;
  }
};

class SmemFlow {
 public:
  // `kernel` must not move. `workspaces` are the scratch buffers of its
  // expressions with a barrier, in program order. InvalidArgument if the
  // block's size is not known.
  static absl::StatusOr<SmemFlow> Create(
      const kir::Kernel& kernel, std::vector<kir::BufferId> workspaces = {});

  const kir::Kernel& kernel() const { return *kernel_; }
  const std::vector<FlowNode>& nodes() const { return nodes_; }
  const std::vector<FlowSequence>& sequences() const { return sequences_; }
  const std::vector<FlowGap>& gaps() const { return gaps_; }
  const std::vector<FlowAccess>& accesses() const { return accesses_; }
  int num_positions() const { return num_positions_; }
  const std::array<int64_t, 3>& block() const { return block_; }
  int num_threads() const {
    return static_cast<int>(block_[0] * block_[1] * block_[2]);
  }
  int num_warps() const { return (num_threads() + 31) / 32; }

  // The node that holds `node`'s sequence; -1 at the top.
  int Parent(int node) const { return sequences_[nodes_[node].sequence].owner; }
  // Loops around `node`, outermost first.
  std::vector<int> LoopsAround(int node) const;
  const kir::Loop* AsLoop(int node) const {
    return nodes_[node].statement->As<kir::Loop>();
  }

  // The alias's target, or the buffer itself.
  kir::BufferId Storage(kir::BufferId buffer) const {
    return kernel_->buffers[buffer].alias.value_or(buffer);
  }

  // Whether the kernel splits barriers, and whether one completes when every
  // thread of the block has arrived once.
  bool has_arrivals() const { return has_arrivals_; }
  bool CountsWholeBlock(kir::BufferId barrier) const;

  // Whether the element depends on the thread that makes the access.
  bool IndexVaries(const FlowAccess& access) const;

  // Whether no loop or branch around it excludes a thread of the block.
  bool RunByAllThreads(int node) const;

  // The loop whose iterations take the stages of a circular buffer in turn, the
  // outermost one around the access; -1 when there is none, or one stage.
  int StageLoop(const FlowAccess& access) const;

  // Statement that follows a gap, or the end of the loop around; positions of
  // the given kernel.
  int PositionAfter(int gap) const;

 private:
  struct Context {
    bool block_meets = true;
    bool warp_meets = true;
    bool unconditional = true;
    int64_t weight = 1;
  };
  void Build(const std::vector<kir::Statement>& body, int sequence,
             const Context& context);
  void BuildLoop(const kir::Loop& loop, int node, Context context);
  void BuildIf(const kir::If& branch, int node, Context context);
  bool BlocksSurelyRun(const kir::Loop& loop, int node) const;
  void SummarizeBarriers(int node, const Context& context);
  int AddSequence(int owner);
  void FindVaryingBuffers();
  bool Varies(const AffineExpr& e) const;
  bool Varies(const kir::Expr& expr) const;
  bool RunsAlikeForAllThreads(const kir::Statement& statement) const;
  // Whether threads have different indices: of their own, or between bounds of
  // their own.
  bool HasVaryingIndex(const kir::Loop& loop) const;
  void CollectAccesses(int node, const kir::Expr& expr, const Context& context);
  void AddAccess(int node, const kir::Expr& expr, const kir::Operand& operand,
                 bool write, const Context& context);
  void CollectBarrierAccesses(int node, const Context& context);
  bool IsReadAndWritten(kir::BufferId buffer);

  const kir::Kernel* kernel_ = nullptr;
  std::array<int64_t, 3> block_ = {1, 1, 1};
  std::vector<FlowNode> nodes_;
  std::vector<FlowSequence> sequences_;
  std::vector<FlowGap> gaps_;
  std::vector<FlowAccess> accesses_;
  int num_positions_ = 1;
  bool has_arrivals_ = false;
  std::vector<bool> read_, written_;  // by buffer; empty: not yet looked at
  std::vector<kir::BufferId> workspaces_;
  size_t next_workspace_ = 0;
  // Names and register buffers whose value differs from thread to thread.
  absl::flat_hash_set<std::string> varying_names_;
  std::vector<bool> varying_buffers_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_FLOW_H_
