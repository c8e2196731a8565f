#ifndef XLA_HLO_ANALYSIS_COST_DEVICE_DESCRIPTION_H_
#define XLA_HLO_ANALYSIS_COST_DEVICE_DESCRIPTION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/cost/compute_capability.h"
#include "xla/hlo/analysis/cost/device_description.pb.h"
#include "xla/xla_data.pb.h"

namespace stream_executor {

// Threads of a block / blocks of a grid, along each axis.
struct ThreadDim {
  constexpr ThreadDim(uint64_t x = 1, uint64_t y = 1, uint64_t z = 1)
      : x(x), y(y), z(z) {}
  bool operator==(const ThreadDim& o) const {
    return x == o.x && y == o.y && z == o.z;
  }
  bool operator!=(const ThreadDim& o) const { return !(*this == o); }
  uint64_t x, y, z;
};
struct BlockDim {
  constexpr BlockDim(uint64_t x = 1, uint64_t y = 1, uint64_t z = 1)
      : x(x), y(y), z(z) {}
  bool operator==(const BlockDim& o) const {
    return x == o.x && y == o.y && z == o.z;
  }
  bool operator!=(const BlockDim& o) const { return !(*this == o); }
  uint64_t x, y, z;
};

// The speed of the scalar or matrix units of one core, by element type.
class ExecutionUnitDescription {
 public:
  struct RateInfo {
    int32_t units_per_core = 0;
    float clock_rate_ghz = 0;
    // Operations of one unit; a fused multiply-add is two.
    int32_t ops_per_clock = 0;

    bool operator==(const RateInfo& o) const {
      return units_per_core == o.units_per_core &&
             clock_rate_ghz == o.clock_rate_ghz &&
             ops_per_clock == o.ops_per_clock;
    }
    bool operator!=(const RateInfo& o) const { return !(*this == o); }
  };

  void SetRateInfo(xla::PrimitiveType dtype, RateInfo rate_info) {
    rate_infos_[dtype] = rate_info;
  }
  std::optional<RateInfo> GetRateInfo(xla::PrimitiveType dtype) const;

  ExecutionUnitDescriptionProto ToProto() const;
  // Errors: a number that is not an element type.
  static absl::StatusOr<ExecutionUnitDescription> FromProto(
      const ExecutionUnitDescriptionProto& proto);

  bool operator==(const ExecutionUnitDescription& other) const {
    return rate_infos_ == other.rate_infos_;
  }
  bool operator!=(const ExecutionUnitDescription& other) const {
    return !(*this == other);
  }

 private:
  std::map<xla::PrimitiveType, RateInfo> rate_infos_;
};

// The links between devices of one cluster.
struct DeviceInterconnectInfo {
  int active_links = 0;
  std::string cluster_uuid;
  std::string clique_id;

  bool is_in_cluster() const { return !cluster_uuid.empty(); }
  bool operator==(const DeviceInterconnectInfo& o) const {
    return active_links == o.active_links && cluster_uuid == o.cluster_uuid &&
           clique_id == o.clique_id;
  }
  bool operator!=(const DeviceInterconnectInfo& o) const {
    return !(*this == o);
  }
  DeviceInterconnectInfoProto ToProto() const;
  static absl::StatusOr<DeviceInterconnectInfo> FromProto(
      const DeviceInterconnectInfoProto& proto);
};

// The hardware of a GPU as a plain record; units are in the name or the
// comment. A "core" is a streaming multiprocessor or compute unit. Sizes are
// bytes, bandwidths bytes per second, limits counts. Unset fields are 0 or
// empty.
//
// gpu_devices.h has the descriptions of known devices.
class DeviceDescription {
 public:
  DeviceDescription() = default;

// A member `field_`, its getter and its setter.
#define XLA_DEVICE_VALUE(type, field)                \
 public:                                             \
  type field() const { return field##_; }            \
  void set_##field(type value) { field##_ = value; } \
                                                     \
 private:                                            \
  type field##_ = {};
#define XLA_DEVICE_OBJECT(type, field)                          \
 public:                                                        \
  const type& field() const { return field##_; }                \
  void set_##field(type value) { field##_ = std::move(value); } \
                                                                \
 private:                                                       \
  type field##_;
#define XLA_DEVICE_VERSION(field)                                      \
 public:                                                               \
  SemanticVersion field() const { return field##_; }                   \
  void set_##field(const SemanticVersion& value) { field##_ = value; } \
                                                                       \
 private:                                                              \
  SemanticVersion field##_;

  // Identity.
  XLA_DEVICE_OBJECT(std::string, device_vendor)
  XLA_DEVICE_OBJECT(std::string, name)
  XLA_DEVICE_OBJECT(std::string, model_str)
  XLA_DEVICE_OBJECT(std::string, pci_bus_id)
  XLA_DEVICE_OBJECT(std::string, platform_version)
  XLA_DEVICE_VERSION(driver_version)
  XLA_DEVICE_VERSION(kernel_mode_driver_version)
  XLA_DEVICE_VERSION(runtime_version)
  XLA_DEVICE_VERSION(compile_time_toolkit_version)
  XLA_DEVICE_VERSION(dnn_version)
  XLA_DEVICE_VERSION(cub_version)
  XLA_DEVICE_VALUE(int, numa_node)
  // Compute.
  XLA_DEVICE_VALUE(int, core_count)
  XLA_DEVICE_VALUE(int, fpus_per_core)
  XLA_DEVICE_VALUE(float, clock_rate_ghz)
  // Launch limits.
  XLA_DEVICE_OBJECT(ThreadDim, thread_dim_limit)
  XLA_DEVICE_OBJECT(BlockDim, block_dim_limit)
  XLA_DEVICE_VALUE(int64_t, threads_per_block_limit)
  XLA_DEVICE_VALUE(int64_t, threads_per_core_limit)
  XLA_DEVICE_VALUE(int64_t, threads_per_warp)
  XLA_DEVICE_VALUE(int64_t, registers_per_core_limit)
  XLA_DEVICE_VALUE(int64_t, registers_per_block_limit)
  XLA_DEVICE_VALUE(int64_t, max_blocks_per_multiprocessor)
  // Memory.
  XLA_DEVICE_VALUE(int64_t, device_address_bits)
  XLA_DEVICE_VALUE(int64_t, device_memory_size)
  XLA_DEVICE_VALUE(int64_t, l2_cache_size)
  XLA_DEVICE_VALUE(int64_t, memory_bandwidth)
  XLA_DEVICE_VALUE(float, mem_clock_ghz)
  XLA_DEVICE_VALUE(int64_t, pcie_bandwidth)
  XLA_DEVICE_VALUE(bool, ecc_enabled)
  XLA_DEVICE_VALUE(int64_t, shared_memory_per_core)
  XLA_DEVICE_VALUE(int64_t, shared_memory_per_block)
  XLA_DEVICE_VALUE(int64_t, shared_memory_per_block_optin)
  XLA_DEVICE_VALUE(int64_t, reserved_shared_memory_per_block)
  XLA_DEVICE_VALUE(uint64_t, collective_memory_granularity)
  XLA_DEVICE_OBJECT(DeviceInterconnectInfo, device_interconnect_info)
  XLA_DEVICE_OBJECT(GpuComputeCapability, gpu_compute_capability)
#undef XLA_DEVICE_VALUE
#undef XLA_DEVICE_OBJECT
#undef XLA_DEVICE_VERSION

 public:
  // Null if unknown.
  const ExecutionUnitDescription* scalar_unit_description() const {
    return scalar_unit_ ? &*scalar_unit_ : nullptr;
  }
  const ExecutionUnitDescription* matrix_unit_description() const {
    return matrix_unit_ ? &*matrix_unit_ : nullptr;
  }
  void set_scalar_unit_description(ExecutionUnitDescription description) {
    scalar_unit_ = std::move(description);
  }
  void set_matrix_unit_description(ExecutionUnitDescription description) {
    matrix_unit_ = std::move(description);
  }

  // For a device of another vendor these return a capability that does not
  // exist.
  CudaComputeCapability cuda_compute_capability() const;
  RocmComputeCapability rocm_compute_capability() const;
  OneAPIComputeCapability oneapi_compute_capability() const;
  void set_cuda_compute_capability(const CudaComputeCapability& cc) {
    gpu_compute_capability_ = cc;
  }
  void set_rocm_compute_capability(std::string gcn_arch_name);
  void set_oneapi_compute_capability(uint32_t ip_version);
  void set_block_dim_limit_x(int64_t limit) { block_dim_limit_.x = limit; }
  void set_block_dim_limit_y(int64_t limit) { block_dim_limit_.y = limit; }
  void set_block_dim_limit_z(int64_t limit) { block_dim_limit_.z = limit; }

  // Bytes of a core's first-level cache; bytes fetched from memory to read one
  // element; transactions per clock between L2 and all cores. By vendor and
  // generation, since no data sheet gives them as one number (NVIDIA's tuning
  // guides: 32-byte sectors, two at once since Volta; AMD: 64-byte channels).
  int64_t l1_cache_size_per_SM() const;
  int64_t dram_to_l2_transaction_size_bytes() const;
  int64_t memory_transactions_per_clock() const;

  GpuDeviceInfoProto ToProto() const;
  std::string ToString() const;
  // Errors: invalid versions or element types. Absent fields keep their
  // defaults.
  static absl::StatusOr<DeviceDescription> FromProto(
      const GpuDeviceInfoProto& proto);

  bool operator==(const DeviceDescription& other) const {
    return EqualsTo(other);
  }
  bool operator!=(const DeviceDescription& other) const {
    return !(*this == other);
  }
  enum class CompareOptions {
    kIgnoreVersionNumbers,
    // Also the fields that differ between boards of one model.
    kPortable,
  };
  bool EqualsTo(const DeviceDescription& other,
                absl::Span<const CompareOptions> compare_options = {}) const;
  // Without the fields that identify one board: bus, node, links.
  DeviceDescription DeviceSpecificFieldsCleared() const;

 private:
  std::optional<ExecutionUnitDescription> scalar_unit_;
  std::optional<ExecutionUnitDescription> matrix_unit_;
};

// `compute_capability=9.0`
std::string MakeComputeCapabilityAttributeString(const DeviceDescription& desc);

// Whether a block of this shape may be launched.
bool ThreadDimOk(const DeviceDescription& device_description,
                 const ThreadDim& thread_dim);

// Blocks of the largest size that give every element a thread.
void CalculateDimensionality(const DeviceDescription& device_description,
                             int64_t element_count, int64_t* threads_per_block,
                             int64_t* block_count);

}  // namespace stream_executor

// OpenXLA's short name of the namespace.
namespace xla {
namespace se = ::stream_executor;
}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_COST_DEVICE_DESCRIPTION_H_
