#include "xla/hlo/transforms/spmd/halo_exchange.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace xla::spmd {
namespace {

constexpr int64_t kMostRounds = 4;

// More rounds than these are not merged.
constexpr size_t kMostMergedRounds = 16;

// What two rounds would take less as one; 0 where a shard would send or receive
// twice.
int64_t SavedByMerging(const HaloPlan::Round& a, const HaloPlan::Round& b) {
  const auto meet = [](const std::vector<int64_t>& some,
                       const std::vector<int64_t>& others) {
    return absl::c_any_of(some, [&](int64_t shard) {
      return absl::c_linear_search(others, shard);
    });
  };
  if (meet(a.from, b.from) || meet(a.to, b.to)) return 0;
  const int64_t hull = std::max(a.high, b.high) - std::min(a.low, b.low);
  return (a.high - a.low) + (b.high - b.low) - hull;
}

// Rounds of different pieces, the two that save most first.
void MergeRounds(HaloPlan* plan) {
  while (plan->rounds.size() <= kMostMergedRounds) {
    int64_t best = 0, into = 0, merged = 0;
    for (size_t i = 0; i < plan->rounds.size(); ++i) {
      for (size_t j = i + 1; j < plan->rounds.size(); ++j) {
        const int64_t saved = SavedByMerging(plan->rounds[i], plan->rounds[j]);
        if (saved <= best) continue;
        best = saved;
        into = i;
        merged = j;
      }
    }
    if (best == 0) return;
    HaloPlan::Round& a = plan->rounds[into];
    const HaloPlan::Round& b = plan->rounds[merged];
    a.from.insert(a.from.end(), b.from.begin(), b.from.end());
    a.to.insert(a.to.end(), b.to.begin(), b.to.end());
    a.low = std::min(a.low, b.low);
    a.high = std::max(a.high, b.high);
    plan->rounds.erase(plan->rounds.begin() + merged);
    for (HaloPlan::Piece& piece : plan->pieces) {
      for (auto& [round, shards] : piece.receivers) {
        if (round == merged) {
          round = into;
        } else if (round > merged) {
          --round;
        }
      }
    }
  }
}

// Fills in pieces, and what is received, by those that come first.
void PlanPiecesOfHalo(int64_t shard_size,
                      absl::Span<const std::pair<int64_t, int64_t>> needed,
                      HaloPlan* plan) {
  const int64_t shards = needed.size();
  // The shards that get something with each piece: few of those with many
  // pieces.
  std::vector<std::vector<int64_t>> receivers(1);
  for (int64_t to = 0; to < shards; ++to) {
    const auto [low, high] = needed[to];
    if (high == low) continue;
    const int64_t last = (high - 1) / shard_size - plan->first[to];
    if (last >= receivers.size()) receivers.resize(last + 1);
    for (int64_t q = low / shard_size - plan->first[to];
         q <= last && plan->first[to] + q < shards; ++q) {
      receivers[q].push_back(to);
    }
  }
  std::vector<int64_t> sent(shards, 0);
  for (int64_t q = 0; q < receivers.size(); ++q) {
    HaloPlan::Piece piece;
    const int64_t first_round = plan->rounds.size();
    for (int64_t to : receivers[q]) {
      const int64_t from = plan->first[to] + q;
      if (from == to) {
        piece.own = true;
        continue;
      }
      const int64_t low = std::max(needed[to].first, from * shard_size);
      const int64_t high = std::min(needed[to].second, (from + 1) * shard_size);
      const int64_t round = first_round + sent[from]++;
      if (round == static_cast<int64_t>(plan->rounds.size())) {
        plan->rounds.push_back({{}, {}, shard_size, 0});
        piece.receivers.push_back({round, {}});
      }
      HaloPlan::Round& r = plan->rounds[round];
      r.from.push_back(from);
      r.to.push_back(to);
      r.low = std::min(r.low, low - from * shard_size);
      r.high = std::max(r.high, high - from * shard_size);
      piece.receivers[round - first_round].second.push_back(to);
    }
    for (int64_t to : receivers[q]) sent[plan->first[to] + q] = 0;
    plan->pieces.push_back(std::move(piece));
  }
  MergeRounds(plan);
  for (const HaloPlan::Round& r : plan->rounds) {
    plan->received += r.high - r.low;
  }
}

}  // namespace

// Each device's interval is assembled from consecutive pieces, one per shard
// that it overlaps: piece q of device i comes from shard first[i] + q. A
// collective-permute delivers to each device from one source only, and each
// source may send one message per permute, so the transfers of a piece are
// distributed over rounds. A round moves the hull [low, high) of all its
// transfers, which is why intervals of similar offsets are cheapest. Where to
// begin is tried in three ways: at the first shard that is read, also where
// intervals that begin before the whole have one more in front; and equally far
// from all shards.
HaloPlan PlanHaloExchange(int64_t base_size, int64_t shard_size,
                          const ShardIntervals& intervals) {
  const int64_t shards = intervals.start.size();
  // [low, high) of the elements at hand.
  std::vector<std::pair<int64_t, int64_t>> needed;
  std::vector<int64_t> in_front, first_read;
  bool from_left = false, from_elsewhere = false;
  int64_t nearest = shards;
  for (int64_t i = 0; i < shards; ++i) {
    const int64_t start = intervals.start[i];
    const int64_t unread = intervals.unread.empty() ? 0 : intervals.unread[i];
    const int64_t low = std::clamp<int64_t>(start + unread, 0, base_size);
    const int64_t high =
        std::clamp<int64_t>(start + intervals.needed[i], low, base_size);
    needed.push_back({low, high});
    first_read.push_back(std::min(low / shard_size, shards - 1));
    in_front.push_back(start < 0 ? -1 : first_read.back());
    if (high == low) continue;
    nearest = std::min(nearest, first_read.back() - i);
    if (i > 0) {
      (in_front.back() == i - 1 ? from_left : from_elsewhere) = true;
    }
  }
  // Left neighbors are one piece for all: the first shard has none.
  if (from_left && !from_elsewhere && in_front[0] == 0) in_front[0] = -1;
  HaloPlan best;
  best.first = std::move(in_front);
  PlanPiecesOfHalo(shard_size, needed, &best);
  if (best.received == 0) return best;
  const auto offer = [&](std::vector<int64_t> first) {
    HaloPlan plan;
    plan.first = std::move(first);
    PlanPiecesOfHalo(shard_size, needed, &plan);
    // One more piece is what neighbors on both sides may take.
    if (plan.received < best.received &&
        plan.pieces.size() <= best.pieces.size() + 1) {
      best = std::move(plan);
    }
  };
  if (nearest < shards) {
    std::vector<int64_t> alike;
    for (int64_t i = 0; i < shards; ++i) alike.push_back(i + nearest);
    offer(std::move(alike));
  }
  offer(std::move(first_read));
  return best;
}

// Whether halos move fewer bytes than gathering the dimension would. With many
// rounds the latency of permutes counts against them.
bool CanFetchIntervals(int64_t base_size, int64_t num_shards,
                       const ShardIntervals& intervals) {
  const int64_t shard_size = CeilOfRatio(base_size, num_shards);
  if (base_size == 0 || intervals.size == 0) return false;
  const HaloPlan plan = PlanHaloExchange(base_size, shard_size, intervals);
  const int64_t rounds = plan.rounds.size();
  // One gather starts sooner than many permutes.
  const int64_t gathered = (num_shards - 1) * shard_size;
  return plan.received == 0 ||
         plan.received < (rounds > kMostRounds ? gathered / 2 : gathered);
}

double BytesOfIntervals(int64_t base_size, const ShardIntervals& intervals,
                        int64_t dim, Shape* shard) {
  shard->set_dimensions(
      dim,
      PlanHaloExchange(base_size, shard->dimensions(dim), intervals).received);
  const double bytes = ShapeUtil::ByteSizeOfElements(*shard);
  shard->set_dimensions(dim, intervals.size);
  return bytes;
}

namespace {

// Emits a plan. All devices run the same program, so everything that depends on
// the device (where its interval begins, whether a round is for it) is looked
// up in tables by partition id.
class HaloExchange {
 public:
  HaloExchange(HloInstruction* shard, const HloSharding& sharding, int64_t dim,
               const PartitionedHlo::PartitioningState& state,
               HloInstruction* shard_ordinal)
      : shard_(shard),
        dim_(dim),
        state_(state),
        b_(state.b),
        shard_ordinal_(shard_ordinal),
        ordinals_(OrdinalTable(sharding, dim)),
        groups_(GetPartitionGroupsForReplication(sharding, {dim})
                    ->flattened_replica_groups()),
        shard_size_(shard->shape().dimensions(dim)) {}

  HloInstruction* Run(const HaloPlan& plan, const ShardIntervals& intervals);
  HloInstruction* Mask(HloInstruction* window, int64_t base_size,
                       const ShardIntervals& intervals,
                       HloInstruction* pad_value);

 private:
  Shape WithSize(int64_t size) const {
    Shape shape = ShapeUtil::MakeShape(shard_->shape().element_type(),
                                       shard_->shape().dimensions());
    shape.set_dimensions(dim_, size);
    return shape;
  }
  // By ordinal → scalar of this device.
  HloInstruction* Lookup(const std::vector<int64_t>& by_ordinal) {
    if (shard_ordinal_ != nullptr) {
      return TableLookup(by_ordinal, S32, shard_ordinal_, b_);
    }
    std::vector<int64_t> table;
    for (int64_t ordinal : ordinals_) table.push_back(by_ordinal[ordinal]);
    return TableLookup(table, S32, state_.partition_id, b_);
  }
  HloInstruction* Pad(HloInstruction* hlo, int64_t low, int64_t high);
  void Receive(const HaloPlan::Round& round);
  HloInstruction* PieceOf(const HaloPlan::Piece& piece,
                          const std::vector<int64_t>& first, int64_t q);

  HloInstruction* shard_;
  int64_t dim_;
  const PartitionedHlo::PartitioningState& state_;
  SpmdBuilder* b_;
  HloInstruction* shard_ordinal_;
  std::vector<int64_t> ordinals_;
  std::vector<std::vector<int64_t>> groups_;
  int64_t shard_size_;
  // By round.
  std::vector<HloInstruction*> received_;
};

HloInstruction* HaloExchange::Pad(HloInstruction* hlo, int64_t low,
                                  int64_t high) {
  if (low == 0 && high == 0) return hlo;
  PaddingConfig config = MakeNoPaddingConfig(hlo->shape().dimensions().size());
  config.mutable_dimensions(dim_)->set_edge_padding_low(low);
  config.mutable_dimensions(dim_)->set_edge_padding_high(high);
  return b_->AddInstruction(HloInstruction::CreatePad(
      WithSize(hlo->shape().dimensions(dim_) + low + high), hlo,
      CreateScalar(LiteralUtil::Zero(hlo->shape().element_type()), b_),
      config));
}

// The received part, padded back to its place within a shard.
void HaloExchange::Receive(const HaloPlan::Round& round) {
  HloInstruction* part = SliceDim(shard_, dim_, round.low, round.high, b_);
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const std::vector<int64_t>& group : groups_) {
    for (size_t i = 0; i < round.from.size(); ++i) {
      pairs.push_back({group[round.from[i]], group[round.to[i]]});
    }
  }
  absl::c_sort(pairs);
  HloInstruction* received =
      state_.collective_ops_creator.create_collective_permute(
          b_, part, pairs, (*state_.next_channel_id)++);
  received_.push_back(Pad(received, round.low, shard_size_ - round.high));
}

// Piece q of every device: its own shard, or whatever round brings it, chosen
// by select.
HloInstruction* HaloExchange::PieceOf(const HaloPlan::Piece& piece,
                                      const std::vector<int64_t>& first,
                                      int64_t q) {
  HloInstruction* result = piece.own ? shard_ : nullptr;
  for (const auto& [round, shards] : piece.receivers) {
    HloInstruction* received = received_[round];
    if (result == nullptr) {
      result = received;
      continue;
    }
    std::vector<int64_t> receives(first.size(), 0);
    for (int64_t to : shards) receives[to] = 1;
    HloInstruction* mask = AddCompare(
        Lookup(receives), ComparisonDirection::kNe, CreateR0(0, S32, b_), b_);
    result = b_->AddInstruction(HloInstruction::CreateTernary(
        shard_->shape(), HloOpcode::kSelect,
        CreateBroadcast(mask, shard_->shape().dimensions(), b_), received,
        result));
  }
  // Nobody needs it.
  return result == nullptr ? shard_ : result;
}

// Concatenates the pieces and slices each device's interval out of them, after
// padding for intervals that begin or end outside.
HloInstruction* HaloExchange::Run(const HaloPlan& plan,
                                  const ShardIntervals& intervals) {
  for (const HaloPlan::Round& round : plan.rounds) Receive(round);
  std::vector<HloInstruction*> pieces;
  for (size_t q = 0; q < plan.pieces.size(); ++q) {
    pieces.push_back(PieceOf(plan.pieces[q], plan.first, q));
  }
  const int64_t covered = shard_size_ * pieces.size();
  HloInstruction* all =
      pieces.size() == 1 ? pieces[0]
                         : b_->AddInstruction(HloInstruction::CreateConcatenate(
                               WithSize(covered), pieces, dim_));
  // Where the interval begins in that, and what it lacks on either side.
  std::vector<int64_t> shift;
  int64_t low = 0, high = 0;
  for (size_t i = 0; i < plan.first.size(); ++i) {
    // Intervals wholly outside: any place will do.
    int64_t begin = intervals.start[i] - plan.first[i] * shard_size_;
    begin = std::clamp<int64_t>(begin, -intervals.size, covered);
    shift.push_back(begin);
    low = std::max(low, -begin);
    high = std::max(high, begin + intervals.size - covered);
  }
  all = Pad(all, low, high);
  for (int64_t& begin : shift) begin += low;
  if (all->shape().dimensions(dim_) == intervals.size) return all;
  return WindowAt(all, dim_, Lookup(shift), intervals.size, b_);
}

// Replaces elements outside of the whole array by the padding value; they hold
// garbage from shard padding or neighbors.
HloInstruction* HaloExchange::Mask(HloInstruction* window, int64_t base_size,
                                   const ShardIntervals& intervals,
                                   HloInstruction* pad_value) {
  const bool outside = absl::c_any_of(intervals.start, [&](int64_t start) {
    return start < 0 || start + intervals.size > base_size;
  });
  if (!outside) return window;
  const Shape index_shape =
      ShapeUtil::MakeShape(S32, window->shape().dimensions());
  HloInstruction* iota =
      b_->AddInstruction(HloInstruction::CreateIota(index_shape, dim_));
  HloInstruction* index = AddBinary(
      HloOpcode::kAdd, iota,
      CreateBroadcast(Lookup(intervals.start), index_shape.dimensions(), b_),
      b_);
  const auto splat = [&](int64_t value) {
    return CreateBroadcast(CreateR0(value, S32, b_), index_shape.dimensions(),
                           b_);
  };
  HloInstruction* valid = AddBinary(
      HloOpcode::kAnd,
      AddCompare(index, ComparisonDirection::kGe, splat(0), b_),
      AddCompare(index, ComparisonDirection::kLt, splat(base_size), b_), b_);
  return b_->AddInstruction(HloInstruction::CreateTernary(
      window->shape(), HloOpcode::kSelect, valid, window,
      CreateBroadcast(pad_value, window->shape().dimensions(), b_)));
}

}  // namespace

HloInstruction* ExchangeIntervals(
    HloInstruction* shard, const HloSharding& sharding, int64_t dim,
    int64_t base_size, const ShardIntervals& intervals,
    HloInstruction* pad_value, const PartitionedHlo::PartitioningState& state,
    HloInstruction* shard_ordinal) {
  const HaloPlan plan =
      PlanHaloExchange(base_size, shard->shape().dimensions(dim), intervals);
  HaloExchange exchange(shard, sharding, dim, state, shard_ordinal);
  HloInstruction* window = exchange.Run(plan, intervals);
  if (pad_value == nullptr) return window;
  return exchange.Mask(window, base_size, intervals, pad_value);
}

std::optional<HloInstruction*> FetchIntervals(
    HloInstruction* shard, const HloSharding& sharding, int64_t dim,
    int64_t base_size, const ShardIntervals& intervals,
    HloInstruction* pad_value, const PartitionedHlo::PartitioningState& state) {
  if (!CanFetchIntervals(base_size, intervals.start.size(), intervals)) {
    return std::nullopt;
  }
  return ExchangeIntervals(shard, sharding, dim, base_size, intervals,
                           pad_value, state);
}

}  // namespace xla::spmd
