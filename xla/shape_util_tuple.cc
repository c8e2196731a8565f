// Elements of tuple shapes.

#include <cstdint>
#include <type_traits>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/statusor.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace xla {

namespace {

// The subshape at an index, null if there is none. S is Shape or const Shape.
template <typename S>
S* FindSubshape(S* shape, ShapeIndexView index) {
  for (int64_t i : index) {
    if (i < 0 || i >= shape->tuple_shapes_size()) return nullptr;
    if constexpr (std::is_const_v<S>) {
      shape = &shape->tuple_shapes(i);
    } else {
      shape = shape->mutable_tuple_shapes(i);
    }
  }
  return shape;
}

}  // namespace

int64_t ShapeUtil::TupleElementCount(const Shape& shape) {
  return shape.tuple_shapes().size();
}

const Shape& ShapeUtil::GetTupleElementShape(const Shape& shape,
                                             int64_t index) {
  CHECK(index >= 0 && index < TupleElementCount(shape))
      << "no element " << index << " of " << shape;
  return shape.tuple_shapes(index);
}

int64_t ShapeUtil::SubshapeCount(const Shape& shape) {
  int64_t count = 1;
  for (int64_t i = 0; i < shape.tuple_shapes_size(); ++i) {
    count += SubshapeCount(shape.tuple_shapes(i));
  }
  return count;
}

Shape ShapeUtil::SliceTuple(const Shape& tuple, int64_t start, int64_t limit) {
  CHECK(start >= 0 && start <= limit && limit <= TupleElementCount(tuple));
  auto begin = tuple.tuple_shapes().begin();
  return Shape(std::vector<Shape>(begin + start, begin + limit));
}

bool ShapeUtil::IndexIsValid(const Shape& shape, ShapeIndexView index) {
  return FindSubshape(&shape, index) != nullptr;
}

const Shape& ShapeUtil::GetSubshape(const Shape& shape, ShapeIndexView index) {
  const Shape* subshape = FindSubshape(&shape, index);
  CHECK(subshape != nullptr)
      << "no subshape at " << ShapeIndex(index) << " of " << shape;
  return *subshape;
}

absl::StatusOr<const Shape*> ShapeUtil::TryGetSubshape(const Shape& shape,
                                                       ShapeIndexView index) {
  const Shape* subshape = FindSubshape(&shape, index);
  if (subshape == nullptr) {
    return InvalidArgument("Shape index %s not a valid subshape index for %s",
                           ShapeIndex(index).ToString(), shape.ToString());
  }
  return subshape;
}

Shape* ShapeUtil::GetMutableSubshape(Shape* shape, ShapeIndexView index) {
  Shape* subshape = FindSubshape(shape, index);
  CHECK(subshape != nullptr)
      << "no subshape at " << ShapeIndex(index) << " of " << *shape;
  return subshape;
}

bool ShapeUtil::IsLeafIndex(const Shape& shape, const ShapeIndex& index) {
  return !GetSubshape(shape, index).IsTuple();
}

int64_t ShapeUtil::GetLeafCount(const Shape& shape) {
  return shape.IsTuple() ? GetLeafCountTuple(shape) : 1;
}

int64_t ShapeUtil::GetLeafCountTuple(const Shape& shape) {
  int64_t count = 0;
  for (const Shape& element : shape.tuple_shapes()) {
    count += GetLeafCount(element);
  }
  return count;
}

std::vector<ShapeUtil::IndexedShape> ShapeUtil::GetLeafShapes(
    const Shape& shape) {
  std::vector<IndexedShape> leaves;
  ForEachLeafShape(shape, [&](const Shape& leaf, const ShapeIndex& index) {
    leaves.emplace_back(index, leaf);
  });
  return leaves;
}

void ShapeUtil::FlattenTupleShape(const Shape& shape,
                                  std::vector<const Shape*>& flattened) {
  if (!shape.IsTuple()) {
    flattened.push_back(&shape);
    return;
  }
  for (const Shape& element : shape.tuple_shapes()) {
    FlattenTupleShape(element, flattened);
  }
}

std::vector<const Shape*> ShapeUtil::FlattenTupleShape(const Shape& shape) {
  std::vector<const Shape*> flattened;
  FlattenTupleShape(shape, flattened);
  return flattened;
}

}  // namespace xla
