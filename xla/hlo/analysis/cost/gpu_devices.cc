#include "xla/hlo/analysis/cost/gpu_devices.h"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "xla/hlo/analysis/cost/gpu_device_texts.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using ::stream_executor::DeviceDescription;
using ::stream_executor::GpuDeviceInfoProto;
using ::stream_executor::GpuTargetConfigProto;

// Keeps the first complaint, as `FILE:LINE:COLUMN: reason`.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(absl::string_view file) : file_(file) {}

  // Both count from 0.
  void AddError(int line, int column, const std::string& message) override {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(
        absl::StrCat(file_, ":", line + 1, ":", column + 1, ": ", message));
  }

  const absl::Status& status() const { return status_; }

 private:
  absl::string_view file_;
  absl::Status status_;
};

template <typename Proto>
absl::StatusOr<Proto> Parse(absl::string_view text, absl::string_view file) {
  Proto proto;
  FirstError errors(file);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  if (!parser.ParseFromString(std::string(text), &proto)) {
    if (!errors.status().ok()) return errors.status();
    return absl::InvalidArgumentError(absl::StrCat(file, ": not a text proto"));
  }
  return proto;
}

absl::Status Check(const DeviceDescription& device, absl::string_view file) {
  auto refuse = [&](absl::string_view field, double value,
                    absl::string_view wanted) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": ", field, " is ", value, ", it must be ", wanted));
  };
#define XLA_DEVICE_NEEDS(field) \
  if (!(device.field() > 0)) return refuse(#field, device.field(), "positive")
  XLA_DEVICE_NEEDS(core_count);
  XLA_DEVICE_NEEDS(fpus_per_core);
  XLA_DEVICE_NEEDS(clock_rate_ghz);
  XLA_DEVICE_NEEDS(memory_bandwidth);
  XLA_DEVICE_NEEDS(threads_per_warp);
  XLA_DEVICE_NEEDS(threads_per_block_limit);
  XLA_DEVICE_NEEDS(threads_per_core_limit);
#undef XLA_DEVICE_NEEDS
#define XLA_DEVICE_SIZE(field) \
  if (device.field() < 0) return refuse(#field, device.field(), "0 or positive")
  XLA_DEVICE_SIZE(l2_cache_size);
  XLA_DEVICE_SIZE(device_memory_size);
  XLA_DEVICE_SIZE(shared_memory_per_core);
  XLA_DEVICE_SIZE(shared_memory_per_block);
  XLA_DEVICE_SIZE(shared_memory_per_block_optin);
  XLA_DEVICE_SIZE(registers_per_core_limit);
  XLA_DEVICE_SIZE(registers_per_block_limit);
#undef XLA_DEVICE_SIZE
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> GpuDeviceNames() {
  std::vector<std::string> names;
  for (const GpuDeviceText& device : GpuDeviceTexts()) {
    names.emplace_back(device.name);
  }
  return names;
}

absl::StatusOr<DeviceDescription> GpuDeviceByName(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (const GpuDeviceText& device : GpuDeviceTexts()) {
    if (device.name == lower) return GpuDeviceFromText(device.text, lower);
  }
  return absl::NotFoundError(
      absl::StrCat("unknown device \"", name,
                   "\"; known: ", absl::StrJoin(GpuDeviceNames(), ", "),
                   ", or the path of a device description"));
}

absl::StatusOr<DeviceDescription> GpuDeviceFromText(absl::string_view text,
                                                    absl::string_view file) {
  GpuDeviceInfoProto info;
  absl::StatusOr<GpuDeviceInfoProto> plain =
      Parse<GpuDeviceInfoProto>(text, file);
  if (plain.ok()) {
    info = *std::move(plain);
  } else {
    // Complaints are about the form that the text looks like.
    absl::StatusOr<GpuTargetConfigProto> target =
        Parse<GpuTargetConfigProto>(text, file);
    if (!target.ok()) {
      const bool is_target =
          text.find("gpu_device_info") != absl::string_view::npos;
      return is_target ? target.status() : plain.status();
    }
    info = std::move(*target->mutable_gpu_device_info());
  }
  absl::StatusOr<DeviceDescription> device = DeviceDescription::FromProto(info);
  if (!device.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": ", device.status().message()));
  }
  TF_RETURN_IF_ERROR(Check(*device, file));
  return device;
}

absl::StatusOr<DeviceDescription> LoadGpuDevice(absl::string_view device) {
  if (device.find_first_of("/.") == absl::string_view::npos) {
    return GpuDeviceByName(device);
  }
  std::ifstream file{std::string(device), std::ios::binary};
  const std::string unreadable =
      absl::StrCat(device, ": cannot read the device description");
  if (!file.is_open()) return absl::NotFoundError(unreadable);
  // A folder can be opened, but not read.
  file.peek();
  if (file.bad()) return absl::InvalidArgumentError(unreadable);
  const std::string text{std::istreambuf_iterator<char>(file),
                         std::istreambuf_iterator<char>()};
  return GpuDeviceFromText(text, device);
}

absl::StatusOr<DeviceDescription> GivenOrLoadedGpuDevice(
    const std::optional<DeviceDescription>& given, absl::string_view device) {
  if (given.has_value()) return *given;
  return LoadGpuDevice(device);
}

}  // namespace xla::gpu
