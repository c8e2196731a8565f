#ifndef XLA_BACKENDS_GPU_LOWERING_KERNEL_CONFIG_H_
#define XLA_BACKENDS_GPU_LOWERING_KERNEL_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/lowering/kernel_planner.h"

// What a backend_config says about the kernel of an instruction: a flat object
// beside other entries. Numbers are strings, as in all configs.
//
//   {"kernel_config":{"kind":"row-reduction","blocks":"3","threads":"256",
//    "shared_bytes":"1024","barriers":"3","blocks_per_sm":"8"}}

namespace xla::gpu {

// `registers` of a thread; 0: not known, and not written. Internal where
// protobuf cannot write it.
absl::StatusOr<std::string> KernelConfigText(const KernelPlan& plan,
                                             int registers, SmemMode mode);

// How the kernel of an instruction with that configuration is planned.
SmemMode SmemModeOf(absl::string_view config);

// The configuration with that entry, instead of one that it has; an empty one
// is none yet. Configurations that are no objects stay as they are.
std::string WithKernelConfig(absl::string_view config, absl::string_view entry);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_KERNEL_CONFIG_H_
