#ifndef XLA_BACKENDS_GPU_MODEL_THREADS_AT_ONCE_H_
#define XLA_BACKENDS_GPU_MODEL_THREADS_AT_ONCE_H_

#include <cstdint>

#include "xla/hlo/analysis/cost/device_description.h"

namespace xla::gpu {

// How many threads kernels assume that the device runs at once: as many as all
// its multiprocessors hold, rounded down to a multiple of 2^15. Rows are often
// powers of two, and a few threads too few do no harm. Devices that hold less
// than that are not rounded.
//
//   H100: 132 * 2048 = 270,336   ->  262,144
//
// 2^18 if there is no device, or its description does not say.
int64_t ThreadsAtOnce(const se::DeviceDescription* device);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_THREADS_AT_ONCE_H_
