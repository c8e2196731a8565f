#ifndef XLA_HLO_VERIFIER_HLO_VERIFIER_H_
#define XLA_HLO_VERIFIER_HLO_VERIFIER_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace xla {

// Bytes of a value.
using ShapeSizeFn = std::function<int64_t(const Shape&)>;

// Definition of well-formed modules. The numbers are those of invariants.def.
struct HloVerifierOpts {
  HloVerifierOpts&& MakeLayoutSensitive() { return WithLayoutSensitive(true); }
  HloVerifierOpts&& WithLayoutSensitive(bool layout_sensitive_p) {
    return Set(layout_sensitive, layout_sensitive_p);
  }
  HloVerifierOpts&& AllowMixedPrecision() {
    return WithAllowMixedPrecision(true);
  }
  HloVerifierOpts&& WithAllowMixedPrecision(bool allow_mixed_precision_p) {
    return Set(allow_mixed_precision, allow_mixed_precision_p);
  }
  HloVerifierOpts&& VerifyBroadcastDimensionsOrder() {
    return Set(verify_broadcast_dimensions_order, true);
  }
  HloVerifierOpts&& VerifyReshapeIsBitcast() {
    return Set(verify_reshape_is_bitcast, true);
  }
  HloVerifierOpts&& VerifyCallNestedComputationThreadName() {
    return Set(verify_call_nested_computation_thread_name, true);
  }
  HloVerifierOpts&& WithAllowBitcastToHaveDifferentSize(bool allow) {
    return Set(allow_bitcast_to_have_different_size, allow);
  }
  HloVerifierOpts&& WithInstructionCanChangeLayout(
      const HloPredicate& instruction_can_change_layout_p) {
    return Set(instruction_can_change_layout, instruction_can_change_layout_p);
  }
  HloVerifierOpts&& WithCustomShapeSize(const ShapeSizeFn& shape_size_p) {
    return Set(shape_size, shape_size_p);
  }
  HloVerifierOpts&& WithVerifyShardingDeviceNumbers(bool verify) {
    return Set(verify_sharding_device_numbers, verify);
  }
  HloVerifierOpts&& WithSupportedUnboundedDynamicOp(HloPredicate fn) {
    return Set(supported_unbounded_dynamic_op, std::move(fn));
  }
  HloVerifierOpts&& VerifyInstructionNameUnchanged() {
    return Set(verify_instruction_name_unchanged, true);
  }
  HloVerifierOpts&& VerifyNoHostMemorySpace() {
    return Set(verify_no_host_memory_space, true);
  }
  HloVerifierOpts&& WithVerifyNoCollectiveDeadlocks(
      bool verify_no_collective_deadlocks_p) {
    return Set(verify_no_collective_deadlocks,
               verify_no_collective_deadlocks_p);
  }
  HloVerifierOpts&& WithCheckReplicaGroups(bool check_replica_groups_p) {
    return Set(check_replica_groups, check_replica_groups_p);
  }

  bool IsLayoutSensitive() const { return layout_sensitive; }
  bool CheckForCollectiveDeadlocks() const {
    return verify_no_collective_deadlocks;
  }
  bool ShouldCheckReplicaGroups() const { return check_replica_groups; }
  const HloPredicate& InstructionCanChangeLayout() const {
    return instruction_can_change_layout;
  }
  // True also without a predicate.
  bool InstructionCanChangeLayout(const HloInstruction* instruction) const {
    return !instruction_can_change_layout ||
           instruction_can_change_layout(instruction);
  }
  int64_t ShapeSize(const Shape& shape) const { return shape_size(shape); }

  // Layouts are set and count: V41, V42, V45, V76, and equality of shapes
  // where one value becomes another as it is (tuple, call, while, ...).
  bool layout_sensitive = false;
  // Floats of different precision may meet in one instruction: V46.
  bool allow_mixed_precision = false;
  // V71.
  bool verify_broadcast_dimensions_order = false;
  // V73; only while layout_sensitive.
  bool verify_reshape_is_bitcast = false;
  // V22 also holds of what collectives, reductions and the like apply.
  bool verify_call_nested_computation_thread_name = false;
  // Shardings name devices of the module's partitions (if it has several).
  bool verify_sharding_device_numbers = true;
  // V76 is not checked.
  bool allow_bitcast_to_have_different_size = false;
  // Instructions that may have unbounded dimensions, in addition to those of
  // opcodes that always may: V44.
  HloPredicate supported_unbounded_dynamic_op;
  // V23.
  bool verify_instruction_name_unchanged = false;
  // V43.
  bool verify_no_host_memory_space = false;
  // V165, in scheduled computations.
  bool verify_no_collective_deadlocks = false;
  // V157, V158 and V159.
  bool check_replica_groups = true;
  // Instructions whose result may have another layout than their operands;
  // without it all may. V42.
  HloPredicate instruction_can_change_layout;
  // Pointers in tuples take 8 bytes by default.
  ShapeSizeFn shape_size = [](const Shape& shape) {
    return ShapeUtil::ByteSizeOf(shape, /*pointer_size=*/8);
  };

 private:
  template <typename T, typename V>
  HloVerifierOpts&& Set(T& field, V&& value) {
    field = std::forward<V>(value);
    return std::move(*this);
  }
};

// Checks every invariant of invariants.def and returns the first violation, in
// the order of computations and instructions. The graph of all computations is
// checked, their instructions where they are on `execution_threads` (empty:
// all). Changes nothing and never crashes on modules that came from text or
// proto. Near-linear in instructions plus edges.
absl::Status VerifyHloModule(
    const HloModule* module, const HloVerifierOpts& opts,
    const absl::flat_hash_set<absl::string_view>& execution_threads = {});

}  // namespace xla

#endif  // XLA_HLO_VERIFIER_HLO_VERIFIER_H_
