#ifndef XLA_HLO_MEMORY_LIMIT_MEMORY_LIMIT_H_
#define XLA_HLO_MEMORY_LIMIT_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/memory/limit/memory_accounting.h"

namespace xla {

// How much memory a module may use, as given to tools and passes:
//
//   16GiB   bytes, with the units of ParseByteSize()
//   80%     a share of the module's present peak
//   h100    what a program can have of a device: for a name that
//           gpu::LoadGpuDevice() knows the memory that it is sold with, less
//           the share that driver and runtime keep; for the path of a
//           description all that the description says
class MemoryLimit {
 public:
  // InvalidArgument for text that is none of these, for amounts below 0, and
  // for devices whose description has no memory size.
  static absl::StatusOr<MemoryLimit> Parse(absl::string_view text);

  // Whether it is relative to the module's peak.
  bool is_share() const { return percent_ >= 0; }

  // The limit of a module that needs `peak_bytes` now.
  int64_t BytesOf(int64_t peak_bytes) const;

  // The origin of a limit that is not given in bytes: "h100: 80.0 GiB less 2 %
  // for driver and runtime"; else empty.
  const std::string& origin() const { return origin_; }

 private:
  static MemoryLimit OfBytes(int64_t bytes);
  static MemoryLimit OfPercent(double percent);

  int64_t bytes_ = 0;
  double percent_ = -1;
  std::string origin_;
};

// The text of a limit in powers of 1000, which reports add to the powers of
// 1024 that they print; empty for others.
//
//   "16GB" (14.9 GiB) → "16GB"
//   "16GiB", "80%"    → ""
std::string DecimalLimit(absl::string_view text);

// The error of all tools for a limit that is not met: ResourceExhausted,
//
//   step does not fit in 16.0 GiB: it needs 18.2 GiB (accounting: ours)
//
// `given`: the text that the limit was read from. Whole numbers of up to 100
// are taken for shares that lack their '%', which the error then suggests.
// Where DecimalLimit() has it, it is added to the bytes.
absl::Status UnmetLimitError(absl::string_view module_name, int64_t limit_bytes,
                             int64_t needed_bytes, MemoryAccounting accounting,
                             absl::string_view given);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_LIMIT_MEMORY_LIMIT_H_
