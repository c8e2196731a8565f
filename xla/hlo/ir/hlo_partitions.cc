#include "xla/hlo/ir/hlo_partitions.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"

namespace xla {

bool IsPartitioned(const HloModule& module) {
  if (module.has_spmd_output_sharding()) return true;
  if (!module.has_entry_computation()) return false;
  // Copies of a computation get a number or ".clone" appended.
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

int64_t DevicesOfShardings(const HloModule& module) {
  int64_t devices = 1;
  const auto count = [&](const HloSharding& leaf) {
    if (leaf.IsTiledLeaf()) devices = std::max(devices, leaf.num_devices());
  };
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      if (!instruction->has_sharding()) continue;
      const HloSharding& sharding = instruction->sharding();
      if (!sharding.IsTuple()) {
        count(sharding);
        continue;
      }
      for (const HloSharding& leaf : sharding.tuple_elements()) count(leaf);
    }
  }
  return devices;
}

bool IsToBePartitioned(const HloModule& module) {
  return module.config().num_partitions() > 1 && !IsPartitioned(module) &&
         HasShardings(module);
}

}  // namespace xla
