#ifndef XLA_BACKENDS_GPU_LOWERING_REDUCTION_RESULTS_H_
#define XLA_BACKENDS_GPU_LOWERING_REDUCTION_RESULTS_H_

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

// How what a kernel writes hangs together with its reductions.

namespace xla::gpu {

// How many of some reductions lie one behind the other on the way to an
// instruction. What has level n can be computed once all reductions whose
// operands are of lower levels are known.
class ReductionLevels {
 public:
  // `body`: operands first.
  ReductionLevels(absl::Span<const HloInstruction* const> body,
                  absl::Span<const HloInstruction* const> heroes);
  // 0 for what is not in the body.
  int Of(const HloInstruction& hlo) const;
  int OfOperands(const HloInstruction& hlo) const;

 private:
  std::map<const HloInstruction*, int> levels_;  // looked up only
};

// Which element of a kernel's result belongs to an element of a reduction's
// operand (`full`) or of its result.
struct ResultWay {
  bool full = false;
  // Instructions that only move elements, and which operand they move; the last
  // one first. The operand of the last has the shape of the element's place.
  std::vector<std::pair<const HloInstruction*, int64_t>> steps;
  // Instead of steps: elements in order of their numbers.
  bool by_number = false;
  std::vector<int64_t> extents;  // of the place

  Indices Follow(Indices places, const Shape& result,
                 const AffineExpr::Ranges& ranges) const;
};

// Nothing where the numbers of elements differ from both.
std::optional<ResultWay> FindResultWay(const KernelFrame::Result& result,
                                       const HloInstruction& reduce,
                                       const ReductionLevels& levels);

// The same for elements of an array that is no reduction's, of which `levels`
// knows.
std::optional<ResultWay> FindElementWay(const KernelFrame::Result& result,
                                        const Shape& place,
                                        const ReductionLevels& levels);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_REDUCTION_RESULTS_H_
