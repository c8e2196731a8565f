#include "xla/hlo/analysis/cost/device_description.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/util/message_differencer.h"
#include "xla/status_macros.h"

namespace stream_executor {
namespace {

// In bytes; see the header.
constexpr int64_t kL1BytesPerSm = 128 << 10;
constexpr int64_t kCudaSector = 32;
constexpr int64_t kRocmChannel = 64;
constexpr int64_t kCudaTransactionsPerClock = 32;

absl::Status ReadVersion(absl::string_view field, const std::string& text,
                         SemanticVersion* version) {
  if (text.empty()) return absl::OkStatus();
  absl::StatusOr<SemanticVersion> parsed =
      SemanticVersion::ParseFromString(text);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": ", parsed.status().message()));
  }
  *version = *parsed;
  return absl::OkStatus();
}

std::string VersionText(const SemanticVersion& version) {
  return version == SemanticVersion() ? "" : version.ToString();
}

bool Has(absl::Span<const DeviceDescription::CompareOptions> options,
         DeviceDescription::CompareOptions option) {
  return absl::c_linear_search(options, option);
}

void ClearVersions(GpuDeviceInfoProto* proto) {
  proto->clear_platform_version();
  proto->clear_driver_version();
  proto->clear_kernel_mode_driver_version();
  proto->clear_runtime_version();
  proto->clear_compile_time_toolkit_version();
  proto->clear_dnn_version();
  proto->clear_cub_version();
}

}  // namespace

// --- Units and links --------------------------------------------------------

std::optional<ExecutionUnitDescription::RateInfo>
ExecutionUnitDescription::GetRateInfo(xla::PrimitiveType dtype) const {
  auto it = rate_infos_.find(dtype);
  if (it == rate_infos_.end()) return std::nullopt;
  return it->second;
}

ExecutionUnitDescriptionProto ExecutionUnitDescription::ToProto() const {
  ExecutionUnitDescriptionProto proto;
  for (const auto& [type, rate] : rate_infos_) {
    auto& info = (*proto.mutable_rate_infos())[static_cast<int32_t>(type)];
    info.set_clock_rate_ghz(rate.clock_rate_ghz);
    info.set_units_per_core(rate.units_per_core);
    info.set_ops_per_clock(rate.ops_per_clock);
  }
  return proto;
}

absl::StatusOr<ExecutionUnitDescription> ExecutionUnitDescription::FromProto(
    const ExecutionUnitDescriptionProto& proto) {
  ExecutionUnitDescription description;
  for (const auto& [type, info] : proto.rate_infos()) {
    if (!xla::PrimitiveType_IsValid(type)) {
      return absl::InvalidArgumentError(
          absl::StrCat("rate_infos: ", type, " is not an element type"));
    }
    description.SetRateInfo(
        static_cast<xla::PrimitiveType>(type),
        {info.units_per_core(), info.clock_rate_ghz(), info.ops_per_clock()});
  }
  return description;
}

DeviceInterconnectInfoProto DeviceInterconnectInfo::ToProto() const {
  DeviceInterconnectInfoProto proto;
  proto.set_active_links(active_links);
  proto.set_cluster_uuid(cluster_uuid);
  proto.set_clique_id(clique_id);
  return proto;
}

absl::StatusOr<DeviceInterconnectInfo> DeviceInterconnectInfo::FromProto(
    const DeviceInterconnectInfoProto& proto) {
  return DeviceInterconnectInfo{proto.active_links(), proto.cluster_uuid(),
                                proto.clique_id()};
}

// --- Capabilities -----------------------------------------------------------

CudaComputeCapability DeviceDescription::cuda_compute_capability() const {
  const auto* cuda = gpu_compute_capability_.cuda_compute_capability();
  return cuda != nullptr ? *cuda : CudaComputeCapability();
}

RocmComputeCapability DeviceDescription::rocm_compute_capability() const {
  const auto* rocm = gpu_compute_capability_.rocm_compute_capability();
  return rocm != nullptr ? *rocm : RocmComputeCapability();
}

OneAPIComputeCapability DeviceDescription::oneapi_compute_capability() const {
  const auto* oneapi = gpu_compute_capability_.oneapi_compute_capability();
  return oneapi != nullptr ? *oneapi : OneAPIComputeCapability();
}

void DeviceDescription::set_rocm_compute_capability(std::string gcn_arch_name) {
  gpu_compute_capability_ = RocmComputeCapability(std::move(gcn_arch_name));
}

void DeviceDescription::set_oneapi_compute_capability(uint32_t ip_version) {
  gpu_compute_capability_ = OneAPIComputeCapability(ip_version);
}

int64_t DeviceDescription::l1_cache_size_per_SM() const {
  // What a core has for both, less what a block takes for itself at most
  // without asking.
  const int64_t both = shared_memory_per_core();
  if (both <= shared_memory_per_block()) return kL1BytesPerSm;
  return both - shared_memory_per_block();
}

int64_t DeviceDescription::dram_to_l2_transaction_size_bytes() const {
  if (gpu_compute_capability_.IsRocm()) return kRocmChannel;
  // Ampere's and later L2 fetches two sectors at once.
  return cuda_compute_capability().IsAtLeastAmpere() ? 2 * kCudaSector
                                                     : kCudaSector;
}

int64_t DeviceDescription::memory_transactions_per_clock() const {
  return kCudaTransactionsPerClock;
}

// --- Protos -----------------------------------------------------------------

GpuDeviceInfoProto DeviceDescription::ToProto() const {
  GpuDeviceInfoProto proto;
#define XLA_DEVICE_PUT(field) proto.set_##field(field())
  XLA_DEVICE_PUT(device_vendor);
  XLA_DEVICE_PUT(platform_version);
  XLA_DEVICE_PUT(pci_bus_id);
  XLA_DEVICE_PUT(name);
  XLA_DEVICE_PUT(model_str);
  XLA_DEVICE_PUT(threads_per_block_limit);
  XLA_DEVICE_PUT(threads_per_warp);
  XLA_DEVICE_PUT(shared_memory_per_block);
  XLA_DEVICE_PUT(shared_memory_per_core);
  XLA_DEVICE_PUT(threads_per_core_limit);
  XLA_DEVICE_PUT(core_count);
  XLA_DEVICE_PUT(fpus_per_core);
  XLA_DEVICE_PUT(memory_bandwidth);
  XLA_DEVICE_PUT(l2_cache_size);
  XLA_DEVICE_PUT(clock_rate_ghz);
  XLA_DEVICE_PUT(device_memory_size);
  XLA_DEVICE_PUT(shared_memory_per_block_optin);
  XLA_DEVICE_PUT(registers_per_core_limit);
  XLA_DEVICE_PUT(registers_per_block_limit);
  XLA_DEVICE_PUT(numa_node);
  XLA_DEVICE_PUT(device_address_bits);
  XLA_DEVICE_PUT(pcie_bandwidth);
  XLA_DEVICE_PUT(ecc_enabled);
  XLA_DEVICE_PUT(mem_clock_ghz);
  XLA_DEVICE_PUT(reserved_shared_memory_per_block);
  XLA_DEVICE_PUT(max_blocks_per_multiprocessor);
  XLA_DEVICE_PUT(collective_memory_granularity);
#undef XLA_DEVICE_PUT
#define XLA_DEVICE_PUT(field) proto.set_##field(VersionText(field()))
  XLA_DEVICE_PUT(driver_version);
  XLA_DEVICE_PUT(kernel_mode_driver_version);
  XLA_DEVICE_PUT(runtime_version);
  XLA_DEVICE_PUT(compile_time_toolkit_version);
  XLA_DEVICE_PUT(dnn_version);
  XLA_DEVICE_PUT(cub_version);
#undef XLA_DEVICE_PUT
  proto.set_block_dim_limit_x(block_dim_limit().x);
  proto.set_block_dim_limit_y(block_dim_limit().y);
  proto.set_block_dim_limit_z(block_dim_limit().z);
  proto.set_thread_dim_limit_x(thread_dim_limit().x);
  proto.set_thread_dim_limit_y(thread_dim_limit().y);
  proto.set_thread_dim_limit_z(thread_dim_limit().z);
  const GpuComputeCapabilityProto capability =
      gpu_compute_capability().ToProto();
  if (capability.has_cuda_compute_capability()) {
    *proto.mutable_cuda_compute_capability() =
        capability.cuda_compute_capability();
  } else if (capability.has_rocm_compute_capability()) {
    *proto.mutable_rocm_compute_capability() =
        capability.rocm_compute_capability();
  } else {
    *proto.mutable_oneapi_compute_capability() =
        capability.oneapi_compute_capability();
  }
  if (scalar_unit_) {
    *proto.mutable_scalar_unit_description() = scalar_unit_->ToProto();
  }
  if (matrix_unit_) {
    *proto.mutable_matrix_unit_description() = matrix_unit_->ToProto();
  }
  if (device_interconnect_info() != DeviceInterconnectInfo()) {
    *proto.mutable_device_interconnect_info() =
        device_interconnect_info().ToProto();
  }
  return proto;
}

std::string DeviceDescription::ToString() const {
  return ToProto().DebugString();
}

absl::StatusOr<DeviceDescription> DeviceDescription::FromProto(
    const GpuDeviceInfoProto& proto) {
  DeviceDescription d;
#define XLA_DEVICE_TAKE(field) d.set_##field(proto.field())
  XLA_DEVICE_TAKE(device_vendor);
  XLA_DEVICE_TAKE(platform_version);
  XLA_DEVICE_TAKE(pci_bus_id);
  XLA_DEVICE_TAKE(name);
  XLA_DEVICE_TAKE(model_str);
  XLA_DEVICE_TAKE(threads_per_block_limit);
  XLA_DEVICE_TAKE(threads_per_warp);
  XLA_DEVICE_TAKE(shared_memory_per_block);
  XLA_DEVICE_TAKE(shared_memory_per_core);
  XLA_DEVICE_TAKE(threads_per_core_limit);
  XLA_DEVICE_TAKE(core_count);
  XLA_DEVICE_TAKE(fpus_per_core);
  XLA_DEVICE_TAKE(memory_bandwidth);
  XLA_DEVICE_TAKE(l2_cache_size);
  XLA_DEVICE_TAKE(clock_rate_ghz);
  XLA_DEVICE_TAKE(device_memory_size);
  XLA_DEVICE_TAKE(shared_memory_per_block_optin);
  XLA_DEVICE_TAKE(registers_per_core_limit);
  XLA_DEVICE_TAKE(registers_per_block_limit);
  XLA_DEVICE_TAKE(numa_node);
  XLA_DEVICE_TAKE(device_address_bits);
  XLA_DEVICE_TAKE(pcie_bandwidth);
  XLA_DEVICE_TAKE(ecc_enabled);
  XLA_DEVICE_TAKE(mem_clock_ghz);
  XLA_DEVICE_TAKE(reserved_shared_memory_per_block);
  XLA_DEVICE_TAKE(max_blocks_per_multiprocessor);
  XLA_DEVICE_TAKE(collective_memory_granularity);
#undef XLA_DEVICE_TAKE
#define XLA_DEVICE_TAKE(field) \
  TF_RETURN_IF_ERROR(ReadVersion(#field, proto.field(), &d.field##_))
  XLA_DEVICE_TAKE(driver_version);
  XLA_DEVICE_TAKE(kernel_mode_driver_version);
  XLA_DEVICE_TAKE(runtime_version);
  XLA_DEVICE_TAKE(compile_time_toolkit_version);
  XLA_DEVICE_TAKE(dnn_version);
  XLA_DEVICE_TAKE(cub_version);
#undef XLA_DEVICE_TAKE
  d.block_dim_limit_ =
      BlockDim(proto.block_dim_limit_x(), proto.block_dim_limit_y(),
               proto.block_dim_limit_z());
  d.thread_dim_limit_ =
      ThreadDim(proto.thread_dim_limit_x(), proto.thread_dim_limit_y(),
                proto.thread_dim_limit_z());
  if (proto.has_cuda_compute_capability()) {
    d.set_cuda_compute_capability({proto.cuda_compute_capability().major(),
                                   proto.cuda_compute_capability().minor()});
  } else if (proto.has_rocm_compute_capability()) {
    d.set_rocm_compute_capability(
        proto.rocm_compute_capability().gcn_arch_name());
  } else if (proto.has_oneapi_compute_capability()) {
    d.set_oneapi_compute_capability(
        proto.oneapi_compute_capability().ip_version());
  }
  if (proto.has_scalar_unit_description()) {
    TF_ASSIGN_OR_RETURN(d.scalar_unit_, ExecutionUnitDescription::FromProto(
                                            proto.scalar_unit_description()));
  }
  if (proto.has_matrix_unit_description()) {
    TF_ASSIGN_OR_RETURN(d.matrix_unit_, ExecutionUnitDescription::FromProto(
                                            proto.matrix_unit_description()));
  }
  TF_ASSIGN_OR_RETURN(
      d.device_interconnect_info_,
      DeviceInterconnectInfo::FromProto(proto.device_interconnect_info()));
  return d;
}

// --- Comparison -------------------------------------------------------------

DeviceDescription DeviceDescription::DeviceSpecificFieldsCleared() const {
  DeviceDescription cleared = *this;
  cleared.set_pci_bus_id("");
  cleared.set_numa_node(0);
  cleared.set_device_interconnect_info({});
  return cleared;
}

bool DeviceDescription::EqualsTo(
    const DeviceDescription& other,
    absl::Span<const CompareOptions> compare_options) const {
  const bool portable = Has(compare_options, CompareOptions::kPortable);
  GpuDeviceInfoProto mine =
      portable ? DeviceSpecificFieldsCleared().ToProto() : ToProto();
  GpuDeviceInfoProto theirs =
      portable ? other.DeviceSpecificFieldsCleared().ToProto()
               : other.ToProto();
  if (Has(compare_options, CompareOptions::kIgnoreVersionNumbers)) {
    ClearVersions(&mine);
    ClearVersions(&theirs);
  }
  return google::protobuf::util::MessageDifferencer::Equals(mine, theirs);
}

// --- Launches ---------------------------------------------------------------

std::string MakeComputeCapabilityAttributeString(
    const DeviceDescription& desc) {
  return absl::StrCat("compute_capability=",
                      desc.gpu_compute_capability().ToString());
}

bool ThreadDimOk(const DeviceDescription& device_description,
                 const ThreadDim& thread_dim) {
  const ThreadDim& limit = device_description.thread_dim_limit();
  const uint64_t total = thread_dim.x * thread_dim.y * thread_dim.z;
  return total <= static_cast<uint64_t>(
                      device_description.threads_per_block_limit()) &&
         thread_dim.x <= limit.x && thread_dim.y <= limit.y &&
         thread_dim.z <= limit.z;
}

void CalculateDimensionality(const DeviceDescription& device_description,
                             int64_t element_count, int64_t* threads_per_block,
                             int64_t* block_count) {
  const int64_t limit = device_description.threads_per_block_limit();
  CHECK_GT(limit, 0);
  *threads_per_block = std::min(element_count, limit);
  *block_count = (element_count + limit - 1) / limit;
}

}  // namespace stream_executor
