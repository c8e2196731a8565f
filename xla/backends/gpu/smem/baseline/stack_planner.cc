#include "xla/backends/gpu/smem/baseline/stack_planner.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/smem/baseline/circular_buffering.h"
#include "xla/backends/gpu/smem/baseline/required_syncs.h"
#include "xla/backends/gpu/smem/baseline/stack_alias.h"
#include "xla/backends/gpu/smem/baseline/stack_allocator.h"
#include "xla/backends/gpu/smem/baseline/stack_liveness.h"
#include "xla/backends/gpu/smem/kernel_positions.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using kir::BufferId;
using Entry = KernelPositions::Entry;

// Models the way in which nvFuser lays out shared memory, for comparison with
// the planner of this repository: circular buffers, aliases of buffers whose
// lives do not overlap, barriers for promoted reuse, then a stack discipline of
// allocation by live range, and last the barriers for read-after-write and
// write-after-read hazards.
//
// Each step may insert statements and thereby shift positions. `history_`
// keeps, for each change, the position before it, so that the report can refer
// to the kernel as it was given.
class StackPlanner {
 public:
  StackPlanner(const kir::Kernel& kernel, const StackPlanOptions& options)
      : options_(options) {
    plan_.mode = "stack";
    plan_.planned = kernel;
  }

  absl::StatusOr<SmemPlan> Run() {
    if (options_.min_align.has_value()) SetMinAlign(*options_.min_align);
    if (options_.circular) {
      int end = KernelPositions(plan_.planned).kernel_end();
      ASSIGN_OR_RETURN(MbarrierResult added, AddMbarriers(plan_.planned));
      plan_.planned = std::move(added.kernel);
      history_.push_back(OriginsOf(added.insertions, end));
    }
    RETURN_IF_ERROR(Analyze());
    if (options_.promote && InsertPromotionBarriers()) {
      // Allocations that are aliases by now are not tracked any more, so their
      // reads no longer count for what they alias.
      RETURN_IF_ERROR(Analyze());
    }
    RETURN_IF_ERROR(StackAllocate(*positions_, lives_, plan_.planned));
    if (options_.circular) {
      RETURN_IF_ERROR(SplitLoops());
    }
    if (options_.required_syncs) {
      RETURN_IF_ERROR(InsertRequiredSyncs());
    }
    RETURN_IF_ERROR(Measure());
    Summarize();
    return std::move(plan_);
  }

 private:
  void SetMinAlign(int64_t align) {
    for (auto& [name, value] : plan_.planned.options) {
      if (name == "min_align") {
        value = absl::StrCat(align);
        return;
      }
    }
    plan_.planned.options.push_back({"min_align", absl::StrCat(align)});
  }

  absl::Status Analyze() {
    kir::Kernel& kernel = plan_.planned;
    positions_.emplace(kernel);
    ASSIGN_OR_RETURN(liveness_, StackLiveness::Compute(kernel, *positions_));
    aliases_ = AliasResult();
    if (options_.alias) {
      aliases_ = AliasBuffers(*liveness_, kernel);
      plan_.notes.insert(plan_.notes.end(), aliases_.log.begin(),
                         aliases_.log.end());
    } else {
      aliases_.groups.resize(kernel.buffers.size());
    }
    lives_ = EffectiveLives(*liveness_, aliases_, kernel);
    return absl::OkStatus();
  }

  bool InsertPromotionBarriers() {
    std::vector<Insertion> insertions;
    for (int anchor :
         PromotionBarriers(plan_.planned, *positions_, *liveness_, aliases_)) {
      Insertion insertion;
      insertion.anchor = anchor;
      insertion.statement.node = kir::Sync();
      insertions.push_back(std::move(insertion));
      SmemSync sync;
      sync.reason = SmemSync::Reason::kReuse;
      sync.why =
          "the previous contents of a promoted buffer are dead in all threads";
      new_syncs_.push_back(std::move(sync));
    }
    if (insertions.empty()) return false;
    plan_.notes.insert(plan_.notes.end(), liveness_->notes().begin(),
                       liveness_->notes().end());
    Insert(insertions);
    return true;
  }

  // Puts statements in, with records of them in new_syncs_.
  void Insert(const std::vector<Insertion>& insertions) {
    std::vector<int> origins = OriginsOf(insertions, positions_->kernel_end());
    plan_.planned = InsertStatements(plan_.planned, *positions_, insertions);
    positions_.emplace(plan_.planned);
    for (SmemSync& sync : plan_.syncs) {
      sync.position = ShiftedPosition(insertions, sync.position);
    }
    for (LiveInterval& life : lives_) {
      if (life.first >= 0) {
        life.first = ShiftedPosition(insertions, life.first);
      }
      if (life.last >= 0) life.last = ShiftedPosition(insertions, life.last);
    }
    for (size_t i = 0; i < insertions.size(); ++i) {
      new_syncs_[i].position =
          InsertedPosition(insertions, static_cast<int>(i));
      new_syncs_[i].before_position = GivenPosition(insertions[i].anchor);
      plan_.syncs.push_back(std::move(new_syncs_[i]));
    }
    new_syncs_.clear();
    history_.push_back(std::move(origins));
  }

  // A circular loop becomes a prologue, a main loop and an epilogue, so one
  // position turns into several. A life goes from the first of those that its
  // begin became to the last of those that its end became.
  absl::Status SplitLoops() {
    ASSIGN_OR_RETURN(CircularSplit split, SplitCircularLoops(plan_.planned));
    split_buffers_ = std::move(split.buffers);
    const std::vector<int>& origins = split.origins;
    auto first_of = [&](int position) {
      auto it = absl::c_find(origins, position);
      return static_cast<int>(it - origins.begin());
    };
    auto last_of = [&](int position) {
      auto it = std::find(origins.rbegin(), origins.rend(), position);
      return static_cast<int>(origins.rend() - it) - 1;
    };
    for (SmemSync& sync : plan_.syncs) sync.position = first_of(sync.position);
    for (LiveInterval& life : lives_) {
      if (life.first >= 0) life.first = first_of(life.first);
      if (life.last >= 0) life.last = last_of(life.last);
    }
    plan_.planned = std::move(split.kernel);
    positions_.emplace(plan_.planned);
    history_.push_back(std::move(split.origins));
    return absl::OkStatus();
  }

  // Where in the given kernel that stood which is now at `position`, or what
  // comes after it.
  int GivenPosition(int position) const {
    for (auto stage = history_.rbegin(); stage != history_.rend(); ++stage) {
      int size = static_cast<int>(stage->size());
      while (position + 1 < size && (*stage)[position] == 0) ++position;
      position = (*stage)[position];
    }
    return position;
  }

  absl::Status InsertRequiredSyncs() {
    ASSIGN_OR_RETURN(RequiredSyncs raw,
                     RawSyncs(plan_.planned, *positions_, split_buffers_));
    new_syncs_ = std::move(raw.syncs);
    if (!raw.insertions.empty()) Insert(raw.insertions);
    RequiredSyncs war = WarSyncs(plan_.planned, *positions_, split_buffers_);
    new_syncs_ = std::move(war.syncs);
    if (!war.insertions.empty()) Insert(war.insertions);
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> Value(const AffineExpr& expr, BufferId buffer) const {
    absl::StatusOr<int64_t> value = expr.Evaluate(bindings_);
    if (value.ok()) return value;
    const kir::Buffer& b = plan_.planned.buffers[buffer];
    for (const std::string& name : expr.Symbols()) {
      if (!bindings_.contains(name)) {
        return plan_.planned.ErrorAt(
            b.location,
            absl::StrCat("the size of %", b.name, " depends on '", name,
                         "', which is bound to no number; --bind=", name,
                         "=N binds it"));
      }
    }
    return plan_.planned.ErrorAt(
        b.location,
        absl::StrCat("the size of %", b.name, ": ", value.status().message()));
  }

  // Addresses so far begin at 0. The workspace of block reductions lies below
  // all of them, so they move up by its size.
  absl::Status Measure() {
    kir::Kernel& kernel = plan_.planned;
    bindings_ = kernel.Bindings();
    ASSIGN_OR_RETURN(plan_.base_bytes, ReductionWorkspaceBytes(kernel));
    for (kir::Buffer& buffer : kernel.buffers) {
      if (buffer.address.has_value()) {
        buffer.address = *buffer.address + AffineExpr(plan_.base_bytes);
      }
    }
    plan_.total = plan_.base_bytes;
    plan_.total_bytes = plan_.base_bytes;
    for (int p = 1; p < positions_->kernel_end(); ++p) {
      const Entry& entry = positions_->entries()[p];
      if (entry.kind != Entry::Kind::kStatement) continue;
      const auto* alloc = entry.statement->As<kir::Alloc>();
      if (alloc == nullptr) continue;
      BufferId id = alloc->buffer;
      const kir::Buffer& buffer = kernel.buffers[id];
      bool shared = buffer.memory == kir::Memory::kShared;
      if (!shared && !buffer.alias.has_value()) continue;
      SmemBufferPlan planned;
      planned.buffer = id;
      planned.name = buffer.name;
      planned.alias_of = buffer.alias;
      const kir::Buffer& base = kernel.buffers[buffer.alias.value_or(id)];
      ASSIGN_OR_RETURN(planned.bytes, Value(buffer.Bytes(), id));
      if (shared) {
        planned.address = *base.address;
        ASSIGN_OR_RETURN(planned.address_bytes, Value(planned.address, id));
      }
      if (shared && !buffer.alias.has_value()) {
        planned.first = lives_[id].first;
        planned.last = lives_[id].last;
        plan_.total =
            AffineExpr::Max(plan_.total, planned.address + buffer.Bytes());
        plan_.total_bytes =
            std::max(plan_.total_bytes, planned.address_bytes + planned.bytes);
      } else {
        LiveInterval life = LifeOfAlias(id);
        planned.first = life.first;
        planned.last = life.last;
      }
      plan_.buffers.push_back(std::move(planned));
    }
    return absl::OkStatus();
  }

  // Where an alias itself is written and read, loops outside included.
  // StackLiveness does not track aliases, so it is run, once for all of them,
  // on a kernel in which each is a buffer of its own.
  LiveInterval LifeOfAlias(BufferId alias) {
    if (!own_liveness_.has_value()) {
      unaliased_ = plan_.planned;
      for (kir::Buffer& buffer : unaliased_.buffers) buffer.alias.reset();
      unaliased_positions_.emplace(unaliased_);
      absl::StatusOr<StackLiveness> own =
          StackLiveness::Compute(unaliased_, *unaliased_positions_);
      if (!own.ok()) return {};
      own_liveness_ = *std::move(own);
    }
    const AllocLiveness* alloc = own_liveness_->Find(alias);
    return alloc == nullptr ? LiveInterval() : alloc->outer;
  }

  void Summarize() {
    std::sort(plan_.syncs.begin(), plan_.syncs.end(),
              [](const SmemSync& a, const SmemSync& b) {
                return a.position < b.position;
              });
    for (int p = 1; p < positions_->kernel_end(); ++p) {
      const Entry& entry = positions_->entries()[p];
      if (entry.kind != Entry::Kind::kStatement ||
          !IsStackBarrier(*entry.statement)) {
        continue;
      }
      barriers_.push_back(p);
      ++plan_.syncs_total;
      plan_.dynamic_syncs += TripsAround(entry);
    }
    for (int p = 1; p < positions_->kernel_end(); ++p) {
      int64_t live = plan_.base_bytes;
      for (const SmemBufferPlan& buffer : plan_.buffers) {
        bool base = IsShared(buffer.buffer) && !buffer.alias_of.has_value();
        if (base && buffer.first <= p && p <= buffer.last) live += buffer.bytes;
      }
      plan_.lower_bound_bytes = std::max(plan_.lower_bound_bytes, live);
    }
    FindSharers();
  }

  bool IsShared(BufferId buffer) const {
    return plan_.planned.buffers[buffer].memory == kir::Memory::kShared;
  }

  // How often one block comes by, where that is known.
  int64_t TripsAround(const Entry& entry) const {
    int64_t product = 1;
    for (int p : entry.real_loops) {
      const kir::Loop& loop = positions_->LoopAt(p);
      if (!kir::ParallelIndexName(loop.kind).empty()) continue;
      absl::StatusOr<int64_t> trips =
          AffineExpr::CeilDiv(loop.stop - loop.start, loop.step)
              .Evaluate(bindings_);
      int64_t result;
      if (trips.ok() && !__builtin_mul_overflow(
                            product, std::max<int64_t>(*trips, 0), &result)) {
        product = result;
      }
    }
    return product;
  }

  void FindSharers() {
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      SmemBufferPlan& a = plan_.buffers[i];
      if (!IsShared(a.buffer)) continue;
      for (SmemBufferPlan& b : plan_.buffers) {
        if (a.buffer == b.buffer || !IsShared(b.buffer)) continue;
        bool overlap = a.address_bytes < b.address_bytes + b.bytes &&
                       b.address_bytes < a.address_bytes + a.bytes;
        if (!overlap) continue;
        a.shares_with.push_back(b.buffer);
        if (a.last > b.first || (a.last == b.first && a.buffer > b.buffer)) {
          continue;
        }
        SmemHazard hazard;
        hazard.earlier = a.buffer;
        hazard.later = b.buffer;
        hazard.covered_by = CoverOf(a, b);
        plan_.hazards.push_back(std::move(hazard));
      }
    }
  }

  std::string CoverOf(const SmemBufferPlan& earlier,
                      const SmemBufferPlan& later) const {
    auto barrier = absl::c_lower_bound(barriers_, earlier.last);
    if (barrier != barriers_.end() && *barrier < later.first) {
      return absl::StrCat("barrier at ", *barrier);
    }
    return later.alias_of.has_value() || earlier.alias_of.has_value()
               ? "each thread overwrites what it read itself"
               : "nothing";
  }

  const StackPlanOptions& options_;
  SmemPlan plan_;
  std::optional<KernelPositions> positions_;  // of plan_.planned
  std::optional<StackLiveness> liveness_;
  AliasResult aliases_;
  std::vector<LiveInterval> lives_;  // by buffer
  std::vector<SmemSync> new_syncs_;
  // One entry per change of the kernel so far: the earlier position of what now
  // stands at each position.
  std::vector<std::vector<int>> history_;
  std::vector<BufferId> split_buffers_;
  AffineExpr::Binding bindings_;
  std::vector<int> barriers_;
  kir::Kernel unaliased_;
  std::optional<KernelPositions> unaliased_positions_;
  std::optional<StackLiveness> own_liveness_;
};

}  // namespace

absl::StatusOr<SmemPlan> PlanSharedMemoryAsStack(
    const kir::Kernel& kernel, const StackPlanOptions& options) {
  return StackPlanner(kernel, options).Run();
}

absl::StatusOr<int64_t> ReductionWorkspaceBytes(const kir::Kernel& kernel) {
  if (kernel.FindOption("reduction_workspace").value_or("0") == "0") return 0;
  int64_t element = 0;
  kir::ForEachStatement(kernel.body, [&](const kir::Statement& statement) {
    const auto* expr = statement.As<kir::Expr>();
    if (expr == nullptr || !expr->sync) return;
    const kir::OpInfo* info = kir::FindOp(expr->op);
    if (info == nullptr) return;
    bool welford = info->op_class == kir::OpClass::kWelford;
    if (!welford && info->op_class != kir::OpClass::kReduce) return;
    for (const kir::Operand& output : expr->outputs) {
      int64_t bytes = kir::ElementBytes(kernel.buffers[output.buffer].type);
      element = std::max(element, bytes * (welford ? 3 : 1));
    }
  });
  int64_t threads = 1;
  for (std::optional<int64_t> extent : kernel.BlockExtents()) {
    if (!extent.has_value()) {
      return kernel.ErrorAt(kernel.location,
                            "the block size is known only at launch");
    }
    threads *= *extent;
  }
  return (threads * element + 127) / 128 * 128;
}

}  // namespace xla::gpu
