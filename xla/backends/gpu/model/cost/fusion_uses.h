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
  // A reader that asks for elements at a place of its own. Elementwise
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
// `of_inner` returns the uses in a fusion inside of the body. Readers with more
// than 64 places count as one. O(edges).
absl::flat_hash_map<const HloInstruction*, BodyUses> FindBodyUses(
    const HloInstruction& fusion,
    absl::FunctionRef<BodyUses(const HloInstruction& fusion, int64_t operand)>
        of_inner);

// How often, on average, an element of operand `i` is read to compute the
// result once. An array in memory is not read where it is updated in place. 1
// for fusions.
double ReadsOfOperand(const HloInstruction& hlo, int64_t i);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_COST_FUSION_USES_H_
