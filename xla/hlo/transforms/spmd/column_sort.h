#ifndef XLA_HLO_TRANSFORMS_SPMD_COLUMN_SORT_H_
#define XLA_HLO_TRANSFORMS_SPMD_COLUMN_SORT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/xla_data.pb.h"

// Sorts of rows that are cut along the sorted dimension, by collectives of
// fixed shapes: Leighton's columnsort. The shards of a row, one behind the
// other, are the columns of a matrix of c rows and s columns:
//
//   1. sort columns          2. deal: element k of a column to column k mod s
//   3. sort columns          4. give back: row by row, c elements to a column
//   5. sort columns          6. sort the end of each with the beginning of the
//                               next
//
// That is the order, by the 0-1 principle: behind 1, columns are zeros and then
// ones, so that each deals to any two columns numbers of zeros that differ by 1
// at most, and all columns together ones that differ by s. Behind 3 and 4, what
// is not in order lies in s rows, s * s elements one behind the other. If that
// is half of a column at most, a column or two neighbouring halves hold it all,
// and 5 and 6 put it in order. A device receives less than three times its
// shard, however many devices there are.

namespace xla::spmd {

struct ColumnSort {
  int64_t dim = 0;
  // Devices of a row, and elements of a row.
  int64_t parts = 0;
  int64_t row_size = 0;
  // Elements of a shard, and with padding up to a multiple of `parts`.
  int64_t part_size = 0;
  int64_t column_size = 0;
  // The operand that says where in its row an element was, to keep the order of
  // equal ones and to know padding; one behind the last is made for it. Nullopt
  // where equal elements are the same, and the last value that there is pads.
  std::optional<int64_t> numbers;
  PrimitiveType number_type = S32;
  // What each device receives, for each element of its shard along `dim`.
  double bits = 0;

  bool has_padding() const { return row_size != column_size * parts; }
};

// How to sort shards under `sharding`, of which `dim` has several tiles.
// Nullopt where the comparator is not known to be an order, or shards are
// shorter than twice the square of the number of devices of a row.
std::optional<ColumnSort> PlanColumnSort(const HloSortInstruction& sort,
                                         const HloSharding& sharding);

// The sorted shards, of `operands`, the shards of those of `sort`.
std::vector<HloInstruction*> EmitColumnSort(
    const ColumnSort& plan, const HloSortInstruction& sort,
    std::vector<HloInstruction*> operands, const HloSharding& sharding,
    const PartitionedHlo::PartitioningState& state);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_COLUMN_SORT_H_
