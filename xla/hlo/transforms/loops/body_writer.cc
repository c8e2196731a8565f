#include "xla/hlo/transforms/loops/body_writer.h"

#include <algorithm>
#include <utility>

#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/hlo_cse.h"
#include "xla/literal_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla::remat_plan {
namespace {

// Dimension of a reshape's operand that is dimension `dim` of its result;
// nullopt if they are no one dimension.
std::optional<int64_t> DimensionBeforeReshape(const Shape& before,
                                              const Shape& after, int64_t dim) {
  int64_t outer = 1;
  for (int64_t d = 0; d < dim; ++d) outer *= after.dimensions(d);
  int64_t so_far = 1;
  for (size_t d = 0; d < before.dimensions().size(); ++d) {
    if (so_far == outer && before.dimensions(d) == after.dimensions(dim)) {
      return static_cast<int64_t>(d);
    }
    so_far *= before.dimensions(d);
  }
  return std::nullopt;
}

// The dimensions of a dot's result are those of batches, of the left operand
// alone and of the right one alone.
int64_t DimensionOfDotOperand(const HloInstruction& dot, int64_t dim,
                              int64_t operand) {
  const DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
  const int64_t batches = numbers.lhs_batch_dimensions_size();
  if (dim < batches) {
    return operand == 0 ? numbers.lhs_batch_dimensions(dim)
                        : numbers.rhs_batch_dimensions(dim);
  }
  const auto left = GetNonContractingDims(
      dot.operand(0)->shape().dimensions().size(),
      numbers.lhs_contracting_dimensions(), numbers.lhs_batch_dimensions());
  const int64_t place = dim - batches;
  const int64_t of_left = static_cast<int64_t>(left.size());
  if (operand == 0) return place < of_left ? left[place] : -1;
  if (place < of_left) return -1;
  return GetNonContractingDims(dot.operand(1)->shape().dimensions().size(),
                               numbers.rhs_contracting_dimensions(),
                               numbers.rhs_batch_dimensions())[place - of_left];
}

}  // namespace

absl::StatusOr<HloInstruction*> BodyWriter::Whole(HloInstruction* value) {
  auto it = whole_.find(value);
  if (it != whole_.end()) return it->second;
  HloInstruction* result = nullptr;
  if (!made_.contains(value)) {
    TF_ASSIGN_OR_RETURN(int64_t element, loop_.Append(value));
    result = loop_.BodyElement(element);
  } else {
    std::vector<HloInstruction*> operands;
    for (HloInstruction* operand : value->operands()) {
      TF_ASSIGN_OR_RETURN(HloInstruction * inside, Whole(operand));
      operands.push_back(inside);
    }
    result =
        Add(value->CloneWithNewOperands(value->shape(), operands, "remat"));
  }
  whole_[value] = result;
  return result;
}

absl::StatusOr<HloInstruction*> BodyWriter::Slice(HloInstruction* value,
                                                  int64_t dim,
                                                  HloInstruction* index) {
  auto known = slices_.find({value, dim, index});
  if (known != slices_.end()) return known->second;
  Shape shape = value->shape();
  shape.set_dimensions(static_cast<int>(dim), 1);
  if (!made_.contains(value) || !DimensionBelow(*value, dim).has_value()) {
    TF_ASSIGN_OR_RETURN(HloInstruction * whole, Whole(value));
    return slices_[{value, dim, index}] = SliceOf(whole, shape, dim, index);
  }
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < value->operand_count(); ++i) {
    HloInstruction* operand = value->mutable_operand(i);
    const int64_t below = *DimensionBelow(*value, dim, i);
    const bool slice = below >= 0 && !(value->IsElementwise() &&
                                       operand->shape().dimensions().empty());
    TF_ASSIGN_OR_RETURN(HloInstruction * inside,
                        slice ? Slice(operand, below, index) : Whole(operand));
    operands.push_back(inside);
  }
  return slices_[{value, dim, index}] =
             Add(value->CloneWithNewOperands(shape, operands, "remat"));
}

HloInstruction* BodyWriter::FindSlice(const HloInstruction* value, int64_t dim,
                                      const HloInstruction* index) const {
  auto it = slices_.find({value, dim, index});
  return it == slices_.end() ? nullptr : it->second;
}

std::vector<HloInstruction*> BodyWriter::Made(
    absl::Span<const HloInstruction* const> order) const {
  std::vector<HloInstruction*> made;
  for (const HloInstruction* inst : order) {
    auto it = whole_.find(inst);
    if (it != whole_.end()) made.push_back(it->second);
  }
  return made;
}

std::optional<int64_t> BodyWriter::DimensionBelow(const HloInstruction& value,
                                                  int64_t dim,
                                                  int64_t operand) {
  switch (value.opcode()) {
    case HloOpcode::kDot:
      return DimensionOfDotOperand(value, dim, operand);
    case HloOpcode::kTranspose:
      return value.dimensions(dim);
    case HloOpcode::kReshape:
      return DimensionBeforeReshape(value.operand(0)->shape(), value.shape(),
                                    dim);
    case HloOpcode::kBroadcast: {
      const auto& dims = value.dimensions();
      auto it = std::find(dims.begin(), dims.end(), dim);
      return it == dims.end() ? -1 : it - dims.begin();
    }
    case HloOpcode::kCopy:
      return dim;
    default:  // Elementwise opcodes alone.
      if (value.IsElementwise() && value.operand_count() > 0) return dim;
      return std::nullopt;
  }
}

HloInstruction* BodyWriter::Add(std::unique_ptr<HloInstruction> inst) {
  HloInstruction* added = loop_.body()->AddInstruction(std::move(inst));
  added->set_frontend_attribute(kRematerializedAttribute, "true");
  return added;
}

HloInstruction* BodyWriter::SliceOf(HloInstruction* whole, const Shape& shape,
                                    int64_t dim, HloInstruction* index) {
  return Add(HloInstruction::CreateDynamicSlice(
      shape, whole, StartOf(whole, dim, index), shape.dimensions()));
}

HloInstruction* BodyWriter::Write(HloInstruction* whole, HloInstruction* place,
                                  int64_t dim, HloInstruction* index) {
  return loop_.body()->AddInstruction(HloInstruction::CreateDynamicUpdateSlice(
      whole->shape(), whole, place, StartOf(whole, dim, index)));
}

std::vector<HloInstruction*> BodyWriter::StartOf(const HloInstruction* whole,
                                                 int64_t dim,
                                                 HloInstruction* index) {
  HloInstruction* zero = Add(HloInstruction::CreateConstant(
      LiteralUtil::CreateR0(index->shape().element_type(), 0)));
  std::vector<HloInstruction*> start(whole->shape().dimensions().size(), zero);
  start[dim] = index;
  return start;
}

}  // namespace xla::remat_plan
