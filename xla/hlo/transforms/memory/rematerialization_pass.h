#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_PASS_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_PASS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/accounting/remat_buffers.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

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

// The bytes that "16GiB" or, of `peak_bytes`, "80%" says. InvalidArgument for
// anything else, and for amounts below 0.
absl::StatusOr<int64_t> ParseMemoryLimit(absl::string_view text,
                                         int64_t peak_bytes);

struct HloRematerializationOptions {
  std::string memory_limit;
  RematerializationAlgorithm strategy = RematerializationAlgorithm::kPlan;
  // Of plan.
  int64_t effort = 1;
  bool across_loops = true;
  bool fuse = true;
  bool reschedule = true;
  bool barriers = false;
  // Of the others; compress and host-offload, with what they need, also of
  // plan.
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
    visit("memory-limit", memory_limit,
          "bytes, as 16GiB, or of the present peak, as 80%");
    visit("strategy", strategy,
          "plan, always-remat, peak-priority or baseline-2018");
    visit("effort", effort, "of plan: how long to search");
    visit("across-loops", across_loops, "of plan: rewrite loops, too");
    visit("fuse", fuse, "of plan: compute masks and broadcasts in readers");
    visit("reschedule", reschedule, "of plan: may run in another order");
    visit("barriers", barriers, "of plan: clones read through opt-barriers");
    visit("recompute", recompute, "values may be computed again");
    visit("compress", compress, "values may wait with another layout");
    visit("host-offload", host_offload, "values may wait on the host");
    visit("block-size", block_size, "instructions in a block, at most");
    visit("block-effort", block_effort,
          "of always-remat: search for blocks, times that for single ones");
    visit("min-remat-size", min_remat_size,
          "bytes that the first of a block defines at least");
    visit("minor-alignment", minor_alignment,
          "sizes count the minor dimension rounded up to this");
    visit("host-memory-space", host_memory_space, "of layouts");
    visit("to-host", to_host, "bytes a second");
    visit("from-host", from_host, "bytes a second");
    visit("flops", flops,
          "a second, 0: they take no time; plan: a data-center GPU's if all "
          "three are 0");
    visit("transcendentals", transcendentals, "a second");
    visit("bandwidth", bandwidth, "of device memory, bytes a second");
  }
};

// HloRematerialization and PlanRematerialization as a pass with text options.
//
//   before: x = f(a); y = g(x); …; z = h(x)
//   after:  x = f(a); y = g(x); …; x.remat = f(a); z = h(x.remat)
//
// What they do, leave alone and refuse: hlo_rematerialization.h. A limit that
// is not met is a warning, not an error.
class RematerializationPass : public HloModulePass {
 public:
  explicit RematerializationPass(HloRematerializationOptions options)
      : options_(std::move(options)) {}

  absl::string_view name() const override { return "hlo-rematerialization"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  // How all strategies count bytes.
  RematSizeOptions SizeOptions() const;
  // `recompute`: whether it may run instructions again.
  absl::StatusOr<bool> RunGreedy(
      HloModule* module, RematerializationAlgorithm algorithm, bool recompute,
      int64_t limit_bytes,
      const absl::flat_hash_set<absl::string_view>& execution_threads) const;
  absl::StatusOr<bool> RunPlan(
      HloModule* module, int64_t limit_bytes,
      const absl::flat_hash_set<absl::string_view>& execution_threads) const;

  HloRematerializationOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_PASS_H_
