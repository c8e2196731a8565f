#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/name_uniquer.h"
#include "xla/hlo/parser/diagnostic.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

// An instruction is read into a Draft first and made from that (build_*.cc),
// because attributes come after the operands, but the constructors of most
// subclasses take both. Drafts are reused, one for each level of nesting. Names
// are looked up in the text of the computation as views of it. An instruction
// that fails is noted, so that those which use it fail without an error of
// their own, and one run of the parser reports independent errors only.

namespace xla::hlo_text {
namespace {

const std::vector<absl::string_view>& OpcodeTexts() {
  static const auto* const texts = [] {
    auto* result = new std::vector<absl::string_view>();
    for (uint32_t i = 0; i < HloOpcodeCount(); ++i) {
      result->push_back(HloOpcodeString(static_cast<HloOpcode>(i)));
    }
    return result;
  }();
  return *texts;
}

// Opcodes whose start and done are opcodes of their own, or that are parts of
// chains already.
bool HasAsyncSugar(HloOpcode opcode) {
  return !HloOpcodeIsOneOf<
      HloOpcode::kAllGather, HloOpcode::kAllReduce,
      HloOpcode::kCollectivePermute, HloOpcode::kCopy, HloOpcode::kSend,
      HloOpcode::kRecv, HloOpcode::kAllGatherStart, HloOpcode::kAllGatherDone,
      HloOpcode::kAllReduceStart, HloOpcode::kAllReduceDone,
      HloOpcode::kCollectivePermuteStart, HloOpcode::kCollectivePermuteDone,
      HloOpcode::kCopyStart, HloOpcode::kCopyDone, HloOpcode::kSendDone,
      HloOpcode::kRecvDone, HloOpcode::kAsyncStart, HloOpcode::kAsyncUpdate,
      HloOpcode::kAsyncDone, HloOpcode::kParameter, HloOpcode::kConstant>(
      opcode);
}

}  // namespace

ModuleParser::DraftLease::DraftLease(ModuleParser* parser) : parser_(parser) {
  if (parser->drafts_in_use_ == static_cast<int>(parser->drafts_.size())) {
    parser->drafts_.push_back(std::make_unique<Draft>());
  }
  draft_ = parser->drafts_[parser->drafts_in_use_++].get();
  draft_->name = absl::string_view();
  draft_->shape = nullptr;
  draft_->sugar = AsyncSugar::kNone;
  draft_->wraps_late = false;
  draft_->operands.clear();
  draft_->values.seen = AttributeSet();
  draft_->values.unknown.clear();
}

bool ModuleParser::CheckName(absl::string_view name, Loc name_loc,
                             absl::string_view what) {
  const char* end = lexer_.text().data() + lexer_.text().size();
  const char* p = name.data() + name.size();
  // Characters that no name has, without a blank before them.
  if (p < end && absl::StrContains(":/\\@$!&|;<>", *p) && *p != '\0') {
    while (p < end && !absl::StrContains(" \t\r\n=(){}[],", *p)) ++p;
    name = absl::string_view(name.data(), p - name.data());
  } else if (NameUniquer::IsSanitizedName(name)) {
    return true;
  }
  return Error(name_loc,
               absl::StrCat("illegal ", what, " name '", name, "'; use '",
                            NameUniquer::GetSanitizedName(name), "'"));
}

// [ROOT] name = right-hand side
bool ModuleParser::ParseInstruction(Scope* scope) {
  const Loc start = loc();
  bool is_root = false;
  if (kind() == TokKind::kw_ROOT && lexer_.LookAhead() != TokKind::kEqual) {
    Next();
    is_root = true;
  }
  DraftLease lease(this);
  Draft* draft = lease.get();
  draft->loc = loc();
  if (kind() == TokKind::kAttributeName) {
    // `name=` without a blank: the '=' is part of the token.
    draft->name = lexer_.GetStrView();
    Next();
  } else {
    if (!ParseWord("an instruction", &draft->name)) return false;
    if (kind() != TokKind::kEqual) {
      return CheckName(draft->name, draft->loc, "instruction") &&
             Expect(TokKind::kEqual, "after the name of an instruction");
    }
    Next();
  }
  const absl::string_view name = draft->name;
  auto fail = [&] {
    failed_instructions_.insert(name);
    return false;
  };
  if (!CheckName(name, draft->loc, "instruction")) return fail();
  if (is_root) {
    if (scope->root_loc != nullptr) {
      Error(start, "the computation has more than one ROOT");
      return fail();
    }
    scope->root_loc = start;
  }
  if (!ParseRightHandSide(scope, draft, /*nested=*/false)) return fail();
  std::unique_ptr<HloInstruction> owned = Build(draft);
  if (owned == nullptr) return fail();
  owned->SetAndSanitizeName(name);
  HloInstruction* instruction = owned.get();
  auto [entry, inserted] = scope->instructions.emplace(name, instruction);
  if (!inserted) {
    SourceText::Position first = sink_.source().PositionOf(entry->first.data());
    return Error(
        draft->loc,
        absl::StrCat("'", name, "' is defined already, on line ", first.line));
  }
  scope->builder.AddInstruction(std::move(owned));
  if (is_root) scope->root = instruction;
  if (!ApplyCommonAttributes(draft, instruction)) return fail();
  KeepLateWrapper(scope, draft, instruction);
  return true;
}

// True if a shape follows, rather than an opcode or a name.
bool ModuleParser::AtShape() const {
  const char* end = lexer_.text().data() + lexer_.text().size();
  const char* next = lexer_.GetEndLoc();
  switch (lexer_.GetKind()) {
    case TokKind::kPrimitiveType:
      return next < end && *next == '[';
    case TokKind::kLparen:
      return true;
    case TokKind::kIdent:
      return lexer_.GetStrView() == "b" && next < end && *next == '(';
    default:
      return false;
  }
}

// [shape] opcode(arguments) {, attribute=value}
bool ModuleParser::ParseRightHandSide(Scope* scope, Draft* draft, bool nested) {
  if (draft->shape == nullptr && AtShape()) {
    draft->shape = ParseCachedShape(options_.fill_missing_layouts());
    if (draft->shape == nullptr) return false;
  }
  if (!ParseOpcode(draft) || !ParseArguments(scope, draft)) return false;
  if (!nested && !ParseAttributes(scope, draft)) return false;
  const AttributeRules& rules = RulesFor(draft->opcode);
  // The links of a sugared chain repeat what the start has, or do not.
  if (draft->sugar == AsyncSugar::kUpdate ||
      draft->sugar == AsyncSugar::kDone) {
    return true;
  }
  if (std::optional<Attribute> missing =
          rules.required.FirstMissingIn(draft->values.seen)) {
    return Error(draft->opcode_loc, absl::StrCat(HloOpcodeString(draft->opcode),
                                                 " needs the attribute ",
                                                 AttributeText(*missing), "="));
  }
  return true;
}

bool ModuleParser::ParseOpcode(Draft* draft) {
  draft->opcode_loc = loc();
  absl::string_view text;
  if (kind() == TokKind::kName || !ParseWord("an opcode", &text)) {
    return Expected("an opcode");
  }
  if (std::optional<HloOpcode> opcode = TryStringToHloOpcode(text)) {
    draft->opcode = *opcode;
    return true;
  }
  absl::string_view base = text;
  AsyncSugar sugar = absl::ConsumeSuffix(&base, "-start") ? AsyncSugar::kStart
                     : absl::ConsumeSuffix(&base, "-update")
                         ? AsyncSugar::kUpdate
                     : absl::ConsumeSuffix(&base, "-done") ? AsyncSugar::kDone
                                                           : AsyncSugar::kNone;
  if (sugar != AsyncSugar::kNone) {
    std::optional<HloOpcode> opcode = TryStringToHloOpcode(base);
    if (opcode.has_value() && HasAsyncSugar(*opcode)) {
      draft->opcode = *opcode;
      draft->sugar = sugar;
      return true;
    }
    if (opcode.has_value()) {
      return Error(draft->opcode_loc,
                   absl::StrCat("unknown opcode '", text, "': ", base,
                                " has no such asynchronous form"));
    }
  }
  return Error(draft->opcode_loc,
               absl::StrCat("unknown opcode '", text, "'",
                            DidYouMean(text, OpcodeTexts())));
}

bool ModuleParser::ParseArguments(Scope* scope, Draft* draft) {
  if (draft->sugar == AsyncSugar::kNone) {
    if (draft->opcode == HloOpcode::kParameter) {
      const Loc start = loc() + 1;
      if (!Expect(TokKind::kLparen) || !ParseInt(&draft->parameter_number)) {
        return false;
      }
      // No text holds more parameters than characters.
      const int64_t most = static_cast<int64_t>(lexer_.text().size());
      if (draft->parameter_number < 0 || draft->parameter_number > most) {
        return Error(start,
                     absl::StrCat("parameter number ", draft->parameter_number,
                                  " is negative or too large"));
      }
      std::vector<Loc>& seen = scope->parameters;
      const size_t number = draft->parameter_number;
      if (number >= seen.size()) seen.resize(number + 1, nullptr);
      if (seen[number] != nullptr) {
        return Error(
            start, absl::StrCat("parameter ", number,
                                " exists already, on "
                                "line ",
                                sink_.source().PositionOf(seen[number]).line));
      }
      seen[number] = start;
      ++scope->parameter_count;
      return Expect(TokKind::kRparen);
    }
    if (draft->opcode == HloOpcode::kConstant) {
      if (!Expect(TokKind::kLparen)) return false;
      if (draft->shape == nullptr) {
        return Error(draft->opcode_loc, "a constant needs a shape");
      }
      return ParseLiteral(*draft->shape, &draft->constant) &&
             Expect(TokKind::kRparen, "after the value of a constant");
    }
  }
  return ParseOperands(scope, draft);
}

bool ModuleParser::ParseOperands(Scope* scope, Draft* draft) {
  return ParseList(TokKind::kLparen, TokKind::kRparen, [&] {
    HloInstruction* operand;
    if (!ParseOperand(scope, &operand)) return false;
    draft->operands.push_back(operand);
    return true;
  });
}

// [shape] name {#index}, or a nested instruction, or a shape alone.
bool ModuleParser::ParseOperand(Scope* scope, HloInstruction** result) {
  const Loc start = loc();
  const Shape* shape = nullptr;
  if (AtShape()) {
    shape = ParseCachedShape(options_.fill_missing_layouts());
    if (shape == nullptr) return false;
    if (kind() == TokKind::kComma || kind() == TokKind::kRparen) {
      if (!scope->is_single_instruction) {
        return Expected("the name of an operand after its shape");
      }
      *result = AddImplicitParameter(scope, "", *shape);
      return true;
    }
  }
  const Loc name_loc = loc();
  const bool is_bare = kind() != TokKind::kName || *name_loc != '%';
  const char* after = lexer_.GetEndLoc();
  if (is_bare && lexer_.IsWord() &&
      after < lexer_.text().data() + lexer_.text().size() && *after == '(') {
    return ParseNestedOperand(scope, shape, result);
  }
  absl::string_view name;
  if (!ParseWord("an operand", &name)) return false;
  auto found = scope->instructions.find(name);
  if (found != scope->instructions.end()) {
    *result = found->second;
  } else if (scope->is_single_instruction && shape != nullptr) {
    *result = AddImplicitParameter(scope, name, *shape);
  } else {
    return FindInstruction(scope, name, name_loc, result);
  }
  while (kind() == TokKind::kOctothorp) {
    if (!ParseTupleElements(scope, result)) return false;
  }
  if (shape != nullptr && *shape != (*result)->shape() &&
      !ShapeUtil::Compatible(*shape, (*result)->shape())) {
    return Error(start, absl::StrCat("operand '", name, "' has shape ",
                                     ShapeUtil::HumanString((*result)->shape()),
                                     ", not ", ShapeUtil::HumanString(*shape)));
  }
  return true;
}

// Reports an unknown name, unless its definition failed.
bool ModuleParser::FindInstruction(Scope* scope, absl::string_view name,
                                   Loc name_loc, HloInstruction** result) {
  auto found = scope->instructions.find(name);
  if (found != scope->instructions.end()) {
    *result = found->second;
    return true;
  }
  if (failed_instructions_.contains(name)) return false;
  if (!CheckName(name, name_loc, "instruction")) return false;
  std::vector<absl::string_view> names;
  names.reserve(scope->instructions.size());
  for (const auto& [known, instruction] : scope->instructions) {
    names.push_back(known);
  }
  return Error(name_loc, absl::StrCat("no instruction '", name,
                                      "' is defined before "
                                      "this place",
                                      DidYouMean(name, names)));
}

HloInstruction* ModuleParser::AddImplicitParameter(Scope* scope,
                                                   absl::string_view name,
                                                   const Shape& shape) {
  const int64_t number = scope->parameter_count++;
  scope->parameters.resize(scope->parameter_count, loc());
  std::string made_up;
  if (name.empty()) made_up = absl::StrCat("parameter_", number);
  HloInstruction* parameter =
      scope->builder.AddInstruction(HloInstruction::CreateParameter(
          number, shape, name.empty() ? made_up : name));
  if (!name.empty()) scope->instructions.emplace(name, parameter);
  return parameter;
}

// add(max(x, y), z): an instruction without name and attributes.
bool ModuleParser::ParseNestedOperand(Scope* scope, const Shape* shape,
                                      HloInstruction** result) {
  Nesting nesting(this);
  if (!nesting.ok()) return false;
  DraftLease lease(this);
  Draft* draft = lease.get();
  draft->loc = loc();
  draft->shape = shape;
  if (!ParseRightHandSide(scope, draft, /*nested=*/true)) return false;
  std::unique_ptr<HloInstruction> instruction = Build(draft);
  if (instruction == nullptr) return false;
  *result = scope->builder.AddInstruction(
      std::move(instruction),
      absl::StrCat(HloOpcodeString(draft->opcode), ".anon"));
  KeepLateWrapper(scope, draft, *result);
  return true;
}

// `#1` behind a tuple: its element 1.
bool ModuleParser::ParseTupleElements(Scope* scope, HloInstruction** operand) {
  const Loc start = loc();
  int64_t index;
  Next();
  if (!ParseInt(&index)) return false;
  const Shape& shape = (*operand)->shape();
  if (!shape.IsTuple() || index < 0 || index >= shape.tuple_shapes_size()) {
    return Error(start, absl::StrCat("no element ", index, " in shape ",
                                     ShapeUtil::HumanString(shape)));
  }
  HloInstruction*& element = scope->tuple_elements[{*operand, index}];
  if (element == nullptr) {
    element = scope->builder.AddInstruction(
        HloInstruction::CreateGetTupleElement(*operand, index),
        absl::StrCat((*operand)->name(), "_", index));
  }
  *operand = element;
  return true;
}

}  // namespace xla::hlo_text
