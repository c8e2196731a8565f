#include "xla/hlo/transforms/operations/dot_strength_reduction.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/scalar_computation.h"
#include "xla/layout_util.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using Dimensions = std::vector<int64_t>;

// What the dimensions of one operand are to a dot.
struct Roles {
  Dimensions batch;
  Dimensions summed;
  Dimensions free;
};

Roles RolesOf(const HloInstruction& dot, int64_t side) {
  const DotDimensionNumbers& dims = dot.dot_dimension_numbers();
  const auto& batch =
      side == 0 ? dims.lhs_batch_dimensions() : dims.rhs_batch_dimensions();
  const auto& summed = side == 0 ? dims.lhs_contracting_dimensions()
                                 : dims.rhs_contracting_dimensions();
  Roles roles;
  roles.batch.assign(batch.begin(), batch.end());
  roles.summed.assign(summed.begin(), summed.end());
  for (int64_t d = 0; d < dot.operand(side)->shape().dimensions_size(); ++d) {
    if (!absl::c_linear_search(batch, d) && !absl::c_linear_search(summed, d)) {
      roles.free.push_back(d);
    }
  }
  return roles;
}

int64_t SizeOf(const Shape& shape, const Dimensions& dimensions) {
  int64_t size = 1;
  for (int64_t d : dimensions) size *= shape.dimensions(d);
  return size;
}

// The type in which products are exact enough: the wider one of operands and
// result. nullopt where that is none of them.
std::optional<PrimitiveType> TypeOfProducts(const HloInstruction& dot) {
  const PrimitiveType operand = dot.operand(0)->shape().element_type();
  const PrimitiveType result = dot.shape().element_type();
  if (dot.operand(1)->shape().element_type() != operand) return std::nullopt;
  if (operand == result) {
    return result == PRED ? std::nullopt : std::make_optional(result);
  }
  const bool one_kind = (primitive_util::IsFloatingPointType(operand) &&
                         primitive_util::IsFloatingPointType(result)) ||
                        (primitive_util::IsSignedIntegralType(operand) &&
                         primitive_util::IsSignedIntegralType(result)) ||
                        (primitive_util::IsUnsignedIntegralType(operand) &&
                         primitive_util::IsUnsignedIntegralType(result)) ||
                        (primitive_util::IsComplexType(operand) &&
                         primitive_util::IsComplexType(result));
  const int of_operand = primitive_util::BitWidth(operand);
  const int of_result = primitive_util::BitWidth(result);
  if (!one_kind || of_operand == of_result) return std::nullopt;
  return of_operand < of_result ? result : operand;
}

bool IsCandidate(const HloInstruction& dot) {
  if (dot.opcode() != HloOpcode::kDot || dot.operand_count() != 2 ||
      dot.HasControlDependencies() ||
      dot.precision_config().algorithm() != PrecisionConfig::ALG_UNSET) {
    return false;
  }
  for (const Shape* shape :
       {&dot.shape(), &dot.operand(0)->shape(), &dot.operand(1)->shape()}) {
    if (shape->is_dynamic() || ShapeUtil::IsZeroElementArray(*shape) ||
        (shape->has_layout() &&
         !LayoutUtil::IsMonotonicWithDim0Major(shape->layout()))) {
      return false;
    }
  }
  return true;
}

class Rewriter {
 public:
  explicit Rewriter(HloComputation* computation) : computation_(computation) {}

  absl::StatusOr<bool> Run() {
    bool changed = false;
    for (HloInstruction* hlo : computation_->MakeInstructionPostOrder()) {
      if (!IsCandidate(*hlo)) continue;
      const std::optional<PrimitiveType> type = TypeOfProducts(*hlo);
      if (!type.has_value()) continue;
      const Roles lhs = RolesOf(*hlo, 0), rhs = RolesOf(*hlo, 1);
      HloInstruction* replacement = nullptr;
      dot_ = hlo;
      if (SizeOf(hlo->operand(0)->shape(), lhs.summed) == 1) {
        replacement = Product(lhs, rhs, *type);
      } else if (SizeOf(hlo->operand(0)->shape(), lhs.free) == 1 &&
                 SizeOf(hlo->operand(1)->shape(), rhs.free) == 1) {
        replacement = Sum(lhs, rhs, *type);
      } else {
        continue;
      }
      TF_RETURN_IF_ERROR(computation_->ReplaceInstruction(hlo, replacement));
      changed = true;
    }
    return changed;
  }

 private:
  HloInstruction* Add(std::unique_ptr<HloInstruction> instruction) {
    instruction->set_metadata_ptr(dot_->metadata_ptr());
    return computation_->AddInstruction(std::move(instruction));
  }
  HloInstruction* Transposed(HloInstruction* value, const Dimensions& order);
  HloInstruction* Reshaped(HloInstruction* value, const Dimensions& sizes);
  HloInstruction* Converted(HloInstruction* value, PrimitiveType type);
  // The operand in the dimensions of the result.
  HloInstruction* Spread(int64_t side, const Roles& roles, int64_t begin,
                         PrimitiveType type);
  HloInstruction* Product(const Roles& lhs, const Roles& rhs,
                          PrimitiveType type);
  HloInstruction* Sum(const Roles& lhs, const Roles& rhs, PrimitiveType type);
  HloComputation* Adder(PrimitiveType type);

  HloComputation* computation_;
  HloInstruction* dot_ = nullptr;
  absl::flat_hash_map<PrimitiveType, HloComputation*> adders_;
};

HloInstruction* Rewriter::Transposed(HloInstruction* value,
                                     const Dimensions& order) {
  if (absl::c_is_sorted(order)) return value;
  Dimensions sizes;
  for (int64_t d : order) sizes.push_back(value->shape().dimensions(d));
  return Add(HloInstruction::CreateTranspose(
      ShapeUtil::MakeShape(value->shape().element_type(), sizes), value,
      order));
}

HloInstruction* Rewriter::Reshaped(HloInstruction* value,
                                   const Dimensions& sizes) {
  if (value->shape().dimensions() == absl::MakeConstSpan(sizes)) return value;
  return Add(HloInstruction::CreateReshape(
      ShapeUtil::MakeShape(value->shape().element_type(), sizes), value));
}

HloInstruction* Rewriter::Converted(HloInstruction* value, PrimitiveType type) {
  if (value->shape().element_type() == type) return value;
  return Add(HloInstruction::CreateConvert(
      ShapeUtil::ChangeElementType(value->shape(), type), value));
}

HloComputation* Rewriter::Adder(PrimitiveType type) {
  HloComputation*& adder = adders_[type];
  if (adder == nullptr) {
    adder = computation_->parent()->AddEmbeddedComputation(
        MakeScalarComputation(HloOpcode::kAdd, type, "dot_sum"));
    adder->SetExecutionThread(computation_->execution_thread());
  }
  return adder;
}

HloInstruction* Rewriter::Spread(int64_t side, const Roles& roles,
                                 int64_t begin, PrimitiveType type) {
  HloInstruction* value = dot_->mutable_operand(side);
  // What is summed up has size 1 and goes first: then fewer are transposed.
  Dimensions sizes, now(value->shape().dimensions().size(), -1);
  for (int64_t d = 0; d < value->shape().dimensions_size(); ++d) {
    if (absl::c_linear_search(roles.summed, d)) continue;
    now[d] = static_cast<int64_t>(sizes.size());
    sizes.push_back(value->shape().dimensions(d));
  }
  Dimensions order, places;
  for (int64_t d : roles.batch) {
    places.push_back(static_cast<int64_t>(order.size()));
    order.push_back(now[d]);
  }
  for (int64_t d : roles.free) {
    places.push_back(begin++);
    order.push_back(now[d]);
  }
  value = Transposed(Reshaped(value, sizes), order);
  value = Converted(value, type);
  const Shape shape = ShapeUtil::ChangeElementType(dot_->shape(), type);
  if (places.size() == shape.dimensions().size()) return value;
  return Add(HloInstruction::CreateBroadcast(shape, value, places));
}

// With contracted dimensions of size 1 each element of the result is one
// product: an outer product, per batch. The result's dimensions are the batch
// dimensions, then the free ones of the left operand, then those of the right,
// which is where Spread() puts each operand's.
HloInstruction* Rewriter::Product(const Roles& lhs, const Roles& rhs,
                                  PrimitiveType type) {
  const int64_t batches = static_cast<int64_t>(lhs.batch.size());
  const int64_t free = static_cast<int64_t>(lhs.free.size());
  HloInstruction* left = Spread(0, lhs, batches, type);
  HloInstruction* right = Spread(1, rhs, batches + free, type);
  return Converted(Add(HloInstruction::CreateBinary(
                       ShapeUtil::ChangeElementType(dot_->shape(), type),
                       HloOpcode::kMultiply, left, right)),
                   dot_->shape().element_type());
}

// In the order of the left operand's dimensions.
//
// Without free dimensions each batch is one inner product, which a
// multiplication and a reduction compute. Short floats are summed up in f32, as
// a dot accumulates them; in bf16 a sum of ones would stop at 256. The right
// operand is transposed into the left one's order, so that only it and the
// small sum may have to move.
HloInstruction* Rewriter::Sum(const Roles& lhs, const Roles& rhs,
                              PrimitiveType type) {
  if (primitive_util::IsFloatingPointType(type) &&
      primitive_util::BitWidth(type) < 32) {
    type = F32;
  }
  const Shape& left_shape = dot_->operand(0)->shape();
  // Sizes that remain, the right operand's dimensions in their order, those to
  // sum up, and which batch each of the others is.
  Dimensions sizes, right_order, summed, batches;
  for (int64_t d = 0; d < left_shape.dimensions_size(); ++d) {
    const auto batch = absl::c_find(lhs.batch, d);
    const auto sum = absl::c_find(lhs.summed, d);
    if (batch != lhs.batch.end()) {
      const size_t i = batch - lhs.batch.begin();
      batches.push_back(static_cast<int64_t>(i));
      right_order.push_back(rhs.batch[i]);
    } else if (sum != lhs.summed.end()) {
      summed.push_back(static_cast<int64_t>(sizes.size()));
      right_order.push_back(rhs.summed[sum - lhs.summed.begin()]);
    } else {
      continue;
    }
    sizes.push_back(left_shape.dimensions(d));
  }
  right_order.insert(right_order.end(), rhs.free.begin(), rhs.free.end());
  HloInstruction* left =
      Converted(Reshaped(dot_->mutable_operand(0), sizes), type);
  HloInstruction* right = Converted(
      Reshaped(Transposed(dot_->mutable_operand(1), right_order), sizes), type);
  HloInstruction* product = Add(HloInstruction::CreateBinary(
      ShapeUtil::MakeShape(type, sizes), HloOpcode::kMultiply, left, right));
  HloInstruction* zero =
      Add(HloInstruction::CreateConstant(LiteralUtil::Zero(type)));
  Dimensions kept;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!absl::c_linear_search(summed, static_cast<int64_t>(d))) {
      kept.push_back(sizes[d]);
    }
  }
  HloInstruction* sum = Add(HloInstruction::CreateReduce(
      ShapeUtil::MakeShape(type, kept), product, zero, summed, Adder(type)));
  // Batches in their own order.
  Dimensions order(batches.size());
  for (size_t i = 0; i < batches.size(); ++i) {
    order[batches[i]] = static_cast<int64_t>(i);
  }
  const Dimensions result(dot_->shape().dimensions().begin(),
                          dot_->shape().dimensions().end());
  return Reshaped(
      Converted(Transposed(sum, order), dot_->shape().element_type()), result);
}

}  // namespace

absl::StatusOr<bool> DotStrengthReduction::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsAsyncComputation()) continue;
    TF_ASSIGN_OR_RETURN(const bool rewritten, Rewriter(computation).Run());
    changed |= rewritten;
  }
  if (changed && module->has_schedule()) module->clear_schedule();
  return changed;
}

}  // namespace xla
