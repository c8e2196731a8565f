#include "xla/hlo/transforms/collectives/collective_combiner.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/layout.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// What a device sends or gets, whichever is more.
int64_t BytesOf(const HloInstruction& collective) {
  return std::max(ShapeUtil::ByteSizeOf(collective.shape()),
                  ShapeUtil::ByteSizeOf(collective.operand(0)->shape()));
}

bool IsCandidate(const HloInstruction& inst, HloOpcode opcode,
                 int64_t max_bytes) {
  return inst.opcode() == opcode && inst.operand_count() == 1 &&
         inst.shape().IsArray() && inst.shape().is_static() &&
         !inst.HasControlDependencies() && !inst.IsDead() &&
         !Cast<HloCollectiveInstruction>(&inst)->constrain_layout() &&
         BytesOf(inst) <= max_bytes;
}

// The dimension that it gathers or scatters; -1 if it does neither.
int64_t DimensionOf(const HloInstruction& collective) {
  switch (collective.opcode()) {
    case HloOpcode::kAllGather:
      return Cast<HloAllGatherInstruction>(&collective)->all_gather_dimension();
    case HloOpcode::kReduceScatter:
      return Cast<HloReduceScatterInstruction>(&collective)
          ->scatter_dimension();
    default:  // An all-reduce has none.
      return -1;
  }
}

// Whether their dimensions are the same, or can be made so by bitcasts.
bool DimensionsFit(const HloInstruction& a, const HloInstruction& b,
                   bool by_dimension) {
  if (DimensionOf(a) == DimensionOf(b)) return true;
  const auto is_plain = [](const HloInstruction& collective) {
    const Shape& to = collective.shape();
    const Shape& from = collective.operand(0)->shape();
    return to.has_layout() && to.layout().tiles().empty() &&
           from.has_layout() && from.layout().tiles().empty();
  };
  return !by_dimension && !a.has_sharding() && is_plain(a) && is_plain(b);
}

bool SameDevicesAndReduction(const HloInstruction& a, const HloInstruction& b) {
  switch (a.opcode()) {
    case HloOpcode::kAllGather:
      return Cast<HloAllGatherInstruction>(&a)->use_global_device_ids() ==
             Cast<HloAllGatherInstruction>(&b)->use_global_device_ids();
    case HloOpcode::kReduceScatter: {
      const auto& x = *Cast<HloReduceScatterInstruction>(&a);
      const auto& y = *Cast<HloReduceScatterInstruction>(&b);
      return x.use_global_device_ids() == y.use_global_device_ids() &&
             *x.to_apply() == *y.to_apply();
    }
    default: {  // Cast() fails for what is not combined.
      const auto& x = *Cast<HloAllReduceInstruction>(&a);
      const auto& y = *Cast<HloAllReduceInstruction>(&b);
      return x.use_global_device_ids() == y.use_global_device_ids() &&
             *x.to_apply() == *y.to_apply();
    }
  }
}

bool SameSharding(const HloInstruction& a, const HloInstruction& b) {
  if (a.has_sharding() != b.has_sharding()) return false;
  return !a.has_sharding() || a.sharding() == b.sharding();
}

bool AreAlike(const HloInstruction& a, const HloInstruction& b,
              bool different_types) {
  return (a.shape().element_type() == b.shape().element_type() ||
          different_types) &&
         SameSharding(a, b) &&
         a.channel_id().has_value() == b.channel_id().has_value() &&
         *Cast<HloCollectiveInstruction>(&a)->device_list() ==
             *Cast<HloCollectiveInstruction>(&b)->device_list() &&
         SameDevicesAndReduction(a, b);
}

// The first of those along the dimension that most have, among the dimensions
// that all have.
HloInstruction* Typical(const std::vector<HloInstruction*>& collectives) {
  const auto by_rank = [](const HloInstruction* a, const HloInstruction* b) {
    return a->shape().dimensions().size() < b->shape().dimensions().size();
  };
  const int64_t rank =
      (*absl::c_min_element(collectives, by_rank))->shape().dimensions().size();
  std::vector<int64_t> frequency(rank);
  int64_t most = 0;
  for (const HloInstruction* collective : collectives) {
    const int64_t dim = DimensionOf(*collective);
    if (dim >= 0 && dim < rank) most = std::max(most, ++frequency[dim]);
  }
  for (HloInstruction* collective : collectives) {
    const int64_t dim = DimensionOf(*collective);
    if (dim >= 0 && dim < rank && frequency[dim] == most) return collective;
  }
  return collectives[0];  // Without a dimension.
}

// `shape` with two dimensions exchanged, as a bitcast has it.
Shape Exchanged(const Shape& shape, int64_t a, int64_t b) {
  if (a == b) return shape;
  std::vector<int64_t> permutation(shape.dimensions().size());
  absl::c_iota(permutation, 0);
  std::swap(permutation[a], permutation[b]);
  return ShapeUtil::PermuteDimensions(permutation, shape);
}

HloInstruction* BitcastTo(const Shape& shape, HloInstruction* value) {
  if (ShapeUtil::Equal(shape, value->shape())) return value;
  return value->parent()->AddInstruction(
      HloInstruction::CreateBitcast(shape, value));
}

// A collective has one dimension for all of its operands. Those of others take
// part with two dimensions exchanged, by bitcasts that exchange them in the
// layout as well, so that nothing moves in memory.
absl::Status Combine(const std::vector<HloInstruction*>& collectives) {
  HloInstruction* typical = Typical(collectives);
  const int64_t dim = DimensionOf(*typical);
  HloComputation* computation = typical->parent();
  std::vector<HloInstruction*> operands;
  std::vector<Shape> shapes;
  for (HloInstruction* collective : collectives) {
    const int64_t own = DimensionOf(*collective);
    HloInstruction* operand = collective->mutable_operand(0);
    if (own != dim) {
      operand = BitcastTo(Exchanged(operand->shape(), own, dim), operand);
    }
    operands.push_back(operand);
    shapes.push_back(Exchanged(collective->shape(), own, dim));
  }
  HloInstruction* combined =
      computation->AddInstruction(typical->CloneWithNewOperands(
          ShapeUtil::MakeTupleShape(shapes), operands));
  if (typical->has_sharding()) {
    combined->set_sharding(HloSharding::Tuple(
        combined->shape(),
        std::vector<HloSharding>(collectives.size(), typical->sharding())));
  }
  for (size_t i = 0; i < collectives.size(); ++i) {
    HloInstruction* element =
        computation->AddInstruction(HloInstruction::CreateGetTupleElement(
            combined, static_cast<int64_t>(i)));
    if (DimensionOf(*collectives[i]) != dim) {
      element = BitcastTo(collectives[i]->shape(), element);
    }
    TF_RETURN_IF_ERROR(
        computation->ReplaceInstruction(collectives[i], element));
  }
  return absl::OkStatus();
}

// What the members of a set depend on, and what depends on one of them. A walk
// stops at what another one has been at: all members together take O(N + E).
class Relatives {
 public:
  explicit Relatives(const HloComputation& computation)
      : before_(computation.next_unique_instruction_internal_id(), false),
        after_(before_) {}

  void AddMember(const HloInstruction* member) {
    Walk(member, before_, [](const HloInstruction* inst, auto visit) {
      absl::c_for_each(inst->operands(), visit);
      absl::c_for_each(inst->control_predecessors(), visit);
    });
    Walk(member, after_, [](const HloInstruction* inst, auto visit) {
      absl::c_for_each(inst->users(), visit);
      absl::c_for_each(inst->control_successors(), visit);
    });
  }

  bool Include(const HloInstruction& inst) const {
    return before_[inst.local_id()] || after_[inst.local_id()];
  }

 private:
  template <typename ForEachNext>
  static void Walk(const HloInstruction* from, std::vector<bool>& seen,
                   const ForEachNext& for_each_next) {
    std::vector<const HloInstruction*> work = {from};
    while (!work.empty()) {
      const HloInstruction* inst = work.back();
      work.pop_back();
      if (seen[inst->local_id()]) continue;
      seen[inst->local_id()] = true;
      for_each_next(inst,
                    [&](const HloInstruction* next) { work.push_back(next); });
    }
  }

  std::vector<bool> before_, after_;
};

// Takes the first candidate and all that go with it from `candidates`.
//
// A combined collective waits for the operands of all and precedes the users of
// all, so members must not depend on one another: a path between two of them
// would become a cycle. It suffices to look at pairs, since a cycle through the
// combined instruction needs a path that leaves one member and enters another.
std::vector<HloInstruction*> TakeSet(const CollectiveCombinerOptions& options,
                                     bool by_dimension, bool different_types,
                                     std::vector<HloInstruction*>* candidates) {
  std::vector<HloInstruction*> set, rest;
  Relatives relatives(*(*candidates)[0]->parent());
  size_t known = 0;  // members whose relatives are
  int64_t bytes = 0;
  const auto is_independent = [&](const HloInstruction& candidate) {
    for (; known < set.size(); ++known) relatives.AddMember(set[known]);
    return !relatives.Include(candidate);
  };
  for (HloInstruction* candidate : *candidates) {
    const bool fits =
        set.empty() ||
        (static_cast<int64_t>(set.size()) < options.combine_threshold_count &&
         bytes + BytesOf(*candidate) <= options.combine_threshold_in_bytes &&
         AreAlike(*set[0], *candidate, different_types) &&
         absl::c_all_of(set,
                        [&](const HloInstruction* other) {
                          return DimensionsFit(*other, *candidate,
                                               by_dimension);
                        }) &&
         is_independent(*candidate));
    (fits ? set : rest).push_back(candidate);
    if (fits) bytes += BytesOf(*candidate);
  }
  *candidates = rest;
  return set;
}

}  // namespace

absl::StatusOr<bool> CollectiveCombiner::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    if (computation->IsAsyncComputation()) continue;
    if (!options_.combine_while_loops &&
        !computation->caller_instructions(HloOpcode::kWhile).empty()) {
      continue;
    }
    std::vector<HloInstruction*> candidates;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (IsCandidate(*inst, opcode_, options_.combine_threshold_in_bytes)) {
        candidates.push_back(inst);
      }
    }
    while (candidates.size() > 1) {
      const std::vector<HloInstruction*> set =
          TakeSet(options_, by_dimension_, different_types_, &candidates);
      if (set.size() == 1) continue;
      TF_RETURN_IF_ERROR(Combine(set));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
