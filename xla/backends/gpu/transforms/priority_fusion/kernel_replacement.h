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

// An array that lies in memory in the order of its dimensions, of a fixed size.
bool HasDefaultLayout(const Shape& shape);

// The type that products of elements of `type` are added up in: f32 for 16
// bits.
PrimitiveType SumType(PrimitiveType type);
// Whether the product has a type that loops multiply (f16, bf16, f32 or f64)
// and its operands have the same type or, for f32, a 16-bit one.
bool HasFloatTypes(const HloInstruction& product);

// `value`, converted if it is of another type.
HloInstruction* Converted(HloComputation::Builder* builder,
                          HloInstruction* value, PrimitiveType type);

// Nobody needs the value in memory if all who read it are kernels that may be
// fused; `becomes_one`: of those that are none yet.
bool CanSpareValue(
    const HloInstruction& value, FusionRules* rules,
    absl::FunctionRef<bool(const HloInstruction& user)> becomes_one);

// Additions for reductions in a module, one for each type; those that are not
// called go with the last call of RemoveUnused.
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

// A fusion of that body with the operands of `hlo` and its metadata.
HloInstruction* AddFusionFor(HloInstruction* hlo,
                             HloInstruction::FusionKind kind,
                             std::unique_ptr<HloComputation> body);

// `value` takes the place of `hlo`, which goes, and its name.
absl::Status PutInPlace(HloInstruction* hlo, HloInstruction* value,
                        FusionRules* rules);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_KERNEL_REPLACEMENT_H_
