#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/shape_util.h"

// Infeed and outfeed: each device feeds its part, without padding. Parts of
// different shapes are branches of a conditional on the device.

namespace xla::spmd {
namespace {

// The parts of all devices.
struct ExactShapes {
  std::vector<Shape> shapes;
  // By device: which of them.
  std::vector<int64_t> table;
};

ExactShapes ExactShapesOf(const Shape& whole, const HloSharding& sharding,
                          int64_t devices) {
  ExactShapes result;
  for (int64_t device = 0; device < devices; ++device) {
    const Shape shape =
        MakeNonPaddedShapeForGivenPartition(whole, sharding, device);
    size_t i = 0;
    while (i < result.shapes.size() &&
           !ShapeUtil::Compatible(result.shapes[i], shape)) {
      ++i;
    }
    if (i == result.shapes.size()) result.shapes.push_back(shape);
    result.table.push_back(i);
  }
  return result;
}

// Each array of `value` as `resize` makes it of one of `shape`.
template <typename Resize>
HloInstruction* ResizeLeaves(HloInstruction* value, const Shape& shape,
                             SpmdBuilder* b, Resize resize) {
  if (shape.IsArray()) return resize(value, shape);
  if (!shape.IsTuple()) return value;
  std::vector<HloInstruction*> elements;
  for (int64_t i = 0; i < shape.tuple_shapes().size(); ++i) {
    HloInstruction* element =
        b->AddInstruction(HloInstruction::CreateGetTupleElement(
            value->shape().tuple_shapes(i), value, i));
    elements.push_back(ResizeLeaves(element, shape.tuple_shapes(i), b, resize));
  }
  return b->AddInstruction(HloInstruction::CreateTuple(elements));
}

// token → (a part padded to a shard, token)
HloComputation* InfeedBranch(const Shape& part, const Shape& shard,
                             const HloInfeedInstruction* infeed,
                             HloModule* module) {
  SpmdBuilder b("infeed_part", nullptr);
  HloInstruction* token = b.AddInstruction(
      HloInstruction::CreateParameter(0, ShapeUtil::MakeTokenShape(), "token"));
  HloInstruction* fed = b.AddInstruction(
      HloInstruction::CreateInfeed(part, token, infeed->infeed_config()));
  HloInstruction* data =
      b.AddInstruction(HloInstruction::CreateGetTupleElement(part, fed, 0));
  HloInstruction* after =
      b.AddInstruction(HloInstruction::CreateGetTupleElement(
          ShapeUtil::MakeTokenShape(), fed, 1));
  data = ResizeLeaves(data, shard, &b,
                      [&](HloInstruction* leaf, const Shape& shape) {
                        return PadToShape(leaf, shape, &b);
                      });
  return module->AddEmbeddedComputation(
      b.Build(b.AddInstruction(HloInstruction::CreateTuple({data, after}))));
}

// (shard, token) → token
HloComputation* OutfeedBranch(const Shape& part, const Shape& argument,
                              const HloOutfeedInstruction* outfeed,
                              HloModule* module) {
  SpmdBuilder b("outfeed_part", nullptr);
  HloInstruction* parameter = b.AddInstruction(
      HloInstruction::CreateParameter(0, argument, "shard_and_token"));
  HloInstruction* data = b.AddInstruction(HloInstruction::CreateGetTupleElement(
      argument.tuple_shapes(0), parameter, 0));
  HloInstruction* token =
      b.AddInstruction(HloInstruction::CreateGetTupleElement(
          argument.tuple_shapes(1), parameter, 1));
  data = ResizeLeaves(data, part, &b,
                      [&](HloInstruction* leaf, const Shape& shape) {
                        return SliceTo(leaf, shape.dimensions(), &b);
                      });
  return module->AddEmbeddedComputation(
      b.Build(b.AddInstruction(HloInstruction::CreateOutfeed(
          part, data, token, outfeed->outfeed_config()))));
}

}  // namespace

absl::Status SpmdPartitioningVisitor::HandleInfeed(HloInstruction* hlo) {
  if (hlo->sharding().UniqueDevice().has_value()) {
    return HandleSingleDevice(hlo);
  }
  const auto* infeed = Cast<HloInfeedInstruction>(hlo);
  const HloSharding sharding =
      hlo->sharding().GetSubSharding(hlo->shape(), {0});
  HloInstruction* token = GetPartitionedHlo(hlo->operand(0)).hlo();
  const Shape shard = MakePartitionedShape(infeed->infeed_shape(), sharding);
  const ExactShapes parts =
      ExactShapesOf(infeed->infeed_shape(), sharding, num_partitions_);
  if (parts.shapes.size() == 1) {
    SetPartitionedHlo(hlo, b_.AddInstruction(HloInstruction::CreateInfeed(
                               shard, token, infeed->infeed_config())));
    return absl::OkStatus();
  }
  std::vector<HloComputation*> branches;
  for (const Shape& part : parts.shapes) {
    branches.push_back(InfeedBranch(part, shard, infeed, module_));
  }
  const std::vector<HloInstruction*> arguments(branches.size(), token);
  SetPartitionedHlo(hlo, b_.AddInstruction(HloInstruction::CreateConditional(
                             ShapeUtil::MakeTupleShape({shard, token->shape()}),
                             TableLookup(parts.table, S32, partition_id_, &b_),
                             branches, arguments)));
  return absl::OkStatus();
}

// The sharding is that of what is fed.
absl::Status SpmdPartitioningVisitor::HandleOutfeed(HloInstruction* hlo) {
  if (hlo->sharding().UniqueDevice().has_value()) {
    return HandleSingleDevice(hlo);
  }
  const auto* outfeed = Cast<HloOutfeedInstruction>(hlo);
  HloInstruction* data = Operand(hlo, 0, hlo->sharding());
  HloInstruction* token = GetPartitionedHlo(hlo->operand(1)).hlo();
  const ExactShapes parts =
      ExactShapesOf(hlo->operand(0)->shape(), hlo->sharding(), num_partitions_);
  HloInstruction* local;
  if (parts.shapes.size() == 1) {
    local = b_.AddInstruction(HloInstruction::CreateOutfeed(
        data->shape(), data, token, outfeed->outfeed_config()));
  } else {
    HloInstruction* argument =
        b_.AddInstruction(HloInstruction::CreateTuple({data, token}));
    std::vector<HloComputation*> branches;
    for (const Shape& part : parts.shapes) {
      branches.push_back(
          OutfeedBranch(part, argument->shape(), outfeed, module_));
    }
    const std::vector<HloInstruction*> arguments(branches.size(), argument);
    local = b_.AddInstruction(HloInstruction::CreateConditional(
        token->shape(), TableLookup(parts.table, S32, partition_id_, &b_),
        branches, arguments));
  }
  local->set_sharding(HloSharding::Replicate());
  SetPartitionedHlo(
      hlo, PartitionedHlo(local, hlo->shape(), MakePartitioningState()));
  return absl::OkStatus();
}

}  // namespace xla::spmd
