#ifndef XLA_HLO_IR_HLO_INSTRUCTIONS_COLLECTIVES_H_
#define XLA_HLO_IR_HLO_INSTRUCTIONS_COLLECTIVES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// Instructions that communicate with other devices or the host. Include
// hlo_instructions.h for all.

namespace xla {

// Base of instructions that may use a channel. Instructions with the same
// channel id communicate with each other.
class HloChannelInstruction : public HloInstruction {
 public:
  std::optional<int64_t> channel_id() const { return channel_id_; }
  void set_channel_id(const std::optional<int64_t>& channel_id);
  // Equal but for the value of the channel ids.
  virtual bool IdenticalSlowPathIgnoringChannelIdValues(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const {
    return true;
  }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo);

 protected:
  HloChannelInstruction(HloOpcode opcode, const Shape& shape,
                        const std::optional<int64_t>& channel_id);
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;

 private:
  // IdenticalSlowPathIgnoringChannelIdValues and equal channel ids.
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const final;

  std::optional<int64_t> channel_id_;
};

// Base of send, recv and their dones.
class HloSendRecvInstruction : public HloChannelInstruction {
 public:
  bool is_host_transfer() const { return is_host_transfer_; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kSend ||
           hlo->opcode() == HloOpcode::kSendDone ||
           hlo->opcode() == HloOpcode::kRecv ||
           hlo->opcode() == HloOpcode::kRecvDone;
  }

 protected:
  HloSendRecvInstruction(HloOpcode opcode, const Shape& shape,
                         std::optional<int64_t> channel_id,
                         bool is_host_transfer);

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;

  bool IdenticalSlowPathIgnoringChannelIdValues(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;

  bool is_host_transfer_;
};

class HloSendInstruction : public HloSendRecvInstruction {
 public:
  HloSendInstruction(HloInstruction* operand, HloInstruction* token,
                     std::optional<int64_t> channel_id, bool is_host_transfer);
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kSend;
  }

 private:
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
};

class HloSendDoneInstruction : public HloSendRecvInstruction {
 public:
  // Uses the channel of the send.
  HloSendDoneInstruction(HloSendInstruction* operand, bool is_host_transfer);
  HloSendDoneInstruction(HloInstruction* operand,
                         std::optional<int64_t> channel_id,
                         bool is_host_transfer);
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kSendDone;
  }

 private:
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
};

class HloRecvInstruction : public HloSendRecvInstruction {
 public:
  HloRecvInstruction(const Shape& shape, HloInstruction* token,
                     std::optional<int64_t> channel_id, bool is_host_transfer);
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kRecv;
  }

 private:
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
};

class HloRecvDoneInstruction : public HloSendRecvInstruction {
 public:
  HloRecvDoneInstruction(HloRecvInstruction* operand, bool is_host_transfer);
  HloRecvDoneInstruction(HloInstruction* operand,
                         std::optional<int64_t> channel_id,
                         bool is_host_transfer);
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kRecvDone;
  }

 private:
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
};

// Base of instructions that work in groups of devices.
class HloCollectiveInstruction : public HloChannelInstruction {
 public:
  const std::vector<ReplicaGroup>& replica_groups() const {
    return device_list_->replica_groups();
  }
  const std::shared_ptr<CollectiveDeviceListBase>& device_list() const {
    return device_list_;
  }
  void set_device_list(std::shared_ptr<CollectiveDeviceListBase> device_list) {
    device_list_ = std::move(device_list);
  }
  // The layouts of operands and result must not change: other modules rely on
  // them.
  bool constrain_layout() const { return constrain_layout_; }
  // The channel id of collectives over partitions, where its value is
  // arbitrary.
  static int64_t GetDefaultChannelId() { return 1; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo);

 protected:
  HloCollectiveInstruction(
      HloOpcode opcode, const Shape& shape,
      absl::Span<HloInstruction* const> operands,
      std::shared_ptr<CollectiveDeviceListBase> device_list,
      bool constrain_layout, const std::optional<int64_t>& channel_id);
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPathIgnoringChannelIdValues(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;

 private:
  std::shared_ptr<CollectiveDeviceListBase> device_list_;
  bool constrain_layout_;
};

class HloAllGatherInstruction : public HloCollectiveInstruction {
 public:
  HloAllGatherInstruction(HloOpcode opcode, const Shape& shape,
                          absl::Span<HloInstruction* const> operands,
                          int64_t all_gather_dimension,
                          std::shared_ptr<CollectiveDeviceListBase> device_list,
                          bool constrain_layout,
                          const std::optional<int64_t>& channel_id,
                          bool use_global_device_ids);
  HloAllGatherInstruction(HloOpcode opcode, const Shape& shape,
                          absl::Span<HloInstruction* const> operands,
                          int64_t all_gather_dimension,
                          absl::Span<const ReplicaGroup> replica_groups,
                          bool constrain_layout,
                          const std::optional<int64_t>& channel_id,
                          bool use_global_device_ids);
  // The ids in the groups are flattened (replica, partition) ids.
  bool use_global_device_ids() const { return use_global_device_ids_; }
  void set_use_global_device_ids(bool value) { use_global_device_ids_ = value; }
  int64_t all_gather_dimension() const { return all_gather_dimension_; }
  absl::Span<const int64_t> dimensions() const override {
    return absl::MakeConstSpan(&all_gather_dimension_, 1);
  }
  void set_all_gather_dimension(int64_t dim) { all_gather_dimension_ = dim; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kAllGather ||
           hlo->opcode() == HloOpcode::kAllGatherStart;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  bool IdenticalSlowPathIgnoringChannelIdValues(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;

  int64_t all_gather_dimension_;
  bool use_global_device_ids_;
};

// Base of all-reduce, all-reduce-start and reduce-scatter.
class HloAllReduceInstructionBase : public HloCollectiveInstruction {
 public:
  HloAllReduceInstructionBase(
      HloOpcode opcode, const Shape& shape,
      absl::Span<HloInstruction* const> operands,
      HloComputation* reduce_computation,
      std::shared_ptr<CollectiveDeviceListBase> device_list,
      bool constrain_layout, const std::optional<int64_t>& channel_id,
      bool use_global_device_ids);
  bool use_global_device_ids() const { return use_global_device_ids_; }
  void set_use_global_device_ids(bool value) { use_global_device_ids_ = value; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo);

 protected:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPathIgnoringChannelIdValues(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;

 private:
  bool use_global_device_ids_;
};

// All-reduce and all-reduce-start.
class HloAllReduceInstruction : public HloAllReduceInstructionBase {
 public:
  using HloAllReduceInstructionBase::HloAllReduceInstructionBase;
  // Every group has one device.
  bool IsNoop() const;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kAllReduce ||
           hlo->opcode() == HloOpcode::kAllReduceStart;
  }

 private:
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
};

class HloReduceScatterInstruction : public HloAllReduceInstructionBase {
 public:
  HloReduceScatterInstruction(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      HloComputation* reduce_computation,
      std::shared_ptr<CollectiveDeviceListBase> device_list,
      bool constrain_layout, const std::optional<int64_t>& channel_id,
      bool use_global_device_ids, int64_t scatter_dimension);
  HloReduceScatterInstruction(const Shape& shape,
                              absl::Span<HloInstruction* const> operands,
                              HloComputation* reduce_computation,
                              absl::Span<const ReplicaGroup> replica_groups,
                              bool constrain_layout,
                              const std::optional<int64_t>& channel_id,
                              bool use_global_device_ids,
                              int64_t scatter_dimension);
  int64_t scatter_dimension() const { return scatter_dimension_; }
  absl::Span<const int64_t> dimensions() const override {
    return absl::MakeConstSpan(&scatter_dimension_, 1);
  }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kReduceScatter;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  bool IdenticalSlowPathIgnoringChannelIdValues(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;

  int64_t scatter_dimension_;
};

class HloAllToAllInstruction : public HloCollectiveInstruction {
 public:
  HloAllToAllInstruction(const Shape& shape,
                         absl::Span<HloInstruction* const> operands,
                         std::shared_ptr<CollectiveDeviceListBase> device_list,
                         bool constrain_layout,
                         const std::optional<int64_t>& channel_id,
                         const std::optional<int64_t>& split_dimension);
  HloAllToAllInstruction(const Shape& shape,
                         absl::Span<HloInstruction* const> operands,
                         absl::Span<const ReplicaGroup> replica_groups,
                         bool constrain_layout,
                         const std::optional<int64_t>& channel_id,
                         const std::optional<int64_t>& split_dimension);
  // Present for an array all-to-all, absent for one over a tuple.
  std::optional<int64_t> split_dimension() const { return split_dimension_; }
  void set_split_dimension(int64_t dim) { split_dimension_ = dim; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kAllToAll;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  bool IdenticalSlowPathIgnoringChannelIdValues(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;

  std::optional<int64_t> split_dimension_;
};

class HloRaggedAllToAllInstruction : public HloCollectiveInstruction {
 public:
  HloRaggedAllToAllInstruction(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      std::shared_ptr<CollectiveDeviceListBase> device_list,
      const std::optional<int64_t>& channel_id);
  HloRaggedAllToAllInstruction(const Shape& shape,
                               absl::Span<HloInstruction* const> operands,
                               absl::Span<const ReplicaGroup> replica_groups,
                               const std::optional<int64_t>& channel_id);
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kRaggedAllToAll;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
};

class HloCollectiveBroadcastInstruction : public HloCollectiveInstruction {
 public:
  HloCollectiveBroadcastInstruction(
      HloOpcode opcode, const Shape& shape,
      absl::Span<HloInstruction* const> operands,
      std::shared_ptr<CollectiveDeviceListBase> device_list,
      bool constrain_layout, const std::optional<int64_t>& channel_id,
      bool has_dynamic_root = false);
  HloCollectiveBroadcastInstruction(
      HloOpcode opcode, const Shape& shape,
      absl::Span<HloInstruction* const> operands,
      absl::Span<const ReplicaGroup> replica_groups, bool constrain_layout,
      const std::optional<int64_t>& channel_id, bool has_dynamic_root = false);
  // The last operand says which device of the group sends; else the first does.
  bool has_dynamic_root() const { return has_dynamic_root_; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kCollectiveBroadcast;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  bool IdenticalSlowPathIgnoringChannelIdValues(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;

  bool has_dynamic_root_;
};

// Collective-permute and collective-permute-start.
class HloCollectivePermuteInstruction : public HloChannelInstruction {
 public:
  HloCollectivePermuteInstruction(
      HloOpcode opcode, const Shape& shape,
      absl::Span<HloInstruction* const> operands,
      const std::vector<std::pair<int64_t, int64_t>>& source_target_pairs,
      const std::optional<int64_t>& channel_id);
  // In place: slices of `input` go into `output`.
  HloCollectivePermuteInstruction(
      HloOpcode opcode, const Shape& shape, HloInstruction* input,
      HloInstruction* output, HloInstruction* input_start_indices,
      HloInstruction* output_start_indices,
      absl::Span<const std::pair<int64_t, int64_t>> source_target_pairs,
      absl::Span<const std::vector<int64_t>> slice_sizes,
      const std::optional<int64_t>& channel_id);
  const std::vector<std::pair<int64_t, int64_t>>& source_target_pairs() const {
    return source_target_pairs_;
  }
  const std::vector<std::vector<int64_t>>& dynamic_slice_sizes_list() const {
    return slice_sizes_;
  }
  bool inplace() const { return inplace_; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kCollectivePermute ||
           hlo->opcode() == HloOpcode::kCollectivePermuteStart;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  bool IdenticalSlowPathIgnoringChannelIdValues(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;

  std::vector<std::pair<int64_t, int64_t>> source_target_pairs_;
  std::vector<std::vector<int64_t>> slice_sizes_;
  bool inplace_ = false;
};

inline bool HloAllReduceInstructionBase::ClassOf(const HloInstruction* hlo) {
  return HloAllReduceInstruction::ClassOf(hlo) ||
         hlo->opcode() == HloOpcode::kReduceScatter;
}

inline bool HloCollectiveInstruction::ClassOf(const HloInstruction* hlo) {
  return HloAllReduceInstructionBase::ClassOf(hlo) ||
         HloAllGatherInstruction::ClassOf(hlo) ||
         hlo->opcode() == HloOpcode::kAllToAll ||
         hlo->opcode() == HloOpcode::kRaggedAllToAll ||
         hlo->opcode() == HloOpcode::kCollectiveBroadcast;
}

inline bool HloChannelInstruction::ClassOf(const HloInstruction* hlo) {
  return HloCollectiveInstruction::ClassOf(hlo) ||
         HloCollectivePermuteInstruction::ClassOf(hlo) ||
         HloSendRecvInstruction::ClassOf(hlo);
}

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_INSTRUCTIONS_COLLECTIVES_H_
