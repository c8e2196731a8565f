#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/value_parser.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

// Every instruction has a shape, and most shapes of a module are written many
// times. So the end of a shape is found by counting brackets, without making
// tokens, and its text is looked up in a cache first; only a text that is new
// is parsed. The scan need not be exact: what is stored is what the parser has
// read, under that text, so that a scan that ends elsewhere only misses the
// cache.

namespace xla::hlo_text {
namespace {

bool IsWordChar(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
}

// Possible tokens after the '{' of a layout: a dimension, a suffix, nothing.
bool StartsLayout(char c) {
  return (c >= '0' && c <= '9') || c == ':' || c == '}';
}

// `{}`: says nothing at all.
bool IsEmptyLayout(const Layout& layout) {
  static const Layout* const empty = new Layout();
  return layout == *empty;
}

void FillMissingLayouts(Shape* shape) {
  if (shape->IsTuple()) {
    for (Shape& element : *shape->mutable_tuple_shapes()) {
      FillMissingLayouts(&element);
    }
  } else if (shape->IsArray() && !shape->has_layout()) {
    LayoutUtil::SetToDefaultLayout(shape);
  }
}

}  // namespace

const char* ValueParser::MatchingEnd(const char* begin) const {
  const char* end = lexer_.text().data() + lexer_.text().size();
  int64_t depth = 0;
  for (const char* p = begin; p < end; ++p) {
    switch (*p) {
      case '{':
      case '(':
      case '[':
        ++depth;
        break;
      case '}':
      case ')':
      case ']':
        if (--depth <= 0) return p + 1;
        break;
      case '"':
      case '\'': {
        const char quote = *p++;
        while (p < end && *p != quote) p += *p == '\\' ? 2 : 1;
        break;
      }
      case '/':
        if (p + 1 < end && p[1] == '*') {
          absl::string_view rest(p, end - p);
          size_t close = rest.find("*/", 2);
          if (close == absl::string_view::npos) return nullptr;
          p += close + 1;
        } else if (p + 1 < end && p[1] == '/') {
          absl::string_view rest(p, end - p);
          size_t newline = rest.find_first_of("\r\n");
          if (newline == absl::string_view::npos) return nullptr;
          p += newline;
        }
        break;
      default:
        if (depth == 0) return nullptr;
        break;
    }
  }
  return nullptr;
}

// End of `type[...]` or `type[...]{...}` at `begin`; null if it looks
// different.
const char* ValueParser::ScanArrayShape(const char* begin) const {
  const char* end = lexer_.text().data() + lexer_.text().size();
  const char* p = begin;
  while (p < end && IsWordChar(*p)) ++p;
  if (p >= end || *p != '[') return nullptr;
  while (p < end && *p != ']') ++p;
  if (p >= end) return nullptr;
  ++p;
  if (p + 1 < end && *p == '{' && StartsLayout(p[1])) {
    while (p < end && *p != '}') ++p;
    if (p >= end) return nullptr;
    ++p;
  }
  return p;
}

const char* ValueParser::ScanShape() const {
  switch (lexer_.GetKind()) {
    case TokKind::kPrimitiveType:
      return ScanArrayShape(lexer_.GetLoc());
    case TokKind::kLparen:
      return MatchingEnd(lexer_.GetLoc());
    default:
      return nullptr;
  }
}

const Shape* ValueParser::ParseCachedShape(bool fill) {
  TextCache<Shape>& cache = fill ? filled_shapes_ : shapes_;
  const char* begin = loc();
  const char* end = ScanShape();
  absl::string_view text(begin, end == nullptr ? 0 : end - begin);
  if (end != nullptr) {
    if (const Shape* found = cache.Find(text)) {
      lexer_.Reset(end);
      return found;
    }
  }
  Shape shape;
  if (!ParseShape(&shape)) return nullptr;
  if (fill) FillMissingLayouts(&shape);
  // What the scan did not delimit is kept under its own text: no harm done.
  absl::string_view parsed(begin, lexer_.GetPreviousEndLoc() - begin);
  return cache.Add(parsed, std::move(shape));
}

bool ValueParser::ParseShape(Shape* result) {
  Nesting nesting(this);
  if (!nesting.ok()) return false;
  if (kind() == TokKind::kLparen) {
    std::vector<Shape> elements;
    if (!ParseList(TokKind::kLparen, TokKind::kRparen, [&] {
          if (kind() != TokKind::kPrimitiveType) {
            return ParseShape(&elements.emplace_back());
          }
          const Shape* element = ParseCachedShape(/*fill=*/false);
          if (element == nullptr) return false;
          elements.push_back(*element);
          return true;
        })) {
      return false;
    }
    *result = Shape(std::move(elements));
    return true;
  }
  if (kind() == TokKind::kIdent && lexer_.GetStrView() == "b" &&
      lexer_.LookAhead() == TokKind::kLparen) {
    Next();
    Next();
    const Loc start = loc();
    Shape element;
    if (!ParseShape(&element)) return false;
    if (!element.IsArrayExcludingBuffer()) {
      return Error(start, "a buffer holds an array");
    }
    *result = Shape::MakeBufferShape(std::move(element));
    return Expect(TokKind::kRparen, "after the shape in a buffer");
  }
  return ParseArrayShape(result);
}

bool ValueParser::ParseArrayShape(Shape* result) {
  const Loc start = loc();
  if (kind() != TokKind::kPrimitiveType) return Expected("a shape");
  const PrimitiveType type = lexer_.GetPrimitiveTypeVal();
  Next();
  IntVector sizes;
  std::vector<bool> dynamic;
  if (!ParseDimensions(&sizes, &dynamic)) return false;
  if (!primitive_util::IsArrayType(type)) {
    if (!sizes.empty()) {
      return Error(start, "a token or opaque value has no dimensions");
    }
    *result = Shape(type);
  } else {
    absl::InlinedVector<bool, 6> flags(dynamic.begin(), dynamic.end());
    *result = Shape(type, sizes, flags);
    if (!CheckSize(start, *result)) return false;
  }
  // A layout follows without a blank in between, so that `f32[] {` can open
  // the body of a computation and `s32[2] {1,2}` can give elements.
  const Loc brace = loc();
  const absl::string_view text = lexer_.text();
  if (kind() != TokKind::kLbrace || brace != lexer_.GetPreviousEndLoc() ||
      brace + 1 >= text.data() + text.size() || !StartsLayout(brace[1])) {
    return true;
  }
  Layout layout;
  if (!ParseLayout(&layout)) return false;
  if (!result->IsArray()) {
    return IsEmptyLayout(layout) ||
           Error(brace, "a token or opaque value has no layout");
  }
  if (!CheckLayout(brace, sizes.size(), &layout)) return false;
  *result->mutable_layout() = std::move(layout);
  return true;
}

// [2,<=3,?]
bool ValueParser::ParseDimensions(IntVector* sizes,
                                  std::vector<bool>* dynamic) {
  return ParseList(TokKind::kLsquare, TokKind::kRsquare, [&] {
    if (Eat(TokKind::kQuestionMark)) {
      sizes->push_back(Shape::kUnboundedSize);
      dynamic->push_back(true);
      return true;
    }
    dynamic->push_back(Eat(TokKind::kLeq));
    const Loc start = loc();
    int64_t size;
    if (!ParseInt(&size)) return false;
    if (size < 0) return Error(start, "a dimension size must not be negative");
    sizes->push_back(size);
    return true;
  });
}

// Sizes in bytes must fit in 63 bits, even without the dimensions of size 0.
bool ValueParser::CheckSize(Loc start, const Shape& shape) {
  int64_t most = std::numeric_limits<int64_t>::max() /
                 primitive_util::ByteWidth(shape.element_type());
  for (int64_t size : shape.dimensions()) {
    if (size == Shape::kUnboundedSize || size == 0) continue;
    most /= size;
    if (most == 0) return Error(start, "the shape has too many elements");
  }
  return true;
}

// The layout must name each of `rank` dimensions once. A layout of suffixes
// alone gets the descending order.
bool ValueParser::CheckLayout(Loc start, int64_t rank, Layout* layout) {
  if (layout->minor_to_major_size() == 0 && !IsEmptyLayout(*layout)) {
    for (int64_t i = rank - 1; i >= 0; --i) layout->add_minor_to_major(i);
  }
  if (layout->minor_to_major_size() != rank) {
    return Error(start,
                 absl::StrCat("the layout has ", layout->minor_to_major_size(),
                              " dimensions, the shape ", rank));
  }
  std::vector<bool> seen(rank, false);
  for (int64_t dim : layout->minor_to_major()) {
    if (dim < 0 || dim >= rank || seen[dim]) {
      return Error(start,
                   "the layout does not name every dimension exactly once");
    }
    seen[dim] = true;
  }
  return true;
}

bool ValueParser::ParseLayout(Layout* result) {
  result->Clear();
  if (!Expect(TokKind::kLbrace)) return false;
  if (Eat(TokKind::kRbrace)) return true;
  while (kind() != TokKind::kColon) {
    int64_t dim;
    if (!ParseIntInRange(0, std::numeric_limits<int32_t>::max(), &dim)) {
      return false;
    }
    result->add_minor_to_major(dim);
    if (!Eat(TokKind::kComma)) break;
  }
  if (Eat(TokKind::kColon) && !ParseLayoutSuffix(result)) return false;
  return Expect(TokKind::kRbrace, "to end a layout");
}

bool ValueParser::ParseParenthesized(PrimitiveType* result) {
  if (!Expect(TokKind::kLparen)) return false;
  if (kind() != TokKind::kPrimitiveType) return Expected("a type");
  const Loc start = loc();
  *result = lexer_.GetPrimitiveTypeVal();
  Next();
  if (!primitive_util::IsIntegralType(*result)) {
    return Error(start, "expected an integer type");
  }
  return Expect(TokKind::kRparen);
}

bool ValueParser::ParseParenthesized(int64_t least, int64_t* result) {
  return Expect(TokKind::kLparen) &&
         ParseIntInRange(least, std::numeric_limits<int64_t>::max(), result) &&
         Expect(TokKind::kRparen);
}

// D(..) T(..)(..) L(n) #(type) *(type) E(n) S(n) SC(d:i,j) P(..) M(n), each at
// most once, in this order.
bool ValueParser::ParseLayoutSuffix(Layout* result) {
  int64_t value;
  PrimitiveType type;
  auto at = [&](absl::string_view word) {
    if (kind() != TokKind::kIdent || lexer_.GetStrView() != word) return false;
    Next();
    return true;
  };
  const Loc start = loc();
  if (at("D")) {
    // Dense is all there is: any level type but D is refused.
    if (!ParseList(TokKind::kLparen, TokKind::kRparen, [&] {
          return at("D") || Error(loc(), "only dense dimensions (D) exist");
        })) {
      return false;
    }
  }
  if (at("T") && !ParseTiles(result)) return false;
  if (at("L")) {
    if (!ParseParenthesized(1, &value)) return false;
    result->set_tail_padding_alignment_in_elements(value);
  }
  if (Eat(TokKind::kOctothorp)) {
    if (!ParseParenthesized(&type)) return false;
    result->set_index_primitive_type(type);
  }
  if (Eat(TokKind::kAsterisk)) {
    if (!ParseParenthesized(&type)) return false;
    result->set_pointer_primitive_type(type);
  }
  if (at("E")) {
    if (!ParseParenthesized(0, &value)) return false;
    result->set_element_size_in_bits(value);
  }
  if (at("S")) {
    if (!ParseParenthesized(0, &value)) return false;
    result->set_memory_space(value);
  }
  if (at("SC") && !ParseSplitConfigs(result)) return false;
  if (kind() == TokKind::kIdent && lexer_.GetStrView() == "P") {
    return Error(loc(), "a dense layout has no physical shape");
  }
  if (at("M")) {
    if (!ParseParenthesized(0, &value)) return false;
    result->set_dynamic_shape_metadata_prefix_bytes(value);
  }
  if (kind() != TokKind::kRbrace) {
    return Expected(
        "one of D T L #() *() E S SC M, in this order, or the end of the "
        "layout");
  }
  if (loc() == start) return Expected("a layout property");
  return true;
}

// (8,128)(2,1); '*' merges a dimension into the next.
bool ValueParser::ParseTiles(Layout* result) {
  do {
    Tile tile;
    if (!ParseList(TokKind::kLparen, TokKind::kRparen, [&] {
          if (Eat(TokKind::kAsterisk)) {
            tile.add_dimensions(Tile::kCombineDimension);
            return true;
          }
          int64_t size;
          if (!ParseIntInRange(0, std::numeric_limits<int64_t>::max(), &size)) {
            return false;
          }
          tile.add_dimensions(size);
          return true;
        })) {
      return false;
    }
    *result->add_tiles() = std::move(tile);
  } while (kind() == TokKind::kLparen);
  return true;
}

// (0:3,7)(1:2)(2:)
bool ValueParser::ParseSplitConfigs(Layout* result) {
  do {
    int64_t dim;
    if (!Expect(TokKind::kLparen) ||
        !ParseIntInRange(0, std::numeric_limits<int64_t>::max(), &dim) ||
        !Expect(TokKind::kColon)) {
      return false;
    }
    SplitConfig config(dim, {});
    while (kind() != TokKind::kRparen) {
      int64_t index;
      if (config.split_indices_size() > 0 && !Expect(TokKind::kComma)) {
        return false;
      }
      if (!ParseIntInRange(0, std::numeric_limits<int64_t>::max(), &index)) {
        return false;
      }
      config.add_split_indices(index);
    }
    Next();
    result->add_split_configs(config);
  } while (kind() == TokKind::kLparen);
  return true;
}

bool ValueParser::ParseShapes(std::vector<Shape>* result) {
  if (kind() == TokKind::kEof) return true;
  do {
    const Shape* shape = ParseCachedShape(/*fill=*/false);
    if (shape == nullptr) return false;
    result->push_back(*shape);
  } while (Eat(TokKind::kComma));
  return true;
}

bool ValueParser::ParseBracedShapes(bool fill, std::vector<Shape>* result) {
  result->clear();
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    const Shape* shape = ParseCachedShape(fill);
    if (shape == nullptr) return false;
    result->push_back(*shape);
    return true;
  });
}

bool ValueParser::ParseShapeIndex(ShapeIndex* result, int64_t least) {
  result->clear();
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    int64_t index;
    if (!ParseIntInRange(least, std::numeric_limits<int32_t>::max(), &index)) {
      return false;
    }
    result->push_back(index);
    return true;
  });
}

}  // namespace xla::hlo_text
