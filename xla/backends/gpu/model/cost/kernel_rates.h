#ifndef XLA_BACKENDS_GPU_MODEL_COST_KERNEL_RATES_H_
#define XLA_BACKENDS_GPU_MODEL_COST_KERNEL_RATES_H_

#include "xla/hlo/analysis/cost/device_description.h"

namespace xla::gpu {

// Rates of generated kernels, derived from a device's description; the formulas
// are GpuPerformanceModel's.

// Operations per second of `blocks` blocks of `threads` threads.
double ComputeRate(double blocks, double threads,
                   const stream_executor::DeviceDescription& device);

// Bytes per second that `blocks` blocks can ask for.
double RequestRate(double blocks,
                   const stream_executor::DeviceDescription& device);

// Bytes per second that `blocks` blocks can read from memory.
double ReadRate(double blocks,
                const stream_executor::DeviceDescription& device);

// Bytes per second at which an operand of `bytes` bytes, which comes from
// memory at `read_rate`, is read again: more if a cache holds it.
double RereadRate(double bytes, double read_rate,
                  const stream_executor::DeviceDescription& device);

// The same for what neighboring threads read at about the same time: it comes
// from the nearest cache, however large the operand is.
double NearRate(double read_rate);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_COST_KERNEL_RATES_H_
