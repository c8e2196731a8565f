#include "xla/backends/gpu/kernel_ir/kir_parser.h"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kir_cursor.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/status_macros.h"

namespace xla::gpu::kir {
namespace {

constexpr absl::string_view kBuiltIn[] = {
    "tid.x",  "tid.y",  "tid.z",  "bid.x",  "bid.y",  "bid.z",
    "bdim.x", "bdim.y", "bdim.z", "gdim.x", "gdim.y", "gdim.z"};

class KernelParser {
 public:
  KernelParser(KirCursor& cursor, std::shared_ptr<const SourceText> source)
      : cursor_(cursor) {
    kernel_.source = std::move(source);
    for (absl::string_view name : kBuiltIn) names_.insert(std::string(name));
  }

  absl::StatusOr<Kernel> Parse() {
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

 private:
  absl::Status EndOfLine() {
    if (cursor_.AtLineEnd()) return absl::OkStatus();
    return cursor_.Error(
        absl::StrCat("unexpected ", cursor_.Describe(), " after a statement"));
  }

  // ---- Expressions

  absl::StatusOr<AffineExpr> Expression(bool may_be_unknown = false) {
    size_t start = cursor_.Offset();
    ASSIGN_OR_RETURN(AffineExpr expr, cursor_.Expression(may_be_unknown));
    for (const std::string& name : expr.Symbols()) {
      if (names_.contains(name)) continue;
      absl::string_view text = absl::string_view(kernel_.source->text);
      size_t place = text.substr(start, cursor_.Offset() - start).find(name);
      if (place == absl::string_view::npos) place = 0;
      return cursor_.ErrorAt(
          start + place,
          absl::StrCat("'", name, "' is no symbol, loop around or thread id"));
    }
    return expr;
  }

  // Expressions up to the closing bracket or parenthesis; the opening one has
  // been read.
  absl::StatusOr<std::vector<AffineExpr>> Expressions(
      absl::string_view close, bool may_be_unknown = false) {
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

  absl::StatusOr<int> SmallInteger(absl::string_view what) {
    size_t start = cursor_.Offset();
    ASSIGN_OR_RETURN(int64_t value, cursor_.Integer(what));
    if (value < 0 || value > std::numeric_limits<int>::max()) {
      return cursor_.ErrorAt(start, absl::StrCat(what, " is out of range"));
    }
    return static_cast<int>(value);
  }

  absl::StatusOr<BufferId> BufferRef(absl::string_view what) {
    size_t start = cursor_.Offset();
    ASSIGN_OR_RETURN(std::string name, cursor_.Sigiled('%', what));
    auto it = buffers_.find(name);
    if (it == buffers_.end()) {
      return cursor_.ErrorAt(start,
                             absl::StrCat("unknown buffer '%", name, "'"));
    }
    return it->second;
  }

  absl::StatusOr<Operand> ParseOperand() {
    Operand operand;
    operand.location = cursor_.Location();
    ASSIGN_OR_RETURN(operand.buffer, BufferRef("a buffer"));
    RETURN_IF_ERROR(cursor_.Expect("["));
    size_t start = cursor_.Offset();
    ASSIGN_OR_RETURN(operand.indices, Expressions("]", true));
    size_t rank = kernel_.buffers[operand.buffer].extents.size();
    if (operand.indices.size() != rank) {
      return cursor_.ErrorAt(
          start,
          absl::StrCat("%", kernel_.buffers[operand.buffer].name, " has ", rank,
                       rank == 1 ? " dimension" : " dimensions", " and ",
                       operand.indices.size(), " indices here"));
    }
    return operand;
  }

  // ---- Declarations

  absl::Status Declare(absl::string_view name, size_t offset) {
    if (names_.insert(std::string(name)).second) return absl::OkStatus();
    return cursor_.ErrorAt(
        offset, absl::StrCat("'", name, "' has been declared already"));
  }

  absl::Status Declarations() {
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

  absl::Status SymbolDeclaration() {
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

  absl::Status LaunchDeclaration() {
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

  absl::Status IdDeclaration() {
    IterationId id;
    id.location = cursor_.Location();
    ASSIGN_OR_RETURN(id.name, cursor_.Word("an axis name"));
    if (!ids_.insert(id.name).second) {
      return kernel_.ErrorAt(
          id.location,
          absl::StrCat("'", id.name, "' has been declared already"));
    }
    RETURN_IF_ERROR(cursor_.Expect("="));
    ASSIGN_OR_RETURN(id.extent, Expression());
    kernel_.ids.push_back(std::move(id));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> IdList() {
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

  absl::StatusOr<BufferId> BufferDeclaration(bool is_param) {
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

  absl::Status AllocAttributes(Buffer& buffer) {
    absl::flat_hash_set<std::string> seen;
    while (!cursor_.AtLineEnd()) {
      size_t start = cursor_.Offset();
      ASSIGN_OR_RETURN(std::string word, cursor_.Word("an attribute"));
      if (!seen.insert(word).second) {
        return cursor_.ErrorAt(start,
                               absl::StrCat("'", word, "' stands here twice"));
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

  // ---- Statements

  // Statements up to the closing brace, which is read too.
  absl::StatusOr<std::vector<Statement>> Body(int depth) {
    if (depth > kMaxKirDepth) {
      return cursor_.Error(
          absl::StrCat("blocks nest more than ", kMaxKirDepth, " deep"));
    }
    std::vector<Statement> body;
    while (true) {
      if (cursor_.AtEnd()) return cursor_.Error("expected '}'");
      if (cursor_.Eat("}")) return body;
      Statement statement;
      statement.location = cursor_.Location();
      RETURN_IF_ERROR(ParseStatement(statement, depth));
      RETURN_IF_ERROR(EndOfLine());
      body.push_back(std::move(statement));
    }
  }

  absl::Status ParseStatement(Statement& statement, int depth) {
    size_t start = cursor_.Offset();
    if (cursor_.AtOperand()) return ParseExpr(statement);
    std::string word(cursor_.PeekWord());
    if (word == "kernel" || word.empty()) {
      return cursor_.Error(
          absl::StrCat("expected a statement, not ", cursor_.Describe()));
    }
    cursor_.EatWord(word);
    if (word == "alloc") {
      Alloc alloc;
      ASSIGN_OR_RETURN(alloc.buffer, BufferDeclaration(/*is_param=*/false));
      statement.node = alloc;
      return absl::OkStatus();
    }
    if (word == "for") return ParseLoop(statement, depth);
    if (word == "if") return ParseIf(statement, depth);
    if (word == "sync") return ParseSync(statement);
    if (word == "arrive") return ParseArriveWait(statement, /*is_wait=*/false);
    if (word == "wait" && cursor_.PeekWord().empty()) {
      return ParseArriveWait(statement, /*is_wait=*/true);
    }
    if (word == "wait" || word == "commit" || word == "fence" ||
        absl::StartsWith(word, "mbarrier.")) {
      return ParseAsync(statement, word);
    }
    for (absl::string_view declaration :
         {"sym", "launch", "param", "id", "option"}) {
      if (word == declaration) {
        return cursor_.ErrorAt(
            start, absl::StrCat("'", word, "' belongs before statements"));
      }
    }
    return cursor_.ErrorAt(start,
                           absl::StrCat("unknown statement '", word, "'"));
  }

  absl::Status ParseLoop(Statement& statement, int depth) {
    Loop loop;
    size_t start = cursor_.Offset();
    ASSIGN_OR_RETURN(loop.index, cursor_.Sigiled('%', "a loop index"));
    RETURN_IF_ERROR(cursor_.Expect(":"));
    size_t kind_place = cursor_.Offset();
    ASSIGN_OR_RETURN(std::string kind, cursor_.Word("a kind of loop"));
    std::optional<LoopKind> loop_kind = LoopKindFromName(kind);
    if (!loop_kind.has_value()) {
      return cursor_.ErrorAt(kind_place,
                             absl::StrCat("unknown kind of loop '", kind, "'"));
    }
    loop.kind = *loop_kind;
    RETURN_IF_ERROR(cursor_.Expect("["));
    ASSIGN_OR_RETURN(loop.start, Expression());
    RETURN_IF_ERROR(cursor_.Expect(","));
    ASSIGN_OR_RETURN(loop.stop, Expression());
    RETURN_IF_ERROR(cursor_.Expect(")"));
    if (cursor_.EatWord("step")) {
      ASSIGN_OR_RETURN(loop.step, Expression());
    }
    loop.unroll = cursor_.EatWord("unroll");
    if (cursor_.EatWord("stage")) {
      size_t stage_place = cursor_.Offset();
      ASSIGN_OR_RETURN(std::string stage, cursor_.Word("a stage"));
      std::optional<LoopStage> found = LoopStageFromName(stage);
      if (!found.has_value()) {
        return cursor_.ErrorAt(stage_place,
                               absl::StrCat("unknown stage '", stage, "'"));
      }
      loop.stage = *found;
    }
    if (cursor_.EatWord("ids")) {
      ASSIGN_OR_RETURN(loop.ids, IdList());
    }
    RETURN_IF_ERROR(cursor_.Expect("{"));
    RETURN_IF_ERROR(Declare(loop.index, start));
    ASSIGN_OR_RETURN(loop.body, Body(depth + 1));
    names_.erase(loop.index);
    statement.node = std::move(loop);
    return absl::OkStatus();
  }

  absl::Status ParseIf(Statement& statement, int depth) {
    If branch;
    size_t start = cursor_.Offset();
    ASSIGN_OR_RETURN(std::string word,
                     cursor_.Word("uniform, warp or divergent"));
    std::optional<Uniformity> uniformity = UniformityFromName(word);
    if (!uniformity.has_value()) {
      return cursor_.ErrorAt(
          start, absl::StrCat("expected uniform, warp or divergent, not '",
                              word, "'"));
    }
    branch.uniformity = *uniformity;
    RETURN_IF_ERROR(cursor_.Expect("("));
    ASSIGN_OR_RETURN(branch.predicate, Expression());
    RETURN_IF_ERROR(cursor_.Expect(")"));
    RETURN_IF_ERROR(cursor_.Expect("{"));
    ASSIGN_OR_RETURN(branch.then_body, Body(depth + 1));
    if (cursor_.EatWord("else")) {
      RETURN_IF_ERROR(cursor_.Expect("{"));
      ASSIGN_OR_RETURN(branch.else_body, Body(depth + 1));
    }
    statement.node = std::move(branch);
    return absl::OkStatus();
  }

  absl::Status ParseExpr(Statement& statement) {
    Expr expr;
    do {
      ASSIGN_OR_RETURN(Operand output, ParseOperand());
      expr.outputs.push_back(std::move(output));
    } while (cursor_.Eat(","));
    RETURN_IF_ERROR(cursor_.Expect("="));
    size_t start = cursor_.Offset();
    ASSIGN_OR_RETURN(expr.op, cursor_.Word("an operation"));
    const OpInfo* info = FindOp(expr.op);
    if (info == nullptr) return UnknownOp(start, expr.op);
    RETURN_IF_ERROR(cursor_.Expect("("));
    if (!cursor_.Eat(")")) {
      do {
        ASSIGN_OR_RETURN(Argument argument, ParseArgument());
        expr.arguments.push_back(std::move(argument));
      } while (cursor_.Eat(","));
      RETURN_IF_ERROR(cursor_.Expect(")"));
    }
    int count = static_cast<int>(expr.arguments.size());
    if (count < info->min_arguments || count > info->max_arguments) {
      return cursor_.ErrorAt(
          start,
          absl::StrCat("'", expr.op, "' takes ", info->min_arguments,
                       info->max_arguments > info->min_arguments
                           ? absl::StrCat(" to ", info->max_arguments)
                           : "",
                       info->max_arguments == 1 ? " argument" : " arguments",
                       ", not ", count));
    }
    if (static_cast<int>(expr.outputs.size()) != info->outputs) {
      return cursor_.ErrorAt(
          start, absl::StrCat("'", expr.op, "' has ", info->outputs,
                              info->outputs == 1 ? " result" : " results",
                              ", not ", expr.outputs.size()));
    }
    if (cursor_.Eat("{")) {
      RETURN_IF_ERROR(ExprAttributes(expr));
    }
    statement.node = std::move(expr);
    return absl::OkStatus();
  }

  absl::Status UnknownOp(size_t start, absl::string_view op) {
    absl::string_view nearest = NearestOp(op);
    if (!nearest.empty() && nearest == op.substr(0, op.find('.'))) {
      bool has_dot = absl::StrContains(op, '.');
      return cursor_.ErrorAt(
          start,
          absl::StrCat("'", nearest, "'",
                       has_dot && OpCombiner(op) != Combiner::kNone
                           ? " does not combine anything"
                           : " needs a combiner: .add, .mul, .max or .min"));
    }
    return cursor_.ErrorAt(
        start, absl::StrCat("unknown operation '", op, "'",
                            nearest.empty() ? ""
                                            : absl::StrCat("; did you mean '",
                                                           nearest, "'?")));
  }

  absl::StatusOr<Argument> ParseArgument() {
    if (cursor_.AtOperand()) {
      ASSIGN_OR_RETURN(Operand operand, ParseOperand());
      return Argument(std::move(operand));
    }
    if (std::optional<double> value = cursor_.Float()) return Argument(*value);
    ASSIGN_OR_RETURN(AffineExpr expr, Expression());
    return Argument(std::move(expr));
  }

  absl::Status ExprAttributes(Expr& expr) {
    do {
      size_t start = cursor_.Offset();
      ASSIGN_OR_RETURN(std::string word, cursor_.Word("an attribute"));
      if (word == "sync") {
        expr.sync = true;
      } else if (word == "async") {
        RETURN_IF_ERROR(cursor_.Expect("="));
        ASSIGN_OR_RETURN(expr.async, ParseAsyncKind());
      } else if (word == "mbar") {
        RETURN_IF_ERROR(cursor_.Expect("="));
        ASSIGN_OR_RETURN(expr.mbarrier, BufferRef("an mbarrier"));
      } else {
        return cursor_.ErrorAt(start, absl::StrCat("unknown attribute '", word,
                                                   "' of an expression"));
      }
    } while (!cursor_.Eat("}"));
    return absl::OkStatus();
  }

  absl::StatusOr<AsyncKind> ParseAsyncKind() {
    size_t start = cursor_.Offset();
    ASSIGN_OR_RETURN(std::string word, cursor_.Word("a kind of transfer"));
    std::optional<AsyncKind> kind = AsyncKindFromName(word);
    if (kind.has_value()) return *kind;
    return cursor_.ErrorAt(
        start, absl::StrCat("unknown transfer '", word,
                            "'; one of cp, bulk_load, bulk_store, wgmma"));
  }

  absl::Status ParseSync(Statement& statement) {
    Sync sync;
    size_t start = cursor_.Offset();
    ASSIGN_OR_RETURN(std::string word, cursor_.Word("a scope"));
    std::optional<SyncScope> scope = SyncScopeFromName(word);
    if (!scope.has_value()) {
      return cursor_.ErrorAt(
          start, absl::StrCat("unknown scope '", word,
                              "'; one of block, warp, grid, cluster"));
    }
    sync.scope = *scope;
    sync.war = cursor_.EatWord("war");
    if (cursor_.EatWord("group")) {
      RETURN_IF_ERROR(cursor_.Expect("="));
      ASSIGN_OR_RETURN(sync.group, cursor_.Word("a group"));
    }
    statement.node = std::move(sync);
    return absl::OkStatus();
  }

  absl::Status ParseArriveWait(Statement& statement, bool is_wait) {
    ArriveWait half;
    half.is_wait = is_wait;
    ASSIGN_OR_RETURN(half.barrier, BufferRef("a barrier"));
    if (cursor_.EatWord("phase")) {
      RETURN_IF_ERROR(cursor_.Expect("="));
      ASSIGN_OR_RETURN(half.phase, Expression());
    }
    statement.node = std::move(half);
    return absl::OkStatus();
  }

  absl::Status ParseAsync(Statement& statement, absl::string_view word) {
    Async async;
    if (word == "fence") {
      async.op = Async::Op::kFence;
      ASSIGN_OR_RETURN(async.name, cursor_.Word("a fence"));
    } else if (word == "commit") {
      async.op = Async::Op::kCommit;
      ASSIGN_OR_RETURN(async.kind, ParseAsyncKind());
    } else if (word == "wait") {
      async.op = Async::Op::kWait;
      ASSIGN_OR_RETURN(async.kind, ParseAsyncKind());
      if (!cursor_.EatWord("keep")) {
        return cursor_.Error(
            absl::StrCat("expected 'keep', not ", cursor_.Describe()));
      }
      RETURN_IF_ERROR(cursor_.Expect("="));
      ASSIGN_OR_RETURN(async.keep, SmallInteger("a number of groups"));
    } else {
      async.op = Async::Op::kMbarrier;
      async.name = std::string(word.substr(word.find('.') + 1));
      ASSIGN_OR_RETURN(async.barrier, BufferRef("an mbarrier"));
      if (cursor_.Eat("(")) {
        ASSIGN_OR_RETURN(async.argument, Expression());
        RETURN_IF_ERROR(cursor_.Expect(")"));
      }
    }
    statement.node = std::move(async);
    return absl::OkStatus();
  }

  KirCursor& cursor_;
  Kernel kernel_;
  // What expressions may mention; buffers stand here with their '%'.
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_set<std::string> ids_;
  absl::flat_hash_map<std::string, BufferId> buffers_;
};

}  // namespace

absl::StatusOr<std::vector<Kernel>> ParseKernels(absl::string_view text,
                                                 absl::string_view file) {
  auto source = std::make_shared<const SourceText>(
      SourceText{std::string(file), std::string(text)});
  KirCursor cursor(source);
  std::vector<Kernel> kernels;
  absl::flat_hash_set<std::string> names;
  while (!cursor.AtEnd()) {
    ASSIGN_OR_RETURN(Kernel kernel, KernelParser(cursor, source).Parse());
    if (!names.insert(kernel.name).second) {
      return kernel.ErrorAt(
          kernel.location,
          absl::StrCat("a second kernel called '@", kernel.name, "'"));
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

absl::StatusOr<Kernel> ParseKernel(absl::string_view text,
                                   absl::string_view file) {
  ASSIGN_OR_RETURN(std::vector<Kernel> kernels, ParseKernels(text, file));
  if (kernels.size() == 1) return std::move(kernels[0]);
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": error: expected one kernel, not ", kernels.size()));
}

}  // namespace xla::gpu::kir
