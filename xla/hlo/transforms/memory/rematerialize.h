#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZE_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/limit/memory_accounting.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"

namespace xla {

enum class RematerializationAlgorithm {
  kPlan,          // PlanRematerialization
  kAlwaysRemat,   // HloRematerialization::kAlwaysRemat
  kPeakPriority,  // HloRematerialization::kPeakPriority
  kBaseline2018,  // kAlwaysRemat, single instructions with direct readers
};

// plan, always-remat, peak-priority, baseline-2018.
bool AbslParseFlag(absl::string_view text,
                   RematerializationAlgorithm* algorithm, std::string* error);
std::string AbslUnparseFlag(RematerializationAlgorithm algorithm);

// Which compiler receives a module with a plan, and what the plan must look
// like to hold there.
enum class PlanReader {
  // Keeps order and instructions, as backends do with scheduled modules.
  kBackend,
  // Runs all of its own passes again: clones wait behind opt-barriers, and
  // there are no new fusions.
  kXlaGpu,
  kXlaCpu,
};

// backend, xla-gpu, xla-cpu.
bool AbslParseFlag(absl::string_view text, PlanReader* reader,
                   std::string* error);
std::string AbslUnparseFlag(PlanReader reader);

// What a compiler makes of the modules that it receives (compiled_memory.h).
struct CompiledMemory {
  // What it allocates for a module, and what is live in it at one time. Gaps
  // between buffers make the first larger, operands whose memory a result
  // takes smaller.
  struct Bytes {
    int64_t allocated = 0;
    int64_t live = 0;
  };
  std::function<absl::StatusOr<Bytes>(const HloModule&)> bytes;
  // Names of instructions that it computes inside of their readers.
  std::function<absl::StatusOr<absl::flat_hash_set<std::string>>(
      const HloModule&)>
      fused;
};

struct HloRematerializationOptions {
  std::string memory_limit;
  MemoryAccounting accounting = MemoryAccounting::kAuto;
  RematerializationAlgorithm strategy = RematerializationAlgorithm::kPlan;
  // For strategy plan.
  int64_t effort = 1;
  bool across_loops = true;
  bool fuse = true;
  bool reschedule = true;
  bool barriers = false;
  PlanReader reader = PlanReader::kBackend;
  // The reader's, if it is known: limits and peaks are then what it allocates,
  // and plans are made for what it leaves.
  std::optional<CompiledMemory> compiled;
  // For the other strategies; compress and host-offload, with their parameters,
  // also for plan.
  bool recompute = true;
  bool compress = false;
  bool host_offload = false;
  int64_t block_size = 1;
  double block_effort = 1;
  int64_t min_remat_size = 0;
  int64_t minor_alignment = 1;
  int64_t host_memory_space = 5;
  double to_host = 0;
  double from_host = 0;
  double flops = 0;
  double transcendentals = 0;
  double bandwidth = 0;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit(
        "memory-limit", memory_limit,
        "bytes (16GiB), a share of the current peak (80%) or a device (h100)");
    visit("accounting", accounting,
          "how bytes are counted: ours, allocated, upstream (OpenXLA's "
          "rematerialization), or auto: allocated for modules that a compiler "
          "has fused, else ours");
    visit("strategy", strategy,
          "plan, always-remat, peak-priority or baseline-2018");
    visit("effort", effort, "strategy=plan: search effort");
    visit("across-loops", across_loops, "strategy=plan: rewrite loops, too");
    visit("fuse", fuse,
          "strategy=plan: recompute masks and broadcasts inside their users");
    visit("reschedule", reschedule,
          "strategy=plan: allow another instruction order");
    visit("barriers", barriers,
          "strategy=plan: put clones behind optimization barriers");
    visit("for", reader,
          "strategy=plan: who compiles the result: backend (order and "
          "instructions are kept), xla-gpu or xla-cpu");
    visit("recompute", recompute, "allow recomputing values");
    visit("compress", compress, "allow keeping values in a smaller layout");
    visit("host-offload", host_offload, "allow keeping values in host memory");
    visit("block-size", block_size,
          "maximum instructions rematerialized as one block");
    visit("block-effort", block_effort,
          "strategy=always-remat: search effort for blocks relative to that "
          "for single instructions");
    visit("min-remat-size", min_remat_size,
          "minimum bytes that the first instruction of a block defines");
    visit("minor-alignment", minor_alignment,
          "round the minor dimension up to a multiple of this when counting "
          "bytes");
    visit("host-memory-space", host_memory_space,
          "memory space that layouts use for host memory");
    visit("to-host", to_host, "device-to-host bandwidth, bytes per second");
    visit("from-host", from_host, "host-to-device bandwidth, bytes per second");
    visit("flops", flops,
          "FLOPs per second; 0 for free. strategy=plan assumes a data-center "
          "GPU if all three rates are 0");
    visit("transcendentals", transcendentals,
          "transcendental operations per second");
    visit("bandwidth", bandwidth, "device memory bandwidth, bytes per second");
  }
};

// The memory of a scheduled module, by the accounting of the options.
absl::StatusOr<int64_t> RematerializationPeak(
    const HloRematerializationOptions& options, const HloModule& module,
    const absl::flat_hash_set<absl::string_view>& execution_threads = {});

// The bytes that `options.memory_limit` means for a scheduled module.
// InvalidArgument for bad text; errors of ScheduledPeakBytes.
absl::StatusOr<int64_t> RematerializationLimit(
    const HloRematerializationOptions& options, const HloModule& module,
    const absl::flat_hash_set<absl::string_view>& execution_threads = {});

// The planner's options for a limit in bytes on plans of the module; `others`
// and `move_out` are left empty.
RematPlanOptions MakeRematPlanOptions(
    const HloRematerializationOptions& options, int64_t limit_bytes,
    const HloModule& module);

// Rewrites a scheduled module so that it needs at most `limit_bytes`, whatever
// `options.memory_limit` says: the work of the pass hlo-rematerialization and
// of `hlo-explain --fit`. OpenXLA's strategies count as OpenXLA does; if that
// is not the accounting asked for, their limit is lowered by the difference of
// the two peaks. Their result has `changed`, `met`, the peaks and `method`
// only. With accounting `ours` a plan meets the limit if its buffers can be
// placed in a heap of that size, as the memory report and assign-offsets place
// them. Accounting `auto` counts the result as it counted the module: the
// fusions of a plan are marked where there were none (MarkFusedByPlan).
absl::StatusOr<RematPlanResult> Rematerialize(
    const HloRematerializationOptions& options, int64_t limit_bytes,
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads = {});

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZE_H_
