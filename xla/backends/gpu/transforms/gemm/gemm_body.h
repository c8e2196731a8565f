#ifndef XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_BODY_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_BODY_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/backends/gpu/transforms/gemm/gemm_operand.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/shape.h"

namespace xla::gpu {

// A dot as a product of matrices, or of batches of these.
struct Gemm {
  HloDotInstruction* dot;
  GemmOperand operands[2];
  bool has_batch;
  // Batch, rows, columns.
  std::vector<int64_t> result_dims;
  // The instructions fused after it, in order (gemm_epilogue.h).
  std::vector<HloInstruction*> epilogue;
  // The epilogue has the dimensions of the result as matrices, not the dot's.
  bool epilogue_of_matrices = false;

  // Whether both operands are one value, seen as matrices of the same sizes.
  bool HasOneOperand() const {
    return dot->operand(0) == dot->operand(1) &&
           operands[0].dims == operands[1].dims;
  }
};

// The size of the dimension of that kind, which the operand must have.
int64_t SizeOf(const GemmOperand& operand, DotDimensionKind kind);

// The computation of its fusion: slices and conversions of operands, the dot of
// matrices, and the epilogue, in the dot's own dimensions or those of matrices.
class GemmBody {
 public:
  // It must outlive the body.
  explicit GemmBody(const Gemm& gemm)
      : gemm_(gemm), builder_("gemm_fusion_computation") {}

  std::unique_ptr<HloComputation> Build();

  // The operands of the fusion, bitcasts to its parameters' shapes included;
  // after Build().
  const std::vector<HloInstruction*>& operands() const { return operands_; }

  // The smallest power of two that is a sensible tile of any dot and covers
  // `size`, or the largest sensible one.
  static int64_t TileOf(int64_t size);

 private:
  int64_t ContractingTile() const;
  HloInstruction* Parameter(HloInstruction* operand, const Shape& shape);
  HloInstruction* Add(const GemmOperand& operand);
  HloInstruction* AddSlice(const GemmOperand& operand, HloInstruction* value);
  HloInstruction* AddDot();
  // Returns the last instruction of the epilogue.
  HloInstruction* AddEpilogue(HloInstruction* dot);
  // `shape`: of the same elements, as the epilogue has them.
  HloInstruction* AddEpilogueOperand(HloInstruction* operand,
                                     const Shape& shape);

  const Gemm& gemm_;
  HloComputation::Builder builder_;
  std::vector<HloInstruction*> operands_;
  absl::flat_hash_map<std::pair<const HloInstruction*, Shape>, HloInstruction*>
      parameters_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_BODY_H_
