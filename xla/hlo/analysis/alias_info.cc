#include "xla/hlo/analysis/alias_info.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using InPlacePair = AliasInfo::InPlacePair;

// Fusions in fusions that an update is followed through.
constexpr size_t kMaxFusionNesting = 100;

bool HasDestinationBuffers(const HloInstruction& permute) {
  // (source, destination, indices in the source, indices in the destination);
  // four arrays without slices are four sources.
  return permute.operand_count() == 4 &&
         (permute.operand(1)->shape().IsTuple() ||
          !permute.dynamic_slice_sizes_list().empty());
}

std::vector<InPlacePair> ListedPairs(const HloInstruction& inst) {
  std::vector<InPlacePair> pairs;
  for (const auto& [output, operand] : inst.output_operand_aliasing()) {
    pairs.push_back({HloOperandIndex{operand.first, operand.second}, output});
  }
  return pairs;
}

// Whether a link shows the output of a pair already, rather than ().
bool Shows(const HloInstruction& link, const ShapeIndex& output,
           const HloInstruction& operand, const ShapeIndex& index) {
  return ShapeUtil::IndexIsValid(link.shape(), output) &&
         ShapeUtil::IndexIsValid(operand.shape(), index) &&
         ShapeUtil::EqualStructure(
             ShapeUtil::GetSubshape(link.shape(), output),
             ShapeUtil::GetSubshape(operand.shape(), index));
}

// Those of the pairs for the whole call whose operand the start binds and whose
// output it shows.
std::vector<InPlacePair> StartPairs(const HloInstruction& start) {
  std::vector<InPlacePair> pairs;
  for (InPlacePair& pair : ListedPairs(start)) {
    const auto& [source, output] = pair;
    if (source.operand_number < start.operand_count() &&
        Shows(start, output, *start.operand(source.operand_number),
              source.operand_index)) {
      pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

// Operands that the state before the link shows; -1: it is no such state.
int64_t OperandsBoundBefore(const HloInstruction& link) {
  const Shape& state = link.operand(0)->shape();
  return state.IsTuple() && !state.tuple_shapes().empty() &&
                 state.tuple_shapes(0).IsTuple()
             ? state.tuple_shapes(0).tuple_shapes_size()
             : -1;
}

// Its own pairs, and those of the start with what it binds.
std::vector<InPlacePair> UpdatePairs(const HloInstruction& update) {
  std::vector<InPlacePair> pairs = ListedPairs(update);
  const int64_t before = OperandsBoundBefore(update);
  if (update.operand_count() == 1 || before < 0) return pairs;
  const HloInstruction* start = update.async_chain_start();
  if (start == nullptr) return pairs;
  for (auto& [source, output] : ListedPairs(*start)) {
    const int64_t operand = source.operand_number - before + 1;
    if (operand >= 1 && operand < update.operand_count() &&
        Shows(update, output, *update.operand(operand), source.operand_index)) {
      pairs.push_back({HloOperandIndex{operand, source.operand_index}, output});
    }
  }
  return pairs;
}

// Results that the start aliases to operands, which the state shows at {0}.
std::vector<InPlacePair> DonePairs(const HloInstruction& done) {
  std::vector<InPlacePair> pairs;
  const HloInstruction* start = done.async_chain_start();
  if (start == nullptr) return pairs;
  for (auto& [source, output] : ListedPairs(*start)) {
    if (output.empty() || output.front() != 1) continue;
    output.pop_front();
    ShapeIndex operand = std::move(source.operand_index);
    operand.push_front(source.operand_number);
    operand.push_front(0);
    if (ShapeUtil::IndexIsValid(done.operand(0)->shape(), operand) &&
        ShapeUtil::IndexIsValid(done.shape(), output)) {
      pairs.push_back({HloOperandIndex{0, std::move(operand)}, output});
    }
  }
  return pairs;
}

// The first `count` operands are the results, one by one.
std::vector<InPlacePair> LeadingOperands(int64_t count) {
  if (count == 1) return {{HloOperandIndex{0, {}}, {}}};
  std::vector<InPlacePair> pairs;
  for (int64_t i = 0; i < count; ++i) {
    pairs.push_back({HloOperandIndex{i, {}}, {i}});
  }
  return pairs;
}

std::vector<InPlacePair> PermutePairs(const HloInstruction& permute) {
  if (!HasDestinationBuffers(permute)) return {};
  // The start's shape is (sources, destinations, …).
  ShapeIndex output;
  if (permute.opcode() == HloOpcode::kCollectivePermuteStart) output = {1};
  const Shape& destination = permute.operand(1)->shape();
  std::vector<InPlacePair> pairs = {{HloOperandIndex{1, {}}, output}};
  if (!destination.IsTuple()) return pairs;
  for (int64_t i = 0; i < destination.tuple_shapes_size(); ++i) {
    ShapeIndex element = output;
    element.push_back(i);
    pairs.push_back({HloOperandIndex{1, {i}}, element});
  }
  return pairs;
}

}  // namespace

std::pair<const HloInstruction*, ShapeIndex> FollowTupleIndirection(
    const HloInstruction* instruction, ShapeIndex operand_index) {
  while (instruction->opcode() == HloOpcode::kTuple && !operand_index.empty()) {
    instruction = instruction->operand(operand_index.front());
    operand_index.pop_front();
  }
  while (instruction->opcode() == HloOpcode::kGetTupleElement) {
    operand_index.push_front(instruction->tuple_index());
    instruction = instruction->operand(0);
  }
  return {instruction, std::move(operand_index)};
}

std::pair<const HloInstruction*, ShapeIndex> FollowTuplesToTheEnd(
    const HloInstruction* instruction, ShapeIndex operand_index) {
  while (true) {
    if (instruction->opcode() == HloOpcode::kGetTupleElement) {
      operand_index.push_front(instruction->tuple_index());
      instruction = instruction->operand(0);
    } else if (instruction->opcode() == HloOpcode::kTuple &&
               !operand_index.empty() &&
               operand_index.front() < instruction->operand_count()) {
      instruction = instruction->operand(operand_index.front());
      operand_index.pop_front();
    } else {
      return {instruction, std::move(operand_index)};
    }
  }
}

bool IsDefaultInPlaceOperation(const HloInstruction* hlo) {
  switch (hlo->opcode()) {
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kScatter:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kSetDimensionSize:
    case HloOpcode::kRaggedAllToAll:
      return true;
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kCollectivePermuteStart:
      return HasDestinationBuffers(*hlo);
    default:  // Not in place by its opcode alone.
      return false;
  }
}

std::vector<InPlacePair> AliasInfo::GetInPlaceInputOutputPairs(
    const HloInstruction* user) const {
  if (auto pairs = GetNonDefaultInPlaceInputOutputPairs(user)) {
    return *std::move(pairs);
  }
  switch (user->opcode()) {
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kSetDimensionSize:
      return LeadingOperands(1);
    case HloOpcode::kRaggedAllToAll:
      return {{HloOperandIndex{1, {}}, {}}};
    case HloOpcode::kScatter:
      // Operands, indices, as many updates as operands.
      return LeadingOperands(user->operand_count() / 2);
    case HloOpcode::kAllReduceStart:
      return LeadingOperands(user->operand_count());
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kCollectivePermuteStart:
      return PermutePairs(*user);
    case HloOpcode::kCustomCall:
      return ListedPairs(*user);
    case HloOpcode::kAsyncStart:
      return StartPairs(*user);
    case HloOpcode::kAsyncUpdate:
      return UpdatePairs(*user);
    case HloOpcode::kAsyncDone:
      return DonePairs(*user);
    case HloOpcode::kFusion:
      return FusionPairs(user);
    case HloOpcode::kAllGather:
    case HloOpcode::kAllGatherStart:
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllToAll:
    case HloOpcode::kBitcast:
    case HloOpcode::kCollectiveBroadcast:
    case HloOpcode::kCopy:
    case HloOpcode::kDynamicReshape:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kGather:
    case HloOpcode::kGetDimensionSize:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kTuple:
    case XLA_ANY_LARGE_KERNEL:
    case XLA_ANY_ELEMENTWISE:
    case XLA_ANY_REARRANGEMENT:
    case XLA_ANY_SOURCE:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_ORDERING:
    case XLA_ANY_COLLECTIVE_DONE:
    case XLA_ANY_COPY_PAIR:
    case XLA_ANY_TRANSFER:
    case XLA_ANY_FEED:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  return {};
}

// Follows a fusion's output backwards through a chain of in-place updates,
// bitcasts, tuples and nested fusions to the parameter whose buffer the chain
// updates. Returns the last update of the chain, or null if there is no such
// chain. Intermediate states must have a single user, since the next update
// destroys them.
const HloInstruction* AliasInfo::TraceUpdates(const HloInstruction* fusion,
                                              const ShapeIndex& output,
                                              HloOperandIndex* source) const {
  const HloInstruction* inst = fusion->fused_expression_root();
  ShapeIndex index = output;
  // Fusions within the fusion that `inst` is inside of.
  std::vector<const HloInstruction*> inside;
  const HloInstruction* update = nullptr;
  bool through_bitcast = false;
  while (true) {
    std::tie(inst, index) = FollowTuplesToTheEnd(inst, std::move(index));
    if (inst->opcode() == HloOpcode::kBitcast) {
      inst = inst->operand(0);
      through_bitcast = true;
      continue;
    }
    if (inst->opcode() == HloOpcode::kParameter) {
      if (inside.empty()) break;
      inst = inside.back()->operand(inst->parameter_number());
      inside.pop_back();
      continue;
    }
    const bool is_fusion = inst->opcode() == HloOpcode::kFusion;
    // What a fusion inside is told to alias holds for its own shape.
    std::vector<InPlacePair> pairs;
    if (!is_fusion) {
      pairs = GetInPlaceInputOutputPairs(inst);
    } else if (!through_bitcast) {
      pairs = ListedPairs(*inst);
    }
    auto pair = std::find_if(
        pairs.begin(), pairs.end(), [&](const InPlacePair& candidate) {
          return candidate.second == index &&
                 candidate.first.operand_number < inst->operand_count();
        });
    if (pair == pairs.end()) {
      if (!is_fusion || inside.size() > kMaxFusionNesting) return nullptr;
      inside.push_back(inst);
      inst = inst->fused_expression_root();
      continue;
    }
    // A kernel makes one update in place: of two, a thread could read what the
    // first one of another thread has not written yet.
    if (update != nullptr) return nullptr;
    update = inst;
    index = pair->first.operand_index;
    inst = inst->operand(pair->first.operand_number);
  }
  *source = {inst->parameter_number(), std::move(index)};
  return update;
}

// Explicit aliases first, then outputs that trace back to a parameter by
// updates. Outputs may share a parameter only if they are the same update.
std::vector<InPlacePair> AliasInfo::FusionPairs(
    const HloInstruction* fusion) const {
  const std::vector<InPlacePair> annotated = ListedPairs(*fusion);
  absl::flat_hash_set<ShapeIndex> listed;
  for (const InPlacePair& pair : annotated) listed.insert(pair.second);
  std::vector<InPlacePair> pairs;
  // Two different results cannot both be where one parameter is.
  absl::flat_hash_map<HloOperandIndex, const HloInstruction*> made_by;
  ShapeUtil::ForEachLeafShape(
      fusion->shape(), [&](const Shape& shape, const ShapeIndex& output) {
        if (!shape.IsArray() || listed.contains(output)) return;
        HloOperandIndex source;
        const HloInstruction* update = TraceUpdates(fusion, output, &source);
        if (update == nullptr) return;
        if (made_by.try_emplace(source, update).first->second == update) {
          pairs.push_back({std::move(source), output});
        }
      });
  pairs.insert(pairs.end(), annotated.begin(), annotated.end());
  return pairs;
}

bool AliasInfo::MustAlias(const HloInstruction* operand,
                          const ShapeIndex& operand_index,
                          const HloInstruction* user,
                          const ShapeIndex& user_index) const {
  for (const InPlacePair& pair : GetInPlaceInputOutputPairs(user)) {
    if (pair.second == user_index &&
        pair.first.operand_index == operand_index &&
        pair.first.operand_number < user->operand_count() &&
        user->operand(pair.first.operand_number) == operand) {
      return true;
    }
  }
  return false;
}

}  // namespace xla
