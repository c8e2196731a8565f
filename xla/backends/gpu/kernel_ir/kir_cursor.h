#ifndef XLA_BACKENDS_GPU_KERNEL_IR_KIR_CURSOR_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_KIR_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// A position in a .kir text, which is read token by token. Comments and blanks
// are skipped within a line; a newline is a token, since it ends a statement.
// Errors name file, line and column, and show the line.

namespace xla::gpu::kir {

class KirCursor {
 public:
  explicit KirCursor(std::shared_ptr<const SourceText> source);

  // Where the next token begins.
  size_t Offset();
  SourceLocation Location();
  SourceLocation LocationOf(size_t offset) const;
  absl::Status Error(absl::string_view message);  // at the next token
  absl::Status ErrorAt(size_t offset, absl::string_view message) const;

  // Skips empty lines and comment lines too.
  void SkipLines();
  bool AtEnd();  // of the text
  bool AtLineEnd();

  // The next token as messages name it: "'for'", "end of line", …
  std::string Describe();

  // Consumes a character or word if it comes next.
  bool Eat(absl::string_view punctuation);
  bool EatWord(absl::string_view word);
  absl::Status Expect(absl::string_view punctuation);
  // The name that comes next, without moving; empty when there is none. Names
  // are [A-Za-z_][A-Za-z0-9_.]*.
  absl::string_view PeekWord();
  absl::StatusOr<std::string> Word(absl::string_view what);
  // `%name` or `@name`, without its sign.
  absl::StatusOr<std::string> Sigiled(char sigil, absl::string_view what);
  absl::StatusOr<int64_t> Integer(absl::string_view what);
  // A number with a point or an exponent, inf or -inf; nothing when something
  // else comes next.
  std::optional<double> Float();
  // `%name [`, which is how operands begin and expressions do not.
  bool AtOperand();
  // Everything up to the next blank, brace or end of line.
  absl::StatusOr<std::string> Value(absl::string_view what);
  // An expression that does not overflow; `?` only if `may_be_unknown`.
  absl::StatusOr<AffineExpr> Expression(bool may_be_unknown = false);

 private:
  void SkipBlanks();
  absl::string_view RestOfLine() const;

  std::shared_ptr<const SourceText> source_;
  absl::string_view text_;
  size_t offset_ = 0;
  std::vector<size_t> line_starts_;
};

}  // namespace xla::gpu::kir

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KIR_CURSOR_H_
