#ifndef XLA_BACKENDS_GPU_SMEM_REPORT_SMEM_SVG_H_
#define XLA_BACKENDS_GPU_SMEM_REPORT_SMEM_SVG_H_

#include <string>

#include "xla/backends/gpu/smem/smem_plan.h"

namespace xla::gpu {

// A picture of a plan: bytes of shared memory upwards, positions of the planned
// kernel to the right, a box per life of a buffer, a line per barrier (solid
// where it was inserted, with its reason as the tooltip), a shaded band per
// loop, and the lower bound. SVG 1.1 without scripts or outside references.
std::string SmemPlanToSvg(const SmemPlan& plan);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_REPORT_SMEM_SVG_H_
