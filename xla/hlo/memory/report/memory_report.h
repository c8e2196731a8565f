#ifndef XLA_HLO_MEMORY_REPORT_MEMORY_REPORT_H_
#define XLA_HLO_MEMORY_REPORT_MEMORY_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/memory/report/memory_report.pb.h"

namespace xla {

// The two forms of a MemoryReport.
//
// The text starts with the answer: the peak, whether it fits, why not; then
// where the bytes are, largest first, and the curve over the program:
//
//   step: 12.0 GiB at the peak: fits in 16.0 GiB, 4.0 GiB to spare
//     at %add.7, jit(step)/mlp/add, model.py:12
//     ...

struct MemoryReportTextOptions {
  // Rows of the table of what is live at the peak, one for the buffers of one
  // shape of equal layers (layer_name.h); the rest is summed in one line.
  int max_buffers = 20;
  // Columns and rows of the curve; 0 columns: no curve.
  int plot_width = 72;
  int plot_height = 10;
};

// `curve` is the live bytes at each program point, for the plot; may be empty.
std::string MemoryReportToText(const MemoryReport& report,
                               const std::vector<double>& curve,
                               const MemoryReportTextOptions& options = {});

// With the proto's field names as keys; every figure is a JSON number.
absl::StatusOr<std::string> MemoryReportToJson(const MemoryReport& report);

// A bar chart of text: `height` rows of `width` columns, each column the most
// of the points that fall into it; the axis is in bytes.
std::string PlotCurve(const std::vector<double>& curve, int width, int height);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_REPORT_MEMORY_REPORT_H_
