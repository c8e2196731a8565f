#include "xla/backends/gpu/model/cost/kernel_rates.h"

#include <algorithm>

// Rates of an idealized device. A kernel with few blocks cannot use all cores,
// and neither can it request memory at full bandwidth.

namespace xla::gpu {
namespace {

using ::stream_executor::DeviceDescription;

constexpr double kL2Speedup = 2.5;
constexpr double kL1Speedup = 8;
constexpr double kBytesPerBlockAndClock = 32;

double Hertz(const DeviceDescription& device) {
  return device.clock_rate_ghz() * 1e9;
}

}  // namespace

double ComputeRate(double blocks, double threads,
                   const DeviceDescription& device) {
  return 2 * Hertz(device) * std::min<double>(blocks, device.core_count()) *
         std::min<double>(threads, device.fpus_per_core());
}

double RequestRate(double blocks, const DeviceDescription& device) {
  return blocks * Hertz(device) * kBytesPerBlockAndClock;
}

double ReadRate(double blocks, const DeviceDescription& device) {
  return std::min<double>(device.memory_bandwidth(),
                          RequestRate(blocks, device));
}

double RereadRate(double bytes, double read_rate,
                  const DeviceDescription& device) {
  double rate = read_rate;
  if (bytes <= device.l2_cache_size()) rate *= kL2Speedup;
  if (bytes <= static_cast<double>(device.l1_cache_size_per_SM()) *
                   device.core_count()) {
    rate *= kL1Speedup;
  }
  return rate;
}

double NearRate(double read_rate) {
  return read_rate * kL2Speedup * kL1Speedup;
}

}  // namespace xla::gpu
