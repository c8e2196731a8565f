#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDY_CONSTANTS_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDY_CONSTANTS_H_

#include "absl/strings/string_view.h"

// Targets of custom calls, attributes and computations that represent Shardy's
// programs in HLO.

namespace xla::sdy {

inline constexpr absl::string_view kMhloAttributesAttr = "mhlo.attributes";
inline constexpr absl::string_view kXlaShardingAttr = "mhlo.sharding";
inline constexpr absl::string_view kShardingCustomCallTargetName = "Sharding";
inline constexpr absl::string_view kSPMDFullToShardShapeCallTargetName =
    "SPMDFullToShardShape";
inline constexpr absl::string_view kSPMDShardToFullShapeCallTargetName =
    "SPMDShardToFullShape";
inline constexpr absl::string_view kPythonCpuCallbackCustomCallTargetName =
    "xla_python_cpu_callback";
inline constexpr absl::string_view kFFIPythonCpuCallbackCustomCallTargetName =
    "xla_ffi_python_cpu_callback";
inline constexpr absl::string_view kPythonGpuCallbackCustomCallTargetName =
    "xla_python_gpu_callback";
inline constexpr absl::string_view kFFIPythonGpuCallbackCustomCallTargetName =
    "xla_ffi_python_gpu_callback";
inline constexpr absl::string_view kXlaBackendConfigAttr = "backend_config";
inline constexpr absl::string_view kXlaInlineableAttr = "inlineable";
inline constexpr absl::string_view kShardingRuleRoundTripAttr =
    "xla.sdy.sharding_rule";
inline constexpr absl::string_view kMeshesRoundTripAttr = "xla.sdy.meshes";
inline constexpr absl::string_view kFuncResultShardingTargetName =
    "xla.sdy.FuncResultSharding";
inline constexpr absl::string_view kShardingGroupCustomCallTargetName =
    "xla.sdy.ShardingGroup";
inline constexpr absl::string_view kShardingGroupIdAttr =
    "xla.sdy.sharding_group_id";
inline constexpr absl::string_view kPropagationBarrierCustomCallTargetName =
    "xla.sdy.PropagationBarrier";
inline constexpr absl::string_view kAllowedDirectionAttr =
    "xla.sdy.allowed_direction";
inline constexpr absl::string_view kFrontendAttributesAttr =
    "mhlo.frontend_attributes";
inline constexpr absl::string_view kImportMhloShardings =
    "xla.sdy.import_mhlo_shardings";
inline constexpr absl::string_view kUseTupleArgs = "xla.sdy.use_tuple_args";
inline constexpr absl::string_view kInTupleShardings =
    "xla.sdy.tuple_args_shardings";
inline constexpr absl::string_view kOutTupleShardings =
    "xla.sdy.tuple_results_shardings";
inline constexpr absl::string_view kInShardings = "xla.sdy.in_shardings";
inline constexpr absl::string_view kOutShardings = "xla.sdy.out_shardings";
inline constexpr absl::string_view kManualAxes = "xla.sdy.manual_axes";
inline constexpr absl::string_view kHasUnreducedAxes =
    "xla.sdy.has_unreduced_axes";
inline constexpr absl::string_view kManualComputationFuncName =
    "xla.sdy.manual_computation_body";
inline constexpr absl::string_view kInlineableManualComputationFuncName =
    "xla.sdy.inlinable_manual_computation_body";
inline constexpr absl::string_view kGlobalToLocalShapeCallTargetName =
    "xla.sdy.GlobalToLocalShape";
inline constexpr absl::string_view kLocalToGlobalShapeCallTargetName =
    "xla.sdy.LocalToGlobalShape";
inline constexpr absl::string_view kGlobalMeshName = "mesh";
inline constexpr absl::string_view kShardyVerbose = "shardy-verbose";

}  // namespace xla::sdy

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDY_CONSTANTS_H_
