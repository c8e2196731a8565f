#ifndef XLA_HLO_IR_COMPUTATION_LAYOUT_H_
#define XLA_HLO_IR_COMPUTATION_LAYOUT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/layout.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/shape_layout.h"

namespace xla {

// Shapes and layouts of the parameters and the result of a computation. A
// layout may be unset, which leaves the choice to layout assignment.
class ComputationLayout {
 public:
  // No parameters and the given result.
  explicit ComputationLayout(ShapeLayout result_layout)
      : result_layout_(std::move(result_layout)) {}

  // Takes the shapes of `program_shape`. With ignore_layouts its layouts are
  // dropped and default (descending) layouts are set instead.
  explicit ComputationLayout(const ProgramShape& program_shape,
                             bool ignore_layouts = true);

  void add_parameter_layout(ShapeLayout shape_layout);

  const ShapeLayout& parameter_layout(int64_t param_no) const {
    return parameter_layouts_.at(param_no);
  }
  ShapeLayout* mutable_parameter_layout(int64_t param_no) {
    return &parameter_layouts_.at(param_no);
  }
  int parameter_count() const {
    return static_cast<int>(parameter_layouts_.size());
  }
  const std::vector<ShapeLayout>& parameter_layouts() const {
    return parameter_layouts_;
  }

  const ShapeLayout& result_layout() const { return result_layout_; }
  ShapeLayout* mutable_result_layout() { return &result_layout_; }

  const Shape& parameter_shape(int64_t param_no) const {
    return parameter_layout(param_no).shape();
  }
  const Shape& result_shape() const { return result_layout_.shape(); }

  // Sets every layout to the default one.
  void SetToDefaultLayout();

  // True if all / at least one of the layouts are set.
  bool LayoutIsSet() const;
  bool AnyLayoutSet() const;

  // One layout per array leaf, in leaf order over all parameters / the result.
  // An error if a leaf has no layout.
  absl::StatusOr<std::vector<Layout>> FlattenedParameterLayouts() const;
  absl::StatusOr<std::vector<Layout>> FlattenedResultLayouts() const;

  // Prints `(f32[2]{0}, ...)->f32[2]{0}`.
  void Print(Printer* printer) const;
  std::string ToString() const;

  // The program shape with layouts; parameters are named p0, p1, ...
  ProgramShape ComputeProgramShape() const;

  bool operator==(const ComputationLayout& other) const;
  bool operator!=(const ComputationLayout& other) const {
    return !(*this == other);
  }

  template <typename H>
  friend H AbslHashValue(H h, const ComputationLayout& layout) {
    h = H::combine(std::move(h), layout.result_layout_.shape());
    for (const ShapeLayout& parameter : layout.parameter_layouts_) {
      h = H::combine(std::move(h), parameter.shape());
    }
    return H::combine(std::move(h), layout.parameter_layouts_.size());
  }

 private:
  std::vector<ShapeLayout> parameter_layouts_;
  ShapeLayout result_layout_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_COMPUTATION_LAYOUT_H_
