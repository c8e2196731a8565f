// Stands in for cuBLASLt where a C++ compiler checks and runs emitted programs
// (cuda_shim.h): what program_products.cc asks of it, by loops. Matrices lie
// column by column; what does not fit together has no way.
#ifndef XLA_BACKENDS_GPU_PROGRAM_CUBLAS_SHIM_H_
#define XLA_BACKENDS_GPU_PROGRAM_CUBLAS_SHIM_H_

#include <complex>
#include <cstdint>
#include <cstring>

#include "xla/backends/gpu/codegen/cuda_shim.h"

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_SUPPORTED };
enum cudaDataType_t {
  CUDA_R_16F,
  CUDA_R_16BF,
  CUDA_R_32F,
  CUDA_R_64F,
  CUDA_C_32F,
  CUDA_C_64F
};
enum cublasComputeType_t {
  CUBLAS_COMPUTE_32F,
  CUBLAS_COMPUTE_32F_FAST_TF32,
  CUBLAS_COMPUTE_64F
};
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cublasLtMatrixLayoutAttribute_t {
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
};
enum cublasLtMatmulDescAttributes_t {
  CUBLASLT_MATMUL_DESC_TRANSA,
  CUBLASLT_MATMUL_DESC_TRANSB
};
enum cublasLtMatmulPreferenceAttributes_t {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES
};

namespace kir_cublas {

struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batches = 1;
  int64_t stride = 0;
};
struct Product {
  cublasOperation_t left = CUBLAS_OP_N, right = CUBLAS_OP_N;
};

template <class T>
struct Sum {
  using Type = double;
  static Type From(T v) { return Type(float(v)); }
  static T To(Type v) { return T(float(v)); }
};
template <>
struct Sum<double> {
  using Type = double;
  static Type From(double v) { return v; }
  static double To(Type v) { return v; }
};
template <class Part>
struct Sum<std::complex<Part>> {
  using Type = std::complex<double>;
  static Type From(std::complex<Part> v) { return Type(v); }
  static std::complex<Part> To(Type v) { return std::complex<Part>(v); }
};

template <class T, class Out>
void Multiply(const Product& product, const void* a, const Layout& left,
              const void* b, const Layout& right, void* c,
              const Layout& result) {
  const uint64_t depth = product.left == CUBLAS_OP_N ? left.columns : left.rows;
  for (int32_t batch = 0; batch < result.batches; ++batch) {
    const T* x = static_cast<const T*>(a) + batch * left.stride;
    const T* y = static_cast<const T*>(b) + batch * right.stride;
    Out* out = static_cast<Out*>(c) + batch * result.stride;
    for (uint64_t j = 0; j < result.columns; ++j) {
      for (uint64_t i = 0; i < result.rows; ++i) {
        typename Sum<T>::Type sum = 0;
        for (uint64_t k = 0; k < depth; ++k) {
          sum += Sum<T>::From(
                     x[product.left == CUBLAS_OP_N ? i + k * left.leading
                                                   : k + i * left.leading]) *
                 Sum<T>::From(
                     y[product.right == CUBLAS_OP_N ? k + j * right.leading
                                                    : j + k * right.leading]);
        }
        out[i + j * result.leading] = Sum<Out>::To(sum);
      }
    }
  }
}

}  // namespace kir_cublas

using cublasLtHandle_t = int*;
using cublasLtMatrixLayout_t = kir_cublas::Layout*;
using cublasLtMatmulDesc_t = kir_cublas::Product*;
using cublasLtMatmulPreference_t = int*;
struct cublasLtMatmulHeuristicResult_t {
  int algo;
};

inline const char* cublasLtGetStatusString(cublasStatus_t) {
  return "not supported";
}
inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new int(0);
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout,
                                                 cudaDataType_t type,
                                                 uint64_t rows,
                                                 uint64_t columns,
                                                 int64_t leading) {
  *layout = new kir_cublas::Layout{type, rows, columns, leading};
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
    const void* value, size_t bytes) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) {
    std::memcpy(&layout->batches, value, bytes);
  } else {
    std::memcpy(&layout->stride, value, bytes);
  }
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product,
                                               cublasComputeType_t,
                                               cudaDataType_t) {
  *product = new kir_cublas::Product();
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute,
    const void* value, size_t bytes) {
  std::memcpy(attribute == CUBLASLT_MATMUL_DESC_TRANSA ? &product->left
                                                       : &product->right,
              value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceCreate(
    cublasLtMatmulPreference_t* preference) {
  *preference = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
    const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceDestroy(
    cublasLtMatmulPreference_t) {
  return CUBLAS_STATUS_SUCCESS;
}

// One way where the extents are those of a product.
inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t left,
    cublasLtMatrixLayout_t right, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t result, cublasLtMatmulPreference_t, int,
    cublasLtMatmulHeuristicResult_t*, int* ways) {
  const bool left_plain = product->left == CUBLAS_OP_N;
  const bool right_plain = product->right == CUBLAS_OP_N;
  *ways = (left_plain ? left->rows : left->columns) == result->rows &&
          (right_plain ? right->columns : right->rows) == result->columns &&
          (left_plain ? left->columns : left->rows) ==
              (right_plain ? right->rows : right->columns);
  for (const auto* layout : {left, right, result}) {
    if (layout->leading < int64_t(layout->rows)) *ways = 0;
  }
  return *ways == 1 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

inline cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t, cublasLtMatmulDesc_t product, const void*, const void* a,
    cublasLtMatrixLayout_t left, const void* b, cublasLtMatrixLayout_t right,
    const void*, const void*, cublasLtMatrixLayout_t, void* c,
    cublasLtMatrixLayout_t result, const int*, void*, size_t, cudaStream_t) {
  using kir_cublas::Multiply;
  const bool is_float = result->type == CUDA_R_32F;
  switch (left->type) {
    case CUDA_R_16F:
      (is_float ? Multiply<__half, float>
                : Multiply<__half, __half>)(*product, a, *left, b, *right, c,
                                            *result);
      break;
    case CUDA_R_16BF:
      (is_float ? Multiply<__nv_bfloat16, float>
                : Multiply<__nv_bfloat16, __nv_bfloat16>)(*product, a, *left, b,
                                                          *right, c, *result);
      break;
    case CUDA_R_32F:
      Multiply<float, float>(*product, a, *left, b, *right, c, *result);
      break;
    case CUDA_R_64F:
      Multiply<double, double>(*product, a, *left, b, *right, c, *result);
      break;
    case CUDA_C_32F:
      Multiply<std::complex<float>, std::complex<float>>(*product, a, *left, b,
                                                         *right, c, *result);
      break;
    case CUDA_C_64F:
      Multiply<std::complex<double>, std::complex<double>>(
          *product, a, *left, b, *right, c, *result);
      break;
  }
  return CUBLAS_STATUS_SUCCESS;
}

#endif  // XLA_BACKENDS_GPU_PROGRAM_CUBLAS_SHIM_H_
