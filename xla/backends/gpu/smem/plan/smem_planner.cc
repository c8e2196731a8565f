#include "xla/backends/gpu/smem/plan/smem_planner.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/baseline/stack_planner.h"
#include "xla/backends/gpu/smem/plan/smem_flow.h"
#include "xla/backends/gpu/smem/plan/smem_footprint.h"
#include "xla/backends/gpu/smem/plan/smem_hazard.h"
#include "xla/backends/gpu/smem/plan/smem_insert.h"
#include "xla/backends/gpu/smem/plan/smem_liveness.h"
#include "xla/backends/gpu/smem/plan/smem_search.h"
#include "xla/status_macros.h"

// The steps of planning:
//  - model the kernel (SmemFlow), find who touches what (SmemFootprints) and
//    which pairs of accesses need an order (SmemHazards);
//  - collect the arcs within buffers that no barrier covers: they are required
//    for correctness whatever the placement is;
//  - search barrier sets and placements together (SmemSearch) and choose a
//    point on the Pareto front by the reuse option;
//  - compute the arcs between buffers that share bytes in the chosen placement,
//    insert the barriers, waits and fences, and split barriers where that pays;
//  - assign registers and check the limit.

namespace xla::gpu {

absl::StatusOr<SmemPlan> SmemPlanner::Plan() {
  AddWorkspaces();
  ASSIGN_OR_RETURN(flow_, SmemFlow::Create(kernel_, workspaces_));
  SmemFootprints footprints(*flow_);
  SmemHazards hazards(*flow_, footprints);
  RETURN_IF_ERROR(CollectItems(ComputeSmemLives(*flow_, footprints)));
  std::vector<std::pair<int, int>> unordered;
  std::vector<SmemArc> within = hazards.WithinBuffers(&unordered);
  if (!settled_.empty()) {
    within.erase(
        std::remove_if(within.begin(), within.end(),
                       [&](const SmemArc& arc) { return IsSettled(arc); }),
        within.end());
  }
  NoteRaces(unordered);
  std::vector<SmemArc> required;
  for (const SmemArc& arc : within) {
    if (!arc.covered && arc.conflict == ThreadConflict::kBlock) {
      required.push_back(arc);
    }
  }
  SmemSearchOptions search_options;
  search_options.exact_up_to = options_.exact_up_to;
  search_options.max_extra = MaxExtra();
  search_options.seed = StackAddresses();
  const std::vector<SmemChoice> choices =
      SmemSearch(*flow_, hazards, items_, required, plan_.lower_bound_bytes,
                 search_options)
          .Run();
  SmemChoice choice = Choose(choices);
  std::vector<SmemArc> between = ArcsBetween(hazards, choice.addresses);
  const SmemInsertions insertions =
      FindInsertions(*flow_, hazards, within, between);
  plan_.notes.insert(plan_.notes.end(), insertions.notes.begin(),
                     insertions.notes.end());
  for (const SmemArc& arc : insertions.unordered) {
    NoteRace(arc.from, arc.to, "there is no place for a barrier between them");
  }
  plan_.mode = "plan";
  if (choice.optimal) plan_.optimum_bytes = choice.total;
  RETURN_IF_ERROR(SetAddresses(choice));
  SplitBarriers(within, between, insertions);
  Build(insertions, choice, between);
  if (insertions.fewest) plan_.optimum_syncs = plan_.NewBlockSyncs();
  ShareRegisters();
  RETURN_IF_ERROR(CheckLimit());
  return std::move(plan_);
}

void SmemPlanner::AddWorkspaces() {
  const std::optional<std::string> option =
      kernel_.FindOption("reduction_workspace");
  if (!option.has_value() || *option == "0") return;
  int64_t threads = 1;
  for (std::optional<int64_t> extent : kernel_.BlockExtents()) {
    threads *= extent.value_or(1);
  }
  std::vector<kir::Statement> allocs;
  kir::ForEachStatement(kernel_.body, [&](const kir::Statement& statement) {
    const kir::Expr* expr = statement.As<kir::Expr>();
    if (expr == nullptr || !expr->sync) return;
    kir::Buffer buffer;
    buffer.name = absl::StrCat("workspace", workspaces_.size());
    buffer.memory = kir::Memory::kShared;
    buffer.type = kernel_.buffers[expr->outputs[0].buffer].type;
    buffer.extents = {
        AffineExpr(threads * static_cast<int64_t>(expr->outputs.size()))};
    buffer.location = statement.location;
    workspaces_.push_back(static_cast<int>(kernel_.buffers.size()));
    kernel_.buffers.push_back(std::move(buffer));
    allocs.push_back({kir::Alloc{workspaces_.back()}, statement.location});
  });
  kernel_.body.insert(kernel_.body.begin(), allocs.begin(), allocs.end());
}

absl::Status SmemPlanner::CollectItems(std::vector<SmemLife> lives) {
  const AffineExpr::Binding binding = kernel_.Bindings();
  std::vector<int64_t> all_bytes(kernel_.buffers.size(), 0);
  std::vector<int64_t> alignments(kernel_.buffers.size(), 1);
  for (kir::BufferId id = 0; id < static_cast<int>(kernel_.buffers.size());
       ++id) {
    const kir::Buffer& buffer = kernel_.buffers[id];
    if (buffer.memory != kir::Memory::kShared || buffer.alias.has_value() ||
        buffer.is_param) {
      continue;
    }
    absl::StatusOr<int64_t> bytes = buffer.Bytes().Evaluate(binding);
    if (!bytes.ok()) {
      return kernel_.ErrorAt(
          buffer.location,
          absl::StrCat("the size of %", buffer.name, ", ",
                       buffer.Bytes().ToString(),
                       ", is not known: ", bytes.status().message()));
    }
    if (*bytes <= 0) {
      return kernel_.ErrorAt(buffer.location,
                             absl::StrCat("%", buffer.name, " has ", *bytes,
                                          " bytes under these bindings"));
    }
    all_bytes[id] = *bytes;
    alignments[id] = SmemAlignment(kernel_, buffer, options_.min_align);
    items_.push_back({id, *bytes, alignments[id], lives[id]});
    symbolic_ |= !buffer.Bytes().IsConstant();
  }
  plan_.lower_bound_bytes = LiveBytesLowerBound(lives, all_bytes, alignments);
  return absl::OkStatus();
}

// The baseline's addresses, as a seed for placements; empty if the stack
// planner refuses the kernel.
std::vector<int64_t> SmemPlanner::StackAddresses() const {
  std::vector<int64_t> addresses;
  StackPlanOptions options;
  options.alias = options.required_syncs = false;
  options.min_align = options_.min_align;
  absl::StatusOr<SmemPlan> stack = PlanSharedMemoryAsStack(kernel_, options);
  if (!stack.ok()) return addresses;
  for (const SmemItem& item : items_) {
    const SmemBufferPlan* plan = stack->Find(item.buffer);
    if (plan == nullptr) return {};
    addresses.push_back(plan->address_bytes);
  }
  return addresses;
}

// Between a load of a split loop and what reads its stage there or, once the
// loop is over, behind it; and between that and the next load there.
bool SmemPlanner::IsSettled(const SmemArc& arc) const {
  const FlowAccess& from = flow_->accesses()[arc.from];
  const FlowAccess& to = flow_->accesses()[arc.to];
  auto staged = [&](int node) {
    const std::vector<int> loops = flow_->LoopsAround(node);
    return absl::c_any_of(loops, [&](int loop) {
      return flow_->AsLoop(loop)->stage != kir::LoopStage::kNone;
    });
  };
  return absl::c_linear_search(settled_, from.buffer) && staged(from.node) &&
         (staged(to.node) || (arc.carried < 0 && !to.write));
}

void SmemPlanner::NoteRace(int a, int b, absl::string_view why) {
  const FlowAccess& p = flow_->accesses()[a];
  const FlowAccess& q = flow_->accesses()[b];
  plan_.notes.push_back(absl::StrCat(
      "race: %", kernel_.buffers[p.buffer].name, " at ",
      flow_->nodes()[p.node].position, " and %", kernel_.buffers[q.buffer].name,
      " at ", flow_->nodes()[q.node].position, "; ", why));
}

void SmemPlanner::NoteRaces(const std::vector<std::pair<int, int>>& unordered) {
  for (const auto& [a, b] : unordered) {
    // Where the index follows the thread, equal indices may mean equal
    // values; where it does not, many threads meet at one byte.
    const FlowAccess& access = flow_->accesses()[a];
    if (a != b || access.anywhere || flow_->IndexVaries(access)) continue;
    NoteRace(a, b, "several threads touch the same bytes in one statement");
  }
}

int SmemPlanner::MaxExtra() const {
  if (options_.reuse_syncs == SmemPlanOptions::ReuseSyncs::kNever) return 0;
  return options_.max_reuse_syncs.value_or(1 << 20);
}

// By default extra barriers must pay for themselves: a choice with more
// barriers than promotion alone would add is taken only if its smaller
// footprint lets more blocks run per multiprocessor.
const SmemChoice& SmemPlanner::Choose(const std::vector<SmemChoice>& choices) {
  using Syncs = SmemPlanOptions::ReuseSyncs;
  if (options_.reuse_syncs == Syncs::kMinBytes ||
      options_.max_reuse_syncs.has_value()) {
    return Least(choices, MaxExtra());
  }
  int promoted = 0;
  for (const kir::Buffer& buffer : kernel_.buffers) promoted += buffer.promote;
  // The benefit of promotion for bytes alone.
  const SmemChoice* best = &Least(choices, promoted);
  auto blocks = [&](const SmemChoice& choice) {
    return device_.BlocksPerSm(choice.total, flow_->num_threads(),
                               options_.registers);
  };
  for (const SmemChoice& choice : choices) {
    if (choice.extra <= best->extra) continue;
    const int before = blocks(*best), after = blocks(choice);
    if (after <= before) continue;
    plan_.notes.push_back(absl::StrCat(
        choice.extra - best->extra, " more barriers: ", best->total, " -> ",
        choice.total, " bytes, ", before, " -> ", after,
        " blocks per multiprocessor of ", device_.name));
    best = &choice;
  }
  return *best;
}

const SmemChoice& SmemPlanner::Least(const std::vector<SmemChoice>& choices,
                                     int max_extra) {
  const SmemChoice* best = &choices[0];
  for (const SmemChoice& choice : choices) {
    if (choice.extra > max_extra) continue;
    if (choice.total < best->total) best = &choice;
  }
  return *best;
}

// Only pairs that overlap in the chosen placement need an order. With symbolic
// sizes the addresses of a later launch may differ, so overlap anywhere is
// assumed.
std::vector<SmemArc> SmemPlanner::ArcsBetween(
    const SmemHazards& hazards, const std::vector<int64_t>& addresses) {
  std::vector<SmemArc> arcs;
  // Many buffers bring many pairs; those that something covers matter only
  // where transfers must be waited for. With few, one arc of each direction is
  // there to describe.
  const bool keep_covered = items_.size() <= kMaxDescribedItems;
  const OrderedPairs ordered =
      keep_covered ? OrderedPairs::kFirst : OrderedPairs::kSkip;
  for (size_t i = 0; i < items_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (addresses[i] >= addresses[j] + items_[j].bytes ||
          addresses[j] >= addresses[i] + items_[i].bytes) {
        continue;
      }
      auto keep = [&](const SmemArc& arc) {
        if (keep_covered || !arc.covered || arc.needs_wait || arc.needs_fence) {
          arcs.push_back(arc);
        }
        return true;
      };
      const kir::BufferId x = items_[i].buffer, y = items_[j].buffer;
      // Sizes that launches choose move the bytes that are common.
      if (symbolic_ && !SharesBase(addresses, i, j)) {
        hazards.BetweenAnywhere(x, y, ordered, keep);
      } else {
        hazards.Between(x, addresses[i], y, addresses[j], ordered, keep);
      }
    }
  }
  return arcs;
}

}  // namespace xla::gpu
