#include "xla/backends/gpu/codegen/cuda_prelude.h"

namespace xla::gpu {

// In the order of PTX's fragments, a lane has words t and t + 4 of a depth of 8
// words, t = lane % 4. Which places of the depth those are, is free as long as
// both factors agree: here the words 4t + 2u and 4t + 2u + 1 of the u-th
// product, which lie next to each other.
//
// Three products of f32: x is big + small, big of 11 bits and small of 12, of
// which the units take 11; small * small is left out. Units cut their sums off,
// which over a long depth shows, so that only the words of a step are summed
// there and the rest by additions. Where a number is infinite, NaN or rounds to
// infinity, small is NaN or infinite: `odd`. Then such numbers take part in the
// product of the big parts alone.
const char kCudaMmaPrelude[] = R"cuda(
// Whether f32 may be multiplied as TF32.
__constant__ bool kir_tf32 = false;
#ifndef __CUDACC_RTC__
inline cudaError_t kir_allow_tf32(bool allow) {
  return cudaMemcpyToSymbol(kir_tf32, &allow, sizeof(allow));
}
#endif

#ifndef KIR_SHIM
template <class T> KIR unsigned kir_word(const T* v) {
  unsigned word;
  memcpy(&word, v, 4);
  return word;
}

#if __CUDA_ARCH__ >= 800
#define KIR_MMA(name, shape, type)                                           \
  KIR void kir_mma(name, float* c, const unsigned* a, const unsigned* b) {   \
    asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type     \
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "       \
                 "{%0, %1, %2, %3};"                                         \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),    \
                   "r"(b[1]));                                               \
  }
KIR_MMA(__half, "m16n8k16", "f16")
KIR_MMA(__nv_bfloat16, "m16n8k16", "bf16")
KIR_MMA(float, "m16n8k8", "tf32")

// Words of the u-th product of a depth: of 16 rows, of 8 columns.
template <class T> KIR void kir_rows(unsigned* words, const T* a, int u) {
  constexpr int p = 4 / sizeof(T);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    words[k] = kir_word(a + (k % 2 * 4 + 2 * u + k / 2) * p);
  }
}
template <class T> KIR void kir_columns(unsigned* words, const T* b, int u) {
  constexpr int p = 4 / sizeof(T);
  words[0] = kir_word(b + 2 * u * p);
  words[1] = kir_word(b + (2 * u + 1) * p);
}
KIR unsigned kir_to_tf32(unsigned x) {
  unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(__uint_as_float(x)));
  return r;
}

template <int M, int N, bool round, class T>
KIR void kir_one_product(float* c, const T* a, const T* b) {
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    unsigned right[N][2];
#pragma unroll
    for (int j = 0; j < N; ++j) {
      kir_columns(right[j], b + j * (16 / sizeof(T)), u);
      if (round) {
        right[j][0] = kir_to_tf32(right[j][0]);
        right[j][1] = kir_to_tf32(right[j][1]);
      }
    }
#pragma unroll
    for (int i = 0; i < M; ++i) {
      unsigned left[4];
      kir_rows(left, a + i * (32 / sizeof(T)), u);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if (round) left[k] = kir_to_tf32(left[k]);
      }
#pragma unroll
      for (int j = 0; j < N; ++j) kir_mma(T(), c + (i * N + j) * 4, left, right[j]);
    }
  }
}

template <int K> struct KirParts {
  unsigned big[K], small[K];
  // Splits `big`.
  KIR void Split() {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const float x = __uint_as_float(big[k]);
      big[k] = (big[k] + 0x1000u) & 0xffffe000u;
      small[k] = __float_as_uint(x - __uint_as_float(big[k]));
    }
  }
  // With the numbers themselves: no odd ones, and nothing but those.
  KIR void Even(const unsigned* all) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const float x = __uint_as_float(all[k]);
      const bool is_finite = fabsf(x) < INFINITY;
      big[k] = (all[k] + 0x1000u) & 0xffffe000u;
      if ((big[k] & 0x7f800000u) == 0x7f800000u) big[k] = all[k] & 0xffffe000u;
      if (!is_finite) big[k] = 0;
      small[k] = is_finite
          ? __float_as_uint(x - __uint_as_float(big[k])) : 0;
    }
  }
  KIR void Odd(const unsigned* all) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const float x = __uint_as_float(all[k]);
      if (!(fabsf(x) < INFINITY)) big[k] = x != x ? 0x7fc00000u : all[k];
    }
  }
};

// As if no number were odd; otherwise does nothing, and says so: small parts
// that are not finite show in the sums.
template <int M, int N>
KIR bool kir_even_products(float* c, const float* a, const float* b) {
  float sums[M * N][4] = {};
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    KirParts<2> right[N];
    KirParts<4> left[M];
#pragma unroll
    for (int j = 0; j < N; ++j) {
      kir_columns(right[j].big, b + j * 4, u);
      right[j].Split();
    }
#pragma unroll
    for (int i = 0; i < M; ++i) {
      kir_rows(left[i].big, a + i * 8, u);
      left[i].Split();
    }
#pragma unroll
    for (int k = 0; k < M * N; ++k) {
      kir_mma(0.0f, sums[k], left[k / N].small, right[k % N].big);
    }
#pragma unroll
    for (int k = 0; k < M * N; ++k) {
      kir_mma(0.0f, sums[k], left[k / N].big, right[k % N].small);
    }
#pragma unroll
    for (int k = 0; k < M * N; ++k) {
      kir_mma(0.0f, sums[k], left[k / N].big, right[k % N].big);
    }
  }
  float probe = 0;
#pragma unroll
  for (int k = 0; k < 4 * M * N; ++k) {
    probe = fmaf(sums[k / 4][k % 4], 0.0f, probe);
  }
  if (__any_sync(~0u, probe != 0)) return false;
#pragma unroll
  for (int k = 0; k < 4 * M * N; ++k) c[k] += sums[k / 4][k % 4];
  return true;
}

template <int M, int N>
KIR void kir_odd_products(float* c, const float* a, const float* b) {
#pragma unroll
  for (int k = 0; k < 2 * M * N; ++k) {
    const int u = k / (M * N), i = k / N % M, j = k % N;
    unsigned all[4], other[2];
    kir_rows(all, a + i * 8, u);
    kir_columns(other, b + j * 4, u);
    KirParts<4> left;
    KirParts<2> right;
    left.Even(all);
    right.Even(other);
    float sums[4] = {};
    kir_mma(0.0f, sums, left.small, right.big);
    kir_mma(0.0f, sums, left.big, right.small);
    left.Odd(all);
    right.Odd(other);
    kir_mma(0.0f, sums, left.big, right.big);
#pragma unroll
    for (int q = 0; q < 4; ++q) c[(i * N + j) * 4 + q] += sums[q];
  }
}

// A few rows at a time, so that registers hold their sums twice.
template <int M, int N>
KIR void kir_three_products(float* c, const float* a, const float* b) {
  constexpr int rows = M * N <= 8 ? M : M % 2 == 0 && N <= 4 ? 2 : 1;
  static_assert(M % rows == 0, "no rows are left over");
#pragma unroll
  for (int i = 0; i < M; i += rows) {
    float* const sums = c + i * N * 4;
    const float* const left = a + i * 8;
    if (!kir_even_products<rows, N>(sums, left, b)) {
      kir_odd_products<rows, N>(sums, left, b);
    }
  }
}

template <int M, int N, bool exact, class T>
KIR void kir_warp_mma(float* c, const T* a, const T* b) {
  kir_one_product<M, N, false>(c, a, b);
}
template <int M, int N, bool exact>
KIR void kir_warp_mma(float* c, const float* a, const float* b) {
  if (!exact && kir_tf32) {
    kir_one_product<M, N, true>(c, a, b);
  } else {
    kir_three_products<M, N>(c, a, b);
  }
}
#else
// Without such units: lanes tell each other their words.
template <class T> KIR float kir_part(unsigned word, int k) {
  T v[4 / sizeof(T)];
  memcpy(v, &word, 4);
  return kir_to<float>(v[k]);
}
template <int M, int N, bool exact, class T>
KIR void kir_warp_mma(float* c, const T* a, const T* b) {
  constexpr int p = 4 / sizeof(T);
  const int lane = kir_thread() & 31, group = lane & ~3;
  for (int quarter = 0; quarter < 4; ++quarter) {
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      unsigned left[2 * M];
#pragma unroll
      for (int i = 0; i < 2 * M; ++i) {
        left[i] = __shfl_sync(~0u, kir_word(a + (i * 4 + v) * p),
                              group + quarter);
      }
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const unsigned word = kir_word(b + (j * 4 + v) * p);
#pragma unroll
        for (int q = 0; q < 2; ++q) {
          const unsigned right =
              __shfl_sync(~0u, word, (2 * (lane & 3) + q) * 4 + quarter);
#pragma unroll
          for (int i = 0; i < 2 * M; ++i) {
            float& sum = c[(i / 2 * N + j) * 4 + i % 2 * 2 + q];
#pragma unroll
            for (int k = 0; k < p; ++k) {
              sum = fmaf(kir_part<T>(left[i], k), kir_part<T>(right, k), sum);
            }
          }
        }
      }
    }
  }
}
#endif
#endif
)cuda";

}  // namespace xla::gpu
