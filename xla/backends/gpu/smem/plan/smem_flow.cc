#include "xla/backends/gpu/smem/plan/smem_flow.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"

// Flattens a kernel into sequences of nodes with a gap before, between and
// after them; gaps are the places where barriers may be inserted. While
// descending, Context tracks what is true of every gap inside: whether all
// threads of the block (or of a warp) pass it equally often, how often it
// executes, and whether it surely does. Barriers are summarized bottom-up, so
// that a loop or branch counts as a barrier itself if every path through it
// contains one.

namespace xla::gpu {
namespace {

using kir::LoopKind;
using kir::LoopStage;

// Assumed trips of a loop with an unknown count, for weights.
constexpr int64_t kUnknownTrips = 16;
constexpr int64_t kMaxWeight = int64_t{1} << 40;

bool IsThreadOrBlock(LoopKind kind) {
  return kir::ThreadDimension(kind) >= 0 || kir::BlockDimension(kind) >= 0;
}

// Loops that one statement of the machine stands for: nothing comes between
// their iterations.
bool IsAtomic(LoopKind kind) {
  switch (kind) {
    case LoopKind::kVectorize:
    case LoopKind::kMma:
    case LoopKind::kBulk:
    case LoopKind::kGroup:
    case LoopKind::kBroadcast:
    case LoopKind::kStride:
    case LoopKind::kDevice:
    case LoopKind::kStream:
      return true;
    default:
      return false;
  }
}

// No sum of the two, which may not fit.
int64_t Trips(int64_t span, int64_t step) {
  return span <= 0 ? 0 : (span - 1) / step + 1;
}

bool HoldsBarrier(const kir::Expr& expr) {
  const kir::OpInfo* info = kir::FindOp(expr.op);
  return expr.sync ||
         (info != nullptr && info->op_class == kir::OpClass::kScan);
}

}  // namespace

absl::StatusOr<SmemFlow> SmemFlow::Create(
    const kir::Kernel& kernel, std::vector<kir::BufferId> workspaces) {
  SmemFlow flow;
  flow.workspaces_ = std::move(workspaces);
  flow.kernel_ = &kernel;
  const std::array<std::optional<int64_t>, 3> extents = kernel.BlockExtents();
  for (int d = 0; d < 3; ++d) {
    if (!extents[d].has_value() || *extents[d] < 1) {
      return kernel.ErrorAt(kernel.location,
                            "the number of threads of a block is not known; "
                            "bind its symbols");
    }
    flow.block_[d] = *extents[d];
  }
  for (const char* axis : {"x", "y", "z"}) {
    if (flow.block_[axis[0] - 'x'] > 1) {
      flow.varying_names_.insert(absl::StrCat("tid.", axis));
    }
  }
  flow.FindVaryingBuffers();
  const int top = flow.AddSequence(-1);
  flow.Build(kernel.body, top, Context());
  ++flow.num_positions_;  // The end of the kernel.
  return flow;
}

int SmemFlow::AddSequence(int owner) {
  sequences_.push_back({owner, {}, 0});
  return static_cast<int>(sequences_.size()) - 1;
}

void SmemFlow::Build(const std::vector<kir::Statement>& body, int sequence,
                     const Context& context) {
  sequences_[sequence].first_gap = static_cast<int>(gaps_.size());
  const int owner = sequences_[sequence].owner;
  const bool branch = owner >= 0 && AsLoop(owner) == nullptr;
  for (int i = 0; i <= static_cast<int>(body.size()); ++i) {
    // The end of a branch has no position that a statement could take.
    const bool usable = !branch || i < static_cast<int>(body.size());
    gaps_.push_back({sequence, i, usable && context.block_meets,
                     usable && context.warp_meets, context.weight});
  }
  for (const kir::Statement& statement : body) {
    const int node = static_cast<int>(nodes_.size());
    nodes_.emplace_back();
    nodes_[node].statement = &statement;
    nodes_[node].sequence = sequence;
    nodes_[node].index = static_cast<int>(sequences_[sequence].nodes.size());
    nodes_[node].position = num_positions_++;
    sequences_[sequence].nodes.push_back(node);
    if (const kir::Loop* loop = statement.As<kir::Loop>()) {
      BuildLoop(*loop, node, context);
    } else if (const kir::If* branch = statement.As<kir::If>()) {
      BuildIf(*branch, node, context);
    } else if (const kir::Expr* expr = statement.As<kir::Expr>()) {
      CollectAccesses(node, *expr, context);
    }
    CollectBarrierAccesses(node, context);
    nodes_[node].last = num_positions_ - 1;
    SummarizeBarriers(node, context);
  }
}

// A thread loop is passed by the whole block only if it has as many iterations
// as there are threads; a serial loop only if its bounds do not vary between
// threads. Loops that the hardware executes as one instruction have no usable
// gaps.
void SmemFlow::BuildLoop(const kir::Loop& loop, int node, Context context) {
  const AffineExpr extent = loop.stop - loop.start;
  const std::optional<int64_t> span = extent.AsConstant();
  const std::optional<int64_t> step = loop.step.AsConstant();
  if (span.has_value() && step.has_value() && *step > 0) {
    nodes_[node].trips = Trips(*span, *step);
  }
  nodes_[node].estimated_trips = kUnknownTrips;
  absl::StatusOr<int64_t> bound = extent.Evaluate(kernel_->Bindings());
  if (bound.ok() && step.has_value() && *step > 0) {
    nodes_[node].estimated_trips = Trips(*bound, *step);
  }
  const int dimension = kir::ThreadDimension(loop.kind);
  nodes_[node].repeats = !IsThreadOrBlock(loop.kind) && !IsAtomic(loop.kind) &&
                         nodes_[node].trips.value_or(2) > 1;
  nodes_[node].surely_runs = kir::BlockDimension(loop.kind) >= 0
                                 ? BlocksSurelyRun(loop, node)
                             : kir::ThreadDimension(loop.kind) >= 0
                                 ? true
                                 : nodes_[node].trips.value_or(0) > 0;
  if (dimension >= 0) {
    // By as many threads as the loop asks for; those that stay outside do not
    // come by its gaps.
    const bool whole =
        bound.ok() && *bound >= block_[dimension] &&
        (span.has_value() || loop.stop == kernel_->launch->block[dimension]);
    if (!whole && block_[dimension] > 1) {
      context.block_meets = context.warp_meets = false;
    }
  } else if (!IsThreadOrBlock(loop.kind)) {
    if (IsAtomic(loop.kind) || Varies(loop.start) || Varies(loop.stop)) {
      context.block_meets = context.warp_meets = false;
    }
    const int64_t trips = std::max<int64_t>(1, nodes_[node].estimated_trips);
    context.weight = context.weight > kMaxWeight / trips
                         ? kMaxWeight
                         : context.weight * trips;
  }
  if (HasVaryingIndex(loop)) varying_names_.insert(loop.index);
  if (loop.stage == LoopStage::kAsyncWarp ||
      loop.stage == LoopStage::kComputeWarp) {
    context.block_meets = false;
  }
  if (!nodes_[node].surely_runs) context.unconditional = false;
  const int body = AddSequence(node);
  nodes_[node].sequences.push_back(body);
  Build(loop.body, body, context);
  ++num_positions_;  // The loop's end.
  varying_names_.erase(loop.index);
}

// Whether every block that comes to something behind the loop has been inside:
// the loop has all blocks of the grid, or all that follows is in loops over
// blocks that are among its own.
bool SmemFlow::BlocksSurelyRun(const kir::Loop& loop, int node) const {
  const int dimension = kir::BlockDimension(loop.kind);
  if (!kernel_->launch.has_value() || !loop.start.IsConstant(0) ||
      !loop.step.IsConstant(1)) {
    return false;
  }
  const AffineExpr& blocks = kernel_->launch->grid[dimension];
  const std::optional<int64_t> stop = loop.stop.AsConstant();
  if (loop.stop == blocks ||
      (stop.has_value() && blocks.AsConstant().value_or(*stop + 1) <= *stop)) {
    return true;
  }
  if (!stop.has_value()) return false;
  const auto within = [&](const kir::Statement& statement) {
    const kir::Loop* other = statement.As<kir::Loop>();
    return statement.As<kir::Alloc>() != nullptr ||
           (other != nullptr && other->kind == loop.kind &&
            other->start.IsConstant(0) && other->step.IsConstant(1) &&
            other->stop.AsConstant().value_or(*stop + 1) <= *stop);
  };
  // In a loop that goes round, what is before it follows as well.
  return Parent(node) < 0 &&
         std::all_of(kernel_->body.begin() + nodes_[node].index + 1,
                     kernel_->body.end(), within);
}

void SmemFlow::BuildIf(const kir::If& branch, int node, Context context) {
  context.unconditional = false;
  if (branch.uniformity != kir::Uniformity::kUniform && num_threads() > 1) {
    context.block_meets = false;
    context.warp_meets =
        context.warp_meets && branch.uniformity == kir::Uniformity::kWarp;
  }
  for (const auto* body : {&branch.then_body, &branch.else_body}) {
    const int sequence = AddSequence(node);
    nodes_[node].sequences.push_back(sequence);
    Build(*body, sequence, context);
  }
}

// Whether passing this node makes the block (or the warp) meet.
void SmemFlow::SummarizeBarriers(int node, const Context& context) {
  FlowNode& n = nodes_[node];
  if (const kir::Sync* sync = n.statement->As<kir::Sync>()) {
    if (!sync->group.empty()) return;
    n.block_barrier =
        sync->scope != kir::SyncScope::kWarp && context.block_meets;
    n.warp_barrier = n.block_barrier || (sync->scope == kir::SyncScope::kWarp &&
                                         context.warp_meets);
    return;
  }
  if (const kir::Expr* expr = n.statement->As<kir::Expr>()) {
    if (!HoldsBarrier(*expr)) return;
    // Threads outside a reduced thread loop join in with nothing to add; only
    // branches and uneven trip counts keep a thread away.
    n.block_barrier = true;
    for (int owner = Parent(node); owner >= 0; owner = Parent(owner)) {
      const kir::Loop* loop = AsLoop(owner);
      if (loop == nullptr) {
        n.block_barrier &= nodes_[owner].statement->As<kir::If>()->uniformity ==
                           kir::Uniformity::kUniform;
      } else if (kir::ThreadDimension(loop->kind) < 0) {
        n.block_barrier &= !Varies(loop->start) && !Varies(loop->stop) &&
                           loop->stage != LoopStage::kAsyncWarp &&
                           loop->stage != LoopStage::kComputeWarp;
      }
    }
    n.warp_barrier = n.block_barrier;
    return;
  }
  if (n.sequences.empty()) return;
  n.block_barrier = n.warp_barrier = n.surely_runs;
  for (int sequence : n.sequences) {
    bool block = false, warp = false;
    for (int inner : sequences_[sequence].nodes) {
      block |= nodes_[inner].block_barrier;
      warp |= nodes_[inner].warp_barrier;
    }
    n.block_barrier &= block;
    n.warp_barrier &= warp;
  }
}

bool SmemFlow::Varies(const AffineExpr& e) const {
  if (e.IsUnknown()) return num_threads() > 1;
  for (const std::string& name : e.Symbols()) {
    if (varying_names_.contains(name)) return true;
  }
  return false;
}

bool SmemFlow::HasVaryingIndex(const kir::Loop& loop) const {
  const int dimension = kir::ThreadDimension(loop.kind);
  return (dimension >= 0 && block_[dimension] > 1) || Varies(loop.start) ||
         Varies(loop.stop);
}

bool SmemFlow::Varies(const kir::Expr& expr) const {
  if (expr.sync) return false;  // The same result for everybody.
  for (const kir::Argument& argument : expr.arguments) {
    if (const AffineExpr* e = std::get_if<AffineExpr>(&argument)) {
      if (Varies(*e)) return true;
    }
    const kir::Operand* operand = std::get_if<kir::Operand>(&argument);
    if (operand == nullptr) continue;
    if (varying_buffers_[operand->buffer]) return true;
    for (const AffineExpr& index : operand->indices) {
      if (Varies(index)) return true;
    }
  }
  return false;
}

// Fixed point: a register array varies between threads if it is computed from
// something that does, or is written where not all threads come equally often.
void SmemFlow::FindVaryingBuffers() {
  varying_buffers_.assign(kernel_->buffers.size(), false);
  if (num_threads() == 1) return;
  // Names are unique along a nest only, so the loops' own are scoped here.
  const absl::flat_hash_set<std::string> names = varying_names_;
  kir::ForEachStatement(kernel_->body, [&](const kir::Statement& statement) {
    const kir::Loop* loop = statement.As<kir::Loop>();
    if (loop != nullptr && HasVaryingIndex(*loop)) {
      varying_names_.insert(loop->index);
    }
  });
  bool changed = false;
  const auto mark_outputs = [&](const kir::Expr& expr) {
    for (const kir::Operand& output : expr.outputs) {
      if (kernel_->buffers[output.buffer].memory != kir::Memory::kLocal) {
        continue;
      }
      for (kir::BufferId id : {output.buffer, Storage(output.buffer)}) {
        changed |= !varying_buffers_[id];
        varying_buffers_[id] = true;
      }
    }
  };
  kir::ForEachStatement(kernel_->body, [&](const kir::Statement& statement) {
    if (RunsAlikeForAllThreads(statement)) return;
    const kir::Loop* loop = statement.As<kir::Loop>();
    const auto mark = [&](const kir::Statement& inner) {
      const kir::Expr* expr = inner.As<kir::Expr>();
      // Threads outside of a loop join in what has a barrier of its own.
      if (expr != nullptr && (loop == nullptr || !expr->sync)) {
        mark_outputs(*expr);
      }
    };
    if (loop != nullptr) {
      kir::ForEachStatement(loop->body, mark);
    } else {
      const kir::If* branch = statement.As<kir::If>();
      kir::ForEachStatement(branch->then_body, mark);
      kir::ForEachStatement(branch->else_body, mark);
    }
  });
  do {
    changed = false;
    kir::ForEachStatement(kernel_->body, [&](const kir::Statement& statement) {
      const kir::Expr* expr = statement.As<kir::Expr>();
      if (expr != nullptr && Varies(*expr)) mark_outputs(*expr);
    });
  } while (changed);
  varying_names_ = names;
}

// Whether what is in a loop or branch is executed by every thread of the block
// that comes to it, equally often.
bool SmemFlow::RunsAlikeForAllThreads(const kir::Statement& statement) const {
  if (const kir::If* branch = statement.As<kir::If>()) {
    return branch->uniformity == kir::Uniformity::kUniform;
  }
  const kir::Loop* loop = statement.As<kir::Loop>();
  if (loop == nullptr) return true;
  const int dimension = kir::ThreadDimension(loop->kind);
  if (dimension < 0) return !Varies(loop->start) && !Varies(loop->stop);
  return block_[dimension] <= 1 ||
         (loop->stop - loop->start).AsConstant().value_or(0) >=
             block_[dimension];
}

bool SmemFlow::RunByAllThreads(int node) const {
  for (int owner = Parent(node); owner >= 0; owner = Parent(owner)) {
    if (!RunsAlikeForAllThreads(*nodes_[owner].statement)) return false;
  }
  return true;
}

// Records an access together with the facts that hazards depend on. A write is
// redundant if all threads write the same value to the same element; such
// writes do not race with each other.
void SmemFlow::AddAccess(int node, const kir::Expr& expr,
                         const kir::Operand& operand, bool write,
                         const Context& context) {
  const kir::Memory memory = kernel_->buffers[operand.buffer].memory;
  if (memory != kir::Memory::kShared &&
      (memory != kir::Memory::kGlobal || !IsReadAndWritten(operand.buffer))) {
    return;
  }
  FlowAccess access;
  access.node = node;
  access.buffer = Storage(operand.buffer);
  access.write = write;
  access.operand = &operand;
  access.async = expr.async;
  access.mbarrier = expr.mbarrier;
  access.before_barrier = !write && HoldsBarrier(expr);
  access.after_barrier = write && HoldsBarrier(expr);
  access.unconditional = context.unconditional;
  const kir::OpInfo* info = kir::FindOp(expr.op);
  const kir::OpClass op_class =
      info == nullptr ? kir::OpClass::kDifficult : info->op_class;
  // Data tell where a gather reads and a scatter writes.
  access.anywhere =
      (expr.op == "gather" && !write &&
       std::get_if<kir::Operand>(&expr.arguments[0]) == &operand) ||
      (op_class == kir::OpClass::kScatter && write);
  bool uniform = !access.anywhere && RunByAllThreads(node) && !Varies(expr);
  for (const AffineExpr& index : operand.indices) uniform &= !Varies(index);
  for (const kir::Operand& output : expr.outputs) {
    for (const kir::Argument& argument : expr.arguments) {
      // x = f(x): the second thread computes from the result of the first.
      const kir::Operand* input = std::get_if<kir::Operand>(&argument);
      uniform &=
          input == nullptr || Storage(input->buffer) != Storage(output.buffer);
    }
  }
  const bool accumulates = op_class == kir::OpClass::kReduce ||
                           op_class == kir::OpClass::kWelford ||
                           op_class == kir::OpClass::kMma;
  access.redundant = write && uniform && !access.async_proxy() && !accumulates;
  accesses_.push_back(access);
  if (write && accumulates && !expr.sync) {
    access.write = false;
    access.redundant = false;
    accesses_.push_back(access);
  }
}

void SmemFlow::CollectAccesses(int node, const kir::Expr& expr,
                               const Context& context) {
  for (const kir::Argument& argument : expr.arguments) {
    if (const kir::Operand* operand = std::get_if<kir::Operand>(&argument)) {
      AddAccess(node, expr, *operand, /*write=*/false, context);
    }
  }
  for (const kir::Operand& output : expr.outputs) {
    AddAccess(node, expr, output, /*write=*/true, context);
  }
  if (expr.sync && next_workspace_ < workspaces_.size()) {
    // Partial results are written, the block meets, they are read, and it meets
    // again: nobody sees them but this statement.
    FlowAccess access;
    access.node = node;
    access.buffer = workspaces_[next_workspace_++];
    access.write = access.anywhere = access.before_barrier = true;
    access.unconditional = context.unconditional;
    access.workspace = true;
    accesses_.push_back(access);
  }
}

void SmemFlow::CollectBarrierAccesses(int node, const Context& context) {
  const kir::Statement& statement = *nodes_[node].statement;
  std::optional<kir::BufferId> barrier;
  if (const kir::Async* async = statement.As<kir::Async>()) {
    if (async->op == kir::Async::Op::kMbarrier) barrier = async->barrier;
  } else if (const kir::ArriveWait* half = statement.As<kir::ArriveWait>()) {
    barrier = half->barrier;
  } else if (const kir::Expr* expr = statement.As<kir::Expr>()) {
    barrier = expr->mbarrier;
  }
  if (!barrier.has_value()) return;
  has_arrivals_ |= statement.As<kir::Expr>() == nullptr;
  FlowAccess access;
  access.node = node;
  access.buffer = Storage(*barrier);
  access.write = access.anywhere = true;
  access.unconditional = context.unconditional;
  accesses_.push_back(access);
}

bool SmemFlow::IsReadAndWritten(kir::BufferId buffer) {
  if (read_.empty()) {
    read_.assign(kernel_->buffers.size(), false);
    written_ = read_;
    kir::ForEachStatement(kernel_->body, [&](const kir::Statement& statement) {
      const kir::Expr* expr = statement.As<kir::Expr>();
      if (expr == nullptr) return;
      for (const kir::Operand& output : expr->outputs) {
        written_[Storage(output.buffer)] = true;
      }
      for (const kir::Argument& argument : expr->arguments) {
        if (const auto* operand = std::get_if<kir::Operand>(&argument)) {
          read_[Storage(operand->buffer)] = true;
        }
      }
    });
    for (kir::BufferId own : kernel_->OwnArrays()) {
      read_[Storage(own)] = false;
    }
  }
  return read_[Storage(buffer)] && written_[Storage(buffer)];
}

std::vector<int> SmemFlow::LoopsAround(int node) const {
  std::vector<int> loops;
  for (int owner = Parent(node); owner >= 0; owner = Parent(owner)) {
    if (AsLoop(owner) != nullptr) loops.push_back(owner);
  }
  absl::c_reverse(loops);
  return loops;
}

bool SmemFlow::CountsWholeBlock(kir::BufferId barrier) const {
  // Without an init of its own it is set up for the block.
  bool whole = true;
  kir::ForEachStatement(kernel_->body, [&](const kir::Statement& statement) {
    const kir::Async* async = statement.As<kir::Async>();
    if (async == nullptr || async->name != "init" ||
        async->barrier != barrier) {
      return;
    }
    const AffineExpr count = async->argument.value_or(AffineExpr(0));
    AffineExpr::Binding binding;
    const char* axes[] = {"bdim.x", "bdim.y", "bdim.z"};
    for (int d = 0; d < 3; ++d) binding[axes[d]] = block_[d];
    whole = count.Bind(binding).IsConstant(num_threads());
  });
  return whole;
}

bool SmemFlow::IndexVaries(const FlowAccess& access) const {
  if (access.operand == nullptr) return false;
  for (const AffineExpr& e : access.operand->indices) {
    if (Varies(e)) return true;
    for (int loop : LoopsAround(access.node)) {
      if (kir::ThreadDimension(AsLoop(loop)->kind) >= 0 &&
          e.Mentions(AsLoop(loop)->index)) {
        return true;
      }
    }
  }
  return false;
}

int SmemFlow::StageLoop(const FlowAccess& access) const {
  if (access.operand == nullptr) return -1;
  const kir::Buffer& buffer = kernel_->buffers[access.operand->buffer];
  if (!buffer.circular.has_value() || buffer.circular->stages < 2) return -1;
  for (int loop : LoopsAround(access.node)) {
    if (!IsThreadOrBlock(AsLoop(loop)->kind)) return loop;
  }
  return -1;
}

int SmemFlow::PositionAfter(int gap) const {
  const FlowGap& g = gaps_[gap];
  const FlowSequence& sequence = sequences_[g.sequence];
  if (g.index < static_cast<int>(sequence.nodes.size())) {
    return nodes_[sequence.nodes[g.index]].position;
  }
  return sequence.owner < 0 ? num_positions_ - 1 : nodes_[sequence.owner].last;
}

}  // namespace xla::gpu
