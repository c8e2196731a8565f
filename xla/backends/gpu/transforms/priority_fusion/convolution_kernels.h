#ifndef XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_CONVOLUTION_KERNELS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_CONVOLUTION_KERNELS_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "xla/backends/gpu/fusion/explain/fusion_explanation.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/transforms/priority_fusion/fusion_rules.h"
#include "xla/hlo/ir/hlo_computation.h"

namespace xla::gpu {

// Turns depthwise convolutions, in which no feature depends on another one,
// into fusions: matrix units do not help there, so that they are bound by
// memory, and a loop is as fast and can fuse with the producer of the image and
// with the readers of the result.
//
//   before: c = f32[n,c,h,w] convolution(x, y), feature_group_count=c
//   after:  c = f32[n,c,h,w] fusion(x, y)
//           { for each element of the window: slice(pad(x)) * broadcast(y's),
//             all added up }
//
// Their gradients with respect to the window become one reduction with a sum
// for each element of the window:
//
//   before: g = f32[3,3,1,c] convolution(x, d), batch_group_count=c
//   after:  s = (f32[c], … 9 times) fusion(x, d)
//           { reduce(slice(pad(x)) * d, …) over images and places }
//           g = reshape(concatenate(s#0, … s#8))
//
// Sums over more places than a block can add up are computed per image and
// added up by a second reduction, which is part of the price; what is too much
// for a block even then stays a convolution.
//
// The first applies if all readers of the image or all readers of the result
// can be fused; the second if all readers of the image can, so that the image
// need not be written.
//
// Types: f16, bf16, f32, f64; 16-bit values are summed in f32. Leaves alone:
// windows of more than 32 elements, banned names, layouts other than the
// default one, results whose dimensions are in another order than those of the
// image, several features of the result per feature of the image. The fusion
// (in the second case, the instruction that assembles the result) has the
// convolution's name, shape and metadata.
//
// Returns the number of convolutions replaced. `fuel`, unless null, limits it
// and is reduced by it. O(instructions + edges).
absl::StatusOr<int64_t> MakeConvolutionsFusible(
    HloComputation* computation, GpuPerformanceModel* model,
    const absl::flat_hash_set<std::string>& banned, FusionRules* rules,
    FusionExplanation* explanation, int64_t* fuel = nullptr);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_CONVOLUTION_KERNELS_H_
