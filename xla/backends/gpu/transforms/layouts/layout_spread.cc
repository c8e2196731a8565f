#include "xla/backends/gpu/transforms/layouts/layout_spread.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout.h"
#include "xla/shape_layout.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// Changes the layout of one array and of everything that has to follow.
// Starting from the array, the new order of dimensions spreads through
// element-wise instructions, slices, tuples and loops in both directions, until
// it ends at instructions that can read or write any order (transposes,
// broadcasts, copies) or accept the order as it is (dots in certain orders). If
// it reaches an instruction that accepts neither, or one array in two orders,
// the change is impossible and nothing is applied.

namespace xla::gpu {
namespace {

MemoryOrder WithoutOnes(const Shape& shape, absl::Span<const int64_t> order) {
  MemoryOrder result;
  for (int64_t dim : order) {
    if (shape.dimensions(dim) != 1) result.push_back(dim);
  }
  return result;
}

// Whether a slice of `slice` takes whole runs of memory: it does not cut the
// dimension that is minor.
bool SlicesAlongMemory(const Shape& whole, const Shape& slice,
                       const MemoryOrder& order) {
  const MemoryOrder dims = WithoutOnes(whole, order);
  return dims.empty() ||
         slice.dimensions(dims.back()) == whole.dimensions(dims.back());
}

// Copies to and from host memory move data as it is, in one order.
bool ChangesMemory(const HloInstruction& copy) {
  const Shape& from = copy.operand(0)->shape();
  const Shape& to = copy.shape();
  return from.has_layout() && to.has_layout() &&
         from.layout().memory_space() != to.layout().memory_space();
}

// Where an element of a tuple, or an array (-1), is in a shape.
ShapeIndex IndexOf(int64_t element) {
  return element < 0 ? ShapeIndex{} : ShapeIndex{element};
}

// Whether the dimensions of one kind are neighbors, in the order of `dims`.
bool StandTogether(const MemoryOrder& order, absl::Span<const int64_t> dims) {
  if (dims.empty()) return true;
  const auto first = absl::c_find(order, dims[0]);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (first + i >= order.end() || *(first + i) != dims[i]) return false;
  }
  return true;
}

// A matrix of batches, as library calls take it: batches first, then rows and
// columns in any order.
bool IsMatrix(int64_t rank, absl::Span<const int64_t> batch,
              absl::Span<const int64_t> contracting, const MemoryOrder& order) {
  const DimensionVector free = GetNonContractingDims(rank, contracting, batch);
  return StandTogether(order, batch) &&
         (batch.empty() || order[0] == batch[0]) &&
         StandTogether(order, contracting) && StandTogether(order, free);
}

bool DotTakes(const HloInstruction& dot, int64_t operand,
              const MemoryOrder& order) {
  const DotDimensionNumbers& dims = dot.dot_dimension_numbers();
  const int64_t rank = order.size();
  if (operand == 0) {
    return IsMatrix(rank, dims.lhs_batch_dimensions(),
                    dims.lhs_contracting_dimensions(), order);
  }
  return operand == 1 && IsMatrix(rank, dims.rhs_batch_dimensions(),
                                  dims.rhs_contracting_dimensions(), order);
}

// Rows are the free dimensions of lhs, columns those of rhs.
bool DotGives(const HloInstruction& dot, const MemoryOrder& order) {
  const DotDimensionNumbers& dims = dot.dot_dimension_numbers();
  const int64_t batches = dims.lhs_batch_dimensions_size();
  const int64_t rows = dot.operand(0)->shape().dimensions_size() - batches -
                       dims.lhs_contracting_dimensions_size();
  std::vector<int64_t> batch, row;
  for (int64_t d = 0; d < batches; ++d) batch.push_back(d);
  for (int64_t d = 0; d < rows; ++d) row.push_back(batches + d);
  return IsMatrix(order.size(), batch, row, order);
}

}  // namespace

MemoryOrder OrderOf(const Shape& shape) {
  const absl::Span<const int64_t> minor_to_major =
      shape.layout().minor_to_major();
  return {minor_to_major.rbegin(), minor_to_major.rend()};
}

bool SameOrder(const Shape& shape, absl::Span<const int64_t> a,
               absl::Span<const int64_t> b) {
  return WithoutOnes(shape, a) == WithoutOnes(shape, b);
}

MemoryOrder ResultOrder(const HloInstruction& transpose,
                        absl::Span<const int64_t> operand_order) {
  if (transpose.opcode() == HloOpcode::kCopy) {
    return {operand_order.begin(), operand_order.end()};
  }
  const absl::Span<const int64_t> dims = transpose.dimensions();
  MemoryOrder order;
  for (int64_t dim : operand_order) {
    order.push_back(absl::c_find(dims, dim) - dims.begin());
  }
  return order;
}

MemoryOrder OperandOrder(const HloInstruction& transpose,
                         absl::Span<const int64_t> result_order) {
  if (transpose.opcode() == HloOpcode::kCopy) {
    return {result_order.begin(), result_order.end()};
  }
  MemoryOrder order;
  for (int64_t dim : result_order) order.push_back(transpose.dimensions(dim));
  return order;
}

LayoutSpread::Loops LayoutSpread::FindLoops(const HloModule& module) {
  Loops loops;
  for (HloComputation* computation : module.computations()) {
    for (HloInstruction* instruction : computation->instructions()) {
      if (instruction->opcode() != HloOpcode::kWhile) continue;
      for (const HloComputation* part :
           {instruction->while_body(), instruction->while_condition()}) {
        const bool is_first = loops.emplace(part, instruction).second;
        if (!is_first) loops[part] = nullptr;
      }
    }
  }
  return loops;
}

bool LayoutSpread::IsAtBorder(const HloInstruction& instruction) const {
  return module_ != nullptr &&
         instruction.parent() == module_->entry_computation() &&
         (instruction.opcode() == HloOpcode::kParameter ||
          instruction.IsRoot());
}

const Shape& LayoutSpread::ShapeOf(const Value& value) {
  return value.second < 0 ? value.first->shape()
                          : value.first->shape().tuple_shapes(value.second);
}

// A closure: what has a new order asks its definition and its users to read or
// write it so, which may give these new orders as well. It fails as a whole
// where a value would need two orders, or an instruction takes only the one it
// has, so nothing is changed before it is complete.
bool LayoutSpread::Start(HloInstruction* array, MemoryOrder order) {
  size_t next = values_.size();
  possible_ = possible_ && Add(array, -1, std::move(order));
  while (possible_ && next < values_.size()) {
    const Value value = values_[next++];
    const MemoryOrder at = orders_.at(value);
    possible_ = Visit(value, at);
  }
  return possible_;
}

bool LayoutSpread::Add(HloInstruction* instruction, int64_t element,
                       MemoryOrder order) {
  const Value value(instruction, element);
  const Shape& shape = ShapeOf(value);
  if (!shape.IsArray() || !shape.has_layout() || shape.is_dynamic() ||
      !shape.layout().tiles().empty() ||
      (instruction->has_sharding() && !IsAtBorder(*instruction))) {
    return false;
  }
  const auto it = orders_.find(value);
  if (it != orders_.end()) return SameOrder(shape, it->second, order);
  // Values that keep their layout are not part of the change.
  if (OrderOf(shape) == order) return true;
  orders_.emplace(value, std::move(order));
  values_.push_back(value);
  return true;
}

bool LayoutSpread::Visit(const Value& value, const MemoryOrder& order) {
  if (value.second >= 0) return VisitTuple(value, order);
  HloInstruction* array = value.first;
  if (!VisitDefinition(value, order)) return false;
  if (array->IsRoot() && !VisitEntry(value, order)) return false;
  for (HloInstruction* user : array->users()) {
    for (int64_t i = 0; i < user->operand_count(); ++i) {
      if (user->operand(i) == array && !VisitUser(user, i, order)) return false;
    }
  }
  return true;
}

bool LayoutSpread::VisitDefinition(const Value& value,
                                   const MemoryOrder& order) {
  HloInstruction* array = value.first;
  switch (array->opcode()) {
    case HloOpcode::kGetTupleElement:
      return Add(array->mutable_operand(0), array->tuple_index(), order);
    // Written in any order.
    case HloOpcode::kTranspose:
    case HloOpcode::kBroadcast:
    case HloOpcode::kIota:
      return true;
    case HloOpcode::kCopy:
      if (module_ != nullptr && !ChangesMemory(*array)) return true;
      break;
    case HloOpcode::kParameter:
      return VisitEntry(value, order);
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kSlice:
      return SlicesAlongMemory(array->operand(0)->shape(), array->shape(),
                               order) &&
             Add(array->mutable_operand(0), -1, order);
    case HloOpcode::kDynamicUpdateSlice:
      return SlicesAlongMemory(array->shape(), array->operand(1)->shape(),
                               order) &&
             Add(array->mutable_operand(0), -1, order) &&
             Add(array->mutable_operand(1), -1, order);
    case HloOpcode::kReshape:
      return VisitReshape(array, /*from_operand=*/false, order);
    case HloOpcode::kDot:
      return DotGives(*array, order);
    default:  // Elementwise, or made in one layout only.
      break;
  }
  if (!array->IsElementwise() || array->operand_count() == 0) return false;
  for (HloInstruction* operand : array->operands()) {
    if (ShapeUtil::SameDimensions(operand->shape(), array->shape()) &&
        !Add(operand, -1, order)) {
      return false;
    }
  }
  return true;
}

bool LayoutSpread::VisitUser(HloInstruction* user, int64_t operand,
                             const MemoryOrder& order) {
  switch (user->opcode()) {
    case HloOpcode::kTuple:
      return Add(user, operand, order);
    // Read in any order.
    case HloOpcode::kTranspose:
    case HloOpcode::kBroadcast:
      return true;
    case HloOpcode::kCopy:
      return !ChangesMemory(*user) || Add(user, -1, order);
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kSlice:
      return operand == 0 &&
             SlicesAlongMemory(user->operand(0)->shape(), user->shape(),
                               order) &&
             Add(user, -1, order);
    case HloOpcode::kDynamicUpdateSlice:
      return operand <= 1 && Add(user, -1, order);
    case HloOpcode::kReshape:
      return VisitReshape(user, /*from_operand=*/true, order);
    case HloOpcode::kDot:
      return DotTakes(*user, operand, order);
    case HloOpcode::kReduce:
      return user->shape().IsArray() && user->shape().dimensions_size() <= 1;
    default:  // Elementwise, or read in one layout only.
      return user->IsElementwise() &&
             ShapeUtil::SameDimensions(user->shape(),
                                       user->operand(operand)->shape()) &&
             Add(user, -1, order);
  }
}

bool LayoutSpread::VisitTuple(const Value& value, const MemoryOrder& order) {
  const auto [tuple, element] = value;
  switch (tuple->opcode()) {
    case HloOpcode::kTuple:
      if (!Add(tuple->mutable_operand(element), -1, order)) return false;
      break;
    case HloOpcode::kWhile:
      if (!VisitLoop(tuple, element, order)) return false;
      break;
    case HloOpcode::kParameter:
      break;
    default:  // Elements of other tuples keep their layouts.
      return false;
  }
  const auto loop = loops_.find(tuple->parent());
  const bool is_root = tuple == tuple->parent()->root_instruction();
  if (loop == loops_.end() && tuple->parent()->IsEntryComputation()) {
    if ((is_root || tuple->opcode() == HloOpcode::kParameter) &&
        !VisitEntry(value, order)) {
      return false;
    }
  } else if (is_root || tuple->opcode() == HloOpcode::kParameter) {
    if (loop == loops_.end() || loop->second == nullptr ||
        !Add(loop->second, element, order)) {
      return false;
    }
  }
  for (HloInstruction* user : tuple->users()) {
    if (user->opcode() == HloOpcode::kGetTupleElement) {
      if (user->tuple_index() == element && !Add(user, -1, order)) return false;
    } else if (user->opcode() != HloOpcode::kWhile ||
               !Add(user, element, order)) {
      return false;
    }
  }
  return true;
}

// Apply gives the new order to the layout of the entry as well, which must
// agree with the value as it lies now. What is aliased is one memory, and takes
// the same order.
bool LayoutSpread::VisitEntry(const Value& value, const MemoryOrder& order) {
  HloInstruction* instruction = value.first;
  HloComputation* entry = instruction->parent();
  if (module_ == nullptr || entry != module_->entry_computation() ||
      !module_->config().has_entry_computation_layout()) {
    return false;
  }
  const ShapeIndex index = IndexOf(value.second);
  const auto lies_as_given = [&](const ShapeLayout& given) {
    const Shape& shape = ShapeUtil::GetSubshape(given.shape(), index);
    return shape.has_layout() && shape.layout().tiles().empty() &&
           OrderOf(shape) == OrderOf(ShapeOf(value));
  };
  const auto add_alias = [&](HloInstruction* other, const ShapeIndex& at) {
    return ShapeUtil::SameDimensions(ShapeUtil::GetSubshape(other->shape(), at),
                                     ShapeOf(value)) &&
           Add(other, at.empty() ? -1 : at[0], order);
  };
  const ComputationLayout& layout = module_->entry_computation_layout();
  const HloInputOutputAliasConfig& aliases =
      module_->input_output_alias_config();
  if (instruction->opcode() == HloOpcode::kParameter) {
    const int64_t number = instruction->parameter_number();
    if (!lies_as_given(layout.parameter_layout(number))) return false;
    const std::optional<ShapeIndex> output =
        aliases.GetAliasedOutput(number, index);
    if (output.has_value() && !add_alias(entry->root_instruction(), *output)) {
      return false;
    }
  }
  if (instruction->IsRoot()) {
    if (!lies_as_given(layout.result_layout())) return false;
    const std::optional<HloInputOutputAliasConfig::Alias> parameter =
        aliases.GetAliasedParameter(index);
    if (parameter.has_value() &&
        !add_alias(entry->parameter_instruction(parameter->parameter_number),
                   parameter->parameter_index)) {
      return false;
    }
  }
  return true;
}

bool LayoutSpread::VisitLoop(HloInstruction* loop, int64_t element,
                             const MemoryOrder& order) {
  // The condition's root is a predicate, not a state, so it is left out.
  return Add(loop->mutable_operand(0), element, order) &&
         Add(loop->while_body()->parameter_instruction(0), element, order) &&
         Add(loop->while_condition()->parameter_instruction(0), element,
             order) &&
         Add(loop->while_body()->root_instruction(), element, order);
}

bool LayoutSpread::VisitReshape(HloInstruction* reshape, bool from_operand,
                                const MemoryOrder& order) {
  HloInstruction* operand = reshape->mutable_operand(0);
  const Shape& from = from_operand ? operand->shape() : reshape->shape();
  const Shape& to = from_operand ? reshape->shape() : operand->shape();
  // Dimensions that are no ones, in their order, and the ones of `to`.
  std::vector<int64_t> from_dims, to_dims, ones;
  for (int64_t d = 0; d < from.dimensions_size(); ++d) {
    if (from.dimensions(d) != 1) from_dims.push_back(d);
  }
  for (int64_t d = 0; d < to.dimensions_size(); ++d) {
    (to.dimensions(d) != 1 ? to_dims : ones).push_back(d);
  }
  if (from_dims.size() != to_dims.size()) return false;
  for (size_t i = 0; i < from_dims.size(); ++i) {
    if (from.dimensions(from_dims[i]) != to.dimensions(to_dims[i])) {
      return false;
    }
  }
  MemoryOrder result = ones;
  for (int64_t dim : WithoutOnes(from, order)) {
    result.push_back(to_dims[absl::c_find(from_dims, dim) - from_dims.begin()]);
  }
  return Add(from_operand ? reshape : operand, -1, std::move(result));
}

MemoryOrder LayoutSpread::After(const HloInstruction& array) const {
  const auto it = orders_.find({const_cast<HloInstruction*>(&array), -1});
  return it == orders_.end() ? OrderOf(array.shape()) : it->second;
}

std::vector<HloInstruction*> LayoutSpread::Moves() const {
  std::vector<HloInstruction*> result;
  absl::flat_hash_set<const HloInstruction*> seen;
  const auto add = [&](HloInstruction* instruction) {
    if ((instruction->opcode() == HloOpcode::kTranspose ||
         instruction->opcode() == HloOpcode::kCopy) &&
        seen.insert(instruction).second) {
      result.push_back(instruction);
    }
  };
  for (const Value& value : values_) {
    if (value.second >= 0) continue;
    add(value.first);
    for (HloInstruction* user : value.first->users()) add(user);
  }
  return result;
}

void LayoutSpread::Apply() {
  const HloComputation* entry =
      module_ == nullptr ? nullptr : module_->entry_computation();
  for (const Value& value : values_) {
    Shape* shape = value.first->mutable_shape();
    if (value.second >= 0) shape = shape->mutable_tuple_shapes(value.second);
    const MemoryOrder& order = orders_.at(value);
    shape->mutable_layout()->mutable_minor_to_major()->assign(order.rbegin(),
                                                              order.rend());
    if (value.first->parent() != entry) continue;
    const auto give = [&](ShapeLayout* given) {
      const ShapeIndex index = IndexOf(value.second);
      Layout layout = ShapeUtil::GetSubshape(given->shape(), index).layout();
      layout.mutable_minor_to_major()->assign(order.rbegin(), order.rend());
      given->ResetLayout(layout, index);
    };
    ComputationLayout* given = module_->mutable_entry_computation_layout();
    if (value.first->opcode() == HloOpcode::kParameter) {
      give(given->mutable_parameter_layout(value.first->parameter_number()));
    }
    if (value.first->IsRoot()) give(given->mutable_result_layout());
  }
}

}  // namespace xla::gpu
