#ifndef XLA_BACKENDS_GPU_MODEL_REDUCTION_UTILS_H_
#define XLA_BACKENDS_GPU_MODEL_REDUCTION_UTILS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {
namespace gpu {

// How a reduction lies in memory. Dimensions of size 1 are dropped, and runs of
// neighbors, in memory, that are all reduced or all kept become one. What is
// left has at most three dimensions, from major to minor:
//   row:    reduced (1 if there is none), kept, reduced
//   column: kept (1 if there is none), reduced, kept
//
//   f32[8,64,32] reduced over 2 -> row {1, 512, 32}
//   f32[8,64,32] reduced over 1 -> column {8, 64, 32}
struct ReductionDimensions {
  static constexpr int kRowMajorReducedDimension = 0;
  static constexpr int kRowKeptDimension = 1;
  static constexpr int kRowMinorReducedDimension = 2;
  static constexpr int kColMajorKeptDimension = 0;
  static constexpr int kColReducedDimension = 1;
  static constexpr int kColMinorKeptDimension = 2;

  bool is_row_reduction;
  // Elements, from major to minor.
  std::array<int64_t, 3> dimensions;

  std::string ToString() const;
  friend bool operator==(const ReductionDimensions& a,
                         const ReductionDimensions& b) {
    return a.is_row_reduction == b.is_row_reduction &&
           a.dimensions == b.dimensions;
  }
  friend bool operator!=(const ReductionDimensions& a,
                         const ReductionDimensions& b) {
    return !(a == b);
  }
};

std::ostream& operator<<(std::ostream& out, const ReductionDimensions& dims);

// The dimensions of a reduce; nullopt if more than three are left.
std::optional<ReductionDimensions> ReductionDimensionsOf(
    const HloInstruction& reduce);

// The same for reduces for which IsReductionFromOrToContiguousDimensions says
// yes; for others CHECK-fails.
ReductionDimensions GetReductionKindAndContiguousComponents(
    const HloInstruction& reduce);

// Threads that share a reduction beat one thread per result: rows of at least a
// warp or an even part of it; columns that are long, or not quite as long but
// many.
bool IsUnnestedReductionFasterThanElemental(
    const ReductionDimensions& reduction_dimensions,
    const se::DeviceDescription& device_description);

// A reduce for which the above holds: "unnested", worth a kernel made for
// reductions. Variadic ones too.
bool IsReductionFromOrToContiguousDimensions(
    const HloInstruction& reduce,
    const se::DeviceDescription& device_description);

// One block computes each result, so that no atomic operations are needed, and
// what comes after the reduction can stand in the same kernel.
bool ReductionIsRaceFree(const ReductionDimensions& reduction_dimensions,
                         const se::DeviceDescription& device_description);

// `hero`, the reduction from which `root` is computed, makes the kernel one for
// reductions: unnested, and race-free unless it is the root itself.
bool IsRealReductionHero(const HloInstruction& root, const HloInstruction& hero,
                         const se::DeviceDescription& device_description);

// Both reductions run over the same elements in the same way. Types may differ.
bool AreReductionsMultiOutputFusionCompatible(const HloInstruction* reduce_hero,
                                              const HloInstruction* first);

}  // namespace gpu
}  // namespace xla

#endif  // XLA_BACKENDS_GPU_MODEL_REDUCTION_UTILS_H_
