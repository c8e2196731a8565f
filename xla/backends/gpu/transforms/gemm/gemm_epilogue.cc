#include "xla/backends/gpu/transforms/gemm/gemm_epilogue.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "absl/algorithm/container.h"
#include "xla/backends/gpu/transforms/gemm/gemm_operand.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

bool IsInMemoryOrBroadcast(const HloInstruction& value) {
  const HloInstruction& read =
      value.opcode() == HloOpcode::kBroadcast ? *value.operand(0) : value;
  return read.opcode() == HloOpcode::kConstant || IsInMemory(read);
}

bool Continues(const HloInstruction& user, const HloInstruction& value) {
  return user.IsElementwise() && !user.HasControlDependencies() &&
         ShapeUtil::ElementIsFloating(user.shape()) &&
         user.shape().layout().minor_to_major() ==
             value.shape().layout().minor_to_major() &&
         absl::c_all_of(user.operands(), [&](const HloInstruction* operand) {
           return operand == &value || IsInMemoryOrBroadcast(*operand);
         });
}

bool IsWider(const HloInstruction& a, const HloInstruction& b) {
  return ShapeUtil::ByteSizeOfPrimitiveType(a.shape().element_type()) >
         ShapeUtil::ByteSizeOfPrimitiveType(b.shape().element_type());
}

// The permutation that puts the free dimensions of the dot's second operand, in
// their order, before those of the first.
std::vector<int64_t> ExchangedDimensions(const HloInstruction& dot) {
  const DotDimensionNumbers& dnums = dot.dot_dimension_numbers();
  const int64_t batches = dnums.lhs_batch_dimensions_size();
  const int64_t rows = dot.operand(0)->shape().dimensions_size() - batches -
                       dnums.lhs_contracting_dimensions_size();
  std::vector<int64_t> exchanged(dot.shape().dimensions_size());
  std::iota(exchanged.begin(), exchanged.end(), 0);
  std::rotate(exchanged.begin() + batches, exchanged.begin() + batches + rows,
              exchanged.end());
  return exchanged;
}

// Whether it exchanges rows and columns of what is like the dot's result, and
// may be row-major in memory.
bool ExchangesRowsAndColumns(const HloInstruction& hlo,
                             const HloInstruction& dot) {
  const std::vector<int64_t> exchanged = ExchangedDimensions(dot);
  const bool exchanges =
      hlo.opcode() == HloOpcode::kTranspose
          ? absl::c_equal(hlo.dimensions(), exchanged)
          : hlo.opcode() == HloOpcode::kBitcast &&
                !absl::c_is_sorted(exchanged) &&
                hlo.shape().dimensions().size() == exchanged.size() &&
                hlo.shape().element_type() ==
                    hlo.operand(0)->shape().element_type() &&
                ShapeUtil::TransposeIsBitcast(hlo.operand(0)->shape(),
                                              hlo.shape(), exchanged);
  auto is_row_major = [](const Shape& shape) {
    return LayoutUtil::IsMonotonicWithDim0Major(shape.layout());
  };
  return exchanges && !hlo.HasControlDependencies() &&
         (is_row_major(hlo.shape()) ||
          (!hlo.IsRoot() &&
           absl::c_all_of(hlo.users(), [&](const HloInstruction* user) {
             return user->IsElementwise() && is_row_major(user->shape());
           })));
}

bool IsBroadcastScalar(const HloInstruction& value) {
  return value.opcode() == HloOpcode::kBroadcast && value.dimensions().empty();
}

// Whether each element depends on that element of `value` and on scalars alone.
bool TakesAnyOrder(const HloInstruction& user, const HloInstruction& value) {
  return user.IsElementwise() && !user.HasControlDependencies() &&
         absl::c_all_of(user.operands(), [&](const HloInstruction* operand) {
           return operand == &value || IsBroadcastScalar(*operand);
         });
}

HloInstruction* ExchangeOperands(HloInstruction& dot, const Shape& shape) {
  DotDimensionNumbers dnums = dot.dot_dimension_numbers();
  dnums.mutable_lhs_batch_dimensions()->Swap(
      dnums.mutable_rhs_batch_dimensions());
  dnums.mutable_lhs_contracting_dimensions()->Swap(
      dnums.mutable_rhs_contracting_dimensions());
  PrecisionConfig precision = dot.precision_config();
  absl::c_reverse(*precision.mutable_operand_precision());
  HloInstruction* exchanged =
      dot.parent()->AddInstruction(HloInstruction::CreateDot(
          ShapeUtil::MakeShapeWithDescendingLayout(dot.shape().element_type(),
                                                   shape.dimensions()),
          dot.mutable_operand(1), dot.mutable_operand(0), dnums, precision));
  exchanged->set_metadata_ptr(dot.metadata_ptr());
  return exchanged;
}

// `hlo`, which takes any order, of `operand` instead of `before`.
HloInstruction* OfOtherOrder(HloInstruction& hlo, const HloInstruction* before,
                             HloInstruction* operand) {
  std::vector<HloInstruction*> operands;
  for (HloInstruction* other : hlo.operands()) {
    operands.push_back(
        other == before
            ? operand
            : hlo.parent()->AddInstruction(HloInstruction::CreateBroadcast(
                  ShapeUtil::ChangeElementType(operand->shape(),
                                               other->shape().element_type()),
                  other->mutable_operand(0), {})));
  }
  return hlo.parent()->AddInstruction(hlo.CloneWithNewOperands(
      ShapeUtil::ChangeElementType(operand->shape(),
                                   hlo.shape().element_type()),
      operands));
}

// Its reader may need few of the elements that there are.
bool ReadsInPart(const HloInstruction* reader) {
  return reader->opcode() == HloOpcode::kSlice ||
         reader->opcode() == HloOpcode::kDynamicSlice ||
         reader->opcode() == HloOpcode::kGather;
}

bool FitsMatrices(const HloInstruction& operand, const HloInstruction& value,
                  absl::Span<const int64_t> dims) {
  if (&operand == &value) return true;
  if (operand.opcode() == HloOpcode::kBroadcast) {
    return MatrixBroadcastDimensions(operand, dims).has_value();
  }
  return operand.shape().layout().minor_to_major() ==
         value.shape().layout().minor_to_major();
}

// A fusion has a constant of its own for it, and reads no operand. (Results of
// dots of matrices have more than one element: constants that are combined with
// them as they are have, too.)
bool IsBroadcastConstant(const HloInstruction& value) {
  return value.opcode() == HloOpcode::kBroadcast &&
         value.operand(0)->opcode() == HloOpcode::kConstant &&
         ShapeUtil::IsEffectiveScalar(value.operand(0)->shape());
}

void DropWider(const HloInstruction& product,
               std::vector<HloInstruction*>* epilogue) {
  while (!epilogue->empty() && IsWider(*epilogue->back(), product)) {
    epilogue->pop_back();
  }
}

}  // namespace

// (A B)ᵀ = Bᵀ Aᵀ: contracting dimensions are named by number, so exchanging the
// operands is enough, and neither is transposed. What stands between the dot
// and the transpose depends on one element and scalars only, and thus may as
// well be computed in the transposed order.
absl::StatusOr<HloInstruction*> TakeInTranspose(HloInstruction* dot) {
  if (dot->operand_count() != 2 || dot->HasControlDependencies()) return dot;
  std::vector<HloInstruction*> between;
  HloInstruction* last = dot;
  while (last->user_count() == 1 && !last->IsRoot() &&
         TakesAnyOrder(*last->users()[0], *last)) {
    last = last->users()[0];
    between.push_back(last);
  }
  if (last->user_count() != 1 || last->IsRoot()) return dot;
  HloInstruction* transpose = last->users()[0];
  if (!ExchangesRowsAndColumns(*transpose, *dot)) return dot;
  HloInstruction* exchanged = ExchangeOperands(*dot, transpose->shape());
  HloInstruction* result = exchanged;
  const HloInstruction* before = dot;
  for (HloInstruction* hlo : between) {
    result = OfOtherOrder(*hlo, before, result);
    before = hlo;
  }
  TF_RETURN_IF_ERROR(dot->parent()->ReplaceInstruction(transpose, result));
  return exchanged;
}

std::vector<HloInstruction*> FindEpilogue(const HloInstruction& product) {
  std::vector<HloInstruction*> epilogue;
  const HloInstruction* last = &product;
  while (last->user_count() == 1 && !last->IsRoot() &&
         Continues(*last->users()[0], *last)) {
    epilogue.push_back(last->users()[0]);
    last = epilogue.back();
  }
  DropWider(product, &epilogue);
  return epilogue;
}

std::optional<std::vector<int64_t>> MatrixBroadcastDimensions(
    const HloInstruction& broadcast, absl::Span<const int64_t> dims) {
  const absl::Span<const int64_t> before = broadcast.shape().dimensions();
  const absl::Span<const int64_t> from = broadcast.dimensions();
  if (from.empty() || before == dims) {
    return std::vector<int64_t>(from.begin(), from.end());
  }
  const int64_t columns = static_cast<int64_t>(before.size()) - 1;
  if (from.size() != 1 || from[0] != columns || before.back() != dims.back()) {
    return std::nullopt;
  }
  return std::vector<int64_t>{static_cast<int64_t>(dims.size()) - 1};
}

std::vector<HloInstruction*> FindMatrixEpilogue(const HloInstruction& dot,
                                                absl::Span<const int64_t> dims,
                                                int64_t max_operands) {
  std::vector<HloInstruction*> epilogue = FindEpilogue(dot);
  const HloInstruction* value = &dot;
  size_t fitting = 0;
  for (const HloInstruction* hlo : epilogue) {
    if (!absl::c_all_of(hlo->operands(), [&](const HloInstruction* operand) {
          return FitsMatrices(*operand, *value, dims);
        })) {
      break;
    }
    max_operands -=
        absl::c_count_if(hlo->operands(), [&](const HloInstruction* operand) {
          return operand != value && !IsBroadcastConstant(*operand);
        });
    if (max_operands < 0) break;
    ++fitting;
    value = hlo;
  }
  epilogue.resize(fitting);
  DropWider(dot, &epilogue);
  if (!epilogue.empty() && !epilogue.back()->IsRoot() &&
      absl::c_all_of(epilogue.back()->users(), ReadsInPart)) {
    return {};
  }
  return epilogue;
}

}  // namespace xla::gpu
