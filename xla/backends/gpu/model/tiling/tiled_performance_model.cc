#include "xla/backends/gpu/model/tiling/tiled_performance_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/model/cost/kernel_rates.h"
#include "xla/backends/gpu/model/hlo_fusion_analysis.h"
#include "xla/backends/gpu/model/tiling/block_level_parameters.pb.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

// Estimates the run time of a kernel under one tiling, and searches for the
// best tiling. Tile sizes are powers of two (or the whole dimension), so the
// space is a grid of exponents. A coarse grid of every other exponent is tried
// first, limited to kMaxTilings combinations by cutting major dimensions; hill
// climbing over single steps then refines the best point.

namespace xla::gpu {
namespace {

// Before steps to neighbors.
constexpr size_t kMaxTilings = 64;
// The share of a block's registers that holds values.
constexpr double kShareOfRegisters = 0.5;
// Values of 4 bytes that a thread holds before there are more threads.
constexpr int64_t kRegistersPerThread = 32;

double ElementBytes(const Shape& shape) {
  return std::max(ShapeUtil::ElementSizeInBits(shape) / 8.0, 1.0);
}

// How many times the requested bytes are moved, because memory is read in whole
// transactions. Tiles whose contiguous runs are shorter than a transaction
// waste the rest of it; of longer runs the partial transactions at both ends
// are shared with neighboring tiles through the caches.
double Waste(const Shape& shape, const Tile& tile, double transaction) {
  if (!shape.has_layout()) return 1;
  double run = ElementBytes(shape);
  for (int64_t d : shape.layout().minor_to_major()) {
    if (shape.dimensions(d) == 1) continue;
    if (tile[d].stride != 1) break;
    run *= tile[d].size;
    if (tile[d].size < shape.dimensions(d)) break;
  }
  return std::max(transaction / run, 1.0);
}

// The maximum number of 4-byte registers live at once, with values computed in
// the given order and dying at their last use. Values that are recomputed at
// each use (constants, iotas, views) take none.
int64_t LiveRegisters(const TiledKernel& tiled) {
  std::vector<size_t> last_use(tiled.values.size());
  for (size_t i = 0; i < tiled.values.size(); ++i) {
    last_use[i] = i;
    for (int32_t operand : tiled.values[i].operands) last_use[operand] = i;
  }
  std::vector<std::vector<int32_t>> dead(tiled.values.size());
  for (size_t i = 0; i < last_use.size(); ++i) {
    dead[last_use[i]].push_back(static_cast<int32_t>(i));
  }
  auto registers = [&](size_t i) -> int64_t {
    const TiledValue& value = tiled.values[i];
    // Computed where they are used.
    if (HloOpcodeIsOneOf<HloOpcode::kConstant, HloOpcode::kIota,
                         HloOpcode::kBroadcast, HloOpcode::kBitcast,
                         HloOpcode::kReshape>(value.hlo->opcode())) {
      if (!value.is_read) return 0;
    }
    return static_cast<int64_t>(std::ceil(
        PaddedTileElements(value.tile) * ElementBytes(value.hlo->shape()) / 4));
  };
  int64_t live = 0, most = 0;
  for (size_t i = 0; i < tiled.values.size(); ++i) {
    live += registers(i);
    most = std::max(most, live);
    for (int32_t value : dead[i]) live -= registers(value);
  }
  return most;
}

absl::Status CheckRegisters(double registers, double room) {
  if (registers <= room) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "a program needs %.0f registers for values > %.0f", registers, room));
}

// Sizes of tiles along each dimension, rising.
using SizeLists = std::vector<std::vector<int64_t>>;
// One of each list.
using Choice = std::vector<size_t>;

SizeLists PowersOfTwo(const Shape& shape) {
  SizeLists sizes;
  for (int64_t dimension : shape.dimensions()) {
    sizes.emplace_back();
    for (int64_t size = 1; size < dimension; size *= 2) {
      sizes.back().push_back(size);
    }
    sizes.back().push_back(dimension);
  }
  return sizes;
}

double Combinations(const std::vector<Choice>& steps) {
  double combinations = 1;
  for (const Choice& step : steps) combinations *= step.size();
  return combinations;
}

// Every `stride`-th size of each dimension, and the last one. Where these are
// too many combinations, the majormost dimensions are cut into single rows or
// not at all; where these still are, into single rows.
std::vector<Choice> StepsToTry(const SizeLists& sizes, size_t stride) {
  std::vector<Choice> steps;
  for (const std::vector<int64_t>& list : sizes) {
    steps.emplace_back();
    for (size_t i = 0; i + 1 < list.size(); i += stride) {
      steps.back().push_back(i);
    }
    steps.back().push_back(list.size() - 1);
  }
  for (Choice& step : steps) {
    if (Combinations(steps) <= kMaxTilings) break;
    if (step.size() > 2) step = {0, step.back()};
  }
  for (Choice& step : steps) {
    if (Combinations(steps) <= kMaxTilings) break;
    step = {0};
  }
  return steps;
}

// The next combination; false after the last one.
bool Next(const std::vector<Choice>& steps, Choice* position) {
  for (size_t d = 0; d < steps.size(); ++d) {
    if (++(*position)[d] < steps[d].size()) return true;
    (*position)[d] = 0;
  }
  return false;
}

// The best tiling among those tried so far.
class TilingSearch {
 public:
  using Estimate =
      absl::FunctionRef<absl::StatusOr<TiledRunTimeData>(const TiledKernel&)>;

  // `room`: registers of a program for values.
  TilingSearch(const TileableKernel& kernel, double room, Estimate estimate)
      : kernel_(kernel),
        room_(room),
        estimate_(estimate),
        sizes_(PowersOfTwo(kernel.result_shape())) {}

  bool TrySmallest() { return Try(Choice(sizes_.size(), 0)); }

  void TrySteps(size_t stride) {
    const std::vector<Choice> steps = StepsToTry(sizes_, stride);
    Choice position(steps.size(), 0);
    do {
      Choice choice;
      for (size_t d = 0; d < steps.size(); ++d) {
        choice.push_back(steps[d][position[d]]);
      }
      Try(choice);
    } while (Next(steps, &position));
  }

  // Hill climbing: one exponent up or down at a time, until no neighbor is
  // better.
  void TryNeighbors() {
    for (bool better = true; better;) {
      better = false;
      const Choice from = best_choice_;
      for (size_t d = 0; d < from.size(); ++d) {
        Choice choice = from;
        if (from[d] > 0) {
          --choice[d];
          better |= Try(choice);
        }
        choice = from;
        if (++choice[d] < sizes_[d].size()) better |= Try(choice);
      }
    }
  }

  bool found() const { return best_.has_value(); }
  const TiledRunTimeData& best() const { return *best_; }
  // Why not, if nothing is found.
  absl::Status Refusal() const {
    return absl::Status(refused_.code(), absl::StrCat("no tiling is possible: ",
                                                      refused_.message()));
  }

 private:
  // Whether the result alone fits into registers.
  absl::Status CheckResult(absl::Span<const int64_t> tile) const {
    double registers = ElementBytes(kernel_.result_shape()) / 4;
    for (int64_t size : tile) registers *= absl::bit_ceil<uint64_t>(size);
    return CheckRegisters(std::ceil(registers), room_);
  }

  // Whether it is the best one now.
  bool Try(const Choice& choice) {
    std::vector<int64_t> tile;
    for (size_t d = 0; d < choice.size(); ++d) {
      tile.push_back(sizes_[d][choice[d]]);
    }
    if (const absl::Status fits = CheckResult(tile); !fits.ok()) {
      refused_.Update(fits);
      return false;
    }
    const absl::StatusOr<TiledKernel> tiled = kernel_.Tiled(tile);
    if (!tiled.ok()) {
      refused_.Update(tiled.status());
      return false;
    }
    absl::StatusOr<TiledRunTimeData> estimate = estimate_(*tiled);
    if (!estimate.ok()) {
      refused_.Update(estimate.status());
      return false;
    }
    if (best_.has_value() &&
        estimate->runtime_data.time >= best_->runtime_data.time) {
      return false;
    }
    best_ = *std::move(estimate);
    best_choice_ = choice;
    return true;
  }

  const TileableKernel& kernel_;
  const double room_;
  Estimate estimate_;
  const SizeLists sizes_;
  Choice best_choice_;
  std::optional<TiledRunTimeData> best_;
  absl::Status refused_;
};

}  // namespace

absl::Status SetBlockLevelParameters(const BlockLevelParameters& parameters,
                                     HloInstruction* fusion) {
  TiledGpuBackendConfig config;
  FusionBackendConfig* of_fusion = config.mutable_fusion_backend_config();
  of_fusion->set_kind(std::string(kTritonFusionKind));
  BlockLevelFusionConfig* blocks =
      of_fusion->mutable_block_level_fusion_config();
  for (const std::vector<int64_t>& sizes : parameters.output_tile_sizes) {
    BlockLevelFusionConfig::Tile* tile = blocks->add_output_tiles();
    for (int64_t size : sizes) tile->add_sizes(size);
  }
  blocks->set_num_warps(parameters.num_warps);
  blocks->set_num_ctas(parameters.num_ctas);
  blocks->set_num_stages(parameters.num_stages);
  fusion->set_fusion_kind(HloInstruction::FusionKind::kCustom);
  return fusion->set_backend_config(config);
}

double TiledPerformanceModel::RegistersForValues() const {
  return kShareOfRegisters * device_.registers_per_block_limit();
}

double TiledPerformanceModel::FlopsOfProgram(const TiledKernel& tiled) {
  double flops = 0;
  for (const TiledValue& value : tiled.values) {
    if (value.is_read) continue;
    if (value.hlo->opcode() == HloOpcode::kReduce) {
      const Tile& operand = tiled.values[value.operands[0]].tile;
      flops += flops_.OfComputation(*value.hlo->to_apply()) *
               PaddedTileElements(operand);
    } else {
      flops += FlopsPerElement(value.hlo->opcode(),
                               value.hlo->shape().element_type()) *
               PaddedTileElements(value.tile);
    }
  }
  return flops;
}

// `net` is what all programs read together, at most the size of the array;
// whatever is read beyond that is a reread at cache speed.
void TiledPerformanceModel::AddReads(const TiledKernel& tiled,
                                     EstimateRunTimeData* data) const {
  struct Operand {
    double total = 0;  // bytes that programs read
    double net = 0;    // different ones, at most
    double waste = 1;
  };
  std::vector<const HloInstruction*> order;
  absl::flat_hash_map<const HloInstruction*, Operand> operands;
  for (const TiledValue& value : tiled.values) {
    if (!value.is_read) continue;
    const Shape& shape = value.hlo->shape();
    double net = ElementBytes(shape);
    for (int64_t d = 0; d < shape.dimensions_size(); ++d) {
      net *= std::min<double>(shape.dimensions(d),
                              static_cast<double>(value.tile[d].size) *
                                  tiled.ProgramsAlong(value.tile[d].along));
    }
    auto [it, is_new] = operands.try_emplace(value.hlo);
    if (is_new) order.push_back(value.hlo);
    it->second.net += net;
    it->second.total += ElementBytes(shape) * TileElements(value.tile) *
                        static_cast<double>(tiled.programs);
    it->second.waste = std::max(
        it->second.waste,
        Waste(shape, value.tile, device_.dram_to_l2_transaction_size_bytes()));
  }
  const double rate = ReadRate(tiled.programs, device_);
  double seconds = 0;
  for (const HloInstruction* hlo : order) {
    const Operand& operand = operands.at(hlo);
    const double size = ShapeUtil::ByteSizeOfElements(hlo->shape());
    const double net = std::min(operand.net, size);
    data->bytes_read += net;
    seconds += net * operand.waste / rate;
    // A single value stays in a register.
    if (operand.total > net && !ShapeUtil::IsEffectiveScalar(hlo->shape())) {
      seconds += (operand.total - net) * operand.waste /
                 RereadRate(size, rate, device_);
    }
  }
  data->read_time = absl::Seconds(seconds);
}

void TiledPerformanceModel::AddWrites(const TiledKernel& tiled,
                                      EstimateRunTimeData* data) const {
  double seconds = 0;
  for (int32_t output : tiled.outputs) {
    const TiledValue& value = tiled.values[output];
    const double bytes = ShapeUtil::ByteSizeOfElements(value.hlo->shape());
    data->bytes_written += bytes;
    seconds += bytes *
               Waste(value.hlo->shape(), value.tile,
                     device_.dram_to_l2_transaction_size_bytes()) /
               device_.memory_bandwidth();
  }
  data->write_time = absl::Seconds(seconds);
}

// Chooses as many warps as the live values need registers and then charges
// computation, reads and writes like the model for loop kernels, but by tile:
// the same element read by several programs is moved once per program.
absl::StatusOr<TiledRunTimeData> TiledPerformanceModel::EstimateRunTime(
    const TiledKernel& tiled) {
  const int64_t registers = LiveRegisters(tiled);
  TF_RETURN_IF_ERROR(CheckRegisters(registers, RegistersForValues()));
  TiledRunTimeData result;
  BlockLevelParameters& parameters = result.block_level_parameters;
  const int64_t warp = std::max<int64_t>(device_.threads_per_warp(), 1);
  parameters.num_warps = std::clamp<int64_t>(
      absl::bit_ceil<uint64_t>(
          CeilOfRatio(registers, warp * kRegistersPerThread)),
      1, std::max<int64_t>(device_.threads_per_block_limit() / warp, 1));
  for (int32_t output : tiled.outputs) {
    parameters.output_tile_sizes.emplace_back();
    for (const TileDimension& part : tiled.values[output].tile) {
      parameters.output_tile_sizes.back().push_back(part.size);
    }
  }
  EstimateRunTimeData& data = result.runtime_data;
  data.flops = FlopsOfProgram(tiled) * tiled.programs;
  data.compute_time = absl::Seconds(
      data.flops /
      ComputeRate(tiled.programs, parameters.num_warps * warp, device_));
  AddReads(tiled, &data);
  AddWrites(tiled, &data);
  GpuPerformanceModel::AddExecTime(&data);
  return result;
}

std::string TiledPerformanceModel::StructureOf(const TileableKernel& kernel) {
  return kernel.Structure([this](const HloComputation& reducer) {
    return flops_.OfComputation(reducer);
  });
}

absl::StatusOr<TiledRunTimeData>
TiledPerformanceModel::TryFindBestTilingForFusion(
    const HloFusionAdaptor& fusion) {
  TF_ASSIGN_OR_RETURN(const TileableKernel kernel,
                      TileableKernel::Create(fusion, target_));
  std::string structure = StructureOf(kernel);
  if (auto known = best_.find(structure); known != best_.end()) {
    return known->second;
  }
  ++searches_;
  auto estimate = [this](const TiledKernel& tiled) {
    return EstimateRunTime(tiled);
  };
  TilingSearch search(kernel, RegistersForValues(), estimate);
  search.TrySteps(/*stride=*/2);
  if (!search.found()) search.TrySteps(/*stride=*/1);
  if (!search.found()) return search.Refusal();
  search.TryNeighbors();
  best_.emplace(std::move(structure), search.best());
  return search.best();
}

absl::Status TiledPerformanceModel::CanTile(const HloFusionAdaptor& fusion) {
  TF_ASSIGN_OR_RETURN(const TileableKernel kernel,
                      TileableKernel::Create(fusion, target_));
  std::string structure = StructureOf(kernel);
  if (possible_.contains(structure)) return absl::OkStatus();
  auto estimate = [this](const TiledKernel& tiled) {
    return EstimateRunTime(tiled);
  };
  TilingSearch search(kernel, RegistersForValues(), estimate);
  // Least registers; but rows may have to be whole.
  search.TrySmallest();
  if (!search.found()) search.TrySteps(/*stride=*/2);
  if (!search.found()) search.TrySteps(/*stride=*/1);
  if (!search.found()) return search.Refusal();
  possible_.insert(std::move(structure));
  return absl::OkStatus();
}

}  // namespace xla::gpu
