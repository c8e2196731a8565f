#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/column_sort.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_report.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/utils/pattern_matcher.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::spmd {
namespace {

// How many of the first elements along `dim` are read of all results; nullopt
// where something reads others.
std::optional<int64_t> FirstReadElements(const HloInstruction* sort,
                                         int64_t dim) {
  std::vector<const HloInstruction*> values = {sort};
  if (sort->shape().IsTuple()) {
    values.assign(sort->users().begin(), sort->users().end());
  }
  int64_t count = 0;
  for (const HloInstruction* value : values) {
    if (value->IsRoot() ||
        (value != sort && value->opcode() != HloOpcode::kGetTupleElement)) {
      return std::nullopt;
    }
    for (const HloInstruction* user : value->users()) {
      if (user->opcode() != HloOpcode::kSlice || user->slice_starts(dim) != 0 ||
          user->slice_strides(dim) != 1) {
        return std::nullopt;
      }
      count = std::max(count, user->slice_limits(dim));
    }
  }
  if (count == 0 || sort->IsRoot()) return std::nullopt;
  return count;
}

HloInstruction* SortOf(const HloInstruction* sort,
                       const std::vector<HloInstruction*>& operands,
                       SpmdBuilder* b) {
  std::vector<Shape> shapes;
  for (const HloInstruction* operand : operands) {
    shapes.push_back(operand->shape());
  }
  return b->AddInstruction(sort->CloneWithNewOperands(
      shapes.size() == 1 ? shapes[0] : ShapeUtil::MakeTupleShape(shapes),
      operands));
}

}  // namespace

bool IsNanSafeGt(HloComputation* computation) {
  // A parameter of the compare, maybe widened first.
  auto parameter = [](int64_t number, PrimitiveType type) {
    return match::AnyOf<HloInstruction>(
        match::Parameter(number).WithElementType(type),
        match::Convert(match::Parameter(number)).WithElementType(type));
  };
  HloInstruction* root = computation->root_instruction();
  for (PrimitiveType type : {F32, BF16, F16, F64}) {
    if (Match(root, match::Gt(parameter(0, type), parameter(1, type))) &&
        Cast<HloCompareInstruction>(root)->type() ==
            Comparison::Type::kFloatTotalOrder) {
      return true;
    }
  }
  // The older spelling of a total order of floats: the bits as a signed number,
  // those of negative floats turned around by max - bits. Both sides of the
  // comparison go through it.
  struct Bits {
    PrimitiveType value, number, bits;
    int64_t max;
  };
  for (const Bits& t :
       {Bits{F32, S32, U32, std::numeric_limits<int32_t>::max()},
        Bits{BF16, S16, U16, std::numeric_limits<int16_t>::max()},
        Bits{F16, S16, U16, std::numeric_limits<int16_t>::max()}}) {
    auto key = [&](int64_t number) {
      auto bits = [&](PrimitiveType type) {
        return match::BitcastConvert(parameter(number, t.value))
            .WithElementType(type);
      };
      return match::Select(match::Lt(bits(t.number), match::ConstantScalar(0)),
                           match::BitcastConvert(match::Subtract(
                               match::ConstantScalar(t.max), bits(t.bits))),
                           bits(t.number));
    };
    if (Match(root, match::Gt(key(0), key(1)))) return true;
  }
  return false;
}

std::optional<int64_t> GetKValueInTopKWhenPartitionSortDim(
    HloInstruction* hlo) {
  if (hlo->opcode() != HloOpcode::kSort || !hlo->operand(0)->has_sharding()) {
    return std::nullopt;
  }
  const int64_t dim = Cast<HloSortInstruction>(hlo)->sort_dimension();
  if (ShardCountAtDim(hlo->operand(0)->sharding(), dim) == 1) {
    return std::nullopt;
  }
  return FirstReadElements(hlo, dim);
}

// Where only the first k elements of each row are read, each device sorts its
// part, and the first k of all parts are sorted again. They are concatenated
// in the order of the parts, so that a stable sort stays stable. Elements after
// the first k are never read.
absl::StatusOr<bool> SpmdPartitioningVisitor::SortFirstOfEachPart(
    HloInstruction* hlo, const HloSharding& sharding, int64_t dim) {
  const Shape& whole = hlo->operand(0)->shape();
  const int64_t parts = ShardCountAtDim(sharding, dim);
  const std::optional<int64_t> first = FirstReadElements(hlo, dim);
  if (parts == 1 || whole.dimensions(dim) % parts != 0 || !first.has_value() ||
      *first >= whole.dimensions(dim) / parts) {
    return false;
  }
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    operands.push_back(Operand(hlo, i, sharding));
  }
  std::vector<HloInstruction*> gathered;
  for (HloInstruction* part : Elements(SortOf(hlo, operands, &b_), &b_)) {
    gathered.push_back(partitioner_->AllGatherShards(
        &b_, SliceDim(part, dim, 0, *first, &b_), sharding, next_channel_id_,
        {dim}, collective_ops_creator_));
  }
  // Those first elements go where they are wanted; the rest is padding.
  const HloSharding rows = ReplicatedOnDims(sharding, {dim});
  std::vector<HloInstruction*> results;
  std::vector<HloSharding> shardings;
  for (HloInstruction* sorted : Elements(SortOf(hlo, gathered, &b_), &b_)) {
    HloInstruction* kept = SliceDim(sorted, dim, 0, *first, &b_);
    kept->set_sharding(rows);
    Shape base_shape =
        ShapeUtil::MakeShape(kept->shape().element_type(), whole.dimensions());
    base_shape.set_dimensions(dim, *first);
    HloSharding wanted = hlo->sharding().IsTuple()
                             ? hlo->sharding().tuple_elements()[results.size()]
                             : hlo->sharding();
    if (wanted.IsTiledLeaf()) wanted = ReplicatedOnDims(wanted, {dim});
    kept = PartitionedHlo(kept, base_shape, MakePartitioningState())
               .Reshard(wanted)
               .hlo();
    Shape shape = kept->shape();
    shape.set_dimensions(dim, whole.dimensions(dim));
    results.push_back(PadToShape(kept, shape, &b_));
    shardings.push_back(std::move(wanted));
  }
  Finish(hlo,
         hlo->shape().IsTuple()
             ? b_.AddInstruction(HloInstruction::CreateTuple(results))
             : results[0],
         hlo->shape().IsTuple() ? HloSharding::Tuple(hlo->shape(), shardings)
                                : shardings[0]);
  return true;
}

bool SpmdPartitioningVisitor::SortInColumns(HloInstruction* hlo,
                                            const HloSharding& sharding) {
  const auto& sort = *Cast<HloSortInstruction>(hlo);
  const int64_t dim = sort.sort_dimension();
  const int64_t parts = ShardCountAtDim(sharding, dim);
  if (parts == 1 ||
      hlo->sharding() != HloSharding::Single(hlo->shape(), sharding)) {
    return false;
  }
  const std::optional<ColumnSort> plan = PlanColumnSort(sort, sharding);
  if (!plan.has_value()) return false;
  double gathered_bits = 0;
  for (const HloInstruction* operand : hlo->operands()) {
    if (operand->opcode() != HloOpcode::kIota &&
        ShardCountAtDim(GetPartitionedHlo(operand).sharding(), dim) > 1) {
      gathered_bits += (parts - 1) * primitive_util::BitWidth(
                                         operand->shape().element_type());
    }
  }
  if (plan->bits >= gathered_bits) {
    Explain(WhyWhole::kCheapest);
    return false;
  }
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    operands.push_back(Operand(hlo, i, sharding));
  }
  const std::vector<HloInstruction*> sorted =
      EmitColumnSort(*plan, sort, operands, sharding, MakePartitioningState());
  Finish(hlo,
         hlo->shape().IsTuple()
             ? b_.AddInstruction(HloInstruction::CreateTuple(sorted))
             : sorted[0],
         HloSharding::Single(hlo->shape(), sharding));
  return true;
}

// Rows are sorted where they are; tiles along the sorted dimension move to
// another one. If none takes them, rows are sorted in columns or gathered.
absl::Status SpmdPartitioningVisitor::HandleSort(HloInstruction* hlo) {
  const HloSharding& wanted = hlo->sharding();
  if (wanted.UniqueDevice().has_value()) return HandleSingleDevice(hlo);
  HloSharding sharding = wanted.IsTuple() ? wanted.tuple_elements()[0] : wanted;
  for (const HloInstruction* operand : hlo->operands()) {
    if (sharding.IsTiledLeaf()) break;
    sharding = GetPartitionedHlo(operand).sharding();
  }
  const int64_t dim = Cast<HloSortInstruction>(hlo)->sort_dimension();
  if (sharding.IsTiledLeaf()) {
    TF_ASSIGN_OR_RETURN(const bool done,
                        SortFirstOfEachPart(hlo, sharding, dim));
    if (done) return absl::OkStatus();
    const HloSharding moved = WithWholeDims(*hlo, sharding, {dim});
    if (moved.NumTiles() < sharding.NumTiles() &&
        SortInColumns(hlo, sharding)) {
      return absl::OkStatus();
    }
    sharding = moved;
  }
  if (!sharding.IsTiledLeaf() || sharding.NumTiles() == 1) {
    return DefaultAction(hlo);
  }
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    operands.push_back(Operand(hlo, i, sharding));
  }
  return FinishOnShards(hlo, operands,
                        HloSharding::Single(hlo->shape(), sharding));
}

}  // namespace xla::spmd
