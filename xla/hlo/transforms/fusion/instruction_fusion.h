#ifndef XLA_HLO_TRANSFORMS_FUSION_INSTRUCTION_FUSION_H_
#define XLA_HLO_TRANSFORMS_FUSION_INSTRUCTION_FUSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/transforms/fusion/fusion_queue.h"
#include "xla/hlo/utils/fusion_decision.h"
#include "xla/hlo/utils/in_place_fusion.h"

namespace xla {

struct InstructionFusionOptions {
  bool may_duplicate = true;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("may-duplicate", may_duplicate,
          "fuse producers with several users into each of them; otherwise only "
          "broadcasts and widening converts");
  }
};

// Fuses producers into their consumers, one edge at a time.
//
//   before: e = exp(p); n = negate(e); r = add(n, q)
//   after:  r = fusion(p, q), calls={add(negate(exp(p0)), p1)}
//
// Consumers are visited in reverse post order; each takes in its producers, the
// nearest first, then theirs, and so on: when a producer's turn comes, all of
// its users have had theirs. A producer with several users is duplicated into
// each of them if that is cheap: broadcasts, converts to a wider type,
// instructions with at most one operand of their own rank that are not
// expensive; or if all of its users can take it in, so that it disappears, and
// it is not a dot, sort or the like, nor read by an instruction that also
// depends on it through one that cannot fuse. Without may_duplicate, broadcasts
// and widening converts are still duplicated: they cost less than reading their
// results.
//
// O((instructions + edges) log) for bodies of bounded size; each edge is
// considered once. Limits of a fusion: 256 operands and 512 instructions, 64 if
// it duplicates anything.
//
// Leaves alone: roots as producers; expensive producers whose elements the
// consumer reads more than once; what would read a buffer while it is updated
// in place (in_place_fusion.h); tuples and their elements, collectives,
// asynchronous pairs, custom calls and fusions; producers with control
// dependencies; computations called by anything but while, conditional and
// call. A schedule is brought up to date.
//
// Subclasses override ShouldFuse and others with knowledge of a backend.
class InstructionFusion : public HloModulePass {
 public:
  // `alias_info` must outlive the pass. `config_collection_mode`: records what
  // was fused in the module's configuration, one list per computation (see
  // reverse_post_order_queue.h).
  explicit InstructionFusion(
      std::function<bool(const HloInstruction& instruction)> is_expensive,
      const AliasInfo* alias_info, bool may_duplicate = true,
      FusionConfigCollection config_collection_mode =
          FusionConfigCollection::kOff);
  explicit InstructionFusion(const InstructionFusionOptions& options);
  ~InstructionFusion() override = default;

  absl::string_view name() const override { return "fusion"; }

  // Whether computing it a second time costs more than reading its result:
  // functions beyond plain arithmetic, divisions, reductions, matrix products,
  // ...
  static bool IsExpensive(const HloInstruction& instruction);

  static FusionDecision ShouldFuseInPlaceOp(
      const HloInstruction* producer, const HloInstruction* consumer,
      const AliasInfo* alias_info,
      std::optional<const InPlaceFusionOptions> in_place_fusion_options =
          std::nullopt);

  // Whether it is called element by element, by something other than control
  // flow (scan, sort, map, reduce, scatter and so on), or asynchronously.
  static bool IsEmbeddedComputation(const HloComputation* computation);

 protected:
  using InPlaceDecider = std::function<FusionDecision(
      const HloInstruction* producer, const HloInstruction* consumer,
      std::optional<const InPlaceFusionOptions> options)>;

  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

  // The computations to run on, sorted.
  virtual std::vector<HloComputation*> GetNonFusionComputations(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads);
  virtual std::unique_ptr<FusionQueue> GetFusionQueue(
      HloComputation* computation);

  // Whether operand `operand_index` of `consumer` should be fused into it,
  // provided that the pass has not found that this would duplicate it in vain.
  virtual FusionDecision ShouldFuse(HloInstruction* consumer,
                                    int64_t operand_index);
  FusionDecision ShouldFuse(HloInstruction* consumer, int64_t operand_index,
                            const InPlaceDecider& in_place_decider);
  // The same for keeping the operand as an output of the fusion. Never, by
  // default.
  virtual FusionDecision ShouldFuseIntoMultiOutput(HloInstruction* consumer,
                                                   int64_t operand_index) {
    return FusionDecision::Forbid("this pass makes no multi-output fusions");
  }
  // By default that of the consumer, otherwise that of the producer, or kLoop.
  virtual HloInstruction::FusionKind ChooseKind(const HloInstruction* producer,
                                                const HloInstruction* consumer);
  // Fuses the producer into an existing fusion; returns its clone there, or the
  // fusion if the producer is a fusion itself.
  virtual HloInstruction* FuseInstruction(HloInstruction* fusion_instruction,
                                          HloInstruction* producer);
  // Turns the consumer into a fusion unless it is one, and fuses. Returns the
  // fusion.
  virtual HloInstruction* Fuse(HloInstruction* producer,
                               HloInstruction* consumer,
                               HloComputation* computation);
  virtual HloInstruction* FuseIntoMultiOutput(HloInstruction* producer,
                                              HloInstruction* consumer,
                                              HloComputation* computation);
  // The consumer as a fusion of the kind suitable for both.
  HloInstruction* AddFusionInstruction(HloInstruction* producer,
                                       HloInstruction* consumer,
                                       HloComputation* computation);

  // At most one operand, counting one that occurs twice once, has as many
  // dimensions as the result.
  static bool EffectivelyAtMostUnary(const HloInstruction& instruction);
  // Whether it is cheap to duplicate, whatever its users do.
  bool IsAlwaysDuplicable(const HloInstruction& instruction) const;

  bool is_expensive(const HloInstruction& instruction) const {
    return is_expensive_(instruction);
  }
  bool may_duplicate() const { return may_duplicate_; }
  const AliasInfo* alias_info() const { return alias_info_; }

 private:
  using InstructionSet = absl::flat_hash_set<const HloInstruction*>;

  absl::StatusOr<bool> RunOnComputation(HloComputation* computation);
  // Fuses the first operand for which ShouldFuse holds.
  absl::StatusOr<bool> FuseOneOperand(HloInstruction* consumer,
                                      const std::vector<int64_t>& operands,
                                      HloComputation* computation,
                                      FusionQueue* queue);
  // Producers with several users that must not be duplicated: not always
  // duplicable, and not all users can take them in.
  InstructionSet FindNotDuplicable(
      const std::vector<HloInstruction*>& post_order);
  FusionDecision MayDuplicate(const HloInstruction& producer,
                              const HloInstruction& consumer) const;
  absl::Status RemoveIfDead(HloInstruction* instruction,
                            HloComputation* computation, FusionQueue* queue);

  std::function<bool(const HloInstruction& instruction)> is_expensive_;
  const AliasInfo default_alias_info_;
  const AliasInfo* alias_info_;
  bool may_duplicate_;
  FusionConfigCollection config_collection_mode_;
  InstructionSet not_duplicable_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_FUSION_INSTRUCTION_FUSION_H_
