#include "xla/backends/gpu/smem/kernel_positions.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/log/check.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"

namespace xla::gpu {
namespace {

using kir::LoopKind;

// Whether `stop` is the extent that the launch gives to the loop's dimension.
bool CoversLaunch(const kir::Kernel& kernel, const kir::Loop& loop) {
  int thread = kir::ThreadDimension(loop.kind);
  int block = kir::BlockDimension(loop.kind);
  if (!loop.start.IsConstant(0) || !loop.step.IsConstant(1)) return false;
  if (!kernel.launch.has_value()) return true;
  const AffineExpr& extent =
      thread >= 0 ? kernel.launch->block[thread] : kernel.launch->grid[block];
  if (loop.stop == extent) return true;
  AffineExpr::Binding bindings = kernel.Bindings();
  std::optional<int64_t> stop = loop.stop.Bind(bindings).AsConstant();
  return stop.has_value() && stop == extent.Bind(bindings).AsConstant();
}

}  // namespace

bool IsTrivialLoop(const kir::Kernel& kernel, const kir::Loop& loop) {
  switch (loop.kind) {
    case LoopKind::kVectorize:
    case LoopKind::kBroadcast:
    case LoopKind::kStride:
    case LoopKind::kMma:
    case LoopKind::kBulk:
    case LoopKind::kGroup:
    case LoopKind::kDevice:
    case LoopKind::kStream:
      return true;
    default:
      break;
  }
  bool parallel = !kir::ParallelIndexName(loop.kind).empty();
  if (parallel && CoversLaunch(kernel, loop)) return true;
  return loop.step.IsConstant(1) && (loop.stop - loop.start).IsConstant(1);
}

KernelPositions::KernelPositions(const kir::Kernel& kernel) {
  entries_.emplace_back();
  Entry around;
  Number(kernel, kernel.body, around);
  Entry end;
  end.kind = Entry::Kind::kKernelEnd;
  end_of_[0] = static_cast<int>(entries_.size());
  entries_.push_back(std::move(end));
}

void KernelPositions::Number(const kir::Kernel& kernel,
                             const std::vector<kir::Statement>& body,
                             Entry& around) {
  for (const kir::Statement& statement : body) {
    int position = static_cast<int>(entries_.size());
    position_of_[&statement] = position;
    entries_.push_back(around);
    entries_.back().statement = &statement;
    if (const kir::If* branch = statement.As<kir::If>()) {
      around.parents.push_back(position);
      Number(kernel, branch->then_body, around);
      Number(kernel, branch->else_body, around);
      around.parents.pop_back();
    }
    const kir::Loop* loop = statement.As<kir::Loop>();
    if (loop == nullptr) continue;
    bool trivial = IsTrivialLoop(kernel, *loop);
    around.loops.push_back(position);
    around.parents.push_back(position);
    if (!trivial) around.real_loops.push_back(position);
    Number(kernel, loop->body, around);
    around.loops.pop_back();
    around.parents.pop_back();
    if (!trivial) around.real_loops.pop_back();
    end_of_[position] = static_cast<int>(entries_.size());
    entries_.push_back(around);
    entries_.back().kind = Entry::Kind::kLoopEnd;
    entries_.back().statement = &statement;
  }
}

int KernelPositions::PositionOf(const kir::Statement& statement) const {
  auto it = position_of_.find(&statement);
  CHECK(it != position_of_.end()) << "a statement of another kernel";
  return it->second;
}

int KernelPositions::EndOf(int loop) const {
  auto it = end_of_.find(loop);
  CHECK(it != end_of_.end()) << "position " << loop << " holds no loop";
  return it->second;
}

const kir::Loop& KernelPositions::LoopAt(int position) const {
  const kir::Statement* statement = entries_[position].statement;
  CHECK(statement != nullptr && statement->As<kir::Loop>() != nullptr)
      << "position " << position << " holds no loop";
  return *statement->As<kir::Loop>();
}

namespace {

class Inserter {
 public:
  Inserter(const KernelPositions& positions,
           absl::Span<const Insertion> insertions)
      : positions_(positions), insertions_(insertions) {}

  // `end`: the position at which the body ends, or -1 for a branch of an if.
  std::vector<kir::Statement> Rebuild(const std::vector<kir::Statement>& body,
                                      int end) {
    std::vector<kir::Statement> rebuilt;
    for (const kir::Statement& statement : body) {
      int position = positions_.PositionOf(statement);
      InsertAt(position, rebuilt);
      kir::Statement copy;
      copy.location = statement.location;
      if (const kir::Loop* loop = statement.As<kir::Loop>()) {
        kir::Loop header = HeaderOf(*loop);
        header.body = Rebuild(loop->body, positions_.EndOf(position));
        copy.node = std::move(header);
      } else if (const kir::If* branch = statement.As<kir::If>()) {
        kir::If header;
        header.uniformity = branch->uniformity;
        header.predicate = branch->predicate;
        header.then_body = Rebuild(branch->then_body, -1);
        header.else_body = Rebuild(branch->else_body, -1);
        copy.node = std::move(header);
      } else {
        copy.node = statement.node;
      }
      rebuilt.push_back(std::move(copy));
    }
    if (end >= 0) InsertAt(end, rebuilt);
    return rebuilt;
  }

 private:
  static kir::Loop HeaderOf(const kir::Loop& loop) {
    kir::Loop header;
    header.index = loop.index;
    header.kind = loop.kind;
    header.start = loop.start;
    header.stop = loop.stop;
    header.step = loop.step;
    header.unroll = loop.unroll;
    header.stage = loop.stage;
    header.ids = loop.ids;
    return header;
  }

  void InsertAt(int position, std::vector<kir::Statement>& body) {
    while (next_ < insertions_.size() &&
           insertions_[next_].anchor == position) {
      body.push_back(insertions_[next_++].statement);
    }
  }

  const KernelPositions& positions_;
  absl::Span<const Insertion> insertions_;
  size_t next_ = 0;
};

}  // namespace

kir::Kernel InsertStatements(const kir::Kernel& kernel,
                             const KernelPositions& positions,
                             absl::Span<const Insertion> insertions) {
  kir::Kernel result;
  result.name = kernel.name;
  result.source = kernel.source;
  result.location = kernel.location;
  result.symbols = kernel.symbols;
  result.launch = kernel.launch;
  result.ids = kernel.ids;
  result.options = kernel.options;
  result.buffers = kernel.buffers;
  result.body = Inserter(positions, insertions)
                    .Rebuild(kernel.body, positions.kernel_end());
  return result;
}

int ShiftedPosition(absl::Span<const Insertion> insertions, int position) {
  int shift = 0;
  for (const Insertion& insertion : insertions) {
    shift += insertion.anchor <= position;
  }
  return position + shift;
}

std::vector<int> OriginsOf(absl::Span<const Insertion> insertions, int end) {
  std::vector<int> origins;
  size_t next = 0;
  for (int p = 0; p <= end; ++p) {
    for (; next < insertions.size() && insertions[next].anchor == p; ++next) {
      origins.push_back(p);
    }
    origins.push_back(p);
  }
  return origins;
}

// Insertions are sorted by anchor, so each one before it has moved it on by
// one.
int InsertedPosition(absl::Span<const Insertion> insertions, int index) {
  return insertions[index].anchor + index;
}

}  // namespace xla::gpu
