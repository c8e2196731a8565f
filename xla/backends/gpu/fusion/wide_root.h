#ifndef XLA_BACKENDS_GPU_FUSION_WIDE_ROOT_H_
#define XLA_BACKENDS_GPU_FUSION_WIDE_ROOT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace xla::gpu {

// Splits a wide root tuple while its operands are replaced one by one: each
// replacement searches the operands for the old value, which is quadratic in
// the number of results.
//
//   before: ROOT t = tuple(a, b, c, d, …)
//   Split:  ROOT t = tuple(tuple(a, b, …), tuple(c, d, …), …)
//   Join:   as before, with the operands as they are by then
//
// The module is invalid in between: callers expect the root's shape. Leaves
// alone roots of at most kMaxResults operands, roots that are read or that have
// control dependencies or a sharding, and scheduled modules. O(results).
class WideRoot {
 public:
  static constexpr int64_t kMaxResults = 1024;
  static constexpr int64_t kPieceResults = 256;

  explicit WideRoot(HloComputation* computation) : computation_(computation) {}

  absl::Status Split();
  absl::Status Join();

 private:
  absl::Status ReplaceRoot(HloInstruction* root,
                           const std::vector<HloInstruction*>& operands,
                           const Shape& shape);

  HloComputation* computation_;
  // The root's shape before Split, and the tuples it reads after Split.
  Shape shape_;
  std::vector<HloInstruction*> pieces_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_FUSION_WIDE_ROOT_H_
