#ifndef XLA_BACKENDS_GPU_LOWERING_LOOP_LOWERING_H_
#define XLA_BACKENDS_GPU_LOWERING_LOOP_LOWERING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"

// A fusion, or an instruction that becomes a kernel, as kernel IR: one thread
// per element of each result, in memory order.
//
//   before: f = f32[2,3] fusion(p), calls={ negate(transpose(p)) }
//   after:  kernel @f {
//             param %p0 : global f32[3, 2]
//             param %out0 : global f32[2, 3]
//             for %b0 : bidx [0, 1) { for %t1 : tidx [0, 128) { if t1 < 6 {
//               %v0[0] = copy(%p0[t1 % 3, t1 / 3])
//               %v1[0] = neg(%v0[0])
//               %out0[t1 / 3, t1 % 3] = copy(%v1[0])
//             } } }
//           }

namespace xla::gpu {

struct LoopLoweringOptions {
  int64_t threads_per_block = 128;
  int64_t device_threads = int64_t{1} << 18;  // as of FusionLoweringOptions
};

// Results that one kind of lowering computes, as one part of the kernel.
struct KernelPart {
  absl::string_view kind;  // "loop", "row-reduction", …
  std::string why;
  // By number: an array of complex numbers counts as two, the real and the
  // imaginary part (KernelFrame::results()).
  std::vector<int64_t> results;
};

struct LoweredKernel {
  kir::Kernel kernel;
  std::vector<KernelPart> parts;
  // The contents of the kernel's parameters, in their order: the arrays of the
  // operands, constants of several elements, then the arrays of the result.
  struct OperandArray {
    int64_t operand;
    ShapeIndex index;
  };
  std::vector<OperandArray> operands;
  std::vector<const HloInstruction*> constants;
  std::vector<ShapeIndex> results;
  // Results of which the kernel writes only an update, by number, and the
  // operands whose memory they must share, by position in `operands`.
  struct InPlace {
    int64_t result, operand;
  };
  std::vector<InPlace> in_place;
  // If the kernel has complex numbers: the kernel on real numbers that was
  // lowered instead; it holds the constants.
  std::shared_ptr<const HloModule> real;
  // Set by LowerLoop: the most neighbors that a thread computes.
  int64_t vector_width = 1;
};

// Bits per element in memory where several elements share a byte, 4 for
// s4[8]{0:E(4)}; otherwise 0. The first element has the lowest bits.
int PackedBits(const Shape& shape);

// Unimplemented names opcode, reason and instruction for what one thread cannot
// do for one element (sorts, collectives, custom calls, floats of less than a
// byte), for dynamic shapes, and for kernels of more than
// KernelBuilder::kMaxStatements statements or more blocks than a launch has.
// Complex numbers are pairs (complex_parts.h).
absl::StatusOr<LoweredKernel> LowerLoop(
    const HloInstruction& hlo, const LoopLoweringOptions& options = {});

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_LOOP_LOWERING_H_
