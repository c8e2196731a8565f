#include "xla/hlo/transforms/memory/rematerialization_pass.h"

#include <cmath>
#include <limits>
#include <optional>

#include "absl/log/log.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/memory/hlo_rematerialization.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla {
namespace {

// Of an array whose minor dimension fills whole pieces.
int64_t AlignedBytes(const Shape& shape, int64_t alignment) {
  const int64_t bytes = HloCostAnalysis::DefaultShapeSize(shape);
  if (alignment <= 1 || !shape.IsArray() || !shape.has_layout() ||
      shape.layout().minor_to_major_size() == 0) {
    return bytes;
  }
  const int64_t minor =
      shape.dimensions(static_cast<int>(shape.layout().minor_to_major(0)));
  if (minor == 0) return bytes;
  return bytes / minor * RoundUpTo(minor, alignment);
}

// The greater one of the two minor dimensions becomes the minor one.
Shape LongMinorDimension(const Shape& shape) {
  if (!shape.IsArray() || !shape.has_layout() ||
      shape.layout().minor_to_major_size() < 2) {
    return shape;
  }
  Shape result = shape;
  const int64_t minor = shape.layout().minor_to_major(0);
  const int64_t next = shape.layout().minor_to_major(1);
  if (shape.dimensions(static_cast<int>(minor)) >=
      shape.dimensions(static_cast<int>(next))) {
    return shape;
  }
  result.mutable_layout()->set_minor_to_major(0, next);
  result.mutable_layout()->set_minor_to_major(1, minor);
  return result;
}

HloCostAnalysis::Options CostOptions(
    const HloRematerializationOptions& options) {
  HloCostAnalysis::Options cost;
  const int64_t alignment = options.minor_alignment;
  cost.shape_size = [alignment](const Shape& shape) {
    return AlignedBytes(shape, alignment);
  };
  const bool no_rates = options.flops == 0 && options.transcendentals == 0 &&
                        options.bandwidth == 0;
  if (no_rates && options.strategy == RematerializationAlgorithm::kPlan) {
    cost.per_second_rates = DefaultRematDevice().per_second_rates;
    return cost;
  }
  cost.set_flops_per_second(options.flops);
  cost.set_transcendentals_per_second(options.transcendentals);
  cost.set_bytes_per_second(options.bandwidth);
  return cost;
}

}  // namespace

bool AbslParseFlag(absl::string_view text,
                   RematerializationAlgorithm* algorithm, std::string* error) {
  for (const auto candidate : {RematerializationAlgorithm::kPlan,
                               RematerializationAlgorithm::kAlwaysRemat,
                               RematerializationAlgorithm::kPeakPriority,
                               RematerializationAlgorithm::kBaseline2018}) {
    if (text == AbslUnparseFlag(candidate)) {
      *algorithm = candidate;
      return true;
    }
  }
  *error = "must be plan, always-remat, peak-priority or baseline-2018";
  return false;
}

std::string AbslUnparseFlag(RematerializationAlgorithm algorithm) {
  switch (algorithm) {
    case RematerializationAlgorithm::kPlan:
      return "plan";
    case RematerializationAlgorithm::kAlwaysRemat:
      return "always-remat";
    case RematerializationAlgorithm::kPeakPriority:
      return "peak-priority";
    case RematerializationAlgorithm::kBaseline2018:
      return "baseline-2018";
  }
  return "";
}

absl::StatusOr<int64_t> ParseMemoryLimit(absl::string_view text,
                                         int64_t peak_bytes) {
  if (text.empty()) {
    return absl::InvalidArgumentError(
        "no memory limit: give bytes, as 16GiB, or a share of the peak, as "
        "80%");
  }
  absl::string_view number = text;
  if (!absl::ConsumeSuffix(&number, "%")) {
    absl::StatusOr<int64_t> bytes = ParseByteSize(text);
    if (bytes.ok()) return bytes;
    return absl::InvalidArgumentError(
        absl::StrCat("memory limit '", text, "': ", bytes.status().message()));
  }
  double percent;
  if (!absl::SimpleAtod(number, &percent) || !std::isfinite(percent) ||
      percent < 0 || percent > 1e6) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory limit '", text, "' is no share of the peak"));
  }
  return static_cast<int64_t>(
      std::min(percent / 100 * static_cast<double>(peak_bytes), 9.2e18));
}

RematSizeOptions RematerializationPass::SizeOptions() const {
  RematSizeOptions sizes;
  sizes.host_memory_space = options_.host_memory_space;
  sizes.shape_size = [alignment = options_.minor_alignment](const Shape& s) {
    return AlignedBytes(s, alignment);
  };
  return sizes;
}

absl::StatusOr<bool> RematerializationPass::RunGreedy(
    HloModule* module, RematerializationAlgorithm algorithm, bool recompute,
    int64_t limit_bytes,
    const absl::flat_hash_set<absl::string_view>& execution_threads) const {
  if (options_.block_size < 1 ||
      options_.block_size > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("block-size=", options_.block_size));
  }
  HloCostAnalysis cost(CostOptions(options_));
  const bool baseline = algorithm == RematerializationAlgorithm::kBaseline2018;
  std::optional<HloRematerialization::HostMemoryOffloadConfig> host;
  if (options_.host_offload) {
    host.emplace(options_.host_memory_space,
                 static_cast<float>(options_.to_host),
                 static_cast<float>(options_.from_host));
  }
  HloRematerialization::Options options(
      cost,
      HloRematerialization::RematerializationModeConfig(
          baseline || recompute, !baseline && options_.compress,
          !baseline && options_.host_offload),
      limit_bytes, baseline ? 1 : static_cast<int>(options_.block_size),
      static_cast<float>(options_.block_effort),
      baseline ? 0 : options_.min_remat_size,
      [](const Shape& shape) { return LongMinorDimension(shape); }, host,
      /*async_computation_parallelism=*/{},
      algorithm == RematerializationAlgorithm::kPeakPriority
          ? HloRematerialization::kPeakPriority
          : HloRematerialization::kAlwaysRemat);
  options.direct_uses_only = baseline;
  HloRematerialization::RematerializationSizes bytes;
  return HloRematerialization(std::move(options), bytes)
      .Run(module, execution_threads);
}

absl::StatusOr<bool> RematerializationPass::RunPlan(
    HloModule* module, int64_t limit_bytes,
    const absl::flat_hash_set<absl::string_view>& execution_threads) const {
  RematPlanOptions plan;
  plan.limit_bytes = limit_bytes;
  plan.sizes = SizeOptions();
  plan.device.per_second_rates = CostOptions(options_).per_second_rates;
  plan.effort = options_.effort;
  plan.across_loops = options_.across_loops;
  plan.fuse = options_.fuse;
  plan.reschedule = options_.reschedule;
  plan.optimization_barriers = options_.barriers;
  const auto add = [&](RematerializationAlgorithm algorithm) {
    plan.others.push_back(
        {AbslUnparseFlag(algorithm),
         [this, algorithm, limit_bytes, &execution_threads](HloModule* copy) {
           return RunGreedy(copy, algorithm, options_.recompute, limit_bytes,
                            execution_threads)
               .status();
         }});
  };
  if (options_.compress || options_.host_offload) {
    plan.move_out = [this, &execution_threads](int64_t bytes, HloModule* copy) {
      return RunGreedy(copy, RematerializationAlgorithm::kAlwaysRemat,
                       /*recompute=*/false, bytes, execution_threads)
          .status();
    };
  }
  if (options_.effort > 0) {
    add(RematerializationAlgorithm::kAlwaysRemat);
    add(RematerializationAlgorithm::kPeakPriority);
  }
  TF_ASSIGN_OR_RETURN(const RematPlanResult result,
                      PlanRematerialization(module, plan));
  if (!result.met) {
    LOG(WARNING) << "rematerialization of " << module->name()
                 << " missed the limit of " << limit_bytes << " bytes: from "
                 << result.peak_before_bytes << " to "
                 << result.peak_after_bytes;
  }
  return result.changed;
}

absl::StatusOr<bool> RematerializationPass::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (!module->has_schedule()) {
    return absl::FailedPreconditionError(
        absl::StrCat("rematerialization needs a schedule, which module ",
                     module->name(), " does not have"));
  }
  if (!execution_threads.empty() &&
      !execution_threads.contains(
          module->entry_computation()->execution_thread())) {
    return false;
  }
  TF_ASSIGN_OR_RETURN(const RematPeak peak,
                      ComputeRematPeak(*module, module->schedule(),
                                       SizeOptions(), execution_threads));
  TF_ASSIGN_OR_RETURN(const int64_t limit,
                      ParseMemoryLimit(options_.memory_limit, peak.bytes));
  return options_.strategy == RematerializationAlgorithm::kPlan
             ? RunPlan(module, limit, execution_threads)
             : RunGreedy(module, options_.strategy, options_.recompute, limit,
                         execution_threads);
}

}  // namespace xla
