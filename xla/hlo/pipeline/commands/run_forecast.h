#ifndef XLA_HLO_PIPELINE_COMMANDS_RUN_FORECAST_H_
#define XLA_HLO_PIPELINE_COMMANDS_RUN_FORECAST_H_

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// The estimated cost of evaluating a module, known before anything is
// allocated.
//
//   a = f32[8192,8192] parameter(0); dot(a, a)  ->  1.1e12 operations,
//                                                   256 MiB and 256 MiB
//
// Operations: FLOPs, transcendentals and one for each 8 bytes read or written,
// by HloCostAnalysis; loops as often as they run, once where that is not known
// (which is what Watch() is for).
// Memory: arguments and results, which all devices hold at the end. O(module).
class RunForecast {
 public:
  // Instructions that the costs are not known of count nothing.
  RunForecast(const HloModule& module, int64_t devices);

  double operations() const { return operations_; }
  double argument_bytes() const { return argument_bytes_; }

  // ResourceExhausted, with both figures and the instruction that takes most.
  // max_operations: -1 for no limit.
  absl::Status Check(double max_operations, int64_t max_bytes) const;
  // `1.1e+12 operations, 256.0 MiB of arguments, 256.0 MiB of results`.
  std::string ToString() const;

  // For LockstepOptions::progress: counts what has run, and at least one
  // operation for each instruction. ResourceExhausted beyond max_operations (-1
  // for no limit): loops may run on forever. Writes to `err`, unless it is
  // null, once a second, how much is done. The forecast must outlive it.
  std::function<absl::Status(int64_t device, const HloInstruction* instruction)>
  Watch(double max_operations, absl::string_view name, std::ostream* err) const;

 private:
  double OperationsOf(const HloInstruction& instruction) const;
  absl::Status CheckBytes(int64_t max_bytes) const;

  const HloModule& module_;
  const int64_t devices_;
  HloCostAnalysis costs_;
  double operations_ = 0;
  double argument_bytes_ = 0;
  double result_bytes_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_COMMANDS_RUN_FORECAST_H_
