#ifndef XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_DOT_KERNELS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_DOT_KERNELS_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "xla/backends/gpu/fusion/explain/fusion_explanation.h"
#include "xla/backends/gpu/transforms/priority_fusion/fusion_rules.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_computation.h"

namespace xla::gpu {

// Turns dots that do not need a matrix unit into fusions, so that their
// operands' producers and the readers of their results can fuse with them.
//
//   before: d = f32[m,n] dot(x, y)        x: f32[m,1], y: f32[1,n]
//   after:  d = f32[m,n] fusion(x, y)     multiply(broadcast, broadcast)
//
//   before: e = f32[m,k] exponential(p)
//           d = f32[m,1] dot(e, y)        y: f32[k,1]
//   after:  d = f32[m,1] fusion(e, y)     reduce(multiply(e, broadcast))
//
// The first: dots that sum nothing up. Each element of the result is one
// product, so the dot is bound by memory; a loop is as fast. The second:
// products of a matrix with a vector, if the matrix is computed by a kernel
// that can be fused, only such dots and kernels that can be fused read it, and
// the reduction is worth a kernel of its own: then the matrix need not be
// written. So are products of a large matrix, whoever computes it, if they have
// many elements: they wait for memory, and a reduction reads it as fast.
//
// Types: f16, bf16, f32, f64; 16-bit values are summed in f32. Leaves alone:
// banned names, layouts other than the default one, dots whose algorithm or
// result type asks for more than that, and those whose operands would have to
// be transposed. The fusion has the dot's name, shape and metadata.
//
// Returns the number of dots replaced. `fuel`, unless null, limits it and is
// reduced by it. O(instructions + edges).
absl::StatusOr<int64_t> MakeDotsFusible(
    HloComputation* computation,
    const stream_executor::DeviceDescription& device,
    const absl::flat_hash_set<std::string>& banned, FusionRules* rules,
    FusionExplanation* explanation, int64_t* fuel = nullptr);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_DOT_KERNELS_H_
