#ifndef XLA_HLO_TRANSFORMS_MEMORY_HLO_REMATERIALIZATION_H_
#define XLA_HLO_TRANSFORMS_MEMORY_HLO_REMATERIALIZATION_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_algorithm.h"
#include "xla/shape.h"

namespace xla {

// Reduces the memory of a scheduled module: values that would wait for a late
// reader are recomputed, kept in a compact form, or sent to the host meanwhile.
//
//   before: x = f(a); y = g(x); …; z = h(x)            (x waits)
//   after:  x = f(a); y = g(x); …; x.remat = f(a); z = h(x.remat)
//
// Bytes are those of RematPeak (remat_accounting.h): buffers of the entry and
// of the computations that run, parameters 0, the module's result once. Entry
// first, then its callees, each within what the caller leaves. The algorithms,
// their cost and complexity: remat_algorithm.h, remat_candidates.h; the
// rewrites: remat_rewriter.h, remat_offload.h. Nothing changes if the limit
// holds already. It may be missed: a warning and `sizes` say so.
//
// Requires a schedule and returns one; removes dead code. Runs last: a later
// common subexpression elimination would undo it. Not rematerialized: side
// effects, calls, custom calls, loops, constants, asynchronous chains, and
// values that leave a computation or are read inside tuples that are passed on.
//
// Errors: FailedPrecondition without a schedule; InvalidArgument for a schedule
// that does not fit, a negative limit, a block size below 1, host offload
// without rates; those of the callback and of the compact shape function. The
// module is then as it was before.
class HloRematerialization : public HloModulePass {
 public:
  using ShapeSizeFunction = std::function<int64_t(const Shape&)>;
  using CompactShapeFunction =
      std::function<absl::StatusOr<Shape>(const Shape&)>;

  // Bytes of the module; -1 if the pass has not run. After: recounted from the
  // final schedule. OpenXLA reports what kAlwaysRemat's walk saw, which is more
  // if later choices make room at points it had passed.
  struct RematerializationSizes {
    int64_t before_bytes = -1;
    int64_t after_bytes = -1;
  };

  enum RematAlgorithm { kAlwaysRemat, kPeakPriority };

  // All false: the pass does nothing.
  struct RematerializationModeConfig {
    RematerializationModeConfig(bool recompute, bool compress,
                                bool host_offload)
        : recompute(recompute),
          compress(compress),
          host_offload(host_offload) {}
    bool recompute;
    bool compress;
    bool host_offload;
  };

  struct HostMemoryOffloadConfig {
    HostMemoryOffloadConfig(int64_t host_memory_space,
                            float bandwidth_to_host_bytes_per_second,
                            float bandwidth_from_host_bytes_per_second)
        : host_memory_space(host_memory_space),
          bandwidth_to_host_bytes_per_second(
              bandwidth_to_host_bytes_per_second),
          bandwidth_from_host_bytes_per_second(
              bandwidth_from_host_bytes_per_second) {}
    int64_t host_memory_space;
    float bandwidth_to_host_bytes_per_second;
    float bandwidth_from_host_bytes_per_second;
  };

  // Compresses nothing.
  static Shape DefaultCompactShapeFunction(const Shape& shape) { return shape; }

  struct Options {
    explicit Options(
        HloCostAnalysis& hlo_cost_analysis,
        const RematerializationModeConfig& remat_mode_config,
        int64_t memory_limit_bytes, int block_size_limit,
        float block_rematerialization_factor, int64_t min_remat_size,
        CompactShapeFunction compact_shape_function,
        std::optional<HostMemoryOffloadConfig> host_memory_offload_config =
            std::nullopt,
        absl::flat_hash_map<HloComputation*, int64_t>
            async_computation_parallelism = {},
        RematAlgorithm remat_algorithm = RematAlgorithm::kAlwaysRemat)
        : hlo_cost_analysis(hlo_cost_analysis),
          remat_mode_config(remat_mode_config),
          size_function([&hlo_cost_analysis](const Shape& shape) {
            return hlo_cost_analysis.GetShapeSize(shape);
          }),
          memory_limit_bytes(memory_limit_bytes),
          block_size_limit(block_size_limit),
          block_rematerialization_factor(block_rematerialization_factor),
          min_remat_size(min_remat_size),
          compact_shape_function(compact_shape_function == nullptr
                                     ? DefaultCompactShapeFunction
                                     : std::move(compact_shape_function)),
          host_memory_offload_config(host_memory_offload_config),
          async_computation_parallelism(
              std::move(async_computation_parallelism)),
          remat_algorithm(remat_algorithm) {}

    // Sizes of shapes, and for host offload seconds of instructions. Must
    // outlive the pass.
    HloCostAnalysis& hlo_cost_analysis;
    RematerializationModeConfig remat_mode_config;
    const ShapeSizeFunction size_function;
    // The limit for the whole module, including its result.
    int64_t memory_limit_bytes;
    // Maximum number of instructions in a block (kPeakPriority: powers of 2),
    // and how much more work than single instructions a search for blocks may
    // take: see RematSearchLimits.
    int block_size_limit;
    float block_rematerialization_factor;
    // Instructions that define fewer bytes do not begin a block.
    int64_t min_remat_size;
    CompactShapeFunction compact_shape_function;
    // Needed for host_offload.
    std::optional<HostMemoryOffloadConfig> host_memory_offload_config;
    // Computations that run concurrently with the entry, with the number of
    // copies running at once. The greatest peak times count of them is
    // subtracted from the limit.
    absl::flat_hash_map<HloComputation*, int64_t> async_computation_parallelism;
    RematAlgorithm remat_algorithm;
    // As first published in 2018: single instructions, whose only array all
    // readers read directly.
    bool direct_uses_only = false;
    // Gives up, keeping what it has, after this many instructions have been
    // redirected to other values.
    int64_t max_uses_rewritten = std::numeric_limits<int64_t>::max();
    // Log a warning where the limit is not met.
    bool warn_if_missed = true;
  };

  // `sizes` must outlive the pass. The callback gets each original and its
  // clone, also those of get-tuple-elements and bitcasts.
  explicit HloRematerialization(
      Options options, RematerializationSizes& sizes,
      absl::AnyInvocable<absl::Status(HloInstruction*, HloInstruction*)>
          on_rematerialized = nullptr)
      : options_(std::move(options)), sizes_(sizes) {
    policy_.on_rematerialized = std::move(on_rematerialized);
  }
  ~HloRematerialization() override = default;

  absl::string_view name() const override { return "rematerialization"; }

  // A channel id that no instruction uses in the module of the last run, which
  // must still exist.
  int64_t NextChannelId();

  // Bytes of a computation with its callees, result left out, after the last
  // run; 0 if it did not run in it.
  int64_t ComputationPeakMemory(const HloComputation* computation) const;

  RematAlgorithm remat_algorithm() const { return options_.remat_algorithm; }
  int64_t GetBlockSizeLimit() const { return options_.block_size_limit; }
  void UpdateMaxRematerializedBlockSize(int new_rematerialized_block_size) {
    max_rematerialized_block_size_ =
        std::max(max_rematerialized_block_size_, new_rematerialized_block_size);
  }
  int max_rematerialized_block_size() const {
    return max_rematerialized_block_size_;
  }

  // Counters of the last run: instructions rematerialized, moved, compressed or
  // offloaded; and the net number of instructions added.
  int64_t instructions_rematerialized() const { return rematerialized_; }
  int64_t net_instructions_added() const { return net_added_; }

  // Warnings of the last run: it took more than three minutes; kPeakPriority
  // lowered the peak by less than 1 % in some sub-pass.
  bool warned_too_long() const { return warned_too_long_; }
  bool warned_slow_progress() const { return warned_slow_progress_; }
  // Pretends that the pass started then.
  void set_start_time(absl::Time start) { start_time_ = start; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  absl::Status CheckOptions(const HloModule& module) const;
  void PreparePolicy();
  // Bytes to keep free for computations that run concurrently with the entry.
  absl::StatusOr<int64_t> AsyncBytes(const HloModule& module) const;
  // Nothing is changed if it fails.
  absl::StatusOr<bool> Rewrite(HloModule* module, int64_t limit_bytes,
                               xla::RematAlgorithm* algorithm);
  void SetPeaks(const xla::RematAlgorithm::Peaks& computations);
  void Report(const HloModule& module, absl::Time start);

  Options options_;
  RematerializationSizes& sizes_;
  RematPolicy policy_;
  HloModule* module_ = nullptr;
  absl::flat_hash_map<const HloComputation*, int64_t> peaks_;
  int max_rematerialized_block_size_ = 0;
  int64_t rematerialized_ = 0;
  int64_t net_added_ = 0;
  bool warned_too_long_ = false;
  bool warned_slow_progress_ = false;
  std::optional<absl::Time> start_time_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_HLO_REMATERIALIZATION_H_
