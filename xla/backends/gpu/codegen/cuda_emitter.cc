#include "xla/backends/gpu/codegen/cuda_emitter.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/codegen/cuda_index.h"
#include "xla/backends/gpu/codegen/cuda_writer.h"
#include "xla/backends/gpu/smem/smem_plan.h"

namespace xla::gpu {

std::string CudaKernelName(absl::string_view name) {
  return absl::StrContains(name, '.') ? cuda::CudaName('k', name)
                                      : std::string(name);
}

absl::StatusOr<std::string> EmitCuda(const SmemPlan& plan,
                                     const CudaEmitOptions& options) {
  return cuda::Writer(plan, options).Emit();
}

}  // namespace xla::gpu
