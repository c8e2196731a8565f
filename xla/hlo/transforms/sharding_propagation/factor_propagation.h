#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_FACTOR_PROPAGATION_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_FACTOR_PROPAGATION_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct FactorPropagationOptions {
  // Whether entry parameters and the entry's result may be cut where nothing
  // is said about them.
  bool to_parameters = true;
  bool to_output = true;
  // Write conflicts into frontend attributes (sharding_conflict).
  bool mark_conflicts = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("to-parameters", to_parameters,
          "shard entry parameters that have no annotation");
    visit("to-output", to_output,
          "shard entry results that have no annotation");
    visit("mark-conflicts", mark_conflicts,
          "record conflicting annotations in frontend attributes");
  }
};

// Two annotations that want one loop cut in different ways: somewhere between
// them data has to move.
struct ShardingConflict {
  std::string instruction;
  // The two tensors ("operand 0", "result"), how they are cut, and the
  // annotated instruction that this came from.
  std::string first, first_sharding, first_source;
  std::string second, second_sharding, second_source;

  std::string ToString() const;
};

// Gives every instruction a sharding that fits those that some have.
//
//   before: p = f32[8,4] parameter(0), sharding={devices=[2,1]<=[2]}
//           w = f32[4,6] parameter(1)
//           d = f32[8,6] dot(p, w)
//   after:  p ... sharding={devices=[2,1]<=[2]}
//           w ... sharding={replicated}
//           d ... sharding={devices=[2,1]<=[2]}
//
// Reads tiled and named shardings. The device numbering is cut into axes of
// prime size (axis_mesh.h); axes spread along the factors that instructions
// share between operands and results (op_sharding_rule.h), both ways, to a
// fixed point, in rounds: (a) elementwise, reshape, transpose and data flow
// with one user, (b) with several, (c) pass-through factors of everything,
// (d) reductions, windows and slices, (e) broadcasts forward. In rounds (a) and
// (b) first what all tensors of an instruction agree on, then what one of them
// wants, larger ones first; from (c) on the other way round. States of loops,
// branches and calls are tied.
//
// Dimensions with a priority (frontend attribute sharding_priorities) are whole
// until those of lower numbers have reached the fixed point. Members of
// sharding groups (`shard_as 3`) are one value. ShardBarrierFrom and
// ShardBarrierTo, which let axes through one way only, are taken out
// afterwards.
//
// Never changes what is given: tiled annotations and closed dimensions of named
// ones are fixed; open dimensions may be cut further. Constants and what is
// computed from constants alone take what their users want, last. Manual
// regions stay manual; where some axes only are, the others spread. `Sharding`
// custom calls become copies that carry the sharding. Dimensions of entry
// parameters and results that the axes found for them do not divide are left
// whole. Afterwards all shardings are tiled ones.
//
// O((instructions + changes) * rank * axes) per round. Deterministic.
// InvalidArgument names instruction and sharding for annotations over different
// numbers of devices or of the wrong rank.
class FactorPropagation : public HloModulePass {
 public:
  explicit FactorPropagation(
      const FactorPropagationOptions& options = FactorPropagationOptions())
      : options_(options) {}

  absl::string_view name() const override { return "factor-propagation"; }

  // Conflicts of the last run, in the order of the instructions.
  const std::vector<ShardingConflict>& conflicts() const { return conflicts_; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  FactorPropagationOptions options_;
  std::vector<ShardingConflict> conflicts_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_FACTOR_PROPAGATION_H_
