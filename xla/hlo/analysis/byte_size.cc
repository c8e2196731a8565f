#include "xla/hlo/analysis/byte_size.h"

#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace xla {
namespace {

constexpr absl::string_view kUnits = "KMGTPE";

// Of a ByteUnit's unit: less would be rounded too coarsely there.
constexpr double kLeastShare = 0.0995;

// Bytes of a unit, in letters of either case; 0 if there is no such unit.
double BytesOfUnit(absl::string_view unit) {
  if (unit.empty() || absl::EqualsIgnoreCase(unit, "B")) return 1;
  const size_t power = kUnits.find(absl::ascii_toupper(unit[0]));
  if (power == absl::string_view::npos) return 0;
  const absl::string_view rest = unit.substr(1);
  if (absl::EqualsIgnoreCase(rest, "B")) return std::pow(1000.0, power + 1.0);
  if (rest.empty() || absl::EqualsIgnoreCase(rest, "iB") ||
      absl::EqualsIgnoreCase(rest, "i")) {
    return std::pow(1024.0, power + 1.0);
  }
  return 0;
}

}  // namespace

std::string HumanBytes(double bytes) {
  if (bytes < 1024) return absl::StrFormat("%.0f B", bytes);
  size_t unit = 0;
  bytes /= 1024;
  while (bytes >= 1023.95 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %ciB", bytes, kUnits[unit]);
}

ByteUnit::ByteUnit(double largest) {
  if (largest < 1024) return;
  size_t unit = 0;
  scale_ = 1024;
  while (largest / scale_ >= 1023.95 && unit + 1 < kUnits.size()) {
    scale_ *= 1024;
    ++unit;
  }
  name_ = absl::StrFormat("%ciB", kUnits[unit]);
  digits_ = largest / scale_ < 99.995 ? 2 : 1;
}

std::string ByteUnit::operator()(double bytes) const {
  if (bytes == 0) return "0 B";
  if (std::abs(bytes) < kLeastShare * scale_) return HumanBytes(bytes);
  return absl::StrFormat("%.*f %s", digits_, bytes / scale_, name_);
}

double ByteUnit::Rounded(double bytes) const {
  if (std::abs(bytes) < kLeastShare * scale_) return bytes;
  // From the text: std::round() takes halves another way than printing does.
  double count = 0;
  (void)absl::SimpleAtod(absl::StrFormat("%.*f", digits_, bytes / scale_),
                         &count);
  return count * scale_;
}

std::string HumanSeconds(double seconds) {
  if (std::abs(seconds) < 1e-3) {
    return absl::StrFormat("%.3g us", seconds * 1e6);
  }
  if (std::abs(seconds) < 1) return absl::StrFormat("%.3g ms", seconds * 1e3);
  return absl::StrFormat("%.3g s", seconds);
}

absl::StatusOr<int64_t> ParseByteSize(absl::string_view text) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(text);
  // An 'E' is a unit only where no digit follows: "1e9" is a number.
  size_t end = 0;
  while (end < trimmed.size()) {
    const char c = trimmed[end];
    const bool exponent =
        (c == 'e' || c == 'E') && end + 1 < trimmed.size() &&
        (absl::ascii_isdigit(trimmed[end + 1]) || trimmed[end + 1] == '+');
    if (!absl::ascii_isdigit(c) && c != '.' && !exponent) break;
    end += exponent ? 2 : 1;
  }
  double number = 0;
  const double unit =
      BytesOfUnit(absl::StripLeadingAsciiWhitespace(trimmed.substr(end)));
  if (!absl::SimpleAtod(trimmed.substr(0, end), &number) || unit == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text,
                     "' is not a size: expected a number of bytes "
                     "with a unit, such as 16GiB, 800MB or 1.5e9"));
  }
  const double bytes = std::floor(number * unit);
  if (!(bytes < 9223372036854775808.0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is more than 2^63 bytes"));
  }
  if (bytes == 0 && number > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is less than a byte"));
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace xla
