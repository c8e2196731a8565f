#include "xla/hlo/transforms/sharding_propagation/sharding_edges.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/sharding_propagation/kept_edges.h"
#include "xla/hlo/transforms/sharding_propagation/op_sharding_rule.h"
#include "xla/hlo/transforms/sharding_propagation/product_edges.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/hlo/utils/manual_region.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::sharding_edges {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// Values that are their (only) operand, leaf by leaf.
bool IsIdentity(const HloInstruction& inst) {
  return HloPredicateIsOp<HloOpcode::kCopy, HloOpcode::kDomain,
                          HloOpcode::kOptimizationBarrier, HloOpcode::kWhile>(
      &inst);
}

// Spreads as elementwise instructions do.
bool IsArrayCopy(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kCopy && inst.shape().IsArray();
}

// The same elements in the same or another order.
bool IsFormatting(const HloInstruction& inst) {
  return HloPredicateIsOp<HloOpcode::kReshape, HloOpcode::kTranspose,
                          HloOpcode::kTuple, HloOpcode::kGetTupleElement>(
             &inst) ||
         (IsIdentity(inst) || IsPassThroughCustomCall(inst) ||
          (inst.IsElementwise() && inst.opcode() != HloOpcode::kRng));
}

bool NeedsSpmd(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kReverse ||
         inst.opcode() == HloOpcode::kRng ||
         (inst.opcode() == HloOpcode::kCustomCall &&
          !IsPassThroughCustomCall(inst));
}

// Whether a concatenate puts pieces of tiled arguments together beside their
// tiles: then nothing moves, whatever else is found later.
bool ConcatenatesArguments(const HloInstruction& concat) {
  for (const HloInstruction* operand : concat.operands()) {
    if (operand->opcode() != HloOpcode::kReshape) return false;
    const HloInstruction* source = operand->operand(0);
    if (source->opcode() != HloOpcode::kParameter &&
        source->opcode() != HloOpcode::kGetTupleElement) {
      return false;
    }
    if (!operand->has_sharding() || !operand->sharding().IsTiled() ||
        operand->sharding().dimension(concat.concatenate_dimension()) != 1) {
      return false;
    }
  }
  return true;
}

// The sharding of tensor `to` of the rule whose tiles are those of `from`,
// along the dimensions that correspond; others become replicas.
//
// Only dimensions that are one factor each on both sides are mapped; a
// dimension that is composed of several factors, as in a reshape, counts as
// having no counterpart.
std::optional<HloSharding> Along(const OpShardingRule& rule, int from, int to,
                                 const HloSharding& sharding) {
  if (!sharding.IsTiledLeaf()) return sharding;
  const auto& from_dims = rule.tensors[from].dims;
  const auto& to_dims = rule.tensors[to].dims;
  const HloSharding tiled = HloSharding::V3ToV2Sharding(sharding);
  if (tiled.TiledDataRank() != static_cast<int64_t>(from_dims.size())) {
    return std::nullopt;
  }
  std::vector<int64_t> src_to_tgt(from_dims.size(), -1);
  std::vector<int64_t> tgt_to_src(to_dims.size(), -1);
  for (size_t s = 0; s < from_dims.size(); ++s) {
    if (from_dims[s].size() != 1) continue;
    for (size_t t = 0; t < to_dims.size(); ++t) {
      if (to_dims[t] != from_dims[s] || tgt_to_src[t] >= 0) continue;
      src_to_tgt[s] = t;
      tgt_to_src[t] = s;
      break;
    }
  }
  return hlo_sharding_util::TransposeShardingWithCollapsedDims(
      tiled, src_to_tgt, tgt_to_src);
}

// Whether the operand of a gather or scatter decides with, or the tensor is
// another one.
bool OperandMayTakePart(const HloInstruction& inst, int tensor,
                        const Context& context) {
  if (context.is_spmd) return true;
  if (inst.opcode() == HloOpcode::kGather) return tensor != 0;
  if (inst.opcode() == HloOpcode::kScatter) {
    return tensor >= static_cast<int>(inst.operand_count() / 2);
  }
  return true;
}

// Whether a tensor that all devices have whole says nothing of the others: of
// what is made by repeating it, or of a few of its elements.
bool SaysNothingWhole(const HloInstruction& inst, int operand) {
  switch (inst.opcode()) {
    case HloOpcode::kBroadcast:
      return true;
    case HloOpcode::kGather:
      return operand == 0;
    case HloOpcode::kScatter:
      return operand != static_cast<int>(inst.operand_count() / 2);
    default:  // It takes part as a whole.
      return false;
  }
}

std::optional<HloSharding> ThroughReshape(const Shape& from, const Shape& to,
                                          const HloSharding& sharding) {
  if (!sharding.IsTiledLeaf()) return sharding;
  if (!Fits(sharding, from)) return std::nullopt;
  return hlo_sharding_util::PropagateShardingThroughReshape(from, to, sharding);
}

std::vector<LeafSharding> ByRuleForward(const HloInstruction& inst,
                                        const Context& context,
                                        LeafReader reader) {
  if (HloPredicateIsOp<HloOpcode::kDot, HloOpcode::kConvolution>(&inst)) {
    return ProductForward(inst, context, reader);
  }
  if (KeepsTiles(inst)) return KeptForward(inst, context, reader);
  std::vector<LeafSharding> found;
  const std::optional<OpShardingRule> rule = GetOpShardingRule(inst);
  if (!rule) {
    // Nothing is known of the dimensions; what every device has gives what
    // every device has.
    if (!inst.shape().IsArray()) return found;
    for (const HloInstruction* operand : inst.operands()) {
      const HloSharding* sharding =
          operand->shape().IsArray() ? reader(operand, 0) : nullptr;
      if (sharding != nullptr && sharding->IsReplicatedLeaf()) {
        return {{0, *sharding}};
      }
    }
    return found;
  }
  for (int from = 0; from < rule->num_operands; ++from) {
    const HloSharding* sharding = reader(inst.operand(from), 0);
    if (sharding == nullptr || !MaySpread(*sharding) ||
        !OperandMayTakePart(inst, from, context)) {
      continue;
    }
    // Whole updates come to a whole result.
    const bool whole_updates =
        sharding->IsReplicatedLeaf() && inst.opcode() == HloOpcode::kScatter &&
        from > static_cast<int>(inst.operand_count() / 2);
    const bool whole_says_nothing =
        SaysNothingWhole(inst, from) && !whole_updates;
    if (sharding->IsReplicatedLeaf() && whole_says_nothing) continue;
    const int results =
        static_cast<int>(rule->tensors.size()) - rule->num_operands;
    // Scalars that every element reads say nothing of the elements' places.
    if (inst.operand(from)->shape().dimensions().empty() &&
        inst.operand_count() > 1) {
      continue;
    }
    for (int leaf = 0; leaf < results; ++leaf) {
      std::optional<HloSharding> mapped =
          Along(*rule, from, rule->num_operands + leaf, *sharding);
      if (!mapped || (mapped->IsReplicatedLeaf() && whole_says_nothing)) {
        continue;
      }
      found.push_back({leaf, *std::move(mapped)});
    }
  }
  if (inst.opcode() == HloOpcode::kReverse) {
    for (LeafSharding& leaf : found) {
      leaf.sharding =
          hlo_sharding_util::ReverseSharding(leaf.sharding, inst.dimensions());
    }
  }
  return found;
}

void ByRuleBackward(const HloInstruction& user, int operand,
                    const Context& context, LeafReader reader,
                    std::vector<LeafSharding>* found) {
  if (HloPredicateIsOp<HloOpcode::kDot, HloOpcode::kConvolution>(&user)) {
    return ProductBackward(user, operand, context, reader, found);
  }
  if (KeepsTiles(user)) {
    return KeptBackward(user, operand, context, reader, found);
  }
  const int first_start = user.opcode() == HloOpcode::kDynamicSlice ? 1
                          : user.opcode() == HloOpcode::kDynamicUpdateSlice
                              ? 2
                              : -1;
  if (first_start > 0 && operand >= first_start) {
    // All devices need to know where a slice begins. Where one is written,
    // only what is whole says so.
    const HloSharding* sharding = reader(&user, 0);
    if (sharding != nullptr && MaySpread(*sharding) &&
        (user.opcode() == HloOpcode::kDynamicSlice ||
         sharding->IsReplicatedLeaf())) {
      found->push_back({0, HloSharding::Replicate()});
    }
    return;
  }
  // Not the value that a reduction begins with.
  if (user.opcode() == HloOpcode::kReduce &&
      user.operand(operand)->shape().dimensions().empty()) {
    return;
  }
  const std::optional<OpShardingRule> rule = GetOpShardingRule(user);
  if (!rule || !OperandMayTakePart(user, operand, context)) return;
  const int tensors = static_cast<int>(rule->tensors.size());
  auto add = [&](int from, const HloSharding* sharding) {
    if (sharding == nullptr || !MaySpread(*sharding)) return;
    std::optional<HloSharding> mapped = Along(*rule, from, operand, *sharding);
    if (!mapped ||
        (mapped->IsReplicatedLeaf() && user.opcode() != HloOpcode::kBroadcast &&
         SaysNothingWhole(user, operand))) {
      return;
    }
    if (user.opcode() == HloOpcode::kReverse) {
      mapped = hlo_sharding_util::ReverseSharding(*mapped, user.dimensions());
    }
    found->push_back({0, *std::move(mapped)});
  };
  if (user.opcode() == HloOpcode::kScatter) {
    const int n = static_cast<int>(user.operand_count() / 2);
    // Indices stand beside the updates; the result says nothing of them.
    if (operand == n) {
      if (reader(&user, 0) == nullptr) return;
      for (int t = n + 1; t < rule->num_operands; ++t) {
        add(t, reader(user.operand(t), 0));
      }
      return;
    }
    // What is written to is all of the result.
    const HloSharding* result = operand < n ? reader(&user, operand) : nullptr;
    if (result != nullptr && result->IsReplicatedLeaf()) {
      found->push_back({0, *result});
      return;
    }
  }
  for (int t = rule->num_operands; t < tensors; ++t) {
    add(t, reader(&user, t - rule->num_operands));
  }
  // The other operands of reductions and scatters stand beside it.
  if (!found->empty() &&
      HloPredicateIsOp<HloOpcode::kReduce, HloOpcode::kScatter>(&user)) {
    for (int t = 0; t < rule->num_operands; ++t) {
      if (t == operand) continue;
      const HloSharding* other = reader(user.operand(t), 0);
      if (other != nullptr && other->IsTiledLeaf()) add(t, other);
    }
  }
}

void CustomCallBackward(const HloInstruction& inst, const HloInstruction& user,
                        const Context& context, LeafReader reader,
                        std::vector<LeafSharding>* found) {
  const HloSharding* sharding = reader(&user, 0);
  if (sharding == nullptr || !MaySpread(*sharding)) return;
  if (IsManualBorder(user)) {
    if (auto across = context.Across(user, sharding, /*back=*/true)) {
      found->push_back({0, *std::move(across)});
    }
    return;
  }
  if (IsPassThroughCustomCall(user)) {
    if (ShapeUtil::SameDimensions(inst.shape(), user.shape())) {
      found->push_back({0, *sharding});
    }
    return;
  }
  const CustomCallShardingHelper* helper =
      GetCustomCallPartitioner(user.custom_call_target());
  for (const CustomCallShardingHelper* h : {helper, context.helper}) {
    if (h == nullptr || !h->IsCustomCallShardable(&user) ||
        !h->CanPropagateShardingToOperands(&user) ||
        !ShapeUtil::SameDimensions(inst.shape(), user.shape())) {
      continue;
    }
    found->push_back({0, h->PropagateUserSharding(&inst, &user, *sharding)});
    return;
  }
}

std::vector<LeafSharding> CustomCallForward(const HloInstruction& inst,
                                            const Context& context,
                                            LeafReader reader) {
  if (IsManualBorder(inst)) {
    auto across = context.Across(inst, reader(inst.operand(0), 0),
                                 /*back=*/false);
    if (!across.has_value()) return {};
    return {{0, *std::move(across)}};
  }
  if (IsPassThroughCustomCall(inst)) {
    const HloSharding* sharding = reader(inst.operand(0), 0);
    if (sharding == nullptr || !MaySpread(*sharding) ||
        !Fits(*sharding, inst.shape())) {
      return {};
    }
    return {{0, *sharding}};
  }
  const CustomCallShardingHelper* partitioner =
      GetCustomCallPartitioner(inst.custom_call_target());
  for (const CustomCallShardingHelper* h : {partitioner, context.helper}) {
    if (h == nullptr || !h->IsCustomCallShardable(&inst)) continue;
    std::optional<HloSharding> sharding = h->InferShardingFromOperands(&inst);
    if (sharding && !sharding->IsTuple()) return {{0, *std::move(sharding)}};
  }
  return ByRuleForward(inst, context, reader);
}

// The parameter that operand `index` of a call or conditional becomes.
const HloInstruction* CalleeParameter(const HloInstruction& caller,
                                      int64_t index) {
  if (caller.opcode() == HloOpcode::kCall) {
    return caller.to_apply()->parameter_instruction(index);
  }
  if (index == 0) return nullptr;
  return caller.branch_computation(index - 1)->parameter_instruction(0);
}

}  // namespace

std::optional<HloSharding> Context::Across(const HloInstruction& border,
                                           const HloSharding* sharding,
                                           bool back) const {
  const auto it = borders.find(&border);
  if (it == borders.end() || sharding == nullptr) return std::nullopt;
  return EntersManualRegion(border) != back ? it->second.Inside(*sharding)
                                            : it->second.Outside(*sharding);
}

const std::vector<int64_t>& TupleIndex::FirstLeaves(
    const HloInstruction& tuple) {
  auto [it, added] = first_leaves_.try_emplace(&tuple);
  if (added) {
    int64_t leaf = 0;
    for (const Shape& element : tuple.shape().tuple_shapes()) {
      it->second.push_back(leaf);
      leaf += NumLeaves(element);
    }
    it->second.push_back(leaf);
  }
  return it->second;
}

absl::InlinedVector<int64_t, 2> TupleIndex::Uses(
    const HloInstruction& user, const HloInstruction& operand) {
  // Fewer are searched faster than a map of them is made.
  constexpr int64_t kManyOperands = 16;
  if (user.operand_count() < kManyOperands) {
    absl::InlinedVector<int64_t, 2> uses;
    for (int64_t i = 0; i < user.operand_count(); ++i) {
      if (user.operand(i) == &operand) uses.push_back(i);
    }
    return uses;
  }
  auto [it, added] = uses_.try_emplace(&user);
  if (added) {
    for (int64_t i = 0; i < user.operand_count(); ++i) {
      it->second[user.operand(i)].push_back(i);
    }
  }
  return it->second[&operand];
}

const HloSharding* ReadInstruction(const HloInstruction* inst, int64_t leaf) {
  if (!inst->has_sharding()) return nullptr;
  const HloSharding* sharding = &inst->sharding();
  if (sharding->IsTuple()) {
    if (leaf >= static_cast<int64_t>(sharding->tuple_elements().size())) {
      return nullptr;
    }
    sharding = &sharding->tuple_elements()[leaf];
  }
  return sharding->IsUnknownLeaf() ? nullptr : sharding;
}

int64_t NumLeaves(const Shape& shape) {
  if (!shape.IsTuple()) return 1;
  int64_t leaves = 0;
  for (const Shape& element : shape.tuple_shapes()) {
    leaves += NumLeaves(element);
  }
  return leaves;
}

bool Fits(const HloSharding& sharding, const Shape& shape) {
  if (sharding.IsTuple()) return false;
  if (!sharding.IsTiledLeaf()) return true;
  return shape.IsArray() && sharding.TiledDataRank() ==
                                static_cast<int64_t>(shape.dimensions().size());
}

bool IsPassThroughCustomCall(const HloInstruction& inst) {
  if (inst.opcode() != HloOpcode::kCustomCall || inst.operand_count() == 0 ||
      !inst.shape().IsArray()) {
    return false;
  }
  if (inst.IsCustomCall({"Sharding", "X64Combine", "LayoutConstraint",
                         "ShardBarrierFrom", "ShardBarrierTo"})) {
    return true;
  }
  return inst.operand_count() == 1 && inst.operand(0)->shape().IsArray() &&
         inst.operand(0)->shape().dimensions().size() ==
             inst.shape().dimensions().size() &&
         inst.IsCustomCall({"ResizeNearest", "ResizeBilinear",
                            "ResizeNearestGrad", "ResizeBilinearGrad",
                            "Cholesky", "MoveToDevice", "MoveToHost",
                            "PinToDevice", "PinToDeviceSram"});
}

// The level at which a sharding first flows through the instruction: 0 for
// instructions that only move elements or compute element by element, 1 for
// those that combine dimensions, and last for broadcasts, whose new dimensions
// the operand knows nothing about. Early levels thus fix what is certain before
// guesses can spread.
int64_t ForwardLevel(const HloInstruction& inst, const Context& context) {
  if (inst.IsCustomCall("ShardBarrierFrom")) return kNever;
  if (NeedsSpmd(inst) && !context.is_spmd) return kNever;
  switch (inst.opcode()) {
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
    case HloOpcode::kRng:
    case HloOpcode::kRngBitGenerator:
    case HloOpcode::kRngGetAndUpdateState:
      return kNever;
    case HloOpcode::kBroadcast:
      return 3;
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
      return 0;
    case HloOpcode::kConcatenate:
      return ConcatenatesArguments(inst) ? 0 : 1;
    default:  // Early where elements only move.
      return IsFormatting(inst) ? 0 : 1;
  }
}

int64_t BackwardLevel(const HloInstruction& inst, const Context& context) {
  if (inst.IsCustomCall("ShardBarrierTo")) return kNever;
  if (NeedsSpmd(inst) && !context.is_spmd) return kNever;
  switch (inst.opcode()) {
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
    case HloOpcode::kRngBitGenerator:
      return 0;
    case HloOpcode::kBroadcast:
      return 2;
    default:  // Early where elements only move.
      return IsFormatting(inst) ? 0 : 1;
  }
}

std::vector<LeafSharding> FromOperands(const HloInstruction& inst,
                                       const Context& context,
                                       LeafReader reader) {
  if (inst.operand_count() == 0 ||
      ForwardLevel(inst, context) > context.level) {
    return {};
  }
  std::vector<LeafSharding> found;
  auto copy = [&](const HloInstruction* from, int64_t leaf, int64_t to) {
    const HloSharding* sharding = reader(from, leaf);
    if (sharding != nullptr) found.push_back({to, *sharding});
  };
  switch (inst.opcode()) {
    case HloOpcode::kTuple: {
      int64_t leaf = 0;
      for (const HloInstruction* operand : inst.operands()) {
        const int64_t leaves = NumLeaves(operand->shape());
        for (int64_t i = 0; i < leaves; ++i, ++leaf) {
          const HloSharding* sharding = reader(operand, i);
          if (sharding != nullptr && MaySpread(*sharding)) {
            found.push_back({leaf, *sharding});
          }
        }
      }
      return found;
    }
    case HloOpcode::kGetTupleElement: {
      const int64_t first =
          context.tuples->FirstLeaves(*inst.operand(0))[inst.tuple_index()];
      const int64_t leaves = NumLeaves(inst.shape());
      for (int64_t i = 0; i < leaves; ++i) copy(inst.operand(0), first + i, i);
      return found;
    }
    case HloOpcode::kReshape: {
      const HloSharding* sharding = reader(inst.operand(0), 0);
      if (sharding == nullptr || !MaySpread(*sharding)) return found;
      std::optional<HloSharding> mapped =
          ThroughReshape(inst.operand(0)->shape(), inst.shape(), *sharding);
      if (mapped) found.push_back({0, *std::move(mapped)});
      return found;
    }
    case HloOpcode::kCustomCall:
      return CustomCallForward(inst, context, reader);
    default:  // The operand's, or by its sharding rule.
      if (!IsIdentity(inst) || IsArrayCopy(inst)) {
        return ByRuleForward(inst, context, reader);
      }
      for (int64_t i = 0; i < NumLeaves(inst.shape()); ++i) {
        copy(inst.operand(0), i, i);
      }
      return found;
  }
}

std::vector<LeafSharding> FromUser(const HloInstruction& inst,
                                   const HloInstruction& user,
                                   const Context& context, LeafReader reader) {
  if (BackwardLevel(user, context) > context.level) return {};
  // The operand of a broadcast is usually small and replicated: its users
  // decide late.
  if (inst.opcode() == HloOpcode::kBroadcast && context.level < 2) return {};
  std::vector<LeafSharding> found;
  auto copy = [&](const HloInstruction* from, int64_t leaf, int64_t to) {
    const HloSharding* sharding = reader(from, leaf);
    if (sharding != nullptr) found.push_back({to, *sharding});
  };
  if (user.opcode() == HloOpcode::kGetTupleElement) {
    const int64_t first = context.tuples->FirstLeaves(inst)[user.tuple_index()];
    for (int64_t i = 0; i < NumLeaves(user.shape()); ++i) {
      copy(&user, i, first + i);
    }
    return found;
  }
  const int64_t leaves = NumLeaves(inst.shape());
  for (int64_t k : context.tuples->Uses(user, inst)) {
    switch (user.opcode()) {
      case HloOpcode::kTuple: {
        const int64_t first = context.tuples->FirstLeaves(user)[k];
        for (int64_t i = 0; i < leaves; ++i) copy(&user, first + i, i);
        break;
      }
      case HloOpcode::kCall:
      case HloOpcode::kConditional: {
        const HloInstruction* parameter = CalleeParameter(user, k);
        if (parameter == nullptr) break;
        for (int64_t i = 0; i < leaves; ++i) copy(parameter, i, i);
        break;
      }
      case HloOpcode::kRngBitGenerator:
        found.push_back({0, HloSharding::Replicate()});
        break;
      case HloOpcode::kReshape: {
        const HloSharding* sharding = reader(&user, 0);
        if (sharding == nullptr || !MaySpread(*sharding)) break;
        std::optional<HloSharding> mapped =
            ThroughReshape(user.shape(), inst.shape(), *sharding);
        if (mapped) found.push_back({0, *std::move(mapped)});
        break;
      }
      case HloOpcode::kCustomCall:
        CustomCallBackward(inst, user, context, reader, &found);
        break;
      default:  // The user's, or by its sharding rule.
        if (IsIdentity(user) && !IsArrayCopy(user)) {
          for (int64_t i = 0; i < leaves; ++i) copy(&user, i, i);
        } else if (inst.shape().IsArray()) {
          ByRuleBackward(user, static_cast<int>(k), context, reader, &found);
        }
        break;
    }
  }
  return found;
}

}  // namespace xla::sharding_edges
