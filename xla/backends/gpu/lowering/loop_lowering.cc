#include "xla/backends/gpu/lowering/loop_lowering.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/status_macros.h"

namespace xla::gpu {

int PackedBits(const Shape& shape) {
  if (!shape.IsArray() || !shape.has_layout()) return 0;
  const int64_t bits = shape.layout().element_size_in_bits();
  return bits > 0 && bits < 8 ? static_cast<int>(bits) : 0;
}

absl::StatusOr<LoweredKernel> LowerLoop(const HloInstruction& hlo,
                                        const LoopLoweringOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<KernelFrame> frame,
                   KernelFrame::Make(hlo, options.threads_per_block,
                                     options.device_threads));
  int64_t width = 1;
  for (const KernelFrame::Result& result : frame->results()) {
    if (result.part == 1) continue;
    ASSIGN_OR_RETURN(
        const int64_t neighbors,
        frame->EmitLoop(result, result.part == 0 ? &result + 1 : nullptr));
    width = std::max(width, neighbors);
  }
  ASSIGN_OR_RETURN(LoweredKernel lowered, frame->Finish());
  lowered.vector_width = width;
  return lowered;
}

}  // namespace xla::gpu
