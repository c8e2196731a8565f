#ifndef XLA_BACKENDS_GPU_SMEM_CHECK_SMEM_PLAN_TREE_H_
#define XLA_BACKENDS_GPU_SMEM_CHECK_SMEM_PLAN_TREE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// The view of a kernel that smem_plan_checker.h works on: its statements as a
// tree, its accesses to shared memory with the bytes and threads of each, and
// the ways between them. Shares nothing with the planner's own analyses.

namespace xla::gpu::smem_check {

// Values that stand in for a thread.
constexpr int kNobody = -1, kSeveral = -2;

// A statement in the tree; children of an if: then, else.
struct Node {
  const kir::Statement* statement = nullptr;
  int parent = -1;
  int branch = 0;        // of the parent
  int index = 0;         // in that branch
  int end = 0;           // one past the last statement inside
  bool all_meet = true;  // the whole block gets here, equally often
  std::vector<std::vector<int>> branches;
};

struct Access {
  int node = 0;
  kir::BufferId buffer = -1;  // aliases resolved
  bool write = false;
  const kir::Operand* operand = nullptr;  // null: all bytes, all threads
  kir::AsyncKind async = kir::AsyncKind::kNone;
  std::optional<kir::BufferId> mbarrier;
  bool accumulates = false;  // reads the value that it adds to
  bool proxy() const {
    return async != kir::AsyncKind::kNone && async != kir::AsyncKind::kCp;
  }
};

// Per element of a buffer: which threads touch it.
struct Owners {
  bool known = false;
  std::vector<int> thread, warp;
};

// Statements [first, last) of one row of the tree.
struct Stretch {
  const std::vector<int>* row = nullptr;
  int first = 0, last = 0;
};

using Held = std::vector<std::pair<int, int64_t>>;  // (loop node, value)

class SmemPlanTree {
 public:
  // `kernel` must outlive this.
  explicit SmemPlanTree(const kir::Kernel& kernel);

 protected:
  const kir::Loop* LoopAt(int node) const;
  bool Holds(int outer, int inner) const;
  // Whether it is inside of a branch that splits the block.
  bool InBranch(int node) const;

  // Bytes under the kernel's bindings; -1 if they are not a number.
  int64_t AddressOf(kir::BufferId b) const { return addresses_[b]; }
  int64_t BytesOf(kir::BufferId b) const { return bytes_[b]; }
  // Whether two different buffers have bytes in common.
  bool Overlap(kir::BufferId x, kir::BufferId y) const;
  // All elements of an access, with some loops held at one value; with
  // `surely`, only those that it certainly touches. A branch's predicate is
  // evaluated.
  Owners Enumerate(const Access& access, const Held& held, bool surely) const;
  // How far apart the threads are that touch a common byte: 0 one thread only,
  // 1 in a warp, 2 in the block; -1: the accesses have no byte in common.
  int Distance(int a, int b) const;

  // Loops around an access that may run it again, innermost first.
  std::vector<int> LoopsAround(const Access& access) const;
  // Whether the two are in different branches of one uniform if.
  bool Excluded(int a, int b) const;
  // Statements passed as a whole from behind `from` to `to`, in order; around
  // the back edge of `loop` when it is not -1.
  std::vector<Stretch> Passed(int from, int to, int loop) const;
  // Every statement that surely runs inside the passed ones, in order.
  void Flatten(const Stretch& passed, std::vector<int>& flat) const;
  // The row of statements that a node is in.
  const std::vector<int>& Siblings(int node) const;

  const kir::Kernel& kernel_;
  const AffineExpr::Binding binding_;
  std::vector<Node> nodes_;  // in program order
  std::vector<Access> accesses_;

 private:
  // For the loops around an access, outermost first: whether one iteration
  // touches the same elements as all. `linear`: the access's element.
  std::vector<bool> RunOnce(const Access& access, const AffineExpr& linear,
                            const std::vector<int>& loops) const;
  bool SurelyRuns(int node) const;
  // The blocks of a loop over blocks, by number; empty if that is not known.
  std::pair<int64_t, int64_t> BlocksOf(const kir::Loop& loop) const;
  // Whether no block skips the loop and does something later.
  bool NoBlockSkips(int node) const;
  bool IsThreadDependent(const AffineExpr& e) const;
  void Build(const std::vector<kir::Statement>& body, int parent, int branch,
             std::vector<int>& children, bool all_meet);
  void BuildLoop(const kir::Loop& loop, int id, bool all_meet);
  void AddAccesses(const kir::Expr& expr, int node);
  void AddBarrier(kir::BufferId barrier, int node);
  int64_t Threads() const { return block_[0] * block_[1] * block_[2]; }
  // By access, over all iterations; found when first asked for, since most
  // buffers share no byte with another.
  const Owners& OwnersOf(int access) const;

  std::array<int64_t, 3> block_ = {1, 1, 1};
  std::vector<int64_t> addresses_, bytes_;  // of the buffers
  std::vector<int> roots_;
  mutable std::vector<std::optional<Owners>> owners_;  // as of OwnersOf
  absl::flat_hash_set<std::string> thread_names_;
};

}  // namespace xla::gpu::smem_check

#endif  // XLA_BACKENDS_GPU_SMEM_CHECK_SMEM_PLAN_TREE_H_
