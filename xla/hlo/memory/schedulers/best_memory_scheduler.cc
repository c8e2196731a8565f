#include "xla/hlo/memory/schedulers/best_memory_scheduler.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/memory/accounting/hlo_memory_graph.h"
#include "xla/hlo/memory/accounting/schedule_memory.h"
#include "xla/hlo/memory/graph/memory_graph.h"
#include "xla/hlo/memory/graph/memory_lower_bound.h"
#include "xla/hlo/memory/graph/memory_order_search.h"
#include "xla/hlo/memory/schedulers/dfs_memory_scheduler.h"
#include "xla/hlo/memory/schedulers/list_memory_scheduler.h"
#include "xla/hlo/memory/schedulers/post_order_scheduler.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

constexpr int64_t kStepsPerEffort = 1000000;

// Schedules computations callees first, since the peak of a callee is memory
// that its caller needs while the call runs. The search effort is distributed
// in proportion to the number of instructions.
class BottomUpRun {
 public:
  BottomUpRun(const HloAliasAnalysis& alias_analysis,
              const AliasInfo* alias_info,
              const BufferValue::SizeFunction& size_function, int64_t steps,
              int64_t all_instructions,
              const SchedulerPostprocessor& postprocessor)
      : alias_analysis_(alias_analysis),
        list_(alias_info, &size_function),
        dfs_(alias_info, &size_function),
        post_order_(alias_info, &size_function),
        steps_(steps),
        all_instructions_(all_instructions),
        postprocessor_(postprocessor) {}

  // Chooses an order for the computation and keeps what is known of it.
  absl::StatusOr<HloInstructionSequence> Schedule(
      HloComputation* computation, const HloMemoryGraph& memory) {
    TF_ASSIGN_OR_RETURN(std::vector<NamedOrder> known,
                        KnownOrders(computation, memory));
    // Each computation gets its share.
    double share = static_cast<double>(memory.graph.node_count()) /
                   static_cast<double>(std::max<int64_t>(1, all_instructions_));
    int64_t steps = static_cast<int64_t>(share * static_cast<double>(steps_));
    FoundOrder found = FindOrder(memory.graph, known, steps);
    report_.algorithm = found.algorithm;
    report_.peak_bytes = found.peak_bytes;
    SetBound(computation, memory, found, steps);
    HloInstructionSequence sequence(memory.ToInstructions(found.order));
    if (!postprocessor_) return sequence;
    known.insert(known.begin(), {found.algorithm, std::move(found.order)});
    return Postprocess(memory, known);
  }

  const BestMemoryScheduler::Report& report() const { return report_; }

 private:
  absl::StatusOr<std::vector<NamedOrder>> KnownOrders(
      HloComputation* computation, const HloMemoryGraph& memory) const {
    const std::pair<const char*, const ComputationSchedulerAlgorithm*>
        schedulers[] = {
            {"list", &list_}, {"dfs", &dfs_}, {"postorder", &post_order_}};
    std::vector<NamedOrder> known;
    for (const auto& [name, scheduler] : schedulers) {
      TF_ASSIGN_OR_RETURN(HloInstructionSequence sequence,
                          scheduler->Run(computation, alias_analysis_));
      TF_ASSIGN_OR_RETURN(std::vector<MemoryGraph::Node> order,
                          memory.ToNodes(sequence.instructions()));
      known.push_back({name, std::move(order)});
    }
    return known;
  }

  // The order that is best once it is postprocessed.
  absl::StatusOr<HloInstructionSequence> Postprocess(
      const HloMemoryGraph& memory, const std::vector<NamedOrder>& orders) {
    std::optional<HloInstructionSequence> best;
    for (const NamedOrder& named : orders) {
      HloInstructionSequence sequence = postprocessor_(
          HloInstructionSequence(memory.ToInstructions(named.order)));
      TF_ASSIGN_OR_RETURN(std::vector<MemoryGraph::Node> order,
                          memory.ToNodes(sequence.instructions()));
      int64_t peak = ReplayPeak(memory.graph, order).bytes;
      if (best.has_value() && peak >= report_.peak_bytes) continue;
      best = std::move(sequence);
      report_.algorithm = named.name;
      report_.peak_bytes = peak;
    }
    return *std::move(best);
  }

  // A bound for any schedule of the module counts callees by their bounds, not
  // by the peaks that were found.
  void SetBound(const HloComputation* computation, const HloMemoryGraph& memory,
                const FoundOrder& found, int64_t steps) {
    MemoryBound bound = found.lower_bound;
    MemoryGraph graph;
    bool differs = false;
    for (size_t i = 0; i < memory.instructions.size(); ++i) {
      int64_t extra = 0;
      for (const HloComputation* callee :
           ComputationsRunBy(*memory.instructions[i])) {
        auto it = bounds_.find(callee);
        if (it != bounds_.end()) extra = std::max(extra, it->second);
      }
      if (extra == memory.graph.extra(static_cast<MemoryGraph::Node>(i))) {
        continue;
      }
      if (!differs) graph = memory.graph;
      differs = true;
      graph.set_extra(static_cast<MemoryGraph::Node>(i), extra);
    }
    if (differs) bound = AnyOrderLowerBound(graph, found.order, steps / 4);
    bounds_[computation] = bound.bytes;
    report_.lower_bound_bytes = bound.bytes;
    report_.lower_bound_instruction = bound.node == MemoryGraph::kStart
                                          ? nullptr
                                          : memory.instructions[bound.node];
  }

  const HloAliasAnalysis& alias_analysis_;
  ListMemoryScheduler list_;
  DFSMemoryScheduler dfs_;
  PostOrderScheduler post_order_;
  int64_t steps_;
  int64_t all_instructions_;
  const SchedulerPostprocessor& postprocessor_;
  ComputationPeaks bounds_;
  BestMemoryScheduler::Report report_;
};

}  // namespace

absl::StatusOr<HloSchedule> BestMemoryScheduler::Run(
    HloModule* module, const HloAliasAnalysis& alias_analysis,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    int64_t* peak_memory) const {
  Report report;
  TF_ASSIGN_OR_RETURN(
      HloSchedule schedule,
      RunWithReport(module, alias_analysis, execution_threads, &report));
  if (peak_memory != nullptr) *peak_memory = report.peak_bytes;
  return schedule;
}

absl::StatusOr<HloSchedule> BestMemoryScheduler::RunWithReport(
    HloModule* module, const HloAliasAnalysis& alias_analysis,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    Report* report) const {
  int64_t all_instructions = 0;
  for (const HloComputation* computation : ComputationsWithMemory(*module)) {
    all_instructions += computation->instruction_count();
  }
  BottomUpRun run(alias_analysis, alias_info(), size_function_,
                  effort_ * kStepsPerEffort, all_instructions, postprocessor_);
  HloSchedule schedule(module);
  TF_ASSIGN_OR_RETURN(
      report->peak_bytes,
      ForEachComputationMemory(
          *module, alias_analysis, alias_info(), size_function_,
          [&](HloComputation* computation,
              const HloMemoryGraph& memory) -> absl::StatusOr<int64_t> {
            TF_ASSIGN_OR_RETURN(HloInstructionSequence sequence,
                                run.Schedule(computation, memory));
            TF_ASSIGN_OR_RETURN(std::vector<MemoryGraph::Node> order,
                                memory.ToNodes(sequence.instructions()));
            schedule.set_sequence(computation, std::move(sequence));
            return ReplayPeak(memory.graph, order).bytes;
          }));
  int64_t peak = report->peak_bytes;
  *report = run.report();
  report->peak_bytes = peak;

  // The rest runs without memory of its own; other threads stay unscheduled.
  HloSchedule wanted(module);
  for (HloComputation* computation :
       module->MakeComputationPostOrder(execution_threads)) {
    if (computation->IsFusionComputation()) continue;
    if (schedule.is_computation_scheduled(computation)) {
      wanted.set_sequence(computation, schedule.sequence(computation));
      continue;
    }
    HloInstructionSequence sequence(computation->MakeInstructionPostOrder());
    if (postprocessor_) sequence = postprocessor_(sequence);
    wanted.set_sequence(computation, std::move(sequence));
  }
  return wanted;
}

}  // namespace xla
