#include "xla/backends/gpu/model/kernel_target.h"

#include <string>

#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla::gpu {

bool AbslParseFlag(absl::string_view text, KernelTarget* target,
                   std::string* error) {
  for (KernelTarget known : {KernelTarget::kXla, KernelTarget::kOwn}) {
    if (text == AbslUnparseFlag(known)) {
      *target = known;
      return true;
    }
  }
  *error = "expected xla or own";
  return false;
}

std::string AbslUnparseFlag(KernelTarget target) {
  return target == KernelTarget::kXla ? "xla" : "own";
}

bool IsComputedInTiles(const HloInstruction& hlo, KernelTarget target) {
  switch (hlo.opcode()) {
    case HloOpcode::kRng:
    case HloOpcode::kStochasticConvert:
      return false;
    case HloOpcode::kClz:
    case HloOpcode::kIsFinite:
    case HloOpcode::kLogistic:
    case HloOpcode::kMap:
    case HloOpcode::kPopulationCount:
    case HloOpcode::kRoundNearestAfz:
    case HloOpcode::kShiftLeft:
    case HloOpcode::kShiftRightArithmetic:
    case HloOpcode::kShiftRightLogical:
    case HloOpcode::kSign:
      return target == KernelTarget::kOwn;
    case HloOpcode::kPower:
      return target == KernelTarget::kOwn ||
             ShapeUtil::ElementIsFloating(hlo.shape());
    default:  // What both compute in tiles.
      return true;
  }
}

}  // namespace xla::gpu
