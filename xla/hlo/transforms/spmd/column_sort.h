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

// Sorts rows that are cut along the sorted dimension, by collectives of fixed
// shapes: Leighton's columnsort. The shards of a row, in their order, are the s
// columns of a matrix; each is padded to a multiple of s, c elements:
//
//   1. sort each column      2. deal: element k of a column to column k mod s
//   3. sort each column      4. give back: row by row, c elements to a column
//   5. sort each column      6. sort the second half of each column together
//                               with the first half of the next
//
// This sorts the row, by the 0-1 principle, which looks at rows of zeros and
// ones only. After step 1 each column has its zeros first, so it deals numbers
// of zeros to any two columns that differ by at most 1, and s columns deal
// numbers that differ by at most s. After steps 3 and 4, what is out of order
// therefore lies within s consecutive rows, s * s consecutive elements. If
// these are no more than half a column, they lie in one column or in two
// neighboring halves, and step 5 or 6 puts them in order.
//
// A device receives less than three columns in steps 2, 4 and 6, however many
// devices there are. Where columns are longer than shards, the sorted elements
// move once more, to the shards that they belong to: less than s * s elements,
// half a column, for each device.

namespace xla::spmd {

struct ColumnSort {
  int64_t dim = 0;
  // Devices of a row, and elements of a row.
  int64_t parts = 0;
  int64_t row_size = 0;
  // Elements of a shard, and with padding up to a multiple of `parts`.
  int64_t part_size = 0;
  int64_t column_size = 0;
  // The operand that says where in its row an element was, which keeps equal
  // elements in order and tells padding from elements; if there is none, one
  // more is made, after the last. Nullopt where equal elements are the same in
  // every bit, and padding is the last value in the order.
  std::optional<int64_t> numbers;
  PrimitiveType number_type = S32;
  // What each device receives, for each element of its shard along `dim`.
  double bits = 0;

  bool has_padding() const { return row_size != column_size * parts; }
};

// How to sort shards under `sharding`, which cuts the sorted dimension. Nullopt
// where the comparator is not known to be an order, or columns are shorter than
// twice the square of the number of devices of a row.
std::optional<ColumnSort> PlanColumnSort(const HloSortInstruction& sort,
                                         const HloSharding& sharding);

// Sorts `operands`, the shards of the operands of `sort`, and returns the
// shards of its results.
std::vector<HloInstruction*> EmitColumnSort(
    const ColumnSort& plan, const HloSortInstruction& sort,
    std::vector<HloInstruction*> operands, const HloSharding& sharding,
    const PartitionedHlo::PartitioningState& state);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_COLUMN_SORT_H_
