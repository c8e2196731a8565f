#ifndef XLA_HLO_PIPELINE_PAGE_PERFETTO_TRACE_H_
#define XLA_HLO_PIPELINE_PAGE_PERFETTO_TRACE_H_

#include <string>

#include "xla/hlo/pipeline/page/memory_page.pb.h"

namespace xla {

// The schedule as a trace of Chrome's JSON format, which ui.perfetto.dev and
// chrome://tracing open: kernels and collectives one after the other in
// modeled time, a track each, and live bytes as a counter.
//
//   {"traceEvents": [
//     {"ph": "X", "name": "dot.3", "ts": 12.5, "dur": 3.1, "tid": 1, …},
//     {"ph": "C", "name": "live bytes", "ts": 12.5, "args": {"bytes": 4096}},
//   …]}
//
// The body of a loop is shown once; `runs` is its number of executions. A
// collective that is started and awaited runs beside kernels until its done.
// The page has to list all kernels (MemoryPageOptions.max_kernels).
std::string MemoryPageToPerfetto(const MemoryPage& page);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_PAGE_PERFETTO_TRACE_H_
