#include "xla/backends/gpu/smem/plan_shared_memory.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_verifier.h"
#include "xla/backends/gpu/smem/kernel_positions.h"
#include "xla/backends/gpu/smem/smem_flow.h"
#include "xla/backends/gpu/smem/smem_footprint.h"
#include "xla/backends/gpu/smem/smem_hazard.h"
#include "xla/backends/gpu/smem/smem_insert.h"
#include "xla/backends/gpu/smem/smem_liveness.h"
#include "xla/backends/gpu/smem/smem_search.h"
#include "xla/backends/gpu/smem/stack_planner.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// Pairs of buffers whose reasons are written into the plan.
constexpr size_t kMaxDescribedItems = 64;

// Set aside for variables of fixed size, in bytes.
constexpr int64_t kStaticBytes = 128;

class Planner {
 public:
  Planner(const kir::Kernel& kernel, const GpuDevice& device,
          const SmemPlanOptions& options)
      : kernel_(kernel), device_(device), options_(options) {}

  absl::StatusOr<SmemPlan> Plan() {
    AddWorkspaces();
    ASSIGN_OR_RETURN(flow_, SmemFlow::Create(kernel_, workspaces_));
    SmemFootprints footprints(*flow_);
    SmemHazards hazards(*flow_, footprints);
    RETURN_IF_ERROR(CollectItems(ComputeSmemLives(*flow_, footprints)));
    std::vector<std::pair<int, int>> unordered;
    const std::vector<SmemArc> within = hazards.WithinBuffers(&unordered);
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
      NoteRace(arc.from, arc.to, "no place for a barrier lies between them");
    }
    plan_.mode = "plan";
    if (choice.optimal) plan_.optimum_bytes = choice.total;
    RETURN_IF_ERROR(SetAddresses(choice));
    Build(insertions, choice, between);
    RETURN_IF_ERROR(CheckLimit());
    return std::move(plan_);
  }

 private:
  // Scratch of block reductions as buffers that live for one statement.
  void AddWorkspaces() {
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

  absl::Status CollectItems(std::vector<SmemLife> lives) {
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

  // What the stack makes of it: one candidate among others.
  std::vector<int64_t> StackAddresses() const {
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

  void NoteRace(int a, int b, absl::string_view why) {
    const FlowAccess& p = flow_->accesses()[a];
    const FlowAccess& q = flow_->accesses()[b];
    plan_.notes.push_back(
        absl::StrCat("race: %", kernel_.buffers[p.buffer].name, " at ",
                     flow_->nodes()[p.node].position, " and %",
                     kernel_.buffers[q.buffer].name, " at ",
                     flow_->nodes()[q.node].position, "; ", why));
  }

  void NoteRaces(const std::vector<std::pair<int, int>>& unordered) {
    for (const auto& [a, b] : unordered) {
      // Where the index follows the thread, equal indices may mean equal
      // values; where it does not, many threads meet at one byte.
      const FlowAccess& access = flow_->accesses()[a];
      if (a != b || access.anywhere || flow_->IndexVaries(access)) continue;
      NoteRace(a, b, "several threads touch the same bytes in one statement");
    }
  }

  bool HasPromote() const {
    return absl::c_any_of(kernel_.buffers,
                          [](const kir::Buffer& b) { return b.promote; });
  }

  int MaxExtra() const {
    if (options_.reuse_syncs == SmemPlanOptions::ReuseSyncs::kNever) return 0;
    return options_.max_reuse_syncs.value_or(1 << 20);
  }

  // First to fit, then blocks per multiprocessor, then few barriers.
  const SmemChoice& Choose(const std::vector<SmemChoice>& choices) {
    using Syncs = SmemPlanOptions::ReuseSyncs;
    if (options_.reuse_syncs == Syncs::kMinBytes ||
        options_.max_reuse_syncs.has_value()) {
      return Least(choices, MaxExtra());
    }
    int promoted = 0;
    for (const kir::Buffer& buffer : kernel_.buffers)
      promoted += buffer.promote;
    // What promotion buys for bytes alone.
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

  static const SmemChoice& Least(const std::vector<SmemChoice>& choices,
                                 int max_extra) {
    const SmemChoice* best = &choices[0];
    for (const SmemChoice& choice : choices) {
      if (choice.extra > max_extra) continue;
      if (choice.total < best->total) best = &choice;
    }
    return *best;
  }

  // Two buffers of fixed size at one address, which stay at one address.
  bool SharesBase(const std::vector<int64_t>& addresses, size_t i,
                  size_t j) const {
    return addresses[i] == addresses[j] && HasFixedSize(i) && HasFixedSize(j);
  }
  bool HasFixedSize(size_t i) const {
    return kernel_.buffers[items_[i].buffer].Bytes().IsConstant();
  }

  bool Overlap(const SmemChoice& choice, size_t i, size_t j) const {
    return choice.addresses[i] < choice.addresses[j] + items_[j].bytes &&
           choice.addresses[j] < choice.addresses[i] + items_[i].bytes;
  }

  std::vector<SmemArc> ArcsBetween(const SmemHazards& hazards,
                                   const std::vector<int64_t>& addresses) {
    std::vector<SmemArc> arcs;
    // Many buffers bring many pairs; those that something covers matter only
    // where transfers must be waited for.
    const bool keep_covered = items_.size() <= kMaxDescribedItems;
    for (size_t i = 0; i < items_.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (addresses[i] >= addresses[j] + items_[j].bytes ||
            addresses[j] >= addresses[i] + items_[i].bytes) {
          continue;
        }
        auto keep = [&](const SmemArc& arc) {
          if (keep_covered || !arc.covered || arc.needs_wait ||
              arc.needs_fence) {
            arcs.push_back(arc);
          }
          return true;
        };
        const kir::BufferId x = items_[i].buffer, y = items_[j].buffer;
        // Sizes that launches choose move the bytes that are common.
        if (symbolic_ && !SharesBase(addresses, i, j)) {
          hazards.BetweenAnywhere(x, y, keep);
        } else {
          hazards.Between(x, addresses[i], y, addresses[j], keep);
        }
      }
    }
    return arcs;
  }

  void Build(const SmemInsertions& insertions, const SmemChoice& choice,
             const std::vector<SmemArc>& between);
  std::vector<AffineExpr> SymbolicAddresses(const SmemChoice& choice) const;
  absl::Status SetAddresses(SmemChoice& choice);
  void DescribeHazards(const SmemInsertions& insertions,
                       const SmemChoice& choice,
                       const std::vector<SmemArc>& between,
                       const std::vector<Insertion>& statements,
                       const std::vector<int>& barrier_of_gap);
  void CountBarriers(const std::vector<Insertion>& statements);
  absl::Status CheckLimit() const;

  kir::Kernel kernel_;
  const GpuDevice& device_;
  const SmemPlanOptions& options_;
  std::vector<kir::BufferId> workspaces_;
  std::optional<SmemFlow> flow_;
  std::vector<SmemItem> items_;
  bool symbolic_ = false;  // some size is known at launch only
  SmemPlan plan_;
};

kir::Statement Statement(decltype(kir::Statement::node) node) {
  return {std::move(node), {}};
}

void Planner::Build(const SmemInsertions& insertions, const SmemChoice& choice,
                    const std::vector<SmemArc>& between) {
  std::vector<std::pair<int, int>> order;  // (anchor, gap)
  for (const auto& [gap, insertion] : insertions.gaps) {
    order.push_back({flow_->PositionAfter(gap), gap});
  }
  absl::c_sort(order);
  std::vector<Insertion> statements;
  std::vector<int> barrier_of_gap(flow_->gaps().size(), -1);
  auto add = [&](int anchor, kir::Statement statement, SmemSync::Kind kind,
                 SmemSync::Reason reason, std::string why) {
    statements.push_back({anchor, std::move(statement)});
    SmemSync sync;
    sync.kind = kind;
    sync.reason = reason;
    sync.before_position = anchor;
    sync.why = std::move(why);
    plan_.syncs.push_back(std::move(sync));
  };
  for (const auto& [anchor, gap] : order) {
    const SmemGapInsertion& insertion = insertions.gaps.at(gap);
    for (const auto& [kind, wait] : insertion.waits) {
      kir::Async async;
      async.kind = kind;
      if (wait.commit) {
        statements.push_back({anchor, Statement(async)});
        plan_.syncs.push_back({SmemSync::Kind::kAsyncWait,
                               SmemSync::Reason::kAsync, 0, anchor, "commit"});
      }
      async.op = kir::Async::Op::kWait;
      async.keep = wait.keep;
      add(anchor, Statement(async), SmemSync::Kind::kAsyncWait,
          SmemSync::Reason::kAsync,
          absl::StrCat(kir::AsyncKindName(kind), " transfers complete"));
    }
    if (insertion.fence) {
      kir::Async fence;
      fence.op = kir::Async::Op::kFence;
      fence.name = "async_proxy";
      add(anchor, Statement(fence), SmemSync::Kind::kFence,
          SmemSync::Reason::kAsync, "the async proxy takes over");
    }
    if (insertion.block || insertion.warp) {
      barrier_of_gap[gap] = static_cast<int>(statements.size());
      kir::Sync sync;
      sync.scope =
          insertion.block ? kir::SyncScope::kBlock : kir::SyncScope::kWarp;
      sync.war = insertion.reason == SmemSync::Reason::kWar;
      add(anchor, Statement(sync),
          insertion.block ? SmemSync::Kind::kBlock : SmemSync::Kind::kWarp,
          insertion.reason, insertion.why);
    }
  }
  const KernelPositions positions(kernel_);
  plan_.planned = InsertStatements(kernel_, positions, statements);
  for (size_t i = 0; i < plan_.syncs.size(); ++i) {
    plan_.syncs[i].position = InsertedPosition(statements, static_cast<int>(i));
  }
  for (const SmemItem& item : items_) {
    SmemBufferPlan* buffer = nullptr;
    for (SmemBufferPlan& b : plan_.buffers) {
      if (b.buffer == item.buffer) buffer = &b;
    }
    if (item.life.empty()) continue;
    buffer->first = ShiftedPosition(statements, item.life.first());
    buffer->last = ShiftedPosition(statements, item.life.last());
  }
  CountBarriers(statements);
  if (items_.size() <= kMaxDescribedItems) {
    DescribeHazards(insertions, choice, between, statements, barrier_of_gap);
  }
}

// Addresses over the launch symbols, right for all their values: each buffer
// stands above all that it shares no byte with and that lie below it now.
std::vector<AffineExpr> Planner::SymbolicAddresses(
    const SmemChoice& choice) const {
  const size_t n = items_.size();
  std::vector<AffineExpr> addresses(n);
  for (size_t i = 0; i < n; ++i) addresses[i] = choice.addresses[i];
  if (!symbolic_) return addresses;
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; ++i) order[i] = i;
  absl::c_stable_sort(order, [&](size_t a, size_t b) {
    return choice.addresses[a] < choice.addresses[b];
  });
  for (size_t at = 0; at < n;) {
    // Those that must keep a common base move together.
    std::vector<size_t> group = {order[at]};
    while (at + group.size() < n &&
           SharesBase(choice.addresses, group[0], order[at + group.size()])) {
      group.push_back(order[at + group.size()]);
    }
    AffineExpr lowest;
    int64_t alignment = 1;
    for (size_t i : group) {
      alignment = std::max(alignment, items_[i].alignment);
      for (size_t below = 0; below < at; ++below) {
        const size_t j = order[below];
        if (Overlap(choice, i, j)) continue;
        lowest = AffineExpr::Max(
            lowest, addresses[j] + kernel_.buffers[items_[j].buffer].Bytes());
      }
    }
    for (size_t i : group) {
      addresses[i] = AffineExpr::AlignUp(lowest, alignment);
    }
    at += group.size();
  }
  return addresses;
}

absl::Status Planner::SetAddresses(SmemChoice& choice) {
  const AffineExpr::Binding binding = kernel_.Bindings();
  const std::vector<AffineExpr> addresses = SymbolicAddresses(choice);
  choice.total = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    ASSIGN_OR_RETURN(choice.addresses[i], addresses[i].Evaluate(binding));
    choice.total =
        std::max(choice.total, choice.addresses[i] + items_[i].bytes);
    plan_.total = AffineExpr::Max(
        plan_.total, addresses[i] + kernel_.buffers[items_[i].buffer].Bytes());
  }
  for (size_t i = 0; i < items_.size(); ++i) {
    SmemBufferPlan buffer;
    buffer.buffer = items_[i].buffer;
    buffer.name = kernel_.buffers[items_[i].buffer].name;
    buffer.address = addresses[i];
    buffer.address_bytes = choice.addresses[i];
    buffer.bytes = items_[i].bytes;
    for (size_t j = 0; j < items_.size(); ++j) {
      if (i != j && Overlap(choice, i, j)) {
        buffer.shares_with.push_back(items_[j].buffer);
      }
    }
    kernel_.buffers[items_[i].buffer].address = addresses[i];
    plan_.buffers.push_back(std::move(buffer));
  }
  plan_.total_bytes = choice.total;
  return absl::OkStatus();
}

void Planner::CountBarriers(const std::vector<Insertion>& statements) {
  for (const FlowNode& node : flow_->nodes()) {
    const kir::Sync* sync = node.statement->As<kir::Sync>();
    const kir::Expr* expr = node.statement->As<kir::Expr>();
    if (sync != nullptr ? sync->scope == kir::SyncScope::kWarp
                        : expr == nullptr || !expr->sync) {
      continue;
    }
    ++plan_.syncs_total;
    const int gap = flow_->sequences()[node.sequence].first_gap + node.index;
    plan_.dynamic_syncs += flow_->gaps()[gap].weight;
  }
  for (size_t g = 0; g < flow_->gaps().size(); ++g) {
    for (const SmemSync& sync : plan_.syncs) {
      if (sync.kind == SmemSync::Kind::kBlock && flow_->gaps()[g].block_meets &&
          flow_->PositionAfter(static_cast<int>(g)) == sync.before_position) {
        ++plan_.syncs_total;
        plan_.dynamic_syncs += flow_->gaps()[g].weight;
      }
    }
  }
}

void Planner::DescribeHazards(const SmemInsertions& insertions,
                              const SmemChoice& choice,
                              const std::vector<SmemArc>& between,
                              const std::vector<Insertion>& statements,
                              const std::vector<int>& barrier_of_gap) {
  absl::btree_map<std::pair<int, int>, std::string> described;
  for (const SmemArc& arc : between) {
    const std::pair<int, int> pair = {flow_->accesses()[arc.from].buffer,
                                      flow_->accesses()[arc.to].buffer};
    if (described.contains(pair)) continue;
    std::string by;
    for (const auto& [first, last] : arc.gaps) {
      for (auto it = insertions.gaps.lower_bound(first);
           it != insertions.gaps.end() && it->first <= last; ++it) {
        if (barrier_of_gap[it->first] < 0 || !by.empty()) continue;
        by = absl::StrCat(
            it->second.block ? "sync block at " : "sync warp at ",
            InsertedPosition(statements, barrier_of_gap[it->first]));
      }
      const FlowSequence& sequence =
          flow_->sequences()[flow_->gaps()[first].sequence];
      for (int gap = first; gap < last && by.empty(); ++gap) {
        const FlowNode& node =
            flow_->nodes()[sequence.nodes[gap - sequence.first_gap]];
        if (node.block_barrier ||
            (arc.conflict == ThreadConflict::kWarp && node.warp_barrier)) {
          by = absl::StrCat("barrier at ",
                            ShiftedPosition(statements, node.position));
        }
      }
    }
    if (by.empty() && arc.conflict <= ThreadConflict::kSameThread)
      by = "same thread";
    if (by.empty()) by = "barrier inside the statement";
    described[pair] = by;
  }
  for (size_t i = 0; i < items_.size(); ++i) {
    for (size_t j = 0; j < items_.size(); ++j) {
      if (i == j || !Overlap(choice, i, j)) continue;
      const std::pair<int, int> pair = {items_[i].buffer, items_[j].buffer};
      auto it = described.find(pair);
      if (it != described.end()) {
        plan_.hazards.push_back({pair.first, pair.second, it->second});
      } else if (items_[i].life.first() < items_[j].life.first()) {
        plan_.hazards.push_back({pair.first, pair.second, "same thread"});
      }
    }
  }
}

absl::Status Planner::CheckLimit() const {
  const int64_t available = device_.shared_per_block_max - kStaticBytes;
  if (plan_.total_bytes <= available) return absl::OkStatus();
  std::vector<const SmemBufferPlan*> largest;
  for (const SmemBufferPlan& buffer : plan_.buffers) {
    largest.push_back(&buffer);
  }
  absl::c_stable_sort(largest,
                      [](const SmemBufferPlan* a, const SmemBufferPlan* b) {
                        return a->bytes > b->bytes;
                      });
  largest.resize(std::min<size_t>(3, largest.size()));
  std::string names;
  for (const SmemBufferPlan* buffer : largest) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", "%", buffer->name, " ",
                    buffer->bytes);
  }
  return kernel_.ErrorAt(
      kernel_.location,
      absl::StrCat("@", kernel_.name, " needs ", plan_.total_bytes,
                   " bytes of shared memory and ", kStaticBytes,
                   " static ones, and a block of ", device_.name, " has ",
                   available, " available; largest buffers: ", names, " bytes"),
      absl::StatusCode::kResourceExhausted);
}

}  // namespace

int64_t SmemAlignment(const kir::Kernel& kernel, const kir::Buffer& buffer,
                      std::optional<int64_t> min_align) {
  const int element = kir::ElementBytes(buffer.type);
  int64_t alignment = element;
  if (buffer.vector_width.has_value()) {
    alignment = std::max<int64_t>(alignment, *buffer.vector_width * element);
  }
  if (buffer.swizzle.has_value()) {
    alignment = std::max<int64_t>(
        alignment, *buffer.swizzle == 0 ? 128 : *buffer.swizzle * 8);
  }
  if (buffer.align.has_value()) return std::max(alignment, *buffer.align);
  int64_t option = 0;
  if (min_align.has_value()) {
    option = *min_align;
  } else if (std::optional<std::string> text = kernel.FindOption("min_align")) {
    if (!absl::SimpleAtoi(*text, &option)) option = 0;
  }
  if (option > 0) return std::max(alignment, option);
  // Transfers move 16 bytes at a time, bulk ones to lines of 128.
  kir::ForEachStatement(kernel.body, [&](const kir::Statement& statement) {
    const kir::Expr* expr = statement.As<kir::Expr>();
    if (expr == nullptr || (expr->async == kir::AsyncKind::kNone &&
                            !absl::StartsWith(expr->op, "mma"))) {
      return;
    }
    const int64_t least = expr->async == kir::AsyncKind::kNone ||
                                  expr->async == kir::AsyncKind::kCp
                              ? 16
                              : 128;
    auto look = [&](const kir::Operand& operand) {
      const kir::Buffer* b = &kernel.buffers[operand.buffer];
      if (b->alias.has_value()) b = &kernel.buffers[*b->alias];
      if (b == &buffer) alignment = std::max(alignment, least);
    };
    for (const kir::Operand& output : expr->outputs) look(output);
    for (const kir::Argument& argument : expr->arguments) {
      if (const auto* operand = std::get_if<kir::Operand>(&argument)) {
        look(*operand);
      }
    }
  });
  return alignment;
}

absl::StatusOr<SmemPlan> PlanSharedMemory(const kir::Kernel& kernel,
                                          const GpuDevice& device,
                                          const SmemPlanOptions& options) {
  kir::KirVerifierOptions verify;
  verify.allow_divergent_barriers = options.allow_divergent_barriers;
  RETURN_IF_ERROR(kir::VerifyKernel(kernel, verify));
  return Planner(kernel, device, options).Plan();
}

}  // namespace xla::gpu
