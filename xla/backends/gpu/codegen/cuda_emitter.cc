#include "xla/backends/gpu/codegen/cuda_emitter.h"

#include <string>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/codegen/cuda_writer.h"
#include "xla/backends/gpu/smem/smem_plan.h"

namespace xla::gpu {

absl::StatusOr<std::string> EmitCuda(const SmemPlan& plan,
                                     const CudaEmitOptions& options) {
  return cuda::Writer(plan, options).Emit();
}

}  // namespace xla::gpu
