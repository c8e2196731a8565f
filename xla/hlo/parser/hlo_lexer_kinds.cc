#include <string>

#include "xla/hlo/parser/hlo_lexer.h"

namespace xla {

std::string TokKindToString(TokKind kind) {
  switch (kind) {
    case TokKind::kEof:
      return "end of text";
    case TokKind::kError:
      return "malformed token";
    case TokKind::kEqual:
      return "'='";
    case TokKind::kComma:
      return "','";
    case TokKind::kColon:
      return "':'";
    case TokKind::kAsterisk:
      return "'*'";
    case TokKind::kQuestionMark:
      return "'?'";
    case TokKind::kOctothorp:
      return "'#'";
    case TokKind::kPlus:
      return "'+'";
    case TokKind::kTilde:
      return "'~'";
    case TokKind::kLsquare:
      return "'['";
    case TokKind::kRsquare:
      return "']'";
    case TokKind::kLbrace:
      return "'{'";
    case TokKind::kRbrace:
      return "'}'";
    case TokKind::kLparen:
      return "'('";
    case TokKind::kRparen:
      return "')'";
    case TokKind::kDots:
      return "'...'";
    case TokKind::kArrow:
      return "'->'";
    case TokKind::kLeq:
      return "'<='";
    case TokKind::kw_HloModule:
      return "'HloModule'";
    case TokKind::kw_ENTRY:
      return "'ENTRY'";
    case TokKind::kw_ROOT:
      return "'ROOT'";
    case TokKind::kw_FileLocations:
      return "'FileLocations'";
    case TokKind::kw_FileNames:
      return "'FileNames'";
    case TokKind::kw_FunctionNames:
      return "'FunctionNames'";
    case TokKind::kw_StackFrames:
      return "'StackFrames'";
    case TokKind::kw_true:
      return "'true'";
    case TokKind::kw_false:
      return "'false'";
    case TokKind::kw_maximal:
      return "'maximal'";
    case TokKind::kw_replicated:
      return "'replicated'";
    case TokKind::kw_manual:
      return "'manual'";
    case TokKind::kw_last_tile_dim_replicate:
      return "'last_tile_dim_replicate'";
    case TokKind::kw_shard_as:
      return "'shard_as'";
    case TokKind::kw_shard_like:
      return "'shard_like'";
    case TokKind::kw_unknown:
      return "'unknown'";
    case TokKind::kw_inf:
      return "'inf'";
    case TokKind::kw_unreduced:
      return "'unreduced'";
    case TokKind::kNegInf:
      return "'-inf'";
    case TokKind::kPrimitiveType:
      return "type";
    case TokKind::kName:
      return "name";
    case TokKind::kAttributeName:
      return "attribute";
    case TokKind::kDimLabels:
      return "dimension labels";
    case TokKind::kDxD:
      return "window sizes";
    case TokKind::kPad:
      return "padding";
    case TokKind::kIdent:
      return "word";
    case TokKind::kString:
      return "string";
    case TokKind::kInt:
      return "integer";
    case TokKind::kDecimal:
      return "decimal number";
  }
  return "unknown token";
}

}  // namespace xla
