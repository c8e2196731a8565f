#include "xla/hlo/ir/computation_layout.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/layout.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/shape_layout.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// Appends the layouts of the array leaves of `shape`, in pre-order. Shapes nest
// at most as deep as the parser allows, which the shape utilities rely on too.
absl::Status AppendLeafLayouts(const Shape& shape,
                               std::vector<Layout>* layouts) {
  return ShapeUtil::ForEachSubshapeWithStatus(
      shape, [&](const Shape& subshape, const ShapeIndex& index) {
        if (!subshape.IsArray()) return absl::OkStatus();
        if (!subshape.has_layout()) {
          return absl::InvalidArgumentError(
              absl::StrCat("no layout at index ", index.ToString(), " of ",
                           ShapeUtil::HumanString(shape)));
        }
        layouts->push_back(subshape.layout());
        return absl::OkStatus();
      });
}

}  // namespace

ComputationLayout::ComputationLayout(const ProgramShape& program_shape,
                                     bool ignore_layouts)
    : result_layout_(program_shape.result()) {
  parameter_layouts_.reserve(program_shape.parameters_size());
  for (const Shape& shape : program_shape.parameters()) {
    parameter_layouts_.emplace_back(shape);
  }
  if (ignore_layouts) SetToDefaultLayout();
}

void ComputationLayout::SetToDefaultLayout() {
  for (ShapeLayout& layout : parameter_layouts_) layout.SetToDefaultLayout();
  result_layout_.SetToDefaultLayout();
}

bool ComputationLayout::LayoutIsSet() const {
  return absl::c_all_of(
             parameter_layouts_,
             [](const ShapeLayout& layout) { return layout.LayoutIsSet(); }) &&
         result_layout_.LayoutIsSet();
}

bool ComputationLayout::AnyLayoutSet() const {
  return absl::c_any_of(parameter_layouts_,
                        [](const ShapeLayout& layout) {
                          return layout.AnyLayoutIsSet();
                        }) ||
         result_layout_.AnyLayoutIsSet();
}

absl::StatusOr<std::vector<Layout>>
ComputationLayout::FlattenedParameterLayouts() const {
  std::vector<Layout> layouts;
  for (const ShapeLayout& parameter : parameter_layouts_) {
    absl::Status status = AppendLeafLayouts(parameter.shape(), &layouts);
    if (!status.ok()) return status;
  }
  return layouts;
}

absl::StatusOr<std::vector<Layout>> ComputationLayout::FlattenedResultLayouts()
    const {
  std::vector<Layout> layouts;
  absl::Status status = AppendLeafLayouts(result_layout_.shape(), &layouts);
  if (!status.ok()) return status;
  return layouts;
}

void ComputationLayout::Print(Printer* printer) const {
  printer->Append("(");
  for (int i = 0; i < parameter_count(); ++i) {
    if (i != 0) printer->Append(", ");
    // Every fifth parameter is numbered, as the elements of tuples are.
    if (i != 0 && i % 5 == 0) AppendCat(printer, "/*index=", i, "*/");
    parameter_layouts_[i].Print(printer);
  }
  printer->Append(")->");
  result_layout_.Print(printer);
}

std::string ComputationLayout::ToString() const {
  StringPrinter printer;
  Print(&printer);
  return std::move(printer).ToString();
}

ProgramShape ComputationLayout::ComputeProgramShape() const {
  ProgramShape program_shape;
  for (int i = 0; i < parameter_count(); ++i) {
    program_shape.AddParameter(parameter_shape(i), absl::StrCat("p", i));
  }
  *program_shape.mutable_result() = result_layout_.shape();
  return program_shape;
}

bool ComputationLayout::operator==(const ComputationLayout& other) const {
  return result_layout_ == other.result_layout_ &&
         parameter_layouts_ == other.parameter_layouts_;
}

void ComputationLayout::add_parameter_layout(ShapeLayout shape_layout) {
  parameter_layouts_.push_back(std::move(shape_layout));
}

}  // namespace xla
