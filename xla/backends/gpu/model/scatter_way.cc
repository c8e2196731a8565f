#include "xla/backends/gpu/model/scatter_way.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla::gpu {
namespace {

// Threads in a block of a kernel of loops.
constexpr int64_t kThreads = 128;

const HloScatterInstruction& AsScatter(const HloInstruction& hlo) {
  return *Cast<HloScatterInstruction>(&hlo);
}

// Whether windows that do not begin in one place have no element in common:
// they have one element along each dimension that indices are for.
bool AreWindowsApart(const HloScatterInstruction& scatter) {
  const ScatterDimensionNumbers& numbers = scatter.scatter_dimension_numbers();
  const Shape& array = scatter.scatter_operands()[0]->shape();
  const Shape& updates = scatter.scatter_updates()[0]->shape();
  int next = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(array.dimensions().size());
       ++d) {
    if (absl::c_linear_search(numbers.inserted_window_dims(), d) ||
        absl::c_linear_search(numbers.input_batching_dims(), d)) {
      continue;
    }
    const int64_t extent =
        updates.dimensions(numbers.update_window_dims(next++));
    if (extent != 1 &&
        absl::c_linear_search(numbers.scatter_dims_to_operand_dims(), d)) {
      return false;
    }
  }
  return true;
}

// Sums wrap, and bounds stay, whatever comes first.
bool HasAtomics(const HloScatterInstruction& scatter) {
  const HloInstruction& root = *scatter.to_apply()->root_instruction();
  switch (scatter.shape().element_type()) {
    case S32:
    case U32:
    case S64:
    case U64:
      break;
    default:  // None, or their sums depend on the order.
      return false;
  }
  return (root.opcode() == HloOpcode::kAdd ||
          root.opcode() == HloOpcode::kMaximum ||
          root.opcode() == HloOpcode::kMinimum) &&
         root.operand(0)->opcode() == HloOpcode::kParameter &&
         root.operand(1)->opcode() == HloOpcode::kParameter &&
         root.operand(0) != root.operand(1);
}

// Elements of an update: of the dimensions that one thread each is for.
int64_t WindowElements(const HloScatterInstruction& scatter) {
  const ScatterDimensionNumbers& numbers = scatter.scatter_dimension_numbers();
  const Shape& updates = scatter.scatter_updates()[0]->shape();
  int64_t elements = 1;
  for (int64_t d : numbers.update_window_dims()) {
    elements *= updates.dimensions(d);
  }
  for (int64_t d : numbers.scatter_indices_batching_dims()) {
    elements *= scatter.scatter_indices()->shape().dimensions(d);
  }
  return elements;
}

}  // namespace

bool IsWrittenWhole(const Shape& shape) {
  if (!shape.IsArray()) return false;
  if (primitive_util::IsComplexType(shape.element_type())) return true;
  if (!shape.has_layout()) return false;
  const int64_t bits = shape.layout().element_size_in_bits();
  return bits > 0 && bits < 8;
}

ScatterWay WayOfScatter(const HloInstruction& hlo, KernelTarget target) {
  constexpr int64_t kManyElements = int64_t{1} << 20;
  const HloScatterInstruction& scatter = AsScatter(hlo);
  if (scatter.scatter_operand_count() != 1 || IsWrittenWhole(scatter.shape())) {
    return ScatterWay::kSearch;
  }
  const bool apart = AreWindowsApart(scatter);
  if (apart && scatter.unique_indices()) return ScatterWay::kUnique;
  if (target == KernelTarget::kXla || HasAtomics(scatter)) {
    return ScatterWay::kAtomic;
  }
  if (apart && ShapeUtil::ElementsIn(scatter.shape()) >= kManyElements) {
    return ScatterWay::kInOrder;
  }
  return ScatterWay::kSearch;
}

std::vector<int64_t> ScatterDimensions(const HloInstruction& hlo,
                                       bool of_windows) {
  const HloScatterInstruction& scatter = AsScatter(hlo);
  const ScatterDimensionNumbers& numbers = scatter.scatter_dimension_numbers();
  const Shape& array = scatter.scatter_operands()[0]->shape();
  std::vector<int64_t> dims;
  for (int64_t d : array.layout().minor_to_major()) {
    const bool is_fixed =
        absl::c_linear_search(numbers.inserted_window_dims(), d) ||
        absl::c_linear_search(numbers.scatter_dims_to_operand_dims(), d);
    if (is_fixed != of_windows) dims.push_back(d);
  }
  absl::c_reverse(dims);
  return dims;
}

std::optional<ScatterTile> TileOfScatter(const HloInstruction& hlo,
                                         int64_t threads) {
  // Fewer updates are read by each thread in as little time. A block has
  // neighbors up to those of a warp, since wider ones would read what others
  // leave out; values wait in registers.
  constexpr int64_t kLeastUpdates = 64, kMostColumns = 32, kMostUpdates = 1024;
  constexpr int64_t kMostBytes = 128, kMostPlaces = int64_t{1} << 31;
  const HloScatterInstruction& scatter = AsScatter(hlo);
  if (scatter.scatter_operand_count() != 1 || !AreWindowsApart(scatter) ||
      !scatter.scatter_dimension_numbers().input_batching_dims().empty()) {
    return std::nullopt;
  }
  const Shape& array = scatter.scatter_operands()[0]->shape();
  if (IsWrittenWhole(array) || !array.has_layout() ||
      ShapeUtil::ElementsIn(array) == 0 ||
      ShapeUtil::ElementsIn(array) >= kMostPlaces) {
    return std::nullopt;
  }
  int64_t columns = 1;
  for (int64_t d : ScatterDimensions(scatter, true)) {
    columns *= array.dimensions(d);
  }
  const int64_t updates =
      ShapeUtil::ElementsIn(scatter.scatter_updates()[0]->shape());
  if (columns != WindowElements(scatter) || updates / columns < kLeastUpdates) {
    return std::nullopt;
  }
  ScatterTile tile;
  while (tile.columns < std::min(columns, kMostColumns)) tile.columns *= 2;
  if (threads % tile.columns != 0) return std::nullopt;
  tile.rows = threads / tile.columns;
  const int64_t bytes =
      ShapeUtil::ByteSizeOfPrimitiveType(array.element_type());
  tile.updates = threads;
  while (tile.updates < std::min(kMostUpdates, updates / columns) &&
         2 * tile.updates * bytes <= kMostBytes * tile.rows) {
    tile.updates *= 2;
  }
  tile.row_blocks =
      CeilOfRatio(ShapeUtil::ElementsIn(array) / columns, tile.rows);
  tile.column_blocks = CeilOfRatio(columns, tile.columns);
  return tile;
}

// A scatter in order shares its windows by the number of the array's element
// that each begins with, modulo the number of groups. Windows that do not begin
// at one element have none in common, so all updates of an element meet in one
// thread, in their order. Where windows begin at multiples of some distance,
// groups that share a factor with it would get none: starts that are multiples
// of 4 reach 2 of 8 groups, but all of 7. Hence the number of groups is coprime
// to the distance.
int64_t ScatterGroups(const HloInstruction& hlo, int64_t device_threads) {
  // One thread of so many that a device runs, since each looks at all indices,
  // with at least so many windows.
  constexpr int64_t kPartOfDevice = 8, kLeastSteps = 16;
  const HloScatterInstruction& scatter = AsScatter(hlo);
  const int64_t places = std::max<int64_t>(WindowElements(scatter), 1);
  const int64_t windows =
      ShapeUtil::ElementsIn(scatter.scatter_updates()[0]->shape()) / places;
  int64_t groups =
      std::min(device_threads / kPartOfDevice / places, windows / kLeastSteps);
  // Elements from the begin of one window to that of the next.
  const Shape& array = scatter.scatter_operands()[0]->shape();
  int64_t apart = 0, stride = 1;
  for (int64_t d : array.layout().minor_to_major()) {
    if (absl::c_linear_search(
            scatter.scatter_dimension_numbers().scatter_dims_to_operand_dims(),
            d)) {
      apart = std::gcd(apart, stride);
    }
    stride *= array.dimensions(d);
  }
  while (groups > 1 && std::gcd(groups, apart) > 1) --groups;
  return std::max<int64_t>(groups, 1);
}

int64_t ScatterThreads(const HloInstruction& hlo, int64_t device_threads,
                       KernelTarget target) {
  const HloScatterInstruction& scatter = AsScatter(hlo);
  return WayOfScatter(hlo, target) == ScatterWay::kInOrder
             ? WindowElements(scatter) * ScatterGroups(hlo, device_threads)
             : ShapeUtil::ElementsIn(scatter.scatter_updates()[0]->shape());
}

double ScatterReads(const HloInstruction& hlo, int64_t i, bool in_place) {
  const HloScatterInstruction& scatter = AsScatter(hlo);
  const int64_t count = scatter.scatter_operand_count();
  const double updates =
      ShapeUtil::ElementsIn(scatter.scatter_updates()[0]->shape());
  const double array = std::max<double>(
      1, ShapeUtil::ElementsIn(scatter.scatter_operands()[0]->shape()));
  if (i < count) return in_place ? updates / array : 1;
  if (in_place) return 1;
  if (const auto tile = TileOfScatter(scatter, kThreads); tile.has_value()) {
    return i == count ? tile->row_blocks * tile->column_blocks
                      : tile->row_blocks;
  }
  // Searching reads, for each element of the result, all indices, and of each
  // update the element that would be its own.
  double elements = 1;
  if (i == count) {
    for (int64_t d : scatter.scatter_dimension_numbers().update_window_dims()) {
      elements *= scatter.scatter_updates()[0]->shape().dimensions(d);
    }
  }
  return ScatterRepeats(hlo, in_place) * std::max(1.0, elements);
}

double ScatterRepeats(const HloInstruction& hlo, bool in_place) {
  const HloScatterInstruction& scatter = AsScatter(hlo);
  if (in_place) return 1;
  const double array =
      ShapeUtil::ElementsIn(scatter.scatter_operands()[0]->shape());
  return std::max(1.0, array / std::max<int64_t>(1, WindowElements(scatter)));
}

}  // namespace xla::gpu
