#ifndef XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_MACHINE_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_MACHINE_H_

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kernel_code.h"
#include "xla/backends/gpu/kernel_ir/race_checker.h"
#include "xla/backends/gpu/kernel_ir/smem_shadow.h"
#include "xla/backends/gpu/kernel_ir/warp_mma.h"

// The machine on which race_checker.h runs a block. kernel_machine.cc has its
// memory and control flow, kernel_machine_exprs.cc evaluates expressions,
// kernel_machine_syncs.cc handles barriers, transfers and the release of
// waiting threads.

namespace xla::gpu::kernel_machine {

struct Place {
  kir::BufferId buffer = -1;
  int64_t element = 0;  // -1: outside
};

struct PendingCopy {
  int transfer = -1;
  kir::AsyncKind kind = kir::AsyncKind::kNone;
  bool committed = false;
  int group = 0;
};

struct Thread {
  enum class State { kReady, kBlock, kWarp, kMbarrier, kArriveWait, kDone };
  State state = State::kReady;
  int pc = 0;
  // Index of the instruction at which a thread that joins from outside
  // participates again; -1: it participates.
  int outside_until = -1;
  // The thread has passed a barrier inside an expression whose results are
  // still to be written.
  bool resume = false;
  std::vector<double> inputs;  // of that expression
  double result = 0;
  std::vector<int64_t> slots;
  std::vector<std::vector<double>> local;
  std::vector<std::vector<bool>> local_written;
  std::vector<PendingCopy> pending;
  absl::flat_hash_map<kir::AsyncKind, int> groups;  // committed so far
  absl::flat_hash_map<kir::BufferId, int> waits;    // on arrive/wait barriers
};

struct Barrier {
  int expected = 0;
  std::vector<std::pair<int, int>> arrived;  // (thread, clock)
  std::vector<std::vector<std::pair<int, int>>> phases;
  std::vector<int> loads;  // transfers that signal it
};

class Machine {
 public:
  Machine(const KernelCode& code, const KernelRunOptions& options)
      : code_(code),
        kernel_(*code.kernel),
        options_(options),
        random_(options.seed) {}

  absl::StatusOr<KernelRun> Run(const std::vector<std::vector<double>>& inputs);

 private:
  // The buffer in whose memory it lies.
  kir::BufferId Storage(kir::BufferId id) const;
  absl::Status PlaceBuffers();
  void FillParams(const std::vector<std::vector<double>>& inputs);
  void MakeThreads();
  bool PerThread(kir::BufferId b) const;
  absl::Status ErrorAt(const CodeInstruction& i, absl::StatusCode code,
                       absl::string_view message) const;
  absl::StatusOr<int64_t> Value(const AffineProgram& program, int t,
                                const CodeInstruction& i) const;
  absl::StatusOr<Place> Find(const CodeOperand& operand, int t,
                             const CodeInstruction& i) const;
  // The same where nothing pads: an error out of bounds.
  absl::StatusOr<Place> FindInside(const CodeOperand& operand, int t,
                                   const CodeInstruction& i) const;
  uint64_t Instance(int t, const CodeInstruction& i) const;
  ShadowAccess AccessOf(int t, const Place& place, bool write,
                        const CodeInstruction& i) const;
  double Load(int t, const Place& place, const CodeInstruction& i,
              int transfer = -1, bool proxy = false);
  void Store(int t, const Place& place, double value, const CodeInstruction& i,
             int transfer = -1, bool proxy = false);
  bool Written(int t, const Place& place) const;
  // Claims a place of an array that `option own` names: no other thread may
  // touch it.
  void TakeOwn(int t, const Place& place);

  absl::Status Step(int t);
  absl::Status BeginLoop(int t, const CodeInstruction& i);
  absl::Status RunExpr(int t, const CodeInstruction& i);
  // A number, an index expression's value, or an element inside of its array.
  absl::StatusOr<double> ReadInside(int t, const CodeArgument& argument,
                                    const CodeInstruction& i);
  absl::StatusOr<std::vector<double>> ReadInputs(int t,
                                                 const CodeInstruction& i,
                                                 int transfer, bool proxy);
  absl::Status Finish(int t, const CodeInstruction& i,
                      const std::vector<double>& in);
  absl::Status Transfer(int t, const CodeInstruction& i);
  absl::Status RunAsync(int t, const CodeInstruction& i);
  void RunArriveWait(int t, const CodeInstruction& i);
  void Arrive(int t, kir::BufferId barrier);
  absl::StatusOr<bool> Unblock();
  void ReleaseExpr(const std::vector<int>& group, const CodeInstruction& i);
  // For products of fragments: reads the elements of one array, and the sums of
  // the whole warp.
  absl::StatusOr<std::vector<double>> ReadFragment(int t,
                                                   const CodeInstruction& i,
                                                   const CodeOperand& operand,
                                                   int64_t count);
  absl::StatusOr<kir::WarpMma> WarpMmaOf(const CodeInstruction& i);
  absl::Status RunWarpMma(int t, const CodeInstruction& i);
  absl::Status ReleaseWarpMma(const std::vector<int>& group,
                              const CodeInstruction& i);
  absl::StatusOr<bool> UnblockWarps();
  bool UnblockMbarriers();

  const KernelCode& code_;
  const kir::Kernel& kernel_;
  const KernelRunOptions options_;
  std::mt19937_64 random_;
  std::vector<std::vector<double>> memory_;  // by buffer; global ones
  // By buffer and element, the thread that it is for, or -1; empty for arrays
  // that threads share.
  std::vector<std::vector<int>> owners_;
  std::set<std::string> foreign_;  // accesses to what is another thread's
  std::vector<int64_t> address_;
  int64_t unit_ = 1;
  std::vector<double> shared_;  // by word
  std::unique_ptr<SmemShadow> shadow_;
  std::vector<Thread> threads_;
  absl::flat_hash_map<kir::BufferId, Barrier> barriers_;
  absl::flat_hash_map<const CodeInstruction*, kir::BufferId> workspaces_;
  absl::flat_hash_map<const CodeInstruction*, kir::WarpMma> products_;
  // Bulk transfers that one thread started on behalf of all: instances seen.
  absl::flat_hash_set<uint64_t> started_;
};

}  // namespace xla::gpu::kernel_machine

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_MACHINE_H_
