#ifndef XLA_HLO_TRANSFORMS_SPMD_DOT_HANDLER_H_
#define XLA_HLO_TRANSFORMS_SPMD_DOT_HANDLER_H_

#include <functional>
#include <utility>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo_mx.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {

// Multiplies two shards, for HandleDotHelper: operands are cut alike along the
// dimensions they share, and zero in the padding of contracting dimensions. The
// product has the shape of the result's shard, or of a partial sum of it.
//
// What SetCustomCreateSharded is given takes precedence; it may call
// CreateSharded.
class CreateShardedFunctorBase {
 public:
  using Custom = std::function<absl::StatusOr<HloInstruction*>(
      const PartitionedHloMaybeMX&, const PartitionedHloMaybeMX&, SpmdBuilder*,
      const Window&)>;

  virtual ~CreateShardedFunctorBase() = default;

  // `conv_window`: of convolutions; without dimensions for dots.
  virtual absl::StatusOr<HloInstruction*> CreateSharded(
      const PartitionedHloMaybeMX& ll, const PartitionedHloMaybeMX& rr,
      SpmdBuilder* b, const Window& conv_window) const = 0;

  void SetCustomCreateSharded(Custom&& custom_create_sharded) {
    custom_create_sharded_ = std::move(custom_create_sharded);
  }
  bool has_custom_create_sharded() const {
    return custom_create_sharded_ != nullptr;
  }

  absl::StatusOr<HloInstruction*> operator()(
      const PartitionedHloMaybeMX& ll, const PartitionedHloMaybeMX& rr,
      SpmdBuilder* builder, const Window& conv_window,
      bool call_custom_create_sharded = true) const;

 private:
  Custom custom_create_sharded_;
};

// A dot, or a scaled one (whose operands are PartitionedHloMX), of shards.
class CreateShardedDotFunctor : public CreateShardedFunctorBase {
 public:
  explicit CreateShardedDotFunctor(HloInstruction* dot)
      : CreateShardedDotFunctor(dot, dot->dot_dimension_numbers()) {}
  absl::StatusOr<HloInstruction*> CreateSharded(
      const PartitionedHloMaybeMX& ll, const PartitionedHloMaybeMX& rr,
      SpmdBuilder* b, const Window& conv_window) const override;

 protected:
  CreateShardedDotFunctor(HloInstruction* dot,
                          const DotDimensionNumbers& dimension_numbers)
      : dot_(dot), dimension_numbers_(dimension_numbers) {}

 private:
  HloInstruction* dot_;
  DotDimensionNumbers dimension_numbers_;
};

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_DOT_HANDLER_H_
