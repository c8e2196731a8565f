#include "xla/hlo/transforms/sharding_propagation/sharding_annotations.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

bool IsManual(const HloInstruction& inst) {
  return inst.has_sharding() && inst.sharding().IsManual();
}

bool MakeManual(HloInstruction* inst) {
  if (inst->has_sharding()) return false;
  inst->set_sharding(HloSharding::Single(inst->shape(), HloSharding::Manual()));
  return true;
}

// Whether the instruction stands in a manual region, by its neighbours.
bool ShouldBeManual(const HloInstruction& inst) {
  if (inst.has_sharding() ||
      inst.IsCustomCall({"SPMDShardToFullShape", "SPMDFullToShardShape"})) {
    return false;
  }
  for (const HloInstruction* operand : inst.operands()) {
    if (IsManual(*operand)) return true;
  }
  if (inst.operand_count() > 0 || inst.user_count() == 0 ||
      inst.opcode() == HloOpcode::kParameter) {
    return false;
  }
  // Constants that only the region reads.
  for (const HloInstruction* user : inst.users()) {
    if (!IsManual(*user) || user->IsCustomCall("SPMDFullToShardShape")) {
      return false;
    }
  }
  return true;
}

bool SpreadToCallees(const HloInstruction& inst) {
  bool changed = false;
  switch (inst.opcode()) {
    case HloOpcode::kWhile:
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
      break;
    default:
      return false;
  }
  if (!IsManual(inst)) return false;
  for (HloComputation* callee : inst.called_computations()) {
    for (HloInstruction* callee_inst : callee->instructions()) {
      changed |= MakeManual(callee_inst);
    }
  }
  return changed;
}

}  // namespace

std::vector<int64_t> UnspecifiedDims(const HloInstruction& inst) {
  std::vector<int64_t> dims;
  if (!inst.IsCustomCall("Sharding")) return dims;
  absl::string_view text = Cast<HloCustomCallInstruction>(&inst)->opaque();
  if (!absl::ConsumePrefix(&text, "unspecified_dims=[") ||
      !absl::ConsumeSuffix(&text, "]")) {
    return dims;
  }
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    int64_t dim = 0;
    if (!absl::SimpleAtoi(item, &dim) || dim < 0) return {};
    dims.push_back(dim);
  }
  return dims;
}

absl::Status CheckAnnotation(const HloInstruction& inst, int64_t* devices) {
  const HloSharding& sharding = inst.sharding();
  auto error = [&](absl::string_view message) {
    return absl::InvalidArgumentError(absl::StrCat(
        "instruction ", inst.name(), ": sharding ", sharding.ToString(),
        " of shape ", ShapeUtil::HumanString(inst.shape()), ": ", message));
  };
  // Outfeeds count their token, sends their operand.
  switch (inst.opcode()) {
    case HloOpcode::kOutfeed:
    case HloOpcode::kSend:
    case HloOpcode::kRecv:
      return absl::OkStatus();
    default:
      break;
  }
  const absl::Status fits = sharding.Validate(inst.shape());
  if (!fits.ok()) return error(fits.message());
  std::vector<HloSharding> leaves = {sharding};
  if (sharding.IsTuple()) leaves = sharding.tuple_elements();
  for (const HloSharding& leaf : leaves) {
    if (leaf.IsManualSubgroup()) {
      return absl::UnimplementedError(absl::StrCat("instruction ", inst.name(),
                                                   ": manual subgroups in ",
                                                   leaf.ToString()));
    }
    if (!HloSharding::V3ToV2Sharding(leaf).IsTiled()) continue;
    if (*devices == 0) *devices = leaf.num_devices();
    if (leaf.num_devices() != *devices) {
      return error(absl::StrCat("over ", leaf.num_devices(),
                                " devices, others are over ", *devices));
    }
  }
  if (!inst.IsCustomCall("Sharding")) return absl::OkStatus();
  const absl::string_view text =
      Cast<HloCustomCallInstruction>(&inst)->opaque();
  if (absl::StartsWith(text, "unspecified_dims")) {
    const std::vector<int64_t> dims = UnspecifiedDims(inst);
    const int64_t rank =
        inst.shape().IsArray() ? inst.shape().dimensions().size() : 0;
    bool good = !dims.empty();
    for (int64_t dim : dims) good = good && dim < rank;
    if (!good) return error(absl::StrCat("bad ", text));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> SpreadManualShardings(HloModule* module) {
  bool any = false;
  for (const HloComputation* computation : module->computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      any = any || IsManual(*inst);
    }
  }
  if (!any) return false;
  bool changed = false;
  bool again = true;
  while (again) {
    again = false;
    for (HloComputation* computation : module->computations()) {
      for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
        if (ShouldBeManual(*inst)) again |= MakeManual(inst);
        again |= SpreadToCallees(*inst);
      }
    }
    changed |= again;
  }
  return changed;
}

}  // namespace xla
