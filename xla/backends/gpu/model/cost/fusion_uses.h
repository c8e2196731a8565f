#ifndef XLA_BACKENDS_GPU_MODEL_COST_FUSION_USES_H_
#define XLA_BACKENDS_GPU_MODEL_COST_FUSION_USES_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// How often the code of a fusion computes an instruction of its body.
struct BodyUses {
  // One reader that asks for elements at places of its own. Elementwise
  // instructions ask where their own readers do, outputs where the kernel runs.
  struct Place {
    const HloInstruction* reader = nullptr;  // null: the kernel
    // How often an element is computed there, on average.
    double utilization = 0;
    // How often the code is emitted.
    double copies = 0;
  };
  std::vector<Place> places;

  // The sums over all places.
  double utilization() const;
  double copies() const;
};

// How often each instruction of the body is used and emitted:
//
//   b = broadcast(a)     n elements of one: a is used n times per element
//   r = reverse(e)       e is emitted for r and for d, once each
//   d = add(e, r)
//
// `of_inner` gives those of a fusion in the body. Where readers have more than
// 64 places, they count as one. O(edges).
absl::flat_hash_map<const HloInstruction*, BodyUses> FindBodyUses(
    const HloInstruction& fusion,
    absl::FunctionRef<BodyUses(const HloInstruction& fusion, int64_t operand)>
        of_inner);

// How often an element of operand `i` is read, on average, to compute the
// result once: of what lies in memory, an update in place reads nothing. 1 for
// fusions.
double ReadsOfOperand(const HloInstruction& hlo, int64_t i);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_COST_FUSION_USES_H_
