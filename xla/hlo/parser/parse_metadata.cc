#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/parser/diagnostic.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/value_parser.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

std::shared_ptr<const OpMetadata> ValueParser::ParseCachedMetadata() {
  return ThroughCache(&metadata_, [&]() -> std::shared_ptr<const OpMetadata> {
    auto metadata = std::make_shared<OpMetadata>();
    if (!ParseMetadata(metadata.get())) return nullptr;
    return metadata;
  });
}

// Fields are separated by blanks, or commas.
bool ValueParser::ParseMetadata(OpMetadata* result) {
  if (!Expect(TokKind::kLbrace, "to begin metadata")) return false;
  absl::InlinedVector<absl::string_view, 8> keys;
  while (!Eat(TokKind::kRbrace)) {
    const Loc key_loc = loc();
    absl::string_view key;
    if (!ParseAttributeName(&key)) return false;
    if (absl::c_linear_search(keys, key)) {
      return Error(key_loc, absl::StrCat("'", key, "' is given twice"));
    }
    keys.push_back(key);
    if (!ParseMetadataField(key, key_loc, result)) return false;
    Eat(TokKind::kComma);
  }
  return true;
}

bool ValueParser::ParseMetadataField(absl::string_view key, Loc key_loc,
                                     OpMetadata* result) {
  int32_t number;
  auto set_number = [&](void (OpMetadata::*set)(int32_t)) {
    if (!ParseInt32(&number)) return false;
    (result->*set)(number);
    return true;
  };
  if (key == "op_name") return ParseString(result->mutable_op_name());
  if (key == "stack_frame_id") {
    return set_number(&OpMetadata::set_stack_frame_id);
  }
  if (key == "op_type") return ParseString(result->mutable_op_type());
  if (key == "source_file") return ParseString(result->mutable_source_file());
  if (key == "source_line") return set_number(&OpMetadata::set_source_line);
  if (key == "source_end_line") {
    return set_number(&OpMetadata::set_source_end_line);
  }
  if (key == "source_column") return set_number(&OpMetadata::set_source_column);
  if (key == "source_end_column") {
    return set_number(&OpMetadata::set_source_end_column);
  }
  if (key == "deduplicated_name") {
    return ParseString(result->mutable_deduplicated_name());
  }
  if (key == "scheduling_name") {
    return ParseString(result->mutable_scheduling_name());
  }
  if (key == "size_of_generated_code_in_bytes" ||
      key == "size_of_memory_working_set_in_bytes") {
    int64_t bytes;
    if (!ParseInt(&bytes)) return false;
    if (key == "size_of_generated_code_in_bytes") {
      result->set_size_of_generated_code_in_bytes(bytes);
    } else {
      result->set_size_of_memory_working_set_in_bytes(bytes);
    }
    return true;
  }
  if (key == "metadata_payload") {
    return ParseString(result->mutable_metadata_payload()->mutable_value());
  }
  if (key == "profile_type") {
    return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
      int64_t type;
      if (!ParseIntInRange(ProfileType_MIN, ProfileType_MAX, &type)) {
        return false;
      }
      // The field is deprecated in the proto, but still part of the text.
      result->GetReflection()->AddEnumValue(
          result, result->GetDescriptor()->FindFieldByName("profile_type"),
          static_cast<int>(type));
      return true;
    });
  }
  static constexpr absl::string_view kKeys[] = {
      "op_name",           "op_type",           "source_file",
      "source_line",       "source_end_line",   "source_column",
      "source_end_column", "deduplicated_name", "stack_frame_id",
      "scheduling_name",   "metadata_payload",  "profile_type"};
  return Error(key_loc, absl::StrCat("unknown metadata field '", key, "'",
                                     DidYouMean(key, kKeys)));
}

bool ValueParser::ParseDictOrString(std::string* result) {
  if (kind() != TokKind::kLbrace) return ParseString(result);
  if (lexer_.LexJsonDict() != TokKind::kString) {
    return Error(loc(), lexer_.GetErrorMessage());
  }
  *result = std::string(lexer_.GetStrView());
  Next();
  return true;
}

// key= or "any key"=
bool ValueParser::ParseKey(std::string* key) {
  if (kind() == TokKind::kString) {
    return ParseString(key) && Expect(TokKind::kEqual);
  }
  absl::string_view name;
  if (!ParseAttributeName(&name)) return false;
  *key = std::string(name);
  return true;
}

bool ValueParser::ParseFrontendAttributes(FrontendAttributes* result) {
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    const Loc key_loc = loc();
    std::string key;
    if (!ParseKey(&key)) return false;
    std::string value;
    if (!ParseDictOrString(&value)) return false;
    auto [entry, inserted] =
        result->mutable_map()->insert({key, std::move(value)});
    return inserted ||
           Error(key_loc, absl::StrCat("'", key, "' is given twice"));
  });
}

// {visualizing_index=1,name=2.5,other=3}
bool ValueParser::ParseStatisticsViz(StatisticsViz* result) {
  const Loc start = loc();
  bool first = true;
  if (!ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
        const Loc key_loc = loc();
        std::string key;
        if (!ParseKey(&key)) return false;
        if (first) {
          first = false;
          if (key != "visualizing_index") {
            return Error(key_loc, "statistics begin with visualizing_index=");
          }
          int64_t index;
          if (!ParseIntInRange(0, std::numeric_limits<int32_t>::max(),
                               &index)) {
            return false;
          }
          result->set_stat_index_to_visualize(index);
          return true;
        }
        Statistic* statistic = result->add_statistics();
        statistic->set_stat_name(std::move(key));
        double value;
        if (!ParseDouble(&value)) return false;
        statistic->set_stat_val(value);
        return true;
      })) {
    return false;
  }
  if (first) return Error(start, "statistics begin with visualizing_index=");
  if (result->statistics_size() > 0 &&
      result->stat_index_to_visualize() >= result->statistics_size()) {
    return Error(start, "visualizing_index is not the index of a statistic");
  }
  return true;
}

bool ValueParser::ParseOriginalArray(OriginalArray* result) {
  if (!ParseString(&result->instruction_name)) return false;
  result->shape_index.clear();
  return kind() != TokKind::kLbrace || ParseShapeIndex(&result->shape_index);
}

// A leaf `{"a" {0}}` or `{}`, or a tuple `(tree, tree)`.
bool ValueParser::ParseOriginalTree(ShapeIndex* index,
                                    std::vector<OriginalValue::Leaf>* leaves) {
  Nesting nesting(this);
  if (!nesting.ok()) return false;
  if (kind() == TokKind::kLparen) {
    index->push_back(0);
    const bool ok = ParseList(TokKind::kLparen, TokKind::kRparen, [&] {
      if (!ParseOriginalTree(index, leaves)) return false;
      ++index->back();
      return true;
    });
    index->pop_back();
    return ok;
  }
  if (!Expect(TokKind::kLbrace, "or '(' to begin an original value")) {
    return false;
  }
  OriginalValue::Leaf& leaf = leaves->emplace_back(*index, std::nullopt);
  if (Eat(TokKind::kRbrace)) return true;
  return ParseOriginalArray(&leaf.second.emplace()) &&
         Expect(TokKind::kRbrace, "to end an original array");
}

bool ValueParser::ParseOriginalValue(std::shared_ptr<OriginalValue>* result) {
  if (Eat(TokKind::kLsquare)) {
    const Loc start = loc();
    absl::string_view word;
    if (!ParseWord("synthetic_call", &word)) return false;
    if (word != "synthetic_call") {
      return Error(start, "expected synthetic_call");
    }
    *result = std::make_shared<OriginalValue>(OriginalValue::SyntheticCall());
    return Expect(TokKind::kRsquare);
  }
  ShapeIndex index;
  std::vector<OriginalValue::Leaf> leaves;
  if (!ParseOriginalTree(&index, &leaves)) return false;
  *result = std::make_shared<OriginalValue>(std::move(leaves));
  return true;
}

}  // namespace xla::hlo_text
