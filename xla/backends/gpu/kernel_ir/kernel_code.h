#ifndef XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_CODE_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_CODE_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"

// A kernel as a flat list of instructions with jumps, for machines that run
// many threads side by side: a thread's state is its current instruction and
// its registers. Index expressions are compiled against one list of slots:
// tid.*, bid.*, bdim.*, gdim.*, symbols, then one per loop.

namespace xla::gpu {

struct CodeOperand {
  kir::BufferId buffer = -1;
  std::vector<AffineProgram> indices;
};

struct CodeArgument {
  enum class Kind { kOperand, kExpr, kNumber };
  Kind kind = Kind::kNumber;
  CodeOperand operand;
  std::vector<AffineProgram> expr;  // one, of kExpr
  double number = 0;
};

struct CodeInstruction {
  enum class Op {
    kLoopBegin,  // sets the index; jumps to `target` if there is no iteration
    kLoopEnd,    // advances the index; jumps to `target` if iterations remain
    kIf,         // jumps to `target` if the predicate is 0
    kJump,
    kAlloc,
    kExpr,
    kSync,
    kArriveWait,
    kAsync,
    kEnd,
  };
  Op op = Op::kEnd;
  const kir::Statement* statement = nullptr;
  int target = 0;
  int slot = 0;                         // of the loop
  int stop_slot = 0;                    // where its bound is kept
  std::vector<AffineProgram> programs;  // loop: start, stop; if: predicate
  int64_t step = 1;
  // A thread loop with a barrier in an expression inside: threads beyond its
  // extent pass through it to join that barrier.
  bool joins_from_outside = false;
  std::vector<CodeOperand> outputs;
  std::vector<CodeArgument> arguments;
  const kir::OpInfo* info = nullptr;
  std::vector<int> loop_slots;  // of serial loops around, for instances
  // In a branch or a loop over threads: which threads get here depends on
  // values.
  bool of_some_threads = false;
};

struct KernelCode {
  const kir::Kernel* kernel = nullptr;
  std::vector<std::string> slots;
  std::vector<int64_t> initial;  // values of slots; tid.* are 0
  std::vector<CodeInstruction> instructions;
  std::array<int64_t, 3> block = {1, 1, 1};
  int num_threads = 1;
  // Elements of each buffer under the bindings, and row lengths.
  std::vector<int64_t> elements;
  std::vector<std::vector<int64_t>> extents;
};

// `kernel` must not move. An error if something is not a number under the
// bindings of the kernel.
absl::StatusOr<KernelCode> CompileKernel(const kir::Kernel& kernel);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_CODE_H_
