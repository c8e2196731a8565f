#ifndef XLA_HLO_PIPELINE_TARGET_FLAGS_H_
#define XLA_HLO_PIPELINE_TARGET_FLAGS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace xla {

// What tools are told about the machine that a module is for is checked before
// they begin, also where no pass comes to read it: InvalidArgument that names
// the flag. Empty values are not given.

// --device: a GPU by name, or a file; errors have the nearest name.
absl::Status CheckDeviceFlag(absl::string_view device);
// --mesh, as MeshCost::FromText reads it.
absl::Status CheckMeshFlag(absl::string_view mesh);
// --memory-limit, as MemoryLimit::Parse reads it.
absl::Status CheckMemoryLimitFlag(absl::string_view limit);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_TARGET_FLAGS_H_
