#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/charconv.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/parser/diagnostic.h"
#include "xla/hlo/parser/hlo_lexer.h"

// Values and places of tokens, which are computed only when asked for.

namespace xla {

std::string HloLexer::GetStrVal() const {
  std::string result;
  if (kind_ == TokKind::kString && has_escapes_ && GetString(&result)) {
    return result;
  }
  return std::string(GetStrView());
}

bool HloLexer::GetString(std::string* out) const {
  absl::string_view text = GetStrView();
  if (!has_escapes_) {
    out->assign(text.data(), text.size());
    return true;
  }
  return absl::CUnescape(text, out);
}

double HloLexer::GetDecimalVal() const {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (kind_ == TokKind::kw_inf) return kInf;
  if (kind_ == TokKind::kNegInf) return -kInf;
  double value = 0;
  absl::string_view text = GetStrView();
  absl::from_chars(text.data(), text.data() + text.size(), value);
  if (text.find("nan") != absl::string_view::npos) {
    value = std::numeric_limits<double>::quiet_NaN();
    if (text[0] == '-') value = -value;
  }
  return value;
}

std::optional<uint64_t> HloLexer::GetNanPayload() const {
  absl::string_view text = GetStrView();
  size_t start = text.find("(0x");
  uint64_t payload;
  if (kind_ != TokKind::kDecimal || start == absl::string_view::npos ||
      !absl::SimpleHexAtoi(text.substr(start + 3, text.size() - start - 4),
                           &payload)) {
    return std::nullopt;
  }
  return payload;
}

std::pair<unsigned, unsigned> HloLexer::GetLineAndColumn(LocTy location) const {
  SourceText::Position position = SourceText(text()).PositionOf(location);
  return {static_cast<unsigned>(position.line),
          static_cast<unsigned>(position.column)};
}

absl::string_view HloLexer::GetLine(LocTy location) const {
  return SourceText(text()).LineOf(location);
}

}  // namespace xla
