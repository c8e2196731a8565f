#ifndef XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_OPERAND_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_OPERAND_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/primitive_util.h"

namespace xla::gpu {

// The role of the dimensions of an operand or of the result of a dot.
enum class DotDimensionKind { kBatch, kContracting, kFree };

// An operand of a dot as a matrix in memory, or as a batch of these:
//
//   w = f32[24,768,16,48] parameter(0)
//   s = f32[1,768,16,48] dynamic-slice(w, i, 0, 0, 0)
//   d = f32[150,16,48] dot(x, f32[768,16,48] reshape(s)), …
//
// is source w, seen as f32[24,768,768]; of which the slice [1,768,768] at
// (i, 0, 0) is taken; the matrix is [768,768], contracting dimension first.
// Dimensions are in the order that memory has, row-major; those of size 1 are
// left out.
struct GemmOperand {
  struct Cut {
    int64_t size;                  // of the slice
    int64_t start = 0;             // of a slice, or
    HloInstruction* at = nullptr;  // of a dynamic slice
  };

  HloInstruction* source = nullptr;
  std::vector<int64_t> source_dims;
  // By dimension of the source; empty: all of it.
  std::vector<Cut> cuts;
  // Elementwise instructions that it goes through, in turn: conversions, and
  // what reads nothing besides but scalar constants, broadcast.
  std::vector<HloInstruction*> steps;
  // Batch (if there is any), then the other two in either order.
  std::vector<int64_t> dims;
  std::vector<DotDimensionKind> kinds;
  // Dots that share what is computed.
  int64_t readers = 1;

  // Whether anything happens between source and dot.
  bool IsComputed() const { return !cuts.empty() || !steps.empty(); }
};

// nullopt if the dimensions of a kind are not adjacent in memory, or if there
// is no free or no contracting one.
//
// upstream: without slices, the instruction that would cut is the source. But
// elementwise instructions whose operand is no wider than their result are
// computed with the dot, whatever else reads their results:
//
//   dot(maximum(x, broadcast(0)), y): source x
std::optional<GemmOperand> FindGemmOperand(const HloDotInstruction& dot,
                                           int64_t operand, bool upstream);

// The operand of an elementwise instruction that is no scalar constant,
// broadcast; null unless there is exactly one.
HloInstruction* OnlyArrayOperand(const HloInstruction& hlo);

// Whether the value is in memory in any case: its producer would not fuse with
// a reader.
bool IsInMemory(const HloInstruction& value);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_OPERAND_H_
