#include "xla/backends/gpu/transforms/mof/mof_kernels.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/lowering/check_lowered.h"
#include "xla/backends/gpu/model/fusion_hero.h"
#include "xla/backends/gpu/transforms/mof/mof_nested_reductions.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/in_place_fusion.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

// Parents below this are read twice rather than looked at.
constexpr int64_t kMinBytesToCompareSlices = 1024;

bool HasUpdateAsRoot(const HloInstruction& kernel) {
  for (const HloInstruction* output : GetOutputsOfFusible(kernel)) {
    while (output->opcode() == HloOpcode::kBitcast) output = output->operand(0);
    if (output->opcode() == HloOpcode::kDynamicUpdateSlice) return true;
  }
  return false;
}

FusionDecision CompareTimes(const GpuPerformanceModel::RunTimes& times) {
  if (times.time_fused <= times.time_unfused) return FusionDecision::Allow();
  const double fused = absl::ToDoubleMicroseconds(times.time_fused);
  const double unfused = absl::ToDoubleMicroseconds(times.time_unfused);
  return FusionDecision::Forbid(absl::StrFormat(
      "slower by %.1f %%: %.2f > %.2f us",
      unfused > 0 ? 100 * (fused / unfused - 1) : 100.0, fused, unfused));
}

// `consumer` reads an output of the fusion `producer`.
bool ReadsOutputOf(const HloInstruction& consumer,
                   const HloInstruction& producer) {
  return absl::c_any_of(consumer.operands(), [&](const HloInstruction* value) {
    return value->opcode() == HloOpcode::kGetTupleElement &&
           value->operand(0) == &producer;
  });
}

// Whether everything that the output is computed from, within its fusion, lies
// in memory in the order in which it is read: no physical transpose on the way,
// or none but of rows.
bool KeepsOrder(const HloInstruction& output, const MofContext& context) {
  std::vector<const HloInstruction*> worklist = {&output};
  absl::flat_hash_set<const HloInstruction*> seen;
  while (!worklist.empty()) {
    const HloInstruction* value = worklist.back();
    worklist.pop_back();
    if (!seen.insert(value).second) continue;
    if (context.rows_join_tiles ? !TransposesAtMostRows(*value, *context.device)
                                : IsPhysicallyTransposing(*value)) {
      return false;
    }
    worklist.insert(worklist.end(), value->operands().begin(),
                    value->operands().end());
  }
  return true;
}

// Whether what follows the hero is no chain of instructions of one operand: a
// code generator follows no others from the result to its reduction.
bool IsCombined(const HloInstruction& output, const HloInstruction& hero) {
  for (const HloInstruction* value = &output; value != &hero;
       value = value->operand(0)) {
    if (value->operand_count() != 1) return true;
  }
  return false;
}

}  // namespace

// Classifies the outputs: those of a plain loop, and results of reductions that
// are reshaped or combined with other values afterwards. The two are emitted by
// different parts of XLA's kernels and cannot share one (CanWriteTogether).
OutputKinds KindsOfOutputs(const HloInstruction& kernel,
                           const se::DeviceDescription& device) {
  OutputKinds kinds;
  for (const HloInstruction* output : GetOutputsOfFusible(kernel)) {
    if (!IsOutputOfHero(*output, device)) {
      kinds.loop = true;
      continue;
    }
    const HloInstruction& hero = FindNonTrivialHero(*output);
    kinds.reshaped_reduction |=
        hero.opcode() == HloOpcode::kReduce && hero.shape().IsArray() &&
        (!ShapeUtil::SameDimensions(hero.shape(), output->shape()) ||
         IsCombined(*output, hero));
  }
  return kinds;
}

FusionDecision CanWriteTogether(const OutputKinds& a, const OutputKinds& b,
                                KernelTarget target) {
  if (ReductionEpiloguesJoinLoops(target)) return FusionDecision::Allow();
  if ((a.reshaped_reduction && b.loop) || (b.reshaped_reduction && a.loop)) {
    return FusionDecision::Forbid(
        "a reduction's result in other dimensions or computed with other "
        "values, and one of a loop");
  }
  return FusionDecision::Allow();
}

const HloInstruction* OnlySliceOf(const HloInstruction& kernel,
                                  const HloInstruction& operand) {
  const HloInstruction* value = &operand;
  if (kernel.opcode() == HloOpcode::kFusion) {
    const auto indices = kernel.OperandIndices(&operand);
    if (indices.size() != 1) return nullptr;
    value = kernel.fused_parameter(indices[0]);
    if (value->user_count() != 1) return nullptr;
    const HloInstruction* user = value->users()[0];
    return user->opcode() == HloOpcode::kSlice ? user : nullptr;
  }
  return kernel.opcode() == HloOpcode::kSlice ? &kernel : nullptr;
}

// Two slices that do not overlap in some dimension have no element in common,
// so fusing their readers saves no read of the parent.
bool ReadDisjointSlices(const HloInstruction& parent, const HloInstruction& a,
                        const HloInstruction& b) {
  if (!parent.shape().IsArray() ||
      ShapeUtil::ByteSizeOf(parent.shape()) < kMinBytesToCompareSlices) {
    return false;
  }
  const HloInstruction* left = OnlySliceOf(a, parent);
  const HloInstruction* right = OnlySliceOf(b, parent);
  if (left == nullptr || right == nullptr) return false;
  for (int64_t i = 0; i < left->shape().dimensions_size(); ++i) {
    if (left->slice_limits(i) <= right->slice_starts(i) ||
        right->slice_limits(i) <= left->slice_starts(i)) {
      return true;
    }
  }
  return false;
}

// Nodes are post-order positions, so all edges go from lower to higher numbers.
// The get-tuple-elements of a fusion share its node: for cycles they are one
// with it.
MofKernels::MofKernels(HloComputation* computation, const MofContext& context)
    : computation_(computation),
      context_(context),
      order_(computation->MakeInstructionPostOrder()),
      dag_(static_cast<Node>(order_.size())),
      kernels_(order_),
      positions_(order_.size()),
      members_(order_.size()),
      loops_(order_.size()),
      eligible_(order_.size(), false) {
  for (size_t i = 0; i < order_.size(); ++i) {
    const size_t id = order_[i]->local_id();
    if (node_of_.size() <= id) node_of_.resize(id + 1, ContractedDag::kNone);
    const bool is_element =
        order_[i]->opcode() == HloOpcode::kGetTupleElement &&
        order_[i]->operand(0)->opcode() == HloOpcode::kFusion &&
        !order_[i]->HasControlDependencies();
    node_of_[id] = is_element ? node_of_[order_[i]->operand(0)->local_id()]
                              : static_cast<Node>(i);
    positions_[i] = static_cast<int64_t>(i);
  }
  for (size_t i = 0; i < order_.size(); ++i) {
    const Node to = static_cast<Node>(i);
    if (node_of_[order_[i]->local_id()] != to) continue;
    for (const HloInstruction* operand : order_[i]->unique_operands()) {
      dag_.AddEdge(node_of_[operand->local_id()], to);
    }
    for (const HloInstruction* before : order_[i]->control_predecessors()) {
      dag_.AddEdge(node_of_[before->local_id()], to);
    }
  }
}

MofKernels::Node MofKernels::NodeOf(const HloInstruction* instruction) const {
  while (true) {
    const size_t id = instruction->local_id();
    if (id < node_of_.size() && node_of_[id] != ContractedDag::kNone) {
      return dag_.Find(node_of_[id]);
    }
    // Only get-tuple-elements are new without a node.
    CHECK(instruction->opcode() == HloOpcode::kGetTupleElement)
        << instruction->name();
    instruction = instruction->operand(0);
  }
}

FusionDecision MofKernels::IsEligible(const HloInstruction* instruction) const {
  if (instruction->opcode() == HloOpcode::kFusion &&
      instruction->IsCustomFusion()) {
    return FusionDecision::Forbid("custom fusion");
  }
  if (!IsFusibleAsMultiOutputFusionRoot(*instruction, *context_.device) &&
      !(context_.rows_join_tiles &&
        IsTransposeOfRowsOrTiles(*instruction, *context_.device))) {
    return FusionDecision::Forbid(
        absl::StrCat(HloOpcodeString(instruction->opcode()),
                     " is not a root of a multi-output fusion"));
  }
  if (IsNestableVariadicReduction(*instruction, *context_.device)) {
    return FusionDecision::Forbid("a nested reduction with several results");
  }
  if (context_.kernels_for == KernelTarget::kOwn) {
    // It would leave the whole kernel without a lowering.
    const absl::Status lowered = CheckIsLowered(*instruction);
    if (!lowered.ok()) return FusionDecision::Forbid(lowered.message());
  }
  return FusionDecision::Allow();
}

FusionDecision MofKernels::CanBeRoot(const HloInstruction* instruction) const {
  const Node node = NodeOf(instruction);
  // Elements of a fusion have its node.
  if (!eligible_[node] || kernels_[node] != instruction) {
    RETURN_IF_NOT_FUSIBLE(IsEligible(instruction));
    eligible_[node] = kernels_[node] == instruction;
  }
  if (instruction->user_count() == 0) {
    return FusionDecision::Forbid("its result has no users");
  }
  if (instruction->opcode() != HloOpcode::kFusion &&
      instruction->HasControlDependencies()) {
    return FusionDecision::Forbid("control dependencies");
  }
  if (instruction->shape().IsTuple() &&
      !absl::c_all_of(instruction->users(), [](const HloInstruction* user) {
        return user->opcode() == HloOpcode::kGetTupleElement;
      })) {
    return FusionDecision::Forbid("its tuple is read as a whole");
  }
  if (context_.banned->contains(instruction->name())) {
    return FusionDecision::Forbid("fusing it exceeds the memory limit");
  }
  return FusionDecision::Allow();
}

FusionDecision MofKernels::CanBeProducer(
    const HloInstruction* instruction) const {
  RETURN_IF_NOT_FUSIBLE(
      IsProducerMultiOutputFusible(*instruction, context_.alias_info,
                                   *context_.device, context_.rows_join_tiles));
  if (instruction->shape().IsTuple()) {
    return FusionDecision::Forbid("several results");
  }
  if (instruction->opcode() != HloOpcode::kFusion &&
      instruction->HasControlDependencies()) {
    return FusionDecision::Forbid("control dependencies");
  }
  if (context_.banned->contains(instruction->name())) {
    return FusionDecision::Forbid("fusing it exceeds the memory limit");
  }
  return FusionDecision::Allow();
}

// Merging is illegal if a path leads from one kernel through a third one to the
// other. The direct edge is no obstacle for producer-consumer fusion.
FusionDecision MofKernels::CheckCycle(const HloInstruction* a,
                                      const HloInstruction* b,
                                      bool allow_direct) const {
  const Node left = NodeOf(a);
  const Node right = NodeOf(b);
  if (left == right) return FusionDecision::Forbid("one kernel already");
  const Node between = dag_.FindBetween(left, right);
  if (between != ContractedDag::kNone) {
    return FusionDecision::Forbid(
        absl::StrCat("would create a cycle through %",
                     kernels_[dag_.Find(between)]->name()));
  }
  // Nothing else connects them then.
  if (!allow_direct && dag_.HasEdge(left, right)) {
    return FusionDecision::Forbid("one reads the result of the other");
  }
  return FusionDecision::Allow();
}

bool MofKernels::RowsMayJoinTiles(const HloInstruction& a,
                                  const HloInstruction& b) const {
  return context_.rows_join_tiles &&
         TransposesRowsOrTiles(a, *context_.device) &&
         TransposesRowsOrTiles(b, *context_.device);
}

FusionDecision MofKernels::CanFuseSiblings(const HloInstruction* parent,
                                           const HloInstruction* a,
                                           const HloInstruction* b) {
  const Loop left = LoopOf(a);
  const Loop right = LoopOf(b);
  if (left.has_update_as_root || right.has_update_as_root) {
    return FusionDecision::Forbid("a dynamic-update-slice is a root");
  }
  RETURN_IF_NOT_FUSIBLE(HeroesRunAlike(
      *left.hero, *right.hero, *context_.device, RowsMayJoinTiles(*a, *b)));
  RETURN_IF_NOT_FUSIBLE(
      CanWriteTogether(left.outputs, right.outputs, context_.kernels_for));
  if (parent != nullptr && ReadDisjointSlices(*parent, *a, *b)) {
    return FusionDecision::Forbid(absl::StrCat(
        "they read slices of %", parent->name(), " that do not overlap"));
  }
  RETURN_IF_NOT_FUSIBLE(FusionFitsInBudget(*a, *b, *context_.device,
                                           /*is_consumer_producer_fusion=*/
                                           false, context_.cache));
  return CheckCycle(a, b, /*allow_direct=*/false);
}

FusionDecision MofKernels::CanFuseProducer(const HloInstruction* producer,
                                           const HloInstruction* consumer) {
  RETURN_IF_NOT_FUSIBLE(HeroesRunAlike(*LoopOf(producer).hero,
                                       *LoopOf(consumer).hero, *context_.device,
                                       RowsMayJoinTiles(*producer, *consumer)));
  RETURN_IF_NOT_FUSIBLE(CanWriteTogether(LoopOf(producer).outputs,
                                         LoopOf(consumer).outputs,
                                         context_.kernels_for));
  RETURN_IF_NOT_FUSIBLE(
      ShouldFuseInPlaceOp(producer, consumer, context_.alias_info));
  RETURN_IF_NOT_FUSIBLE(CheckCycle(producer, consumer, /*allow_direct=*/true));
  RETURN_IF_NOT_FUSIBLE(FusionFitsInBudget(*consumer, *producer,
                                           *context_.device,
                                           /*is_consumer_producer_fusion=*/
                                           true, context_.cache));
  RETURN_IF_NOT_FUSIBLE(CheckNestedReductions(*producer, *consumer));
  if (context_.model->IsTooLarge(*producer, *consumer)) {
    return FusionDecision::Forbid(
        absl::StrFormat("too large: %.0f > %.0f instructions emitted",
                        context_.model->FusedIrSize(*producer, *consumer),
                        GpuPerformanceModel::kMaxIrSize));
  }
  return FusionDecision::Allow();
}

FusionDecision MofKernels::CanFuseOutputs(const HloInstruction* producer,
                                          const HloInstruction* consumer) {
  if (producer->opcode() != HloOpcode::kFusion) {
    return FusionDecision::Forbid("the producer is not a fusion");
  }
  if (producer->fused_expression_root()->opcode() != HloOpcode::kTuple) {
    return FusionDecision::Forbid("one operation makes all its results");
  }
  RETURN_IF_NOT_FUSIBLE(HeroesRunAlike(*LoopOf(producer).hero,
                                       *LoopOf(consumer).hero, *context_.device,
                                       RowsMayJoinTiles(*producer, *consumer)));
  RETURN_IF_NOT_FUSIBLE(CanWriteTogether(LoopOf(producer).outputs,
                                         LoopOf(consumer).outputs,
                                         context_.kernels_for));
  if (!context_.alias_info->GetInPlaceInputOutputPairs(producer).empty()) {
    return FusionDecision::Forbid("the producer works in place");
  }
  // A kernel with tiles writes them elsewhere as well.
  const bool is_transpose =
      context_.rows_join_tiles &&
      IsTransposeOfRowsOrTiles(*consumer, *context_.device) &&
      (IsInputFusibleTranspose(*producer) ||
       IsInputFusibleTranspose(*consumer));
  const KernelCost& reads = context_.model->costs().Get(*consumer);
  for (int64_t i = 0; i < consumer->operand_count(); ++i) {
    const HloInstruction* value = consumer->operand(i);
    if (value->opcode() != HloOpcode::kGetTupleElement ||
        value->operand(0) != producer) {
      // It would still be read from outside: a cycle.
      if (NodeOf(value) == NodeOf(producer)) {
        return FusionDecision::Forbid(
            absl::StrCat("%", value->name(), " is in a tuple of its results"));
      }
      continue;
    }
    if (!is_transpose && !reads.operands[i].IsReadAlongTheResult()) {
      return FusionDecision::Forbid(
          absl::StrCat("%", value->name(), " is not read element by element"));
    }
    const HloInstruction& output =
        *producer->fused_expression_root()->operand(value->tuple_index());
    if (IsOutputOfHero(output, *context_.device)) {
      return FusionDecision::Forbid(absl::StrCat(
          "%", value->name(), " is made by a reduction or a transpose"));
    }
    if (!KeepsOrder(output, context_)) {
      return FusionDecision::Forbid("the producer transposes in memory");
    }
  }
  RETURN_IF_NOT_FUSIBLE(CheckCycle(producer, consumer, /*allow_direct=*/true));
  RETURN_IF_NOT_FUSIBLE(FusionFitsInBudget(*consumer, *producer,
                                           *context_.device,
                                           /*is_consumer_producer_fusion=*/
                                           false, context_.cache));
  RETURN_IF_NOT_FUSIBLE(CheckNestedReductions(*producer, *consumer));
  const double ir_size =
      reads.ir_size + context_.model->costs().Get(*producer).ir_size;
  if (ir_size > GpuPerformanceModel::kMaxIrSize) {
    return FusionDecision::Forbid(
        absl::StrFormat("too large: %.0f > %.0f instructions emitted", ir_size,
                        GpuPerformanceModel::kMaxIrSize));
  }
  return FusionDecision::Allow();
}

const HloInstruction* MofKernels::ProducerOf(const HloInstruction& a,
                                             const HloInstruction& b) {
  if (b.IsUserOf(&a)) return &a;
  if (a.IsUserOf(&b)) return &b;
  if (a.shape().IsTuple() && ReadsOutputOf(b, a)) return &a;
  return b.shape().IsTuple() && ReadsOutputOf(a, b) ? &b : nullptr;
}

FusionDecision MofKernels::IsWorthFusing(const HloInstruction* producer,
                                         const HloInstruction* consumer) {
  if (producer->user_count() == 1 && !consumer->IsMultiOutputFusion()) {
    return FusionDecision::Forbid(
        "it is read by this kernel alone: no second output is needed");
  }
  return CompareTimes(context_.model->EstimateRunTimesForMultiOutputFusion(
      *producer, *consumer));
}

bool MofKernels::IsFull(const HloInstruction* kernel) const {
  return kernel->operand_count() +
             static_cast<int64_t>(GetOutputSizeOfFusible(*kernel)) >=
         MaxOperandsAndOutputsPerFusion();
}

MofKernels::Loop MofKernels::FindLoop(const HloInstruction& kernel) const {
  Loop loop;
  loop.hero = GetRealHeroForMultiOutputFusion(kernel, *context_.device);
  loop.is_real = IsOutputOfHero(*loop.hero, *context_.device);
  loop.has_update_as_root = HasUpdateAsRoot(kernel);
  loop.outputs = KindsOfOutputs(kernel, *context_.device);
  const Shape* shape = &loop.hero->shape();
  if (loop.hero->opcode() == HloOpcode::kReduce ||
      loop.hero->opcode() == HloOpcode::kTranspose) {
    shape = &loop.hero->operand(0)->shape();
  }
  while (shape->IsTuple() && shape->tuple_shapes_size() > 0) {
    shape = &shape->tuple_shapes(0);
  }
  loop.elements = shape->IsArray() ? ShapeUtil::ElementsIn(*shape) : 0;
  return loop;
}

MofKernels::Loop MofKernels::LoopOf(const HloInstruction* kernel) {
  const Node node = NodeOf(kernel);
  // Elements of a fusion have its node.
  if (kernels_[node] != kernel) return FindLoop(*kernel);
  if (loops_[node].hero == nullptr) loops_[node] = FindLoop(*kernel);
  return loops_[node];
}

void MofKernels::Forget(const HloInstruction* kernel) {
  loops_[NodeOf(kernel)] = {};
  context_.model->Invalidate(*kernel);
  context_.cache->Invalidate(kernel);
}

MofKernels::Facts MofKernels::FactsOf(const HloInstruction& a,
                                      const HloInstruction& b) {
  Facts facts;
  facts.shared_memory = context_.cache->GetSharedMemoryUsage(a) +
                        context_.cache->GetSharedMemoryUsage(b);
  facts.unnested_reductions = context_.cache->GetNumUnnestedReductions(a) +
                              context_.cache->GetNumUnnestedReductions(b);
  facts.cost = context_.model->CostOfMerged(a, b);
  return facts;
}

void MofKernels::Remember(const HloInstruction* fusion, Facts facts) {
  context_.model->costs().Set(*fusion, std::move(facts.cost));
  context_.cache->Set(fusion, facts.shared_memory, facts.unnested_reductions);
}

HloInstruction* MofKernels::Wrap(HloInstruction* plain,
                                 HloInstruction::FusionKind kind) {
  const Node node = NodeOf(plain);
  Forget(plain);
  HloInstruction* fusion = computation_->AddInstruction(
      HloInstruction::CreateFusion(plain->shape(), kind, plain));
  const size_t id = fusion->local_id();
  if (node_of_.size() <= id) node_of_.resize(id + 1, ContractedDag::kNone);
  node_of_[id] = node;
  kernels_[node] = fusion;
  members_[node].push_back(std::string(plain->name()));
  CHECK_OK(plain->ReplaceAllUsesWith(fusion));
  CHECK_OK(computation_->RemoveInstruction(plain));
  return fusion;
}

void MofKernels::Absorb(HloInstruction* fusion, Node fusion_node,
                        Node gone_node) {
  const int64_t position =
      std::max(positions_[fusion_node], positions_[gone_node]);
  std::vector<std::string> members = std::move(members_[fusion_node]);
  absl::c_move(members_[gone_node], std::back_inserter(members));
  members_[fusion_node].clear();
  members_[gone_node].clear();
  dag_.Merge(fusion_node, gone_node);
  const Node node = dag_.Find(fusion_node);
  kernels_[node] = fusion;
  eligible_[node] = true;
  positions_[node] = position;
  members_[node] = std::move(members);
}

HloInstruction* MofKernels::FuseSiblings(HloInstruction* into,
                                         HloInstruction* sibling) {
  using FusionKind = HloInstruction::FusionKind;
  Facts facts = FactsOf(*into, *sibling);
  const bool sibling_is_input =
      sibling->opcode() == HloOpcode::kFusion
          ? sibling->fusion_kind() == FusionKind::kInput
          : IsInputFusible(*sibling, *context_.device);
  if (into->opcode() != HloOpcode::kFusion) {
    into =
        Wrap(into, IsInputFusible(*into, *context_.device) ? FusionKind::kInput
                                                           : FusionKind::kLoop);
  }
  const Node into_node = NodeOf(into);
  const Node sibling_node = NodeOf(sibling);
  // Outputs are added behind those that are there.
  Loop loop = LoopOf(into);
  const Loop added = LoopOf(sibling);
  if (added.is_real && !loop.is_real) {
    // Found anew.
    loop = {};
  }
  loop.has_update_as_root |= added.has_update_as_root;
  loop.outputs.reshaped_reduction |= added.outputs.reshaped_reduction;
  loop.outputs.loop |= added.outputs.loop;
  for (HloInstruction* kernel : {into, sibling}) {
    Forget(kernel);
    const Node node = kernel == into ? into_node : sibling_node;
    if (members_[node].empty()) {
      members_[node].push_back(std::string(kernel->name()));
    }
  }
  if (sibling_is_input) into->set_fusion_kind(FusionKind::kInput);
  if (sibling->opcode() == HloOpcode::kFusion) {
    into->MergeFusionInstructionIntoMultiOutput(sibling);
  } else {
    into->FuseInstructionIntoMultiOutput(sibling);
    CHECK_OK(computation_->RemoveInstruction(sibling));
  }
  Absorb(into, into_node, sibling_node);
  loops_[dag_.Find(into_node)] = loop;
  Remember(into, std::move(facts));
  return into;
}

HloInstruction* MofKernels::FuseProducer(HloInstruction* producer,
                                         HloInstruction* consumer) {
  const HloInstruction::FusionKind kind =
      ChooseFusionKind(*producer, *consumer, *context_.device);
  Facts facts = FactsOf(*producer, *consumer);
  if (consumer->opcode() != HloOpcode::kFusion) {
    consumer = Wrap(consumer, kind);
  }
  const Node producer_node = NodeOf(producer);
  const Node consumer_node = NodeOf(consumer);
  for (HloInstruction* kernel : {consumer, producer}) {
    Forget(kernel);
    const Node node = kernel == consumer ? consumer_node : producer_node;
    if (members_[node].empty()) {
      members_[node].push_back(std::string(kernel->name()));
    }
  }
  consumer->set_fusion_kind(kind);
  if (producer->opcode() == HloOpcode::kFusion) {
    consumer->MergeFusionInstructionIntoMultiOutput(producer);
  } else {
    consumer->FuseInstructionIntoMultiOutput(producer);
    CHECK_OK(computation_->RemoveInstruction(producer));
  }
  Absorb(consumer, consumer_node, producer_node);
  Remember(consumer, std::move(facts));
  return consumer;
}

std::vector<FusionGroup> MofKernels::Groups() const {
  std::vector<FusionGroup> groups;
  for (Node node = 0; node < static_cast<Node>(order_.size()); ++node) {
    if (dag_.Find(node) != node || members_[node].size() < 2) continue;
    groups.push_back({kernels_[node], members_[node]});
  }
  return groups;
}

}  // namespace xla::gpu
