#ifndef XLA_HLO_PIPELINE_PAGE_MEMORY_PAGE_H_
#define XLA_HLO_PIPELINE_PAGE_MEMORY_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/pipeline/page/memory_page.pb.h"

namespace xla {

// One HTML file that shows a MemoryPage in any browser, without a server or a
// network: memory over the program, buffers as rectangles of time and offset,
// what is live at a point, kernels and collectives.
//
//   <!doctype html> … <style>memory_page.css</style> …
//   <noscript><pre>text</pre></noscript>
//   <script type="application/json" id="data">{"memory": …}</script>
//   <script>memory_page.js</script>
//
// `text` is what readers without scripts see. Nothing of the module's names is
// markup: the data are JSON without '<', everything else is escaped.
absl::StatusOr<std::string> MemoryPageToHtml(const MemoryPage& page,
                                             absl::string_view text);

// "<&>" → "&lt;&amp;&gt;".
std::string EscapeHtml(absl::string_view text);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_PAGE_MEMORY_PAGE_H_
