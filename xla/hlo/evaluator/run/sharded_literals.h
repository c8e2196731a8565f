#ifndef XLA_HLO_EVALUATOR_RUN_SHARDED_LITERALS_H_
#define XLA_HLO_EVALUATOR_RUN_SHARDED_LITERALS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/run/literal_difference.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/literal.h"
#include "xla/shape.h"

namespace xla {

// Values of a whole module, and the shards of them that devices hold.
//
//   f32[5] {1 2 3 4 5}, {devices=[4]<=[4]}:  {1 2} {3 4} {5 x} {x x}
//
// x is poison, which no valid element may depend on: NaN for floats that have
// it, the extremes of the type for others, so that neighbors hold different
// ones. So is every copy of a maximal value that its device does not own. A
// {manual} or {unknown} leaf is a value of its own on each device; splitting
// gives each the whole.
//
// The shards of an unreduced value are addends. Splitting gives the value to
// the first device of a group and zero to the others (of maxima the least
// value, of minima the largest), and whatever addends come back are reduced
// before they are looked at.
//
// All functions take arrays and tuples. InvalidArgument for shardings that do
// not fit the shape or the number of devices.

// One shard per device, of the shape that sharding.TileShape says.
absl::StatusOr<std::vector<Literal>> SplitLiteral(const LiteralSlice& whole,
                                                  const HloSharding& sharding,
                                                  int64_t num_devices);

// The value of `shape` whose shards these are, from the valid part of the first
// device that holds each tile.
absl::StatusOr<Literal> AssembleLiteral(
    const Shape& shape, const HloSharding& sharding,
    absl::Span<const Literal* const> shards);

// Tolerance between elements; unset: by type (see FindDifferenceByType).
struct ShardTolerance {
  std::optional<Tolerance> tolerance;
  double scale = 1;
  // Takes how far elements are apart; null: not wanted.
  LiteralErrors* errors = nullptr;
};

// Holds the valid part of every shard against that of the whole value, on each
// device against its own: `whole` has one value per device, which may be the
// same one. Says where the first difference is, in indices of the shard.
absl::StatusOr<std::optional<std::string>> FindShardDifference(
    absl::Span<const Literal* const> whole, const HloSharding& sharding,
    absl::Span<const Literal* const> shards, const ShardTolerance& tolerance);

// Whether devices that hold the same tile hold the same elements, bit for bit
// but for NaN. Leaves that are manual, unknown or on one device have no copies.
absl::StatusOr<std::optional<std::string>> FindReplicaDifference(
    const Shape& shape, const HloSharding& sharding,
    absl::Span<const Literal* const> shards);

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_RUN_SHARDED_LITERALS_H_
