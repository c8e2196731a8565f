#ifndef XLA_BACKENDS_GPU_MODEL_LIBRARY_DOT_H_
#define XLA_BACKENDS_GPU_MODEL_LIBRARY_DOT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

// A dot as the library's (cuBLASLt's) product of two batches of matrices, each
// with one distance in memory per batch, row and column.
//
//   bf16[8,512,64]{2,1,0} dot(bf16[512,8,96]{2,1,0} x, bf16[96,64]… y), …
//   -> 8 batches of 512 rows, 64 columns, depth 96
//      x: batch 96, row 768, depth 1;  …
//
// Several dimensions of one role count as one if they lie in memory as a single
// dimension would, in both arrays that have them.

namespace xla::gpu {

struct LibraryDot {
  // In elements. Of operands, `row` and `column` are those of the stored
  // matrix: rows by depth on the left, depth by columns on the right.
  struct Matrix {
    char type = 0;  // of NumPy: e, f, d, F or D; b for bf16
    int64_t batch = 0, row = 0, column = 0;
  };
  int64_t batch = 1, rows = 1, columns = 1, depth = 1;
  bool is_exact = false;  // an operand's precision is more than the default
  Matrix lhs, rhs, result;

  // As the initializer of a `Product` in CUDA programs.
  std::string ToString() const;
};

// The custom_fusion_config's name of a library call on slices of its operands,
// a fusion of kind "__custom_fusion".
inline constexpr absl::string_view kDynamicSliceFusion = "dynamic_slice_fusion";

// The dot that a kernel is: itself, or what such a fusion multiplies:
//
//   fused { p = f32[4,64,64] parameter(0)  i = s32[] parameter(1)  …
//           s = f32[1,64,64] dynamic-slice(p, i, 0, 0)
//           ROOT d = f32[32,64] dot(x, f32[64,64] bitcast(s)), … }
//
// null for others. What else such a fusion computes is not looked at.
const HloInstruction* DotOfLibrary(const HloInstruction& kernel);

// Nothing where the kernel of our own is as good (fewer than 2^20
// multiplications), where the library lacks the types or the dot names an
// algorithm, where no dimension of a matrix is contiguous or those of a role do
// not make one, or where FindLibraryOperand finds none.
std::optional<LibraryDot> MakeLibraryDot(const HloInstruction& kernel);

// The same with operands of these shapes and layouts.
std::optional<LibraryDot> MakeLibraryDot(const HloInstruction& dot,
                                         const Shape& lhs, const Shape& rhs);

// The operand if the instruction only gives the same memory another shape; else
// null.
HloInstruction* OperandOfView(const HloInstruction& value);

// Libraries ask whether operands begin at multiples of up to so many bytes.
inline constexpr int64_t kLibraryAlignment = 256;

// Whether a slice or dynamic slice is one stretch of its operand's memory.
bool IsContiguousSlice(const HloInstruction& slice);

// Where an operand of a library's dot lies in an operand of its kernel.
struct LibraryOperand {
  // A start of a dynamic slice, which the device knows.
  struct Start {
    int64_t operand;  // of the kernel: a scalar
    int64_t most;     // later starts are this one, negative ones 0
    int64_t bytes;    // from a start to the next
  };

  int64_t operand = 0;  // of the kernel
  int64_t offset = 0;   // in bytes
  std::vector<Start> starts;
};

// Whether the host can read the index: an s32, s64 or u32.
bool MayBeStart(const HloInstruction& index);

// Nothing for kernels that DotOfLibrary() does not know, and where anything but
// views and contiguous slices is between an operand of the kernel and the dot,
// or a start is computed, or may change how the operand is aligned: the library
// chooses its way once, for the operand that it reads first.
std::optional<LibraryOperand> FindLibraryOperand(const HloInstruction& kernel,
                                                 int64_t number);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_LIBRARY_DOT_H_
