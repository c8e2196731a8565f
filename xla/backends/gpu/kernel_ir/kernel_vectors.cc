#include "xla/backends/gpu/kernel_ir/kernel_vectors.h"

#include <cstddef>
#include <string>

#include "xla/backends/gpu/kernel_ir/affine_expr.h"

namespace xla::gpu::kir {

bool IsVector(int64_t bytes) {
  return bytes > 0 && bytes <= kVectorBytes && (bytes & (bytes - 1)) == 0;
}

int64_t NeighborsOfThread(int64_t element_bytes, int64_t count) {
  constexpr int64_t kMost = 8;
  int64_t width = 1;
  while (width < kMost && 2 * width * element_bytes <= kVectorBytes &&
         count % (2 * width) == 0) {
    width *= 2;
  }
  return width;
}

std::optional<Operand> FirstOfVector(const Buffer& buffer,
                                     const Operand& operand,
                                     absl::string_view index, int64_t width) {
  const std::string name(index);
  Operand first = operand;
  AffineExpr number, start;
  for (size_t d = 0; d < operand.indices.size(); ++d) {
    first.indices[d] = operand.indices[d].Substitute({{name, 0}});
    number = number * buffer.extents[d] + operand.indices[d];
    start = start * buffer.extents[d] + first.indices[d];
  }
  if (!number.IsValid() || number - start != AffineExpr::Symbol(name) ||
      !AffineExpr::Mod(start, width).IsConstant(0)) {
    return std::nullopt;
  }
  return first;
}

}  // namespace xla::gpu::kir
