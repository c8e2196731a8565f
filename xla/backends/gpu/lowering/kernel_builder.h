#ifndef XLA_BACKENDS_GPU_LOWERING_KERNEL_BUILDER_H_
#define XLA_BACKENDS_GPU_LOWERING_KERNEL_BUILDER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// Builds the body of a kernel statement by statement. Registers hold one
// element and are allocated at the top, in the order in which they were
// requested.
//
// An integer register can appear in index expressions under a name
// (NameRegister), which is unknown to .kir text: before such an expression
// indexes a buffer, Number() computes it in registers, and `gather` reads
// through it.

namespace xla::gpu {

class KernelBuilder {
 public:
  // Limit of the statements and registers of a kernel: beyond it, compiling the
  // kernel takes longer than running several.
  static constexpr int kMaxStatements = 1 << 14;

  explicit KernelBuilder(absl::string_view name) { kernel_.name = name; }

  kir::BufferId AddParam(absl::string_view name, kir::ElementType type,
                         const std::vector<int64_t>& extents);
  // Its name is the prefix and a number.
  kir::BufferId AddShared(absl::string_view prefix, kir::ElementType type,
                          const std::vector<int64_t>& extents);
  // Each element of the array is for one thread alone, whatever data tell
  // where: no barrier is needed between its accesses.
  void OwnElements(kir::BufferId id) {
    kernel_.options.emplace_back("own", kernel_.buffers[id].name);
  }
  // The kernel is to have so few registers that so many blocks run at once on a
  // multiprocessor. Of what several parts ask for, the fewest blocks count.
  void AskForBlocks(int64_t blocks) {
    blocks_per_sm_ = std::min(blocks_per_sm_.value_or(blocks), blocks);
  }
  // Accesses of so many neighbors in an array of threads or of a block.
  void SetVectorWidth(kir::BufferId id, int64_t width) {
    kernel_.buffers[id].vector_width = static_cast<int>(width);
  }
  kir::Operand AddRegister(kir::ElementType type);
  // A local array of each thread, which unrolled loops keep in registers.
  kir::BufferId AddLocal(kir::ElementType type,
                         const std::vector<int64_t>& extents);

  kir::ElementType TypeOf(const kir::Operand& operand) const {
    return kernel_.buffers[operand.buffer].type;
  }
  bool IsRegister(const kir::Operand& operand) const {
    return kernel_.buffers[operand.buffer].memory == kir::Memory::kLocal;
  }

  // output = op(arguments)
  void EmitTo(const kir::Operand& output, absl::string_view op,
              std::vector<kir::Argument> arguments,
              kir::AsyncKind async = kir::AsyncKind::kNone);
  // The same into a new register.
  kir::Operand Emit(absl::string_view op, kir::ElementType type,
                    std::vector<kir::Argument> arguments);

  void EmitSync(kir::SyncScope scope);
  // Makes a group of the copies so far, or waits for all but the last `keep`.
  void EmitAsync(kir::Async::Op op, int64_t keep);

  // What `body` emits becomes the body of a loop over a new index whose name
  // has this prefix, or of a branch.
  absl::Status Loop(
      absl::string_view prefix, kir::LoopKind kind, const AffineExpr& start,
      const AffineExpr& stop,
      absl::FunctionRef<absl::Status(const AffineExpr& index)> body);
  absl::Status If(kir::Uniformity uniformity, const AffineExpr& predicate,
                  absl::FunctionRef<absl::Status()> then_body,
                  absl::FunctionRef<absl::Status()> else_body);
  // An unrolled loop over `width` neighbors, a constant power of two. Where all
  // iterations read or write `width` adjacent elements of a parameter, and the
  // position of the first one is a multiple of the width, that becomes a single
  // vector access before or after the loop (kernel_builder_vectors.cc). Width
  // 1: `body` alone.
  absl::Status Vector(
      int64_t width,
      absl::FunctionRef<absl::Status(const AffineExpr& neighbor)> body);
  // Bytes of the parameters that neighbors of the last Vector() read at once,
  // and of those that they read one by one, at places that differ.
  int64_t bytes_at_once() const { return bytes_at_once_; }
  int64_t bytes_one_by_one() const { return bytes_one_by_one_; }

  // What was built so far, to which Undo() goes back: from the same body.
  struct Mark {
    size_t buffers, allocs, statements, named;
    int added;
  };
  Mark Here() const {
    return {kernel_.buffers.size(), allocs_.size(), body_->size(),
            named_.size(), statements_};
  }
  void Undo(const Mark& mark);

  // Names a value in [0, extent): a loop that runs once.
  absl::Status Let(
      absl::string_view prefix, const AffineExpr& value, int64_t extent,
      absl::FunctionRef<absl::Status(const AffineExpr& index)> body);

  // The register's value, which is between lo and hi, for index expressions.
  AffineExpr NameRegister(const kir::Operand& reg, int64_t lo, int64_t hi);
  // Whether it reads a named register.
  bool ReadsRegister(const AffineExpr& expr) const;
  // The value as an argument: the expression itself, or what computes it.
  absl::StatusOr<kir::Argument> Number(const AffineExpr& expr);

  const AffineExpr::Ranges& ranges() const { return ranges_; }
  // An error if a statement could not be added (kMaxStatements).
  absl::Status status() const;
  // Returns the kernel; nothing can be added afterwards.
  kir::Kernel Finish(const kir::Launch& launch);

 private:
  // A loop over neighbors: what is known of it, and what it becomes.
  struct Neighbors {
    std::string name;
    int64_t width;
    // What the names inside of it stand for.
    AffineExpr::Substitution names;
    std::vector<kir::Statement> before, behind;
  };
  void Widen(kir::Loop loop);
  void WidenBranch(kir::If* branch, Neighbors* neighbors);
  void WidenStatements(std::vector<kir::Statement>* body, Neighbors* neighbors);
  // Adds up what the statements read one by one. `varying`: names of indices
  // that differ between neighbors.
  void CountReads(const std::vector<kir::Statement>& body,
                  std::set<std::string>* varying);
  std::optional<kir::Operand> VectorPlace(const kir::Operand& operand,
                                          const Neighbors& neighbors) const;
  kir::BufferId AddVector(kir::ElementType type, int64_t width);
  kir::Statement CopyVector(const kir::Operand& to, const kir::Operand& from,
                            const Neighbors& neighbors);

  absl::StatusOr<kir::Argument> Number(const AffineExpr::AtomNode& atom);
  void Add(kir::Statement statement);

  kir::Kernel kernel_;
  std::vector<kir::Statement> allocs_;
  std::vector<kir::Statement>* body_ = &kernel_.body;
  AffineExpr::Ranges ranges_;
  AffineExpr::Substitution values_;  // of what Let() named
  std::vector<std::pair<std::string, kir::Operand>> named_;
  std::optional<int64_t> blocks_per_sm_;
  int64_t bytes_at_once_ = 0, bytes_one_by_one_ = 0;
  int names_ = 0;
  int registers_ = 0;
  int shared_ = 0;
  int statements_ = 0;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_KERNEL_BUILDER_H_
