#ifndef XLA_BACKENDS_GPU_TRANSFORMS_SMEM_LOWERING_REPORT_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_SMEM_LOWERING_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/lowering/kernel_planner.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/pass/reporting_pass.h"

namespace xla::gpu {

// What became of the kernels of a module, one line for all that compute the
// same, by the name of the first; what has no lowering, with its reason, and
// what libraries compute:
//
//   shared-memory-planning: m: 4 of 5 kernels lowered, 90.0 % of their bytes,
//       beside 1 calls of libraries
//   lowered:
//     %soft (2 kernels): row-reduction: 2 over 3 rows of 600 elements: lanes
//         next to each other share a row: 2 blocks of 256 threads, 2048 B
//         shared, 6 barriers
//   not lowered:
//     %fft (1 kernels): fft: …
//   calls:
//     %call (1 kernels): f
class LoweringReport {
 public:
  // Plans are told apart by their address, so that all must be of one planner.
  void AddKernel(const HloInstruction& kernel, const KernelPlan& plan);
  // A kernel with a call of a library (LibraryCall).
  void AddCall(const HloInstruction& kernel, const HloInstruction& call);

  PassReport Finish(absl::string_view pass, absl::string_view module) const;

 private:
  struct Row {
    std::string name, kind, why;
    int64_t kernels = 0, bytes = 0;
    int64_t blocks = 0, threads = 0, shared_bytes = 0, barriers = 0;
  };
  using Rows = std::vector<Row>;  // in the order of their first kernels

  Rows lowered_, refused_, calls_;
  // Looked up only: places in the rows.
  absl::flat_hash_map<const KernelPlan*, size_t> plans_;
  absl::flat_hash_map<std::string, size_t> targets_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_SMEM_LOWERING_REPORT_H_
