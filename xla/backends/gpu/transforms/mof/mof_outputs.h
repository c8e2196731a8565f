#ifndef XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_OUTPUTS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_OUTPUTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// Value numbering: maps each instruction of a computation to the first one in
// post order that computes the same value, that is, agrees in opcode,
// attributes, layout and, recursively, operands. An instruction with side
// effects equals only itself. O(instructions).
class ValueNumbers {
 public:
  // `order`: of all its instructions, operands first.
  explicit ValueNumbers(const std::vector<HloInstruction*>& order);

  HloInstruction* at(const HloInstruction* instruction) const {
    return first_[instruction->local_id()];
  }

 private:
  // By local id.
  std::vector<HloInstruction*> first_;
};

// Makes a multi-output fusion compute each result once.
//
//   before: f = (s, s, t) fusion(p), root tuple(exp(p), exp(p), p)
//           reads 0, 1 and 2
//   after:  f = s fusion(p), root exp(p); f is read twice, and p
//
// Readers of an output that equals an earlier one, by opcode, attributes and
// recursively equal operands, read that one; readers of an operand that is
// passed through read the operand; unread outputs are removed. Layouts count.
// Leaves alone instructions with side effects, and fusions whose tuple is read
// as a whole. Returns the number of outputs removed. O(instructions in it).
absl::StatusOr<int64_t> RemoveDuplicateOutputs(HloInstruction* fusion);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_OUTPUTS_H_
