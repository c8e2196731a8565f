#include "xla/hlo/transforms/spmd/spmd_partitioner.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/simplifiers/hlo_cse.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"
#include "xla/hlo/transforms/spmd/preprocess.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/hlo/utils/manual_region.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_layout.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::spmd {
namespace {

// Sizes of shards are rounded up and halos come on top: what is as large as
// that must still have a size in bytes that fits in 63 bits.
absl::Status CheckSizes(const HloModule& module) {
  constexpr int64_t kMaxBytes = int64_t{1} << 60;
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      RETURN_IF_ERROR(ShapeUtil::ForEachLeafShapeWithStatus(
          inst->shape(),
          [&](const Shape& shape, const ShapeIndex&) -> absl::Status {
            if (!shape.IsArrayExcludingBuffer()) return absl::OkStatus();
            int64_t left =
                kMaxBytes / primitive_util::ByteWidth(shape.element_type());
            for (int64_t size : shape.dimensions()) {
              left /= std::max<int64_t>(size, 1);
            }
            if (left > 0) return absl::OkStatus();
            return absl::InvalidArgumentError(
                absl::StrCat(inst->name(), " is too large to be partitioned: ",
                             ShapeUtil::HumanString(shape)));
          }));
    }
  }
  return absl::OkStatus();
}

}  // namespace

SpmdPartitioner::SpmdPartitioner(int64_t num_partitions, int64_t num_replicas,
                                 SpmdPartitionerOptions options)
    : options_(std::move(options)),
      requested_partitions_(num_partitions),
      requested_replicas_(num_replicas),
      num_partitions_(num_partitions),
      num_replicas_(num_replicas),
      collective_ops_creator_(
          GetDefaultCollectiveOpsCreator(num_partitions, num_replicas)) {}

SpmdPartitioner::SpmdPartitioner(
    int64_t num_partitions, int64_t num_replicas,
    SpmdPartitionerOptions options,
    SPMDCollectiveOpsCreator collective_ops_creator)
    : options_(std::move(options)),
      requested_partitions_(num_partitions),
      requested_replicas_(num_replicas),
      requested_creator_(std::move(collective_ops_creator)),
      num_partitions_(num_partitions),
      num_replicas_(num_replicas),
      collective_ops_creator_(*requested_creator_) {}

SpmdPartitioner::SpmdPartitioner(const SpmdPartitioningPassOptions& options)
    : requested_partitions_(options.num_partitions),
      requested_replicas_(options.num_replicas),
      mesh_(options.mesh) {
  options_.allow_module_signature_change =
      options.allow_module_signature_change;
  options_.cache_all_gather = options.cache_all_gather;
  options_.threshold_for_windowed_einsum_mib =
      options.threshold_for_windowed_einsum_mib;
  options_.unroll_windowed_einsum = options.unroll_windowed_einsum;
  options_.skip_checking_windowed_einsum_users =
      options.skip_checking_windowed_einsum_users;
  options_.enable_windowed_einsum_for_all_gather =
      options.enable_windowed_einsum_for_all_gather;
  options_.enable_windowed_einsum_for_reduce_scatter =
      options.enable_windowed_einsum_for_reduce_scatter;
  options_.disable_ag_rewrite_for_multiple_consumers =
      options.disable_ag_rewrite_for_multiple_consumers;
  options_.max_windowed_einsum_iteration =
      options.max_windowed_einsum_iteration;
  options_.bidirectional_windowed_einsum =
      options.bidirectional_windowed_einsum;
  options_.partial_windowed_einsum = options.partial_windowed_einsum;
  options_.choose_faster_windowed_einsum_over_mem =
      options.choose_faster_windowed_einsum_over_mem;
  options_.conv_halo_exchange_always_on_lhs =
      options.conv_halo_exchange_always_on_lhs;
  options_.allow_module_layout_signature_change =
      options.allow_module_layout_signature_change;
  options_.enable_dynamic_slice_collective_broadcast =
      options.max_dynamic_slice_broadcast_devices > 0;
  options_.max_dynamic_slice_collective_broadcast_partitions =
      options.max_dynamic_slice_broadcast_devices;
  options_.need_resolve_conflicts = options.need_resolve_conflicts;
  if (options.total_bytes_windowed_einsum_threshold >= 0) {
    options_.total_bytes_windowed_einsum_threshold =
        options.total_bytes_windowed_einsum_threshold;
  }
}

std::unique_ptr<SpmdPartitioningVisitor> SpmdPartitioner::CreateVisitor(
    HloComputation* computation, int64_t num_partitions, int64_t num_replicas,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, SpmdLogger* logger,
    SpmdPartitionerOptions options, const CallGraph& call_graph) {
  return std::make_unique<SpmdPartitioningVisitor>(
      computation, num_partitions, num_replicas, collective_ops_creator,
      next_channel_id, logger, std::move(options), this, call_graph);
}

absl::StatusOr<bool> SpmdPartitioner::PartitionComputation(
    HloComputation* computation, const HloSharding& root_sharding,
    int64_t* next_channel_id, SpmdLogger* logger, const CallGraph& call_graph) {
  module_ = computation->parent();
  std::unique_ptr<SpmdPartitioningVisitor> visitor = CreateVisitor(
      computation, num_partitions_, num_replicas_, collective_ops_creator_,
      next_channel_id, logger, options_, call_graph);
  return visitor->DoPartition(computation, root_sharding);
}

int64_t SpmdPartitioner::MemoryCostInBytes(HloInstruction* hlo) {
  int64_t bytes = 0;
  for (const HloInstruction* operand : hlo->operands()) {
    bytes += ShapeSizeInBytes(operand->shape());
  }
  if (HloPredicateIsOp<HloOpcode::kAllReduce, HloOpcode::kDynamicUpdateSlice,
                       HloOpcode::kScatter, HloOpcode::kTuple,
                       HloOpcode::kWhile>(hlo)) {
    return bytes;
  }
  return bytes + ShapeSizeInBytes(hlo->shape());
}

// What a device receives, up to a factor of (n - 1) / n. An all-reduce is a
// reduce-scatter and an all-gather (the ring algorithm), each of which moves as
// much as the result has.
int64_t SpmdPartitioner::CommunicationCostInBytes(HloInstruction* hlo) {
  const int64_t result = ShapeSizeInBytes(hlo->shape());
  switch (hlo->opcode()) {
    case HloOpcode::kAllReduce:
      return 2 * result;
    case HloOpcode::kAllGather:
    case HloOpcode::kAllToAll:
    case HloOpcode::kCollectivePermute:
      return result;
    case HloOpcode::kReduceScatter:
      return ShapeSizeInBytes(hlo->operand(0)->shape());
    default:  // No communication.
      return 0;
  }
}

// Unless options allow it, partitioning must not change the shapes of the
// entry's parameters and result: then they have to be replicated or manual.
absl::Status SpmdPartitioner::CheckEntrySignature(
    const HloModule& module, const ComputationLayout& before) const {
  if (options_.allow_module_signature_change) return absl::OkStatus();
  const HloComputation& entry = *module.entry_computation();
  for (int64_t i = 0; i < entry.num_parameters(); ++i) {
    const HloInstruction& parameter = *entry.parameter_instruction(i);
    if (ShapeUtil::Compatible(parameter.shape(), before.parameter_shape(i))) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "the signature may not change, but entry parameter ", i, ", ",
        parameter.name(), " with sharding ", parameter.sharding().ToString(),
        ", would be ", ShapeUtil::HumanString(parameter.shape()), " for ",
        ShapeUtil::HumanString(before.parameter_shape(i))));
  }
  const HloInstruction& root = *entry.root_instruction();
  if (ShapeUtil::Compatible(root.shape(), before.result_shape())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the signature may not change, but the result of the entry, ",
      root.name(), " with sharding ", root.sharding().ToString(), ", would be ",
      ShapeUtil::HumanString(root.shape()), " for ",
      ShapeUtil::HumanString(before.result_shape())));
}

absl::Status SpmdPartitioner::StartReport(const HloModule& before) {
  const HloModuleConfig& config = before.config();
  const int64_t devices =
      (requested_partitions_ != 0 ? requested_partitions_
                                  : config.num_partitions()) *
      (requested_replicas_ != 0 ? requested_replicas_ : config.replica_count());
  TF_ASSIGN_OR_RETURN(running_report_,
                      SpmdReport::Start(before, mesh_, devices));
  return absl::OkStatus();
}

absl::StatusOr<PassReport> SpmdPartitioner::FinishReport(
    const HloModule& after) {
  TF_RET_CHECK(running_report_.has_value()) << "no report was started";
  absl::StatusOr<PassReport> report = running_report_->Finish(after);
  running_report_.reset();
  return report;
}

namespace {

// Collectives name each device; more would be the work and memory of minutes.
constexpr int64_t kMaxDevices = int64_t{1} << 20;

// The layouts of the whole values, or default ones, for the shapes of shards.
ComputationLayout ShardedLayout(const ComputationLayout& before,
                                const HloComputation& entry,
                                const HloSharding& root_sharding,
                                bool default_layouts) {
  ComputationLayout layout(
      ShapeLayout(MakePartitionedShape(before.result_shape(), root_sharding)));
  for (int64_t i = 0; i < entry.num_parameters(); ++i) {
    layout.add_parameter_layout(ShapeLayout(
        MakePartitionedShape(before.parameter_shape(i),
                             entry.parameter_instruction(i)->sharding())));
  }
  if (default_layouts) layout.SetToDefaultLayout();
  return layout;
}

// Shapes are those of shards now, so shardings would be misread by later
// passes. Entry parameters and transfers keep theirs for the sake of their
// callers.
void ClearShardings(HloModule* module) {
  for (HloComputation* computation : module->computations()) {
    for (HloInstruction* hlo : computation->instructions()) {
      const bool kept = (hlo->opcode() == HloOpcode::kParameter &&
                         computation->IsEntryComputation()) ||
                        hlo->opcode() == HloOpcode::kInfeed ||
                        hlo->opcode() == HloOpcode::kOutfeed ||
                        hlo->opcode() == HloOpcode::kSend ||
                        hlo->opcode() == HloOpcode::kRecv ||
                        hlo->opcode() == HloOpcode::kSendDone ||
                        hlo->opcode() == HloOpcode::kRecvDone;
      if (!kept) hlo->clear_sharding();
      // While the partitioner works it is the token's, then that of what is
      // fed.
      if (hlo->opcode() == HloOpcode::kOutfeed && hlo->has_sharding() &&
          hlo->operand(0)->shape().IsTuple() && !hlo->sharding().IsTuple()) {
        hlo->set_sharding(
            HloSharding::Single(hlo->operand(0)->shape(), hlo->sharding()));
      }
    }
  }
}

// All all-reduces of a module constrain layouts, or none does: those that the
// partitioner added do as those that were there.
absl::Status ConstrainLayoutsAlike(HloModule* module) {
  bool constrains = false;
  std::vector<HloAllReduceInstruction*> others;
  for (HloComputation* computation : module->computations()) {
    for (HloInstruction* hlo : computation->instructions()) {
      if (HloPredicateIsNotOp<HloOpcode::kAllReduce,
                              HloOpcode::kAllReduceStart>(hlo)) {
        continue;
      }
      auto* reduce = Cast<HloAllReduceInstruction>(hlo);
      if (reduce->constrain_layout()) {
        constrains = true;
      } else if (hlo->opcode() == HloOpcode::kAllReduce) {
        others.push_back(reduce);
      }
    }
  }
  if (!constrains) return absl::OkStatus();
  for (HloAllReduceInstruction* reduce : others) {
    std::unique_ptr<HloInstruction> constrained =
        HloInstruction::CreateAllReduce(
            reduce->shape(), reduce->operands(), reduce->to_apply(),
            reduce->device_list(), /*constrain_layout=*/true,
            reduce->channel_id(), reduce->use_global_device_ids());
    constrained->CopyBackendConfigFrom(reduce);
    RETURN_IF_ERROR(reduce->parent()->ReplaceWithNewInstruction(
        reduce, std::move(constrained),
        /*preserve_sharding=*/false, /*relay_control_dependency=*/true));
  }
  return absl::OkStatus();
}

absl::Status CleanUp(HloModule* module) {
  HloDCE dce(/*remove_cross_partition_collective_ops=*/true);
  TupleSimplifier simplifier{TupleSimplifierOptions()};
  HloCSE cse(/*is_layout_sensitive=*/false);
  RETURN_IF_ERROR(dce.Run(module).status());
  RETURN_IF_ERROR(simplifier.Run(module).status());
  RETURN_IF_ERROR(dce.Run(module).status());
  RETURN_IF_ERROR(cse.Run(module).status());
  return dce.Run(module).status();
}

// What is not partitioned (what runs asynchronously) is computed as a whole,
// and has no shards that a manual region could take.
absl::Status CheckHasNoBorders(const HloComputation& computation) {
  for (const HloInstruction* hlo : computation.instructions()) {
    if (!IsManualBorder(*hlo)) continue;
    return absl::UnimplementedError(absl::StrCat(hlo->custom_call_target(),
                                                 " in an asynchronous "
                                                 "computation: ",
                                                 hlo->name(), " in ",
                                                 computation.name()));
  }
  return absl::OkStatus();
}

}  // namespace

// Callees first: a caller needs the partitioned callee. The sharding of each
// root was agreed on beforehand.
absl::Status SpmdPartitioner::PartitionComputations(HloModule* module,
                                                    SpmdLogger* logger) {
  absl::flat_hash_map<const HloComputation*, HloSharding> roots;
  RETURN_IF_ERROR(ShareShardingsWithCallees(module, &roots));
  int64_t next_channel_id = hlo_query::NextChannelId(*module);
  std::unique_ptr<CallGraph> call_graph =
      CallGraph::Build(module, execution_threads_);
  std::vector<HloComputation*> callees_first;
  RETURN_IF_ERROR(call_graph->VisitNodes(
      [&](const CallGraphNode& node) {
        if (node.context() == CallContext::kControlFlow) {
          callees_first.push_back(node.computation());
        }
        return absl::OkStatus();
      },
      /*visit_unreachable_nodes=*/false));
  for (HloComputation* computation : callees_first) {
    auto it = roots.find(computation);
    if (it == roots.end()) {
      RETURN_IF_ERROR(CheckHasNoBorders(*computation));
      continue;
    }
    const HloSharding root_sharding = it->second;
    RETURN_IF_ERROR(PartitionComputation(computation, root_sharding,
                                         &next_channel_id, logger, *call_graph)
                        .status());
  }
  return absl::OkStatus();
}

void SpmdPartitioner::RecordInputsOutputsSharding(HloModule* module) {
  std::vector<HloSharding> parameters;
  const HloComputation* entry = module->entry_computation();
  for (const HloInstruction* parameter : entry->parameter_instructions()) {
    parameters.push_back(parameter->sharding());
  }
  module->set_spmd_parameters_shardings(parameters);
  module->set_spmd_output_sharding(entry->root_instruction()->sharding());
}

// The phases: flatten the call graph, preprocess shardings and instructions,
// partition every computation, rewrite the entry layout for shards, drop
// shardings, and clean up what the rewriting left behind.
absl::StatusOr<bool> SpmdPartitioner::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  execution_threads_ = execution_threads;
  num_partitions_ = requested_partitions_ != 0
                        ? requested_partitions_
                        : module->config().num_partitions();
  num_replicas_ = requested_replicas_ != 0 ? requested_replicas_
                                           : module->config().replica_count();
  if (num_partitions_ < 1 || num_replicas_ < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot partition for ", num_partitions_,
                     " partitions of ", num_replicas_, " replicas"));
  }
  if (num_partitions_ == 1 || module->has_spmd_output_sharding()) return false;
  RETURN_IF_ERROR(CheckSizes(*module));
  if (num_replicas_ > kMaxDevices / num_partitions_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot partition for ", num_partitions_, " partitions of ",
        num_replicas_, " replicas: at most ", kMaxDevices, " devices"));
  }
  std::string missing;
  collective_ops_creator_ = WithNotedGaps(
      requested_creator_.has_value()
          ? *requested_creator_
          : GetDefaultCollectiveOpsCreator(num_partitions_, num_replicas_),
      &missing);
  const RouteBytesMemo memo;
  module->clear_schedule();
  FlattenCallGraph flatten;
  RETURN_IF_ERROR(flatten.Run(module, execution_threads).status());
  RETURN_IF_ERROR(DefuseAll(module, execution_threads));
  RETURN_IF_ERROR(PreprocessSharding(module, execution_threads));
  RETURN_IF_ERROR(SumFloatsBeforeTheyAreCutOff(module, execution_threads));
  RETURN_IF_ERROR(PreprocessHlos(module, execution_threads));
  // Nothing is sent for what nothing reads.
  RETURN_IF_ERROR(HloDCE().Run(module, execution_threads).status());
  RecordInputsOutputsSharding(module);
  const ComputationLayout before = module->entry_computation_layout();
  const HloSharding root_sharding =
      module->entry_computation()->root_instruction()->sharding();
  SpmdLogger logger(options_.report_instruction_count);
  report_ = SpmdLogger::ReportBeforePartition(
      *module, options_.report_instruction_count);
  RETURN_IF_ERROR(PartitionComputations(module, &logger));
  if (!missing.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the creator of collectives cannot make the ", missing,
                     " that partitioning ", module->name(), " needs"));
  }
  RETURN_IF_ERROR(CheckEntrySignature(*module, before));
  *module->mutable_entry_computation_layout() =
      ShardedLayout(before, *module->entry_computation(), root_sharding,
                    options_.allow_module_signature_change &&
                        options_.allow_module_layout_signature_change);
  absl::StrAppend(&report_, logger.MakeReport(),
                  SpmdLogger::ReportAfterPartition(
                      *module, options_.report_instruction_count));
  TF_ASSIGN_OR_RETURN(module->input_output_alias_config(),
                      ShardedAliases(*module));
  ClearShardings(module);
  RETURN_IF_ERROR(ConstrainLayoutsAlike(module));
  module->mutable_config().set_num_partitions(num_partitions_);
  module->mutable_config().set_replica_count(num_replicas_);
  RETURN_IF_ERROR(CleanUp(module));
  return true;
}

}  // namespace xla::spmd
