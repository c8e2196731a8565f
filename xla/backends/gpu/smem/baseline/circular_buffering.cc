#include "xla/backends/gpu/smem/baseline/circular_buffering.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/smem/baseline/async_statements.h"
#include "xla/backends/gpu/smem/kernel_positions.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using kir::BufferId;
using kir::Statement;
using Entry = KernelPositions::Entry;

// For each circular buffer, the position of the innermost serial loop that
// contains all its writes; 0 if there is none or if something reads the buffer
// before the loop. The common loops are the longest common prefix of the loop
// paths of all writes.
absl::btree_map<BufferId, int> CircularLoops(const kir::Kernel& kernel,
                                             const KernelPositions& positions) {
  absl::btree_map<BufferId, std::vector<int>> common;
  absl::btree_map<BufferId, int> first_read;
  auto write = [&](BufferId buffer, const std::vector<int>& loops) {
    if (!kernel.buffers[buffer].circular.has_value()) return;
    auto [it, fresh] = common.try_emplace(buffer, loops);
    std::vector<int>& path = it->second;
    size_t same = 0;
    while (same < path.size() && same < loops.size() &&
           path[same] == loops[same]) {
      ++same;
    }
    path.resize(same);
  };
  for (int p = 1; p < positions.kernel_end(); ++p) {
    const Entry& entry = positions.entries()[p];
    if (entry.kind != Entry::Kind::kStatement) continue;
    const auto* expr = entry.statement->As<kir::Expr>();
    if (expr == nullptr) continue;
    for (const kir::Operand& output : expr->outputs) {
      write(output.buffer, entry.loops);
    }
    for (const kir::Argument& argument : expr->arguments) {
      if (const auto* operand = std::get_if<kir::Operand>(&argument)) {
        first_read.try_emplace(operand->buffer, p);
      }
    }
  }
  absl::btree_map<BufferId, int> loops;
  for (const auto& [buffer, path] : common) {
    int loop = 0;
    for (int p : path) {
      if (positions.LoopAt(p).kind == kir::LoopKind::kSerial) loop = p;
    }
    auto read = first_read.find(buffer);
    if (read != first_read.end() && read->second < loop) loop = 0;
    loops[buffer] = loop;
  }
  return loops;
}

template <typename Visit>
void ForEachOperand(kir::Expr& expr, Visit visit) {
  for (kir::Operand& output : expr.outputs) visit(output);
  for (kir::Argument& argument : expr.arguments) {
    if (auto* operand = std::get_if<kir::Operand>(&argument)) visit(*operand);
  }
}

// Puts values in for names in one statement, not in what it holds.
void SubstituteIn(const AffineExpr::Substitution& values,
                  Statement& statement) {
  if (auto* loop = statement.As<kir::Loop>()) {
    loop->start = loop->start.Substitute(values);
    loop->stop = loop->stop.Substitute(values);
    loop->step = loop->step.Substitute(values);
  } else if (auto* branch = statement.As<kir::If>()) {
    branch->predicate = branch->predicate.Substitute(values);
  } else if (auto* expr = statement.As<kir::Expr>()) {
    ForEachOperand(*expr, [&](kir::Operand& operand) {
      for (AffineExpr& index : operand.indices) {
        index = index.Substitute(values);
      }
    });
    for (kir::Argument& argument : expr->arguments) {
      if (auto* e = std::get_if<AffineExpr>(&argument)) {
        *e = e->Substitute(values);
      }
    }
  } else if (auto* async = statement.As<kir::Async>()) {
    if (async->argument) async->argument = async->argument->Substitute(values);
  }
}

// Generated statements together with their origins: by position among the
// statements, the position in the given kernel they were copied from, 0 for new
// ones. Loops have a second entry for their end.
struct Piece {
  std::vector<Statement> statements;
  std::vector<int> origins;

  void Add(Piece other) {
    for (Statement& s : other.statements) statements.push_back(std::move(s));
    origins.insert(origins.end(), other.origins.begin(), other.origins.end());
  }
  template <typename T>
  void AddNew(T node) {
    Statement statement;
    statement.node = std::move(node);
    statements.push_back(std::move(statement));
    origins.push_back(0);
  }
  // A loop or branch around `body`; `end`: what the loop's end stems from.
  void AddAround(Statement header, int origin, Piece body,
                 std::optional<int> end) {
    origins.push_back(origin);
    origins.insert(origins.end(), body.origins.begin(), body.origins.end());
    if (end.has_value()) origins.push_back(*end);
    if (auto* loop = header.As<kir::Loop>()) {
      loop->body = std::move(body.statements);
    } else {
      header.As<kir::If>()->then_body = std::move(body.statements);
    }
    statements.push_back(std::move(header));
  }
};

// The circular buffers of one loop.
struct LoopPlan {
  std::vector<BufferId> buffers;
  kir::CircularBuffer circular;
  bool cp = false;          // loads by cp.async
  bool bulk = false;        // loads with mbarriers
  bool bulk_store = false;  // stores from a buffer of the loop
};

// Software pipelining: a loop with circular buffers and prefetch distance d
// becomes
//
//   prologue   loads of the first d iterations
//   main       loads of iteration i + d, then the uses of iteration i
//   epilogue   uses of the last d iterations (bulk loads only)
//
// For cp.async the main loop runs to the end and guards its loads, so that
// commit groups stay in step with iterations; for bulk loads, which signal an
// mbarrier, an epilogue without loads is cheaper than the guard.
class Splitter {
 public:
  explicit Splitter(const kir::Kernel& kernel)
      : kernel_(kernel), positions_(kernel_) {}

  absl::StatusOr<CircularSplit> Run() {
    loop_of_ = CircularLoops(kernel_, positions_);
    for (const auto& [buffer, loop] : loop_of_) AddStage(buffer, loop);
    for (const auto& [buffer, loop] : loop_of_) {
      RETURN_IF_ERROR(PlanLoop(buffer, loop));
    }
    ASSIGN_OR_RETURN(Piece body, Copy(kernel_.body));
    CircularSplit split;
    split.origins = {0};
    split.origins.insert(split.origins.end(), body.origins.begin(),
                         body.origins.end());
    split.origins.push_back(positions_.kernel_end());
    for (auto& [buffer, circular] : circular_of_) {
      kir::Buffer& b = kernel_.buffers[buffer];
      b.extents.insert(b.extents.begin(), AffineExpr(circular.stages));
      b.circular.reset();
      b.ids.clear();
      if (circular.prefetch > 0) split.buffers.push_back(buffer);
    }
    split.kernel = std::move(kernel_);
    split.kernel.body = std::move(body.statements);
    return split;
  }

 private:
  // Operands of the buffer get the stage of the loop's iteration in front, and
  // behind the loop that of its last one.
  void AddStage(BufferId buffer, int loop) {
    const kir::CircularBuffer& circular = *kernel_.buffers[buffer].circular;
    circular_of_[buffer] = circular;
    AffineExpr inside = 0, behind = 0;
    if (loop > 0) {
      const kir::Loop& l = positions_.LoopAt(loop);
      inside = AffineExpr::Mod(AffineExpr::Symbol(l.index), circular.stages);
      behind = AffineExpr::Mod(l.stop - 1, circular.stages);
    }
    kir::ForEachStatement(kernel_.body, [&](Statement& statement) {
      auto* expr = statement.As<kir::Expr>();
      if (expr == nullptr) return;
      const bool is_behind =
          loop > 0 && positions_.PositionOf(statement) > positions_.EndOf(loop);
      const AffineExpr& stage = is_behind ? behind : inside;
      ForEachOperand(*expr, [&](kir::Operand& operand) {
        if (operand.buffer != buffer) return;
        operand.indices.insert(operand.indices.begin(), stage);
      });
    });
  }

  absl::Status PlanLoop(BufferId buffer, int position) {
    const kir::Buffer& b = kernel_.buffers[buffer];
    const kir::CircularBuffer& circular = *b.circular;
    if (circular.prefetch == 0) return absl::OkStatus();
    if (position == 0) {
      return kernel_.ErrorAt(
          b.location, absl::StrCat("no serial loop is around all that writes "
                                   "the circular buffer %",
                                   b.name));
    }
    const kir::Loop& loop = positions_.LoopAt(position);
    kir::SourceLocation place =
        positions_.entries()[position].statement->location;
    if (!loop.start.IsConstant(0) || !loop.step.IsConstant(1)) {
      return kernel_.ErrorAt(
          place, "the loop of a circular buffer counts from 0 by 1");
    }
    LoopPlan& plan = plans_[position];
    if (!plan.buffers.empty() && !(plan.circular == circular)) {
      return kernel_.ErrorAt(
          b.location, absl::StrCat("%", b.name, " and %",
                                   kernel_.buffers[plan.buffers[0]].name,
                                   " are circular in one loop and disagree"));
    }
    plan.buffers.push_back(buffer);
    plan.circular = circular;
    absl::Status status;
    kir::ForEachStatement(loop.body, [&](const Statement& statement) {
      const auto* async = statement.As<kir::Async>();
      if (async != nullptr && (async->op == kir::Async::Op::kCommit ||
                               async->op == kir::Async::Op::kWait)) {
        status.Update(kernel_.ErrorAt(
            statement.location,
            "the loop of a circular buffer has commits and waits of its own"));
      }
      const auto* expr = statement.As<kir::Expr>();
      if (expr == nullptr) return;
      bool load = IsLoad(statement, plan);
      plan.cp |= load && expr->async == kir::AsyncKind::kCp;
      plan.bulk |= load && expr->async == kir::AsyncKind::kBulkLoad;
      plan.bulk_store |= expr->async == kir::AsyncKind::kBulkStore;
    });
    return status;
  }

  static bool Contains(const std::vector<BufferId>& buffers, BufferId buffer) {
    return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end();
  }

  static bool IsLoad(const Statement& statement, const LoopPlan& plan) {
    if (const auto* async = statement.As<kir::Async>()) {
      return async->op == kir::Async::Op::kMbarrier &&
             async->name == "expect_tx";
    }
    const auto* expr = statement.As<kir::Expr>();
    if (expr == nullptr) return false;
    return std::all_of(expr->outputs.begin(), expr->outputs.end(),
                       [&](const kir::Operand& output) {
                         return Contains(plan.buffers, output.buffer);
                       });
  }

  // Copies either the loads of a body or everything else, keeping the loops and
  // branches around the copied statements and dropping those that become empty.
  absl::StatusOr<Piece> Filter(const std::vector<Statement>& body, bool loads,
                               const LoopPlan& plan,
                               const AffineExpr::Substitution& values) {
    Piece piece;
    for (const Statement& statement : body) {
      int position = positions_.PositionOf(statement);
      if (const auto* loop = statement.As<kir::Loop>()) {
        ASSIGN_OR_RETURN(Piece inner, Filter(loop->body, loads, plan, values));
        if (inner.statements.empty()) continue;
        Statement header = HeaderOf(statement);
        SubstituteIn(values, header);
        piece.AddAround(std::move(header), position, std::move(inner),
                        positions_.EndOf(position));
      } else if (const auto* branch = statement.As<kir::If>()) {
        ASSIGN_OR_RETURN(Piece inner,
                         Filter(branch->then_body, loads, plan, values));
        ASSIGN_OR_RETURN(Piece other,
                         Filter(branch->else_body, loads, plan, values));
        if (inner.statements.empty() && other.statements.empty()) continue;
        Statement header = HeaderOf(statement);
        SubstituteIn(values, header);
        header.As<kir::If>()->else_body = std::move(other.statements);
        piece.AddAround(std::move(header), position, std::move(inner),
                        std::nullopt);
        piece.origins.insert(piece.origins.end(), other.origins.begin(),
                             other.origins.end());
      } else if (IsLoad(statement, plan) == loads) {
        Statement copy = statement;
        SubstituteIn(values, copy);
        piece.statements.push_back(std::move(copy));
        piece.origins.push_back(position);
      }
    }
    return piece;
  }

  static Statement HeaderOf(const Statement& statement) {
    Statement header;
    header.location = statement.location;
    if (const auto* loop = statement.As<kir::Loop>()) {
      kir::Loop copy;
      copy.index = loop->index;
      copy.kind = loop->kind;
      copy.start = loop->start;
      copy.stop = loop->stop;
      copy.step = loop->step;
      copy.unroll = loop->unroll;
      copy.stage = loop->stage;
      copy.ids = loop->ids;
      header.node = std::move(copy);
    } else if (const auto* branch = statement.As<kir::If>()) {
      kir::If copy;
      copy.uniformity = branch->uniformity;
      copy.predicate = branch->predicate;
      header.node = std::move(copy);
    }
    return header;
  }

  static Statement StageOf(const Statement& loop, kir::LoopStage stage,
                           AffineExpr start, AffineExpr stop) {
    Statement header = HeaderOf(loop);
    header.As<kir::Loop>()->stage = stage;
    header.As<kir::Loop>()->start = std::move(start);
    header.As<kir::Loop>()->stop = std::move(stop);
    return header;
  }

  // Emits prologue, main loop and epilogue of one loop.
  absl::StatusOr<Piece> Split(const Statement& statement,
                              const LoopPlan& plan) {
    const kir::Loop& loop = *statement.As<kir::Loop>();
    const int position = positions_.PositionOf(statement);
    const int end = positions_.EndOf(position);
    const int prefetch = plan.circular.prefetch;
    const AffineExpr index = AffineExpr::Symbol(loop.index);
    const AffineExpr rest =
        AffineExpr::Max(0, loop.stop - AffineExpr(prefetch));
    AffineExpr::Substitution ahead;
    ahead[loop.index] = index + AffineExpr(prefetch);

    Piece result;
    ASSIGN_OR_RETURN(Piece prologue, Filter(loop.body, true, plan, {}));
    if (plan.cp) prologue.AddNew(CommitOf(kir::AsyncKind::kCp));
    result.AddAround(StageOf(statement, kir::LoopStage::kPrologue, 0,
                             AffineExpr::Min(prefetch, loop.stop)),
                     position, std::move(prologue), end);
    AddWait(plan, result);

    ASSIGN_OR_RETURN(Piece loads, Filter(loop.body, true, plan, ahead));
    ASSIGN_OR_RETURN(Piece uses, Filter(loop.body, false, plan, {}));
    Piece main;
    if (plan.bulk) {
      main.Add(std::move(loads));
    } else {
      Statement guard;
      kir::If branch;
      branch.predicate =
          AffineExpr::Max(0, loop.stop - AffineExpr(prefetch) - index);
      guard.node = std::move(branch);
      main.AddAround(std::move(guard), 0, std::move(loads), std::nullopt);
    }
    if (plan.cp) main.AddNew(CommitOf(kir::AsyncKind::kCp));
    main.Add(uses);
    if (plan.bulk_store) {
      main.AddNew(CommitOf(kir::AsyncKind::kBulkStore));
      main.AddNew(WaitOf(kir::AsyncKind::kBulkStore,
                         plan.circular.stages - prefetch - 1));
    }
    AddWait(plan, main);
    result.AddAround(StageOf(statement, kir::LoopStage::kMain, 0,
                             plan.bulk ? rest : loop.stop),
                     position, std::move(main), end);
    if (plan.cp) result.AddNew(WaitOf(kir::AsyncKind::kCp, 0));
    if (plan.bulk) {
      result.AddAround(
          StageOf(statement, kir::LoopStage::kEpilogue, rest, loop.stop),
          position, std::move(uses), end);
    }
    return result;
  }

  // Waits until the loads of the next iteration are visible to all threads. Of
  // `prefetch` groups in flight all but the oldest may still be pending.
  static void AddWait(const LoopPlan& plan, Piece& piece) {
    if (plan.cp) {
      piece.AddNew(WaitOf(kir::AsyncKind::kCp, plan.circular.prefetch - 1));
    }
    if (!plan.bulk) piece.AddNew(kir::Sync());
  }

  absl::StatusOr<Piece> Copy(const std::vector<Statement>& body) {
    Piece piece;
    for (const Statement& statement : body) {
      int position = positions_.PositionOf(statement);
      auto plan = plans_.find(position);
      if (plan != plans_.end()) {
        ASSIGN_OR_RETURN(Piece split, Split(statement, plan->second));
        piece.Add(std::move(split));
      } else if (const auto* loop = statement.As<kir::Loop>()) {
        ASSIGN_OR_RETURN(Piece inner, Copy(loop->body));
        piece.AddAround(HeaderOf(statement), position, std::move(inner),
                        positions_.EndOf(position));
      } else if (const auto* branch = statement.As<kir::If>()) {
        ASSIGN_OR_RETURN(Piece inner, Copy(branch->then_body));
        ASSIGN_OR_RETURN(Piece other, Copy(branch->else_body));
        Statement header = HeaderOf(statement);
        header.As<kir::If>()->else_body = std::move(other.statements);
        piece.AddAround(std::move(header), position, std::move(inner),
                        std::nullopt);
        piece.origins.insert(piece.origins.end(), other.origins.begin(),
                             other.origins.end());
      } else {
        piece.statements.push_back(statement);
        piece.origins.push_back(position);
      }
    }
    return piece;
  }

  kir::Kernel kernel_;
  KernelPositions positions_;  // of kernel_
  absl::btree_map<BufferId, int> loop_of_;
  absl::btree_map<BufferId, kir::CircularBuffer> circular_of_;
  absl::btree_map<int, LoopPlan> plans_;  // by position of the loop
};

}  // namespace

absl::StatusOr<CircularSplit> SplitCircularLoops(const kir::Kernel& kernel) {
  return Splitter(kernel).Run();
}

namespace {

kir::Async Mbarrier(absl::string_view what, BufferId barrier,
                    std::optional<AffineExpr> argument = std::nullopt) {
  kir::Async async;
  async.op = kir::Async::Op::kMbarrier;
  async.name = std::string(what);
  async.barrier = barrier;
  async.argument = std::move(argument);
  return async;
}

// Gives every bulk load an mbarrier: allocated and initialized in front of the
// circular loop (or of the load), armed with the expected bytes before each
// load, waited for after it, and invalidated at the end. With several stages
// the barrier has one slot per stage, and its parity flips each time the stages
// wrap around.
class MbarrierAdder {
 public:
  explicit MbarrierAdder(const kir::Kernel& kernel)
      : kernel_(kernel), positions_(kernel_) {}

  absl::StatusOr<MbarrierResult> Run() {
    absl::btree_map<BufferId, int> loops = CircularLoops(kernel_, positions_);
    std::vector<int> loads;
    for (int p = 1; p < positions_.kernel_end(); ++p) {
      const Entry& entry = positions_.entries()[p];
      if (entry.kind != Entry::Kind::kStatement) continue;
      const auto* expr = entry.statement->As<kir::Expr>();
      if (expr != nullptr && expr->async == kir::AsyncKind::kBulkLoad &&
          !expr->mbarrier.has_value()) {
        loads.push_back(p);
      }
    }
    if (loads.empty()) return MbarrierResult{std::move(kernel_), {}};
    absl::flat_hash_map<const Statement*, BufferId> barrier_of;
    for (int p : loads) {
      const Statement* statement = positions_.entries()[p].statement;
      BufferId buffer = statement->As<kir::Expr>()->outputs[0].buffer;
      auto loop = loops.find(buffer);
      ASSIGN_OR_RETURN(BufferId barrier,
                       Add(p, buffer, loop == loops.end() ? 0 : loop->second));
      barrier_of[statement] = barrier;
    }
    kir::ForEachStatement(kernel_.body, [&](Statement& statement) {
      auto it = barrier_of.find(&statement);
      if (it != barrier_of.end()) {
        statement.As<kir::Expr>()->mbarrier = it->second;
      }
    });
    std::stable_sort(insertions_.begin(), insertions_.end(),
                     [](const Insertion& a, const Insertion& b) {
                       return a.anchor < b.anchor;
                     });
    MbarrierResult result;
    result.kernel = InsertStatements(kernel_, positions_, insertions_);
    result.insertions = std::move(insertions_);
    return result;
  }

 private:
  template <typename T>
  void Insert(int anchor, T node) {
    Insertion insertion;
    insertion.anchor = anchor;
    insertion.statement.node = std::move(node);
    insertions_.push_back(std::move(insertion));
  }

  // The position after a statement, which is that of its successor or of the
  // end of the loop around.
  absl::StatusOr<int> After(int position) const {
    const Entry& entry = positions_.entries()[position];
    bool in_if =
        !entry.parents.empty() &&
        (entry.loops.empty() || entry.parents.back() != entry.loops.back());
    if (in_if) {
      return kernel_.ErrorAt(
          entry.statement->location,
          "a bulk load directly in a branch needs an mbarrier of its own");
    }
    return entry.statement->As<kir::Loop>() != nullptr
               ? positions_.EndOf(position) + 1
               : position + 1;
  }

  // The outermost of the trivial loops directly around a position.
  int TrivialAround(int position) const {
    const std::vector<int>& parents = positions_.entries()[position].parents;
    for (auto p = parents.rbegin(); p != parents.rend(); ++p) {
      const auto* loop = positions_.entries()[*p].statement->As<kir::Loop>();
      if (loop == nullptr || !IsTrivialLoop(kernel_, *loop)) break;
      position = *p;
    }
    return position;
  }

  // Iteration i uses slot i % stages for the (i / stages)-th time, and an
  // mbarrier changes its parity with each completed phase: so the load of
  // iteration i completes the phase of parity (i / stages) % 2. The block
  // synchronizes after `init`, since no thread may use a barrier before it is
  // initialized, and after `inval`, since its memory may then hold something
  // else.
  absl::StatusOr<BufferId> Add(int position, BufferId buffer, int loop) {
    const std::optional<kir::CircularBuffer> circular =
        kernel_.buffers[buffer].circular;
    const int stages = circular.has_value() ? circular->stages : 1;
    kir::Buffer bar;
    bar.name = absl::StrCat(kernel_.buffers[buffer].name, "_bar");
    while (kernel_.FindBuffer(bar.name).has_value()) bar.name += "_";
    bar.memory = kir::Memory::kShared;
    bar.type = kir::ElementType::kU64;
    bar.extents = {stages};
    bar.location = kernel_.buffers[buffer].location;
    AffineExpr bytes = kernel_.buffers[buffer].Bytes();
    if (stages > 1) bytes = AffineExpr::FloorDiv(bytes, stages);
    BufferId id = static_cast<BufferId>(kernel_.buffers.size());
    kernel_.buffers.push_back(std::move(bar));

    const int load = TrivialAround(position);
    const int outer = loop > 0 ? loop : load;
    ASSIGN_OR_RETURN(int after_load, After(load));
    ASSIGN_OR_RETURN(int after, After(outer));
    Insert(outer, kir::Alloc{id});
    Insert(outer, Mbarrier("init", id, AffineExpr(1)));
    Insert(outer, kir::Sync());
    Insert(load, Mbarrier("expect_tx", id, bytes));
    AffineExpr parity = 0;
    if (loop > 0) {
      parity = AffineExpr::Mod(
          AffineExpr::FloorDiv(
              AffineExpr::Symbol(positions_.LoopAt(loop).index), stages),
          2);
    }
    Insert(after_load, Mbarrier("wait_parity", id, parity));
    Insert(after, Mbarrier("inval", id));
    Insert(after, kir::Sync());
    return id;
  }

  kir::Kernel kernel_;
  KernelPositions positions_;
  std::vector<Insertion> insertions_;
};

}  // namespace

absl::StatusOr<MbarrierResult> AddMbarriers(const kir::Kernel& kernel) {
  return MbarrierAdder(kernel).Run();
}

}  // namespace xla::gpu
