#include "xla/backends/gpu/kernel_ir/kir_verifier.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel_vectors.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/kernel_ir/warp_mma.h"
#include "xla/status_macros.h"

namespace xla::gpu::kir {
namespace {

constexpr absl::string_view kFences[] = {"async_proxy", "wgmma"};
constexpr absl::string_view kMbarrierOps[] = {"init", "arrive", "expect_tx",
                                              "wait_parity", "inval"};
constexpr int64_t kMaxThreads = 1024;

bool IsPowerOfTwo(int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

// The context of a statement.
struct Context {
  std::vector<const Loop*> loops;
  // Why a barrier of the block, or of a warp, is not met by all; empty: it is.
  std::string block_diverges;
  std::string warp_diverges;
  // Why some threads do not even pass by. Those outside a thread loop that does
  // not cover the block do.
  std::string block_misses;
};

// One walk over the kernel in program order. Visibility of buffers follows the
// nesting of bodies; "written" is flow-insensitive in one respect: a write in
// any earlier statement, even in a branch or loop that may not run, counts.
// Divergence is tracked as a reason text on the way down, so that the error at
// a barrier can name the loop or branch that keeps threads away.
class Verifier {
 public:
  Verifier(const Kernel& kernel, const KirVerifierOptions& options)
      : kernel_(kernel),
        options_(options),
        visible_(kernel.buffers.size(), false),
        allocated_(kernel.buffers.size(), false),
        written_(kernel.buffers.size(), false) {
    for (const Symbol& symbol : kernel.symbols) names_.insert(symbol.name);
    for (absl::string_view base : {"tid", "bid", "bdim", "gdim"}) {
      for (absl::string_view axis : {".x", ".y", ".z"}) {
        names_.insert(absl::StrCat(base, axis));
      }
    }
  }

  absl::Status Verify() {
    RETURN_IF_ERROR(VerifyLaunch());
    for (const auto& [name, value] : kernel_.options) {
      if (name != "own") continue;
      const std::optional<BufferId> own = kernel_.FindBuffer(value);
      if (own.has_value() && kernel_.buffers[*own].memory == Memory::kGlobal) {
        continue;
      }
      return Error(
          "K14", kernel_.location,
          absl::StrCat("option own: there is no global array '", value, "'"));
    }
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      RETURN_IF_ERROR(VerifyBuffer(static_cast<BufferId>(i)));
      const Buffer& buffer = kernel_.buffers[i];
      visible_[i] = allocated_[i] = buffer.is_param;
      written_[i] = buffer.is_param || buffer.zero_init;
    }
    Context context;
    return VerifyBody(kernel_.body, context);
  }

 private:
  absl::Status Error(absl::string_view rule, SourceLocation location,
                     absl::string_view message) const {
    return kernel_.ErrorAt(location, absl::StrCat(rule, ": ", message));
  }
  std::string Name(BufferId buffer) const {
    return absl::StrCat("%", kernel_.buffers[buffer].name);
  }

  absl::Status VerifyLaunch() {
    int64_t threads = 1;
    for (std::optional<int64_t> extent : kernel_.BlockExtents()) {
      if (!extent.has_value()) continue;
      if (*extent < 1 || *extent > kMaxThreads ||
          (threads *= *extent) > kMaxThreads) {
        return Error("K11", kernel_.location,
                     absl::StrCat("a block has 1 to ", kMaxThreads,
                                  " threads; an extent here is ", *extent));
      }
    }
    return absl::OkStatus();
  }

  absl::Status VerifyBuffer(BufferId id) {
    const Buffer& b = kernel_.buffers[id];
    for (const AffineExpr& extent : b.extents) {
      for (const std::string& name : extent.Symbols()) {
        if (!absl::c_any_of(kernel_.symbols,
                            [&](const Symbol& s) { return s.name == name; })) {
          return Error("K3", b.location,
                       absl::StrCat("the size of ", Name(id), " depends on '",
                                    name, "', which is not a symbol"));
        }
      }
      if (extent.AsConstant().value_or(1) < 1) {
        return Error(
            "K3", b.location,
            absl::StrCat("an extent of ", Name(id), " is ", extent.ToString()));
      }
    }
    if (!b.Bytes().status().ok()) {
      return Error(
          "K3", b.location,
          absl::StrCat("the size of ", Name(id), " does not fit 64 bits"));
    }
    if (b.memory != Memory::kShared &&
        (b.promote || b.swizzle.has_value() || b.circular.has_value())) {
      absl::string_view what = b.promote               ? "promote"
                               : b.swizzle.has_value() ? "swizzle"
                                                       : "circ";
      return Error("K4", b.location,
                   absl::StrCat("'", what, "' is for shared memory, and ",
                                Name(id), " is ", MemoryName(b.memory)));
    }
    if (b.align.has_value() && !IsPowerOfTwo(*b.align)) {
      return Error("K5", b.location,
                   absl::StrCat("alignment ", *b.align, " of ", Name(id),
                                " is not a power of two"));
    }
    if (b.swizzle.has_value() && *b.swizzle != 0 && *b.swizzle != 32 &&
        *b.swizzle != 64 && *b.swizzle != 128) {
      return Error("K5", b.location,
                   absl::StrCat("swizzle ", *b.swizzle,
                                " is not one of 0, 32, 64, 128"));
    }
    if (b.vector_width.has_value() &&
        (!IsPowerOfTwo(*b.vector_width) ||
         *b.vector_width * ElementBytes(b.type) > kVectorBytes)) {
      return Error("K5", b.location,
                   absl::StrCat("vectors of ", *b.vector_width, " ",
                                ElementTypeName(b.type),
                                " are not a power of two or exceed 16 bytes"));
    }
    if (b.circular.has_value() &&
        (b.circular->stages < 1 || b.circular->prefetch < 0 ||
         b.circular->prefetch >= b.circular->stages)) {
      return Error(
          "K5", b.location,
          absl::StrCat("a prefetch distance of ", b.circular->prefetch,
                       " needs more than ", b.circular->stages, " stages"));
    }
    if (!b.ids.empty() && b.ids.size() != b.extents.size()) {
      return Error("K5", b.location,
                   absl::StrCat(Name(id), " has ", b.extents.size(),
                                " dimensions and ", b.ids.size(), " axes"));
    }
    return VerifyAlias(id);
  }

  // Aliases point at lower numbers and never at an alias. So they form no
  // cycle, one step finds the memory of any buffer, and memory can be assigned
  // in one pass over the buffers.
  absl::Status VerifyAlias(BufferId id) {
    const Buffer& b = kernel_.buffers[id];
    if (!b.alias.has_value()) return absl::OkStatus();
    if (*b.alias < 0 || *b.alias >= id) {
      return Error("K6", b.location,
                   absl::StrCat(Name(id), " is an alias of a later buffer"));
    }
    const Buffer& target = kernel_.buffers[*b.alias];
    if (target.alias.has_value() || target.memory != b.memory) {
      return Error("K6", b.location,
                   absl::StrCat(Name(id), " is an alias of ", Name(*b.alias),
                                target.alias.has_value()
                                    ? ", which is an alias itself"
                                    : ", which lies in other memory"));
    }
    return absl::OkStatus();
  }

  absl::Status VerifyNames(const AffineExpr& expr, SourceLocation location) {
    for (const std::string& name : expr.Symbols()) {
      if (!names_.contains(name)) {
        return Error("K2", location, absl::StrCat("unknown name '", name, "'"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status VerifyVisible(BufferId buffer, SourceLocation location) {
    if (buffer < 0 || buffer >= static_cast<int>(visible_.size())) {
      return Error("K1", location, "a buffer that the kernel does not have");
    }
    if (!visible_[buffer]) {
      return Error("K1", location,
                   absl::StrCat(Name(buffer), " is not allocated here"));
    }
    return absl::OkStatus();
  }

  absl::Status VerifyOperand(const Operand& operand) {
    RETURN_IF_ERROR(VerifyVisible(operand.buffer, operand.location));
    if (operand.indices.size() !=
        kernel_.buffers[operand.buffer].extents.size()) {
      return Error("K2", operand.location,
                   absl::StrCat(Name(operand.buffer),
                                " has another number of dimensions"));
    }
    for (const AffineExpr& index : operand.indices) {
      RETURN_IF_ERROR(VerifyNames(index, operand.location));
    }
    return absl::OkStatus();
  }

  // A buffer is visible from its alloc to the end of the body that has it.
  // `allocated_` is not reset there: one alloc per buffer in the whole kernel,
  // also in bodies that exclude each other.
  absl::Status VerifyBody(const std::vector<Statement>& body,
                          const Context& context) {
    std::vector<BufferId> opened;
    for (const Statement& statement : body) {
      if (const Alloc* alloc = statement.As<Alloc>()) {
        if (alloc->buffer < 0 ||
            alloc->buffer >= static_cast<int>(allocated_.size()) ||
            allocated_[alloc->buffer]) {
          return Error("K1", statement.location,
                       "a buffer is allocated a second time");
        }
        visible_[alloc->buffer] = allocated_[alloc->buffer] = true;
        opened.push_back(alloc->buffer);
        continue;
      }
      RETURN_IF_ERROR(std::visit(
          [&](const auto& node) {
            return VerifyNode(node, statement.location, context);
          },
          statement.node));
    }
    for (BufferId buffer : opened) visible_[buffer] = false;
    return absl::OkStatus();
  }

  absl::Status VerifyNode(const Alloc&, SourceLocation, const Context&) {
    return absl::OkStatus();
  }

  absl::Status VerifyNode(const Loop& loop, SourceLocation location,
                          const Context& context) {
    for (const AffineExpr* e : {&loop.start, &loop.stop, &loop.step}) {
      RETURN_IF_ERROR(VerifyNames(*e, location));
    }
    if (loop.step.AsConstant().value_or(0) < 1) {
      return Error("K7", location, "a loop steps by a positive constant");
    }
    for (const Loop* outer : context.loops) {
      if (outer->kind == loop.kind && !ParallelIndexName(loop.kind).empty()) {
        return Error("K7", location,
                     absl::StrCat("a loop around runs over ",
                                  LoopKindName(loop.kind), " already"));
      }
    }
    if (!names_.insert(loop.index).second) {
      return Error("K2", location,
                   absl::StrCat("'", loop.index, "' has a meaning already"));
    }
    Context inner = context;
    // What a loop with a trip count that differs by thread does to barriers
    // depends on its kind. `for i in 0..n` with n of the thread makes threads
    // of one warp disagree. A loop over tid.x that runs for 64 of 128 threads
    // keeps warps together.
    inner.loops.push_back(&loop);
    if (std::string why = LoopDivergence(loop, context); !why.empty()) {
      inner.block_diverges = why;
      if (ThreadDimension(loop.kind) < 0) inner.block_misses = why;
      if (!HoldsWholeWarps(loop)) inner.warp_diverges = why;
    }
    RETURN_IF_ERROR(VerifyBody(loop.body, inner));
    names_.erase(loop.index);
    return absl::OkStatus();
  }

  // Why threads disagree on how often they run the body; empty: they agree.
  std::string LoopDivergence(const Loop& loop, const Context& context) const {
    int dimension = ThreadDimension(loop.kind);
    if (dimension >= 0) {
      std::optional<int64_t> block = kernel_.BlockExtents()[dimension];
      std::optional<int64_t> trips = Trips(loop);
      if (block.has_value() && trips.has_value() && *trips < *block) {
        return absl::StrCat("the loop over ", LoopKindName(loop.kind),
                            " runs for ", *trips, " of ", *block, " threads");
      }
      return "";
    }
    for (const AffineExpr* e : {&loop.start, &loop.stop}) {
      for (const std::string& name : e->Symbols()) {
        bool of_thread = absl::StartsWith(name, "tid.");
        for (const Loop* outer : context.loops) {
          of_thread |=
              outer->index == name && ThreadDimension(outer->kind) >= 0;
        }
        if (of_thread) {
          return absl::StrCat("the trip count of the loop over '", loop.index,
                              "' depends on '", name, "'");
        }
      }
    }
    return "";
  }

  std::optional<int64_t> Trips(const Loop& loop) const {
    std::optional<int64_t> length =
        (loop.stop - loop.start).Bind(Bound()).AsConstant();
    if (!length.has_value() || *length <= 0) return length;
    return (*length - 1) / loop.step.AsConstant().value_or(1) + 1;
  }

  // Whether a loop that not all threads are in takes no warp apart. A thread
  // loop takes the threads below a multiple of the smaller dimensions, over and
  // over, once for each index of the larger ones; other trip counts tell
  // nothing of warps.
  bool HoldsWholeWarps(const Loop& loop) const {
    constexpr int64_t kWarp = 32;
    const int dimension = ThreadDimension(loop.kind);
    if (dimension < 0) return false;
    const auto block = kernel_.BlockExtents();
    int64_t stride = 1, outer = 1;
    for (int d = 0; d < 3; ++d) {
      if (d < dimension) stride *= block[d].value_or(1);
      // One that is open may be more than one.
      if (d > dimension) outer *= block[d].value_or(2);
    }
    const int64_t trips = Trips(loop).value_or(0);
    return trips <= 0 ||
           (stride * trips % kWarp == 0 &&
            (outer == 1 || stride * *block[dimension] % kWarp == 0));
  }

  AffineExpr::Binding Bound() const {
    AffineExpr::Binding bound;
    for (const Symbol& symbol : kernel_.symbols) {
      if (symbol.binding) bound[symbol.name] = *symbol.binding;
    }
    return bound;
  }

  absl::Status VerifyNode(const If& branch, SourceLocation location,
                          const Context& context) {
    RETURN_IF_ERROR(VerifyNames(branch.predicate, location));
    Context inner = context;
    if (branch.uniformity != Uniformity::kUniform) {
      inner.block_diverges = absl::StrCat("the branch around is ",
                                          branch.uniformity == Uniformity::kWarp
                                              ? "uniform per warp only"
                                              : "divergent");
      inner.block_misses = inner.block_diverges;
    }
    if (branch.uniformity == Uniformity::kDivergent) {
      inner.warp_diverges = inner.block_diverges;
    }
    RETURN_IF_ERROR(VerifyBody(branch.then_body, inner));
    return VerifyBody(branch.else_body, inner);
  }

  absl::Status VerifyNode(const Expr& expr, SourceLocation location,
                          const Context& context) {
    const OpInfo* info = FindOp(expr.op);
    if (info == nullptr) {
      return Error("K2", location,
                   absl::StrCat("unknown operation '", expr.op, "'"));
    }
    if (info->op_class == OpClass::kWarpReduce &&
        !LanesOfWarpReduce(expr).has_value()) {
      return Error(
          "K2", location,
          absl::StrCat("'", expr.op, "' combines 1, 2, 4, 8, 16 or 32 lanes"));
    }
    // Where a gather reads, an element tells.
    for (int k = 0; expr.op == "gather" && k < 2; ++k) {
      if (std::get_if<Operand>(&expr.arguments[k]) == nullptr) {
        return Error("K2", location,
                     "the first two arguments of 'gather' are elements");
      }
    }
    for (const Argument& argument : expr.arguments) {
      if (const AffineExpr* e = std::get_if<AffineExpr>(&argument)) {
        RETURN_IF_ERROR(VerifyNames(*e, location));
      }
      const Operand* operand = std::get_if<Operand>(&argument);
      if (operand == nullptr) continue;
      RETURN_IF_ERROR(VerifyOperand(*operand));
      if (!written_[operand->buffer] &&
          kernel_.buffers[operand->buffer].memory != Memory::kGlobal) {
        return Error(
            "K9", operand->location,
            absl::StrCat(Name(operand->buffer), " is read before any write"));
      }
    }
    for (const Operand& output : expr.outputs) {
      RETURN_IF_ERROR(VerifyOperand(output));
      const Buffer& b = kernel_.buffers[output.buffer];
      if (info->name == "atomic" && b.memory != Memory::kGlobal &&
          b.memory != Memory::kShared) {
        return Error(
            "K12", output.location,
            absl::StrCat("atomics are on global or shared memory, and ",
                         Name(output.buffer), " is ", MemoryName(b.memory)));
      }
      MarkWritten(output.buffer);
    }
    if (info->op_class == OpClass::kWarpMma) {
      RETURN_IF_ERROR(VerifyWarpMma(expr, location, context));
    }
    if (expr.mbarrier.has_value()) {
      RETURN_IF_ERROR(VerifyBarrier(*expr.mbarrier, location));
    }
    // Threads outside a reduced thread loop join the barrier of such an
    // operation with nothing to add; in other branches they do not come by.
    if (expr.sync && !options_.allow_divergent_barriers &&
        !context.block_misses.empty()) {
      return Error("K8", location,
                   absl::StrCat("not every thread meets this barrier: ",
                                context.block_misses));
    }
    return absl::OkStatus();
  }

  absl::Status VerifyWarpMma(const Expr& expr, SourceLocation location,
                             const Context& context) {
    std::string why;
    if (!FindWarpMma(kernel_, expr, &why).has_value()) {
      return Error("K13", location, absl::StrCat("no warp_mma: ", why));
    }
    if (!context.warp_diverges.empty()) {
      return Error("K13", location,
                   absl::StrCat("not every lane of the warp comes by: ",
                                context.warp_diverges));
    }
    return absl::OkStatus();
  }

  // A write is visible through all aliases.
  void MarkWritten(BufferId buffer) {
    written_[buffer] = true;
    if (kernel_.buffers[buffer].alias.has_value()) {
      written_[*kernel_.buffers[buffer].alias] = true;
    }
  }

  absl::Status VerifyNode(const Sync& sync, SourceLocation location,
                          const Context& context) {
    if (options_.allow_divergent_barriers || !sync.group.empty()) {
      return absl::OkStatus();
    }
    const std::string& why = sync.scope == SyncScope::kWarp
                                 ? context.warp_diverges
                                 : context.block_diverges;
    if (why.empty()) return absl::OkStatus();
    return Error("K8", location,
                 absl::StrCat("not every thread meets this barrier: ", why));
  }

  absl::Status VerifyBarrier(BufferId barrier, SourceLocation location) {
    RETURN_IF_ERROR(VerifyVisible(barrier, location));
    const Buffer& b = kernel_.buffers[barrier];
    if (b.memory != Memory::kShared || b.type != ElementType::kU64) {
      return Error(
          "K10", location,
          absl::StrCat(Name(barrier), " is not a barrier: one is shared ",
                       "and of type u64"));
    }
    return absl::OkStatus();
  }

  absl::Status VerifyNode(const ArriveWait& half, SourceLocation location,
                          const Context& context) {
    if (half.phase.has_value()) {
      RETURN_IF_ERROR(VerifyNames(*half.phase, location));
    }
    return VerifyBarrier(half.barrier, location);
  }

  absl::Status VerifyNode(const Async& async, SourceLocation location,
                          const Context&) {
    if (async.op == Async::Op::kFence &&
        !absl::c_linear_search(kFences, async.name)) {
      return Error("K10", location,
                   absl::StrCat("unknown fence '", async.name,
                                "'; one of async_proxy, wgmma"));
    }
    if (async.op != Async::Op::kMbarrier) return absl::OkStatus();
    if (!absl::c_linear_search(kMbarrierOps, async.name)) {
      return Error(
          "K10", location,
          absl::StrCat("unknown operation 'mbarrier.", async.name, "'"));
    }
    if (async.argument.has_value()) {
      RETURN_IF_ERROR(VerifyNames(*async.argument, location));
    }
    return VerifyBarrier(async.barrier, location);
  }

  const Kernel& kernel_;
  const KirVerifierOptions& options_;
  std::vector<bool> visible_, allocated_, written_;
  absl::flat_hash_set<std::string> names_;
};

}  // namespace

absl::Status VerifyKernel(const Kernel& kernel,
                          const KirVerifierOptions& options) {
  return Verifier(kernel, options).Verify();
}

}  // namespace xla::gpu::kir
