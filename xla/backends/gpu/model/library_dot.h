#ifndef XLA_BACKENDS_GPU_MODEL_LIBRARY_DOT_H_
#define XLA_BACKENDS_GPU_MODEL_LIBRARY_DOT_H_

#include <cstdint>
#include <optional>
#include <string>

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

// Nothing where the kernel of our own is as good (fewer than 2^20
// multiplications), where the library lacks the types or the dot names an
// algorithm, or where no dimension of a matrix is contiguous or those of a role
// do not make one.
std::optional<LibraryDot> MakeLibraryDot(const HloInstruction& dot);

// The same with operands of these shapes and layouts.
std::optional<LibraryDot> MakeLibraryDot(const HloInstruction& dot,
                                         const Shape& lhs, const Shape& rhs);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_LIBRARY_DOT_H_
