#include "xla/backends/gpu/codegen/cuda_prelude.h"

namespace xla::gpu {

const char kCudaPrelude[] = R"cuda(#ifndef KIR_SHIM
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif
#define KIR_STATIC_SHARED __shared__
#define KIR_LAUNCH(kernel, grid, block, bytes, stream, ...) \
  kernel<<<grid, block, bytes, stream>>>(__VA_ARGS__)
#define KIR_LAUNCH_EACH KIR_LAUNCH
#endif
#ifdef __CUDACC_RTC__
#define INFINITY __int_as_float(0x7f800000)
#else
#include <cmath>
#include <cstdio>
#include <vector>
#endif

using Index = long long;
using UIndex = unsigned long long;

#define KIR __device__ __forceinline__

#define KIR_INDEX template <class A, class B> __host__ KIR
KIR_INDEX auto kir_floor_div(A a, B b) { return a / b - (a % b < 0); }
KIR_INDEX auto kir_floor_mod(A a, B b) {
  const auto r = a % b;
  return r < 0 ? r + b : r;
}
// The same of what is not negative, by a positive number.
template <class T> struct KirUnsigned { using Type = UIndex; };
template <> struct KirUnsigned<int> { using Type = unsigned; };
KIR_INDEX auto kir_quotient(A a, B b) {
  using Signed = decltype(a + b);
  using Type = typename KirUnsigned<Signed>::Type;
  return Signed(Type(a) / Type(b));
}
KIR_INDEX auto kir_rest(A a, B b) {
  using Signed = decltype(a + b);
  using Type = typename KirUnsigned<Signed>::Type;
  return Signed(Type(a) % Type(b));
}
KIR_INDEX auto kir_least(A a, B b) { return a < b ? a : b; }
KIR_INDEX auto kir_most(A a, B b) { return a > b ? a : b; }
KIR_INDEX auto kir_masked(A a, B b) { return a & b; }
KIR_INDEX auto kir_align(A a, B b) { return a + kir_floor_mod(-a, b); }
KIR_INDEX bool kir_inside(A i, B n) { return i >= 0 && i < n; }
KIR int kir_thread() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
KIR int kir_threads() { return blockDim.x * blockDim.y * blockDim.z; }

// A register of their own for the bits of a half: ptxas (12.9 and 13.0) stores
// the low byte of what a conversion has just rounded to a half as the whole part
// of that number.
template <class T> KIR T kir_own_register(T a) { return a; }
#ifdef __CUDA_ARCH__
KIR unsigned short kir_own_register(unsigned short a) {
  unsigned short own;
  asm("mov.b16 %0, %1;" : "=h"(own) : "h"(a));
  return own;
}
KIR short kir_own_register(short a) {
  return short(kir_own_register((unsigned short)a));
}
#endif
template <class To, class T> KIR To kir_bits(T a) {
  static_assert(sizeof(To) == sizeof(T), "as many bits");
  To to;
  memcpy(&to, &a, sizeof(to));
  return kir_own_register(to);
}

// A float from which narrower types round as from the number itself: what lies
// between two floats becomes the one whose last bit is set.
template <class From> KIR float kir_to_odd(From v) { return float(v); }
KIR float kir_to_odd(double v) {
  const float f = float(v);
  if (double(f) == v || v != v) return f;
  const unsigned bits = kir_bits<unsigned>(f);
  return kir_bits<float>((bits - (fabs(double(f)) > fabs(v))) | 1);
}
// The lowest bits of integers need only tell whether any of them is set.
KIR float kir_to_odd(unsigned v) {
  const unsigned low = 0x7ff;
  return float(v >> 24 == 0 ? v : (v | ((v & low) + low)) & ~low);
}
KIR float kir_to_odd(int v) {
  return v < 0 ? -kir_to_odd(0 - unsigned(v)) : kir_to_odd(unsigned(v));
}
KIR float kir_to_odd(UIndex v) {
  const UIndex low = 0xfffff;
  return kir_to_odd(double(v >> 53 == 0 ? v : (v | ((v & low) + low)) & ~low));
}
KIR float kir_to_odd(Index v) {
  return v < 0 ? -kir_to_odd(0 - UIndex(v)) : kir_to_odd(UIndex(v));
}

// Between element types, through float where they are narrow.
template <class To, class From> struct KirCast {
  static KIR To Do(From v) { return To(v); }
};
template <class To> struct KirCast<To, __half> {
  static KIR To Do(__half v) { return To(__half2float(v)); }
};
template <class To> struct KirCast<To, __nv_bfloat16> {
  static KIR To Do(__nv_bfloat16 v) { return To(__bfloat162float(v)); }
};
template <class To> struct KirCast<To, __nv_fp8_e4m3> {
  static KIR To Do(__nv_fp8_e4m3 v) { return To(float(v)); }
};
template <class To> struct KirCast<To, __nv_fp8_e5m2> {
  static KIR To Do(__nv_fp8_e5m2 v) { return To(float(v)); }
};
template <class From> struct KirCast<__half, From> {
  static KIR __half Do(From v) { return __float2half(kir_to_odd(v)); }
};
template <class From> struct KirCast<__nv_bfloat16, From> {
  static KIR __nv_bfloat16 Do(From v) { return __float2bfloat16(kir_to_odd(v)); }
};
template <> struct KirCast<__half, __half> {
  static KIR __half Do(__half v) { return v; }
};
template <> struct KirCast<__nv_bfloat16, __nv_bfloat16> {
  static KIR __nv_bfloat16 Do(__nv_bfloat16 v) { return v; }
};
#ifndef KIR_SHIM
// What is too large becomes infinite, or NaN where there is no infinity.
template <class From> struct KirCast<__nv_fp8_e4m3, From> {
  static KIR __nv_fp8_e4m3 Do(From v) {
    __nv_fp8_e4m3 r;
    r.__x = __nv_cvt_float_to_fp8(kir_to_odd(v), __NV_NOSAT, __NV_E4M3);
    return r;
  }
};
template <class From> struct KirCast<__nv_fp8_e5m2, From> {
  static KIR __nv_fp8_e5m2 Do(From v) {
    __nv_fp8_e5m2 r;
    r.__x = __nv_cvt_float_to_fp8(kir_to_odd(v), __NV_NOSAT, __NV_E5M2);
    return r;
  }
};
#else
template <class From> struct KirCast<__nv_fp8_e4m3, From> {
  static __nv_fp8_e4m3 Do(From v) { return __nv_fp8_e4m3(kir_to_odd(v)); }
};
template <class From> struct KirCast<__nv_fp8_e5m2, From> {
  static __nv_fp8_e5m2 Do(From v) { return __nv_fp8_e5m2(kir_to_odd(v)); }
};
#endif
template <> struct KirCast<__nv_fp8_e4m3, __nv_fp8_e4m3> {
  static KIR __nv_fp8_e4m3 Do(__nv_fp8_e4m3 v) { return v; }
};
template <> struct KirCast<__nv_fp8_e5m2, __nv_fp8_e5m2> {
  static KIR __nv_fp8_e5m2 Do(__nv_fp8_e5m2 v) { return v; }
};
template <class To, class From> KIR To kir_to(From v) {
  return KirCast<To, From>::Do(v);
}

// Neighbors in memory, as one access.
template <class T, int N> struct alignas(sizeof(T) * N) KirVector { T v[N]; };
template <int N, class T> KIR void kir_copy_vector(T* to, const T* from) {
  *reinterpret_cast<KirVector<T, N>*>(to) =
      *reinterpret_cast<const KirVector<T, N>*>(from);
}

// Integers wrap, whatever a compiler makes of signed ones that overflow; real
// functions of integers are those of doubles; -0 has a sign too.
template <class T> KIR T kir_wrap(T a) { return a; }
KIR UIndex kir_wrap(Index a) { return UIndex(a); }
KIR unsigned kir_wrap(int a) { return unsigned(a); }
template <class T> KIR double kir_real(T a) { return double(a); }
KIR float kir_real(float a) { return a; }
template <class T> KIR bool kir_is_minus(T a) { return a < 0; }
KIR bool kir_is_minus(float a) { return signbit(a); }
KIR bool kir_is_minus(double a) { return signbit(a); }
template <class T> KIR T kir_power(T a, T b) {
  if (b < 0) return a == 1 ? T(1) : a == T(-1) ? T(b % 2 == 0 ? 1 : -1) : T(0);
  UIndex base = UIndex(a), result = 1;
  for (UIndex e = UIndex(b); e != 0; e >>= 1) {
    if (e & 1) result *= base;
    base *= base;
  }
  return T(result);
}
KIR float kir_power(float a, float b) { return pow(a, b); }
KIR double kir_power(double a, double b) { return pow(a, b); }
template <class T> KIR T kir_remainder(T a, T b) {
  return b == 0 ? a : b == T(-1) && T(-1) < T(0) ? T(0) : T(a % b);
}
KIR float kir_remainder(float a, float b) { return fmod(a, b); }
KIR double kir_remainder(double a, double b) { return fmod(a, b); }

#define KIR_UNARY(name, value) \
  template <class T> KIR T kir_##name(T a) { return T(value); }
#define KIR_BINARY(name, value) \
  template <class T> KIR T kir_##name(T a, T b) { return T(value); }
KIR_UNARY(neg, -kir_wrap(a))
KIR_UNARY(abs, kir_is_minus(a) ? -kir_wrap(a) : kir_wrap(a))
KIR_UNARY(exp, exp(kir_real(a)))
KIR_UNARY(log, log(kir_real(a)))
KIR_UNARY(sqrt, sqrt(kir_real(a)))
KIR_UNARY(rsqrt, 1 / sqrt(kir_real(a)))
KIR_UNARY(rcp, 1 / kir_real(a))
KIR_UNARY(tanh, tanh(kir_real(a)))
KIR_UNARY(sin, sin(kir_real(a)))
KIR_UNARY(cos, cos(kir_real(a)))
KIR_UNARY(floor, floor(kir_real(a)))
KIR_UNARY(ceil, ceil(kir_real(a)))
KIR_UNARY(tan, tan(kir_real(a)))
KIR_UNARY(acos, acos(kir_real(a)))
KIR_UNARY(acosh, acosh(kir_real(a)))
KIR_UNARY(asin, asin(kir_real(a)))
KIR_UNARY(asinh, asinh(kir_real(a)))
KIR_UNARY(atanh, atanh(kir_real(a)))
KIR_UNARY(cosh, cosh(kir_real(a)))
KIR_UNARY(sinh, sinh(kir_real(a)))
KIR_UNARY(expm1, expm1(kir_real(a)))
KIR_UNARY(log1p, log1p(kir_real(a)))
KIR_UNARY(cbrt, cbrt(kir_real(a)))
KIR_UNARY(erf, erf(kir_real(a)))
KIR_UNARY(sign, a > 0 ? T(1) : a < 0 ? T(-1) : a)
KIR_UNARY(rint, rint(kir_real(a)))
KIR_UNARY(round, round(kir_real(a)))
KIR_UNARY(relu, a < 0 ? T(0) : a)
KIR_UNARY(sigmoid, 1 / (1 + exp(-kir_real(a))))
KIR_UNARY(not, a == 0)
KIR_UNARY(cast, a)
KIR_BINARY(add, kir_wrap(a) + kir_wrap(b))
KIR_BINARY(sub, kir_wrap(a) - kir_wrap(b))
KIR_BINARY(mul, kir_wrap(a) * kir_wrap(b))
KIR_BINARY(div, a / b)
KIR_BINARY(rem, kir_remainder(a, b))
KIR_BINARY(max, a != a || a > b || (a == b && !kir_is_minus(a)) ? a : b)
KIR_BINARY(min, a != a || a < b || (a == b && kir_is_minus(a)) ? a : b)
#if __CUDA_ARCH__ >= 800
// Nearly always to the nearest, without the branch that `/` has: div.full is
// two units in the last place off at most, and what is left of `a` says how far.
// Whole quotients are exact, so that floor(a / b) is right, except where 1 / b
// is infinite (|b| < 2^-128): these stay as div.full has them.
template <> KIR float kir_div(float a, float b) {
  float q, inverse;
  asm("div.full.f32 %0, %1, %2;" : "=f"(q) : "f"(a), "f"(b));
  asm("rcp.approx.f32 %0, %1;" : "=f"(inverse) : "f"(b));
  const float left = fmaf(-q, b, a);
  const float better = fmaf(left, inverse, q);
  return left != 0 && fabsf(better) < INFINITY ? better : q;
}
template <> KIR float kir_sigmoid(float a) {
  return kir_div<float>(1, 1 + expf(-a));
}
template <> KIR float kir_rsqrt(float a) { return rsqrtf(a); }
// One instruction: a NaN stays one, and 0 is more than -0.
template <> KIR float kir_max(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
template <> KIR float kir_min(float a, float b) {
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
#endif
KIR_BINARY(atan2, atan2(kir_real(a), kir_real(b)))
KIR_BINARY(shl, b < 0 || b > 63 ? T(0) : T(UIndex(a) << int(b)))
KIR_BINARY(shr, b < 0 || b > 63 ? T(a < 0 ? -1 : 0) : T(a >> int(b)))
KIR_BINARY(pow, kir_power(a, b))
KIR_BINARY(and, Index(a) & Index(b))
KIR_BINARY(or, Index(a) | Index(b))
KIR_BINARY(xor, Index(a) ^ Index(b))
KIR_BINARY(eq, a == b)
KIR_BINARY(lt, a < b)
KIR_BINARY(le, a <= b)
KIR_BINARY(gt, a > b)
KIR_BINARY(ge, a >= b)
KIR Index kir_popcnt_bits(UIndex v) {
  Index n = 0;
  for (; v != 0; v &= v - 1) ++n;
  return n;
}
KIR_UNARY(popcnt, kir_popcnt_bits(UIndex(a)))
// Counts in the bits of To; a value beyond the ends of To becomes an end.
template <class To, class T> KIR T kir_clz(T a) {
  Index n = 8 * sizeof(To);
  for (UIndex v = UIndex(a); v != 0; v >>= 1) --n;
  return T(n);
}
template <class To, class T> KIR To kir_saturate(T a) {
  constexpr bool is_signed = To(-1) < To(0);
  constexpr To max = is_signed
      ? To(~0ull >> (64 - 8 * sizeof(To) + 1)) : To(~0ull);
  if (a != a) return To(0);
  if (double(a) >= double(max)) return max;
  if (double(a) <= (is_signed ? -double(max) - 1 : 0)) return To(is_signed ? -max - 1 : 0);
  return To(a);
}
template <class To, class T> KIR To kir_high_bits(T a) {
  return To(kir_bits<UIndex>(a) >> 32);
}
template <class To, class T> KIR To kir_low_bits(T a) {
  return To(kir_bits<UIndex>(a));
}
template <class To, class T> KIR To kir_bits(T high, unsigned low) {
  return kir_bits<To>(UIndex(unsigned(high)) << 32 | low);
}
template <class T> KIR T kir_select(T c, T a, T b) { return c != 0 ? a : b; }
template <class T> KIR T kir_fma(T a, T b, T c) { return a * b + c; }
template <class T> KIR T kir_clamp(T lo, T x, T hi) {
  return kir_min<T>(kir_max<T>(lo, x), hi);
}

// An infinity, or the end of a type that has none: what a conversion of one to
// an integer gives is undefined.
template <class T> KIR T kir_end(float infinity) {
  return kir_saturate<T>(infinity);
}
template <> KIR float kir_end(float infinity) { return infinity; }
template <> KIR double kir_end(float infinity) { return infinity; }

#define KIR_COMBINER(Name, value, identity)                        \
  struct Name {                                                    \
    template <class T> static KIR T Apply(T a, T b) { return value; } \
    template <class T> static KIR T Identity() { return identity; }   \
  };
KIR_COMBINER(KirAdd, a + b, T(0))
KIR_COMBINER(KirMul, a * b, T(1))
KIR_COMBINER(KirMax, kir_max<T>(a, b), kir_end<T>(-INFINITY))
KIR_COMBINER(KirMin, kir_min<T>(a, b), kir_end<T>(INFINITY))

// Sums of signed numbers are those of unsigned ones.
template <class T> KIR void kir_atomic_add(T* p, T v) { atomicAdd(p, v); }
KIR void kir_atomic_add(long long* p, long long v) {
  atomicAdd((unsigned long long*)p, (unsigned long long)v);
}
template <class T> KIR void kir_atomic_max(T* p, T v) { atomicMax(p, v); }
template <class T> KIR void kir_atomic_min(T* p, T v) { atomicMin(p, v); }

// Over all lanes of a warp, or over each kLanes neighbors of them, which come
// by together; every lane gets its result.
template <class T, class Op, int kLanes = 32> KIR T kir_full_warp_reduce(T v) {
  for (int d = kLanes / 2; d > 0; d /= 2) {
    const T other = __shfl_xor_sync(~0u, v, d);
    v = Op::template Apply<T>(v, other);
  }
  return v;
}
// The same over the lanes that come by.
template <class T, class Op, int kLanes = 32> KIR T kir_warp_reduce(T v) {
  const unsigned mask = __activemask();
  const int mine = (kir_thread() & 31) / kLanes;
  T all = v;
  bool is_first = true;
  for (int k = 0; k < 32; ++k) {
    const T other = __shfl_sync(mask, v, k);
    if ((mask >> k & 1) == 0 || k / kLanes != mine) continue;
    all = is_first ? other : Op::template Apply<T>(all, other);
    is_first = false;
  }
  return all;
}

// Over the block, which must come by as a whole; holds two barriers.
template <class T, class Op> KIR T kir_block_reduce(T v) {
  KIR_STATIC_SHARED T partial[32];
  v = kir_warp_reduce<T, Op>(v);
  if ((kir_thread() & 31) == 0) partial[kir_thread() / 32] = v;
  __syncthreads();
  T all = Op::template Identity<T>();
  for (int w = 0; w < (kir_threads() + 31) / 32; ++w) {
    all = Op::template Apply<T>(all, partial[w]);
  }
  __syncthreads();
  return all;
}

template <class T, class M, class V, class C>
KIR void kir_welford(T x, M& mean, V& m2, C& count) {
  count = C(count + 1);
  const T delta = x - T(mean);
  mean = M(mean + delta / T(count));
  m2 = V(m2 + delta * (x - T(mean)));
}

#ifndef KIR_SHIM
KIR unsigned kir_shared(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
KIR void kir_mbarrier_init(unsigned long long* b, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(kir_shared(b)),
               "r"(count) : "memory");
}
KIR void kir_mbarrier_arrive(unsigned long long* b) {
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(
                   kir_shared(b)) : "memory");
}
KIR void kir_mbarrier_wait(unsigned long long* b, unsigned parity) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{ .reg .pred p; KIR_WAIT_%=: "
      "mbarrier.try_wait.parity.shared.b64 p, [%0], %1; "
      "@!p bra KIR_WAIT_%=; }" ::"r"(kir_shared(b)), "r"(parity) : "memory");
#else
  asm volatile(
      "{ .reg .pred p; KIR_WAIT_%=: "
      "mbarrier.test_wait.parity.shared.b64 p, [%0], %1; "
      "@!p bra KIR_WAIT_%=; }" ::"r"(kir_shared(b)), "r"(parity) : "memory");
#endif
}
KIR void kir_fence_async_proxy() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
KIR void kir_fence_wgmma() {
#if __CUDA_ARCH__ == 900 && defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
KIR void kir_cluster_sync() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"
               ::: "memory");
#else
  __syncthreads();
#endif
}
#endif

#ifndef __CUDACC_RTC__
// Where threads read or write vectors, their address must be a multiple of the
// vector's bytes: memory from cudaMalloc is, a part of an array may not be.
inline bool kir_is_aligned(const char* kernel, const char* name,
                           const void* pointer, int bytes) {
  if ((unsigned long long)(pointer) % bytes == 0) return true;
  std::fprintf(stderr,
               "%s: %s is not aligned to %d bytes, which its vectors need\n",
               kernel, name, bytes);
  return false;
}

// Asks for more than 48 KiB where needed; says what is there when it is not
// enough.
inline cudaError_t kir_reserve(const void* kernel, Index bytes) {
  int device = 0, most = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  error = cudaDeviceGetAttribute(
      &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error != cudaSuccess) return error;
  if (bytes > most) {
    std::fprintf(stderr,
                 "kernel needs %lld bytes of shared memory; the device has %d "
                 "for a block\n", bytes, most);
    return cudaErrorInvalidValue;
  }
  if (bytes <= 48 * 1024) return cudaSuccess;
  return cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
}

// A parameter for tests, filled as the interpreter fills it.
template <class T> struct KirArray {
  KirArray(size_t n, size_t number) : host(n) {
    for (size_t e = 0; e < n; ++e) host[e] = T(float((e * 7 + number * 3) % 23));
    cudaMalloc((void**)&device, n * sizeof(T));
    cudaMemcpy(device, host.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  }
  bool Equals(const double* want) {
    cudaMemcpy(host.data(), device, host.size() * sizeof(T),
               cudaMemcpyDeviceToHost);
    for (size_t e = 0; e < host.size(); ++e) {
      const double got = double(float(host[e])), w = want[e];
      if (got == w || (got != got && w != w)) continue;
      if (std::fabs(got - w) <= 1e-3 * (1 + std::fabs(w))) continue;
      std::fprintf(stderr, "element %zu: %g, expected %g\n", e, got, w);
      return false;
    }
    return true;
  }
  std::vector<T> host;
  T* device = nullptr;
};
#endif
)cuda";

}  // namespace xla::gpu
