#include "xla/backends/gpu/smem/smem_device.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "xla/hlo/pass/nearest_name.h"

namespace xla::gpu {
namespace {

constexpr int64_t kKiB = 1024;

// name, capability, per block, opt-in, per SM, reserved, granularity, threads,
// blocks, warps, registers.
constexpr GpuDevice kDevices[] = {
    {"sm_70", 70, 48 * kKiB, 96 * kKiB, 96 * kKiB, 0, 256, 2048, 32, 64, 65536},
    {"sm_75", 75, 48 * kKiB, 64 * kKiB, 64 * kKiB, 0, 256, 1024, 16, 32, 65536},
    {"sm_80", 80, 48 * kKiB, 163 * kKiB, 164 * kKiB, kKiB, 128, 2048, 32, 64,
     65536},
    {"sm_86", 86, 48 * kKiB, 99 * kKiB, 100 * kKiB, kKiB, 128, 1536, 16, 48,
     65536},
    {"sm_87", 87, 48 * kKiB, 163 * kKiB, 164 * kKiB, kKiB, 128, 1536, 16, 48,
     65536},
    {"sm_89", 89, 48 * kKiB, 99 * kKiB, 100 * kKiB, kKiB, 128, 1536, 24, 48,
     65536},
    {"sm_90", 90, 48 * kKiB, 227 * kKiB, 228 * kKiB, kKiB, 128, 2048, 32, 64,
     65536},
    {"sm_100", 100, 48 * kKiB, 227 * kKiB, 228 * kKiB, kKiB, 128, 2048, 32, 64,
     65536},
    {"sm_120", 120, 48 * kKiB, 99 * kKiB, 100 * kKiB, kKiB, 128, 1536, 24, 48,
     65536},
};

constexpr std::pair<absl::string_view, int> kProducts[] = {
    {"v100", 70}, {"t4", 75},  {"a100", 80}, {"a10", 86},  {"orin", 87},
    {"l4", 89},   {"l40", 89}, {"h100", 90}, {"h200", 90}, {"b200", 100},
};

constexpr int kWarp = 32;

int64_t RoundUp(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

int64_t GpuDevice::Footprint(int64_t shared_bytes) const {
  return RoundUp(shared_bytes + shared_reserved, shared_granularity);
}

int GpuDevice::BlocksPerSm(int64_t shared_bytes, int threads,
                           int registers) const {
  if (threads < 1 || shared_bytes > shared_per_block_max) return 0;
  const int warps = (threads + kWarp - 1) / kWarp;
  int64_t blocks =
      std::min<int64_t>({max_blocks_per_sm, max_warps_per_sm / warps,
                         max_threads_per_sm / (warps * kWarp)});
  const int64_t footprint = Footprint(shared_bytes);
  if (footprint > 0) blocks = std::min(blocks, shared_per_sm / footprint);
  if (registers > 0) {
    // Registers are handed out to warps, 256 at a time.
    const int64_t per_warp = RoundUp(int64_t{registers} * kWarp, 256);
    blocks = std::min<int64_t>(blocks, registers_per_sm / per_warp / warps);
  }
  return static_cast<int>(blocks);
}

int64_t GpuDevice::OccupancyStep(int blocks) const {
  if (blocks < 1 || blocks > max_blocks_per_sm) return -1;
  const int64_t each =
      shared_per_sm / blocks / shared_granularity * shared_granularity;
  return std::min(shared_per_block_max, each - shared_reserved);
}

absl::Span<const GpuDevice> AllGpuDevices() { return kDevices; }

absl::StatusOr<GpuDevice> FindGpuDevice(absl::string_view name) {
  std::string key = absl::AsciiStrToLower(name);
  for (const auto& [product, capability] : kProducts) {
    if (key == product) key = absl::StrCat(capability);
  }
  key = absl::StrReplaceAll(absl::StripPrefix(key, "sm_"), {{".", ""}});
  // "sm_90a" has the memory of sm_90.
  if (key.size() > 1 && key.back() == 'a') key.pop_back();
  std::vector<std::string> known;
  for (const GpuDevice& device : kDevices) {
    if (key == absl::StrCat(device.compute_capability)) return device;
    known.push_back(std::string(device.name));
  }
  for (const auto& [product, capability] : kProducts) {
    known.push_back(std::string(product));
  }
  return absl::NotFoundError(
      absl::StrCat("unknown device '", name, "'", DidYouMean(name, known)));
}

}  // namespace xla::gpu
