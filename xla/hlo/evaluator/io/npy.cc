#include "xla/hlo/evaluator/io/npy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "xla/hlo/evaluator/io/zip_archive.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

constexpr absl::string_view kMagic = "\x93NUMPY";
constexpr absl::string_view kSuffix = ".npy";
// Headers end at a multiple of this, so that data can be mapped.
constexpr size_t kAlignment = 64;

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("bad .npy file: ", what));
}

// Kind and bytes in a description, as 'f' and 4 in '<f4'.
struct TypeCode {
  char kind;
  int bytes;
};

TypeCode CodeOf(PrimitiveType type) {
  const int bytes = primitive_util::ByteWidth(type);
  switch (type) {
    case PRED:
      return {'b', 1};
    case S8:
    case S16:
    case S32:
    case S64:
      return {'i', bytes};
    case U8:
    case U16:
    case U32:
    case U64:
      return {'u', bytes};
    case F16:
    case F32:
    case F64:
      return {'f', bytes};
    case C64:
    case C128:
      return {'c', bytes};
    default:
      return {'V', bytes};
  }
}

// The type of a description; PRIMITIVE_TYPE_INVALID if there is none.
PrimitiveType TypeOf(TypeCode code) {
  for (PrimitiveType type :
       {PRED, S8, S16, S32, S64, U8, U16, U32, U64, F16, F32, F64, C64, C128}) {
    const TypeCode of = CodeOf(type);
    if (of.kind == code.kind && of.bytes == code.bytes) return type;
  }
  return PRIMITIVE_TYPE_INVALID;
}

struct Header {
  TypeCode code = {'V', 0};
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<int64_t> dimensions;
  absl::string_view data;
};

// The text after `'key':` in a Python dictionary.
std::optional<absl::string_view> After(absl::string_view text,
                                       absl::string_view key) {
  const size_t at = text.find(absl::StrCat("'", key, "'"));
  if (at == absl::string_view::npos) return std::nullopt;
  absl::string_view rest =
      absl::StripLeadingAsciiWhitespace(text.substr(at + key.size() + 2));
  if (!absl::ConsumePrefix(&rest, ":")) return std::nullopt;
  return absl::StripLeadingAsciiWhitespace(rest);
}

absl::Status ParseDescription(absl::string_view text, Header& header) {
  const std::optional<absl::string_view> descr = After(text, "descr");
  if (!descr.has_value() || descr->size() < 5 || (*descr)[0] != '\'') {
    return Bad("the elements are records, or their type is missing");
  }
  const absl::string_view word = descr->substr(1, descr->find('\'', 1) - 1);
  if (word.size() < 3 ||
      !absl::SimpleAtoi(word.substr(2), &header.code.bytes) ||
      header.code.bytes <= 0 || header.code.bytes > 16) {
    return Bad(absl::StrCat("element type '", word, "'"));
  }
  header.big_endian = word[0] == '>';
  header.code.kind = word[1];
  const std::optional<absl::string_view> order = After(text, "fortran_order");
  if (!order.has_value()) return Bad("no 'fortran_order'");
  header.fortran_order = absl::StartsWith(*order, "True");
  const std::optional<absl::string_view> shape = After(text, "shape");
  if (!shape.has_value() || shape->empty() || (*shape)[0] != '(') {
    return Bad("no 'shape'");
  }
  const size_t close = shape->find(')');
  if (close == absl::string_view::npos) return Bad("'shape' does not end");
  for (absl::string_view piece :
       absl::StrSplit(shape->substr(1, close - 1), ',')) {
    piece = absl::StripAsciiWhitespace(piece);
    if (piece.empty()) continue;
    int64_t size = 0;
    if (!absl::SimpleAtoi(piece, &size) || size < 0) {
      return Bad(absl::StrCat("dimension '", piece, "'"));
    }
    header.dimensions.push_back(size);
  }
  return absl::OkStatus();
}

absl::StatusOr<Header> ParseHeader(absl::string_view bytes) {
  if (!absl::ConsumePrefix(&bytes, kMagic) || bytes.size() < 4) {
    return Bad("it does not start with \\x93NUMPY");
  }
  const int version = bytes[0];
  const int length_bytes = version == 1 ? 2 : 4;
  if (version < 1 || version > 3) {
    return Bad(absl::StrCat("format version ", version));
  }
  bytes.remove_prefix(2);
  if (static_cast<int>(bytes.size()) < length_bytes)
    return Bad("it ends early");
  uint64_t length = 0;
  for (int i = length_bytes - 1; i >= 0; --i) {
    length = length << 8 | static_cast<uint8_t>(bytes[i]);
  }
  bytes.remove_prefix(length_bytes);
  if (bytes.size() < length) return Bad("it ends early");
  Header header;
  TF_RETURN_IF_ERROR(ParseDescription(bytes.substr(0, length), header));
  header.data = bytes.substr(length);
  return header;
}

// The type that the elements are read as.
absl::StatusOr<PrimitiveType> ResolveType(const Header& header,
                                          const Shape* expected) {
  const PrimitiveType type = TypeOf(header.code);
  if (type != PRIMITIVE_TYPE_INVALID) return type;
  // ml_dtypes has float8_e5m2 for a float of one byte, all others for raw
  // bytes.
  const bool is_raw = header.code.kind == 'V' ||
                      (header.code.kind == 'f' && header.code.bytes == 1);
  if (!is_raw) {
    return Bad(absl::StrCat("no HLO type for elements of kind '",
                            std::string(1, header.code.kind), "' with ",
                            header.code.bytes, " bytes"));
  }
  if (expected == nullptr) {
    return Bad("the elements are raw bytes of unknown type");
  }
  const TypeCode wanted = CodeOf(expected->element_type());
  if (wanted.bytes != header.code.bytes) {
    return Bad(absl::StrCat("raw elements of ", header.code.bytes,
                            " bytes for ", ShapeUtil::HumanString(*expected)));
  }
  return expected->element_type();
}

// Types below a byte have their bits in the low ones, and what the others hold
// differs from writer to writer: they become the sign, or 0.
void ExtendBits(PrimitiveType type, char* elements, uint64_t n) {
  const int unused = 8 - primitive_util::BitWidth(type);
  const bool is_signed = primitive_util::IsSignedIntegralType(type);
  for (uint64_t i = 0; i < n; ++i) {
    const auto high = static_cast<uint8_t>(elements[i] << unused);
    elements[i] = static_cast<char>(
        is_signed ? static_cast<int8_t>(high) >> unused : high >> unused);
  }
}

}  // namespace

absl::StatusOr<Literal> ReadNpy(absl::string_view bytes,
                                const Shape* expected) {
  TF_ASSIGN_OR_RETURN(const Header header, ParseHeader(bytes));
  if (expected != nullptr && !expected->IsArray()) {
    return Bad(absl::StrCat("found an array, expected ",
                            ShapeUtil::HumanString(*expected)));
  }
  TF_ASSIGN_OR_RETURN(const PrimitiveType type, ResolveType(header, expected));
  TF_ASSIGN_OR_RETURN(Shape shape,
                      ShapeUtil::MakeValidatedShape(type, header.dimensions));
  if (expected != nullptr &&
      (expected->element_type() != type ||
       !absl::c_equal(expected->dimensions(), header.dimensions))) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", ShapeUtil::HumanString(*expected), ", found ",
                     ShapeUtil::HumanString(shape)));
  }
  if (header.fortran_order) {
    std::vector<int64_t> minor_to_major(header.dimensions.size());
    for (size_t i = 0; i < minor_to_major.size(); ++i) minor_to_major[i] = i;
    *shape.mutable_layout() = LayoutUtil::MakeLayout(minor_to_major);
  }
  // Compare before anything is allocated.
  const uint64_t elements = ShapeUtil::ElementsIn(shape);
  if (header.data.size() / header.code.bytes != elements ||
      header.data.size() % header.code.bytes != 0) {
    return Bad(absl::StrCat("expected ", elements, " elements of ",
                            header.code.bytes, " bytes, found ",
                            header.data.size(), " bytes"));
  }
  TF_ASSIGN_OR_RETURN(Literal literal, Literal::Make(shape));
  if (elements > 0) {
    std::memcpy(literal.untyped_data(), header.data.data(), header.data.size());
  }
  if (header.big_endian) {
    char* data = static_cast<char*>(literal.untyped_data());
    const int width =
        header.code.kind == 'c' ? header.code.bytes / 2 : header.code.bytes;
    for (size_t i = 0; i < header.data.size(); i += width) {
      std::reverse(data + i, data + i + width);
    }
  }
  if (header.code.kind == 'b') {
    char* data = static_cast<char*>(literal.untyped_data());
    for (uint64_t i = 0; i < elements; ++i) data[i] = data[i] != 0;
  }
  if (primitive_util::BitWidth(type) < 8 && type != PRED) {
    ExtendBits(type, static_cast<char*>(literal.untyped_data()), elements);
  }
  if (!header.fortran_order) return literal;
  return literal.Relayout(
      LayoutUtil::MakeDescendingLayout(header.dimensions.size()));
}

absl::StatusOr<std::string> WriteNpy(const LiteralBase& literal) {
  const Shape& shape = literal.shape();
  if (!shape.IsArray() || !literal.IsKnown()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no .npy file for ", ShapeUtil::HumanString(shape),
                     shape.IsArray() ? " without elements" : ""));
  }
  if (shape.is_dynamic()) return WriteNpy(literal.ToStatic());
  const Literal dense = literal.Relayout(
      LayoutUtil::MakeDescendingLayout(shape.dimensions().size()));
  const TypeCode code = CodeOf(shape.element_type());
  const bool one_byte = code.bytes == 1 || code.kind == 'V';
  std::string header = absl::StrCat(
      "{'descr': '", one_byte ? "|" : "<", std::string(1, code.kind),
      code.bytes, "', 'fortran_order': False, 'shape': (",
      absl::StrJoin(shape.dimensions(), ", "),
      shape.dimensions().size() == 1 ? ",), }" : "), }");
  // Magic, version and length take 10 bytes (12 in version 2).
  bool wide = false;
  size_t prefix = kMagic.size() + 4;
  size_t total = RoundUpTo(prefix + header.size() + 1, kAlignment);
  if (total - prefix > 0xffff) {
    wide = true;
    prefix += 2;
    total = RoundUpTo(prefix + header.size() + 1, kAlignment);
  }
  header.append(total - prefix - header.size() - 1, ' ');
  header.push_back('\n');
  std::string out(kMagic);
  out.push_back(wide ? 2 : 1);
  out.push_back(0);
  for (int i = 0; i < (wide ? 4 : 2); ++i) {
    out.push_back(static_cast<char>(header.size() >> (8 * i) & 0xff));
  }
  out += header;
  if (dense.size_bytes() > 0) {
    out.append(static_cast<const char*>(dense.untyped_data()),
               dense.size_bytes());
  }
  return out;
}

absl::StatusOr<NpzFile> NpzFile::Parse(absl::string_view bytes) {
  NpzFile file;
  TF_ASSIGN_OR_RETURN(file.arrays_, ReadZip(bytes));
  for (auto& [name, contents] : file.arrays_) {
    if (absl::EndsWith(name, kSuffix))
      name.resize(name.size() - kSuffix.size());
  }
  return file;
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, contents] : arrays_) names.push_back(name);
  return names;
}

bool NpzFile::Contains(absl::string_view name) const {
  return absl::c_any_of(arrays_,
                        [&](const auto& array) { return array.first == name; });
}

absl::StatusOr<Literal> NpzFile::Read(absl::string_view name,
                                      const Shape* expected) const {
  for (const auto& [array_name, contents] : arrays_) {
    if (array_name != name) continue;
    absl::StatusOr<Literal> literal = ReadNpy(contents, expected);
    if (literal.ok()) return literal;
    return absl::Status(literal.status().code(),
                        absl::StrCat(name, ": ", literal.status().message()));
  }
  return absl::NotFoundError(absl::StrCat(
      "no array '", name, "'; known: ", absl::StrJoin(names(), ", ")));
}

absl::StatusOr<std::string> WriteNpz(
    absl::Span<const std::pair<std::string, const LiteralBase*>> arrays) {
  std::vector<ZipMember> members;
  for (const auto& [name, literal] : arrays) {
    TF_ASSIGN_OR_RETURN(std::string contents, WriteNpy(*literal));
    members.emplace_back(absl::StrCat(name, kSuffix), std::move(contents));
  }
  return WriteZip(members);
}

}  // namespace xla
