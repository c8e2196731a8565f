#include "xla/backends/gpu/model/threads_at_once.h"

#include <algorithm>
#include <cstdint>

namespace xla::gpu {

int64_t ThreadsAtOnce(const se::DeviceDescription* device) {
  constexpr int64_t kUsual = int64_t{1} << 18, kRound = int64_t{1} << 15;
  if (device == nullptr) return kUsual;
  const int64_t threads =
      int64_t{1} * device->core_count() * device->threads_per_core_limit();
  if (threads <= 0) return kUsual;
  return std::max(threads / kRound * kRound, std::min(threads, kRound));
}

}  // namespace xla::gpu
