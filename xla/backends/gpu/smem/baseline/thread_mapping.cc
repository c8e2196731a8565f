#include "xla/backends/gpu/smem/baseline/thread_mapping.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"

// Decides whether a value travels between threads, dimension by dimension
// (tid.x to bid.z). Loops bound to a dimension are replaced by start + step *
// id, so that indices of a writer and a reader can be compared as expressions
// in thread ids, serial loops and constants. If they agree in all dimensions,
// each thread reads what it wrote itself.

namespace xla::gpu {
namespace {

constexpr const char* kIds[] = {"tid.x", "tid.y", "tid.z",
                                "bid.x", "bid.y", "bid.z"};

int DimensionOf(kir::LoopKind kind) {
  int thread = kir::ThreadDimension(kind);
  int block = kir::BlockDimension(kind);
  return thread >= 0 ? thread : block >= 0 ? 3 + block : -1;
}

}  // namespace

struct ThreadMapping::Shape {
  absl::btree_map<std::string, int64_t> ids;  // coefficients of tid.*, bid.*
  std::vector<std::pair<int64_t, std::string>> loops;
  int64_t constant = 0;
};

const char* ThreadMapping::DimensionName(int dimension) {
  constexpr const char* kNames[] = {"tidx", "tidy", "tidz",
                                    "bidx", "bidy", "bidz"};
  return kNames[dimension];
}

ThreadMapping::ThreadMapping(const kir::Kernel& kernel,
                             const KernelPositions& positions)
    : kernel_(kernel), positions_(positions) {
  AffineExpr::Binding bindings = kernel.Bindings();
  for (int d = 0; d < kDimensions; ++d) {
    AffineExpr extent = 1;
    if (kernel.launch.has_value()) {
      extent = d < 3 ? kernel.launch->block[d] : kernel.launch->grid[d - 3];
    }
    exists_[d] = !extent.Bind(bindings).IsConstant(1);
  }
  for (int p = 1; p < positions.kernel_end(); ++p) {
    const KernelPositions::Entry& entry = positions.entries()[p];
    if (entry.kind != KernelPositions::Entry::Kind::kStatement) continue;
    const auto* expr = entry.statement->As<kir::Expr>();
    if (expr == nullptr) continue;
    for (const kir::Argument& argument : expr->arguments) {
      if (const auto* operand = std::get_if<kir::Operand>(&argument)) {
        readers_[operand->buffer].push_back(p);
      }
    }
  }
}

const kir::Loop* ThreadMapping::LoopOver(int position, int dimension) const {
  for (int p : positions_.entries()[position].loops) {
    const kir::Loop& loop = positions_.LoopAt(p);
    if (DimensionOf(loop.kind) == dimension) return &loop;
  }
  return nullptr;
}

std::vector<AffineExpr> ThreadMapping::Indices(
    int position, const kir::Operand& operand) const {
  AffineExpr::Substitution substitution;
  for (int p : positions_.entries()[position].loops) {
    const kir::Loop& loop = positions_.LoopAt(p);
    int dimension = DimensionOf(loop.kind);
    if (dimension < 0) continue;
    substitution[loop.index] =
        loop.start + loop.step * AffineExpr::Symbol(kIds[dimension]);
  }
  std::vector<AffineExpr> indices;
  for (const AffineExpr& index : operand.indices) {
    indices.push_back(index.Substitute(substitution));
  }
  return indices;
}

bool ThreadMapping::IsParallel(int position, const kir::Operand& operand,
                               int dimension) const {
  if (LoopOver(position, dimension) != nullptr) return true;
  return absl::c_any_of(operand.indices, [&](const AffineExpr& index) {
    return index.Mentions(kIds[dimension]);
  });
}

// Whether everything computed from this statement's result is itself the same
// for all values of the dimension. Follows register values forwards to their
// readers.
bool ThreadMapping::IsRedundant(int position, int dimension) const {
  absl::flat_hash_set<kir::BufferId> seen;
  std::vector<int> work = {position};
  while (!work.empty()) {
    int p = work.back();
    work.pop_back();
    const auto* expr = positions_.entries()[p].statement->As<kir::Expr>();
    if (LoopOver(p, dimension) != nullptr) return false;
    for (const kir::Operand& output : expr->outputs) {
      if (IsParallel(p, output, dimension)) return false;
      if (kernel_.buffers[output.buffer].memory != kir::Memory::kLocal ||
          !seen.insert(output.buffer).second) {
        continue;
      }
      auto readers = readers_.find(output.buffer);
      if (readers == readers_.end()) continue;
      work.insert(work.end(), readers->second.begin(), readers->second.end());
    }
  }
  return true;
}

// Canonical form of one index: coefficients of thread ids, and for each serial
// loop its coefficient with its number of trips. Names of loops do not matter.
// False if the index is not affine.
bool ThreadMapping::ShapeOf(int position, const AffineExpr& index,
                            Shape* shape) const {
  std::optional<AffineExpr::Linear> linear = index.AsLinear();
  if (!linear.has_value()) return false;
  shape->constant = linear->constant;
  for (const auto& [name, coefficient] : linear->coefficients) {
    if (absl::StartsWith(name, "tid.") || absl::StartsWith(name, "bid.")) {
      shape->ids[name] = coefficient;
      continue;
    }
    std::string trips = name;  // a symbol stands for itself
    for (int p : positions_.entries()[position].loops) {
      const kir::Loop& loop = positions_.LoopAt(p);
      if (loop.index == name) trips = (loop.stop - loop.start).ToString();
    }
    shape->loops.push_back({coefficient, trips});
  }
  absl::c_sort(shape->loops);
  return true;
}

bool ThreadMapping::AxesDiffer(int write_position, int read_position,
                               int dimension) const {
  const kir::Loop* writer = LoopOver(write_position, dimension);
  const kir::Loop* reader = LoopOver(read_position, dimension);
  return writer != nullptr && reader != nullptr && !writer->ids.empty() &&
         !reader->ids.empty() && writer->ids != reader->ids;
}

// Whether writer and reader address the same elements as functions of the
// thread. A row without any thread id belongs to its thread entirely, whatever
// the loops are.
bool ThreadMapping::SameIndex(int write_position, const kir::Operand& write,
                              int read_position, const kir::Operand& read,
                              int dimension) const {
  if (AxesDiffer(write_position, read_position, dimension)) return false;
  std::vector<AffineExpr> a = Indices(write_position, write);
  std::vector<AffineExpr> b = Indices(read_position, read);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] && !a[i].IsUnknown()) {
      // Loop indices of one name may count differently.
      bool of_loops = absl::c_any_of(a[i].Symbols(), [](const auto& name) {
        return !absl::StartsWith(name, "tid.") &&
               !absl::StartsWith(name, "bid.");
      });
      if (!of_loops) continue;
    }
    Shape sa, sb;
    if (!ShapeOf(write_position, a[i], &sa) ||
        !ShapeOf(read_position, b[i], &sb)) {
      return false;
    }
    if (sa.ids != sb.ids) return false;
    // Where no thread id is, all of the row belongs to its thread.
    if (sa.ids.empty()) continue;
    if (sa.loops != sb.loops || sa.constant != sb.constant) return false;
  }
  return true;
}

// Whether a value may go from one thread (or block) to another along the
// dimension.
bool ThreadMapping::Passes(int write_position, const kir::Operand& write,
                           int read_position, const kir::Operand& read,
                           int dimension) const {
  if (!Exists(dimension)) return false;
  if (!IsParallel(write_position, write, dimension)) {
    // Every block writes its own copy of what it does not split.
    if (dimension >= kThreadDimensions) return false;
    return !IsRedundant(read_position, dimension);
  }
  return !IsParallel(read_position, read, dimension) ||
         !SameIndex(write_position, write, read_position, read, dimension);
}

}  // namespace xla::gpu
