#ifndef XLA_LAYOUT_H_
#define XLA_LAYOUT_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/printer.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {

class Shape;

// One level of tiling: the extents, major to minor, of the boxes into which the
// minor-most dimensions of an array are divided. `T(8,128)` in text.
class Tile {
 public:
  // A dimension that is merged into the next more minor one before tiling; `*`
  // in text.
  static constexpr int64_t kCombineDimension =
      std::numeric_limits<int64_t>::min();

  Tile() = default;
  explicit Tile(absl::Span<const int64_t> dimensions)
      : dimensions_(dimensions.begin(), dimensions.end()) {}

  // InvalidArgument if an extent is negative and not kCombineDimension.
  static absl::StatusOr<Tile> FromProto(const TileProto& tile_proto);
  void ToProto(TileProto& tile_proto) const;
  TileProto ToProto() const;

  bool operator==(const Tile& other) const {
    return dimensions_ == other.dimensions_;
  }
  bool operator!=(const Tile& other) const { return !(*this == other); }

  // Prints `(8,128)`.
  void Print(Printer* printer) const;
  std::string ToString() const;

  int64_t dimension(int i) const { return dimensions_[i]; }
  absl::Span<const int64_t> dimensions() const { return dimensions_; }
  Tile& add_dimensions(int64_t value) {
    dimensions_.push_back(value);
    return *this;
  }
  Tile& clear_dimensions() {
    dimensions_.clear();
    return *this;
  }

  template <typename H>
  friend H AbslHashValue(H h, const Tile& t) {
    return H::combine(std::move(h), t.dimensions_);
  }

 private:
  absl::InlinedVector<int64_t, 2> dimensions_;
};

using TileVector = absl::InlinedVector<Tile, 3>;

// Splits one logical dimension into pieces that are in separate buffers;
// `split_indices` are the first indices of every piece but the first.
// `SC(0:3)` in text.
class SplitConfig {
 public:
  SplitConfig(int64_t dimension, absl::Span<const int64_t> split_indices)
      : dimension_(dimension),
        split_indices_(split_indices.begin(), split_indices.end()) {}

  static SplitConfig CreateFromProto(const SplitConfigProto& proto);
  void ToProto(SplitConfigProto& split_config_proto) const;
  SplitConfigProto ToProto() const;

  bool operator==(const SplitConfig& other) const {
    return dimension_ == other.dimension_ &&
           split_indices_ == other.split_indices_;
  }
  bool operator!=(const SplitConfig& other) const { return !(*this == other); }

  // `(0:3,7)`.
  std::string ToString() const;

  int64_t dimension() const { return dimension_; }
  SplitConfig& set_dimension(int64_t dimension) {
    dimension_ = dimension;
    return *this;
  }
  absl::Span<const int64_t> split_indices() const { return split_indices_; }
  int64_t split_indices(int64_t idx) const { return split_indices_[idx]; }
  int64_t split_indices_size() const { return split_indices_.size(); }
  SplitConfig& add_split_indices(int64_t split_index) {
    split_indices_.push_back(split_index);
    return *this;
  }
  SplitConfig& clear_split_indices() {
    split_indices_.clear();
    return *this;
  }

  template <typename H>
  friend H AbslHashValue(H h, const SplitConfig& t) {
    return H::combine(std::move(h), t.dimension_, t.split_indices_);
  }

 private:
  int64_t dimension_;
  absl::InlinedVector<int64_t, 1> split_indices_;
};

// How the elements of an array are laid out in memory: the order of its
// dimensions, and rarely more (tiles, memory space, ...).
//
// 64 bytes. The dimension order of arrays of rank <= InlineRank() is inline;
// everything else is in one out-of-line record that most layouts do not have.
class Layout {
 public:
  static constexpr int64_t kDefaultMemorySpace = 0;
  static constexpr int64_t kGenericFastMemorySpace = 1;
  static constexpr int64_t kHostMemorySpace = 5;

  Layout() = default;
  Layout(const Layout& other)
      : minor_to_major_(other.minor_to_major_),
        extra_(other.extra_ ? std::make_unique<Extra>(*other.extra_)
                            : nullptr) {}
  Layout(Layout&& other) noexcept = default;
  ~Layout() = default;

  explicit Layout(absl::Span<const int64_t> minor_to_major)
      : minor_to_major_(minor_to_major.begin(), minor_to_major.end()) {}
  explicit Layout(absl::Span<const int64_t> minor_to_major,
                  absl::Span<const Tile> tiles, int64_t element_size_in_bits);
  explicit Layout(absl::Span<const int64_t> minor_to_major,
                  absl::Span<const Tile> tiles,
                  PrimitiveType index_primitive_type = PRIMITIVE_TYPE_INVALID,
                  PrimitiveType pointer_primitive_type = PRIMITIVE_TYPE_INVALID,
                  int64_t tail_padding_alignment_in_elements = 1,
                  int64_t element_size_in_bits = 0, int64_t memory_space = 0,
                  absl::Span<const SplitConfig> split_configs = {},
                  std::unique_ptr<Shape> physical_shape = nullptr,
                  int64_t dynamic_shape_metadata_prefix_bytes = 0);

  Layout& operator=(const Layout& other);
  Layout& operator=(Layout&& other) noexcept = default;

  // InvalidArgument if a field is out of range or nests too deeply.
  static absl::StatusOr<Layout> FromProto(const LayoutProto& proto);
  // The same, for protos known to be valid: CHECK-fails on others.
  static Layout CreateFromProto(const LayoutProto& proto);
  void ToProto(LayoutProto& proto) const;
  LayoutProto ToProto() const;

  // Prints `{1,0:T(8,128)S(5)}`.
  void Print(Printer* printer) const;
  std::string ToString() const;

  // Compares two layouts except for the properties named by Ignore* calls.
  class Equal {
   public:
    Equal() = default;

    bool operator()(const Layout& lhs, const Layout& rhs) const;

    Equal& IgnoreTiles() { return Set(kTiles); }
    Equal& IgnoreTailPaddingAlignmentInElements() { return Set(kTail); }
    Equal& IgnoreIndexPrimitiveType() { return Set(kIndexType); }
    Equal& IgnorePointerPrimitiveType() { return Set(kPointerType); }
    Equal& IgnoreMemorySpace() { return Set(kMemorySpace); }
    Equal& IgnoreSplitConfigs() { return Set(kSplitConfigs); }
    Equal& IgnorePhysicalShape() { return Set(kPhysicalShape); }
    Equal& IgnoreElementSize() { return Set(kElementSize); }
    Equal& IgnoreDynamicShapeMetadataPrefixBytes() { return Set(kPrefix); }
    Equal& MinorToMajorOnly() { return Set(kAll); }

   private:
    friend class Layout;
    enum : uint16_t {
      kTiles = 1 << 0,
      kTail = 1 << 1,
      kIndexType = 1 << 2,
      kPointerType = 1 << 3,
      kMemorySpace = 1 << 4,
      kSplitConfigs = 1 << 5,
      kPhysicalShape = 1 << 6,
      kElementSize = 1 << 7,
      kPrefix = 1 << 8,
      kAll = (1 << 9) - 1,
    };
    Equal& Set(uint16_t bits) {
      ignored_ |= bits;
      return *this;
    }
    uint16_t ignored_ = 0;
  };

  bool operator==(const Layout& other) const {
    return minor_to_major_ == other.minor_to_major_ &&
           ((extra_ == nullptr && other.extra_ == nullptr) ||
            ExtraEqual(extra(), other.extra(), 0));
  }
  bool operator!=(const Layout& other) const { return !(*this == other); }

  // Logical dimension numbers, the fastest varying one first.
  absl::Span<const int64_t> minor_to_major() const { return minor_to_major_; }
  int64_t minor_to_major(int index) const { return minor_to_major_[index]; }
  int minor_to_major_size() const { return minor_to_major_.size(); }
  Layout& set_minor_to_major(int index, int64_t value) {
    minor_to_major_[index] = value;
    return *this;
  }
  Layout& add_minor_to_major(int64_t value) {
    minor_to_major_.push_back(value);
    return *this;
  }
  Layout& clear_minor_to_major() {
    minor_to_major_.clear();
    return *this;
  }
  DimensionVector* mutable_minor_to_major() { return &minor_to_major_; }

  // Removes one logical dimension and renumbers those after it; a split of the
  // removed dimension is removed too.
  Layout& DeleteDimension(int dim_to_delete);

  absl::Span<const Tile> tiles() const { return extra().tiles; }
  const Tile& tiles(int index) const { return extra().tiles[index]; }
  int64_t tiles_size() const { return extra().tiles.size(); }
  Tile* mutable_tiles(int index) { return &mutable_extra().tiles[index]; }
  Tile* add_tiles();
  Layout& clear_tiles();
  TileVector* mutable_tiles() { return &mutable_extra().tiles; }

  // Bits per stored element; 0 means the natural size of the element type.
  int64_t element_size_in_bits() const { return extra().element_size_in_bits; }
  Layout& set_element_size_in_bits(int64_t value) {
    return SetExtra(&Extra::element_size_in_bits, value);
  }

  // The buffer is padded to a multiple of this many elements.
  int64_t tail_padding_alignment_in_elements() const {
    return extra().tail_padding_alignment_in_elements;
  }
  Layout& set_tail_padding_alignment_in_elements(int64_t value) {
    return SetExtra(&Extra::tail_padding_alignment_in_elements, value);
  }

  PrimitiveType index_primitive_type() const {
    return extra().index_primitive_type;
  }
  Layout& set_index_primitive_type(PrimitiveType value) {
    return SetExtra(&Extra::index_primitive_type, value);
  }
  PrimitiveType pointer_primitive_type() const {
    return extra().pointer_primitive_type;
  }
  Layout& set_pointer_primitive_type(PrimitiveType value) {
    return SetExtra(&Extra::pointer_primitive_type, value);
  }

  int64_t memory_space() const { return extra().memory_space; }
  Layout& set_memory_space(int64_t value) {
    return SetExtra(&Extra::memory_space, value);
  }

  absl::Span<const SplitConfig> split_configs() const {
    return extra().split_configs;
  }
  const SplitConfig& split_configs(int index) const {
    return extra().split_configs[index];
  }
  int split_configs_size() const { return extra().split_configs.size(); }
  SplitConfig* mutable_split_configs(int index) {
    return &mutable_extra().split_configs[index];
  }
  Layout& add_split_configs(const SplitConfig& split_config);
  void clear_split_configs();

  // The shape actually allocated, if it differs from the logical one.
  bool has_physical_shape() const { return extra().physical_shape != nullptr; }
  const Shape& physical_shape() const;
  Shape* mutable_physical_shape();
  void clear_physical_shape();

  // Bytes before the data that hold the sizes of dynamic dimensions.
  int64_t dynamic_shape_metadata_prefix_bytes() const {
    return extra().dynamic_shape_metadata_prefix_bytes;
  }
  Layout& set_dynamic_shape_metadata_prefix_bytes(int64_t bytes) {
    return SetExtra(&Extra::dynamic_shape_metadata_prefix_bytes, bytes);
  }

  // True if the layout is its dimension order and nothing else: no tiles, no
  // memory space, etc. A fast check that excludes all rare cases.
  bool is_plain() const {
    return extra_ == nullptr || ExtraEqual(*extra_, DefaultExtra(), 0);
  }

  void Swap(Layout* other) { std::swap(*this, *other); }
  void Clear();

  template <typename H>
  friend H AbslHashValue(H h, const Layout& l) {
    h = H::combine(std::move(h), l.minor_to_major_);
    if (l.extra_ == nullptr) return h;
    return l.HashExtra(std::move(h));
  }

 private:
  friend class Shape;

  // Fields that most layouts leave at their defaults.
  struct Extra {
    Extra();
    Extra(const Extra& other);
    ~Extra();

    TileVector tiles;
    absl::InlinedVector<SplitConfig, 1> split_configs;
    std::unique_ptr<Shape> physical_shape;
    int64_t tail_padding_alignment_in_elements = 1;
    int64_t element_size_in_bits = 0;
    int64_t memory_space = kDefaultMemorySpace;
    int64_t dynamic_shape_metadata_prefix_bytes = 0;
    PrimitiveType index_primitive_type = PRIMITIVE_TYPE_INVALID;
    PrimitiveType pointer_primitive_type = PRIMITIVE_TYPE_INVALID;
  };

  static const Extra& DefaultExtra();
  const Extra& extra() const { return extra_ ? *extra_ : DefaultExtra(); }
  Extra& mutable_extra() {
    if (extra_ == nullptr) extra_ = std::make_unique<Extra>();
    return *extra_;
  }

  // Writes a field; does not allocate to write the value it already has.
  template <typename T>
  Layout& SetExtra(T Extra::*field, T value) {
    if (extra().*field != value) mutable_extra().*field = value;
    return *this;
  }

  // `ignored` holds bits of Equal.
  static bool ExtraEqual(const Extra& a, const Extra& b, uint16_t ignored);
  void PrintExtra(Printer* printer) const;
  static absl::StatusOr<Layout> FromProtoAtDepth(const LayoutProto& proto,
                                                 int depth);

  // A record equal to the default one adds nothing, so that layouts that
  // compare equal hash alike. The physical shape is not hashed.
  template <typename H>
  H HashExtra(H h) const {
    const Extra& e = *extra_;
    for (const Tile& tile : e.tiles) h = H::combine(std::move(h), tile);
    for (const SplitConfig& c : e.split_configs) {
      h = H::combine(std::move(h), c);
    }
    if (e.tail_padding_alignment_in_elements != 1) {
      h = H::combine(std::move(h), 1, e.tail_padding_alignment_in_elements);
    }
    if (e.element_size_in_bits != 0) {
      h = H::combine(std::move(h), 2, e.element_size_in_bits);
    }
    if (e.memory_space != kDefaultMemorySpace) {
      h = H::combine(std::move(h), 3, e.memory_space);
    }
    if (e.dynamic_shape_metadata_prefix_bytes != 0) {
      h = H::combine(std::move(h), 4, e.dynamic_shape_metadata_prefix_bytes);
    }
    return h;
  }

  DimensionVector minor_to_major_;
  std::unique_ptr<Extra> extra_;
};

std::ostream& operator<<(std::ostream& out, const Tile& tile);
std::ostream& operator<<(std::ostream& out, const Layout& layout);

}  // namespace xla

#endif  // XLA_LAYOUT_H_
