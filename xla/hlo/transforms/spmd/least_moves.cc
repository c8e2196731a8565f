#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/dot_factors.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/shape_util.h"

// Where an instruction is computed so that the fewest bytes move.

namespace xla::spmd {
namespace {

// Larger arrays are not computed on every device for the sake of fewer bytes.
constexpr int64_t kMostComputedEverywhere = int64_t{1} << 20;

// Bytes that `user` makes of an operand on the device `owner` for others:
// rather than more than the operand, that is sent.
double BytesMadeElsewhere(const HloInstruction& operand,
                          const HloInstruction& user, int64_t owner) {
  const HloSharding sharding =
      user.opcode() == HloOpcode::kTuple
          ? user.sharding().GetSubSharding(user.shape(),
                                           {user.operand_index(&operand)})
          : user.sharding();
  if (sharding.UniqueDevice() == owner) return 0;
  return std::min(ShapeUtil::ByteSizeOfElementsRecursive(user.shape()),
                  ShapeSizeInBytes(operand.shape()));
}

std::vector<int64_t> Contracted(const HloInstruction& dot, int64_t side) {
  const DotDimensionNumbers& dims = dot.dot_dimension_numbers();
  const auto& numbers = side == 0 ? dims.lhs_contracting_dimensions()
                                  : dims.rhs_contracting_dimensions();
  return std::vector<int64_t>(numbers.begin(), numbers.end());
}

// Tiles of the result along dimensions that it has from its operand `side`.
int64_t TilesFrom(const HloInstruction& dot, int64_t side) {
  const DotDimensionNumbers& dims = dot.dot_dimension_numbers();
  const int64_t batches = dims.lhs_batch_dimensions_size();
  const int64_t rank = dot.shape().dimensions().size();
  const int64_t from_lhs = dot.operand(0)->shape().dimensions().size() -
                           dims.lhs_contracting_dimensions_size();
  int64_t tiles = 1;
  for (int64_t d = 0; d < rank; ++d) {
    const bool is_from_lhs = d < from_lhs;
    if (d < batches || is_from_lhs == (side == 0)) {
      tiles *= ShardCountAtDim(dot.sharding(), d);
    }
  }
  return tiles;
}

// Whether `dot` might want `gathered` of an operand that has `sharding`:
// without cuts along what is contracted. Where the result shall have more tiles
// along the others, the operand rather exchanges some of its cuts for those.
bool MayGather(const HloInstruction& dot, const HloInstruction& operand,
               const HloSharding& sharding, const HloSharding& gathered) {
  if (dot.opcode() != HloOpcode::kDot || dot.operand_count() != 2) return false;
  const int64_t side = dot.operand(0) == &operand ? 0 : 1;
  return ReplicatedOnDims(sharding, Contracted(dot, side)) == gathered &&
         TilesFrom(dot, side) <= gathered.NumTiles();
}

DotsOfOperand DotsThatGather(const HloInstruction& operand,
                             const HloSharding& sharding,
                             const HloSharding& gathered) {
  DotsOfOperand dots;
  const int64_t kept = gathered.NumTiles();
  const double addends = sharding.NumTiles() / kept;
  dots.bytes_gathered = RouteBytes(operand.shape(), sharding, gathered);
  for (const HloInstruction* dot : operand.users()) {
    if (!MayGather(*dot, operand, sharding, gathered)) continue;
    ++dots.count;
    const double sum = ShapeSizeInBytes(dot->shape()) / kept;
    dots.bytes_scattered += (addends - 1) / addends * sum;
    const int64_t side = dot->operand(0) == &operand ? 1 : 0;
    const HloInstruction& other = *dot->operand(side);
    if (!IsCut(other.sharding())) continue;
    // It exchanges cuts along what is contracted for others, or the reverse.
    const bool is_addend = absl::c_any_of(
        Contracted(*dot, side),
        [&](int64_t d) { return ShardCountAtDim(other.sharding(), d) > 1; });
    (is_addend ? dots.bytes_gathered : dots.bytes_scattered) +=
        ShapeSizeInBytes(MakePartitionedShape(other.shape(), other.sharding()));
  }
  return dots;
}

}  // namespace

// Bytes of `reader`, and of what else is made for others: once it is sent, an
// operand serves all of them.
double SpmdPartitioningVisitor::BytesMadeOf(const HloInstruction& operand,
                                            const HloInstruction& reader,
                                            int64_t owner) {
  const auto [all, is_new] = bytes_made_elsewhere_.try_emplace(&operand, 0);
  if (is_new) {
    for (const HloInstruction* user : operand.users()) {
      all->second += BytesMadeElsewhere(operand, *user, owner);
    }
  }
  return all->second - BytesMadeElsewhere(operand, reader, owner) +
         ShapeUtil::ByteSizeOfElementsRecursive(reader.shape());
}

// Other devices compute as well, of whatever stands for the operands there:
// what they have of all operands, they have of the result.
bool SpmdPartitioningVisitor::HandledOnDeviceOfOperands(HloInstruction* hlo) {
  std::optional<int64_t> device;
  absl::flat_hash_set<const HloInstruction*> sent;
  int64_t bytes = 0;
  // Bytes of operands for each byte of results that would be sent instead.
  double sent_per_made = 0;
  bool all_have = true;
  for (const HloInstruction* operand : hlo->operands()) {
    if (!operand->shape().IsArray()) return false;
    const PartitionedHlo& present = GetPartitionedHlo(operand);
    const HloSharding& sharding = present.sharding();
    if (sharding.IsReplicatedLeaf() || operand->opcode() == HloOpcode::kIota) {
      continue;
    }
    if (!sharding.IsSingleDeviceLeaf()) return false;
    const int64_t owner = sharding.GetUniqueDevice();
    if (device.has_value() && *device != owner) return false;
    device = owner;
    all_have &= present.IsAlsoWhole();
    const int64_t size = ShapeSizeInBytes(operand->shape());
    if (size == 0 || present.IsAlsoWhole() || !sent.insert(operand).second) {
      continue;
    }
    bytes += size;
    sent_per_made += size / BytesMadeOf(*operand, *hlo, owner);
  }
  if (!device.has_value()) return false;
  const std::optional<int64_t> wanted = hlo->sharding().UniqueDevice();
  all_have &= wanted.has_value() && hlo->shape().IsArray();
  if (wanted != device && !all_have) {
    if (sent_per_made <= 1) return false;
    // One device would multiply what all could.
    if (HloPredicateIsOp<HloOpcode::kDot, HloOpcode::kConvolution>(hlo) &&
        bytes > kMostComputedEverywhere) {
      return false;
    }
  }
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    operands.push_back(all_have || hlo->operand(i)->opcode() == HloOpcode::kIota
                           ? Operand(hlo, i, HloSharding::Replicate())
                           : GetPartitionedHlo(hlo->operand(i)).hlo());
  }
  Finish(hlo,
         b_.AddInstruction(hlo->CloneWithNewOperands(hlo->shape(), operands)),
         all_have ? HloSharding::Replicate()
                  : HloSharding::Single(hlo->shape(),
                                        HloSharding::SingleDevice(*device)));
  return true;
}

HloSharding SpmdPartitioningVisitor::WhereLeastMoves(
    const HloInstruction& hlo, absl::Span<const HloSharding> candidates,
    const ShardingOfOperand& of_operand) {
  std::vector<FactorTensor> tensors;
  // Of tensors before the results.
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < hlo.operand_count(); ++i) {
    const HloInstruction* operand = hlo.operand(i);
    const HloSharding& present = PresentSharding(operand);
    if (IsMadeAnywhere(*operand, present)) continue;
    tensors.push_back({operand->shape(), present});
    numbers.push_back(i);
  }
  const HloSharding& wanted = hlo.sharding();
  if (!hlo.shape().IsTuple()) {
    tensors.push_back({hlo.shape(), wanted, {}, /*is_result=*/true});
    tensors.back().readers = ReadersOf(hlo, &reads_of_tuples_);
  } else {
    for (int64_t i = 0; i < hlo.shape().tuple_shapes().size(); ++i) {
      tensors.push_back({hlo.shape().tuple_shapes(i),
                         wanted.IsTuple() ? wanted.tuple_elements()[i] : wanted,
                         {},
                         /*is_result=*/true});
    }
  }
  const auto has_price = [](const FactorTensor& tensor) {
    return tensor.sharding.IsSingleDeviceLeaf() || IsPriced(tensor.sharding);
  };
  if (!absl::c_all_of(tensors, has_price)) return candidates[0];
  const HloSharding* best = nullptr;
  double fewest = 0;
  for (const HloSharding& candidate : candidates) {
    double bytes = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      bytes += tensors[i].is_result
                   ? BytesToReaders(tensors[i], candidate)
                   : RouteBytes(tensors[i].shape, tensors[i].sharding,
                                of_operand == nullptr
                                    ? candidate
                                    : of_operand(numbers[i], candidate));
    }
    if (best != nullptr && bytes >= fewest) continue;
    best = &candidate;
    fewest = bytes;
  }
  return *best;
}

HloSharding SpmdPartitioningVisitor::WithWholeDims(
    const HloInstruction& hlo, const HloSharding& sharding,
    absl::Span<const int64_t> dims, const ShardingOfOperand& of_operand) {
  const Shape& shape =
      hlo.shape().IsTuple() ? hlo.shape().tuple_shapes(0) : hlo.shape();
  std::vector<HloSharding> candidates = {MoveTilesOff(shape, sharding, dims)};
  if (!IsPriced(sharding)) return candidates[0];
  const auto add = [&](HloSharding candidate) {
    if (IsCut(candidate) && !absl::c_linear_search(candidates, candidate)) {
      candidates.push_back(std::move(candidate));
    }
  };
  add(ReplicatedOnDims(sharding, dims));
  for (const HloInstruction* operand : hlo.operands()) {
    const HloSharding& present = GetPartitionedHlo(operand).sharding();
    if (!IsPriced(present) || !present.IsTiledLeaf() ||
        operand->shape().dimensions().size() != shape.dimensions().size()) {
      continue;
    }
    add(ReplicatedOnDims(present, dims));
    add(MoveTilesOff(shape, present, dims));
  }
  if (ShapeSizeInBytes(shape) <= kMostComputedEverywhere) {
    candidates.push_back(HloSharding::Replicate());
  }
  return WhereLeastMoves(hlo, candidates, of_operand);
}

std::optional<HloSharding> SpmdPartitioningVisitor::GatheredForDots(
    const HloInstruction& reader, int64_t index) {
  const HloInstruction& operand = *reader.operand(index);
  const HloSharding& sharding = GetPartitionedHlo(&operand).sharding();
  if (reader.opcode() != HloOpcode::kDot || !sharding.IsTiledLeaf() ||
      !IsPriced(sharding)) {
    return std::nullopt;
  }
  const HloSharding gathered =
      ReplicatedOnDims(sharding, Contracted(reader, index));
  if (gathered == sharding) return std::nullopt;
  const auto [it, is_new] = dots_of_operand_.try_emplace({&operand, gathered});
  if (is_new) it->second = DotsThatGather(operand, sharding, gathered);
  const DotsOfOperand& dots = it->second;
  const bool is_one = MayGather(reader, operand, sharding, gathered);
  if (dots.count == (is_one ? 1 : 0) ||
      dots.bytes_gathered >= dots.bytes_scattered) {
    return std::nullopt;
  }
  return gathered;
}

}  // namespace xla::spmd
