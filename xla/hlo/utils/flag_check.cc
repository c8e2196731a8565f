#include "xla/hlo/utils/flag_check.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace xla {
namespace {

template <typename T>
absl::Status OutOfRange(absl::string_view flag, T value, T least, T most) {
  std::string text = absl::StrCat("--", flag, "=", value,
                                  ": expected a number of at least ", least);
  if (most != std::numeric_limits<T>::max()) {
    absl::StrAppend(&text, " and at most ", most);
  }
  return absl::InvalidArgumentError(text);
}

}  // namespace

absl::Status CheckFlag(absl::string_view flag, int64_t value, int64_t least,
                       int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return OutOfRange(flag, value, least, most);
}

absl::Status CheckFlag(absl::string_view flag, double value, double least,
                       double most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return OutOfRange(flag, value, least, most);
}

absl::Status CheckLimitFlag(absl::string_view flag, double value, double most) {
  if (value == -1) return absl::OkStatus();
  absl::Status status = CheckFlag(flag, value, 0.0, most);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(status.message(), ", or -1: no limit"));
}

}  // namespace xla
