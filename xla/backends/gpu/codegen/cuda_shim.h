// Stands in for CUDA's headers, so that a C++ compiler can check and run
// emitted files:
//
//   g++ -std=c++17 -fno-strict-aliasing -include cuda_shim.h -x c++ kernel.cu
//
// Blocks run one after another; the threads of one are fibers (cuda_fibers.h),
// unless they never wait for one another. Memory is full of NaNs at first.
#ifndef XLA_BACKENDS_GPU_CODEGEN_CUDA_SHIM_H_
#define XLA_BACKENDS_GPU_CODEGEN_CUDA_SHIM_H_

#define KIR_SHIM 1

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "xla/backends/gpu/codegen/cuda_fibers.h"

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __shared__
#define __constant__ static
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

// With those of floats, as CUDA has them.
using std::acos;
using std::acosh;
using std::asin;
using std::asinh;
using std::atan2;
using std::atanh;
using std::cbrt;
using std::ceil;
using std::cos;
using std::cosh;
using std::erf;
using std::exp;
using std::expm1;
using std::floor;
using std::fmod;
using std::log;
using std::log1p;
using std::pow;
using std::rint;
using std::round;
using std::signbit;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;
using std::tanh;

// A float of `exponent` and `mantissa` bits: to the nearest, ties to even. With
// `infinity`, what is too large is infinite, else NaN, which is all ones.
template <class Bits, int exponent, int mantissa, bool infinity>
struct KirNarrow {
  static constexpr int kBias = (1 << (exponent - 1)) - 1;
  static constexpr int kTop = (1 << exponent) - 1;
  Bits bits = 0;

  KirNarrow() = default;
  explicit KirNarrow(float f) {
    const int sign = std::signbit(f) ? 1 << (exponent + mantissa) : 0;
    const int ones = (kTop << mantissa) | ((1 << mantissa) - 1);
    const int infinite = kTop << mantissa;
    const int nan = infinity ? infinite | 1 << (mantissa - 1) : ones;
    if (f != f) {
      bits = Bits(sign | nan);
      return;
    }
    const double a = std::fabs(double(f));
    int e = -kBias;  // zero is no multiple of a normal number
    if (a > 0 && !std::isinf(a)) std::frexp(a, &e);
    const int least = 1 - kBias;  // of a normal number
    e = e - 1 < least ? least : e - 1;
    // Multiples of the last place; a carry moves into the exponent.
    const double places =
        std::isinf(a) ? 0 : std::rint(std::ldexp(a, mantissa - e));
    const int most = infinity ? infinite : ones;
    long long value =
        (long long)(places) + ((long long)(e - least) << mantissa);
    if (std::isinf(a) || value >= most) value = infinity ? infinite : nan;
    bits = Bits(sign | int(value));
  }
  explicit operator float() const {
    const int e = bits >> mantissa & kTop;
    const int m = bits & ((1 << mantissa) - 1);
    float f = std::ldexp(float(e == 0 ? m : m | 1 << mantissa),
                         (e == 0 ? 1 : e) - kBias - mantissa);
    if (infinity && e == kTop) f = m == 0 ? INFINITY : NAN;
    if (!infinity && e == kTop && m == (1 << mantissa) - 1) f = NAN;
    return bits >> (exponent + mantissa) & 1 ? -f : f;
  }
};
using __half = KirNarrow<unsigned short, 5, 10, true>;
using __nv_bfloat16 = KirNarrow<unsigned short, 8, 7, true>;
using __nv_fp8_e4m3 = KirNarrow<unsigned char, 4, 3, false>;
using __nv_fp8_e5m2 = KirNarrow<unsigned char, 5, 2, true>;
inline float __half2float(__half v) { return float(v); }
inline __half __float2half(float v) { return __half(v); }
inline float __bfloat162float(__nv_bfloat16 v) { return float(v); }
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
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int distance) {
  const dim3& t = threadIdx;
  const int thread = t.x + blockDim.x * (t.y + blockDim.y * t.z);
  return __shfl_sync(mask, v, (thread & 31) ^ distance);
}
// What a warp multiplies: each lane sees what the others have, which wait.
template <int M, int N, bool exact, class T>
void kir_warp_mma(float* c, const T* a, const T* b) {
  static const T* left[32][32];
  static const T* right[32][32];
  constexpr int kRow = 16 / sizeof(T);  // elements that a lane has of a row
  const dim3& t = threadIdx;
  const int thread = t.x + blockDim.x * (t.y + blockDim.y * t.z);
  const int warp = thread / 32, lane = thread % 32;
  left[warp][lane] = a;
  right[warp][lane] = b;
  __syncwarp();
  for (int k = 0; k < M * N * 4; ++k) {
    const int i = k / 4 / N, j = k / 4 % N, r = k % 4 / 2, q = k % 2;
    double sum = c[k];
    for (int quarter = 0; quarter < 4; ++quarter) {
      const T* row = left[warp][lane / 4 * 4 + quarter] + (i * 2 + r) * kRow;
      const T* column =
          right[warp][(lane % 4 * 2 + q) * 4 + quarter] + j * kRow;
      for (int v = 0; v < kRow; ++v) {
        sum += double(float(row[v])) * double(float(column[v]));
      }
    }
    c[k] = float(sum);
  }
  __syncwarp();
}
// Threads take turns.
template <class T>
void atomicAdd(T* p, T v) {
  *p += v;
}
template <class T>
void atomicMax(T* p, T v) {
  if (*p < v) *p = v;
}
template <class T>
void atomicMin(T* p, T v) {
  if (v < *p) *p = v;
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(int) {}
inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes,
                                    size_t zeros = 0) {
  if (zeros < bytes) std::memcpy(to, from, bytes - zeros);
  std::memset(static_cast<char*>(to) + bytes - zeros, 0, zeros);
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

enum cudaError_t {
  cudaSuccess,
  cudaErrorInvalidValue,
  cudaErrorMisalignedAddress
};
using cudaStream_t = int;
enum { cudaDevAttrMaxSharedMemoryPerBlockOptin };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum {
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice
};
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
  *p = std::malloc(n > 0 ? n : 1);
  std::memset(*p, 0xff, n);
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* p) {
  std::free(p);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t n, int) {
  std::memcpy(to, from, n);
  return cudaSuccess;
}

template <class T>
cudaError_t cudaMemcpyToSymbol(T& to, const void* from, size_t n) {
  std::memcpy(&to, from, n);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, int,
                                   cudaStream_t) {
  std::memmove(to, from, n);
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = 0;
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

using cudaEvent_t = std::chrono::steady_clock::time_point*;
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new std::chrono::steady_clock::time_point();
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  *event = std::chrono::steady_clock::now();
  return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin,
                                        cudaEvent_t end) {
  *milliseconds =
      std::chrono::duration<float, std::milli>(*end - *begin).count();
  return cudaSuccess;
}
struct cudaDeviceProp {
  char name[256];
};
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::strcpy(properties->name, "host shim");
  return cudaSuccess;
}

// Memory that nothing was written to holds large numbers.
#define KIR_LAUNCH(kernel, grid, block, bytes, stream, ...)                 \
  ((void)(stream),                                                          \
   kir_fibers::Launch(                                                      \
       grid, block, [&] { std::memset(kir_smem, 0x7f, sizeof(kir_smem)); }, \
       [&] { kernel(__VA_ARGS__); }))
// For kernels whose threads never wait for one another.
#define KIR_LAUNCH_EACH(kernel, grid, block, bytes, stream, ...) \
  ((void)(stream),                                               \
   kir_fibers::LaunchEach(grid, block, [&] { kernel(__VA_ARGS__); }))

#endif  // XLA_BACKENDS_GPU_CODEGEN_CUDA_SHIM_H_
