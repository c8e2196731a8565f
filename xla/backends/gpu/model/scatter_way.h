#ifndef XLA_BACKENDS_GPU_MODEL_SCATTER_WAY_H_
#define XLA_BACKENDS_GPU_MODEL_SCATTER_WAY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace xla::gpu {

// How a kernel computes a scatter, for its price and for its lowering.
enum class ScatterWay {
  // In the memory of the operand, the rest of which stays:
  kUnique,   // one thread per element of the updates: all write to different
             // places
  kAtomic,   // the same with atomics: exact in any order
  kInOrder,  // threads per element of a window, each with places of its own,
             // one update after another
  // One thread per element of the result, which looks at all indices; those of
  // a block read them and the updates together where there is a ScatterTile.
  kSearch,
};

// All give the result of applying the updates one after another. The first
// three are for results of a kernel whose operand comes from outside of the
// fusion and that are not written whole.
//
//   scatter(f32[50000,768] p, s32[4096,1], f32[4096,768]), add     kInOrder
//   the same, unique_indices=true                                  kUnique
//   scatter(s32[100] p, s32[4096,1], s32[4096]), add               kAtomic
//   scatter(f32[100] p, s32[4096,1], f32[4096]), add               kSearch
//
// In order, few threads take many steps. That pays where a search has several
// times more elements than a device has threads: from 2^20 elements on, since
// an H100 runs 270,336 threads at a time.
//
// XLA's kernels (KernelTarget::kXla) update one array in place with atomics,
// whatever the order does to sums of floats.
ScatterWay WayOfScatter(const HloInstruction& scatter,
                        KernelTarget target = KernelTarget::kOwn);

// Whether kernels write all of such a result, whatever is updated: complex
// numbers are computed in two parts, and packed ones share bytes.
bool IsWrittenWhole(const Shape& shape);

// What a block of a search computes: so many columns, which are elements of a
// window, of so many rows, where windows begin. It keeps so many updates at a
// time.
struct ScatterTile {
  int64_t rows = 1, columns = 1, updates = 1;
  int64_t row_blocks = 1, column_blocks = 1;  // of the whole result
};
// Nothing where windows overlap or are smaller than the array, in batches, for
// several arrays or packed ones, and where there are few updates.
std::optional<ScatterTile> TileOfScatter(const HloInstruction& scatter,
                                         int64_t threads);
// Dimensions of the array that windows have elements along, if true, or that
// say where they begin, slowest in memory first.
std::vector<int64_t> ScatterDimensions(const HloInstruction& scatter,
                                       bool of_windows);

// The number of groups into which a scatter in order divides its windows by
// where they begin: as many as have enough to do on a device that runs so many
// threads at once, and such that windows next to each other are in different
// groups.
int64_t ScatterGroups(const HloInstruction& scatter, int64_t device_threads);
// Threads of a scatter that is computed in the memory of its operand; in order,
// those of all groups.
int64_t ScatterThreads(const HloInstruction& scatter, int64_t device_threads,
                       KernelTarget target = KernelTarget::kOwn);
// How often, on average, an element of operand `i` is read.
double ScatterReads(const HloInstruction& scatter, int64_t i, bool in_place);
// How often the computation is applied to an element of the updates.
double ScatterRepeats(const HloInstruction& scatter, bool in_place);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_SCATTER_WAY_H_
