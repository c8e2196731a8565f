#include "xla/backends/gpu/lowering/loop_lowering.h"

#include <memory>

#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/status_macros.h"

namespace xla::gpu {

absl::StatusOr<LoweredKernel> LowerLoop(const HloInstruction& hlo,
                                        const LoopLoweringOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<KernelFrame> frame,
                   KernelFrame::Make(hlo, options.threads_per_block,
                                     options.device_threads));
  for (const KernelFrame::Result& result : frame->results()) {
    RETURN_IF_ERROR(frame->EmitLoop(result));
  }
  return frame->Finish();
}

}  // namespace xla::gpu
