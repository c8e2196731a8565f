// LiteralProto and the binary form of literals.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/literal.h"
#include "xla/literal_packing.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ArrayValueState = LiteralPiece::ArrayValueState;

// X(PrimitiveType, field) for types with a repeated field of their own C++
// type, and for those with a bytes field that holds an element per byte or
// little-endian pair of bytes.
#define XLA_LITERAL_REPEATED_FIELDS(X) \
  X(PRED, preds)                       \
  X(S32, s32s)                         \
  X(S64, s64s)                         \
  X(U32, u32s)                         \
  X(U64, u64s)                         \
  X(F32, f32s)                         \
  X(F64, f64s)
#define XLA_LITERAL_BYTES_FIELDS(X) \
  X(S1, s1s)                        \
  X(S2, s2s)                        \
  X(S4, s4s)                        \
  X(S8, s8s)                        \
  X(S16, s16s)                      \
  X(U1, u1s)                        \
  X(U2, u2s)                        \
  X(U4, u4s)                        \
  X(U8, u8s)                        \
  X(U16, u16s)                      \
  X(F16, f16s)                      \
  X(BF16, bf16s)                    \
  X(F4E2M1FN, f4e2m1fns)            \
  X(F6E2M3FN, f6e2m3fns)            \
  X(F6E3M2FN, f6e3m2fns)            \
  X(F8E3M4, f8e3m4s)                \
  X(F8E4M3, f8e4m3s)                \
  X(F8E4M3B11FNUZ, f8e4m3b11fnuzs)  \
  X(F8E4M3FN, f8e4m3fns)            \
  X(F8E4M3FNUZ, f8e4m3fnuzs)        \
  X(F8E5M2, f8e5m2s)                \
  X(F8E5M2FNUZ, f8e5m2fnuzs)        \
  X(F8E8M0FNU, f8e8m0fnus)

// Integers of the binary form, little endian.
template <typename UInt>
void AppendInt(UInt value, std::string* output) {
  for (size_t i = 0; i < sizeof(UInt); ++i) {
    output->push_back(static_cast<char>(value >> (8 * i)));
  }
}

template <typename UInt>
UInt ReadInt(const char* data) {
  UInt value = 0;
  for (size_t i = 0; i < sizeof(UInt); ++i) {
    value |= static_cast<UInt>(static_cast<uint8_t>(data[i])) << (8 * i);
  }
  return value;
}

// Number of elements that a proto holds for `type`; -1 if its field does not
// divide into elements.
int64_t CountValues(PrimitiveType type, const LiteralProto& proto) {
  switch (type) {
#define XLA_COUNT(TYPE, field) \
  case TYPE:                   \
    return proto.field##_size();
    XLA_LITERAL_REPEATED_FIELDS(XLA_COUNT)
#undef XLA_COUNT
#define XLA_COUNT(TYPE, field)                                      \
  case TYPE: {                                                      \
    const int64_t bytes = ShapeUtil::ByteSizeOfPrimitiveType(TYPE); \
    const int64_t size = proto.field().size();                      \
    return size % bytes == 0 ? size / bytes : -1;                   \
  }
    XLA_LITERAL_BYTES_FIELDS(XLA_COUNT)
#undef XLA_COUNT
    case C64:
      return proto.c64s_size() % 2 == 0 ? proto.c64s_size() / 2 : -1;
    case C128:
      return proto.c128s_size() % 2 == 0 ? proto.c128s_size() / 2 : -1;
    default:
      return -1;
  }
}

template <typename T, typename Field>
void WriteRepeated(const char* data, int64_t count, Field* field) {
  const T* values = reinterpret_cast<const T*>(data);
  field->Reserve(count);
  field->Add(values, values + count);
}

template <typename T, typename Field>
void ReadRepeated(const Field& field, char* data) {
  std::copy(field.begin(), field.end(), reinterpret_cast<T*>(data));
}

void WriteValues(PrimitiveType type, const char* data, int64_t count,
                 LiteralProto* proto) {
  switch (type) {
#define XLA_WRITE(TYPE, field)                         \
  case TYPE:                                           \
    WriteRepeated<primitive_util::NativeTypeOf<TYPE>>( \
        data, count, proto->mutable_##field());        \
    return;
    XLA_LITERAL_REPEATED_FIELDS(XLA_WRITE)
#undef XLA_WRITE
#define XLA_WRITE(TYPE, field)                                            \
  case TYPE: {                                                            \
    std::string* bytes = proto->mutable_##field();                        \
    bytes->assign(data, count* ShapeUtil::ByteSizeOfPrimitiveType(TYPE)); \
    literal_internal::SwapToLittleEndian(TYPE, bytes->data(), count);     \
    return;                                                               \
  }
    XLA_LITERAL_BYTES_FIELDS(XLA_WRITE)
#undef XLA_WRITE
    case C64:
      WriteRepeated<float>(data, 2 * count, proto->mutable_c64s());
      return;
    case C128:
      WriteRepeated<double>(data, 2 * count, proto->mutable_c128s());
      return;
    default:
      return;
  }
}

void ReadValues(PrimitiveType type, const LiteralProto& proto, int64_t count,
                char* data) {
  switch (type) {
#define XLA_READ(TYPE, field)                                              \
  case TYPE:                                                               \
    ReadRepeated<primitive_util::NativeTypeOf<TYPE>>(proto.field(), data); \
    return;
    XLA_LITERAL_REPEATED_FIELDS(XLA_READ)
#undef XLA_READ
#define XLA_READ(TYPE, field)                                    \
  case TYPE:                                                     \
    std::copy(proto.field().begin(), proto.field().end(), data); \
    literal_internal::SwapToLittleEndian(TYPE, data, count);     \
    literal_internal::NormalizeElements(TYPE, data, count);      \
    return;
    XLA_LITERAL_BYTES_FIELDS(XLA_READ)
#undef XLA_READ
    case C64:
      ReadRepeated<float>(proto.c64s(), data);
      return;
    case C128:
      ReadRepeated<double>(proto.c128s(), data);
      return;
    default:
      return;
  }
}

void WriteTree(const LiteralPiece& piece, LiteralProto* proto) {
  piece.subshape().ToProto(*proto->mutable_shape());
  if (piece.subshape().IsArray()) {
    piece.WriteToProto(proto);
    return;
  }
  for (int64_t i = 0; i < piece.children_size(); ++i) {
    WriteTree(piece.child(i), proto->add_tuple_literals());
  }
}

absl::Status ReadArray(const LiteralProto& proto, bool prohibit_empty_literal,
                       LiteralPiece* piece) {
  const Shape& shape = piece->subshape();
  if (!prohibit_empty_literal && !ShapeUtil::IsZeroElementArray(shape) &&
      CountValues(shape.element_type(), proto) == 0) {
    piece->set_array_value_state(ArrayValueState::kElided);
    return absl::OkStatus();
  }
  return piece->CopyFromProto(proto);
}

absl::Status ReadTree(const LiteralProto& proto, bool prohibit_empty_literal,
                      LiteralPiece* piece) {
  const Shape& shape = piece->subshape();
  const int64_t children = shape.IsTuple() ? shape.tuple_shapes_size() : 0;
  if (proto.tuple_literals_size() != children) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a LiteralProto of shape ", ShapeUtil::HumanString(shape), " has ",
        proto.tuple_literals_size(), " elements, expected ", children));
  }
  if (shape.IsArray()) return ReadArray(proto, prohibit_empty_literal, piece);
  for (int64_t i = 0; i < children; ++i) {
    TF_RETURN_IF_ERROR(ReadTree(proto.tuple_literals(i), prohibit_empty_literal,
                                &piece->child(i)));
  }
  return absl::OkStatus();
}

}  // namespace

LiteralProto LiteralBase::ToProto() const {
  LiteralProto proto;
  WriteTree(root_piece(), &proto);
  return proto;
}

void LiteralPiece::WriteToProto(LiteralProto* proto) const {
  if (buffer() == nullptr) return;
  if (subshape_->is_dynamic()) {
    for (int64_t i = 0; i < subshape_->dimensions_size(); ++i) {
      proto->add_dynamic_sizes(GetDynamicSize(i));
    }
  }
  WriteValues(subshape_->element_type(), buffer(), element_count(), proto);
}

absl::Status LiteralPiece::CopyFromProto(const LiteralProto& proto) {
  const Shape& shape = *subshape_;
  const auto invalid = [&](absl::string_view what, int64_t got,
                           int64_t expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("a LiteralProto of shape ", ShapeUtil::HumanString(shape),
                     " has ", got, " ", what, ", expected ", expected));
  };
  if (shape.is_unbounded_dynamic()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a LiteralProto of the unbounded shape ",
                     ShapeUtil::HumanString(shape)));
  }
  const int64_t count = element_count();
  const int64_t values = CountValues(shape.element_type(), proto);
  if (values != count) return invalid("values", values, count);
  TF_RETURN_IF_ERROR(AllocateBuffers());
  if (proto.dynamic_sizes_size() > 0) {
    if (proto.dynamic_sizes_size() != shape.dimensions_size()) {
      return invalid("dynamic sizes", proto.dynamic_sizes_size(),
                     shape.dimensions_size());
    }
    for (int64_t i = 0; i < shape.dimensions_size(); ++i) {
      const int64_t size = proto.dynamic_sizes(i);
      if (!shape.is_dynamic_dimension(i)) {
        if (size != shape.dimensions(i)) {
          return invalid("as a static size", size, shape.dimensions(i));
        }
        continue;
      }
      if (size < 0 || size > shape.dimensions(i)) {
        return invalid("as a dynamic size", size, shape.dimensions(i));
      }
      SetDynamicSize(i, size);
    }
  }
  ReadValues(shape.element_type(), proto, count, buffer());
  return absl::OkStatus();
}

absl::StatusOr<Literal> MutableLiteralBase::CreateFromProto(
    const LiteralProto& proto, bool prohibit_empty_literal) {
  if (!proto.has_shape()) {
    return absl::InvalidArgumentError("a LiteralProto has no shape");
  }
  TF_ASSIGN_OR_RETURN(Shape shape, Shape::FromProto(proto.shape()));
  TF_RETURN_IF_ERROR(ShapeUtil::ValidateShapeWithOptionalLayout(shape));
  if (!LayoutUtil::HasLayout(shape)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a LiteralProto of shape ", ShapeUtil::HumanString(shape),
                     " has no layout: the order of its elements is unknown"));
  }
  TF_ASSIGN_OR_RETURN(Literal literal,
                      Literal::Make(shape, /*allocate_arrays=*/false));
  TF_RETURN_IF_ERROR(
      ReadTree(proto, prohibit_empty_literal, &literal.mutable_root_piece()));
  return literal;
}

// ---- Binary form -----------------------------------------------------------

absl::StatusOr<int64_t> LiteralBase::SerializedSize() const {
  if (!IsKnown()) {
    return absl::FailedPreconditionError(
        "a literal with unknown elements cannot be serialized");
  }
  int64_t size = sizeof(uint64_t) + shape().ToProto().ByteSizeLong();
  root_piece().ForEachSubpiece([&](const ShapeIndex&, const Piece& piece) {
    if (!piece.subshape().IsArray()) return;
    if (piece.subshape().is_dynamic())
      size += piece.dynamic_size_buffer_bytes();
    size += literal_internal::PackedBytes(piece.subshape().element_type(),
                                          piece.element_count());
  });
  return size;
}

absl::Status LiteralBase::SerializeToString(std::string* output) const {
  TF_ASSIGN_OR_RETURN(const int64_t size, SerializedSize());
  const std::string shape_bytes = shape().ToProto().SerializeAsString();
  output->clear();
  output->reserve(size);
  AppendInt<uint64_t>(shape_bytes.size(), output);
  output->append(shape_bytes);
  return root_piece().ForEachSubpieceWithStatus(
      [&](const ShapeIndex&, const Piece& piece) -> absl::Status {
        if (!piece.subshape().IsArray()) return absl::OkStatus();
        if (piece.buffer() == nullptr) {
          return absl::FailedPreconditionError("the literal has no buffer");
        }
        if (piece.subshape().is_dynamic()) {
          for (int64_t i = 0; i < piece.subshape().dimensions_size(); ++i) {
            AppendInt<uint32_t>(piece.GetDynamicSize(i), output);
          }
        }
        output->append(literal_internal::PackElements(
            piece.subshape().element_type(), piece.buffer(),
            piece.element_count()));
        return absl::OkStatus();
      });
}

absl::StatusOr<std::string> LiteralBase::SerializeAsString() const {
  std::string result;
  TF_RETURN_IF_ERROR(SerializeToString(&result));
  return result;
}

absl::StatusOr<Literal> Literal::DeserializeFromString(absl::string_view data) {
  const auto truncated = [] {
    return absl::InvalidArgumentError("a serialized literal is truncated");
  };
  if (data.size() < sizeof(uint64_t)) return truncated();
  const uint64_t shape_size = ReadInt<uint64_t>(data.data());
  data.remove_prefix(sizeof(uint64_t));
  if (data.size() < shape_size) return truncated();
  ShapeProto shape_proto;
  if (!shape_proto.ParseFromArray(data.data(), shape_size)) {
    return absl::InvalidArgumentError(
        "a serialized literal has no valid shape");
  }
  data.remove_prefix(shape_size);
  TF_ASSIGN_OR_RETURN(Shape shape, Shape::FromProto(shape_proto));
  TF_RETURN_IF_ERROR(ShapeUtil::ValidateShapeWithOptionalLayout(shape));
  TF_ASSIGN_OR_RETURN(Literal literal,
                      Literal::Make(shape, /*allocate_arrays=*/false));
  TF_RETURN_IF_ERROR(literal.root_piece_.ForEachMutableSubpieceWithStatus(
      [&](const ShapeIndex&, Piece* piece) -> absl::Status {
        const Shape& subshape = piece->subshape();
        if (!subshape.IsArray()) return absl::OkStatus();
        const PrimitiveType type = subshape.element_type();
        // Checked before anything of that size is allocated.
        if (subshape.is_unbounded_dynamic() ||
            piece->element_count() / 8 > static_cast<int64_t>(data.size())) {
          return truncated();
        }
        const int64_t bytes =
            literal_internal::PackedBytes(type, piece->element_count());
        const int64_t sizes_bytes =
            subshape.is_dynamic() ? piece->dynamic_size_buffer_bytes() : 0;
        if (static_cast<int64_t>(data.size()) < bytes + sizes_bytes) {
          return truncated();
        }
        TF_RETURN_IF_ERROR(piece->AllocateBuffers());
        for (int64_t i = 0; i * 4 < sizes_bytes; ++i) {
          const uint32_t size = ReadInt<uint32_t>(data.data() + i * 4);
          if (size > static_cast<uint64_t>(subshape.dimensions(i))) {
            return absl::InvalidArgumentError(
                "a dynamic size of a serialized literal is out of range");
          }
          if (subshape.is_dynamic_dimension(i)) piece->SetDynamicSize(i, size);
        }
        data.remove_prefix(sizes_bytes);
        literal_internal::UnpackElements(
            type, absl::MakeConstSpan(data.data(), bytes),
            piece->element_count(), piece->buffer());
        data.remove_prefix(bytes);
        return absl::OkStatus();
      }));
  if (!data.empty()) {
    return absl::InvalidArgumentError("bytes follow a serialized literal");
  }
  return literal;
}

std::string LiteralBase::GetR1U8AsString() const {
  CHECK(shape().IsArray() && shape().dimensions_size() == 1 &&
        shape().element_type() == U8)
      << shape().ToString();
  const absl::Span<const uint8_t> bytes = data<uint8_t>();
  return std::string(bytes.begin(), bytes.begin() + GetDynamicSize(0));
}

}  // namespace xla
