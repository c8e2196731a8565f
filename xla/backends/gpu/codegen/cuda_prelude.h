#ifndef XLA_BACKENDS_GPU_CODEGEN_CUDA_PRELUDE_H_
#define XLA_BACKENDS_GPU_CODEGEN_CUDA_PRELUDE_H_

namespace xla::gpu {

// The prelude of every emitted file: index arithmetic as the kernels mean it
// (floor division), element-wise operations, reductions over warps and blocks,
// mbarriers as inline PTX, and what the host side needs.
extern const char kCudaPrelude[];
// The part of it for products of fragments, behind the other one.
extern const char kCudaMmaPrelude[];

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_CODEGEN_CUDA_PRELUDE_H_
