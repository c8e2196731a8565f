#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/parser/diagnostic.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::hlo_text {

// [ENTRY] name [(a: shape, ...) -> shape] { instructions }
//     [, execution_thread="t"]
bool ModuleParser::ParseComputation() {
  Nesting nesting(this);
  if (!nesting.ok()) return false;
  const Loc start = loc();
  const bool is_entry = Eat(TokKind::kw_ENTRY);
  const Loc name_loc = loc();
  absl::string_view name = "entry";
  if (!is_entry || lexer_.IsWord()) {
    if (!ParseWord("a computation", &name) ||
        !CheckName(name, name_loc, "computation")) {
      return false;
    }
  }
  if (is_entry) {
    if (entry_loc_ != nullptr) {
      return Error(start,
                   absl::StrCat("the module has more than one ENTRY; the other "
                                "one is on line ",
                                sink_.source().PositionOf(entry_loc_).line));
    }
    entry_loc_ = start;
  }
  if (computations_by_name_.contains(name)) {
    return Error(name_loc,
                 absl::StrCat("computation '", name, "' is defined already"));
  }
  const Shape* result = nullptr;
  Loc result_loc = nullptr;
  if (kind() == TokKind::kLparen && !ParseSignature(&result, &result_loc)) {
    return false;
  }
  if (!Expect(TokKind::kLbrace, "to begin a computation")) return false;

  auto scope = std::make_unique<Scope>(name);
  in_progress_.insert(name);
  const bool parsed = ParseInstructions(scope.get(), /*recover=*/true);
  in_progress_.erase(name);
  std::string thread;
  HloComputation* computation = nullptr;
  const bool closed = kind() == TokKind::kRbrace && !give_up_;
  if (closed) {
    Next();
    if (!ParseExecutionThread(&thread)) return false;
    if (parsed) computation = FinishComputation(scope.get(), name_loc);
  }
  if (computation == nullptr) {
    failed_computations_.insert(name);
    // Errors in the body do not keep the rest from being read.
    return closed && !sink_.full() && !give_up_;
  }
  computations_by_name_.emplace(name, computation);
  if (!thread.empty()) computation->SetExecutionThread(thread);
  if (is_entry) entry_ = computation;
  if (start > last_loc_) {
    last_ = computation;
    last_loc_ = start;
  }
  const Shape& root_shape = computation->root_instruction()->shape();
  if (result != nullptr && !ShapeUtil::Compatible(*result, root_shape)) {
    Error(result_loc, absl::StrCat("the signature's result ",
                                   ShapeUtil::HumanString(*result),
                                   " is not the shape of the root, ",
                                   ShapeUtil::HumanString(root_shape)));
  }
  return true;
}

bool ModuleParser::ParseSignature(const Shape** result, Loc* result_loc) {
  if (!ParseList(TokKind::kLparen, TokKind::kRparen,
                 [&] {
                   absl::string_view name;
                   return ParseWord("a parameter", &name) &&
                          Expect(TokKind::kColon) &&
                          ParseCachedShape(/*fill=*/false) != nullptr;
                 }) ||
      !Expect(TokKind::kArrow)) {
    return false;
  }
  *result_loc = loc();
  *result = ParseCachedShape(/*fill=*/false);
  return *result != nullptr;
}

bool ModuleParser::ParseExecutionThread(std::string* thread) {
  if (!Eat(TokKind::kComma)) return true;
  const Loc name_loc = loc();
  absl::string_view name;
  if (!ParseAttributeName(&name)) return false;
  if (name != "execution_thread") {
    return Error(name_loc,
                 absl::StrCat("a computation has no attribute '", name, "'",
                              DidYouMean(name, {"execution_thread"})));
  }
  return ParseString(thread);
}

// Up to the closing brace, which stays the current token.
bool ModuleParser::ParseInstructions(Scope* scope, bool recover) {
  bool ok = true;
  while (kind() != TokKind::kRbrace) {
    if (kind() == TokKind::kEof) {
      return Expected("'}' to end a computation");
    }
    const Loc start = loc();
    if (ParseInstruction(scope)) continue;
    if (!recover || sink_.full() || give_up_) return false;
    ok = false;
    SkipToNextInstruction(start);
  }
  return ok;
}

namespace {

// True if a line that starts at `p` begins an instruction: `[ROOT] name =`.
bool BeginsInstruction(const char* p, const char* end) {
  auto is_word = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-';
  };
  auto skip_word = [&] {
    const char* start = p;
    if (p < end && *p == '%') ++p;
    while (p < end && is_word(*p)) ++p;
    return absl::string_view(start, p - start);
  };
  auto skip_blanks = [&] {
    const char* start = p;
    while (p < end && (*p == ' ' || *p == '\t')) ++p;
    return p > start;
  };
  absl::string_view word = skip_word();
  bool blank = skip_blanks();
  if (word == "ROOT" && blank) {
    word = skip_word();
    blank = skip_blanks();
  }
  // `name=` without a blank is more likely an attribute.
  return !word.empty() && p < end && *p == '=' && (blank || word[0] == '%');
}

}  // namespace

// Goes to the first line after the broken instruction that begins an
// instruction or ends the computation.
//
// Error recovery by lines: one broken instruction should not hide errors in
// others, and printed HLO has one instruction a line.
void ModuleParser::SkipToNextInstruction(Loc from) {
  const char* end = lexer_.text().data() + lexer_.text().size();
  const char* p = from;
  if (lexer_.GetPreviousEndLoc() > p) p = lexer_.GetPreviousEndLoc();
  while (p < end) {
    absl::string_view rest(p, end - p);
    const size_t newline = rest.find('\n');
    if (newline == absl::string_view::npos) break;
    p += newline + 1;
    const char* first = p;
    while (first < end && (*first == ' ' || *first == '\t')) ++first;
    if (first < end && (*first == '}' || BeginsInstruction(first, end))) {
      lexer_.Reset(first);
      return;
    }
  }
  lexer_.Reset(end);
}

// Parameters must be numbered 0, 1, ... without a gap.
bool ModuleParser::CheckParameters(const Scope& scope, Loc name_loc) {
  for (size_t i = 0; i < scope.parameters.size(); ++i) {
    if (scope.parameters[i] == nullptr) {
      return Error(
          name_loc,
          absl::StrCat("parameter ", i, " is missing, but there is parameter ",
                       scope.parameters.size() - 1));
    }
  }
  return true;
}

HloComputation* ModuleParser::FinishComputation(Scope* scope, Loc name_loc) {
  HloInstruction* root = scope->root;
  if (root == nullptr) root = scope->builder.last_added_instruction();
  if (root == nullptr) {
    Error(name_loc, "the computation has no instructions");
    return nullptr;
  }
  if (!CheckParameters(*scope, name_loc) || !FinishLateWrappers(scope)) {
    return nullptr;
  }
  computations_.push_back(
      {scope->builder.Build(root), lexer_.GetPreviousEndLoc()});
  return computations_.back().computation.get();
}

bool ModuleParser::ParseComputationReference(HloComputation** result) {
  if (kind() == TokKind::kLbrace) return ParseInlineComputation(result);
  const Loc name_loc = loc();
  absl::string_view name;
  if (!ParseWord("a computation", &name)) return false;
  auto found = computations_by_name_.find(name);
  if (found != computations_by_name_.end()) {
    *result = found->second;
    return true;
  }
  return ParseForwardReference(name, name_loc, result);
}

bool ModuleParser::ParseInlineComputation(HloComputation** result) {
  Nesting nesting(this);
  if (!nesting.ok()) return false;
  const Loc start = loc();
  auto scope = std::make_unique<Scope>("_");
  Next();
  if (!ParseInstructions(scope.get(), /*recover=*/false) ||
      !Expect(TokKind::kRbrace)) {
    return false;
  }
  *result = FinishComputation(scope.get(), start);
  return *result != nullptr;
}

// Reads a computation that is defined further down in the text.
//
// The parser jumps to the computation, parses it, and comes back; when the main
// pass reaches that place later it skips it. Recursion is as deep as calls are
// nested, and a computation that refers to itself is detected by the set of
// those in progress.
bool ModuleParser::ParseForwardReference(absl::string_view name, Loc name_loc,
                                         HloComputation** result) {
  if (failed_computations_.contains(name)) return false;
  if (in_progress_.contains(name)) {
    return Error(name_loc,
                 absl::StrCat("computation '", name, "' calls itself"));
  }
  IndexComputations();
  auto place = index_.find(name);
  if (place == index_.end()) return UnknownComputation(name, name_loc);
  const Loc begin = place->second;
  const Loc resume = lexer_.GetPreviousEndLoc();
  lexer_.Reset(begin);
  if (!ParseComputation()) {
    // Nobody knows where it ends, so there is nothing to go on with.
    give_up_ = true;
    return false;
  }
  read_ahead_[begin] = loc();
  lexer_.Reset(resume);
  auto found = computations_by_name_.find(name);
  if (found == computations_by_name_.end()) return false;
  *result = found->second;
  return true;
}

bool ModuleParser::UnknownComputation(absl::string_view name, Loc name_loc) {
  std::vector<absl::string_view> names;
  for (const auto& [known, where] : index_) names.push_back(known);
  return Error(name_loc, absl::StrCat("no computation '", name, "'",
                                      DidYouMean(name, names)));
}

// Finds where all computations begin, without reading them: on the first
// reference to one that is not known yet.
void ModuleParser::IndexComputations() {
  if (is_indexed_) return;
  is_indexed_ = true;
  HloLexer scan = lexer_;
  scan.Reset(body_loc_);
  while (scan.GetKind() != TokKind::kEof) {
    const Loc start = scan.GetLoc();
    if (scan.GetKind() == TokKind::kw_ENTRY) scan.Lex();
    if (!scan.IsWord()) return;
    absl::string_view name = scan.GetStrView();
    scan.Lex();
    // Past the signature: parameters, arrow, and the shape of the result.
    if (scan.GetKind() == TokKind::kLparen) {
      const char* end = MatchingEnd(scan.GetLoc());
      if (end == nullptr || scan.Reset(end) != TokKind::kArrow) return;
      scan.Lex();
      while (scan.GetKind() != TokKind::kEof &&
             (scan.GetKind() != TokKind::kLbrace ||
              scan.GetLoc() == scan.GetPreviousEndLoc())) {
        end = scan.GetKind() == TokKind::kLparen ||
                      scan.GetKind() == TokKind::kLbrace
                  ? MatchingEnd(scan.GetLoc())
                  : scan.GetEndLoc();
        if (end == nullptr) return;
        scan.Reset(end);
      }
    }
    if (scan.GetKind() != TokKind::kLbrace) return;
    const char* end = MatchingEnd(scan.GetLoc());
    if (end == nullptr) return;
    index_.emplace(name, start);
    if (scan.Reset(end) == TokKind::kComma) {
      scan.Lex();  // execution_thread=
      scan.Lex();  // "thread"
      scan.Lex();
    }
  }
}

}  // namespace xla::hlo_text
