// Shapes as text and as protos.

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/layout.h"
#include "xla/primitive_util.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {

namespace {

// Deeper protos than this are refused; protobuf's own parser stops at 100.
constexpr int kMaxNesting = 200;

}  // namespace

void Shape::PrintDimensions(Printer* printer) const {
  printer->Append("[");
  absl::Span<const int64_t> dims = dimensions();
  if (is_static()) {
    printer->AppendInt64List(dims, /*leading_comma=*/false);
  } else {
    for (int i = 0; i < dims.size(); ++i) {
      if (i > 0) printer->Append(",");
      if (dims[i] == kUnboundedSize) {
        printer->Append("?");
        continue;
      }
      if (is_dynamic_dimension(i)) printer->Append("<=");
      printer->Append(dims[i]);
    }
  }
  printer->Append("]");
}

void Shape::Print(Printer* printer, bool print_layout) const {
  if (storage_ == Storage::kTuple) {
    if (tuple_.empty()) {
      printer->Append("()");
      return;
    }
    printer->Append("(");
    for (size_t i = 0; i < tuple_.size(); ++i) {
      if (i > 0) printer->Append(", ");
      if (i > 0 && i % 5 == 0) AppendCat(printer, "/*index=", i, "*/");
      tuple_[i].Print(printer, print_layout);
    }
    printer->Append(")");
    return;
  }
  if (storage_ == Storage::kBuffer) {
    printer->Append("b(");
    buffer_->Print(printer, print_layout);
    printer->Append(")");
    return;
  }
  printer->Append(primitive_util::LowercasePrimitiveTypeName(element_type()));
  PrintDimensions(printer);
  // A scalar's layout is `{}` and not worth printing.
  if (print_layout && has_layout_ && (rank_ > 0 || !layout_.is_plain())) {
    layout_.Print(printer);
  }
}

std::string Shape::ToString(bool print_layout) const {
  StringPrinter printer;
  Print(&printer, print_layout);
  return std::move(printer).ToString();
}

absl::StatusOr<Shape> Shape::FromProto(const ShapeProto& shape_proto) {
  return FromProtoAtDepth(shape_proto, /*depth=*/0);
}

absl::StatusOr<Shape> Shape::FromProtoAtDepth(const ShapeProto& proto,
                                              int depth) {
  if (depth > kMaxNesting) {
    return InvalidArgument("Shape proto nests deeper than %d", kMaxNesting);
  }
  const PrimitiveType type = proto.element_type();
  Shape shape(type);
  if (type == BUFFER) {
    if (proto.tuple_shapes_size() != 1) {
      return InvalidArgument("Buffer shape proto holds %d shapes, not 1",
                             proto.tuple_shapes_size());
    }
    TF_ASSIGN_OR_RETURN(*shape.buffer_,
                        FromProtoAtDepth(proto.tuple_shapes(0), depth + 1));
    if (!shape.buffer_->IsArrayExcludingBuffer()) {
      return InvalidArgument("Buffer shape proto does not hold an array");
    }
    return shape;
  }
  if (type == TUPLE) {
    shape.tuple_.reserve(proto.tuple_shapes_size());
    for (const ShapeProto& element : proto.tuple_shapes()) {
      TF_ASSIGN_OR_RETURN(shape.tuple_.emplace_back(),
                          FromProtoAtDepth(element, depth + 1));
    }
    return shape;
  }
  // Types of later versions are arrays here; ValidateShape rejects them.
  if (!shape.IsArray()) {
    if (proto.dimensions_size() > 0) {
      return InvalidArgument("Shape proto of type %s has dimensions",
                             PrimitiveType_Name(type));
    }
    return shape;
  }
  if (proto.is_dynamic_dimension_size() != 0 &&
      proto.is_dynamic_dimension_size() != proto.dimensions_size()) {
    return InvalidArgument("Shape proto has %d dimensions but %d dynamic flags",
                           proto.dimensions_size(),
                           proto.is_dynamic_dimension_size());
  }
  shape.Reserve(proto.dimensions_size());
  for (int i = 0; i < proto.dimensions_size(); ++i) {
    const bool is_dynamic =
        proto.is_dynamic_dimension_size() != 0 && proto.is_dynamic_dimension(i);
    if (!IsValidDimensionSize(proto.dimensions(i), is_dynamic)) {
      return InvalidArgument("Shape proto has a dimension of invalid size %d",
                             proto.dimensions(i));
    }
    shape.add_dimensions(proto.dimensions(i), is_dynamic);
  }
  if (proto.has_layout()) {
    TF_ASSIGN_OR_RETURN(*shape.mutable_layout(),
                        Layout::FromProtoAtDepth(proto.layout(), depth));
    if (shape.layout_.minor_to_major_size() != shape.dimensions_size()) {
      return InvalidArgument(
          "Shape proto has %d dimensions but a layout with %d",
          shape.dimensions_size(), shape.layout_.minor_to_major_size());
    }
  }
  return shape;
}

void Shape::ToProto(ShapeProto& proto) const {
  proto.Clear();
  proto.set_element_type(element_type_including_buffer());
  if (storage_ == Storage::kBuffer) {
    buffer_->ToProto(*proto.add_tuple_shapes());
    return;
  }
  if (storage_ == Storage::kTuple) {
    for (const Shape& element : tuple_) {
      element.ToProto(*proto.add_tuple_shapes());
    }
    return;
  }
  for (int64_t size : dimensions()) proto.add_dimensions(size);
  for (bool dynamic : dynamic_dimensions()) {
    proto.add_is_dynamic_dimension(dynamic);
  }
  if (has_layout_) layout_.ToProto(*proto.mutable_layout());
}

ShapeProto Shape::ToProto() const {
  ShapeProto proto;
  ToProto(proto);
  return proto;
}

// --- ProgramShape ------------------------------------------------------------

namespace {

// What only ShapeUtil::ValidateShape looks at in single shapes: a program takes
// and returns values of types that are known here.
bool HasKnownTypes(const Shape& shape) {
  if (!shape.IsTuple()) return PrimitiveType_IsValid(shape.element_type());
  for (const Shape& element : shape.tuple_shapes()) {
    if (!HasKnownTypes(element)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<ProgramShape> ProgramShape::FromProto(
    const ProgramShapeProto& program_shape_proto) {
  const int parameters = program_shape_proto.parameters_size();
  const int names = program_shape_proto.parameter_names_size();
  if (names > parameters) {
    return InvalidArgument(
        "Program shape proto has %d parameters but %d parameter names",
        parameters, names);
  }
  ProgramShape program_shape;
  for (int i = 0; i < parameters; ++i) {
    TF_ASSIGN_OR_RETURN(Shape shape,
                        Shape::FromProto(program_shape_proto.parameters(i)));
    program_shape.AddParameter(
        std::move(shape),
        i < names ? program_shape_proto.parameter_names(i) : "");
  }
  TF_ASSIGN_OR_RETURN(program_shape.result_,
                      Shape::FromProto(program_shape_proto.result()));
  bool known = HasKnownTypes(program_shape.result_);
  for (const Shape& parameter : program_shape.parameters_) {
    known = known && HasKnownTypes(parameter);
  }
  if (!known) {
    return InvalidArgument("Program shape proto has an unknown element type");
  }
  return program_shape;
}

void ProgramShape::ToProto(ProgramShapeProto& proto) const {
  proto.Clear();
  for (const Shape& parameter : parameters_) {
    parameter.ToProto(*proto.add_parameters());
  }
  result_.ToProto(*proto.mutable_result());
  for (const std::string& name : parameter_names_) {
    proto.add_parameter_names(name);
  }
}

ProgramShapeProto ProgramShape::ToProto() const {
  ProgramShapeProto proto;
  ToProto(proto);
  return proto;
}

void ProgramShape::Print(Printer* printer) const {
  printer->Append("(");
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (i > 0) printer->Append(", ");
    const bool named =
        i < parameter_names_.size() && !parameter_names_[i].empty();
    printer->Append(named ? absl::string_view(parameter_names_[i])
                          : absl::string_view("(unknown)"));
    printer->Append(": ");
    parameters_[i].Print(printer);
  }
  printer->Append(") -> ");
  result_.Print(printer);
}

std::string ProgramShape::ToString() const {
  StringPrinter printer;
  Print(&printer);
  return std::move(printer).ToString();
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.ToString(/*print_layout=*/true);
}

std::ostream& operator<<(std::ostream& out, const ProgramShape& program_shape) {
  return out << program_shape.ToString();
}

}  // namespace xla
