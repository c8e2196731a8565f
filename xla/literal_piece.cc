#include "xla/literal_piece.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/literal.h"
#include "xla/literal_packing.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/strided_copy.h"

namespace xla {
namespace {

uint64_t NextElidedId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// Compares elements of less than a byte, which a caller may have written with
// anything in the spare bits.
bool EqualNarrowElements(const LiteralPiece& lhs, const LiteralPiece& rhs,
                         absl::Span<const int64_t> dims) {
  const PrimitiveType type = lhs.subshape().element_type();
  DimensionVector index(dims.size(), 0);
  do {
    char elements[2] = {lhs.buffer()[lhs.LinearIndex(index)],
                        rhs.buffer()[rhs.LinearIndex(index)]};
    literal_internal::NormalizeElements(type, elements, 2);
    if (elements[0] != elements[1]) return false;
  } while (literal_internal::BumpRowMajor(dims, absl::MakeSpan(index)));
  return true;
}

}  // namespace

void LiteralPiece::Reset() {
  switch (kind_) {
    case Kind::kHeap:
      std::free(storage_.pointer);
      break;
    case Kind::kTuple:
      delete storage_.children;
      break;
    default:
      break;
  }
  kind_ = Kind::kNone;
  storage_.pointer = nullptr;
}

void LiteralPiece::BecomeTuple(int64_t reserved_children) {
  CHECK(kind_ == Kind::kNone);
  storage_.children = new std::vector<LiteralPiece>();
  storage_.children->reserve(reserved_children);
  kind_ = Kind::kTuple;
}

void LiteralPiece::set_array_value_state(ArrayValueState state) {
  if (state != ArrayValueState::kKnown) {
    DeallocateBuffers();
    if (state == ArrayValueState::kElided &&
        state_ != ArrayValueState::kElided) {
      storage_.elided_id = NextElidedId();
    }
  }
  state_ = state;
}

bool LiteralPiece::IsKnown() const {
  if (state_ != ArrayValueState::kKnown) return false;
  for (int64_t i = 0; i < children_size(); ++i) {
    if (!child(i).IsKnown()) return false;
  }
  return true;
}

bool LiteralPiece::IsDetermined() const {
  if (state_ == ArrayValueState::kUndetermined) return false;
  for (int64_t i = 0; i < children_size(); ++i) {
    if (!child(i).IsDetermined()) return false;
  }
  return true;
}

bool LiteralPiece::IsElided() const {
  if (state_ == ArrayValueState::kElided) return true;
  for (int64_t i = 0; i < children_size(); ++i) {
    if (child(i).IsElided()) return true;
  }
  return false;
}

void LiteralPiece::set_buffer(char* buffer) {
  CHECK(subshape_->IsArray()) << subshape_->ToString();
  Reset();
  storage_.pointer = buffer;
  kind_ = Kind::kBorrowed;
  state_ = ArrayValueState::kKnown;
}

int64_t LiteralPiece::size_bytes_dense() const {
  return element_count() *
         ShapeUtil::ByteSizeOfPrimitiveType(subshape_->element_type());
}

int64_t LiteralPiece::total_bytes_dense() const {
  return subshape_->is_dynamic()
             ? dynamic_size_buffer_offset() + dynamic_size_buffer_bytes()
             : size_bytes_dense();
}

absl::Status LiteralPiece::AllocateBuffers() {
  CHECK(subshape_->IsArray()) << subshape_->ToString();
  if (subshape_->is_unbounded_dynamic()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a literal of shape ", subshape_->ToString(),
                     " would have no definite size"));
  }
  // Room for rounding up and for the dynamic sizes.
  constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max() / 2;
  if (element_count() > kMaxBytes / ShapeUtil::ByteSizeOfPrimitiveType(
                                        subshape_->element_type())) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a literal of shape ", subshape_->ToString(), " is too large"));
  }
  const int64_t bytes = total_bytes_dense();
  Reset();
  if (bytes <= static_cast<int64_t>(kInlineBytes)) {
    std::memset(storage_.inlined, 0, kInlineBytes);
    kind_ = Kind::kInline;
  } else {
    char* const buffer = static_cast<char*>(std::calloc(bytes, 1));
    if (buffer == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no memory for the ", bytes,
                       " bytes of a literal of shape ", subshape_->ToString()));
    }
    storage_.pointer = buffer;
    kind_ = Kind::kHeap;
  }
  state_ = ArrayValueState::kKnown;
  if (subshape_->is_dynamic()) {
    for (int64_t i = 0; i < subshape_->dimensions_size(); ++i) {
      dynamic_size_buffer()[i] =
          static_cast<DynamicSizeType>(subshape_->dimensions(i));
    }
  }
  return absl::OkStatus();
}

void LiteralPiece::MakeRoomForDynamicSizes() {
  if (buffer() == nullptr) return;
  CHECK(kind_ != Kind::kBorrowed)
      << "a borrowed buffer has no room for dynamic sizes";
  const std::string elements(buffer(), size_bytes_dense());
  CHECK_OK(AllocateBuffers());
  std::memcpy(buffer(), elements.data(), elements.size());
}

void LiteralPiece::DeallocateBuffers() {
  if (kind_ != Kind::kTuple) Reset();
}

void LiteralPiece::MoveDataFrom(LiteralPiece& from) {
  CHECK(kind_ != Kind::kTuple && from.kind_ != Kind::kTuple);
  Reset();
  storage_ = from.storage_;
  kind_ = from.kind_;
  state_ = from.state_;
  from.kind_ = Kind::kNone;
  from.storage_.pointer = nullptr;
}

LiteralPiece::DynamicSizeType LiteralPiece::GetDynamicSize(
    int64_t dim_index) const {
  CHECK(subshape_->IsArray());
  if (!subshape_->is_dynamic_dimension(dim_index) || buffer() == nullptr) {
    return static_cast<DynamicSizeType>(subshape_->dimensions(dim_index));
  }
  return dynamic_size_buffer()[dim_index];
}

void LiteralPiece::SetDynamicSize(int64_t dim_index, DynamicSizeType size) {
  CHECK(subshape_->IsArray());
  CHECK(subshape_->is_dynamic_dimension(dim_index))
      << "dimension " << dim_index << " of " << subshape_->ToString();
  CHECK(size >= 0 && size <= subshape_->dimensions(dim_index))
      << "size " << size << " of " << subshape_->ToString();
  dynamic_size_buffer()[dim_index] = size;
}

DimensionVector LiteralPiece::valid_dimensions() const {
  const absl::Span<const int64_t> bounds = subshape_->dimensions();
  DimensionVector dims(bounds.begin(), bounds.end());
  if (subshape_->is_dynamic() && buffer() != nullptr) {
    for (size_t i = 0; i < dims.size(); ++i) dims[i] = GetDynamicSize(i);
  }
  return dims;
}

DimensionVector LiteralPiece::ElementStrides() const {
  const absl::Span<const int64_t> dims = subshape_->dimensions();
  DimensionVector strides(dims.size());
  if (dims.empty()) return strides;
  int64_t stride = 1;
  for (int64_t dim : subshape_->layout().minor_to_major()) {
    strides[dim] = stride;
    stride *= dims[dim];
  }
  return strides;
}

void LiteralPiece::ExplainAccess(PrimitiveType requested) const {
  if (subshape_->element_type() != requested) {
    LOG(FATAL) << "access as " << PrimitiveType_Name(requested)
               << " to a literal of shape " << subshape_->ToString();
  }
  if (state_ == ArrayValueState::kElided) {
    LOG(FATAL) << "access to the elided elements of a literal of shape "
               << subshape_->ToString();
  }
  if (element_count() != 0) {
    LOG(FATAL) << "access to a literal without buffer, of shape "
               << subshape_->ToString();
  }
}

bool LiteralPiece::EqualDynamicSize(const LiteralPiece& other) const {
  return valid_dimensions() == other.valid_dimensions();
}

bool LiteralPiece::EqualElements(const LiteralPiece& other) const {
  const DimensionVector dims = valid_dimensions();
  if (dims != other.valid_dimensions()) return false;
  const int64_t bytes =
      ShapeUtil::ByteSizeOfPrimitiveType(subshape_->element_type());
  if (bytes !=
      ShapeUtil::ByteSizeOfPrimitiveType(other.subshape_->element_type())) {
    return false;
  }
  if (Product(dims) == 0) return true;
  if (EqualStridedBox(buffer(), ElementStrides(), other.buffer(),
                      other.ElementStrides(), dims, bytes)) {
    return true;
  }
  return subshape_->element_type() != PRED &&
         primitive_util::BitWidth(subshape_->element_type()) < 8 &&
         EqualNarrowElements(*this, other, dims);
}

absl::Status LiteralPiece::CopyFrom(const LiteralPiece& src,
                                    bool only_dynamic_bound) {
  if (src.state_ != ArrayValueState::kKnown) {
    DeallocateBuffers();
    state_ = src.state_;
    storage_ = src.storage_;
    return absl::OkStatus();
  }
  if (buffer() == nullptr) {
    absl::Status status = AllocateBuffers();
    if (!status.ok()) return status;
  }
  if (src.buffer() == nullptr) {
    return absl::FailedPreconditionError("the source literal has no buffer");
  }
  const int64_t bytes =
      ShapeUtil::ByteSizeOfPrimitiveType(subshape_->element_type());
  DimensionVector dims(subshape_->dimensions().begin(),
                       subshape_->dimensions().end());
  if (only_dynamic_bound) {
    const DimensionVector valid = src.valid_dimensions();
    for (size_t i = 0; i < dims.size(); ++i) {
      if (valid[i] < dims[i]) dims[i] = valid[i];
    }
  }
  CopyStridedBox(buffer(), ElementStrides(), src.buffer(), src.ElementStrides(),
                 dims, bytes);
  if (subshape_->is_dynamic()) {
    const DimensionVector valid = src.valid_dimensions();
    for (size_t i = 0; i < valid.size(); ++i) {
      if (!subshape_->is_dynamic_dimension(i)) continue;
      if (valid[i] > subshape_->dimensions(i)) {
        return absl::InvalidArgumentError(
            absl::StrCat("a dynamic size of ", valid[i], " does not fit ",
                         subshape_->ToString()));
      }
      SetDynamicSize(i, static_cast<DynamicSizeType>(valid[i]));
    }
  }
  return absl::OkStatus();
}

void LiteralPiece::emplace_back(LiteralPiece child_piece) {
  storage_.children->push_back(std::move(child_piece));
}

}  // namespace xla
