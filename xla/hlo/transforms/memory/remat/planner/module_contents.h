#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_MODULE_CONTENTS_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_MODULE_CONTENTS_H_

#include <memory>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::remat_plan {

// Gives `module` the computations and the schedule of `rewritten`, a scheduled
// rewritten clone of it. What belongs to the module itself stays: name, ids,
// configuration, aliases of parameters and results. Pointers to the
// instructions of `rewritten` stay valid, those to the old ones of `module` do
// not. Linear in the schedule.
absl::Status ReplaceContents(std::unique_ptr<HloModule> rewritten,
                             HloModule* module);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_MODULE_CONTENTS_H_
