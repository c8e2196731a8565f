// Literal::Convert, ConvertToShape and BitcastConvert.
//
// A conversion goes through one of five hub types that hold the source type
// exactly, block by block, so that n element types need n * 5 loops and not
// n * n; the second half rounds, saturates or wraps, so there is one rounding.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/literal_packing.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/types.h"

namespace xla {
namespace {

// Conversion between any two of n element types would need n * n loops over
// unusual types. Elements go through a hub type instead, block by block: a
// common type of their kind that holds them exactly. There is one loop for each
// source type to load and one for each pair of hub and destination type to
// store; only the store rounds.

// Elements per block; a block of the widest hub stays in the L1 cache.
constexpr int64_t kBlock = 512;

template <typename T>
using HubOf = std::conditional_t<
    is_complex_v<T>, complex128,
    std::conditional_t<
        is_specialized_floating_point_v<T>,
        std::conditional_t<std::is_same_v<T, double>, double, float>,
        std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>>;

template <typename Dest, typename Float>
Dest SaturatingTruncate(Float value) {
  if (value != value) return static_cast<Dest>(0);
  using Limits = std::numeric_limits<Dest>;
  // 2^digits, the first value above the range; exact in float.
  const Float above = std::ldexp(Float{1}, Limits::digits);
  if (value >= above) return Limits::max();
  if constexpr (Limits::is_signed) {
    if (value <= -above) return Limits::lowest();
  } else {
    if (value <= 0) return static_cast<Dest>(0);
  }
  return static_cast<Dest>(value);
}

template <typename Dest, typename Hub>
Dest FromHub(Hub value) {
  if constexpr (is_complex_v<Hub>) {
    if constexpr (is_complex_v<Dest>) {
      return Dest(value);
    } else {
      return Dest();  // Convert refuses these pairs.
    }
  } else if constexpr (is_complex_v<Dest>) {
    return Dest(static_cast<typename Dest::value_type>(value));
  } else if constexpr (std::is_same_v<Dest, bool>) {
    return value != 0;
  } else if constexpr (std::is_floating_point_v<Hub> &&
                       is_specialized_integral_v<Dest>) {
    return SaturatingTruncate<Dest>(value);
  } else {
    return static_cast<Dest>(value);
  }
}

template <typename Src>
void LoadHub(const char* src, char* hub, int64_t count) {
  using Hub = HubOf<Src>;
  const Src* in = reinterpret_cast<const Src*>(src);
  Hub* out = reinterpret_cast<Hub*>(hub);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<Hub>(in[i]);
}

template <typename Dest, typename Hub>
void StoreHub(const char* hub, char* dest, int64_t count) {
  const Hub* in = reinterpret_cast<const Hub*>(hub);
  Dest* out = reinterpret_cast<Dest*>(dest);
  for (int64_t i = 0; i < count; ++i) out[i] = FromHub<Dest, Hub>(in[i]);
}

using BlockFn = void (*)(const char*, char*, int64_t);

enum class HubKind { kS64, kU64, kF32, kF64, kC128 };

template <typename Hub>
constexpr HubKind KindOf() {
  if (std::is_same_v<Hub, int64_t>) return HubKind::kS64;
  if (std::is_same_v<Hub, uint64_t>) return HubKind::kU64;
  if (std::is_same_v<Hub, float>) return HubKind::kF32;
  if (std::is_same_v<Hub, double>) return HubKind::kF64;
  return HubKind::kC128;
}

struct Loader {
  BlockFn load;
  HubKind hub;
};

Loader LoaderOf(PrimitiveType type) {
  return primitive_util::ArrayTypeSwitch(
      [](auto constant) -> Loader {
        using Src = primitive_util::NativeTypeOf<constant>;
        return {&LoadHub<Src>, KindOf<HubOf<Src>>()};
      },
      type);
}

BlockFn StorerOf(PrimitiveType type, HubKind hub) {
  return primitive_util::ArrayTypeSwitch(
      [hub](auto constant) -> BlockFn {
        using Dest = primitive_util::NativeTypeOf<constant>;
        switch (hub) {
          case HubKind::kS64:
            return &StoreHub<Dest, int64_t>;
          case HubKind::kU64:
            return &StoreHub<Dest, uint64_t>;
          case HubKind::kF32:
            return &StoreHub<Dest, float>;
          case HubKind::kF64:
            return &StoreHub<Dest, double>;
          case HubKind::kC128:
            break;
        }
        return &StoreHub<Dest, complex128>;
      },
      type);
}

void ConvertElements(PrimitiveType src_type, const char* src,
                     PrimitiveType dest_type, char* dest, int64_t count) {
  const Loader loader = LoaderOf(src_type);
  const BlockFn store = StorerOf(dest_type, loader.hub);
  const int64_t src_bytes = ShapeUtil::ByteSizeOfPrimitiveType(src_type);
  const int64_t dest_bytes = ShapeUtil::ByteSizeOfPrimitiveType(dest_type);
  alignas(16) char hub[kBlock * sizeof(complex128)];
  for (int64_t done = 0; done < count; done += kBlock) {
    const int64_t n = std::min(kBlock, count - done);
    loader.load(src + done * src_bytes, hub, n);
    store(hub, dest + done * dest_bytes, n);
  }
}

int BitcastWidth(PrimitiveType type) {
  return type == PRED ? 8 : primitive_util::BitWidth(type);
}

// Cuts the bits of elements of one type into elements of another.
void Rebit(PrimitiveType from, const char* src, int64_t src_count,
           PrimitiveType to, int64_t dest_count, char* dest) {
  // As a byte per element, unlike in the packed form.
  if (from == PRED) from = U8;
  const std::string bits = literal_internal::PackElements(from, src, src_count);
  literal_internal::UnpackElements(to == PRED ? U8 : to, bits, dest_count,
                                   dest);
  // Nonzero bytes are true.
  if (to == PRED) literal_internal::NormalizeElements(to, dest, dest_count);
}

// Whether bitcasting `from` to `to` leaves the dimensions alone or adds or
// removes a minor dimension that makes up for the width.
bool BitcastDimensionsFit(const Shape& from, const Shape& to) {
  const int from_bits = BitcastWidth(from.element_type());
  const int to_bits = BitcastWidth(to.element_type());
  const absl::Span<const int64_t> a = from.dimensions();
  const absl::Span<const int64_t> b = to.dimensions();
  if (from_bits == to_bits) return a == b;
  if (from_bits > to_bits) {
    return from_bits % to_bits == 0 && b.size() == a.size() + 1 &&
           b.first(a.size()) == a && b.back() == from_bits / to_bits;
  }
  return to_bits % from_bits == 0 && a.size() == b.size() + 1 &&
         a.first(b.size()) == b && a.back() == to_bits / from_bits;
}

}  // namespace

absl::StatusOr<Literal> LiteralBase::Convert(
    PrimitiveType primitive_dest_type) const {
  if (!shape().IsArray()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "convert of a literal of shape ", ShapeUtil::HumanString(shape()),
        ", which is not an array"));
  }
  const PrimitiveType src_type = shape().element_type();
  if (src_type == primitive_dest_type) return Clone();
  if (!primitive_util::IsArrayType(primitive_dest_type) ||
      (primitive_util::IsComplexType(src_type) &&
       !primitive_util::IsComplexType(primitive_dest_type))) {
    return absl::UnimplementedError(absl::StrCat(
        "convert of a literal of shape ", ShapeUtil::HumanString(shape()),
        " to ",
        absl::AsciiStrToLower(PrimitiveType_Name(primitive_dest_type))));
  }
  const Shape new_shape =
      ShapeUtil::ChangeElementType(shape(), primitive_dest_type);
  const Piece& src = root_piece();
  if (!src.IsKnown()) {
    return Literal(new_shape, /*allocate_arrays=*/false,
                   src.get_array_value_state());
  }
  TF_ASSIGN_OR_RETURN(Literal result, Literal::Make(new_shape));
  for (int64_t i = 0; i < new_shape.dimensions_size(); ++i) {
    if (new_shape.is_dynamic_dimension(i)) {
      result.SetDynamicSize(i, src.GetDynamicSize(i));
    }
  }
  ConvertElements(src_type, src.buffer(), primitive_dest_type,
                  static_cast<char*>(result.untyped_data()), element_count());
  return result;
}

absl::StatusOr<Literal> LiteralBase::ConvertToShape(
    const Shape& dest_shape) const {
  if (!dest_shape.IsTuple()) {
    if (!shape().IsArray() || !dest_shape.IsArray()) {
      if (ShapeUtil::Compatible(shape(), dest_shape)) return Clone();
      return absl::InvalidArgumentError(
          absl::StrCat("cannot convert ", ShapeUtil::HumanString(shape()),
                       " to ", ShapeUtil::HumanString(dest_shape)));
    }
    return Convert(dest_shape.element_type());
  }
  if (!shape().IsTuple() ||
      shape().tuple_shapes_size() != dest_shape.tuple_shapes_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot convert ", ShapeUtil::HumanString(shape()), " to ",
                     ShapeUtil::HumanString(dest_shape)));
  }
  std::vector<Literal> elements;
  elements.reserve(dest_shape.tuple_shapes_size());
  for (int64_t i = 0; i < dest_shape.tuple_shapes_size(); ++i) {
    TF_ASSIGN_OR_RETURN(
        Literal element,
        LiteralSlice(*this, {i}).ConvertToShape(dest_shape.tuple_shapes(i)));
    elements.push_back(std::move(element));
  }
  return MutableLiteralBase::MoveIntoTuple(absl::MakeSpan(elements));
}

absl::StatusOr<Literal> LiteralBase::BitcastConvert(
    const Shape& dest_shape) const {
  if (!shape().IsArray() || !dest_shape.IsArray() ||
      !BitcastDimensionsFit(shape(), dest_shape)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "bitcast-convert of ", ShapeUtil::HumanString(shape()), " to ",
        ShapeUtil::HumanString(dest_shape), " changes the number of bits"));
  }
  Shape layout_shape = dest_shape;
  if (!layout_shape.has_layout()) {
    LayoutUtil::SetToDefaultLayout(&layout_shape);
  }
  const Piece& src = root_piece();
  if (!src.IsKnown()) {
    return Literal(layout_shape, /*allocate_arrays=*/false,
                   src.get_array_value_state());
  }
  const PrimitiveType from = shape().element_type();
  const PrimitiveType to = dest_shape.element_type();
  // Bits of neighbors in the minor dimension join, so both sides are brought
  // to the descending layout.
  Shape row_major_shape = layout_shape;
  LayoutUtil::SetToDefaultLayout(&row_major_shape);
  TF_ASSIGN_OR_RETURN(Literal result, Literal::Make(row_major_shape));
  for (int64_t i = 0; i < dest_shape.dimensions_size(); ++i) {
    if (dest_shape.is_dynamic_dimension(i) && i < shape().dimensions_size()) {
      result.SetDynamicSize(i, src.GetDynamicSize(i));
    }
  }
  Literal copy;
  const char* elements = src.buffer();
  if (!LayoutUtil::HasDescendingLayout(shape().layout())) {
    copy = Relayout(
        LayoutUtil::GetDefaultLayoutForRank(shape().dimensions().size()));
    elements = static_cast<const char*>(
        static_cast<const Literal&>(copy).untyped_data());
  }
  char* const dest = static_cast<char*>(result.untyped_data());
  if (BitcastWidth(from) == BitcastWidth(to)) {
    std::copy_n(elements, size_bytes(), dest);
    literal_internal::NormalizeElements(to, dest, element_count());
  } else {
    Rebit(from, elements, element_count(), to, result.element_count(), dest);
  }
  if (LayoutUtil::Equal(row_major_shape.layout(), layout_shape.layout())) {
    return result;
  }
  return result.Relayout(layout_shape.layout());
}

}  // namespace xla
