#include "xla/hlo/analysis/cost/compute_capability.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace stream_executor {

absl::StatusOr<SemanticVersion> SemanticVersion::ParseFromString(
    absl::string_view str) {
  const std::vector<absl::string_view> parts = absl::StrSplit(str, '.');
  uint32_t numbers[3] = {0, 0, 0};
  bool is_version = parts.size() == 3;
  for (size_t i = 0; is_version && i < 3; ++i) {
    is_version = absl::SimpleAtoi(parts[i], &numbers[i]);
  }
  if (!is_version) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", str, "\" is not a version such as 12.9.1"));
  }
  return SemanticVersion(numbers[0], numbers[1], numbers[2]);
}

std::string SemanticVersion::ToString() const {
  return absl::StrCat(major_, ".", minor_, ".", patch_);
}

std::string CudaComputeCapability::ToString() const {
  return absl::StrCat(major, ".", minor);
}

CudaComputeCapabilityProto CudaComputeCapability::ToProto() const {
  CudaComputeCapabilityProto proto;
  proto.set_major(major);
  proto.set_minor(minor);
  return proto;
}

absl::StatusOr<CudaComputeCapability> CudaComputeCapability::FromProto(
    const CudaComputeCapabilityProto& proto) {
  return CudaComputeCapability(proto.major(), proto.minor());
}

std::string RocmComputeCapability::gfx_version() const {
  return gcn_arch_name_.substr(0, gcn_arch_name_.find(':'));
}

bool RocmComputeCapability::gfx9_mi100_or_later() const {
  const std::string version = gfx_version();
  return version == "gfx908" || version == "gfx90a" ||
         absl::StartsWith(version, "gfx94") ||
         absl::StartsWith(version, "gfx95");
}

RocmComputeCapabilityProto RocmComputeCapability::ToProto() const {
  RocmComputeCapabilityProto proto;
  proto.set_gcn_arch_name(gcn_arch_name_);
  return proto;
}

std::string OneAPIComputeCapability::ToString() const {
  // Architecture 10 bits, release 8, 8 reserved, revision 6.
  return absl::StrCat(ip_version_ >> 22, ".", (ip_version_ >> 14) & 0xff, ".",
                      ip_version_ & 0x3f);
}

OneAPIComputeCapabilityProto OneAPIComputeCapability::ToProto() const {
  OneAPIComputeCapabilityProto proto;
  proto.set_ip_version(ip_version_);
  return proto;
}

std::string GpuComputeCapability::ToString() const {
  return std::visit([](const auto& value) { return value.ToString(); }, value_);
}

GpuComputeCapabilityProto GpuComputeCapability::ToProto() const {
  GpuComputeCapabilityProto proto;
  if (const auto* cuda = cuda_compute_capability()) {
    *proto.mutable_cuda_compute_capability() = cuda->ToProto();
  } else if (const auto* rocm = rocm_compute_capability()) {
    *proto.mutable_rocm_compute_capability() = rocm->ToProto();
  } else if (const auto* oneapi = oneapi_compute_capability()) {
    *proto.mutable_oneapi_compute_capability() = oneapi->ToProto();
  }
  return proto;
}

absl::StatusOr<GpuComputeCapability> GpuComputeCapability::FromProto(
    const GpuComputeCapabilityProto& proto) {
  if (proto.has_cuda_compute_capability()) {
    return GpuComputeCapability(
        CudaComputeCapability(proto.cuda_compute_capability().major(),
                              proto.cuda_compute_capability().minor()));
  }
  if (proto.has_rocm_compute_capability()) {
    return GpuComputeCapability(
        RocmComputeCapability(proto.rocm_compute_capability()));
  }
  if (proto.has_oneapi_compute_capability()) {
    return GpuComputeCapability(OneAPIComputeCapability(
        proto.oneapi_compute_capability().ip_version()));
  }
  return absl::InvalidArgumentError("no compute capability is set");
}

}  // namespace stream_executor
