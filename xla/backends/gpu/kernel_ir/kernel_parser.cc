#include "xla/backends/gpu/kernel_ir/kernel_parser.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/status_macros.h"

namespace xla::gpu::kir {
namespace {

constexpr absl::string_view kBuiltIn[] = {
    "tid.x",  "tid.y",  "tid.z",  "bid.x",  "bid.y",  "bid.z",
    "bdim.x", "bdim.y", "bdim.z", "gdim.x", "gdim.y", "gdim.z"};

}  // namespace

KernelParser::KernelParser(KirCursor& cursor,
                           std::shared_ptr<const SourceText> source)
    : cursor_(cursor) {
  kernel_.source = std::move(source);
  for (absl::string_view name : kBuiltIn) names_.insert(std::string(name));
}

absl::StatusOr<Kernel> KernelParser::Parse() {
  kernel_.location = cursor_.Location();
  if (!cursor_.EatWord("kernel")) {
    return cursor_.Error(
        absl::StrCat("expected 'kernel', not ", cursor_.Describe()));
  }
  ASSIGN_OR_RETURN(kernel_.name, cursor_.Sigiled('@', "a kernel's name"));
  RETURN_IF_ERROR(cursor_.Expect("{"));
  RETURN_IF_ERROR(Declarations());
  ASSIGN_OR_RETURN(kernel_.body, Body(1));
  return std::move(kernel_);
}

absl::Status KernelParser::EndOfLine() {
  if (cursor_.AtLineEnd()) return absl::OkStatus();
  return cursor_.Error(
      absl::StrCat("unexpected ", cursor_.Describe(), " after a statement"));
}

absl::StatusOr<AffineExpr> KernelParser::Expression(bool may_be_unknown) {
  size_t start = cursor_.Offset();
  ASSIGN_OR_RETURN(AffineExpr expr, cursor_.Expression(may_be_unknown));
  for (const std::string& name : expr.Symbols()) {
    if (names_.contains(name)) continue;
    absl::string_view text = absl::string_view(kernel_.source->text);
    size_t place = text.substr(start, cursor_.Offset() - start).find(name);
    if (place == absl::string_view::npos) place = 0;
    return cursor_.ErrorAt(
        start + place,
        absl::StrCat("'", name, "' is not a symbol, loop around or thread id"));
  }
  return expr;
}

absl::StatusOr<std::vector<AffineExpr>> KernelParser::Expressions(
    absl::string_view close, bool may_be_unknown) {
  std::vector<AffineExpr> exprs;
  if (cursor_.Eat(close)) return exprs;
  while (true) {
    ASSIGN_OR_RETURN(AffineExpr expr, Expression(may_be_unknown));
    exprs.push_back(std::move(expr));
    if (!cursor_.Eat(",")) break;
  }
  RETURN_IF_ERROR(cursor_.Expect(close));
  return exprs;
}

absl::StatusOr<int> KernelParser::SmallInteger(absl::string_view what) {
  size_t start = cursor_.Offset();
  ASSIGN_OR_RETURN(int64_t value, cursor_.Integer(what));
  if (value < 0 || value > std::numeric_limits<int>::max()) {
    return cursor_.ErrorAt(start, absl::StrCat(what, " is out of range"));
  }
  return static_cast<int>(value);
}

absl::StatusOr<BufferId> KernelParser::BufferRef(absl::string_view what) {
  size_t start = cursor_.Offset();
  ASSIGN_OR_RETURN(std::string name, cursor_.Sigiled('%', what));
  auto it = buffers_.find(name);
  if (it == buffers_.end()) {
    return cursor_.ErrorAt(start, absl::StrCat("unknown buffer '%", name, "'"));
  }
  return it->second;
}

absl::StatusOr<Operand> KernelParser::ParseOperand() {
  Operand operand;
  operand.location = cursor_.Location();
  ASSIGN_OR_RETURN(operand.buffer, BufferRef("a buffer"));
  RETURN_IF_ERROR(cursor_.Expect("["));
  size_t start = cursor_.Offset();
  ASSIGN_OR_RETURN(operand.indices, Expressions("]", true));
  size_t rank = kernel_.buffers[operand.buffer].extents.size();
  if (operand.indices.size() != rank) {
    return cursor_.ErrorAt(
        start, absl::StrCat("%", kernel_.buffers[operand.buffer].name, " has ",
                            rank, rank == 1 ? " dimension" : " dimensions",
                            " and ", operand.indices.size(), " indices here"));
  }
  return operand;
}

absl::Status KernelParser::Declare(absl::string_view name, size_t offset) {
  if (names_.insert(std::string(name)).second) return absl::OkStatus();
  return cursor_.ErrorAt(
      offset, absl::StrCat("'", name, "' has been declared already"));
}

absl::Status KernelParser::Declarations() {
  while (!cursor_.AtEnd()) {
    if (cursor_.EatWord("sym")) {
      RETURN_IF_ERROR(SymbolDeclaration());
    } else if (cursor_.EatWord("launch")) {
      RETURN_IF_ERROR(LaunchDeclaration());
    } else if (cursor_.EatWord("param")) {
      RETURN_IF_ERROR(BufferDeclaration(/*is_param=*/true).status());
    } else if (cursor_.EatWord("id")) {
      RETURN_IF_ERROR(IdDeclaration());
    } else if (cursor_.EatWord("option")) {
      ASSIGN_OR_RETURN(std::string name, cursor_.Word("an option's name"));
      RETURN_IF_ERROR(cursor_.Expect("="));
      ASSIGN_OR_RETURN(std::string value, cursor_.Value("a value"));
      kernel_.options.push_back({std::move(name), std::move(value)});
    } else {
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(EndOfLine());
  }
  return absl::OkStatus();
}

absl::Status KernelParser::SymbolDeclaration() {
  Symbol symbol;
  symbol.location = cursor_.Location();
  size_t start = cursor_.Offset();
  ASSIGN_OR_RETURN(symbol.name, cursor_.Word("a symbol's name"));
  RETURN_IF_ERROR(Declare(symbol.name, start));
  if (cursor_.Eat("=")) {
    ASSIGN_OR_RETURN(symbol.binding, cursor_.Integer("an integer"));
  }
  kernel_.symbols.push_back(std::move(symbol));
  return absl::OkStatus();
}

absl::Status KernelParser::LaunchDeclaration() {
  size_t start = cursor_.Offset();
  if (kernel_.launch.has_value()) {
    return cursor_.ErrorAt(start, "a second 'launch'");
  }
  Launch launch;
  for (auto [word, extents] :
       {std::pair{"grid", &launch.grid}, std::pair{"block", &launch.block}}) {
    if (!cursor_.EatWord(word)) {
      return cursor_.Error(
          absl::StrCat("expected '", word, "', not ", cursor_.Describe()));
    }
    RETURN_IF_ERROR(cursor_.Expect("("));
    size_t place = cursor_.Offset();
    ASSIGN_OR_RETURN(std::vector<AffineExpr> values, Expressions(")"));
    if (values.size() != 3) {
      return cursor_.ErrorAt(
          place, absl::StrCat("expected 3 extents, not ", values.size()));
    }
    for (int i = 0; i < 3; ++i) (*extents)[i] = std::move(values[i]);
  }
  kernel_.launch = std::move(launch);
  return absl::OkStatus();
}

absl::Status KernelParser::IdDeclaration() {
  IterationId id;
  id.location = cursor_.Location();
  ASSIGN_OR_RETURN(id.name, cursor_.Word("an axis name"));
  if (!ids_.insert(id.name).second) {
    return kernel_.ErrorAt(
        id.location, absl::StrCat("'", id.name, "' has been declared already"));
  }
  RETURN_IF_ERROR(cursor_.Expect("="));
  ASSIGN_OR_RETURN(id.extent, Expression());
  kernel_.ids.push_back(std::move(id));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> KernelParser::IdList() {
  std::vector<std::string> ids;
  RETURN_IF_ERROR(cursor_.Expect("("));
  do {
    size_t start = cursor_.Offset();
    ASSIGN_OR_RETURN(std::string id, cursor_.Word("an axis name"));
    if (!ids_.contains(id)) {
      return cursor_.ErrorAt(start, absl::StrCat("unknown axis '", id, "'"));
    }
    ids.push_back(std::move(id));
  } while (cursor_.Eat(","));
  RETURN_IF_ERROR(cursor_.Expect(")"));
  return ids;
}

absl::StatusOr<BufferId> KernelParser::BufferDeclaration(bool is_param) {
  Buffer buffer;
  buffer.is_param = is_param;
  buffer.location = cursor_.Location();
  size_t start = cursor_.Offset();
  ASSIGN_OR_RETURN(buffer.name, cursor_.Sigiled('%', "a buffer"));
  RETURN_IF_ERROR(Declare(absl::StrCat("%", buffer.name), start));
  RETURN_IF_ERROR(cursor_.Expect(":"));
  start = cursor_.Offset();
  ASSIGN_OR_RETURN(std::string memory, cursor_.Word("a kind of memory"));
  std::optional<Memory> kind = MemoryFromName(memory);
  if (!kind.has_value()) {
    return cursor_.ErrorAt(
        start, absl::StrCat("unknown memory '", memory,
                            "'; one of local, shared, global, tmem"));
  }
  if (is_param && *kind != Memory::kGlobal) {
    return cursor_.ErrorAt(start, "a parameter lies in global memory");
  }
  buffer.memory = *kind;
  start = cursor_.Offset();
  ASSIGN_OR_RETURN(std::string type, cursor_.Word("an element type"));
  std::optional<ElementType> element = ElementTypeFromName(type);
  if (!element.has_value()) {
    return cursor_.ErrorAt(start,
                           absl::StrCat("unknown element type '", type, "'"));
  }
  buffer.type = *element;
  RETURN_IF_ERROR(cursor_.Expect("["));
  ASSIGN_OR_RETURN(buffer.extents, Expressions("]"));
  if (!is_param) {
    RETURN_IF_ERROR(AllocAttributes(buffer));
  }
  BufferId id = static_cast<BufferId>(kernel_.buffers.size());
  buffers_[buffer.name] = id;
  kernel_.buffers.push_back(std::move(buffer));
  return id;
}

absl::Status KernelParser::AllocAttributes(Buffer& buffer) {
  absl::flat_hash_set<std::string> seen;
  while (!cursor_.AtLineEnd()) {
    size_t start = cursor_.Offset();
    ASSIGN_OR_RETURN(std::string word, cursor_.Word("an attribute"));
    if (!seen.insert(word).second) {
      return cursor_.ErrorAt(start,
                             absl::StrCat("'", word, "' is given twice"));
    }
    if (word == "align") {
      ASSIGN_OR_RETURN(buffer.align, cursor_.Integer("an alignment"));
    } else if (word == "promote") {
      buffer.promote = true;
    } else if (word == "zero_init") {
      buffer.zero_init = true;
    } else if (word == "reset") {
      buffer.reset_to_zero = true;
    } else if (word == "swizzle") {
      ASSIGN_OR_RETURN(buffer.swizzle, SmallInteger("a swizzle in bytes"));
    } else if (word == "vec") {
      ASSIGN_OR_RETURN(buffer.vector_width, SmallInteger("a vector width"));
    } else if (word == "circ") {
      CircularBuffer circular;
      RETURN_IF_ERROR(cursor_.Expect("("));
      ASSIGN_OR_RETURN(circular.stages, SmallInteger("a number of stages"));
      RETURN_IF_ERROR(cursor_.Expect(","));
      ASSIGN_OR_RETURN(circular.prefetch, SmallInteger("a distance"));
      RETURN_IF_ERROR(cursor_.Expect(")"));
      buffer.circular = circular;
    } else if (word == "ids") {
      ASSIGN_OR_RETURN(buffer.ids, IdList());
    } else if (word == "alias") {
      ASSIGN_OR_RETURN(buffer.alias, BufferRef("the aliased buffer"));
    } else if (word == "addr") {
      RETURN_IF_ERROR(cursor_.Expect("("));
      ASSIGN_OR_RETURN(buffer.address, Expression());
      RETURN_IF_ERROR(cursor_.Expect(")"));
    } else {
      return cursor_.ErrorAt(
          start, absl::StrCat("unknown attribute '", word, "' of alloc"));
    }
  }
  return absl::OkStatus();
}

}  // namespace xla::gpu::kir
