#include "xla/hlo/transforms/spmd/reshard_pieces.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {
namespace {

// More devices, or more pieces than these, are not looked at.
constexpr int64_t kMaxDevices = 64;
constexpr int64_t kMaxPieces = 1024;
constexpr int64_t kMaxRounds = 12;

using Index = std::vector<int64_t>;

// Elements [low, high) of the whole.
struct Piece {
  int64_t sender, receiver;
  Index low, high;
  double Volume() const {
    double volume = 1;
    for (size_t d = 0; d < low.size(); ++d) volume *= high[d] - low[d];
    return volume;
  }
};

bool OnlyTilesAndCopies(const HloSharding& sharding) {
  return sharding.IsTiledLeaf() &&
         absl::c_all_of(sharding.subgroup_types(), [](OpSharding::Type type) {
           return type == OpSharding::REPLICATED;
         });
}

double VolumeOf(absl::Span<const int64_t> dims) {
  double product = 1;
  for (int64_t d : dims) product *= d;
  return product;
}

// The tiles of a sharding: their sizes, and by device which one it has.
struct TilesOfDevices {
  Index sizes;
  std::vector<Index> of_device;
};

TilesOfDevices TilesOf(const Shape& shape, const HloSharding& sharding) {
  const size_t rank = shape.dimensions().size();
  TilesOfDevices tiles;
  for (size_t d = 0; d < rank; ++d) {
    tiles.sizes.push_back(
        CeilOfRatio(shape.dimensions(d), ShardCountAtDim(sharding, d)));
  }
  tiles.of_device.resize(sharding.tile_assignment().num_elements());
  sharding.tile_assignment().Each(
      [&](absl::Span<const int64_t> index, int64_t device) {
        tiles.of_device[device].assign(index.begin(), index.begin() + rank);
      });
  return tiles;
}

// Cuts what each device is to have into parts that lie in one tile of the
// source each; a device sends those that it already has to itself. False if
// there are too many.
bool CollectPieces(const Shape& shape, const TilesOfDevices& source,
                   const TilesOfDevices& target, std::vector<Piece>* pieces) {
  const size_t rank = shape.dimensions().size();
  const int64_t devices = source.of_device.size();
  std::map<Index, std::vector<int64_t>> owners;
  for (int64_t id = 0; id < devices; ++id) {
    owners[source.of_device[id]].push_back(id);
  }
  Index sent(devices, 0);
  for (int64_t id = 0; id < devices; ++id) {
    Index low(rank), high(rank), first(rank), last(rank);
    bool empty = false;
    for (size_t d = 0; d < rank; ++d) {
      low[d] = target.of_device[id][d] * target.sizes[d];
      high[d] = std::min(shape.dimensions(d), low[d] + target.sizes[d]);
      empty |= low[d] >= high[d];
      first[d] = low[d] / source.sizes[d];
      last[d] = (high[d] - 1) / source.sizes[d];
    }
    if (empty) continue;
    for (Index tile = first;;) {
      Piece piece{id, id, low, high};
      for (size_t d = 0; d < rank; ++d) {
        const int64_t begin = tile[d] * source.sizes[d];
        piece.low[d] = std::max(low[d], begin);
        piece.high[d] = std::min(high[d], begin + source.sizes[d]);
      }
      if (tile != source.of_device[id]) {
        const std::vector<int64_t>& senders = owners.at(tile);
        piece.sender = *absl::c_min_element(
            senders, [&](int64_t a, int64_t b) { return sent[a] < sent[b]; });
        ++sent[piece.sender];
      }
      pieces->push_back(std::move(piece));
      if (static_cast<int64_t>(pieces->size()) > kMaxPieces) return false;
      size_t d = rank;
      while (d > 0 && tile[d - 1] == last[d - 1]) {
        tile[d - 1] = first[d - 1];
        --d;
      }
      if (d == 0) break;
      ++tile[d - 1];
    }
  }
  return true;
}

// A collective-permute lets each device send once and receive once, and all
// pieces have one shape, the bounding box of what travels. So a round is a
// matching of senders and receivers that costs as much as its box: a greedy
// choice, like first fit decreasing for bins. The largest pieces come first,
// and a piece joins the round whose box grows least, if it grows by no more
// than a round of its own would cost. Nullopt: more rounds than a plan may
// have.
std::optional<std::vector<std::vector<Piece>>> RoundsOf(
    std::vector<Piece> pieces) {
  absl::c_stable_sort(pieces, [](const Piece& a, const Piece& b) {
    return a.Volume() > b.Volume();
  });
  std::vector<std::vector<Piece>> rounds;
  std::vector<Index> sizes;
  for (Piece& piece : pieces) {
    int64_t best = -1;
    double least = piece.Volume();
    Index best_size;
    for (size_t r = 0; r < rounds.size(); ++r) {
      if (absl::c_any_of(rounds[r], [&](const Piece& other) {
            return other.sender == piece.sender ||
                   other.receiver == piece.receiver;
          })) {
        continue;
      }
      Index size = sizes[r];
      for (size_t d = 0; d < size.size(); ++d) {
        size[d] = std::max(size[d], piece.high[d] - piece.low[d]);
      }
      const double growth = VolumeOf(size) - VolumeOf(sizes[r]);
      if (growth <= least && (best < 0 || growth < least)) {
        least = growth;
        best = r;
        best_size = std::move(size);
      }
    }
    if (best < 0) {
      best = rounds.size();
      if (best == kMaxRounds) return std::nullopt;
      rounds.emplace_back();
      sizes.emplace_back();
      for (size_t d = 0; d < piece.low.size(); ++d) {
        best_size.push_back(piece.high[d] - piece.low[d]);
      }
    }
    sizes[best] = std::move(best_size);
    rounds[best].push_back(std::move(piece));
  }
  return rounds;
}

// All pieces of a round have the size of the largest one. A shorter one gets
// more elements of the sender's shard, from behind it as far as there are any,
// else from before it. These arrive at their true places in the receiver's
// shard, or outside it: what they overwrite are the same elements, so no piece
// spoils another.
PieceRound RoundOf(const std::vector<Piece>& pieces,
                   const TilesOfDevices& source, const TilesOfDevices& target) {
  const size_t rank = source.sizes.size();
  const size_t devices = source.of_device.size();
  PieceRound round;
  round.dims.resize(rank, 0);
  round.from.assign(rank, Index(devices, 0));
  round.to = round.from;
  round.receives.assign(devices, false);
  for (const Piece& piece : pieces) {
    for (size_t d = 0; d < rank; ++d) {
      round.dims[d] = std::max(round.dims[d], piece.high[d] - piece.low[d]);
    }
  }
  for (const Piece& piece : pieces) {
    if (piece.sender != piece.receiver) {
      round.pairs.push_back({piece.sender, piece.receiver});
    }
    round.receives[piece.receiver] = true;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t begin = source.of_device[piece.sender][d] * source.sizes[d];
      const int64_t start =
          std::min(piece.low[d] - begin, source.sizes[d] - round.dims[d]);
      round.from[d][piece.sender] = start;
      round.to[d][piece.receiver] =
          begin + start - target.of_device[piece.receiver][d] * target.sizes[d];
    }
  }
  absl::c_sort(round.pairs);
  return round;
}

}  // namespace

std::optional<PiecePlan> PlanPieces(const Shape& base_shape,
                                    const HloSharding& source,
                                    const HloSharding& target) {
  if (!OnlyTilesAndCopies(source) || !OnlyTilesAndCopies(target) ||
      ShapeUtil::IsZeroElementArray(base_shape) ||
      base_shape.dimensions().empty() ||
      source.tile_assignment().num_elements() > kMaxDevices ||
      source.tile_assignment().num_elements() !=
          target.tile_assignment().num_elements()) {
    return std::nullopt;
  }
  const TilesOfDevices from = TilesOf(base_shape, source);
  const TilesOfDevices to = TilesOf(base_shape, target);
  std::vector<Piece> pieces;
  if (!CollectPieces(base_shape, from, to, &pieces)) return std::nullopt;
  std::vector<Piece> kept, moved;
  for (Piece& piece : pieces) {
    (piece.sender == piece.receiver ? kept : moved).push_back(std::move(piece));
  }
  PiecePlan plan;
  if (!kept.empty()) plan.rounds.push_back(RoundOf(kept, from, to));
  const std::optional<std::vector<std::vector<Piece>>> rounds =
      RoundsOf(std::move(moved));
  if (!rounds.has_value()) return std::nullopt;
  for (const std::vector<Piece>& together : *rounds) {
    plan.rounds.push_back(RoundOf(together, from, to));
    plan.bytes += VolumeOf(plan.rounds.back().dims) *
                  ShapeUtil::ByteSizeOfPrimitiveType(base_shape.element_type());
  }
  if (static_cast<int64_t>(plan.rounds.size()) > kMaxRounds) {
    return std::nullopt;
  }
  return plan;
}

// Pieces are written into a shard with room around it: for what they have more
// than they need, and in front of it for what devices that receive nothing
// write, zeros.
PartitionedHlo PartitionedHlo::ReshardByPieces(
    const PiecePlan& plan, const HloSharding& target) const {
  SpmdBuilder* b = state_.b;
  const Shape shard = MakePartitionedShape(base_shape_, target);
  const int64_t rank = num_dimensions();
  std::vector<int64_t> before(rank, 0), behind(rank, 0);
  for (const PieceRound& round : plan.rounds) {
    for (size_t id = 0; id < round.receives.size(); ++id) {
      if (!round.receives[id]) {
        before[0] = std::max(before[0], round.dims[0]);
        continue;
      }
      for (int64_t d = 0; d < rank; ++d) {
        before[d] = std::max(before[d], -round.to[d][id]);
        behind[d] = std::max(
            behind[d], round.to[d][id] + round.dims[d] - shard.dimensions(d));
      }
    }
  }
  Shape room = shard;
  for (int64_t d = 0; d < rank; ++d) {
    room.set_dimensions(d, before[d] + shard.dimensions(d) + behind[d]);
  }
  HloInstruction* result = CreateZero(room, b);
  for (const PieceRound& round : plan.rounds) {
    std::vector<HloInstruction*> to;
    for (int64_t d = 0; d < rank; ++d) {
      std::vector<int64_t> places = round.to[d];
      for (size_t id = 0; id < places.size(); ++id) {
        if (!round.receives[id]) places[id] = d == 0 ? -round.dims[0] : 0;
        places[id] += before[d];
      }
      to.push_back(TableLookup(places, S32, state_.partition_id, b));
    }
    HloInstruction* piece = hlo_;
    if (!absl::c_equal(hlo_->shape().dimensions(), round.dims)) {
      std::vector<HloInstruction*> from;
      for (const std::vector<int64_t>& places : round.from) {
        from.push_back(TableLookup(places, S32, state_.partition_id, b));
      }
      piece = b->AddInstruction(HloInstruction::CreateDynamicSlice(
          ShapeUtil::MakeShape(shard.element_type(), round.dims), hlo_, from,
          round.dims));
    }
    if (!round.pairs.empty()) {
      std::vector<std::pair<int64_t, int64_t>> pairs = round.pairs;
      piece = state_.collective_ops_creator.create_collective_permute(
          b, piece, pairs, NewChannel());
    }
    result = b->AddInstruction(
        HloInstruction::CreateDynamicUpdateSlice(room, result, piece, to));
  }
  for (int64_t d = 0; d < rank; ++d) {
    result = SliceDim(result, d, before[d], before[d] + shard.dimensions(d), b);
  }
  result->set_sharding(target);
  return PartitionedHlo(result, base_shape_, state_);
}

}  // namespace xla::spmd
