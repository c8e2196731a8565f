#ifndef XLA_HLO_TRANSFORMS_SPMD_SPMD_VISITOR_H_
#define XLA_HLO_TRANSFORMS_SPMD_SPMD_VISITOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/dfs_hlo_visitor_with_default.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/transforms/spmd/dot_factors.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/transforms/spmd/spmd_logger.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_options.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"
#include "xla/hlo/utils/hlo_sharding_util.h"

namespace xla::spmd {

class CreateShardedFunctorBase;
class SpmdPartitioner;
enum class WhyWhole;
struct DotGeneralDimsMapping;
struct WindowedDot;

// The dots for which an operand might be gathered to the same sharding.
struct DotsOfOperand {
  int64_t count = 0;
  // With the operand gathered, and with all sums scattered.
  double bytes_gathered = 0, bytes_scattered = 0;
};

// Visits a computation in post order and builds its partitioned form. A handler
// must call SetPartitionedHlo exactly once, with an instruction that has the
// sharding of the original.
class SpmdPartitioningVisitor : public DfsHloVisitorWithDefault {
 public:
  SpmdPartitioningVisitor(
      HloComputation* computation, int64_t num_partitions, int64_t num_replicas,
      const SPMDCollectiveOpsCreator& collective_ops_creator,
      int64_t* next_channel_id, SpmdLogger* logger,
      SpmdPartitionerOptions options, SpmdPartitioner* partitioner,
      const CallGraph& call_graph);

  // Copies without visited instructions, and with a separate builder.
  SpmdPartitioningVisitor(const SpmdPartitioningVisitor& src);
  virtual std::unique_ptr<SpmdPartitioningVisitor> Clone() const;

  // Operands whole on every device (or on the one device of the instruction),
  // the instruction unchanged, the result cut.
  absl::Status DefaultAction(HloInstruction* hlo) override;

  absl::Status HandleAddDependency(HloInstruction* hlo) override;
  absl::Status HandleAllGather(HloInstruction* hlo) override;
  absl::Status HandleAllReduce(HloInstruction* hlo) override;
  absl::Status HandleAllToAll(HloInstruction* hlo) override;
  absl::Status HandleBitcastConvert(HloInstruction* hlo) override;
  absl::Status HandleBroadcast(HloInstruction* hlo) override;
  absl::Status HandleCall(HloInstruction* hlo) override;
  absl::Status HandleCholesky(HloInstruction* hlo) override;
  absl::Status HandleCollectiveBroadcast(HloInstruction* hlo) override;
  absl::Status HandleCollectivePermute(HloInstruction* hlo) override;
  absl::Status HandleConcatenate(HloInstruction* hlo) override;
  absl::Status HandleConditional(HloInstruction* hlo) override;
  absl::Status HandleConstant(HloInstruction* hlo) override;
  absl::Status HandleConvolution(HloInstruction* hlo) override;
  absl::Status HandleCustomCall(HloInstruction* hlo) override;
  absl::Status HandleDot(HloInstruction* hlo) override;
  absl::Status HandleDynamicSlice(HloInstruction* hlo) override;
  absl::Status HandleDynamicUpdateSlice(HloInstruction* hlo) override;
  absl::Status HandleFft(HloInstruction* hlo) override;
  absl::Status HandleGather(HloInstruction* hlo) override;
  absl::Status HandleGetDimensionSize(HloInstruction* hlo) override;
  absl::Status HandleGetTupleElement(HloInstruction* hlo) override;
  absl::Status HandleInfeed(HloInstruction* hlo) override;
  absl::Status HandleIota(HloInstruction* hlo) override;
  absl::Status HandleOptimizationBarrier(HloInstruction* hlo) override;
  absl::Status HandleOutfeed(HloInstruction* hlo) override;
  absl::Status HandlePad(HloInstruction* hlo) override;
  absl::Status HandleParameter(HloInstruction* hlo) override;
  absl::Status HandlePartitionId(HloInstruction* hlo) override;
  absl::Status HandleRaggedDot(HloInstruction* hlo) override;
  absl::Status HandleReduce(HloInstruction* hlo) override;
  absl::Status HandleReduceScatter(HloInstruction* hlo) override;
  absl::Status HandleReduceWindow(HloInstruction* hlo) override;
  absl::Status HandleReshape(HloInstruction* hlo) override;
  absl::Status HandleReverse(HloInstruction* hlo) override;
  absl::Status HandleRng(HloInstruction* hlo) override;
  absl::Status HandleScaledDot(HloInstruction* hlo) override;
  absl::Status HandleScan(HloInstruction* hlo) override;
  absl::Status HandleScatter(HloInstruction* hlo) override;
  absl::Status HandleSelectAndScatter(HloInstruction* hlo) override;
  absl::Status HandleSlice(HloInstruction* hlo) override;
  absl::Status HandleSort(HloInstruction* hlo) override;
  absl::Status HandleTopK(HloInstruction* hlo) override;
  absl::Status HandleTranspose(HloInstruction* hlo) override;
  absl::Status HandleTriangularSolve(HloInstruction* hlo) override;
  absl::Status HandleTuple(HloInstruction* hlo) override;
  absl::Status HandleWhile(HloInstruction* hlo) override;

  // A dot, or an instruction equivalent to one, by `create_sharded_dot` on
  // shards.
  absl::Status HandleDotHelper(
      HloInstruction* hlo,
      const dot_as_convolution_util::DotConvolutionDimsInfo& dims_mapping,
      const CreateShardedFunctorBase& create_sharded_dot);
  // The same, as of 2020 (spmd_adapters.h); the product becomes no ring.
  absl::Status HandleDotHelper(
      HloInstruction* hlo, const DotGeneralDimsMapping& dims_mapping,
      const std::function<absl::StatusOr<HloInstruction*>(
          HloInstruction* lhs, HloInstruction* rhs, SpmdBuilder* b)>&
          create_sharded_dot);
  // Under the sharding that all operands have, otherwise where fewest bytes
  // move.
  absl::Status HandleElementwise(HloInstruction* hlo);
  // As if `dims_to_replicate` of operands and result were not sharded: their
  // tiles move to another dimension or are dropped.
  absl::Status HandleElementwiseWithDimsToReplicate(
      HloInstruction* hlo, absl::Span<const int64_t> dims_to_replicate);
  // On its device alone; the others have zeros.
  absl::Status HandleSingleDevice(const HloInstruction* hlo);
  // Unchanged, on shards.
  absl::Status HandleManual(HloInstruction* hlo);

  absl::Status Preprocess(HloInstruction* hlo) override;
  absl::Status Postprocess(HloInstruction* hlo) override;

  // CHECK-fails if there is none.
  PartitionedHlo& GetPartitionedHlo(const HloInstruction* hlo);
  // The instruction gets the sharding of `hlo`.
  void SetPartitionedHlo(const HloInstruction* hlo,
                         PartitionedHlo&& partitioned_hlo);
  void SetPartitionedHlo(const HloInstruction* hlo, HloInstruction* new_hlo);
  void SetPartitionedHlo(const HloInstruction* hlo,
                         absl::FunctionRef<HloInstruction*()> func);

  int64_t NewChannel() { return (*next_channel_id_)++; }
  PartitionedHlo::PartitioningState MakePartitioningState();
  SpmdBuilder* builder() { return &b_; }

  // Visits the computation and replaces it with the result.
  absl::StatusOr<bool> DoPartition(HloComputation* computation,
                                   const HloSharding& root_sharding);

  // For models that price windowed einsums: of a dot on one device, and of the
  // gather or scatter that it would do without; 0 never vetoes.
  virtual double GetComputationTimeInMilliSec(HloInstruction* hlo) {
    return 0.0;
  }
  virtual double GetCommunicationTimeInMilliSec(
      int64_t bytes, const CollectiveDeviceListBase& collective_device_list) {
    return 0.0;
  }
  virtual int GetCommunicationMultiplier(
      const CollectiveDeviceListBase& collective_device_list) {
    return 1;
  }

  // Groups of partitions, repeated for every replica.
  std::unique_ptr<CollectiveDeviceListBase> CreateReplicaGroups(
      std::vector<std::vector<int64_t>>& groups);
  std::unique_ptr<CollectiveDeviceListBase> CreateReplicaGroups(
      const hlo_sharding_util::DeviceGroupTileAssignment& groups);

  const CallGraph& call_graph() const { return call_graph_; }
  int64_t num_partitions() const { return num_partitions_; }
  int64_t num_replicas() const { return num_replicas_; }
  SpmdLogger* logger() { return logger_; }
  const SpmdPartitionerOptions& options() const { return options_; }
  SpmdPartitioner* partitioner() { return partitioner_; }
  SPMDCollectiveOpsCreator& collective_ops_creator() {
    return collective_ops_creator_;
  }
  HloModule* module() { return module_; }
  const HloModule* module() const { return module_; }
  void set_module(HloModule* module) { module_ = module; }
  const SpmdLogger* logger() const { return logger_; }
  const SpmdPartitioner* partitioner() const { return partitioner_; }
  const SPMDCollectiveOpsCreator& collective_ops_creator() const {
    return collective_ops_creator_;
  }
  HloInstruction* partition_id() { return partition_id_; }

  struct WindowedDotGeneralLoop {
    HloInstruction* while_loop;
    int64_t windowed_operand;
    bool windowed_in_contracting_dims;
    bool windowed_in_batch_dims;
    bool operands_sharded_at_contracting_dims;
    int64_t num_partitions;
    std::shared_ptr<CollectiveDeviceListBase> loop_replica_groups;
  };

 protected:
  // Moves work into the loops that windowed dots became (windowed_einsum.cc).
  absl::Status DoCodeMotionForWindowedDotGeneralLoops(
      HloComputation* computation);

  // Elementwise by opcode.
  absl::Status HandleElementwiseUnary(HloInstruction* hlo) override {
    return HandleElementwise(hlo);
  }
  absl::Status HandleElementwiseBinary(HloInstruction* hlo) override {
    return HandleElementwise(hlo);
  }

  // Handlers' helpers.
  // Operands under the sharding of the result, the instruction on shards.
  absl::Status LocalWithSharding(HloInstruction* hlo,
                                 const HloSharding& sharding);
  // A collective on shards, among devices that have the same one, with the cuts
  // along `dim` (-1: none) moved to other dimensions; else the default action.
  absl::Status CollectiveOfShards(HloInstruction* hlo, int64_t dim);
  // The operand under `sharding`, for handlers that clone. What can be made
  // there (IsMadeAnywhere) is not moved.
  HloInstruction* Operand(HloInstruction* hlo, int64_t index,
                          const HloSharding& sharding);
  // A broadcast of what all devices have or can make, made under `wanted`;
  // nullptr where it is another one, or nothing would move.
  HloInstruction* RepeatedOperand(const HloInstruction& operand,
                                  const HloSharding& present,
                                  const HloSharding& wanted);
  // One that is computed anywhere, under `sharding`.
  HloInstruction* ComputedAnew(const HloInstruction* hlo,
                               const HloSharding& sharding);
  // Computes on the device that has the operands, other than those that any
  // device has or can make, where the result stays or is smaller than what it
  // would send otherwise. False, and nothing done, elsewhere.
  bool HandledOnDeviceOfOperands(HloInstruction* hlo);
  double BytesMadeOf(const HloInstruction& operand,
                     const HloInstruction& reader, int64_t owner);
  // The sharding that an operand needs if results have another one.
  using ShardingOfOperand =
      std::function<HloSharding(int64_t operand, const HloSharding& results)>;
  // The first of `candidates` under which the fewest bytes move; they apply to
  // results and, without `of_operand`, to operands alike.
  HloSharding WhereLeastMoves(const HloInstruction& hlo,
                              absl::Span<const HloSharding> candidates,
                              const ShardingOfOperand& of_operand);
  // `sharding`, or that of an operand, without cuts along `dims`, whose tiles
  // go elsewhere or become replicas: so that least moves.
  HloSharding WithWholeDims(const HloInstruction& hlo,
                            const HloSharding& sharding,
                            absl::Span<const int64_t> dims,
                            const ShardingOfOperand& of_operand = nullptr);
  // The sharding that other dots than `reader` bring its operand to: without
  // cuts along the dimensions that `reader` contracts, where that takes less
  // than the sums of all of them.
  std::optional<HloSharding> GatheredForDots(const HloInstruction& reader,
                                             int64_t index);
  // Within groups of devices that differ along `dim` of the tile assignment
  // alone.
  HloInstruction* OfFirst(HloInstruction* value, const HloSharding& sharding,
                          int64_t dim);
  // Replicated where one device has a value that all have been given.
  const HloSharding& PresentSharding(const HloInstruction* hlo);
  // The operand whole on every device of the (sub)group.
  HloInstruction* ReplicatedOperand(HloInstruction* hlo, int64_t index);
  // Sets the result, after resharding `local`, which has `sharding`, to the
  // sharding of `hlo`.
  void Finish(HloInstruction* hlo, HloInstruction* local,
              const HloSharding& sharding);
  // Notes of `local`, a counterpart of `hlo`, what readers of that want.
  void NoteReaders(const HloInstruction& hlo, HloInstruction* local);
  // Finish with the instruction itself, on operands that are cut as its result
  // needs them under `sharding`.
  absl::Status FinishOnShards(HloInstruction* hlo,
                              absl::Span<HloInstruction* const> operands,
                              const HloSharding& sharding);

  std::vector<WindowedDotGeneralLoop> windowed_dot_general_loops_;

 private:
  // Sets the reason that the report gives for values replicated from now on.
  void Explain(WhyWhole why);
  // On one device; the others have zeros.
  HloInstruction* OnOneDevice(const HloInstruction* hlo, int64_t device);
  absl::Status ReduceInTwoStages(HloInstruction* hlo,
                                 const std::vector<HloInstruction*>& operands,
                                 const HloSharding& sharding,
                                 const HloSharding& result_sharding);
  // False if this method does not apply.
  absl::StatusOr<bool> SortFirstOfEachPart(HloInstruction* hlo,
                                           const HloSharding& sharding,
                                           int64_t dim);
  // Sorts rows that stay cut along the sorted dimension (column_sort.h). False,
  // and nothing is done, where that is impossible, a result is wanted
  // otherwise, or gathering the rows moves no more.
  bool SortInColumns(HloInstruction* hlo, const HloSharding& sharding);
  // Where options forbid it: an operand travels around a ring already, for
  // another dot.
  bool FeedsWindowedDot(const HloInstruction* dot);
  // Whether a ring takes less time than the dot and the collective that it does
  // without, as far as that is known.
  bool RingTakesLess(HloInstruction* hlo, const DotFactors& f,
                     const WindowedDot& ring);
  // False if it does not become a ring.
  bool HandleDotAsRing(HloInstruction* hlo, const DotFactors& f);
  absl::Status HandleShardingCustomCall(HloInstruction* hlo);
  absl::Status HandleInternalCall(HloInstruction* hlo);
  // A call whose first `batch_dims` dimensions are batches.
  absl::Status HandleBatchedCall(HloInstruction* hlo, int64_t batch_dims);
  absl::Status CheckSharding(const HloInstruction* hlo) const;
  // What waits for others in `whole`, from which `partitioned` was made, waits
  // for their counterparts. For the root, only the first `own_steps` are meant:
  // the others bring it to the sharding of the computation, after everything
  // else.
  absl::Status KeepControlDependencies(const HloComputation& whole,
                                       size_t own_steps,
                                       HloComputation* partitioned);

  bool changed_ = false;
  HloModule* module_;
  int64_t num_partitions_;
  int64_t num_replicas_;
  SPMDCollectiveOpsCreator collective_ops_creator_;
  int64_t* next_channel_id_;
  SpmdBuilder b_;
  HloInstruction* partition_id_;
  PartitionedHlo::ReshardCache reshard_cache_;
  // A node map: references that GetPartitionedHlo returned stay valid.
  absl::node_hash_map<const HloInstruction*, PartitionedHlo>
      partitioned_instructions_;
  // Operands, before partitioning, whose shards travel for a windowed dot.
  absl::flat_hash_set<const HloInstruction*> windowed_operands_;
  ReadsOfTuples reads_of_tuples_;
  // By tuple, before partitioning, whose elements are taken.
  absl::flat_hash_map<const HloInstruction*, std::vector<HloSharding>>
      element_shardings_;
  // By operand on one device: what all of its users make for others.
  absl::flat_hash_map<const HloInstruction*, double> bytes_made_elsewhere_;
  // By operand of dots, and the sharding that they would gather it to.
  absl::flat_hash_map<std::pair<const HloInstruction*, HloSharding>,
                      DotsOfOperand>
      dots_of_operand_;
  SpmdLogger* logger_;
  const SpmdPartitionerOptions options_;
  SpmdPartitioner* partitioner_;
  const CallGraph& call_graph_;
};

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SPMD_VISITOR_H_
