// HLO text of literals.

#include <cstdint>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/literal.h"
#include "xla/literal_format.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ArrayValueState = LiteralPiece::ArrayValueState;
using literal_internal::kMaxElementChars;

// More empty lists than this (s32[1000000,0]) print as elided.
constexpr int64_t kMaxEmptyLists = 4096;
// A hasher takes the text of arrays up to this size, else their fingerprint.
constexpr int64_t kMaxHashedAsText = 16;

enum class ShapeForm { kNone, kShape, kShapeAndLayout };

// Prints the nested lists of one array.
class ArrayPrinter {
 public:
  ArrayPrinter(const LiteralPiece& piece, bool oneline, Printer* printer)
      : printer_(printer),
        oneline_(oneline),
        break_(oneline ? " " : "\n"),
        format_(literal_internal::FormatterOf(piece.subshape().element_type())),
        dims_(piece.valid_dimensions()),
        strides_(piece.ElementStrides()) {
    const int64_t bytes =
        ShapeUtil::ByteSizeOfPrimitiveType(piece.subshape().element_type());
    for (int64_t& stride : strides_) stride *= bytes;
  }

  void Print(const char* data) { PrintList(0, data, 0); }

  // Number of lists with nothing in them.
  int64_t EmptyLists() const {
    int64_t lists = 1;
    for (int64_t size : dims_) {
      if (size == 0) return lists;
      if (lists > kMaxEmptyLists) break;
      lists *= size;
    }
    return literal_internal::HasElements(dims_) ? 0 : lists;
  }

 private:
  // Prints the list along dimension `dim` at `data`, which is the `position`th
  // element of the list around it.
  void PrintList(size_t dim, const char* data, int64_t position) {
    if (dim + 1 == dims_.size()) {
      PrintInnermost(data);
      return;
    }
    printer_->AppendChar('{');
    if (dims_.size() > 3 && dim > 0) {
      printer_->Append(" /*i");
      printer_->AppendInt(dim - 1);
      printer_->AppendChar('=');
      printer_->AppendInt(position);
      printer_->Append("*/");
      if (dims_[dim] > 0) printer_->Append(break_);
    } else {
      printer_->Append(break_);
    }
    for (int64_t i = 0; i < dims_[dim]; ++i) {
      if (i > 0) {
        printer_->AppendChar(',');
        printer_->Append(break_);
      }
      PrintList(dim + 1, data + i * strides_[dim], i);
    }
    printer_->Append(break_);
    printer_->AppendChar('}');
  }

  void PrintInnermost(const char* data) {
    const int64_t size = dims_.back();
    const int64_t stride = strides_.back();
    const bool is_row = dims_.size() > 1;
    if (is_row && !oneline_) printer_->Append("  ");
    printer_->AppendChar('{');
    if (is_row && size > 1) printer_->AppendChar(' ');
    // Elements are gathered here, so that the printer is called seldom.
    char text[1024];
    char* const limit = text + sizeof(text) - kMaxElementChars - 2;
    char* out = text;
    for (int64_t i = 0; i < size; ++i) {
      if (i > 0) {
        *out++ = ',';
        *out++ = ' ';
      }
      out = format_(data + i * stride, out);
      if (out > limit) {
        printer_->Append(absl::string_view(text, out - text));
        out = text;
      }
    }
    printer_->Append(absl::string_view(text, out - text));
    if (is_row && size > 1) printer_->AppendChar(' ');
    printer_->AppendChar('}');
  }

  Printer* const printer_;
  const bool oneline_;
  const absl::string_view break_;
  const literal_internal::FormatFn format_;
  const DimensionVector dims_;
  DimensionVector strides_;
};

void PrintScalar(const LiteralPiece& piece, const char* data,
                 Printer* printer) {
  const PrimitiveType type = piece.subshape().element_type();
  if (type == PRED) {
    printer->Append(*data != 0 ? "true" : "false");
    return;
  }
  char text[kMaxElementChars];
  char* const end = literal_internal::FormatterOf(type)(data, text);
  printer->Append(absl::string_view(text, end - text));
}

void PrintShapePrefix(const LiteralPiece& piece, ShapeForm form,
                      Printer* printer) {
  if (form == ShapeForm::kNone) return;
  const Shape& shape = piece.subshape();
  if (form == ShapeForm::kShapeAndLayout) {
    ShapeUtil::PrintHumanStringWithLayout(printer, shape);
  } else {
    ShapeUtil::PrintHumanString(printer, shape);
  }
  if (shape.IsArray() && shape.is_dynamic()) {
    printer->AppendChar('(');
    for (int64_t i = 0; i < shape.dimensions_size(); ++i) {
      if (i > 0) printer->AppendChar(',');
      printer->AppendInt(piece.GetDynamicSize(i));
    }
    printer->AppendChar(')');
  }
  printer->AppendChar(' ');
}

void PrintArray(const LiteralPiece& piece, bool oneline, Printer* printer) {
  switch (piece.get_array_value_state()) {
    case ArrayValueState::kElided:
      printer->Append("{...}");
      return;
    case ArrayValueState::kUnknown:
      printer->Append("unknown");
      return;
    case ArrayValueState::kUndetermined:
      printer->Append("undetermined");
      return;
    case ArrayValueState::kKnown:
      break;
  }
  const char* const data = piece.buffer();
  if (data == nullptr) {
    printer->Append("unallocated");
  } else if (piece.subshape().dimensions().empty()) {
    PrintScalar(piece, data, printer);
  } else {
    ArrayPrinter array(piece, oneline, printer);
    if (array.EmptyLists() > kMaxEmptyLists) {
      printer->Append("{...}");
    } else {
      array.Print(data);
    }
  }
}

void PrintPiece(const LiteralPiece& piece, ShapeForm form, bool oneline,
                Printer* printer) {
  const Shape& shape = piece.subshape();
  if (shape.IsTuple()) {
    const absl::string_view line_break = oneline ? " " : "\n";
    printer->AppendChar('(');
    for (int64_t i = 0; i < piece.children_size(); ++i) {
      if (i > 0) printer->AppendChar(',');
      printer->Append(line_break);
      PrintPiece(piece.child(i), form, oneline, printer);
    }
    if (piece.children_size() > 0) printer->Append(line_break);
    printer->AppendChar(')');
  } else if (shape.IsArray()) {
    PrintShapePrefix(piece, form, printer);
    PrintArray(piece, oneline, printer);
  } else {
    printer->Append(shape.IsToken() ? "token" : "opaque");
  }
}

void PrintLiteral(const LiteralBase& literal, const LiteralPiece& root,
                  ShapeForm form, bool oneline, Printer* printer) {
  if (printer->is_hasher() && root.subshape().IsArray() && root.IsKnown() &&
      root.element_count() > kMaxHashedAsText) {
    PrintShapePrefix(root, form, printer);
    printer->Append(literal.DataFingerprint(/*layout_sensitive=*/false));
    return;
  }
  PrintPiece(root, form, oneline, printer);
}

std::string Print(absl::FunctionRef<void(Printer*)> print) {
  StringPrinter printer;
  print(&printer);
  return std::move(printer).ToString();
}

}  // namespace

void LiteralBase::Print(Printer* printer) const {
  PrintLiteral(*this, root_piece(), ShapeForm::kShape, false, printer);
}
void LiteralBase::PrintOneline(Printer* printer) const {
  PrintLiteral(*this, root_piece(), ShapeForm::kShape, true, printer);
}
void LiteralBase::PrintWithoutShape(Printer* printer) const {
  PrintLiteral(*this, root_piece(), ShapeForm::kNone, false, printer);
}
void LiteralBase::PrintWithoutShapeOneline(Printer* printer) const {
  PrintLiteral(*this, root_piece(), ShapeForm::kNone, true, printer);
}
void LiteralBase::PrintWithLayout(Printer* printer) const {
  PrintLiteral(*this, root_piece(), ShapeForm::kShapeAndLayout, false, printer);
}
void LiteralBase::PrintWithLayoutOneline(Printer* printer) const {
  PrintLiteral(*this, root_piece(), ShapeForm::kShapeAndLayout, true, printer);
}

std::string LiteralBase::ToString() const {
  return xla::Print([&](Printer* p) { Print(p); });
}
std::string LiteralBase::ToStringOneline() const {
  return xla::Print([&](Printer* p) { PrintOneline(p); });
}
std::string LiteralBase::ToStringWithoutShape() const {
  return xla::Print([&](Printer* p) { PrintWithoutShape(p); });
}
std::string LiteralBase::ToStringWithoutShapeOneline() const {
  return xla::Print([&](Printer* p) { PrintWithoutShapeOneline(p); });
}
std::string LiteralBase::ToStringWithLayout() const {
  return xla::Print([&](Printer* p) { PrintWithLayout(p); });
}
std::string LiteralBase::ToStringWithLayoutOneline() const {
  return xla::Print([&](Printer* p) { PrintWithLayoutOneline(p); });
}

std::string LiteralBase::GetAsString(absl::Span<const int64_t> multi_index,
                                     const ShapeIndex& shape_index) const {
  const Piece& array = piece(shape_index);
  CHECK(array.subshape().IsArray()) << array.subshape().ToString();
  CHECK(array.buffer() != nullptr) << "the literal has no elements";
  const int64_t bytes =
      ShapeUtil::ByteSizeOfPrimitiveType(array.subshape().element_type());
  const char* const data =
      array.buffer() + array.LinearIndex(multi_index) * bytes;
  return xla::Print([&](Printer* p) { PrintScalar(array, data, p); });
}

void LiteralBase::EachCellAsString(
    absl::FunctionRef<void(absl::Span<const int64_t> indices,
                           const std::string& value)>
        per_cell) const {
  const DimensionVector dims = root_piece().valid_dimensions();
  if (!literal_internal::HasElements(dims)) return;
  DimensionVector index(dims.size(), 0);
  do {
    per_cell(index, GetAsString(index));
  } while (literal_internal::BumpRowMajor(dims, absl::MakeSpan(index)));
}

}  // namespace xla
