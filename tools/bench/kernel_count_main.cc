// Kernels of compiled modules, and what they read and write, as CSV: what runs
// in a loop counts as often as the loop does.

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/flags/flag.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "tools/tool_main.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

ABSL_FLAG(std::string, device, "h100", "The GPU, by name or file.");

namespace {

struct Count {
  double kernels = 0;
  double bytes = 0;
  // Apart from these: kernels that copy and do nothing else.
  double copies = 0;
  double copied_bytes = 0;
  // Loops of an unknown trip count: counted as one.
  int64_t unknown_loops = 0;
};

bool IsCopy(const xla::HloInstruction& kernel) {
  if (kernel.opcode() == xla::HloOpcode::kCopy ||
      kernel.opcode() == xla::HloOpcode::kCopyStart) {
    return true;
  }
  return kernel.opcode() == xla::HloOpcode::kFusion &&
         absl::c_all_of(
             kernel.fused_instructions_computation()->instructions(),
             [](const xla::HloInstruction* inner) {
               return xla::HloPredicateIsOp<
                   xla::HloOpcode::kBitcast, xla::HloOpcode::kCopy,
                   xla::HloOpcode::kGetTupleElement, xla::HloOpcode::kParameter,
                   xla::HloOpcode::kReshape, xla::HloOpcode::kTuple>(inner);
             });
}

// Instructions that only rename their operand or annotate it for the compiler.
bool IsNoKernel(const xla::HloInstruction& inst) {
  if (inst.opcode() == xla::HloOpcode::kCustomCall) {
    for (const char* target :
         {"AllocateBuffer", "LayoutConstraint", "MoveToDevice", "MoveToHost",
          "SPMDFullToShardShape", "SPMDShardToFullShape", "Sharding",
          "annotate_device_placement"}) {
      if (inst.custom_call_target() == target) return true;
    }
    return false;
  }
  return inst.IsEffectiveBitcast();
}

// Bytes that a library's kernel has as room to work in: the last result, of
// bytes, behind those that are read.
double WorkspaceBytes(const xla::HloInstruction& kernel) {
  const xla::Shape& shape = kernel.shape();
  if (kernel.opcode() != xla::HloOpcode::kCustomCall &&
      !kernel.IsCustomFusion()) {
    return 0;
  }
  if (!shape.IsTuple() || shape.tuple_shapes_size() < 2) return 0;
  const xla::Shape& last = shape.tuple_shapes(shape.tuple_shapes_size() - 1);
  if (!last.IsArray() ||
      (last.element_type() != xla::S8 && last.element_type() != xla::U8)) {
    return 0;
  }
  return static_cast<double>(xla::ShapeUtil::ByteSizeOfElements(last));
}

// The depth is that of calls, which the verifier bounds.
void Add(const xla::HloComputation& computation, double times,
         xla::gpu::GpuPerformanceModel* model, Count* count) {
  for (const xla::HloInstruction* inst : computation.instructions()) {
    switch (inst->opcode()) {
      case xla::HloOpcode::kWhile: {
        const auto trips = xla::ComputeWhileLoopTripCount(inst);
        if (!trips.has_value()) ++count->unknown_loops;
        Add(*inst->while_body(), times * trips.value_or(1), model, count);
        continue;
      }
      case xla::HloOpcode::kConditional:
        for (const xla::HloComputation* branch : inst->branch_computations()) {
          Add(*branch, times / inst->branch_count(), model, count);
        }
        continue;
      case xla::HloOpcode::kCall:
        Add(*inst->to_apply(), times, model, count);
        continue;
      case xla::HloOpcode::kAsyncStart:
        Add(*inst->async_wrapped_computation(), times, model, count);
        continue;
      default:  // A kernel, or nothing that runs.
        break;
    }
    if (IsNoKernel(*inst)) continue;
    const xla::gpu::EstimateRunTimeData& data = model->EstimateRunTime(*inst);
    if (data.time <= absl::ZeroDuration()) continue;
    const bool is_copy = IsCopy(*inst);
    (is_copy ? count->copies : count->kernels) += times;
    (is_copy ? count->copied_bytes : count->bytes) +=
        times * (data.bytes() - WorkspaceBytes(*inst));
  }
}

absl::Status CountAll(const std::vector<std::string>& files) {
  TF_ASSIGN_OR_RETURN(const auto device,
                      xla::gpu::LoadGpuDevice(absl::GetFlag(FLAGS_device)));
  for (const std::string& file : files) {
    TF_ASSIGN_OR_RETURN(const auto module, xla::ReadModuleFromFile(file));
    xla::gpu::GpuPerformanceModel model(device, xla::gpu::KernelTarget::kXla);
    Count count;
    Add(*module->entry_computation(), 1, &model, &count);
    std::cout << absl::StrFormat("%s,%.0f,%.0f,%.0f,%.0f,%d\n", file,
                                 count.kernels, count.bytes, count.copies,
                                 count.copied_bytes, count.unknown_loops);
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> files = xla::InitTool(
      argc, argv, "kernel_count FILE...: kernels and their bytes, as CSV\n");
  std::cout << "file,kernels,bytes,copies,copied_bytes,unknown_loops\n";
  const absl::Status status = CountAll(files);
  return xla::ExitStatus(status);
}
