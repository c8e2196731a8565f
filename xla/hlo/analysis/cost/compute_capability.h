#ifndef XLA_HLO_ANALYSIS_COST_COMPUTE_CAPABILITY_H_
#define XLA_HLO_ANALYSIS_COST_COMPUTE_CAPABILITY_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/cost/device_description.pb.h"

// Capabilities of GPU generations, numbered as by their vendors: plain values.

namespace stream_executor {

// `12.9.1`
class SemanticVersion {
 public:
  constexpr SemanticVersion() = default;
  constexpr SemanticVersion(unsigned major, unsigned minor, unsigned patch)
      : major_(major), minor_(minor), patch_(patch) {}
  // Errors: not three numbers separated by dots.
  static absl::StatusOr<SemanticVersion> ParseFromString(absl::string_view str);
  std::string ToString() const;

  unsigned major() const { return major_; }
  unsigned minor() const { return minor_; }
  unsigned patch() const { return patch_; }

  friend bool operator==(const SemanticVersion& a, const SemanticVersion& b) {
    return a.Key() == b.Key();
  }
  friend bool operator!=(const SemanticVersion& a, const SemanticVersion& b) {
    return !(a == b);
  }
  friend bool operator<(const SemanticVersion& a, const SemanticVersion& b) {
    return a.Key() < b.Key();
  }
  friend bool operator>=(const SemanticVersion& a, const SemanticVersion& b) {
    return !(a < b);
  }

 private:
  std::tuple<unsigned, unsigned, unsigned> Key() const {
    return {major_, minor_, patch_};
  }
  unsigned major_ = 0;
  unsigned minor_ = 0;
  unsigned patch_ = 0;
};

// `9.0`; NVIDIA's CUDA C++ Programming Guide, "Compute Capabilities".
struct CudaComputeCapability {
  enum CudaComputeCapabilities {
    kPascal = 6,
    kVolta = 7,
    kAmpere = 8,
    kHopper = 9,
    kBlackwell = 10,
  };

  constexpr CudaComputeCapability() = default;
  constexpr CudaComputeCapability(int major, int minor)
      : major(major), minor(minor) {}
  static CudaComputeCapability Volta() { return {kVolta, 0}; }
  static CudaComputeCapability Ampere() { return {kAmpere, 0}; }
  static CudaComputeCapability Hopper() { return {kHopper, 0}; }
  static CudaComputeCapability Blackwell() { return {kBlackwell, 0}; }

  bool IsAtLeast(int other_major, int other_minor = 0) const {
    return std::make_pair(major, minor) >=
           std::make_pair(other_major, other_minor);
  }
  bool IsAtLeastVolta() const { return IsAtLeast(kVolta); }
  bool IsAtLeastAmpere() const { return IsAtLeast(kAmpere); }
  bool IsAtLeastHopper() const { return IsAtLeast(kHopper); }
  bool IsAtLeastBlackwell() const { return IsAtLeast(kBlackwell); }
  bool IsAmpere() const { return major == kAmpere; }
  bool IsHopper() const { return major == kHopper; }
  bool IsBlackwell() const { return major >= kBlackwell; }

  std::string ToString() const;
  CudaComputeCapabilityProto ToProto() const;
  static absl::StatusOr<CudaComputeCapability> FromProto(
      const CudaComputeCapabilityProto& proto);

  bool operator==(const CudaComputeCapability& o) const {
    return major == o.major && minor == o.minor;
  }
  bool operator!=(const CudaComputeCapability& o) const {
    return !(*this == o);
  }

  int major = 0;
  int minor = 0;
};

// `gfx942:sramecc+:xnack-`; LLVM's "User Guide for AMDGPU Backend".
class RocmComputeCapability {
 public:
  explicit RocmComputeCapability(std::string gcn_arch_name = "gfx000")
      : gcn_arch_name_(std::move(gcn_arch_name)) {}
  explicit RocmComputeCapability(const RocmComputeCapabilityProto& proto)
      : gcn_arch_name_(proto.gcn_arch_name()) {}

  const std::string& gcn_arch_name() const { return gcn_arch_name_; }
  // The name up to the first colon.
  std::string gfx_version() const;
  // Instinct, with 64 threads per wave; others are Radeon.
  bool gfx9_mi100_or_later() const;

  std::string ToString() const { return gcn_arch_name_; }
  RocmComputeCapabilityProto ToProto() const;
  bool operator==(const RocmComputeCapability& o) const {
    return gcn_arch_name_ == o.gcn_arch_name_;
  }
  bool operator!=(const RocmComputeCapability& o) const {
    return !(*this == o);
  }

 private:
  std::string gcn_arch_name_;
};

// Intel's GMDID: architecture, release and revision in one number.
class OneAPIComputeCapability {
 public:
  explicit OneAPIComputeCapability(uint32_t ip_version = 0)
      : ip_version_(ip_version) {}
  uint32_t ip_version() const { return ip_version_; }
  std::string ToString() const;
  OneAPIComputeCapabilityProto ToProto() const;
  bool operator==(const OneAPIComputeCapability& o) const {
    return ip_version_ == o.ip_version_;
  }
  bool operator!=(const OneAPIComputeCapability& o) const {
    return !(*this == o);
  }

 private:
  uint32_t ip_version_;
};

// One of them.
class GpuComputeCapability {
 public:
  GpuComputeCapability() = default;
  GpuComputeCapability(const CudaComputeCapability& compute_capability)
      : value_(compute_capability) {}
  GpuComputeCapability(const RocmComputeCapability& compute_capability)
      : value_(compute_capability) {}
  GpuComputeCapability(const OneAPIComputeCapability& compute_capability)
      : value_(compute_capability) {}

  bool IsCuda() const { return cuda_compute_capability() != nullptr; }
  bool IsRocm() const { return rocm_compute_capability() != nullptr; }
  bool IsOneAPI() const { return oneapi_compute_capability() != nullptr; }
  // Null if it holds another kind.
  const CudaComputeCapability* cuda_compute_capability() const {
    return std::get_if<CudaComputeCapability>(&value_);
  }
  const RocmComputeCapability* rocm_compute_capability() const {
    return std::get_if<RocmComputeCapability>(&value_);
  }
  const OneAPIComputeCapability* oneapi_compute_capability() const {
    return std::get_if<OneAPIComputeCapability>(&value_);
  }

  std::string ToString() const;
  GpuComputeCapabilityProto ToProto() const;
  // Errors: none is set.
  static absl::StatusOr<GpuComputeCapability> FromProto(
      const GpuComputeCapabilityProto& proto);

  friend bool operator==(const GpuComputeCapability& a,
                         const GpuComputeCapability& b) {
    return a.value_ == b.value_;
  }
  friend bool operator!=(const GpuComputeCapability& a,
                         const GpuComputeCapability& b) {
    return !(a == b);
  }

 private:
  std::variant<CudaComputeCapability, RocmComputeCapability,
               OneAPIComputeCapability>
      value_;
};

}  // namespace stream_executor

#endif  // XLA_HLO_ANALYSIS_COST_COMPUTE_CAPABILITY_H_
