#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::verifier {
namespace {

absl::Status CheckDevice(const HloInstruction& inst,
                         const HloSharding& sharding) {
  const std::optional<int64_t> device = sharding.UniqueDevice();
  if (!device.has_value() || *device >= 0) return absl::OkStatus();
  return Broken(Invariant::V170, inst, absl::StrCat("found device ", *device));
}

// An outfeed's sharding is that of what is fed, and may have a leaf more for
// the token.
Shape ShardedShape(const HloInstruction& inst) {
  if (inst.opcode() != HloOpcode::kOutfeed) return inst.shape();
  const Shape& fed = inst.operand(0)->shape();
  if (!inst.sharding().IsTuple() ||
      static_cast<int64_t>(inst.sharding().tuple_elements().size()) ==
          HloSharding::RequiredLeaves(fed)) {
    return fed;
  }
  return ShapeUtil::MakeTupleShape({fed, inst.shape()});
}

}  // namespace

// The module's partitions are the devices of its shardings, if there are
// several: one is also what a module counts that says nothing about them.
absl::Status CheckSharding(const Context& context, const HloInstruction& inst) {
  std::optional<int64_t> devices;
  const HloModule* module = inst.GetModule();
  if (context.opts().verify_sharding_device_numbers && module != nullptr &&
      module->config().num_partitions() > 1) {
    devices = module->config().num_partitions();
  }
  const HloSharding& sharding = inst.sharding();
  if (sharding.IsTuple()) {
    for (const HloSharding& element : sharding.tuple_elements()) {
      absl::Status status = CheckDevice(inst, element);
      if (!status.ok()) return status;
    }
  } else {
    absl::Status status = CheckDevice(inst, sharding);
    if (!status.ok()) return status;
  }
  absl::Status status = sharding.Validate(ShardedShape(inst), devices);
  if (status.ok()) return status;
  return Broken(Invariant::V170, inst, status.message());
}

}  // namespace xla::verifier
