// Recipes for opcodes that move elements.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/testlib/random_computation.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace random_module_internal {
namespace {

bool Any(const Value&) { return true; }
// 0, 1, ..., n - 1 in random order.
std::vector<int64_t> RandomPermutation(ModuleState& state, int64_t n) {
  std::vector<int64_t> result(n);
  std::iota(result.begin(), result.end(), 0);
  for (int64_t i = n - 1; i > 0; --i) {
    std::swap(result[i], result[state.Below(i + 1)]);
  }
  return result;
}

// A subset of 0..n-1 in ascending order; each is in it with probability 1/2.
std::vector<int64_t> RandomSubset(ModuleState& state, int64_t n) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < n; ++i) {
    if (state.OneIn(2)) result.push_back(i);
  }
  return result;
}

// Dimensions of `elements` elements.
std::vector<int64_t> RandomFactors(ModuleState& state, int64_t elements,
                                   int64_t max_rank) {
  std::vector<int64_t> dimensions;
  while (static_cast<int64_t>(dimensions.size()) + 1 < max_rank &&
         !state.OneIn(3)) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= elements; ++d) {
      if (elements % d == 0) divisors.push_back(d);
    }
    if (divisors.empty()) break;
    dimensions.push_back(divisors[state.Below(divisors.size())]);
    elements /= dimensions.back();
  }
  if (elements != 1 || dimensions.empty() || state.OneIn(4)) {
    dimensions.push_back(elements);
  }
  return dimensions;
}

}  // namespace

bool RandomComputation::Broadcast(HloOpcode opcode) {
  Value x = PickArray([&](const Value& value) {
    return static_cast<int64_t>(value.shape().dimensions().size()) <
           state_.options.max_rank;
  });
  if (x.instruction == nullptr) return false;
  const absl::Span<const int64_t> from = x.shape().dimensions();
  const int64_t rank = state_.Between(std::max<int64_t>(from.size(), 1),
                                      state_.options.max_rank);
  std::vector<int64_t> places = RandomPermutation(state_, rank);
  places.resize(from.size());
  absl::c_sort(places);
  std::vector<int64_t> to(rank, -1);
  int64_t elements = 1;
  for (size_t i = 0; i < from.size(); ++i) {
    to[places[i]] = from[i];
    elements *= from[i];
  }
  for (int64_t& size : to) {
    if (size >= 0) continue;
    size = state_.Between(
        1, std::max<int64_t>(1, std::min(state_.options.max_dimension,
                                         state_.options.max_elements /
                                             std::max<int64_t>(elements, 1))));
    elements *= size;
  }
  Publish(HloInstruction::CreateBroadcast(ShapeUtil::MakeShape(x.type(), to),
                                          x.instruction, places),
          x.range, x.stable);
  return true;
}

bool RandomComputation::Reshape(HloOpcode opcode) {
  Value x = PickArray(Any);
  if (x.instruction == nullptr) return false;
  const Shape shape = ShapeUtil::MakeShape(
      x.type(), RandomFactors(state_, ShapeUtil::ElementsIn(x.shape()),
                              state_.options.max_rank + 1));
  Publish(opcode == HloOpcode::kBitcast
              ? HloInstruction::CreateBitcast(shape, x.instruction)
              : HloInstruction::CreateReshape(shape, x.instruction),
          x.range, x.stable);
  return true;
}

bool RandomComputation::Transpose(HloOpcode opcode) {
  Value x = PickArray(HasRank);
  if (x.instruction == nullptr) return false;
  std::vector<int64_t> permutation =
      RandomPermutation(state_, x.shape().dimensions().size());
  std::vector<int64_t> dimensions;
  for (int64_t d : permutation) dimensions.push_back(x.shape().dimensions(d));
  Publish(HloInstruction::CreateTranspose(
              ShapeUtil::MakeShape(x.type(), dimensions), x.instruction,
              permutation),
          x.range, x.stable);
  return true;
}

bool RandomComputation::Reverse(HloOpcode opcode) {
  Value x = PickArray(HasRank);
  if (x.instruction == nullptr) return false;
  Publish(HloInstruction::CreateReverse(
              x.shape(), x.instruction,
              RandomSubset(state_, x.shape().dimensions().size())),
          x.range, x.stable);
  return true;
}

bool RandomComputation::Slice(HloOpcode opcode) {
  Value x = PickArray(HasRank);
  if (x.instruction == nullptr) return false;
  std::vector<int64_t> starts, limits, strides;
  for (int64_t size : x.shape().dimensions()) {
    starts.push_back(state_.Below(size));
    limits.push_back(size == 0 ? 0 : state_.Between(starts.back() + 1, size));
    strides.push_back(state_.OneIn(3) ? state_.Between(1, 3) : 1);
  }
  absl::StatusOr<Shape> shape =
      ShapeInference::InferSliceShape(x.shape(), starts, limits, strides);
  if (!shape.ok()) return false;
  Publish(HloInstruction::CreateSlice(*shape, x.instruction, starts, limits,
                                      strides),
          x.range, x.stable);
  return true;
}

bool RandomComputation::Pad(HloOpcode opcode) {
  Value x = PickArray(HasRank);
  if (x.instruction == nullptr) return false;
  Value with = Make(ShapeUtil::MakeShape(x.type(), {}), state_.Limit(x.type()));
  PaddingConfig config;
  for (int64_t size : x.shape().dimensions()) {
    auto* dimension = config.add_dimensions();
    const int64_t low = state_.Between(-1, 2);
    const int64_t high = state_.Between(-1, 2);
    const int64_t interior = state_.OneIn(3) ? 1 : 0;
    const int64_t inside = size + interior * std::max<int64_t>(size - 1, 0);
    dimension->set_interior_padding(interior);
    dimension->set_edge_padding_low(inside + low < 1 ? 0 : low);
    dimension->set_edge_padding_high(inside + low + high < 1 ? 1 : high);
  }
  absl::StatusOr<Shape> shape =
      ShapeInference::InferPadShape(x.shape(), with.shape(), config);
  if (!shape.ok() ||
      ShapeUtil::ElementsIn(*shape) > 4 * state_.options.max_elements) {
    return false;
  }
  Publish(HloInstruction::CreatePad(*shape, x.instruction, with.instruction,
                                    config),
          Union(x.range, with.range), x.stable && with.stable);
  return true;
}

bool RandomComputation::Concatenate(HloOpcode opcode) {
  Value x = PickArray(HasRank);
  if (x.instruction == nullptr) return false;
  const int64_t dimension = state_.Below(x.shape().dimensions().size());
  std::vector<Value> parts = {x};
  for (int64_t n = state_.Between(1, 2); n > 0; --n) {
    Shape shape = x.shape();
    shape.set_dimensions(dimension, state_.Between(1, 3));
    parts.push_back(Make(shape, state_.Limit(x.type())));
  }
  std::vector<const Shape*> shapes;
  std::vector<HloInstruction*> operands;
  Range range = x.range;
  bool stable = true;
  for (const Value& part : parts) {
    shapes.push_back(&part.shape());
    operands.push_back(part.instruction);
    range = Union(range, part.range);
    stable &= part.stable;
  }
  absl::StatusOr<Shape> shape =
      ShapeInference::InferConcatOpShape(shapes, dimension);
  if (!shape.ok()) return false;
  Publish(HloInstruction::CreateConcatenate(*shape, operands, dimension), range,
          stable);
  return true;
}

bool RandomComputation::DynamicSlice(HloOpcode opcode) {
  Value x = PickArray(HasRank);
  if (x.instruction == nullptr) return false;
  const PrimitiveType index_type = state_.OneIn(3) ? U32 : S32;
  std::vector<HloInstruction*> starts;
  std::vector<int64_t> sizes;
  for (int64_t size : x.shape().dimensions()) {
    sizes.push_back(size == 0 ? 0 : state_.Between(1, size));
    // Starts beyond the end are moved back.
    starts.push_back(MakeIndices(ShapeUtil::MakeShape(index_type, {}), size + 1)
                         .instruction);
  }
  Publish(
      HloInstruction::CreateDynamicSlice(ShapeUtil::MakeShape(x.type(), sizes),
                                         x.instruction, starts, sizes),
      x.range, x.stable);
  return true;
}

bool RandomComputation::DynamicUpdateSlice(HloOpcode opcode) {
  Value x = PickArray(HasRank);
  if (x.instruction == nullptr) return false;
  std::vector<HloInstruction*> starts;
  std::vector<int64_t> sizes;
  for (int64_t size : x.shape().dimensions()) {
    sizes.push_back(size == 0 ? 0 : state_.Between(1, size));
    starts.push_back(
        MakeIndices(ShapeUtil::MakeShape(S32, {}), size + 1).instruction);
  }
  Value update =
      Make(ShapeUtil::MakeShape(x.type(), sizes), state_.Limit(x.type()));
  Publish(HloInstruction::CreateDynamicUpdateSlice(x.shape(), x.instruction,
                                                   update.instruction, starts),
          Union(x.range, update.range), x.stable && update.stable);
  return true;
}

bool RandomComputation::Iota(HloOpcode opcode) {
  const PrimitiveType type = state_.RandomType();
  if (type == PRED) return false;
  Shape shape = NewShape(type);
  if (shape.dimensions().empty()) return false;
  const int64_t dimension = state_.Below(shape.dimensions().size());
  const Range range = {0, shape.dimensions(dimension) - 1.0};
  if (!range.Within(state_.Limit(type))) return false;
  Publish(HloInstruction::CreateIota(shape, dimension), range, true);
  return true;
}

bool RandomComputation::Constant(HloOpcode opcode) {
  const PrimitiveType type = state_.RandomType();
  const Range limit = state_.Limit(type);
  NewConstant(NewShape(type),
              {std::max(limit.lo, -4.0), std::min(limit.hi, 4.0)});
  return true;
}

bool RandomComputation::Copy(HloOpcode opcode) {
  Value x = PickArray(Any);
  if (x.instruction == nullptr) return false;
  Publish(HloInstruction::CreateUnary(x.shape(), opcode, x.instruction),
          x.range, x.stable);
  return true;
}

bool RandomComputation::CopyStart(HloOpcode opcode) {
  Value x = PickArray(Any);
  if (x.instruction == nullptr) return false;
  HloInstruction* start = Add(HloInstruction::CreateCopyStart(
      ShapeUtil::MakeTupleShape(
          {x.shape(), x.shape(), ShapeUtil::MakeShape(U32, {})}),
      x.instruction));
  Publish(HloInstruction::CreateUnary(x.shape(), HloOpcode::kCopyDone, start),
          x.range, x.stable);
  return true;
}

bool RandomComputation::GetDimensionSize(HloOpcode opcode) {
  Value x = PickArray(HasRank);
  if (x.instruction == nullptr) return false;
  const int64_t dimension = state_.Below(x.shape().dimensions().size());
  const double size = static_cast<double>(x.shape().dimensions(dimension));
  Publish(HloInstruction::CreateGetDimensionSize(ShapeUtil::MakeShape(S32, {}),
                                                 x.instruction, dimension),
          {size, size}, true);
  return true;
}

bool RandomComputation::Gather(HloOpcode opcode) {
  Value x = PickArray([](const Value& value) {
    return HasRank(value) && ShapeUtil::ElementsIn(value.shape()) > 0;
  });
  if (x.instruction == nullptr) return false;
  const int64_t rank = x.shape().dimensions().size();
  GatherDimensionNumbers numbers;
  // Some dimensions are indexed; of those some disappear.
  std::vector<int64_t> indexed = RandomSubset(state_, rank);
  if (indexed.empty()) indexed.push_back(state_.Below(rank));
  std::vector<int64_t> slice_sizes(x.shape().dimensions().begin(),
                                   x.shape().dimensions().end());
  int64_t bound = 1;
  for (int64_t d : indexed) {
    bound = std::max(bound, slice_sizes[d]);
    if (state_.OneIn(2)) {
      numbers.add_collapsed_slice_dims(d);
      slice_sizes[d] = 1;
    } else {
      slice_sizes[d] = state_.Between(1, slice_sizes[d]);
    }
  }
  // The order of the index vector is free.
  for (int64_t i : RandomPermutation(state_, indexed.size())) {
    numbers.add_start_index_map(indexed[i]);
  }
  std::vector<int64_t> index_dims;
  for (int64_t n = state_.Below(3); n > 0; --n) {
    index_dims.push_back(state_.Between(1, 4));
  }
  const int64_t batch_rank = index_dims.size();
  if (indexed.size() == 1 && state_.OneIn(2)) {
    numbers.set_index_vector_dim(batch_rank);
  } else {
    const int64_t place = state_.Between(0, batch_rank);
    index_dims.insert(index_dims.begin() + place, indexed.size());
    numbers.set_index_vector_dim(place);
  }
  const int64_t offsets = rank - numbers.collapsed_slice_dims_size();
  std::vector<int64_t> places = RandomPermutation(state_, batch_rank + offsets);
  places.resize(offsets);
  absl::c_sort(places);
  for (int64_t d : places) numbers.add_offset_dims(d);
  Value indices = MakeIndices(ShapeUtil::MakeShape(S32, index_dims), bound);
  absl::StatusOr<Shape> shape = ShapeInference::InferGatherShape(
      x.shape(), indices.shape(), numbers, slice_sizes);
  if (!shape.ok() ||
      ShapeUtil::ElementsIn(*shape) > 4 * state_.options.max_elements) {
    return false;
  }
  Publish(HloInstruction::CreateGather(
              *shape, x.instruction, indices.instruction, numbers, slice_sizes,
              /*indices_are_sorted=*/false),
          x.range, x.stable);
  return true;
}

bool RandomComputation::Scatter(HloOpcode opcode) {
  Value x = PickArray([](const Value& value) {
    return HasRank(value) && ShapeUtil::ElementsIn(value.shape()) > 0;
  });
  if (x.instruction == nullptr) return false;
  const int64_t rank = x.shape().dimensions().size();
  ScatterDimensionNumbers numbers;
  std::vector<int64_t> indexed = RandomSubset(state_, rank);
  if (indexed.empty()) indexed.push_back(state_.Below(rank));
  std::vector<int64_t> window;
  int64_t bound = 1;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = x.shape().dimensions(d);
    if (!absl::c_linear_search(indexed, d)) {
      window.push_back(state_.Between(1, size));
      continue;
    }
    bound = std::max(bound, size);
    numbers.add_scatter_dims_to_operand_dims(d);
    if (state_.OneIn(2)) {
      numbers.add_inserted_window_dims(d);
    } else {
      window.push_back(state_.Between(1, size));
    }
  }
  std::vector<int64_t> index_dims;
  for (int64_t n = state_.Below(3); n > 0; --n) {
    index_dims.push_back(state_.Between(1, 4));
  }
  // Updates: dimensions of the indices, then those of the window.
  std::vector<int64_t> update_dims = index_dims;
  for (size_t i = 0; i < window.size(); ++i) {
    numbers.add_update_window_dims(update_dims.size());
    update_dims.push_back(window[i]);
  }
  numbers.set_index_vector_dim(index_dims.size());
  index_dims.push_back(indexed.size());
  Value updates =
      Make(ShapeUtil::MakeShape(x.type(), update_dims), state_.Limit(x.type()));
  // Indices beyond the end: their updates are dropped.
  Value indices = MakeIndices(ShapeUtil::MakeShape(S32, index_dims), bound + 1);
  Value both{x.instruction, Union(x.range, updates.range),
             x.stable && updates.stable};
  Range range;
  double identity = 0;
  bool stable = false;
  // Every update might meet at one element.
  const HloOpcode combiner =
      ReducerFor(both, ShapeUtil::ElementsIn(updates.shape()) + 1, &range,
                 &identity, &stable);
  HloComputation* computation = Reducer(combiner, x.type());
  const ProgramShape program = computation->ComputeProgramShape();
  absl::StatusOr<Shape> shape = ShapeInference::InferScatterShape(
      {&x.shape(), &indices.shape(), &updates.shape()}, program, numbers);
  if (!shape.ok()) return false;
  Publish(HloInstruction::CreateScatter(
              *shape, x.instruction, indices.instruction, updates.instruction,
              computation, numbers, /*indices_are_sorted=*/false,
              /*unique_indices=*/false),
          Union(range, x.range), stable);
  return true;
}

}  // namespace random_module_internal
}  // namespace xla
