#ifndef XLA_HLO_TRANSFORMS_FUSION_MULTI_OUTPUT_FUSION_H_
#define XLA_HLO_TRANSFORMS_FUSION_MULTI_OUTPUT_FUSION_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/utils/fusion_decision.h"

namespace xla {

// Fuses instructions that read the same value, so that it is read once.
//
//   before: f = fusion(p, q), calls=F   m = multiply(p, q)
//   after:  f = fusion(p, q), calls={tuple(F, multiply(p0, p1))}, with its
//           elements instead of f and m
//
// Considers pairs of users of a value, ordered by the bytes they share,
// greatest first, the oldest first among equals. A fused pair inherits the
// pairs of both. Users of one value are considered in slices of 128, so that a
// value with many users takes 128 times their number, not the square.
//
// Legal if neither reaches the other (reachability is updated with each fusion,
// never rebuilt), both loop over the same shape, at least one is a loop fusion
// already and the other one too or elementwise, and neither updates in place
// what they share. Limit: 1,024 operands and outputs. O(pairs * (log + operands
// of the smaller)), and O(instructions) per fusion for updating reachability.
//
// Leaves alone: what InstructionFusion leaves alone, and other kinds of fusion.
// Updates a schedule.
//
// Subclasses override the protected methods with knowledge of a backend.
class MultiOutputFusion : public HloModulePass {
 public:
  MultiOutputFusion() = default;
  ~MultiOutputFusion() override = default;

  absl::string_view name() const override { return "cpu-multi-output-fusion"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

  // Whether it may take part.
  virtual bool IsFusible(HloInstruction* instr);
  // Whether it is worth reading once: an array of more than one element.
  virtual bool IsProfitableOperand(HloInstruction* instr);
  // Whether both loop over the same elements.
  virtual bool ShapesCompatibleForFusion(HloInstruction* instr1,
                                         HloInstruction* instr2);
  // KiB read once instead of twice, rounded up; 0: not worth it.
  virtual int64_t GetProfit(HloInstruction* instr1, HloInstruction* instr2);
  // All other conditions except cycles.
  virtual FusionDecision LegalToFuse(HloInstruction* instr1,
                                     HloInstruction* instr2);
  // Merges both into one fusion and returns it. The other one may be left dead.
  virtual HloInstruction* Fuse(HloInstruction* instr1, HloInstruction* instr2);

 private:
  friend class MultiOutputFusionRun;

  AliasInfo alias_info_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_FUSION_MULTI_OUTPUT_FUSION_H_
