#ifndef XLA_BACKENDS_GPU_MODEL_TILING_TILED_PERFORMANCE_MODEL_H_
#define XLA_BACKENDS_GPU_MODEL_TILING_TILED_PERFORMANCE_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/cost/instruction_flops.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/backends/gpu/model/tiling/tiled_kernel.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/hlo_traversal.h"

namespace xla::gpu {

// The parameters of a fusion for a tiling compiler.
struct BlockLevelParameters {
  // By output and dimension.
  std::vector<std::vector<int64_t>> output_tile_sizes;
  int64_t num_warps = 1;
  int32_t num_ctas = 1;
  int32_t num_stages = 1;
};

// Turns it into a fusion of a tiling compiler: kind=kCustom, backend_config=
//   {"fusion_backend_config":{"kind":"__triton","block_level_fusion_config":
//     {"num_warps":"4","output_tiles":[{"sizes":["1","128"]}],…}}}
absl::Status SetBlockLevelParameters(const BlockLevelParameters& parameters,
                                     HloInstruction* fusion);

struct TiledRunTimeData {
  EstimateRunTimeData runtime_data;
  BlockLevelParameters block_level_parameters;
};

// How long kernels of a tiling compiler take, by GpuPerformanceModel's
// formulas: blocks are programs, threads those of their warps.
//
//   compute: each value's elements as often as programs compute them, sizes of
//            tiles rounded up to powers of two
//   reads:   what is needed of an operand at all comes from memory, in whole
//            transactions; what several programs need, again from caches
//
// The values live in a program at once must fit into half of a block's
// registers; the other half is for addresses, masks and what is on the way.
class TiledPerformanceModel {
 public:
  // The device must outlive the model.
  explicit TiledPerformanceModel(
      const stream_executor::DeviceDescription& device,
      KernelTarget target = KernelTarget::kXla)
      : device_(device), target_(target) {}

  // The fastest sizes of tiles found: powers of two or whole dimensions. Tries
  // every other power, at most 64 combinations, and steps from the best one
  // to faster neighbors; all powers where none of these is possible.
  // Unimplemented if the fusion cannot be tiled (tiled_kernel.h),
  // ResourceExhausted if all tilings need too many registers. O(tilings *
  // instructions) once for each structure (tiled_kernel.h): layers of a model
  // that are alike are searched once.
  absl::StatusOr<TiledRunTimeData> TryFindBestTilingForFusion(
      const HloFusionAdaptor& fusion);

  // Whether there is such a tiling, usually in O(instructions).
  absl::Status CanTile(const HloFusionAdaptor& fusion);

  // A given tiling; ResourceExhausted if it needs too many registers.
  absl::StatusOr<TiledRunTimeData> EstimateRunTime(const TiledKernel& tiled);

  // How many searches looked for tilings instead of reusing a result.
  int64_t searches() const { return searches_; }

 private:
  std::string StructureOf(const TileableKernel& kernel);
  double RegistersForValues() const;
  double FlopsOfProgram(const TiledKernel& tiled);
  // Fills in bytes and seconds of what is read.
  void AddReads(const TiledKernel& tiled, EstimateRunTimeData* data) const;
  void AddWrites(const TiledKernel& tiled, EstimateRunTimeData* data) const;

  const stream_executor::DeviceDescription& device_;
  const KernelTarget target_;
  InstructionFlops flops_;
  // By structure. Refusals are not kept: they name an instruction.
  absl::flat_hash_map<std::string, TiledRunTimeData> best_;
  absl::flat_hash_set<std::string> possible_;
  int64_t searches_ = 0;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_TILING_TILED_PERFORMANCE_MODEL_H_
