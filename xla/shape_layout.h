#ifndef XLA_SHAPE_LAYOUT_H_
#define XLA_SHAPE_LAYOUT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/layout.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {

// The layouts of a parameter or result: a shape whose layouts may be partly
// unset.
class ShapeLayout {
 public:
  explicit ShapeLayout(const Shape& shape) : shape_(shape) {}

  // Writes the layouts into `to_shape`; InvalidArgument if it is incompatible.
  absl::Status AssignLayoutToShape(Shape* to_shape) const;

  // True if `shape` is compatible and has these layouts. Memory spaces are part
  // of layouts. `ignore_fully_empty_tiling`: tiles are ignored if one of the
  // two shapes has none anywhere.
  bool MatchesLayoutInShape(const Shape& shape,
                            bool minor_to_major_only = false,
                            bool ignore_fully_empty_tiling = false) const;

  // Copies the layouts of a compatible shape; InvalidArgument otherwise.
  absl::Status CopyLayoutFromShape(const Shape& other_shape);

  // Removes layouts, of the whole shape or of one element.
  void Clear();
  void Clear(ShapeIndexView shape_index);
  void ClearTiles();
  void ClearTiles(ShapeIndexView shape_index);
  void SetToDefaultLayout();

  const Shape& shape() const { return shape_; }
  // Makes all dimensions static.
  void ClearDynamicShape() { shape_.clear_dynamic_dimensions(); }

  // The layout of a shape that is not a tuple and has one.
  const Layout& layout() const;
  // True if all arrays have layouts.
  bool LayoutIsSet() const;
  bool AnyLayoutIsSet() const;

  void ResetLayout(const Layout& layout);
  void ResetLayout(const Layout& layout, ShapeIndexView shape_index);

  void Print(Printer* printer) const;
  std::string ToString() const;

  bool operator==(const ShapeLayout& other) const {
    return shape_ == other.shape_;
  }
  bool operator!=(const ShapeLayout& other) const { return !(*this == other); }

 private:
  Shape shape_;
};

}  // namespace xla

#endif  // XLA_SHAPE_LAYOUT_H_
