#include "xla/shape_layout.h"

#include <string>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace xla {

namespace {

bool HasTiles(const Shape& shape) {
  bool has_tiles = false;
  ShapeUtil::ForEachSubshape(shape, [&](const Shape& s, const ShapeIndex&) {
    has_tiles |= s.has_layout() && !s.layout().tiles().empty();
  });
  return has_tiles;
}

}  // namespace

absl::Status ShapeLayout::CopyLayoutFromShape(const Shape& other_shape) {
  if (!ShapeUtil::Compatible(other_shape, shape_)) {
    return InvalidArgument("Shape %s is not compatible with shape %s",
                           ShapeUtil::HumanString(other_shape),
                           ShapeUtil::HumanString(shape_));
  }
  shape_ = other_shape;
  return absl::OkStatus();
}

absl::Status ShapeLayout::AssignLayoutToShape(Shape* to_shape) const {
  if (!ShapeUtil::Compatible(*to_shape, shape_)) {
    return InvalidArgument("Shape %s is not compatible with shape %s",
                           ShapeUtil::HumanString(*to_shape),
                           ShapeUtil::HumanString(shape_));
  }
  *to_shape = shape_;
  return absl::OkStatus();
}

bool ShapeLayout::MatchesLayoutInShape(const Shape& shape,
                                       bool minor_to_major_only,
                                       bool ignore_fully_empty_tiling) const {
  Shape::Equal equal;
  equal.IgnoreDynamicDimension();
  if (ignore_fully_empty_tiling && HasTiles(shape) != HasTiles(shape_)) {
    equal.IgnoreTilesInLayout();
  }
  if (minor_to_major_only) equal.MinorToMajorOnlyInLayout();
  return equal(shape, shape_);
}

const Layout& ShapeLayout::layout() const {
  CHECK(LayoutIsSet());
  CHECK(!shape_.IsTuple());
  return shape_.layout();
}

void ShapeLayout::Clear() { LayoutUtil::ClearLayout(&shape_); }

void ShapeLayout::Clear(ShapeIndexView shape_index) {
  LayoutUtil::ClearLayout(ShapeUtil::GetMutableSubshape(&shape_, shape_index));
}

void ShapeLayout::ClearTiles() { LayoutUtil::ClearTiles(&shape_); }

void ShapeLayout::ClearTiles(ShapeIndexView shape_index) {
  LayoutUtil::ClearTiles(ShapeUtil::GetMutableSubshape(&shape_, shape_index));
}

void ShapeLayout::SetToDefaultLayout() {
  LayoutUtil::SetToDefaultLayout(&shape_);
}

bool ShapeLayout::LayoutIsSet() const { return LayoutUtil::HasLayout(shape_); }

bool ShapeLayout::AnyLayoutIsSet() const {
  return LayoutUtil::HasAnyLayout(shape_);
}

void ShapeLayout::ResetLayout(const Layout& layout) {
  ResetLayout(layout, ShapeIndexView());
}

void ShapeLayout::ResetLayout(const Layout& layout,
                              ShapeIndexView shape_index) {
  *ShapeUtil::GetMutableSubshape(&shape_, shape_index)->mutable_layout() =
      layout;
}

void ShapeLayout::Print(Printer* printer) const {
  shape_.Print(printer, /*print_layout=*/true);
}

std::string ShapeLayout::ToString() const {
  return shape_.ToString(/*print_layout=*/true);
}

}  // namespace xla
