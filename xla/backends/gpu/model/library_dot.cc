#include "xla/backends/gpu/model/library_dot.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/model/hlo_fusion_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace xla::gpu {
namespace {

constexpr int64_t kMinMultiplications = int64_t{1} << 20;

char TypeOf(PrimitiveType type) {
  switch (type) {
    case F16:
      return 'e';
    case BF16:
      return 'b';
    case F32:
      return 'f';
    case F64:
      return 'd';
    case C64:
      return 'F';
    case C128:
      return 'D';
    default:
      return 0;
  }
}

// Distance in elements of neighbors along each dimension.
std::vector<int64_t> Strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.dimensions().size());
  int64_t stride = 1;
  for (int64_t dimension : shape.layout().minor_to_major()) {
    strides[dimension] = stride;
    stride *= shape.dimensions(dimension);
  }
  return strides;
}

// The dimensions of one role in the two arrays that have it, as one.
struct Role {
  int64_t extent = 1;
  int64_t strides[2] = {0, 0};
};

// From minor to major, each dimension has to begin where the one before it
// ends, in both arrays: stride = stride * extent of those merged so far.
// Contracting [b, c] of f32[8,2,3] with [b, c] of f32[2,3,4] is one dimension
// of 6 in both; with f32[3,2,4], whose c is major, it is not.
std::optional<Role> Merge(const Shape& a, const Shape& b,
                          absl::Span<const int64_t> a_dimensions,
                          absl::Span<const int64_t> b_dimensions) {
  const std::vector<int64_t> a_strides = Strides(a), b_strides = Strides(b);
  struct Dimension {
    int64_t extent, strides[2];
  };
  std::vector<Dimension> dimensions;
  for (size_t i = 0; i < a_dimensions.size(); ++i) {
    const int64_t extent = a.dimensions(a_dimensions[i]);
    if (extent == 1) continue;
    dimensions.push_back(
        {extent, {a_strides[a_dimensions[i]], b_strides[b_dimensions[i]]}});
  }
  absl::c_sort(dimensions, [](const Dimension& x, const Dimension& y) {
    return x.strides[0] < y.strides[0];
  });
  Role role;
  for (const Dimension& dimension : dimensions) {
    for (int side = 0; side < 2; ++side) {
      if (role.extent == 1) {
        role.strides[side] = dimension.strides[side];
      } else if (dimension.strides[side] != role.strides[side] * role.extent) {
        return std::nullopt;
      }
    }
    role.extent *= dimension.extent;
  }
  return role;
}

// The library takes matrices one of whose distances is 1, and the other a
// leading dimension that fits into an int and spans the first.
bool IsMatrix(const LibraryDot::Matrix& matrix, int64_t rows, int64_t columns) {
  const int64_t row = rows == 1 ? 0 : matrix.row;
  const int64_t column = columns == 1 ? 0 : matrix.column;
  if (std::max(row, column) > std::numeric_limits<int32_t>::max()) return false;
  if (column <= 1 && (rows == 1 || row >= columns)) return true;
  return row <= 1 && (columns == 1 || column >= rows);
}

// The next `count` dimensions of the result, which has batch, rows and columns
// one behind the other.
std::vector<int64_t> Next(int64_t count, int64_t* first) {
  std::vector<int64_t> dimensions;
  for (; count > 0; --count) dimensions.push_back((*first)++);
  return dimensions;
}

bool HasTypes(const LibraryDot& dot) {
  const char operand = dot.lhs.type, result = dot.result.type;
  if (operand == 0 || dot.rhs.type != operand) return false;
  return result == operand ||
         (result == 'f' && (operand == 'e' || operand == 'b'));
}

}  // namespace

std::string LibraryDot::ToString() const {
  std::string text =
      absl::StrFormat("{%d, %d, %d, %d, %s", batch, rows, columns, depth,
                      is_exact ? "true" : "false");
  for (const Matrix& matrix : {lhs, rhs, result}) {
    absl::StrAppendFormat(&text, ", {'%c', %d, %d, %d}", matrix.type,
                          matrix.batch, matrix.row, matrix.column);
  }
  return text + "}";
}

const HloInstruction* DotOfLibrary(const HloInstruction& kernel) {
  if (kernel.opcode() == HloOpcode::kDot) return &kernel;
  if (!IsGpuFusionKind(kernel, kCustomFusionKind) ||
      kernel.fused_expression_root()->opcode() != HloOpcode::kDot ||
      FusionBackendConfigOf(kernel).custom_fusion_config().name() !=
          kDynamicSliceFusion) {
    return nullptr;
  }
  return kernel.fused_expression_root();
}

std::optional<LibraryDot> MakeLibraryDot(const HloInstruction& kernel) {
  const HloInstruction* dot = DotOfLibrary(kernel);
  if (dot == nullptr || !FindLibraryOperand(kernel, 0).has_value() ||
      !FindLibraryOperand(kernel, 1).has_value()) {
    return std::nullopt;
  }
  return MakeLibraryDot(*dot, dot->operand(0)->shape(),
                        dot->operand(1)->shape());
}

std::optional<LibraryDot> MakeLibraryDot(const HloInstruction& dot,
                                         const Shape& lhs, const Shape& rhs) {
  if (dot.operand_count() != 2 || !lhs.has_layout() || !rhs.has_layout() ||
      !dot.shape().has_layout() ||
      dot.precision_config().algorithm() != PrecisionConfig::ALG_UNSET) {
    return std::nullopt;
  }
  const DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
  const auto& lhs_batch = numbers.lhs_batch_dimensions();
  const auto& rhs_batch = numbers.rhs_batch_dimensions();
  const auto& lhs_contracting = numbers.lhs_contracting_dimensions();
  const auto& rhs_contracting = numbers.rhs_contracting_dimensions();
  const DimensionVector lhs_free =
      GetNonContractingDims(lhs.dimensions_size(), lhs_contracting, lhs_batch);
  const DimensionVector rhs_free =
      GetNonContractingDims(rhs.dimensions_size(), rhs_contracting, rhs_batch);

  int64_t next = 0;
  const std::vector<int64_t> result_batch = Next(lhs_batch.size(), &next);
  const std::vector<int64_t> result_rows = Next(lhs_free.size(), &next);
  const std::vector<int64_t> result_columns = Next(rhs_free.size(), &next);
  const std::optional<Role> batch = Merge(lhs, rhs, lhs_batch, rhs_batch);
  const std::optional<Role> result =
      Merge(lhs, dot.shape(), lhs_batch, result_batch);
  const std::optional<Role> rows =
      Merge(lhs, dot.shape(), lhs_free, result_rows);
  const std::optional<Role> columns =
      Merge(rhs, dot.shape(), rhs_free, result_columns);
  const std::optional<Role> depth =
      Merge(lhs, rhs, lhs_contracting, rhs_contracting);
  if (!batch || !result || !rows || !columns || !depth) return std::nullopt;

  LibraryDot library;
  for (int precision : dot.precision_config().operand_precision()) {
    library.is_exact |= precision != PrecisionConfig::DEFAULT;
  }
  library.batch = batch->extent;
  library.rows = rows->extent;
  library.columns = columns->extent;
  library.depth = depth->extent;
  library.lhs = {TypeOf(lhs.element_type()), batch->strides[0],
                 rows->strides[0], depth->strides[0]};
  library.rhs = {TypeOf(rhs.element_type()), batch->strides[1],
                 depth->strides[1], columns->strides[0]};
  library.result = {TypeOf(dot.shape().element_type()), result->strides[1],
                    rows->strides[1], columns->strides[1]};
  const double multiplications =
      double(library.batch) * library.rows * library.columns * library.depth;
  const int64_t largest =
      std::max({library.batch, library.rows, library.columns, library.depth});
  if (multiplications < kMinMultiplications ||
      largest > std::numeric_limits<int32_t>::max() || !HasTypes(library) ||
      !IsMatrix(library.lhs, library.rows, library.depth) ||
      !IsMatrix(library.rhs, library.depth, library.columns) ||
      !IsMatrix(library.result, library.rows, library.columns)) {
    return std::nullopt;
  }
  return library;
}

HloInstruction* OperandOfView(const HloInstruction& value) {
  const bool is_view =
      value.opcode() == HloOpcode::kBitcast ||
      (value.opcode() == HloOpcode::kReshape &&
       ShapeUtil::ReshapeIsBitcast(value.operand(0)->shape(), value.shape()));
  if (!is_view || value.shape().element_type() !=
                      value.operand(0)->shape().element_type()) {
    return nullptr;
  }
  return const_cast<HloInstruction*>(value.operand(0));
}

bool IsContiguousSlice(const HloInstruction& slice) {
  const Shape& from = slice.operand(0)->shape();
  const Shape& to = slice.shape();
  // A slice of what is in another memory space is a transfer.
  if (!from.has_layout() || !to.has_layout() || from.layout() != to.layout() ||
      (slice.opcode() == HloOpcode::kSlice &&
       absl::c_any_of(slice.slice_strides(),
                      [](int64_t stride) { return stride != 1; }))) {
    return false;
  }
  bool is_cut = false;  // in a dimension that is more minor
  for (int64_t dim : to.layout().minor_to_major()) {
    if (is_cut && to.dimensions(dim) != 1) return false;
    is_cut |= to.dimensions(dim) != from.dimensions(dim);
  }
  return true;
}

bool MayBeStart(const HloInstruction& index) {
  const PrimitiveType type = index.shape().element_type();
  return type == S32 || type == S64 || type == U32;
}

std::optional<LibraryOperand> FindLibraryOperand(const HloInstruction& kernel,
                                                 int64_t number) {
  LibraryOperand found;
  const HloInstruction* dot = DotOfLibrary(kernel);
  if (dot == nullptr) return std::nullopt;
  if (dot == &kernel) {
    found.operand = number;
    return found;
  }
  const HloInstruction* value = dot->operand(number);
  for (; value->opcode() != HloOpcode::kParameter; value = value->operand(0)) {
    const bool is_dynamic = value->opcode() == HloOpcode::kDynamicSlice;
    if (!is_dynamic && value->opcode() != HloOpcode::kSlice) {
      if (OperandOfView(*value) == nullptr) return std::nullopt;
      continue;
    }
    if (!IsContiguousSlice(*value)) return std::nullopt;
    const Shape& from = value->operand(0)->shape();
    const std::vector<int64_t> strides = Strides(from);
    for (int64_t dim = 0; dim < from.dimensions_size(); ++dim) {
      const int64_t most =
          from.dimensions(dim) - value->shape().dimensions(dim);
      if (most == 0) continue;
      const int64_t bytes = strides[dim] * ShapeUtil::ByteSizeOfPrimitiveType(
                                               from.element_type());
      if (!is_dynamic) {
        found.offset += value->slice_starts(dim) * bytes;
        continue;
      }
      const HloInstruction& start = *value->operand(1 + dim);
      if (!MayBeStart(start)) return std::nullopt;
      if (start.opcode() == HloOpcode::kParameter) {
        if (bytes % kLibraryAlignment != 0) return std::nullopt;
        found.starts.push_back({start.parameter_number(), most, bytes});
      } else if (start.opcode() == HloOpcode::kConstant) {
        found.offset +=
            std::clamp<int64_t>(*start.literal().GetFirstInteger(), 0, most) *
            bytes;
      } else {
        return std::nullopt;
      }
    }
  }
  found.operand = value->parameter_number();
  return found;
}

}  // namespace xla::gpu
