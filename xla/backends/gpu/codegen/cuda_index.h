#ifndef XLA_BACKENDS_GPU_CODEGEN_CUDA_INDEX_H_
#define XLA_BACKENDS_GPU_CODEGEN_CUDA_INDEX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// Index expressions of one kernel as C++.
//
//   (512*b + 4*t) / 8010, for 0 <= b < 125313 and 0 <= t < 128
//     ->  kir_quotient(512 * i_b + 4 * i_t, 8010)                  (of ints)
//   if max(0, min(1, 4005 - 128*b - t))  ->  128 * i_b + i_t < 4005
//
// Where the launch and the loops bound every index of a kernel, and every step
// on the way to it, by 2^31 - 1, they are ints, which cost a third of what 64
// bits do; else Index. Operands that are never negative are divided as unsigned
// numbers, whose remainder needs no change of its sign.

namespace xla::gpu::cuda {

// The name of something of this kind; different ones for different names.
std::string CudaName(char kind, absl::string_view name);

// Whether an expression of `body`, at any depth, has a barrier of its own,
// which all threads must reach.
bool HasSync(const std::vector<kir::Statement>& body);

class IndexWriter {
 public:
  // Index, for what the host computes.
  IndexWriter() = default;
  explicit IndexWriter(const kir::Kernel& kernel);

  // "int" or "Index".
  absl::string_view type() const { return narrow_ ? "int" : "Index"; }
  bool IsNarrow() const { return narrow_; }

  // Expressions written between Open and Close stand inside the loop.
  void Open(const kir::Loop& loop) { opened_.push_back(Enter(loop)); }
  void Close(const kir::Loop& loop) {
    Leave(loop, opened_.back());
    opened_.pop_back();
  }
  // Whether all threads, or all blocks, that are launched have an iteration of
  // the loop, so that none has to test for it.
  bool AllTakePart(const kir::Loop& loop) const;

  std::string Text(const AffineExpr& e) const;
  std::string SymbolName(const std::string& name) const;
  // True where `e` is not 0.
  std::string Truth(const AffineExpr& e) const;

 private:
  using Interval = AffineExpr::Interval;

  // The range of the loop's index hides that of an outer loop of that name,
  // which Leave() puts back.
  std::optional<Interval> Enter(const kir::Loop& loop);
  void Leave(const kir::Loop& loop, const std::optional<Interval>& hidden);
  // The range of a thread's or block's index before a test whether it takes
  // part.
  std::optional<Interval> Launched(const kir::Loop& loop) const;

  // At least the absolute value of all that is computed on the way to `e`.
  int64_t Most(const AffineExpr& e) const;
  int64_t Most(const AffineExpr::AtomNode& atom) const;
  bool Fits(const kir::Kernel& kernel, const std::vector<kir::Statement>& body);
  bool Fits(const kir::Kernel& kernel, const kir::Operand& operand) const;

  bool IsAtLeast(const AffineExpr& e, int64_t least) const;
  std::string Text(absl::Span<const AffineExpr::Term> terms,
                   int64_t constant) const;
  std::string Text(const AffineExpr::AtomNode& atom) const;
  std::string Positive(const AffineExpr& e) const;
  std::string All(absl::Span<const AffineExpr> args) const;

  AffineExpr::Ranges ranges_;
  std::vector<std::optional<Interval>> opened_;
  bool narrow_ = false;
};

}  // namespace xla::gpu::cuda

#endif  // XLA_BACKENDS_GPU_CODEGEN_CUDA_INDEX_H_
