#include "xla/backends/gpu/lowering/loop_lowering.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
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
  std::vector<const KernelFrame::Result*> results;
  for (const KernelFrame::Result& result : frame->results()) {
    results.push_back(&result);
  }
  absl::Span<const KernelFrame::Result* const> left = results;
  while (!left.empty()) {
    const int64_t together = KernelFrame::Together(left);
    ASSIGN_OR_RETURN(const int64_t neighbors,
                     frame->EmitLoop(left.first(together)));
    width = std::max(width, neighbors);
    left.remove_prefix(together);
  }
  ASSIGN_OR_RETURN(LoweredKernel lowered, frame->Finish());
  lowered.vector_width = width;
  return lowered;
}

}  // namespace xla::gpu
