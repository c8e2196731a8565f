#include "xla/backends/gpu/kernel_ir/race_checker.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kernel_code.h"
#include "xla/backends/gpu/kernel_ir/kernel_machine.h"
#include "xla/status_macros.h"

namespace xla::gpu {

absl::StatusOr<KernelRun> RunKernel(
    const kir::Kernel& kernel, const std::vector<std::vector<double>>& inputs,
    const KernelRunOptions& options) {
  ASSIGN_OR_RETURN(KernelCode code, CompileKernel(kernel));
  // Behind the three of tid.* come those of the block, bdim.* and gdim.*.
  int64_t* const block = &code.initial[3];
  const int64_t* const grid = &code.initial[9];
  KernelRun run;
  run.params = inputs;
  do {
    ASSIGN_OR_RETURN(
        KernelRun one,
        kernel_machine::Machine(code, options).Run(std::move(run.params)));
    run.params = std::move(one.params);
    run.races.insert(run.races.end(), one.races.begin(), one.races.end());
    for (int d = 0; d < 3; ++d) {
      if (++block[d] < grid[d]) break;
      block[d] = 0;
    }
  } while (options.all_blocks && block[0] + block[1] + block[2] > 0);
  absl::c_sort(run.races);
  run.races.erase(std::unique(run.races.begin(), run.races.end()),
                  run.races.end());
  return run;
}

absl::Status CheckRaces(const kir::Kernel& kernel, int seeds) {
  for (int seed = 1; seed <= seeds; ++seed) {
    KernelRunOptions options;
    options.seed = static_cast<uint64_t>(seed);
    ASSIGN_OR_RETURN(KernelRun run, RunKernel(kernel, {}, options));
    if (!run.races.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("@", kernel.name, ": ", absl::StrJoin(run.races, "; ")));
    }
    // Threads take the same turns, so that only memory tells the two apart.
    options.own_memory = true;
    options.check_races = false;
    ASSIGN_OR_RETURN(KernelRun expected, RunKernel(kernel, {}, options));
    for (size_t p = 0; p < run.params.size(); ++p) {
      for (size_t e = 0; e < run.params[p].size(); ++e) {
        const double a = run.params[p][e], b = expected.params[p][e];
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        return absl::FailedPreconditionError(
            absl::StrCat("@", kernel.name, ": parameter ", p, " differs at ", e,
                         ": ", a, " and with memory of its own ", b));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace xla::gpu
