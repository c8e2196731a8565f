#include "xla/hlo/memory/limit/distinct_bytes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"

namespace xla {

std::pair<std::string, std::string> DistinctBytes(double a, double b,
                                                  bool to_the_byte) {
  const std::pair<std::string, std::string> human(HumanBytes(a), HumanBytes(b));
  if (human.first != human.second || a == b) return human;
  std::pair<std::string, std::string> texts = human;
  const std::string unit = texts.first.substr(texts.first.find(' ') + 1);
  double scale = 1;
  for (const char c : {'K', 'M', 'G', 'T', 'P', 'E'}) {
    scale *= 1024;
    if (unit[0] != c) continue;
    for (int digits = 2; digits <= 3; ++digits) {
      texts.first = absl::StrFormat("%.*f %s", digits, a / scale, unit);
      texts.second = absl::StrFormat("%.*f %s", digits, b / scale, unit);
      if (texts.first != texts.second) return texts;
    }
  }
  if (!to_the_byte) return human;
  return {absl::StrFormat("%.0f B", a), absl::StrFormat("%.0f B", b)};
}

std::string BytesBetween(const std::string& a, const std::string& b,
                         double bytes) {
  const std::string exact = HumanBytes(bytes);
  const auto unit = [](const std::string& text) {
    return text.substr(text.find(' ') + 1);
  };
  if (unit(a) != unit(b) || unit(a) != unit(exact)) return exact;
  const absl::StatusOr<int64_t> first = ParseByteSize(a);
  const absl::StatusOr<int64_t> second = ParseByteSize(b);
  if (!first.ok() || !second.ok()) return exact;
  return HumanBytes(std::abs(static_cast<double>(*first - *second)));
}

std::vector<std::string> PartsOfSum(const ByteUnit& unit, double sum,
                                    std::vector<double> parts) {
  const auto largest = std::max_element(parts.begin(), parts.end());
  double rest = unit.Rounded(sum) + unit.Rounded(*largest);
  for (const double part : parts) rest -= unit.Rounded(part);
  // What is farther apart is not rounded, but no sum.
  if (std::abs(rest - *largest) < *largest / 10) *largest = rest;
  std::vector<std::string> texts;
  for (const double part : parts) texts.push_back(unit(part));
  return texts;
}

}  // namespace xla
