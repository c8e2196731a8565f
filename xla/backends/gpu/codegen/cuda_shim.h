// Stands in for CUDA's headers, so that a C++ compiler can check and run
// emitted files:
//
//   g++ -std=c++17 -fno-strict-aliasing -include cuda_shim.h -x c++ kernel.cu
//
// Blocks run one after another; the threads of one are fibers (cuda_fibers.h).
// Narrow types are floats that are not rounded.
#ifndef XLA_BACKENDS_GPU_CODEGEN_CUDA_SHIM_H_
#define XLA_BACKENDS_GPU_CODEGEN_CUDA_SHIM_H_

#define KIR_SHIM 1

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "xla/backends/gpu/codegen/cuda_fibers.h"

#define __global__
#define __device__
#define __host__
#define __shared__
#define __forceinline__ inline
#define __align__(n) __attribute__((aligned(n)))
#define KIR_STATIC_SHARED static

// What `extern __shared__` names; more than any device has.
alignas(1024) unsigned char kir_smem[256 * 1024];

using dim3 = kir_fibers::Dim3;
#define threadIdx (kir_fibers::Now().thread)
#define blockIdx (kir_fibers::Here().block)
#define blockDim (kir_fibers::Here().block_dim)
#define gridDim (kir_fibers::Here().grid_dim)

using std::ceil;
using std::cos;
using std::exp;
using std::floor;
using std::fmod;
using std::log;
using std::pow;
using std::sin;
using std::sqrt;
using std::tanh;

struct __half {
  float v = 0;
  __half() = default;
  explicit __half(float f) : v(f) {}
  explicit operator float() const { return v; }
};
struct __nv_bfloat16 : __half {
  using __half::__half;
};
struct __nv_fp8_e4m3 : __half {
  using __half::__half;
};
struct __nv_fp8_e5m2 : __half {
  using __half::__half;
};
inline float __half2float(__half v) { return v.v; }
inline __half __float2half(float v) { return __half(v); }
inline float __bfloat162float(__nv_bfloat16 v) { return v.v; }
inline __nv_bfloat16 __float2bfloat16(float v) { return __nv_bfloat16(v); }

inline void __syncthreads() { kir_fibers::BlockBarrier(); }
inline void __syncwarp() { kir_fibers::WarpBarrier(); }
inline unsigned __activemask() { return kir_fibers::ActiveMask(); }
template <class T>
T __shfl_sync(unsigned mask, T v, int lane) {
  static_assert(sizeof(T) <= 8);
  T result;
  kir_fibers::Shuffle(mask, lane, &v, &result, sizeof(T));
  return result;
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(int) {}
inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}
namespace cooperative_groups {
struct Grid {
  void sync() { kir_fibers::GridBarrier(); }
};
inline Grid this_grid() { return {}; }
}  // namespace cooperative_groups
inline void kir_mbarrier_init(unsigned long long* b, int count) {
  kir_fibers::InitBarrier(b, count);
}
inline void kir_mbarrier_arrive(unsigned long long* b) {
  kir_fibers::Arrive(b);
}
inline void kir_mbarrier_wait(unsigned long long* b, unsigned parity) {
  kir_fibers::Wait(b, parity);
}
inline void kir_fence_async_proxy() {}
inline void kir_fence_wgmma() {}
inline void kir_cluster_sync() { kir_fibers::BlockBarrier(); }

enum cudaError_t { cudaSuccess, cudaErrorInvalidValue };
using cudaStream_t = int;
enum { cudaDevAttrMaxSharedMemoryPerBlockOptin };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
inline cudaError_t cudaGetDevice(int*) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetAttribute(int* value, int, int) {
  *value = sizeof(kir_smem);
  return cudaSuccess;
}
inline cudaError_t cudaFuncSetAttribute(const void*, int, int) {
  return cudaSuccess;
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return ""; }
inline cudaError_t cudaMalloc(void** p, size_t n) {
  *p = std::malloc(n);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t n, int) {
  std::memcpy(to, from, n);
  return cudaSuccess;
}

// Memory that nothing was written to holds large numbers.
#define KIR_LAUNCH(kernel, grid, block, bytes, stream, ...)                 \
  ((void)(stream),                                                          \
   kir_fibers::Launch(                                                      \
       grid, block, [&] { std::memset(kir_smem, 0x7f, sizeof(kir_smem)); }, \
       [&] { kernel(__VA_ARGS__); }))

#endif  // XLA_BACKENDS_GPU_CODEGEN_CUDA_SHIM_H_
