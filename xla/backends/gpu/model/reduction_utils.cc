#include "xla/backends/gpu/model/reduction_utils.h"

#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape.h"

namespace xla {
namespace gpu {
namespace {

// A row longer than this many rounds of a full block, or more rows reduced into
// one result than this, are split between blocks.
constexpr int64_t kThreadsPerRow = 1024;
constexpr int64_t kRaceFreeRounds = 16;
constexpr int64_t kRaceFreeBatch = 8;
// The same of a column, in warps.
constexpr int64_t kRaceFreeColumnRounds = 128;

}  // namespace

std::string ReductionDimensions::ToString() const {
  return absl::StrCat(is_row_reduction ? "row" : "column", " [",
                      absl::StrJoin(dimensions, ","), "]");
}

std::ostream& operator<<(std::ostream& out, const ReductionDimensions& dims) {
  return out << dims.ToString();
}

// Groups the dimensions, in memory order, into runs that are all reduced or all
// kept. Up to three runs match one of the two forms that the emitters know:
// [major reduced, kept, minor reduced] for rows and [major kept, reduced, minor
// kept] for columns, with missing runs of size 1.
std::optional<ReductionDimensions> ReductionDimensionsOf(
    const HloInstruction& reduce) {
  const Shape& shape = reduce.operand(0)->shape();
  if (!shape.IsArray()) return std::nullopt;
  const int64_t rank = shape.dimensions().size();
  std::vector<bool> is_reduced(rank, false);
  for (int64_t dim : reduce.dimensions()) is_reduced[dim] = true;

  // Runs of dimensions, from major to minor: (reduced, elements).
  std::vector<std::pair<bool, int64_t>> runs;
  // Dimensions of size 1 part others, unless they come first, but are in no
  // run.
  int64_t num_runs_of_all = 0;
  bool last_is_reduced = false;
  for (int64_t i = 0; i < rank; ++i) {
    // A shape without layout is taken to be in row-major order.
    const int64_t dim =
        shape.has_layout() ? LayoutUtil::Major(shape.layout(), i) : i;
    if (runs.empty() && shape.dimensions(dim) == 1) continue;
    if (runs.empty() || is_reduced[dim] != last_is_reduced) ++num_runs_of_all;
    last_is_reduced = is_reduced[dim];
    if (shape.dimensions(dim) == 1) continue;
    if (runs.empty() || runs.back().first != is_reduced[dim]) {
      runs.emplace_back(is_reduced[dim], 1);
    }
    runs.back().second *= shape.dimensions(dim);
  }
  if (num_runs_of_all > 3) return std::nullopt;
  if (runs.empty()) return ReductionDimensions{true, {1, 1, 1}};

  // A row reduction ends with what is reduced; so does [reduced, kept, reduced]
  // alone of those with three runs that begin with it.
  const bool is_row = runs.back().first;
  ReductionDimensions result{is_row, {1, 1, 1}};
  if (runs.size() == 1 && !is_row) {
    result.dimensions[ReductionDimensions::kColMinorKeptDimension] =
        runs[0].second;
    return result;
  }
  int position = 3;
  for (auto it = runs.rbegin(); it != runs.rend(); ++it) {
    result.dimensions[--position] = it->second;
  }
  return result;
}

ReductionDimensions GetReductionKindAndContiguousComponents(
    const HloInstruction& reduce) {
  std::optional<ReductionDimensions> dims = ReductionDimensionsOf(reduce);
  CHECK(dims.has_value()) << reduce.name() << " is not contiguous";
  return *dims;
}

// A reduction kernel of its own needs enough elements to occupy a warp; below
// these thresholds, a plain loop in which each thread reduces one result is
// faster.
bool IsUnnestedReductionFasterThanElemental(
    const ReductionDimensions& reduction_dimensions,
    const se::DeviceDescription& device_description) {
  const int64_t warp = device_description.threads_per_warp();
  const std::array<int64_t, 3>& dims = reduction_dimensions.dimensions;
  if (reduction_dimensions.is_row_reduction) {
    const int64_t row = dims[ReductionDimensions::kRowMinorReducedDimension];
    return row >= warp || (row > 0 && warp % row == 0);
  }
  const int64_t reduced = dims[ReductionDimensions::kColReducedDimension];
  const int64_t minor = dims[ReductionDimensions::kColMinorKeptDimension];
  const bool elemental_is_faster =
      reduced < warp || (reduced < 2 * warp && minor < warp) ||
      (reduced < 4 * warp && minor < 8) || (reduced < 8 * warp && minor < 3);
  return !elemental_is_faster;
}

bool IsReductionFromOrToContiguousDimensions(
    const HloInstruction& reduce,
    const se::DeviceDescription& device_description) {
  if (reduce.opcode() != HloOpcode::kReduce) return false;
  std::optional<ReductionDimensions> dims = ReductionDimensionsOf(reduce);
  return dims.has_value() &&
         IsUnnestedReductionFasterThanElemental(*dims, device_description);
}

// Short enough that one block computes each result. Longer reductions are split
// between blocks, which combine their partial results with atomic operations.
bool ReductionIsRaceFree(const ReductionDimensions& reduction_dimensions,
                         const se::DeviceDescription& device_description) {
  const std::array<int64_t, 3>& dims = reduction_dimensions.dimensions;
  if (reduction_dimensions.is_row_reduction) {
    return dims[ReductionDimensions::kRowMinorReducedDimension] <=
               kThreadsPerRow * kRaceFreeRounds &&
           dims[ReductionDimensions::kRowMajorReducedDimension] <=
               kRaceFreeBatch;
  }
  return dims[ReductionDimensions::kColReducedDimension] <=
         device_description.threads_per_warp() * kRaceFreeColumnRounds;
}

bool IsRealReductionHero(const HloInstruction& root, const HloInstruction& hero,
                         const se::DeviceDescription& device_description) {
  if (!IsReductionFromOrToContiguousDimensions(hero, device_description)) {
    return false;
  }
  return &root == &hero ||
         ReductionIsRaceFree(*ReductionDimensionsOf(hero), device_description);
}

bool AreReductionsMultiOutputFusionCompatible(const HloInstruction* reduce_hero,
                                              const HloInstruction* first) {
  std::optional<ReductionDimensions> a = ReductionDimensionsOf(*reduce_hero);
  return a.has_value() && a == ReductionDimensionsOf(*first);
}

}  // namespace gpu
}  // namespace xla
