#ifndef XLA_HLO_MEMORY_REPORT_REMAT_REPORT_H_
#define XLA_HLO_MEMORY_REPORT_REMAT_REPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "xla/hlo/memory/report/remat_report.pb.h"

namespace xla {

// Text forms of a RematReport and a RematCurve. The answer comes first:
//
//   step: 16.0 GiB → 11.9 GiB fits in 12.0 GiB, +3.2 % time (1.20 ms), ...
//
// JSON has the protos' field names as keys, all of them, and numbers.
std::string RematReportToText(const RematReport& report, int max_buffers);
absl::StatusOr<std::string> RematReportToJson(const RematReport& report);

// A line for each point, with a bar for the added seconds.
std::string RematCurveToText(const RematCurve& curve);
std::string RematCurveToCsv(const RematCurve& curve);
absl::StatusOr<std::string> RematCurveToJson(const RematCurve& curve);

// A line for each choice:
//
//   %a.remat exponential f32[64]: 256 B less from %b to %y, 12 instructions;
//     recomputed from %p for %r, 0.002 us
std::string RematChoicesToText(const RematChoices& choices);
absl::StatusOr<std::string> RematChoicesToJson(const RematChoices& choices);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_REPORT_REMAT_REPORT_H_
