#ifndef XLA_SIDE_EFFECT_UTIL_H_
#define XLA_SIDE_EFFECT_UTIL_H_

// Well-known keys and values of frontend attributes.

namespace xla {

// Transfers between host and device (send, recv).
inline constexpr char kXlaHostTransferRendezvousNameAttr[] =
    "_xla_host_transfer_rendezvous";
inline constexpr char kXlaHostTransferHandlerNameAttr[] =
    "_xla_host_transfer_handler_name";
inline constexpr char kXlaHostTransferTfRendezvousHandlerName[] =
    "tf_rendezvous";
inline constexpr char kXlaHostTransferOriginalTypeAttr[] =
    "_xla_host_transfer_original_type";
inline constexpr char kXlaHostTransferIsLowerBitsAttr[] =
    "_xla_host_transfer_is_lower_bits";

// Where a buffer lives.
inline constexpr char kXlaBufferPlacementAttr[] = "_xla_buffer_placement";
inline constexpr char kXlaBufferPlacementParam[] = "arg";

// The kind of core that runs an instruction.
inline constexpr char kXlaComputeTypeAttr[] = "_xla_compute_type";
inline constexpr char kXlaComputeTypeSparse[] = "sparse";
inline constexpr char kXlaComputeTypeDense[] = "dense";
inline constexpr char kXlaComputeTypeHost[] = "host";

// Sparse lookups.
inline constexpr char kXlaMaxIdsPerPartitionAttr[] =
    "_xla_max_ids_per_partition";
inline constexpr char kXlaMaxUniqueIdsPerPartitionAttr[] =
    "_xla_max_unique_ids_per_partition";
inline constexpr char kXlaShardingStrategyAttr[] = "_xla_sharding_strategy";
inline constexpr char kXlaShardingStrategyMod[] = "mod";
inline constexpr char kXlaShardingStrategyDiv[] = "div";
inline constexpr char kXlaPadValueAttr[] = "_xla_pad_value";
inline constexpr char kXlaMaxValencyAttr[] = "_xla_max_valency";

// Scheduling.
inline constexpr char kXlaStreamAnnotationAttr[] = "_xla_stream_annotation";
inline constexpr char kXlaSchedulingGroupIdAttr[] = "_scheduling_group_id";
inline constexpr char kXlaCollectiveMatmulAttr[] = "_xla_collective_matmul";
inline constexpr char kXlaCollectiveMatmulLhsAg[] = "lhs_ag";
inline constexpr char kXlaCollectiveMatmulRhsAg[] = "rhs_ag";
inline constexpr char kXlaCollectiveMatmulRs[] = "rs";
inline constexpr char kXlaCollectiveMatmulNone[] = "none";
inline constexpr char kXlaMultiRecvCountAttr[] = "_xla_multi_recv_count";

// Fusion by hand.
inline constexpr char kMustFuseAttr[] = "MUST_FUSE";
inline constexpr char kMaximalFuseAttr[] = "MAXIMAL_FUSE";

}  // namespace xla

#endif  // XLA_SIDE_EFFECT_UTIL_H_
