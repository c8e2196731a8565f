#ifndef XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_PARSER_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_PARSER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_cursor.h"

// Parses one kernel of a .kir text by recursive descent; kir_parser.h has the
// grammar. kernel_parser.cc reads declarations and expressions,
// kernel_parser_statements.cc statements.

namespace xla::gpu::kir {

class KernelParser {
 public:
  KernelParser(KirCursor& cursor, std::shared_ptr<const SourceText> source);

  absl::StatusOr<Kernel> Parse();

 private:
  absl::Status EndOfLine();

  // ---- Expressions

  absl::StatusOr<AffineExpr> Expression(bool may_be_unknown = false);

  // Expressions up to the closing bracket or parenthesis; the opening one has
  // been read.
  absl::StatusOr<std::vector<AffineExpr>> Expressions(
      absl::string_view close, bool may_be_unknown = false);
  absl::StatusOr<int> SmallInteger(absl::string_view what);
  absl::StatusOr<BufferId> BufferRef(absl::string_view what);
  absl::StatusOr<Operand> ParseOperand();

  // ---- Declarations

  absl::Status Declare(absl::string_view name, size_t offset);
  absl::Status Declarations();
  absl::Status SymbolDeclaration();
  absl::Status LaunchDeclaration();
  absl::Status IdDeclaration();
  absl::StatusOr<std::vector<std::string>> IdList();
  absl::StatusOr<BufferId> BufferDeclaration(bool is_param);
  absl::Status AllocAttributes(Buffer& buffer);

  // ---- Statements

  // Statements up to the closing brace, which is read too.
  absl::StatusOr<std::vector<Statement>> Body(int depth);
  absl::Status ParseStatement(Statement& statement, int depth);
  absl::Status ParseLoop(Statement& statement, int depth);
  absl::Status ParseIf(Statement& statement, int depth);
  absl::Status ParseExpr(Statement& statement);
  absl::Status UnknownOp(size_t start, absl::string_view op);
  absl::StatusOr<Argument> ParseArgument();
  absl::Status ExprAttributes(Expr& expr);
  absl::StatusOr<AsyncKind> ParseAsyncKind();
  absl::Status ParseSync(Statement& statement);
  absl::Status ParseArriveWait(Statement& statement, bool is_wait);
  absl::Status ParseAsync(Statement& statement, absl::string_view word);

  KirCursor& cursor_;
  Kernel kernel_;
  // Names that expressions may mention; buffers include their '%'.
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_set<std::string> ids_;
  absl::flat_hash_map<std::string, BufferId> buffers_;
};

}  // namespace xla::gpu::kir

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_PARSER_H_
