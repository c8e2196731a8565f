#ifndef XLA_HLO_TRANSFORMS_SPMD_PARTITIONED_HLO_MX_H_
#define XLA_HLO_TRANSFORMS_SPMD_PARTITIONED_HLO_MX_H_

#include <cstdint>
#include <utility>
#include <variant>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/shape.h"

namespace xla::spmd {

// Whether cutting `size` elements evenly into `tiles` cuts between the blocks
// of a dimension that has `blocks` scales; a single scale allows any cut.
//
//   size 12, 4 blocks, 2 tiles: yes; 3 tiles: no, 4 elements are 4/3 blocks
bool CutsBetweenBlocks(int64_t size, int64_t blocks, int64_t tiles);

// The sharding of the scales of values that have `sharding`: not cut along
// dimensions that have one scale, nor if tiles would end within a block.
HloSharding ScaleSharding(const HloSharding& sharding, const Shape& operand,
                          const Shape& scale);

// An operand of a scaled dot: values, and one scale for each block of them.
class PartitionedHloMX {
 public:
  class ShapesMX {
   public:
    ShapesMX(const Shape& operand_shape, const Shape& scale_shape)
        : shapes_(operand_shape, scale_shape) {}
    // Those of the values.
    absl::Span<const int64_t> dimensions() const {
      return shapes_.first.dimensions();
    }
    operator Shape() const { return shapes_.first; }
    operator std::pair<Shape, Shape>() const { return shapes_; }

   private:
    std::pair<Shape, Shape> shapes_;
  };

  PartitionedHloMX(const PartitionedHlo& operand, const PartitionedHlo& scale)
      : operand_(operand), scale_(scale) {}

  PartitionedHlo operand() const { return operand_; }
  PartitionedHlo scale() const { return scale_; }

  // Instruction and sharding of the values, not of the scales.
  HloInstruction* hlo() const { return operand_.hlo(); }
  const HloSharding& sharding() const { return operand_.sharding(); }
  const PartitionedHlo::PartitioningState& state() const {
    return operand_.state();
  }
  // Sets the sharding of the values; scales follow as ScaleSharding says.
  void set_sharding(const HloSharding& sharding);
  void set_sharding_may_convert_to_v2() const {
    operand_.set_sharding_may_convert_to_v2();
    scale_.set_sharding_may_convert_to_v2();
  }
  ShapesMX base_shape() const {
    return ShapesMX(operand_.base_shape(), scale_.base_shape());
  }

  PartitionedHloMX Replicate() const;
  // The values under `target`, scales under its ScaleSharding.
  PartitionedHloMX Reshard(const HloSharding& target) const;
  // Values beyond the whole become 0, their scales 1 (scale types have no 0).
  PartitionedHloMX PadWithZero(
      absl::Span<const int64_t> left_padded_dims = {},
      absl::Span<const int64_t> skipped_dims = {}) const;
  PartitionedHloMX PadWithZeroOnSpecifiedDims(
      absl::Span<const int64_t> dims,
      absl::Span<const int64_t> left_padded_dims = {}) const;

 private:
  PartitionedHlo operand_;
  PartitionedHlo scale_;
};

using PartitionedHloMaybeMX = std::variant<PartitionedHlo, PartitionedHloMX>;

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_PARTITIONED_HLO_MX_H_
