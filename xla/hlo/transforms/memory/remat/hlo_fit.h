#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_HLO_FIT_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_HLO_FIT_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/memory/rematerialization_pass.h"

namespace xla {

// How bytes are counted: as the memory report does (arguments and outputs live
// as long as they are needed, results reuse operands), or as OpenXLA's
// rematerialization does (remat_accounting.h).
enum class RematAccounting { kOurs, kUpstream };

// ours, upstream.
bool AbslParseFlag(absl::string_view text, RematAccounting* accounting,
                   std::string* error);
std::string AbslUnparseFlag(RematAccounting accounting);

struct HloFitOptions {
  // Bytes, as 16GiB, or of the scheduled peak, as 80%.
  std::string limit;
  RematerializationAlgorithm strategy = RematerializationAlgorithm::kPlan;
  RematAccounting accounting = RematAccounting::kOurs;
  int64_t effort = 1;
  bool across_loops = true;
  bool reschedule = true;
  bool fuse = true;
  // Values may wait on the host, in memory space 5, if that hides behind what
  // runs meanwhile; bytes a second each way. Not unless asked for: the backend
  // must know such a memory space.
  bool offload = false;
  double host_bandwidth = 25e9;
  bool barriers = false;
  bool json = false;
  bool csv = false;
  int max_buffers = 20;
  // Leave wall times out, for reproducible output.
  bool seconds = true;
};

// Rewrites a scheduled module so that it fits, and reports what that took.
// ResourceExhausted, after the report, if it does not fit then.
absl::Status FitModule(const HloFitOptions& options, HloModule* module,
                       std::ostream& out);

// Reports what `points` limits, evenly spaced from the peak down to the lower
// bound, would take. A plan for a lower limit serves a higher one if it is
// cheaper, so that costs never fall with the limit. The module stays as it is.
absl::Status PrintBudgetCurve(const HloFitOptions& options, int points,
                              const HloModule& module, std::ostream& out);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_HLO_FIT_H_
