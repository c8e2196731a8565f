#include "xla/backends/gpu/model/cost/gpu_hlo_cost_analysis.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/shape_util.h"

namespace xla::gpu {

absl::Status GpuHloCostAnalysis::HandleElementwiseOp(
    const HloInstruction* hlo) {
  current_properties_.flops = costs_.Get(*hlo).flops;
  return absl::OkStatus();
}

absl::Status GpuHloCostAnalysis::HandleReduce(const HloInstruction* reduce) {
  current_properties_.flops = costs_.Get(*reduce).flops;
  return absl::OkStatus();
}

absl::Status GpuHloCostAnalysis::HandleFusion(const HloInstruction* fusion) {
  const KernelCost& cost = costs_.Get(*fusion);
  current_properties_.flops = cost.flops;
  double bytes = cost.bytes_written;
  for (int64_t i = 0; i < fusion->operand_count(); ++i) {
    const double size = TotalBytes(fusion->operand(i)->shape());
    const double utilization = cost.operands[i].utilization();
    const double read = options_.count_multiple_input_accesses
                            ? size * utilization
                            : size * std::min(utilization, 1.0);
    current_properties_.set_operand_bytes_accessed(i, read);
    current_properties_.set_operand_utilization(i, utilization);
    bytes += read;
  }
  current_properties_.set_output_bytes_accessed(cost.bytes_written);
  current_properties_.bytes_accessed = bytes;
  return absl::OkStatus();
}

int64_t GpuHloCostAnalysis::IrSize(const HloInstruction& kernel) {
  return static_cast<int64_t>(costs_.Get(kernel).ir_size);
}

bool GpuHloCostAnalysis::ProducerConsumerMergedTooLarge(
    const HloInstruction& producer, const HloInstruction& consumer) {
  return costs_.Fused(producer, consumer).cost.ir_size >
         GpuPerformanceModel::kMaxIrSize;
}

double GpuHloCostAnalysis::OperandUtilization(const HloInstruction& fusion,
                                              int64_t operand) {
  return costs_.Get(fusion).operands[operand].utilization();
}

}  // namespace xla::gpu
