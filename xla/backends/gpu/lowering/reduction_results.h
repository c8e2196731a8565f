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

// How the results of a kernel depend on its reductions.

namespace xla::gpu {

// How many of the given reductions precede an instruction, one feeding the
// next. Level n can be computed once all reductions whose operands have lower
// levels are known.
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

// The extents of the dimensions that are kept.
std::vector<int64_t> KeptExtents(const HloInstruction& reduce);

// Which element of a kernel's result corresponds to an element of a reduction's
// operand (`full`) or of its result.
struct ResultWay {
  bool full = false;
  // Instructions that only move elements, with the operand that each of them
  // moves; the last one first. The operand of the last has the shape of the
  // element's place, or, by number, as many elements.
  std::vector<std::pair<const HloInstruction*, int64_t>> steps;
  // Elements of the place and of what the steps lead to (without steps, of the
  // result) correspond by their row-major number.
  bool by_number = false;
  std::vector<int64_t> extents;  // of the place

  Indices Follow(Indices places, const Shape& result,
                 const AffineExpr::Ranges& ranges) const;
};

// Nothing if the number of elements matches neither.
std::optional<ResultWay> FindResultWay(const KernelFrame::Result& result,
                                       const HloInstruction& reduce,
                                       const ReductionLevels& levels);

// The same for elements of an array that is not a reduction's but known to
// `levels`.
std::optional<ResultWay> FindElementWay(const KernelFrame::Result& result,
                                        const Shape& place,
                                        const ReductionLevels& levels);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_REDUCTION_RESULTS_H_
