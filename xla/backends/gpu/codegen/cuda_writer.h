#ifndef XLA_BACKENDS_GPU_CODEGEN_CUDA_WRITER_H_
#define XLA_BACKENDS_GPU_CODEGEN_CUDA_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/codegen/cuda_emitter.h"
#include "xla/backends/gpu/codegen/cuda_index.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/smem/smem_plan.h"

// What cuda_emitter.h writes, piece by piece: cuda_writer.cc has statements,
// cuda_writer_exprs.cc names, index expressions and what is computed,
// cuda_writer_host.cc the launch and main().

namespace xla::gpu::cuda {

// "float", "__half", …; empty for what CUDA has no name for here.
absl::string_view TypeName(kir::ElementType type);
bool IsInteger(kir::ElementType type);
// The struct of the prelude that combines two values.
std::string CombinerName(kir::Combiner combiner);

class Writer {
 public:
  Writer(const SmemPlan& plan, const CudaEmitOptions& options)
      : plan_(plan),
        kernel_(plan.planned),
        options_(options),
        name_(CudaKernelName(plan.planned.name)),
        index_(plan.planned) {}

  absl::StatusOr<std::string> Emit();

 private:
  absl::Status Unimplemented(kir::SourceLocation location,
                             absl::string_view what) const;

  void Raw(absl::string_view text) { absl::StrAppend(&text_, text); }
  void Line(absl::string_view line) {
    absl::StrAppend(&text_, std::string(2 * indent_, ' '), line, "\n");
  }

  void CollectWritten();
  std::string Name(kir::BufferId id) const;
  std::string Text(const AffineExpr& e) const { return index_.Text(e); }
  std::string Parameters() const;
  absl::Status DeclareShared();

  // Barriers of arrive and wait that the kernel does not set up itself.
  absl::Status DeclareBarriers();
  absl::Status Body(const std::vector<kir::Statement>& body,
                    const std::string& active);
  absl::Status One(const kir::Statement& statement, const std::string& active);
  absl::Status EmitAlloc(const kir::Alloc& alloc,
                         const kir::Statement& statement);
  absl::Status EmitLoop(const kir::Loop& loop, const std::string& active);
  // A loop over threads or blocks; one over numbers.
  absl::Status EmitParallel(const kir::Loop& loop, const std::string& active);
  absl::Status EmitSerial(const kir::Loop& loop, const std::string& active);
  // The statements, with the loop's index in scope.
  absl::Status Inside(const kir::Loop& loop, const std::string& active);
  std::string LaunchBounds() const;
  // The copy of a vector, if the loop is one that takes one access.
  std::optional<std::string> VectorCopy(const kir::Loop& loop);
  // An asynchronous copy, of zeros where its condition does not hold.
  std::string AsyncCopy(const kir::Expr& copy, const std::string& to,
                        const std::string& from, int64_t bytes);
  std::string Condition(const kir::Argument& argument);
  // The first of `width` aligned neighbors that the operand goes through with
  // that index.
  std::optional<kir::Operand> VectorPlace(const kir::Operand& operand,
                                          const std::string& index,
                                          int64_t width) const;
  absl::Status EmitAsync(const kir::Async& async, const std::string& active);
  std::string ComputeType(kir::ElementType type) const;
  std::string Element(const kir::Operand& operand) const;
  std::string Load(const kir::Operand& operand, const std::string& type,
                   bool guarded) const;
  std::vector<std::string> Inputs(const kir::Expr& expr,
                                  const std::string& type) const;
  std::string Value(const kir::Expr& expr, const std::vector<std::string>& in,
                    const std::string& type, const std::string& element) const;
  // The element that the expression's value is, where nothing is computed and
  // no type is changed.
  std::optional<std::string> Unchanged(const kir::Expr& expr) const;
  // Whether ints give the same result as Index.
  bool IsShort(const kir::Expr& expr) const;
  // The element type of an expression's arithmetic.
  std::string ArithmeticType(const kir::Expr& expr) const;
  absl::Status EmitWarpMma(const kir::Expr& expr,
                           const kir::Statement& statement,
                           const std::string& active);
  absl::Status EmitExpr(const kir::Expr& expr, const kir::Statement& statement,
                        const std::string& active);

  // Whether all lanes of each warp come by here.
  bool WarpsAreWhole() const;
  // Whether threads share memory or meet at barriers.
  bool ThreadsWait() const;
  void EmitLaunch();
  absl::Status EmitMain();

  const SmemPlan& plan_;
  const kir::Kernel& kernel_;
  const CudaEmitOptions& options_;
  const std::string name_;
  IndexWriter index_;
  std::string text_;
  int indent_ = 0;
  int flags_ = 0;
  // Statements around that some lanes of a warp may not come by.
  int divergent_ = 0;
  absl::btree_set<kir::BufferId> written_;
  // Bytes that the addresses of parameters must be multiples of.
  absl::btree_map<kir::BufferId, int64_t> aligned_;
  std::vector<std::string> serial_;  // indices of serial loops around
};

}  // namespace xla::gpu::cuda

#endif  // XLA_BACKENDS_GPU_CODEGEN_CUDA_WRITER_H_
