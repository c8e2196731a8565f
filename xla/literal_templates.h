#ifndef XLA_LITERAL_TEMPLATES_H_
#define XLA_LITERAL_TEMPLATES_H_

// Bodies of the member templates of xla/literal.h; include that instead.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace xla {
namespace literal_internal {

// Steps a row-major odometer; false after the last index.
inline bool BumpRowMajor(absl::Span<const int64_t> dims,
                         absl::Span<int64_t> index) {
  for (int64_t d = static_cast<int64_t>(dims.size()) - 1; d >= 0; --d) {
    if (++index[d] < dims[d]) return true;
    index[d] = 0;
  }
  return false;
}

inline bool HasElements(absl::Span<const int64_t> dims) {
  for (int64_t d : dims) {
    if (d == 0) return false;
  }
  return true;
}

}  // namespace literal_internal

template <typename NativeT>
ABSL_ATTRIBUTE_NOINLINE bool LiteralBase::EachCellUntilFailure(
    absl::FunctionRef<bool(absl::Span<const int64_t> indices, NativeT value)>
        per_cell) const {
  const Piece& piece = root_piece();
  const DimensionVector dims = piece.valid_dimensions();
  if (!literal_internal::HasElements(dims)) return true;
  const absl::Span<const NativeT> values = piece.data<NativeT>();
  DimensionVector index(dims.size(), 0);
  do {
    if (!per_cell(index, values[piece.LinearIndex(index)])) return false;
  } while (literal_internal::BumpRowMajor(dims, absl::MakeSpan(index)));
  return true;
}

template <typename NativeT>
ABSL_ATTRIBUTE_NOINLINE void LiteralBase::EachCell(
    absl::FunctionRef<void(absl::Span<const int64_t> indices, NativeT value)>
        per_cell) const {
  EachCellUntilFailure<NativeT>(
      [&](absl::Span<const int64_t> indices, NativeT value) {
        per_cell(indices, value);
        return true;
      });
}

template <typename NativeT>
ABSL_ATTRIBUTE_NOINLINE void MutableLiteralBase::MutableEachCell(
    absl::FunctionRef<NativeT(absl::Span<const int64_t> indices, NativeT value)>
        per_cell) {
  Piece& piece = mutable_root_piece();
  const DimensionVector dims = piece.valid_dimensions();
  if (!literal_internal::HasElements(dims)) return;
  const absl::Span<NativeT> values = piece.data<NativeT>();
  DimensionVector index(dims.size(), 0);
  do {
    NativeT& value = values[piece.LinearIndex(index)];
    value = per_cell(index, value);
  } while (literal_internal::BumpRowMajor(dims, absl::MakeSpan(index)));
}

template <typename NativeT>
Literal LiteralBase::Replicate(int64_t times) const {
  DimensionVector bounds = {times};
  bounds.reserve(shape().dimensions().size() + 1);
  for (int64_t bound : shape().dimensions()) bounds.push_back(bound);
  Shape result_shape = ShapeUtil::MakeShape(shape().element_type(), bounds);
  Layout* layout = result_shape.mutable_layout();
  layout->clear_minor_to_major();
  for (int64_t dim : shape().layout().minor_to_major()) {
    layout->add_minor_to_major(dim + 1);
  }
  layout->add_minor_to_major(0);
  Literal result(result_shape);
  const absl::Span<const NativeT> source = data<NativeT>();
  NativeT* dest = result.data<NativeT>().data();
  for (int64_t i = 0; i < times; ++i) {
    dest = std::copy(source.begin(), source.end(), dest);
  }
  return result;
}

template <typename NativeT>
ABSL_ATTRIBUTE_NOINLINE void MutableLiteralBase::PopulateR1(
    absl::Span<const NativeT> values) {
  CHECK(shape().IsArray());
  CHECK_EQ(shape().dimensions().size(), 1);
  CHECK_EQ(GetDynamicSize(0), static_cast<int64_t>(values.size()));
  const absl::Span<NativeT> dest = data<NativeT>();
  std::copy(values.begin(), values.end(), dest.begin());
}

template <typename NativeT>
ABSL_ATTRIBUTE_NOINLINE void MutableLiteralBase::PopulateR2(
    std::initializer_list<std::initializer_list<NativeT>> values) {
  CHECK(shape().IsArray());
  CHECK_EQ(shape().dimensions().size(), 2);
  CHECK_EQ(GetDynamicSize(0), static_cast<int64_t>(values.size()));
  int64_t row = 0;
  for (const auto& row_values : values) {
    CHECK_EQ(GetDynamicSize(1), static_cast<int64_t>(row_values.size()));
    int64_t column = 0;
    for (const NativeT& value : row_values) Set({row, column++}, value);
    ++row;
  }
}

template <typename NativeT>
ABSL_ATTRIBUTE_NOINLINE void MutableLiteralBase::PopulateFromArray(
    const Array<NativeT>& values) {
  CHECK(shape().IsArray());
  Piece& piece = mutable_root_piece();
  const DimensionVector dims = piece.valid_dimensions();
  CHECK(absl::MakeConstSpan(dims) == values.dimensions());
  if (values.num_elements() == 0) return;
  const absl::Span<NativeT> dest = data<NativeT>();
  const DimensionVector strides = piece.ElementStrides();
  const NativeT* source = values.begin();
  if (dims.empty()) {
    dest[0] = *source;
    return;
  }
  // Source order, one innermost row at a time.
  const int64_t row_size = dims.back();
  const int64_t row_stride = strides.back();
  DimensionVector index(dims.size() - 1, 0);
  do {
    int64_t base = 0;
    for (size_t d = 0; d < index.size(); ++d) base += index[d] * strides[d];
    for (int64_t i = 0; i < row_size; ++i) {
      dest[base + i * row_stride] = *source++;
    }
  } while (literal_internal::BumpRowMajor(
      absl::MakeConstSpan(dims).first(dims.size() - 1), absl::MakeSpan(index)));
}

template <typename Visit>
void MutableLiteralBase::VisitInLayoutOrder(const Visit& visit) const {
  const absl::Span<const int64_t> dims = shape().dimensions();
  // All inline elements are set, so that the compiler does not warn of a
  // generator that reads more indices than it can prove there are.
  DimensionVector buffer(std::max<size_t>(dims.size(), InlineRank()), 0);
  const absl::Span<int64_t> index(buffer.data(), dims.size());
  if (dims.empty()) {
    visit(0, absl::Span<const int64_t>(index));
    return;
  }
  if (!literal_internal::HasElements(dims)) return;
  const absl::Span<const int64_t> order = shape().layout().minor_to_major();
  const int64_t minor = order[0];
  const int64_t minor_size = dims[minor];
  int64_t linear = 0;
  size_t k;
  do {
    for (int64_t i = 0; i < minor_size; ++i) {
      index[minor] = i;
      visit(linear++, absl::Span<const int64_t>(index));
    }
    for (k = 1; k < order.size(); ++k) {
      if (++index[order[k]] < dims[order[k]]) break;
      index[order[k]] = 0;
    }
  } while (k < order.size());
}

template <typename NativeT, typename Generator>
absl::Status MutableLiteralBase::Populate(Generator&& generator) {
  absl::Status status =
      CheckPopulatable(primitive_util::NativeToPrimitiveType<NativeT>());
  if (!status.ok()) return status;
  NativeT* const dest = data<NativeT>().data();
  VisitInLayoutOrder([&](int64_t linear, absl::Span<const int64_t> index) {
    dest[linear] = generator(index);
  });
  return absl::OkStatus();
}

template <typename NativeT, typename Generator>
absl::Status MutableLiteralBase::PopulateParallel(Generator&& generator) {
  return Populate<NativeT>([&](absl::Span<const int64_t> index) {
    return generator(index, /*thread_id=*/0);
  });
}

template <typename Populator>
absl::Status MutableLiteralBase::PopulateInplace(Populator&& populator) {
  absl::Status status = CheckPopulatable(PRIMITIVE_TYPE_INVALID);
  if (!status.ok()) return status;
  char* const dest = static_cast<char*>(untyped_data());
  const int64_t size =
      ShapeUtil::ByteSizeOfPrimitiveType(shape().element_type());
  VisitInLayoutOrder([&](int64_t linear, absl::Span<const int64_t> index) {
    populator(static_cast<void*>(dest + linear * size), index);
  });
  return absl::OkStatus();
}

template <typename Populator>
absl::Status MutableLiteralBase::PopulateInplaceParallel(
    Populator&& populator) {
  return PopulateInplace([&](void* dest, absl::Span<const int64_t> index) {
    populator(dest, index, /*thread_id=*/0);
  });
}

template <typename NativeT, typename Generator>
absl::Status MutableLiteralBase::PopulateLinear(Generator&& generator) {
  absl::Status status =
      CheckPopulatable(primitive_util::NativeToPrimitiveType<NativeT>());
  if (!status.ok()) return status;
  const absl::Span<NativeT> dest = data<NativeT>();
  for (int64_t i = 0; i < static_cast<int64_t>(dest.size()); ++i) {
    dest[i] = generator(i);
  }
  return absl::OkStatus();
}

template <typename NativeT, typename Generator>
absl::Status MutableLiteralBase::PopulateLinearParallel(Generator&& generator) {
  return PopulateLinear<NativeT>(
      [&](int64_t i) { return generator(i, /*thread_id=*/0); });
}

template <typename Populator>
absl::Status MutableLiteralBase::PopulateLinearInplace(Populator&& populator) {
  absl::Status status = CheckPopulatable(PRIMITIVE_TYPE_INVALID);
  if (!status.ok()) return status;
  char* const dest = static_cast<char*>(untyped_data());
  const int64_t size =
      ShapeUtil::ByteSizeOfPrimitiveType(shape().element_type());
  const int64_t count = element_count();
  for (int64_t i = 0; i < count; ++i) {
    populator(static_cast<void*>(dest + i * size), i);
  }
  return absl::OkStatus();
}

template <typename Populator>
absl::Status MutableLiteralBase::PopulateLinearInplaceParallel(
    Populator&& populator) {
  return PopulateLinearInplace(
      [&](void* dest, int64_t i) { populator(dest, i, /*thread_id=*/0); });
}

template <typename NativeT>
void MutableLiteralBase::PopulateWithValue(NativeT value) {
  CHECK(shape().IsArray());
  const absl::Span<NativeT> dest = data<NativeT>();
  std::fill(dest.begin(), dest.end(), value);
}

}  // namespace xla

#endif  // XLA_LITERAL_TEMPLATES_H_
