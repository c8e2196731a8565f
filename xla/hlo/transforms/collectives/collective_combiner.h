#ifndef XLA_HLO_TRANSFORMS_COLLECTIVES_COLLECTIVE_COMBINER_H_
#define XLA_HLO_TRANSFORMS_COLLECTIVES_COLLECTIVE_COMBINER_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct CollectiveCombinerOptions {
  // Maximum bytes of a combined collective, of its operands or of its results,
  // whichever are more; larger ones stay as they are.
  int64_t combine_threshold_in_bytes = 30 * 1024 * 1024;
  // Maximum number of operands of a combined collective.
  int64_t combine_threshold_count = 256;
  // Collectives in the bodies of loops are combined, too.
  bool combine_while_loops = true;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("threshold", combine_threshold_in_bytes,
          "maximum bytes of a combined collective");
    visit("count", combine_threshold_count,
          "maximum operands of a combined collective");
    visit("in-loops", combine_while_loops,
          "combine collectives in the bodies of loops, too");
  }
};

struct ReduceScatterCombinerOptions : CollectiveCombinerOptions {
  // Only those along one dimension become one.
  bool combine_by_dim = true;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    CollectiveCombinerOptions::VisitFields(visit);
    visit("by-dimension", combine_by_dim,
          "combine only collectives along one dimension");
  }
};

struct AllGatherCombinerOptions : ReduceScatterCombinerOptions {
  // All-gathers of different element types may become one.
  bool combine_different_dtypes = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    ReduceScatterCombinerOptions::VisitFields(visit);
    visit("different-types", combine_different_dtypes,
          "combine all-gathers of different element types, too");
  }
};

// Combines several small collectives into one.
//
//   before: x = f32[8] all-reduce(a), to_apply=add
//           y = f32[4] all-reduce(b), to_apply=add
//   after:  t = (f32[8], f32[4]) all-reduce(a, b), to_apply=add
//           x = get-tuple-element(t), index=0
//           y = get-tuple-element(t), index=1
//
// Devices synchronize once instead of twice. Combined are collectives of one
// opcode, element type (of all-gathers only if so asked), set of groups,
// reduction, dimension and sharding, none of which depends on another; those
// that are close to each other in a post order first, and not beyond a limit.
// If so asked, all-gathers and reduce-scatters without shardings are combined
// whatever their dimension; it becomes the most frequent one:
//
//   before: x = f32[8,7] all-gather(a), dimensions={0}
//           y = f32[4,36]{0,1} all-gather(f32[4,9]{0,1} b), dimensions={1}
//   after:  c = f32[9,4]{1,0} bitcast(b)
//           t = (f32[8,7], f32[36,4]{1,0}) all-gather(a, c), dimensions={0}
//           y = f32[4,36]{0,1} bitcast(get-tuple-element(t), index=1)
//
// Legal because a collective with several operands does to each what it would
// do alone, and all devices run the same program. Leaves alone: asynchronous
// pairs, control dependencies, constrained layouts. O(sets × size of the
// computation).
class CollectiveCombiner : public HloModulePass {
 protected:
  CollectiveCombiner(HloOpcode opcode, const CollectiveCombinerOptions& options,
                     bool by_dimension = true, bool different_types = false)
      : opcode_(opcode),
        options_(options),
        by_dimension_(by_dimension),
        different_types_(different_types) {}

  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  HloOpcode opcode_;
  CollectiveCombinerOptions options_;
  bool by_dimension_;
  bool different_types_;
};

class AllGatherCombiner : public CollectiveCombiner {
 public:
  explicit AllGatherCombiner(const AllGatherCombinerOptions& options = {})
      : CollectiveCombiner(HloOpcode::kAllGather, options,
                           options.combine_by_dim,
                           options.combine_different_dtypes) {}
  // OpenXLA's signature.
  AllGatherCombiner(int64_t combine_threshold_in_bytes,
                    int64_t combine_threshold_count, bool combine_by_dim,
                    bool combine_different_dtypes = true,
                    bool combine_while_loops = true)
      : AllGatherCombiner(AllGatherCombinerOptions{
            {{combine_threshold_in_bytes, combine_threshold_count,
              combine_while_loops},
             combine_by_dim},
            combine_different_dtypes}) {}
  absl::string_view name() const override { return "all-gather-combiner"; }
};

class AllReduceCombiner : public CollectiveCombiner {
 public:
  explicit AllReduceCombiner(const CollectiveCombinerOptions& options = {})
      : CollectiveCombiner(HloOpcode::kAllReduce, options) {}
  AllReduceCombiner(int64_t combine_threshold_in_bytes,
                    int64_t combine_threshold_count)
      : AllReduceCombiner(CollectiveCombinerOptions{combine_threshold_in_bytes,
                                                    combine_threshold_count}) {}
  absl::string_view name() const override { return "all-reduce-combiner"; }
};

class ReduceScatterCombiner : public CollectiveCombiner {
 public:
  explicit ReduceScatterCombiner(
      const ReduceScatterCombinerOptions& options = {})
      : CollectiveCombiner(HloOpcode::kReduceScatter, options,
                           options.combine_by_dim) {}
  // OpenXLA's signature.
  ReduceScatterCombiner(int64_t combine_threshold_in_bytes,
                        int64_t combine_threshold_count, bool combine_by_dim,
                        bool combine_while_loops = true)
      : ReduceScatterCombiner(ReduceScatterCombinerOptions{
            {combine_threshold_in_bytes, combine_threshold_count,
             combine_while_loops},
            combine_by_dim}) {}
  absl::string_view name() const override { return "reduce-scatter-combiner"; }
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COLLECTIVES_COLLECTIVE_COMBINER_H_
