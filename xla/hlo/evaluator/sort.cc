#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/casts.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/lane_program.h"
#include "xla/hlo/evaluator/lanes.h"
#include "xla/hlo/evaluator/odometer.h"
#include "xla/hlo/evaluator/scalar_function.h"
#include "xla/hlo/evaluator/sorting.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// sort and topk. Rows are sorted as permutations, always stably, by merging:
// the comparator is called O(n log n) times, and may be inconsistent.

namespace xla {
namespace evaluator {
namespace {

// Bottom-up merge sort of indices. Stable, and in contrast to std::stable_sort
// it may be used with a comparator that fails or is inconsistent, as one given
// by the module may be.
template <typename Less>
absl::Status MergeSort(std::vector<int64_t>& order, const Less& less) {
  std::vector<int64_t> merged(order.size());
  const size_t n = order.size();
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t start = 0; start < n; start += 2 * width) {
      const size_t middle = std::min(start + width, n);
      const size_t end = std::min(start + 2 * width, n);
      size_t a = start;
      size_t b = middle;
      for (size_t i = start; i < end; ++i) {
        bool take_b = a == middle;
        if (!take_b && b < end) {
          // b goes first only if it is less than a.
          TF_ASSIGN_OR_RETURN(take_b, less(order[b], order[a]));
        }
        merged[i] = order[take_b ? b++ : a++];
      }
    }
    order.swap(merged);
  }
  return absl::OkStatus();
}

// Keys whose integer order is the order of lanes; floats in total order.
//
// Floats are sign and magnitude: as integers, positive ones are in order
// already, and negative ones in reverse until all bits but the sign are
// flipped. -0 gets the key -1, right below 0.
int64_t TotalKey(float x) {
  const int32_t bits = absl::bit_cast<int32_t>(x);
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}
int64_t TotalKey(double x) {
  const int64_t bits = absl::bit_cast<int64_t>(x);
  return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
}

// Integer keys in the order of elements of the type; nullopt for complex. With
// `partial`, also nullopt if there is a NaN, and zeros are equal.
std::optional<std::vector<int64_t>> OrderKeys(PrimitiveType type,
                                              const char* elements, int64_t n,
                                              bool partial) {
  std::vector<int64_t> keys(n);
  std::vector<char> lanes(n * 8);
  if (LaneTypeOf(type) == LaneType::kC64 ||
      LaneTypeOf(type) == LaneType::kC128) {
    return std::nullopt;
  }
  LoadLanes(type, elements, n, lanes.data());
  switch (LaneTypeOf(type)) {
    case LaneType::kPred:
      for (int64_t i = 0; i < n; ++i) keys[i] = lanes[i];
      break;
    case LaneType::kS64:
      std::memcpy(keys.data(), lanes.data(), n * 8);
      break;
    case LaneType::kU64:
      std::memcpy(keys.data(), lanes.data(), n * 8);
      for (int64_t& key : keys) key ^= std::numeric_limits<int64_t>::min();
      break;
    case LaneType::kF32:
    case LaneType::kF64:
      for (int64_t i = 0; i < n; ++i) {
        const bool narrow = LaneTypeOf(type) == LaneType::kF32;
        const double x = narrow
                             ? reinterpret_cast<const float*>(lanes.data())[i]
                             : reinterpret_cast<const double*>(lanes.data())[i];
        if (partial && x != x) return std::nullopt;
        keys[i] =
            partial && x == 0 ? 0
            : narrow ? TotalKey(reinterpret_cast<const float*>(lanes.data())[i])
                     : TotalKey(x);
      }
      break;
    default:
      return std::nullopt;
  }
  return keys;
}

// Sorts by the keys of one operand, if that is all that the comparator does.
//
// Parameters 2 j and 2 j + 1 of a comparator are elements of operand j, so a
// comparison of both is one by that operand alone, ascending if it reads the
// first one on the left. With a NaN a partial order is none by which to sort
// (it is neither less nor greater than anything), and the comparator has to be
// called as the module says. Operators that include equality are left to it
// too: of equal elements they put the later one first.
bool SortByKeys(const ScalarFunction& comparator,
                absl::Span<const Value> operands,
                absl::Span<const std::vector<char>> rows, int64_t n,
                std::vector<int64_t>& order) {
  if (comparator.lanes() == nullptr) return false;
  const auto& compare = comparator.lanes()->AsCompare();
  if (!compare.has_value() || compare->lhs == compare->rhs ||
      compare->lhs / 2 != compare->rhs / 2) {
    return false;
  }
  const bool ascending = compare->lhs % 2 == 0;
  const bool less = compare->direction == Comparison::Direction::kLt;
  const bool greater = compare->direction == Comparison::Direction::kGt;
  if (!less && !greater) return false;
  const int operand = compare->lhs / 2;
  std::optional<std::vector<int64_t>> keys =
      OrderKeys(operands[operand].type(), rows[operand].data(), n,
                compare->order == Comparison::Order::kPartial);
  if (!keys.has_value()) return false;
  const bool up = less == ascending;
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return up ? (*keys)[a] < (*keys)[b] : (*keys)[a] > (*keys)[b];
  });
  return true;
}

}  // namespace

// Rows along the sorted dimension are copied out, an order of their indices is
// found, and all operands are permuted by it.
absl::StatusOr<Value> EvaluateSort(const HloInstruction* instruction,
                                   absl::Span<Value> operands,
                                   KernelContext& context) {
  const int64_t axis = instruction->dimensions(0);
  const size_t k = operands.size();
  std::vector<PrimitiveType> signature;
  std::vector<Value> results;
  for (const Value& operand : operands) {
    if (operand.dims() != operands[0].dims() || axis < 0 ||
        axis >= operand.rank()) {
      return InvalidArgument("the operands differ in their dimensions");
    }
    signature.insert(signature.end(), 2, operand.type());
  }
  TF_RETURN_IF_ERROR(
      CheckSignature(instruction->to_apply(), signature, {PRED}));
  for (Value& operand : operands) {
    TF_ASSIGN_OR_RETURN(Value result,
                        Value::MakeUnique(std::move(operand), context.budget));
    results.push_back(std::move(result));
  }
  ScalarFunction comparator(instruction->to_apply(), signature, {PRED},
                            context);
  DimensionVector outer = results[0].dims();
  const int64_t n = outer[axis];
  outer[axis] = std::min<int64_t>(n, 1);
  const DimensionVector strides = RowMajorStrides(results[0].dims());
  const int64_t stride = strides[axis];

  std::vector<int64_t> order(n);
  std::vector<std::vector<char>> rows(k);
  for (size_t j = 0; j < k; ++j) rows[j].resize(n * results[j].element_bytes());
  std::vector<const void*> in(2 * k);
  const auto less = [&](int64_t a, int64_t b) -> absl::StatusOr<bool> {
    for (size_t j = 0; j < k; ++j) {
      in[2 * j] = rows[j].data() + a * results[j].element_bytes();
      in[2 * j + 1] = rows[j].data() + b * results[j].element_bytes();
    }
    return comparator.Test(in);
  };
  Odometer at(outer);
  if (!at.empty()) {
    do {
      int64_t offset = 0;
      for (int64_t d = 0; d < results[0].rank(); ++d) {
        offset += at[d] * strides[d];
      }
      for (size_t j = 0; j < k; ++j) {
        const int64_t bytes = results[j].element_bytes();
        const char* row = results[j].raw() + offset * bytes;
        for (int64_t i = 0; i < n; ++i) {
          std::memcpy(rows[j].data() + i * bytes, row + i * stride * bytes,
                      bytes);
        }
      }
      std::iota(order.begin(), order.end(), 0);
      if (!SortByKeys(comparator, results, rows, n, order)) {
        TF_RETURN_IF_ERROR(MergeSort(order, less));
      }
      for (size_t j = 0; j < k; ++j) {
        const int64_t bytes = results[j].element_bytes();
        char* row = results[j].mutable_raw() + offset * bytes;
        for (int64_t i = 0; i < n; ++i) {
          std::memcpy(row + i * stride * bytes,
                      rows[j].data() + order[i] * bytes, bytes);
        }
      }
    } while (at.Next());
  }
  if (!instruction->shape().IsTuple()) return std::move(results[0]);
  return Value::Tuple(std::move(results));
}

absl::StatusOr<Value> TopKOfRows(const Value& operand, int64_t k, bool largest,
                                 PrimitiveType index_type,
                                 MemoryBudget* budget) {
  if (operand.rank() == 0 || k < 0 || k > operand.dims().back()) {
    return InvalidArgument(
        "k=%d is not between 0 and the size of the last dimension", k);
  }
  const int64_t n = operand.dims().back();
  DimensionVector dims = operand.dims();
  dims.back() = k;
  TF_ASSIGN_OR_RETURN(Value values, Value::Make(operand.type(), dims, budget));
  TF_ASSIGN_OR_RETURN(Value places, Value::Make(S64, dims, budget));
  const int64_t bytes = operand.element_bytes();
  std::vector<int64_t> order(n);
  const int64_t rows = n == 0 ? 0 : operand.count() / n;
  for (int64_t row = 0; row < rows; ++row) {
    const char* elements = operand.raw() + row * n * bytes;
    const std::optional<std::vector<int64_t>> keys =
        OrderKeys(operand.type(), elements, n, /*partial=*/false);
    if (!keys.has_value()) return InvalidArgument("topk of complex numbers");
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](int64_t a, int64_t b) {
                        const int64_t x = (*keys)[a];
                        const int64_t y = (*keys)[b];
                        return x == y ? a < b : (x > y) == largest;
                      });
    for (int64_t i = 0; i < k; ++i) {
      std::memcpy(values.mutable_raw() + (row * k + i) * bytes,
                  elements + order[i] * bytes, bytes);
      places.mutable_data<int64_t>()[row * k + i] = order[i];
    }
  }
  TF_ASSIGN_OR_RETURN(places,
                      ConvertValue(std::move(places), index_type, budget));
  return Value::Tuple({std::move(values), std::move(places)});
}

absl::StatusOr<Value> EvaluateTopK(const HloInstruction* instruction,
                                   absl::Span<Value> operands,
                                   KernelContext& context) {
  const auto* topk = Cast<HloTopKInstruction>(instruction);
  return TopKOfRows(operands[0], topk->k(), topk->largest(),
                    instruction->shape().tuple_shapes(1).element_type(),
                    context.budget);
}

}  // namespace evaluator
}  // namespace xla
