#include "xla/hlo/pipeline/pipelines.h"

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "xla/hlo/pass/nearest_name.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Steps of several pipelines.
constexpr absl::string_view kSimplify =
    "fix(canonicalizer,tuple-simplifier,hlo-cse,hlo-dce)";
constexpr absl::string_view kPartition =
    "if-partitions(factor-propagation,spmd-partitioning,"
    "canon-all-gather-for-cse,"
    "fix(canonicalizer,tuple-simplifier,hlo-cse,hlo-dce),"
    "collective-permute-motion)";
constexpr absl::string_view kSimplifyControlFlow =
    "fix(while-loop-constant-sinking,simplify-while-loops,"
    "simplify-conditional,hlo-module-dce,constant-folding,canonicalizer,"
    "tuple-simplifier,hlo-cse,hlo-dce)";

constexpr absl::string_view kCleanup[] = {
    "tuple-simplifier",
    kSimplify,
};

constexpr absl::string_view kCpu[] = {
    "hlo-descheduler",
    "if-partitions(shardy-import)",
    "call-inliner",
    "flatten-call-graph",
    "tuple-simplifier",
    "batchnorm-expander",
    kSimplify,
    kPartition,
    "select-and-scatter-expander",
    kSimplifyControlFlow,
    "while-loop-invariant-code-motion",
    kSimplify,
    "cpu-instruction-fusion",
    "hlo-cse",
    "hlo-dce",
    "copy-insertion",
    "hlo-memory-scheduler{algorithm=bfs}",
    "assign-offsets",
};

constexpr absl::string_view kInline[] = {
    "call-inliner",
    "tuple-simplifier",
    kSimplify,
};

constexpr absl::string_view kPrepare[] = {
    "call-inliner",
    "flatten-call-graph",
    "tuple-simplifier",
    "hlo-dce",
};

constexpr absl::string_view kSchedule[] = {
    "call-inliner", "flatten-call-graph",   "tuple-simplifier",
    "hlo-dce",      "hlo-memory-scheduler",
};

constexpr absl::string_view kSpmd[] = {
    "hlo-descheduler",  "if-partitions(shardy-import)",
    "call-inliner",     "flatten-call-graph",
    "tuple-simplifier", kSimplify,
    kPartition,
};

enum class GpuPipeline { kBoth, kGpu, kXlaGpu };

struct GpuStep {
  absl::string_view step;
  GpuPipeline pipeline = GpuPipeline::kBoth;
};

// Pipelines gpu and xla-gpu. What the first does better than XLA is missing
// from the second, and what XLA does otherwise stands there alone.
constexpr GpuStep kGpuSteps[] = {
    {"hlo-descheduler"},
    {"if-partitions(shardy-import)"},
    {"call-inliner"},
    {"flatten-call-graph"},
    {"tuple-simplifier"},
    {"batchnorm-expander"},
    {kSimplify},
    {kPartition},
    {"sharding-remover{keep-shards=true}"},
    {"select-and-scatter-expander", GpuPipeline::kXlaGpu},
    {"rng-expander"},
    {"stochastic-convert-decomposer"},
    {kSimplifyControlFlow},
    {"while-loop-invariant-code-motion"},
    {"while-loop-all-reduce-code-motion"},
    {"collective-dimension-major"},
    {"all-gather-combiner"},
    {"all-reduce-combiner"},
    {"reduce-scatter-combiner"},
    {"fix(reshape-mover{reshape-of-1d-broadcast-is-cheap=true},slice-sinker,"
     "constant-folding,canonicalizer,hlo-cse,hlo-dce)"},
    {"dot-strength-reduction"},
    {"convolution-pad-folder"},
    {"convolution-dots", GpuPipeline::kGpu},
    {"simplify-sorts"},
    {"variadic-op-splitter"},
    {"reduce-window-rewriter", GpuPipeline::kXlaGpu},
    {"copy-remover"},
    {"gather-simplifier"},
    {"scatter-simplifier"},
    {"scatter-expander"},
    {"float-normalization"},
    {"transpose-layouts"},
    {"dot-update-layouts", GpuPipeline::kXlaGpu},
    {"dot-dimension-merger", GpuPipeline::kXlaGpu},
    {"reduction-degenerate-dim-remover"},
    {"reduction-layout-normalizer"},
    {"reduction-dimension-grouper"},
    {"cudnn-fused-convolution-rewriter{groups=false,broadcasts=false}",
     GpuPipeline::kGpu},
    {"conv-padding-legalization", GpuPipeline::kXlaGpu},
    {"cudnn-fused-convolution-rewriter", GpuPipeline::kXlaGpu},
    {"splitk-rewriter{priced=true}", GpuPipeline::kGpu},
    {"splitk-rewriter", GpuPipeline::kXlaGpu},
    {"triton-gemm-rewriter", GpuPipeline::kGpu},
    {"triton-gemm-rewriter{upstream=true}", GpuPipeline::kXlaGpu},
    {"triton-softmax-rewriter", GpuPipeline::kGpu},
    {"triton-softmax-rewriter{upstream=true}", GpuPipeline::kXlaGpu},
    {"dot-layouts", GpuPipeline::kGpu},
    {"dynamic-slice-fusion-rewriter", GpuPipeline::kGpu},
    {"reduction-splitter", GpuPipeline::kGpu},
    {"tree-reduction-rewriter{fill=true}", GpuPipeline::kGpu},
    {"tree-reduction-rewriter", GpuPipeline::kXlaGpu},
    {kSimplify},
    {"sort-iota-fusion"},
    {"priority-fusion", GpuPipeline::kGpu},
    {"priority-fusion{xla-prices=true,dots=false,convolutions=false}",
     GpuPipeline::kXlaGpu},
    {"reduction-epilogue-flattener"},
    {"hlo-cse"},
    {"hlo-dce"},
    {"multi-output-fusion{order=best,memory-limit=105%}", GpuPipeline::kGpu},
    {"multi-output-fusion{xla-prices=true,narrow-outputs=false,"
     "rows-join-tiles=false}",
     GpuPipeline::kXlaGpu},
    {"hlo-cse"},
    {"hlo-dce"},
    {"gpu-horizontal-loop-fusion"},
    {"gpu-horizontal-input-fusion"},
    {"bitcast-reshapes"},
    {"copy-insertion"},
    {"copy-fusion", GpuPipeline::kXlaGpu},
    {"hlo-memory-scheduler", GpuPipeline::kGpu},
    {"hlo-memory-scheduler{algorithm=default}", GpuPipeline::kXlaGpu},
    {"hlo-rematerialization{memory-limit=100%}", GpuPipeline::kGpu},
    {"assign-offsets", GpuPipeline::kGpu},
    {"shared-memory-planning", GpuPipeline::kGpu},
};

constexpr bool IsStepOf(const GpuStep& step, GpuPipeline pipeline) {
  return step.pipeline == GpuPipeline::kBoth || step.pipeline == pipeline;
}

constexpr size_t CountSteps(GpuPipeline pipeline) {
  size_t count = 0;
  for (const GpuStep& step : kGpuSteps) {
    if (IsStepOf(step, pipeline)) ++count;
  }
  return count;
}

template <GpuPipeline pipeline>
constexpr std::array<absl::string_view, CountSteps(pipeline)> StepsOf() {
  std::array<absl::string_view, CountSteps(pipeline)> steps{};
  size_t next = 0;
  for (const GpuStep& step : kGpuSteps) {
    if (IsStepOf(step, pipeline)) steps[next++] = step.step;
  }
  return steps;
}

constexpr auto kGpu = StepsOf<GpuPipeline::kGpu>();
constexpr auto kXlaGpu = StepsOf<GpuPipeline::kXlaGpu>();

constexpr NamedPipeline kPipelines[] = {
    {"cleanup", "canonical form without duplicate or dead instructions",
     kCleanup},
    {"cpu", "approximately XLA:CPU: fused loops, scheduled breadth first",
     kCpu},
    {"gpu",
     "from a framework's module to fused kernels, their schedule and their "
     "memory",
     kGpu},
    {"inline", "cleanup after inlining every call", kInline},
    {"prepare", "what scheduling requires: no calls, no dead instructions",
     kPrepare},
    {"schedule", "prepare, then a schedule with low peak memory", kSchedule},
    {"spmd", "partitions the module over several devices", kSpmd},
    {"xla-gpu", "approximately XLA:GPU: its fusions, in its order", kXlaGpu},
};

constexpr OrderingConstraint kConstraints[] = {
    {"call-inliner", "flatten-call-graph",
     "a call that is inlined needs no copy of what it calls"},
    {"flatten-call-graph", "hlo-dce",
     "the original of a computation may have no caller any more"},
    {"flatten-call-graph", "hlo-memory-scheduler",
     "values of different callers need not share memory"},
    {"hlo-dce", "hlo-memory-scheduler",
     "dead instructions need no place in the schedule"},
    {"shardy-import", "call-inliner", "Shardy's manual computations are calls"},
    {"shardy-import", "factor-propagation",
     "Shardy's annotations take part in propagation"},
    {"hlo-cse", "factor-propagation",
     "equal instructions should get equal shardings"},
    {"batchnorm-expander", "factor-propagation",
     "its reductions and elementwise instructions are sharded individually"},
    {"factor-propagation", "spmd-partitioning",
     "an instruction without a sharding is computed by every device"},
    {"spmd-partitioning", "canon-all-gather-for-cse",
     "all-gathers exist only after partitioning"},
    {"canon-all-gather-for-cse", "collective-permute-motion",
     "equal collectives are merged before they move"},
    {"spmd-partitioning", "sharding-remover",
     "annotations mean nothing once every device has its shards"},
    {"sharding-remover", "priority-fusion",
     "annotations would stand between kernels"},
    {"spmd-partitioning", "while-loop-constant-sinking",
     "loop state then has the sizes of shards"},
    {"while-loop-constant-sinking", "simplify-while-loops",
     "a constant bound in the condition gives the trip count"},
    {"spmd-partitioning", "select-and-scatter-expander",
     "shards of a scatter at computed positions would be unknown"},
    {"select-and-scatter-expander", "scatter-simplifier",
     "its scatters take the canonical form of all others"},
    {"select-and-scatter-expander", "cpu-instruction-fusion",
     "positions are computed where they are read"},
    {"spmd-partitioning", "rng-expander",
     "the partitioner draws the numbers of each shard"},
    {"rng-expander", "priority-fusion", "no kernel draws random numbers"},
    {"stochastic-convert-decomposer", "priority-fusion",
     "kernels round to nearest alone"},
    {"dot-strength-reduction", "float-normalization",
     "the rewritten products are arithmetic"},
    {"float-normalization", "priority-fusion",
     "kernels compute in no floats of fewer than 16 bits"},
    {"gpu-horizontal-input-fusion", "bitcast-reshapes",
     "reshapes within kernels cost nothing, and those that no kernel takes in "
     "should not be copies"},
    {"bitcast-reshapes", "copy-insertion",
     "a bitcast shares the buffer of its operand"},
    {"gpu-horizontal-input-fusion", "copy-insertion",
     "copies merged into one kernel would be one value again"},
    {"cpu-instruction-fusion", "copy-insertion",
     "a copy would be fused with what reads it"},
    {"copy-insertion", "copy-fusion", "what is copied is known then"},
    {"copy-fusion", "hlo-memory-scheduler",
     "copies that a kernel writes are there as soon as what they are of"},
    {"copy-insertion", "hlo-memory-scheduler",
     "values are read before something is written over them"},
    {"copy-insertion", "assign-offsets",
     "what cannot share memory with what it is handed on to is copied"},
    {"simplify-while-loops", "simplify-conditional",
     "a predicate may become constant once the loop around it is gone"},
    {"simplify-conditional", "hlo-module-dce",
     "loop state read only by a branch never taken is dead"},
    {"hlo-module-dce", "while-loop-invariant-code-motion",
     "dead instructions are not worth moving"},
    {"while-loop-invariant-code-motion", "priority-fusion",
     "instructions cannot be hoisted out of a fusion in the body"},
    {"spmd-partitioning", "collective-dimension-major",
     "a sharding says nothing about parts in memory"},
    {"collective-dimension-major", "reduce-scatter-combiner",
     "collectives along one dimension are combined"},
    {"spmd-partitioning", "all-gather-combiner",
     "the partitioner creates the collectives"},
    {"while-loop-invariant-code-motion", "while-loop-all-reduce-code-motion",
     "an all-reduce of a loop invariant leaves the loop without a sum"},
    {"while-loop-all-reduce-code-motion", "all-reduce-combiner",
     "all-reduces that leave a loop combine with those around it"},
    {"convolution-pad-folder", "convolution-dots",
     "products are made of convolutions with their final windows"},
    {"convolution-pad-folder", "transpose-layouts",
     "padding would stop layouts from propagating"},
    {"convolution-pad-folder", "conv-padding-legalization",
     "pads that stay are those that the library needs"},
    {"transpose-layouts", "conv-padding-legalization",
     "padding would stop layouts from propagating"},
    {"spmd-partitioning", "reduce-window-rewriter",
     "blocks of 16 are not shards"},
    {"reduce-window-rewriter", "priority-fusion",
     "sums of blocks and what adds them up are kernels with others"},
    {"conv-padding-legalization", "priority-fusion",
     "padding is part of the kernel that makes the input"},
    {"collective-permute-motion", "all-reduce-combiner",
     "combined collectives cannot be moved individually"},
    {"simplify-while-loops", "all-reduce-combiner",
     "collectives of an unrolled loop combine with those around it"},
    {"simplify-sorts", "sort-iota-fusion", "unused operands need no iota"},
    {"sort-iota-fusion", "priority-fusion",
     "the iota should not become the output of a kernel"},
    {"multi-output-fusion", "gpu-horizontal-loop-fusion",
     "kernels that share operands are merged first"},
    {"gpu-horizontal-loop-fusion", "hlo-memory-scheduler",
     "a merged kernel has a single place in the schedule"},
    {"gpu-horizontal-input-fusion", "hlo-memory-scheduler",
     "a merged kernel has a single place in the schedule"},
    {"spmd-partitioning", "gather-simplifier",
     "the canonical form no longer shows batch dimensions"},
    {"gather-simplifier", "transpose-layouts",
     "canonical gathers may transpose their operands"},
    {"transpose-layouts", "reduction-layout-normalizer",
     "the layout of the reduced operand is final then"},
    {"reduction-degenerate-dim-remover", "reduction-layout-normalizer",
     "the position of a dimension of size 1 does not matter"},
    {"reduction-layout-normalizer", "reduction-dimension-grouper",
     "grouped dimensions must be adjacent in memory"},
    {"reduction-dimension-grouper", "triton-softmax-rewriter",
     "rows should be a single dimension"},
    {"while-loop-constant-sinking", "constant-folding",
     "constants sunk into a body fold there"},
    {"constant-folding", "while-loop-invariant-code-motion",
     "a constant need not be hoisted into loop state"},
    {"constant-folding", "priority-fusion",
     "constants inside a fusion are no longer folded"},
    {"spmd-partitioning", "dot-strength-reduction",
     "the partitioner sums partial dots over devices"},
    {"dot-strength-reduction", "transpose-layouts",
     "the rewritten products may transpose their operands"},
    {"dot-strength-reduction", "reduction-degenerate-dim-remover",
     "inner products become reductions"},
    {"transpose-layouts", "dot-update-layouts",
     "layouts would spread back from the copies"},
    {"dot-update-layouts", "dot-dimension-merger",
     "dimensions may be together once updates lie as matrices"},
    {"dot-dimension-merger", "splitk-rewriter",
     "parts are cut from a single dimension"},
    {"dot-update-layouts", "triton-gemm-rewriter",
     "what a dot can read in place depends on its layout"},
    {"transpose-layouts", "dot-layouts",
     "what a dot reads may lie as the library takes it once layouts spread"},
    {"transpose-layouts", "cudnn-fused-convolution-rewriter",
     "no layout spreads through a library call"},
    {"cudnn-fused-convolution-rewriter", "priority-fusion",
     "what the library adds is no kernel of its own"},
    {"transpose-layouts", "splitk-rewriter",
     "parts are taken where they lie in memory"},
    {"splitk-rewriter", "triton-gemm-rewriter",
     "the parts are products to fuse with"},
    {"splitk-rewriter", "priority-fusion",
     "the sum of the parts fuses with what reads it"},
    {"triton-gemm-rewriter", "dot-layouts",
     "kernels that have the dot read operands as they lie"},
    {"triton-gemm-rewriter", "dynamic-slice-fusion-rewriter",
     "slices that a compiler's dot reads cost no wait for their places"},
    {"dot-layouts", "dynamic-slice-fusion-rewriter",
     "a copied operand makes a library call of a dot that reads a slice"},
    {"dynamic-slice-fusion-rewriter", "priority-fusion",
     "a slice that a library call reads in place is no kernel"},
    {"dot-layouts", "priority-fusion",
     "a copy is part of the kernel that makes the operand"},
    {"transpose-layouts", "triton-gemm-rewriter",
     "what a dot can read in place depends on its layout"},
    {"spmd-partitioning", "copy-remover", "copies mark sharding boundaries"},
    {"copy-remover", "transpose-layouts",
     "copies would stop layouts from propagating"},
    {"spmd-partitioning", "reshape-mover",
     "reshapes of shards are known only after partitioning"},
    {"reshape-mover", "transpose-layouts",
     "adjacent transposes merge, and their layout propagates further"},
    {"reshape-mover", "priority-fusion",
     "values between kernels then have fewer different shapes"},
    {"spmd-partitioning", "slice-sinker",
     "slices of shards exist only after partitioning"},
    {"slice-sinker", "priority-fusion",
     "one kernel on the whole value replaces several on its slices"},
    {"copy-remover", "priority-fusion",
     "producers and consumers fuse once the copy between them is gone"},
    {"multi-output-fusion", "shared-memory-planning",
     "kernels are final once fusion is done"},
    {"hlo-rematerialization", "shared-memory-planning",
     "rematerialized instructions are kernels, too"},
    {"priority-fusion", "reduction-epilogue-flattener",
     "the reduction's epilogue is in its fusion then"},
    {"reduction-epilogue-flattener", "multi-output-fusion",
     "outputs with other dimensions than the reduction's cannot join its "
     "kernel"},
    {"triton-gemm-rewriter", "priority-fusion",
     "slices that do not fuse with dots fuse with other neighbors"},
    {"triton-softmax-rewriter", "tree-reduction-rewriter",
     "a row that one program keeps should not be split"},
    {"triton-softmax-rewriter", "priority-fusion",
     "producers and consumers of rows fuse with their kernel"},
    {"reduction-dimension-grouper", "reduction-splitter",
     "adjacent dimensions should be one"},
    {"reduction-splitter", "tree-reduction-rewriter",
     "the first of the two reductions may exceed one block"},
    {"reduction-dimension-grouper", "tree-reduction-rewriter",
     "grouping makes the length of a reduction visible"},
    {"tree-reduction-rewriter", "priority-fusion",
     "consumers fuse with reductions that one block finishes"},
    {"gather-simplifier", "priority-fusion",
     "kernels expect the canonical form of gathers"},
    {"scatter-simplifier", "scatter-expander",
     "the canonical form shows the number of windows"},
    {"scatter-expander", "priority-fusion",
     "in-place updates fuse with their producers and consumers"},
    {"scatter-simplifier", "priority-fusion",
     "kernels expect the canonical form of scatters"},
    {"spmd-partitioning", "priority-fusion",
     "collectives separate kernels, and shards are smaller"},
    {"call-inliner", "canonicalizer",
     "a pattern that spans a call matches once the call is gone"},
    {"call-inliner", "hlo-cse",
     "equal instructions in two callees meet once both are inlined"},
    {"tuple-simplifier", "canonicalizer",
     "a pattern sees through a tuple once its elements are forwarded"},
    {"canonicalizer", "hlo-cse",
     "instructions that differ only in form are equal in canonical form"},
    {"hlo-cse", "hlo-dce", "CSE leaves unused operands behind"},
    {"call-inliner", "priority-fusion",
     "kernels of a callee and of its caller fuse once the call is gone"},
    {"flatten-call-graph", "priority-fusion",
     "each copy of a computation is fused for its own caller"},
    {"batchnorm-expander", "canonicalizer",
     "normalizations of the same values have instructions in common"},
    {"batchnorm-expander", "priority-fusion",
     "a library kernel cannot fuse with its producers and consumers"},
    {"canonicalizer", "priority-fusion",
     "patterns do not match across fusion boundaries"},
    {"priority-fusion", "multi-output-fusion",
     "the operands of a kernel are final once its producers are fused; fusions "
     "that duplicate a producer need no second output"},
    {"hlo-dce", "multi-output-fusion", "a dead user would become an output"},
    {"priority-fusion", "hlo-memory-scheduler",
     "fusion creates and removes the values that need memory"},
    {"multi-output-fusion", "hlo-memory-scheduler",
     "a merged kernel has a single place in the schedule"},
    {"hlo-memory-scheduler", "hlo-rematerialization",
     "what to recompute depends on what is live at the peak of a schedule"},
    {"hlo-memory-scheduler", "assign-offsets",
     "the schedule determines which buffers are live at the same time"},
    {"hlo-rematerialization", "assign-offsets",
     "rematerialization changes the schedule and the buffers"},
};

// Appends the names of the passes of `pipeline`, nested ones in place.
void FlattenNames(const HloPassPipeline& pipeline,
                  std::vector<std::string>* names) {
  for (int i = 0; i < pipeline.PassesSize(); ++i) {
    const HloPassInterface& pass = pipeline.GetPass(i);
    if (pass.IsPassPipeline()) {
      FlattenNames(static_cast<const HloPassPipeline&>(pass), names);
    } else {
      // Some have the names of their originals, with '_'.
      names->push_back(absl::StrReplaceAll(pass.name(), {{"_", "-"}}));
    }
  }
}

// A place in a pipeline where there is no pass.
bool IsPlace(absl::string_view step) { return absl::StartsWith(step, "#"); }

// The passes as text.
std::string JoinSteps(const NamedPipeline& pipeline) {
  std::vector<absl::string_view> passes;
  for (absl::string_view step : pipeline.steps) {
    if (!IsPlace(step)) passes.push_back(step);
  }
  return absl::StrJoin(passes, ",");
}

absl::StatusOr<const NamedPipeline*> FindPipeline(absl::string_view name) {
  std::vector<std::string> known;
  for (const NamedPipeline& pipeline : kPipelines) {
    if (pipeline.name == name) return &pipeline;
    known.emplace_back(pipeline.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown pipeline ", name, DidYouMean(name, known)));
}

std::optional<size_t> Find(const std::vector<std::string>& names,
                           absl::string_view name) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return i;
  }
  return std::nullopt;
}

}  // namespace

absl::Span<const NamedPipeline> NamedPipelines() { return kPipelines; }

absl::Span<const OrderingConstraint> OrderingConstraints() {
  return kConstraints;
}

absl::Status CheckPipelines(const PassRegistry& registry) {
  for (const NamedPipeline& named : kPipelines) {
    TF_ASSIGN_OR_RETURN(std::unique_ptr<HloPassPipeline> pipeline,
                        MakeNamedPipeline(registry, named.name));
    std::vector<std::string> names;
    FlattenNames(*pipeline, &names);
    for (const OrderingConstraint& constraint : kConstraints) {
      std::optional<size_t> first = Find(names, constraint.first);
      std::optional<size_t> second = Find(names, constraint.second);
      if (first.has_value() && second.has_value() && *first > *second) {
        return absl::InternalError(absl::StrCat(
            "pipeline ", named.name, ": ", constraint.first, " stands after ",
            constraint.second, ", but ", constraint.reason));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<HloPassPipeline>> MakeNamedPipeline(
    const PassRegistry& registry, absl::string_view name) {
  TF_ASSIGN_OR_RETURN(const NamedPipeline* pipeline, FindPipeline(name));
  return registry.ParsePipeline(name, JoinSteps(*pipeline));
}

absl::StatusOr<std::unique_ptr<HloPassPipeline>> MakePipelineForReports(
    const PassRegistry& registry, absl::string_view name) {
  TF_ASSIGN_OR_RETURN(const NamedPipeline* pipeline, FindPipeline(name));
  const std::string steps = JoinSteps(*pipeline);
  return registry.ParsePipeline(
      name, absl::StripSuffix(steps, ",shared-memory-planning"));
}

absl::StatusOr<std::string> PipelineToText(absl::string_view name) {
  TF_ASSIGN_OR_RETURN(const NamedPipeline* pipeline, FindPipeline(name));
  std::string out = absl::StrCat(pipeline->name, ": ", pipeline->help, "\n\n");
  int number = 0;
  for (absl::string_view step : pipeline->steps) {
    if (IsPlace(step)) {
      absl::StrAppendFormat(&out, "  %s\n", step);
    } else {
      absl::StrAppendFormat(&out, "%3d  %s\n", ++number, step);
    }
  }
  std::string all = JoinSteps(*pipeline);
  std::string reasons;
  for (const OrderingConstraint& constraint : kConstraints) {
    if (all.find(constraint.first) == std::string::npos ||
        all.find(constraint.second) == std::string::npos) {
      continue;
    }
    absl::StrAppend(&reasons, "  ", constraint.first, " before ",
                    constraint.second, ": ", constraint.reason, "\n");
  }
  if (!reasons.empty()) absl::StrAppend(&out, "\norder:\n", reasons);
  return out;
}

}  // namespace xla
