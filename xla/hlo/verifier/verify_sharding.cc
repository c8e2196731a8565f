#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"

namespace xla::verifier {

// The module's partitions are the devices of its shardings, if there are
// several: one is also what a module counts that says nothing about them.
absl::Status CheckSharding(const Context& context, const HloInstruction& inst) {
  std::optional<int64_t> devices;
  const HloModule* module = inst.GetModule();
  if (context.opts().verify_sharding_device_numbers && module != nullptr &&
      module->config().num_partitions() > 1) {
    devices = module->config().num_partitions();
  }
  absl::Status status = inst.sharding().Validate(inst.shape(), devices);
  if (status.ok()) return status;
  return Broken(Invariant::V170, inst, status.message());
}

}  // namespace xla::verifier
