#include "xla/hlo/pass/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace xla {
namespace {

// Levenshtein distance, in one row.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, replace});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::string DidYouMean(absl::string_view name,
                       const std::vector<std::string>& known) {
  // Long garbage is near to nothing; comparing it would only cost time.
  constexpr size_t kLongestName = 200;
  std::string best;
  size_t best_distance = 1 + name.size() / 3;
  if (name.size() <= kLongestName) {
    for (const std::string& candidate : known) {
      size_t distance = EditDistance(name, candidate);
      if (distance <= best_distance &&
          (best.empty() || distance < best_distance)) {
        best_distance = distance;
        best = candidate;
      }
    }
  }
  if (!best.empty()) return absl::StrCat("; did you mean ", best, "?");
  // Longer lists, such as those of all instructions, are not readable.
  constexpr size_t kMostListed = 100;
  const size_t listed = std::min(known.size(), kMostListed);
  return absl::StrCat(
      "; known: ", absl::StrJoin(known.begin(), known.begin() + listed, ", "),
      listed < known.size()
          ? absl::StrCat(" and ", known.size() - listed, " more")
          : "");
}

}  // namespace xla
