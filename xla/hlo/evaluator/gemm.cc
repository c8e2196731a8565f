#include "xla/hlo/evaluator/gemm.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <vector>

#include "absl/log/log.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

// Blocked matrix product in the style of Goto and van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication" (ACM TOMS 34, 2008): panels of b and
// a are packed contiguously, so that the innermost kernel streams through both
// while a kRows x kColumns tile of the result stays in registers. Sums are
// accumulated per block of kDepth, so the order of additions is fixed and
// results are reproducible.

namespace xla {
namespace evaluator {
namespace {

// Rows and columns of the tile of c that is kept in registers.
constexpr int64_t kRows = 4;
constexpr int64_t kColumns = 8;
// Sizes of packed panels: b's stays in the second-level cache, a's in the
// first-level one.
constexpr int64_t kDepth = 256;
constexpr int64_t kPanelColumns = 256;

template <typename T>
inline void MultiplyAdd(T& sum, T x, T y) {
  sum += x * y;
}
// Without the branches for infinities that std::complex has.
template <typename T>
inline void MultiplyAdd(std::complex<T>& sum, std::complex<T> x,
                        std::complex<T> y) {
  sum = {sum.real() + (x.real() * y.real() - x.imag() * y.imag()),
         sum.imag() + (x.real() * y.imag() + x.imag() * y.real())};
}

// tile += a[depth][kRows] * b[depth][kColumns].
template <typename T>
void Tile(int64_t depth, const T* a, const T* b, T* tile) {
  T sums[kRows][kColumns];
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) sums[i][j] = T(0);
  }
  for (int64_t p = 0; p < depth; ++p) {
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < kColumns; ++j) {
        MultiplyAdd(sums[i][j], a[i], b[j]);
      }
    }
    a += kRows;
    b += kColumns;
  }
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) tile[i * kColumns + j] = sums[i][j];
  }
}

// Four floats of a register, by the vector extension of GCC and Clang.
typedef float Float4 __attribute__((vector_size(16), aligned(4)));

template <>
void Tile<float>(int64_t depth, const float* a, const float* b, float* tile) {
  Float4 sums[kRows][2] = {};
  for (int64_t p = 0; p < depth; ++p) {
    const Float4 b0 = *reinterpret_cast<const Float4*>(b);
    const Float4 b1 = *reinterpret_cast<const Float4*>(b + 4);
    for (int64_t i = 0; i < kRows; ++i) {
      sums[i][0] += a[i] * b0;
      sums[i][1] += a[i] * b1;
    }
    a += kRows;
    b += kColumns;
  }
  for (int64_t i = 0; i < kRows; ++i) {
    *reinterpret_cast<Float4*>(tile + i * kColumns) = sums[i][0];
    *reinterpret_cast<Float4*>(tile + i * kColumns + 4) = sums[i][1];
  }
}

// Packs `width` columns of b as [depth][kColumns], zeros behind the last one.
template <typename T>
void PackColumns(const T* b, int64_t stride, int64_t depth, int64_t width,
                 T* packed) {
  for (int64_t p = 0; p < depth; ++p) {
    for (int64_t j = 0; j < kColumns; ++j) {
      packed[p * kColumns + j] = j < width ? b[p * stride + j] : T(0);
    }
  }
}

template <typename T>
void PackRows(const T* a, int64_t stride, int64_t depth, int64_t height,
              T* packed) {
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t p = 0; p < depth; ++p) {
      packed[p * kRows + i] = i < height ? a[i * stride + p] : T(0);
    }
  }
}

template <typename T>
void AddTile(const T* tile, int64_t height, int64_t width, T* c,
             int64_t stride) {
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      c[i * stride + j] += tile[i * kColumns + j];
    }
  }
}

// Loops from outside in: depth blocks, panels of columns, rows, tiles. Edges
// are padded with zeros when packing, so the kernel has no special cases.
template <typename T>
void TypedGemm(int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b,
               MutableMatrix c) {
  const T* a_data = static_cast<const T*>(a.data);
  const T* b_data = static_cast<const T*>(b.data);
  T* c_data = static_cast<T*>(c.data);
  for (int64_t i = 0; i < m; ++i) {
    std::fill_n(c_data + i * c.stride, n, T(0));
  }
  const int64_t max_depth = std::min(k, kDepth);
  const int64_t max_columns =
      std::min(kPanelColumns, (n + kColumns - 1) / kColumns * kColumns);
  std::vector<T> columns(max_depth * max_columns);
  std::vector<T> rows(max_depth * kRows);
  T tile[kRows * kColumns];
  for (int64_t p = 0; p < k; p += kDepth) {
    const int64_t depth = std::min(kDepth, k - p);
    for (int64_t j = 0; j < n; j += kPanelColumns) {
      const int64_t width = std::min(kPanelColumns, n - j);
      for (int64_t jj = 0; jj < width; jj += kColumns) {
        PackColumns(b_data + p * b.stride + j + jj, b.stride, depth,
                    std::min(kColumns, width - jj),
                    columns.data() + jj * depth);
      }
      for (int64_t i = 0; i < m; i += kRows) {
        const int64_t height = std::min(kRows, m - i);
        PackRows(a_data + i * a.stride + p, a.stride, depth, height,
                 rows.data());
        for (int64_t jj = 0; jj < width; jj += kColumns) {
          Tile(depth, rows.data(), columns.data() + jj * depth, tile);
          AddTile(tile, height, std::min(kColumns, width - jj),
                  c_data + i * c.stride + j + jj, c.stride);
        }
      }
    }
  }
}

}  // namespace

void Gemm(PrimitiveType type, int64_t m, int64_t n, int64_t k, ConstMatrix a,
          ConstMatrix b, MutableMatrix c) {
  switch (type) {
    case F32:
      return TypedGemm<float>(m, n, k, a, b, c);
    case F64:
      return TypedGemm<double>(m, n, k, a, b, c);
    case S64:
    case U64:
      return TypedGemm<uint64_t>(m, n, k, a, b, c);
    case C64:
      return TypedGemm<complex64>(m, n, k, a, b, c);
    case C128:
      return TypedGemm<complex128>(m, n, k, a, b, c);
    default:
      LOG(FATAL) << "no matrix product of type " << PrimitiveType_Name(type);
  }
}

}  // namespace evaluator
}  // namespace xla
