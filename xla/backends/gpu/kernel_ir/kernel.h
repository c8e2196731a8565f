#ifndef XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"

// A GPU kernel as loops over buffers: the form that the shared-memory planner
// reads and rewrites, and from which CUDA is generated.
//
//   kernel @copy {
//     launch grid(1, 1, 1) block(32, 1, 1)
//     param %in : global f32[32]
//     alloc %A : shared f32[32] promote
//     for %x : tidx [0, 32) {
//       %A[x] = copy(%in[x])
//     }
//   }
//
// Everything is a value: a Kernel can be copied, compared and changed freely.
// Buffers are named by their index in Kernel::buffers, which edits of the body
// do not change. Index and size expressions are AffineExprs over symbols, loop
// indices and tid.*, bid.*, bdim.*, gdim.*; launch symbols are bound when the
// kernel is planned (Symbol::binding) or when it is launched.
//
// Comparing two kernels ignores source texts and locations.

namespace xla::gpu::kir {

// The text that a kernel was parsed from, for messages.
struct SourceText {
  std::string file;
  std::string text;
};

// Line and column, from 1; 0 for what was built without a text.
struct SourceLocation {
  int line = 0;
  int column = 0;
  bool operator==(const SourceLocation&) const { return true; }
};

enum class ElementType {
  kPred,
  kS8,
  kU8,
  kF8E4M3FN,
  kF8E5M2,
  kS16,
  kU16,
  kF16,
  kBF16,
  kS32,
  kU32,
  kF32,
  kS64,
  kU64,
  kF64,
  kC64,
};
enum class Memory { kLocal, kShared, kGlobal, kTmem };
enum class LoopKind {
  kSerial,
  kUnroll,
  kUnswitch,
  kVectorize,
  kTidX,
  kTidY,
  kTidZ,
  kBidX,
  kBidY,
  kBidZ,
  kMma,
  kBulk,
  kGroup,
  kBroadcast,
  kStride,
  kDevice,
  kStream,
};
enum class LoopStage {
  kNone,
  kPrologue,
  kMain,
  kEpilogue,
  kAsyncWarp,
  kComputeWarp,
};
// How far threads agree on the condition of an if.
enum class Uniformity { kUniform, kWarp, kDivergent };
enum class SyncScope { kBlock, kWarp, kGrid, kCluster };
enum class AsyncKind { kNone, kCp, kBulkLoad, kBulkStore, kWgmma };

// Names as in the text: "f32", "shared", "tidx", "prologue", "uniform", …
absl::string_view ElementTypeName(ElementType type);
absl::string_view MemoryName(Memory memory);
absl::string_view LoopKindName(LoopKind kind);
absl::string_view LoopStageName(LoopStage stage);
absl::string_view UniformityName(Uniformity uniformity);
absl::string_view SyncScopeName(SyncScope scope);
absl::string_view AsyncKindName(AsyncKind kind);
std::optional<ElementType> ElementTypeFromName(absl::string_view name);
std::optional<Memory> MemoryFromName(absl::string_view name);
std::optional<LoopKind> LoopKindFromName(absl::string_view name);
std::optional<LoopStage> LoopStageFromName(absl::string_view name);
std::optional<Uniformity> UniformityFromName(absl::string_view name);
std::optional<SyncScope> SyncScopeFromName(absl::string_view name);
std::optional<AsyncKind> AsyncKindFromName(absl::string_view name);

int ElementBytes(ElementType type);
// tidx..tidz → 0..2, else -1; the same for blocks.
int ThreadDimension(LoopKind kind);
int BlockDimension(LoopKind kind);
// "tid.x" for tidx, "bid.z" for bidz; empty for other kinds.
absl::string_view ParallelIndexName(LoopKind kind);

using BufferId = int;

struct Symbol {
  std::string name;
  std::optional<int64_t> binding;  // the value tests and planning assume
  SourceLocation location;
  bool operator==(const Symbol& o) const;
};

// A named iteration axis: two dimensions of one axis are mapped exactly.
struct IterationId {
  std::string name;
  AffineExpr extent;
  SourceLocation location;
  bool operator==(const IterationId& o) const;
};

struct CircularBuffer {
  int stages = 1;    // copies of the buffer; its extents hold one
  int prefetch = 0;  // how many stages loads run ahead
  bool operator==(const CircularBuffer& o) const;
};

struct Buffer {
  std::string name;  // without '%'
  Memory memory = Memory::kLocal;
  ElementType type = ElementType::kF32;
  std::vector<AffineExpr> extents;  // elements per dimension; none: one element
  std::optional<int64_t> align;     // bytes
  bool promote = false;             // memory must be reused after its last read
  bool zero_init = false;
  bool reset_to_zero = false;
  std::optional<int> swizzle;       // bytes: 32, 64 or 128; 0: plain TMA tile
  std::optional<int> vector_width;  // elements
  std::optional<CircularBuffer> circular;
  std::vector<std::string> ids;  // axis of each dimension
  // Results of planning.
  std::optional<BufferId> alias;
  std::optional<AffineExpr> address;  // bytes from the base of shared memory
  bool is_param = false;              // declared with `param`, not allocated
  SourceLocation location;
  bool operator==(const Buffer& o) const;

  // Product of the extents, times the stages of a circular buffer.
  AffineExpr ElementCount() const;
  // ElementCount() times the size of an element.
  AffineExpr Bytes() const;
};

// %buffer[indices]
struct Operand {
  BufferId buffer = -1;
  std::vector<AffineExpr> indices;
  SourceLocation location;
  bool operator==(const Operand& o) const;
};

using Argument = std::variant<Operand, AffineExpr, double>;

struct Statement;

struct Alloc {
  BufferId buffer = -1;
  bool operator==(const Alloc& o) const;
};

struct Loop {
  std::string index;  // without '%'
  LoopKind kind = LoopKind::kSerial;
  AffineExpr start, stop, step = 1;
  bool unroll = false;
  LoopStage stage = LoopStage::kNone;
  std::vector<std::string> ids;  // axes the loop runs over
  std::vector<Statement> body;
  bool operator==(const Loop& o) const;
};

struct If {
  Uniformity uniformity = Uniformity::kUniform;
  AffineExpr predicate;  // taken when not zero
  std::vector<Statement> then_body;
  std::vector<Statement> else_body;
  bool operator==(const If& o) const;
};

// outputs = op(arguments)
struct Expr {
  std::vector<Operand> outputs;
  std::string op;  // a name of kir_ops.h
  std::vector<Argument> arguments;
  bool sync = false;  // holds a barrier that the whole block joins
  AsyncKind async = AsyncKind::kNone;
  std::optional<BufferId> mbarrier;  // that completion is signalled on
  bool operator==(const Expr& o) const;
};

// sync SCOPE [war] [group=ID]
struct Sync {
  SyncScope scope = SyncScope::kBlock;
  bool war = false;
  std::string group;  // of warps that join; empty: all
  bool operator==(const Sync& o) const;
};

// arrive %b | wait %b: the two halves of a barrier.
struct ArriveWait {
  bool is_wait = false;
  BufferId barrier = -1;
  std::optional<AffineExpr> phase;
  bool operator==(const ArriveWait& o) const;
};

// commit KIND | wait KIND keep=n | fence NAME | mbarrier.OP %b [(e)]
struct Async {
  enum class Op { kCommit, kWait, kFence, kMbarrier };
  Op op = Op::kCommit;
  AsyncKind kind = AsyncKind::kCp;  // of commit and wait
  int keep = 0;                     // groups that may stay in flight
  std::string
      name;  // of a fence (async_proxy, wgmma), or what an mbarrier does
  BufferId barrier = -1;
  std::optional<AffineExpr> argument;  // of mbarrier.expect_tx, wait_parity, …
  bool operator==(const Async& o) const;
};

struct Statement {
  std::variant<Alloc, Loop, If, Expr, Sync, ArriveWait, Async> node;
  SourceLocation location;
  bool operator==(const Statement& o) const;

  template <typename T>
  const T* As() const {
    return std::get_if<T>(&node);
  }
  template <typename T>
  T* As() {
    return std::get_if<T>(&node);
  }
};

struct Launch {
  std::array<AffineExpr, 3> grid, block;
  bool operator==(const Launch& o) const;
};

struct Kernel {
  std::string name;  // without '@'
  std::shared_ptr<const SourceText> source;
  SourceLocation location;
  std::vector<Symbol> symbols;
  std::optional<Launch> launch;
  std::vector<IterationId> ids;
  // "own" names an array each of whose elements is for one thread alone,
  // wherever data tell threads to read and write.
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<Buffer> buffers;  // parameters first
  std::vector<Statement> body;
  bool operator==(const Kernel& o) const;

  std::optional<BufferId> FindBuffer(absl::string_view name) const;
  // The value of `option NAME = VALUE`, or nothing.
  std::optional<std::string> FindOption(absl::string_view option) const;
  // The arrays that `option own` names.
  std::vector<BufferId> OwnArrays() const;
  // Threads of a block per dimension; nothing where it is known only at launch.
  std::array<std::optional<int64_t>, 3> BlockExtents() const;
  // "FILE:LINE:COLUMN: error: MESSAGE", the line and a caret; as much of that
  // as is known. InvalidArgument unless `code` says otherwise.
  absl::Status ErrorAt(
      SourceLocation location, absl::string_view message,
      absl::StatusCode code = absl::StatusCode::kInvalidArgument) const;
  // The bindings of symbols, including bdim.* and gdim.* if the launch gives
  // them.
  AffineExpr::Binding Bindings() const;
};

// Lanes that a warp reduction combines: 32, or as many neighbors as its second
// argument says, a constant power of two up to 32; nothing where that is
// something else.
std::optional<int> LanesOfWarpReduce(const Expr& expr);

// Calls `visit` on every statement, pre-order, then-bodies before else-bodies.
void ForEachStatement(const std::vector<Statement>& body,
                      absl::FunctionRef<void(const Statement&)> visit);
void ForEachStatement(std::vector<Statement>& body,
                      absl::FunctionRef<void(Statement&)> visit);

}  // namespace xla::gpu::kir

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_H_
