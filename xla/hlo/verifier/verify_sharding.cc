#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
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

// Leaf by leaf; {replicated} may stand for a tuple of it, and what is not known
// is no contradiction.
bool SameShardings(const HloSharding& a, const HloSharding& b) {
  if (a == b) return true;
  if (!a.IsTuple() && !b.IsTuple()) {
    return a.IsUnknownLeaf() || b.IsUnknownLeaf();
  }
  const int64_t leaves = (a.IsTuple() ? a : b).tuple_elements().size();
  if (a.IsTuple() && b.IsTuple() &&
      static_cast<int64_t>(b.tuple_elements().size()) != leaves) {
    return false;
  }
  for (int64_t i = 0; i < leaves; ++i) {
    if (!SameShardings(a.IsTuple() ? a.tuple_elements()[i] : a,
                       b.IsTuple() ? b.tuple_elements()[i] : b)) {
      return false;
    }
  }
  return true;
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

absl::Status CheckCalleeShardings(const HloInstruction& inst) {
  std::vector<const HloInstruction*> same = {&inst};
  if (inst.opcode() == HloOpcode::kWhile) {
    same.push_back(inst.while_condition()->parameter_instruction(0));
    same.push_back(inst.while_body()->parameter_instruction(0));
    same.push_back(inst.while_body()->root_instruction());
  } else {
    for (const HloComputation* branch : inst.branch_computations()) {
      same.push_back(branch->root_instruction());
    }
  }
  const HloInstruction* first = nullptr;
  for (const HloInstruction* one : same) {
    if (!one->has_sharding()) continue;
    if (first == nullptr) first = one;
    if (SameShardings(first->sharding(), one->sharding())) continue;
    return Broken(
        Invariant::V175, inst,
        absl::StrCat("%", first->name(), " is ", first->sharding().ToString(),
                     ", %", one->name(), " ", one->sharding().ToString()));
  }
  return absl::OkStatus();
}

}  // namespace xla::verifier
