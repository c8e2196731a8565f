#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDING_PROPAGATION_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDING_PROPAGATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_domain_metadata.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/utils/custom_call_sharding_helper.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"

namespace xla {

// Whether the instruction took or improved a sharding from its operands.
// `may_combine_partial_sharding`: two partially replicated shardings are
// combined into their common refinement if there is one.
bool InferDotShardingFromOperands(
    HloInstruction* instruction, const CallGraph& call_graph,
    const dot_as_convolution_util::DotConvolutionDimsInfo& dnums,
    bool may_combine_partial_sharding, bool is_spmd);
bool InferConvolutionShardingFromOperands(HloInstruction* instruction,
                                          const CallGraph& call_graph,
                                          bool may_combine_partial_sharding,
                                          bool is_spmd);
bool InferReduceShardingFromOperand(HloInstruction* instruction,
                                    bool may_combine_partial_sharding,
                                    bool is_spmd);
// The sharding of a broadcast's operand that requires no data movement; nullopt
// if the broadcast does not have a tiled one.
std::optional<HloSharding> InferBroadcastOperandSharding(
    const HloInstruction& instruction, bool is_spmd = true);

// Users that are not the root of their computation.
int64_t ComputeNonRootUsers(const HloInstruction* instr);

// Processes the `Sharding` custom calls. With replace_sharding_with_copy each
// becomes a copy that carries the sharding; otherwise its users read the
// operand, which takes the sharding. An operand without a sharding takes it in
// any case, except for entry parameters that are not allowed to. Fills
//
//   unspecified_dims                 dimensions that a call leaves open
//                                    (`unspecified_dims=[1]`), by the copy
//   saved_root_shardings             of the entry's root, one per top-level
//   saved_parameter_shardings        element; of its parameters, by number
//   instruction_to_shard_group_id, shard_group_id_to_shard_{as,like}_group
//                                    `shard_as 3`, `shard_like 3`
//
// Pointers to maps may be null, except for the first three. Shard groups are
// removed from the shardings. InvalidArgument for malformed calls; returns
// whether anything changed.
absl::StatusOr<bool> ProcessShardingInstruction(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    bool replace_sharding_with_copy,
    absl::flat_hash_map<const HloInstruction*, std::vector<int64_t>>*
        unspecified_dims,
    std::vector<HloSharding>* saved_root_shardings,
    absl::flat_hash_map<int64_t, HloSharding>* saved_parameter_shardings,
    absl::flat_hash_map<HloInstruction*, int64_t>*
        instruction_to_shard_group_id = nullptr,
    absl::flat_hash_map<int64_t, std::vector<HloInstruction*>>*
        shard_group_id_to_shard_as_group = nullptr,
    absl::flat_hash_map<int64_t, std::vector<HloInstruction*>>*
        shard_group_id_to_shard_like_group = nullptr,
    absl::Span<const bool>
        allow_spmd_sharding_propagation_to_parameters_vector = {},
    bool remove_unknown_shardings = false);

// The text form of the pass's arguments.
struct ShardingPropagationOptions {
  bool is_spmd = true;
  bool propagate_metadata = false;
  bool to_output = false;
  bool to_parameters = false;
  bool cse_prevention_only = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("is-spmd", is_spmd,
          "propagate for SPMD partitioning: merge partial shardings, go "
          "through reverse and the operands of gather and scatter");
    visit("propagate-metadata", propagate_metadata,
          "record in each sharding the instruction it came from");
    visit("to-output", to_output,
          "allow changing the shardings of entry results");
    visit("to-parameters", to_parameters,
          "allow changing the shardings of entry parameters");
    visit("cse-prevention-only", cse_prevention_only,
          "keep propagated shardings only on broadcasts of scalars");
  }
};

// Spreads given shardings over a module, step by step along edges between
// instructions, the safest ones first.
//
//   before: x = f32[8,4] parameter(0), sharding={devices=[2,1]<=[2]}
//           n = f32[8,4] negate(x)
//           r = f32[8] reduce(n, zero), dimensions={1}
//   after:  n and r have {devices=[2,1]<=[2]} and {devices=[2]<=[2]}
//
// Level 0 crosses instructions that keep elements in place, 1 everything except
// broadcasts, 2 also goes backward through broadcasts, 3 also forward; each
// level runs to a fixed point, from operands to users and back:
//
//   instruction                                  forward    backward from
//   elementwise, copy, reshape, transpose,
//   tuple, get-tuple-element, while, barriers       0          0
//   dynamic-slice, dynamic-update-slice             0          1
//   concatenate                                     1 *        1
//   broadcast                                       3          2
//   dot, convolution, reduce, pad, slice, sort,
//   gather, scatter, windows, .. (whatever has an
//   OpShardingRule), custom calls with a helper     1          1
//   parameters of calls and branches                1          0
//   * 0 where the operands are tiled reshapes of parameters
//
// A sharding is replaced by one that has more tiles of the same elements, or by
// a common refinement (is_spmd, from level 1). Values that are whole spread as
// tiles do, those on a single device do not. A tuple has shardings of all its
// elements or of none. Given shardings stay, except those of parameters and
// outputs if allowed, and {unknown}. States of loops, results of branches and
// of calls share one sharding with the values they stand for. Members of
// shard_as groups end up with what they have in common; shard_like groups
// share, but keep their own. The custom calls ShardBarrierFrom (nothing goes
// forward) and ShardBarrierTo (nothing goes back) are removed afterwards. Entry
// parameters and results whose dimensions the tiles found do not divide become
// replicated; so do unknown shardings.
//
// The flags for outputs (parameters) are a single one, or one per element of
// the root (per parameter, or per element of a single tuple parameter).
// cse_prevention_only: afterwards only broadcasts of scalars keep the sharding
// found, marked in their metadata; the next other run clears it.
//
// O(instructions + improvements) per level. Deterministic. InvalidArgument for
// shardings that do not fit their shapes and for a wrong number of flags.
class ShardingPropagation : public HloModulePass {
 public:
  using ComputationMap =
      absl::flat_hash_map<const HloComputation*, HloInstruction*>;

  explicit ShardingPropagation(
      bool is_spmd = false, bool propagate_metadata = false,
      absl::Span<const bool> allow_spmd_sharding_propagation_to_output =
          {false},
      absl::Span<const bool> allow_spmd_sharding_propagation_to_parameters =
          {false},
      bool cse_prevention_only = false,
      std::unique_ptr<CustomCallShardingHelper> sharding_helper = nullptr);
  explicit ShardingPropagation(const ShardingPropagationOptions& options)
      : ShardingPropagation(options.is_spmd, options.propagate_metadata,
                            {options.to_output}, {options.to_parameters},
                            options.cse_prevention_only) {}

  absl::string_view name() const override { return "sharding-propagation"; }

  // For HloDomainVerifier and the like: what enters and leaves a domain of
  // tiled sharding takes it; other domains are normalized as usual.
  static absl::Status NormalizeDomain(const DomainMetadata::Domain& domain,
                                      const DomainMetadata* metadata);

  // One step backward: the sharding that `user` suggests for its operand
  // `instruction` at that level, if any.
  static std::optional<HloSharding> GetShardingFromUser(
      const HloInstruction& instruction, const HloInstruction& user,
      int64_t aggressiveness, bool is_spmd, const CallGraph& call_graph,
      const CustomCallShardingHelper* sharding_helper);

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  bool is_spmd_;
  bool propagate_metadata_;
  absl::InlinedVector<bool, 1> to_output_;
  absl::InlinedVector<bool, 1> to_parameters_;
  bool cse_prevention_only_;
  std::unique_ptr<CustomCallShardingHelper> helper_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDING_PROPAGATION_H_
