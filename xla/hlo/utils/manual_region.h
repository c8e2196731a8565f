#ifndef XLA_HLO_UTILS_MANUAL_REGION_H_
#define XLA_HLO_UTILS_MANUAL_REGION_H_

#include "xla/hlo/ir/hlo_instruction.h"

// The borders of manual regions, in which a program says what one device does.
// Shardy's (xla.sdy.GlobalToLocalShape, xla.sdy.LocalToGlobalShape) become
// these where it is imported.
//
//   f32[8] {devices=[2]<=[2]} → SPMDFullToShardShape → f32[4] {manual}
//   f32[4] {manual} → SPMDShardToFullShape → f32[8] {devices=[2]<=[2]}

namespace xla {

inline bool EntersManualRegion(const HloInstruction& instruction) {
  return instruction.IsCustomCall("SPMDFullToShardShape");
}
inline bool LeavesManualRegion(const HloInstruction& instruction) {
  return instruction.IsCustomCall("SPMDShardToFullShape");
}
inline bool IsManualBorder(const HloInstruction& instruction) {
  return EntersManualRegion(instruction) || LeavesManualRegion(instruction);
}

}  // namespace xla

#endif  // XLA_HLO_UTILS_MANUAL_REGION_H_
