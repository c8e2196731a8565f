#ifndef XLA_HLO_PIPELINE_EXPLAIN_NOTES_H_
#define XLA_HLO_PIPELINE_EXPLAIN_NOTES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/report/memory_report.pb.h"
#include "xla/hlo/pipeline/prepared_module.h"

namespace xla {

// The notes at the end of hlo-explain's reports: which module the figures are
// of, and the flag that shows another. A line with an empty one before it, or
// nothing.

// For the module of all devices together: `--as` shows what `shown` says.
//
//   note: this is the module of all 8 devices together; --as=gpu shows …
std::string NoteOnDevices(const HloModule& module, absl::string_view shown);

// For a module that is shown for one device without having been asked to.
std::string NoteOnOneDevice();

// For a module that cannot be shown for one device, with the reason.
std::string NoteOnRefusal(const HloModule& module, const absl::Status& refusal);

// Names the flag that fuses a module first, if nothing has and `options` do not
// say what to run; or the one that does not, if one is compiled without asking.
std::string NoteOnFusion(const PrepareOptions& options,
                         const MemoryReport::Input& input);

// Whether the order of a module is XLA's own, which left a dump in this order
// that nothing has rewritten since.
bool HasOrderOfXla(const PrepareOptions& options,
                   const MemoryReport::Input& input);

// What XLA itself allocated, if its dump of that is beside the module at
// `module_path`, beside `max_buffers` of ours (xla_buffer_assignment.h).
std::string NoteOnXla(const MemoryReport& report,
                      const std::string& module_path, int max_buffers);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_EXPLAIN_NOTES_H_
