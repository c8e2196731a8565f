#include "xla/layout.h"

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "absl/log/check.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/primitive_util.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {

// --- Tile and SplitConfig ----------------------------------------------------

absl::StatusOr<Tile> Tile::FromProto(const TileProto& tile_proto) {
  for (int64_t dimension : tile_proto.dimensions()) {
    if (dimension < 0 && dimension != kCombineDimension) {
      return InvalidArgument("Tile dimension %d is negative", dimension);
    }
  }
  return Tile(tile_proto.dimensions());
}

void Tile::ToProto(TileProto& tile_proto) const {
  tile_proto.Clear();
  for (int64_t dimension : dimensions_) tile_proto.add_dimensions(dimension);
}

TileProto Tile::ToProto() const {
  TileProto proto;
  ToProto(proto);
  return proto;
}

void Tile::Print(Printer* printer) const {
  const char* separator = "(";
  for (int64_t dimension : dimensions_) {
    printer->Append(separator);
    separator = ",";
    if (dimension == kCombineDimension) {
      printer->Append("*");
    } else {
      if (dimension < 0) printer->Append("Invalid value ");
      printer->Append(dimension);
    }
  }
  printer->Append(dimensions_.empty() ? "()" : ")");
}

std::string Tile::ToString() const {
  StringPrinter printer;
  Print(&printer);
  return std::move(printer).ToString();
}

SplitConfig SplitConfig::CreateFromProto(const SplitConfigProto& proto) {
  return SplitConfig(proto.dimension(), proto.split_indices());
}

void SplitConfig::ToProto(SplitConfigProto& split_config_proto) const {
  split_config_proto.Clear();
  split_config_proto.set_dimension(dimension_);
  for (int64_t index : split_indices_) {
    split_config_proto.add_split_indices(index);
  }
}

SplitConfigProto SplitConfig::ToProto() const {
  SplitConfigProto proto;
  ToProto(proto);
  return proto;
}

std::string SplitConfig::ToString() const {
  return absl::StrCat("(", dimension_, ":", absl::StrJoin(split_indices_, ","),
                      ")");
}

// --- Layout ------------------------------------------------------------------

Layout::Extra::Extra() = default;
Layout::Extra::~Extra() = default;
Layout::Extra::Extra(const Extra& other)
    : tiles(other.tiles),
      split_configs(other.split_configs),
      physical_shape(other.physical_shape
                         ? std::make_unique<Shape>(*other.physical_shape)
                         : nullptr),
      tail_padding_alignment_in_elements(
          other.tail_padding_alignment_in_elements),
      element_size_in_bits(other.element_size_in_bits),
      memory_space(other.memory_space),
      dynamic_shape_metadata_prefix_bytes(
          other.dynamic_shape_metadata_prefix_bytes),
      index_primitive_type(other.index_primitive_type),
      pointer_primitive_type(other.pointer_primitive_type) {}

const Layout::Extra& Layout::DefaultExtra() {
  static const Extra* const kDefault = new Extra();
  return *kDefault;
}

Layout::Layout(absl::Span<const int64_t> minor_to_major,
               absl::Span<const Tile> tiles, int64_t element_size_in_bits)
    : Layout(minor_to_major, tiles, PRIMITIVE_TYPE_INVALID,
             PRIMITIVE_TYPE_INVALID, /*tail_padding_alignment_in_elements=*/1,
             element_size_in_bits) {}

Layout::Layout(absl::Span<const int64_t> minor_to_major,
               absl::Span<const Tile> tiles, PrimitiveType index_primitive_type,
               PrimitiveType pointer_primitive_type,
               int64_t tail_padding_alignment_in_elements,
               int64_t element_size_in_bits, int64_t memory_space,
               absl::Span<const SplitConfig> split_configs,
               std::unique_ptr<Shape> physical_shape,
               int64_t dynamic_shape_metadata_prefix_bytes)
    : minor_to_major_(minor_to_major.begin(), minor_to_major.end()) {
  if (!tiles.empty()) mutable_extra().tiles.assign(tiles.begin(), tiles.end());
  if (!split_configs.empty()) {
    mutable_extra().split_configs.assign(split_configs.begin(),
                                         split_configs.end());
  }
  if (physical_shape != nullptr) {
    mutable_extra().physical_shape = std::move(physical_shape);
  }
  set_index_primitive_type(index_primitive_type);
  set_pointer_primitive_type(pointer_primitive_type);
  set_tail_padding_alignment_in_elements(tail_padding_alignment_in_elements);
  set_element_size_in_bits(element_size_in_bits);
  set_memory_space(memory_space);
  set_dynamic_shape_metadata_prefix_bytes(dynamic_shape_metadata_prefix_bytes);
}

Layout& Layout::operator=(const Layout& other) {
  if (this != &other) {
    minor_to_major_ = other.minor_to_major_;
    extra_ = other.extra_ ? std::make_unique<Extra>(*other.extra_) : nullptr;
  }
  return *this;
}

absl::StatusOr<Layout> Layout::FromProto(const LayoutProto& proto) {
  return FromProtoAtDepth(proto, /*depth=*/0);
}

absl::StatusOr<Layout> Layout::FromProtoAtDepth(const LayoutProto& proto,
                                                int depth) {
  for (int type : proto.dim_level_types()) {
    if (type != DIM_DENSE) {
      return Unimplemented("Layouts with sparse dimensions are not supported");
    }
  }
  if (proto.element_size_in_bits() < 0 || proto.memory_space() < 0 ||
      proto.tail_padding_alignment_in_elements() < 0 ||
      proto.dynamic_shape_metadata_prefix_bytes() < 0) {
    return InvalidArgument("Layout proto has a negative size or memory space");
  }
  Layout layout(proto.minor_to_major());
  for (const TileProto& tile_proto : proto.tiles()) {
    TF_ASSIGN_OR_RETURN(*layout.add_tiles(), Tile::FromProto(tile_proto));
  }
  for (const SplitConfigProto& split : proto.split_configs()) {
    layout.add_split_configs(SplitConfig::CreateFromProto(split));
  }
  if (proto.tail_padding_alignment_in_elements() != 0) {
    layout.set_tail_padding_alignment_in_elements(
        proto.tail_padding_alignment_in_elements());
  }
  layout.set_element_size_in_bits(proto.element_size_in_bits());
  layout.set_memory_space(proto.memory_space());
  layout.set_index_primitive_type(proto.index_primitive_type());
  layout.set_pointer_primitive_type(proto.pointer_primitive_type());
  layout.set_dynamic_shape_metadata_prefix_bytes(
      proto.dynamic_shape_metadata_prefix_bytes());
  if (proto.has_physical_shape()) {
    TF_ASSIGN_OR_RETURN(
        *layout.mutable_physical_shape(),
        Shape::FromProtoAtDepth(proto.physical_shape(), depth + 1));
  }
  return layout;
}

Layout Layout::CreateFromProto(const LayoutProto& proto) {
  absl::StatusOr<Layout> layout = FromProto(proto);
  CHECK(layout.ok()) << layout.status();
  return *std::move(layout);
}

void Layout::ToProto(LayoutProto& proto) const {
  proto.Clear();
  for (int64_t dimension : minor_to_major_) {
    proto.add_minor_to_major(dimension);
  }
  const Extra& e = extra();
  for (const Tile& tile : e.tiles) tile.ToProto(*proto.add_tiles());
  for (const SplitConfig& split : e.split_configs) {
    split.ToProto(*proto.add_split_configs());
  }
  proto.set_tail_padding_alignment_in_elements(
      e.tail_padding_alignment_in_elements);
  proto.set_element_size_in_bits(e.element_size_in_bits);
  proto.set_memory_space(e.memory_space);
  proto.set_index_primitive_type(e.index_primitive_type);
  proto.set_pointer_primitive_type(e.pointer_primitive_type);
  proto.set_dynamic_shape_metadata_prefix_bytes(
      e.dynamic_shape_metadata_prefix_bytes);
  if (e.physical_shape != nullptr) {
    e.physical_shape->ToProto(*proto.mutable_physical_shape());
  }
}

LayoutProto Layout::ToProto() const {
  LayoutProto proto;
  ToProto(proto);
  return proto;
}

void Layout::Print(Printer* printer) const {
  printer->Append("{");
  printer->AppendInt64List(minor_to_major_, /*leading_comma=*/false);
  if (extra_ != nullptr && !is_plain()) {
    printer->Append(":");
    PrintExtra(printer);
  }
  printer->Append("}");
}

void Layout::PrintExtra(Printer* printer) const {
  const Extra& e = *extra_;
  auto print_number = [&](const char* prefix, int64_t value) {
    printer->Append(prefix);
    printer->Append(value);
    printer->Append(")");
  };
  auto print_type = [&](const char* prefix, PrimitiveType type) {
    if (type == PRIMITIVE_TYPE_INVALID) return;
    printer->Append(prefix);
    printer->Append(primitive_util::LowercasePrimitiveTypeName(type));
    printer->Append(")");
  };
  if (!e.tiles.empty()) {
    printer->Append("T");
    for (const Tile& tile : e.tiles) tile.Print(printer);
  }
  if (e.tail_padding_alignment_in_elements != 1) {
    print_number("L(", e.tail_padding_alignment_in_elements);
  }
  print_type("#(", e.index_primitive_type);
  print_type("*(", e.pointer_primitive_type);
  if (e.element_size_in_bits != 0) print_number("E(", e.element_size_in_bits);
  if (e.memory_space != kDefaultMemorySpace) {
    print_number("S(", e.memory_space);
  }
  if (!e.split_configs.empty()) {
    printer->Append("SC");
    for (const SplitConfig& split : e.split_configs) {
      printer->Append(split.ToString());
    }
  }
  if (e.physical_shape != nullptr) {
    printer->Append("P(");
    e.physical_shape->Print(printer, /*print_layout=*/true);
    printer->Append(")");
  }
  if (e.dynamic_shape_metadata_prefix_bytes != 0) {
    print_number("M(", e.dynamic_shape_metadata_prefix_bytes);
  }
}

std::string Layout::ToString() const {
  StringPrinter printer;
  Print(&printer);
  return std::move(printer).ToString();
}

bool Layout::Equal::operator()(const Layout& lhs, const Layout& rhs) const {
  if (lhs.minor_to_major_ != rhs.minor_to_major_) return false;
  if (lhs.extra_ == nullptr && rhs.extra_ == nullptr) return true;
  return ExtraEqual(lhs.extra(), rhs.extra(), ignored_);
}

bool Layout::ExtraEqual(const Extra& a, const Extra& b, uint16_t ignored) {
  auto same = [&](uint16_t bit, const auto& x, const auto& y) {
    return (ignored & bit) != 0 || x == y;
  };
  if (!same(Equal::kTiles, a.tiles, b.tiles) ||
      !same(Equal::kTail, a.tail_padding_alignment_in_elements,
            b.tail_padding_alignment_in_elements) ||
      !same(Equal::kIndexType, a.index_primitive_type,
            b.index_primitive_type) ||
      !same(Equal::kPointerType, a.pointer_primitive_type,
            b.pointer_primitive_type) ||
      !same(Equal::kElementSize, a.element_size_in_bits,
            b.element_size_in_bits) ||
      !same(Equal::kMemorySpace, a.memory_space, b.memory_space) ||
      !same(Equal::kSplitConfigs, a.split_configs, b.split_configs) ||
      !same(Equal::kPrefix, a.dynamic_shape_metadata_prefix_bytes,
            b.dynamic_shape_metadata_prefix_bytes)) {
    return false;
  }
  if ((ignored & Equal::kPhysicalShape) != 0) return true;
  if (a.physical_shape == nullptr || b.physical_shape == nullptr) {
    return a.physical_shape == b.physical_shape;
  }
  return *a.physical_shape == *b.physical_shape;
}

Layout& Layout::DeleteDimension(int dim_to_delete) {
  // Splits count physical dimensions, from the most major.
  int64_t place = static_cast<int64_t>(minor_to_major_.size()) - 1;
  for (int64_t dimension : minor_to_major_) {
    if (dimension == dim_to_delete) break;
    --place;
  }
  auto out = minor_to_major_.begin();
  for (int64_t dimension : minor_to_major_) {
    if (dimension == dim_to_delete) continue;
    *out++ = dimension - (dimension > dim_to_delete ? 1 : 0);
  }
  minor_to_major_.erase(out, minor_to_major_.end());
  if (extra_ != nullptr && !extra_->split_configs.empty()) {
    auto& splits = extra_->split_configs;
    for (auto it = splits.begin(); it != splits.end();) {
      if (it->dimension() == place) {
        it = splits.erase(it);
        continue;
      }
      if (it->dimension() > place) {
        it->set_dimension(it->dimension() - 1);
      }
      ++it;
    }
  }
  return *this;
}

Layout& Layout::clear_tiles() {
  if (extra_ != nullptr) extra_->tiles.clear();
  return *this;
}

void Layout::clear_split_configs() {
  if (extra_ != nullptr) extra_->split_configs.clear();
}

const Shape& Layout::physical_shape() const {
  CHECK(has_physical_shape()) << "the layout has no physical shape";
  return *extra_->physical_shape;
}

Shape* Layout::mutable_physical_shape() {
  std::unique_ptr<Shape>& shape = mutable_extra().physical_shape;
  if (shape == nullptr) shape = std::make_unique<Shape>();
  return shape.get();
}

void Layout::clear_physical_shape() {
  if (extra_ != nullptr) extra_->physical_shape = nullptr;
}

void Layout::Clear() {
  minor_to_major_.clear();
  extra_ = nullptr;
}

std::ostream& operator<<(std::ostream& out, const Tile& tile) {
  return out << tile.ToString();
}

std::ostream& operator<<(std::ostream& out, const Layout& layout) {
  return out << layout.ToString();
}

Tile* Layout::add_tiles() { return &mutable_extra().tiles.emplace_back(); }

Layout& Layout::add_split_configs(const SplitConfig& split_config) {
  mutable_extra().split_configs.push_back(split_config);
  return *this;
}

}  // namespace xla
