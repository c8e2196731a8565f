#include "xla/backends/gpu/program/program_runtime.h"

namespace xla::gpu {

const char kProgramProducts[] = R"cuda(
#ifndef __CUDACC_RTC__

// ---- products of matrices by cuBLASLt ----

// Distances in elements: of batches, and of the rows and columns of a matrix,
// one of which is 1.
struct Matrix {
  char type;  // of NumPy: e, f, d, F or D; b for bf16
  Index batch, row, column;
};
struct Product {
  int batch, rows, columns, depth;
  bool is_exact;  // whether f32 is to be multiplied as f32
  Matrix lhs, rhs, result;
};

#define KIR_PRODUCTS
// The kernel's own launch is for when the library has no way.
#define PRODUCT(number, launch, lhs, rhs, result) \
  (Multiply(number, lhs, rhs, result) ? cudaSuccess : launch)

#ifndef KIR_SHIM
#include <cublasLt.h>
#endif

static bool own_products = false;  // --products=own: never the library
static Index workspace_bytes = 0;  // --workspace=BYTES: for its sums
static char* workspace = nullptr;

static void CheckLibrary(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    Fail(std::string(what) + ": " + cublasLtGetStatusString(status));
  }
}

static cudaDataType_t DataType(char type) {
  switch (type) {
    case 'e': return CUDA_R_16F;
    case 'b': return CUDA_R_16BF;
    case 'd': return CUDA_R_64F;
    case 'F': return CUDA_C_32F;
    case 'D': return CUDA_C_64F;
    default: return CUDA_R_32F;
  }
}

// How the library is told of a product; it has columns of neighbors.
struct ProductPlan {
  bool is_made = false, is_swapped = false;
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t lhs, rhs, result;
  cublasLtMatmulHeuristicResult_t way;
  bool has_way = false;
};

// Whether it lies column by column, as the library has matrices.
static bool IsPlain(Index rows, Index columns, Index row, Index column) {
  return (rows == 1 || row == 1) && (columns == 1 || column >= rows);
}

// A matrix of `rows` by `columns` whose neighbors are `row` and `column` apart;
// false for the layout of its transpose, if it lies row by row.
static bool MakeLayout(const Matrix& matrix, Index rows, Index columns,
                       Index row, Index column, int batch,
                       cublasLtMatrixLayout_t* layout) {
  const bool is_plain = IsPlain(rows, columns, row, column);
  const Index fast = is_plain ? rows : columns, slow = is_plain ? columns : rows;
  const Index distance = is_plain ? column : row;
  CheckLibrary(cublasLtMatrixLayoutCreate(layout, DataType(matrix.type), fast,
                                          slow, slow == 1 ? fast : distance),
               "layout");
  const int32_t count = batch;
  const int64_t stride = matrix.batch;
  CheckLibrary(cublasLtMatrixLayoutSetAttribute(
                   *layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                   sizeof(count)), "batches");
  CheckLibrary(cublasLtMatrixLayoutSetAttribute(
                   *layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                   &stride, sizeof(stride)), "batches");
  return is_plain;
}

static void SetAlignment(cublasLtMatmulPreference_t preference,
                         cublasLtMatmulPreferenceAttributes_t attribute,
                         const void* address) {
  const uint32_t bytes = uint32_t(uintptr_t(address) & -uintptr_t(address));
  const uint32_t alignment = bytes == 0 || bytes > 256 ? 256 : bytes;
  CheckLibrary(cublasLtMatmulPreferenceSetAttribute(
                   preference, attribute, &alignment, sizeof(alignment)),
               "alignment");
}

static cublasLtHandle_t Library() {
  static cublasLtHandle_t handle = nullptr;
  if (handle == nullptr) CheckLibrary(cublasLtCreate(&handle), "cuBLASLt");
  return handle;
}

// A result that lies row by row is the transpose of a product: of the
// transposed operands, in the other order.
static void MakePlan(const Product& product, const void* lhs, const void* rhs,
                     const void* result, ProductPlan* plan) {
  plan->is_made = true;
  const bool swap = !IsPlain(product.rows, product.columns, product.result.row,
                             product.result.column);
  plan->is_swapped = swap;
  const bool is_double = product.lhs.type == 'd' || product.lhs.type == 'D';
  const bool is_complex = product.lhs.type == 'F' || product.lhs.type == 'D';
  const cublasComputeType_t compute =
      is_double ? CUBLAS_COMPUTE_64F
      : use_tf32 && !product.is_exact &&
              (product.lhs.type == 'f' || product.lhs.type == 'F')
          ? CUBLAS_COMPUTE_32F_FAST_TF32
          : CUBLAS_COMPUTE_32F;
  CheckLibrary(cublasLtMatmulDescCreate(
                   &plan->product, compute,
                   is_double ? (is_complex ? CUDA_C_64F : CUDA_R_64F)
                             : (is_complex ? CUDA_C_32F : CUDA_R_32F)),
               "product");
  const Matrix& left = swap ? product.rhs : product.lhs;
  const Matrix& right = swap ? product.lhs : product.rhs;
  const Matrix& out = product.result;
  const Index rows = swap ? product.columns : product.rows;
  const Index columns = swap ? product.rows : product.columns;
  const bool left_plain = MakeLayout(
      left, rows, product.depth, swap ? left.column : left.row,
      swap ? left.row : left.column, product.batch, &plan->lhs);
  const bool right_plain = MakeLayout(
      right, product.depth, columns, swap ? right.column : right.row,
      swap ? right.row : right.column, product.batch, &plan->rhs);
  MakeLayout(out, rows, columns, swap ? out.column : out.row,
             swap ? out.row : out.column, product.batch, &plan->result);
  const cublasOperation_t left_op = left_plain ? CUBLAS_OP_N : CUBLAS_OP_T;
  const cublasOperation_t right_op = right_plain ? CUBLAS_OP_N : CUBLAS_OP_T;
  CheckLibrary(cublasLtMatmulDescSetAttribute(
                   plan->product, CUBLASLT_MATMUL_DESC_TRANSA, &left_op,
                   sizeof(left_op)), "product");
  CheckLibrary(cublasLtMatmulDescSetAttribute(
                   plan->product, CUBLASLT_MATMUL_DESC_TRANSB, &right_op,
                   sizeof(right_op)), "product");

  cublasLtMatmulPreference_t preference;
  CheckLibrary(cublasLtMatmulPreferenceCreate(&preference), "preference");
  const uint64_t bytes = uint64_t(workspace_bytes);
  CheckLibrary(cublasLtMatmulPreferenceSetAttribute(
                   preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                   sizeof(bytes)), "workspace");
  SetAlignment(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
               swap ? rhs : lhs);
  SetAlignment(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
               swap ? lhs : rhs);
  SetAlignment(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, result);
  SetAlignment(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, result);
  int ways = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      Library(), plan->product, plan->lhs, plan->rhs, plan->result,
      plan->result, preference, 1, &plan->way, &ways);
  plan->has_way = status == CUBLAS_STATUS_SUCCESS && ways > 0;
  CheckLibrary(cublasLtMatmulPreferenceDestroy(preference), "preference");
}

static const Product& ProductOf(int number);

// Whether the library did it. What a place multiplies is planned once.
static bool Multiply(int number, Address lhs, Address rhs, Address result) {
  if (own_products) return false;
  static std::map<int, ProductPlan> plans;
  const Product& product = ProductOf(number);
  ProductPlan& plan = plans[number];
  if (!plan.is_made) MakePlan(product, lhs.p, rhs.p, result.p, &plan);
  if (!plan.has_way) return false;
  if (workspace_bytes > 0 && workspace == nullptr) {
    Check(cudaMalloc((void**)&workspace, workspace_bytes), "workspace");
  }
  // One and zero, of the type that the sums have.
  static const float one[2] = {1, 0}, zero[2] = {0, 0};
  static const double one_double[2] = {1, 0}, zero_double[2] = {0, 0};
  const bool is_double = product.lhs.type == 'd' || product.lhs.type == 'D';
  const void* alpha = is_double ? (const void*)one_double : one;
  const void* beta = is_double ? (const void*)zero_double : zero;
  CheckLibrary(
      cublasLtMatmul(Library(), plan.product, alpha,
                     plan.is_swapped ? rhs.p : lhs.p, plan.lhs,
                     plan.is_swapped ? lhs.p : rhs.p, plan.rhs, beta, result.p,
                     plan.result, result.p, plan.result, &plan.way.algo,
                     workspace, workspace_bytes, stream),
      "product");
  return true;
}
#endif

)cuda";

}  // namespace xla::gpu
