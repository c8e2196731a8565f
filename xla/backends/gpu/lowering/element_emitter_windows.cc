#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/lowering/element_emitter.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/primitive_util.h"
#include "xla/status_macros.h"

// Convolutions and scatters of one thread: an element of the result asks what
// there is for it, rather than an update where it goes. That needs no atomics,
// and the order is the evaluator's; what it costs is that each element looks at
// all indices of a scatter. Where that is too much, or the order does not
// matter, updates go where they belong (kernel_frame_updates.cc).

namespace xla::gpu {

using kir::ElementType;
using kir::Operand;

// Groups are runs of consecutive output features. With 6 features in 2 feature
// groups, features 3 to 5 read the second half of the input's channels; with 2
// batch groups they read the second half of its batches, of which the result
// has half as many.
ElementEmitter::Values ElementEmitter::Convolution(const HloInstruction& hlo,
                                                   const Indices& indices) {
  const ConvolutionDimensionNumbers& dims = hlo.convolution_dimension_numbers();
  const HloInstruction& input = *hlo.operand(0);
  const HloInstruction& kernel = *hlo.operand(1);
  const PrimitiveType result = hlo.shape().element_type();
  ASSIGN_OR_RETURN(const ElementType type, KernelType(result));
  const bool narrow = primitive_util::IsFloatingPointType(result) &&
                      primitive_util::BitWidth(result) < 32;
  const ElementType sum_type = narrow ? ElementType::kF32 : type;
  const AffineExpr feature = indices[dims.output_feature_dimension()];
  const int64_t features =
      hlo.shape().dimensions(dims.output_feature_dimension());
  const int64_t channels =
      kernel.shape().dimensions(dims.kernel_input_feature_dimension());
  // Which group of input features, or of batches, the feature belongs to.
  const auto group = [&](int64_t count) {
    return AffineExpr::FloorDiv(feature, AffineExpr(features / count))
        .SimplifyIn(builder_.ranges());
  };
  std::vector<int64_t> extents = {channels};
  for (const WindowDimension& w : hlo.window().dimensions()) {
    extents.push_back(w.size());
  }
  const Operand sum = builder_.Emit("full", sum_type, {0.0});
  Indices places;
  RETURN_IF_ERROR(Loops(extents, &places, [&]() -> absl::Status {
    ConditionalIndices where;
    where.indices.resize(input.shape().dimensions().size());
    where.indices[dims.input_batch_dimension()] =
        indices[dims.output_batch_dimension()] +
        group(hlo.batch_group_count()) *
            AffineExpr(hlo.shape().dimensions(dims.output_batch_dimension()));
    where.indices[dims.input_feature_dimension()] =
        places[0] + group(hlo.feature_group_count()) * AffineExpr(channels);
    Indices at(kernel.shape().dimensions().size());
    at[dims.kernel_input_feature_dimension()] = places[0];
    at[dims.kernel_output_feature_dimension()] = feature;
    for (int d = 0; d < dims.input_spatial_dimensions().size(); ++d) {
      const int64_t along = dims.input_spatial_dimensions(d);
      where.indices[along] = AddWindowIndex(
          hlo.window().dimensions(d), input.shape().dimensions(along),
          indices[dims.output_spatial_dimensions(d)], places[1 + d],
          builder_.ranges(), &where.condition);
      at[dims.kernel_spatial_dimensions(d)] = places[1 + d];
    }
    where.condition = where.condition.SimplifyIn(builder_.ranges());
    return If(hlo, where.condition, [&]() -> absl::Status {
      std::vector<Operand> factors;
      ASSIGN_OR_RETURN(Operand left, Element(input, where.indices));
      ASSIGN_OR_RETURN(Operand right, Element(kernel, at));
      for (Operand factor : {left, right}) {
        if (builder_.TypeOf(factor) != sum_type) {
          factor = builder_.Emit("cast", sum_type, {factor});
        }
        factors.push_back(factor);
      }
      const Operand product =
          builder_.Emit("mul", sum_type, {factors[0], factors[1]});
      builder_.EmitTo(sum, result == PRED ? "or" : "add", {sum, product});
      return absl::OkStatus();
    });
  }));
  if (sum_type == type) return std::vector<Operand>{sum};
  return std::vector<Operand>{builder_.Emit("cast", type, {sum})};
}

absl::Status ElementEmitter::If(const HloInstruction& hlo,
                                const AffineExpr& condition,
                                absl::FunctionRef<absl::Status()> body) {
  if (condition.IsConstant(0)) return absl::OkStatus();
  if (condition.IsConstant()) return body();
  if (builder_.ReadsRegister(condition)) {
    return NotLowered(hlo, "a window at an index known only at run time");
  }
  return builder_.If(
      kir::Uniformity::kDivergent, condition, [&] { return InScope(body); },
      [] { return absl::OkStatus(); });
}

absl::Status ElementEmitter::Combine(const HloComputation& combiner,
                                     const kir::Argument& condition,
                                     absl::Span<const Operand> accumulators,
                                     absl::Span<const Operand> values) {
  std::vector<Operand> arguments(accumulators.begin(), accumulators.end());
  absl::c_copy(values, std::back_inserter(arguments));
  ASSIGN_OR_RETURN(const std::vector<Operand> results,
                   Apply(combiner, arguments));
  std::vector<Operand> chosen;
  for (size_t k = 0; k < accumulators.size(); ++k) {
    chosen.push_back(builder_.Emit("select", builder_.TypeOf(accumulators[k]),
                                   {condition, results[k], accumulators[k]}));
  }
  for (size_t k = 0; k < accumulators.size(); ++k) {
    builder_.EmitTo(accumulators[k], "copy", {chosen[k]});
  }
  return absl::OkStatus();
}

namespace {

bool IsAmong(const google::protobuf::RepeatedField<int64_t>& list, int64_t d) {
  return absl::c_linear_search(list, d);
}

// Windows of a scatter, by dimension of the array: how many elements they have
// along it, and where the dimension is in the updates, or -1.
struct ScatterWindows {
  std::vector<int64_t> extents, at;
};

ScatterWindows WindowsOf(const HloScatterInstruction& scatter) {
  const ScatterDimensionNumbers& numbers = scatter.scatter_dimension_numbers();
  const Shape& update = scatter.scatter_updates()[0]->shape();
  const size_t rank =
      scatter.scatter_operands()[0]->shape().dimensions().size();
  ScatterWindows windows{std::vector<int64_t>(rank, 1),
                         std::vector<int64_t>(rank, -1)};
  int next = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d) {
    if (IsAmong(numbers.inserted_window_dims(), d) ||
        IsAmong(numbers.input_batching_dims(), d)) {
      continue;
    }
    windows.at[d] = numbers.update_window_dims(next++);
    windows.extents[d] = update.dimensions(windows.at[d]);
  }
  return windows;
}

// Where the index of a row has its number `k`.
Indices PlaceOfIndex(const HloScatterInstruction& scatter, const Indices& row,
                     int k) {
  const int64_t vector_dim =
      scatter.scatter_dimension_numbers().index_vector_dim();
  const Shape& starts = scatter.scatter_indices()->shape();
  Indices place = row;
  if (vector_dim < static_cast<int64_t>(starts.dimensions().size())) {
    place.insert(place.begin() + vector_dim, AffineExpr(k));
  }
  return place;
}

}  // namespace

absl::StatusOr<ElementEmitter::ScatterPlace> ElementEmitter::PlaceOfUpdate(
    const HloInstruction& hlo, const Indices& indices) {
  const auto& scatter = *Cast<HloScatterInstruction>(&hlo);
  const ScatterDimensionNumbers& numbers = scatter.scatter_dimension_numbers();
  const Shape& array = scatter.scatter_operands()[0]->shape();
  const ScatterWindows windows = WindowsOf(scatter);
  const int64_t vector_dim = numbers.index_vector_dim();
  Indices row;
  for (int64_t d = 0; d < static_cast<int64_t>(indices.size()); ++d) {
    if (!IsAmong(numbers.update_window_dims(), d)) row.push_back(indices[d]);
  }
  Indices places(windows.extents.size());
  for (size_t d = 0; d < places.size(); ++d) {
    if (windows.at[d] >= 0) places[d] = indices[windows.at[d]];
  }
  for (int k = 0; k < numbers.input_batching_dims().size(); ++k) {
    const int64_t d = numbers.scatter_indices_batching_dims(k);
    places[numbers.input_batching_dims(k)] = row[d < vector_dim ? d : d - 1];
  }
  AffineExpr inside = 1;
  for (int k = 0; k < numbers.scatter_dims_to_operand_dims().size(); ++k) {
    const int64_t d = numbers.scatter_dims_to_operand_dims(k);
    const int64_t count = array.dimensions(d) - windows.extents[d] + 1;
    ASSIGN_OR_RETURN(const AffineExpr start,
                     Start(*scatter.scatter_indices(),
                           PlaceOfIndex(scatter, row, k), -1, count));
    inside = AffineExpr::Min(inside, Inside(start, count, builder_.ranges()));
    places[d] = places[d] + Clamp(start, count, builder_.ranges());
  }
  ScatterPlace result;
  ASSIGN_OR_RETURN(result.place, PlaceInMemory(array, places));
  ASSIGN_OR_RETURN(result.inside, builder_.Number(inside));
  return result;
}

// The thread of an element goes through all index vectors and combines the
// updates whose window covers it, in the order of the updates. That takes
// elements times updates steps, but no atomics, and combines in the same order
// on every run. A start is clamped to [-1, last + 1], where `last` is the last
// one in bounds: a window that is out of bounds stays so, and the range of the
// index is known.
ElementEmitter::Values ElementEmitter::Scatter(const HloInstruction& hlo,
                                               const Indices& indices) {
  const auto& scatter = *Cast<HloScatterInstruction>(&hlo);
  const ScatterDimensionNumbers& numbers = scatter.scatter_dimension_numbers();
  const HloInstruction& starts = *scatter.scatter_indices();
  const Shape& array = scatter.scatter_operands()[0]->shape();
  const Shape& update = scatter.scatter_updates()[0]->shape();
  const ScatterWindows windows = WindowsOf(scatter);
  const std::vector<int64_t>&window = windows.extents, &at = windows.at;
  // Where the indices are: dimensions that batches fix have one place.
  const int64_t vector_dim = numbers.index_vector_dim();
  std::vector<int64_t> extents;
  for (int64_t d = 0;
       d < static_cast<int64_t>(starts.shape().dimensions().size()); ++d) {
    if (d == vector_dim) continue;
    extents.push_back(IsAmong(numbers.scatter_indices_batching_dims(), d)
                          ? 1
                          : starts.shape().dimensions(d));
  }
  std::vector<Operand> accumulators;
  for (const HloInstruction* operand : scatter.scatter_operands()) {
    ASSIGN_OR_RETURN(const ElementType type,
                     KernelType(operand->shape().element_type()));
    ASSIGN_OR_RETURN(const Operand value, Element(*operand, indices));
    accumulators.push_back(builder_.Emit("copy", type, {value}));
  }
  if (absl::c_linear_search(extents, 0)) return accumulators;
  Indices batch;
  RETURN_IF_ERROR(Loops(extents, &batch, [&]() -> absl::Status {
    Indices row = batch;
    for (int k = 0; k < numbers.input_batching_dims().size(); ++k) {
      const int64_t d = numbers.scatter_indices_batching_dims(k);
      row[d < vector_dim ? d : d - 1] = indices[numbers.input_batching_dims(k)];
    }
    AffineExpr condition = 1;
    Indices offsets = indices;
    for (int k = 0; k < numbers.scatter_dims_to_operand_dims().size(); ++k) {
      const int64_t d = numbers.scatter_dims_to_operand_dims(k);
      // Windows that are not inside as a whole are left out.
      const int64_t last = array.dimensions(d) - window[d];
      ASSIGN_OR_RETURN(
          const AffineExpr start,
          Start(starts, PlaceOfIndex(scatter, row, k), -1, last + 1));
      condition = AffineExpr::Min(condition,
                                  Inside(start, last + 1, builder_.ranges()));
      offsets[d] = indices[d] - start;
    }
    std::vector<Operand> values;
    Indices place(update.dimensions().size());
    for (size_t d = 0; d < window.size(); ++d) {
      if (IsAmong(numbers.input_batching_dims(), static_cast<int64_t>(d))) {
        continue;
      }
      condition = AffineExpr::Min(
          condition, Inside(offsets[d], window[d], builder_.ranges()));
      if (at[d] >= 0) {
        place[at[d]] = Clamp(offsets[d], window[d], builder_.ranges());
      }
    }
    size_t next_row = 0;
    for (int64_t d = 0; d < static_cast<int64_t>(place.size()); ++d) {
      if (!IsAmong(numbers.update_window_dims(), d)) place[d] = row[next_row++];
    }
    for (const HloInstruction* operand : scatter.scatter_updates()) {
      ASSIGN_OR_RETURN(Operand value, Element(*operand, place));
      values.push_back(value);
    }
    ASSIGN_OR_RETURN(const kir::Argument hit, builder_.Number(condition));
    return Combine(*hlo.to_apply(), hit, accumulators, values);
  }));
  return accumulators;
}

// The thread of an element goes through the windows that cover it, at most one
// for each place of the element within its window: the window begins where the
// element less that place is, which must be a multiple of the stride. Each
// window is searched again for the place that it selects, so an element takes
// up to the square of the window's size.
ElementEmitter::Values ElementEmitter::SelectAndScatter(
    const HloInstruction& hlo, const Indices& indices) {
  const HloInstruction& source = *hlo.operand(1);
  ASSIGN_OR_RETURN(const ElementType type,
                   KernelType(hlo.shape().element_type()));
  std::vector<int64_t> extents;
  for (const WindowDimension& w : hlo.window().dimensions()) {
    extents.push_back(w.size());
  }
  ASSIGN_OR_RETURN(const Operand init, Element(*hlo.operand(2), {}));
  const Operand sum = builder_.Emit("copy", type, {init});
  // The windows that the element is in, from the first on: it is at `offsets`
  // from the last place of each back.
  Indices places;
  RETURN_IF_ERROR(Loops(extents, &places, [&]() -> absl::Status {
    Indices window, offsets;
    AffineExpr condition = 1;
    for (size_t d = 0; d < extents.size(); ++d) {
      const WindowDimension& w = hlo.window().dimensions(d);
      offsets.push_back(AffineExpr(w.size() - 1) - places[d]);
      const AffineExpr begin =
          indices[d] + AffineExpr(w.padding_low()) - offsets[d];
      const AffineExpr number =
          AffineExpr::FloorDiv(begin, AffineExpr(w.stride()));
      condition = AffineExpr::Min(
          condition,
          Inside(number, source.shape().dimensions(d), builder_.ranges()));
      if (w.stride() > 1) {
        condition = AffineExpr::Min(
            condition,
            AffineExpr(1) -
                AffineExpr::Min(
                    1, AffineExpr::Mod(begin, AffineExpr(w.stride()))));
      }
      window.push_back(number.SimplifyIn(builder_.ranges()));
    }
    return If(hlo, condition.SimplifyIn(builder_.ranges()),
              [&]() -> absl::Status {
                ASSIGN_OR_RETURN(const Operand selected,
                                 IsSelected(hlo, window, offsets));
                ASSIGN_OR_RETURN(Operand value, Element(source, window));
                return Combine(*hlo.scatter(), selected, {sum}, {value});
              });
  }));
  return std::vector<Operand>{sum};
}

// Whoever comes first is kept where `select` says so, as in a sequential walk
// of the window; `any` makes the first element in bounds win over the initial
// 0, which is none of the window's. Padding never takes part.
absl::StatusOr<Operand> ElementEmitter::IsSelected(const HloInstruction& hlo,
                                                   const Indices& window,
                                                   const Indices& offsets) {
  const HloInstruction& array = *hlo.operand(0);
  ASSIGN_OR_RETURN(const ElementType type,
                   KernelType(array.shape().element_type()));
  std::vector<int64_t> extents;
  for (const WindowDimension& w : hlo.window().dimensions()) {
    extents.push_back(w.size());
  }
  const Operand best = builder_.Emit("full", type, {0.0});
  const Operand any = builder_.Emit("full", ElementType::kPred, {0.0});
  const Operand selected = builder_.Emit("full", ElementType::kPred, {0.0});
  Indices places;
  RETURN_IF_ERROR(Loops(extents, &places, [&]() -> absl::Status {
    ConditionalIndices where;
    AffineExpr here = 1;
    for (size_t d = 0; d < extents.size(); ++d) {
      where.indices.push_back(AddWindowIndex(
          hlo.window().dimensions(d), array.shape().dimensions(d), window[d],
          places[d], builder_.ranges(), &where.condition));
      here = AffineExpr::Min(
          here, Inside(places[d] - offsets[d], 1, builder_.ranges()));
    }
    const auto compare = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const Operand value, Element(array, where.indices));
      ASSIGN_OR_RETURN(const std::vector<Operand> keeps,
                       Apply(*hlo.select(), {best, value}));
      const Operand keep =
          builder_.Emit("and", ElementType::kPred, {keeps[0], any});
      const Operand better = builder_.Emit("select", type, {keep, best, value});
      const Operand mine =
          builder_.Emit("select", ElementType::kPred, {keep, selected, here});
      builder_.EmitTo(best, "copy", {better});
      builder_.EmitTo(selected, "copy", {mine});
      builder_.EmitTo(any, "full", {1.0});
      return absl::OkStatus();
    };
    return If(hlo, where.condition.SimplifyIn(builder_.ranges()), compare);
  }));
  return selected;
}

}  // namespace xla::gpu
