#ifndef XLA_HLO_EVALUATOR_GEMM_H_
#define XLA_HLO_EVALUATOR_GEMM_H_

#include <cstdint>

#include "xla/xla_data.pb.h"

namespace xla {
namespace evaluator {

// A row-major matrix; `stride` elements lie between rows.
struct ConstMatrix {
  const void* data;
  int64_t stride;
};
struct MutableMatrix {
  void* data;
  int64_t stride;
};

// c = a * b for a[m,k], b[k,n], c[m,n], all of `type`: F32, F64, S64 or U64
// (modulo 2^64), C64 or C128.
//
// Panels of b and a are packed so that the inner kernel, a tile of c in
// registers, reads memory in order (Goto and van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication", 2008). The order of additions
// depends on k alone. O(m n k), O(k) memory beside.
void Gemm(PrimitiveType type, int64_t m, int64_t n, int64_t k, ConstMatrix a,
          ConstMatrix b, MutableMatrix c);

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_GEMM_H_
