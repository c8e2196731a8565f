#include "xla/shape_tree.h"

#include <cstdint>

#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace internal {

ShapeTreeIndex::ShapeTreeIndex(const Shape& shape) {
  is_tuple_ = shape.IsTuple();
  if (!ShapeUtil::IsNestedTuple(shape)) {
    size_ = 1 + shape.tuple_shapes_size();
    return;
  }
  Add(shape);
  size_ = entries_.size();
}

void ShapeTreeIndex::Add(const Shape& shape) {
  const int64_t position = entries_.size();
  entries_.push_back({-1, 0, 1});
  if (!shape.IsTuple()) return;
  const int64_t children = children_.size();
  const int64_t count = shape.tuple_shapes_size();
  entries_[position].children = children;
  entries_[position].child_count = count;
  children_.resize(children + count);
  for (int64_t i = 0; i < count; ++i) {
    children_[children + i] = entries_.size();
    Add(shape.tuple_shapes(i));
  }
  entries_[position].size = entries_.size() - position;
}

int64_t ShapeTreeIndex::Find(ShapeIndexView index) const {
  if (index.empty()) return 0;
  if (entries_.empty()) {
    // Child i of a flat tuple follows the i before it.
    return index.size() == 1 && index[0] >= 0 && index[0] < size_ - 1
               ? index[0] + 1
               : -1;
  }
  int64_t position = 0;
  for (int64_t i : index) {
    const Entry& entry = entries_[position];
    if (i < 0 || i >= entry.child_count) return -1;
    position = children_[entry.children + i];
  }
  return position;
}

}  // namespace internal
}  // namespace xla
