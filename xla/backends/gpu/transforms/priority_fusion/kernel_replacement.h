#ifndef XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_KERNEL_REPLACEMENT_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_KERNEL_REPLACEMENT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "xla/backends/gpu/transforms/priority_fusion/fusion_rules.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape.h"

// Shared by the passes that turn dots and convolutions into fusions.

namespace xla::gpu {

// An array of fixed size whose dimensions are in memory order.
bool HasDefaultLayout(const Shape& shape);

// The type in which products of elements of `type` are summed: f32 for 16-bit
// types.
PrimitiveType SumType(PrimitiveType type);
// Whether the product has a type that loops multiply (f16, bf16, f32 or f64)
// and its operands have the same type or, for f32, a 16-bit one.
bool HasFloatTypes(const HloInstruction& product);

// `value`, converted if it is of another type.
HloInstruction* Converted(HloComputation::Builder* builder,
                          HloInstruction* value, PrimitiveType type);

// Whether the value need not be in memory since all of its readers are kernels
// that can be fused; `becomes_one`: of those that are not kernels yet.
bool CanSpareValue(
    const HloInstruction& value, FusionRules* rules,
    absl::FunctionRef<bool(const HloInstruction& user)> becomes_one);

// Addition computations for reductions in a module, one per type; RemoveUnused,
// called last, removes those that are not called.
class Additions {
 public:
  explicit Additions(HloModule* module) : module_(module) {}
  // The computation that adds `pairs` pairs of scalars.
  HloComputation* Get(PrimitiveType type, int64_t pairs = 1);
  absl::Status RemoveUnused();

 private:
  struct Known {
    PrimitiveType type;
    int64_t pairs;
    HloComputation* computation;
  };
  HloModule* module_;
  std::vector<Known> known_;
};

// A fusion with that body, the operands of `hlo` and its metadata.
HloInstruction* AddFusionFor(HloInstruction* hlo,
                             HloInstruction::FusionKind kind,
                             std::unique_ptr<HloComputation> body);

// Replaces `hlo`, which is removed, with `value`, which takes its name.
absl::Status PutInPlace(HloInstruction* hlo, HloInstruction* value,
                        FusionRules* rules);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_KERNEL_REPLACEMENT_H_
