#ifndef XLA_SHAPE_INDEX_ITERATION_H_
#define XLA_SHAPE_INDEX_ITERATION_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/shape.h"

namespace xla {

// Loops over the elements of an array. Part of ShapeUtil; callers name that
// class.
//
// Every form visits base, base + incr, ... below base + count in each
// dimension, in memory order (row major without layout); a dimension whose
// increment is 0 stays at its base, whatever its count. A visitor that returns
// false, or an error, ends the loop. The index that the visitor sees is valid
// during the call only.
class ShapeIndexIteration {
 public:
  using ForEachVisitorFunction =
      absl::FunctionRef<absl::StatusOr<bool>(absl::Span<const int64_t>)>;
  using ForEachVisitorFunctionNoStatus =
      absl::FunctionRef<bool(absl::Span<const int64_t>)>;
  // The second argument is the thread's number, or -1.
  using ForEachParallelVisitorFunction =
      absl::FunctionRef<absl::StatusOr<bool>(absl::Span<const int64_t>, int)>;

  struct IndexIterationSpace {
    std::vector<int64_t> index_base;
    std::vector<int64_t> index_count;
    std::vector<int64_t> index_incr;
  };

  static absl::Status ForEachIndexWithStatus(
      const Shape& shape, absl::Span<const int64_t> base,
      absl::Span<const int64_t> count, absl::Span<const int64_t> incr,
      const ForEachVisitorFunction& visitor_function);
  template <typename FnTy>
  static absl::Status ForEachIndexWithStatus(
      const Shape& shape, const IndexIterationSpace& iteration_space,
      FnTy&& function) {
    return ForEachIndexWithStatus(
        shape, iteration_space.index_base, iteration_space.index_count,
        iteration_space.index_incr, std::forward<FnTy>(function));
  }
  static absl::Status ForEachIndexWithStatus(
      const Shape& shape, const ForEachVisitorFunction& visitor_function);

  // For visitors that cannot fail; CHECK-fails on errors.
  static void ForEachIndex(const Shape& shape, absl::Span<const int64_t> base,
                           absl::Span<const int64_t> count,
                           absl::Span<const int64_t> incr,
                           const ForEachVisitorFunction& visitor_function);
  static void ForEachIndex(const Shape& shape,
                           const ForEachVisitorFunction& visitor_function);

  static void ForEachIndexNoStatus(
      const Shape& shape, absl::Span<const int64_t> base,
      absl::Span<const int64_t> count, absl::Span<const int64_t> incr,
      const ForEachVisitorFunctionNoStatus& visitor_function);
  static void ForEachIndexNoStatus(
      const Shape& shape,
      const ForEachVisitorFunctionNoStatus& visitor_function);

  // Visits in one thread, whose number is 0, and in the same order.
  static void ForEachIndexParallel(
      const Shape& shape, absl::Span<const int64_t> base,
      absl::Span<const int64_t> count, absl::Span<const int64_t> incr,
      const ForEachParallelVisitorFunction& visitor_function);
  static void ForEachIndexParallel(
      const Shape& shape,
      const ForEachParallelVisitorFunction& visitor_function);
  static absl::Status ForEachIndexParallelWithStatus(
      const Shape& shape, absl::Span<const int64_t> base,
      absl::Span<const int64_t> count, absl::Span<const int64_t> incr,
      const ForEachParallelVisitorFunction& visitor_function);
  static absl::Status ForEachIndexParallelWithStatus(
      const Shape& shape,
      const ForEachParallelVisitorFunction& visitor_function);
  static int GetForEachIndexParallelThreadCount() { return 1; }
};

}  // namespace xla

#endif  // XLA_SHAPE_INDEX_ITERATION_H_
