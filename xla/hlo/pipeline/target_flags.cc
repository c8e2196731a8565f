#include "xla/hlo/pipeline/target_flags.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/analysis/cost/mesh_cost.h"
#include "xla/hlo/memory/limit/memory_limit.h"
#include "xla/hlo/pass/nearest_name.h"

namespace xla {
namespace {

absl::Status WithFlag(absl::string_view flag, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, ": ", status.message()));
}

}  // namespace

absl::Status CheckDeviceFlag(absl::string_view device) {
  if (device.empty()) return absl::OkStatus();
  const absl::Status status = gpu::LoadGpuDevice(device).status();
  if (!absl::IsNotFound(status)) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("--device: unknown device ", device, " and no such file",
                   DidYouMean(device, gpu::GpuDeviceNames())));
}

absl::Status CheckMeshFlag(absl::string_view mesh) {
  if (mesh.empty()) return absl::OkStatus();
  return WithFlag("mesh", MeshCost::FromText(mesh).status());
}

absl::Status CheckMemoryLimitFlag(absl::string_view limit) {
  if (limit.empty()) return absl::OkStatus();
  return WithFlag("memory-limit", MemoryLimit::Parse(limit).status());
}

}  // namespace xla
