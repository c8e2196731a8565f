#ifndef XLA_BACKENDS_GPU_TRANSFORMS_SMEM_LOWERING_REPORT_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_SMEM_LOWERING_REPORT_H_

#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/lowering/kernel_planner.h"
#include "xla/backends/gpu/transforms/smem/lowering_report.pb.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/pass/reporting_pass.h"

namespace xla::gpu {

// What became of the kernels of a module, one line for all that compute the
// same, under the name of the first; those without a lowering, with the reason,
// and those that libraries compute:
//
//   shared-memory-planning: m: 4 of 5 kernels lowered, 90.0 % of their bytes,
//       beside 1 call of a library
//   lowered:
//     %soft (2 kernels): row-reduction: 2 over 3 rows of 600 elements: lanes
//         next to each other share a row: 2 blocks of 256 threads, 2048 B
//         shared, 6 barriers
//   not lowered:
//     %fft (1 kernel): fft: …
//   calls:
//     %call (1 kernel): f
class LoweringReport {
 public:
  // Plans are identified by address, so they must all come from one planner.
  void AddKernel(const HloInstruction& kernel, const KernelPlan& plan);
  // A kernel with a call of a library (LibraryCall).
  void AddCall(const HloInstruction& kernel, const HloInstruction& call);

  // Internal where a name cannot be written as JSON.
  absl::StatusOr<PassReport> Finish(absl::string_view pass,
                                    absl::string_view module) const;

 private:
  LoweringReportProto report_;
  // Looked up only: places in the rows.
  absl::flat_hash_map<const KernelPlan*, size_t> plans_;
  absl::flat_hash_map<std::string, size_t> targets_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_SMEM_LOWERING_REPORT_H_
