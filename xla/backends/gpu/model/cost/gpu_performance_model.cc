#include "xla/backends/gpu/model/cost/gpu_performance_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/model/cost/kernel_rates.h"
#include "xla/service/gpu/backend_configs.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// The estimate follows the roofline idea: compute time and memory time overlap
// almost completely (kOverlap), plus a constant per launch. Rates degrade for
// small kernels that do not fill the device (LaunchOf, ComputeRate, ReadRate).
//
// Reads are charged in three tiers: distinct bytes come from memory, in whole
// transactions where accesses are not coalesced; repeated reads of the same
// array come from a cache that holds it (RereadRate); and repeated reads near
// the same place, as windows of neighboring elements make, come from the
// nearest cache (NearRate).

namespace xla::gpu {
namespace {

using ::stream_executor::DeviceDescription;
using ::stream_executor::ExecutionUnitDescription;

// See the class comment.
constexpr double kOverlap = 0.95;
constexpr double kThreadsPerBlock = 128;
// Elements that a thread computes where there are more than threads.
constexpr double kUnroll = 4;

double Bytes(const Shape& shape) {
  return ShapeUtil::ByteSizeOfElementsRecursive(shape);
}

// Blocks of the kernel, and threads of each.
struct Launch {
  double blocks;
  double threads;
};

Launch LaunchOf(const KernelCost& cost, const DeviceDescription& device) {
  const double elements = std::max(cost.iterations, 1.0);
  const double resident = static_cast<double>(device.core_count()) *
                          device.threads_per_core_limit();
  const double threads =
      elements >= resident ? std::ceil(elements / kUnroll) : elements;
  return {std::ceil(threads / kThreadsPerBlock),
          std::min(threads, kThreadsPerBlock)};
}

// Bytes that the operand's elements come from memory with.
double NetBytes(const OperandCost& reads, double size) {
  return std::min(size, size * reads.utilization());
}

// How often an element is read, counting accesses near a common center once.
// Accesses are grouped by center; a group that contains a near access
// contributes at most one read per element.
double DistinctUtilization(const OperandCost& reads) {
  double distinct = 0;
  for (size_t i = 0; i < reads.accesses.size(); ++i) {
    const ValueAccess& access = reads.accesses[i];
    const int32_t center = access.near ? access.center : access.place;
    double sum = 0;
    bool near = false;
    bool known = false;
    for (size_t j = 0; j < reads.accesses.size(); ++j) {
      const ValueAccess& other = reads.accesses[j];
      if ((other.near ? other.center : other.place) != center) continue;
      known |= j < i;
      near |= other.near;
      sum += other.utilization;
    }
    if (!known) distinct += near ? std::min(sum, 1.0) : sum;
  }
  return distinct;
}

}  // namespace

std::string EstimateRunTimeData::ToString() const {
  return absl::StrFormat("%s: %.0f flops %s, %.0f B read %s, %.0f B written %s",
                         absl::FormatDuration(time), flops,
                         absl::FormatDuration(compute_time), bytes_read,
                         absl::FormatDuration(read_time), bytes_written,
                         absl::FormatDuration(write_time));
}

double GpuPerformanceModel::ComputeSeconds(
    const KernelCost& cost, const HloInstruction* first_operand) const {
  if (cost.flops == 0) return 0;
  const double cores = device_.core_count();
  if (cost.is_library) {
    const ExecutionUnitDescription* matrix = device_.matrix_unit_description();
    std::optional<ExecutionUnitDescription::RateInfo> rate;
    if (matrix != nullptr && first_operand != nullptr &&
        first_operand->shape().IsArray()) {
      rate = matrix->GetRateInfo(first_operand->shape().element_type());
    }
    if (rate.has_value() && rate->units_per_core > 0 &&
        rate->clock_rate_ghz > 0 && rate->ops_per_clock > 0) {
      return cost.flops / (cores * rate->units_per_core * rate->clock_rate_ghz *
                           1e9 * rate->ops_per_clock);
    }
    return cost.flops / ComputeRate(cores, device_.fpus_per_core(), device_);
  }
  const Launch launch = LaunchOf(cost, device_);
  return cost.flops / ComputeRate(launch.blocks, launch.threads, device_);
}

double GpuPerformanceModel::ReadRateOf(const KernelCost& cost) const {
  if (cost.is_library) return device_.memory_bandwidth();
  const double blocks = LaunchOf(cost, device_).blocks;
  return prices_ == OperationPrices::kXla ? RequestRate(blocks, device_)
                                          : ReadRate(blocks, device_);
}

// The time to read one operand. share_apart is the part of accesses that are
// not coalesced; each of them moves a whole transaction for one element, unless
// the rest of the transaction is used nearby.
double GpuPerformanceModel::ReadSeconds(const OperandCost& reads,
                                        const Shape& shape,
                                        double bandwidth) const {
  const double size = Bytes(shape);
  // But for what is read again near a place.
  const double total = size * DistinctUtilization(reads);
  if (total == 0) return 0;
  const double net = std::min(size, total);
  double apart = 0;
  bool apart_near = true;
  for (const ValueAccess& access : reads.accesses) {
    if (access.coalesced) continue;
    apart += access.utilization;
    apart_near &= access.near;
  }
  const double share_apart = apart / reads.utilization();
  const double element =
      shape.IsArray() ? std::max(ShapeUtil::ElementSizeInBits(shape) / 8.0, 1.0)
                      : 8;
  const double transaction = device_.dram_to_l2_transaction_size_bytes();
  const double waste = std::max(transaction / element, 1.0);
  double moved = net * (1 - share_apart + share_apart * waste);
  // Other moved data is read close to it.
  if (apart_near) moved = std::min(moved, size);
  const double memory_rate =
      std::min<double>(bandwidth, device_.memory_bandwidth());
  double seconds = moved / memory_rate +
                   (size * reads.utilization() - total) / NearRate(bandwidth);
  // A single value stays in a register.
  if (total > net &&
      !(shape.IsArray() && ShapeUtil::IsEffectiveScalar(shape))) {
    // For XLA, few blocks ask for no more because it comes from a cache.
    const double rate =
        prices_ == OperationPrices::kXla
            ? std::min(bandwidth,
                       RereadRate(size, device_.memory_bandwidth(), device_))
            : RereadRate(size, bandwidth, device_);
    seconds += (total - net) / rate;
  }
  return seconds;
}

void GpuPerformanceModel::AddTimes(const KernelCost& cost,
                                   const HloInstruction* first_operand,
                                   double read_seconds,
                                   EstimateRunTimeData* data) const {
  data->flops = cost.flops;
  data->bytes_written = cost.bytes_written;
  data->read_time = absl::Seconds(read_seconds);
  data->write_time =
      absl::Seconds(data->bytes_written / device_.memory_bandwidth());
  data->compute_time = absl::Seconds(ComputeSeconds(cost, first_operand));
  AddExecTime(data);
}

void GpuPerformanceModel::AddExecTime(EstimateRunTimeData* data) {
  const absl::Duration memory = data->read_time + data->write_time;
  data->exec_time = data->compute_time + memory -
                    kOverlap * std::min(data->compute_time, memory);
  data->time = LaunchOverhead() + data->exec_time;
}

GpuPerformanceModel::Known GpuPerformanceModel::EstimateAll(
    const KernelCostWithOperands& kernel) const {
  Known known;
  const KernelCost& cost = kernel.cost;
  if (cost.is_free) return known;
  known.read_rate = ReadRateOf(cost);
  for (size_t i = 0; i < kernel.operands.size(); ++i) {
    const Shape& shape = kernel.operands[i]->shape();
    known.data.bytes_read += NetBytes(cost.operands[i], Bytes(shape));
    known.read_seconds += ReadSeconds(cost.operands[i], shape, known.read_rate);
  }
  AddTimes(cost, kernel.operands.empty() ? nullptr : kernel.operands[0],
           known.read_seconds, &known.data);
  return known;
}

// A consumer with many operands is re-estimated incrementally: the read times
// of the operands that change are subtracted from and added to the sum, which
// makes an estimate O(changed operands). Falls back to the full sum where the
// launch, and with it the read rate, would change.
EstimateRunTimeData GpuPerformanceModel::EstimatePair(
    const HloInstruction& producer, const HloInstruction& consumer,
    bool keep_output) {
  // A sum over few operands is as fast as its change.
  if (consumer.operand_count() <= 4) {
    return Estimate(costs_.Fused(producer, consumer, keep_output));
  }
  const Known& alone = Get(consumer);
  const PairCost pair = costs_.OfPair(producer, consumer, keep_output);
  if (pair.cost.is_library || pair.cost.is_free ||
      ReadRateOf(pair.cost) != alone.read_rate) {
    return Estimate(costs_.Fused(producer, consumer, keep_output));
  }
  EstimateRunTimeData data;
  data.bytes_read = alone.data.bytes_read;
  double seconds = alone.read_seconds;
  auto add = [&](double sign, const OperandCost& reads, const Shape& shape) {
    data.bytes_read += sign * NetBytes(reads, Bytes(shape));
    seconds += sign * ReadSeconds(reads, shape, alone.read_rate);
  };
  add(-1, pair.removed, producer.shape());
  for (const PairCost::Operand& changed : pair.operands) {
    add(-1, changed.before, changed.operand->shape());
    add(1, changed.after, changed.operand->shape());
  }
  // Differences of sums may be a bit below 0.
  data.bytes_read = std::max(data.bytes_read, 0.0);
  AddTimes(pair.cost, consumer.operand(0), std::max(seconds, 0.0), &data);
  return data;
}

// --- Kernels that exist -----------------------------------------------------

const GpuPerformanceModel::Known& GpuPerformanceModel::Get(
    const HloInstruction& kernel) {
  auto known = times_.find(&kernel);
  if (known != times_.end()) return known->second;
  const Known estimate = EstimateAll(costs_.Unique(kernel));
  return times_.emplace(&kernel, estimate).first->second;
}

const EstimateRunTimeData& GpuPerformanceModel::EstimateRunTime(
    const HloInstruction& kernel) {
  return Get(kernel).data;
}

absl::Status GpuPerformanceModel::RecordEstimatedRunTime(
    HloInstruction* instruction) {
  TF_ASSIGN_OR_RETURN(GpuBackendConfig config,
                      instruction->backend_config<GpuBackendConfig>());
  const EstimateRunTimeData& data = EstimateRunTime(*instruction);
  ReificationCost* cost = config.add_reification_cost();
  cost->set_end_to_end_cycles(absl::ToDoubleNanoseconds(data.time) *
                              device_.clock_rate_ghz());
  cost->set_exec_time_us(absl::ToDoubleMicroseconds(data.exec_time));
  cost->set_compute_time_us(absl::ToDoubleMicroseconds(data.compute_time));
  cost->set_memory_access_time_us(
      absl::ToDoubleMicroseconds(data.read_time + data.write_time));
  return instruction->set_backend_config(config);
}

void GpuPerformanceModel::Invalidate(const HloInstruction& instruction) {
  times_.erase(&instruction);
  costs_.Invalidate(instruction);
}

// --- Kernels that may be ----------------------------------------------------

EstimateRunTimeData GpuPerformanceModel::EstimateFusedTime(
    const HloInstruction& producer, const HloInstruction& consumer) {
  return EstimatePair(producer, consumer, /*keep_output=*/false);
}

GpuPerformanceModel::RunTimes GpuPerformanceModel::EstimateRunTimes(
    const HloInstruction& producer,
    absl::Span<const HloInstruction* const> consumers) {
  RunTimes times;
  times.time_unfused = EstimateRunTime(producer).time;
  for (const HloInstruction* consumer : consumers) {
    times.time_unfused += EstimateRunTime(*consumer).time;
    times.time_fused += EstimateFusedTime(producer, *consumer).time;
  }
  return times;
}

EstimateRunTimeData GpuPerformanceModel::EstimateMultiOutputTime(
    const HloInstruction& producer, const HloInstruction& consumer) {
  return EstimatePair(producer, consumer, /*keep_output=*/true);
}

GpuPerformanceModel::RunTimes
GpuPerformanceModel::EstimateRunTimesForMultiOutputFusion(
    const HloInstruction& producer, const HloInstruction& consumer) {
  RunTimes times;
  times.time_unfused =
      EstimateRunTime(producer).time + EstimateRunTime(consumer).time;
  times.time_fused = EstimateMultiOutputTime(producer, consumer).time;
  return times;
}

EstimateRunTimeData GpuPerformanceModel::EstimateMergedTime(
    const HloInstruction& producer, const HloInstruction& consumer) {
  if (!consumer.IsUserOf(&producer)) {
    return EstimateSiblingsTime(producer, consumer);
  }
  return EstimatePair(producer, consumer,
                      producer.user_count() > 1 || producer.IsRoot());
}

KernelCostWithOperands GpuPerformanceModel::CostOfMerged(
    const HloInstruction& a, const HloInstruction& b) {
  if (!b.IsUserOf(&a)) return costs_.Siblings(a, b);
  return costs_.Fused(a, b, a.user_count() > 1 || a.IsRoot());
}

EstimateRunTimeData GpuPerformanceModel::EstimateSiblingsTime(
    const HloInstruction& a, const HloInstruction& b) {
  return Estimate(costs_.Siblings(a, b));
}

GpuPerformanceModel::RunTimes GpuPerformanceModel::EstimateRunTimesForSiblings(
    const HloInstruction& a, const HloInstruction& b) {
  RunTimes times;
  times.time_unfused = EstimateRunTime(a).time + EstimateRunTime(b).time;
  times.time_fused = EstimateSiblingsTime(a, b).time;
  return times;
}

double GpuPerformanceModel::SiblingBytesSaved(const HloInstruction& a,
                                              const HloInstruction& b) {
  const double apart =
      EstimateRunTime(a).bytes_read + EstimateRunTime(b).bytes_read;
  return apart - EstimateSiblingsTime(a, b).bytes_read;
}

// The producer is emitted once per distinct use inside of the consumer
// (copies), not once per fusion.
double GpuPerformanceModel::FusedIrSize(const HloInstruction& producer,
                                        const HloInstruction& consumer) {
  const KernelCost& inner = costs_.Get(producer);
  const KernelCost& outer = costs_.Get(consumer);
  double copies = 0;
  for (int64_t i : costs_.PositionsOf(producer, consumer)) {
    copies += outer.operands[i].copies();
  }
  return outer.ir_size + inner.ir_size * copies;
}

}  // namespace xla::gpu
