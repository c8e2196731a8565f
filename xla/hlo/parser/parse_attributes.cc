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
#include "xla/hlo/ir/collective_op_group_mode.h"
#include "xla/hlo/ir/hlo_domain_metadata.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/hlo_sharding_metadata.h"
#include "xla/hlo/parser/attribute_table.h"
#include "xla/hlo/parser/diagnostic.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

// The attributes of the opcode; with sugar, also those of the chain.
const AttributeSet& ModuleParser::AllowedAttributes(const Draft& draft) {
  if (draft.sugar == AsyncSugar::kNone) return RulesFor(draft.opcode).allowed;
  static const AttributeSet* const chain = [] {
    auto* set = new AttributeSet();
    set->Add(Attribute::kAsyncExecutionThread);
    set->Add(Attribute::kOutputToOperandAliasing);
    return set;
  }();
  sugared_attributes_ = RulesFor(draft.opcode).allowed;
  sugared_attributes_.Add(*chain);
  return sugared_attributes_;
}

bool ModuleParser::ParseAttributes(Scope* scope, Draft* draft) {
  while (Eat(TokKind::kComma)) {
    const Loc name_loc = loc();
    absl::string_view name;
    if (!ParseAttributeName(&name)) return false;
    std::optional<Attribute> attribute = AttributeFromText(name);
    if (!attribute.has_value() || !AllowedAttributes(*draft).Has(*attribute)) {
      if (!ParseUnknownAttribute(draft, name, name_loc)) return false;
      continue;
    }
    if (draft->values.seen.Has(*attribute)) {
      return Error(name_loc, absl::StrCat("'", name, "' is given twice"));
    }
    draft->values.seen.Add(*attribute);
    if (!ParseAttribute(scope, draft, *attribute)) return false;
  }
  // A missing comma, not an instruction that happens to be called `metadata`.
  absl::string_view gap(lexer_.GetPreviousEndLoc(),
                        loc() - lexer_.GetPreviousEndLoc());
  if (kind() == TokKind::kAttributeName &&
      gap.find('\n') == absl::string_view::npos &&
      AttributeFromText(lexer_.GetStrView()).has_value()) {
    return Expected("',' before an attribute");
  }
  return true;
}

bool ModuleParser::ParseAttribute(Scope* scope, Draft* draft,
                                  Attribute attribute) {
  AttributeValues& values = draft->values;
  const int number = static_cast<int>(attribute);
  if (attribute == Attribute::kChannelId) {
    // Protos write 0 for none, and read every number below it so.
    return ParseIntInRange(0, std::numeric_limits<int64_t>::max(),
                           &values.scalars[number]);
  }
  if (number < kFirstBoolAttribute) return ParseInt(&values.scalars[number]);
  if (number < kFirstEnumAttribute) {
    bool value;
    if (!ParseBool(&value)) return false;
    values.scalars[number] = value;
    return true;
  }
  if (number < kFirstIntsAttribute) {
    return ParseEnumAttribute(draft->opcode, attribute,
                              &values.scalars[number]);
  }
  if (number < kFirstComputationAttribute) {
    return ParseBracedInts(&values.ints[number - kFirstIntsAttribute]);
  }
  if (number < kFirstStringAttribute) {
    return ParseComputationReference(
        &values.computations[number - kFirstComputationAttribute]);
  }
  if (number < kFirstSpecialAttribute) {
    std::string* text = &values.strings[number - kFirstStringAttribute];
    // Configurations are bytes, as backend_config is.
    return attribute == Attribute::kInfeedConfig ||
                   attribute == Attribute::kOutfeedConfig
               ? ParseBytes(text)
               : ParseString(text);
  }
  return attribute < Attribute::kResultAccuracy
             ? ParseSpecialAttribute(scope, draft, attribute)
             : ParseCommonAttribute(scope, draft, attribute);
}

bool ModuleParser::ParseSpecialAttribute(Scope* scope, Draft* draft,
                                         Attribute attribute) {
  AttributeValues& values = draft->values;
  switch (attribute) {
    case Attribute::kEpsilon:
      return ParseDouble(&values.epsilon);
    case Attribute::kSlice:
      return ParseSliceRanges(&values.slice_starts, &values.slice_limits,
                              &values.slice_strides);
    case Attribute::kSliceSizes:
      return ParseSliceSizes(&values);
    case Attribute::kOperandPrecision:
      return ParseOperandPrecision(&values.precision);
    case Attribute::kSparsityConfig:
      return ParseSparsityConfig(&values.sparsity);
    case Attribute::kWindow:
      return ParseWindow(&values.window);
    case Attribute::kDimLabels:
      return ParseConvolutionDimensionNumbers(&values.dim_labels);
    case Attribute::kPadding:
      return ParsePaddingConfig(&values.padding);
    case Attribute::kBranchComputations:
      return ParseComputationList(&values.branch_computations);
    case Attribute::kCalledComputations:
      return ParseComputationList(&values.called_computations);
    case Attribute::kOperandLayoutConstraints:
      return ParseBracedShapes(options_.fill_missing_layouts(),
                               &values.operand_layouts);
    case Attribute::kOutputToOperandAliasing:
      return ParseOutputOperandAliases(&values.aliases);
    case Attribute::kLiteral:
      return ParseTypedLiteral(&values.literal);
    case Attribute::kReplicaGroups:
      values.device_list = ParseCachedDeviceList();
      return values.device_list != nullptr;
    case Attribute::kSourceTargetPairs:
      return ParseSourceTargetPairs(&values.source_target_pairs);
    case Attribute::kMode:
      return ParseMode(&values);
    case Attribute::kOutfeedShape: {
      const Shape* shape = ParseCachedShape(options_.fill_missing_layouts());
      if (shape == nullptr) return false;
      values.outfeed_shape = *shape;
      return true;
    }
    case Attribute::kDomain:
      return ParseDomain(&values);
    case Attribute::kParameterReplication:
      return ParseBoolList(&values.parameter_replication);
    default:
      return Error(loc(), "attribute without a parser");
  }
}

bool ModuleParser::ParseCommonAttribute(Scope* scope, Draft* draft,
                                        Attribute attribute) {
  AttributeValues& values = draft->values;
  switch (attribute) {
    case Attribute::kResultAccuracy:
      return ParseResultAccuracy(&values.result_accuracy);
    case Attribute::kMetadata:
      values.metadata = ParseCachedMetadata();
      return values.metadata != nullptr;
    case Attribute::kSharding:
      values.sharding = ParseCachedSharding();
      return values.sharding != nullptr;
    case Attribute::kFrontendAttributes:
      values.frontend_attributes.Clear();
      return ParseFrontendAttributes(&values.frontend_attributes);
    case Attribute::kBackendConfig:
      return ParseDictOrString(&values.backend_config);
    case Attribute::kControlPredecessors:
      return ParseControlPredecessors(scope, &values);
    case Attribute::kOrigin:
      return Expect(TokKind::kLbrace) && ParseOriginalValue(&values.origin) &&
             Expect(TokKind::kRbrace);
    case Attribute::kStatistics:
      values.statistics.Clear();
      return ParseStatisticsViz(&values.statistics);
    default:
      return Error(loc(), "attribute without a parser");
  }
}

// {1,2}, or one list per transfer: {{1,2},{1,2}}
bool ModuleParser::ParseSliceSizes(AttributeValues* values) {
  values->slice_sizes.clear();
  if (kind() == TokKind::kLbrace && lexer_.LookAhead() == TokKind::kLbrace) {
    return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
      return ParseBracedInts(&values->slice_sizes.emplace_back());
    });
  }
  return ParseBracedInts(&values->slice_sizes.emplace_back());
}

// The mode follows from other attributes; it is kept for printing.
bool ModuleParser::ParseMode(AttributeValues* values) {
  const Loc start = loc();
  absl::string_view word;
  if (!ParseWord("a group mode", &word)) return false;
  if (!StringToCollectiveOpGroupMode(word).ok()) {
    return Error(
        start,
        absl::StrCat(
            "unknown group mode '", word, "'",
            DidYouMean(word, {"cross_replica", "cross_partition",
                              "cross_replica_and_partition", "flattened_id"})));
  }
  values->unknown.emplace_back("mode", std::string(word));
  return true;
}

// {kind="sharding", entry={replicated}, exit={maximal device=1}}
bool ModuleParser::ParseDomain(AttributeValues* values) {
  values->domain_entry = nullptr;
  values->domain_exit = nullptr;
  const Loc start = loc();
  bool has_kind = false;
  if (!ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
        const Loc key_loc = loc();
        absl::string_view key;
        if (!ParseAttributeName(&key)) return false;
        if (key == "kind") {
          const Loc kind_loc = loc();
          std::string text;
          if (!ParseString(&text)) return false;
          has_kind = true;
          return text == ShardingMetadata::KindName() ||
                 Error(kind_loc, absl::StrCat("unknown kind of domain '", text,
                                              "'; there is \"sharding\""));
        }
        std::unique_ptr<DomainMetadata>* side =
            key == "entry"  ? &values->domain_entry
            : key == "exit" ? &values->domain_exit
                            : nullptr;
        if (side == nullptr) {
          return Error(
              key_loc,
              absl::StrCat("unknown domain field '", key, "'",
                           DidYouMean(key, {"kind", "entry", "exit"})));
        }
        std::shared_ptr<const HloSharding> sharding;
        if (kind() == TokKind::kLbrace &&
            lexer_.LookAhead() == TokKind::kRbrace) {
          Next();
          Next();  // {}: no sharding
        } else {
          sharding = ParseCachedSharding();
          if (sharding == nullptr) return false;
        }
        *side = std::make_unique<ShardingMetadata>(std::move(sharding));
        return true;
      })) {
    return false;
  }
  return (has_kind && values->domain_entry != nullptr &&
          values->domain_exit != nullptr) ||
         Error(start, "a domain needs kind=, entry= and exit=");
}

bool ModuleParser::ParseControlPredecessors(Scope* scope,
                                            AttributeValues* values) {
  values->control_predecessors.clear();
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    const Loc name_loc = loc();
    absl::string_view name;
    HloInstruction* predecessor;
    if (!ParseWord("an instruction", &name) ||
        !FindInstruction(scope, name, name_loc, &predecessor)) {
      return false;
    }
    while (kind() == TokKind::kOctothorp) {
      if (!ParseTupleElements(scope, &predecessor)) return false;
    }
    values->control_predecessors.push_back(predecessor);
    return true;
  });
}

bool ModuleParser::ParseComputationList(std::vector<HloComputation*>* result) {
  result->clear();
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    HloComputation* computation;
    if (!ParseComputationReference(&computation)) return false;
    result->push_back(computation);
    return true;
  });
}

// The text from the current token to the end of the value: a word, number or
// string, and everything that brackets or `<=` attach to it.
bool ModuleParser::SkipValue(absl::string_view* text) {
  const char* begin = loc();
  const char* end = begin;
  while (kind() != TokKind::kEof) {
    if (kind() == TokKind::kError) return Expected("a value");
    if (kind() == TokKind::kLbrace || kind() == TokKind::kLparen ||
        kind() == TokKind::kLsquare) {
      end = MatchingEnd(loc());
      if (end == nullptr) return Error(loc(), "the bracket is not closed");
      lexer_.Reset(end);
    } else if (kind() == TokKind::kComma || kind() == TokKind::kRbrace ||
               kind() == TokKind::kRparen || kind() == TokKind::kRsquare ||
               kind() == TokKind::kw_ROOT || kind() == TokKind::kEqual) {
      break;
    } else {
      end = lexer_.GetEndLoc();
      Next();
    }
    // A new line begins a new instruction.
    absl::string_view gap(end, loc() - end);
    if (gap.find('\n') != absl::string_view::npos) break;
  }
  *text = absl::string_view(begin, end - begin);
  return !text->empty() || Expected("a value");
}

bool ModuleParser::ParseUnknownAttribute(Draft* draft, absl::string_view name,
                                         Loc name_loc) {
  std::string message = absl::StrCat(HloOpcodeString(draft->opcode),
                                     " has no attribute '", name, "'");
  if (!options_.allow_unknown_attributes()) {
    return Error(
        name_loc,
        absl::StrCat(
            message,
            MeantOrLater(name, AttributeTexts(AllowedAttributes(*draft)))));
  }
  absl::string_view value;
  if (!SkipValue(&value)) return false;
  sink_.Warning(name_loc, absl::StrCat(message, "; it is kept as it is"));
  draft->values.unknown.emplace_back(std::string(name), std::string(value));
  return true;
}

}  // namespace xla::hlo_text
