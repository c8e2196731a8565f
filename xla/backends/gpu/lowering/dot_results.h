#ifndef XLA_BACKENDS_GPU_LOWERING_DOT_RESULTS_H_
#define XLA_BACKENDS_GPU_LOWERING_DOT_RESULTS_H_

#include <array>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/lowering/dot_lowering.h"
#include "xla/backends/gpu/lowering/dot_shape.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/backends/gpu/lowering/reduction_results.h"

// What products have in common, however they are computed: names of places, and
// results that are computed from the sums of a place.

namespace xla::gpu {

// Calls `body` with one index for each of `dims`; those that are computed have
// names.
absl::Status NamePlaces(const DotShape& shape,
                        absl::Span<const DotShape::Dimension> dims,
                        const std::array<Indices, 4>& parts,
                        KernelBuilder* builder,
                        absl::FunctionRef<absl::Status(const Indices&)> body);

class DotResults {
 public:
  // Until it ends, nobody computes the products by himself.
  DotResults(const DotGroup& group, KernelFrame* frame);
  ~DotResults() { frame_.emitter().AllowAll(); }

  // Writes the results at that place of the products, in a scope of its own;
  // `sums`: one for each product.
  absl::Status Write(const Indices& indices,
                     absl::Span<const kir::Operand> sums);

 private:
  const DotGroup& group_;
  KernelFrame& frame_;
  const ReductionLevels levels_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_DOT_RESULTS_H_
