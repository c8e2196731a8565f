#include "xla/hlo/pipeline/pipelines.h"

#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "xla/hlo/pass/nearest_name.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

constexpr absl::string_view kCleanup[] = {
    "tuple-simplifier",
    "fix(canonicalizer,tuple-simplifier,hlo-cse,hlo-dce)",
};

constexpr absl::string_view kCpu[] = {
    "hlo-descheduler",
    "if-partitions(shardy-import)",
    "call-inliner",
    "flatten-call-graph",
    "tuple-simplifier",
    "batchnorm-expander",
    "fix(canonicalizer,tuple-simplifier,hlo-cse,hlo-dce)",
    "if-partitions(factor-propagation,spmd-partitioning,"
    "canon-all-gather-for-cse,"
    "fix(canonicalizer,tuple-simplifier,hlo-cse,hlo-dce),"
    "collective-permute-motion)",
    "select-and-scatter-expander",
    "fix(while-loop-constant-sinking,simplify-while-loops,"
    "simplify-conditional,hlo-module-dce,constant-folding,canonicalizer,"
    "tuple-simplifier,hlo-cse,hlo-dce)",
    "while-loop-invariant-code-motion",
    "fix(canonicalizer,tuple-simplifier,hlo-cse,hlo-dce)",
    "cpu-instruction-fusion",
    "hlo-cse",
    "hlo-dce",
    "loop-state-copies",
    "hlo-memory-scheduler{algorithm=bfs}",
    "assign-offsets",
};

constexpr absl::string_view kInline[] = {
    "call-inliner",
    "tuple-simplifier",
    "fix(canonicalizer,tuple-simplifier,hlo-cse,hlo-dce)",
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
    "hlo-descheduler",
    "if-partitions(shardy-import)",
    "call-inliner",
    "flatten-call-graph",
    "tuple-simplifier",
    "fix(canonicalizer,tuple-simplifier,hlo-cse,hlo-dce)",
    "if-partitions(factor-propagation,spmd-partitioning,"
    "canon-all-gather-for-cse,"
    "fix(canonicalizer,tuple-simplifier,hlo-cse,hlo-dce),"
    "collective-permute-motion)",
};

constexpr absl::string_view kGpu[] = {
    "hlo-descheduler",
    "if-partitions(shardy-import)",
    "call-inliner",
    "flatten-call-graph",
    "tuple-simplifier",
    "batchnorm-expander",
    "fix(canonicalizer,tuple-simplifier,hlo-cse,hlo-dce)",
    "if-partitions(factor-propagation,spmd-partitioning,"
    "canon-all-gather-for-cse,"
    "fix(canonicalizer,tuple-simplifier,hlo-cse,hlo-dce),"
    "collective-permute-motion)",
    "fix(while-loop-constant-sinking,simplify-while-loops,"
    "simplify-conditional,hlo-module-dce,constant-folding,canonicalizer,"
    "tuple-simplifier,hlo-cse,hlo-dce)",
    "while-loop-invariant-code-motion",
    "if-partitions(all-gather-combiner,all-reduce-combiner,"
    "reduce-scatter-combiner)",
    "fix(reshape-mover{reshape-of-1d-broadcast-is-cheap=true},slice-sinker,"
    "constant-folding,canonicalizer,hlo-cse,hlo-dce)",
    "dot-strength-reduction",
    "simplify-sorts",
    "variadic-op-splitter",
    "copy-remover",
    "gather-simplifier",
    "scatter-simplifier",
    "scatter-expander",
    "transpose-layouts",
    "reduction-degenerate-dim-remover",
    "reduction-layout-normalizer",
    "reduction-dimension-grouper",
    "triton-gemm-rewriter",
    "triton-softmax-rewriter",
    "reduction-splitter",
    "tree-reduction-rewriter",
    "fix(canonicalizer,tuple-simplifier,hlo-cse,hlo-dce)",
    "sort-iota-fusion",
    "priority-fusion",
    "reduction-epilogue-flattener",
    "hlo-cse",
    "hlo-dce",
    "multi-output-fusion{order=best,memory-limit=105%}",
    "hlo-cse",
    "hlo-dce",
    "gpu-horizontal-loop-fusion",
    "gpu-horizontal-input-fusion",
    "hlo-memory-scheduler",
    "hlo-rematerialization{memory-limit=100%}",
    "assign-offsets",
    "shared-memory-planning",
};

constexpr NamedPipeline kPipelines[] = {
    {"cleanup", "canonical form, no equal and no dead instructions", kCleanup},
    {"cpu",
     "about what XLA makes for a CPU: loops fused, instructions in the order "
     "in "
     "which they become ready",
     kCpu},
    {"gpu",
     "from a framework's module to fused kernels, their order and their memory",
     kGpu},
    {"inline", "cleanup after inlining every call", kInline},
    {"prepare", "what scheduling needs: no calls, nothing dead", kPrepare},
    {"schedule", "prepare, then an order that needs little memory", kSchedule},
    {"spmd", "the module of one device of several", kSpmd},
};

constexpr OrderingConstraint kConstraints[] = {
    {"call-inliner", "flatten-call-graph",
     "a call that is inlined needs no copy of what it calls"},
    {"flatten-call-graph", "hlo-dce",
     "the original of a computation may have no caller any more"},
    {"flatten-call-graph", "hlo-memory-scheduler",
     "values of different callers may not have to share memory"},
    {"hlo-dce", "hlo-memory-scheduler",
     "what nobody reads needs no place in the order"},
    {"shardy-import", "call-inliner",
     "regions of Shardy that are manual are calls"},
    {"shardy-import", "factor-propagation",
     "what Shardy's attributes say is to be spread"},
    {"hlo-cse", "factor-propagation",
     "equal instructions are to be cut in one way"},
    {"batchnorm-expander", "factor-propagation",
     "reductions and elementwise instructions are cut one by one"},
    {"factor-propagation", "spmd-partitioning",
     "an instruction without a sharding is computed by every device"},
    {"spmd-partitioning", "canon-all-gather-for-cse",
     "what is gathered is known once the module is that of one device"},
    {"canon-all-gather-for-cse", "collective-permute-motion",
     "equal collectives are one before they move"},
    {"spmd-partitioning", "while-loop-constant-sinking",
     "what loops carry has the sizes of shards then"},
    {"while-loop-constant-sinking", "simplify-while-loops",
     "a bound that is a constant in the condition tells how often a loop runs"},
    {"spmd-partitioning", "select-and-scatter-expander",
     "shards of a scatter at computed positions would be unknown"},
    {"select-and-scatter-expander", "cpu-instruction-fusion",
     "positions are computed where they are read"},
    {"cpu-instruction-fusion", "loop-state-copies",
     "a copy would be fused with what reads it"},
    {"loop-state-copies", "hlo-memory-scheduler",
     "copies are made before their loops"},
    {"simplify-while-loops", "simplify-conditional",
     "a selector is constant once the loop around it is gone"},
    {"simplify-conditional", "hlo-module-dce",
     "elements of states that only a branch never taken reads are dead"},
    {"hlo-module-dce", "while-loop-invariant-code-motion",
     "what nobody reads is not worth moving"},
    {"while-loop-invariant-code-motion", "priority-fusion",
     "in a kernel of the body nothing can leave it any more"},
    {"spmd-partitioning", "all-gather-combiner",
     "the partitioner makes the collectives"},
    {"collective-permute-motion", "all-reduce-combiner",
     "collectives that are several at once stay where they are"},
    {"simplify-while-loops", "all-reduce-combiner",
     "collectives of a loop that is gone meet those around it"},
    {"simplify-sorts", "sort-iota-fusion",
     "positions that nobody reads need not be counted"},
    {"sort-iota-fusion", "priority-fusion",
     "positions are not to be a kernel's result"},
    {"multi-output-fusion", "gpu-horizontal-loop-fusion",
     "kernels that read the same values are one before"},
    {"gpu-horizontal-loop-fusion", "hlo-memory-scheduler",
     "merged kernels have a single place in the order"},
    {"gpu-horizontal-input-fusion", "hlo-memory-scheduler",
     "merged kernels have a single place in the order"},
    {"spmd-partitioning", "gather-simplifier",
     "rows of index vectors do not tell batches from each other"},
    {"gather-simplifier", "transpose-layouts",
     "operands of gathers are transposed before"},
    {"transpose-layouts", "reduction-layout-normalizer",
     "how what is reduced lies in memory is known then"},
    {"reduction-degenerate-dim-remover", "reduction-layout-normalizer",
     "where a dimension of size 1 lies is nobody's matter"},
    {"reduction-layout-normalizer", "reduction-dimension-grouper",
     "dimensions are neighbors in memory"},
    {"reduction-dimension-grouper", "triton-softmax-rewriter",
     "rows are one dimension"},
    {"while-loop-constant-sinking", "constant-folding",
     "what a loop's body computes from constants is one once they are inside"},
    {"constant-folding", "while-loop-invariant-code-motion",
     "what is a constant needs no place in the state"},
    {"constant-folding", "priority-fusion",
     "in a kernel nothing is computed before the kernel runs"},
    {"spmd-partitioning", "dot-strength-reduction",
     "partitions of dots sum up over devices"},
    {"dot-strength-reduction", "transpose-layouts",
     "operands of products are transposed before"},
    {"dot-strength-reduction", "reduction-degenerate-dim-remover",
     "inner products are reductions"},
    {"transpose-layouts", "triton-gemm-rewriter",
     "what a dot reads in place depends on how it lies in memory"},
    {"spmd-partitioning", "copy-remover",
     "copies mark where values change hands"},
    {"copy-remover", "transpose-layouts",
     "a layout goes through what a copy would interrupt"},
    {"spmd-partitioning", "reshape-mover",
     "what a reshape does to a shard is known then"},
    {"reshape-mover", "transpose-layouts",
     "transposes that meet are one, whose layout spreads further"},
    {"reshape-mover", "priority-fusion",
     "values that kernels pass on have fewer shapes"},
    {"spmd-partitioning", "slice-sinker",
     "slices of shards are cut once values are"},
    {"slice-sinker", "priority-fusion",
     "one kernel on the whole takes the place of many on parts"},
    {"copy-remover", "priority-fusion",
     "what makes and what reads a value fuse"},
    {"multi-output-fusion", "shared-memory-planning",
     "what a kernel computes is known once nothing fuses with it"},
    {"hlo-rematerialization", "shared-memory-planning",
     "what is computed a second time is a kernel, too"},
    {"priority-fusion", "reduction-epilogue-flattener",
     "what comes behind a reduction is in its kernel then"},
    {"reduction-epilogue-flattener", "multi-output-fusion",
     "results in other dimensions than the reduction's need kernels of their "
     "own"},
    {"triton-gemm-rewriter", "priority-fusion",
     "slices fuse with dots, or else with what makes and reads them"},
    {"triton-softmax-rewriter", "tree-reduction-rewriter",
     "a row that one program keeps is not to be split"},
    {"triton-softmax-rewriter", "priority-fusion",
     "what makes and reads rows fuses with their kernel"},
    {"reduction-dimension-grouper", "reduction-splitter",
     "neighbors are one dimension"},
    {"reduction-splitter", "tree-reduction-rewriter",
     "what is reduced first may be too long for one block"},
    {"reduction-dimension-grouper", "tree-reduction-rewriter",
     "how long a reduction is shows once its dimensions are one"},
    {"tree-reduction-rewriter", "priority-fusion",
     "readers fuse with reductions that one block finishes"},
    {"gather-simplifier", "priority-fusion",
     "kernels are made for one form of gathers"},
    {"scatter-simplifier", "scatter-expander",
     "how many windows there are shows in the simple form"},
    {"scatter-expander", "priority-fusion",
     "updates in place fuse with what makes and reads them"},
    {"scatter-simplifier", "priority-fusion",
     "kernels are made for one form of scatters"},
    {"spmd-partitioning", "priority-fusion",
     "collectives stand between kernels, and shards are smaller"},
    {"call-inliner", "canonicalizer",
     "a pattern that spans a call matches once the call is gone"},
    {"call-inliner", "hlo-cse",
     "equal instructions in two callees meet once both are inlined"},
    {"tuple-simplifier", "canonicalizer",
     "a pattern sees through a tuple once its elements are forwarded"},
    {"canonicalizer", "hlo-cse",
     "instructions that differ only in form are equal in canonical form"},
    {"hlo-cse", "hlo-dce", "CSE leaves operands that nobody reads any more"},
    {"call-inliner", "priority-fusion",
     "kernels of a callee and of its caller fuse once the call is gone"},
    {"flatten-call-graph", "priority-fusion",
     "each copy of a computation is fused for its own caller"},
    {"batchnorm-expander", "canonicalizer",
     "normalizations of the same values have instructions in common"},
    {"batchnorm-expander", "priority-fusion",
     "a kernel of a library cannot fuse with what makes and reads its values"},
    {"canonicalizer", "priority-fusion",
     "patterns across what becomes two kernels match before"},
    {"priority-fusion", "multi-output-fusion",
     "what a kernel reads is known once its producers are inside; and fusions "
     "that duplicate a producer need no second output"},
    {"hlo-dce", "multi-output-fusion", "a dead reader would become an output"},
    {"priority-fusion", "hlo-memory-scheduler",
     "fusion makes and removes the values that need memory"},
    {"multi-output-fusion", "hlo-memory-scheduler",
     "merged kernels have a single place in the order"},
    {"hlo-memory-scheduler", "hlo-rematerialization",
     "what to compute again depends on what is live at the peak of an order"},
    {"hlo-memory-scheduler", "assign-offsets",
     "an order tells which buffers are live at the same time"},
    {"hlo-rematerialization", "assign-offsets",
     "rematerialization changes the order and the buffers"},
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
      absl::StrCat("no pipeline ", name, DidYouMean(name, known)));
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
