#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_LEXER_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_LEXER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace xla {

// The tokens of Shardy's attribute texts, for the parsers that derive from it.
// Spaces are ignored; quotes may be plain or escaped (`\"`, `\22`). Errors are
// InvalidArgument with the text and the position.
class SdyLexer {
 public:
  explicit SdyLexer(absl::string_view text);

 protected:
  absl::Status Error(absl::string_view message) const;
  void SkipSpace();
  bool Accept(absl::string_view token);
  absl::Status Expect(absl::string_view token);
  absl::Status End();
  // Digits.
  absl::StatusOr<int64_t> Int();
  absl::StatusOr<std::string> Quoted();
  // Quoted, or of letters, digits and _.$-
  absl::StatusOr<std::string> Name();

  const std::string& text() const { return text_; }
  // The rest of the text.
  absl::string_view rest() const { return rest_; }
  void Skip(size_t length) { rest_.remove_prefix(length); }

 private:
  const std::string text_;
  absl::string_view rest_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_LEXER_H_
