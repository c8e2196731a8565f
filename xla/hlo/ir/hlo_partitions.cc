#include "xla/hlo/ir/hlo_partitions.h"

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

bool IsPartitioned(const HloModule& module) {
  if (module.has_spmd_output_sharding()) return true;
  if (!module.has_entry_computation()) return false;
  // What copies a computation adds a number or ".clone".
  const absl::string_view name = module.entry_computation()->name();
  return absl::StrContains(name, "_spmd.") || absl::EndsWith(name, "_spmd");
}

bool HasShardings(const HloModule& module) {
  if (module.frontend_attributes().map().contains("xla.sdy.meshes")) {
    return true;
  }
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      if (instruction->has_sharding()) return true;
    }
  }
  return false;
}

bool IsToBePartitioned(const HloModule& module) {
  return module.config().num_partitions() > 1 && !IsPartitioned(module) &&
         HasShardings(module);
}

}  // namespace xla
