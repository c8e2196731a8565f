#include "xla/hlo/memory/report/module_facts.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_partitions.h"
#include "xla/hlo/memory/limit/memory_accounting.h"

namespace xla {

MemoryReport::Input DescribeModule(const HloModule& module) {
  MemoryReport::Input input;
  // Compilers fuse before they schedule.
  const bool fused = absl::c_any_of(
      module.computations(),
      [](const HloComputation* c) { return c->IsFusionComputation(); });
  input.set_scheduled(module.has_schedule());
  input.set_optimized(fused || module.has_schedule());
  int64_t devices = std::max<int64_t>(module.config().num_partitions(), 1);
  // Nothing says how a module without shardings would be cut.
  const bool whole = HasShardings(module) && !IsPartitioned(module);
  if (whole) devices = std::max(devices, DevicesOfShardings(module));
  input.set_partitioned(!whole && (devices > 1 || IsPartitioned(module)));
  input.set_devices(devices);
  input.set_replicas(std::max<int64_t>(module.config().replica_count(), 1));

  std::string text = input.optimized() ? "optimized" : "before optimization";
  if (input.optimized() && IsCompiledForCpu(module)) {
    absl::StrAppend(&text, " by XLA:CPU");
  }
  absl::StrAppend(&text,
                  input.scheduled() ? ", scheduled" : ", without a schedule");
  if (devices > 1) {
    absl::StrAppend(&text,
                    input.partitioned() ? ", the module of one of "
                                        : ", the module of all ",
                    devices, " devices",
                    input.partitioned() ? "" : " together");
  }
  if (devices == 1 && input.partitioned()) {
    absl::StrAppend(&text, ", the module of one of several devices");
  }
  if (input.replicas() > 1) {
    absl::StrAppend(&text, ", ", input.replicas(), " replicas");
  }
  input.set_description(text);
  return input;
}

}  // namespace xla
