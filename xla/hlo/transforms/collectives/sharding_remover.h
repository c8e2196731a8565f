#ifndef XLA_HLO_TRANSFORMS_COLLECTIVES_SHARDING_REMOVER_H_
#define XLA_HLO_TRANSFORMS_COLLECTIVES_SHARDING_REMOVER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct ShardingRemoverOptions {
  bool keep_shards = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("keep-shards", keep_shards,
          "leave calls alone that make shards of arrays, or arrays of shards");
  }
};

// Removes the custom calls that express sharding from the module of one device:
// one for a single device, or what a partitioner made, whose num_partitions
// stays what it was.
//
//   before: s = f32[8] custom-call(a), custom_call_target="Sharding",
//           sharding={devices=[2]<=[2]}; use(s)
//   after:  use(a)
//
// The same with SPMDFullToShardShape, SPMDShardToFullShape, ShardBarrierFrom,
// ShardBarrierTo, xla.sdy.FuncResultSharding and xla.sdy.PropagationBarrier;
// xla.sdy.ShardingGroup, which has no result, is removed. On one device these
// mean nothing. Shardings of other instructions stay. O(instructions).
//
// Arrays of a call's result that lie otherwise in memory than in its operand
// are copied. What ran before a call runs before its readers and before what
// ran after it.
//
// InvalidArgument if a call's result differs in shape from its operand, as
// before partitioning; with keep-shards it stays instead. A module that is
// still to be partitioned loses annotations that the partitioner would have
// read.
class ShardingRemover : public HloModulePass {
 public:
  explicit ShardingRemover(ShardingRemoverOptions options = {})
      : options_(options) {}

  absl::string_view name() const override { return "sharding-remover"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  ShardingRemoverOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COLLECTIVES_SHARDING_REMOVER_H_
