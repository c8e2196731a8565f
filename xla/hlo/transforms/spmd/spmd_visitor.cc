#include "xla/hlo/transforms/spmd/spmd_visitor.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/ir/sharding/unreduced_sharding.h"
#include "xla/hlo/transforms/spmd/dot_factors.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_report.h"
#include "xla/hlo/utils/collectives/collective_ops_utils.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::spmd {
namespace {

// Instructions that hand values on, element by element, whatever their
// shardings are.
bool HandsOn(const HloInstruction* hlo) {
  return HloPredicateIsOp<
      HloOpcode::kCall, HloOpcode::kConditional, HloOpcode::kCustomCall,
      HloOpcode::kGetTupleElement, HloOpcode::kOptimizationBarrier,
      HloOpcode::kParameter, HloOpcode::kTuple, HloOpcode::kWhile>(hlo);
}

// Whether one device may have a result of what it has. Others compute it of
// anything, which they may not do with each other.
bool StaysOnDevice(const HloInstruction& hlo) {
  return hlo.sharding().UniqueDevice().has_value() && !HandsOn(&hlo) &&
         !hlo.HasSideEffect() && !hlo.IsAsynchronous() && !IsCollective(&hlo);
}

// Whether what an instruction calls, for each element or so, draws random
// numbers.
bool DrawsInside(const HloInstruction& hlo) {
  return !HandsOn(&hlo) && !hlo.IsAsynchronous() &&
         !hlo.HasSideEffectNoRecurse() && hlo.HasSideEffect();
}

}  // namespace

SpmdPartitioningVisitor::SpmdPartitioningVisitor(
    HloComputation* computation, int64_t num_partitions, int64_t num_replicas,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, SpmdLogger* logger,
    SpmdPartitionerOptions options, SpmdPartitioner* partitioner,
    const CallGraph& call_graph)
    : module_(computation->parent()),
      num_partitions_(num_partitions),
      num_replicas_(num_replicas),
      collective_ops_creator_(collective_ops_creator),
      next_channel_id_(next_channel_id),
      b_(absl::StrCat(computation->name(), "_spmd"), /*hlo=*/nullptr),
      partition_id_(collective_ops_creator_.create_partition_id(&b_)),
      logger_(logger),
      options_(std::move(options)),
      partitioner_(partitioner),
      call_graph_(call_graph) {}

SpmdPartitioningVisitor::SpmdPartitioningVisitor(
    const SpmdPartitioningVisitor& src)
    : module_(src.module_),
      num_partitions_(src.num_partitions_),
      num_replicas_(src.num_replicas_),
      collective_ops_creator_(src.collective_ops_creator_),
      next_channel_id_(src.next_channel_id_),
      b_("clone_spmd", /*hlo=*/nullptr),
      partition_id_(collective_ops_creator_.create_partition_id(&b_)),
      logger_(src.logger_),
      options_(src.options_),
      partitioner_(src.partitioner_),
      call_graph_(src.call_graph_) {}

std::unique_ptr<SpmdPartitioningVisitor> SpmdPartitioningVisitor::Clone()
    const {
  return std::make_unique<SpmdPartitioningVisitor>(*this);
}

PartitionedHlo::PartitioningState
SpmdPartitioningVisitor::MakePartitioningState() {
  return PartitionedHlo::PartitioningState{&b_,
                                           module_,
                                           num_replicas_,
                                           partition_id_,
                                           collective_ops_creator_,
                                           next_channel_id_,
                                           &reshard_cache_,
                                           partitioner_};
}

PartitionedHlo& SpmdPartitioningVisitor::GetPartitionedHlo(
    const HloInstruction* hlo) {
  auto it = partitioned_instructions_.find(hlo);
  CHECK(it != partitioned_instructions_.end()) << hlo->ToString();
  return it->second;
}

void SpmdPartitioningVisitor::SetPartitionedHlo(
    const HloInstruction* hlo, PartitionedHlo&& partitioned_hlo) {
  NoteReaders(*hlo, partitioned_hlo.hlo());
  const bool inserted =
      partitioned_instructions_.try_emplace(hlo, std::move(partitioned_hlo))
          .second;
  CHECK(inserted) << hlo->ToString();
  changed_ = true;
}

void SpmdPartitioningVisitor::SetPartitionedHlo(const HloInstruction* hlo,
                                                HloInstruction* new_hlo) {
  new_hlo->set_sharding(hlo->sharding());
  SetPartitionedHlo(
      hlo, PartitionedHlo(new_hlo, hlo->shape(), MakePartitioningState()));
}

void SpmdPartitioningVisitor::SetPartitionedHlo(
    const HloInstruction* hlo, absl::FunctionRef<HloInstruction*()> func) {
  SetPartitionedHlo(hlo, func());
}

std::unique_ptr<CollectiveDeviceListBase>
SpmdPartitioningVisitor::CreateReplicaGroups(
    std::vector<std::vector<int64_t>>& groups) {
  std::vector<std::vector<int64_t>> all;
  for (int64_t replica = 0; replica < num_replicas_; ++replica) {
    for (std::vector<int64_t> group : groups) {
      for (int64_t& id : group) id += replica * num_partitions_;
      all.push_back(std::move(group));
    }
  }
  return std::make_unique<CollectiveDeviceList>(
      absl::Span<const std::vector<int64_t>>(all));
}

std::unique_ptr<CollectiveDeviceListBase>
SpmdPartitioningVisitor::CreateReplicaGroups(
    const hlo_sharding_util::DeviceGroupTileAssignment& groups) {
  if (groups.has_iota()) {
    return std::make_unique<IotaReplicaGroupList>(
        ExpandPartitionGroupListAcrossReplicas(
            IotaReplicaGroupList(groups.num_groups(),
                                 groups.num_devices_per_group(),
                                 *groups.iota()),
            num_replicas_, num_partitions_));
  }
  std::vector<std::vector<int64_t>> lists = groups.flattened_device_groups();
  return CreateReplicaGroups(lists);
}

absl::Status SpmdPartitioningVisitor::CheckSharding(
    const HloInstruction* hlo) const {
  const bool is_tuple = hlo->opcode() == HloOpcode::kTuple;
  if (HandsOn(hlo) && !is_tuple) return absl::OkStatus();
  std::optional<ShapeTree<HloSharding>> parts;
  if (is_tuple) parts = hlo->sharding().GetAsShapeTree(hlo->shape());
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    const HloInstruction* operand = hlo->operand(i);
    if (!operand->shape().IsArray()) continue;
    const bool manual = operand->sharding().IsManual();
    const HloSharding& part = is_tuple ? parts->element({i}) : hlo->sharding();
    if (manual == part.IsManual()) continue;
    // Replicated values may enter a manual region.
    if (!manual && operand->sharding().IsReplicated()) continue;
    // A tuple says {replicated} of values that nothing is said of, as loops do
    // of counters in a manual region: no value changes its shape.
    if (is_tuple && part.IsReplicated()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "manual and other shardings meet outside of SPMDFullToShardShape and "
        "SPMDShardToFullShape: ",
        hlo->name(), " has ", hlo->sharding().ToString(), ", its operand ",
        operand->name(), " has ", operand->sharding().ToString()));
  }
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::Preprocess(HloInstruction* hlo) {
  b_.set_visiting_hlo(hlo);
  Explain(WhyWhole::kAsked);
  return CheckSharding(hlo);
}

void SpmdPartitioningVisitor::Explain(WhyWhole why) {
  if (SpmdReport* report = partitioner_->running_report()) {
    report->set_why_whole(why);
  }
}

absl::Status SpmdPartitioningVisitor::Postprocess(HloInstruction* hlo) {
  logger_->RegisterLogEntry(hlo, b_.derived_instructions(hlo));
  b_.set_visiting_hlo(nullptr);
  return absl::OkStatus();
}

namespace {

absl::Status At(const HloInstruction& hlo, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("partitioning ", hlo.name(),
                                                  " in ", hlo.parent()->name(),
                                                  ": ", status.message()));
}

}  // namespace

// Rebuilds the computation for one device. In post order, each instruction is
// replaced by code for its shard, which reads its operands in the sharding it
// needs (inserting communication where that differs from the one they have) and
// leaves its result in the sharding it is annotated with. The new computation
// takes the place of the old one.
absl::StatusOr<bool> SpmdPartitioningVisitor::DoPartition(
    HloComputation* computation, const HloSharding& root_sharding) {
  for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
    RETURN_IF_ERROR(Preprocess(hlo));
    const bool manual = hlo->sharding().IsManual() && !HandsOn(hlo);
    absl::Status status;
    if (manual) {
      status = HandleManual(hlo);
    } else if (DrawsInside(*hlo)) {
      status = HandleRng(hlo);
    } else if (!StaysOnDevice(*hlo) || !HandledOnDeviceOfOperands(hlo)) {
      status = hlo->Visit(this);
    }
    status.Update(b_.status());
    if (!status.ok()) return At(*hlo, status);
    TF_RET_CHECK(partitioned_instructions_.contains(hlo)) << hlo->ToString();
    RETURN_IF_ERROR(Postprocess(hlo));
  }
  HloInstruction* root = computation->root_instruction();
  const size_t own_steps = b_.derived_instructions(root).size();
  b_.set_visiting_hlo(root);
  Explain(WhyWhole::kAsked);
  HloInstruction* new_root =
      GetPartitionedHlo(root).Reshard(root_sharding).hlo();
  if (!b_.status().ok()) return At(*root, b_.status());
  b_.set_visiting_hlo(nullptr);
  HloComputation* new_computation =
      module_->AddEmbeddedComputation(b_.Build(new_root));
  new_computation->SetExecutionThread(computation->execution_thread());
  RETURN_IF_ERROR(
      KeepControlDependencies(*computation, own_steps, new_computation));
  RETURN_IF_ERROR(DoCodeMotionForWindowedDotGeneralLoops(new_computation));
  module_->ReplaceComputations({{computation, new_computation}});
  return changed_;
}

HloInstruction* SpmdPartitioningVisitor::Operand(HloInstruction* hlo,
                                                 int64_t index,
                                                 const HloSharding& sharding) {
  const HloInstruction* operand = hlo->operand(index);
  const PartitionedHlo& shard = GetPartitionedHlo(operand);
  const HloSharding& present = shard.sharding();
  if (sharding.IsSingleDeviceLeaf() && IsMadeAnywhere(*operand, present)) {
    return Operand(hlo, index, HloSharding::Replicate());
  }
  if (present == sharding ||
      !(present.IsTiledLeaf() || present.IsSingleDeviceLeaf()) ||
      !(sharding.IsTiledLeaf() || sharding.IsReplicatedLeaf()) ||
      UnreducedDim(sharding).has_value()) {
    return shard.Reshard(sharding).hlo();
  }
  if (operand->opcode() == HloOpcode::kIota) {
    HloInstruction* iota = AddIota(operand, sharding, partition_id_, &b_);
    iota->set_sharding(sharding);
    return iota;
  }
  HloInstruction* repeated = RepeatedOperand(*operand, present, sharding);
  if (repeated != nullptr) return repeated;
  if (IsComputedAnywhere(*operand) && IsPriced(sharding) &&
      (present.IsSingleDeviceLeaf() || IsPriced(present))) {
    return ComputedAnew(operand, sharding);
  }
  return shard.Reshard(sharding).hlo();
}

HloInstruction* SpmdPartitioningVisitor::ComputedAnew(
    const HloInstruction* hlo, const HloSharding& sharding) {
  PartitionedHlo& present = GetPartitionedHlo(hlo);
  if (present.IsAlso(sharding) ||
      (!present.sharding().IsSingleDeviceLeaf() &&
       ReshardBytes(hlo->shape(), present.sharding(), sharding) == 0)) {
    return present.Reshard(sharding).hlo();
  }
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    // Operand does not change what it is asked for.
    auto* reader = const_cast<HloInstruction*>(hlo);
    const bool alike =
        ShapeUtil::SameDimensions(hlo->operand(i)->shape(), hlo->shape());
    operands.push_back(alike ? Operand(reader, i, sharding)
                             : ReplicatedOperand(reader, i));
  }
  HloInstruction* computed = b_.AddInstruction(hlo->CloneWithNewOperands(
      MakePartitionedShape(hlo->shape(), sharding), operands));
  computed->set_sharding(sharding);
  present.AddReshardCache(
      sharding, PartitionedHlo(computed, hlo->shape(), present.state()));
  return computed;
}

HloInstruction* SpmdPartitioningVisitor::RepeatedOperand(
    const HloInstruction& operand, const HloSharding& present,
    const HloSharding& wanted) {
  if (operand.opcode() != HloOpcode::kBroadcast ||
      !RepeatsWhatAllHave(operand) || !IsPriced(wanted)) {
    return nullptr;
  }
  const bool moves =
      present.IsSingleDeviceLeaf() ||
      (IsPriced(present) && ReshardBytes(operand.shape(), present, wanted) > 0);
  if (!moves) return nullptr;
  const HloInstruction* source = operand.operand(0);
  const HloSharding sharding = MapShardingDims(wanted, operand.dimensions());
  HloInstruction* some =
      source->opcode() == HloOpcode::kIota
          ? AddIota(source, sharding, partition_id_, &b_)
          : GetPartitionedHlo(source).Reshard(sharding).hlo();
  HloInstruction* repeated = b_.AddInstruction(operand.CloneWithNewOperands(
      MakePartitionedShape(operand.shape(), wanted), {some}));
  repeated->set_sharding(wanted);
  return repeated;
}

const HloSharding& SpmdPartitioningVisitor::PresentSharding(
    const HloInstruction* hlo) {
  static const auto* const whole = new HloSharding(HloSharding::Replicate());
  const PartitionedHlo& present = GetPartitionedHlo(hlo);
  return present.sharding().IsSingleDeviceLeaf() && present.IsAlsoWhole()
             ? *whole
             : present.sharding();
}

HloInstruction* SpmdPartitioningVisitor::ReplicatedOperand(HloInstruction* hlo,
                                                           int64_t index) {
  const PartitionedHlo& operand = GetPartitionedHlo(hlo->operand(index));
  const HloSharding& sharding = operand.sharding();
  if (sharding.IsTiledLeaf()) {
    return Operand(hlo, index, ReplicatedOnAllDims(sharding));
  }
  return sharding.IsSingleDeviceLeaf()
             ? Operand(hlo, index, HloSharding::Replicate())
             : operand.Replicate().hlo();
}

void SpmdPartitioningVisitor::Finish(HloInstruction* hlo, HloInstruction* local,
                                     const HloSharding& sharding) {
  Explain(WhyWhole::kAsked);
  local->set_sharding(sharding);
  PartitionedHlo result(local, hlo->shape(), MakePartitioningState());
  if (sharding != hlo->sharding()) NoteReaders(*hlo, local);
  SetPartitionedHlo(hlo, result.Reshard(hlo->sharding()));
}

void SpmdPartitioningVisitor::NoteReaders(const HloInstruction& hlo,
                                          HloInstruction* local) {
  if (!IsMadeAnywhere(hlo, hlo.sharding()) &&
      absl::c_linear_search(ReadersOf(hlo, &reads_of_tuples_),
                            HloSharding::Replicate())) {
    reshard_cache_.per_hlo_cache[local].whole_is_read = true;
  }
}

absl::Status SpmdPartitioningVisitor::FinishOnShards(
    HloInstruction* hlo, absl::Span<HloInstruction* const> operands,
    const HloSharding& sharding) {
  Finish(hlo,
         b_.AddInstruction(hlo->CloneWithNewOperands(
             MakePartitionedShape(hlo->shape(), sharding), operands)),
         sharding);
  return absl::OkStatus();
}

// All operands in one sharding make the instruction local: every device
// computes its own shard.
absl::Status SpmdPartitioningVisitor::LocalWithSharding(
    HloInstruction* hlo, const HloSharding& sharding) {
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    const Shape& shape = hlo->operand(i)->shape();
    // Scalars stand beside arrays in select and clamp.
    const bool alike =
        shape.IsTuple() || ShapeUtil::SameDimensions(shape, hlo->shape());
    operands.push_back(alike ? Operand(hlo, i, sharding)
                             : ReplicatedOperand(hlo, i));
  }
  return FinishOnShards(hlo, operands, sharding);
}

// The fallback for instructions without a handler: gather all operands, compute
// the whole result on every device, and let each keep its shard. Always correct
// for pure instructions, never fast.
absl::Status SpmdPartitioningVisitor::DefaultAction(HloInstruction* hlo) {
  if (hlo->HasSideEffectNoRecurse()) {
    if (hlo->sharding().UniqueDevice().has_value()) {
      return HandleSingleDevice(hlo);
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "an instruction with a side effect runs on one device, not with "
        "sharding ",
        hlo->sharding().ToString(), ": ", hlo->ToString()));
  }
  if (hlo->IsElementwise() && hlo->operand_count() > 0) {
    return HandleElementwise(hlo);
  }
  // All devices have what one shall have, as far as it is an array: of elements
  // of tuples that is forgotten.
  const bool is_tuple_of_one =
      !hlo->shape().IsArray() && hlo->sharding().UniqueDevice().has_value();
  const HloSharding sharding =
      is_tuple_of_one ? hlo->sharding() : ReplicatedOnAllDims(hlo->sharding());
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    operands.push_back(ReplicatedOperand(hlo, i));
  }
  Finish(hlo,
         b_.AddInstruction(hlo->CloneWithNewOperands(hlo->shape(), operands)),
         sharding);
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleManual(HloInstruction* hlo) {
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    const Shape& shape = hlo->operand(i)->shape();
    operands.push_back(
        Operand(hlo, i, HloSharding::Single(shape, HloSharding::Manual())));
  }
  SetPartitionedHlo(hlo, b_.AddInstruction(hlo->CloneWithNewOperands(
                             hlo->shape(), operands)));
  return absl::OkStatus();
}

namespace {

// operation(elements of a tuple), or zeros.
HloComputation* BranchOf(const HloInstruction* hlo, const Shape& argument,
                         bool computes, HloModule* module) {
  SpmdBuilder b(computes ? "on_device" : "elsewhere", nullptr);
  HloInstruction* parameter = b.AddInstruction(
      HloInstruction::CreateParameter(0, argument, "operands"));
  HloInstruction* root;
  if (computes) {
    std::vector<HloInstruction*> operands;
    for (int64_t i = 0; i < argument.tuple_shapes().size(); ++i) {
      operands.push_back(b.AddInstruction(HloInstruction::CreateGetTupleElement(
          argument.tuple_shapes(i), parameter, i)));
    }
    root = b.AddInstruction(hlo->CloneWithNewOperands(hlo->shape(), operands));
    root->clear_sharding();
  } else {
    root = CreateZero(hlo->shape(), &b);
  }
  return module->AddEmbeddedComputation(b.Build(root));
}

}  // namespace

// All devices run one program, so an instruction of one device becomes a
// conditional on the partition id; the others return zeros.
HloInstruction* SpmdPartitioningVisitor::OnOneDevice(const HloInstruction* hlo,
                                                     int64_t device) {
  std::vector<HloInstruction*> operands;
  std::vector<Shape> shapes;
  for (const HloInstruction* operand : hlo->operands()) {
    operands.push_back(
        GetPartitionedHlo(operand)
            .Reshard(HloSharding::Single(operand->shape(),
                                         HloSharding::SingleDevice(device)))
            .hlo());
    shapes.push_back(operands.back()->shape());
  }
  HloInstruction* argument =
      b_.AddInstruction(HloInstruction::CreateTuple(operands));
  HloInstruction* is_device = b_.AddInstruction(HloInstruction::CreateCompare(
      ShapeUtil::MakeShape(PRED, {}), partition_id_, CreateR0(device, U32, &b_),
      ComparisonDirection::kEq));
  HloComputation* on_device = BranchOf(hlo, argument->shape(), true, module_);
  HloComputation* elsewhere = BranchOf(hlo, argument->shape(), false, module_);
  return b_.AddInstruction(HloInstruction::CreateConditional(
      hlo->shape(), is_device, argument, on_device, argument, elsewhere));
}

absl::Status SpmdPartitioningVisitor::HandleSingleDevice(
    const HloInstruction* hlo) {
  TF_RET_CHECK(hlo->sharding().UniqueDevice().has_value());
  if (HloPredicateIsOp<HloOpcode::kSend, HloOpcode::kSendDone, HloOpcode::kRecv,
                       HloOpcode::kRecvDone>(hlo)) {
    return absl::UnimplementedError(absl::StrCat(
        HloOpcodeString(hlo->opcode()), " on device ",
        *hlo->sharding().UniqueDevice(),
        " alone: its state cannot enter or leave a branch: ", hlo->ToString()));
  }
  SetPartitionedHlo(hlo, OnOneDevice(hlo, *hlo->sharding().UniqueDevice()));
  return absl::OkStatus();
}

// What the first device along a dimension of the tile assignment has.
HloInstruction* SpmdPartitioningVisitor::OfFirst(HloInstruction* value,
                                                 const HloSharding& sharding,
                                                 int64_t dim) {
  std::vector<int64_t> is_first(num_partitions_);
  sharding.tile_assignment().Each(
      [&](absl::Span<const int64_t> place, int64_t device) {
        is_first[device] = place[dim] == 0;
      });
  HloInstruction* owns =
      AddCompare(TableLookup(is_first, S32, partition_id_, &b_),
                 ComparisonDirection::kNe, CreateR0(0, S32, &b_), &b_);
  return SumOfOwners(
      value, owns, {},
      [&](HloInstruction* masked) {
        return collective_ops_creator_.create_all_reduce(
            &b_, masked, MakeBinaryAdd(masked->shape().element_type(), module_),
            *GetPartitionGroupsForReplication(sharding, {dim}),
            (*next_channel_id_)++);
      },
      &b_);
}

// Devices would draw different numbers, so one draws them and broadcasts them:
// in a manual region, one of each group of devices, which alone have its
// operands.
absl::Status SpmdPartitioningVisitor::HandleRng(HloInstruction* hlo) {
  const HloSharding whole = ReplicatedOnAllDims(hlo->sharding());
  const auto leaf = [&](int64_t i) -> const HloSharding& {
    return whole.IsTuple() ? whole.tuple_elements()[i] : whole;
  };
  if (!leaf(0).IsManualSubgroup()) {
    const int64_t device = hlo->sharding().UniqueDevice().value_or(0);
    Finish(
        hlo, OnOneDevice(hlo, device),
        HloSharding::Single(hlo->shape(), HloSharding::SingleDevice(device)));
    return absl::OkStatus();
  }
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    operands.push_back(ReplicatedOperand(hlo, i));
  }
  std::vector<HloInstruction*> drawn = Elements(
      b_.AddInstruction(hlo->CloneWithNewOperands(hlo->shape(), operands)),
      &b_);
  for (size_t i = 0; i < drawn.size(); ++i) {
    const int64_t copies = leaf(i).SubgroupReplicationDim();
    if (copies >= 0) drawn[i] = OfFirst(drawn[i], leaf(i), copies);
  }
  Finish(hlo,
         hlo->shape().IsTuple()
             ? b_.AddInstruction(HloInstruction::CreateTuple(drawn))
             : drawn[0],
         whole);
  return absl::OkStatus();
}

}  // namespace xla::spmd
