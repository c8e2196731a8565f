#include "xla/hlo/transforms/spmd/preprocess.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/sharding/unreduced_sharding.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/utils/custom_call_sharding_helper.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::spmd {
namespace {

absl::StatusOr<HloSharding> NormalizedLeaf(const HloSharding& named,
                                           const Shape& shape,
                                           int64_t num_partitions) {
  if (named.IsUnknownLeaf()) return HloSharding::Replicate();
  const HloSharding leaf =
      named.UseNamedShardingLeaf() ? HloSharding::V3ToV2Sharding(named) : named;
  if (!HasUnreduced(leaf)) return leaf;
  if (!shape.IsArray()) return HloSharding::Replicate();
  return WithTilesOfAddends(leaf, shape.dimensions().size(), num_partitions);
}

// Tiled leaves by lists of devices, a leaf for each element of a tuple.
absl::StatusOr<HloSharding> Normalized(const HloSharding& sharding,
                                       const Shape& shape,
                                       int64_t num_partitions) {
  if (!shape.IsTuple()) {
    if (sharding.IsTuple()) {
      if (sharding.tuple_elements().size() != 1) {
        return absl::InvalidArgumentError(
            "this is a sharding of a tuple, and the value is not one");
      }
      return NormalizedLeaf(sharding.tuple_elements()[0], shape,
                            num_partitions);
    }
    return NormalizedLeaf(sharding, shape, num_partitions);
  }
  const HloSharding tuple = sharding.NormalizeTupleSharding(shape);
  const std::vector<const Shape*> shapes = ShapeUtil::FlattenTupleShape(shape);
  std::vector<HloSharding> leaves;
  for (size_t i = 0; i < tuple.tuple_elements().size(); ++i) {
    // An empty tuple has a leaf too.
    TF_ASSIGN_OR_RETURN(
        HloSharding leaf,
        NormalizedLeaf(tuple.tuple_elements()[i],
                       i < shapes.size() ? *shapes[i] : shape, num_partitions));
    leaves.push_back(std::move(leaf));
  }
  return HloSharding::FlatTuple(std::move(leaves));
}

// Whether addends go through: the value is an operand's, or comes from outside.
bool HandsAddendsOn(const HloInstruction& hlo) {
  return HloPredicateIsOp<
             HloOpcode::kCall, HloOpcode::kConditional, HloOpcode::kCopy,
             HloOpcode::kGetTupleElement, HloOpcode::kOptimizationBarrier,
             HloOpcode::kParameter, HloOpcode::kTuple, HloOpcode::kWhile>(
             &hlo) ||
         hlo.IsCustomCall("Sharding");
}

// `value`, as addends where the sharding says so; of a tuple a tuple of its
// elements, which has that sharding.
HloInstruction* AsAddends(HloInstruction* value, const HloSharding& sharding) {
  if (!HasUnreduced(sharding)) return value;
  const Shape& shape = value->shape();
  if (!shape.IsTuple()) return AddSharding(value, sharding);
  HloComputation* computation = value->parent();
  std::vector<HloInstruction*> elements;
  for (int64_t i = 0; i < shape.tuple_shapes().size(); ++i) {
    HloInstruction* element = computation->AddInstruction(
        HloInstruction::CreateGetTupleElement(shape.tuple_shapes(i), value, i));
    element->set_sharding(value->sharding().GetSubSharding(shape, {i}));
    elements.push_back(element);
  }
  HloInstruction* tuple =
      computation->AddInstruction(HloInstruction::CreateTuple(elements));
  tuple->set_sharding(sharding);
  return tuple;
}

// Addends are made of a sum, and summed up again, beside what
// computes: handlers see neither.
//
//   before: d = dot(..), sharding={unreduced}, e = exponential(d)
//   after:  d = dot(..), sharding={replicated}
//           a = Sharding(d), sharding={unreduced}
//           s = Sharding(a), sharding as e's, e = exponential(s)
absl::Status SeparateAddends(HloComputation* computation) {
  for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
    if (!HasUnreduced(hlo->sharding())) continue;
    if (hlo->shape().IsArray()) {
      const std::vector<HloInstruction*> users(hlo->users().begin(),
                                               hlo->users().end());
      for (HloInstruction* user : users) {
        // What decides about a branch is no argument of it.
        const bool decides = user->opcode() == HloOpcode::kConditional &&
                             user->operand(0) == hlo;
        if (HandsAddendsOn(*user) && !decides) continue;
        const bool alike =
            user->IsElementwise() && user->shape().IsArray() &&
            ShapeUtil::SameDimensions(user->shape(), hlo->shape());
        HloInstruction* sum = AddSharding(
            hlo, WithSums(alike ? user->sharding() : hlo->sharding()));
        RETURN_IF_ERROR(hlo->ReplaceUseWith(user, sum));
      }
    }
    if (HandsAddendsOn(*hlo)) continue;
    const std::vector<HloInstruction*> users(hlo->users().begin(),
                                             hlo->users().end());
    const HloSharding sharding = hlo->sharding();
    hlo->set_sharding(WithSums(sharding));
    RETURN_IF_ERROR(
        hlo->ReplaceAllUsesWithDifferentShape(users, AsAddends(hlo, sharding)));
  }
  return absl::OkStatus();
}

// An outfeed's sharding is that of what is fed, and may have a leaf more for
// the token.
const Shape& ShardedShape(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kOutfeed ? hlo.operand(0)->shape()
                                             : hlo.shape();
}
HloSharding WithoutToken(const HloSharding& sharding,
                         const HloInstruction& hlo) {
  if (hlo.opcode() != HloOpcode::kOutfeed || !sharding.IsTuple()) {
    return sharding;
  }
  const size_t leaves = HloSharding::RequiredLeaves(hlo.operand(0)->shape());
  std::vector<HloSharding> elements = sharding.tuple_elements();
  if (elements.size() != leaves + 1) return sharding;
  elements.pop_back();
  return hlo.operand(0)->shape().IsTuple()
             ? HloSharding::FlatTuple(std::move(elements))
             : elements[0];
}

HloSharding DefaultSharding(const HloInstruction& hlo) {
  if (hlo.opcode() == HloOpcode::kRng) return HloSharding::SingleDevice(0);
  if (hlo.opcode() == HloOpcode::kReverse && hlo.operand(0)->has_sharding() &&
      hlo.operand(0)->sharding().IsTiledLeaf()) {
    return hlo_sharding_util::ReverseSharding(hlo.operand(0)->sharding(),
                                              hlo.dimensions());
  }
  // Text may leave the instruction out: add(t#0, t#1). A result is whole where
  // nothing is said of it.
  const bool is_result = hlo.IsRoot() && hlo.parent()->IsEntryComputation();
  if (hlo.opcode() == HloOpcode::kGetTupleElement && !is_result) {
    HloSharding element = hlo.operand(0)->sharding().GetSubSharding(
        hlo.operand(0)->shape(), {hlo.tuple_index()});
    // Users of which nothing is said may not read what is manual.
    if (!element.IsManualLeaf()) return element;
  }
  return HloSharding::Single(ShardedShape(hlo), HloSharding::Replicate());
}

// Calls `share` with the sharding that a caller hands to each parameter.
void ForEachHandedOn(
    const HloInstruction& caller,
    absl::FunctionRef<void(const HloSharding&, HloInstruction*)> share) {
  switch (caller.opcode()) {
    case HloOpcode::kWhile:
      share(caller.sharding(), caller.while_body()->parameter_instruction(0));
      share(caller.sharding(),
            caller.while_condition()->parameter_instruction(0));
      break;
    case HloOpcode::kConditional:
      for (int64_t i = 0; i < caller.branch_count(); ++i) {
        share(caller.operand(i + 1)->sharding(),
              caller.branch_computation(i)->parameter_instruction(0));
      }
      break;
    case HloOpcode::kCall:
      for (int64_t i = 0; i < caller.operand_count(); ++i) {
        share(caller.operand(i)->sharding(),
              caller.to_apply()->parameter_instruction(i));
      }
      break;
    case XLA_ANY_ASYNC:
    case XLA_ANY_WITHOUT_SCHEDULE:
      // Their callees have no shardings.
      break;
  }
}

}  // namespace

HloInstruction* AddSharding(HloInstruction* value,
                            const HloSharding& sharding) {
  HloInstruction* again = value->parent()->AddInstruction(
      HloInstruction::CreateCustomCall(value->shape(), {value}, "Sharding"));
  again->set_sharding(sharding);
  return again;
}

bool SpmdPartitioner::CanSideEffectingHaveReplicatedSharding(
    const HloInstruction* hlo) {
  switch (hlo->opcode()) {
    // Cross-replica or manual collectives and control flow: their handlers say.
    case HloOpcode::kAllGather:
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllToAll:
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kInfeed:
    case HloOpcode::kOutfeed:
    case HloOpcode::kRng:
    case HloOpcode::kRngGetAndUpdateState:
      return true;
    case HloOpcode::kCustomCall:
      if (const CustomCallPartitioner* registered =
              GetCustomCallPartitioner(hlo->custom_call_target())) {
        return registered->CanSideEffectingHaveReplicatedSharding();
      }
      return hlo->custom_call_target() == "Sharding" ||
             absl::StartsWith(hlo->custom_call_target(), "SPMD");
    default:  // Side effects happen on one device.
      return false;
  }
}

absl::Status SpmdPartitioner::PreprocessSharding(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  // Callers first: they say what parameters have that say nothing.
  std::vector<HloComputation*> order =
      module->MakeNonfusionComputations(execution_threads);
  absl::c_reverse(order);
  for (HloComputation* computation : order) {
    for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
      if (hlo->opcode() == HloOpcode::kCustomCall &&
          absl::StartsWith(hlo->custom_call_target(), "xla.sdy.")) {
        return absl::InvalidArgumentError(absl::StrCat(
            "a custom call of Shardy is left; run shardy-import first: ",
            hlo->ToString()));
      }
      if (hlo->HasSideEffectNoRecurse() &&
          !CanSideEffectingHaveReplicatedSharding(hlo) &&
          (!hlo->has_sharding() || hlo->sharding().IsReplicated())) {
        return absl::InvalidArgumentError(
            absl::StrCat("an instruction with a side effect needs a sharding "
                         "that is not replicated: ",
                         hlo->ToString()));
      }
      const HloSharding given =
          hlo->has_sharding() ? hlo->sharding() : DefaultSharding(*hlo);
      const Shape& shape = ShardedShape(*hlo);
      absl::StatusOr<HloSharding> sharding =
          Normalized(WithoutToken(given, *hlo), shape, num_partitions_);
      if (sharding.ok()) {
        absl::Status fits = sharding->Validate(shape, num_partitions_);
        if (!fits.ok()) sharding = fits;
      }
      if (!sharding.ok()) {
        return absl::Status(
            sharding.status().code(),
            absl::StrCat("sharding ", given.ToString(), " of ", hlo->name(),
                         ", ", ShapeUtil::HumanString(hlo->shape()), ", on ",
                         num_partitions_,
                         " partitions: ", sharding.status().message()));
      }
      hlo->set_sharding(*std::move(sharding));
      ForEachHandedOn(
          *hlo, [](const HloSharding& handed_on, HloInstruction* parameter) {
            if (!parameter->has_sharding() && !HasUnreduced(handed_on)) {
              parameter->set_sharding(handed_on);
            }
          });
    }
  }
  RETURN_IF_ERROR(KeepStatesAndBuffersUndivided(module, execution_threads));
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    RETURN_IF_ERROR(SeparateAddends(computation));
    RETURN_IF_ERROR(KeepDynamicSizesWhole(computation));
  }
  return absl::OkStatus();
}

absl::Status ShareShardingsWithCallees(
    HloModule* module,
    absl::flat_hash_map<const HloComputation*, HloSharding>* roots) {
  // Callers first: what a callee's parameters get, its own calls hand on only
  // by shardings that are there already.
  std::vector<HloComputation*> order = module->MakeComputationPostOrder();
  absl::c_reverse(order);
  HloComputation* entry = module->entry_computation();
  roots->insert_or_assign(entry, entry->root_instruction()->sharding());
  for (HloComputation* computation : order) {
    if (!roots->contains(computation)) continue;
    for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
      const bool is_while = hlo->opcode() == HloOpcode::kWhile;
      // A parameter has the sharding of its argument, except that addends are
      // summed up by the caller where the callee, whose users of the parameter
      // are known by now, takes something else.
      ForEachHandedOn(
          *hlo, [&](const HloSharding& handed_on, HloInstruction* parameter) {
            if (is_while || !HasUnreduced(handed_on)) {
              parameter->set_sharding(handed_on);
            }
          });
      if (is_while) {
        HloComputation* condition = hlo->while_condition();
        roots->insert_or_assign(hlo->while_body(), hlo->sharding());
        // What decides about a trip is whole, and no addend.
        roots->insert_or_assign(
            condition, WithSums(ReplicatedOnAllDims(
                           condition->root_instruction()->sharding())));
      } else if (HloPredicateIsOp<HloOpcode::kConditional, HloOpcode::kCall>(
                     hlo)) {
        for (HloComputation* callee : hlo->called_computations()) {
          roots->insert_or_assign(callee, hlo->sharding());
        }
      }
    }
  }
  return absl::OkStatus();
}

namespace {

// A fusion that hands an operand on would leave nothing that could wait, or be
// waited for, in its place: it gets a copy to do so.
void KeepPlaceInOrder(HloInstruction* fusion) {
  HloInstruction* root = fusion->fused_expression_root();
  if (root->opcode() != HloOpcode::kParameter ||
      !fusion->HasControlDependencies()) {
    return;
  }
  HloComputation* fused = fusion->fused_instructions_computation();
  fused->set_root_instruction(fused->AddInstruction(
      HloInstruction::CreateUnary(root->shape(), HloOpcode::kCopy, root)));
}

// Values as large as a result lie where it does.
void ShareShardingWithFused(HloInstruction* fusion) {
  if (!fusion->has_sharding()) return;
  const std::vector<const Shape*> shapes =
      ShapeUtil::FlattenTupleShape(fusion->shape());
  const std::vector<HloSharding> shardings =
      fusion->sharding().IsTuple()
          ? fusion->sharding().tuple_elements()
          : std::vector<HloSharding>(shapes.size(), fusion->sharding());
  for (HloInstruction* inner : fusion->fused_instructions()) {
    if (inner->has_sharding() || !inner->shape().IsArray() ||
        inner->opcode() == HloOpcode::kParameter) {
      continue;
    }
    for (size_t i = 0; i < shapes.size() && i < shardings.size(); ++i) {
      if (!shapes[i]->IsArray() ||
          !ShapeUtil::SameDimensions(inner->shape(), *shapes[i])) {
        continue;
      }
      inner->set_sharding(shardings[i]);
      break;
    }
  }
  HloInstruction* root = fusion->fused_expression_root();
  if (!root->has_sharding() && root->opcode() != HloOpcode::kParameter) {
    root->set_sharding(fusion->sharding());
  }
}

// Takes one fusion apart: all of it waits for what the fusion waits for.
absl::Status DefuseInOrder(HloInstruction* fusion) {
  HloComputation* computation = fusion->parent();
  const std::vector<HloInstruction*> before = fusion->control_predecessors();
  if (before.empty()) return fusion->Defuse();
  const int32_t first = computation->next_unique_instruction_internal_id();
  RETURN_IF_ERROR(fusion->Defuse());
  const int32_t end = computation->next_unique_instruction_internal_id();
  for (int32_t id = first; id < end; ++id) {
    HloInstruction* inner = computation->GetInstructionWithLocalId(id);
    for (HloInstruction* predecessor : before) {
      RETURN_IF_ERROR(predecessor->AddControlDependencyTo(inner));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DefuseAll(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // Those in fusions come out with them, and are next.
    while (true) {
      std::vector<HloInstruction*> fusions;
      for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
        if (hlo->opcode() == HloOpcode::kFusion) fusions.push_back(hlo);
      }
      if (fusions.empty()) break;
      for (HloInstruction* fusion : fusions) {
        KeepPlaceInOrder(fusion);
        ShareShardingWithFused(fusion);
        RETURN_IF_ERROR(DefuseInOrder(fusion));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<HloInputOutputAliasConfig> ShardedAliases(
    const HloModule& module) {
  const HloComputation& entry = *module.entry_computation();
  const Shape& result = entry.root_instruction()->shape();
  HloInputOutputAliasConfig kept(result);
  RETURN_IF_ERROR(module.input_output_alias_config().ForEachAliasWithStatus(
      [&](const ShapeIndex& output,
          const HloInputOutputAliasConfig::Alias& alias) -> absl::Status {
        const Shape& to = ShapeUtil::GetSubshape(result, output);
        const Shape& from = ShapeUtil::GetSubshape(
            entry.parameter_instruction(alias.parameter_number)->shape(),
            alias.parameter_index);
        if (ShapeSizeInBytes(from) == ShapeSizeInBytes(to)) {
          return kept.SetUpAlias(output, alias.parameter_number,
                                 alias.parameter_index, alias.kind);
        }
        if (!alias.must_alias()) return absl::OkStatus();
        return absl::InvalidArgumentError(absl::StrCat(
            "result ", output.ToString(), " must alias parameter ",
            alias.parameter_number, " at ", alias.parameter_index.ToString(),
            ", but their shards differ: ", ShapeUtil::HumanString(to), ", ",
            ShapeUtil::HumanString(from)));
      }));
  return kept;
}

}  // namespace xla::spmd
