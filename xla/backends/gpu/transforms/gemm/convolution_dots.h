#ifndef XLA_BACKENDS_GPU_TRANSFORMS_GEMM_CONVOLUTION_DOTS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_GEMM_CONVOLUTION_DOTS_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

// Turns convolutions that are matrix products into dots, which a library may
// multiply. Those whose window is one element:
//
//   before: c = f32[32,56,56,256] convolution(x, w), window={size=1x1},
//             dim_labels=b01f_01io->b01f
//   after:  r = f32[64,256] reshape(w)
//           c = f32[32,56,56,256] dot(x, r), lhs_contracting_dims={3},
//             rhs_contracting_dims={0}
//
// and those whose window is the whole image, as in the gradients of the filters
// of the former:
//
//   before: g = f32[1,1,64,256] convolution(x, d), window={size=56x56},
//             dim_labels=f01b_i01o->01bf
//   after:  p = f32[32,64,256] dot(x, d), lhs_batch_dims={0}, …
//             lhs_contracting_dims={1,2}, …
//           s = f32[64,256] reduce(p, 0), dimensions={0}, to_apply=add
//           g = f32[1,1,64,256] reshape(s)
//
// The latter are few long sums, which would leave most of a device idle: so
// images are batches of the dot, up to `kBlocks` tiles (in the example 2 for
// each of 32 images), and the sums of f32 are added up. Images come in several
// batches as x = f32[4,8,…] reshape(f32[32,…]) where fewer batches are enough.
// Where the number of images has no such factor, the last batch is padded with
// zeros: f32[66,2,…] for 131 images.
//
// The gradients of larger filters are as few long sums: there images are groups
// of features, which are a batch of products to our kernels (dot_shape.h).
//
//   before: g = f32[3,3,64,64] convolution(x, d),
//             window={size=56x56 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf
//   after:  t = f32[1,56,56,32,64] transpose(f32[32,1,56,56,64] reshape(d)), …
//           r = f32[1,56,56,2048] reshape(t)
//           c = f32[3,3,64,2048] convolution(x, r), feature_group_count=32, …
//           g = reduce(f32[3,3,64,32,64] reshape(c), 0), dimensions={3}, …
//
// These are of f32, with windows of more places than the result and long sums
// in each group; their windows may have padding and dilation, those above may
// not. Leaves alone otherwise: convolutions in groups, with control
// dependencies or dynamic dimensions, and those whose result has the dimensions
// of the product in another order. What it adds has the metadata and frontend
// attributes of the convolution; the last of it has its sharding.
// O(instructions).
class ConvolutionDots : public HloModulePass {
 public:
  absl::string_view name() const override { return "convolution-dots"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_GEMM_CONVOLUTION_DOTS_H_
