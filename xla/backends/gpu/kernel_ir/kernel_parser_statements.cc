#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kernel_parser.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/kernel_ir/kir_parser.h"
#include "xla/status_macros.h"

namespace xla::gpu::kir {

absl::StatusOr<std::vector<Statement>> KernelParser::Body(int depth) {
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

absl::Status KernelParser::ParseStatement(Statement& statement, int depth) {
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
  return cursor_.ErrorAt(start, absl::StrCat("unknown statement '", word, "'"));
}

absl::Status KernelParser::ParseLoop(Statement& statement, int depth) {
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

absl::Status KernelParser::ParseIf(Statement& statement, int depth) {
  If branch;
  size_t start = cursor_.Offset();
  ASSIGN_OR_RETURN(std::string word,
                   cursor_.Word("uniform, warp or divergent"));
  std::optional<Uniformity> uniformity = UniformityFromName(word);
  if (!uniformity.has_value()) {
    return cursor_.ErrorAt(
        start,
        absl::StrCat("expected uniform, warp or divergent, not '", word, "'"));
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

absl::Status KernelParser::ParseExpr(Statement& statement) {
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

absl::Status KernelParser::UnknownOp(size_t start, absl::string_view op) {
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

absl::StatusOr<Argument> KernelParser::ParseArgument() {
  if (cursor_.AtOperand()) {
    ASSIGN_OR_RETURN(Operand operand, ParseOperand());
    return Argument(std::move(operand));
  }
  if (std::optional<double> value = cursor_.Float()) return Argument(*value);
  ASSIGN_OR_RETURN(AffineExpr expr, Expression());
  return Argument(std::move(expr));
}

absl::Status KernelParser::ExprAttributes(Expr& expr) {
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

absl::StatusOr<AsyncKind> KernelParser::ParseAsyncKind() {
  size_t start = cursor_.Offset();
  ASSIGN_OR_RETURN(std::string word, cursor_.Word("a kind of transfer"));
  std::optional<AsyncKind> kind = AsyncKindFromName(word);
  if (kind.has_value()) return *kind;
  return cursor_.ErrorAt(
      start, absl::StrCat("unknown transfer '", word,
                          "'; one of cp, bulk_load, bulk_store, wgmma"));
}

absl::Status KernelParser::ParseSync(Statement& statement) {
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

absl::Status KernelParser::ParseArriveWait(Statement& statement, bool is_wait) {
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

absl::Status KernelParser::ParseAsync(Statement& statement,
                                      absl::string_view word) {
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

}  // namespace xla::gpu::kir
