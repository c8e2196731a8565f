#include "xla/hlo/transforms/spmd/column_sort.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/reshard_plan.h"
#include "xla/hlo/transforms/spmd/sort_order.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace xla::spmd {
namespace {

// An operand that counts along `dim`, in a type that also holds the length of a
// row, which stands for padding.
std::optional<int64_t> CountingOperand(const HloSortInstruction& sort) {
  for (int64_t i = 0; i < sort.operand_count(); ++i) {
    const HloInstruction* operand = sort.operand(i);
    const PrimitiveType type = operand->shape().element_type();
    if (operand->opcode() == HloOpcode::kIota &&
        operand->dimensions(0) == sort.sort_dimension() &&
        primitive_util::IsIntegralType(type) &&
        primitive_util::BitWidth(type) >= 32) {
      return i;
    }
  }
  return std::nullopt;
}

// The shards, as intervals of the row of padded columns.
ShardIntervals Parts(const ColumnSort& plan) {
  return RetiledIntervals(plan.row_size, plan.parts, plan.part_size);
}

// Emits the steps; every step is done for all operands.
class ColumnSorter {
 public:
  ColumnSorter(const ColumnSort& plan, const HloSortInstruction& sort,
               std::vector<HloInstruction*> operands,
               const HloSharding& sharding,
               const PartitionedHlo::PartitioningState& state)
      : plan_(plan),
        sharding_(sharding),
        state_(state),
        b_(state.b),
        values_(std::move(operands)),
        results_(values_.size()),
        less_(sort.to_apply()),
        groups_(GetPartitionGroupsForReplication(sharding, {plan.dim})),
        ordinal_(MakeTiledPartitionOrdinals(sharding, state.partition_id,
                                            state.b)[plan.dim]) {
    if (!plan.numbers.has_value()) {
      if (plan.has_padding()) MaskKeys(sort);
      return;
    }
    HloInstruction* numbers = Numbers(sort.operand(0)->shape());
    if (*plan.numbers < values_.size()) {
      values_[*plan.numbers] = numbers;
    } else {
      values_.push_back(numbers);
    }
    less_ = OrderTiesByNumber(
        *less_, *plan.numbers, plan.number_type,
        plan.has_padding() ? std::make_optional(plan.row_size) : std::nullopt,
        state.module);
  }

  std::vector<HloInstruction*> Run() {
    Pad();
    Sort(values_);
    for (HloInstruction*& value : values_) value = Deal(value);
    Sort(values_);
    for (HloInstruction*& value : values_) value = GiveBack(value);
    Sort(values_);
    SortBetween();
    values_.resize(results_);
    if (plan_.column_size != plan_.part_size) {
      for (HloInstruction*& value : values_) {
        value = ExchangeIntervals(value, sharding_, plan_.dim,
                                  plan_.column_size * plan_.parts, Parts(plan_),
                                  nullptr, state_);
      }
    }
    return std::move(values_);
  }

 private:
  int64_t Channel() { return (*state_.next_channel_id)++; }

  // The place in its row of each element of the shard; the length of the row
  // for what lies past its end.
  HloInstruction* Numbers(const Shape& whole) {
    const Shape shape =
        ShapeUtil::ChangeElementType(values_[0]->shape(), plan_.number_type);
    HloInstruction* first =
        AddConvert(MakePartitionOffsets(whole, sharding_, state_.partition_id,
                                        b_, {plan_.dim})[plan_.dim],
                   plan_.number_type, b_);
    HloInstruction* numbers = AddBinary(
        HloOpcode::kAdd,
        b_->AddInstruction(HloInstruction::CreateIota(shape, plan_.dim)),
        CreateBroadcast(first, shape.dimensions(), b_), b_);
    if (plan_.row_size == plan_.part_size * plan_.parts) return numbers;
    return AddBinary(
        HloOpcode::kMinimum, numbers,
        CreateBroadcast(CreateR0(plan_.row_size, plan_.number_type, b_),
                        shape.dimensions(), b_),
        b_);
  }

  // Without numbers, what lies past the end of the row becomes the last value
  // in the order.
  void MaskKeys(const HloSortInstruction& sort) {
    const Shape& whole = sort.operand(0)->shape();
    padding_ = LastInOrder(
        whole.element_type(),
        AsOrderOfValues(*less_) == OrderOfValues::kLargestFirst, b_);
    std::vector<int64_t> others;
    for (int64_t d = 0; d < whole.dimensions().size(); ++d) {
      if (d != plan_.dim) others.push_back(d);
    }
    values_[0] = PartitionedHlo(values_[0], whole, state_)
                     .PadWithValueHlo(padding_, {}, others);
  }

  void Pad() {
    if (plan_.column_size == plan_.part_size) return;
    for (int64_t i = 0; i < values_.size(); ++i) {
      const Shape& shape = values_[i]->shape();
      HloInstruction* padding =
          plan_.numbers == i ? CreateR0(plan_.row_size, plan_.number_type, b_)
          : padding_ != nullptr
              ? padding_
              : CreateZero(ShapeUtil::MakeShape(shape.element_type(), {}), b_);
      Shape column = shape;
      column.set_dimensions(plan_.dim, plan_.column_size);
      values_[i] = b_->AddInstruction(HloInstruction::CreatePad(
          column, values_[i], padding, HighPaddingTo(shape, column)));
    }
  }

  void Sort(std::vector<HloInstruction*>& values) {
    std::vector<Shape> shapes;
    for (const HloInstruction* value : values) shapes.push_back(value->shape());
    HloInstruction* sorted = b_->AddInstruction(HloInstruction::CreateSort(
        shapes.size() == 1 ? shapes[0] : ShapeUtil::MakeTupleShape(shapes),
        plan_.dim, values, less_, /*is_stable=*/false));
    values = Elements(sorted, b_);
  }

  HloInstruction* Deal(HloInstruction* value) {
    const std::vector<int64_t> dims(value->shape().dimensions().begin(),
                                    value->shape().dimensions().end());
    std::vector<int64_t> split = dims;
    split[plan_.dim] /= plan_.parts;
    split.insert(split.begin() + plan_.dim + 1, plan_.parts);
    value = state_.collective_ops_creator.create_all_to_all(
        b_, {AddReshape(value, split, b_)}, *groups_, Channel(), plan_.dim + 1);
    return AddReshape(value, dims, b_);
  }

  HloInstruction* GiveBack(HloInstruction* value) {
    return state_.collective_ops_creator.create_all_to_all(
        b_, {value}, *groups_, Channel(), plan_.dim);
  }

  // Each device gets the value of the one before it (by 1) or after it (by -1).
  HloInstruction* Shift(HloInstruction* value, int64_t by) {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (const auto& row : groups_->flattened_replica_groups()) {
      for (int64_t i = 0; i + 1 < row.size(); ++i) {
        pairs.push_back(by > 0 ? std::make_pair(row[i], row[i + 1])
                               : std::make_pair(row[i + 1], row[i]));
      }
    }
    absl::c_sort(pairs);
    return state_.collective_ops_creator.create_collective_permute(
        b_, value, pairs, Channel());
  }

  // Step 6. Device i sorts the last size - half elements of column i - 1 with
  // the first half of its own, keeps the largest `half` as the beginning of its
  // column, and gives the others back as the end of column i - 1. An odd size
  // makes the two parts differ by one element, which is why the halves are
  // counted from both ends.
  void SortBetween() {
    const int64_t dim = plan_.dim, size = plan_.column_size, half = size / 2;
    std::vector<HloInstruction*> between;
    for (HloInstruction* value : values_) {
      HloInstruction* left = Shift(SliceDim(value, dim, half, size, b_), 1);
      between.push_back(Concatenate(left, SliceDim(value, dim, 0, half, b_)));
    }
    Sort(between);
    HloInstruction* is_first = Is(0);
    HloInstruction* is_last = Is(plan_.parts - 1);
    for (int64_t i = 0; i < values_.size(); ++i) {
      // There is no device before the first one, and none after the last one.
      HloInstruction* low =
          AddSelect(is_first, {}, SliceDim(values_[i], dim, 0, half, b_),
                    SliceDim(between[i], dim, size - half, size, b_), b_);
      HloInstruction* high = AddSelect(
          is_last, {}, SliceDim(values_[i], dim, half, size, b_),
          Shift(SliceDim(between[i], dim, 0, size - half, b_), -1), b_);
      values_[i] = Concatenate(low, high);
    }
  }

  HloInstruction* Is(int64_t ordinal) {
    return AddCompare(ordinal_, ComparisonDirection::kEq,
                      CreateR0(ordinal, S32, b_), b_);
  }

  HloInstruction* Concatenate(HloInstruction* x, HloInstruction* y) {
    Shape shape = x->shape();
    shape.set_dimensions(plan_.dim, plan_.column_size);
    return b_->AddInstruction(
        HloInstruction::CreateConcatenate(shape, {x, y}, plan_.dim));
  }

  const ColumnSort& plan_;
  const HloSharding& sharding_;
  const PartitionedHlo::PartitioningState& state_;
  SpmdBuilder* b_;
  std::vector<HloInstruction*> values_;
  const size_t results_;
  HloComputation* less_;
  HloInstruction* padding_ = nullptr;
  std::unique_ptr<CollectiveDeviceListBase> groups_;
  HloInstruction* ordinal_;
};

}  // namespace

std::optional<ColumnSort> PlanColumnSort(const HloSortInstruction& sort,
                                         const HloSharding& sharding) {
  ColumnSort plan;
  plan.dim = sort.sort_dimension();
  plan.parts = ShardCountAtDim(sharding, plan.dim);
  plan.row_size = sort.operand(0)->shape().dimensions(plan.dim);
  plan.part_size = CeilOfRatio(plan.row_size, plan.parts);
  plan.column_size = RoundUpTo(plan.part_size, plan.parts);
  if (plan.column_size < 2 * plan.parts * plan.parts ||
      plan.column_size * plan.parts > std::numeric_limits<int32_t>::max() ||
      !IsStrictWeakOrder(*sort.to_apply())) {
    return std::nullopt;
  }
  double bits = 0;
  for (const HloInstruction* operand : sort.operands()) {
    bits += primitive_util::BitWidth(operand->shape().element_type());
  }
  // Back from columns to shards.
  plan.bits = bits * PlanHaloExchange(plan.column_size * plan.parts,
                                      plan.column_size, Parts(plan))
                         .received;
  if (!AsOrderOfValues(*sort.to_apply()).has_value() ||
      (plan.has_padding() &&
       !HasLastInOrder(sort.operand(0)->shape().element_type()))) {
    plan.numbers = CountingOperand(sort);
    if (plan.numbers.has_value()) {
      plan.number_type = sort.operand(*plan.numbers)->shape().element_type();
    } else {
      plan.numbers = sort.operand_count();
      bits += primitive_util::BitWidth(plan.number_type);
    }
  }
  // Two all-to-alls, and two halves to a neighbor.
  const double columns = 2.0 * (plan.parts - 1) / plan.parts + 1;
  plan.bits += bits * columns * plan.column_size;
  plan.bits /= plan.part_size;
  return plan;
}

std::vector<HloInstruction*> EmitColumnSort(
    const ColumnSort& plan, const HloSortInstruction& sort,
    std::vector<HloInstruction*> operands, const HloSharding& sharding,
    const PartitionedHlo::PartitioningState& state) {
  return ColumnSorter(plan, sort, std::move(operands), sharding, state).Run();
}

}  // namespace xla::spmd
