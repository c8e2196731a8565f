#ifndef TOOLS_BENCH_FUSION_FLOOR_H_
#define TOOLS_BENCH_FUSION_FLOOR_H_

#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Bytes that fusion of generated kernels can hardly do without. Dots,
// convolutions, collectives and other kernels of libraries are as they are:
// `library`, what they read and write. `floor`: that; what generated kernels
// must write for libraries, for control flow and as results, once each; and
// what they read of libraries' results and of parameters: once, as the one
// reads it that reads the least of it now, and once more for each one that
// waits for a library which waits for the one before. Less is read only where a
// slice moves up through arithmetic, a dot becomes a loop, or a kernel writes a
// smaller value for a later one. As all bytes of the model: each computation
// counts once. O(instructions^2) bits.
struct FusionFloor {
  double library = 0;
  double floor = 0;
};

FusionFloor FloorOfFusion(const HloModule& unfused,
                          gpu::GpuPerformanceModel* model);

}  // namespace xla

#endif  // TOOLS_BENCH_FUSION_FLOOR_H_
