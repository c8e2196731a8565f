#ifndef XLA_HLO_IR_HLO_INSTRUCTION_H_
#define XLA_HLO_IR_HLO_INSTRUCTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/backend_config.h"
#include "xla/hlo/ir/dfs_hlo_visitor.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_domain_metadata.h"
#include "xla/hlo/ir/hlo_module_metadata.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/mapped_ptr_container_sorter.h"
#include "xla/hlo/ir/name_uniquer.h"
#include "xla/hlo/ir/ptrvec.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/iterator_util.h"
#include "xla/literal.h"
#include "xla/printer.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {

class HloComputation;
class HloInstruction;
class HloModule;
class HloPayloadDeduplicator;

// How ToProto writes data that many instructions share.
struct HloProtoOptions {
  bool deduplicate_backend_config = false;
  bool deduplicate_metadata = false;
  HloPayloadDeduplicator* payload_deduplicator = nullptr;
};

// One slot of a computation's list of instructions; null after a removal.
class HloInstructionInfo {
 public:
  HloInstructionInfo() = default;
  explicit HloInstructionInfo(HloInstruction* inst) : inst_(inst) {}

  HloInstruction* get() const { return inst_; }
  HloInstruction& operator*() { return *inst_; }
  HloInstruction* operator->() { return inst_; }
  const HloInstruction& operator*() const { return *inst_; }
  const HloInstruction* operator->() const { return inst_; }
  inline HloOpcode opcode() const;
  HloInstruction* inst() const { return inst_; }

 private:
  HloInstruction* inst_ = nullptr;
};

using HloInstructionList = std::vector<HloInstructionInfo>;

// Iterates over a range of a list, skipping its holes. Keeps positions, not
// pointers: the list may be added to or removed from during the iteration;
// added elements are not visited.
template <typename UnderlyingList>
class HloInstructionIteratorBase {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = HloInstructionInfo;
  using difference_type = ptrdiff_t;
  using pointer = value_type*;
  using reference = value_type&;

  HloInstructionIteratorBase(UnderlyingList* list, int begin_index,
                             int end_index)
      : list_(list), current_(begin_index), end_index_(end_index) {
    SkipHoles();
  }

  HloInstruction* get() const { return (*list_)[current_].get(); }
  HloInstructionInfo operator*() const { return (*list_)[current_]; }
  HloInstructionIteratorBase& operator++() {
    ++current_;
    SkipHoles();
    return *this;
  }
  HloInstructionIteratorBase operator++(int) {
    HloInstructionIteratorBase old = *this;
    ++*this;
    return old;
  }

  friend bool operator==(const HloInstructionIteratorBase& a,
                         const HloInstructionIteratorBase& b) {
    return a.current_ == b.current_;
  }
  friend bool operator!=(const HloInstructionIteratorBase& a,
                         const HloInstructionIteratorBase& b) {
    return a.current_ != b.current_;
  }

 private:
  void SkipHoles() {
    while (current_ < end_index_ && (*list_)[current_].get() == nullptr) {
      ++current_;
    }
  }

  UnderlyingList* list_;
  int current_;
  int end_index_;
};

using HloInstructionIterator = HloInstructionIteratorBase<HloInstructionList>;
using HloInstructionConstIterator =
    HloInstructionIteratorBase<const HloInstructionList>;

// The same, yielding HloInstruction*.
template <typename WrappedIter>
class HloInstructionUnwrappingIteratorBase {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = HloInstruction*;
  using difference_type = ptrdiff_t;
  using pointer = value_type*;
  using reference = value_type&;

  explicit HloInstructionUnwrappingIteratorBase(WrappedIter iter)
      : iter_(std::move(iter)) {}

  value_type operator*() const { return iter_.get(); }
  HloInstructionUnwrappingIteratorBase& operator++() {
    ++iter_;
    return *this;
  }
  HloInstructionUnwrappingIteratorBase operator++(int) {
    HloInstructionUnwrappingIteratorBase old = *this;
    ++iter_;
    return old;
  }

  friend bool operator==(const HloInstructionUnwrappingIteratorBase& a,
                         const HloInstructionUnwrappingIteratorBase& b) {
    return a.iter_ == b.iter_;
  }
  friend bool operator!=(const HloInstructionUnwrappingIteratorBase& a,
                         const HloInstructionUnwrappingIteratorBase& b) {
    return a.iter_ != b.iter_;
  }

 private:
  WrappedIter iter_;
};

using HloInstructionUnwrappingIterator =
    HloInstructionUnwrappingIteratorBase<HloInstructionIterator>;
using HloInstructionUnwrappingConstIterator =
    HloInstructionUnwrappingIteratorBase<HloInstructionConstIterator>;

// A node of the data flow graph of a computation: an operation, its operands
// and its attributes.
//
// The graph is kept both ways: an instruction knows its operands, and each
// operand its users, each once no matter how often they use it. All changes of
// operands go through methods that update both ends, in constant time per edge.
// Attributes that only some opcodes have live in subclasses
// (hlo_instructions.h); the accessors here forward to them and CHECK that the
// opcode has the attribute. Attributes that most instructions lack are stored
// out of line.
//
// Instructions are made by the Create methods, which do not check shapes, and
// are then given to a computation, which owns them. They are not copyable.
class HloInstruction {
 public:
  // How the operations of a fusion are laid out by a code generator.
  enum class FusionKind { kLoop, kInput, kOutput, kCustom };

  using LocalId = int32_t;
  using InstructionVector = absl::InlinedVector<HloInstruction*, 2>;

  inline static constexpr char kMainExecutionThread[] = "main";
  inline static constexpr char kHostThread[] = "host";

  virtual ~HloInstruction();
  HloInstruction(const HloInstruction&) = delete;
  HloInstruction& operator=(const HloInstruction&) = delete;

  // Removes all edges: this user from its operands, this operand from its users
  // (null takes its place), and control edges. For destruction.
  void DetachFromOperandsAndUsers();

  // Adds `derived_instruction` to this instruction's computation after giving
  // it the metadata, sharding and frontend attributes of this instruction.
  HloInstruction* AddInstruction(
      std::unique_ptr<HloInstruction> derived_instruction,
      absl::string_view new_name = "");

  // --- Creation -------------------------------------------------------------

  // Errors: unknown opcode, ids absent from the maps, attributes that the
  // opcode needs and the proto lacks. `instruction_map` and `computation_map`
  // map ids in the proto to the objects made for them.
  static absl::StatusOr<std::unique_ptr<HloInstruction>> CreateFromProto(
      const HloInstructionProto& proto,
      const absl::flat_hash_map<int64_t, HloInstruction*>& instruction_map,
      const absl::flat_hash_map<int64_t, HloComputation*>& computation_map = {},
      bool prohibit_empty_literal = true,
      absl::Span<const std::shared_ptr<BackendConfigWrapper>> backend_configs =
          {});

  static std::unique_ptr<HloInstruction> CreateParameter(
      int64_t parameter_number, const Shape& shape, absl::string_view name);
  static std::unique_ptr<HloInstruction> CreateConstant(Literal literal);
  static std::unique_ptr<HloInstruction> CreateIota(const Shape& shape,
                                                    int64_t iota_dimension);
  // The k largest (or smallest) values of the last dimension, and their
  // positions, as a tuple.
  static std::unique_ptr<HloInstruction> CreateTopK(const Shape& shape,
                                                    HloInstruction* input,
                                                    int64_t k, bool largest,
                                                    bool is_stable = true);
  static std::unique_ptr<HloInstruction> CreateGetTupleElement(
      const Shape& shape, HloInstruction* operand, int64_t index);
  static std::unique_ptr<HloInstruction> CreateGetTupleElement(
      HloInstruction* operand, int64_t index);
  static std::unique_ptr<HloInstruction> CreateRng(
      const Shape& shape, RandomDistribution distribution,
      absl::Span<HloInstruction* const> parameters);
  static std::unique_ptr<HloInstruction> CreateRngBitGenerator(
      const Shape& shape, HloInstruction* state, RandomAlgorithm algorithm);
  static std::unique_ptr<HloInstruction> CreateRngGetAndUpdateState(
      const Shape& shape, int64_t delta);
  // `result_accuracy` only for opcodes of IsUnaryOpWithResultAccuracy.
  static std::unique_ptr<HloInstruction> CreateUnary(
      const Shape& shape, HloOpcode opcode, HloInstruction* operand,
      std::optional<ResultAccuracy> result_accuracy = std::nullopt);
  static std::unique_ptr<HloInstruction> CreateBinary(const Shape& shape,
                                                      HloOpcode opcode,
                                                      HloInstruction* lhs,
                                                      HloInstruction* rhs);
  static std::unique_ptr<HloInstruction> CreateTernary(const Shape& shape,
                                                       HloOpcode opcode,
                                                       HloInstruction* lhs,
                                                       HloInstruction* rhs,
                                                       HloInstruction* ehs);
  // Tuple, after-all and other opcodes that have no attributes.
  static std::unique_ptr<HloInstruction> CreateVariadic(
      const Shape& shape, HloOpcode opcode,
      absl::Span<HloInstruction* const> operands);
  static std::unique_ptr<HloInstruction> CreateMap(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      HloComputation* map_computation);
  static std::unique_ptr<HloInstruction> CreateConvolve(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      int64_t feature_group_count, int64_t batch_group_count,
      const Window& window,
      const ConvolutionDimensionNumbers& dimension_numbers,
      const PrecisionConfig& precision_config,
      const SparsityConfig& sparsity_config = SparsityConfig(),
      ConvolutionKind convolution_kind = CONVOLUTION_KIND_UNSET);
  static std::unique_ptr<HloInstruction> CreateConvolve(
      const Shape& shape, HloInstruction* lhs, HloInstruction* rhs,
      int64_t feature_group_count, int64_t batch_group_count,
      const Window& window,
      const ConvolutionDimensionNumbers& dimension_numbers,
      const PrecisionConfig& precision_config);
  static std::unique_ptr<HloInstruction> CreateFft(
      const Shape& shape, HloInstruction* operand, FftType fft_type,
      absl::Span<const int64_t> fft_length);

  // Asynchronous execution of `async_computation`, shared by all instructions
  // of the chain start, update..., done:
  //
  //   s = ((operands), results, context) async-start(operands), calls=c
  //   u = (same) async-update(s)
  //   d = results async-done(u)
  static std::unique_ptr<HloInstruction> CreateAsyncStart(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      HloComputation* async_computation,
      absl::string_view async_execution_thread = kMainExecutionThread);
  // `async_wrapped_opcode` and `async_computation` are for chains whose start
  // cannot be reached through the operand (it comes in as a parameter).
  static std::unique_ptr<HloInstruction> CreateAsyncUpdate(
      const Shape& shape, HloInstruction* operand,
      std::optional<HloOpcode> async_wrapped_opcode = std::nullopt,
      HloComputation* async_computation = nullptr);
  // operands[0] is the chain's state; the others are operands bound late.
  static std::unique_ptr<HloInstruction> CreateAsyncUpdate(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      std::optional<HloOpcode> async_wrapped_opcode = std::nullopt,
      HloComputation* async_computation = nullptr);
  static std::unique_ptr<HloInstruction> CreateAsyncDone(
      const Shape& shape, HloInstruction* operand,
      std::optional<HloOpcode> async_wrapped_opcode = std::nullopt,
      HloComputation* async_computation = nullptr);

  static std::unique_ptr<HloInstruction> CreateCopyStart(
      const Shape& shape, HloInstruction* operand,
      std::optional<int> cross_program_prefetch_index = std::nullopt);
  // `type` defaults to the comparison type of lhs's element type.
  static std::unique_ptr<HloInstruction> CreateCompare(
      const Shape& shape, HloInstruction* lhs, HloInstruction* rhs,
      Comparison::Direction direction,
      std::optional<Comparison::Type> type = std::nullopt);
  static std::unique_ptr<HloInstruction> CreateTriangularSolve(
      const Shape& shape, HloInstruction* a, HloInstruction* b,
      const TriangularSolveOptions& options);
  static std::unique_ptr<HloInstruction> CreateCholesky(
      const Shape& shape, HloInstruction* a, const CholeskyOptions& options);
  static std::unique_ptr<HloInstruction> CreateDot(
      const Shape& shape, HloInstruction* lhs, HloInstruction* rhs,
      const DotDimensionNumbers& dimension_numbers,
      const PrecisionConfig& precision_config);
  static std::unique_ptr<HloInstruction> CreateRaggedDot(
      const Shape& shape, HloInstruction* lhs, HloInstruction* rhs,
      HloInstruction* group_sizes,
      const RaggedDotDimensionNumbers& dimension_numbers,
      const PrecisionConfig& precision_config);
  static std::unique_ptr<HloInstruction> CreateScaledDot(
      const Shape& shape, HloInstruction* lhs, HloInstruction* rhs,
      HloInstruction* lhs_scale, HloInstruction* rhs_scale,
      const DotDimensionNumbers& dimension_numbers,
      const PrecisionConfig& precision_config);
  static std::unique_ptr<HloInstruction> CreateReducePrecision(
      const Shape& shape, HloInstruction* operand, int exponent_bits,
      int mantissa_bits);

  // Collectives. Those that take `replica_groups` build a list of lists from
  // it.
  static std::unique_ptr<HloInstruction> CreateAllGather(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      int64_t all_gather_dimension,
      std::shared_ptr<CollectiveDeviceListBase> device_list,
      bool constrain_layout, const std::optional<int64_t>& channel_id,
      bool use_global_device_ids);
  static std::unique_ptr<HloInstruction> CreateAllGather(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      int64_t all_gather_dimension,
      absl::Span<const ReplicaGroup> replica_groups, bool constrain_layout,
      const std::optional<int64_t>& channel_id, bool use_global_device_ids);
  static std::unique_ptr<HloInstruction> CreateAllGatherStart(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      int64_t all_gather_dimension,
      std::shared_ptr<CollectiveDeviceListBase> device_list,
      bool constrain_layout, const std::optional<int64_t>& channel_id,
      bool use_global_device_ids);
  static std::unique_ptr<HloInstruction> CreateAllGatherStart(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      int64_t all_gather_dimension,
      absl::Span<const ReplicaGroup> replica_groups, bool constrain_layout,
      const std::optional<int64_t>& channel_id, bool use_global_device_ids);
  static std::unique_ptr<HloInstruction> CreateAllReduce(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      HloComputation* reduce_computation,
      std::shared_ptr<CollectiveDeviceListBase> device_list,
      bool constrain_layout, const std::optional<int64_t>& channel_id,
      bool use_global_device_ids);
  static std::unique_ptr<HloInstruction> CreateAllReduce(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      HloComputation* reduce_computation,
      absl::Span<const ReplicaGroup> replica_groups, bool constrain_layout,
      const std::optional<int64_t>& channel_id, bool use_global_device_ids);
  static std::unique_ptr<HloInstruction> CreateReduceScatter(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      HloComputation* reduce_computation,
      std::shared_ptr<CollectiveDeviceListBase> device_list,
      bool constrain_layout, const std::optional<int64_t>& channel_id,
      bool use_global_device_ids, int64_t scatter_dimension);
  static std::unique_ptr<HloInstruction> CreateReduceScatter(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      HloComputation* reduce_computation,
      absl::Span<const ReplicaGroup> replica_groups, bool constrain_layout,
      const std::optional<int64_t>& channel_id, bool use_global_device_ids,
      int64_t scatter_dimension);
  static std::unique_ptr<HloInstruction> CreateAllReduceStart(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      HloComputation* reduce_computation,
      std::shared_ptr<CollectiveDeviceListBase> device_list,
      bool constrain_layout, const std::optional<int64_t>& channel_id,
      bool use_global_device_ids);
  static std::unique_ptr<HloInstruction> CreateAllReduceStart(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      HloComputation* reduce_computation,
      absl::Span<const ReplicaGroup> replica_groups, bool constrain_layout,
      const std::optional<int64_t>& channel_id, bool use_global_device_ids);
  // Without `split_dimension`, operand i of a device goes to device i of its
  // group, and the result is a tuple.
  static std::unique_ptr<HloInstruction> CreateAllToAll(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      std::shared_ptr<CollectiveDeviceListBase> device_list,
      bool constrain_layout, const std::optional<int64_t>& channel_id,
      const std::optional<int64_t>& split_dimension = std::nullopt);
  static std::unique_ptr<HloInstruction> CreateAllToAll(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      absl::Span<const ReplicaGroup> replica_groups, bool constrain_layout,
      const std::optional<int64_t>& channel_id,
      const std::optional<int64_t>& split_dimension = std::nullopt);
  // operands: input, output, input_offsets, send_sizes, output_offsets,
  // recv_sizes.
  static std::unique_ptr<HloInstruction> CreateRaggedAllToAll(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      std::shared_ptr<CollectiveDeviceListBase> device_list,
      const std::optional<int64_t>& channel_id);
  static std::unique_ptr<HloInstruction> CreateRaggedAllToAll(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      absl::Span<const ReplicaGroup> replica_groups,
      const std::optional<int64_t>& channel_id);
  static std::unique_ptr<HloInstruction> CreateCollectiveBroadcast(
      const Shape& shape, absl::Span<HloInstruction* const> operand,
      std::shared_ptr<CollectiveDeviceListBase> device_list,
      bool constrain_layout, const std::optional<int64_t>& channel_id,
      bool has_dynamic_root = false);
  static std::unique_ptr<HloInstruction> CreateCollectiveBroadcast(
      const Shape& shape, absl::Span<HloInstruction* const> operand,
      absl::Span<const ReplicaGroup> replica_groups, bool constrain_layout,
      const std::optional<int64_t>& channel_id, bool has_dynamic_root = false);
  static std::unique_ptr<HloInstruction> CreateCollectivePermute(
      const Shape& shape, HloInstruction* operand,
      const std::vector<std::pair<int64_t, int64_t>>& source_target_pairs,
      const std::optional<int64_t>& channel_id);
  static std::unique_ptr<HloInstruction> CreateCollectivePermute(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      const std::vector<std::pair<int64_t, int64_t>>& source_target_pairs,
      const std::optional<int64_t>& channel_id);
  // In place: slices of `input` are written into `output`.
  static std::unique_ptr<HloInstruction> CreateCollectivePermute(
      const Shape& shape, HloInstruction* input, HloInstruction* output,
      HloInstruction* input_start_indices, HloInstruction* output_start_indices,
      absl::Span<const std::pair<int64_t, int64_t>> source_target_pairs,
      absl::Span<const std::vector<int64_t>> slice_sizes,
      const std::optional<int64_t>& channel_id);
  static std::unique_ptr<HloInstruction> CreateCollectivePermuteStart(
      const Shape& shape, HloInstruction* operand,
      const std::vector<std::pair<int64_t, int64_t>>& source_target_pairs,
      const std::optional<int64_t>& channel_id);
  static std::unique_ptr<HloInstruction> CreateCollectivePermuteStart(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      const std::vector<std::pair<int64_t, int64_t>>& source_target_pairs,
      const std::optional<int64_t>& channel_id);
  static std::unique_ptr<HloInstruction> CreateCollectivePermuteStart(
      const Shape& shape, HloInstruction* input, HloInstruction* output,
      HloInstruction* input_start_indices, HloInstruction* output_start_indices,
      absl::Span<const std::pair<int64_t, int64_t>> source_target_pairs,
      absl::Span<const std::vector<int64_t>> slice_sizes,
      const std::optional<int64_t>& channel_id);
  static std::unique_ptr<HloInstruction> CreateReplicaId(
      const Shape& shape = ShapeUtil::MakeShape(U32, {}));
  static std::unique_ptr<HloInstruction> CreatePartitionId(
      const Shape& shape = ShapeUtil::MakeShape(U32, {}));

  static std::unique_ptr<HloInstruction> CreateConvert(const Shape& shape,
                                                       HloInstruction* operand);
  static std::unique_ptr<HloInstruction> CreateBitcast(const Shape& shape,
                                                       HloInstruction* operand);
  static std::unique_ptr<HloInstruction> CreateBitcastConvert(
      const Shape& shape, HloInstruction* operand);
  static std::unique_ptr<HloInstruction> CreateStochasticConvert(
      const Shape& shape, HloInstruction* operand, HloInstruction* random);

  // The result of infeed, send, recv and recv-done holds a token:
  // (infeed_shape, token), (operand, u32, token), (shape, u32, token),
  // (shape, token).
  static std::unique_ptr<HloInstruction> CreateInfeed(
      const Shape& infeed_shape, HloInstruction* token_operand,
      const std::string& config);
  static std::unique_ptr<HloInstruction> CreateOutfeed(
      const Shape& outfeed_shape, HloInstruction* operand,
      HloInstruction* token_operand, absl::string_view outfeed_config);
  static std::unique_ptr<HloInstruction> CreateSend(
      HloInstruction* operand, HloInstruction* token,
      std::optional<int64_t> channel_id, bool is_host_transfer);
  static std::unique_ptr<HloInstruction> CreateSendDone(
      HloInstruction* operand, std::optional<int64_t> channel_id,
      bool is_host_transfer);
  static std::unique_ptr<HloInstruction> CreateRecv(
      const Shape& shape, HloInstruction* token,
      std::optional<int64_t> channel_id, bool is_host_transfer);
  static std::unique_ptr<HloInstruction> CreateRecvDone(
      HloInstruction* operand, std::optional<int64_t> channel_id,
      bool is_host_transfer);

  static std::unique_ptr<HloInstruction> CreateSlice(
      const Shape& shape, HloInstruction* operand,
      absl::Span<const int64_t> start_indices,
      absl::Span<const int64_t> limit_indices,
      absl::Span<const int64_t> strides);
  static std::unique_ptr<HloInstruction> CreateDynamicSlice(
      const Shape& shape, HloInstruction* operand,
      absl::Span<HloInstruction* const> start_indices,
      absl::Span<const int64_t> slice_sizes);
  static std::unique_ptr<HloInstruction> CreateDynamicUpdateSlice(
      const Shape& shape, HloInstruction* operand, HloInstruction* update,
      absl::Span<HloInstruction* const> start_indices);
  static std::unique_ptr<HloInstruction> CreateConcatenate(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      int64_t dimension);
  static std::unique_ptr<HloInstruction> CreateReduce(
      const Shape& shape, HloInstruction* operand, HloInstruction* init_value,
      absl::Span<const int64_t> dimensions_to_reduce,
      HloComputation* reduce_computation);
  static std::unique_ptr<HloInstruction> CreateReduce(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      absl::Span<HloInstruction* const> init_values,
      absl::Span<const int64_t> dimensions_to_reduce,
      HloComputation* reduce_computation);
  // Reduces the elements of a tuple: the get-tuple-elements that read them are
  // added to the tuple's computation, which it must have.
  static std::unique_ptr<HloInstruction> CreateReduce(
      const Shape& shape, HloInstruction* tuple_of_instructions,
      absl::Span<HloInstruction* const> init_values,
      absl::Span<const int64_t> dimensions_to_reduce,
      HloComputation* reduce_computation);
  static std::unique_ptr<HloInstruction> CreateReduceWindow(
      const Shape& shape, HloInstruction* operand, HloInstruction* init_value,
      const Window& window, HloComputation* reduce_computation);
  static std::unique_ptr<HloInstruction> CreateReduceWindow(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      absl::Span<HloInstruction* const> init_values, const Window& window,
      HloComputation* reduce_computation);
  static std::unique_ptr<HloInstruction> CreateScan(
      const Shape& shape, absl::Span<HloInstruction* const> inputs,
      absl::Span<HloInstruction* const> inits, HloComputation* to_apply,
      int64_t scan_dimension, bool is_reverse,
      TriState is_associative = TRI_STATE_UNSPECIFIED);
  static std::unique_ptr<HloInstruction> CreateBatchNormTraining(
      const Shape& shape, HloInstruction* operand, HloInstruction* scale,
      HloInstruction* offset, float epsilon, int64_t feature_index);
  static std::unique_ptr<HloInstruction> CreateBatchNormInference(
      const Shape& shape, HloInstruction* operand, HloInstruction* scale,
      HloInstruction* offset, HloInstruction* mean, HloInstruction* variance,
      float epsilon, int64_t feature_index);
  static std::unique_ptr<HloInstruction> CreateBatchNormGrad(
      const Shape& shape, HloInstruction* operand, HloInstruction* scale,
      HloInstruction* mean, HloInstruction* variance,
      HloInstruction* grad_output, float epsilon, int64_t feature_index);
  static std::unique_ptr<HloInstruction> CreateSelectAndScatter(
      const Shape& shape, HloInstruction* operand, HloComputation* select,
      const Window& window, HloInstruction* source, HloInstruction* init_value,
      HloComputation* scatter);
  static std::unique_ptr<HloInstruction> CreateBroadcast(
      const Shape& shape, HloInstruction* operand,
      absl::Span<const int64_t> broadcast_dimensions);
  // Broadcasts in the sense of implicit broadcasting: dimensions of size one
  // are stretched (reshaped away first), scalars are broadcast. `adder` adds
  // the intermediate instructions to a computation.
  static std::unique_ptr<HloInstruction> CreateBroadcastSequence(
      const Shape& output_shape, HloInstruction* operand,
      absl::FunctionRef<HloInstruction*(std::unique_ptr<HloInstruction>)>
          adder);
  static std::unique_ptr<HloInstruction> CreatePad(
      const Shape& shape, HloInstruction* operand,
      HloInstruction* padding_value, const PaddingConfig& padding_config);
  static std::unique_ptr<HloInstruction> CreateReshape(
      const Shape& shape, HloInstruction* operand,
      int64_t inferred_dimension = -1);
  static std::unique_ptr<HloInstruction> CreateDynamicReshape(
      const Shape& shape, HloInstruction* data_operand,
      absl::Span<HloInstruction* const> dim_sizes);
  static std::unique_ptr<HloInstruction> CreateTranspose(
      const Shape& shape, HloInstruction* operand,
      absl::Span<const int64_t> dimensions);
  static std::unique_ptr<HloInstruction> CreateSort(
      const Shape& shape, int64_t dimension,
      absl::Span<HloInstruction* const> operands, HloComputation* compare,
      bool is_stable);
  static std::unique_ptr<HloInstruction> CreateWhile(const Shape& shape,
                                                     HloComputation* condition,
                                                     HloComputation* body,
                                                     HloInstruction* init);
  static std::unique_ptr<HloInstruction> CreateConditional(
      const Shape& shape, HloInstruction* pred,
      HloInstruction* true_computation_arg, HloComputation* true_computation,
      HloInstruction* false_computation_arg, HloComputation* false_computation);
  static std::unique_ptr<HloInstruction> CreateConditional(
      const Shape& shape, HloInstruction* branch_index,
      absl::Span<HloComputation* const> branch_computations,
      absl::Span<HloInstruction* const> branch_computation_args);
  static std::unique_ptr<HloInstruction> CreateGather(
      const Shape& shape, HloInstruction* operand,
      HloInstruction* start_indices,
      const GatherDimensionNumbers& gather_dim_numbers,
      absl::Span<const int64_t> slice_sizes, bool indices_are_sorted);
  static std::unique_ptr<HloInstruction> CreateScatter(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      HloInstruction* scatter_indices,
      absl::Span<HloInstruction* const> updates,
      HloComputation* update_computation,
      const ScatterDimensionNumbers& scatter_dim_numbers,
      bool indices_are_sorted, bool unique_indices);
  static std::unique_ptr<HloInstruction> CreateScatter(
      const Shape& shape, HloInstruction* operand,
      HloInstruction* scatter_indices, HloInstruction* updates,
      HloComputation* update_computation,
      const ScatterDimensionNumbers& scatter_dim_numbers,
      bool indices_are_sorted, bool unique_indices);
  static std::unique_ptr<HloInstruction> CreateDomain(
      const Shape& shape, HloInstruction* operand,
      std::unique_ptr<DomainMetadata> operand_side_metadata,
      std::unique_ptr<DomainMetadata> user_side_metadata);

  // A fusion of `fused_root` alone: a clone of it becomes the root of a new
  // computation of the root's module, its operands the fusion's operands.
  static std::unique_ptr<HloInstruction> CreateFusion(
      const Shape& shape, FusionKind fusion_kind, HloInstruction* fused_root,
      absl::string_view prefix = "");
  static std::unique_ptr<HloInstruction> CreateFusion(
      const Shape& shape, FusionKind fusion_kind,
      absl::Span<HloInstruction* const> operands,
      HloComputation* fusion_computation, absl::string_view prefix = "");
  // As CreateFusion, for calls.
  static std::unique_ptr<HloInstruction> CreateCall(
      const Shape& shape, HloInstruction* called_computation_root);
  static std::unique_ptr<HloInstruction> CreateCall(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      HloComputation* computation);
  // A call that represents a higher-level operation `name`, of which the
  // computation is one implementation.
  static std::unique_ptr<HloInstruction> CreateCompositeCall(
      const Shape& shape, HloInstruction* decomposition_root,
      const std::string& name, const std::string& attributes, int64_t version);
  static std::unique_ptr<HloInstruction> CreateCompositeCall(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      HloComputation* decomposition, const std::string& name,
      const std::string& attributes, int64_t version);
  static std::unique_ptr<HloInstruction> CreateCustomCall(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      absl::string_view custom_call_target, std::string opaque = "",
      CustomCallApiVersion api_version = API_VERSION_ORIGINAL);
  static std::unique_ptr<HloInstruction> CreateCustomCall(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      HloComputation* to_apply, absl::string_view custom_call_target,
      std::string opaque = "",
      CustomCallApiVersion api_version = API_VERSION_ORIGINAL);
  static std::unique_ptr<HloInstruction> CreateCustomCall(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      absl::Span<HloComputation* const> called_computations,
      absl::string_view custom_call_target, std::string opaque = "",
      CustomCallApiVersion api_version = API_VERSION_ORIGINAL);
  // With the layouts in which the call requires its operands.
  static std::unique_ptr<HloInstruction> CreateCustomCall(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      absl::string_view custom_call_target,
      absl::Span<const Shape> operand_shapes_with_layout,
      std::string opaque = "",
      CustomCallApiVersion api_version = API_VERSION_ORIGINAL);
  static std::unique_ptr<HloInstruction> CreateCustomCall(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      HloComputation* to_apply, absl::string_view custom_call_target,
      absl::Span<const Shape> operand_shapes_with_layout,
      std::string opaque = "",
      CustomCallApiVersion api_version = API_VERSION_ORIGINAL);
  static std::unique_ptr<HloInstruction> CreateTuple(
      absl::Span<HloInstruction* const> elements);
  static std::unique_ptr<HloInstruction> CreateReverse(
      const Shape& shape, HloInstruction* operand,
      absl::Span<const int64_t> dimensions);
  // At least one operand, all tokens.
  static std::unique_ptr<HloInstruction> CreateAfterAll(
      absl::Span<HloInstruction* const> operands);
  // An after-all without operands.
  static std::unique_ptr<HloInstruction> CreateToken();
  static std::unique_ptr<HloInstruction> CreateGetDimensionSize(
      const Shape& shape, HloInstruction* operand, int64_t dimension);
  static std::unique_ptr<HloInstruction> CreateSetDimensionSize(
      const Shape& shape, HloInstruction* operand, HloInstruction* val,
      int64_t dimension);
  static std::unique_ptr<HloInstruction> CreateAddDependency(
      HloInstruction* data_operand, HloInstruction* token_operand);

  // True if the set is empty (all threads) or holds the thread.
  static bool IsThreadIncluded(
      absl::string_view execution_thread,
      const absl::flat_hash_set<absl::string_view>& execution_threads_set);

  // --- Basic properties -----------------------------------------------------

  HloOpcode opcode() const { return opcode_; }
  HloOpcode* mutable_opcode() { return &opcode_; }

  // Root of its computation. The mark is set by the computation.
  bool IsRoot() const { return is_root_; }
  void MarkAsRoot() { is_root_ = true; }
  void MarkAsNonRoot() { is_root_ = false; }
  // No users and not root. Side effects are ignored.
  bool IsDead() const { return users_.empty() && !is_root_; }

  // A side effect of the instruction itself, not of the computations it calls.
  bool HasSideEffectNoRecurse() const;
  bool HasSideEffect() const;

  const Shape& shape() const { return shape_; }
  Shape* mutable_shape() { return &shape_; }

  const HloInstruction* operand(int64_t i) const { return operands_.at(i); }
  HloInstruction* mutable_operand(int64_t i) { return operands_.at(i); }
  int64_t operand_count() const { return operands_.size(); }
  const InstructionVector& operands() const { return operands_; }
  InstructionVector mutable_operands() { return operands_; }
  // Each operand once, in the order of first use.
  InstructionVector unique_operands() const;
  // First position of `target`, which must be an operand.
  int64_t operand_index(const HloInstruction* target) const;
  std::vector<int64_t> operand_indices(const HloInstruction* target) const;
  absl::InlinedVector<int64_t, 4> OperandIndices(
      const HloInstruction* operand) const;

  // Each user once, in the order of addition, except that the last takes the
  // place of a removed one.
  int64_t user_count() const { return users_.size(); }
  const PtrVec<HloInstruction*>& users() const { return users_.vec(); }
  // Position of `user` in users(), which must hold it. Constant time.
  int64_t UserId(HloInstruction* user) { return users_.UserId(user); }
  // This instruction uses `instruction`. Constant time.
  bool IsUserOf(const HloInstruction* instruction) const {
    return instruction->users_.Contains(this);
  }

  // --- Control dependencies -------------------------------------------------

  // Orders this instruction before `instruction`, both of one computation. Each
  // edge is stored once.
  absl::Status AddControlDependencyTo(HloInstruction* instruction);
  absl::Status RemoveControlDependencyTo(HloInstruction* instruction);
  absl::Status DropAllControlDeps();
  // Drops all, after connecting each predecessor to each successor.
  absl::Status SafelyDropAllControlDependencies();
  bool HasControlDependencies() const;
  bool HasSuccessorControlDependencies() const;
  absl::Status CopyAllControlDepsFrom(const HloInstruction* inst) {
    return inst->CopyAllControlDepsTo(this, this);
  }
  // Predecessors of this instruction come before `start`, successors after
  // `end`.
  absl::Status CopyAllControlDepsTo(HloInstruction* start,
                                    HloInstruction* end) const;
  const PtrVec<HloInstruction*>& control_predecessors() const {
    return rare().control_predecessors;
  }
  const PtrVec<HloInstruction*>& control_successors() const {
    return rare().control_successors;
  }

  // --- Equality and hashing -------------------------------------------------

  // Same opcode, shape, attributes, operands by eq_operands and computations
  // by eq_computations. Metadata and names do not count. `layout_sensitive`:
  // layouts of shapes count; `sharding_sensitive`: shardings count.
  bool Identical(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloInstruction*, const HloInstruction*)>
          eq_operands = std::equal_to<const HloInstruction*>(),
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations = std::equal_to<const HloComputation*>(),
      bool layout_sensitive = true, bool sharding_sensitive = false) const {
    return IdenticalInternal(other, eq_operands, eq_computations,
                             layout_sensitive, sharding_sensitive,
                             /*ignore_channel_id_values=*/false,
                             /*ignore_commutative_operand_order=*/false);
  }
  // Same opcode and attributes; operands, shapes and computations may differ.
  bool SameOp(const HloInstruction& other) const;
  // Identical, but a + b equals b + a.
  bool IdenticalIgnoringCommutativeOperandOrder(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloInstruction*, const HloInstruction*)>
          eq_operands = std::equal_to<const HloInstruction*>(),
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations = std::equal_to<const HloComputation*>(),
      bool layout_sensitive = true, bool sharding_sensitive = false) const {
    return IdenticalInternal(other, eq_operands, eq_computations,
                             layout_sensitive, sharding_sensitive,
                             /*ignore_channel_id_values=*/false,
                             /*ignore_commutative_operand_order=*/true);
  }
  // Identical, but channel ids need only be both present or both absent.
  bool IdenticalIgnoringChannelIdValues(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloInstruction*, const HloInstruction*)>
          eq_operands = std::equal_to<const HloInstruction*>(),
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations = std::equal_to<const HloComputation*>(),
      bool layout_sensitive = true, bool sharding_sensitive = false) const {
    return IdenticalInternal(other, eq_operands, eq_computations,
                             layout_sensitive, sharding_sensitive,
                             /*ignore_channel_id_values=*/true,
                             /*ignore_commutative_operand_order=*/false);
  }

  // Hashes what Identical compares: opcode, shape (with its layout), operand
  // count, operand shapes and attributes.
  template <typename H>
  friend H AbslHashValue(H h, const HloInstruction& hlo) {
    h = H::combine(std::move(h), hlo.opcode_, hlo.shape_, hlo.operands_.size());
    for (const HloInstruction* operand : hlo.operands_) {
      h = H::combine(std::move(h), operand->shape());
    }
    hlo.HashAdditionalAttributes(absl::HashState::Create(&h));
    return h;
  }
  virtual void HashAdditionalAttributes(absl::HashState h) const {}

  // --- Operand and user surgery ---------------------------------------------

  bool HasConstantOperand() const;

  // `user` uses `new_producer` wherever it used this instruction. Without
  // "DifferentShape" in the name, the shapes must be compatible.
  absl::Status ReplaceUseWith(HloInstruction* user,
                              HloInstruction* new_producer);
  absl::Status ReplaceUseWithDifferentShape(HloInstruction* user,
                                            HloInstruction* new_producer);
  // The same for one operand position of the user.
  absl::Status ReplaceUseWith(HloInstruction* user, int operand_number,
                              HloInstruction* new_producer);
  absl::Status ReplaceUseWithDifferentShape(HloInstruction* user,
                                            int operand_number,
                                            HloInstruction* new_producer);
  absl::Status ReplaceOperandWith(int64_t operand_num,
                                  HloInstruction* new_operand);
  absl::Status ReplaceOperandWithDifferentShape(int64_t operand_num,
                                                HloInstruction* new_operand);

  // Inlines the fusion into its computation and removes it.
  absl::Status Defuse();
  // Moves `instruction` out of this fusion's computation into the computation
  // that holds the fusion, and passes its value in as a new operand. Its
  // dependencies within the fusion are cloned outside as well. Returns the
  // instruction outside.
  absl::StatusOr<HloInstruction*> UnfuseInstruction(
      HloInstruction* instruction);

  // All users use `new_producer` (which may use this instruction itself: that
  // use stays), and it becomes root in place of this one. `trigger` names the
  // caller in traces.
  absl::Status ReplaceAllUsesWith(HloInstruction* new_producer,
                                  absl::string_view trigger = "");
  absl::Status ReplaceAllUsesWithDifferentShape(HloInstruction* new_producer);
  // The same for some of the users.
  absl::Status ReplaceUsesWith(absl::Span<HloInstruction* const> users,
                               HloInstruction* new_producer);
  absl::Status ReplaceAllUsesWithDifferentShape(
      absl::Span<HloInstruction* const> users, HloInstruction* new_producer);

  void AppendOperand(HloInstruction* operand);
  void AppendOperands(absl::Span<HloInstruction* const> operands);

  // --- Visitors -------------------------------------------------------------

  // Visits what this instruction depends on, operands and control predecessors
  // first, each once, on an explicit stack, so that depth is not limited. Then
  // FinishVisit, if `call_finish_visit`. Fails on a cycle. `cross_computation`:
  // called computations are visited before their callers.
  template <typename HloInstructionPtr>
  absl::Status Accept(DfsHloVisitorBase<HloInstructionPtr>* visitor,
                      bool call_finish_visit = true,
                      bool ignore_control_predecessors = false,
                      bool cross_computation = false);
  absl::Status Accept(ConstDfsHloVisitor* visitor,
                      bool call_finish_visit = true,
                      bool ignore_control_predecessors = false,
                      bool cross_computation = false) const {
    return const_cast<HloInstruction*>(this)->Accept(
        visitor, call_finish_visit, ignore_control_predecessors,
        cross_computation);
  }

  // The smaller of two operands is visited first.
  using CompareFunction =
      absl::FunctionRef<bool(const HloInstruction*, const HloInstruction*)>;
  absl::Status AcceptWithOperandOrder(DfsHloVisitor* visitor,
                                      CompareFunction operand_order,
                                      bool call_finish_visit = true);

  // Calls the visitor's method for this opcode.
  template <typename HloInstructionPtr>
  absl::Status Visit(DfsHloVisitorBase<HloInstructionPtr>* visitor);
  absl::Status Visit(ConstDfsHloVisitor* visitor) const {
    return const_cast<HloInstruction*>(this)->Visit(visitor);
  }

  // Follows get-tuple-elements to the instruction whose value this is a part
  // of, and returns the index of the part.
  std::pair<const HloInstruction*, ShapeIndex> LatestNonGteAncestorAndIndex()
      const;
  std::pair<HloInstruction*, ShapeIndex> LatestNonGteAncestorAndIndex();
  const HloInstruction* LatestNonGteAncestor() const;
  HloInstruction* LatestNonGteAncestor();

  // Moves no data: bitcast, or a transpose or reshape that keeps the bytes in
  // place (and, for the second form, has that opcode).
  bool IsEffectiveBitcast() const;
  bool IsEffectiveBitcast(HloOpcode opcode) const;
  // Async instruction on the given thread.
  bool IsAsyncInstructionWithExecutionThread(
      absl::string_view execution_thread) const;

  // --- Called computations --------------------------------------------------

  const PtrVec<HloComputation*>& called_computations() const {
    return rare().called_computations;
  }
  bool has_called_computations() const {
    return has_rare() && !called_computations().empty();
  }
  static bool MightHaveCalledComputations(HloOpcode opcode) {
    return GetInstructionCallContext(opcode) != CallContext::kNone;
  }
  void ReplaceCalledComputations(
      absl::FunctionRef<HloComputation*(HloComputation*)> map_function);
  void ClearCalledComputations();

  HloComputation* to_apply() const;
  void set_to_apply(HloComputation* computation);
  bool has_to_apply() const;

  HloComputation* while_condition() const;
  HloComputation* while_body() const;
  void set_while_condition(HloComputation* computation);
  void set_while_body(HloComputation* computation);
  HloInstruction* while_init() const;

  HloComputation* true_computation() const;
  HloComputation* false_computation() const;
  const PtrVec<HloComputation*>& branch_computations() const;
  int32_t branch_count() const;
  HloComputation* branch_computation(int32_t b) const;
  // Index of the first branch that is `computation`; -1 if there is none.
  int32_t branch_index(HloComputation* computation) const;
  void set_branch_computation(int b, HloComputation* computation);

  // --- Text and proto (hlo_instruction_print.cc, hlo_instruction_proto.cc) ---

  // Operand shapes -> result shape.
  std::string SignatureString() const;
  void Print(Printer* printer) const { Print(printer, HloPrintOptions()); }
  void Print(Printer* printer, const HloPrintOptions& options) const;
  std::string ToString() const { return ToString(HloPrintOptions()); }
  std::string ToString(const HloPrintOptions& options) const;
  // Without shape, attributes and operand shapes: %add = add(%x, %y).
  std::string ToShortString() const;
  // With names from the map if the options request canonical names.
  void PrintWithCanonicalNameMap(Printer* printer,
                                 const HloPrintOptions& options,
                                 CanonicalNameMap* canonical_name_map) const;

  // Prints attributes one by one, with a separator before each but the first.
  class AttributePrinter {
   public:
    // `next_printer` writes a separator where one is due.
    explicit AttributePrinter(std::function<Printer*()> next_printer)
        : next_printer_(std::move(next_printer)) {}
    void Next(absl::FunctionRef<void(Printer*)> print_func) {
      print_func(next_printer_());
    }

   private:
    std::function<Printer*()> next_printer_;
  };
  void PrintExtraAttributes(AttributePrinter& printer,
                            const HloPrintOptions& options) const;
  std::vector<std::string> ExtraAttributesToString(
      const HloPrintOptions& options) const;

  HloInstructionProto ToProto() const;
  virtual void ToProto(HloInstructionProto* proto) const;
  void ToProto(HloInstructionProto* proto, HloProtoOptions options) const;

  // Name of the opcode, refined for fusions and convolutions.
  virtual std::string ToCategory() const;

  // --- Fusion and elementwise predicates ------------------------------------

  // Belongs to the computation of a fusion.
  bool IsFused() const;
  bool IsLoopFusion() const;
  bool IsInputFusion() const;
  bool IsOutputFusion() const;
  bool IsCustomFusion() const;
  // May become part of a fusion: no side effects, no control flow, not a
  // parameter; a random number generator only if it has at most one user.
  bool IsFusible() const;

  bool IsCustomCall(absl::string_view target) const;
  bool IsCustomCall(absl::Span<const absl::string_view> targets) const;
  // Custom calls, and instructions in general, that may stand between an
  // async-start and its done without being part of the chain.
  bool IsAllowedAsyncIntermediaryCustomCall() const;
  bool IsAllowedAsyncIntermediary() const;

  // Result element i depends on element i of this operand (of every operand)
  // alone. Inspects the bodies of loop fusions; dynamic-update-slice is
  // elementwise on operand 0.
  bool IsElementwiseOnOperand(int64_t operand_idx) const;
  bool IsElementwise() const;
  // By opcode alone.
  static bool IsOpElementwise(HloOpcode opcode) {
    return HloOpcodeIsElementwise(opcode);
  }
  bool IsElementwiseBinary() const;
  // All-reduce over partitions, by channel, or over replicas.
  bool IsCrossModuleAllReduce() const;
  bool IsCrossReplicaAllReduce() const;
  // An element of operand i may be read more than once.
  bool ReusesOperandElements(int64_t i) const;
  // For copy, broadcast, transpose and similar: the operand dimension that
  // corresponds to result dimension `output_dim_idx`, if there is one.
  std::optional<int64_t> MapUnaryOutputDimToOperandDim(
      int64_t output_dim_idx) const;
  // For a reshape that only adds or drops dimensions of size 1: which.
  std::optional<ShapeUtil::ShapeEqualityDescriptor>
  ReshapeMerelyInsertsOrDeletes1SizedDimensions() const;

  // --- Sharding -------------------------------------------------------------

  const HloSharding& sharding() const {
    CHECK(has_sharding());
    return *sharding_;
  }
  std::shared_ptr<const HloSharding> sharding_ptr() const { return sharding_; }
  const HloSharding& sharding_or_default(const HloSharding& default_) const {
    return sharding_ ? *sharding_ : default_;
  }
  // The one device that computes this, if the sharding names one.
  std::optional<int64_t> sharding_unique_device() const;
  void set_sharding(HloSharding sharding);
  void set_sharding(std::shared_ptr<const HloSharding> sharding) {
    sharding_ = std::move(sharding);
  }
  void copy_sharding(const HloInstruction* hlo) { sharding_ = hlo->sharding_; }
  // The same sharding for every leaf.
  void set_single_sharding(const HloSharding& sharding);
  void set_device_sharding(int64_t device);
  void clear_sharding() { sharding_ = nullptr; }
  bool has_sharding() const { return sharding_ != nullptr; }
  bool has_compatible_sharding(const HloInstruction* other) const;

  // --- Cloning --------------------------------------------------------------

  // Gives `derived_instruction` this instruction's metadata, frontend
  // attributes, statistics, and its sharding if the shapes are of the same
  // kind.
  void SetupDerivedInstruction(HloInstruction* derived_instruction) const;

  // A copy with the same operands, named NAME.suffix (numbers and suffixes do
  // not pile up: x.clone becomes x.clone2), in no computation. Control edges
  // are not copied. The computation of a fusion or async-start belongs to it
  // alone and is cloned; others are shared, unless `context` has clones of them
  // or belongs to another module. All clones are recorded in `context`.
  std::unique_ptr<HloInstruction> Clone(
      const std::string& suffix = "clone",
      HloCloneContext* context = nullptr) const;
  std::unique_ptr<HloInstruction> CloneWithNewShape(
      const Shape& shape, const std::string& suffix = "clone",
      HloCloneContext* context = nullptr) const;
  std::unique_ptr<HloInstruction> CloneWithNewOperands(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context = nullptr) const;
  std::unique_ptr<HloInstruction> CloneWithNewOperands(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      const std::string& suffix, HloCloneContext* context = nullptr) const;

  // --- Names and ids --------------------------------------------------------

  absl::string_view name() const { return name_; }
  // Characters that HLO text does not allow in names become underscores.
  void SetAndSanitizeName(absl::string_view name);
  void UniquifyName(NameUniquer* name_uniquer);
  void UniquifyName(HloModule* module);

  // Id of the computation and local id in one number; -1 before the
  // instruction has a local id. Unique in a module.
  int64_t unique_id() const;
  // Slot in the computation's list of instructions: dense, suited to indexing
  // arrays, and fixed until HloComputation::Cleanup; -1 before there is one.
  int32_t local_id() const { return local_id_; }
  static int64_t CalculateUniqueId(int32_t computation_unique_id,
                                   int32_t instruction_local_id);
  static int32_t CalculateLocalId(int64_t unique_id);
  static int32_t CalculateParentId(int64_t unique_id);

  const HloComputation* parent() const { return parent_; }
  HloComputation* parent() { return parent_; }
  // Null while the instruction is in no computation, or that in no module.
  HloModule* GetModule() const;

  // --- Backend config -------------------------------------------------------

  bool has_backend_config() const;
  void clear_backend_config();
  void CopyBackendConfigFrom(const HloInstruction* other);
  template <typename T>
  using EnableIfProto = typename std::enable_if_t<
      std::is_base_of<google::protobuf::Message, T>::value>;
  // The config as a message: empty if there is no config, an error if the text
  // is not ConfigProto's JSON.
  template <typename ConfigProto, EnableIfProto<ConfigProto>* = nullptr>
  absl::StatusOr<ConfigProto> backend_config() const {
    ConfigProto proto;
    absl::Status status = GetBackendConfigInternal(&proto);
    if (!status.ok()) return status;
    return proto;
  }
  template <typename ConfigProto, EnableIfProto<ConfigProto>* = nullptr>
  absl::Status MutateBackendConfig(
      const std::function<absl::Status(ConfigProto*)>& fn) {
    absl::StatusOr<ConfigProto> config = backend_config<ConfigProto>();
    if (!config.ok()) return config.status();
    absl::Status status = fn(&*config);
    if (!status.ok()) return status;
    return set_backend_config(*config);
  }
  absl::Status set_backend_config(const google::protobuf::Message& proto);
  const std::string& raw_backend_config_string() const;
  void set_raw_backend_config_string(std::string config_str);
  // Shares the config with others that hold it.
  void set_backend_config_wrapper(std::shared_ptr<BackendConfigWrapper> config);
  // Null if there is no config.
  std::shared_ptr<const BackendConfigWrapper> backend_config_wrapper() const {
    return rare().backend_config;
  }
  // Set by backends on configs that were not tuned.
  bool is_default_config() const { return is_default_config_; }
  void set_default_config() { is_default_config_ = true; }

  // --- Frontend attributes, statistics, accuracy ----------------------------

  void set_frontend_attributes(FrontendAttributes frontend_attributes);
  // Adds those whose keys are absent.
  void add_frontend_attributes(FrontendAttributes frontend_attributes);
  // False, without effect, if the key is present.
  bool add_frontend_attribute(const std::string& key, const std::string& value);
  size_t erase_frontend_attribute(absl::string_view key);
  void set_frontend_attribute(absl::string_view key, absl::string_view value);
  bool has_frontend_attributes() const;
  const FrontendAttributes& frontend_attributes() const;
  std::optional<std::string> get_frontend_attribute(
      absl::string_view key) const;

  // Whether this call represents a higher-level operation.
  void set_is_composite(bool is_composite);
  bool is_composite() const { return rare().is_composite; }

  const ResultAccuracy& result_accuracy() const;
  bool has_result_accuracy() const;
  bool equal_result_accuracy(const HloInstruction* other) const;
  void set_result_accuracy(ResultAccuracy result_accuracy);

  void add_single_statistic(Statistic statistic);
  void set_stat_index_to_visualize(int64_t index);
  bool has_statistics() const;
  // The root of the entry computation has statistics.
  bool module_has_statistics() const;
  const Statistic& statistic_to_visualize() const;
  void set_statistics_viz(StatisticsViz statistics_viz);
  const StatisticsViz& statistics_viz() const;

  // Attributes unknown to the parser, as (name, text of the value), printed as
  // they were read.
  const std::vector<std::pair<std::string, std::string>>& unknown_attributes()
      const;
  void add_unknown_attribute(std::string name, std::string value);

  // --- Precision ------------------------------------------------------------

  bool SupportsPrecisionConfig() const;
  const PrecisionConfig& precision_config() const;
  PrecisionConfig* mutable_precision_config();

  // --- Metadata -------------------------------------------------------------

  void set_metadata(const OpMetadata& metadata);
  // Shares the object with other instructions until one of them changes it.
  void set_metadata_ptr(std::shared_ptr<const OpMetadata> metadata) {
    metadata_ = std::move(metadata);
  }
  void set_size_of_generated_code_in_bytes(int64_t code_size_in_bytes);
  void set_size_of_memory_working_set_in_bytes(
      int64_t working_set_size_in_bytes);
  void set_metadata_op_name(const std::string& name);
  void set_metadata_deduplicated_name(std::string deduplicated_name);
  void set_metadata_scheduling_name(absl::string_view name);
  // Some field is set.
  bool has_metadata() const;
  const OpMetadata& metadata() const {
    return metadata_ ? *metadata_ : OpMetadata::default_instance();
  }
  std::shared_ptr<const OpMetadata> metadata_ptr() const { return metadata_; }
  bool has_metadata_payload() const;
  // Empty if the payload is an id.
  std::string metadata_payload_string() const;
  // Innermost frame first; empty without a stack frame id.
  std::vector<HloStackFrame> GetStackTraceFromMetadata() const;
  std::string GetStackTraceStringFromMetadata(int indent = 0) const;
  // The reference is valid until this instruction's metadata is copied.
  OpMetadata& mutable_metadata();

  // --- Original value -------------------------------------------------------

  std::shared_ptr<OriginalValue> original_value() const {
    return rare().original_value;
  }
  void set_original_value(std::shared_ptr<OriginalValue> original_value);
  // Adopts the original value of `instruction` if the shapes' leaves match;
  // `clone`: a copy of it.
  void CopyOriginalValue(const HloInstruction* instruction, bool clone = false,
                         bool issue_warning = false);

  // --- Ordering of users ----------------------------------------------------

  // Puts users and control edges in the order that their originals have at
  // `sorted_instruction`; map_fn maps originals to copies.
  void SortInstructionUsersAndControlLists(
      const MappedPtrContainerSorter<HloInstruction>::MapPtrFn& map_fn,
      const HloInstruction& sorted_instruction);
  void SortUsers(
      absl::FunctionRef<bool(const HloInstruction*, const HloInstruction*)>
          compare);

  // --- Attributes of subclasses ---------------------------------------------
  // The opcode must have the attribute; see hlo_instructions.h.

  int64_t feature_index() const;
  float epsilon() const;
  FftType fft_type() const;
  const std::vector<int64_t>& fft_length() const;
  std::optional<int64_t> channel_id() const;
  void set_channel_id(const std::optional<int64_t>& channel_id);
  virtual absl::Span<const int64_t> dimensions() const;
  int64_t dimensions(int64_t index) const { return dimensions()[index]; }
  virtual std::vector<int64_t>* mutable_dimensions();
  int64_t concatenate_dimension() const;
  int64_t dimension() const;
  int64_t inferred_dimension() const;
  int64_t slice_starts(int64_t dimension) const;
  const std::vector<int64_t>& slice_starts() const;
  std::vector<int64_t>* mutable_slice_starts();
  int64_t slice_limits(int64_t dimension) const;
  const std::vector<int64_t>& slice_limits() const;
  std::vector<int64_t>* mutable_slice_limits();
  int64_t slice_strides(int64_t dimension) const;
  const std::vector<int64_t>& slice_strides() const;
  std::vector<int64_t>* mutable_slice_strides();
  const Literal& literal() const;
  // A constant, with or without a literal.
  bool IsConstant() const;
  void RelayoutConstant(const Layout& new_layout,
                        const ShapeIndex& shape_index = {});

  // See HloCallableInstruction and HloFusionInstruction.
  HloInstruction* AppendInstructionIntoCalledComputation(
      HloInstruction* instruction_to_append, bool add_output = false);
  HloInstruction* AddFusionOperand(HloInstruction* new_operand);
  void MergeFusionInstruction(HloInstruction* instruction_to_merge,
                              bool remove_computation = true);
  void MergeFusionInstructionIntoMultiOutput(
      HloInstruction* instruction_to_merge, bool remove_computation = true);
  HloInstruction* FuseInstruction(HloInstruction* instruction_to_fuse);
  HloInstruction* FuseInstructionIntoMultiOutput(
      HloInstruction* instruction_to_fuse);
  HloComputation* fused_instructions_computation() const;
  HloInstruction* fused_expression_root() const;
  tsl::gtl::iterator_range<HloInstructionUnwrappingConstIterator>
  fused_instructions() const;
  tsl::gtl::iterator_range<HloInstructionUnwrappingIterator>
  fused_instructions();
  int64_t fused_instruction_count() const;
  HloInstruction* fused_parameter(int64_t parameter_number) const;
  const InstructionVector& fused_parameters() const;
  bool IsMultiOutputFusion() const;
  FusionKind fusion_kind() const;
  void set_fusion_kind(FusionKind kind);

  RandomDistribution random_distribution() const;
  int64_t parameter_number() const;
  void set_parameter_replicated_at_leaf_buffers(
      absl::Span<const bool> parameter_replicated_at_leaf_buffers);
  void set_parameter_replicated_at_leaf_buffers(
      const std::vector<bool>& parameter_replicated_at_leaf_buffers);
  const std::optional<std::vector<bool>>& parameter_replicated_at_leaf_buffers()
      const;
  int64_t tuple_index() const;
  void set_tuple_index(int64_t new_tuple_index);
  int32_t exponent_bits() const;
  int32_t mantissa_bits() const;
  std::string infeed_config() const;
  void set_infeed_config(const std::string& config);
  const std::string& outfeed_config() const;
  void set_outfeed_config(const std::string& config);
  const Shape& outfeed_shape() const;
  Shape* mutable_outfeed_shape();
  const std::vector<ReplicaGroup>& replica_groups() const;
  const std::shared_ptr<CollectiveDeviceListBase>& device_list() const;
  bool has_replica_groups() const;
  const std::vector<std::pair<int64_t, int64_t>>& source_target_pairs() const;
  const Window& window() const;
  void set_window(const Window& window);
  bool unique_indices() const;
  const ConvolutionDimensionNumbers& convolution_dimension_numbers() const;
  void set_convolution_dimension_numbers(
      const ConvolutionDimensionNumbers& dnums);
  int64_t feature_group_count() const;
  void set_feature_group_count(int64_t feature_group_count);
  int64_t batch_group_count() const;
  void set_batch_group_count(int64_t batch_group_count);
  HloComputation* select() const;
  HloComputation* scatter() const;
  void set_select(HloComputation* computation);
  void set_scatter(HloComputation* computation);
  const std::string& custom_call_target() const;
  void set_custom_call_target(absl::string_view target);
  const PaddingConfig& padding_config() const;
  PaddingConfig* mutable_padding_config();
  PaddingType padding_type() const;
  int64_t slice_sizes(int64_t dimension) const;
  const std::vector<int64_t>& dynamic_slice_sizes() const;
  const std::vector<std::vector<int64_t>>& dynamic_slice_sizes_list() const;
  const GatherDimensionNumbers& gather_dimension_numbers() const;
  absl::Span<const int64_t> gather_slice_sizes() const;
  const ScatterDimensionNumbers& scatter_dimension_numbers() const;
  const DotDimensionNumbers& dot_dimension_numbers() const;
  const RaggedDotDimensionNumbers& ragged_dot_dimension_numbers() const;
  const DomainMetadata& operand_side_metadata() const;
  const DomainMetadata& user_side_metadata() const;
  const SparsityConfig& sparsity_config() const;
  void set_sparsity_config(const SparsityConfig& config);

  // An async-start, -update or -done.
  bool IsAsynchronous() const;
  HloInstruction* async_chain_start() const;
  HloInstruction* async_chain_done() const;
  HloInstruction* async_chain_next() const;
  HloComputation* async_wrapped_computation() const;
  HloInstruction* async_wrapped_instruction() const;
  HloOpcode async_wrapped_opcode() const;
  absl::string_view async_execution_thread() const;
  void set_async_execution_thread(absl::string_view async_execution_thread);
  // async-start and async-update, which produce the chain's state /
  // async-update and async-done, which consume it.
  bool IsAsyncProducer() const;
  bool IsAsyncConsumer() const;
  // Whether any kind of asynchronous pair starts or ends here: async-start,
  // all-gather-start, copy-done...
  bool IsAsyncStart() const;
  bool IsAsyncDone() const;
  // Sets the thread of all called computations, direct and indirect.
  void set_called_computations_execution_thread(
      absl::string_view async_execution_thread);

  std::optional<int> cross_program_prefetch_index() const;
  ComparisonDirection comparison_direction() const;
  ComparisonOrder comparison_order() const;
  const TriangularSolveOptions& triangular_solve_options() const;
  const CholeskyOptions& cholesky_options() const;
  const std::vector<std::pair<ShapeIndex, std::pair<int64_t, ShapeIndex>>>&
  output_operand_aliasing() const;
  void set_output_to_operand_aliasing(
      std::vector<std::pair<ShapeIndex, std::pair<int64_t, ShapeIndex>>>
          aliasing);

  // Removes this user from its operands, which stay in the list.
  void DetachFromOperands();

 protected:
  HloInstruction(HloOpcode opcode, const Shape& shape);

  // Positions in called_computations().
  enum {
    kBodyComputationIndex = 0,
    kConditionComputationIndex = 1,
    kSelectComputationIndex = 0,
    kScatterComputationIndex = 1,
    kTrueComputationIndex = 0,
    kFalseComputationIndex = 1,
  };

  void RemoveAllOperands();
  // Removes the operands at the given positions (ascending); an operand that is
  // still used at another position keeps this instruction as a user.
  void RemoveOperandsAtAscendingIndices(
      absl::Span<const int> ascending_indices);

  void AppendComputation(HloComputation* computation);
  void set_called_computation(int index, HloComputation* computation);

  // `operand_idx`: that operand; nullopt: every operand.
  virtual bool IsElementwiseImpl(
      const std::optional<int64_t>& operand_idx) const;

  // Prints the operands between the parentheses; for constants the literal, for
  // parameters the number.
  virtual void PrintOperandsWithCanonicalNameMap(
      Printer* printer, const HloPrintOptions& options,
      CanonicalNameMap* canonical_name_map) const;

  // Prints the attributes of the subclass. Those of all opcodes are printed by
  // the base class.
  virtual void PrintExtraAttributesImpl(AttributePrinter& printer,
                                        const HloPrintOptions& options) const {}

  // Compares what subclasses add, given equal opcodes. Overrides end by calling
  // this one, which compares called computations and result accuracies.
  virtual bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const;

  // A copy of the opcode, the subclass's attributes and the called
  // computations, of which only those of fusions and async-starts are cloned.
  virtual std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const;

 private:
  friend class HloComputation;
  friend class HloInstructionPrinter;
  friend class HloModule;

  bool IdenticalInternal(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloInstruction*, const HloInstruction*)>
          eq_operands,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations,
      bool layout_sensitive, bool sharding_sensitive,
      bool ignore_channel_id_values,
      bool ignore_commutative_operand_order) const;

  // Makes an instruction without attributes, with any number of operands.
  static std::unique_ptr<HloInstruction> CreateNary(
      const Shape& shape, HloOpcode opcode,
      absl::Span<HloInstruction* const> operands);

  absl::Status GetBackendConfigInternal(google::protobuf::Message* proto) const;

  // For HloComputation. `id` is a local id, unique in the computation.
  void SetLocalId(LocalId id) { local_id_ = id; }
  void ClearLocalId() { local_id_ = -1; }
  void set_parent(HloComputation* computation) { parent_ = computation; }

  // For HloComputation's deferred deletion.
  void MarkAsDead() { marked_as_dead_ = true; }
  bool IsMarkedAsDead() const { return marked_as_dead_; }

  void AddUser(HloInstruction* user) { users_.AddUser(user); }
  void RemoveUser(HloInstruction* user) { users_.RemoveUser(user); }

  // Attributes that most instructions do not have.
  struct Rare {
    PtrVec<HloComputation*> called_computations;
    PtrVec<HloInstruction*> control_predecessors;
    PtrVec<HloInstruction*> control_successors;
    std::shared_ptr<BackendConfigWrapper> backend_config;
    std::shared_ptr<OriginalValue> original_value;
    std::unique_ptr<FrontendAttributes> frontend_attributes;
    std::unique_ptr<StatisticsViz> statistics_viz;
    std::unique_ptr<ResultAccuracy> result_accuracy;
    std::unique_ptr<std::vector<std::pair<std::string, std::string>>>
        unknown_attributes;
    bool is_composite = false;
  };
  static const Rare& EmptyRare();
  bool has_rare() const { return rare_ != nullptr; }
  const Rare& rare() const { return rare_ ? *rare_ : EmptyRare(); }
  Rare* mutable_rare() {
    if (rare_ == nullptr) AllocateRare();
    return rare_.get();
  }
  void AllocateRare();

  // The users of an instruction, each once. Below kMapThreshold users a search
  // is a scan of a short vector; beyond, a map from user to position answers.
  class Users {
   public:
    Users() = default;
    Users(const Users&) = delete;
    Users& operator=(const Users&) = delete;

    bool empty() const { return users_.empty(); }
    int64_t size() const { return users_.size(); }
    const PtrVec<HloInstruction*>& vec() const { return users_; }
    void Clear();
    bool Contains(const HloInstruction* instruction) const;
    // No effect if it is one already.
    void AddUser(HloInstruction* user);
    void MaybeRemoveUser(HloInstruction* user);
    void RemoveUser(HloInstruction* user);
    int64_t UserId(const HloInstruction* user) const;
    void SortInstructionUsers(
        absl::FunctionRef<bool(const HloInstruction*, const HloInstruction*)>
            compare);
    void SortInstructionUsers(
        const MappedPtrContainerSorter<HloInstruction>::MapPtrFn& map_fn,
        const Users& sorted_instruction_users);
    bool CheckInvariants() const;

   private:
    static constexpr int64_t kMapThreshold = 16;
    // -1 if absent.
    int64_t Find(const HloInstruction* user) const;
    void RebuildMap();

    PtrVec<HloInstruction*> users_;
    std::unique_ptr<absl::flat_hash_map<const HloInstruction*, int64_t>>
        user_map_;
  };

  LocalId local_id_ = -1;
  HloOpcode opcode_;
  bool is_root_ : 1;
  bool is_default_config_ : 1;
  bool cleaned_up_ : 1;
  bool marked_as_dead_ : 1;
  HloComputation* parent_ = nullptr;
  InstructionVector operands_;
  Users users_;
  std::unique_ptr<Rare> rare_;
  std::shared_ptr<const HloSharding> sharding_;
  // Shared between copies; copied before a change while shared.
  std::shared_ptr<const OpMetadata> metadata_;
  Shape shape_;
  std::string name_;
};

inline HloOpcode HloInstructionInfo::opcode() const { return inst_->opcode(); }

// --- Texts of attribute values (hlo_attribute_text.cc)
// ------------------------

absl::string_view ToString(HloInstruction::FusionKind kind);
absl::StatusOr<HloInstruction::FusionKind> StringToFusionKind(
    absl::string_view kind_name);
std::ostream& operator<<(std::ostream& os, HloInstruction::FusionKind kind);

std::string PaddingConfigToString(const PaddingConfig& padding);
std::string FrontendAttributesToString(
    const FrontendAttributes& frontend_attributes);
std::string StatisticsVizToString(const StatisticsViz& statistics_viz);
std::string ResultAccuracyToleranceToString(
    const ResultAccuracy::Tolerance& tolerance);
std::string RandomAlgorithmToString(const RandomAlgorithm& algorithm);
std::string RandomDistributionToString(const RandomDistribution& distribution);
std::string PrecisionToString(const PrecisionConfig::Precision& precision);
std::string ResultAccuracyToString(ResultAccuracy::Mode accuracy_mode);
std::string AlgorithmToString(const PrecisionConfig::Algorithm& algorithm);
std::string DotDimensionNumbersToString(const DotDimensionNumbers& dnums);
std::string RaggedDotDimensionNumbersToString(
    const RaggedDotDimensionNumbers& dnums);
std::string ConvolutionDimensionNumbersToString(
    const ConvolutionDimensionNumbers& dnums);
std::string SparsityConfigToString(const SparsityConfig& sparsity_config);

absl::StatusOr<RandomAlgorithm> StringToRandomAlgorithm(
    const std::string& name);
absl::StatusOr<RandomDistribution> StringToRandomDistribution(
    const std::string& name);
absl::StatusOr<PrecisionConfig::Precision> StringToPrecision(
    const std::string& name);
absl::StatusOr<PrecisionConfig::Algorithm> StringToAlgorithm(
    const std::string& name);
absl::StatusOr<ResultAccuracy::Mode> StringToResultAccuracy(
    absl::string_view name);
absl::StatusOr<CustomCallSchedule> StringToCustomCallSchedule(
    absl::string_view name);
absl::StatusOr<CustomCallApiVersion> StringToCustomCallApiVersion(
    absl::string_view name);

// Unary opcodes that take a result_accuracy attribute.
bool IsUnaryOpWithResultAccuracy(HloOpcode opcode);
// Whether tolerances are not negative and the mode is known.
bool IsValidResultAccuracy(const ResultAccuracy& result_accuracy);

// --- Ordered containers
// -------------------------------------------------------

// By module and unique id; null first. Does not depend on addresses.
struct HloPtrComparator {
  bool operator()(const HloInstruction* const& lhs,
                  const HloInstruction* const& rhs) const;
};
// By unique id, within one module.
struct HloPtrComparatorInternal {
  bool operator()(const HloInstruction* const& lhs,
                  const HloInstruction* const& rhs) const;
};

template <typename ValueT>
using HloInstructionMap = std::map<HloInstruction*, ValueT, HloPtrComparator>;
template <typename ValueT>
using HloInstructionMapInternal =
    std::map<HloInstruction*, ValueT, HloPtrComparatorInternal>;
template <typename ValueT>
using ConstHloInstructionMap =
    std::map<const HloInstruction*, ValueT, HloPtrComparator>;
using HloInstructionSet = std::set<HloInstruction*, HloPtrComparator>;
using ConstHloInstructionSet =
    std::set<const HloInstruction*, HloPtrComparator>;

// Predicates on opcodes, usable as HloPredicate.
template <HloOpcode op, HloOpcode... rest>
bool HloPredicateIsOp(const HloInstruction* instruction) {
  return HloOpcodeIsOneOf<op, rest...>(instruction->opcode());
}
template <HloOpcode op, HloOpcode... rest>
bool HloPredicateIsNotOp(const HloInstruction* instruction) {
  return !HloPredicateIsOp<op, rest...>(instruction);
}

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_INSTRUCTION_H_
