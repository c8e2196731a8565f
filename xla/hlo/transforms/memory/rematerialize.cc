#include "xla/hlo/transforms/memory/rematerialize.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/base/log_severity.h"
#include "absl/log/globals.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/packing/offset_planner.h"
#include "xla/hlo/memory/accounting/remat_buffers.h"
#include "xla/hlo/memory/limit/memory_limit.h"
#include "xla/hlo/memory/timeline/memory_timeline.h"
#include "xla/hlo/transforms/memory/hlo_rematerialization.h"
#include "xla/hlo/transforms/memory/remat/planner/lost_reads.h"
#include "xla/hlo/transforms/memory/remat/planner/module_contents.h"
#include "xla/hlo/transforms/memory/remat/planner/overwritten_values.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla {
namespace {

using ExecutionThreads = absl::flat_hash_set<absl::string_view>;

// Bytes of an array whose minor dimension is padded to a multiple of
// `alignment` elements.
int64_t AlignedBytes(const Shape& shape, int64_t alignment) {
  if (alignment <= 1 || !shape.IsArray() || !shape.has_layout() ||
      shape.layout().minor_to_major_size() == 0) {
    return HloCostAnalysis::DefaultShapeSize(shape);
  }
  const int minor = static_cast<int>(shape.layout().minor_to_major(0));
  if (shape.dimensions(minor) <= 0) {
    return HloCostAnalysis::DefaultShapeSize(shape);
  }
  // Not the bytes of one row times the rows: packed, a row of one byte and a
  // half would count as one.
  Shape padded = shape;
  padded.set_dimensions(minor, RoundUpTo(shape.dimensions(minor), alignment));
  return HloCostAnalysis::DefaultShapeSize(padded);
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

// `plan`: those that are not given are a device's, not unlimited.
HloCostAnalysis::Options CostOptions(const HloRematerializationOptions& options,
                                     bool plan) {
  HloCostAnalysis::Options cost;
  const int64_t alignment = options.minor_alignment;
  cost.shape_size = [alignment](const Shape& shape) {
    return AlignedBytes(shape, alignment);
  };
  const bool no_rates = options.flops == 0 && options.transcendentals == 0 &&
                        options.bandwidth == 0;
  if (no_rates && plan) {
    cost.per_second_rates = DefaultRematDevice().per_second_rates;
    return cost;
  }
  cost.set_flops_per_second(options.flops);
  cost.set_transcendentals_per_second(options.transcendentals);
  cost.set_bytes_per_second(options.bandwidth);
  return cost;
}

// How all strategies count bytes.
RematSizeOptions SizeOptions(const HloRematerializationOptions& options) {
  RematSizeOptions sizes;
  sizes.host_memory_space = options.host_memory_space;
  sizes.shape_size = [alignment = options.minor_alignment](const Shape& s) {
    return AlignedBytes(s, alignment);
  };
  return sizes;
}

absl::StatusOr<int64_t> PeakOf(const HloRematerializationOptions& options,
                               MemoryAccounting accounting,
                               const HloModule& module,
                               const ExecutionThreads& threads) {
  if (options.compiled.has_value()) {
    TF_ASSIGN_OR_RETURN(const CompiledMemory::Bytes bytes,
                        options.compiled->bytes(module));
    return bytes.allocated;
  }
  return ScheduledPeakBytes(module, accounting, SizeOptions(options), threads);
}

// The limit for algorithms that count as OpenXLA does: lower by what they leave
// out.
//
// With L the limit and both peaks measured on the same module, the algorithm
// gets L - (ours - theirs).
absl::StatusOr<int64_t> UpstreamLimit(
    const HloRematerializationOptions& options, int64_t limit_bytes,
    const HloModule& module, const ExecutionThreads& threads) {
  if (options.accounting == MemoryAccounting::kUpstream) return limit_bytes;
  TF_ASSIGN_OR_RETURN(const int64_t ours,
                      PeakOf(options, options.accounting, module, threads));
  TF_ASSIGN_OR_RETURN(
      const int64_t theirs,
      PeakOf(options, MemoryAccounting::kUpstream, module, threads));
  return std::max<int64_t>(0, limit_bytes - (ours - theirs));
}

// `limit_bytes` by OpenXLA's accounting. `recompute`: whether it may run
// instructions again.
absl::StatusOr<bool> RunGreedy(const HloRematerializationOptions& options,
                               RematerializationAlgorithm algorithm,
                               bool recompute, int64_t limit_bytes,
                               int64_t max_uses_rewritten, HloModule* module,
                               const ExecutionThreads& threads) {
  if (options.block_size < 1 ||
      options.block_size > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("block-size=", options.block_size));
  }
  HloCostAnalysis cost(CostOptions(
      options, options.strategy == RematerializationAlgorithm::kPlan));
  const bool baseline = algorithm == RematerializationAlgorithm::kBaseline2018;
  std::optional<HloRematerialization::HostMemoryOffloadConfig> host;
  if (options.host_offload) {
    host.emplace(options.host_memory_space, static_cast<float>(options.to_host),
                 static_cast<float>(options.from_host));
  }
  HloRematerialization::Options greedy(
      cost,
      HloRematerialization::RematerializationModeConfig(
          baseline || recompute, !baseline && options.compress,
          !baseline && options.host_offload),
      limit_bytes, baseline ? 1 : static_cast<int>(options.block_size),
      static_cast<float>(options.block_effort),
      baseline ? 0 : options.min_remat_size,
      [](const Shape& shape) { return LongMinorDimension(shape); }, host,
      /*async_computation_parallelism=*/{},
      algorithm == RematerializationAlgorithm::kPeakPriority
          ? HloRematerialization::kPeakPriority
          : HloRematerialization::kAlwaysRemat);
  greedy.direct_uses_only = baseline;
  greedy.warn_if_missed = false;
  greedy.max_uses_rewritten = max_uses_rewritten;
  HloRematerialization::RematerializationSizes bytes;
  return HloRematerialization(std::move(greedy), bytes).Run(module, threads);
}

// The same for a module that may be a backend's: one whose rewrite reads what
// has been overwritten stays as it was.
absl::StatusOr<bool> RunGreedyKeepingReads(
    const HloRematerializationOptions& options, int64_t limit_bytes,
    HloModule* module, const ExecutionThreads& threads) {
  const auto run = [&] {
    return RunGreedy(options, options.strategy, options.recompute, limit_bytes,
                     std::numeric_limits<int64_t>::max(), module, threads);
  };
  if (!remat_plan::IsPlacedByBackend(*module)) return run();
  TF_ASSIGN_OR_RETURN(const int64_t lost_before,
                      remat_plan::CountLostReads(*module));
  std::unique_ptr<HloModule> original = module->Clone("");
  TF_ASSIGN_OR_RETURN(const bool changed, run());
  TF_ASSIGN_OR_RETURN(const int64_t lost, remat_plan::CountLostReads(*module));
  if (lost <= lost_before) return changed;
  TF_RETURN_IF_ERROR(remat_plan::ReplaceContents(std::move(original), module));
  return false;
}

// Steps of the offset search, which runs where simple orders do not fit.
constexpr int64_t kHeapSearchSteps = 10'000;

// The bytes in which all buffers of a scheduled module find places; any number
// below the limit will do.
absl::StatusOr<int64_t> HeapBytes(const HloRematerializationOptions& options,
                                  int64_t limit_bytes,
                                  const HloModule& module) {
  AliasInfo alias_info;
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> alias_analysis,
                      HloAliasAnalysis::Run(&module, &alias_info));
  TF_ASSIGN_OR_RETURN(
      const MemoryTimeline timeline,
      BuildMemoryTimeline(
          module.schedule(), *alias_analysis, &alias_info,
          [sizes = SizeOptions(options)](const BufferValue& value) {
            return sizes.SizeOf(value.shape());
          }));
  packing::OffsetPlannerOptions search;
  search.capacity = limit_bytes;
  search.max_steps = kHeapSearchSteps;
  TF_ASSIGN_OR_RETURN(
      const packing::OffsetPlan plan,
      packing::PlanOffsets(timeline.ToPackingProblem(), search));
  return plan.solution.height;
}

// What plans for `module` need by a compiler's figures. The gaps between its
// buffers depend on an order that is only estimated: a plan that keeps more
// alive than the module does, and leaves smaller gaps, saves nothing that would
// last, and counts like the module, which RematTrials asks about before any
// plan. `module` has to outlive the result.
std::function<absl::StatusOr<int64_t>(const HloModule&)> PeakOfPlans(
    decltype(CompiledMemory::bytes) bytes, const HloModule& module) {
  auto as_is = std::make_shared<std::optional<CompiledMemory::Bytes>>();
  return [bytes = std::move(bytes), &module, as_is = std::move(as_is)](
             const HloModule& planned) -> absl::StatusOr<int64_t> {
    TF_ASSIGN_OR_RETURN(const CompiledMemory::Bytes found, bytes(planned));
    if (&planned == &module) *as_is = found;
    if (!as_is->has_value() || found.live <= (*as_is)->live) {
      return found.allocated;
    }
    return std::max(found.allocated, (*as_is)->allocated);
  };
}

// Plans that a compiler is asked about: more of small modules.
constexpr int64_t kMaxCompiled = 24;
constexpr int64_t kMaxCompiledOfSmall = 48;
constexpr int64_t kSmall = 1500;
constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();
// Limits on what an algorithm rewrites as one candidate of a plan; they amount
// to seconds.
constexpr int64_t kUsesOfCandidate = 4'000'000;
constexpr int64_t kUsesOfInstruction = 10;

absl::StatusOr<RematPlanResult> RunPlan(
    const HloRematerializationOptions& options, int64_t limit_bytes,
    HloModule* module, const ExecutionThreads& threads) {
  RematPlanOptions plan = MakeRematPlanOptions(options, limit_bytes, *module);
  if (options.compiled.has_value()) {
    TF_ASSIGN_OR_RETURN(plan.fused, options.compiled->fused(*module));
    plan.max_measured = module->instruction_count() <= kSmall
                            ? kMaxCompiledOfSmall
                            : kMaxCompiled;
  }
  plan.execution_threads.insert(threads.begin(), threads.end());
  // The sum of what is live at one time is a lower bound of what a heap needs.
  // Offloaded values have their place on the host.
  if (options.accounting == MemoryAccounting::kOurs && !options.host_offload &&
      !options.compiled.has_value()) {
    plan.placed = [&options, limit_bytes](const HloModule& planned) {
      return HeapBytes(options, limit_bytes, planned);
    };
  }
  if (!threads.empty() &&
      absl::c_any_of(module->computations(), [&](const HloComputation* c) {
        return !threads.contains(c->execution_thread());
      })) {
    plan.across_loops = plan.fuse = plan.reschedule = false;
  }
  const auto add = [&](RematerializationAlgorithm algorithm) {
    const auto rewrite = [&options, &threads, algorithm](
                             int64_t bytes, HloModule* copy) -> absl::Status {
      TF_ASSIGN_OR_RETURN(const int64_t limit,
                          UpstreamLimit(options, bytes, *copy, threads));
      // That a candidate makes slow progress is expected.
      absl::ScopedStderrThreshold quiet(absl::LogSeverityAtLeast::kError);
      return RunGreedy(options, algorithm, options.recompute, limit,
                       kUsesOfCandidate +
                           kUsesOfInstruction * copy->instruction_count(),
                       copy, threads)
          .status();
    };
    plan.others.emplace_back(AbslUnparseFlag(algorithm), rewrite);
  };
  // Their clones would not last elsewhere.
  if (options.effort > 0 && !plan.tie_clones) {
    add(RematerializationAlgorithm::kAlwaysRemat);
    add(RematerializationAlgorithm::kPeakPriority);
  }
  if (options.compress || options.host_offload) {
    plan.move_out = [&options, &threads](int64_t bytes, HloModule* copy) {
      absl::ScopedStderrThreshold quiet(absl::LogSeverityAtLeast::kError);
      return RunGreedy(options, RematerializationAlgorithm::kAlwaysRemat,
                       /*recompute=*/false, bytes, kNoEnd, copy, threads)
          .status();
    };
  }
  return PlanRematerialization(module, plan);
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

bool AbslParseFlag(absl::string_view text, PlanReader* reader,
                   std::string* error) {
  for (const auto candidate :
       {PlanReader::kBackend, PlanReader::kXlaGpu, PlanReader::kXlaCpu}) {
    if (text == AbslUnparseFlag(candidate)) {
      *reader = candidate;
      return true;
    }
  }
  *error = "must be backend, xla-gpu or xla-cpu";
  return false;
}

std::string AbslUnparseFlag(PlanReader reader) {
  switch (reader) {
    case PlanReader::kBackend:
      return "backend";
    case PlanReader::kXlaGpu:
      return "xla-gpu";
    case PlanReader::kXlaCpu:
      return "xla-cpu";
  }
  return "";
}

absl::StatusOr<int64_t> RematerializationPeak(
    const HloRematerializationOptions& options, const HloModule& module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  return PeakOf(options, options.accounting, module, execution_threads);
}

absl::StatusOr<int64_t> RematerializationLimit(
    const HloRematerializationOptions& options, const HloModule& module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  TF_ASSIGN_OR_RETURN(const MemoryLimit limit,
                      MemoryLimit::Parse(options.memory_limit));
  TF_ASSIGN_OR_RETURN(const int64_t peak, PeakOf(options, options.accounting,
                                                 module, execution_threads));
  return limit.BytesOf(peak);
}

RematPlanOptions MakeRematPlanOptions(
    const HloRematerializationOptions& options, int64_t limit_bytes,
    const HloModule& module) {
  const MemoryAccounting accounting = AccountingOf(options.accounting, module);
  RematPlanOptions plan;
  plan.limit_bytes = limit_bytes;
  plan.sizes = SizeOptions(options);
  plan.device.per_second_rates =
      CostOptions(options, /*plan=*/true).per_second_rates;
  plan.effort = options.effort;
  plan.across_loops = options.across_loops;
  const bool passes_follow = options.reader != PlanReader::kBackend;
  plan.fuse = options.fuse && !passes_follow;
  plan.reschedule = options.reschedule;
  plan.tie_clones = options.barriers || passes_follow;
  if (options.compiled.has_value()) {
    // The order is the compiler's own.
    plan.reschedule = false;
    plan.peak = PeakOfPlans(options.compiled->bytes, module);
  } else if (accounting != MemoryAccounting::kUpstream) {
    plan.peak = [sizes = plan.sizes, accounting](const HloModule& planned) {
      return ScheduledPeakBytes(planned, accounting, sizes);
    };
  }
  if (accounting != MemoryAccounting::kUpstream) {
    plan.in_place = MakeAliasInfo(accounting, module);
    plan.always_there = [sizes = plan.sizes,
                         accounting](const HloModule& planned) {
      return BytesAlwaysThere(planned, accounting, sizes);
    };
  }
  return plan;
}

absl::StatusOr<RematPlanResult> Rematerialize(
    const HloRematerializationOptions& given, int64_t limit_bytes,
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  HloRematerializationOptions options = given;
  options.accounting = AccountingOf(given.accounting, *module);
  if (options.strategy == RematerializationAlgorithm::kPlan) {
    const bool compiled = IsFusedByCompiler(*module);
    TF_ASSIGN_OR_RETURN(
        RematPlanResult planned,
        RunPlan(options, limit_bytes, module, execution_threads));
    if (planned.changed && !compiled) MarkFusedByPlan(module);
    return planned;
  }
  RematPlanResult result;
  TF_ASSIGN_OR_RETURN(
      result.peak_before_bytes,
      PeakOf(options, options.accounting, *module, execution_threads));
  TF_ASSIGN_OR_RETURN(
      const int64_t upstream_limit,
      UpstreamLimit(options, limit_bytes, *module, execution_threads));
  TF_ASSIGN_OR_RETURN(result.changed,
                      RunGreedyKeepingReads(options, upstream_limit, module,
                                            execution_threads));
  TF_ASSIGN_OR_RETURN(
      result.peak_after_bytes,
      PeakOf(options, options.accounting, *module, execution_threads));
  result.met = result.peak_after_bytes <= limit_bytes;
  result.method = AbslUnparseFlag(options.strategy);
  return result;
}

}  // namespace xla
