#include "xla/hlo/memory/limit/memory_limit.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/memory/limit/distinct_bytes.h"

namespace xla {
namespace {

// Driver and runtime keep a part of what a device is sold with: of the 80 GiB
// of an H100 its driver offers 79.1, and the handles of libraries and modules
// take a few hundred MiB of these.
constexpr int kKeptPercent = 2;

// Just below 2^63.
constexpr double kMostBytes = 9.2e18;

// Sizes begin with a digit or a point, names with a letter, files with either
// or with a slash.
bool MayNameDevice(absl::string_view text) {
  return absl::ascii_isalpha(text[0]) || text.find('/') != text.npos;
}

}  // namespace

MemoryLimit MemoryLimit::OfBytes(int64_t bytes) {
  MemoryLimit limit;
  limit.bytes_ = bytes;
  return limit;
}

MemoryLimit MemoryLimit::OfPercent(double percent) {
  MemoryLimit limit;
  limit.percent_ = percent;
  return limit;
}

absl::StatusOr<MemoryLimit> MemoryLimit::Parse(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.empty()) {
    return absl::InvalidArgumentError(
        "no memory limit: expected bytes, such as 16GiB, a share of the peak, "
        "such as 80%, or a device, such as h100");
  }
  absl::string_view number = text;
  if (absl::ConsumeSuffix(&number, "%")) {
    double percent;
    if (!absl::SimpleAtod(number, &percent) || !std::isfinite(percent) ||
        percent < 0 || percent > 1e6) {
      return absl::InvalidArgumentError(
          absl::StrCat("memory limit '", text, "' is not a share of the peak"));
    }
    return OfPercent(percent);
  }
  const absl::StatusOr<int64_t> bytes = ParseByteSize(text);
  if (bytes.ok()) return OfBytes(*bytes);
  if (!MayNameDevice(text)) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory limit ", bytes.status().message()));
  }
  const absl::StatusOr<stream_executor::DeviceDescription> device =
      gpu::LoadGpuDevice(text);
  if (!device.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "memory limit '", text,
        "' is not a size such as 16GiB, a share of the peak such as 80% or a "
        "device: ",
        device.status().message()));
  }
  if (device->device_memory_size() <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory limit '", text,
                     "': the description of the device has no memory size"));
  }
  const int64_t memory = device->device_memory_size();
  // A description of one's own says what its author measured.
  if (text.find('/') != text.npos) return OfBytes(memory);
  MemoryLimit limit = OfBytes(memory / 100 * (100 - kKeptPercent));
  limit.origin_ =
      absl::StrCat(absl::AsciiStrToLower(text), ": ",
                   HumanBytes(static_cast<double>(memory)), " less ",
                   kKeptPercent, " % for driver and runtime");
  return limit;
}

int64_t MemoryLimit::BytesOf(int64_t peak_bytes) const {
  if (!is_share()) return bytes_;
  return static_cast<int64_t>(
      std::min(percent_ / 100 * static_cast<double>(peak_bytes), kMostBytes));
}

std::string DecimalLimit(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  absl::string_view unit = text;
  if (!ParseByteSize(text).ok() || !absl::EndsWithIgnoreCase(unit, "B")) {
    return "";
  }
  unit.remove_suffix(1);
  const bool decimal = !unit.empty() && absl::ascii_isalpha(unit.back()) &&
                       absl::ascii_toupper(unit.back()) != 'I';
  return decimal ? std::string(text) : "";
}

absl::Status UnmetLimitError(absl::string_view module_name, int64_t limit_bytes,
                             int64_t needed_bytes, MemoryAccounting accounting,
                             absl::string_view given) {
  const auto [limit, needed] = DistinctBytes(static_cast<double>(limit_bytes),
                                             static_cast<double>(needed_bytes));
  // `--limit=80` where 80% or 80GiB was meant.
  int64_t number;
  const std::string hint =
      absl::SimpleAtoi(given, &number) && number > 0 && number <= 100
          ? absl::StrCat("; for a share of the peak, write ", number, "%")
          : "";
  return absl::ResourceExhaustedError(
      absl::StrCat(module_name, " does not fit in ", limit,
                   GivenAs(DecimalLimit(given)), ": it needs ", needed,
                   " (accounting: ", AbslUnparseFlag(accounting), ")", hint));
}

}  // namespace xla
